"""Padding that gives an output size: the rule of the operator, and the conventions that reach it.

What it takes is exact. Numbers of a user are tried one by one, below extent and stride together:
more makes whole windows of padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import halves, pool_output_size
from onnxpad.frameworks.conventions.question import (
    Answer,
    Axis,
    AxisAnswer,
    Op,
    Question,
    output_of,
)
from onnxpad.frameworks.conventions.rules import PaddingRule
from onnxpad.frameworks.conventions.table import AbsentError, Convention

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

    Only a padding or output_padding that the question gives is tried, if it gives one.
    """
    op, wanted = question.op, tuple(output)
    needs = tuple(need(op, *pair) for pair in zip(question.axes, wanted, strict=True))
    found: dict[str, tuple[Answer, ...]] = {}
    refused: dict[str, str] = {}
    for name, row in rows.items():
        try:
            found[name] = _answers(row, question, wanted)
        except AbsentError as error:
            found[name], refused[name] = (), str(error)
    explicit = None
    if all(each.totals for each in needs):
        pairs = zip(question.axes, needs, strict=True)
        explicit = Answer(tuple(_explicit(op, axis, each) for axis, each in pairs))
    return Reach(wanted, needs, found, refused, explicit)


def need(op: Op, axis: Axis, output: int) -> Need:
    """The need of an output size on one axis."""
    size, window, given = axis.size, axis.window, axis.output_padding or 0
    bare, stride = output_of(op, size, window, (0, 0), given, ceil=False), window.stride
    if op == "convtranspose":
        crop, most = bare - given - output, _appended(axis)[-1]
        totals = (Totals(crop, crop),) if crop + most >= 0 else ()
        return Need(size, output, bare, totals, min(output, bare - given + most))
    whole = (output - 1) * stride + window.extent - size  # the last window ends with the line
    if whole + stride <= 0:
        return Need(size, output, bare, (), bare)
    # A pool computes a window that is too long by less than a stride once.
    least = whole - stride + 1 if op != "conv" and output == 1 else whole
    sums = [Totals(max(least, 0), whole + stride - 1)]
    if op != "conv":
        even = [
            total
            for total in range(max(whole - stride, 0), whole + stride + 1)
            if -(-total // 2) < window.kernel
            and pool_output_size(size, window, *halves(total, "end"), ceil_mode=True) == output
        ]
        sums += [Totals(even[0], even[-1], ceil_mode=True)] if even else []
    return Need(size, output, bare, tuple(sums), output)


def _appended(axis: Axis) -> Sequence[int]:
    """The output_paddings that a transposed convolution may have."""
    if axis.output_padding is not None:
        return (axis.output_padding,)
    return range(max(axis.window.stride, axis.window.dilation))


def _explicit(op: Op, axis: Axis, found: Need) -> AxisAnswer:
    """The least padding in numbers that gives a size, divided evenly."""
    total, appended = found.totals[0].least, 0
    if op == "convtranspose":
        appended = max(-total, 0) if axis.output_padding is None else axis.output_padding
    begin, end = halves(total + appended, "end")
    return AxisAnswer(axis.size, axis.window, begin, end, found.output, appended)


def _answers(row: Convention, question: Question, output: tuple[int, ...]) -> tuple[Answer, ...]:
    """The paddings of a convention that give an output size.

    Raises:
        AbsentError: There is none, or the convention does not exist there.
    """
    rule = row.rules.get(question.op)
    choices = [
        [*_numbers(rule, question.op, *pair)] if rule else []
        for pair in zip(question.axes, output, strict=True)
    ]
    found: list[Answer] = []
    refused: list[AbsentError] = []
    for index in range(min(max(map(len, choices)), _MOST) if all(choices) else 0):
        each = [numbers[min(index, len(numbers) - 1)] for numbers in choices]
        pads, more = (None if None in one else one for one in zip(*each, strict=True))
        try:
            found.append(row.answer(replace(question, padding=pads, output_padding=more)))
        except AbsentError as error:
            refused.append(error)
    if found := [answer for answer in found if answer.output == output]:
        return tuple(dict.fromkeys(found))
    if refused:
        raise refused[0]
    if rule and rule.takes and question.padding is None:
        raise AbsentError("no number for both sides gives it")
    raise AbsentError(f"gives {'x'.join(map(str, row.answer(question).output))}")


def _numbers(
    rule: PaddingRule, op: Op, axis: Axis, output: int
) -> Iterator[tuple[int | None, int | None]]:
    """The paddings and output_paddings of a user by which a rule gives a size."""
    is_open, transposed = rule.takes and axis.padding is None, op == "convtranspose"
    pads = range(axis.window.extent + axis.window.stride) if is_open else [axis.padding]
    mores: Sequence[int | None] = _appended(axis) if transposed else [None]
    for pad in pads:
        if transposed and rule.takes:  # just one may give it
            full = output_of(op, axis.size, axis.window, (pad or 0,) * 2, 0, ceil=False)
            mores = [output - full] if output - full in _appended(axis) else []
        for more, padded in product(mores, sorted({bool(pad), True})):  # or along another axis
            asked = replace(axis, padding=pad, output_padding=more, padded=padded)
            if rule.padding(asked, transposed=transposed).output == output:
                yield pad, more
                break


def changes_to(
    op: Op, own: Answer, output: Sequence[int], ceil_mode: bool
) -> Iterator[NumberChange]:
    """The changes of one thing that give an axis of a model the output size asked for."""
    turned = [_given(op, axis, not ceil_mode) for axis in own.axes] == [*output]
    for place, (axis, wanted) in enumerate(zip(own.axes, output, strict=True)):
        if axis.output == wanted:
            continue
        if turned and op in {"maxpool", "avgpool"}:
            to = int(not ceil_mode)
            yield NumberChange(place, "ceil_mode", int(ceil_mode), to, to)
        window = axis.window
        for what in ("end", "begin", *["output_padding"] * (op == "convtranspose")):
            now: int = getattr(axis, what)
            most = window.kernel if ceil_mode else now + window.extent + window.stride
            if what == "output_padding":
                most = max(window.stride, window.dilation)
            changed = ((n, replace(axis, **{what: n})) for n in range(most))
            numbers = [n for n, each in changed if _given(op, each, ceil_mode) == wanted]
            if numbers:
                yield NumberChange(place, what, now, numbers[0], numbers[-1])


def _given(op: Op, axis: AxisAnswer, ceil: bool) -> int:
    pads = axis.begin, axis.end
    return output_of(op, axis.size, axis.window, pads, axis.output_padding, ceil=ceil)
