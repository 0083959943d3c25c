"""Rules of steps that keep, move or leave out elements, and compute none.

Source: the operators' pages of the ONNX specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Size, always, less_equal
from onnxpad.proof.layers import Amounts, around
from onnxpad.proof.meaning import (
    LONGEST,
    MeaninglessError,
    is_set,
)
from onnxpad.proof.step_rules.step_node import (
    Passed,
    StepNode,
    axes_of,
    axis_of,
    named,
    numbers_of,
    widened,
)

Bounds: TypeAlias = tuple[tuple[int, tuple[Extent, Extent, int]], ...]
"""Start, end and step of a Slice on each of some axes."""


def transpose(call: StepNode) -> Passed:
    """The rule of Transpose."""
    perm = call.attribute("perm", None)
    if perm is None:
        if call.rank is None:
            raise MeaninglessError("the rank is unknown")
        perm = range(call.rank)[::-1]
    perm = tuple(perm)
    if sorted(perm) != list(range(len(perm))) or call.rank not in (None, len(perm)):
        raise MeaninglessError("perm is no permutation of the axes")
    layers = call.moved(lambda amounts: [amounts[axis] for axis in perm])
    return Passed(("Transpose", perm), layers, ())


def _named_axes(call: StepNode) -> tuple[int, ...] | None:
    """The axes that a Squeeze or an Unsqueeze names; None where it names none."""
    if call.version < 13:
        written = call.attribute("axes", None)
        return None if written is None else tuple(written)
    return None if call.node.operand(1) is None else numbers_of(call, 1)


def unsqueeze(call: StepNode) -> Passed:
    """The rule of Unsqueeze."""
    written = _named_axes(call)
    if not written:
        raise MeaninglessError("there are no axes")
    rank = None if call.rank is None else call.rank + len(written)
    axes = axes_of(written, rank)

    def widened(amounts: Amounts) -> Sequence[tuple[Extent, Extent]]:
        old = iter(amounts)
        return [(0, 0) if axis in axes else next(old) for axis in range(len(amounts) + len(axes))]

    return Passed(("Unsqueeze", tuple(sorted(axes))), call.moved(widened), ())


def squeeze(call: StepNode) -> Passed:
    """The rule of Squeeze; without axes it is a Reshape."""
    written = _named_axes(call)
    if written is None:
        return reshape(call)
    axes = axes_of(written, call.rank)
    if not axes or any(call.is_padded(axis) for axis in (axes if call.layers else ())):
        raise MeaninglessError("there are no axes, or one is padded")

    def narrowed(amounts: Amounts) -> Sequence[tuple[Extent, Extent]]:
        return [pair for axis, pair in enumerate(amounts) if axis not in axes]

    return Passed(("Squeeze", tuple(sorted(axes))), call.moved(narrowed), ())


def reshape(call: StepNode) -> Passed:
    """A Reshape, a Flatten, or a Squeeze of all axes of size 1: only such axes come or go."""
    before, after = call.analysis.shape(call.source), call.analysis.shape(call.node.outputs[0])
    if before is None or after is None or call.rank != len(before):
        raise MeaninglessError("the shapes are unknown")
    if any(not isinstance(size, int | Size) for size in (*before, *after)):
        raise MeaninglessError("the shapes are unknown")
    if "allowzero" in call.node.attrs and is_set(call.node.attrs, "allowzero") and 0 in after:
        raise MeaninglessError("a Reshape to a size of 0")
    source = _origins(call, before, after) if call.layers else {}

    def placed(amounts: Amounts) -> Sequence[tuple[Extent, Extent]]:
        return [amounts[source[axis]] if axis in source else (0, 0) for axis in range(len(after))]

    layers = call.moved(placed)
    shape = tuple(size - around(layers, axis) for axis, size in enumerate(after))
    return Passed(("Reshape", shape), layers, ())


def _origins(call: StepNode, before: Sequence[Extent], after: Sequence[Extent]) -> dict[int, int]:
    """The axis of the data for each axis of a Reshape's result that is not just inserted.

    Between two axes of other sizes than 1, all axes of size 1 stay, or all that are padded, in
    their order.

    Raises:
        MeaninglessError: More is done than that such axes come and go, which no layer pads.
    """
    old, new = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (before, after))
    if [before[axis] for axis in old] != [after[axis] for axis in new]:
        raise MeaninglessError("axes are merged, split or exchanged")
    found = dict(zip(new, old, strict=True))
    runs = zip(_runs_between(old, len(before)), _runs_between(new, len(after)), strict=True)
    for units, places in runs:
        padded = [axis for axis in units if call.is_padded(axis)]
        kept = units if len(units) == len(places) else padded
        if padded and len(kept) != len(places):
            raise MeaninglessError("an axis is padded that comes or goes")
        found.update(zip(places, kept, strict=False))
    return found


def _runs_between(axes: Sequence[int], rank: int) -> list[range]:
    """The axes before, between and behind some axes."""
    return [range(low + 1, high) for low, high in pairwise((-1, *axes, rank))]


def expand(call: StepNode) -> Passed:
    """The rule of Expand, which repeats data along axes that are not padded.

    A padded axis keeps its size: the shape says 1 there, or the size itself, padding included.
    """
    shape = list(numbers_of(call, 1))
    if any(entry < 1 for entry in shape):
        raise MeaninglessError("an Expand to a size below 1")
    if not call.layers:
        return Passed(("Expand", tuple(shape)), (), ())
    sizes, rank = call.analysis.shape(call.source), len(call.layers[0].amounts)
    for back in range(1, min(rank, len(shape)) + 1):
        if not call.is_padded(rank - back) or shape[-back] == 1:
            continue
        bare = shape[-back] - around(call.layers, rank - back)
        if sizes is None or len(sizes) != rank or sizes[-back] != shape[-back]:
            raise MeaninglessError("a padded axis that may be repeated")
        if not isinstance(bare, int) or bare < 1:
            raise MeaninglessError("a padded axis that may have nothing else")
        shape[-back] = bare
    return Passed(("Expand", tuple(shape)), widened(call.layers, len(shape) - rank), ())


def dropout(call: StepNode) -> Passed:
    """The rule of Dropout, which does nothing unless it trains."""
    if call.version < 7 and not is_set(call.node.attrs, "is_test"):
        raise MeaninglessError("a Dropout that trains")
    may_train = call.version >= 12 and call.node.operand(2) is not None
    if may_train and call.constant(2, TensorProto.BOOL).any():
        raise MeaninglessError("a Dropout that trains")
    return Passed(("Dropout",), call.layers, ())


def concat(call: StepNode) -> Passed:
    """The rule of Concat along an axis that is not padded."""
    if call.version >= 4 and "axis" not in call.node.attrs:
        raise MeaninglessError("Concat has no axis")
    axis = axis_of(call.attribute("axis", 1), call.rank)
    if call.layers and call.is_padded(axis):
        raise MeaninglessError("the axis is padded")
    return Passed(("Concat", len(call.data), axis), call.joined(), ())


def split(call: StepNode) -> Passed:
    """The rule of Split along an axis that is not padded."""
    axis = axis_of(call.attribute("axis", 0), call.rank)
    if call.layers and call.is_padded(axis):
        raise MeaninglessError("the axis is padded")
    return named(call, call.layers, len(call.node.outputs))


def _slices(call: StepNode) -> dict[int, tuple[Extent, Extent, int]]:
    """Start, end and step of a Slice for each axis that it names.

    Raises:
        MeaninglessError: They are unknown.
    """
    steps: Sequence[int] | None = None
    starts: Sequence[Extent] | None
    ends: Sequence[Extent] | None
    if call.version < 10:
        starts, ends = call.attribute("starts", None), call.attribute("ends", None)
        axes = call.attribute("axes", None)
    else:
        low, high = call.node.operand(1), call.node.operand(2)
        starts, ends = (
            None if tensor is None else call.analysis.integers(tensor) for tensor in (low, high)
        )
        axes = None if call.node.operand(3) is None else numbers_of(call, 3)
        steps = None if call.node.operand(4) is None else numbers_of(call, 4)
    if starts is None or ends is None:
        raise MeaninglessError("the bounds are unknown")
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise MeaninglessError("there are not as many axes as bounds")
    if any(not isinstance(bound, int | Size) for bound in (*starts, *ends)) or 0 in steps:
        raise MeaninglessError("the bounds are unknown")
    bounds = zip(starts, ends, steps, strict=True)
    return dict(zip(axes_of(axes, call.rank), bounds, strict=True))


def sliced(call: StepNode) -> Passed:
    """The rule of Slice along axes that are not padded."""
    found = _slices(call)
    for axis, (start, end, step) in tuple(found.items()):
        if start == 0 and step == 1 and isinstance(end, int) and end >= LONGEST:
            del found[axis]
    if call.layers and any(map(call.is_padded, found)):
        raise MeaninglessError("a padded axis is sliced")
    return Passed(("Slice", tuple(sorted(found.items()))), call.layers, ())


def crops(call: StepNode) -> tuple[Amounts, Bounds]:
    """The elements that a Slice takes off each axis, as amounts of padding; and its other bounds.

    Those are start, end and step on axes that it takes in other steps than 1, or may leave less of
    than its bounds say.

    Raises:
        MeaninglessError: Its bounds or the rank are unknown.
    """
    shape = call.analysis.shape(call.source)
    if shape is None:
        raise MeaninglessError("the rank is unknown")
    amounts: list[tuple[Extent, Extent]] = [(0, 0)] * len(shape)
    others = []
    for axis, (start, end, step) in sorted(_slices(call).items()):
        try:
            if step != 1:
                raise MeaninglessError("a Slice in other steps than 1")
            amounts[axis] = _cropped(shape[axis], start, end)
        except MeaninglessError:
            others.append((axis, (start, end, step)))
    return tuple(amounts), tuple(others)


def _cropped(size: Extent, start: Extent, end: Extent) -> tuple[Extent, Extent]:
    """The elements that a slice in steps of 1 takes off an axis, as amounts of padding.

    Raises:
        MeaninglessError: It may be otherwise at some size.
    """
    cut: Extent
    if isinstance(start, int) and start < 0:
        start = size + start
    if isinstance(end, int) and end < 0:
        cut = -end
    elif (isinstance(end, int) and end >= LONGEST) or always(less_equal(size, end)) is True:
        cut = 0
    else:
        cut = size - end
    if isinstance(start, int) and isinstance(cut, int) and start == cut == 0:
        return 0, 0
    least = (0, start), (0, cut), (start + cut, size)
    if not all(always(less_equal(low, high)) is True for low, high in least):
        raise MeaninglessError("a Slice that may be longer than its axis")
    return -start, -cut
