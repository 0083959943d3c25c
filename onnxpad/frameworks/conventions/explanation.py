"""Conventions compared for one operator: at its size, and at all others.

Away from the smallest sizes everything repeats with the stride, so at other sizes the conventions
are evaluated at one long size for each remainder.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from math import lcm

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.conventions.reaching import Reach, changes_to, reached
from onnxpad.frameworks.conventions.table import CONVENTIONS, Convention

_LONGEST = 4096


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


class Period(Struct, frozen=True):
    """Sizes by their remainder by the period, and the conventions that compute the same there."""

    remainders: tuple[int, ...]
    agree: tuple[tuple[str, ...], ...]


class Survey(Struct, frozen=True):
    """Conventions compared at all long sizes, all axes having one remainder.

    Attributes:
        classes: The conventions that compute the same at this size and all long ones, in sets; each
            is in one.
        period: The common multiple of the strides, with which everything repeats.
        since: A size from which on it does.
        periods: The conventions that compute the same at sizes of some remainders; none where the
            period is longer than 4,096.
    """

    classes: tuple[tuple[str, ...], ...]
    period: int
    since: int
    periods: tuple[Period, ...]


class ExplainReport(Struct, frozen=True, dict=True):
    """All conventions for one operator at its size.

    Attributes:
        question: The operator, its sizes and windows.
        conventions: The answer of each convention by name; None where it does not exist.
        refused: Why not, by name, for those that exist for this operator at all.
        agree: The conventions that compute the same at this size, in groups; each is in one.
        about: The node of a model that this is about; None if it is about no model.
        reach: What gives the output size that was asked for; None if none was.
        html: Path of the page written; empty if none was asked for.
    """

    command = "explain"
    question: Question
    conventions: Mapping[str, Answer | None]
    refused: Mapping[str, str]
    agree: tuple[tuple[str, ...], ...]
    about: About | None = None
    reach: Reach | None = None
    html: str = ""

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
        asked, names = self.question, [name for names in self.agree for name in names]
        period = lcm(*(window.stride for window in self.windows))
        long = max(2 * (axis.window.extent + (axis.padding or 0)) for axis in asked.axes)
        since = long + period + -long % period
        longer = range(since, since + period if period <= _LONGEST else since)
        sizes = [asked.sizes, *((size,) * len(asked.sizes) for size in longer)]
        questions = [replace(asked, sizes=each) for each in sizes]
        told = [{name: _effects(each, CONVENTIONS[name]) for name in names} for each in questions]
        found: dict[tuple[tuple[str, ...], ...], list[int]] = {}
        for rest, each in enumerate(told[1:]):
            found.setdefault(_sets(each), []).append(rest)
        classes = _sets({name: tuple(each[name] for each in told) for name in names})
        periods = tuple(Period(tuple(rests), agree) for agree, rests in found.items())
        return Survey(classes, period, since, periods)

    @cached_property
    def same_as_model(self) -> tuple[str, ...]:
        """The conventions that compute what the model's own padding computes at this size."""
        own = self.about.own.effects(self.op) if self.about and self.about.own else None
        groups = (names for names in self.agree if self.answer(names[0]).effects(self.op) == own)
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
    question: Question, about: About | None = None, *, output: Sequence[int] | None = None
) -> ExplainReport:
    """Asks all conventions about an operator, which may be a model's.

    An output size is one that is wanted: what gives it is told, too.
    """
    rows = {name: row for name, row in CONVENTIONS.items() if question.op in row.rules}
    told = {name: row.asked(question) for name, row in rows.items()}
    found = {name: each for name, each in told.items() if isinstance(each, Answer)}
    refused = {name: each for name, each in told.items() if isinstance(each, str)}
    agree = _sets({name: each.effects(question.op) for name, each in found.items()})
    reach = None
    if output is not None:
        reach = reached(question, output, rows)
        # Which windows a pool that rounds up drops depends on whose the padding is.
        if about and about.own and not (about.ceil_mode and about.padded):
            changes = changes_to(question.op, about.own, output, about.ceil_mode)
            reach = replace(reach, changes=tuple(changes))
    answers = {name: found.get(name) for name in CONVENTIONS}
    return ExplainReport(question, answers, refused, agree, about, reach)


def _sets(keys: Mapping[str, Hashable]) -> tuple[tuple[str, ...], ...]:
    """The names that have equal keys, in sets, without those that have none."""
    found: dict[Hashable, list[str]] = {}
    for name, key in keys.items():
        if key is not None:
            found.setdefault(key, []).append(name)
    return tuple(map(tuple, found.values()))


def _effects(question: Question, row: Convention) -> Hashable:
    """The effect of a convention; None where it does not exist."""
    found = row.asked(question)
    return None if isinstance(found, str) else found.effects(question.op)
