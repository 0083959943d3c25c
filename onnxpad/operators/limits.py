"""The specification's conditions on the padding that an operator is to have.

Rows of the table list the conditions that apply to them. `onnxruntime_quirks` has the conditions
of onnxruntime alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from onnxpad.arithmetic.size import Extent, Size, always, less_equal
from onnxpad.arithmetic.window import AnyWindow, meets_data, pool_output_size
from onnxpad.graph import Tensor
from onnxpad.operators.amounts import Pair, Pairs, add, onnx_order
from onnxpad.reasons import Condition, Reason, RefusalError

if TYPE_CHECKING:
    from onnxpad.operators.read import WindowOp


@dataclass(frozen=True, slots=True)
class Form:
    """A form that the padding of an operator could have.

    Attributes:
        op: The operator as it is now.
        own: Its own pads now, per spatial axis, with `auto_pad` resolved.
        around: The amounts of a `Pad` in front of it now.
        inside: Its own pads in the new form.
        counts: Whether it counts its padding in the new form.
        source: The tensor around which all this padding is.
        sizes: The spatial sizes of that tensor.
        is_whole: Whether its elements are known to be integers, and the padding around them the
            least of these, as a maximum over nothing but an operator's own padding is.
        opset: The version of the standard operators.
        infinite: Returns the source of infinities in a tensor; None where none is found.
        size_dependent: Makes the refusal for a number of windows that depends on a size.
    """

    op: "WindowOp"
    own: Pairs
    around: Pairs
    inside: Pairs
    counts: bool
    source: Tensor
    sizes: tuple[Extent, ...]
    is_whole: bool
    opset: int
    infinite: Callable[[Tensor], Tensor | None]
    size_dependent: Callable[[Tensor, int, Extent], RefusalError]

    def along(self) -> "list[AxisForm]":
        """The form axis by axis."""
        op, total = self.op, add(self.own, self.around)
        each = zip(op.axes, op.windows, self.sizes, self.own, self.inside, total, strict=True)
        return [AxisForm(self, *one) for one in each]


class AxisForm(NamedTuple):
    """A form on one spatial axis.

    Attributes:
        form: The form.
        axis: The axis of the data.
        window: The window that slides along it.
        size: The size of the source.
        own: The operator's own pads now.
        inside: Its own pads in the new form.
        total: All padding, its own and that of a `Pad`.
    """

    form: Form
    axis: int
    window: AnyWindow
    size: Extent
    own: Pair
    inside: Pair
    total: Pair

    def windows(self, pads: Pair) -> Extent:
        """The number of windows if these are the operator's pads, and a `Pad` adds the rest."""
        total = self.total
        inner = self.size + (total[0] - pads[0]) + (total[1] - pads[1])
        return pool_output_size(inner, self.window, *pads, ceil_mode=self.form.op.ceil_mode)

    def is_within_padding(self, pads: Pair) -> bool:
        """Whether no window reaches past all padding if these are the operator's pads."""
        reach = (self.windows(pads) - 1) * self.window.stride + self.window.extent
        return always(less_equal(reach, self.size + sum(self.total))) is True


def says_power(op: "WindowOp") -> RefusalError:
    """The refusal of an LpPool with p of 0 or less, whose own padding does not equal zeros."""
    assert op.operator.power is not None
    return RefusalError(
        Reason.POWER_NOT_POSITIVE,
        f"an LpPool with p={op.node.attrs.get(op.operator.power)} counts the zeros of a Pad, and "
        "leaves its own padding out",
    )


def check_declared(op: "WindowOp", pads: Pairs | None) -> None:
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


POWER_ABOVE_ZERO: Final = Condition[Form](
    when=lambda form: form.inside != form.own,
    must=lambda form: not form.op.leaves_zeros_out,
    said=lambda form: says_power(form.op),
)
"""The power of an LpPool is above 0: otherwise the zeros of a `Pad` count."""


def article(op: "WindowOp") -> str:
    """The operator of a node with the article that its name takes."""
    return f"{'an' if op.node.op[0] in 'AEIOU' else 'a'} {op.node.op}"


def says_zero_point(op: "WindowOp") -> RefusalError:
    """The refusal of data whose zero point, which its padding stands for, is not known."""
    place = op.operator.inputs.zero_point
    assert place is not None
    tensor = op.node.inputs[place].name
    return RefusalError(
        Reason.ZERO_POINT_UNKNOWN,
        f"{op.node.op} pads with its zero point {tensor!r}, which is not one constant number",
        tensor=tensor,
    )


ZERO_POINT_KNOWN: Final = Condition[Form](
    when=lambda form: form.inside != form.own,
    must=lambda form: form.op.zero is not None,
    said=lambda form: says_zero_point(form.op),
)
"""The zero point of the data, with which the operator pads, is known."""

OWN_PADDING_COUNTED: Final = Condition[Form](
    when=lambda form: any(max(pair) > 0 for pair in form.own),
    must=lambda form: form.op.padding != "excluded",
    said=lambda form: RefusalError(
        Reason.OWN_PADDING_UNCOUNTED,
        f"{article(form.op)} with count_include_pad=0 leaves its padding out of the divisor, "
        "which no Pad can do",
        pads=onnx_order(form.own),
    ),
)
"""An average has no uncounted padding now."""

INDICES_UNREAD: Final = Condition[Form](
    must=lambda form: not form.op.gives_indices,
    said=lambda form: RefusalError(
        Reason.INDICES_READ, "the operator's Indices count positions of the tensor it reads"
    ),
)
"""The operator gives no positions of the data that it reads."""


def _counting_since(op: "WindowOp") -> int:
    assert op.operator.counts is not None
    return op.operator.since[op.operator.counts]


COUNTING_KNOWN: Final = Condition[Form](
    when=lambda form: form.counts and not form.op.count_include_pad,
    must=lambda form: form.opset >= _counting_since(form.op),
    said=lambda form: RefusalError(
        Reason.OPSET_TOO_OLD,
        f"{form.op.node.op} of opset {form.opset} cannot count its padding",
        opset=form.opset,
        needs=_counting_since(form.op),
    ),
)
"""The opset has `count_include_pad`, where it is needed."""

FINITE_DATA: Final = Condition[Form](
    must=lambda form: form.infinite(form.source) is None,
    said=lambda form: says_infinite(form.source, form.infinite(form.source)),
)
"""The data holds no infinities: the two forms differ for a window that holds only -infinity."""


def says_infinite(source: Tensor, origin: Tensor | None) -> RefusalError:
    """The refusal of data that holds infinities, which come from `origin`."""
    assert origin is not None
    return RefusalError(
        Reason.INFINITE_DATA,
        f"{source.name!r} holds infinities, from {origin.name!r}, and a window that holds only "
        "these differs between the two forms",
        tensor=source.name,
        origin=origin.name,
    )


def _as_many_windows(on: AxisForm) -> bool:
    was, would = on.windows(on.own), on.windows(on.inside)
    return isinstance(was, int | Size) and was == would


def _says_windows(on: AxisForm) -> RefusalError:
    was, would = on.windows(on.own), on.windows(on.inside)
    if not (isinstance(was, int) and isinstance(would, int)):
        return on.form.size_dependent(on.form.source, on.axis, on.size)
    return RefusalError(
        Reason.CEIL_WINDOWS_DIFFER,
        f"with ceil_mode the output has {was} elements on axis {on.axis}, and would have "
        f"{would}: a last window that starts in the operator's own padding is dropped",
        axis=on.axis,
        windows=was,
        would_be=would,
    )


AS_MANY_WINDOWS: Final = Condition[AxisForm](
    when=lambda on: on.form.op.ceil_mode, must=_as_many_windows, said=_says_windows
)
"""With `ceil_mode` the number of windows stays the same."""


def is_never_empty(size: Extent) -> bool:
    """Whether an axis of this size always has at least one element."""
    return always(less_equal(1, size)) is True


def says_empty(source: Tensor, axis: int) -> RefusalError:
    """The refusal of a pool that would read a tensor that may be empty: engines refuse it too."""
    return RefusalError(
        Reason.MAY_BE_EMPTY,
        f"without its Pad the pool may read nothing on axis {axis} of {source.name!r}",
        axis=axis,
        tensor=source.name,
    )


READS_SOMETHING: Final = Condition[AxisForm](
    when=lambda on: sum(on.inside) > sum(on.own),
    must=lambda on: is_never_empty(on.size + sum(on.total) - sum(on.inside)),
    said=lambda on: says_empty(on.form.source, on.axis),
)
"""A pool reads no empty axis once a `Pad` is removed."""


def _meets_data(on: AxisForm) -> bool:
    first = -on.total[0]
    last = (on.windows(on.own) - 1) * on.window.stride - on.total[0]
    return meets_data(on.window, on.size, first, last)


MEETS_DATA: Final = Condition[AxisForm](
    when=lambda on: not on.form.is_whole,
    must=_meets_data,
    said=lambda on: RefusalError(
        Reason.WINDOW_IN_PADDING,
        f"a window may lie wholly in the padding {on.total} of axis {on.axis}, "
        "where a Pad and the operator's own padding differ",
        axis=on.axis,
        padding=on.total,
    ),
)
"""Each window of a MaxPool holds an element of the data, unless that is of integers."""
