"""The conditions on the padding that an operator is to have.

They are the specification's, and those of the runtime, whose data `runtimes.deployed` names.
Each is a function named by what a form needs: it returns the refusal of one that lacks it, else
None, and asks the operator's traits whether it applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from onnx import TensorProto

from onnxpad.analysis.signs import Signs
from onnxpad.arithmetic.notation import pair_text
from onnxpad.arithmetic.size import Extent, Size, always, less_equal
from onnxpad.arithmetic.window import meets_data, pool_output_size, same_raw_total
from onnxpad.graph import Tensor
from onnxpad.messages import RUNTIME, Named, counted, named
from onnxpad.operators.amounts import Pair, Pairs, onnx_order
from onnxpad.operators.read import WindowOp
from onnxpad.operators.table import Fill
from onnxpad.padding.padding import Padding
from onnxpad.reasons import Reason, RefusalError, require
from onnxpad.records import dataclass
from onnxpad.runtimes.deployed import CHANGED, departures_of
from onnxpad.sizes.wording import Wording

if TYPE_CHECKING:
    from onnxpad.analysis.infinities import Origin


@dataclass(frozen=True, slots=True)
class Proposal:
    """A form that the padding of an operator could have.

    Attributes:
        op: The operator as it is now.
        now: How the site is padded now, with `auto_pad` resolved.
        then: How it is to be padded.
        source: The tensor around which all this padding is.
        sizes: The spatial sizes of that tensor.
        is_whole: Whether its elements are known to be integers, and the padding around them the
            least of these, as a maximum over nothing but an operator's own padding is.
        opset: The version of the standard operators.
        signs: What is known of signs and infinities.
        wording: Words for sizes.
    """

    op: WindowOp
    now: Padding
    then: Padding
    source: Tensor
    sizes: tuple[Extent, ...]
    is_whole: bool
    opset: int
    signs: Signs
    wording: Wording

    @property
    def begins_to_count(self) -> bool:
        """Whether it is to count its padding, and does not now."""
        return self.then.counted and not self.now.counted

    @property
    def changes_pads(self) -> bool:
        """Whether the operator's own pads change."""
        return self.then.pads != self.now.pads

    def windows(self, place: int, pads: Pair) -> Extent:
        """The number of windows on an axis with these pads, where a `Pad` adds the rest."""
        total = self.now.total[place]
        inner = self.sizes[place] + (total[0] - pads[0]) + (total[1] - pads[1])
        return pool_output_size(inner, self.op.windows[place], *pads, ceil_mode=self.op.ceil_mode)


def needs_indices_unread(form: Proposal) -> RefusalError | None:
    """The operator gives no positions of the data that it reads."""
    if not form.op.gives_indices:
        return None
    told = "the operator's Indices count positions of the tensor it reads"
    return RefusalError(Reason.INDICES_READ, told)


def needs_finite_data(form: Proposal) -> RefusalError | None:
    """The data of a maximum holds no infinities and no NaN: windows of only these differ."""
    if form.op.operator.padding is not Fill.LOWEST:
        return None
    origin = form.signs.infinite(form.source)
    return None if origin is None else refusal_of_infinities(form.source, origin)


def refusal_of_infinities(source: Tensor, origin: Origin) -> RefusalError:
    """The refusal of data that holds infinities or NaN."""
    form = "and a window that holds only these differs between the two forms"
    return RefusalError(
        Reason.INFINITE_DATA,
        Named(
            f"{source.name!r} holds {origin.what}, {origin.why}, {form}",
            f"the data holds {origin.what}, {form}",
        ),
        tensor=source.name,
        origin=origin.tensor.name,
    )


def needs_own_padding_counted(form: Proposal) -> RefusalError | None:
    """An average has no uncounted padding now."""
    averages = form.op.operator.counts is not None and form.op.padding is Fill.EXCLUDED
    if not averages or all(max(pair) <= 0 for pair in form.now.numbers):
        return None
    return refusal_of_uncounted(form.op, pads=onnx_order(form.now.numbers))


def refusal_of_uncounted(op: WindowOp, **facts: object) -> RefusalError:
    """The refusal of an average that leaves its padding out of the divisor."""
    return RefusalError(
        Reason.OWN_PADDING_UNCOUNTED,
        f"{article(op)} with count_include_pad=0 leaves its padding out of the divisor, "
        "which no Pad can do",
        **facts,
    )


def article(op: WindowOp) -> str:
    """The operator of a node with the article that its name takes."""
    return f"{'an' if op.node.op[0] in 'AEIOU' else 'a'} {op.node.op}"


def needs_opset_that_counts(form: Proposal) -> RefusalError | None:
    """The opset has `count_include_pad`, where it is needed."""
    if not form.begins_to_count:
        return None
    assert form.op.operator.counts is not None
    since = form.op.operator.since(form.op.operator.counts)
    if form.opset >= since:
        return None
    return RefusalError(
        Reason.OPSET_TOO_OLD,
        f"{form.op.node.op} of opset {form.opset} cannot count its padding",
        opset=form.opset,
        needs=since,
    )


def needs_same_divisor(form: Proposal) -> RefusalError | None:
    """Before opset 19 no kernel reaches past the padding of an average that counts it.

    The runtime then divides by the whole kernel.
    """
    op = form.op
    if departures_of(op.operator).divides_by_whole_kernels or op.ceil_mode:
        return None
    if not form.begins_to_count or form.opset >= CHANGED["AveragePool"]:
        return None
    around = form.now.outside or ((0, 0),) * len(op.axes)
    for axis, window, size, pair in zip(op.axes, op.windows, form.sizes, around, strict=True):
        if always(less_equal(window.extent, size + sum(pair))) is not True:
            return RefusalError(
                Reason.DIVISOR_DIFFERS,
                f"the kernel may be longer than axis {axis} with its padding, and before opset "
                "19 an AveragePool that counts its padding then divides by the whole kernel",
                axis=axis,
                opset=form.opset,
            )
    return None


def needs_zero_point(form: Proposal) -> RefusalError | None:
    """The zero point of the data, with which the operator pads, is known."""
    return refusal_of_zero_point(form.op) if form.changes_pads and form.op.zero is None else None


def refusal_of_zero_point(op: WindowOp) -> RefusalError:
    """The refusal of data whose zero point, which its padding stands for, is not known."""
    place = op.operator.inputs.zero_point
    assert place is not None
    tensor = op.node.inputs[place].name
    return RefusalError(
        Reason.ZERO_POINT_UNKNOWN,
        named(
            lambda name: (
                f"{op.node.op} pads with its zero point{name(tensor)}, which is not one constant "
                "number"
            )
        ),
        tensor=tensor,
    )


LIMITS: Final = (
    needs_indices_unread,
    needs_finite_data,
    needs_own_padding_counted,
    needs_opset_that_counts,
    needs_same_divisor,
    needs_zero_point,
)
"""The conditions on a form as a whole, in the order in which they are asked."""


def needs_pads_below_kernel(form: Proposal, place: int) -> RefusalError | None:
    """Each pad of a pool is smaller than its kernel without dilation, as the runtime asks."""
    kernel, inside = form.op.windows[place].kernel, form.then.numbers[place]
    if not form.op.operator.pools or not form.changes_pads:
        return None
    if isinstance(kernel, int) and max(inside) < kernel:
        return None
    return refusal_of_pads(kernel, form.op.axes[place], inside)


def refusal_of_pads(kernel: Extent, axis: int, pads: Pair) -> RefusalError:
    """The refusal of pads of a pool that are not below its kernel."""
    return RefusalError(
        Reason.PADS_NOT_BELOW_KERNEL,
        f"the pads on axis {axis} would be {pair_text(pads)}, and a pool's must be smaller "
        f"than its kernel {kernel}",
        axis=axis,
        pads=pads,
        kernel=kernel if isinstance(kernel, int) else None,
    )


def needs_as_many_windows(form: Proposal, place: int) -> RefusalError | None:
    """With `ceil_mode` the number of windows stays the same."""
    if not form.op.ceil_mode:
        return None
    was, would = (form.windows(place, each.numbers[place]) for each in (form.now, form.then))
    if isinstance(was, int | Size) and was == would:
        return None
    axis = form.op.axes[place]
    if not (isinstance(was, int) and isinstance(would, int)):
        return refusal_of_ceil(form.wording, form.source, axis, form.sizes[place])
    return RefusalError(
        Reason.CEIL_WINDOWS_DIFFER,
        f"with ceil_mode the output has {counted(was, 'element')} on axis {axis}, and would have "
        f"{would}: a last window that starts in the operator's own padding is dropped",
        axis=axis,
        windows=was,
        would_be=would,
    )


def refusal_of_ceil(wording: Wording, source: Tensor, axis: int, size: Extent) -> RefusalError:
    """The refusal of a pool with `ceil_mode` whose number of windows depends on a size."""
    return RefusalError(
        Reason.SIZE_DEPENDENT,
        f"with ceil_mode the number of windows depends on {wording.sizes({axis: size}, source)}",
        axes=[axis],
        sizes=wording.places([size]),
        ceil_mode=1,
        options=wording.options({axis: size}, source),
    )


def needs_something_to_read(form: Proposal, place: int) -> RefusalError | None:
    """A pool reads no empty axis once a `Pad` is removed."""
    own, inside = (sum(each.numbers[place]) for each in (form.now, form.then))
    if not form.op.operator.pools or inside <= own:
        return None
    if is_never_empty(form.sizes[place] + sum(form.now.total[place]) - inside):
        return None
    return refusal_of_emptiness(form.source, form.op.axes[place])


def is_never_empty(size: Extent) -> bool:
    """Whether an axis of this size always has at least one element."""
    return always(less_equal(1, size)) is True


def refusal_of_emptiness(source: Tensor, axis: int) -> RefusalError:
    """The refusal of a pool that would read a tensor that may be empty: engines refuse it too."""
    return RefusalError(
        Reason.MAY_BE_EMPTY,
        named(
            lambda name: (
                f"without its Pad the pool may read nothing on axis {axis} of"
                f"{name(source.name, 'the data')}"
            )
        ),
        axis=axis,
        tensor=source.name,
    )


def needs_data_in_windows(form: Proposal, place: int) -> RefusalError | None:
    """Each window of a maximum holds an element of the data, unless that is of integers."""
    if form.op.operator.padding is not Fill.LOWEST or form.is_whole:
        return None
    axis, window, total = form.op.axes[place], form.op.windows[place], form.now.total[place]
    last = (form.windows(place, form.now.numbers[place]) - 1) * window.stride - total[0]
    if meets_data(window, form.sizes[place], -total[0], last):
        return None
    return RefusalError(
        Reason.WINDOW_IN_PADDING,
        f"a window may lie wholly in the padding {total} of axis {axis}, "
        "where a Pad and the operator's own padding differ",
        axis=axis,
        padding=total,
    )


def needs_windows_within_padding(form: Proposal, place: int) -> RefusalError | None:
    """No window of an average that begins to count its padding reaches past all padding.

    That is asked where the runtime would divide by the whole kernel.
    """
    op = form.op
    if not departures_of(op.operator).divides_by_whole_kernels or not form.begins_to_count:
        return None
    axis, window, whole = op.axes[place], op.windows[place], sum(form.now.total[place])
    count = form.windows(place, form.then.numbers[place])
    reach = (count - 1) * window.stride + window.extent
    if always(less_equal(reach, form.sizes[place] + whole)) is True:
        return None
    return RefusalError(
        Reason.DIVISOR_DIFFERS,
        f"a window may reach past the padding of axis {axis}, and {op.node.op} then "
        "divides by the whole kernel if it counts its padding, else by what is there",
        axis=axis,
    )


AXIS_LIMITS: Final = (
    needs_pads_below_kernel,
    needs_as_many_windows,
    needs_something_to_read,
    needs_data_in_windows,
    needs_windows_within_padding,
)
"""The conditions on each spatial axis of a form, by place, in the order in which they are asked."""


def check_form(form: Proposal) -> None:
    """Raises unless an operator may have a form.

    Raises:
        RefusalError: It may not; the message is that of the first condition that does not hold.
    """
    require(LIMITS, form)
    for place in range(len(form.op.axes)):
        require(AXIS_LIMITS, form, place)


def check_declared(op: WindowOp, pads: Pairs | None) -> None:
    """Raises if a user declared that an operator cannot have such pads.

    Args:
        op: The operator.
        pads: The pads; None for those that depend on the size.

    Raises:
        RefusalError: It cannot; the message is the user's.
    """
    declaration = op.operator.declaration
    if declaration is None or declaration.limit is None:
        return
    why = f"its pads are limited, and those of SAME depend on the size of {op.data.name!r}"
    if pads is not None:
        why = declaration.refuses(pads, op.node.attrs)
    if why:
        raise RefusalError(Reason.DECLARED_LIMIT, why, pads=onnx_order(pads) if pads else None)


def check_runs_same(op: WindowOp, sizes: Sequence[Extent], auto_pad: str) -> None:
    """Raises unless the runtime would run an operator with SAME as the specification says.

    Raises:
        RefusalError: It would not.
    """
    if op.is_dilated:
        raise RefusalError(
            Reason.ENGINES_DISAGREE,
            f"it is {auto_pad} at every size, but {RUNTIME} refuses or misreads that with dilation",
            auto_pad=auto_pad,
            dilations=[window.dilation for window in op.windows],
        )
    least = departures_of(op.operator).runs_same_from[auto_pad]
    for window, size in zip(op.windows, sizes, strict=True):
        if always(less_equal(least, same_raw_total(size, window))) is not True:
            raise RefusalError(
                Reason.ENGINES_DISAGREE,
                f"it is {auto_pad} at every size, but {RUNTIME} misreads that for kernel "
                f"{window.kernel} below stride {window.stride}",
                auto_pad=auto_pad,
                kernel=window.kernel if isinstance(window.kernel, int) else None,
                stride=window.stride,
            )


# Types for which the CPU provider has a Pad; with others, a new Pad would not run.
_PADDED_SINCE_2: Final = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16})
_PADDED_SINCE_11: Final = _PADDED_SINCE_2 | {
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.INT32,
    TensorProto.INT64,
}


def check_pads(opset: int, dtype: int | None) -> None:
    """Raises unless the runtime has a `Pad` for an element type.

    Raises:
        RefusalError: It has none.
    """
    if opset < 2:
        raise RefusalError(
            Reason.OPSET_TOO_OLD, f"opset 1 has no Pad that {RUNTIME} runs", opset=1, needs=2
        )
    if dtype not in (_PADDED_SINCE_2 if opset < 11 else _PADDED_SINCE_11):
        kind = TensorProto.DataType.Name(dtype).lower() if dtype is not None else "unknown"
        raise RefusalError(
            Reason.NO_PAD_FOR_TYPE,
            f"{RUNTIME} has no Pad for element type {kind} at opset {opset}",
            type=kind,
            opset=opset,
        )
