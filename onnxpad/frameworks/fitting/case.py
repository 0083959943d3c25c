"""The frameworks whose conventions an operator fits, from what decides that.

A convention fits where it has the same effect, whatever the numbers: padding that no window reaches
makes no difference. Where a size is open, one size for each remainder by the stride is looked at,
since all conventions depend on that remainder alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Size, always, equal, modulo
from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import Answer, AxisAnswer, Op, Question, output_of
from onnxpad.frameworks.conventions.table import FRAMEWORKS, INTENTS, Framework, Intent
from onnxpad.padding.padding import Padding
from onnxpad.semantics.layers import Pairs

Holds: TypeAlias = Literal["absent", "never", "sometimes", "always"]
"""Whether a convention computes the same at all sizes, some, or none, or does not exist there."""
_Answers = tuple[Answer | None, ...]


class Fit(Struct, frozen=True):
    """Whether a framework can pad so that it computes the same as an operator.

    If not, `pads` are its own: those of a pool if it can have them, else those for the purpose of
    the padding; None where they depend on an open size, or there are none. Where it sometimes can,
    `same_at` are the remainders by the stride of such sizes.
    """

    holds: Holds
    pads: Pairs | None = None
    same_at: tuple[int, ...] = ()


class Case(Struct, frozen=True, eq=False, dict=True):
    """The facts that decide which conventions an operator fits; operators that are alike share it.

    Each axis has a window, and samples: the sizes to look at, each of which gives other windows.
    The padding is that in total; with `over_pad` it is counted only since the operator averages
    over a `Pad`, as in any framework.
    """

    op: Op
    windows: tuple[Window, ...]
    samples: tuple[tuple[int, ...], ...]
    padding: Padding
    over_pad: bool = False

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The operator at sizes of which each axis has each of its samples at least once."""
        return tuple(
            Question(self.op, tuple(each[place % len(each)] for each in self.samples), self.windows)
            for place in range(max(map(len, self.samples)))
        )

    @cached_property
    def answers(self) -> _Answers:
        """Its windows for each question; None where it has none."""
        return self._with(self.padding)

    def _with(self, padding: Padding) -> _Answers:
        found = (answer_of(padding, question) for question in self.questions)
        return tuple(each if min(each.output) >= 1 else None for each in found)

    def _effect(self, answer: Answer | None) -> Hashable:
        if answer is None:
            return None
        return replace(answer, counts=answer.counts and not self.over_pad).effects(self.op)

    @cached_property
    def is_padded(self) -> bool:
        """Whether its padding makes a difference at any size at which it has windows."""
        none = ((0, 0),) * len(self.windows)
        bare = Padding(none, output_padding=(0,) * len(self.padding.output_padding))
        pairs = zip(self.answers, self._with(bare), strict=True)
        return any(one and self._effect(one) != self._effect(other) for one, other in pairs)

    @cached_property
    def intent(self) -> Intent:
        """The purpose of its padding."""
        if not self.is_padded:
            return "valid"
        is_line = self.op == "conv" and sum(each.extent > 1 for each in self.windows) == 1
        causal = tuple((window.extent - 1, 0) for window in self.windows)
        return "causal" if is_line and self.padding.pads == causal else "same"

    def is_causal_apart(self, framework: Framework) -> bool:
        """Whether it is causal in a framework, whose SAME is never all at the begin."""
        return self.intent == "causal" and framework.follows("causal", self.op)

    def follows(self, framework: str) -> bool:
        """Whether it computes at all its sizes what a framework of `FRAMEWORKS` may compute."""
        return self.fit[framework].holds == "always"

    @cached_property
    def fits(self) -> tuple[str, ...]:
        """The frameworks of `FRAMEWORKS` whose padding it is at all its sizes, if it pads."""
        return tuple(filter(self.follows, FRAMEWORKS)) if self.is_padded else ()

    @cached_property
    def fit(self) -> dict[str, Fit]:
        """Whether it fits each of `FRAMEWORKS`, by name."""
        return {name: self._fit(framework) for name, framework in FRAMEWORKS.items()}

    def _fit(self, framework: Framework) -> Fit:
        best, told = Fit("absent"), list[tuple[bool, _Answers]]()
        for is_meant, theirs in self._theirs(framework):
            pairs = [(m, t) for m, t in zip(self.answers, theirs, strict=True) if m is not None]
            same = [self._effect(mine) == self._effect(their) for mine, their in pairs]
            if same and all(same):
                return Fit("always")
            if any(same) and best.holds != "sometimes":
                best = Fit("sometimes", same_at=self._remainders(same))
            elif best.holds == "absent" and any(their for _, their in pairs):
                best = Fit("never")
            keeps = all(their and mine.pads == their.pads for mine, their in pairs)
            is_own = "pool" in self.op and keeps
            told += [(not is_own, theirs)] * (is_own or is_meant)
        told.sort(key=lambda each: each[0])  # a pool's own pads come first
        pads = {each.pads if each else None for _, theirs in told[:1] for each in theirs}
        return replace(best, pads=pads.pop()) if len(pads) == 1 else best

    def _theirs(self, framework: Framework) -> Iterator[tuple[bool, _Answers]]:
        """What a framework may do for each question, and whether it does so by a purpose.

        First come the numbers of the operator, where a user may give it some, then its purpose.
        """
        scatters = self.op == "convtranspose"
        # A user gives the begin for both ends; what a crop at the end has less is appended.
        numbers = {
            tuple((axis.begin, axis.output_padding + axis.begin - axis.end) for axis in each.axes)
            for each in self.answers
            if each is not None
        }
        pads, more = zip(*numbers.pop(), strict=True) if len(numbers) == 1 else ((), ())
        given = [
            replace(each, padding=pads, output_padding=more if scatters else None)
            for each in self.questions
        ]
        if pads and not (scatters and min(more) < 0):
            for row in (self.padding.ceil and framework.by_ceil) or framework.by_number:
                yield False, _existing(map(row.asked, given))
        for intent in sorted(INTENTS, key=lambda each: each != self.intent):
            if framework.follows(intent, self.op):
                answers = _existing(framework.asked(intent, each) for each in self.questions)
                yield intent in {self.intent, "same"}, answers

    def _remainders(self, same: Sequence[bool]) -> tuple[int, ...]:
        """The remainders at which it is the same, where all axes with a stride have the same."""
        pairs = zip(self.windows, self.samples, strict=True)
        strided = {(window.stride, sizes) for window, sizes in pairs if window.stride > 1}
        if len(strided) != 1:
            return ()
        ((stride, sizes),) = strided
        return tuple(size % stride for size, holds in zip(sizes, same, strict=False) if holds)


def _existing(answers: Iterable[Answer | str]) -> _Answers:
    return tuple(None if isinstance(each, str) else each for each in answers)


_CASE = lru_cache(maxsize=4096)(Case)


def case_of(
    op: Op,
    windows: Sequence[Window],
    sizes: Sequence[Extent | None],
    padding: Padding,
    *,
    over_pad: bool = False,
) -> Case:
    """What decides which conventions an operator with this total padding fits; None is open."""
    samples = tuple(_samples(*pair) for pair in zip(sizes, windows, strict=True))
    return _CASE(op, tuple(windows), samples, padding, over_pad)


def _samples(size: Extent | None, window: Window) -> tuple[int, ...]:
    """Sizes to look at on one axis: its own, or a long one for each remainder by the stride."""
    if isinstance(size, int):
        return (size,)
    stride, start = window.stride, (4 * window.extent + 2) * window.stride
    rest = modulo(size, stride) if isinstance(size, Size) else None
    return tuple(
        start + each
        for each in range(stride)
        if rest is None or always(equal(rest, each)) is not False
    )


def answer_of(padding: Padding, question: Question) -> Answer:
    """The windows of an operator with a padding; an output below 1 is none."""
    sizes, windows = question.sizes, question.windows
    pads, appended = padding.amounts(sizes, windows), padding.output_padding or (0,) * len(sizes)
    axes = []
    for size, window, pair, more in zip(sizes, windows, pads, appended, strict=True):
        output = output_of(question.op, size, window, pair, more, ceil=padding.ceil)
        axes.append(AxisAnswer(size, window, *pair, output, more))
    return Answer(tuple(axes), padding.counted)
