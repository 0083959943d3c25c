"""The table of conventions against what frameworks did at thousands of points.

`recorded/record_conventions.py` says what is recorded and how.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.conventions.table import (
    CONVENTIONS,
    FRAMEWORKS,
)
from tests.frameworks.conventions.recorded.record_conventions import (
    FRAMEWORKS as RECORDED,
)
from tests.frameworks.conventions.recorded.record_conventions import (
    NONE,
    Found,
    Point,
    observe,
    reads,
    recorded,
)
from tests.oracles import walk
from tests.support.rows import one_in

OPERATORS: Final[dict[str, Op]] = {
    "conv": "conv",
    "maxpool": "maxpool",
    "avgpool": "avgpool",
    "transposed": "convtranspose",
}


class Row(NamedTuple):
    """Recorded calls that a convention of the table describes.

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


def fits(point: Point) -> bool:
    """Whether a window fits in the padded line: otherwise PaddlePaddle rounds toward 0."""
    pads = 0 if point.begin == NONE else point.begin + point.end
    return point.size + pads > (point.kernel - 1) * point.dilation


def by_one_number(point: Point) -> bool:
    """Whether both ends have one number, of at most half the kernel, and a window fits."""
    return is_symmetric(point) and point.begin <= point.kernel // 2 and fits(point)


def appends_below_stride(point: Point) -> bool:
    """Whether PaddlePaddle admits an output_padding, too: PyTorch's may reach the dilation."""
    return is_symmetric(point) and point.output_padding < point.stride


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
    Row("pytorch-output-padding", "torch", "transposed_output", reaches_same),
    # Its conventions for numbers are those of others, where a window fits and PyTorch refuses none.
    Row("caffe", "paddle", "conv", is_symmetric),
    Row("pytorch-padding", "paddle", "conv", by_one_number),
    Row("pytorch-padding", "paddle", "conv_valid", fits),
    *(
        Row("pytorch-padding", "paddle", op, lambda it: by_one_number(it) and down(it))
        for op in ("maxpool", "avgpool")
    ),
    *(
        Row("pytorch-padding", "paddle", f"{op}_valid", lambda it: fits(it) and down(it))
        for op in ("maxpool", "avgpool")
    ),
    Row("pytorch-padding", "paddle", "transposed", appends_below_stride),
    Row("pytorch-padding", "paddle", "transposed_valid", appends_below_stride),
    Row("pytorch-output-padding", "paddle", "transposed_output", reaches_same),
    *(Row("unpadded", "tflite", f"{op}_valid", fits) for op in ("conv", "maxpool", "avgpool")),
    Row("tensorflow-valid", "tflite", "transposed_valid"),
    Row(
        *("tensorflow-valid", "tensorflow", "transposed_valid"),
        lambda it: it.output == it.size * it.stride + max(it.kernel - it.stride, 0),
    ),
]

UNDESCRIBED: Final = {("tensorflow", "conv")}
"""Calls with pads that a user gives for both ends, which are no framework's convention."""


def answer(row: Row, point: Point) -> Answer | None:
    """What the table says; None where the convention does not exist."""
    window = Window(point.kernel, point.stride, point.dilation)
    op = OPERATORS[row.call.partition("_")[0]]
    pad = 0 if point.begin == NONE and "valid" in row.call else point.begin
    given: Any = [None if it == NONE else (it,) for it in (pad, point.output_padding)]
    (unpadded,) = FRAMEWORKS["valid"].by_intent["valid"]
    table = {**CONVENTIONS, unpadded.name: unpadded}
    found = table[row.convention].asked(Question(op, (point.size,), (window,), *given))
    return None if isinstance(found, str) else found


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
    "row", one_in(3, zip(ROWS)), ids=lambda row: f"{row.convention}-{row.framework}-{row.call}"
)
def test_a_convention_does_what_was_recorded(row: Row) -> None:
    cases = list(described(row))
    assert len(cases) >= 150
    for point, found, divided in cases:
        said = answer(row, point)
        assert (said is not None) == (found.output > 0), point
        if said is None:
            continue
        (axis,) = said.axes
        says = Found(axis.output, axis.begin, axis.window.dilation)
        assert axis.output == found.output, point
        if row.call.startswith("transposed"):
            full = (point.size - 1) * point.stride + axis.window.extent
            assert axis.output == full - axis.begin - axis.end + axis.output_padding, point
        if found.begin == NONE:
            assert not reads(row.call, point, says).any(), point
        elif says != found:
            assert (reads(row.call, point, says) == reads(row.call, point, found)).all(), point
        if row.call.startswith("avgpool"):
            assert divisors(point, said) == divided[: axis.output], point


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
    _, calls = RECORDED[framework]()
    for call, (_, run) in calls.items():
        for point, found, divisors in recorded(framework)[call][::97]:
            again, divided = observe(call, point, run)
            assert again == found, (call, point)
            assert divided == divisors[: len(divided)], (call, point)


@pytest.mark.parametrize("framework", RECORDED)
def test_no_recorded_call_is_left_out(framework: str) -> None:
    described = {(row.framework, row.call) for row in ROWS} | UNDESCRIBED
    assert {(framework, call) for call in recorded(framework)} <= described
    assert sum(map(len, recorded(framework).values())) >= 4000
