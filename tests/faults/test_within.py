"""Faults planted in a running process, and how the tests of a file count by what they notice."""

import builtins
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from onnxpad import messages
from tests.faults import within
from tests.faults.draw import Fault, faults_of
from tests.faults.power import powers
from tests.support import ROOT

TEXT = """
from functools import cache

ROW = 3 < 4

class Window:
    def output(self, size: int) -> int:
        return size - 2

    def inner(self, size: int) -> list[int]:
        return [each + 1 for each in range(size) if each > 1]

def made(least):
    def above(value):
        return value > least
    return above

@cache
def half(size):
    return size // 2

def same(size):
    return size
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A module of a product of its own, imported."""
    (tmp_path / "onnxpad").mkdir()
    (tmp_path / "onnxpad" / "planted.py").write_text(TEXT)
    monkeypatch.setattr(within, "ROOT", tmp_path)
    name = "onnxpad.planted"
    space: dict[str, Any] = {"__name__": name}
    exec(compile(TEXT, str(tmp_path / "onnxpad" / "planted.py"), "exec"), space)
    monkeypatch.setitem(sys.modules, name, os)  # it is there already
    return space


def fault(new: str) -> Fault:
    """The fault that makes this line of the module."""
    (found,) = (each for each in faults_of("onnxpad/planted.py", TEXT.encode()) if each.new == new)
    return found


def test_a_method_has_the_fault(module: dict[str, Any]) -> None:
    window = module["Window"]()
    assert window.output(7) == 5
    assert within.plant(fault("return size + 2"))
    assert window.output(7) == 9
    assert module["same"](7) == 7


def test_a_comprehension_inside_has_it(module: dict[str, Any]) -> None:
    assert within.plant(fault("return [each + 1 for each in range(size) if each >= 1]"))
    assert module["Window"]().inner(4) == [2, 3, 4]


def test_a_function_made_before_has_it(module: dict[str, Any]) -> None:
    above = module["made"](3)
    assert not above(3)
    assert within.plant(fault("return value >= least"))
    assert above(3)
    assert module["made"](4)(4)


def test_what_was_kept_is_forgotten(module: dict[str, Any]) -> None:
    assert module["half"](7) == 3
    assert within.plant(fault("return size * 2"))
    assert module["half"](7) == 14


def test_what_ran_at_import_cannot_have_it(module: dict[str, Any]) -> None:
    assert not within.plant(fault("ROW = 3 <= 4"))
    assert module["ROW"] is True


@pytest.mark.skipif(hasattr(builtins, "__marks__"), reason="its code notes what is executed")
def test_a_function_of_the_product_is_found() -> None:
    path = "onnxpad/messages.py"
    first = messages.shortened.__code__.co_firstlineno
    one = next(each for each in faults_of(path, (ROOT / path).read_bytes()) if each.line > first)
    if not (pid := os.fork()):
        os._exit(0 if within.plant(one) else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_fault_is_shared_by_all_that_notice_it() -> None:
    costs = {"a.py::x": 1700.0, "a.py::y": 0.0, "b.py::z": 50.0, "c.py::dear": 999.0}
    costs |= {f"a.py::{number}": 34.0 for number in range(50)}
    noticed = [["a.py::x", "b.py::z"], ["b.py::z"], ["b.py::z", "a.py::y"], ["a.py::y"]]
    found = powers({name: min(cost, 1000.0) for name, cost in costs.items()}, noticed)
    mean = 4 / 1.75  # faults for a second of cheap tests
    assert found == {
        "a.py": pytest.approx((2 + mean * 0.3) / 2.0 / mean, rel=0.05),
        "b.py": pytest.approx((2 + mean * 0.3) / 0.35 / mean, rel=0.05),
    }
