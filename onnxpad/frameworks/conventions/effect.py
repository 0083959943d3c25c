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
    window = axis.window
    dilation = window.dilation if window.kernel > 1 else 1
    if op == "convtranspose":
        kept = range(axis.begin, axis.begin + axis.output)
        if axis.size > 1:
            return dilation, kept
        taps_of = {tap * dilation: tap for tap in range(window.kernel)}
        return tuple(map(taps_of.get, kept))
    # The windows that read no padding are all alike; those before and after are told one by one.
    first = -(-axis.begin // window.stride)
    last = (axis.size - window.extent + axis.begin) // window.stride
    inner = range(first, min(last + 1, axis.output)) or range(axis.output, axis.output)
    whole = (len(inner), inner.start * window.stride - axis.begin, dilation) if inner else None
    ends = range(inner.start), range(inner.stop, axis.output)
    return whole, *(tuple(_read(op, axis, each, counts=counts) for each in end) for end in ends)


def effects(op: Op, answer: Answer) -> Hashable:
    """A value equal for two answers that compute the same on all axes."""
    return tuple(effect(op, axis, counts=answer.counts) for axis in answer.axes)


def taps(axis: AxisAnswer, index: int) -> range:
    """The elements of a window's kernel that read data, by index in the kernel."""
    window, start = axis.window, index * axis.window.stride - axis.begin
    return range(
        max(0, -(start // window.dilation)),
        min(window.kernel, (axis.size - 1 - start) // window.dilation + 1),
    )


def _read(op: Op, axis: AxisAnswer, index: int, *, counts: bool) -> Hashable:
    """What a window reads, with the place in the kernel or the divisor where that matters."""
    if not (real := taps(axis, index)):
        return None
    dilation, start = axis.window.dilation, index * axis.window.stride - axis.begin
    elements = range(start + real[0] * dilation, start + real[-1] * dilation + 1, dilation)
    if op != "avgpool":
        return elements, real[0] if op == "conv" else 0
    padded = (axis.size + axis.end - 1 - start) // dilation + 1
    return elements, min(axis.window.kernel, padded) if counts else len(real)
