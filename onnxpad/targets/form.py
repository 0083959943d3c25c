"""How each padding of a model is written, as a runtime that reads the model sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from typing import Any, Literal, NamedTuple

from msgspec import Struct, to_builtins
from msgspec.structs import astuple
from onnx import TensorProto

from onnxpad.arithmetic.window import pool_output_size
from onnxpad.errors import ModelError
from onnxpad.frameworks.reading import Front, Site, SiteReader
from onnxpad.graph import Node, Tensor, normal_domain
from onnxpad.padding.crops import Crops, crop_of
from onnxpad.padding.site import is_disputed
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.layers import ExtentPair, Pairs, is_padded, is_plain_zero, numbers_of
from onnxpad.semantics.operators import PadOp, TransposedOp, WindowOp
from onnxpad.semantics.rows import lowest

DTYPES: Mapping[int, str] = {
    number: {"FLOAT": "float32", "DOUBLE": "float64"}.get(name, name.lower())
    for name, number in TensorProto.DataType.items()
    if number
}
"""Element types by their number in ONNX, by one name in every version of onnx."""
MOST = 1 << 30  # of an amount that nothing limits
Side = Literal["none", "equal", "end", "begin", "mixed", "open"]


class Form(Struct, frozen=True, omit_defaults=True):
    """How one padding is written: of a window operator, or of a `Pad` that none takes.

    The manual's page on targets explains each field; `pads` of SAME are what sizes make of it, and
    an amount that sizes decide is the most that it can be.
    """

    op: str
    domain: str = ""
    rank: int = 0
    dtype: str = ""
    stride: int = 1
    dilated: bool = False
    narrow: bool = False
    quantised: bool = False
    auto_pad: Literal["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"] = "NOTSET"  # what pads: _PADS
    pads: Side = "none"
    reaching: bool = False
    ceil: Literal["", "even", "over", "dropped", "open"] = ""
    counted: bool = False
    both: bool = False
    pad: Literal["", "constant", "constant-node", "computed"] = ""
    mode: Literal["", "constant", "reflect", "edge", "wrap"] = ""
    outer: Side = "none"
    negative: bool = False
    beyond: bool = False
    axes: bool = False
    between: str = ""
    output_padding: bool = False
    output_shape: bool = False
    cropped: bool = False
    fill: Literal["", "absent", "empty", "zero", "lowest", "other", "open"] = ""
    grouped: bool = False  # what few runtimes take notice of: _BESIDE
    uneven: bool = False
    even: bool = False
    onnxruntime: Literal["", "stops", "departs", "misfolds"] = ""
    kernel_shape: bool = False
    silent: bool = False
    sized: bool = True
    batched: bool = True
    count_include_pad: bool = False
    batch: int = 1  # what no model was run to show: for cells alone
    opset: int = 0
    raw: bool = False
    count_written: bool = False
    wide: bool = False
    producer: str = ""
    amount: int = 0
    outer_amount: int = 0

    def key(self, *, exactly: bool) -> tuple[object, ...]:
        """Equal for two forms that are written alike, exactly or but for what seldom counts."""
        fields = astuple(self)
        if not exactly:
            fill = "zero" if self.fill == "absent" else self.fill  # what is not written is zero
            return (*fields[: _BESIDE.start - 1], fill)
        return (*fields[: _BESIDE.stop], bool(self.pad) and 0 < self.opset < 11)  # attributes

    @property
    def is_open(self) -> bool:
        """Whether amounts depend on sizes that are not known."""
        return "open" in {self.pads, self.outer}

    @property
    def said(self) -> dict[str, object]:
        """The fields that are not as in a form that says nothing but its operator."""
        told = to_builtins(self).items()
        return {name: each for name, each in told if name != "op" and each != MOST}

    @property
    def text(self) -> str:
        """How it is written in short, such as `Conv: pads end, pad constant, outer equal`."""
        said = [each for each in self.said.items() if each[0] in _NAMES[_PADS]]
        usual = {("mode", "constant"), ("fill", "absent")}
        told = [k if v is True else f"{k} {v}" for k, v in said if (k, v) not in usual]
        return f"{self.op}: {', '.join(told)}" if told else self.op

    @property
    def pads_nothing(self) -> bool:
        """Whether no runtime can take it otherwise than another: a window without any padding."""
        return self.said.keys().isdisjoint(_NAMES[_PADS])


_NAMES = Form.__struct_fields__
_PADS = slice(_NAMES.index("auto_pad"), _NAMES.index("grouped"))
_BESIDE = slice(_NAMES.index("grouped"), _NAMES.index("batch"))
USUAL = {name: (getattr(Form(""), name),) for name in _NAMES[: _NAMES.index("onnxruntime")]}
"""The fields that an exact cell is about too, each as it is usually."""
SELDOM = frozenset({"fill", *_NAMES[_BESIDE.start :]})  # of which few runtimes take notice


class Placed(NamedTuple):
    """A form, and where it is: an operator with `Pad`s in front and Slices behind, or a `Pad`."""

    context: Context
    node: Node
    form: Form
    nodes: tuple[Node, ...] = ()

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """By these it is found again in a rewritten model: tensors that it gives, or its name."""
        context, unique = self.context, self.context.graph.unique
        slices = (node for node in self.nodes if node.op == "Slice")
        given = [("", unique(node.outputs[0].name)) for node in (self.node, *slices)]
        return (*given, (str(self.node.op), context.label(self.node)))

    @property
    def names(self) -> Iterator[str]:
        """The unique names of the outputs of all its nodes."""
        outputs = (each.name for node in (self.node, *self.nodes) for each in node.outputs)
        return map(self.context.graph.unique, filter(None, outputs))


def forms_of(contexts: Iterable[Context]) -> Iterator[Placed]:
    """The forms of all windows and `Pad`s that can be read, in file order, the latter last.

    Raises:
        ModelError: The main graph cannot be read.
    """
    for context in contexts:
        if context.graph.is_there():
            with nullcontext() if context.graph.is_main else suppress(ModelError):
                yield from [*_forms(context)]


def _forms(context: Context) -> Iterator[Placed]:
    graph, analysis = context.graph, context.analysis
    crops = [(op, Crops(graph, analysis, op).taking()[0].taken) for op in context.transposed()]
    barred = frozenset(id(node) for _, behind in crops for node in behind)
    sites, taken = SiteReader(graph, analysis, barred), set[int]()
    windows = ((op, ()) for op in context.windows())
    ops: Iterable[tuple[WindowOp | TransposedOp, Sequence[Node]]] = chain(crops, windows)
    for op, behind in ops:
        with suppress(ModelError):
            site = sites.of(op)
            found = _of_operator(context, site, op) | {"cropped": bool(behind)}
            if site.front.pads:
                whole = sites.front(op.data, site.rank).amounts or ()
                others = [pair for axis, pair in enumerate(whole) if axis not in site.axes]
                found |= _of_pads(context, site.front, others, found["op"])
            pads = tuple([path[0] for path in site.front.pads])
            taken.update(map(id, pads))
            yield Placed(context, op.node, Form(**found), (*pads, *behind))
    for pad in context.pads():
        if id(pad.node) not in taken:
            shape = analysis.shape(pad.data)
            amounts = pad.extents_over(len(shape)) if shape else None
            found = _told(context, pad.node, pad.data) | {"rank": len(shape or ()), "silent": True}
            found |= _of_pads(context, Front(((pad.node,),), amounts), (amounts or ())[:2], "Pad")
            found["amount"] = found["outer_amount"]
            sized = shape is not None and all(isinstance(size, int) for size in shape[2:])
            found["sized"] = sized and found["outer"] != "open"
            yield Placed(context, pad.node, Form(**found))


def _of_operator(context: Context, site: Site, op: WindowOp | TransposedOp) -> dict[str, Any]:
    own, before = numbers_of(site.own), numbers_of(site.front.amounts)
    is_written = op.auto_pad == "NOTSET" and (isinstance(op, WindowOp) or op.is_explicit)
    pairs, none = op.pads if is_written else own, ((0, 0),) * len(op.windows)
    pads = _side(pairs)
    read = [op.data, *(step.inputs[0] for path in site.front.pads for step in path)]
    of_same = [each.extent // 2 for each in site.windows if not site.is_transposed]  # at most
    sides = [
        (each, pair, [sum(end) for end in zip(pair, outer, strict=True)])
        for each, pair, outer in zip(op.windows, own or none, before or none, strict=False)
    ]
    found = {
        "rank": len(op.windows),
        "auto_pad": op.auto_pad,
        "pads": pads,
        "amount": _amount(pairs, max(of_same, default=MOST)),
        "stride": max(each.stride for each in op.windows),
        "uneven": len({each.stride for each in op.windows}) > 1,
        "dilated": any(each.dilation > 1 for each in op.windows),
        "reaching": any(max(ends) >= each.kernel for each, _, ends in sides),
        "wide": pads != "open" and any(2 * max(pair) > each.extent for each, pair, _ in sides),
        "narrow": any(each.kernel < each.stride for each in op.windows),
        "even": op.auto_pad.startswith("SAME") and any(e.kernel % 2 == 0 for e in op.windows),
        "count_written": "count_include_pad" in op.node.attrs,
        "kernel_shape": "kernel_shape" in op.node.attrs,
        "both": op.auto_pad != "NOTSET" and op.pads_written,
        "silent": not op.pads_written,
        "sized": all(isinstance(size, int) for size in site.sizes),
        "grouped": op.node.attrs.get("group", 1) != 1,
        "quantised": any(getattr(e.producer, "op", "") == "DequantizeLinear" for e in read),
        "onnxruntime": _departure(context, op),
    }
    if isinstance(op, TransposedOp):
        found["output_padding"] = any(op.output_padding)
        found["output_shape"] = op.output_shape is not None
    else:
        found["ceil"] = _ceil(site) if op.ceil_mode else ""
        found["count_include_pad"] = counts = op.count_include_pad
        found["counted"] = counts and (pads != "none" or op.ceil_mode)
    return _told(context, op.node, op.data) | found


def _told(context: Context, node: Node, data: Tensor) -> dict[str, Any]:
    shape = context.analysis.shape(data)
    batch = shape[0] if shape else 0
    return {
        "op": str(node.op),
        "domain": normal_domain(node.domain),
        "opset": context.graph.opset,
        "dtype": DTYPES.get(context.analysis.dtype(data) or 0, ""),
        "batched": isinstance(batch, int),
        "batch": batch if isinstance(batch, int) else 0,
        "producer": context.graph.model.skeleton.light.producer_name,
    }


def _of_pads(
    context: Context, front: Front, others: Sequence[ExtentPair], op: str
) -> dict[str, Any]:
    """The fields of the `Pad`s in front of an operator; `others` are amounts on other axes."""
    graph, nodes = context.graph, [path[0] for path in front.pads]
    read = [pad for node in nodes if isinstance(pad := context.pad(node), PadOp)]
    between = [str(node.op) for node in front.pads[0][1:]]  # no Pad is nearer than the first
    later = graph.opset >= 11
    given = [each for node in nodes if later for each in node.inputs[1:4] if each.name]
    known = [each for each in given if graph.constant(each) is not None]
    source = "constant-node" if any(each.producer for each in given) else "constant"
    return {
        "pad": source if known == given else "computed",
        "mode": min({pad.mode for pad in read} - {"constant"}, default="constant"),
        "outer": _side(numbers_of(front.amounts)),
        "outer_amount": _amount(numbers_of(front.amounts)),
        "negative": any(min(pair) < 0 for pad in read for pair in pad.constant_amounts or ()),
        "beyond": is_padded(others),
        "fill": _fill(context, nodes[0]),
        "axes": later and any(node.operand(3) is not None for node in nodes),
        "raw": any(graph.is_raw(e) for node in nodes for e in node.inputs[1:2] if e in known),
        "between": "+".join(each for each in between if each not in {op, "Identity"}),
    }


def _fill(context: Context, node: Node) -> str:
    pad, later = context.pad(node), context.graph.opset >= 11
    if (len(node.inputs) < 3) if later else ("value" not in node.attrs):
        return "absent"
    if later and not node.inputs[2].name:
        return "empty"
    value = pad.value if isinstance(pad, PadOp) else None
    if value is None:
        return "open"
    dtype = context.analysis.dtype(node.inputs[0])
    if dtype is not None and value == lowest(dtype):
        return "lowest"
    return "zero" if is_plain_zero(value) else "other"


def _departure(context: Context, op: WindowOp | TransposedOp) -> str:
    if isinstance(op, TransposedOp):
        try:
            crop_of(context.analysis, op)
        except RefusalError as refusal:
            stops = refusal.code in {Reason.AUTO_PAD_AND_PADS, Reason.CROPS}
            return "stops" if stops else "departs" * (refusal.code == Reason.ENGINES_DISAGREE)
        return ""
    if context.sites.why_not_run(op):
        return "stops"
    if context.sites.disagreement(op) is not None or is_disputed(context.sites, op):
        return "departs"
    return "" if context.sites.fusion.certain(op.node) is None else "misfolds"


def _side(pairs: Pairs | None) -> Side:
    if pairs is None or not is_padded(pairs):
        return "open" if pairs is None else "none"
    more: set[Side] = {"begin" if begin > end else "end" for begin, end in pairs if begin != end}
    return "mixed" if len(more) > 1 else min(more, default="equal")


def _amount(pairs: Pairs | None, most: int = MOST) -> int:
    """The greatest amount on any side; where sizes decide it the most that there can be."""
    return most if pairs is None else max([0, *chain(*pairs)])


def _ceil(site: Site) -> str:
    sizes, pads = site.known_sizes, numbers_of(site.own)
    if None in sizes:
        return "open"
    assert pads is not None
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
