"""Steps that keep, move, repeat or leave out elements, and compute none.

Any layer passes through them, whatever its fill. Source: the operators' pages of the ONNX
specification.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise

from msgspec.structs import replace

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    always,
    bounds,
    ceil_div,
    equal,
    floor_div,
    less,
    less_equal,
    maximum,
    minimum,
    where,
)
from onnxpad.reasons import Reason
from onnxpad.semantics.layers import ExtentPair, Layer, Layers, around, touched_axes
from onnxpad.semantics.rows import NOTHING, Call, Passed, UnreadError, axes_of, axis_of, named
from onnxpad.semantics.window import LONGEST

Bounds = tuple[tuple[int, tuple[Extent, Extent, int]], ...]
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
    rank, written = rank_of(call, layers), call.axes() or ()
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
    before, after = call.shape(), call.given_shape()
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
    say.
    """
    (layers,) = inner
    rank = rank_of(call, layers)
    if rank is None:
        raise UnreadError("the rank is unknown")
    crops, others = cuts_of(call, layers)
    check_free(layers, dict(others))
    crop = Layer(tuple(crops.get(axis, (0, 0)) for axis in range(rank)), 0)
    return Passed(("Slice", others) if others else NOTHING, (*layers, crop))


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


def slice_size(size: Extent, start: Extent, end: Extent, step: int) -> Extent:
    """Return how many elements a Slice takes of an axis; ONNX's Slice clamps like this."""
    last = _clamped(size, end, *((0, size) if step > 0 else (-1, size - 1)))
    return maximum(ceil_div(last - slice_start(size, start, step), step), 0)


def slice_start(size: Extent, start: Extent, step: int) -> Extent:
    """Return the first position that a Slice takes of an axis."""
    return _clamped(size, start, 0, size if step > 0 else size - 1)


def _clamped(size: Extent, position: Extent, low: Extent, high: Extent) -> Extent:
    """Return a position between two others; a negative one counts from the end."""
    position = where(less(position, 0), position + size, position)
    return minimum(maximum(position, low), high)


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
    """The layers that are the same around several inputs."""
    if any(each != inner[0] for each in inner):
        raise UnreadError("the inputs are not padded alike")
    return inner[0]


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
    if layers and rank not in (None, len(layers[0].amounts)):  # as of a wrong value_info
        raise UnreadError("the layers are not of the rank of the data")
    return len(layers[0].amounts) if layers else rank


def _moved(layers: Layers, sources: Sequence[int | None]) -> Layers:
    """The layers over other axes: the axis that each was; None for a new one."""
    every = [[(0, 0) if at is None else each.amounts[at] for at in sources] for each in layers]
    return tuple([Layer(tuple(now), was.fill) for was, now in zip(layers, every, strict=True)])


def _are_known(sizes: Iterable[Extent]) -> bool:
    return all(isinstance(size, int | Size) for size in sizes)


# Arithmetic on sizes, known or symbolic


def product(extents: Iterable[Extent]) -> Extent:
    """Return the product of the sizes, which is the number of elements."""
    return reduce(operator.mul, extents, 1)


def at_least(extent: Extent, least: int) -> bool:
    """Whether an extent is known to be at least `least`."""
    low, _ = bounds(extent)
    return low is not None and low >= least


def agreed(extents: Iterable[Extent]) -> Extent:
    """Return the common size of axes that must be equal: an int if there is one, else a `Size`."""
    sizes = [size for size in extents if not isinstance(size, Unknown)]
    numbers = {size for size in sizes if isinstance(size, int)}
    if len(numbers) > 1:
        raise UnreadError(f"{sorted(numbers)} where sizes must be equal")
    return next(iter([*numbers, *sizes]), Unknown("no operand's size is known"))


def broadcast(shapes: Iterable[tuple[Extent, ...]]) -> tuple[Extent, ...]:
    """Return the shape that shapes broadcast to, by numpy's rules."""
    result: tuple[Extent, ...] = ()
    for shape in shapes:
        rank = max(len(shape), len(result))
        padded = ((1,) * (rank - len(each)) + each for each in (result, shape))
        result = tuple(map(_broadcast, *padded))
    return result


def _broadcast(a: Extent, b: Extent) -> Extent:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        raise UnreadError(f"{a} and {b} do not broadcast")
    if isinstance(b, int):
        a, b = b, a
    # A size other than 1 is the result: the other one is then equal to it, or 1.
    result = where(equal(a, 1), b, a)
    return where(equal(b, 1), a, b) if isinstance(result, Unknown) else result


def remaining(total: Iterable[Extent], taken: Iterable[Extent]) -> Extent:
    """Return the size that Reshape computes for -1: the product of `total` over that of `taken`.

    Equal sizes cancel first, which avoids products of two symbolic sizes.
    """
    factors = list(total)
    divisors: list[Extent] = []
    for extent in taken:
        if extent in factors and at_least(extent, 1):
            factors.remove(extent)
        else:
            divisors.append(extent)
    divisor = product(divisors)
    if not at_least(divisor, 1):
        return Unknown("an axis that the others do not determine")
    return floor_div(product(factors), divisor)
