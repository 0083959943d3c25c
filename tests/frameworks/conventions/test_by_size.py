"""Where conventions part, against both of them compared at each size."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.explanation import (
    Deviation,
    ExplainReport,
    Parting,
    explained,
)
from onnxpad.frameworks.conventions.question import OPS, Question
from tests.strategies import examples, windows

questions = st.builds(
    lambda op, size, window: Question(op, (size,), (window,)),
    st.sampled_from(OPS),
    st.integers(1, 30),
    windows(max_stride=4),
)
SEEN = range(1, 60)


def together(size: int, question: Question) -> dict[str, int]:
    """The group of each convention that exists at another size."""
    agree = explained(Question(question.op, (size,), question.windows)).agree
    return {name: place for place, names in enumerate(agree) for name in names}


@examples(0.4)
@given(questions)
def test_partings_hold_at_all_sizes(question: Question) -> None:
    explanation = explained(question)
    survey = explanation.survey
    assert sorted(name for names in survey.classes for name in names) == sorted(
        name for names in explanation.agree for name in names
    )
    (stride,) = (window.stride for window in question.windows)
    groups = {size: together(size, question) for size in SEEN}
    told = {(p.first, p.second): p for p in survey.partings}
    for pair in combinations(survey.classes, 2):
        parting = told.pop(pair, None)
        same = set(range(stride)) if parting is None else set(parting.same)
        since = 30 if parting is None else parting.since
        one, other = (names[0] for names in pair)
        for size in range(since, SEEN[-1]):
            agree = groups[size].get(one, -1) == groups[size].get(other, -1)
            assert agree == (parting is not None and size % stride in same), (pair, size)
    assert not told


@examples(0.4)
@given(questions)
def test_classes_agree_at_all_long_sizes(question: Question) -> None:
    classes = explained(question).survey.classes
    for size in range(30, 50):
        groups = together(size, question)
        for names in classes:
            assert len({groups[name] for name in names}) == 1


def parting(explanation: ExplainReport, first: str, second: str) -> Parting:
    """The parting of two conventions."""
    (found,) = [
        each
        for each in explanation.survey.partings
        if first in each.first and second in each.second
    ]
    return found


def test_pytorch_parts_from_tensorflow_at_even_sizes() -> None:
    explanation = explained(Question("conv", (224, 160), (Window(3, 2),) * 2))
    found = parting(explanation, "tensorflow-same", "pytorch-half")
    assert (found.axes, found.stride, found.since) == ((0, 1), 2, 1)
    assert found.same == (1,)
    assert found.differences == (Deviation((0,), shift=-1, outputs=0),)


def test_ceil_parts_from_floor_by_an_output() -> None:
    explanation = explained(Question("maxpool", (112,), (Window(3, 2),)))
    found = parting(explanation, "pytorch-ceil", "tensorflow-valid")
    assert found.differences == (Deviation((0,), shift=0, outputs=-1),)


def test_paddles_crop_depends_on_the_input() -> None:
    explanation = explained(Question("convtranspose", (8,), (Window(3, 2),)))
    found = parting(explanation, "tensorflow-same", "paddle-same")
    assert found.same == (0,)
    assert found.differences == (Deviation((1,), shift=1, outputs=-1),)


def test_axes_of_different_windows_are_looked_at_apart() -> None:
    explanation = explained(Question("conv", (8, 8), (Window(3, 2), Window(3, 1))))
    assert {each.axes for each in explanation.survey.partings} == {(0,)}
    explanation = explained(Question("conv", (8, 8), (Window(3, 2), Window(5, 3))))
    assert {each.axes for each in explanation.survey.partings} == {(0,), (1,)}


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_a_long_stride_and_a_long_window_are_surveyed(stride: int) -> None:
    explanation = explained(Question("conv", (5000,), (Window(512, stride, 3),)))
    assert all(each.since <= 5000 for each in explanation.survey.partings)
