"""The operator for which conventions are asked, the answer of one, and the rule that gives it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from onnxpad.arithmetic.window import (
    Side,
    Window,
    halves,
    output_size,
    pool_output_size,
    same_pads,
    transposed_output_size,
)

Op: TypeAlias = Literal["conv", "maxpool", "avgpool", "convtranspose"]
OPS: tuple[Op, ...] = get_args(Op)


class Axis(Struct, frozen=True):
    """One axis for which a convention is asked: its size, its window, and what a user gave.

    That is a padding, for conventions that leave the number to the user, and an output_padding, for
    transposed ones; `padded` says whether a padding of this axis or another one is above 0.
    """

    size: int
    window: Window
    padding: int | None = None
    output_padding: int | None = None
    padded: bool = False


class Question(Struct, frozen=True):
    """An operator for which conventions are asked, with the size and the window of each axis.

    A user may have given paddings and output_paddings for all axes; if not, they are None. With
    `grouped`, channels are in groups, as in a depthwise convolution.
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
    """The answer of a convention on one axis of some size: its padding and the output size.

    `begin` and `end` are the elements padded before and after the data, or cropped from the output
    if transposed, to which `output_padding` elements are appended. The window is as it really
    slides: PaddlePaddle's SAME takes away its dilation.
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
            return (elements, real[0]) if op == "conv" else elements
        padded = (self.size + self.end - 1 - start) // dilation + 1
        return elements, min(self.window.kernel, padded) if counts else len(real)


class Answer(Struct, frozen=True):
    """The answer of a convention on each axis; an average that `counts` divides by padding, too."""

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


_DEMANDS: Mapping[str, Callable[[Question], bool]] = {
    "no dilation": lambda asked: not asked.is_dilated,
    "no stride together with a dilation": lambda asked: not (asked.is_strided and asked.is_dilated),
    "stride 1 only": lambda asked: not asked.is_strided,
    "one axis only": lambda asked: len(asked.sizes) == 1,
    "one long axis only": lambda asked: sum(each.extent > 1 for each in asked.windows) <= 1,
    "the padding is not given": lambda asked: asked.padding is not None,
}
"""What a convention may demand of a question, and when that is met."""


class PaddingRule(Struct, frozen=True):
    """How a convention pads one operator.

    Attributes:
        amounts: The padding of an axis: nothing; one number at both ends; SAME's total, divided
            between them; the extent less 1, at the begin. A transposed convolution crops as much:
            SAME's total is what its full result has too many, or (`input`) what SAME pads on its
            input; `begin` is a number at the begin and all else at the end.
        odd: The end of SAME's that gets the odd element.
        undilated: Whether it slides with dilation 1, whatever dilation was asked for.
        usual: The number at both ends, if a user gives none: half the window, nothing, or the least
            crop that reaches size * stride, with an output_padding of at most 1 unless the extent
            is below the stride.
        takes: Whether a user may give another number.
        rounding: How the number of windows rounds. Down, a window longer than the padded line has
            no output; toward 0, it has one where less than a stride is missing. Up, a last window
            that would start in the end padding is dropped: always, only in a layer that pads at
            all, or never (with C's division).
        output: The length of a transposed convolution's output that its crop, or what it appends,
            reaches: size * stride; the same, unless it follows from a padding or an output_padding
            that a user gave; Keras's, which is (size - 1) * stride + extent % 2 + output_padding.
        appends_given: Whether a transposed convolution appends the output_padding of a user.
        appends_missing: Whether it appends what it lacks of that length, unless a user's is.
        demands: The conditions without which it does not exist.
        most: The most that it pads, if a framework refuses more.
        appends_below: The same for the output_padding of a transposed convolution.
        exact: Whether it refuses to give another output than size * stride, or to append a stride
            for that, unless a user gives an output_padding.
    """

    amounts: Literal["none", "number", "same", "causal", "input", "begin"]
    odd: Side = "end"
    undilated: bool = False
    usual: Literal["half", "none", "least"] = "none"
    takes: bool = False
    rounding: Literal["down", "toward 0", "up", "up if padded", "up, kept"] = "down"
    output: Literal["multiple", "asked", "parity"] = "multiple"
    appends_given: bool = False
    appends_missing: bool = False
    demands: tuple[str, ...] = ()
    most: Literal["half the kernel", "the kernel less 1", ""] = ""
    appends_below: Literal["the stride", "the stride or the dilation", ""] = ""
    exact: bool = False

    def unmet(self, question: Question) -> str:
        """Why it does not exist for a question; empty if it does."""
        return next((demand for demand in self.demands if not _DEMANDS[demand](question)), "")

    def refusal(self, axis: Axis, found: AxisAnswer) -> str:
        """Why a framework refuses what the rule gives on an axis; empty if it does not."""
        window, size, stride = axis.window, axis.size, axis.window.stride
        most = {"half the kernel": window.kernel // 2, "the kernel less 1": window.kernel - 1}
        if found.begin > most.get(self.most, found.begin):
            return f"pads at most {self.most}, not {found.begin}"
        appended = found.output_padding
        if self.output == "parity":
            appended = found.output - (size - 1) * stride - window.extent % 2
            if -(-found.output // stride) != size:
                return f"TensorFlow's SAME does not reduce an output of {found.output} to {size}"
        ends = {"the stride": stride, "the stride or the dilation": max(stride, window.dilation)}
        if appended >= ends.get(self.appends_below, appended + 1):
            return f"its output_padding is below {self.appends_below}, not {appended}"
        is_reached = found.output == size * stride and appended < stride
        is_asked = self.appends_given and axis.output_padding is not None
        if self.exact and not is_reached and not is_asked:
            return f"does not reach an output of {size * stride}"
        return f"no output at size {size}" if found.output < 1 else ""

    def padding(self, axis: Axis, *, transposed: bool) -> AxisAnswer:
        """The pads and the output on one axis, whether a framework refuses them or not.

        An output below 1 is none.
        """
        window = axis.window
        window = Window(window.kernel, window.stride) if self.undilated else window
        return (self._scattered if transposed else self._gathered)(axis, window)

    def number(self, axis: Axis) -> int:
        """The number at both ends."""
        if self.takes and axis.padding is not None:
            return axis.padding
        if self.usual == "least":
            return max(axis.window.extent - axis.window.stride + 1, 0) // 2
        return (axis.window.extent - 1) // 2 if self.usual == "half" else 0

    def _gathered(self, axis: Axis, window: Window) -> AxisAnswer:
        size, stride = axis.size, window.stride
        if self.amounts == "same":
            begin, end = same_pads(size, window, odd=self.odd)
            return AxisAnswer(size, window, begin, end, -(-size // stride))
        begin = end = self.number(axis) if self.amounts == "number" else 0
        if self.amounts == "causal":
            begin = window.extent - 1
        output = output_size(size, window, begin, end)
        if self.rounding == "toward 0":
            output = pool_output_size(size, window, begin, end, ceil_mode=False)
        elif self.rounding == "up" or (self.rounding == "up if padded" and (axis.padded or begin)):
            output = pool_output_size(size, window, begin, end, ceil_mode=True)
        elif self.rounding == "up if padded":
            output = -(-(size - window.extent) // stride) + 1
        elif self.rounding == "up, kept":
            output = pool_output_size(size + stride - 1, window, begin, end, ceil_mode=False)
        return AxisAnswer(size, window, begin, end, output)

    def _scattered(self, axis: Axis, window: Window) -> AxisAnswer:
        given = axis.output_padding if self.appends_given else None
        appended = given or 0
        full = transposed_output_size(axis.size, window, 0, 0)
        wanted = self._wanted(axis)
        begin = end = self.number(axis) if self.amounts in {"number", "begin"} else 0
        if self.amounts == "same":
            begin, end = halves(max(full + appended - wanted, 0), self.odd)
        elif self.amounts == "input":
            begin, end = same_pads(axis.size, window, odd=self.odd)
        elif self.amounts == "begin":
            end = max(full - begin - wanted, 0)
        if self.appends_missing and given is None:
            appended = max(wanted - (full - begin - end), 0)
        return AxisAnswer(axis.size, window, begin, end, full - begin - end + appended, appended)

    def _wanted(self, axis: Axis) -> int:
        stride, odd = axis.window.stride, axis.window.extent % 2
        appended = axis.output_padding
        if self.output == "parity":
            return (axis.size - 1) * stride + odd + (stride - odd if appended is None else appended)
        if self.output == "asked" and not (axis.padding is None and appended is None):
            pad = self.number(axis)
            return transposed_output_size(axis.size, axis.window, pad, pad, appended or 0)
        return axis.size * stride
