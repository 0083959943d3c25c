"""How each padding of a model is written, as a runtime that reads the model sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from onnx import TensorProto

from onnxpad.arithmetic.window import Window, pool_output_size
from onnxpad.errors import ModelError, and_list
from onnxpad.frameworks.reading import Front, Site, SiteReader
from onnxpad.graph import Graph, Node, normal_domain
from onnxpad.padding.crops import Crops, crop_of
from onnxpad.padding.site import is_disputed
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.layers import ExtentPair, Pairs, is_padded, is_plain_zero, numbers_of
from onnxpad.semantics.operators import PadOp, TransposedOp, WindowOp, is_pad
from onnxpad.semantics.rows import UnreadError, lowest

BESIDE = frozenset(
    {"opset", "raw", "kernel_shape", "silent", "sized", "batched", "grouped", "uneven", "even"}
    | {"onnxruntime", "count_include_pad", "count_written", "wide", "producer"}
)
"""Fields of which few runtimes take notice.

What was measured speaks for models that differ only in these, unless it shows that they matter.
"""


DTYPES: Mapping[int, str] = {
    number: {"FLOAT": "float32", "DOUBLE": "float64"}.get(name, name.lower())
    for name, number in TensorProto.DataType.items()
    if number
}
"""Element types by their number in ONNX, by one name in every version of onnx."""


class Form(Struct, frozen=True):
    """How one padding is written: of a window operator, or of a `Pad` that none takes.

    The table of the manual's page on targets explains each field. Beside that, `pads` of SAME are
    what the sizes make of it, and amounts that depend on sizes that are not known are `open`.
    """

    op: str
    domain: str = ""
    opset: int = 0
    rank: int = 0
    dtype: str = ""
    auto_pad: str = "NOTSET"
    pads: str = "none"
    stride: int = 1
    uneven: bool = False
    dilated: bool = False
    reaching: bool = False
    wide: bool = False
    narrow: bool = False
    even: bool = False
    ceil: str = ""
    counted: bool = False
    count_include_pad: bool = False
    count_written: bool = False
    kernel_shape: bool = False
    both: bool = False
    silent: bool = False
    sized: bool = True
    batched: bool = True
    pad: str = ""
    mode: str = ""
    outer: str = "none"
    negative: bool = False
    beyond: bool = False
    fill: str = ""
    axes: bool = False
    raw: bool = False
    between: str = ""
    output_padding: bool = False
    output_shape: bool = False
    cropped: bool = False
    grouped: str = ""
    quantised: bool = False
    onnxruntime: str = ""
    producer: str = ""

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for two forms that a runtime may be expected to treat alike.

        A fill that is not written is zero.
        """
        told = replace(self, fill="zero") if self.fill == "absent" else self
        return tuple([getattr(told, name) for name in _MAIN])

    @property
    def beside(self) -> tuple[object, ...]:
        """The rest, which counts where forms of one signature were not treated alike.

        Of the opset counts whether amounts of a `Pad` are attributes, as before opset 11. What no
        model was run to show (`wide`, `count_written`, `producer`) is for cells alone.
        """
        by_attributes = int(bool(self.pad) and 0 < self.opset < 11)
        told = replace(
            self, opset=by_attributes, producer="", count_written=False, wide=False, raw=False
        )
        return (self.fill, *[getattr(told, name) for name in _REST])

    @property
    def text(self) -> str:
        """How it is written in short, such as `computed Pad before Conv with pads`."""
        kind = "computed " * (self.pad == "computed")
        mode = f" ({self.mode})" if self.mode not in {"", "constant"} else ""
        if self.op == "Pad":
            return f"{kind}Pad{mode}"
        own = [f"auto_pad={self.auto_pad}"] if self.auto_pad != "NOTSET" else []
        own += ["pads"] if self.pads != "none" and not own else []
        own += ["count_include_pad"] * (self.counted or self.count_include_pad)
        own += ["ceil_mode"] * bool(self.ceil)
        own += ["output_shape"] * self.output_shape + ["output_padding"] * self.output_padding
        before = f"{kind}Pad{mode} before " if self.pad else ""
        behind = " and a crop behind it" if self.cropped else ""
        return f"{before}{self.op}{' with ' if own else ''}{and_list(own)}{behind}"

    @property
    def pads_alone(self) -> Form:
        """The form of the `Pad`s in front of an operator, as of those that none takes."""
        told = {name: getattr(self, name) for name in OF_A_PAD}
        return replace(Form("Pad", **told), rank=self.rank + 2, silent=True)

    @property
    def behind_pads(self) -> Form:
        """The form of an operator without the `Pad`s in front of it."""
        return replace(self, **OF_PADS)

    @property
    def pads_nothing(self) -> bool:
        """Whether no runtime can take it otherwise than another: a window without any padding."""
        return replace(self, **_UNHEEDED) == Form(self.op)


UNSAID = Form("")
"""A form that says nothing."""


def _usual(*names: str) -> dict[str, Any]:
    """Fields as they are in a form that says nothing of them."""
    return {name: getattr(UNSAID, name) for name in names}


_UNHEEDED = _usual(*BESIDE, "domain", "rank", "dtype", "stride", "dilated", "narrow", "quantised")
"""Fields that make no difference where nothing is padded."""

OF_PADS = _usual("pad", "mode", "outer", "negative", "beyond", "fill", "axes", "raw")
"""Fields that tell of the `Pad`s in front of an operator, each as it is without any."""

OF_A_PAD = ("opset", "rank", "dtype", "silent", "sized", "batched", "producer", *OF_PADS)
"""Fields that tell of a `Pad` alone."""

_MAIN = tuple(name for name in Form.__struct_fields__ if name not in BESIDE)
_REST = tuple(name for name in Form.__struct_fields__ if name in BESIDE)


class Placed(NamedTuple):
    """A form, and where it is: the operator, or a `Pad` alone.

    To an operator belong the `Pad`s in front of it and what crops its result; `crops` are the
    latter of these `nodes`.
    """

    context: Context
    node: Node
    form: Form
    nodes: tuple[Node, ...] = ()
    crops: tuple[Node, ...] = ()

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """By these it is found again in the model once that is rewritten, the surest first.

        An operator gives the same tensor; a transposed convolution that takes up a crop what that
        gave, or, where a bias is added in between, a tensor of a new name under its own.
        """
        context, unique = self.context, self.context.graph.unique
        nodes = (self.node, *self.crops)
        given = [("", unique(node.outputs[0].name)) for node in nodes]
        return (*given, (str(self.node.op), context.label(self.node)))


def forms_of(contexts: Iterable[Context], *, bare: bool = False) -> Iterator[Placed]:
    """The forms of all padding in the graphs of a model, in file order.

    Left out is what cannot be read, a malformed body or function as a whole; and unless they are
    wanted too, `bare` window operators, which do not pad at all.

    Raises:
        ModelError: The main graph cannot be read.
    """
    for context in contexts:
        if context.graph.is_there():
            try:
                found = [*_Forms(context).all()]
            except ModelError:
                if context.graph.is_main:
                    raise
                continue  # a finding says so
            yield from (each for each in found if bare or not each.form.pads_nothing)


class _Forms:
    """Reads the forms of one graph."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._graph: Graph = context.graph
        self._analysis = context.analysis
        crops = (Crops(self._graph, self._analysis, op) for op in context.transposed())
        self._behind = [each.taking()[0].taken for each in crops]
        self._taken = {id(node) for behind in self._behind for node in behind}
        self._sites = SiteReader(self._graph, self._analysis, frozenset(self._taken))

    def all(self) -> Iterator[Placed]:
        """All forms, `Pad`s alone last."""
        for op, behind in zip(self._context.transposed(), self._behind, strict=True):
            placed = self._placed(op, cropped=bool(behind))
            self._taken |= {id(pad) for pad in placed.nodes}
            placed = placed._replace(nodes=(*placed.nodes, *behind), crops=tuple(behind))
            yield placed
        for window in self._context.windows():
            try:
                placed = self._placed(window)
            except ModelError:
                continue
            self._taken |= {id(pad) for pad in placed.nodes}
            yield placed
        for pad in self._context.pads():
            if id(pad.node) not in self._taken:
                yield Placed(self._context, pad.node, self._alone(pad))

    def _placed(self, op: WindowOp | TransposedOp, *, cropped: bool = False) -> Placed:
        site, node = self._sites.of(op), op.node
        shape = self._analysis.shape(op.data)
        strides = {each.stride for each in op.windows}
        pads = _own(site)
        kernels = [w.kernel if isinstance(w, Window) else None for w in op.windows]
        numbers = numbers_of(site.own)
        before = numbers_of(site.front.amounts)
        none = [(0, 0)] * len(kernels)
        ends = [
            (kernel, max(own + outer for own, outer in zip(*pairs, strict=True)))
            for kernel, *pairs in zip(kernels, numbers or none, before or none, strict=False)
        ]
        window = op if isinstance(op, WindowOp) else None
        scatter = op if isinstance(op, TransposedOp) else None
        form = Form(
            op=str(node.op),
            domain=normal_domain(node.domain),
            opset=self._graph.opset,
            rank=len(op.windows),
            dtype=self._dtype(op),
            auto_pad=op.auto_pad,
            pads=pads,
            stride=max(strides),
            uneven=len(strides) > 1,
            dilated=any(each.dilation > 1 for each in op.windows),
            reaching=any(kernel is not None and most >= kernel for kernel, most in ends),
            wide=any(
                2 * max(pair) > each.extent
                for each, pair in zip(op.windows, numbers or (), strict=False)
                if isinstance(each, Window) and pads != "open"
            ),
            narrow=any(
                k is not None and k < each.stride
                for k, each in zip(kernels, op.windows, strict=True)
            ),
            even=op.auto_pad.startswith("SAME") and any(k and k % 2 == 0 for k in kernels),
            ceil=_ceil(site) if window is not None and window.ceil_mode else "",
            counted=window is not None
            and window.count_include_pad
            and (pads != "none" or window.ceil_mode),
            count_include_pad=window is not None and window.count_include_pad,
            count_written="count_include_pad" in node.attrs,
            kernel_shape="kernel_shape" in node.attrs,
            both=op.auto_pad != "NOTSET" and op.pads_written,
            silent=not op.pads_written,
            sized=all(isinstance(size, int) for size in site.sizes),
            batched=not shape or isinstance(shape[0], int),
            output_padding=scatter is not None and any(scatter.output_padding),
            output_shape=scatter is not None and scatter.output_shape is not None,
            cropped=cropped,
            grouped=self._grouped(op),
            quantised=self._is_quantised(op.data.producer, site.front),
            onnxruntime=self._departure(op),
            producer=self._graph.model.skeleton.light.producer_name,
        )
        if not site.front.pads:
            return Placed(self._context, node, form)
        whole = self._sites.front(op.data, site.rank).amounts
        return Placed(
            self._context,
            node,
            self._with_pads(form, site.front, whole, site.axes),
            tuple(path[0] for path in site.front.pads),
        )

    def _with_pads(
        self,
        form: Form,
        front: Front,
        whole: Sequence[ExtentPair] | None,
        axes: Sequence[int],
    ) -> Form:
        nodes = [path[0] for path in front.pads]
        read = [pad for node in nodes if isinstance(pad := self._context.pad(node), PadOp)]
        beside = [pair for axis, pair in enumerate(whole or ()) if axis not in axes]
        amounts = [pair for pad in read for pair in pad.constant_amounts or ()]
        modes = {pad.mode for pad in read} - {"constant"}
        between = [str(node.op) for node in front.pads[0][1:] if not is_pad(self._graph, node)]
        return replace(
            form,
            pad=max((self._source(node) for node in nodes), key=SOURCES.index),
            mode=min(modes, default="constant"),
            outer=_side(numbers_of(front.amounts)),
            negative=any(min(pair) < 0 for pair in amounts),
            beyond=is_padded(beside),
            fill=self._fill(nodes[0]),
            axes=any(node.operand(3) is not None for node in nodes if self._graph.opset >= 11),
            raw=any(self._is_raw(node) for node in nodes),
            between="+".join(each for each in between if each not in {form.op, "Identity"}),
        )

    def _alone(self, pad: PadOp) -> Form:
        shape = self._analysis.shape(pad.data)
        rank = len(shape) if shape is not None else 0
        whole = pad.extents_over(rank) if rank else None
        spatial = (shape or ())[2:]
        form = Form(
            op="Pad",
            domain=normal_domain(pad.node.domain),
            opset=self._graph.opset,
            rank=rank,
            dtype=DTYPES.get(self._analysis.dtype(pad.data) or 0, ""),
            silent=True,
            sized=shape is not None and all(isinstance(size, int) for size in spatial),
            batched=not shape or isinstance(shape[0], int),
            producer=self._graph.model.skeleton.light.producer_name,
        )
        front = Front(((pad.node,),), whole)
        form = self._with_pads(form, front, whole, range(2, rank))
        return replace(form, sized=form.sized and form.outer != "open")

    def _dtype(self, op: WindowOp | TransposedOp) -> str:
        return DTYPES.get(self._analysis.dtype(op.data) or 0, "")

    def _grouped(self, op: WindowOp | TransposedOp) -> str:
        group = op.node.attrs.get("group", 1)
        if not isinstance(group, int) or group == 1:
            return ""
        shape = self._analysis.shape(op.data)
        channels = (shape or ())[op.operator.layout.channels :][:1]
        return "depthwise" if channels == (group,) else "group"

    def _is_quantised(self, node: Node | None, front: Front) -> bool:
        steps = [step for path in front.pads for step in path]
        nodes = [node, *steps, *(step.inputs[0].producer for step in steps if step.inputs)]
        return any(each is not None and each.op == "DequantizeLinear" for each in nodes)

    def _departure(self, op: WindowOp | TransposedOp) -> str:
        """How onnxruntime departs from the specification, as `Form.onnxruntime` names it."""
        if isinstance(op, TransposedOp):
            try:
                crop_of(self._analysis, op)
            except RefusalError as refusal:
                return _CROPS.get(refusal.code, "")
            return ""
        sites = self._context.sites
        if sites.why_not_run(op):
            return "stops"
        if sites.disagreement(op) is not None or is_disputed(sites, op):
            return "departs"
        return "" if sites.fusion.certain(op.node) is None else "misfolds"

    def _source(self, node: Node) -> str:
        if self._graph.opset < 11:
            return "constant"
        tensors = [each for each in node.inputs[1:4] if each.name]
        if any(self._graph.constant(each) is None for each in tensors):
            return "computed"
        given = any(each.producer is not None for each in tensors)
        return "constant-node" if given else "constant"

    def _fill(self, node: Node) -> str:
        pad = self._context.pad(node)
        if self._graph.opset >= 11:
            if len(node.inputs) < 3:
                return "absent"
            if not node.inputs[2].name:
                return "empty"
        elif "value" not in node.attrs:
            return "absent"
        value = None if isinstance(pad, UnreadError) or pad is None else pad.value
        if value is None:
            return "open"
        dtype = self._analysis.dtype(node.inputs[0])
        if dtype is not None and value == lowest(dtype):
            return "lowest"
        return "zero" if is_plain_zero(value) else "other"

    def _is_raw(self, node: Node) -> bool:
        if self._graph.opset < 11 or self._graph.constant(node.inputs[1]) is None:
            return False
        return self._graph.is_raw(node.inputs[1])


_CROPS: Mapping[str, str] = {
    Reason.ENGINES_DISAGREE: "departs",
    Reason.AUTO_PAD_AND_PADS: "stops",
    Reason.CROPS: "stops",
}
"""Departures by the reason why the crop of a transposed convolution is not known."""

SOURCES = ("constant", "constant-node", "computed")
"""How the amounts of a `Pad` are given."""


def _own(site: Site) -> str:
    """An operator's own padding: as written where it is written, else what it comes to."""
    op = site.op
    assert not isinstance(op, PadOp)
    if op.auto_pad == "NOTSET" and (isinstance(op, WindowOp) or op.is_explicit):
        return _side(op.pads)
    return _side(numbers_of(site.own))


def _side(pairs: Pairs | None) -> str:
    if pairs is None:
        return "open"
    if not is_padded(pairs):
        return "none"
    begins = any(begin > end for begin, end in pairs)
    ends = any(begin < end for begin, end in pairs)
    return "mixed" if begins and ends else "begin" if begins else "end" if ends else "equal"


def _ceil(site: Site) -> str:
    """The change that rounding up makes at the sizes of a pool, as `Form.ceil` names it."""
    sizes, pads = site.known_sizes, numbers_of(site.own)
    if None in sizes or pads is None or len(site.windows) < len(sizes):
        return "open"
    found = "even"
    for size, window, (begin, end) in zip(sizes, site.windows, pads, strict=True):
        assert size is not None
        down = pool_output_size(size, window, begin, end, ceil_mode=False)
        up = pool_output_size(size, window, begin, end, ceil_mode=True)
        naive = -(-(size + begin + end - window.extent) // window.stride) + 1
        if naive > up:
            return "dropped"
        found = "over" if up > down else found
    return found
