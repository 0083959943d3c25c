"""The operator, sizes and windows for which conventions are asked, and what one of them answers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from onnxpad.arithmetic.window import Window, output_size, pool_output_size, transposed_output_size

Op: TypeAlias = Literal["conv", "maxpool", "avgpool", "convtranspose"]
OPS: tuple[Op, ...] = get_args(Op)


class Axis(Struct, frozen=True):
    """One axis for which a convention is asked.

    Attributes:
        size: Elements of the data.
        window: The window that slides along it.
        padding: The padding that a user gave, for conventions that leave the number to the user.
        output_padding: The output_padding that a user gave; transposed only.
        padded: Whether a user gave a padding above 0 for this axis or another one.
    """

    size: int
    window: Window
    padding: int | None = None
    output_padding: int | None = None
    padded: bool = False


class Question(Struct, frozen=True):
    """An operator over some axes, for which conventions are asked.

    Attributes:
        op: The operator.
        sizes: Elements of the data on each axis.
        windows: The window on each axis.
        padding: The padding that a user gave, for each axis; None if none was given.
        output_padding: The same for output_padding.
        grouped: Whether channels are in groups, as in a depthwise convolution.
    """

    op: Op
    sizes: tuple[int, ...]
    windows: tuple[Window, ...]
    padding: tuple[int, ...] | None = None
    output_padding: tuple[int, ...] | None = None
    grouped: bool = False

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, in order."""
        nothing, padded = (None,) * len(self.sizes), any(self.padding or ())
        given = self.padding or nothing, self.output_padding or nothing
        each = zip(self.sizes, self.windows, *given, strict=True)
        return tuple(Axis(*one, padded) for one in each)

    @property
    def is_strided(self) -> bool:
        """Whether any stride is above 1."""
        return any(window.stride > 1 for window in self.windows)

    @property
    def is_dilated(self) -> bool:
        """Whether any dilation is above 1."""
        return any(window.dilation > 1 for window in self.windows)


class AxisAnswer(Struct, frozen=True):
    """The answer of a convention on one axis.

    Attributes:
        size: Elements of the data.
        window: The window as it really slides: PaddlePaddle's SAME takes away its dilation.
        begin: Elements padded before the data; cropped from the output if transposed.
        end: Elements padded after the data; cropped from the output if transposed.
        output: Size of the output.
        output_padding: Elements appended to the output; transposed only.
    """

    size: int
    window: Window
    begin: int
    end: int
    output: int
    output_padding: int = 0

    def effect(self, op: Op, *, counts: bool) -> Hashable:
        """A value equal for two answers just if they give equal outputs for all data.

        Pads alone do not tell: padding that no window reaches has no effect, and a pool that leaves
        padding out reads only real elements. A transposed convolution of more than one element is
        told by where its output begins and ends, even if nothing is kept but the gaps of a
        dilation. With `counts` an average divides by padding, too.
        """
        window = self.window
        dilation = window.dilation if window.kernel > 1 else 1
        if op == "convtranspose":
            kept = range(self.begin, self.begin + self.output)
            if self.size > 1:
                return dilation, kept
            taps_of = {tap * dilation: tap for tap in range(window.kernel)}
            return tuple(map(taps_of.get, kept))
        # The windows that read no padding are all alike; those before and after are told singly.
        first = -(-self.begin // window.stride)
        last = (self.size - window.extent + self.begin) // window.stride
        inner = range(first, min(last + 1, self.output)) or range(self.output, self.output)
        whole = (len(inner), inner.start * window.stride - self.begin, dilation) if inner else None
        ends = range(inner.start), range(inner.stop, self.output)
        return whole, *(tuple(self._read(op, each, counts=counts) for each in end) for end in ends)

    def taps(self, index: int) -> range:
        """The elements of a window's kernel that read data, by index in the kernel."""
        window, start = self.window, index * self.window.stride - self.begin
        return range(
            max(0, -(start // window.dilation)),
            min(window.kernel, (self.size - 1 - start) // window.dilation + 1),
        )

    def _read(self, op: Op, index: int, *, counts: bool) -> Hashable:
        """What a window reads, with the place in the kernel or the divisor where that matters."""
        if not (real := self.taps(index)):
            return None
        dilation, start = self.window.dilation, index * self.window.stride - self.begin
        elements = range(start + real[0] * dilation, start + real[-1] * dilation + 1, dilation)
        if op != "avgpool":
            return elements, real[0] if op == "conv" else 0
        padded = (self.size + self.end - 1 - start) // dilation + 1
        return elements, min(self.window.kernel, padded) if counts else len(real)


class Answer(Struct, frozen=True):
    """The answer of a convention for an operator.

    Attributes:
        axes: What it does on each axis.
        counts: Whether an average divides by the padding that it reads, too.
    """

    axes: tuple[AxisAnswer, ...]
    counts: bool = False

    @property
    def pads(self) -> tuple[tuple[int, int], ...]:
        """(begin, end) for each axis."""
        return tuple((axis.begin, axis.end) for axis in self.axes)

    @property
    def output(self) -> tuple[int, ...]:
        """Size of the output on each axis."""
        return tuple(axis.output for axis in self.axes)

    @property
    def output_padding(self) -> tuple[int, ...]:
        """Elements appended to the output on each axis."""
        return tuple(axis.output_padding for axis in self.axes)

    def effects(self, op: Op) -> Hashable:
        """A value equal for two answers that compute the same on all axes."""
        return tuple(axis.effect(op, counts=self.counts) for axis in self.axes)


def output_of(
    op: Op, size: int, window: Window, pads: tuple[int, int], more: int, *, ceil: bool
) -> int:
    """The output size along an axis of data, with `more` elements appended to a transposed one."""
    if op == "convtranspose":
        return transposed_output_size(size, window, *pads, more)
    if op == "conv":
        return output_size(size, window, *pads)
    return pool_output_size(size, window, *pads, ceil_mode=ceil)
