"""The operator, sizes and windows for which conventions are asked, and what one of them answers."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from onnxpad.arithmetic.window import (
    Window,
    output_size,
    pool_output_size,
    transposed_output_size,
)

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


def output_of(
    op: Op, size: int, window: Window, pads: tuple[int, int], more: int, *, ceil: bool
) -> int:
    """The output size along an axis of data, with `more` elements appended to a transposed one."""
    if op == "convtranspose":
        return transposed_output_size(size, window, *pads, more)
    if op == "conv":
        return output_size(size, window, *pads)
    return pool_output_size(size, window, *pads, ceil_mode=ceil)
