"""Which conventions compute the same at other sizes, against all of them compared at each size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.explanation import explained
from onnxpad.frameworks.conventions.question import OPS, Question
from tests.strategies import examples, windows

questions = st.builds(
    lambda op, size, window: Question(op, (size,), (window,)),
    st.sampled_from(OPS),
    st.integers(1, 30),
    windows(max_stride=4),
)


def together(size: int, question: Question, names: set[str]) -> set[frozenset[str]]:
    """The groups at another size of conventions that are compared."""
    asked = Question(question.op, (size,) * len(question.sizes), question.windows)
    groups = {frozenset(each) & names for each in explained(asked).agree}
    return {frozenset(each) for each in groups if each}


@examples(0.4)
@given(questions)
def test_periods_hold_at_all_long_sizes(question: Question) -> None:
    explanation = explained(question)
    survey, names = explanation.survey, {name for each in explanation.agree for name in each}
    assert survey.period == question.windows[0].stride
    for size in range(survey.since, survey.since + 3 * survey.period):
        (agree,) = [e.agree for e in survey.periods if size % survey.period in e.remainders]
        assert together(size, question, names) == {*map(frozenset, agree)}


@examples(0.4)
@given(questions)
def test_classes_agree_here_and_at_all_long_sizes(question: Question) -> None:
    explanation = explained(question)
    groups = [explanation.agree, *(each.agree for each in explanation.survey.periods)]
    listed = [name for names in explanation.survey.classes for name in names]
    assert sorted(listed) == sorted(name for names in explanation.agree for name in names)
    place = {name: [[name in e for e in agree] for agree in groups] for name in listed}
    for names in explanation.survey.classes:
        assert all(place[name] == place[names[0]] for name in names)
    firsts = [names[0] for names in explanation.survey.classes]
    assert len({str(place[name]) for name in firsts}) == len(firsts)


def test_pytorch_parts_from_tensorflow_at_even_sizes() -> None:
    survey = explained(Question("conv", (224, 160), (Window(3, 2),) * 2)).survey
    assert [each.remainders for each in survey.periods] == [(0,), (1,)]
    pair = {"tensorflow-same", "pytorch-half"}
    agree = [any(pair <= {*names} for names in each.agree) for each in survey.periods]
    assert agree == [False, True]


def test_axes_of_other_strides_repeat_with_all_of_them() -> None:
    survey = explained(Question("conv", (8, 8), (Window(3, 2), Window(5, 3)))).survey
    assert survey.period == 6
    assert sorted(rest for each in survey.periods for rest in each.remainders) == [*range(6)]


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_a_long_window_is_surveyed(stride: int) -> None:
    assert explained(Question("conv", (5000,), (Window(512, stride, 3),))).survey.periods


def test_a_long_period_is_not() -> None:
    question = Question("conv", (9, 9), (Window(3, 4001), Window(3, 4003)))
    assert not explained(question).survey.periods
