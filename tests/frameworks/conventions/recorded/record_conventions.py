"""Records what PyTorch, TensorFlow, TensorFlow Lite, Keras and PaddlePaddle read.

For `test_recorded.py`. None of them is a dependency of the tests. Run where they are installed, one
or several (`python -m tests.matrix --only torch,tensorflow` makes environments with the first four,
and tries a sample again); in this folder, with the frameworks to record:

    python record_conventions.py torch tensorflow tflite keras paddle

Every point is an operator on one axis, run on each one-hot line: what comes out tells which input
each output reads, with which tap of the kernel. So the first window's position and the number of
outputs are known, not derived from a formula; an output that no window explains stops the script.

`FRAMEWORK.npz` holds the framework's `version` and arrays with one entry a point:

- `call`: the operator with its kind of padding.
- `size`, `kernel` and so on, the fields of `Point`: what was asked, `NONE` where nothing was.
- `found_output`: the output size, `NONE` where the framework refused.
- `found_begin`: elements before the first real one that the first window starts at (that are
  cropped, if transposed). `NONE` where no output shows it.
- `found_dilation`: the dilation that the taps have.
- `divisors`: by how much each output of an average divides, one row an output. 0 where the
  operator is no average, or the output reads no element or is none.

TensorFlow runs without oneDNN. With it, where no window fits, TensorFlow 2.21 answers a convolution
with memory that it never wrote and a pool ends the process, and of one element a transposed `VALID`
one may be shorter than its kernel. Everywhere else it answers the same.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

NONE = -999
Array = npt.NDArray[np.float32]


class Point(NamedTuple):
    """One axis, and what is asked for on it; `NONE` where nothing is."""

    size: int
    kernel: int
    stride: int
    dilation: int = 1
    begin: int = NONE
    end: int = NONE
    ceil_mode: int = NONE
    include_pad: int = NONE
    output_padding: int = NONE
    output: int = NONE


class Found(NamedTuple):
    """What a framework did at a point."""

    output: int = NONE
    begin: int = NONE
    dilation: int = NONE


Recorded = list[tuple[Point, Found, list[int]]]
"""Points with what a framework did and by how much its averages divide."""

Call = Callable[[Point, Array, Array], Any]
"""An operator on lines of shape (line, element) with a kernel of shape (tap,)."""

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 32, 33)
KERNELS = (1, 2, 3, 4, 5, 7)
STRIDES = (1, 2, 3, 4)
AXES = list(product(SIZES, KERNELS, STRIDES))
NO_YES = (0, 1)


def points(
    pads: tuple[tuple[int, int], ...] = ((NONE, NONE),), **asked: tuple[int, ...]
) -> list[Point]:
    """Every axis with every combination of the pads and of what else is asked for."""
    return [
        Point(*axis)._replace(begin=begin, end=end, **dict(zip(asked, values, strict=True)))
        for axis in AXES
        for begin, end in pads
        for values in product(*asked.values())
    ]


def symmetric(*pads: int) -> tuple[tuple[int, int], ...]:
    """The same pads on both sides."""
    return tuple((pad, pad) for pad in pads)


def outputs(shortest: Callable[[Point], int], pad: int = NONE) -> list[Point]:
    """Transposed windows with each output size of a stride, and one below and above.

    Args:
        shortest: The shortest output from which a window makes the point's size.
        pad: The pads asked for.
    """
    asked = [point for point in points(((pad, pad),)) if point.size <= 10]
    return [
        point._replace(output=output)
        for point in asked
        for least in [shortest(point)]
        for output in range(max(least - 1, 1), least + point.stride + 1)
    ]


def full(point: Point) -> int:
    """Length of everything that a transposed window writes."""
    return (point.size - 1) * point.stride + (point.kernel - 1) * point.dilation + 1


def cropped(point: Point) -> int:
    """The same where an element is cropped at each end."""
    return full(point) - 2


def torch_calls() -> tuple[str, dict[str, tuple[list[Point], Call]]]:
    """PyTorch's version, and its functions with the points to record of each."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    functional = torch.nn.functional

    def conv(point: Point, lines: Array, weights: Array) -> Any:
        data, kernel = torch.tensor(lines)[:, None], torch.tensor(weights)[None, None]
        padding = "same" if point.begin == NONE else point.begin
        how = {"stride": point.stride, "dilation": point.dilation, "padding": padding}
        return functional.conv1d(data, kernel, **how)

    def pool(point: Point, lines: Array, _: Array) -> Any:
        how: dict[str, Any] = {"stride": (1, point.stride), "padding": (0, point.begin)}
        how["ceil_mode"] = bool(point.ceil_mode)
        function = functional.max_pool2d
        if point.include_pad == NONE:
            how["dilation"] = (1, point.dilation)
        else:
            function = functional.avg_pool2d
            how["count_include_pad"] = bool(point.include_pad)
        return function(torch.tensor(lines)[:, None, None], (1, point.kernel), **how)

    def transposed(point: Point, lines: Array, weights: Array) -> Any:
        how = {"stride": point.stride, "padding": point.begin, "dilation": point.dilation}
        how["output_padding"] = max(point.output_padding, 0)
        layer = torch.nn.ConvTranspose1d(1, 1, point.kernel, bias=False, **how)
        with torch.no_grad():
            layer.weight[:] = torch.tensor(weights)
            wanted = None if point.output == NONE else [point.output]
            return layer(torch.tensor(lines)[:, None], output_size=wanted)

    few = symmetric(0, 1, 2, 3)
    return torch.__version__, {
        "conv": (points(few, dilation=(1, 2, 3)), conv),
        "conv_same": (points(dilation=(1, 2, 3)), conv),
        "maxpool": (points(few, dilation=(1, 2), ceil_mode=NO_YES), pool),
        "avgpool": (points(few, ceil_mode=NO_YES, include_pad=NO_YES), pool),
        "transposed": (
            points(symmetric(0, 1, 2), dilation=(1, 2), output_padding=(0, 1, 2)),
            transposed,
        ),
        "transposed_output": (outputs(full, 0) + outputs(cropped, 1), transposed),
    }


def tensorflow_calls() -> tuple[str, dict[str, tuple[list[Point], Call]]]:
    """TensorFlow's version, and its functions with the points to record of each."""
    tensorflow = importlib.import_module("tensorflow")

    def conv(padding: str) -> Call:
        def call(point: Point, lines: Array, weights: Array) -> Any:
            pads = padding or [[0, 0], [0, 0], [point.begin, point.end], [0, 0]]
            data, kernel = lines[:, None, :, None], weights[None, :, None, None]
            dilations = [1, point.dilation]
            return tensorflow.nn.conv2d(data, kernel, [1, point.stride], pads, dilations=dilations)

        return call

    def pool(function: Any, kind: str, padding: str) -> Call:
        def call(point: Point, lines: Array, _: Array) -> Any:
            image, kernel, strides = lines[:, None, :, None], [1, point.kernel], [1, point.stride]
            if point.dilation == 1:
                return function(image, kernel, strides, padding)
            dilations = [1, point.dilation]
            return tensorflow.nn.pool(image, kernel, kind, strides, padding, dilations=dilations)

        return call

    def transposed(padding: str) -> Call:
        def call(point: Point, lines: Array, weights: Array) -> Any:
            data, kernel = lines[:, None, :, None], weights[None, :, None, None]
            shape, strides = [len(lines), 1, point.output, 1], [1, point.stride]
            return tensorflow.nn.conv2d_transpose(data, kernel, shape, strides, padding)

        return call

    dilated = points(dilation=(1, 2, 3))
    max_pool2d, avg_pool2d = tensorflow.nn.max_pool2d, tensorflow.nn.avg_pool2d
    return tensorflow.__version__, {
        "conv_same": (dilated, conv("SAME")),
        "conv_valid": (dilated, conv("VALID")),
        "conv": (points(((1, 1), (0, 1), (1, 0), (2, 3)), dilation=(1, 2)), conv("")),
        **{
            f"{kind.lower()}pool_{padding.lower()}": (
                points(dilation=(1, 2)),
                pool(function, kind, padding),
            )
            for kind, function in (("MAX", max_pool2d), ("AVG", avg_pool2d))
            for padding in ("SAME", "VALID")
        },
        "transposed_same": (
            outputs(lambda point: (point.size - 1) * point.stride + 1),
            transposed("SAME"),
        ),
        "transposed_valid": (outputs(full), transposed("VALID")),
    }


def tflite_calls() -> tuple[str, dict[str, tuple[list[Point], Call]]]:
    """TensorFlow Lite's version, and models that it runs with the points to record of each."""
    tensorflow = importlib.import_module("tensorflow")
    lite = tensorflow.lite
    kernels = lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES

    def conv(axis: Point, padding: str) -> Any:
        weights = np.arange(1, axis.kernel + 1, dtype=np.float32)[None, :, None, None]
        return lambda x: tensorflow.nn.conv2d(
            x, weights, [1, axis.stride], padding, dilations=[1, axis.dilation]
        )

    def pool(function: Any) -> Any:
        return lambda axis, padding: (
            lambda x: function(x, [1, axis.kernel], [1, axis.stride], padding)
        )

    def transposed(axis: Point, padding: str) -> Any:
        weights = np.arange(1, axis.kernel + 1, dtype=np.float32)[None, :, None, None]
        more = max(axis.kernel - axis.stride, 0) if padding == "VALID" else 0

        def function(x: Any) -> Any:
            lines, _, size, _ = tensorflow.unstack(tensorflow.shape(x))
            shape = tensorflow.stack([lines, 1, size * axis.stride + more, 1])
            return tensorflow.nn.conv2d_transpose(x, weights, shape, [1, axis.stride], padding)

        return function

    @cache
    def model(operator: Any, axis: Point, padding: str) -> Any:
        any_size = tensorflow.TensorSpec([None, 1, None, 1], tensorflow.float32)
        function = tensorflow.function(operator(axis, padding), input_signature=[any_size])
        functions = [function.get_concrete_function()]
        content = lite.TFLiteConverter.from_concrete_functions(functions).convert()
        return lite.Interpreter(model_content=content, experimental_op_resolver_type=kernels)

    def run(operator: Any, padding: str) -> Call:
        def call(point: Point, lines: Array, _: Array) -> Any:
            interpreter = model(operator, point._replace(size=0), padding)
            (fed,), (asked,) = interpreter.get_input_details(), interpreter.get_output_details()
            interpreter.resize_tensor_input(fed["index"], (point.size, 1, point.size, 1))
            interpreter.allocate_tensors()
            interpreter.set_tensor(fed["index"], lines[:, None, :, None])
            interpreter.invoke()
            return interpreter.get_tensor(asked["index"])

        return call

    operators = {
        "conv": (points(dilation=(1, 2, 3)), conv),
        "maxpool": (points(), pool(tensorflow.nn.max_pool2d)),
        "avgpool": (points(), pool(tensorflow.nn.avg_pool2d)),
        "transposed": (points(), transposed),
    }
    return tensorflow.__version__, {
        f"{name}_{padding.lower()}": (asked, run(operator, padding))
        for name, (asked, operator) in operators.items()
        for padding in ("SAME", "VALID")
    }


def keras_calls() -> tuple[str, dict[str, tuple[list[Point], Call]]]:
    """Keras's version, and its layers, on TensorFlow, with the points to record of each."""
    keras = importlib.import_module("keras")
    layers = keras.layers

    def conv(layer: Any, padding: str) -> Call:
        def call(point: Point, lines: Array, weights: Array) -> Any:
            how: dict[str, Any] = {"strides": point.stride, "dilation_rate": point.dilation}
            if point.output_padding != NONE:
                how["output_padding"] = point.output_padding
            built = layer(1, point.kernel, padding=padding, use_bias=False, **how)
            built.build((len(lines), point.size, 1))
            built.set_weights([weights[:, None, None]])
            return built(lines[:, :, None])

        return call

    def pool(layer: Any, padding: str) -> Call:
        def call(point: Point, lines: Array, _: Array) -> Any:
            return layer(point.kernel, point.stride, padding)(lines[:, :, None])

        return call

    dilated, paddings = points(dilation=(1, 2, 3)), ("same", "valid")
    transposed = layers.Conv1DTranspose
    shifted = points(output_padding=(NONE, 0, 1, 2)) + points(dilation=(2,))
    return keras.__version__, {
        "conv_same": (dilated, conv(layers.Conv1D, "same")),
        "conv_valid": (dilated, conv(layers.Conv1D, "valid")),
        "conv_causal": (dilated, conv(layers.Conv1D, "causal")),
        **{f"maxpool_{name}": (points(), pool(layers.MaxPooling1D, name)) for name in paddings},
        **{f"avgpool_{name}": (points(), pool(layers.AveragePooling1D, name)) for name in paddings},
        **{f"transposed_{name}": (shifted, conv(transposed, name)) for name in paddings},
    }


def paddle_calls() -> tuple[str, dict[str, tuple[list[Point], Call]]]:
    """PaddlePaddle's version, and its functions with the points to record of each."""
    paddle = importlib.import_module("paddle")
    functional = paddle.nn.functional

    def pads(point: Point, padding: str) -> Any:
        return padding or [[0, 0], [0, 0], [0, 0], [point.begin, point.end]]

    def tensors(lines: Array, weights: Array) -> tuple[Any, Any]:
        return paddle.to_tensor(lines[:, None, None]), paddle.to_tensor(weights[None, None, None])

    def conv(padding: str) -> Call:
        def call(point: Point, lines: Array, weights: Array) -> Any:
            how = {"stride": [1, point.stride], "dilation": [1, point.dilation]}
            return functional.conv2d(*tensors(lines, weights), padding=pads(point, padding), **how)

        return call

    def pool(function: Any, padding: str) -> Call:
        def call(point: Point, lines: Array, _: Array) -> Any:
            how: dict[str, Any] = {"stride": [1, point.stride], "padding": pads(point, padding)}
            how["ceil_mode"] = bool(point.ceil_mode)
            if point.include_pad != NONE:
                how["exclusive"] = not point.include_pad
            return function(paddle.to_tensor(lines[:, None, None]), [1, point.kernel], **how)

        return call

    def transposed(padding: str) -> Call:
        def call(point: Point, lines: Array, weights: Array) -> Any:
            more = [0, max(point.output_padding, 0)] if point.output_padding > 0 else 0
            how: dict[str, Any] = {"stride": [1, point.stride], "dilation": [1, point.dilation]}
            how |= {"padding": pads(point, padding), "output_padding": more}
            how["output_size"] = None if point.output == NONE else [1, point.output]
            return functional.conv2d_transpose(*tensors(lines, weights), **how)

        return call

    few = (*symmetric(0, 1, 2, 3), (0, 1), (2, 1))
    dilated = points(dilation=(1, 2, 3))
    maximum, average = functional.max_pool2d, functional.avg_pool2d
    both = points(ceil_mode=NO_YES, include_pad=NO_YES)
    shifted = points(dilation=(1, 2), output_padding=(0, 1, 2))
    return paddle.__version__, {
        "conv": (points(few, dilation=(1, 2)), conv("")),
        "conv_same": (dilated, conv("SAME")),
        "conv_valid": (dilated, conv("VALID")),
        "maxpool": (points(few, ceil_mode=NO_YES), pool(maximum, "")),
        "maxpool_same": (points(ceil_mode=NO_YES), pool(maximum, "SAME")),
        "maxpool_valid": (points(ceil_mode=NO_YES), pool(maximum, "VALID")),
        "avgpool": (points(few, ceil_mode=NO_YES, include_pad=NO_YES), pool(average, "")),
        "avgpool_same": (both, pool(average, "SAME")),
        "avgpool_valid": (both, pool(average, "VALID")),
        "transposed": (
            points((*symmetric(0, 1), (0, 1)), dilation=(1, 2), output_padding=(0, 1, 2)),
            transposed(""),
        ),
        "transposed_same": (shifted, transposed("SAME")),
        "transposed_valid": (shifted, transposed("VALID")),
        "transposed_output": (outputs(cropped, 1), transposed("")),
    }


def taps(point: Point, found: Found, *, transposed: bool) -> npt.NDArray[np.int64]:
    """Which tap each output reads each input element with, from 1; 0 where it does not.

    Returns:
        Shape (input element, output).
    """
    element, output = np.ogrid[: point.size, : found.output]
    if transposed:
        distance = output + found.begin - element * point.stride
    else:
        distance = element + found.begin - output * point.stride
    tap, between = np.divmod(distance, found.dilation)
    return np.where((between == 0) & (tap >= 0) & (tap < point.kernel), tap + 1, 0)


def reads(call: str, point: Point, found: Found) -> Any:
    """Which tap each output reads each element with; of a pool only whether it does."""
    table = taps(point, found, transposed=call.startswith("transposed"))
    return table > 0 if "pool" in call else table


def begins(call: str, point: Point, read: Array, dilation: int) -> Iterator[int]:
    """Positions of the first window that may explain what is read, the nearest first."""
    if "pool" in call:
        reach = point.kernel * dilation + point.stride + max(point.begin, 0)
        yield from sorted(range(-reach, reach + 1), key=abs)
        return
    element, output = np.argwhere(read)[0].tolist()
    tap = (int(read[element, output]) - 1) * dilation
    if call.startswith("transposed"):
        yield element * point.stride + tap - output
    else:
        yield output * point.stride + tap - element


def explain(call: str, point: Point, answer: Array) -> Found:
    """The windows that read what the outputs show; the nearest begin where several do."""
    read = (answer > 1e-6 if "pool" in call else np.rint(answer)).astype(np.float32)
    if not read.any():
        return Found(answer.shape[1])
    if "pool" in call or np.allclose(answer, read, atol=1e-4):
        for dilation in dict.fromkeys((point.dilation, 1)):
            for begin in begins(call, point, read, dilation):
                found = Found(answer.shape[1], begin, dilation)
                if (read == reads(call, point, found)).all():
                    return found
    raise SystemExit(f"{call} {point}: no window explains\n{answer.tolist()}")


def observe(call: str, point: Point, run: Call) -> tuple[Found, list[int]]:
    """What a framework does at a point, and by how much its outputs divide."""
    weights = np.arange(1, point.kernel + 1, dtype=np.float32)
    try:
        answer = np.asarray(run(point, np.eye(point.size, dtype=np.float32), weights))
    except Exception:  # whatever its kind, a refusal is a result
        return Found(), []
    answer = answer.reshape(point.size, answer.size // point.size)
    found = explain(call, point, answer)
    if not call.startswith("avgpool"):
        return found, []
    reads = answer.max(axis=0, initial=0).tolist()
    return found, [round(1 / read) if read > 1e-6 else 0 for read in reads]


def record(framework: str) -> None:
    """Runs the points of a framework and writes them beside this script."""
    version, calls = FRAMEWORKS[framework]()
    names: list[str] = []
    rows: list[tuple[int, ...]] = []
    divided: list[list[int]] = []
    for call, (asked, run) in calls.items():
        observed = [observe(call, point, run) for point in asked]
        names += [call] * len(asked)
        rows += [(*point, *found) for point, (found, _) in zip(asked, observed, strict=True)]
        divided += [divisors for _, divisors in observed]
        refused = sum(found.output == NONE for found, _ in observed)
        print(framework, call, len(asked), "points,", refused, "refused")
    columns = (*Point._fields, *(f"found_{name}" for name in Found._fields))
    longest = max(map(len, divided))
    padded = [divisors + [0] * (longest - len(divisors)) for divisors in divided]
    np.savez_compressed(
        Path(__file__).with_name(f"{framework}.npz"),
        version=np.array(version),
        call=np.array(names),
        divisors=np.array(padded, np.int8).T.copy(),
        **dict(zip(columns, np.array(rows, np.int16).T.copy(), strict=True)),
    )


@cache
def recorded(framework: str) -> dict[str, Recorded]:
    """What a framework did, by call."""
    with np.load(Path(__file__).with_name(f"{framework}.npz")) as arrays:
        columns = [arrays[name].tolist() for name in Point._fields]
        found = [arrays[f"found_{name}"].tolist() for name in Found._fields]
        calls, divisors = arrays["call"].tolist(), arrays["divisors"].T.tolist()
    cases: dict[str, Recorded] = {}
    for call, point, did, divided in zip(
        calls,
        map(Point._make, zip(*columns, strict=True)),
        map(Found._make, zip(*found, strict=True)),
        divisors,
        strict=True,
    ):
        cases.setdefault(call, []).append((point, did, divided))
    return cases


FRAMEWORKS = {
    "torch": torch_calls,
    "tensorflow": tensorflow_calls,
    "tflite": tflite_calls,
    "keras": keras_calls,
    "paddle": paddle_calls,
}

if __name__ == "__main__":
    os.environ |= {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "3"}
    for name in sys.argv[1:]:
        record(name)
