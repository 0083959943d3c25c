"""The conventions of frameworks against what they computed, and the situations people came with.

`recorded/conventions.json` holds outputs of PyTorch 2.13, TensorFlow 2.21 and Keras 3.15 on one
line; `recorded/record_conventions.py` makes it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given

from onnxpad.arithmetic.conventions import (
    AxisPadding,
    caffe_pool,
    coreml_same,
    half_kernel,
    keras_causal,
    keras_transposed_same,
    keras_transposed_valid,
    tensorflow_same,
    tensorflow_valid,
    torch_conv,
    torch_pool,
    torch_same,
    torch_transposed,
)
from onnxpad.arithmetic.window import Window
from onnxpad.errors import UsageError
from tests.oracles import Operator, fitting, scattered, walk
from tests.strategies import sizes, windows

Case = dict[str, Any]
RECORDED: list[Case] = json.loads(
    (Path(__file__).parent / "recorded" / "conventions.json").read_text()
)
CONVENTIONS: dict[str, Callable[..., AxisPadding]] = {
    "torch_conv": torch_conv,
    "torch_same": torch_same,
    "torch_pool": torch_pool,
    "torch_transposed": torch_transposed,
    "tensorflow_same": tensorflow_same,
    "tensorflow_valid": tensorflow_valid,
    "keras_causal": keras_causal,
    "keras_transposed_same": keras_transposed_same,
    "keras_transposed_valid": keras_transposed_valid,
}


def stated(case: Case) -> tuple[Window, AxisPadding]:
    """The window of a recorded case and what its convention says of it."""
    named = {"convention", "size", "kernel", "stride", "dilation", "output"}
    window = Window(case["kernel"], case["stride"], case.get("dilation", 1))
    further = {name: case[name] for name in case if name not in named}
    return window, CONVENTIONS[case["convention"]](case["size"], window, **further)


def computed(case: Case, window: Window, padding: AxisPadding) -> list[float]:
    """What a framework with this padding computes on the recorded line."""
    begin, end, output = padding.begin, padding.end, padding.output
    assert isinstance(begin, int)
    assert isinstance(end, int)
    assert isinstance(output, int)
    assert isinstance(padding.output_padding, int)
    values = [float((5 * n) % 17 - 8) for n in range(case["size"])]
    weights = [10.0**n for n in range(window.kernel)]
    if "transposed" in case["convention"]:
        full = scattered(values, weights, window) + [0.0] * padding.output_padding
        assert output == len(full) - begin - end
        return full[begin : len(full) - end]
    real = range(case["size"])
    reads = walk(window, begin, output)
    if case["convention"] == "torch_pool":
        return [max(values[n] for n in read if n in real) for read in reads]
    assert reads == fitting(case["size"], window, begin, end)
    return [
        sum(weight * values[n] for n, weight in zip(read, weights, strict=True) if n in real)
        for read in reads
    ]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_what_a_framework_computed(convention: str) -> None:
    cases = [
        case for case in RECORDED if case["convention"] == convention and case["output"] is not None
    ]
    assert len(cases) >= 7
    for case in cases:
        assert computed(case, *stated(case)) == case["output"], case


def test_what_a_framework_refused() -> None:
    """By an error, or by an output size below 1; PyTorch 2.13 refuses some dilated pools more."""
    refused = [case for case in RECORDED if case["output"] is None]
    assert {case["convention"] for case in refused} >= {"torch_conv", "torch_same", "torch_pool"}
    for case in refused:
        try:
            _, padding = stated(case)
        except UsageError:
            continue
        assert isinstance(padding.output, int)
        stricter = case["convention"] == "torch_pool" and case["padding"] > case["kernel"] // 2
        assert padding.output < 1 or stricter, case


@pytest.mark.slow
@given(sizes, windows())
def test_causal_reads_nothing_later_than_its_output(size: int, window: Window) -> None:
    padding = keras_causal(size, window)
    assert isinstance(padding.begin, int)
    assert isinstance(padding.output, int)
    reads = walk(window, padding.begin, padding.output)
    assert [read[-1] for read in reads] == list(range(0, size, window.stride))


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("auto_pad", "top_left_heavy"), [("SAME_UPPER", False), ("SAME_LOWER", True)]
)
@pytest.mark.parametrize("window", [Window(3, 2), Window(4, 1), Window(4, 3), Window(5, 2)])
def test_coreml_same_is_what_onnxruntime_computes(
    window: Window, auto_pad: str, top_left_heavy: bool
) -> None:
    weights = [10.0**n for n in range(window.kernel)]
    same = Operator("Conv", window, weights, auto_pad=auto_pad)
    for size in range(1, 12):
        padding = coreml_same(size, window, top_left_heavy=top_left_heavy)
        explicit = Operator("Conv", window, weights, pads=[padding.begin, padding.end])
        line = [float(n) for n in range(1, size + 1)]
        assert explicit(line) == same(line)
        assert len(same(line)) == padding.output


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


@pytest.mark.parametrize("size", range(2, 20, 2))
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
