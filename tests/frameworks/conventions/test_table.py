"""The table of conventions, against windows that are walked and scattered element by element.

Shares no formula with what it checks: of an answer only pads, output and window are read.
"""

from collections.abc import Iterator
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.explanation import ExplainReport, explained
from onnxpad.frameworks.conventions.question import OPS, Answer, Op, Question
from onnxpad.frameworks.conventions.table import CONVENTIONS
from tests.oracles import fitting, scattered, walk
from tests.strategies import sizes, windows
from tests.support.rows import each_row

NAMED = {
    *("tensorflow-same", "tensorflow-valid", "keras-same", "pytorch-half", "pytorch-same"),
    *("onnx-same-upper", "onnx-same-lower", "caffe", "cudnn", "coreml-same"),
    *("coreml-same-top-left", "tflite", "paddle-same", "keras-causal", "pytorch-ceil"),
    *("caffe-ceil", "paddle-ceil"),
}
CEIL = {"pytorch-ceil", "caffe-ceil", "paddle-ceil"}


def questions(*ops: Op) -> st.SearchStrategy[Question]:
    """Questions about one axis."""
    return st.builds(
        lambda op, size, window: Question(op, (size,), (window,)),
        st.sampled_from(ops or OPS),
        sizes,
        windows(),
    )


def answers(explanation: ExplainReport) -> Iterator[tuple[str, Answer]]:
    """The conventions that exist, with what they do."""
    for names in explanation.agree:
        for name in names:
            yield name, explanation.answer(name)


def reads(op: Op, answer: Answer) -> list[Any]:
    """What each output of one axis is computed from, as data."""
    (axis,) = answer.axes
    if op == "convtranspose":
        units = []
        for place in range(axis.size):
            line = [float(n == place) for n in range(axis.size)]
            weights = [2.0**tap for tap in range(axis.window.kernel)]
            full = scattered(line, weights, axis.window) + [0.0] * axis.output_padding
            units.append(full[axis.begin : axis.begin + axis.output])
        return list(zip(*units, strict=True))
    found: list[Any] = []
    for taps in walk(axis.window, axis.begin, axis.output):
        real = [(tap, n) for tap, n in enumerate(taps) if 0 <= n < axis.size]
        padded = range(-axis.begin, axis.size + axis.end)
        divisor = sum(n in padded for n in taps) if answer.counts else len(real)
        if op == "conv":
            found.append(real)
        else:
            elements = [n for _, n in real]
            found.append((elements, divisor) if op == "avgpool" and real else elements)
    return found


def test_the_names_are_those_promised() -> None:
    assert set(CONVENTIONS) >= NAMED
    assert all(row.source and row.rules for row in CONVENTIONS.values())
    assert set(get_args(Op)) == set(OPS)


@given(questions())
def test_pads_and_output_fit_together(question: Question) -> None:
    """Windows fit the padded line, one more where a pool rounds up; crops leave the output."""
    (size,), op = question.sizes, question.op
    for name, answer in answers(explained(question)):
        (axis,) = answer.axes
        assert min(axis.begin, axis.end, axis.output_padding) >= 0
        assert axis.output >= 1
        if op == "convtranspose":
            full = len(scattered([1.0] * size, [1.0] * axis.window.kernel, axis.window))
            assert axis.output == full + axis.output_padding - axis.begin - axis.end, name
            continue
        fit = len(fitting(size, axis.window, axis.begin, axis.end))
        clipped = name == "caffe" and op == "conv"  # rounds toward 0
        rounds_up = op != "conv" and name in {*CEIL, "caffe"}
        assert fit <= axis.output <= fit + (rounds_up or (clipped and not fit)), name


@given(questions())
def test_groups_are_those_that_compute_the_same(question: Question) -> None:
    explanation = explained(question)
    op, agree = question.op, explanation.agree
    found = [(names, reads(op, explanation.answer(names[0]))) for names in agree]
    for names, read in found:
        for name in names:
            assert reads(op, explanation.answer(name)) == read, (names[0], name)
    for place, (names, read) in enumerate(found):
        for others, different in found[:place]:
            gaps = op == "convtranspose" and not any(map(any, read))  # nothing is kept
            assert read != different or gaps, (names, others)


@given(questions("conv", "maxpool", "avgpool"))
def test_same_gives_every_strideth_output(question: Question) -> None:
    outputs = len(range(0, question.sizes[0], question.windows[0].stride))
    for name, answer in answers(explained(question)):
        if name.endswith(("-same", "-upper", "-lower", "-top-left")) or name == "tflite":
            assert answer.output == (outputs,), name


@given(questions("convtranspose"))
def test_transposed_same_gives_size_times_stride(question: Question) -> None:
    wanted = question.sizes[0] * question.windows[0].stride
    reaching = {"tensorflow-same", "keras-same", "tflite", "keras-output-padding"}
    reaching |= {"pytorch-output-padding", "onnx-output-shape", "tensorflow-crop"}
    for name, answer in answers(explained(question)):
        if name in reaching:
            assert answer.output == (wanted,), name


@given(questions(), questions())
def test_axes_are_independent(one: Question, other: Question) -> None:
    """Except for what frameworks refuse, and Caffe's drop of a window in any padded layer."""
    both = Question(one.op, one.sizes + other.sizes, one.windows + other.windows)
    alone = (explained(one), explained(Question(one.op, other.sizes, other.windows)))
    for name, answer in answers(explained(both)):
        assert answer.axes == tuple(each.answer(name).axes[0] for each in alone), name


@each_row(
    ("question", "name"),
    [
        (Question("conv", (9,), (Window(3, 2),)), "pytorch-same"),
        (Question("conv", (9, 9), (Window(3),) * 2), "keras-causal"),
        (Question("conv", (9,), (Window(3, 2, 2),)), "keras-same"),
        (Question("maxpool", (9,), (Window(3, 1, 2),)), "tensorflow-same"),
        (Question("conv", (9,), (Window(3, 2, 2),)), "keras-causal"),
        (Question("conv", (9, 9), (Window(3, 2), Window(3, 1, 2))), "keras-same"),
        (Question("conv", (2,), (Window(3),)), "tensorflow-valid"),
        (Question("maxpool", (9,), (Window(3, 1, 2),)), "keras-same"),
        (
            Question("maxpool", (9,), (Window(3, 1, 2),)),
            "pytorch-half",
        ),
        (Question("avgpool", (9,), (Window(3, 1, 2),)), "pytorch-ceil"),
        (
            Question("maxpool", (9,), (Window(3),), (2,)),
            "pytorch-ceil",
        ),
        (Question("maxpool", (9,), (Window(3),), (3,)), "caffe-ceil"),
        (Question("convtranspose", (9,), (Window(4, 2),)), "keras-output-padding"),
        (
            Question("convtranspose", (9,), (Window(3, 2),), None, (2,)),
            "pytorch-output-padding",
        ),
    ],
)
def test_a_convention_that_does_not_exist_says_why(question: Question, name: str) -> None:
    explanation = explained(question)
    assert explanation.conventions[name] is None


def test_conventions_of_other_operators_are_none() -> None:
    explanation = explained(Question("conv", (9,), (Window(3),)))
    assert explanation.conventions["caffe-ceil"] is None
    assert "caffe-ceil" not in explanation.refused
    assert explanation.refused["pytorch-padding"] == "the padding is not given"


@given(questions(), st.integers(0, 3))
def test_a_padding_of_the_user_is_pytorchs(question: Question, padding: int) -> None:
    asked = Question(question.op, question.sizes, question.windows, (padding,))
    explanation = explained(asked)
    assert set(explanation.conventions) == {*CONVENTIONS, "pytorch-padding"}
    for name in ("pytorch-padding", "cudnn"):
        if (answer := explanation.conventions[name]) is not None:
            assert answer.pads == ((padding, padding),)
    half = explained(question).conventions["pytorch-half"]
    assert explanation.conventions["pytorch-half"] == half
