"""Where onnxruntime departs from the specification: a table by operator, and what becomes of SAME.

Measured on its CPU execution provider with 1.21 to 1.32, with optimisation off unless stated.
What is written must run in all of these, whichever is installed: a departure that the newest no
longer has is heeded until no version that has it is supported.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from onnx import TensorProto

from onnxpad.arithmetic.size import (
    Extent,
    Unknown,
    always,
    bounds,
    evaluate,
    floor_div,
    less_equal,
    symbol,
    trunc_div,
    where,
)
from onnxpad.arithmetic.window import (
    AnyWindow,
    OpenWindow,
    odd_side,
    same_output_size,
    same_pads,
    same_raw_total,
)
from onnxpad.declared import Key
from onnxpad.messages import counted
from onnxpad.operators.amounts import Pair
from onnxpad.operators.table import MICROSOFT, Operator
from onnxpad.reasons import BY_TRUST, Reason, RefusalError
from onnxpad.records import NamedTuple, dataclass

if TYPE_CHECKING:
    from onnxpad.operators.read import WindowOp

Type: TypeAlias = Callable[[], int | None]
"""The element type of data; None where unknown."""

Version: TypeAlias = tuple[int, int]
Versions: TypeAlias = tuple[Version, Version]
"""The first and the last version that was seen to depart; a later one was not seen at all."""

_OLDEST: Final = (1, 21)
_NEWEST: Final = (1, 32)

_MOST_TRIED: Final = 256  # sizes that are tried for one at which the engines differ


class Stops(enum.Enum):
    """Where an operator with SAME stops with an error instead of cropping."""

    NEVER = "never"
    AVERAGE = "as an average does"
    """Before opset 19, unless it rounds up and counts its padding."""
    MAXIMUM = "as a maximum does"
    """Of float and float16, unless it is dilated or gives Indices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departures:
    """How onnxruntime departs from the specification on one operator.

    Attributes:
        same_from: The least total of SAME, before it is clamped at 0, for which the first window
            starts where the specification says, by the value of `auto_pad`.
        runs_same_from: The same, for a SAME that a rewrite introduces: it must not stop.
        refuses_dilated_same: Whether it refuses SAME with dilation. Otherwise it pads for the
            kernel without dilation.
        stops: Where it stops with an error if that total is negative.
        refuses_pads_beside_auto_pad: Whether `auto_pad` beside `pads` is an error. Otherwise it
            uses `auto_pad`.
        folds_pads: The versions in which PadFusion, a part of its optimiser, folds `Pad`s into the
            operator unchecked; None for an operator that it leaves alone.
        runs_in_blocks: Whether it runs in blocks of channels (NCHWc) at full optimisation, over two
            spatial axes. Without a window on the first axis the process then dies of SIGFPE, and a
            maximum over only -infinity is the lowest finite number.
        divides_by_whole_kernels: Whether an average that counts its padding divides by the number
            of elements of its kernel, even where that reaches past all padding.
    """

    same_from: Mapping[str, int]
    runs_same_from: Mapping[str, int]
    refuses_dilated_same: bool = False
    stops: Stops = Stops.NEVER
    refuses_pads_beside_auto_pad: bool = False
    folds_pads: Versions | None = None
    runs_in_blocks: bool = False
    divides_by_whole_kernels: bool = False


CHANGED: Final[Mapping[str, int]] = {"AveragePool": 19}
"""The opset in which onnxruntime begins to compute something else for the same node."""


_CONV_FROM: Final = {"SAME_UPPER": -2, "SAME_LOWER": -3}
_POOL_FROM: Final = {"SAME_UPPER": -1, "SAME_LOWER": -2}
_POOL_RUNS: Final = {"SAME_UPPER": 0, "SAME_LOWER": 0}

_CONV: Final = Departures(
    same_from=_CONV_FROM,
    runs_same_from=_CONV_FROM,
    refuses_dilated_same=True,
    refuses_pads_beside_auto_pad=True,
    folds_pads=(_OLDEST, _NEWEST),
)
_LP_POOL: Final = Departures(same_from=_POOL_FROM, runs_same_from=_POOL_RUNS)
# From 1.32 on, no `Pad` is folded into a MaxPool, and into an AveragePool only where that is right.
_MAX_POOL: Final = replace(
    _LP_POOL, stops=Stops.MAXIMUM, folds_pads=(_OLDEST, (1, 31)), runs_in_blocks=True
)
# They share Conv's reading of attributes. 1.21 has no ConvInteger of int8. A zero point with more
# than one element stops the quantised ones.
_UNFUSED_CONV: Final = replace(_CONV, folds_pads=None)
# It shares the reading of attributes with pools, and never stops.
_NHWC_MAX_POOL: Final = _LP_POOL
_WHOLE_AVERAGE_POOL: Final = replace(_NHWC_MAX_POOL, divides_by_whole_kernels=True)

DEPARTURES: Final[Mapping[Key, Departures]] = {
    ("", "Conv"): _CONV,
    ("", "MaxPool"): _MAX_POOL,
    ("", "AveragePool"): replace(_MAX_POOL, stops=Stops.AVERAGE),
    ("", "LpPool"): _LP_POOL,
    ("", "ConvInteger"): _UNFUSED_CONV,
    ("", "QLinearConv"): _UNFUSED_CONV,
    ("", "ConvTranspose"): _UNFUSED_CONV,
    (MICROSOFT, "QLinearConv"): _UNFUSED_CONV,
    (MICROSOFT, "FusedConv"): _UNFUSED_CONV,
    (MICROSOFT, "NhwcMaxPool"): _NHWC_MAX_POOL,
    # With the channels last, the process dies of SIGFPE where it has no window.
    (MICROSOFT, "QLinearAveragePool"): _WHOLE_AVERAGE_POOL,
}
"""Of each operator of the table."""

_DECLARED: Final[Mapping[str, Departures]] = {
    "Conv": _UNFUSED_CONV,
    "MaxPool": _NHWC_MAX_POOL,
    "AveragePool": _WHOLE_AVERAGE_POOL,
}
"""Of operators that users declared, by what they are like."""


def departures_of(row: Operator) -> Departures:
    """Where onnxruntime departs on an operator."""
    own = row.declaration
    return DEPARTURES[row.key] if own is None else _DECLARED[own.like]


_LATE: Final = 21
"""The first opset whose `Pad`s are folded only from this version on."""
_FOLDS_LATE: Final = (1, 25)


FOLDED: Final[Mapping[str, Versions]] = {
    op: row.folds_pads for (_, op), row in DEPARTURES.items() if row.folds_pads
}
"""The operators into which `Pad`s are folded, all of them ONNX's own, and in which versions."""


def folds_as_any(version: Version, ops: Container[str], opset: int) -> bool:
    """Whether a version folds `Pad`s into operators wherever some version does."""
    found = (_at(opset, versions) for op, versions in FOLDED.items() if op in ops)
    return all(first <= version <= last for first, last in found)


def folding_versions(row: Operator, opset: int) -> str:
    """The versions that fold `Pad`s of an opset into an operator unchecked: `1.25 to 1.31`."""
    first, last = _at(opset, FOLDED[row.op_type])
    return "{}.{} to {}.{}".format(*first, *last)


def _at(opset: int, versions: Versions) -> Versions:
    return versions if opset < _LATE else (_FOLDS_LATE, versions[1])


BLOCK: Final = 8
"""The least number of channels in a block; the NCHWc kernels take multiples of it."""


class ResolvedAxis(NamedTuple):
    """One axis of an operator with SAME, as an engine resolves it.

    Attributes:
        begin: The padding before the data; negative where it crops.
        end: The padding after it.
        windows: The number of windows.
    """

    begin: Extent
    end: Extent
    windows: Extent


def specified(op: WindowOp, window: AnyWindow, size: Extent) -> ResolvedAxis:
    """SAME according to the specification.

    Source: ONNX Conv and MaxPool, "auto_pad".
    """
    odd = odd_side(op.auto_pad)
    begin, end = same_pads(size, window, odd=odd)
    return ResolvedAxis(begin, end, same_output_size(size, window))


def computed(op: WindowOp, window: AnyWindow, size: Extent) -> ResolvedAxis:
    """SAME according to onnxruntime, where it runs the operator.

    A total below 0 is not clamped: the first window starts inside the data. A pool pads for the
    kernel without dilation, but counts the windows of the dilated one.
    """
    lower = int(op.auto_pad == "SAME_LOWER")
    if not op.operator.pools:
        total = same_raw_total(size, window)
        inside = trunc_div(total + 1 + lower, 2)
        begin = where(less_equal(0, total), floor_div(total + lower, 2), inside)
        return ResolvedAxis(begin, total - begin, same_output_size(size, window))
    total = same_raw_total(size, replace(window, dilation=1))
    begin = trunc_div(total + lower, 2)
    if op.ceil_mode and _is_spread(window):
        windows: Extent = Unknown("onnxruntime's SAME with dilation and ceil_mode was not measured")
    else:
        windows = trunc_div(size + total - window.extent, window.stride) + 1
    return ResolvedAxis(begin, total - begin, windows)


def runtime_pads(op: WindowOp, window: AnyWindow, size: Extent) -> Pair | None:
    """The constant pads (begin, end) by which onnxruntime reads SAME, negative where it crops.

    None where they depend on an open size, or leave no room for a window: of the explicit pads too,
    onnxruntime then makes something else than the specification. None also where its number of
    windows is unknown.
    """
    placed = computed(op, window, size)
    begin, end = _constant(placed.begin), _constant(placed.end)
    if begin is None or end is None or isinstance(placed.windows, Unknown):
        return None
    fits = always(less_equal(window.extent, size + begin + end)) is True
    return (begin, end) if fits else None


def disagreement(
    op: WindowOp, sizes: Sequence[Extent], opset: int, dtype: Type
) -> RefusalError | None:
    """How onnxruntime departs from the specification on an operator with SAME.

    Args:
        op: The operator, with SAME.
        sizes: The spatial sizes of its data.
        opset: The version of the standard operators.
        dtype: Asked for the data's element type, where that matters.

    Returns:
        The refusal to choose between them, with the numbers of both; None where they agree, or
        onnxruntime does not run the operator, so that writing the pads is a repair.
    """
    departs = departures_of(op.operator)
    if departs.refuses_dilated_same and op.is_dilated:
        return None
    axes = list(zip(op.axes, op.windows, sizes, strict=True))
    for axis, window, size in axes:
        if _is_spread(window):
            how = f"dilation {window.dilation}, for which onnxruntime does not pad a pool"
            return _refusal(op, axis, window, size, how)
    if _stops(op, opset, dtype):
        return None
    least = departs.same_from[op.auto_pad]
    for axis, window, size in axes:
        # The raw total is never below kernel - stride.
        if isinstance(window.kernel, int) and window.kernel - window.stride >= least:
            continue
        if always(less_equal(least, same_raw_total(size, window))) is not True:
            how = f"kernel {window.kernel} below stride {window.stride}"
            return _refusal(op, axis, window, size, how)
    return None


def _stops(op: WindowOp, opset: int, dtype: Type) -> bool:
    """Whether onnxruntime stops at an operator where SAME would crop."""
    match departures_of(op.operator).stops:
        case Stops.AVERAGE:
            return opset < CHANGED["AveragePool"] and not (op.ceil_mode and op.count_include_pad)
        case Stops.MAXIMUM:
            types = {TensorProto.FLOAT, TensorProto.FLOAT16}
            return not op.is_dilated and not op.gives_indices and dtype() in types
        case Stops.NEVER:
            return False


def why_not_run(
    op: WindowOp, sizes: Callable[[], Sequence[Extent]], opset: int, dtype: Type
) -> str:
    """Why onnxruntime does not run an operator with `auto_pad`; empty where it may run it."""
    departs = departures_of(op.operator)
    if op.pads_written and departs.refuses_pads_beside_auto_pad:
        return "auto_pad beside pads"
    if not op.auto_pad.startswith("SAME"):
        return ""
    if op.is_dilated and departs.refuses_dilated_same:
        return f"{op.auto_pad} with dilation"
    if not _stops(op, opset, dtype):
        return ""
    axes = zip(op.windows, sizes(), strict=True)
    if any(always(less_equal(0, same_raw_total(size, window))) is False for window, size in axes):
        return f"{op.auto_pad} with a kernel below the stride"
    return ""


def _refusal(op: WindowOp, axis: int, window: AnyWindow, size: Extent, how: str) -> RefusalError:
    facts: dict[str, object] = {
        "auto_pad": op.auto_pad,
        "axis": axis,
        "kernel": window.kernel if isinstance(window.kernel, int) else None,
        "stride": window.stride,
        "dilations": [each.dilation for each in op.windows],
    }
    words = f"onnxruntime and the specification disagree on {op.auto_pad} with {how}"
    brief = ""
    examples = list(_examples(op, window, size))
    running = (each for each in examples if always(less_equal(1, each[1].windows)))
    example = next(running, next(iter(examples), None))
    if example is not None:
        at, ours, theirs = example
        where_ = f"on axis {axis} of size {at}" if isinstance(size, int) else f"at size {at}"
        brief = words if isinstance(size, int) else ""
        words += f": {where_} {_reads('onnxruntime', ours)}, {_reads('the specification', theirs)}"
        for name, placed in (("onnxruntime", ours), ("specification", theirs)):
            facts[name] = {"pads": [placed.begin, placed.end], "windows": placed.windows}
        facts["size"] = at
    return RefusalError(
        Reason.ENGINES_DISAGREE,
        words,
        brief,
        **facts,
        disagreement=words,
        options=BY_TRUST,
    )


def _reads(engine: str, placed: ResolvedAxis) -> str:
    count = placed.windows
    many = counted(max(count, 0), "element") if isinstance(count, int) else "an unknown number"
    return f"{engine} pads {placed.begin}+{placed.end} and gives {many}"


def _examples(
    op: WindowOp, window: AnyWindow, size: Extent
) -> Iterator[tuple[int, ResolvedAxis, ResolvedAxis]]:
    """The sizes at which the two engines differ, with what each makes of them."""
    if isinstance(window, OpenWindow):
        return
    for at in _admitted(size):
        ours, theirs = computed(op, window, at), specified(op, window, at)
        if (ours.begin, ours.windows) != (theirs.begin, theirs.windows):
            yield at, ours, theirs


def _admitted(size: Extent) -> Iterator[int]:
    """The values of a size, the least first; at most a few."""
    if isinstance(size, int):
        yield size
        return
    if isinstance(size, Unknown):
        yield from _admitted(symbol("any size"))
        return
    if len(size.symbols) != 1:
        yield from range(1, _MOST_TRIED)
        return
    (which,) = size.symbols
    for index in range(min(which.sizes.count, _MOST_TRIED)):
        value = evaluate(size, {which.name: which.sizes.value(index)})
        if value >= 1:
            yield value


def _is_spread(window: AnyWindow) -> bool:
    """Whether dilation makes the window longer."""
    return window.dilation != 1 and window.kernel != 1


def _constant(extent: Extent) -> int | None:
    low, high = bounds(extent)
    return low if low is not None and low == high else None
