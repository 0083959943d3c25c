"""The examples in docstrings of the package give what they say."""

import doctest
import importlib
from typing import Final

import pytest

from tests.support import ROOT
from tests.test_imports import sources

EXAMPLES: Final = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sources()
    if ">>> " in path.read_text(encoding="utf-8")
)
"""Modules with examples: pytest's own search would make an item of every module of both trees."""


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 5


@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_give_what_they_say(module: str) -> None:
    told: list[str] = []
    runner = doctest.DocTestRunner()
    for case in doctest.DocTestFinder().find(importlib.import_module(module)):
        runner.run(case, out=told.append)
    assert told == []
    assert runner.tries
