"""Conventions compared for one operator at one size."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any

from onnxpad.arithmetic.window import Window
from onnxpad.facts import Facts
from onnxpad.frameworks.conventions.by_size import Survey, survey
from onnxpad.frameworks.conventions.effect import effect
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.conventions.table import CONVENTIONS, AbsentError, conventions_for
from onnxpad.records import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """The node of a model that an explanation is about.

    Attributes:
        model: Path of the model, as given; empty for one in memory.
        node: Name of the node; in a body or function, with the way to it.
        padded: Sizes of its data with the `Pad`s in front of it; empty if there are none.
        own: The padding that the model has there, its own and that of a `Pad` directly in front;
            None if it is not known.
    """

    model: str
    node: str
    padded: tuple[int, ...] = ()
    own: Answer | None = None


@dataclass(frozen=True)
class ExplainReport:
    """All conventions for one operator at its size.

    Attributes:
        question: The operator, its sizes and windows.
        conventions: The answer of each convention by name; None where it does not exist.
        refused: Why not, by name, for those that exist for this operator at all.
        agree: The conventions that compute the same at this size, in groups; each is in one.
        about: The node of a model that this is about; None if it is about no model.
    """

    question: Question
    conventions: Mapping[str, Answer | None]
    refused: Mapping[str, str]
    agree: tuple[tuple[str, ...], ...]
    about: About | None = None

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
        wanted = _effects(self.op, own)
        groups = (each for each in self.agree if _effects(self.op, self.answer(each[0])) == wanted)
        return next(groups, ())

    def answer(self, name: str) -> Answer:
        """The answer of a convention that exists here."""
        found = self.conventions[name]
        assert found is not None
        return found


def explained(question: Question, about: About | None = None) -> ExplainReport:
    """Asks all conventions about an operator."""
    rows = conventions_for(question)
    answers: dict[str, Answer | None] = dict.fromkeys((*CONVENTIONS, *rows))
    refused: dict[str, str] = {}
    groups: dict[Hashable, list[str]] = {}
    for name, row in rows.items():
        try:
            answer = answers[name] = row.answer(question)
        except AbsentError as error:
            refused[name] = str(error)
            continue
        groups.setdefault(_effects(question.op, answer), []).append(name)
    agree = tuple(tuple(names) for names in groups.values())
    conventions: Any = Facts(answers)
    absent: Any = Facts(refused)
    return ExplainReport(question, conventions, absent, agree, about)


def _effects(op: Op, answer: Answer) -> Hashable:
    """A value equal for two answers that compute the same."""
    return tuple(effect(op, axis, counts=answer.counts) for axis in answer.axes)
