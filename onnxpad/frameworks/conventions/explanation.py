"""Conventions compared for one operator at one size."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.by_size import Survey, survey
from onnxpad.frameworks.conventions.effect import effect
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.conventions.reaching import NumberChange, Reach, changes_to, reached
from onnxpad.frameworks.conventions.table import (
    CONVENTIONS,
    PYTORCH_PADDING,
    AbsentError,
    conventions_for,
)


class About(Struct, frozen=True):
    """The node of a model that an explanation is about.

    Attributes:
        model: Path of the model, as given; empty for one in memory.
        node: Name of the node; in a body or function, with the way to it.
        padded: Sizes of its data with the `Pad`s in front of it; empty if there are none.
        own: The padding that the model has there, its own and that of a `Pad` directly in front;
            None if it is not known.
        ceil_mode: Whether it is a pool that rounds up.
    """

    model: str
    node: str
    padded: tuple[int, ...] = ()
    own: Answer | None = None
    ceil_mode: bool = False


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
    groups: dict[Hashable, list[str]] = {}
    for name, row in rows.items():
        try:
            answer = answers[name] = row.answer(question)
        except AbsentError as error:
            refused[name] = str(error)
            continue
        groups.setdefault(effects(question.op, answer), []).append(name)
    reach = None
    if output is not None:
        tried = {**known, PYTORCH_PADDING.name: PYTORCH_PADDING}
        tried = {name: row for name, row in tried.items() if not only or name in only}
        changes: Iterable[NumberChange] = ()
        if about is not None and about.own is not None:
            how = about.ceil_mode, bool(about.padded)
            changes = changes_to(question.op, about.own, output, *how)
        reach = reached(question, output, tried, tuple(changes))
    return ExplainReport(
        question, answers, refused, tuple(map(tuple, groups.values())), about, reach
    )


def effects(op: Op, answer: Answer) -> Hashable:
    """A value equal for two answers that compute the same."""
    return tuple(effect(op, axis, counts=answer.counts) for axis in answer.axes)
