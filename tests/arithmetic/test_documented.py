"""Conventions of frameworks that nothing was recorded from, against the steps that they document.

Caffe's are those of its layers' sources, CoreML's those of its file format, cuDNN's those of its
API reference.
"""

import math
from itertools import product

import pytest

from onnxpad.arithmetic.conventions import (
    caffe_conv,
    caffe_pool,
    caffe_transposed,
    coreml_same,
    cudnn,
    keras_transposed_same,
    onnx_same,
    onnx_transposed_same,
)
from onnxpad.arithmetic.window import Side, Window
from tests.oracles import Operator, scattered

UNDILATED = [
    (size, Window(kernel, stride))
    for size, kernel, stride in product(range(1, 20), range(1, 6), range(1, 5))
]
AXES = UNDILATED + [
    (size, Window(kernel, stride, dilation))
    for size, kernel, stride, dilation in product(range(1, 20), range(2, 5), range(1, 5), (2, 3))
]


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
    for (size, window), pad in product(UNDILATED, range(3 if padded else 1)):
        if pad < window.kernel:
            padding = caffe_pool(size, window, pad, padded=padded)
            assert (padding.begin, padding.end) == (pad, pad)
            assert padding.output == caffe_pooled(size, window, pad, padded=padded)


@pytest.mark.parametrize("pad", [0, 1, 2])
def test_onnx_computes_the_averages_of_caffe_with_ceil_mode_and_count_include_pad(pad: int) -> None:
    for window in (Window(3, 2), Window(4, 3), Window(5, 2)):
        pool = Operator("AveragePool", window, pads=[pad, pad], ceil_mode=1, count_include_pad=1)
        for size in range(window.kernel, 14):
            line = [float(n * n % 11) for n in range(size)]
            pooled = caffe_pool(size, window, pad, padded=pad > 0).output
            assert isinstance(pooled, int)
            assert pool(line) == pytest.approx(caffe_averages(line, window, pad, pooled))


def test_caffe_convolves_as_its_layer_does() -> None:
    for (size, window), pad in product(AXES, range(4)):
        length = (window.kernel - 1) * window.dilation + 1
        expected = c_quotient(size + 2 * pad - length, window.stride) + 1
        padding = caffe_conv(size, window, pad)
        assert (padding.begin, padding.end, padding.output) == (pad, pad, expected)


def test_caffe_deconvolves_as_its_layer_does() -> None:
    for (size, window), pad in product(AXES, range(3)):
        full = scattered([1.0] * size, [1.0] * window.kernel, window)
        padding = caffe_transposed(size, window, pad)
        assert (padding.begin, padding.end, padding.output_padding) == (pad, pad, 0)
        assert padding.output == len(full) - 2 * pad


def test_cudnn_rounds_down() -> None:
    for (size, window), pad in product(AXES, range(4)):
        padding = cudnn(size, window, pad)
        length = (window.kernel - 1) * window.dilation + 1
        assert (padding.begin, padding.end) == (pad, pad)
        assert padding.output == 1 + math.floor((size + 2 * pad - length) / window.stride)


@pytest.mark.parametrize("top_left_heavy", [False, True])
def test_coreml_same_as_its_format_says(top_left_heavy: bool) -> None:
    for size, window in AXES:
        length = (window.kernel - 1) * window.dilation + 1
        output = math.ceil(size / window.stride)
        total = max(0, (output - 1) * window.stride + length - size)
        half = math.floor(total / 2)
        padding = coreml_same(size, window, top_left_heavy=top_left_heavy)
        assert padding.output == output
        begin, end = (total - half, half) if top_left_heavy else (half, total - half)
        assert (padding.begin, padding.end) == (begin, end)


@pytest.mark.parametrize(("auto_pad", "odd"), [("SAME_UPPER", "end"), ("SAME_LOWER", "begin")])
def test_onnx_same_is_what_onnxruntime_computes(auto_pad: str, odd: Side) -> None:
    for window in (Window(3, 2), Window(4, 1), Window(4, 3), Window(5, 2)):
        weights = [10.0**n for n in range(window.kernel)]
        same = Operator("Conv", window, weights, auto_pad=auto_pad)
        transposed = Operator("ConvTranspose", window, weights, auto_pad=auto_pad)
        for size in range(1, 10):
            line = [float(n) for n in range(1, size + 1)]
            padding = onnx_same(size, window, odd=odd)
            explicit = Operator("Conv", window, weights, pads=[padding.begin, padding.end])
            assert explicit(line) == same(line)
            padding = onnx_transposed_same(size, window, odd=odd)
            crops = [padding.begin, padding.end]
            explicit = Operator("ConvTranspose", window, weights, pads=crops)
            assert explicit(line) == transposed(line)
            assert padding.output == size * window.stride


def test_keras_counts_the_extent_of_a_dilated_kernel() -> None:
    """Its CPU has no dilated transposed convolution, so that none is recorded."""
    padding = keras_transposed_same(5, Window(2, 2, 2), 1)
    assert padding.output == (5 - 1) * 2 + 3 % 2 + 1
    assert (padding.begin, padding.end) == (0, 1)
