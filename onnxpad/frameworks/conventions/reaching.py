"""Padding that gives an output size: the rule of the operator, and the conventions that reach it.

The rule is exact, for all pads (begin, end) from 0 on. A padding that gives a size is found from
the rules of the table of conventions, and asked of them again before it is listed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import (
    halves,
    output_size,
    pool_output_size,
    transposed_output_size,
)
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

    def admits(self, begin: int, end: int) -> bool:
        """Whether these pads, from 0 on, are among them."""
        first, last = self.begin
        return first <= begin <= last and self.least <= begin + end <= self.most


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
    """The need of an output size, and the paddings of some conventions that meet it.

    Args:
        question: The operator; only a padding or output_padding that it gives is tried.
        output: The output size asked for, on each axis.
        rows: The conventions.
        changes: What gives it in a model.
    """
    op, wanted = question.op, tuple(output)
    pairs = [*zip(question.axes, wanted, strict=True)]
    needs = tuple(need(op, *pair) for pair in pairs)
    found: dict[str, tuple[Answer, ...]] = {}
    refused: dict[str, str] = {}
    for name, row in rows.items():
        try:
            answers = dict.fromkeys(_answers(row, question, wanted))
            found[name] = tuple(islice(answers, _MOST))
        except AbsentError as error:
            found[name], refused[name] = (), str(error)
    is_possible = all(each.totals for each in needs)
    explicit = [_explicit(op, axis, each) for axis, each in zip(question.axes, needs, strict=True)]
    answer = Answer(tuple(explicit)) if is_possible else None
    return Reach(wanted, needs, found, refused, answer, tuple(changes))


def need(op: Op, axis: Axis, output: int) -> Need:
    """The need of an output size on one axis."""
    size, window = axis.size, axis.window
    if op == "convtranspose":
        bare = transposed_output_size(size, window, 0, 0, axis.output_padding or 0)
        total = bare - (axis.output_padding or 0) - output
        most = _appended(axis)[-1]
        is_possible = total + most >= 0
        one = Totals(total, total, (0, max(total + most, 0)))
        totals: tuple[Totals, ...] = (one,) if is_possible else ()
        return Need(size, output, bare, totals, output if is_possible else output + total + most)
    bare = (
        output_size(size, window, 0, 0)
        if op == "conv"
        else pool_output_size(size, window, 0, 0, ceil_mode=False)
    )
    totals = tuple(_totals(op, axis, output))
    return Need(size, output, bare, totals, output if totals else bare)


def _appended(axis: Axis) -> Sequence[int]:
    """The output_paddings that a transposed convolution may have."""
    if axis.output_padding is not None:
        return (axis.output_padding,)
    return range(max(axis.window.stride, axis.window.dilation))


def _totals(op: Op, axis: Axis, output: int) -> Iterator[Totals]:
    """The sums of pads by which windows over one axis are as many as asked for.

    With `ceil_mode` the last of them may start in the end padding, and is dropped then.
    """
    size, window = axis.size, axis.window
    stride, kernel = window.stride, window.kernel
    # With this sum, the last window ends where the padded line does.
    whole = (output - 1) * stride + window.extent - size
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
    absent, others = None, False
    for numbers in _numbers(rule, question, output) if rule else [question]:
        try:
            answer = row.answer(numbers)
        except AbsentError as error:
            absent = absent or error
            continue
        if answer.output == output:
            others = True
            yield answer
    if others:
        return
    if absent is not None:
        raise absent
    if rule is not None and rule.takes and question.padding is None:
        raise AbsentError("no number for both sides gives it")
    raise AbsentError(f"gives {'x'.join(map(str, row.answer(question).output))}")


def _numbers(rule: PaddingRule, question: Question, output: tuple[int, ...]) -> Iterator[Question]:
    """The question with each choice of numbers that might give an output size."""
    transposed = question.op == "convtranspose"
    pairs = [*zip(question.axes, output, strict=True)]
    if not transposed and (question.padding is not None or not rule.takes):
        yield question
        return
    if transposed:
        choices = [_crops(rule, *pair) for pair in pairs]
    else:
        yield replace(question, padding=(0,) * len(pairs))
        choices = [[(pad, None) for pad in _pads(rule, *pair)] for pair in pairs]
    if not all(choices):
        return
    for index in range(max(map(len, choices))):
        each = [numbers[min(index, len(numbers) - 1)] for numbers in choices]
        pads = tuple(pad for pad, _ in each if pad is not None)
        appended = tuple(more for _, more in each if more is not None)
        yield replace(question, padding=pads or None, output_padding=appended or None)


def _pads(rule: PaddingRule, axis: Axis, output: int) -> range:
    """The paddings on both sides by which a rule gives a size, where a layer pads at all."""

    def outputs(padding: int) -> int:
        asked = replace(axis, padding=padding, padded=True)
        return rule.padding(asked, transposed=False).output

    every = range(output * axis.window.stride + axis.window.extent)
    return range(bisect_left(every, output, key=outputs), bisect_right(every, output, key=outputs))


def _crops(rule: PaddingRule, axis: Axis, output: int) -> list[tuple[int | None, int | None]]:
    """The paddings and output_paddings by which a transposed convolution may have a size."""
    total = transposed_output_size(axis.size, axis.window, 0, 0) - output
    if not rule.takes:
        if not (rule.appends_given or rule.output == "parity"):
            return [(axis.padding, axis.output_padding)]
        bare = rule.padding(replace(axis, output_padding=0), transposed=True).output
        missing = output - bare if axis.output_padding is None else axis.output_padding
        return [(axis.padding, missing)] if missing in _appended(axis) else []
    appended: Sequence[int] = _appended(axis) if rule.appends_given else (0,)
    if rule.output == "asked" and axis.output_padding is None:
        # The size itself is given: a padding of half of what is too many stands for it.
        given = None if axis.padding is None else 2 * axis.padding - total
        appended = [max(-total, total % 2) if given is None else given]
    found: list[tuple[int | None, int | None]] = []
    for more in appended:
        half, odd = divmod(total + more, 2)
        if half >= 0 and more >= 0 and not odd and axis.padding in {None, half}:
            found.append((half, more))
    return found


# A model


def changes_to(
    op: Op, own: Answer, output: Sequence[int], *, ceil_mode: bool, padded: bool
) -> Iterator[NumberChange]:
    """The changes of one thing that give an axis of a model the size asked for.

    Args:
        op: The operator.
        own: The padding that the model has.
        output: The output size asked for, on each axis.
        ceil_mode: Whether the model has a pool that rounds up.
        padded: Whether a part of its padding is that of a `Pad` in front.
    """
    wanted = tuple(output)
    turned = (
        op in {"maxpool", "avgpool"}
        and not padded
        and wanted
        == tuple(
            pool_output_size(axis.size, axis.window, axis.begin, axis.end, ceil_mode=not ceil_mode)
            for axis in own.axes
        )
    )
    for place, axis in enumerate(own.axes):
        if axis.output == wanted[place]:
            continue
        if turned:
            yield NumberChange(
                place, "ceil_mode", int(ceil_mode), int(not ceil_mode), int(not ceil_mode)
            )
        if not (ceil_mode and padded):  # which windows are dropped depends on whose padding it is
            yield from _changes(op, place, axis, wanted[place], ceil_mode=ceil_mode)


def _changes(
    op: Op, place: int, own: AxisAnswer, output: int, *, ceil_mode: bool
) -> Iterator[NumberChange]:
    window = own.window
    longest = (output + own.size) * window.stride + window.extent
    most = {"end": longest, "begin": longest}
    if op == "convtranspose":
        most["output_padding"] = max(window.stride, window.dilation)
    elif ceil_mode:
        most = {
            what: window.kernel * (other < window.kernel)
            for what, other in (("end", own.begin), ("begin", own.end))
        }
    for what, past in most.items():
        grows = op != "convtranspose" or what == "output_padding"

        def outputs(number: int, what: str = what, grows: bool = grows) -> int:
            told = {"begin": own.begin, "end": own.end, "more": own.output_padding}
            told["more" if what == "output_padding" else what] = number
            pair = told["begin"], told["end"]
            found = max(output_of(op, own.size, window, pair, told["more"], ceil=ceil_mode), 0)
            return found if grows else -found

        wanted = output if grows else -output
        least = bisect_left(range(past), wanted, key=outputs)
        past = bisect_right(range(past), wanted, key=outputs)
        if least < past:
            yield NumberChange(place, what, getattr(own, what), least, past - 1)
