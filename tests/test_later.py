"""What takes long is worked out once: facts when they are read, methods for each question."""

import json
from collections.abc import Mapping

import pytest

import onnxpad
from onnxpad.arithmetic import residue_table as residues
from onnxpad.arithmetic.residue_table import residue_table
from onnxpad.arithmetic.size import Extent
from onnxpad.later import Facts, Later, remembered
from tests.rewrite.test_advice import COMPUTED, net


def test_a_fact_is_worked_out_once() -> None:
    asked: list[str] = []

    def ask() -> list[int]:
        asked.append("asked")
        return [1]

    facts = Facts({"a": 1, "b": Later(ask)})
    more = Facts(facts, c=3)
    assert list(more) == ["a", "b", "c"]
    assert "b" in more
    assert len(more) == 3
    assert not asked
    assert more["b"] == [1]
    assert facts["b"] is more["b"]
    assert asked == ["asked"]
    assert facts == {"a": 1, "b": [1]}
    assert json.dumps(dict(more)) == '{"a": 1, "b": [1], "c": 3}'
    assert repr(facts) == "Facts({'a': 1, 'b': [1]})"
    with pytest.raises(KeyError):
        facts["d"]


def test_tables_by_remainder_are_made_for_whoever_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables: list[dict[str, object] | None] = []

    def counted(extents: Mapping[str, Extent], size: Extent) -> dict[str, object] | None:
        tables.append(residue_table(extents, size))
        return tables[-1]

    monkeypatch.setattr(residues, "residue_table", counted)
    written = onnxpad.fix(net(COMPUTED), validate=False, dynamic="auto-pad")
    assert str(written)
    assert not tables
    (change,) = written.changes
    axes = change.certificate.facts["axes"]
    assert isinstance(axes, list)
    assert all(axis["cases"]["rows"] for axis in axes)
    assert len(tables) == len(axes)


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


def test_a_method_is_computed_once_for_each_question() -> None:
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


def test_a_remembered_method_is_still_the_method() -> None:
    assert (Asked.total.__name__, Asked.total.__doc__) == ("total", "The sum.")
    with pytest.raises(AssertionError):
        Asked().none(number=1)
