"""Aligns an array in another framework's layout with the shape of an ONNX tensor."""

from collections.abc import Iterator, Sequence

import numpy as np

from onnxpad.engine.sessions import Array
from onnxpad.validation.compare import shape_text


def aligned(array: Array, shape: Sequence[int | str]) -> tuple[Array, str] | None:
    """The array with its axes arranged to fit a shape, and a description of how.

    These are tried in order: no change; axes of size 1 added or dropped; channels moved from the
    last axis to axis 1 or back (NHWC and NCHW, of any rank); both.

    Args:
        array: An array from a framework.
        shape: The shape wanted; a name stands for any size.

    Returns:
        The array and a few words, which are empty if nothing was changed; None if no arrangement
        fits, or if several fit that differ.

    >>> aligned(np.zeros((1, 56, 79, 3)), (1, 3, 56, 79))[1]
    '1x56x79x3 as 1x3x56x79: channels moved from last to axis 1'
    >>> aligned(np.zeros((1, 16)), (1, 16, 1, 1))[1]
    '1x16 as 1x16x1x1: axes of size 1 added or dropped'
    >>> aligned(np.zeros((1, 3)), (1, 4)) is None
    True
    """
    if _fits(array, shape):
        return array, ""
    if (plain := _resized(array, shape)) is not None:
        return plain, _told(array, plain, _UNITS)
    moved = list(_moved(array, shape))
    ways = [(each, how) for each, how in moved if _fits(each, shape)]
    ways = ways or [
        (fit, f"{how}, {_UNITS}")
        for each, how in moved
        if (fit := _resized(each, shape)) is not None
    ]
    if not ways or any(not _same_order(ways[0][0], other) for other, _ in ways):
        return None
    found, how = ways[0]
    return found, _told(array, found, how)


def nearest(array: Array, other: Array) -> tuple[Array, str] | None:
    """The array arranged as another one, also where sizes cannot tell channels from the other axes.

    An array of as many channels as elements on its last axis may fit in each layout. Then the
    layout is taken in which it is nearest to the other array.

    Args:
        array: An array from a framework.
        other: What a model computed.

    Returns:
        As `aligned` does.
    """
    fit = aligned(array, other.shape)
    if fit is None or other.dtype.kind not in "iuf" or channels_moved(*fit, other.shape) is None:
        return fit
    moved = ((each, _told(array, each, how)) for each, how in _moved(fit[0], other.shape))
    return min([fit, *moved], key=lambda way: distance(way[0], other))


def channels_moved(array: Array, how: str, shape: Sequence[int | str]) -> Array | None:
    """An aligned array with its channels moved from the last axis to axis 1, if that fits too.

    Args:
        array: The array, as `aligned` gives it.
        how: The description that `aligned` gives.
        shape: The shape wanted.

    Returns:
        The array; None if sizes tell its layout.
    """
    if array.ndim < 3 or not array.shape[1] == array.shape[-1] > 1 or is_channels_first(how):
        return None
    moved = np.moveaxis(array, -1, 1)
    return moved if _fits(moved, shape) else None


def is_channels_first(how: str) -> bool:
    """Whether a description says that channels were moved from the last axis to axis 1."""
    return _FIRST in how


def distance(one: Array, other: Array) -> float:
    """The mean absolute difference of two arrays of numbers of the same shape."""
    with np.errstate(all="ignore"):
        apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
        return float(np.mean(np.nan_to_num(apart)))


_UNITS = "axes of size 1 added or dropped"
_FIRST = "channels moved from last to axis 1"


def _told(before: Array, after: Array, how: str) -> str:
    return f"{shape_text(before.shape)} as {shape_text(after.shape)}: {how}"


def _fits(array: Array, shape: Sequence[int | str]) -> bool:
    return array.ndim == len(shape) and all(
        isinstance(wanted, str) or size == wanted
        for size, wanted in zip(array.shape, shape, strict=True)
    )


def _resized(array: Array, shape: Sequence[int | str]) -> Array | None:
    """The array with axes of size 1 added or dropped; with open sizes, only the first axis."""
    sizes = [size for size in shape if isinstance(size, int)]
    if len(sizes) == len(shape):
        bare = [[size for size in each if size != 1] for each in (array.shape, sizes)]
        return array.reshape(sizes) if bare[0] == bare[1] else None
    if array.ndim == len(shape) - 1 and _fits(array[None], shape):
        return array[None]
    if array.ndim == len(shape) + 1 and array.shape[0] == 1 and _fits(array[0], shape):
        return np.asarray(array[0])
    return None


def _moved(array: Array, shape: Sequence[int | str]) -> Iterator[tuple[Array, str]]:
    """The array with its channels moved, also with a batch axis of size 1 in front.

    Channels move only to an axis whose size is known, since an open size would fit any array.
    """
    bases = [array, array[None]] if array.ndim == len(shape) - 1 else [array]
    for base in bases:
        if base.ndim < 3 or len(shape) < 2:
            continue
        if isinstance(shape[1], int):
            yield np.moveaxis(base, -1, 1), _FIRST
        if isinstance(shape[-1], int):
            yield np.moveaxis(base, 1, -1), "channels moved from axis 1 to last"


def _same_order(one: Array, other: Array) -> bool:
    """Whether two views of one array have the same elements at the same places."""
    return one.shape == other.shape and all(
        size == 1 or stride == also
        for size, stride, also in zip(one.shape, one.strides, other.strides, strict=True)
    )
