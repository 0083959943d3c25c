"""The frameworks whose conventions an operator fits, from what decides that.

A convention fits where it computes the same, whatever the numbers: padding that no window reaches
makes no difference. Where a size is open, one size for each remainder by the stride is looked at,
since all conventions depend on that remainder alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Size, always, equal, modulo
from onnxpad.arithmetic.window import (
    Window,
)
from onnxpad.frameworks.conventions.effect import effect
from onnxpad.frameworks.conventions.question import Answer, AxisAnswer, Op, Question, output_of
from onnxpad.frameworks.conventions.table import (
    FRAMEWORKS,
    INTENTS,
    AbsentError,
    Convention,
    Framework,
    Intent,
)
from onnxpad.padding.padding import Padding
from onnxpad.semantics.layers import Pairs

Holds: TypeAlias = Literal["always", "sometimes", "never", "absent"]
"""Whether a convention computes the same at all sizes, some, or none, or does not exist there."""

Likeness: TypeAlias = Literal[
    "none", "either", "same", "symmetric", "lower", "causal", "sometimes", "explicit", "other"
]
"""The convention that padding is like: none, TensorFlow's SAME and symmetric alike, one of the two,
SAME_LOWER, causal, one of the two at some sizes only, explicit padding, or nothing of these."""

_POOLS = frozenset({"maxpool", "avgpool"})


class Fit(Struct, frozen=True):
    """Whether an operator fits a framework.

    Attributes:
        holds: Whether the framework can pad so that the windows are the same.
        pads: The pads that it has for the purpose of this padding; None where they depend on an
            open size, or it has none.
        rounds: Whether only the rounding of a pool's output size differs.
        counts: Whether its averages count padding, where that makes a difference and is not what
            the operator does; None if they agree.
        same_at: The remainders by the stride of the sizes at which it is the same, if `sometimes`.
    """

    holds: Holds
    pads: Pairs | None = None
    rounds: bool = False
    counts: bool | None = None
    same_at: tuple[int, ...] = ()


class Case(Struct, frozen=True, eq=False, dict=True):
    """The facts that decide which conventions an operator fits; operators that are alike share it.

    Axes along which a window of one element slides by one are left out, unless all are such.

    Attributes:
        op: The kind of operator.
        windows: One per axis.
        samples: The sizes to look at, for each axis: each gives other windows.
        padding: How it pads in total.
        over_pad: Whether it counts padding only since it averages over a `Pad`, as in any
            framework.
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
    def is_padded(self) -> bool:
        """Whether its padding makes a difference at any size."""
        none = ((0, 0),) * len(self.windows)
        plain = Padding(none, output_padding=(0,) * len(self.padding.output_padding))
        return any(
            one is not None and (other is None or not _is_alike(self.op, one, other))
            for one, other in zip(self.answers, self.with_padding(plain), strict=True)
        )

    @cached_property
    def rounding_matters(self) -> bool:
        """Whether a pool that rounds up and one that rounds down differ here."""
        if self.op not in _POOLS or self.padding.is_same:
            return False
        otherwise = self.with_padding(replace(self.padding, ceil=not self.padding.ceil))
        return any(
            one is not None and other is not None and one.output != other.output
            for one, other in zip(self.answers, otherwise, strict=True)
        )

    @cached_property
    def counting_matters(self) -> bool:
        """Whether an average that counts its padding and one that does not differ here."""
        is_own = self.op == "avgpool" and not self.over_pad
        return is_own and any(each is not None and _counting_matters(each) for each in self.answers)

    @cached_property
    def intent(self) -> Intent:
        """The purpose of its padding."""
        if not self.is_padded:
            return "valid"
        causal = tuple((window.extent - 1, 0) for window in self.windows)
        is_causal = self.op == "conv" and len(causal) == 1 and self.padding.pads == causal
        return "causal" if is_causal else "same"

    @cached_property
    def likeness(self) -> Likeness:
        """The convention that it fits at all its sizes, of those that most models follow."""
        if self.intent != "same":
            return "causal" if self.intent == "causal" else "none"
        same, symmetric = self.follows("tensorflow"), self.follows("pytorch")
        if same or symmetric:
            return "symmetric" if not same else "either" if symmetric else "same"
        if self.follows("onnx-same-lower"):
            return "lower"
        held = {self.fit("tensorflow").holds, self.fit("pytorch").holds}
        return "sometimes" if "sometimes" in held else "other"

    def follows(self, framework: str) -> bool:
        """Whether it computes at all its sizes what a framework of `FRAMEWORKS` may compute."""
        found = self.fit(framework)
        return found.holds == "always" and found.counts is None

    @cached_property
    def fits(self) -> tuple[str, ...]:
        """The frameworks of `FRAMEWORKS` whose padding it is at all its sizes, if it pads."""
        if not self.is_padded:
            return ()
        return tuple(filter(self.follows, FRAMEWORKS))

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """The names of those frameworks as they write them."""
        return tuple(FRAMEWORKS[name].title for name in self.fits)

    @cached_property
    def answers(self) -> tuple[Answer | None, ...]:
        """Its windows for each question; None where it has none."""
        return self.with_padding(self.padding)

    def with_padding(self, padding: Padding) -> tuple[Answer | None, ...]:
        """The same with another padding."""
        found = (answer_of(padding, question) for question in self.questions)
        return tuple(each if min(each.output) >= 1 else None for each in found)

    def fit(self, framework: str) -> Fit:
        """Whether it fits a framework of `FRAMEWORKS`."""
        found = self._fits.get(framework)
        if found is None:
            found = self._fits[framework] = _fit(self, FRAMEWORKS[framework])
        return found

    @cached_property
    def _fits(self) -> dict[str, Fit]:
        return {}


_CASE = lru_cache(maxsize=4096)(Case)


def case_of(
    op: Op,
    windows: Sequence[Window],
    sizes: Sequence[Extent],
    padding: Padding,
    *,
    over_pad: bool = False,
) -> Case:
    """What decides which conventions an operator with this total padding fits."""
    axes = [axis for axis, kept in enumerate(sliding(windows, padding)) if kept]
    return _CASE(
        op,
        tuple(windows[axis] for axis in axes),
        tuple(_samples(sizes[axis], windows[axis]) for axis in axes),
        replace(
            padding,
            pads=padding.pads and tuple(padding.pads[axis] for axis in axes),
            output_padding=padding.output_padding
            and tuple(padding.output_padding[axis] for axis in axes),
        ),
        over_pad,
    )


def sliding(windows: Sequence[Window], padding: Padding) -> list[bool]:
    """For each axis whether a window slides along it that any convention could pad."""
    plain = Window(1)
    kept = [
        window != plain
        or (padding.pads is not None and padding.pads[axis] != (0, 0))
        or any(padding.output_padding[axis : axis + 1])
        for axis, window in enumerate(windows)
    ]
    return kept if any(kept) else [True] * len(kept)


def _samples(size: Extent, window: Window) -> tuple[int, ...]:
    """Sizes to look at on one axis: its own, or a long one for each remainder by the stride."""
    if isinstance(size, int):
        return (size,)
    stride = window.stride
    long = 4 * window.extent + 2 * stride
    start = long + -long % stride
    rests = range(stride)
    if isinstance(size, Size) and stride > 1:
        rest = modulo(size, stride)
        rests_possible = [each for each in rests if always(equal(rest, each)) is not False]
        return tuple(start + each for each in rests_possible)
    return tuple(start + each for each in rests)


def answer_of(padding: Padding, question: Question) -> Answer:
    """The windows of an operator with a padding; an output below 1 is none."""
    op, sizes, windows = question.op, question.sizes, question.windows
    appended = padding.output_padding or (0,) * len(sizes)
    pads = padding.amounts(sizes, windows)
    axes = []
    for size, window, pair, more in zip(sizes, windows, pads, appended, strict=True):
        output = output_of(op, size, window, pair, more, ceil=padding.ceil)
        axes.append(AxisAnswer(size, window, *pair, output, more))
    return Answer(tuple(axes), padding.counted)


def _is_alike(op: Op, one: Answer, other: Answer) -> bool:
    """Whether two answers have the same windows, whatever an average divides by."""
    pairs = zip(one.axes, other.axes, strict=True)
    return all(effect(op, a, counts=False) == effect(op, b, counts=False) for a, b in pairs)


def _counting_matters(answer: Answer) -> bool:
    return any(
        effect("avgpool", axis, counts=True) != effect("avgpool", axis, counts=False)
        for axis in answer.axes
    )


_Candidate = Callable[[Question], Answer]


def _fit(case: Case, framework: Framework) -> Fit:
    found = _held(case, _candidates(case, framework))
    if found.holds == "always":
        return found
    rounded = (partial(_rounded, case.padding.ceil, each) for each in _candidates(case, framework))
    rounds = case.op in _POOLS and _held(case, rounded).holds == "always"
    intent = case.intent if framework.follows(case.intent, case.op) else "same"
    return replace(found, pads=_wanted(case, framework, intent), rounds=rounds)


def _rounded(ceil: bool, candidate: _Candidate, question: Question) -> Answer:
    """What a framework pads, rounding up or down as an operator does and it does not itself."""
    theirs = candidate(question)
    as_own, other = (answer_of(Padding(theirs.pads, ceil=up), question) for up in (ceil, not ceil))
    if theirs.output != other.output:
        raise AbsentError("rounds as the operator does, or otherwise")
    return as_own


def _held(case: Case, candidates: Iterable[_Candidate]) -> Fit:
    """Whether windows are a framework's, how it counts if otherwise, and where it is the same."""
    best = Fit("absent")
    for candidate in candidates:
        same: list[bool] = []
        exists = False
        counts: bool | None = None
        for question, mine in zip(case.questions, case.answers, strict=True):
            if mine is None:
                continue
            try:
                theirs = candidate(question)
            except AbsentError:
                same.append(False)
                continue
            exists = True
            same.append(_is_alike(case.op, mine, theirs))
            if mine.counts != theirs.counts and case.counting_matters:
                counts = theirs.counts
        if same and all(same):
            if counts is None:
                return Fit("always")
            best = Fit("always", counts=counts)
        elif exists and best.holds != "always":
            if any(same):
                best = Fit("sometimes", same_at=_remainders(case, same))
            elif best.holds == "absent":
                best = Fit("never")
    return best


def _candidates(case: Case, framework: Framework) -> Iterator[_Candidate]:
    """The ways of a framework to pad: a number that a user may give it, and each of its intents."""
    numbers = {
        tuple((axis.begin, axis.output_padding + axis.begin - axis.end) for axis in each.axes)
        for each in case.answers
        if each is not None
    }
    if len(numbers) == 1:
        padding, output_padding = zip(*numbers.pop(), strict=True)
        by_ceil = framework.by_ceil if case.padding.ceil else ()
        for row in by_ceil or framework.by_number:
            yield partial(_by_number, row, padding, output_padding)
    for intent in sorted(INTENTS, key=lambda each: each != case.intent):
        if framework.follows(intent, case.op):
            yield partial(framework.answer, intent)


def _by_number(
    row: Convention, padding: tuple[int, ...], output_padding: tuple[int, ...], question: Question
) -> Answer:
    """A framework's padding with a number for both sides."""
    if question.op != "convtranspose":
        return row.answer(replace(question, padding=padding))
    if min(output_padding) < 0:
        raise AbsentError("crops more at the end")
    return row.answer(replace(question, padding=padding, output_padding=output_padding))


def _remainders(case: Case, same: Sequence[bool]) -> tuple[int, ...]:
    """The remainders at which it is the same, where all axes have the same ones."""
    strides = {window.stride for window in case.windows}
    if len(strides) != 1 or len(set(case.samples)) != 1 or len(same) != len(case.samples[0]):
        return ()
    (stride,) = strides
    pairs = zip(case.samples[0], same, strict=True)
    return tuple(size % stride for size, holds in pairs if holds)


def _wanted(case: Case, framework: Framework, intent: Intent) -> Pairs | None:
    """The pads of a framework for an intent; None where they depend on an open size."""
    try:
        found = {framework.answer(intent, question).pads for question in case.questions}
    except AbsentError:
        return None
    return found.pop() if len(found) == 1 else None
