"""The part of its full result that a transposed convolution gives, and the attributes that say so.

The full result is all that windows reach: `(n - 1) * stride + extent` elements on an axis of `n`.
`pads` crop it at both ends, `output_padding` appends to it. Both ends as one number each are its
*crop*; below 0 it appends. Several forms have one crop: pads (1, 1) with output_padding 1 crop as
pads (1, 0) do. A form is a padding whose pads are numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.notation import named
from onnxpad.arithmetic.size import Extent, Unknown, always, less_equal
from onnxpad.arithmetic.window import Window, transposed_output_size
from onnxpad.finding import Trust
from onnxpad.messages import RUNTIME, counted
from onnxpad.operators.amounts import Pair, Pairs, onnx_order
from onnxpad.operators.read import TransposedOp
from onnxpad.padding.padding import Padding
from onnxpad.reasons import Reason, RefusalError
from onnxpad.site_form import WrittenAmounts


def form_text(form: Padding) -> str:
    """A form as reports have it."""
    return _amounts(form.numbers, form.output_padding).text


def amounts_of(op: TransposedOp) -> WrittenAmounts:
    """How much a transposed convolution crops, or the attributes that say how much it gives."""
    if op.is_explicit:
        return _amounts(op.pads, op.output_padding)
    auto_pad = (("auto_pad", op.auto_pad),) if op.auto_pad != "NOTSET" else ()
    shape = (("output_shape", tuple(op.output_shape)),) if op.output_shape is not None else ()
    return WrittenAmounts((), (*auto_pad, *shape, *_appended(op.output_padding)))


def _amounts(pads: Pairs, output_padding: Sequence[int]) -> WrittenAmounts:
    attributes = ("pads", tuple(onnx_order(pads))), *_appended(output_padding)
    return WrittenAmounts(named(pads), attributes)


def _appended(output_padding: Sequence[int]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return (("output_padding", tuple(output_padding)),) if any(output_padding) else ()


def crop_of(analysis: Analysis, op: TransposedOp, trust: Trust | None = None) -> Pairs:
    """(begin, end) per spatial axis by which an operator crops its full result.

    Where that is shorter than the output should be, the runtime crops nothing (SAME) or appends
    the rest (`output_shape`). The specification divides a negative number there, and leaves open
    how it is rounded, so only the runtime can be trusted.

    Raises:
        RefusalError: It depends on a size that is open, or engines disagree on it.
    """
    if op.auto_pad != "NOTSET" and op.pads_written:
        raise RefusalError(
            Reason.AUTO_PAD_AND_PADS,
            f"it has both auto_pad={op.auto_pad} and pads, which the specification forbids and "
            f"{RUNTIME} refuses",
        )
    from onnxpad.semantics.transposed import ends_of

    wanted, found = op.output_shape, list[Pair]()
    shape = analysis.shape(op.data)
    if not op.is_explicit and not {Window}.issuperset(map(type, op.windows)):
        raise RefusalError(
            Reason.KERNEL_UNKNOWN, "the size of its kernel is known only at run time"
        )
    for axis in op.axes if wanted is not None else ():
        if shape is None or not isinstance(shape[axis], int):
            told = f"its output_shape is fixed, but axis {axis} of its data is open"
            raise RefusalError(Reason.SIZE_DEPENDENT, told, axes=[axis])
    each = zip(op.axes, op.windows, ends_of(op.form, shape), strict=True)
    for place, (axis, window, (begin, end, is_open)) in enumerate(each):
        assert isinstance(begin, int)
        assert isinstance(end, int)
        facts: dict[str, object] = {"extent": window.extent, "stride": window.stride}
        told = f"its kernel spans {window.extent}, less than its stride {window.stride}"
        if wanted is not None:
            facts = {"axis": axis, "wanted": wanted[place]}
            more = _elements(begin + end)
            told = f"its output_shape appends {more} on axis {axis}"
            if begin + end >= window.stride:  # the runtime refuses to run it
                told += f", which {RUNTIME} refuses: it must stay below the stride {window.stride}"
                raise RefusalError(Reason.CROPS, told, **facts)
        if is_open and trust is not Trust.RUNTIME:
            told += ": the specification leaves open at which end elements are appended"
            raise RefusalError(
                Reason.ENGINES_DISAGREE,
                told,
                **facts,
                disagreement=told,
                options=(Trust.RUNTIME.option,),
            )
        found.append((-begin, -end))
    return tuple(found)


def check_gives(analysis: Analysis, op: TransposedOp, axes: Collection[int], crop: Pairs) -> None:
    """Raises unless an operator that crops so much leaves elements on some axes at every size.

    Args:
        analysis: The analysis of the graph.
        op: The operator.
        axes: The axes.
        crop: (begin, end) per spatial axis.

    Raises:
        RefusalError: At some size it may leave none.
    """
    shape = analysis.shape(op.data)
    for axis, window, ends in zip(op.axes, op.windows, crop, strict=True):
        size = Unknown("a rank known only at run time") if shape is None else shape[axis]
        left: Extent = Unknown("a kernel known only at run time")
        if isinstance(window, Window):
            left = transposed_output_size(size, window, *ends)
        if axis in axes and always(less_equal(1, left)) is not True:
            raise leaves_nothing(axis, left)


def leaves_nothing(axis: int, size: Extent) -> RefusalError:
    """The refusal of a crop that may leave nothing of an axis.

    Args:
        axis: The axis.
        size: The size of which that is not known.
    """
    told_when = "at some size nothing may be left of axis"
    if isinstance(size, Unknown):
        told_when = "as a size is known only at run time, nothing may be left of axis"
    return RefusalError(
        Reason.MAY_BE_EMPTY, f"{told_when} {axis}, which a ConvTranspose cannot give", axis=axis
    )


def _elements(count: int) -> str:
    return counted(count, "element")


def symmetric_form(op: TransposedOp, crop: Pairs) -> tuple[Padding, Pairs]:
    """A form with pads that are equal at both ends, and what must be cropped behind it.

    Raises:
        RefusalError: There is none.
    """
    kept, rest = list[Pair](), list[Pair]()
    for window, (begin, end) in zip(op.windows, crop, strict=True):
        if begin < end:
            inside = begin, begin
        elif begin - end < window.stride:
            inside = begin, end
        else:
            inside = max(end, 0), end
        kept.append(inside)
        rest.append((begin - inside[0], end - inside[1]))
    return form_of(op, tuple(kept), symmetric=True), tuple(rest)


def form_of(op: TransposedOp, crop: Pairs, *, symmetric: bool = False) -> Padding:
    """The form with the least numbers that has a crop.

    Args:
        op: The operator.
        crop: (begin, end) per spatial axis; below 0 it appends.
        symmetric: Whether pads must be equal at both ends.

    Raises:
        RefusalError: There is none.
    """
    pads, appended = list[Pair](), list[int]()
    for axis, window, (begin, end) in zip(op.axes, op.windows, crop, strict=True):
        more = max(-end, 0)
        if symmetric and begin != max(end, 0):
            more = begin - end
        if begin < 0 or more < 0:
            told_crop = f"{begin}+{end}"
            raise RefusalError(
                Reason.CROPS,
                f"no symmetric pads crop axis {axis} by {told_crop}"
                if begin >= 0
                else f"it would have to prepend {_elements(-begin)} on axis {axis}, and pads "
                "cannot be negative",
                axis=axis,
                crop=[begin, end],
            )
        if more >= window.stride:
            told_pads = f"with pads of {begin} at both ends " if more > max(-end, 0) else ""
            raise RefusalError(
                Reason.CROPS,
                f"{told_pads}it would have to append {_elements(more)} on axis {axis}, and "
                f"output_padding must stay below the stride {window.stride}",
                axis=axis,
                crop=[begin, end],
            )
        pads.append((begin, end + more))
        appended.append(more)
    return Padding(tuple(pads), output_padding=tuple(appended))
