"""The conventions that frameworks follow for an intent."""

import pytest
from hypothesis import given

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import OPS, Op, Question
from onnxpad.frameworks.conventions.table import FRAMEWORKS, INTENTS, AbsentError, Intent
from tests.strategies import sizes, windows
from tests.support.rows import each_row

SAME: Intent = "same"


def ask(
    name: str, op: Op, size: int, *window: int, intent: Intent = SAME
) -> tuple[tuple[int, int], int, int, bool]:
    """Pads, output, output_padding and whether padding counts, on one axis."""
    answer = FRAMEWORKS[name].answer(intent, Question(op, (size,), (Window(*window),)))
    return answer.pads[0], answer.output[0], answer.output_padding[0], answer.counts


@each_row(
    ("name", "op", "size", "window", "wanted"),
    [
        ("tensorflow", "conv", 224, (3, 2), ((0, 1), 112, 0, False)),
        ("keras", "conv", 225, (3, 2), ((1, 1), 113, 0, False)),
        ("tflite", "maxpool", 224, (3, 2), ((0, 1), 112, 0, False)),
        ("pytorch", "conv", 224, (3, 2), ((1, 1), 112, 0, False)),
        pytest.param("pytorch", "conv", 9, (4, 1), ((1, 2), 9, 0, False), id="padding='same'"),
        pytest.param("pytorch", "conv", 9, (4, 2), ((1, 1), 4, 0, False), id="half of an even one"),
        ("pytorch", "avgpool", 224, (3, 2), ((1, 1), 112, 0, True)),
        ("caffe", "conv", 224, (3, 2), ((1, 1), 112, 0, False)),
        ("caffe", "maxpool", 224, (3, 2), ((1, 1), 113, 0, False)),
        ("caffe", "avgpool", 224, (3, 2), ((1, 1), 113, 0, True)),
        ("cudnn", "avgpool", 224, (3, 2), ((1, 1), 112, 0, True)),
        ("paddle", "conv", 224, (3, 1, 2), ((1, 1), 224, 0, False)),
        ("coreml", "conv", 224, (3, 2), ((0, 1), 112, 0, False)),
        ("coreml-top-left", "conv", 224, (3, 2), ((1, 0), 112, 0, False)),
        ("onnx-same-upper", "avgpool", 224, (3, 2), ((0, 1), 112, 0, False)),
        ("onnx-same-lower", "avgpool", 224, (3, 2), ((1, 0), 112, 0, False)),
        ("tensorflow", "convtranspose", 7, (3, 2), ((0, 1), 14, 0, False)),
        ("pytorch", "convtranspose", 7, (3, 2), ((1, 1), 14, 1, False)),
        pytest.param(
            *("pytorch", "convtranspose", 7, (16, 8), ((4, 4), 56, 0, False)), id="HiFi-GAN's"
        ),
        ("pytorch", "convtranspose", 7, (11, 5), ((3, 3), 35, 0, False)),
        ("pytorch", "convtranspose", 7, (10, 5), ((3, 3), 35, 1, False)),
        ("pytorch", "convtranspose", 7, (2, 5), ((0, 0), 35, 3, False)),
        ("caffe", "convtranspose", 7, (4, 2), ((1, 1), 14, 0, False)),
        ("valid", "conv", 224, (3, 2), ((0, 0), 111, 0, False)),
        ("valid", "convtranspose", 7, (3, 2), ((0, 0), 15, 0, False)),
    ],
)
def test_same(
    name: str, op: Op, size: int, window: tuple[int, ...], wanted: tuple[object, ...]
) -> None:
    assert ask(name, op, size, *window) == wanted


def test_caffe_rounds_its_pools_up_without_padding_too() -> None:
    assert ask("caffe", "maxpool", 224, 3, 2, intent="valid")[1] == 112
    assert ask("pytorch", "maxpool", 224, 3, 2, intent="valid")[1] == 111
    assert ask("tensorflow", "maxpool", 224, 3, 2, intent="valid")[1] == 111


def test_causal_is_padding_of_keras_alone() -> None:
    assert ask("keras", "conv", 9, 3, 1, 2, intent="causal")[0] == (4, 0)
    with pytest.raises(AbsentError):
        ask("pytorch", "conv", 9, 3, intent="causal")


@pytest.mark.parametrize(
    ("name", "op", "window"),
    [
        ("keras", "conv", (3, 2, 2)),
        ("coreml", "convtranspose", (3, 2)),
        ("caffe", "convtranspose", (3, 2)),
        ("pytorch", "avgpool", (3, 1, 2)),
    ],
)
def test_absent(name: str, op: Op, window: tuple[int, ...]) -> None:
    with pytest.raises(AbsentError):
        ask(name, op, 9, *window)


@given(sizes, windows())
def test_nothing_is_padded_where_that_is_meant(size: int, window: Window) -> None:
    for framework in FRAMEWORKS.values():
        for op in OPS:
            try:
                answer = framework.answer("valid", Question(op, (size,), (window,)))
            except AbsentError:
                continue
            assert answer.pads == ((0, 0),)


def test_every_framework_has_a_padding_for_convolutions_and_pools() -> None:
    for framework in FRAMEWORKS.values():
        assert set(framework.by_intent) == set(INTENTS)
        assert all(framework.follows("same", op) for op in ("conv", "maxpool", "avgpool"))
        assert all(framework.follows("valid", op) for op in OPS)
