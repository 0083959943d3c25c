"""Conventions compared for one operator: at its size, and at all others.

Away from the smallest sizes everything repeats with the stride, so at other sizes the conventions
are evaluated on one long axis for each remainder.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.effect import effect, effects
from onnxpad.frameworks.conventions.question import Answer, Axis, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.reaching import Reach, changes_to, reached
from onnxpad.frameworks.conventions.table import (
    CONVENTIONS,
    PYTORCH_PADDING,
    AbsentError,
    Convention,
    conventions_for,
)

_SEARCHED = 400
"""Sizes up to which the first one is looked for from which on everything repeats."""


class About(Struct, frozen=True):
    """The node of a model that an explanation is about.

    Attributes:
        model: Path of the model, as given; empty for one in memory.
        node: Name of the node; in a body or function, with the way to it.
        padded: Sizes of its data with the `Pad`s in front of it; empty if there are none.
        own: The padding that the model has there, its own and that of `Pad`s in front; None if it
            is not known.
        ceil_mode: Whether it is a pool that rounds up.
    """

    model: str
    node: str
    padded: tuple[int, ...] = ()
    own: Answer | None = None
    ceil_mode: bool = False


class Deviation(Struct, frozen=True):
    """How the second of two conventions differs from the first, at sizes of some remainders.

    Its windows are further right by `shift` elements, and it has so many outputs more. The output
    of a transposed convolution begins so much further right. If both are 0, it has another dilation
    or averages divide by another number.
    """

    remainders: tuple[int, ...]
    shift: int
    outputs: int


class Parting(Struct, frozen=True):
    """Two sets of conventions that compute the same at some sizes and not at others.

    Attributes:
        axes: The axes that this is about: those with the same window.
        stride: The stride, with which everything repeats.
        first: Names of conventions that are the same at all sizes.
        second: The same for those compared with them.
        same: The remainders of the size by the stride at which both compute the same.
        differences: How the second differs at the others.
        since: The size from which on this is so.
    """

    axes: tuple[int, ...]
    stride: int
    first: tuple[str, ...]
    second: tuple[str, ...]
    same: tuple[int, ...]
    differences: tuple[Deviation, ...]
    since: int


class Survey(Struct, frozen=True):
    """Conventions compared at all sizes of each axis.

    Attributes:
        classes: The conventions that compute the same at all sizes, in sets; each is in one.
        partings: The pairs of sets that compute the same at some sizes of an axis.
    """

    classes: tuple[tuple[str, ...], ...]
    partings: tuple[Parting, ...]


class ExplainReport(Struct, frozen=True, dict=True):
    """All conventions for one operator at its size.

    Attributes:
        question: The operator, its sizes and windows.
        conventions: The answer of each convention by name; None where it does not exist.
        refused: Why not, by name, for those that exist for this operator at all.
        agree: The conventions that compute the same at this size, in groups; each is in one.
        about: The node of a model that this is about; None if it is about no model.
        reach: What gives the output size that was asked for; None if none was.
    """

    question: Question
    conventions: Mapping[str, Answer | None]
    refused: Mapping[str, str]
    agree: tuple[tuple[str, ...], ...]
    about: About | None = None
    reach: Reach | None = None

    @property
    def op(self) -> Op:
        """The operator."""
        return self.question.op

    @property
    def size(self) -> tuple[int, ...]:
        """Elements of the data on each axis."""
        return self.question.sizes

    @property
    def windows(self) -> tuple[Window, ...]:
        """The window on each axis."""
        return self.question.windows

    @cached_property
    def survey(self) -> Survey:
        """Where conventions that compute the same at some sizes part at others."""
        rows = conventions_for(self.question)
        return survey(self.question, {name: rows[name] for names in self.agree for name in names})

    @cached_property
    def same_as_model(self) -> tuple[str, ...]:
        """The conventions that compute what the model's own padding computes at this size."""
        own = None if self.about is None else self.about.own
        if own is None:
            return ()
        wanted = effects(self.op, own)
        groups = (each for each in self.agree if effects(self.op, self.answer(each[0])) == wanted)
        return next(groups, ())

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 1 if an output size was asked for that no padding gives."""
        return 0 if self.reach is None or self.reach.is_possible else 1

    def answer(self, name: str) -> Answer:
        """The answer of a convention that exists here."""
        found = self.conventions[name]
        assert found is not None
        return found


def explained(
    question: Question,
    about: About | None = None,
    *,
    output: Sequence[int] | None = None,
    only: Sequence[str] = (),
) -> ExplainReport:
    """Asks conventions (all, or only some) about an operator, which may be a model's.

    An output size is one that is wanted: what gives it is told, too.
    """
    known = conventions_for(question)
    rows = {name: row for name, row in known.items() if not only or name in only}
    answers: dict[str, Answer | None] = dict.fromkeys(only or (*CONVENTIONS, *rows))
    refused: dict[str, str] = {}
    for name in only:
        if name not in known:
            absent = f"not for {question.op}"
            refused[name] = absent if name in CONVENTIONS else "the padding is not given"
    found: dict[str, Hashable] = {}
    for name, row in rows.items():
        try:
            answers[name] = answer = row.answer(question)
            found[name] = effects(question.op, answer)
        except AbsentError as error:
            refused[name] = str(error)
    reach = None
    if output is not None:
        tried = {**known, PYTORCH_PADDING.name: PYTORCH_PADDING}
        tried = {name: row for name, row in tried.items() if not only or name in only}
        reach = reached(question, output, tried)
        # Which windows a pool that rounds up drops depends on whose the padding is.
        if about and about.own and not (about.ceil_mode and about.padded):
            changes = changes_to(question.op, about.own, output, about.ceil_mode)
            reach = replace(reach, changes=tuple(changes))
    return ExplainReport(question, answers, refused, _sets(found), about, reach)


def _sets(keys: Mapping[str, Hashable]) -> tuple[tuple[str, ...], ...]:
    """The names that have equal keys, in sets."""
    found: dict[Hashable, list[str]] = {}
    for name, key in keys.items():
        found.setdefault(key, []).append(name)
    return tuple(map(tuple, found.values()))


# Other sizes


def survey(question: Question, conventions: Mapping[str, Convention]) -> Survey:
    """Compares conventions that exist for a question at all sizes.

    Each axis is looked at for itself; axes with the same window come together.
    """
    alike: dict[Axis, list[int]] = {}
    for place, axis in enumerate(question.axes):
        alike.setdefault(replace(axis, size=0), []).append(place)
    some = [_OneAxis(question, tuple(axes), conventions) for axes in alike.values()]
    classes = _sets({name: tuple(one.behaviour(name) for one in some) for name in conventions})
    return Survey(classes, tuple(parting for one in some for parting in one.partings()))


class _OneAxis:
    """Conventions on one axis, or on several with the same window."""

    def __init__(
        self, question: Question, axes: tuple[int, ...], conventions: Mapping[str, Convention]
    ) -> None:
        self._question, self._axes, self._conventions = question, axes, conventions
        window, self._stride = question.windows[axes[0]], question.windows[axes[0]].stride
        least = _long(window.extent, window.stride, max(question.padding or (0,)))
        self._long = least + -least % window.stride
        self._here = [question.sizes[axis] for axis in axes]
        self._known: dict[tuple[str, int], tuple[AxisAnswer | None, Hashable]] = {}

    def behaviour(self, name: str) -> tuple[Hashable, ...]:
        """What a convention computes at the sizes given, then at each remainder of a long size."""
        sizes = (*self._here, *range(self._long, self._long + self._stride))
        return tuple(self._at(name, size)[1] for size in sizes)

    def partings(self) -> Iterator[Parting]:
        """The pairs of sets that compute the same at some sizes."""
        sets = _sets({name: self.behaviour(name) for name in self._conventions})
        for first, second in combinations(sets, 2):
            pair, same = (first[0], second[0]), list[int]()
            differing: dict[tuple[int, int], list[int]] = {}
            for rest in range(self._stride):
                if self._agree(*pair, self._long + rest):
                    same.append(rest)
                    continue
                one, other = (self._at(name, self._long + rest)[0] for name in pair)
                assert one is not None
                assert other is not None
                further = one.begin - other.begin
                shift = -further if self._question.op == "convtranspose" else further
                differing.setdefault((shift, other.output - one.output), []).append(rest)
            if same or any(self._agree(*pair, size) for size in self._here):
                ways = tuple(Deviation(tuple(rests), *how) for how, rests in differing.items())
                told = first, second, tuple(same), ways, self._since(*pair, same)
                yield Parting(self._axes, self._stride, *told)

    def _at(self, name: str, size: int) -> tuple[AxisAnswer | None, Hashable]:
        """A convention where these axes have some size, and all others long ones; its effect."""
        if (name, size) not in self._known:
            question, row = self._question, self._conventions[name]
            sizes = tuple(
                size if place in self._axes else _long(axis.window.extent, 1, axis.padding or 0)
                for place, axis in enumerate(question.axes)
            )
            self._known[name, size] = None, None
            with suppress(AbsentError):
                axis = row.answer(replace(question, sizes=sizes)).axes[self._axes[0]]
                self._known[name, size] = axis, effect(question.op, axis, counts=row.counts)
        return self._known[name, size]

    def _agree(self, one: str, other: str, size: int) -> bool:
        return self._at(one, size)[1] == self._at(other, size)[1]

    def _since(self, one: str, other: str, same: Sequence[int]) -> int:
        """The size from which on both compute the same just at these remainders."""
        if self._long > _SEARCHED:
            return self._long
        for size in range(self._long - 1, 0, -1):
            if self._agree(one, other, size) != (size % self._stride in same):
                return size + 1
        return 1


def _long(extent: int, stride: int, padding: int) -> int:
    """A size from which on everything repeats with the stride."""
    return 2 * (extent + padding) + stride
