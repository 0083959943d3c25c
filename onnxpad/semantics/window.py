"""How a row's window slides, how that is read of a node, and where each of two engines places it.

One engine is the specification. The other is onnxruntime's CPU provider with optimisation off,
which departs from the specification, has limits, and does not run some models at all. The two share
no formula: what both need is written twice, so that no mistake is made in both at once.

Source: the operators' pages in the ONNX specification; of onnxruntime's own operators, in its
docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from onnx import TensorProto

from onnxpad import declared
from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    always,
    ceil_div,
    floor_div,
    less_equal,
    maximum,
    minimum,
    trunc_div,
    where,
)
from onnxpad.arithmetic.window import Window as AxisWindow
from onnxpad.arithmetic.window import window_of
from onnxpad.graph import Node
from onnxpad.reasons import Reason
from onnxpad.semantics.layers import EXCLUDED, LEAST, ExtentPairs, Fill, Operand, pairs_of
from onnxpad.semantics.rows import INTS, ZERO, Call, MalformedError, Row, UnreadError, Window

AutoPad: TypeAlias = Literal["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]
LONGEST = 2**31 - 1  # no axis of a tensor is longer
IN_WEIGHT = 2  # in every weight of the table the kernel begins at this axis
AUTO_PADS: Mapping[str, AutoPad] = {
    "": "NOTSET",
    "NOTSET": "NOTSET",
    "VALID": "VALID",
    "SAME_UPPER": "SAME_UPPER",
    "SAME_LOWER": "SAME_LOWER",
}


class Slide(Struct, frozen=True):
    """How a window slides and pads, from the attributes that all window operators share.

    By spatial axis: a window, and (begin, end) as written, which are zeros where absent.
    """

    axes: tuple[AxisWindow, ...]
    auto_pad: AutoPad
    pads: tuple[tuple[int, int], ...]
    pads_written: bool
    ceil: bool


SpreadForm = tuple[Slide, tuple[int, ...], tuple[int, ...] | None]
"""What attributes say: windows, and pads, which crop; how much is appended; the size asked for."""


class WindowForm(Slide, frozen=True, eq=False):
    """How the window of one node slides; nodes that slide alike have one form.

    They are compared by identity: `Terms.form` gives the one object of a form. `before` and `after`
    count the axes beside the spatial ones. `pads` apply where `auto_pad` is NOTSET. `counts` says
    whether its own padding, whose fill is `own`, is in the divisor of an average; `has_indices`,
    whether there is an output for the positions of maxima. `empty` names the attributes that are
    empty lists, which not every runtime takes; `others` has all others, with type and value.
    """

    kind: str
    version: int
    window: Window
    before: int
    after: int
    counts: bool
    own: Fill
    has_indices: bool
    empty: frozenset[str]
    others: tuple[tuple[str, str, object], ...]

    @property
    def rank(self) -> int:
        """Axes of the data."""
        return self.before + len(self.axes) + self.after

    @property
    def spatial(self) -> range:
        """The axes that the window slides over."""
        return range(self.before, self.before + len(self.axes))

    def over(self, spatial: Iterable[tuple[Extent, Extent]]) -> ExtentPairs:
        """Amounts for all axes, given those of the spatial ones: zeros on the others."""
        return (*((0, 0),) * self.before, *spatial, *((0, 0),) * self.after)

    @property
    def is_same(self) -> bool:
        """Whether `auto_pad` is SAME_UPPER or SAME_LOWER."""
        return self.auto_pad.startswith("SAME")

    @property
    def says_twice(self) -> bool:
        """Whether the node has both `auto_pad` and `pads`, which the specification forbids."""
        return self.auto_pad != "NOTSET" and self.pads_written

    @property
    def compares(self) -> bool:
        """Whether it takes a maximum, in which its own padding never wins."""
        return self.window.own == LEAST


_PLACED: Mapping[str, Any] = {
    "auto_pad": "NOTSET",
    "kernel_shape": INTS,
    "pads": INTS,
    "strides": INTS,
}
_DILATED: Mapping[str, Any] = {**_PLACED, "dilations": INTS}
_CONVOLVING: Mapping[str, Any] = {**_DILATED, "group": 1}
_POOLING: Mapping[str, Any] = {**_DILATED, "ceil_mode": 0}
_AVERAGING: Mapping[str, Any] = {**_POOLING, "count_include_pad": 0}
_QUANTISED_AVERAGING: Mapping[str, Any] = {
    **_PLACED,
    "ceil_mode": 0,
    "channels_last": 0,
    "count_include_pad": 0,
}
_SLIDING = frozenset(_AVERAGING)
"""The attributes that have a place of their own in a form."""
_CONVOLUTION = Window(weight=1, rounding="floor", own=ZERO, bias=2)
_INTEGER = Window(weight=1, rounding="floor", own=ZERO, zero_point=2)
_QUANTISED = Window(weight=3, rounding="floor", own=ZERO, zero_point=2, bias=8)
_MAXIMUM = Window(weight=None, rounding="pool", own=LEAST)
_AVERAGE = Window(weight=None, rounding="pool", own=EXCLUDED)
_POWER = Window(weight=None, rounding="pool", own=ZERO)
_MICROSOFT = "com.microsoft"
_ROWS = (
    Row("Conv", frozenset({1, 11, 22}), _CONVOLVING, inputs=3, window=_CONVOLUTION),
    Row(
        "MaxPool",
        frozenset({1, 8, 10, 11, 12, 22}),
        {**_POOLING, "storage_order": 0},
        window=_MAXIMUM,
    ),
    Row("AveragePool", frozenset({1, 7, 10, 11, 19, 22}), _AVERAGING, window=_AVERAGE),
    Row("LpPool", frozenset({2, 11, 18, 22}), {**_POOLING, "p": 2}, window=_POWER),
    Row("ConvInteger", frozenset({10}), _CONVOLVING, inputs=4, window=_INTEGER),
    Row("QLinearConv", frozenset({10}), _CONVOLVING, inputs=9, window=_QUANTISED),
    Row(
        "QLinearConv",
        frozenset({1}),
        {**_CONVOLVING, "channels_last": 0},
        inputs=9,
        domain=_MICROSOFT,
        window=replace(_QUANTISED, last=None),
    ),
    Row(
        "FusedConv",
        frozenset({1}),
        {**_CONVOLVING, "activation": str, "activation_params": (float,)},
        inputs=4,
        domain=_MICROSOFT,
        window=_CONVOLUTION,
    ),
    Row(
        "NhwcMaxPool",
        frozenset({1}),
        _POOLING,
        domain=_MICROSOFT,
        window=replace(_MAXIMUM, last=True),
    ),
    Row(
        "QLinearAveragePool",
        frozenset({1}),
        _QUANTISED_AVERAGING,
        inputs=5,
        domain=_MICROSOFT,
        window=replace(_AVERAGE, zero_point=2, last=None, rounds_apart=True),
    ),
)
WINDOWS: Mapping[tuple[str, str], Row] = {(row.domain, row.op): row for row in _ROWS}
"""Operators with a sliding window, by domain and name."""
TRANSPOSED: Mapping[tuple[str, str], Row] = {
    ("", "ConvTranspose"): Row(
        "ConvTranspose",
        frozenset({1, 11, 22}),
        {**_CONVOLVING, "output_padding": INTS, "output_shape": INTS},
        inputs=3,
        transposed=(1, 2),
    )
}
"""Operators that spread elements over windows, by domain and name."""

_LIKE: Mapping[str, Mapping[str, Any]] = {
    "Conv": _CONVOLVING,
    "MaxPool": _POOLING,
    "AveragePool": _AVERAGING,
}
"""The attributes of declared operators, by what they are like."""


@lru_cache(maxsize=256)
def declared_row(declaration: declared.Row) -> Row:
    """The row of an operator that a user declared: all that is known of it."""
    fills: Mapping[str, int | str] = {"zero": ZERO, "lowest": LEAST, "excluded": EXCLUDED}
    window = Window(
        weight=declaration.kernel,
        rounding="floor" if declaration.like == "Conv" else "pool",
        own=fills[declaration.filled],
        zero_point=declaration.zero_point,
        last=declaration.channels_last,
        declaration=declaration,
    )
    return Row(
        declaration.op_type,
        frozenset(declaration.versions),
        _LIKE[declaration.like],
        inputs=None,
        domain=declaration.domain,
        window=window,
        others=True,
    )


def form_of(call: Call) -> WindowForm:
    """How the window of a node slides, whose first input is the data."""
    node, window = call.node, call.row.window
    assert window is not None
    place, zero = window.weight, zero_of(call, window)
    shape = () if place is None or call.operand(place) is None else call.shape(place)
    key = form_of, shape, zero
    form: WindowForm | None = node.notes.get(key)
    if form is None:  # networks repeat the same few windows
        form = node.notes[key] = _form(call, window, slide_of(node, kernel_of(call, place)), zero)
    return form


def _form(call: Call, window: Window, slide: Slide, zero: Fill) -> WindowForm:
    node, row = call.node, call.row
    if window.declaration is not None and any(output.name for output in node.outputs[1:]):
        raise UnreadError("nothing is declared of its further outputs")
    counts = "count_include_pad" in row.attributes and call.attribute("count_include_pad") != 0
    last = _channels_last(call) if window.last is None else window.last
    return WindowForm(
        slide.axes,
        slide.auto_pad,
        slide.pads,
        slide.pads_written,
        slide.ceil,
        ".".join(filter(None, (row.domain, row.op))),
        call.version,
        window,
        before=1 if last else 2,
        after=1 if last else 0,
        counts=counts,
        own=_own(call, window, counts, zero),
        has_indices=len(node.outputs) > 1 and bool(node.outputs[1].name),
        empty=frozenset(name for name, value in node.attrs.items() if value == []),
        others=call.written(but=_SLIDING.intersection(row.attributes)),
    )


def slide_of(node: Node, kernel: tuple[int, ...], *, crops: bool = False) -> Slide:
    """How a window with this kernel slides and pads, by its attributes alone."""
    key = slide_of, kernel, crops
    known: Slide | None = node.notes.get(key)
    if known is None:
        known = node.notes[key] = _slide(node, kernel, crops)
    return known


def _slide(node: Node, kernel: tuple[int, ...], crops: bool) -> Slide:
    rank, ceil = len(kernel), node.attrs.get("ceil_mode", 0)
    if ceil not in {0, 1}:  # parts of the runtime take any number for 1, others that number
        raise UnreadError(f"its ceil_mode is {ceil}, which is neither 0 nor 1")
    strides = integers(node, "strides", rank, least=1) or (1,) * rank
    dilations = integers(node, "dilations", rank, least=1) or (1,) * rank
    pads = integers(node, "pads", 2 * rank)
    if pads and not crops and min(pads) < 0:
        raise UnreadError(f"its pads {pads} are negative, which the specification forbids")
    pairs = pairs_of(pads) if pads else ((0, 0),) * rank
    axes = tuple(map(window_of, kernel, strides, dilations))
    return Slide(axes, auto_pad_of(node), pairs, pads is not None, ceil == 1)


def auto_pad_of(node: Node) -> AutoPad:
    """The attribute `auto_pad`; `NOTSET` where it is absent or empty."""
    auto_pad = node.attrs.get("auto_pad", "")
    if not isinstance(auto_pad, str) or auto_pad not in AUTO_PADS:
        raise UnreadError(f"auto_pad={auto_pad!r} is none of {', '.join(filter(None, AUTO_PADS))}")
    return AUTO_PADS[auto_pad]


def integers(
    node: Node, name: str, count: int | None, *, least: int | None = None
) -> tuple[int, ...] | None:
    """An attribute of so many integers; None where it is absent or empty: the default."""
    value: Any = node.attrs.get(name)
    if not value:
        return None
    if count is not None and len(value) != count:
        raise MalformedError(f"{name} has {len(value)} values, but needs {count}")
    if least is not None and min(value) < least:
        raise MalformedError(f"{name} {value} must not be below {least}")
    if not -LONGEST <= min(value) <= max(value) <= LONGEST:
        raise UnreadError(f"its {name} {value} are beyond {LONGEST}")
    return tuple(value)


def kernel_of(call: Call, place: int | None) -> tuple[int, ...]:
    """The kernel of a node."""
    written = integers(call.node, "kernel_shape", None, least=1)
    if place is None:
        if written is None:
            raise MalformedError("it has no kernel_shape, which the specification requires")
        return written
    weight = call.node.operand(place)
    if weight is None:
        raise MalformedError("it has no weight input: the model is damaged")
    shape = call.shape(place)
    sizes = None if shape is None else shape[IN_WEIGHT:]
    if sizes == ():
        raise UnreadError(f"its weight {weight.name!r} has no spatial axis")
    if written:
        if sizes is not None and not _fits(sizes, written):
            raise MalformedError(
                f"kernel_shape {written} conflicts with its weight {weight.name!r}"
            )
        return written
    if sizes is None or not {int}.issuperset(map(type, sizes)):
        said = "the size of its kernel is known only at run time"
        raise UnreadError(said, Reason.KERNEL_UNKNOWN)
    return sizes  # type: ignore[return-value]  # all are numbers


def _fits(sizes: tuple[Extent, ...], written: tuple[int, ...]) -> bool:
    return len(sizes) == len(written) and not any(
        isinstance(size, int) and size != number
        for size, number in zip(sizes, written, strict=True)
    )


def zero_of(call: Call, window: Window) -> Fill:
    """The fill that stands for 0 in a node's data; the specification wants one for all data."""
    place = window.zero_point
    if place is None or call.operand(place) is None:
        return ZERO
    if len({call.dtype(place), call.dtype()} - {None}) > 1:
        raise UnreadError("the zero point is of another type than the data")
    number = call.element(place) if call.shape(place) in ((), (1,)) else None
    return number if isinstance(number, int) else Operand(place)


def _own(call: Call, window: Window, counts: bool, zero: Fill) -> Fill:
    """The fill of an operator's own padding, given the one that stands for 0 in its data.

    An LpPool leaves its padding out. With p above 0 that equals zeros, whose power is 0.
    """
    if "p" in call.row.attributes and call.attribute("p") <= 0:
        raise UnreadError("its p is not above 0: zeros around data would count")
    if window.own == EXCLUDED:
        return zero if counts else EXCLUDED
    return zero if window.own == ZERO else window.own


def check_limit(node: Node, form: WindowForm) -> None:
    """Refuses pads beyond the limit that a user declared."""
    declaration = form.window.declaration
    if declaration is not None and form.auto_pad == "NOTSET":
        refusal = declaration.refuses(form.pads, node.attrs)
        if refusal:
            raise UnreadError(refusal)


def _channels_last(call: Call) -> bool:
    if (value := call.attribute("channels_last")) not in (0, 1):
        raise UnreadError(f"its channels_last is {value}, neither 0 nor 1")
    return bool(value)


class Placed(NamedTuple):
    """The windows along one axis: how many, and the operator's padding, negative where it crops.

    `runs` is 1 at the sizes at which the engine runs the operator, 0 elsewhere.
    """

    begin: Extent
    end: Extent
    windows: Extent
    runs: Extent = 1


Engine = Callable[[WindowForm, int, Extent, int | None], Placed | None]
"""Places the windows of an operator along one axis, for data of a size and an element type.

Returns None where the engine runs it at no size.
"""


def specification(form: WindowForm, axis: int, size: Extent, dtype: int | None) -> Placed:
    """The windows according to the specification.

    Source: the pages of Conv, MaxPool, AveragePool and LpPool in the ONNX specification, "auto_pad"
    and "ceil_mode", which those of their quantised and fused kin repeat. `auto_pad` beside `pads`,
    which it forbids, is read as `auto_pad`.
    """
    window = form.axes[axis]
    stride, extent = window.stride, (window.kernel - 1) * window.dilation + 1
    if form.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        windows = ceil_div(size, stride)
        # At stride 1 the size cancels out of the total, even where it is unknown.
        missing = extent - 1 if stride == 1 else (windows - 1) * stride + extent - size
        total = maximum(missing, 0)
        half = floor_div(total, 2)
        begin, end = half, total - half
        if form.auto_pad == "SAME_LOWER":
            begin, end = end, begin
        return Placed(begin, end, windows, less_equal(1, size))
    begin, end = form.pads[axis] if form.auto_pad == "NOTSET" else (0, 0)
    rest = size + begin + end - extent
    whole = floor_div(rest, stride) + 1
    if form.window.rounding == "floor":
        return Placed(begin, end, whole)
    if form.ceil:
        # No window starts in the padding at the end.
        whole = minimum(ceil_div(rest, stride) + 1, ceil_div(size + begin, stride))
    return Placed(begin, end, maximum(whole, 0), less_equal(1, size))


def onnxruntime(form: WindowForm, axis: int, size: Extent, dtype: int | None) -> Placed | None:
    """The windows according to onnxruntime, on the CPU with optimisation off (1.21 to 1.31).

    Source: measured, and onnxruntime's conv_attributes.h and pool_attributes.h, which its own
    operators and the quantised ones share.
    """
    pools = form.window.rounding == "pool"
    return _pool(form, axis, size, dtype) if pools else _convolution(form, axis, size)


def _convolution(form: WindowForm, axis: int, size: Extent) -> Placed | None:
    window = form.axes[axis]
    if form.says_twice:
        return None
    if not form.is_same:
        begin, end = _written(form, axis)
        span = size + begin + end - window.extent
        return Placed(begin, end, floor_div(span, window.stride) + 1)
    if any(each.dilation != 1 for each in form.axes):
        return None
    # onnxruntime does not clamp a negative total: the first window starts inside the data.
    total = _short_of(window.kernel, window.stride, size)
    lower = int(form.auto_pad == "SAME_LOWER")
    head = floor_div(total + lower, 2)
    if always(less_equal(0, total)) is not True:
        head = where(less_equal(0, total), head, trunc_div(total + 1 + lower, 2))
    return Placed(head, total - head, ceil_div(size, window.stride), less_equal(1, size))


def _pool(form: WindowForm, axis: int, size: Extent, dtype: int | None) -> Placed | None:
    window = form.axes[axis]
    for each, pads in zip(form.axes, form.pads, strict=True):
        if always(less_equal(each.kernel, max(pads))) is not False:
            return None  # "Pad should be smaller than kernel", also with auto_pad
    runs = less_equal(1, size)
    if not form.is_same:
        begin, end = _written(form, axis)
        span = size + begin + end - window.extent
        count = trunc_div(span, window.stride) + 1
        if form.ceil:
            count = ceil_div(span, window.stride) + 1
            count = minimum(count, ceil_div(size + begin, window.stride))
        return Placed(begin, end, count, runs)
    # onnxruntime pads for the undilated kernel, but counts windows of the dilated one.
    total = _short_of(window.kernel, window.stride, size)
    head = trunc_div(total + (form.auto_pad == "SAME_LOWER"), 2)
    span = size + total - window.extent
    count = trunc_div(span, window.stride) + 1  # nothing is left over but by dilation
    if form.ceil and window.extent != window.kernel:
        count = Unknown("onnxruntime's SAME with dilation that rounds up was not measured")
    if _stops_below_zero(form, dtype):
        runs = minimum(runs, less_equal(0, total))
    return Placed(head, total - head, count, runs)


def _short_of(kernel: int | Size, stride: int, size: Extent) -> Extent:
    """How much longer than the data the windows of SAME are; negative where they are shorter."""
    return kernel - 1 if stride == 1 else (ceil_div(size, stride) - 1) * stride + kernel - size


def _written(form: WindowForm, axis: int) -> tuple[int, int]:
    return (0, 0) if form.auto_pad == "VALID" else form.pads[axis]


def _stops_below_zero(form: WindowForm, dtype: int | None) -> bool:
    """Whether onnxruntime refuses a SAME with a negative total; where it does not, it crops."""
    if form.kind == "AveragePool":
        return form.version < 19 and not (form.ceil and form.counts)
    if form.kind != "MaxPool" or dtype not in {TensorProto.FLOAT, TensorProto.FLOAT16}:
        return False
    columns_first = ("storage_order", "int", 1) in form.others
    return not (form.has_indices or columns_first or any(axis.dilation != 1 for axis in form.axes))


def divides_by_kernel(form: WindowForm) -> bool:
    """Whether onnxruntime divides an average by its kernel, though that reaches past all padding.

    Source: measured. A quantised average that counts its padding always does so. Others do before
    opset 19 and without ceil_mode, for a kernel longer than the padded line, for which the
    specification has no window.
    """
    always_so = form.window.zero_point is not None
    counts = form.window.own == EXCLUDED and form.counts
    return counts and (always_so or (form.version < 19 and not form.ceil))


SPECIFICATION = "the specification"
"""The name of the engine that the specification is."""
ONNXRUNTIME = "onnxruntime"
"""The name of the other one."""
ENGINES: dict[str, Engine] = {SPECIFICATION: specification, ONNXRUNTIME: onnxruntime}
"""Both engines, in the order in which the proof asks them."""
