"""How a convention pads one operator, as data, and the function that evaluates it on an axis.

Metal Performance Shaders (Apple, `MPSNNPaddingMethod`) has no row: where SAME pads at all, its
`SizeSame` is CoreML's with TOP_LEFT_HEAVY, and elsewhere no `pads` of ONNX express it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

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
from onnxpad.frameworks.conventions.question import Axis, AxisAnswer, Question

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
        """The length of the output that a transposed convolution is to have."""
        stride, odd = axis.window.stride, axis.window.extent % 2
        appended = axis.output_padding
        if self.output == "parity":
            return (axis.size - 1) * stride + odd + (stride - odd if appended is None else appended)
        if self.output == "asked" and not (axis.padding is None and appended is None):
            pad = self.number(axis)
            return transposed_output_size(axis.size, axis.window, pad, pad, appended or 0)
        return axis.size * stride
