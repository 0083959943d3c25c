"""The catalogue of conventions against what frameworks did at thousands of points."""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from onnxpad.arithmetic.window import Window
from onnxpad.conventions.named import CONVENTIONS, PYTORCH_PADDING, AbsentError
from onnxpad.conventions.question import Answer, Op, Question
from tests.arithmetic.recorded.record_conventions import NONE, Found, Point, reads, recorded
from tests.oracles import walk

OPERATORS: Final[dict[str, Op]] = {
    "conv": "conv",
    "maxpool": "maxpool",
    "avgpool": "avgpool",
    "transposed": "convtranspose",
}


class Row(NamedTuple):
    """Recorded calls that a convention of the catalogue describes.

    Attributes:
        convention: Its name.
        framework: The framework of which the calls are recorded.
        call: The call.
        where: The points of the call that it describes.
    """

    convention: str
    framework: str
    call: str
    where: Callable[[Point], bool] = lambda _: True


def is_half(point: Point) -> bool:
    return point.begin == (point.kernel - 1) * point.dilation // 2


def is_symmetric(point: Point) -> bool:
    return point.begin == point.end


def reaches_same(point: Point) -> bool:
    return point.output == point.size * point.stride


def rounds(point: Point, up: bool, included: bool) -> bool:
    """Whether a pool rounds up or down, and is no average that counts padding otherwise."""
    return point.ceil_mode == up and point.include_pad in {NONE, included}


def down(point: Point) -> bool:
    return rounds(point, False, True)


ROWS: Final = [
    *(
        Row(convention, framework, f"{op}_{padding}")
        for convention, framework, padding in (
            ("tensorflow-same", "tensorflow", "same"),
            ("tensorflow-valid", "tensorflow", "valid"),
            ("keras-same", "keras", "same"),
            ("tflite", "tflite", "same"),
        )
        for op in ("conv", "maxpool", "avgpool")
    ),
    Row("tensorflow-same", "tensorflow", "transposed_same", reaches_same),
    Row("keras-same", "keras", "transposed_same", lambda it: it.output_padding == NONE),
    Row("keras-output-padding", "keras", "transposed_same", lambda it: it.output_padding != NONE),
    Row("tensorflow-valid", "keras", "transposed_valid", lambda it: it.output_padding == NONE),
    Row("tensorflow-valid", "keras", "conv_valid", lambda it: it.stride == 1 or it.dilation == 1),
    Row("tensorflow-valid", "keras", "maxpool_valid"),
    Row("tensorflow-valid", "keras", "avgpool_valid"),
    Row("keras-causal", "keras", "conv_causal"),
    Row("tflite", "tflite", "transposed_same"),
    Row("paddle-same", "paddle", "conv_same"),
    Row("paddle-same", "paddle", "maxpool_same", lambda it: rounds(it, False, False)),
    Row("paddle-same", "paddle", "avgpool_same", lambda it: rounds(it, False, False)),
    Row("paddle-same", "paddle", "transposed_same"),
    *(
        Row("paddle-ceil", "paddle", op, lambda it: is_symmetric(it) and rounds(it, True, False))
        for op in ("maxpool", "avgpool")
    ),
    Row("pytorch-same", "torch", "conv_same"),
    Row("pytorch-half", "torch", "conv", is_half),
    Row("pytorch-half", "torch", "transposed", lambda it: is_half(it) and it.output_padding == 0),
    *(
        Row(convention, "torch", op, where)
        for op in ("maxpool", "avgpool")
        for convention, where in (
            ("pytorch-half", lambda it: is_half(it) and down(it)),
            ("pytorch-padding", down),
            ("pytorch-ceil", lambda it: rounds(it, True, True)),
        )
    ),
    Row("pytorch-padding", "torch", "conv"),
    Row("pytorch-padding", "torch", "transposed"),
    Row("pytorch-output-padding", "torch", "transposed"),
]


def answer(row: Row, point: Point) -> Answer | None:
    """What the catalogue says; None where the convention does not exist."""
    window = Window(point.kernel, point.stride, point.dilation)
    op = OPERATORS[row.call.partition("_")[0]]
    given: Any = [None if it == NONE else (it,) for it in (point.begin, point.output_padding)]
    catalogue = {**CONVENTIONS, PYTORCH_PADDING.name: PYTORCH_PADDING}
    try:
        return catalogue[row.convention].answer(Question(op, (point.size,), (window,), *given))
    except AbsentError:
        return None


def described(row: Row) -> Iterator[tuple[Point, Found, list[int]]]:
    """The recorded points of a row, without what only a CPU refuses."""
    for case in recorded(row.framework)[row.call]:
        point = case[0]
        on_cpu = row.framework == "keras" and row.call.startswith("transposed")
        if row.where(point) and not (on_cpu and point.dilation > 1):
            yield case


def divisors(point: Point, found: Answer) -> list[int]:
    """By how much each output of an average divides."""
    (axis,) = found.axes
    counted = (-axis.begin, axis.size + axis.end) if found.counts else (0, axis.size)
    windows = walk(axis.window, axis.begin, axis.output)
    return [
        len(set(window) & set(range(*counted))) if set(window) & set(range(axis.size)) else 0
        for window in windows
    ]


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.convention}-{row.framework}-{row.call}"
)
def test_a_convention_does_what_was_recorded(row: Row) -> None:
    cases = list(described(row))
    assert len(cases) >= 200
    for point, found, divided in cases:
        said = answer(row, point)
        assert (said is not None) == (found.output > 0), point
        if said is None:
            continue
        (axis,) = said.axes
        says = Found(axis.output, axis.begin, axis.window.dilation)
        assert axis.output == found.output, point
        if found.begin == NONE:
            assert not reads(row.call, point, says).any(), point
        elif says != found:
            assert (reads(row.call, point, says) == reads(row.call, point, found)).all(), point
        if row.call.startswith("avgpool"):
            assert divisors(point, said) == divided[: axis.output], point
