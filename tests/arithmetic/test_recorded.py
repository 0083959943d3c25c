"""The conventions against what frameworks did at thousands of points.

`recorded/record_conventions.py` says what is recorded and how.
"""

from collections.abc import Callable
from typing import Final

import pytest

from onnxpad.arithmetic.conventions import (
    AxisPadding,
    keras_causal,
    keras_pool_same,
    keras_transposed_same,
    keras_transposed_valid,
    paddle_conv,
    paddle_pool,
    paddle_pool_same,
    paddle_same,
    paddle_transposed,
    paddle_transposed_same,
    tensorflow_same,
    tensorflow_transposed_same,
    tensorflow_transposed_valid,
    tensorflow_valid,
    tflite_same,
    tflite_valid,
    torch_conv,
    torch_pool,
    torch_same,
    torch_transposed,
    torch_transposed_output,
)
from onnxpad.arithmetic.window import Window, output_size
from onnxpad.errors import UsageError
from tests.arithmetic.recorded.record_conventions import (
    FRAMEWORKS,
    NONE,
    Found,
    Point,
    observe,
    reads,
    recorded,
)
from tests.oracles import walk

Convention = Callable[[Point], AxisPadding]


def asked(function: Callable[..., AxisPadding], *names: str) -> Convention:
    """A convention's function on a point and these fields of it, and on its ceil_mode if any."""

    def call(point: Point) -> AxisPadding:
        window = Window(point.kernel, point.stride, point.dilation)
        further = {} if point.ceil_mode == NONE else {"ceil_mode": bool(point.ceil_mode)}
        return function(point.size, window, *(getattr(point, name) for name in names), **further)

    return call


def unpadded(function: Callable[..., AxisPadding], *names: str) -> Convention:
    """A convention's function that takes a begin and an end, on a point without padding."""
    return asked(lambda size, window, *further: function(size, window, 0, 0, *further), *names)


def explicit(size: int, window: Window, begin: int, end: int) -> AxisPadding:
    """TensorFlow's `padding=[[0, 0], [begin, end], ...]`."""
    return AxisPadding(begin, end, output_size(size, window, begin, end))


def optional(function: Callable[..., AxisPadding]) -> Convention:
    """A transposed layer of Keras, with or without an output_padding."""
    with_padding, without = asked(function, "output_padding"), asked(function)
    return lambda point: (without if point.output_padding == NONE else with_padding)(point)


pads = ("begin", "end")
CONVENTIONS: Final[dict[str, dict[str, Convention]]] = {
    "torch": {
        "conv": asked(torch_conv, "begin"),
        "conv_same": asked(torch_same),
        "maxpool": asked(torch_pool, "begin"),
        "avgpool": asked(torch_pool, "begin"),
        "transposed": asked(torch_transposed, "begin", "output_padding"),
        "transposed_output": asked(torch_transposed_output, "begin", "output"),
    },
    "tensorflow": {
        "conv": asked(explicit, *pads),
        **{f"{op}_same": asked(tensorflow_same) for op in ("conv", "maxpool", "avgpool")},
        **{f"{op}_valid": asked(tensorflow_valid) for op in ("conv", "maxpool", "avgpool")},
        "transposed_same": asked(tensorflow_transposed_same, "output"),
        "transposed_valid": asked(tensorflow_transposed_valid, "output"),
    },
    "tflite": {
        **{f"{op}_same": asked(tflite_same) for op in ("conv", "maxpool", "avgpool")},
        **{f"{op}_valid": asked(tflite_valid) for op in ("conv", "maxpool", "avgpool")},
        "transposed_same": asked(keras_transposed_same),
        "transposed_valid": asked(keras_transposed_valid),
    },
    "keras": {
        "conv_same": asked(tensorflow_same),
        "conv_causal": asked(keras_causal),
        **{f"{op}_same": asked(keras_pool_same) for op in ("maxpool", "avgpool")},
        **{f"{op}_valid": asked(tensorflow_valid) for op in ("conv", "maxpool", "avgpool")},
        "transposed_same": optional(keras_transposed_same),
        "transposed_valid": optional(keras_transposed_valid),
    },
    "paddle": {
        "conv": asked(paddle_conv, *pads),
        "conv_same": asked(paddle_same),
        "conv_valid": unpadded(paddle_conv),
        **{op: asked(paddle_pool, *pads) for op in ("maxpool", "avgpool")},
        **{f"{op}_same": asked(paddle_pool_same) for op in ("maxpool", "avgpool")},
        **{f"{op}_valid": asked(paddle_pool) for op in ("maxpool", "avgpool")},
        "transposed": asked(paddle_transposed, *pads, "output_padding"),
        "transposed_same": asked(paddle_transposed_same, "output_padding"),
        "transposed_valid": unpadded(paddle_transposed, "output_padding"),
        "transposed_output": asked(torch_transposed_output, "begin", "output"),
    },
}


def is_unsupported(framework: str, call: str, point: Point) -> bool:
    """Whether a framework refuses a point for a reason that has nothing to do with padding."""
    if framework == "keras" and point.dilation > 1:
        return call.startswith("transposed") or point.stride > 1  # the first only on a CPU
    if framework == "tensorflow" and "pool" in call and point.dilation > 1:
        return call.endswith("same") or point.stride > 1
    return framework == "paddle" and call.endswith("pool_valid") and point.ceil_mode == 1


def stated(framework: str, call: str, point: Point) -> AxisPadding | None:
    """What the convention says of a point; None where there is no output."""
    try:
        padding = CONVENTIONS[framework][call](point)
    except UsageError:
        return None
    assert isinstance(padding.output, int)
    return padding if padding.output > 0 and not is_unsupported(framework, call, point) else None


def counted(framework: str, point: Point, begin: int, end: int, output: int) -> list[int]:
    """How many elements each output of an average divides by; 0 where it reads none."""
    line = data = range(point.size)
    if point.include_pad == 1:  # PaddlePaddle takes the begin for the end too
        line = range(-begin, point.size + (begin if framework == "paddle" else end))
    windows = walk(Window(point.kernel, point.stride, point.dilation), begin, output)
    return [
        sum(position in line for position in window) if set(window) & set(data) else 0
        for window in windows
    ]


def check(framework: str, call: str, point: Point, found: Found, divisors: list[int]) -> None:
    """Compares a convention with what a framework did; an empty output counts as a refusal."""
    padding = stated(framework, call, point)
    assert (padding is not None) == (found.output > 0)
    if padding is None:
        return
    begin, end, output = padding.begin, padding.end, padding.output
    assert isinstance(begin, int)
    assert isinstance(end, int)
    assert isinstance(output, int)
    assert output == found.output
    says = Found(output, begin, 1 if padding.undilated else point.dilation)
    if found.begin == NONE:
        assert not reads(call, point, says).any()
    elif says != found:
        assert (reads(call, point, says) == reads(call, point, found)).all()
    extent = (point.kernel - 1) * says.dilation + 1
    if call.startswith("transposed"):
        full = (point.size - 1) * point.stride + extent
        assert output == full - begin - end + padding.output_padding
    elif point.ceil_mode != 1 and point.size + begin + end >= extent:
        assert output == len(range(0, point.size + begin + end - extent + 1, point.stride))
    if call.startswith("avgpool"):
        assert counted(framework, point, begin, end, output) == divisors[:output]


CALLS: Final = [(framework, call) for framework, calls in CONVENTIONS.items() for call in calls]


@pytest.mark.parametrize(("framework", "call"), CALLS)
def test_each_point(framework: str, call: str) -> None:
    cases = recorded(framework)[call]
    assert sum(found.output > 0 for _, found, _ in cases) >= 250
    for case in cases:
        check(framework, call, *case)


def test_some_points_of_each_call() -> None:
    for framework, call in CALLS:
        for case in recorded(framework)[call][::31]:
            check(framework, call, *case)


@pytest.mark.parametrize(
    "framework",
    [
        pytest.param("torch", marks=pytest.mark.torch),
        *(pytest.param(f, marks=pytest.mark.tensorflow) for f in ("tensorflow", "tflite", "keras")),
        "paddle",
    ],
)
@pytest.mark.filterwarnings("default")  # of the frameworks themselves
def test_what_is_installed_does_what_was_recorded(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")  # as when it was recorded
    pytest.importorskip({"tflite": "tensorflow"}.get(framework, framework))
    _, calls = FRAMEWORKS[framework]()
    for call, (_, run) in calls.items():
        for point, found, divisors in recorded(framework)[call][::97]:
            again, divided = observe(call, point, run)
            assert again == found, (call, point)
            assert divided == divisors[: len(divided)], (call, point)


@pytest.mark.parametrize("framework", CONVENTIONS)
def test_no_recorded_call_is_left_out(framework: str) -> None:
    assert set(recorded(framework)) == set(CONVENTIONS[framework])
    assert sum(map(len, recorded(framework).values())) >= 4000
