"""The padding that gives an output size, against all pads of small operators."""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from msgspec.structs import replace

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.explanation import Totals, changes_to, need, reached
from onnxpad.frameworks.conventions.question import Answer, Axis, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.table import CONVENTIONS
from tests.oracles import Operator, fitting, scattered, walk
from tests.support.rows import each_row

SIZES = range(1, 7)
OUTPUTS = range(1, 10)
WINDOWS = [Window(*each) for each in product((1, 2, 3, 4), (1, 2, 3), (1, 2))]


def pooled(size: int, window: Window, begin: int, end: int, *, ceil_mode: bool) -> int:
    """The windows of a pool, one after the other: the first may lack less than a stride."""
    last = size + end - 1
    lacking = walk(window, begin, 1)[0][0] + window.extent - 1 - last
    if lacking >= window.stride:
        return 0
    if not ceil_mode:
        return max(len(fitting(size, window, begin, end)), 1)
    count = 1
    while walk(window, begin, count)[-1][0] + window.extent - 1 < last:
        count += 1
    return count - (walk(window, begin, count)[-1][0] >= size)


def outputs(op: Op, size: int, window: Window, *, ceil_mode: bool) -> dict[tuple[int, int], int]:
    """The output size by pads, each from 0 on."""
    pads = range(window.kernel if ceil_mode else 9)
    if op == "conv":
        return {pair: len(fitting(size, window, *pair)) for pair in product(pads, pads)}
    return {pair: pooled(size, window, *pair, ceil_mode=ceil_mode) for pair in product(pads, pads)}


def admits(totals: Sequence[Totals], begin: int, end: int, ceil_mode: bool) -> bool:
    """Whether pads, from 0 on, are among those that give a size."""
    return any(
        each.least <= begin + end <= each.most for each in totals if each.ceil_mode == ceil_mode
    )


@each_row(("op", "ceil_mode"), [("conv", False), ("maxpool", False), ("avgpool", True)])
def test_the_rule_admits_just_the_pads_that_give_the_size(op: Op, ceil_mode: bool) -> None:
    for size, window in product(SIZES, WINDOWS):
        given = outputs(op, size, window, ceil_mode=ceil_mode)
        if ceil_mode:  # told of pads that are divided evenly
            given = {(b, e): count for (b, e), count in given.items() if e - b in {0, 1}}
        for output in OUTPUTS:
            totals = need(op, Axis(size, window), output).totals
            admitted = {pair for pair in given if admits(totals, *pair, ceil_mode)}
            assert admitted == {pair for pair, count in given.items() if count == output}


@each_row("op", ["conv", "maxpool"])
def test_a_size_below_that_without_padding_has_it_as_the_nearest(op: Op) -> None:
    for size, window in product(SIZES, WINDOWS):
        bare = computed(op, AxisAnswer(size, window, 0, 0, 0))
        for output in OUTPUTS:
            found = need(op, Axis(size, window), output)
            assert found.bare == bare or found.bare < 1 > bare
            assert bool(found.totals) == (output >= bare)
            assert found.nearest == max(output, bare)


def test_a_transposed_convolution_crops_what_is_too_much_and_what_it_appends() -> None:
    for size, window, output in product(SIZES, WINDOWS, OUTPUTS):
        full = len(scattered([1.0] * size, [1.0] * window.kernel, window))
        most = max(window.stride, window.dilation) - 1
        found = need("convtranspose", Axis(size, window), output)
        sums = {
            total - more
            for total, more in product(range(full + most), range(most + 1))
            if full + more - total == output
        }
        assert {each.least for each in found.totals} == {each.most for each in found.totals} == sums
        assert found.nearest == min(output, full + most)
        assert found.bare == full


def answers(name: str, question: Question) -> Iterator[Answer]:
    """The answers of a convention for numbers of a user that make no whole window of padding."""
    (window,) = question.windows
    pads = (None, *range(window.extent + window.stride))
    for pad, more in product(pads, (None, *range(max(window.stride, window.dilation)))):
        asked = replace(
            question,
            padding=None if pad is None else (pad,),
            output_padding=None if more is None else (more,),
        )
        found = CONVENTIONS[name].asked(asked)
        if isinstance(found, Answer):
            yield found


@pytest.mark.parametrize("op", ["conv", "maxpool", "avgpool", "convtranspose"])
def test_conventions_reach_a_size_just_if_some_numbers_do(op: Op) -> None:
    rows = {name: row for name, row in CONVENTIONS.items() if op in row.rules}
    windows = [Window(*each) for each in ((3, 2, 1), (2, 3, 1), (4, 2, 1), (3, 1, 2))]
    for size, window in product((1, 4), windows):
        question = Question(op, (size,), (window,))
        given = {name: {each.output for each in answers(name, question)} for name in rows}
        for output in range(1, 6):
            found = reached(question, (output,), rows)
            for name in rows:
                assert bool(found.conventions[name]) == ((output,) in given[name]), name
                assert all(each.output == (output,) for each in found.conventions[name])
                assert (name in found.refused) == (not found.conventions[name])
            if found.explicit is not None:
                assert computed(op, found.explicit.axes[0]) == output


def computed(op: Op, axis: AxisAnswer, *, ceil_mode: bool = False) -> int:
    """The output size that some numbers give, counted."""
    size, window, begin, end = axis.size, axis.window, axis.begin, axis.end
    if op == "convtranspose":
        full = len(scattered([1.0] * size, [1.0] * window.kernel, window))
        return full - begin - end + axis.output_padding
    if op == "conv":
        return len(fitting(size, window, begin, end))
    return pooled(size, window, begin, end, ceil_mode=ceil_mode)


@each_row(
    ("op", "ceil_mode"),
    [("conv", False), ("maxpool", False), ("maxpool", True), ("convtranspose", False)],
)
def test_a_change_is_listed_just_if_it_gives_the_size(op: Op, ceil_mode: bool) -> None:
    """Numbers of an axis are changed one by one, whatever the others are."""
    windows = [Window(*each) for each in ((3, 2, 1), (2, 3, 1), (3, 1, 2))]
    for size, window, output in product((4, 5), windows, range(1, 6)):
        for begin, end in product(range(window.kernel), repeat=2):
            own = AxisAnswer(size, window, begin, end, 0, 0)
            own = replace(own, output=computed(op, own, ceil_mode=ceil_mode))
            if own.output < 1:
                continue
            found = {
                each.what: range(each.least, each.most + 1)
                for each in changes_to(op, Answer((own,)), (output,), ceil_mode)
            }
            if own.output == output:
                assert not found
                continue
            for what in ("begin", "end"):
                reach = window.extent + window.stride
                most = window.kernel if ceil_mode else getattr(own, what) + reach
                tried = (
                    replace(own, begin=number) if what == "begin" else replace(own, end=number)
                    for number in range(most)
                )
                gives = [computed(op, each, ceil_mode=ceil_mode) == output for each in tried]
                numbers = [number for number, is_right in enumerate(gives) if is_right]
                assert [*found.get(what, ())] == numbers
            if "maxpool" in op:
                other = computed(op, own, ceil_mode=not ceil_mode)
                assert ("ceil_mode" in found) == (other == output)


@each_row("op", ["conv", "maxpool", "avgpool", "convtranspose"], at_once=4)
def test_onnxruntime_has_the_size(op: Op) -> None:
    types = {"conv": "Conv", "maxpool": "MaxPool", "avgpool": "AveragePool"}
    for size, window in product((3, 6), (Window(3, 2), Window(2, 3), Window(4, 1))):
        modes = (False, True) if "pool" in op else (False,)
        for output, ceil_mode in product(range(1, 6), modes):
            totals = need(op, Axis(size, window), output).totals
            for begin, end, more in product(
                range(window.kernel), range(window.kernel), (0, window.stride - 1)
            ):
                if op == "convtranspose":
                    admitted = any(each.least == begin + end - more for each in totals)
                    further: dict[str, object] = {"output_padding": [more]}
                else:
                    admitted = admits(totals, begin, end, ceil_mode)
                    further = {"ceil_mode": int(ceil_mode)} if "pool" in op else {}
                uneven = ceil_mode and end - begin not in {0, 1}
                if not admitted or uneven or (more and op != "convtranspose"):
                    continue
                weights = [] if "pool" in op else [1.0] * window.kernel
                run = Operator(
                    types.get(op, "ConvTranspose"), window, weights, pads=[begin, end], **further
                )
                assert len(run([1.0] * size)) == output
