"""Aligns an array in another framework's layout with the shape of an ONNX tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from onnxpad.runtimes.sessions import Array
from onnxpad.validation.compare import shape_text

Shape = Sequence[int | str | None]
"""For each axis its size, or for an open one its name or None, which stand for any size."""


class Arrangement(Struct, frozen=True):
    """An array arranged to fit a shape; `shape` is the one before, and `ways` tell how."""

    array: Array
    shape: tuple[int, ...]
    ways: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        """How it was arranged, in a few words; empty if nothing was changed."""
        told = f"{shape_text(self.shape)} as {shape_text(self.array.shape)}: {', '.join(self.ways)}"
        return told if self.ways else ""


def aligned(array: Array, shape: Shape) -> Arrangement | None:
    """The array arranged to fit a shape; first what is tried first.

    No change; axes of size 1 added or dropped; channels moved from the last axis to axis 1 or back
    (NHWC and NCHW, of any rank); both.
    """
    for some in ([Arrangement(array, array.shape)], [*_moved(array, shape)]):
        for way in (*some, *(resized for each in some for resized in _resized(each, shape))):
            if fits(way.array.shape, shape):
                return way
    return None


def nearest(array: Array, other: Array) -> Arrangement | None:
    """The array arranged as another one; where sizes tell no layout, as it is nearest to it."""
    fit = aligned(array, other.shape)
    ways = [fit, *_moved(array, other.shape)] if fit else []
    if len(ways) == 1 or other.dtype.kind not in "iuf":
        return fit
    ways = [way for way in ways if way.array.shape == other.shape]
    return min(ways, key=lambda way: distance(way.array, other), default=None)


def distance(one: Array, other: Array) -> float:
    """The mean absolute difference of two arrays of numbers of the same shape."""
    with np.errstate(all="ignore"):
        apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
        return float(np.mean(np.nan_to_num(apart)))


def fits(shape: Shape, wanted: Shape) -> bool:
    """Whether two shapes may be of one tensor; an open size fits any."""
    return len(shape) == len(wanted) and all(
        one == also or not (isinstance(one, int) and isinstance(also, int))
        for one, also in zip(shape, wanted, strict=True)
    )


def _resized(way: Arrangement, shape: Shape) -> Iterator[Arrangement]:
    """One with axes of size 1 added or dropped; with open sizes, only the first axis."""
    sizes, closed = way.array.shape, [size for size in shape if isinstance(size, int)]
    asked = [closed] if len(closed) == len(shape) else [(1, *sizes), sizes[1:]]
    bare = [size for size in sizes if size != 1]
    for target in asked:
        if [size for size in target if size != 1] == bare:
            array, told = way.array.reshape(target), "axes of size 1 added or dropped"
            yield Arrangement(array, way.shape, (*way.ways, told))


def _moved(array: Array, shape: Shape) -> Iterator[Arrangement]:
    """The array, also with a batch in front, with channels moved to an axis of known size."""
    for base in [array, array[None]] if array.ndim == len(shape) - 1 else [array]:
        for source, axis, told in ((-1, 1, "last to axis 1"), (1, -1, "axis 1 to last")):
            if base.ndim > 2 and len(shape) > 1 and isinstance(shape[axis], int):
                turned = np.moveaxis(base, source, axis)
                yield Arrangement(turned, array.shape, (f"channels moved from {told}",))
