"""Conventions compared for one operator: at its size, and at all others; and what gives a size.

Away from the smallest sizes everything repeats with the stride, so at other sizes the conventions
are evaluated at one long size for each remainder. For an output size that is wanted, numbers are
tried one by one, below extent and stride together: more makes whole windows of padding.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from math import lcm

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import Window, halves
from onnxpad.frameworks.conventions.question import (
    Answer,
    Axis,
    AxisAnswer,
    Op,
    PaddingRule,
    Question,
    output_of,
)
from onnxpad.frameworks.conventions.table import CONVENTIONS, Convention
from onnxpad.options import Configured

_LONGEST = 4096
_MOST = 64


class About(Struct, frozen=True):
    """The node that an explanation is about, in a model by its path, empty for one in memory.

    Its name has the way to it in a body or function. `padded` are the sizes of its data with the
    `Pad`s in front of it, empty without any; `own` is its padding, with that of these `Pad`s, None
    if it is not known; `ceil_mode` says whether it is a pool that rounds up.
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

    `classes` has those that compute the same at this size and all long ones, in sets; each is in
    one. With the period, the common multiple of the strides, everything repeats, `since` a size;
    `periods` has those that compute the same at some remainders, unless it is above 4,096.
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
        config: The configuration that held for the model.
    """

    command = "explain"
    question: Question
    conventions: Mapping[str, Answer | None]
    refused: Mapping[str, str]
    agree: tuple[tuple[str, ...], ...]
    about: About | None = None
    reach: Reach | None = None
    html: str = ""
    config: Configured | None = None

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
        told = [
            {name: CONVENTIONS[name].unchecked(each).effects(self.op) for name in names}
            for each in questions
        ]
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
    found: dict[Hashable, list[str]] = {}
    for name, key in keys.items():
        found.setdefault(key, []).append(name)
    return tuple(map(tuple, found.values()))


class Totals(Struct, frozen=True):
    """Sums `begin + end` that give a size of the output: each from the least to the most does.

    Of a transposed convolution it is one, less its output_padding. With `ceil_mode` it is about
    a pool that rounds up with pads divided evenly; otherwise any division gives the size.
    """

    least: int
    most: int
    ceil_mode: bool = False


class Need(Struct, frozen=True):
    """The need of an output size on an axis of some size: the sums of pads that give it, if any do.

    `bare` is the output size without padding, and `nearest` the nearest that some padding gives.
    """

    size: int
    output: int
    bare: int
    totals: tuple[Totals, ...]
    nearest: int


class NumberChange(Struct, frozen=True):
    """A change of one thing that gives an axis of a model the output size asked for.

    That is its `begin`, `end`, `output_padding` or `ceil_mode`, which is `now` what the model has:
    each number from the least to the most gives the size.
    """

    axis: int
    what: str
    now: int
    least: int
    most: int


class Reach(Struct, frozen=True):
    """The needs of an output size, axis by axis, and the paddings that meet them.

    `conventions` has those of each convention, 64 at most, the least numbers first; `refused` says
    why others have none. `explicit` is one in numbers, divided evenly, if there is one. `changes`
    give the size in the model that an explanation is about.
    """

    output: tuple[int, ...]
    needs: tuple[Need, ...]
    conventions: Mapping[str, tuple[Answer, ...]]
    refused: Mapping[str, str]
    explicit: Answer | None
    changes: tuple[NumberChange, ...] = ()

    @property
    def is_possible(self) -> bool:
        """Whether some padding gives it."""
        return all(need.totals for need in self.needs)


def reached(question: Question, output: Sequence[int], rows: Mapping[str, Convention]) -> Reach:
    """The need of an output size, and the paddings of some conventions that meet it.

    Only a padding or output_padding that the question gives is tried, if it gives one. The
    conventions are some that have a rule for the operator.
    """
    wanted, axes = tuple(output), question.axes
    needs = tuple(need(question.op, *pair) for pair in zip(axes, wanted, strict=True))
    told = {name: _answers(row, question, wanted) for name, row in rows.items()}
    found = {name: () if isinstance(each, str) else each for name, each in told.items()}
    refused = {name: each for name, each in told.items() if isinstance(each, str)}
    explicit = Answer(tuple(map(_explicit, axes, needs))) if all(e.totals for e in needs) else None
    return Reach(wanted, needs, found, refused, explicit)


def need(op: Op, axis: Axis, output: int) -> Need:
    """The need of an output size on one axis."""
    size, window, given = axis.size, axis.window, axis.output_padding or 0
    bare = output_of(op, size, window, (0, 0), given, ceil=False)
    if op == "convtranspose":
        crop, most = bare - given - output, _appended(axis)[-1]
        totals = (Totals(crop, crop),) if crop + most >= 0 else ()
        return Need(size, output, bare, totals, min(output, bare - given + most))
    # With `whole` the last window ends with the line; other sums differ by less than two strides.
    whole, sums = (output - 1) * window.stride + window.extent - size, list[Totals]()
    near = range(max(whole - 2 * window.stride, 0), max(whole + 2 * window.stride, 0))
    for ceil in (False,) if op == "conv" else (False, True):
        each = [(total, halves(total, "end")) for total in near]
        gives = [
            total
            for total, pads in each
            if not (ceil and pads[1] >= window.kernel)
            and output_of(op, size, window, pads, 0, ceil=ceil) == output
        ]
        sums += [Totals(gives[0], gives[-1], ceil)] if gives else []
    return Need(size, output, bare, tuple(sums), output if sums else bare)


def _appended(axis: Axis) -> Sequence[int]:
    if axis.output_padding is not None:
        return (axis.output_padding,)
    return range(max(axis.window.stride, axis.window.dilation))


def _explicit(axis: Axis, found: Need) -> AxisAnswer:
    total = found.totals[0].least
    appended = max(-total, 0) if axis.output_padding is None else axis.output_padding
    begin, end = halves(total + appended, "end")
    return AxisAnswer(axis.size, axis.window, begin, end, found.output, appended)


def _answers(
    row: Convention, question: Question, output: tuple[int, ...]
) -> tuple[Answer, ...] | str:
    """The paddings of a convention that give an output size, or why there is none."""
    rule, told = row.rules[question.op], list[Answer | str]()
    pairs = zip(question.axes, output, strict=True)
    choices = [[*_numbers(rule, question.op, *pair)] for pair in pairs]
    for index in range(min(max(map(len, choices)), _MOST) if all(choices) else 0):
        each = [numbers[min(index, len(numbers) - 1)] for numbers in choices]
        pads, more = (None if None in one else one for one in zip(*each, strict=True))
        told.append(row.asked(replace(question, padding=pads, output_padding=more)))
    found = [each for each in told if isinstance(each, Answer) and each.output == output]
    if found:
        return tuple(dict.fromkeys(found))
    refused = [each for each in told if isinstance(each, str)]
    if not refused and rule.takes and question.padding is None:
        return "no number for both sides gives it"
    why = refused[0] if refused else row.asked(question)
    return why if isinstance(why, str) else f"gives {'x'.join(map(str, why.output))}"


def _numbers(
    rule: PaddingRule, op: Op, axis: Axis, output: int
) -> Iterator[tuple[int | None, int | None]]:
    is_open, transposed = rule.takes and axis.padding is None, op == "convtranspose"
    for pad in range(axis.window.extent + axis.window.stride) if is_open else [axis.padding]:
        more = axis.output_padding
        if transposed and more is None:
            least = replace(axis, padding=pad, output_padding=0)
            more = max(output - rule.padding(least, transposed=True).output, 0)
        for padded in sorted({bool(pad), True}):  # or along another axis
            asked = replace(axis, padding=pad, output_padding=more, padded=padded)
            gives = rule.padding(asked, transposed=transposed).output == output
            if gives and (more or 0) in _appended(axis):
                yield pad, more
                break


def changes_to(
    op: Op, own: Answer, output: Sequence[int], ceil_mode: bool
) -> Iterator[NumberChange]:
    """The changes of one thing that give an axis of a model the output size asked for."""

    def given(axis: AxisAnswer, ceil: bool) -> int:
        pads = axis.begin, axis.end
        return output_of(op, axis.size, axis.window, pads, axis.output_padding, ceil=ceil)

    turned = "pool" in op and [given(axis, not ceil_mode) for axis in own.axes] == [*output]
    for place, (axis, wanted) in enumerate(zip(own.axes, output, strict=True)):
        if axis.output == wanted:
            continue
        if turned:  # of all axes at once
            yield NumberChange(place, "ceil_mode", int(ceil_mode), *(int(not ceil_mode),) * 2)
            turned = False
        window = axis.window
        for what in ("end", "begin", *["output_padding"] * (op == "convtranspose")):
            now: int = getattr(axis, what)
            most = window.kernel if ceil_mode else now + window.extent + window.stride
            if what == "output_padding":
                most = max(window.stride, window.dilation)
            tried = ((number, replace(axis, **{what: number})) for number in range(most))
            numbers = [number for number, each in tried if given(each, ceil_mode) == wanted]
            if numbers:
                yield NumberChange(place, what, now, numbers[0], numbers[-1])
