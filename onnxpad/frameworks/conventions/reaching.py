"""Padding that gives an output size: what it takes, and the conventions and changes that reach it.

Numbers are tried one by one, below extent and stride together: more makes whole windows of padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import halves
from onnxpad.frameworks.conventions.question import (
    Answer,
    Axis,
    AxisAnswer,
    Op,
    PaddingRule,
    Question,
    output_of,
)
from onnxpad.frameworks.conventions.table import Convention

_MOST = 64


class Totals(Struct, frozen=True):
    """Sums `begin + end` that give a size of the output: each from the least to the most does.

    Of a transposed convolution it is one, less its output_padding. With `ceil_mode` it is about
    a pool that rounds up with pads divided evenly; otherwise any division gives the size.
    """

    least: int
    most: int
    ceil_mode: bool = False


class Need(Struct, frozen=True):
    """The need of an output size on one axis.

    Attributes:
        size: Elements of the data.
        output: The output size asked for.
        bare: The output size without padding.
        totals: The sums of pads that give it; none if no padding does.
        nearest: The nearest size that some padding gives.
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
    """The need of an output size, and the paddings that meet it.

    Attributes:
        output: The output size asked for, on each axis.
        needs: What it takes on each axis.
        conventions: The paddings of each convention that give it, 64 at most, those of the
            least numbers first; none where it cannot.
        refused: Why not, by name, for those that cannot.
        explicit: A padding in numbers that gives it, divided evenly; None if there is none.
        changes: What gives it in the model that an explanation is about, axis by axis.
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
    wanted = tuple(output)
    pairs = [*zip(question.axes, wanted, strict=True)]
    needs = tuple(need(question.op, *pair) for pair in pairs)
    told = {name: _answers(row, question, wanted) for name, row in rows.items()}
    found = {name: () if isinstance(each, str) else each for name, each in told.items()}
    refused = {name: each for name, each in told.items() if isinstance(each, str)}
    explicit = None
    if all(each.totals for each in needs):
        explicit = Answer(tuple(map(_explicit, (axis for axis, _ in pairs), needs)))
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
    """The output_paddings that a transposed convolution may have."""
    if axis.output_padding is not None:
        return (axis.output_padding,)
    return range(max(axis.window.stride, axis.window.dilation))


def _explicit(axis: Axis, found: Need) -> AxisAnswer:
    """The least padding in numbers that gives a size, divided evenly."""
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
    """The paddings of a user by which a rule gives a size, each with the least output_padding."""
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
        if turned:
            yield NumberChange(place, "ceil_mode", int(ceil_mode), *(int(not ceil_mode),) * 2)
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
