"""The conventions against walked windows and onnxruntime, and the situations people came with."""

from typing import Any

import pytest
from hypothesis import assume, given

from onnxpad.arithmetic.conventions import (
    AxisPadding,
    caffe_pool,
    half_kernel,
    keras_causal,
    keras_transposed_valid,
    tensorflow_same,
    torch_conv,
    torch_pool,
    torch_same,
    torch_transposed,
)
from onnxpad.arithmetic.window import Window
from onnxpad.errors import UsageError
from tests.oracles import Operator, walk
from tests.strategies import sizes, windows
from tests.support.rows import each_row


@given(sizes, windows())
def test_causal_reads_nothing_later_than_its_output(size: int, window: Window) -> None:
    padding = keras_causal(size, window)
    assert isinstance(padding.begin, int)
    assert isinstance(padding.output, int)
    reads = walk(window, padding.begin, padding.output)
    assert [read[-1] for read in reads] == list(range(0, size, window.stride))


@given(sizes, windows())
def test_caffe_pools_until_a_window_reaches_the_end(size: int, window: Window) -> None:
    assume(window.extent <= size)
    reads = walk(window, 0, 1)
    while reads[-1][-1] < size - 1:
        reads = walk(window, 0, len(reads) + 1)
    padding = caffe_pool(size, window, 0, padded=False)
    assert padding == AxisPadding(0, 0, len(reads))
    dropped = [read for read in reads if read[0] < size]
    assert caffe_pool(size, window, 0, padded=True) == AxisPadding(0, 0, len(dropped))


@given(sizes, windows())
def test_half_the_kernel_reads_earlier_than_tensorflow_unless_same_is_symmetric(
    size: int, window: Window
) -> None:
    half, same = half_kernel(size, window), tensorflow_same(size, window)
    assert isinstance(half.begin, int)
    assert isinstance(same.begin, int)
    assert isinstance(same.end, int)
    assert (half.begin > same.begin) == (same.begin + same.end < 2 * half.begin)
    more = window.extent % 2 == 0 and size % window.stride == 0
    assert half.output == len(range(0, size, window.stride)) + more


# Situations people came with.


def run(
    padding: AxisPadding, window: Window, weights: list[float], line: list[float]
) -> list[float]:
    """Conv of onnxruntime with the pads of a convention."""
    return Operator("Conv", window, weights, pads=[padding.begin, padding.end])(line)


def test_same_with_stride_2_on_an_even_map_pads_the_end_only() -> None:
    """A TensorFlow Conv2D 3x3 on 10x10 in PyTorch: padding=1 has the size and other values."""
    window, weights, line = Window(3, 2), [1.0, 10.0, 100.0], [float(n) for n in range(1, 11)]
    same, one = tensorflow_same(10, window), torch_conv(10, window, 1)
    assert (same.begin, same.end) == (0, 1)
    assert same.output == one.output
    tensorflow = Operator("Conv", window, weights, auto_pad="SAME_UPPER")(line)
    assert run(same, window, weights, line) == tensorflow
    assert run(one, window, weights, line) != tensorflow


def test_a_kernel_of_2_tells_the_conventions_apart() -> None:
    """Kernel [0, 1] with stride 2 on 1 2 3 4: TensorFlow sees 2 4, padding at the begin 1 3."""
    window, weights, line = Window(2, 2), [0.0, 1.0], [1.0, 2.0, 3.0, 4.0]
    assert run(tensorflow_same(4, window), window, weights, line) == [2, 4]
    assert run(half_kernel(4, window), window, weights, line)[:2] == [1, 3]


@each_row("size", range(2, 20, 2))
def test_caffe_pools_one_more_on_an_even_map(size: int) -> None:
    """3x3 with stride 2 and no padding, against the pools of Metal, cuDNN and PyTorch."""
    rounded_down = torch_pool(size, Window(3, 2)).output
    assert isinstance(rounded_down, int)
    assert caffe_pool(size, Window(3, 2), 0, padded=False).output == rounded_down + 1


def test_a_long_transposed_convolution_by_both_frameworks() -> None:
    """Padding 9 and output_padding 4 in PyTorch: valid in Keras, 4 zeros behind, 9 cut."""
    window, size = Window(7, 6), 249
    torch, keras = torch_transposed(size, window, 9, 4), keras_transposed_valid(size, window)
    assert torch.output == 1481
    weights, line = [10.0**n for n in range(7)], [float(n % 7) for n in range(size)]
    pads, appended = [torch.begin, torch.end], [torch.output_padding]
    attributes: dict[str, Any] = {"pads": pads, "output_padding": appended}
    by_torch = Operator("ConvTranspose", window, weights, **attributes)(line)
    by_keras = Operator("ConvTranspose", window, weights)(line)
    assert (len(by_torch), len(by_keras)) == (torch.output, keras.output)
    assert by_torch == (by_keras + [0.0] * 4)[9:-9]


def test_torch_same_names_the_stride_it_refuses() -> None:
    with pytest.raises(UsageError, match="stride 1 only, not 2"):
        torch_same(8, Window(3, 2))
