"""Lines of PyTorch, Keras and ONNX: those of ONNX are run, the others where they are installed."""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.explanation import explained
from onnxpad.frameworks.conventions.question import OPS, Answer, Op, Question
from onnxpad.frameworks.conventions.writing import written
from tests.oracles import scattered, walk
from tests.strategies import windows
from tests.support import parsed, run

questions = st.builds(
    lambda op, size, window, padding: Question(op, (size,), (window,), padding),
    st.sampled_from(OPS),
    st.integers(1, 20),
    windows(max_stride=4),
    st.none() | st.tuples(st.integers(0, 3)),
)


def computed(
    op: Op, answer: Answer, values: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """The output for a line of values; a window in padding alone gives 0, or -inf if it is a max.

    Of the answer only pads, output and window are read.
    """
    (axis,) = answer.axes
    if op == "convtranspose":
        full = scattered(values, weights, axis.window) + [0.0] * axis.output_padding
        return full[axis.begin : axis.begin + axis.output]
    found = []
    padded = range(-axis.begin, len(values) + axis.end)
    for taps in walk(axis.window, axis.begin, axis.output):
        real = [(tap, values[n]) for tap, n in enumerate(taps) if 0 <= n < len(values)]
        if op == "conv":
            found.append(sum(value * weights[tap] for tap, value in real))
        elif op == "maxpool":
            found.append(max((value for _, value in real), default=-float("inf")))
        else:
            divisor = sum(n in padded for n in taps) if answer.counts else len(real)
            found.append(sum(value for _, value in real) / max(divisor, 1))
    return found


def line(size: int) -> list[float]:
    """Values that tell positions apart."""
    return [float((5 * n) % 17 - 8) for n in range(size)]


def kernel(length: int) -> list[float]:
    """Weights that tell taps apart."""
    return [float(2**n) for n in range(length)]


By: TypeAlias = Callable[[str, list[float], list[float]], list[float]]
"""The output of a line of text on values, with these weights."""


def by_onnxruntime(text: str, values: list[float], weights: list[float]) -> list[float]:
    """The output of an operator in ONNX text for a line."""
    inputs = "x, w" if "Conv" in text else "x"
    graph = "g (float[1, 1, N] x, float[1, 1, K] w) => (float[1, 1, M] y)"
    graph += f" {{ y = {text} ({inputs}) }}"
    feeds = {"x": values, "w": weights}
    given_feeds = {k: np.array(v, np.float32).reshape(1, 1, -1) for k, v in feeds.items()}
    (y,) = run(parsed(graph, opset=19), given_feeds)
    found: list[float] = y.ravel().tolist()
    return found


def by_torch(text: str, values: list[float], weights: list[float]) -> list[float]:
    """The output of a line of PyTorch, whose convolutions have these weights."""
    torch = pytest.importorskip("torch")

    class Layers:
        def __getattr__(self, name: str) -> Any:
            def made(*args: Any, **options: Any) -> Any:
                layer = getattr(torch.nn, name)(*args, **options)
                if "Conv" in name:
                    layer.weight.data = torch.tensor([[weights]])
                    layer.bias.data.zero_()
                return layer

            return made

    known = {"nn": Layers(), "F": torch.nn.functional, "torch": torch, "c": 1, "n": 1}
    known["x"] = torch.tensor([[values]])
    *before, last = text.split("; ")
    for each in before:
        exec(each, known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an even kernel with padding="same"
        found = eval(last, known)
        found = found(known["x"]) if callable(found) and not hasattr(found, "shape") else found
    listed: list[float] = found.detach()[0, 0].tolist()
    return listed


def by_keras(text: str, values: list[float], weights: list[float]) -> list[float]:
    """The output of a line of Keras, whose convolutions have these weights."""
    keras = pytest.importorskip("keras")

    def convolution(layer: Any) -> Any:
        filters = keras.initializers.Constant(np.reshape(weights, (-1, 1, 1)))
        return partial(layer, use_bias=False, kernel_initializer=filters)

    known = {name: getattr(keras.layers, name) for name in dir(keras.layers)}
    known |= {name: convolution(each) for name, each in known.items() if name.startswith("Conv")}
    x = np.array(values, np.float32)[None, :, None]
    known |= {"ops": keras.ops, "np": np, "n": 1, "x": x}
    found = eval(text, known)
    found = found(x) if isinstance(found, keras.layers.Layer) else found
    listed: list[float] = np.asarray(found)[0, :, 0].tolist()
    return listed


@pytest.mark.parametrize(
    ("module", "framework", "by"),
    [
        pytest.param("onnxruntime", "onnx", by_onnxruntime),
        pytest.param("torch", "pytorch", by_torch, marks=pytest.mark.torch),
        pytest.param("keras", "keras", by_keras, marks=pytest.mark.tensorflow),
    ],
)
@pytest.mark.filterwarnings("default")  # of the frameworks themselves
@given(question=questions)
def test_lines_compute_what_the_convention_does(
    question: Question, module: str, framework: str, by: By
) -> None:
    pytest.importorskip(module)
    explanation = explained(question)
    for names in explanation.agree:
        answer = explanation.answer(names[0])
        if text := written(question, answer, names)[framework]:
            values, weights = line(question.sizes[0]), kernel(question.windows[0].kernel)
            wanted = computed(question.op, answer, values, weights)
            found = by(text, values, weights)
            assert len(found) == len(wanted)
            for one, other in zip(found, wanted, strict=True):
                if math.isinf(other):  # a maximum of nothing: onnxruntime gives the least number
                    assert one < -1e38
                else:
                    assert one == pytest.approx(other, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("op", ["conv", "convtranspose"])
def test_lines_of_channels_in_groups_say_so(op: Op) -> None:
    question = Question(op, (9,), (Window(3, 2),), grouped=True)
    lines = written(question, explained(question).answer("keras-same"), ["keras-same"])
    assert "groups=g" in lines["pytorch"]
    assert "group=g" in lines["onnx"]
    assert lines["keras"] == ("Conv1D(n, 3, strides=2, groups=g, padding='same')" * (op == "conv"))
