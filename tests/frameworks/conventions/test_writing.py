"""Lines of PyTorch, Keras and ONNX: those of ONNX are run, the others where they are installed."""

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.explanation import explained
from onnxpad.frameworks.conventions.question import OPS, Answer, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.writing import written
from tests.frameworks.conventions.naive import computed, kernel, line
from tests.strategies import windows
from tests.support import parsed, run
from tests.support.rows import each_row

questions = st.builds(
    lambda op, size, window, padding: Question(op, (size,), (window,), padding),
    st.sampled_from(OPS),
    st.integers(1, 20),
    windows(max_stride=4),
    st.none() | st.tuples(st.integers(0, 3)),
)


By: TypeAlias = Callable[[str, list[float], list[float]], list[float]]
"""The output of a line of text on values, with these weights."""


def by_onnxruntime(text: str, op: Op, values: list[float], weights: list[float]) -> list[float]:
    """The output of an operator in ONNX text for a line."""
    inputs = "x, w" if op.startswith("conv") else "x"
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


def assert_close(found: list[float], wanted: list[float]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        if math.isinf(other):  # a maximum of nothing: onnxruntime gives the least number
            assert one < -1e38
        else:
            assert one == pytest.approx(other, rel=1e-5, abs=1e-5)


@given(questions)
def test_lines_of_onnx_compute_what_the_convention_does(question: Question) -> None:
    (size,), (window,) = question.sizes, question.windows
    explanation = explained(question)
    for names in explanation.agree:
        answer = explanation.answer(names[0])
        text = written(question, answer, names)["onnx"]
        if text:
            values, weights = line(size), kernel(window.kernel)
            wanted = computed(question.op, answer, values, weights)
            assert_close(by_onnxruntime(text, question.op, values, weights), wanted)


@pytest.mark.parametrize(
    ("module", "framework", "by"),
    [
        pytest.param("torch", "pytorch", by_torch, marks=pytest.mark.torch),
        pytest.param("keras", "keras", by_keras, marks=pytest.mark.tensorflow),
    ],
)
@pytest.mark.filterwarnings("default")  # of the frameworks themselves
@given(question=questions)
def test_lines_of_frameworks_compute_what_the_convention_does(
    question: Question, module: str, framework: str, by: By
) -> None:
    pytest.importorskip(module)
    explanation = explained(question)
    for names in explanation.agree:
        answer = explanation.answer(names[0])
        if text := written(question, answer, names)[framework]:
            values, weights = line(question.sizes[0]), kernel(question.windows[0].kernel)
            wanted = computed(question.op, answer, values, weights)
            assert_close(by(text, values, weights), wanted)


def lines(name: str, op: Op, sizes: tuple[int, ...], *numbers: tuple[int, ...]) -> tuple[str, ...]:
    """The lines of one convention, in the group that it is in."""
    question = Question(op, sizes, tuple(Window(*each) for each in zip(*numbers, strict=True)))
    explanation = explained(question)
    (group,) = [names for names in explanation.agree if name in names]
    return tuple(written(question, explanation.answer(group[0]), group).values())


@each_row(
    ("found", "expected"),
    [
        pytest.param(
            lines("tensorflow-same", "conv", (10, 9), (3, 3), (2, 2)),
            (
                "nn.Conv2d(c, n, 3, stride=2)(F.pad(x, (1, 1, 0, 1)))",
                "Conv2D(n, 3, strides=2, padding='same')",
                "Conv <kernel_shape=[3, 3], strides=[2, 2], pads=[0, 1, 1, 1]>",
            ),
            id="SAME with another total on each axis",
        ),
        pytest.param(
            lines("pytorch-half", "conv", (10, 10), (3, 3), (2, 2)),
            (
                "nn.Conv2d(c, n, 3, stride=2, padding=1)",
                "",
                "Conv <kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0]>",
            ),
            id="padding of PyTorch",
        ),
        pytest.param(
            lines("keras-causal", "conv", (10,), (3,), (1,), (2,)),
            (
                "nn.Conv1d(c, n, 3, dilation=2)(F.pad(x, (4, 0)))",
                "Conv1D(n, 3, dilation_rate=2, padding='causal')",
                "Conv <kernel_shape=[3], dilations=[2], pads=[4, 0]>",
            ),
            id="causal",
        ),
        pytest.param(
            lines("caffe", "avgpool", (10,), (3,), (2,)),
            (
                "nn.AvgPool1d(3, stride=2, padding=1, ceil_mode=True)",
                "",
                (
                    "AveragePool <kernel_shape=[3], strides=[2], pads=[1, 1], ceil_mode=1, "
                    "count_include_pad=1>"
                ),
            ),
            id="an average that rounds up and counts the padding",
        ),
        pytest.param(
            lines("tensorflow-same", "convtranspose", (7, 7), (3, 3), (2, 2)),
            (
                "F.pad(nn.ConvTranspose2d(c, n, 3, stride=2)(x), (0, -1, 0, -1))",
                "Conv2DTranspose(n, 3, strides=2, padding='same')",
                "ConvTranspose <kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1]>",
            ),
            id="transposed SAME, which PyTorch has to crop",
        ),
        pytest.param(
            lines("pytorch-output-padding", "convtranspose", (7,), (3,), (2,)),
            (
                "nn.ConvTranspose1d(c, n, 3, stride=2, padding=1, output_padding=1)",
                "",
                "ConvTranspose <kernel_shape=[3], strides=[2], pads=[1, 0]>",
            ),
            id="output_padding",
        ),
    ],
)
def test_lines(found: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert tuple(found) == expected


K3, K3_BY_2, WIDE = Window(3), Window(3, 2), Window(3, 1, 2)


@each_row(
    ("op", "windows", "name", "pytorch"),
    [
        ("conv", (K3, Window(4)), "tensorflow-same",
         "nn.Conv2d(c, n, (3, 4))(F.pad(x, (1, 2, 1, 1)))"),
        ("conv", (K3_BY_2, K3_BY_2), "pytorch-half",
         "nn.Conv2d(c, n, 3, stride=2, padding=1)"),
        ("conv", (K3_BY_2,), "tensorflow-valid", "nn.Conv1d(c, n, 3, stride=2)"),
        ("conv", (WIDE,), "keras-causal", "nn.Conv1d(c, n, 3, dilation=2)(F.pad(x, (4, 0)))"),
        ("conv", (K3_BY_2, WIDE), "onnx-same-upper",
         "nn.Conv2d(c, n, 3, stride=(2, 1), dilation=(1, 2))(F.pad(x, (2, 2, 0, 1)))"),
        ("maxpool", (K3_BY_2,), "onnx-same-lower", "nn.MaxPool1d(3, stride=2, padding=1)"),
        ("maxpool", (K3_BY_2,), "caffe", "nn.MaxPool1d(3, stride=2, padding=1, ceil_mode=True)"),
        ("maxpool", (WIDE,), "onnx-same-upper",
         "nn.MaxPool1d(3, stride=1, dilation=2)(F.pad(x, (2, 2), value=-torch.inf))"),
        ("avgpool", (K3_BY_2,), "tensorflow-same", "nn.AvgPool1d(3, stride=2, ceil_mode=True)"),
        ("avgpool", (K3_BY_2,), "onnx-same-lower",
         "nn.AvgPool1d(3, stride=2, padding=1, count_include_pad=False)"),
        ("avgpool", (K3_BY_2,), "caffe", "nn.AvgPool1d(3, stride=2, padding=1, ceil_mode=True)"),
        ("avgpool", (K3_BY_2,), "tensorflow-valid", "nn.AvgPool1d(3, stride=2)"),
        ("avgpool", (WIDE,), "onnx-same-upper", ""),
        ("convtranspose", (K3_BY_2, Window(2, 3)), "tensorflow-valid",
         "nn.ConvTranspose2d(c, n, (3, 2), stride=(2, 3), output_padding=(0, 1))"),
        ("convtranspose", (K3_BY_2, Window(2, 3)), "tensorflow-same",
         "F.pad(nn.ConvTranspose2d(c, n, (3, 2), stride=(2, 3))(x), (0, 1, 0, -1))"),
        ("convtranspose", (Window(3, 2, 2),), "onnx-same-upper",
         "F.pad(nn.ConvTranspose1d(c, n, 3, stride=2, dilation=2)(x), (-1, -2))"),
    ],
)  # fmt: skip
def test_lines_in_numbers(op: Op, windows: tuple[Window, ...], name: str, pytorch: str) -> None:
    """Lines that say no convention by its name, at 8 elements an axis."""
    question = Question(op, (8,) * len(windows), windows)
    found = written(question, explained(question).answer(name))
    assert (found["pytorch"], found["keras"]) == (pytorch, "")


@each_row(
    ("op", "name", "pytorch", "keras"),
    [
        ("conv", "keras-causal", "(F.pad(x, (2, 0)))", "Conv1D(n, 3, padding='causal')"),
        ("conv", "pytorch-same", "nn.Conv1d(c, n, 3, padding='same')", ""),
        ("conv", "keras-same", "nn.Conv1d(c, n, 3, padding=1)", "Conv1D(n, 3, padding='same')"),
        ("conv", "tensorflow-valid", "nn.Conv1d(c, n, 3)", "Conv1D(n, 3, padding='valid')"),
        ("avgpool", "keras-same", "False)", "AveragePooling1D(3, strides=1, padding='same')"),
        ("convtranspose", "keras-same", "padding=1)", "Transpose(n, 3, padding='same')"),
    ],
)
def test_lines_in_a_framework_s_own_words(op: Op, name: str, pytorch: str, keras: str) -> None:
    question = Question(op, (8,), (K3,))
    found = written(question, explained(question).answer(name), (name,))
    assert found["pytorch"].endswith(pytorch)
    assert found["keras"].endswith(keras)


@each_row(
    ("op", "axis", "counts", "text"),
    [
        ("conv", AxisAnswer(6, K3_BY_2, 0, 0, 2), False,
         "Conv <kernel_shape=[3], strides=[2]>"),
        ("conv", AxisAnswer(6, K3_BY_2, 0, 0, 3), False,
         "Conv <kernel_shape=[3], strides=[2], pads=[0, 1]>"),
        ("conv", AxisAnswer(6, K3, 3, 4, 11), False, "Conv <kernel_shape=[3], pads=[3, 4]>"),
        ("conv", AxisAnswer(6, K3, 1, 1, 20), False, "Conv <kernel_shape=[3], pads=[1, 15]>"),
        ("maxpool", AxisAnswer(6, K3_BY_2, 0, 0, 3), False,
         "MaxPool <kernel_shape=[3], strides=[2], ceil_mode=1>"),
        ("maxpool", AxisAnswer(6, K3, 2, 2, 8), False, "MaxPool <kernel_shape=[3], pads=[2, 2]>"),
        ("maxpool", AxisAnswer(6, K3, 3, 0, 7), False, ""),
        ("maxpool", AxisAnswer(6, K3, 0, 3, 7), False, ""),
        ("maxpool", AxisAnswer(6, WIDE, 1, 1, 4), False,
         "MaxPool <kernel_shape=[3], dilations=[2], pads=[1, 1]>"),
        ("avgpool", AxisAnswer(6, K3, 1, 1, 6), False,
         "AveragePool <kernel_shape=[3], pads=[1, 1]>"),
        ("avgpool", AxisAnswer(6, K3, 1, 1, 6), True,
         "AveragePool <kernel_shape=[3], pads=[1, 1], count_include_pad=1>"),
        ("avgpool", AxisAnswer(6, K3, 0, 0, 4), True, "AveragePool <kernel_shape=[3]>"),
        ("convtranspose", AxisAnswer(4, K3_BY_2, 1, 0, 9, 1), False,
         "ConvTranspose <kernel_shape=[3], strides=[2], pads=[1, 0], output_padding=[1]>"),
    ],
)  # fmt: skip
def test_operators_of_answers_made_by_hand(
    op: Op, axis: AxisAnswer, counts: bool, text: str
) -> None:
    question = Question(op, (axis.size,), (axis.window,))
    assert written(question, Answer((axis,), counts))["onnx"] == text


@pytest.mark.parametrize("op", ["conv", "convtranspose"])
def test_lines_of_channels_in_groups_say_so(op: Op) -> None:
    question = Question(op, (9,), (Window(3, 2, 1),), grouped=True)
    lines = written(question, explained(question).answer("keras-same"), ["keras-same"])
    assert "groups=g" in lines["pytorch"]
    assert "group=g" in lines["onnx"]
    assert lines["keras"] == ("Conv1D(n, 3, strides=2, groups=g, padding='same')" * (op == "conv"))
