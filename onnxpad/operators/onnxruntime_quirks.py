"""Where onnxruntime departs from the specification on window operators.

Measured on its CPU execution provider with 1.21.0 and 1.31.1, with optimisation off unless stated.
Each row of the operator table refers to its entry here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from onnx import TensorProto

from onnxpad.arithmetic.notation import told_pair
from onnxpad.arithmetic.size import Extent, Unknown, always, equal, less_equal, minimum
from onnxpad.arithmetic.window import same_raw_total
from onnxpad.operators.amounts import ExtentPair
from onnxpad.operators.limits import AxisForm, Form, article
from onnxpad.reasons import Condition, Reason, RefusalError

if TYPE_CHECKING:
    from onnxpad.operators.read import WindowOp

Type: TypeAlias = Callable[[], int | None]
"""The element type of data; None where unknown."""

Span: TypeAlias = tuple[Extent, ExtentPair]
"""The size of an axis that an operator reads, and the operator's own pads there."""

Stops: TypeAlias = Callable[["WindowOp", int, Type], bool]
"""Whether an operator, in an opset and on an element type, stops where SAME would crop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departures:
    """How onnxruntime departs from the specification on one operator.

    Attributes:
        refuses_dilated_same: Whether it refuses SAME with dilation. Otherwise it pads for the
            kernel without dilation.
        same_from: The least total of SAME, before it is clamped at 0, for which the first window
            starts where the specification says, by the value of `auto_pad`.
        runs_same_from: The same, for a SAME that a rewrite introduces: it must not stop.
        stops: Whether it stops with an error where that total is negative.
        refuses_pads_beside_auto_pad: Whether `auto_pad` beside `pads` is an error. Otherwise it
            uses `auto_pad`.
        folds_pads: Whether PadFusion, a part of its optimiser, folds `Pad`s into the operator.
        runs_in_blocks: Whether it runs in blocks of channels (NCHWc) at full optimisation, over two
            spatial axes. Without a window on the first axis the process then dies of SIGFPE, and a
            maximum over only -infinity is the lowest finite number.
        divides_by_whole_kernels: Whether an average that counts its padding divides by the number
            of elements of its kernel, even where that reaches past all padding.
        rounds_whole_apart: Whether it is rounded otherwise where the kernel is as large as the data
            on all axes and nothing is padded: it then runs as its global kin.
    """

    refuses_dilated_same: bool
    same_from: Mapping[str, int]
    runs_same_from: Mapping[str, int]
    stops: Stops
    refuses_pads_beside_auto_pad: bool
    folds_pads: bool
    runs_in_blocks: bool
    divides_by_whole_kernels: bool
    rounds_whole_apart: bool


def _never(op: "WindowOp", opset: int, dtype: Type) -> bool:
    return False


CHANGED: Final[Mapping[str, int]] = {"AveragePool": 19}
"""The opset in which onnxruntime begins to compute something else for the same node."""


def _average_stops(op: "WindowOp", opset: int, dtype: Type) -> bool:
    return opset < CHANGED["AveragePool"] and not (op.ceil_mode and op.count_include_pad)


def _maximum_stops(op: "WindowOp", opset: int, dtype: Type) -> bool:
    return (
        not op.is_dilated
        and not op.gives_indices
        and dtype() in {TensorProto.FLOAT, TensorProto.FLOAT16}
    )


_CONV_FROM: Final = {"SAME_UPPER": -2, "SAME_LOWER": -3}
_POOL_FROM: Final = {"SAME_UPPER": -1, "SAME_LOWER": -2}
_POOL_RUNS: Final = {"SAME_UPPER": 0, "SAME_LOWER": 0}

CONV: Final = Departures(
    refuses_dilated_same=True,
    same_from=_CONV_FROM,
    runs_same_from=_CONV_FROM,
    stops=_never,
    refuses_pads_beside_auto_pad=True,
    folds_pads=True,
    runs_in_blocks=False,
    divides_by_whole_kernels=False,
    rounds_whole_apart=False,
)
UNFUSED_CONV: Final = replace(CONV, folds_pads=False)
"""ConvInteger, QLinearConv and FusedConv, which share Conv's reading of attributes.

1.21.0 has no ConvInteger of int8. A zero point with more than one element stops the quantised ones.
"""
MAX_POOL: Final = Departures(
    refuses_dilated_same=False,
    same_from=_POOL_FROM,
    runs_same_from=_POOL_RUNS,
    stops=_maximum_stops,
    refuses_pads_beside_auto_pad=False,
    folds_pads=True,
    runs_in_blocks=True,
    divides_by_whole_kernels=False,
    rounds_whole_apart=False,
)
AVERAGE_POOL: Final = Departures(
    refuses_dilated_same=False,
    same_from=_POOL_FROM,
    runs_same_from=_POOL_RUNS,
    stops=_average_stops,
    refuses_pads_beside_auto_pad=False,
    folds_pads=True,
    runs_in_blocks=True,
    divides_by_whole_kernels=False,
    rounds_whole_apart=False,
)
LP_POOL: Final = Departures(
    refuses_dilated_same=False,
    same_from=_POOL_FROM,
    runs_same_from=_POOL_RUNS,
    stops=_never,
    refuses_pads_beside_auto_pad=False,
    folds_pads=False,
    runs_in_blocks=False,
    divides_by_whole_kernels=False,
    rounds_whole_apart=False,
)
NHWC_MAX_POOL: Final = LP_POOL
"""It shares the reading of attributes with pools, and never stops."""
WHOLE_AVERAGE_POOL: Final = replace(NHWC_MAX_POOL, divides_by_whole_kernels=True)
"""Like a quantised average, but for how that rounds."""
QLINEAR_AVERAGE_POOL: Final = replace(WHOLE_AVERAGE_POOL, rounds_whole_apart=True)
"""With the channels last, the process dies of SIGFPE where it has no window.

As QLinearGlobalAveragePool, it rounds before it adds the zero point, and otherwise afterwards.
Source: onnxruntime, qlinear_pool.cc and qlgavgpool.cpp.
"""


def check_runs_same(op: "WindowOp", sizes: Sequence[Extent], auto_pad: str) -> None:
    """Raises unless onnxruntime would run an operator with SAME as the specification says.

    Raises:
        RefusalError: It would not.
    """
    if op.is_dilated:
        raise RefusalError(
            Reason.ENGINES_DISAGREE,
            f"it is {auto_pad} at every size, but onnxruntime refuses or misreads that with "
            "dilation",
            auto_pad=auto_pad,
            dilations=[window.dilation for window in op.windows],
        )
    least = op.operator.onnxruntime.runs_same_from[auto_pad]
    for window, size in zip(op.windows, sizes, strict=True):
        if always(less_equal(least, same_raw_total(size, window))) is not True:
            raise RefusalError(
                Reason.ENGINES_DISAGREE,
                f"it is {auto_pad} at every size, but onnxruntime misreads that for kernel "
                f"{window.kernel} below stride {window.stride}",
                auto_pad=auto_pad,
                kernel=window.kernel if isinstance(window.kernel, int) else None,
                stride=window.stride,
            )


def check_rounding(op: "WindowOp", now: Sequence[Span], then: Sequence[Span]) -> None:
    """Raises if onnxruntime might begin or cease to round an average as its global kin does.

    Args:
        op: The operator.
        now: What it reads, and its own pads, per spatial axis.
        then: The same in the new form.

    Raises:
        RefusalError: It might.
    """
    if not op.operator.onnxruntime.rounds_whole_apart:
        return
    both = [
        [
            minimum(equal(size, window.kernel), minimum(equal(begin, 0), equal(end, 0)))
            for window, (size, (begin, end)) in zip(op.windows, spans, strict=True)
        ]
        for spans in (now, then)
    ]
    if all(any(always(each) is False for each in whole) for whole in both):
        return
    if both[0] != both[1] or any(isinstance(each, Unknown) for each in both[0]):
        raise RefusalError(
            Reason.ROUNDING_DIFFERS,
            f"onnxruntime rounds {article(op)} otherwise where its kernel is all of the data and "
            "nothing is padded, which may come to be or cease to be so",
            kernel=[window.kernel for window in op.windows],
        )


def _is_below_kernel(on: AxisForm) -> bool:
    kernel = on.window.kernel
    return isinstance(kernel, int) and max(on.inside) < kernel


PADS_BELOW_KERNEL: Final = Condition[AxisForm](
    when=lambda on: on.form.inside != on.form.own,
    must=_is_below_kernel,
    said=lambda on: RefusalError(
        Reason.PADS_NOT_BELOW_KERNEL,
        f"the pads on axis {on.axis} would be {told_pair(on.inside)}, and a pool's must be smaller "
        f"than its kernel {on.window.kernel}",
        axis=on.axis,
        pads=on.inside,
        kernel=on.window.kernel if isinstance(on.window.kernel, int) else None,
    ),
)
"""Each pad of a pool is smaller than its kernel without dilation."""


def _divides_by_whole_kernels(form: Form) -> bool:
    """Whether an average that begins to count its padding would always divide by whole kernels."""
    becomes = form.counts and not form.op.count_include_pad
    return becomes and not form.op.ceil_mode and form.opset < CHANGED["AveragePool"]


def _reaches_past(form: Form, place: int) -> bool:
    size = form.sizes[place] + sum(form.around[place])
    return always(less_equal(form.op.windows[place].extent, size)) is not True


def _says_divisor(form: Form) -> RefusalError:
    place = next(place for place in range(len(form.sizes)) if _reaches_past(form, place))
    axis = form.op.axes[place]
    return RefusalError(
        Reason.DIVISOR_DIFFERS,
        f"the kernel may be longer than axis {axis} with its padding, and before opset "
        "19 an AveragePool that counts its padding then divides by the whole kernel",
        axis=axis,
        opset=form.opset,
    )


SAME_DIVISOR: Final = Condition[Form](
    when=_divides_by_whole_kernels,
    must=lambda form: not any(_reaches_past(form, place) for place in range(len(form.sizes))),
    said=_says_divisor,
)
"""Before opset 19 no kernel reaches past the padding of an average that counts it."""

WITHIN_PADDING: Final = Condition[AxisForm](
    when=lambda on: on.form.counts and not on.form.op.count_include_pad,
    must=lambda on: on.is_within_padding(on.inside),
    said=lambda on: RefusalError(
        Reason.DIVISOR_DIFFERS,
        f"a window may reach past the padding of axis {on.axis}, and {on.form.op.node.op} then "
        "divides by the whole kernel if it counts its padding, else by what is there",
        axis=on.axis,
    ),
)
"""No window of a quantised average that begins to count its padding reaches past all padding."""

# Types for which the CPU provider has a Pad; with others, a new Pad would not run.
_PADDED_SINCE_2: Final = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16})
_PADDED_SINCE_11: Final = _PADDED_SINCE_2 | {
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.INT32,
    TensorProto.INT64,
}


def check_pads(opset: int, dtype: int | None) -> None:
    """Raises unless onnxruntime has a `Pad` for an element type.

    Raises:
        RefusalError: It has none.
    """
    if opset < 2:
        raise RefusalError(
            Reason.OPSET_TOO_OLD, "opset 1 has no Pad that onnxruntime runs", opset=1, needs=2
        )
    if dtype not in (_PADDED_SINCE_2 if opset < 11 else _PADDED_SINCE_11):
        kind = TensorProto.DataType.Name(dtype).lower() if dtype is not None else "unknown"
        raise RefusalError(
            Reason.NO_PAD_FOR_TYPE,
            f"onnxruntime has no Pad for element type {kind} at opset {opset}",
            type=kind,
            opset=opset,
        )


_LATE: Final = 21
"""The first opset whose `Pad`s onnxruntime 1.21 does not fold yet."""


def folding_versions(opset: int) -> str:
    """The versions of onnxruntime that were seen to fold `Pad`s of an opset."""
    return "1.31.1 (not 1.21.0)" if opset >= _LATE else "1.21.0 and 1.31.1"


BLOCK: Final = 8
"""The least number of channels in a block; the NCHWc kernels take multiples of it."""
