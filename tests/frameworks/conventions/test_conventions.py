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

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.explanation import explained
from onnxpad.frameworks.conventions.question import OPS, Answer, Axis, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.table import CONVENTIONS, FRAMEWORKS, INTENTS
from tests.oracles import Operator, fitting, scattered, walk
from tests.strategies import examples, windows

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


@given(questions)
def test_pads_and_output_fit_together(question: Question) -> None:
    """Windows fit the padded line, one more where a pool rounds up; crops leave the output."""
    (size,), op, explanation = question.sizes, question.op, explained(question)
    for name in (name for names in explanation.agree for name in names):
        (axis,) = explanation.answer(name).axes
        if op == "convtranspose":
            full = len(scattered([1.0] * size, [1.0] * axis.window.kernel, axis.window))
            assert axis.output == full + axis.output_padding - axis.begin - axis.end, name
            continue
        fit = len(fitting(size, axis.window, axis.begin, axis.end))
        more = op != "conv" and name in {"pytorch-ceil", "caffe-ceil", "paddle-ceil", "caffe"}
        clipped = name == "caffe" and op == "conv" and not fit  # rounds toward 0
        assert fit <= axis.output <= fit + (more or clipped), name


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
        pairs = {
            "coreml-same": (half, total - half),
            "coreml-same-top-left": (total - half, half),
        }
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
