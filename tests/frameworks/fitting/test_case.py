"""What decides which conventions padding fits: windows at sizes, and what is made of them."""

from typing import Any

import pytest

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import Op
from onnxpad.frameworks.fitting.case import Case
from onnxpad.padding.padding import Padding
from onnxpad.semantics.layers import Pairs
from tests.support.rows import each_row


def crop(pads: Pairs, output_padding: tuple[int, ...]) -> Padding:
    """That of a transposed convolution."""
    return Padding(pads, output_padding=output_padding)


def output(op: Op, size: int, window: Window, padding: Padding) -> int | None:
    """The windows on one axis; None where there is none."""
    (answer,) = Case(op, (window,), ((size,),), padding).answers
    return None if answer is None else answer.output[0]


FAST = Window(3, 2)


@each_row(
    ("op", "size", "window", "padding", "count"),
    [
        ("conv", 6, FAST, Padding(((0, 0),)), 2),
        ("conv", 6, FAST, Padding(((0, 1),)), 3),
        ("conv", 3, FAST, Padding(((0, 0),)), 1),
        pytest.param("conv", 2, FAST, Padding(((0, 0),)), None, id="no window of a conv"),
        pytest.param("maxpool", 2, FAST, Padding(((0, 0),)), 1, id="a pool has one of a part"),
        ("maxpool", 1, FAST, Padding(((0, 0),)), None),
        ("maxpool", 6, FAST, Padding(((0, 0),)), 2),
        ("maxpool", 6, FAST, Padding(((0, 0),), ceil=True), 3),
        ("avgpool", 7, FAST, Padding(((0, 0),), ceil=True), 3),
        ("conv", 6, FAST, Padding(((0, 0),), ceil=True), 2),
        ("conv", 6, FAST, Padding(None), 3),
        ("convtranspose", 4, FAST, Padding(((0, 0),)), 9),
        ("convtranspose", 4, FAST, crop(((1, 2),), (1,)), 7),
        ("convtranspose", 1, FAST, Padding(((1, 2),)), None),
        ("convtranspose", 1, FAST, Padding(((1, 1),)), 1),
    ],
)
def test_the_windows_of_a_choice(
    op: Op, size: int, window: Window, padding: Padding, count: int | None
) -> None:
    assert output(op, size, window, padding) == count


BOTH = ((1, 1),)


@each_row(
    ("framework", "op", "window", "padding", "sizes", "fit"),
    [
        ("tensorflow", "conv", FAST, Padding(BOTH), (8, 9), ("sometimes", None, (1,))),
        ("tensorflow", "conv", FAST, Padding(BOTH), (8,), ("never", ((0, 1),), ())),
        ("tensorflow", "conv", FAST, Padding(BOTH), (9,), ("always", None, ())),
        ("pytorch", "conv", FAST, Padding(((0, 1),)), (8,), ("never", BOTH, ())),
        ("pytorch", "conv", FAST, Padding(((0, 1),)), (8, 10), ("never", BOTH, ())),
        ("pytorch", "conv", FAST, Padding(((3, 3),)), (8,), ("always", None, ())),
        ("tensorflow", "conv", FAST, Padding(((3, 3),)), (8,), ("never", ((0, 1),), ())),
        ("caffe", "maxpool", FAST, Padding(BOTH), (8,), ("never", BOTH, ())),
        ("caffe", "maxpool", FAST, Padding(BOTH, ceil=True), (8,), ("always", None, ())),
        ("pytorch", "maxpool", Window(2, 2), Padding(((1, 0),)), (8,), ("never", ((0, 0),), ())),
        ("pytorch", "maxpool", Window(4, 2), Padding(((0, 1),), ceil=True), (8,),
         ("never", BOTH, ())),
        ("pytorch", "avgpool", Window(3), Padding(BOTH, counted=True), (9,), ("always", None, ())),
        ("caffe", "avgpool", Window(3), Padding(BOTH), (9,), ("never", BOTH, ())),
        ("keras", "conv", Window(3), Padding(((2, 0),)), (9,), ("always", None, ())),
        ("pytorch", "conv", Window(3), Padding(((2, 0),)), (9,), ("never", BOTH, ())),
        ("pytorch", "conv", FAST, Padding(((0, 0),)), (8,), ("always", None, ())),
        ("pytorch", "convtranspose", FAST, crop(((1, 0),), (0,)), (4,), ("always", None, ())),
        ("pytorch", "convtranspose", FAST, crop(((0, 1),), (0,)), (4,),
         ("never", BOTH, ())),
    ],
)  # fmt: skip
def test_whether_a_framework_fits(
    framework: str,
    op: Op,
    window: Window,
    padding: Padding,
    sizes: tuple[int, ...],
    fit: tuple[str, object, tuple[int, ...]],
) -> None:
    found = Case(op, (window,), (sizes,), padding).fit(framework)
    assert (found.holds, found.pads, found.same_at) == fit


@pytest.mark.parametrize(
    ("op", "window", "padding", "sizes", "fits"),
    [
        ("conv", FAST, Padding(((0, 0),)), (8,), ""),
        ("conv", FAST, Padding(((0, 1),)), (8,),
         "tensorflow keras tflite paddle coreml onnx-same-upper"),
        ("conv", FAST, Padding(BOTH), (8,),
         "pytorch caffe cudnn paddle coreml-top-left onnx-same-lower"),
        ("conv", FAST, Padding(((0, 1),)), (8, 9), ""),
        ("maxpool", FAST, Padding(((0, 1),), ceil=True), (8,),
         "tensorflow keras tflite pytorch caffe paddle coreml onnx-same-upper"),
    ],
)  # fmt: skip
def test_the_frameworks_that_fit(
    op: Any, window: Window, padding: Padding, sizes: tuple[int, ...], fits: str
) -> None:
    assert " ".join(Case(op, (window,), (sizes,), padding).fits) == fits


def test_each_axis_has_each_of_its_samples() -> None:
    case = Case("conv", (FAST, Window(3, 3)), ((8, 9), (9, 10, 11)), Padding((*BOTH, *BOTH)))
    assert [each.sizes for each in case.questions] == [(8, 9), (9, 10), (8, 11)]
    assert case.fit("tensorflow").same_at == ()
