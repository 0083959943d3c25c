"""A remembered method computes an answer once for each object and each question."""

import pytest

from onnxpad.process.memoise import remembered


class Asked:
    """Keeps what it computed."""

    def __init__(self) -> None:
        self.computed: list[tuple[int, ...]] = []

    @remembered
    def total(self, *numbers: int) -> int:
        """The sum."""
        self.computed.append(numbers)
        if not numbers:
            raise ValueError("nothing to add up")
        return sum(numbers)

    @remembered
    def none(self, number: int) -> None:
        self.computed.append((number,))


def test_is_computed_once_for_each_question() -> None:
    asked = Asked()
    assert [asked.total(1, 2), asked.total(1, 2), asked.total(2, 1)] == [3, 3, 3]
    assert asked.computed == [(1, 2), (2, 1)]


def test_objects_and_methods_do_not_share_answers() -> None:
    first, second = Asked(), Asked()
    first.total(1)
    second.total(1)
    first.none(1)
    assert (first.computed, second.computed) == ([(1,), (1,)], [(1,)])


def test_none_is_an_answer_and_an_error_is_not() -> None:
    asked = Asked()
    asked.none(1)
    asked.none(1)
    assert asked.computed == [(1,)]
    for _ in range(2):
        with pytest.raises(ValueError, match="nothing"):
            asked.total()
    assert asked.computed == [(1,), (), ()]


def test_it_is_still_the_method() -> None:
    assert (Asked.total.__name__, Asked.total.__doc__) == ("total", "The sum.")
    with pytest.raises(AssertionError):
        Asked().none(number=1)
