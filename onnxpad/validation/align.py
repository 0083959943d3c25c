"""Aligns an array in another framework's layout with the shape of an ONNX tensor."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.runtimes.sessions import Array
from onnxpad.validation.compare import shape_text

Shape = Sequence[int | str | None]
"""For each axis its size, or for an open one its name or None, which stand for any size."""


class Moved(enum.Enum):
    """Where channels were moved."""

    FIRST = "channels moved from last to axis 1"
    LAST = "channels moved from axis 1 to last"

    def order(self, rank: int) -> list[int]:
        """The axes of an array before its channels are moved, in the order after."""
        first = self is Moved.FIRST
        return [0, rank - 1, *range(1, rank - 1)] if first else [0, *range(2, rank), 1]


class Arrangement(Struct, frozen=True):
    """An array with its axes arranged to fit a shape.

    `shape` is the one before; `resized` says that axes of size 1 were added or dropped.
    """

    array: Array
    shape: tuple[int, ...]
    moved: Moved | None = None
    resized: bool = False

    @property
    def how(self) -> str:
        """How it was arranged, in a few words; empty if nothing was changed."""
        ways = [self.moved.value] if self.moved else []
        ways += ["axes of size 1 added or dropped"] * self.resized
        if not ways:
            return ""
        return f"{shape_text(self.shape)} as {shape_text(self.array.shape)}: {', '.join(ways)}"


def aligned(array: Array, shape: Shape) -> Arrangement | None:
    """The array with its axes arranged to fit a shape.

    These are tried in order: no change; axes of size 1 added or dropped; channels moved from the
    last axis to axis 1 or back (NHWC and NCHW, of any rank); both.

    >>> aligned(np.zeros((1, 56, 79, 3)), (1, 3, 56, 79)).how
    '1x56x79x3 as 1x3x56x79: channels moved from last to axis 1'
    >>> aligned(np.zeros((1, 16)), (1, 16, 1, 1)).how
    '1x16 as 1x16x1x1: axes of size 1 added or dropped'
    >>> aligned(np.zeros((1, 3)), (1, 4)) is None
    True
    """
    for some in ([Arrangement(array, array.shape)], [*_moved(array, shape)]):
        ways = [each for each in some if fits(each.array.shape, shape)]
        ways += [way for each in some for way in _resized(each, shape)]
        if ways:
            return ways[0]
    return None


def nearest(array: Array, other: Array) -> Arrangement | None:
    """The array arranged as another one, also where sizes cannot tell channels from the other axes.

    An array of as many channels as elements on its last axis may fit in each layout. Then the
    layout is taken in which it is nearest to the other array.
    """
    fit = aligned(array, other.shape)
    moved = [each for each in _moved(array, other.shape) if each.array.shape == other.shape]
    if not moved or other.dtype.kind not in "iuf":
        return fit
    return min([fit, *moved] if fit else moved, key=lambda way: distance(way.array, other))


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
    array, sizes, found = way.array, [size for size in shape if isinstance(size, int)], None
    if len(sizes) == len(shape):
        bare = [[size for size in each if size != 1] for each in (array.shape, sizes)]
        found = array.reshape(sizes) if bare[0] == bare[1] else None
    elif fits((1, *array.shape), shape):
        found = array[None]
    elif array.shape[:1] == (1,) and fits(array.shape[1:], shape):
        found = array[0]
    if found is not None:
        yield replace(way, array=np.asarray(found), resized=True)


def _moved(array: Array, shape: Shape) -> Iterator[Arrangement]:
    """The array with its channels moved, also with a batch axis of size 1 in front.

    They are moved to an axis of known size, since an open one fits any array.
    """
    for base in [array, array[None]] if array.ndim == len(shape) - 1 else [array]:
        for way, axis in ((Moved.FIRST, 1), (Moved.LAST, -1)):
            if base.ndim > 2 and len(shape) > 1 and isinstance(shape[axis], int):
                yield Arrangement(base.transpose(way.order(base.ndim)), array.shape, way)
