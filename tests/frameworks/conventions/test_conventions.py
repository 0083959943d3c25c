"""The table of conventions, against windows that are walked and scattered element by element.

Of conventions that nothing was recorded from, against the steps that they document: Caffe's are
those of its layers' sources, CoreML's those of its file format, cuDNN's those of its API reference.
No formula is shared with what is checked: of an answer only pads, output and window are read.
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.explanation import changes_to, explained, need, reached
from onnxpad.frameworks.conventions.question import OPS, Answer, Axis, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.table import CONVENTIONS, FRAMEWORKS, INTENTS
from tests.oracles import Operator, fitting, scattered, walk
from tests.strategies import examples, windows
from tests.support.rows import each_row

questions = st.builds(
    lambda op, size, window: Question(op, (size,), (window,)),
    st.sampled_from(OPS),
    st.integers(1, 40),
    windows(),
)


def reads(op: Op, answer: Answer) -> list[Any]:
    """What each output of one axis is computed from, as data."""
    (axis,) = answer.axes
    if op == "convtranspose":
        units = []
        for place in range(axis.size):
            line = [float(n == place) for n in range(axis.size)]
            weights = [2.0**tap for tap in range(axis.window.kernel)]
            full = scattered(line, weights, axis.window) + [0.0] * axis.output_padding
            units.append(full[axis.begin : axis.begin + axis.output])
        return list(zip(*units, strict=True))
    found: list[Any] = []
    for taps in walk(axis.window, axis.begin, axis.output):
        real = [(tap, n) for tap, n in enumerate(taps) if 0 <= n < axis.size]
        padded = range(-axis.begin, axis.size + axis.end)
        divisor = sum(n in padded for n in taps) if answer.counts else len(real)
        elements = [n for _, n in real]
        averaged = (elements, divisor) if op == "avgpool" and real else elements
        found.append(real if op == "conv" else averaged)
    return found


def test_the_table_is_whole() -> None:
    assert all(row.source and row.rules for row in CONVENTIONS.values())
    assert set(get_args(Op)) == set(OPS)
    for framework in FRAMEWORKS.values():
        assert set(framework.by_intent) == set(INTENTS)
        assert all(framework.follows("same", op) for op in ("conv", "maxpool", "avgpool"))
        assert all(framework.follows("valid", op) for op in OPS)


@given(questions)
def test_groups_are_those_that_compute_the_same(question: Question) -> None:
    explanation, op = explained(question), question.op
    found = [(names, reads(op, explanation.answer(names[0]))) for names in explanation.agree]
    for names, read in found:
        for name in names:
            assert reads(op, explanation.answer(name)) == read, (names[0], name)
    for place, (names, read) in enumerate(found):
        for others, different in found[:place]:
            gaps = op == "convtranspose" and not any(map(any, read))  # nothing is kept
            assert read != different or gaps, (names, others)


@given(questions, questions)
def test_axes_are_independent(one: Question, other: Question) -> None:
    """Except for what frameworks refuse, and Caffe's drop of a window in any padded layer."""
    both = explained(Question(one.op, one.sizes + other.sizes, one.windows + other.windows))
    alone = (explained(one), explained(Question(one.op, other.sizes, other.windows)))
    for name in (name for names in both.agree for name in names):
        axes = tuple(each.answer(name).axes[0] for each in alone)
        assert both.answer(name).axes == axes, name


# At other sizes


@examples(0.4)
@given(st.builds(lambda q, size: Question(q.op, (size,), q.windows), questions, st.integers(1, 30)))
def test_periods_hold_at_all_long_sizes(question: Question) -> None:
    explanation = explained(question)
    survey, names = explanation.survey, {name for each in explanation.agree for name in each}
    assert survey.period == question.windows[0].stride
    for size in range(survey.since, survey.since + 3 * survey.period):
        (agree,) = [e.agree for e in survey.periods if size % survey.period in e.remainders]
        groups = explained(Question(question.op, (size,), question.windows)).agree
        assert {*map(frozenset, agree)} == {g for e in groups if (g := frozenset(e) & names)}
    # Classes agree here and at all long sizes, and each parts somewhere from the others.
    places = {
        name: [
            [name in each for each in agree]
            for agree in [explanation.agree, *(each.agree for each in survey.periods)]
        ]
        for name in names
    }
    for each in survey.classes:
        assert all(places[name] == places[each[0]] for name in each)
    assert len({str(places[each[0]]) for each in survey.classes}) == len(survey.classes)
    assert sorted(name for each in survey.classes for name in each) == sorted(names)


# What is documented

AXES = [
    (size, Window(kernel, stride, dilation))
    for size, kernel, stride, dilation in product(range(1, 20), range(1, 6), range(1, 5), (1, 2, 3))
    if kernel > 1 or dilation == 1
]


def asked(
    name: str, op: Op, size: int, window: Window, pad: int | None = None
) -> AxisAnswer | None:
    """What a convention does on one axis; None where it has no output, or refuses."""
    given = None if pad is None else (pad,)
    found = CONVENTIONS[name].asked(Question(op, (size,), (window,), given))
    return None if isinstance(found, str) else found.axes[0]


def rows(name: str, op: Op, most: int) -> Iterator[tuple[int, Window, int, AxisAnswer | None]]:
    """A convention for numbers at all points: size, window and number, with its answer."""
    for (size, window), pad in product(AXES, range(most)):
        yield size, window, pad, asked(name, op, size, window, pad)


@pytest.mark.parametrize("padded", [False, True])
def test_caffe_pools_as_its_layer_does(padded: bool) -> None:
    """`PoolingLayer::Reshape`."""
    rule = CONVENTIONS["caffe-ceil"].rules["maxpool"]
    for (size, window), pad in product(AXES, range(3 if padded else 1)):
        if pad < window.kernel and window.dilation == 1:
            found = rule.padding(Axis(size, window, pad, padded=padded), transposed=False)
            pooled = math.ceil((size + 2 * pad - window.kernel) / window.stride) + 1
            pooled -= padded and (pooled - 1) * window.stride >= size + pad
            assert (found.begin, found.end, found.output) == (pad, pad, pooled)


def caffe_averages(line: list[float], window: Window, pad: int, pooled: int) -> Iterator[float]:
    """Averages of `PoolingLayer::Forward_cpu`."""
    for output in range(pooled):
        start = output * window.stride - pad
        end = min(start + window.kernel, len(line) + pad)
        yield sum(line[max(start, 0) : min(end, len(line))]) / (end - start)


@pytest.mark.parametrize("pad", [0, 1, 2])
def test_onnx_computes_the_averages_of_caffe_with_ceil_mode_and_count_include_pad(pad: int) -> None:
    for window in (Window(3, 2), Window(4, 3), Window(5, 2)):
        pool = Operator("AveragePool", window, pads=[pad, pad], ceil_mode=1, count_include_pad=1)
        for size in range(window.kernel, 14):
            line = [float(n * n % 11) for n in range(size)]
            found = asked("caffe", "avgpool", size, window, pad)
            assert found is not None
            averages = [*caffe_averages(line, window, pad, found.output)]
            assert pool(line) == pytest.approx(averages)


@pytest.mark.parametrize(("name", "whole"), [("caffe", math.trunc), ("cudnn", math.floor)])
def test_caffe_and_cudnn_round_as_they_say(name: str, whole: Any) -> None:
    for size, window, pad, found in rows(name, "conv", 4):
        expected = whole((size + 2 * pad - window.extent) / window.stride) + 1
        wanted = (pad, pad, expected) if expected > 0 else None
        assert wanted == (found and (found.begin, found.end, found.output))


def test_caffe_deconvolves_as_its_layer_does() -> None:
    for size, window, pad, found in rows("caffe", "convtranspose", 3):
        expected = len(scattered([1.0] * size, [1.0] * window.kernel, window)) - 2 * pad
        wanted = (pad, pad, 0, expected) if expected > 0 else None
        told = found and (found.begin, found.end, found.output_padding, found.output)
        assert wanted == told


def test_coreml_same_as_its_format_says() -> None:
    for size, window in AXES:
        output = math.ceil(size / window.stride)
        total = max(0, (output - 1) * window.stride + window.extent - size)
        half = total // 2
        pairs = {"coreml-same": (half, total - half), "coreml-same-top-left": (total - half, half)}
        for name, pair in pairs.items():
            found = asked(name, "conv", size, window)
            assert found is not None
            assert (found.begin, found.end, found.output) == (*pair, output)


@pytest.mark.parametrize("name", ["onnx-same-upper", "onnx-same-lower"])
def test_onnx_same_is_what_onnxruntime_computes(name: str) -> None:
    auto_pad = name.removeprefix("onnx-").replace("-", "_").upper()
    ops: dict[str, Op] = {"Conv": "conv", "ConvTranspose": "convtranspose"}
    for (type_, op), window in product(
        ops.items(), (Window(3, 2), Window(4, 1), Window(4, 3), Window(5, 2))
    ):
        weights = [10.0**n for n in range(window.kernel)]
        same = Operator(type_, window, weights, auto_pad=auto_pad)
        for size in range(1, 10):
            line = [float(n) for n in range(1, size + 1)]
            found = asked(name, op, size, window)
            assert found is not None
            explicit = Operator(type_, window, weights, pads=[found.begin, found.end])
            assert explicit(line) == same(line)


# The padding that gives an output size, against all pads of small operators


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


@each_row(("op", "ceil_mode"), [("conv", False), ("maxpool", False), ("avgpool", True)])
def test_the_rule_admits_just_the_pads_that_give_the_size(op: Op, ceil_mode: bool) -> None:
    for size, window in product(SIZES, WINDOWS):
        given = outputs(op, size, window, ceil_mode=ceil_mode)
        if ceil_mode:  # told of pads that are divided evenly
            given = {(b, e): count for (b, e), count in given.items() if e - b in {0, 1}}
        bare = computed(op, AxisAnswer(size, window, 0, 0, 0))
        for output in OUTPUTS:
            found = need(op, Axis(size, window), output)
            admitted = {
                (begin, end)
                for begin, end in given
                if any(
                    each.least <= begin + end <= each.most
                    for each in found.totals
                    if each.ceil_mode == ceil_mode
                )
            }
            assert admitted == {pair for pair, count in given.items() if count == output}
            assert found.bare == bare or found.bare < 1 > bare
            assert (bool(found.totals), found.nearest) == (output >= bare, max(output, bare))


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
