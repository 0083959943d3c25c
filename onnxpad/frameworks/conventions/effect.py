"""The effect of a convention on one axis, in a form that is equal for two that compute the same.

Pads alone do not tell: padding that no window reaches has no effect, and a pool that leaves padding
out reads only real elements.
"""

from __future__ import annotations

from collections.abc import Hashable

from onnxpad.frameworks.conventions.question import Answer, AxisAnswer, Op


def effect(op: Op, axis: AxisAnswer, *, counts: bool) -> Hashable:
    """A value equal for two answers on one axis just if they give equal outputs for all data.

    A transposed convolution of more than one element is told by where its output begins and ends,
    even if nothing is kept but the gaps of a dilation.

    Args:
        op: The operator.
        axis: The answer of a convention.
        counts: Whether an average divides by padding, too.
    """
    dilation = axis.window.dilation if axis.window.kernel > 1 else 1
    if op == "convtranspose":
        kept = range(axis.begin, axis.begin + axis.output)
        if axis.size > 1:
            return dilation, kept
        taps_of = {tap * dilation: tap for tap in range(axis.window.kernel)}
        return tuple(taps_of.get(place) for place in kept)
    before, inner, after = _parts(axis)
    first = inner.start * axis.window.stride - axis.begin
    whole = (len(inner), first, dilation) if inner else None
    reads = ([_read(op, axis, index, counts=counts) for index in part] for part in (before, after))
    return whole, *map(tuple, reads)


def effects(op: Op, answer: Answer) -> Hashable:
    """A value equal for two answers that compute the same on all axes."""
    return tuple(effect(op, axis, counts=answer.counts) for axis in answer.axes)


def _parts(axis: AxisAnswer) -> tuple[range, range, range]:
    """The windows before those that read no padding, those, and the ones after."""
    window = axis.window
    first = -(-axis.begin // window.stride)
    last = min((axis.size - window.extent + axis.begin) // window.stride, axis.output - 1)
    if first > last:
        return range(axis.output), range(0), range(0)
    return range(first), range(first, last + 1), range(last + 1, axis.output)


def taps(axis: AxisAnswer, index: int) -> range:
    """The elements of a window's kernel that read data, by index in the kernel."""
    window, start = axis.window, index * axis.window.stride - axis.begin
    return range(
        max(0, -(start // window.dilation)),
        min(window.kernel, (axis.size - 1 - start) // window.dilation + 1),
    )


def _read(op: Op, axis: AxisAnswer, index: int, *, counts: bool) -> Hashable:
    """A key of what a window reads, with the place of the kernel or the divisor if that matters."""
    real = taps(axis, index)
    if not real:
        return None
    first = index * axis.window.stride - axis.begin + real[0] * axis.window.dilation
    elements = first, len(real), axis.window.dilation if len(real) > 1 else 1
    if op == "conv":
        return elements, real[0]
    return elements, _divisor(axis, index, counts=counts) if op == "avgpool" else 0


def _divisor(axis: AxisAnswer, index: int, *, counts: bool) -> int:
    """The divisor of a window: the elements that it reads, padding included if it counts."""
    if not counts:
        return len(taps(axis, index))
    start = index * axis.window.stride - axis.begin
    within = (axis.size + axis.end - 1 - start) // axis.window.dilation + 1
    return max(0, min(axis.window.kernel, within))
