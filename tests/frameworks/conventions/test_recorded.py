"""The table of conventions against what frameworks did at thousands of points.

`recorded/record_conventions.py` says what is recorded and how.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.conventions.table import CONVENTIONS, FRAMEWORKS
from tests.frameworks.conventions.recorded.record_conventions import FRAMEWORKS as RECORDED
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
    """Recorded calls that a convention describes, at the points of which all words hold."""

    convention: str
    framework: str
    call: str
    words: tuple[str, ...]

    def describes(self, point: Point) -> bool:
        """Whether it describes the call at a point."""
        return all(WORDS[word](point) for word in self.words)


def rounds(point: Point, up: bool, included: bool) -> bool:
    """Whether a pool rounds up or down, and is no average that counts padding otherwise."""
    return point.ceil_mode == up and point.include_pad in {NONE, included}


WORDS: Final[dict[str, Callable[[Point], bool]]] = {
    "half": lambda it: it.begin == (it.kernel - 1) * it.dilation // 2,
    "symmetric": lambda it: it.begin == it.end,
    "small": lambda it: it.begin <= it.kernel // 2,
    # Where no window fits in the padded line, PaddlePaddle rounds toward 0.
    "fits": lambda it: it.size + max(it.begin, 0) + max(it.end, 0) > (it.kernel - 1) * it.dilation,
    "size*stride": lambda it: it.output == it.size * it.stride,
    "whole": lambda it: it.output == it.size * it.stride + max(it.kernel - it.stride, 0),
    "down": lambda it: rounds(it, False, True),
    "up": lambda it: rounds(it, True, True),
    "down,left-out": lambda it: rounds(it, False, False),
    "up,left-out": lambda it: rounds(it, True, False),
    "unappended": lambda it: it.output_padding in {NONE, 0},
    "unasked": lambda it: it.output_padding == NONE,
    "asked": lambda it: it.output_padding != NONE,
    # PyTorch's output_padding may reach the dilation.
    "below-stride": lambda it: it.output_padding < it.stride,
    "one-of-both": lambda it: 1 in {it.stride, it.dilation},
}

# PaddlePaddle's conventions for numbers are others', where a window fits and PyTorch refuses none.
TABLE: Final = """
tensorflow-same tensorflow | conv_same maxpool_same avgpool_same
tensorflow-same tensorflow | transposed_same | size*stride
tensorflow-valid tensorflow | conv_valid maxpool_valid avgpool_valid
tensorflow-valid tensorflow | transposed_valid | whole
keras-same keras | conv_same maxpool_same avgpool_same
keras-same keras | transposed_same | unasked
keras-output-padding keras | transposed_same | asked
tensorflow-valid keras | transposed_valid | unasked
tensorflow-valid keras | conv_valid | one-of-both
tensorflow-valid keras | maxpool_valid avgpool_valid
keras-causal keras | conv_causal
tflite tflite | conv_same maxpool_same avgpool_same transposed_same
unpadded tflite | conv_valid maxpool_valid avgpool_valid | fits
tensorflow-valid tflite | transposed_valid
pytorch-same torch | conv_same
pytorch-half torch | conv | half
pytorch-half torch | transposed | half unappended
pytorch-half torch | maxpool avgpool | half down
pytorch-padding torch | maxpool avgpool | down
pytorch-ceil torch | maxpool avgpool | up
pytorch-padding torch | conv transposed
pytorch-output-padding torch | transposed
pytorch-output-padding torch | transposed_output | size*stride
paddle-same paddle | conv_same transposed_same
paddle-same paddle | maxpool_same avgpool_same | down,left-out
paddle-ceil paddle | maxpool avgpool | symmetric up,left-out
caffe paddle | conv | symmetric
pytorch-padding paddle | conv | symmetric small fits
pytorch-padding paddle | conv_valid | fits
pytorch-padding paddle | maxpool avgpool | symmetric small fits down
pytorch-padding paddle | maxpool_valid avgpool_valid | fits down
pytorch-padding paddle | transposed transposed_valid | symmetric below-stride
pytorch-output-padding paddle | transposed_output | size*stride
"""
"""A convention and a framework, the calls, and the words that hold of a point."""

ROWS: Final = [
    Row(convention, framework, call, tuple(words.split()))
    for names, calls, words in (f"{line} |".split("|")[:3] for line in TABLE.strip().splitlines())
    for convention, framework in [names.split()]
    for call in calls.split()
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
        if row.describes(point) and not (on_cpu and point.dilation > 1):
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
