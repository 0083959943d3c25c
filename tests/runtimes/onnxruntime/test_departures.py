"""The table of where onnxruntime departs has a row for each operator, and says what is special."""

from dataclasses import fields

from onnxpad.operators.table import CONV_TRANSPOSE, OPERATORS
from onnxpad.runtimes.onnxruntime.departures import (
    DEPARTURES,
    Departures,
    Stops,
    folding_versions,
)


def test_each_operator_has_a_row() -> None:
    assert {*DEPARTURES} == {*OPERATORS, CONV_TRANSPOSE.key}


def test_what_a_row_does_not_name_is_as_specified() -> None:
    plain = Departures(same_from={}, runs_same_from={})
    named = [getattr(plain, field.name) for field in fields(plain)]
    assert [each for each in named if each] == [Stops.NEVER]


def test_versions_that_fold() -> None:
    assert folding_versions(20) == "1.21.0 and 1.31.1"
    assert folding_versions(21) == "1.31.1 (not 1.21.0)"
