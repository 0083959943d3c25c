"""The conventions against walked windows and onnxruntime, and the situations people came with."""

from typing import Any

from hypothesis import assume, given

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import Answer, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.table import CONVENTIONS
from tests.oracles import Operator, walk
from tests.strategies import sizes, windows
from tests.support.rows import each_row


def asked(
    name: str,
    op: Op,
    size: int,
    window: Window,
    padding: int | None = None,
    appended: int | None = None,
) -> AxisAnswer:
    """What a convention does on one axis, with the numbers that a user gives."""
    pads, more = (None if number is None else (number,) for number in (padding, appended))
    found = CONVENTIONS[name].asked(Question(op, (size,), (window,), pads, more))
    assert not isinstance(found, str)
    return found.axes[0]


def half_the_kernel(size: int, window: Window) -> AxisAnswer:
    """Half the kernel on both sides: `padding=k//2`, Darknet's; with dilation, half the extent."""
    return asked("pytorch-padding", "conv", size, window, window.extent // 2)


@given(sizes, windows())
def test_causal_reads_nothing_later_than_its_output(size: int, window: Window) -> None:
    assume(1 in {window.stride, window.dilation})
    found = asked("keras-causal", "conv", size, window)
    reads = walk(window, found.begin, found.output)
    assert [read[-1] for read in reads] == list(range(0, size, window.stride))


@given(sizes, windows())
def test_caffe_pools_until_a_window_reaches_the_end(size: int, window: Window) -> None:
    assume(window.extent <= size and window.dilation == 1)
    reads = walk(window, 0, 1)
    while reads[-1][-1] < size - 1:
        reads = walk(window, 0, len(reads) + 1)
    found = asked("caffe-ceil", "maxpool", size, window)
    assert (found.begin, found.end, found.output) == (0, 0, len(reads))
    # In a layer that pads another axis.
    both = Question("maxpool", (size, 3), (window, Window(3)), (0, 1))
    dropped = [read for read in reads if read[0] < size]
    answer = CONVENTIONS["caffe-ceil"].asked(both)
    assert isinstance(answer, Answer)
    assert answer.output[0] == len(dropped)


@given(sizes, windows())
def test_half_the_kernel_reads_earlier_than_tensorflow_unless_same_is_symmetric(
    size: int, window: Window
) -> None:
    """It gives one more where the stride divides the size and the extent is even."""
    more = window.extent % 2 == 0 and size % window.stride == 0
    same = asked("tensorflow-same", "conv", size, window)
    if size + 2 * (window.extent // 2) < window.extent:  # a window longer than the padded line
        given = Question("conv", (size,), (window,), (window.extent // 2,))
        assert isinstance(CONVENTIONS["pytorch-padding"].asked(given), str)
        return
    half = half_the_kernel(size, window)
    assert (half.begin > same.begin) == (same.begin + same.end < 2 * half.begin)
    assert half.output == len(range(0, size, window.stride)) + more


# Situations people came with.


def run(found: AxisAnswer, window: Window, weights: list[float], line: list[float]) -> list[float]:
    """Conv of onnxruntime with the pads of a convention."""
    return Operator("Conv", window, weights, pads=[found.begin, found.end])(line)


def test_same_with_stride_2_on_an_even_map_pads_the_end_only() -> None:
    """A TensorFlow Conv2D 3x3 on 10x10 in PyTorch: padding=1 has the size and other values."""
    window, weights, line = Window(3, 2), [1.0, 10.0, 100.0], [float(n) for n in range(1, 11)]
    same = asked("tensorflow-same", "conv", 10, window)
    one = asked("pytorch-padding", "conv", 10, window, 1)
    assert (same.begin, same.end) == (0, 1)
    assert same.output == one.output
    tensorflow = Operator("Conv", window, weights, auto_pad="SAME_UPPER")(line)
    assert run(same, window, weights, line) == tensorflow
    assert run(one, window, weights, line) != tensorflow


def test_a_kernel_of_2_tells_the_conventions_apart() -> None:
    """Kernel [0, 1] with stride 2 on 1 2 3 4: TensorFlow sees 2 4, padding at the begin 1 3."""
    window, weights, line = Window(2, 2), [0.0, 1.0], [1.0, 2.0, 3.0, 4.0]
    assert run(asked("tensorflow-same", "conv", 4, window), window, weights, line) == [2, 4]
    assert run(half_the_kernel(4, window), window, weights, line)[:2] == [1, 3]


@each_row("size", range(4, 20, 2))
def test_caffe_pools_one_more_on_an_even_map(size: int) -> None:
    """3x3 with stride 2 and no padding, against the pools of Metal, cuDNN and PyTorch."""
    rounded_down = asked("pytorch-padding", "maxpool", size, Window(3, 2), 0)
    assert asked("caffe-ceil", "maxpool", size, Window(3, 2)).output == rounded_down.output + 1


def test_a_long_transposed_convolution_by_both_frameworks() -> None:
    """Padding 9 and output_padding 4 in PyTorch: valid in Keras, 4 zeros behind, 9 cut."""
    window, size, op = Window(7, 6), 249, "ConvTranspose"
    torch = asked("pytorch-padding", "convtranspose", size, window, 9, 4)
    keras = asked("tensorflow-valid", "convtranspose", size, window)
    assert torch.output == 1481
    weights, line = [10.0**n for n in range(7)], [float(n % 7) for n in range(size)]
    pads, appended = [torch.begin, torch.end], [torch.output_padding]
    attributes: dict[str, Any] = {"pads": pads, "output_padding": appended}
    by_torch = Operator(op, window, weights, **attributes)(line)
    by_keras = Operator(op, window, weights)(line)
    assert (len(by_torch), len(by_keras)) == (torch.output, keras.output)
    assert by_torch == (by_keras + [0.0] * 4)[9:-9]
