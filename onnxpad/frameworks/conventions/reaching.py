"""Padding that gives an output size: the rule of the operator, and the conventions that reach it.

The rule is exact, for all pads (begin, end) from 0 on. The paddings of a convention, and changes of
a model's, are those few numbers around what is missing that give the size when they are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import Window, halves
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
    """Sums `begin + end` that give a size of the output.

    Attributes:
        least: The least sum; for a transposed convolution, what it has less its output_padding.
        most: The greatest one. Each between them gives the same size.
        begin: The least and the greatest begin with which they do.
        ceil_mode: Whether it is about a pool that rounds up, each of whose pads is below its
            kernel; more is that of a `Pad` in front.
    """

    least: int
    most: int
    begin: tuple[int, int]
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

    Attributes:
        axis: The axis, by index.
        what: `begin`, `end`, `output_padding` or `ceil_mode`.
        now: What the model has.
        least: The least number that gives the size.
        most: The greatest one.
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
            least numbers first; none where it cannot. Each axis may take its numbers from another
            one of them.
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


def reached(
    question: Question,
    output: Sequence[int],
    rows: Mapping[str, Convention],
    changes: Sequence[NumberChange] = (),
) -> Reach:
    """The need of an output size, the paddings of some conventions and changes that meet it.

    Only a padding or output_padding that the question gives is tried, if it gives one.
    """
    op, wanted = question.op, tuple(output)
    needs = tuple(need(op, *pair) for pair in zip(question.axes, wanted, strict=True))
    found: dict[str, tuple[Answer, ...]] = {}
    refused: dict[str, str] = {}
    for name, row in rows.items():
        try:
            answers = dict.fromkeys(_answers(row, question, wanted))
            found[name] = tuple(islice(answers, _MOST))
        except AbsentError as error:
            found[name], refused[name] = (), str(error)
    explicit = [_explicit(op, axis, each) for axis, each in zip(question.axes, needs, strict=True)]
    answer = Answer(tuple(explicit)) if all(each.totals for each in needs) else None
    return Reach(wanted, needs, found, refused, answer, tuple(changes))


def need(op: Op, axis: Axis, output: int) -> Need:
    """The need of an output size on one axis."""
    size, window, given = axis.size, axis.window, axis.output_padding
    bare = output_of(op, size, window, (0, 0), given or 0, ceil=False)
    totals = tuple(_totals(op, axis, output))
    if op == "convtranspose":
        most = _appended(axis)[-1]
        return Need(size, output, bare, totals, min(output, bare - (given or 0) + most))
    return Need(size, output, bare, totals, output if totals else bare)


def _appended(axis: Axis) -> Sequence[int]:
    """The output_paddings that a transposed convolution may have."""
    if axis.output_padding is not None:
        return (axis.output_padding,)
    return range(max(axis.window.stride, axis.window.dilation))


def _missing(op: Op, size: int, window: Window, output: int) -> int:
    """The sum of pads with which the last window ends where the padded line does.

    Of a transposed convolution what is too much, to crop.
    """
    if op == "convtranspose":
        return output_of(op, size, window, (0, 0), 0, ceil=False) - output
    return (output - 1) * window.stride + window.extent - size


def _totals(op: Op, axis: Axis, output: int) -> Iterator[Totals]:
    """The sums of pads by which windows over one axis are as many as asked for.

    With `ceil_mode` the last of them may start in the end padding, and is dropped then.
    """
    size, stride, kernel = axis.size, axis.window.stride, axis.window.kernel
    whole = _missing(op, size, axis.window, output)
    if op == "convtranspose":
        if (most := whole + _appended(axis)[-1]) >= 0:
            yield Totals(whole, whole, (0, most))
        return
    # A pool computes a window that is too long by less than a stride once.
    least = whole - stride + 1 if op != "conv" and output == 1 else whole
    if (most := whole + stride - 1) >= 0:
        yield Totals(max(least, 0), most, (0, most))
    if op == "conv":
        return
    first = (output - 1) * stride - size + 1  # with any lower begin, the last starts in the end
    for least, most, last in (
        (whole - stride + 1, whole, kernel - 1),
        (whole + 1, whole + stride, min(first + stride - 1, kernel - 1)),
    ):
        begin = max(first, 0), min(last, most)
        sums = max(least, begin[0]), min(most, begin[1] + kernel - 1)
        if begin[0] <= begin[1] and sums[0] <= sums[1]:
            yield Totals(*sums, begin, ceil_mode=True)


def _explicit(op: Op, axis: Axis, found: Need) -> AxisAnswer:
    """The least padding in numbers that gives a size, divided evenly."""
    total = found.totals[0].least if found.totals else 0
    appended = 0
    if op == "convtranspose":
        appended = max(-total, 0) if axis.output_padding is None else axis.output_padding
    begin, end = halves(total + appended, "end")
    return AxisAnswer(axis.size, axis.window, begin, end, found.output, appended)


# Conventions


def _answers(row: Convention, question: Question, output: tuple[int, ...]) -> Iterator[Answer]:
    """The paddings of a convention that give an output size.

    Raises:
        AbsentError: There is none, or the convention does not exist there.
    """
    rule = row.rules.get(question.op)
    takes = rule is not None and rule.takes
    absent, has_any = None, False
    for numbers in _numbers(rule, question, output) if rule else [question]:
        try:
            answer = row.answer(numbers)
        except AbsentError as error:
            absent = absent or error
            continue
        if answer.output == output:
            has_any = True
            yield answer
            if not takes:
                return
    if has_any:
        return
    if absent is not None:
        raise absent
    if takes and question.padding is None:
        raise AbsentError("no number for both sides gives it")
    raise AbsentError(f"gives {'x'.join(map(str, row.answer(question).output))}")


def _numbers(rule: PaddingRule, question: Question, output: tuple[int, ...]) -> Iterator[Question]:
    """The question with the numbers that might give an output size, the same place of each axis."""
    if question.op != "convtranspose":
        if question.padding is not None or not rule.takes:
            yield question
            return
        yield replace(question, padding=(0,) * len(output))
    pairs = zip(question.axes, output, strict=True)
    choices = [[*_tried(rule, question.op, *pair)] for pair in pairs]
    for index in range(max(map(len, choices)) if all(choices) else 0):
        each = [numbers[min(index, len(numbers) - 1)] for numbers in choices]
        pads = tuple(pad for pad, _ in each if pad is not None)
        appended = tuple(more for _, more in each if more is not None)
        yield replace(question, padding=pads or None, output_padding=appended or None)


def _tried(
    rule: PaddingRule, op: Op, axis: Axis, output: int
) -> Iterator[tuple[int | None, int | None]]:
    """The paddings and output_paddings by which a rule may give a size, where a layer pads."""
    stride, total = axis.window.stride, _missing(op, axis.size, axis.window, output)
    if op != "convtranspose":
        for pad in range(max(total - 2 * stride, 0) // 2, max(total + 2 * stride, 0) // 2 + 1):
            asked = replace(axis, padding=pad, padded=True)
            if rule.padding(asked, transposed=False).output == output:
                yield pad, None
    elif not rule.takes:
        appends = rule.appends_given or rule.output == "parity"
        for more in _appended(axis) if appends else [axis.output_padding]:
            asked = replace(axis, output_padding=more)
            if not appends or rule.padding(asked, transposed=True).output == output:
                yield axis.padding, more
    else:  # half of what is too much: the size itself, for a rule that is asked for that
        least = max(-(-total // 2), 0) if axis.padding is None else axis.padding
        most = least + len(_appended(axis)) if axis.padding is None else least
        for pad in range(least, most + 1):
            more = 2 * pad - total
            if more >= 0 and axis.output_padding in {None, more}:
                yield pad, more


# A model


def changes_to(
    op: Op, own: Answer, output: Sequence[int], ceil_mode: bool, padded: bool
) -> Iterator[NumberChange]:
    """The changes of one thing that give an axis of a model the size asked for.

    A part of its own padding may be that of a `Pad` in front (`padded`).
    """
    turned = op in {"maxpool", "avgpool"} and not padded
    turned = turned and [*output] == [_given(op, axis, not ceil_mode) for axis in own.axes]
    for place, (axis, wanted) in enumerate(zip(own.axes, output, strict=True)):
        if axis.output == wanted:
            continue
        if turned:
            to = int(not ceil_mode)
            yield NumberChange(place, "ceil_mode", int(ceil_mode), to, to)
        if ceil_mode and padded:  # which windows are dropped depends on whose padding it is
            continue
        for what in ("end", "begin", *["output_padding"] * (op == "convtranspose")):
            numbers = [*_changed(op, axis, what, wanted, ceil_mode)]
            if numbers:
                now: int = getattr(axis, what)
                yield NumberChange(place, what, now, numbers[0], numbers[-1])


def _changed(op: Op, own: AxisAnswer, what: str, output: int, ceil: bool) -> Iterator[int]:
    """The numbers in the place of one that give an axis the size asked for."""
    window = own.window
    total = _missing(op, own.size, window, output)
    if what == "output_padding":
        numbers = range(max(window.stride, window.dilation))
    else:
        other = own.begin if what == "end" else own.end
        near = total - other + own.output_padding
        numbers = range(max(near - 2 * window.stride, 0), max(near + 2 * window.stride, 0) + 1)
        if ceil and op != "convtranspose":
            most = window.kernel if other < window.kernel else 0
            numbers = range(numbers.start, min(numbers.stop, most))
    for number in numbers:
        if max(_given(op, replace(own, **{what: number}), ceil), 0) == output:
            yield number


def _given(op: Op, axis: AxisAnswer, ceil: bool) -> int:
    pads = axis.begin, axis.end
    return output_of(op, axis.size, axis.window, pads, axis.output_padding, ceil=ceil)
