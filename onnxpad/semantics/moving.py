"""Steps that keep, move, repeat or leave out elements, and compute none.

Any layer passes through them, whatever its fill. Source: the operators' pages of the ONNX
specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Size, Unknown, always, less_equal
from onnxpad.reasons import Reason
from onnxpad.semantics.layers import (
    ExtentPair,
    Layer,
    Layers,
    around,
    either_zero,
    touched_axes,
    without_sign,
)
from onnxpad.semantics.rows import NOTHING, Call, Passed, UnreadError, axes_of, axis_of, named
from onnxpad.semantics.window import LONGEST

Bounds: TypeAlias = tuple[tuple[int, tuple[Extent, Extent, int]], ...]
"""Start, end and step of a Slice on each of some axes."""


def unchanged(call: Call, inner: Sequence[Layers]) -> Passed:
    """Identity."""
    (layers,) = inner
    return Passed(NOTHING, layers)


def transpose(call: Call, inner: Sequence[Layers]) -> Passed:
    """Transpose."""
    (layers,) = inner
    rank, perm = rank_of(call, layers), call.attribute("perm")
    if perm is None:
        if rank is None:
            raise UnreadError("the rank is unknown")
        perm = range(rank)[::-1]
    if sorted(perm) != list(range(len(perm))) or rank not in (None, len(perm)):
        raise UnreadError("perm is no permutation of the axes")
    return Passed(("Transpose", tuple(perm)), _moved(layers, perm))


def unsqueeze(call: Call, inner: Sequence[Layers]) -> Passed:
    """Unsqueeze."""
    (layers,) = inner
    rank, written = rank_of(call, layers), call.axes()
    if not written:
        raise UnreadError("there are no axes")
    axes = axes_of(written, None if rank is None else rank + len(written))
    old = iter(range(rank or 0))
    places = range(rank + len(axes) if rank is not None else 0)  # unknown only without layers
    sources = [None if at in axes else next(old) for at in places]
    return Passed(("Unsqueeze", tuple(sorted(axes))), _moved(layers, sources))


def squeeze(call: Call, inner: Sequence[Layers]) -> Passed:
    """Squeeze; without axes it is a Reshape."""
    (layers,) = inner
    rank, written = rank_of(call, layers), call.axes()
    if written is None:
        return reshape(call, inner)
    axes = axes_of(written, rank)
    if not axes:
        raise UnreadError("there are no axes")
    check_free(layers, axes)
    sources = [axis for axis in range(rank or 0) if axis not in axes]
    return Passed(("Squeeze", tuple(sorted(axes))), _moved(layers, sources))


def reshape(call: Call, inner: Sequence[Layers]) -> Passed:
    """A Reshape, a Flatten, or a Squeeze of all axes of size 1: only such axes come or go."""
    (layers,) = inner
    before, after = call.shape(), call.result_shape()
    if before is None or after is None or not _are_known((*before, *after)):
        raise UnreadError("the shapes are unknown")
    if layers:
        rank_of(call, layers)
        sources = _origins(touched_axes(layers), before, after)
        layers = _moved(layers, [sources.get(axis) for axis in range(len(after))])
    bare = tuple([size - around(layers, axis) for axis, size in enumerate(after)])
    return Passed(("Reshape", bare), layers)


def _origins(
    padded: frozenset[int], before: Sequence[Extent], after: Sequence[Extent]
) -> dict[int, int]:
    """The axis of the data for each axis of a Reshape's result that is not just inserted.

    Between two axes of other sizes than 1, all axes of size 1 stay, or all that are padded, in
    their order.
    """
    old, new = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (before, after))
    if [before[axis] for axis in old] != [after[axis] for axis in new]:
        raise UnreadError("axes are merged, split or exchanged")
    found = dict(zip(new, old, strict=True))
    runs = zip(_runs_between(old, len(before)), _runs_between(new, len(after)), strict=True)
    for units, places in runs:
        kept = units if len(units) == len(places) else [axis for axis in units if axis in padded]
        if len(kept) == len(places):
            found.update(zip(places, kept, strict=True))
        elif kept:
            raise UnreadError("an axis is padded that comes or goes")
    return found


def _runs_between(axes: Sequence[int], rank: int) -> list[Sequence[int]]:
    """The axes before, between and behind some axes."""
    return [range(low + 1, high) for low, high in pairwise((-1, *axes, rank))]


def concat(call: Call, inner: Sequence[Layers]) -> Passed:
    """Concat along an axis that is not padded, of data that is padded alike."""
    layers, written = joined(inner), call.attribute("axis")
    if written is None and call.version >= 4:
        raise UnreadError("Concat has no axis")
    axis = axis_of(1 if written is None else written, rank_of(call, layers))
    check_free(layers, [axis])
    return Passed(("Concat", len(inner), axis), layers)


def split(call: Call, inner: Sequence[Layers]) -> Passed:
    """Split along an axis that is not padded."""
    (layers,) = inner
    check_free(layers, [axis_of(call.attribute("axis"), rank_of(call, layers))])
    return named(call, layers, len(call.node.outputs))


def sliced(call: Call, inner: Sequence[Layers]) -> Passed:
    """Slice: what it takes off axes is a layer, and the step slices the other axes first.

    Those are the axes that it takes in other steps than 1, or may leave less of than its bounds
    say. Of data of unknown rank, the step does it all.
    """
    (layers,) = inner
    rank = rank_of(call, layers)
    crops, others = cuts_of(call, layers)
    check_free(layers, dict(others))
    if rank is None:
        return Passed(("Slice", tuple(crops.items()), others), layers)
    crop = Layer(tuple(crops.get(axis, (0, 0)) for axis in range(rank)), 0)
    return Passed(("Slice", (), others) if others else NOTHING, (*layers, crop))


def cuts_of(call: Call, layers: Layers) -> tuple[dict[int, ExtentPair], Bounds]:
    """What a Slice takes off axes, as amounts of padding, and its bounds on all other axes.

    Axes of which it leaves everything are in neither.
    """
    shape, crops, others = call.shape(), {}, []
    for axis, (start, end, step) in sorted(bounds_of(call, rank_of(call, layers)).items()):
        size = Unknown("the rank is unknown") if shape is None else shape[axis]
        if not _are_known((start, end)):
            raise UnreadError("the bounds are unknown")
        pair = _cropped(size, start, end) if step == 1 else None
        if pair is None:
            others.append((axis, (start, end, step)))
        elif pair != (0, 0):
            crops[axis] = pair
    return crops, tuple(others)


def bounds_of(call: Call, rank: int | None) -> dict[int, tuple[Extent, Extent, int]]:
    """Start, end and step of a Slice for each axis that it names."""
    axes: Sequence[int] | None = None
    steps: Sequence[int] | None = None
    if call.version < 10:
        starts, ends, axes = map(call.attribute, ("starts", "ends", "axes"))
    else:
        starts, ends = call.integers(1), call.integers(2)
        axes = None if call.operand(3) is None else call.numbers(3)
        steps = None if call.operand(4) is None else call.numbers(4)
    if starts is None or ends is None:
        raise UnreadError("the bounds are unknown")
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise UnreadError("the bounds contradict each other")
    return dict(zip(axes_of(axes, rank), zip(starts, ends, steps, strict=True), strict=True))


def _cropped(size: Extent, start: Extent, end: Extent) -> ExtentPair | None:
    """What a slice in steps of 1 takes off an axis; None where that may vary otherwise."""
    if isinstance(start, int) and start < 0:
        start = size + start
    cut: Extent
    if isinstance(end, int) and end < 0:
        cut = -end
    elif (isinstance(end, int) and end >= LONGEST) or always(less_equal(size, end)) is True:
        cut = 0
    else:
        cut = size - end
    if isinstance(start, int) and isinstance(cut, int) and start == cut == 0:
        return 0, 0
    least = (0, start), (0, cut), (start + cut, size)
    fits = all(always(less_equal(low, high)) is True for low, high in least)
    return (-start, -cut) if fits else None


# What steps share


def joined(inner: Sequence[Layers]) -> Layers:
    """The layers that are the same around several inputs, apart from the signs of zeros."""
    first = inner[0]
    if any(without_sign(each) != without_sign(first) for each in inner):
        raise UnreadError("the inputs are not padded alike")
    fills = zip(*([layer.fill for layer in each] for each in inner), strict=True)
    return tuple(
        [
            layer
            if all(fill == layer.fill for fill in each)
            else replace(layer, fill=either_zero(*each))
            for layer, each in zip(first, fills, strict=True)
        ]
    )


def check_free(layers: Layers, axes: Iterable[int]) -> None:
    """Checks that no layer pads or crops axes along which a step works."""
    taken = sorted(touched_axes(layers).intersection(axes))
    if taken:
        raise UnreadError(f"it works along padded axes {taken}", Reason.AXIS_TAKEN, axes=taken)


def widened(layers: Layers, added: int) -> Layers:
    """The layers around data that gets axes in front, as broadcasting adds them."""
    return tuple([replace(each, amounts=((0, 0),) * added + each.amounts) for each in layers])


def rank_of(call: Call, layers: Layers, place: int = 0) -> int | None:
    """The rank of an input, which has these layers around it; None where unknown."""
    rank = call.rank(place)
    if layers and rank not in (None, len(layers[0].amounts)):
        raise UnreadError("the layers are not of the rank of the data")
    return len(layers[0].amounts) if layers else rank


def _moved(layers: Layers, sources: Sequence[int | None]) -> Layers:
    """The layers over other axes: the axis that each was; None for a new one."""
    every = [[(0, 0) if at is None else each.amounts[at] for at in sources] for each in layers]
    return tuple([Layer(tuple(now), was.fill) for was, now in zip(layers, every, strict=True)])


def _are_known(sizes: Iterable[Extent]) -> bool:
    return all(isinstance(size, int | Size) for size in sizes)
