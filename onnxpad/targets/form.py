"""How each padding of a model is written, as a runtime that reads the model sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace
from onnx import TensorProto

from onnxpad.arithmetic.window import Window, pool_output_size
from onnxpad.errors import ModelError, and_list
from onnxpad.frameworks.reading import Front, Site, SiteReader
from onnxpad.graph import Graph, Node, Tensor, normal_domain
from onnxpad.padding.crops import Crops, crop_of
from onnxpad.padding.site import is_disputed
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.layers import ExtentPair, Pairs, is_padded, is_plain_zero, numbers_of
from onnxpad.semantics.operators import PadOp, TransposedOp, WindowOp, is_pad
from onnxpad.semantics.rows import lowest

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
        model was run to show is for cells alone.
        """
        by_attributes = bool(self.pad) and 0 < self.opset < 11
        return (self.fill, by_attributes, *[getattr(self, name) for name in _REST])

    @property
    def is_open(self) -> bool:
        """Whether amounts depend on sizes that are not known."""
        return "open" in {self.pads, self.outer}

    @property
    def said(self) -> dict[str, object]:
        """The fields that are not as in a form that says nothing but its operator."""
        usual = asdict(Form(self.op))
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    @property
    def text(self) -> str:
        """How it is written in short, such as `computed Pad before Conv with pads`."""
        kind = "computed " * (self.pad == "computed")
        mode = f" ({self.mode})" * (self.mode not in {"", "constant"})
        if self.op == "Pad":
            return f"{kind}Pad{mode}"
        own = {
            f"auto_pad={self.auto_pad}": self.auto_pad != "NOTSET",
            "pads": self.pads != "none" and self.auto_pad == "NOTSET",
            "count_include_pad": self.counted or self.count_include_pad,
            "ceil_mode": self.ceil,
            "output_shape": self.output_shape,
            "output_padding": self.output_padding,
        }
        told = and_list([name for name, does in own.items() if does])
        before = f"{kind}Pad{mode} before " * bool(self.pad)
        behind = " and a crop behind it" * self.cropped
        return f"{before}{self.op}{' with ' * bool(told)}{told}{behind}"

    @property
    def pads_alone(self) -> Form:
        """The form of the `Pad`s in front of an operator, as of those that none takes."""
        told = {name: getattr(self, name) for name in OF_A_PAD}
        return replace(Form("Pad", **told), rank=self.rank + 2, silent=True)

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
_REST = sorted(BESIDE - {"opset", "raw", "producer", "count_written", "wide"})


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
        self._crops = [
            (op, Crops(self._graph, self._analysis, op).taking()[0].taken)
            for op in context.transposed()
        ]
        self._taken = {id(node) for _, behind in self._crops for node in behind}
        self._sites = SiteReader(self._graph, self._analysis, frozenset(self._taken))

    def all(self) -> Iterator[Placed]:
        """All forms, `Pad`s alone last."""
        for op, behind in self._crops:
            yield self._placed(op, behind)
        for window in self._context.windows():
            with suppress(ModelError):
                yield self._placed(window)
        for pad in self._context.pads():
            if id(pad.node) not in self._taken:
                yield Placed(self._context, pad.node, self._alone(pad))

    def _placed(self, op: WindowOp | TransposedOp, crops: Sequence[Node] = ()) -> Placed:
        site, node = self._sites.of(op), op.node
        own, before = numbers_of(site.own), numbers_of(site.front.amounts)
        none = ((0, 0),) * len(op.windows)
        sides = zip(op.windows, own or none, before or none, strict=False)
        known = [
            (each, pair, [sum(end) for end in zip(pair, outer, strict=True)])
            for each, pair, outer in sides
            if isinstance(each, Window)
        ]
        windows = [each for each in op.windows if isinstance(each, Window)]
        form = Form(
            **self._told(node, op.data),
            rank=len(op.windows),
            auto_pad=op.auto_pad,
            pads=_own(site),
            stride=max(each.stride for each in op.windows),
            uneven=len({each.stride for each in op.windows}) > 1,
            dilated=any(each.dilation > 1 for each in op.windows),
            reaching=any(max(ends) >= each.kernel for each, _, ends in known),
            wide=_own(site) != "open" and any(2 * max(pair) > w.extent for w, pair, _ in known),
            narrow=any(each.kernel < each.stride for each in windows),
            even=op.auto_pad.startswith("SAME") and any(each.kernel % 2 == 0 for each in windows),
            count_written="count_include_pad" in node.attrs,
            kernel_shape="kernel_shape" in node.attrs,
            both=op.auto_pad != "NOTSET" and op.pads_written,
            silent=not op.pads_written,
            sized=all(isinstance(size, int) for size in site.sizes),
            cropped=bool(crops),
            grouped=self._grouped(op),
            quantised=_is_quantised(op.data.producer, site.front),
            onnxruntime=self._departure(op),
        )
        if isinstance(op, TransposedOp):
            added, shaped = any(op.output_padding), op.output_shape is not None
            form = replace(form, output_padding=added, output_shape=shaped)
        else:
            counts = op.count_include_pad
            form = replace(
                form,
                ceil=_ceil(site) if op.ceil_mode else "",
                counted=counts and (form.pads != "none" or op.ceil_mode),
                count_include_pad=counts,
            )
        if site.front.pads:
            whole = self._sites.front(op.data, site.rank).amounts
            form = self._with_pads(form, site.front, whole, site.axes)
        pads = [path[0] for path in site.front.pads]
        self._taken |= set(map(id, pads))
        return Placed(self._context, node, form, (*pads, *crops), tuple(crops))

    def _told(self, node: Node, data: Tensor) -> dict[str, Any]:
        """What is told of any operator by the data that it pads."""
        shape, light = self._analysis.shape(data), self._graph.model.skeleton.light
        return {
            "op": str(node.op),
            "domain": normal_domain(node.domain),
            "opset": self._graph.opset,
            "dtype": DTYPES.get(self._analysis.dtype(data) or 0, ""),
            "batched": not shape or isinstance(shape[0], int),
            "producer": light.producer_name,
        }

    def _with_pads(
        self, form: Form, front: Front, whole: Sequence[ExtentPair] | None, axes: Sequence[int]
    ) -> Form:
        graph, nodes = self._graph, [path[0] for path in front.pads]
        read = [pad for node in nodes if isinstance(pad := self._context.pad(node), PadOp)]
        beside = [pair for axis, pair in enumerate(whole or ()) if axis not in axes]
        between = [str(node.op) for node in front.pads[0][1:] if not is_pad(graph, node)]
        later = graph.opset >= 11
        amounts = [node.inputs[1] for node in nodes] if later else []
        return replace(
            form,
            pad=max((self._source(node) for node in nodes), key=SOURCES.index),
            mode=min({pad.mode for pad in read} - {"constant"}, default="constant"),
            outer=_side(numbers_of(front.amounts)),
            negative=any(min(pair) < 0 for pad in read for pair in pad.constant_amounts or ()),
            beyond=is_padded(beside),
            fill=self._fill(nodes[0]),
            axes=later and any(node.operand(3) is not None for node in nodes),
            raw=any(graph.constant(each) is not None and graph.is_raw(each) for each in amounts),
            between="+".join(each for each in between if each not in {form.op, "Identity"}),
        )

    def _alone(self, pad: PadOp) -> Form:
        shape = self._analysis.shape(pad.data)
        rank = len(shape or ())
        whole = pad.extents_over(rank) if rank else None
        form = Form(**self._told(pad.node, pad.data), rank=rank, silent=True)
        form = self._with_pads(form, Front(((pad.node,),), whole), whole, range(2, rank))
        sized = shape is not None and all(isinstance(size, int) for size in shape[2:])
        return replace(form, sized=sized and form.outer != "open")

    def _grouped(self, op: WindowOp | TransposedOp) -> str:
        group = op.node.attrs.get("group", 1)
        if not isinstance(group, int) or group == 1:
            return ""
        shape = self._analysis.shape(op.data)
        channels = (shape or ())[op.operator.layout.channels :][:1]
        return "depthwise" if channels == (group,) else "group"

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
        pad, later = self._context.pad(node), self._graph.opset >= 11
        if (len(node.inputs) < 3) if later else ("value" not in node.attrs):
            return "absent"
        if later and not node.inputs[2].name:
            return "empty"
        value = pad.value if isinstance(pad, PadOp) else None
        if value is None:
            return "open"
        dtype = self._analysis.dtype(node.inputs[0])
        if dtype is not None and value == lowest(dtype):
            return "lowest"
        return "zero" if is_plain_zero(value) else "other"


def _is_quantised(node: Node | None, front: Front) -> bool:
    steps = [step for path in front.pads for step in path]
    nodes = [node, *steps, *(step.inputs[0].producer for step in steps if step.inputs)]
    return any(each is not None and each.op == "DequantizeLinear" for each in nodes)


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
