"""Conventions of frameworks that nothing was recorded from, against the steps that they document.

Caffe's are those of its layers' sources, CoreML's those of its file format, cuDNN's those of its
API reference.
"""

import math
from collections.abc import Iterator
from itertools import product

import pytest

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import Axis, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.table import CONVENTIONS
from tests.oracles import Operator, scattered

UNDILATED = [
    (size, Window(kernel, stride))
    for size, kernel, stride in product(range(1, 20), range(1, 6), range(1, 5))
]
AXES = UNDILATED + [
    (size, Window(kernel, stride, dilation))
    for size, kernel, stride, dilation in product(range(1, 20), range(2, 5), range(1, 5), (2, 3))
]


def asked(
    name: str, op: Op, size: int, window: Window, pad: int | None = None
) -> AxisAnswer | None:
    """What a convention does on one axis; None where it has no output, or refuses."""
    given = None if pad is None else (pad,)
    found = CONVENTIONS[name].asked(Question(op, (size,), (window,), given))
    return None if isinstance(found, str) else found.axes[0]


def c_quotient(dividend: int, divisor: int) -> int:
    """An integer division of C, which drops the fraction."""
    return math.trunc(dividend / divisor)


def caffe_pooled(size: int, window: Window, pad: int, *, padded: bool) -> int:
    """Outputs of `PoolingLayer::Reshape`."""
    pooled = math.ceil((size + 2 * pad - window.kernel) / window.stride) + 1
    if padded and (pooled - 1) * window.stride >= size + pad:
        pooled -= 1
    return pooled


def caffe_averages(line: list[float], window: Window, pad: int, pooled: int) -> list[float]:
    """Averages of `PoolingLayer::Forward_cpu`."""
    averages = []
    for output in range(pooled):
        start = output * window.stride - pad
        end = min(start + window.kernel, len(line) + pad)
        real = line[max(start, 0) : min(end, len(line))]
        averages.append(sum(real) / (end - start))
    return averages


@pytest.mark.parametrize("padded", [False, True])
def test_caffe_pools_as_its_layer_does(padded: bool) -> None:
    rule = CONVENTIONS["caffe-ceil"].rules["maxpool"]
    for (size, window), pad in product(UNDILATED, range(3 if padded else 1)):
        if pad < window.kernel:
            found = rule.padding(Axis(size, window, pad, padded=padded), transposed=False)
            assert (found.begin, found.end) == (pad, pad)
            assert found.output == caffe_pooled(size, window, pad, padded=padded)


@pytest.mark.parametrize("pad", [0, 1, 2])
def test_onnx_computes_the_averages_of_caffe_with_ceil_mode_and_count_include_pad(pad: int) -> None:
    for window in (Window(3, 2), Window(4, 3), Window(5, 2)):
        pool = Operator("AveragePool", window, pads=[pad, pad], ceil_mode=1, count_include_pad=1)
        for size in range(window.kernel, 14):
            line = [float(n * n % 11) for n in range(size)]
            found = asked("caffe", "avgpool", size, window, pad)
            assert found is not None
            assert pool(line) == pytest.approx(caffe_averages(line, window, pad, found.output))


def rows(name: str, op: Op, most: int) -> Iterator[tuple[int, Window, int, int, AxisAnswer | None]]:
    """A convention for numbers at all points: size, window, number and extent, with its answer."""
    for (size, window), pad in product(AXES, range(most)):
        length = (window.kernel - 1) * window.dilation + 1
        yield size, window, pad, length, asked(name, op, size, window, pad)


def test_caffe_convolves_as_its_layer_does() -> None:
    for size, window, pad, length, found in rows("caffe", "conv", 4):
        expected = c_quotient(size + 2 * pad - length, window.stride) + 1
        assert (found is None) == (expected < 1)
        if found is not None:
            assert (found.begin, found.end, found.output) == (pad, pad, expected)


def test_caffe_deconvolves_as_its_layer_does() -> None:
    for size, window, pad, _, found in rows("caffe", "convtranspose", 3):
        expected = len(scattered([1.0] * size, [1.0] * window.kernel, window)) - 2 * pad
        assert (found is None) == (expected < 1)
        if found is not None:
            assert (found.begin, found.end, found.output_padding) == (pad, pad, 0)
            assert found.output == expected


def test_cudnn_rounds_down() -> None:
    for size, window, pad, length, found in rows("cudnn", "conv", 4):
        expected = 1 + math.floor((size + 2 * pad - length) / window.stride)
        assert (found is None) == (expected < 1)
        if found is not None:
            assert (found.begin, found.end, found.output) == (pad, pad, expected)


@pytest.mark.parametrize("name", ["coreml-same", "coreml-same-top-left"])
def test_coreml_same_as_its_format_says(name: str) -> None:
    for size, window in AXES:
        length = (window.kernel - 1) * window.dilation + 1
        output = math.ceil(size / window.stride)
        total = max(0, (output - 1) * window.stride + length - size)
        half = math.floor(total / 2)
        begin, end = (half, total - half) if name == "coreml-same" else (total - half, half)
        found = asked(name, "conv", size, window)
        assert found is not None
        assert (found.begin, found.end, found.output) == (begin, end, output)


@pytest.mark.parametrize("name", ["onnx-same-upper", "onnx-same-lower"])
def test_onnx_same_is_what_onnxruntime_computes(name: str) -> None:
    auto_pad = name.removeprefix("onnx-").replace("-", "_").upper()
    for window in (Window(3, 2), Window(4, 1), Window(4, 3), Window(5, 2)):
        weights = [10.0**n for n in range(window.kernel)]
        same = Operator("Conv", window, weights, auto_pad=auto_pad)
        transposed = Operator("ConvTranspose", window, weights, auto_pad=auto_pad)
        for size in range(1, 10):
            line = [float(n) for n in range(1, size + 1)]
            found = asked(name, "conv", size, window)
            assert found is not None
            explicit = Operator("Conv", window, weights, pads=[found.begin, found.end])
            assert explicit(line) == same(line)
            found = asked(name, "convtranspose", size, window)
            assert found is not None
            explicit = Operator("ConvTranspose", window, weights, pads=[found.begin, found.end])
            assert explicit(line) == transposed(line)
            assert found.output == size * window.stride


def test_keras_counts_the_extent_of_a_dilated_kernel() -> None:
    """Its CPU has no dilated transposed convolution, so that none is recorded."""
    rule = CONVENTIONS["keras-output-padding"].rules["convtranspose"]
    found = rule.padding(Axis(5, Window(2, 2, 2), output_padding=1), transposed=True)
    assert found.output == (5 - 1) * 2 + 3 % 2 + 1
    assert (found.begin, found.end) == (0, 1)
