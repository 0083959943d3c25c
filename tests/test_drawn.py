"""What is said of all that was drawn is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests`.
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.arithmetic import drawn_formulas
from tests.frameworks import cases as frameworks
from tests.inventory import drawn_sites
from tests.older import gap_of
from tests.proof import pairs
from tests.prove import pairs as proved
from tests.report import answers
from tests.runtimes.onnxruntime import drawn
from tests.validation import arrays, drawn_inputs, drawn_verdicts

AT_ONCE: Final = 8
HERE: Final = "tests/test_drawn.py::test_what_is_said"
KEPT: Final[tuple[Any, ...]] = (
    drawn_formulas,
    frameworks,
    drawn_sites,
    pairs,
    proved,
    answers,
    drawn,
    arrays,
    drawn_inputs,
    drawn_verdicts,
)


def several() -> Iterator[Any]:
    """Modules, each with some of its lines."""
    for module in KEPT:
        name = module.__name__.removeprefix("tests.")
        lines = [line for line in module.LINES.kept() if not gap_of(f"{HERE}[{name}: {line}]")]
        for place in range(0, len(lines), AT_ONCE):
            part = lines[place : place + AT_ONCE]
            yield pytest.param(module, part, id=f"{name}, from {place}")


@pytest.mark.parametrize(("module", "lines"), [*several()])
def test_what_is_said(module: Any, lines: list[str]) -> None:
    assert [module.said(line) for line in lines] == lines
