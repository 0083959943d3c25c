"""Planted faults are found wherever they stand, and no model differs from itself."""

from itertools import islice
from pathlib import Path

import pytest

import onnxpad
from tests.support import EXPORTED, FEW, REFUSED
from tests.validation.planted import Planted, by_turns, of_drawn, of_models

SMALL = [*by_turns([*of_drawn()], seed=0)]
BY_DAY = 14


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(each, id=each.name, marks=pytest.mark.night if at >= BY_DAY else ())
        for at, each in enumerate(SMALL)
    ],
)
def test_a_fault_in_a_small_model_is_found(planted: Planted) -> None:
    assert planted.judged() in ("found", "no fault")


@pytest.mark.night
def test_a_hundred_faults_in_models_are_found() -> None:
    judged = ((each.name, each.judged()) for each in by_turns([*of_models()], seed=0))
    planted = [*islice((each for each in judged if each[1] != "no fault"), 100)]
    assert len(planted) == 100
    assert [each for each in planted if each[1] != "found"] == []


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=() if path in FEW else pytest.mark.night)
        for path in EXPORTED
    ],
)
def test_a_model_agrees_with_itself(path: Path) -> None:
    assert onnxpad.validate(path, path).ok is (path.stem not in REFUSED)
