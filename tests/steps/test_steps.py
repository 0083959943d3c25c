"""One fault at a step of each command; `python -m tests.steps` tries all faults at all steps."""

import random
import sys
from errno import EIO
from pathlib import Path

import pytest

from tests.steps.commands import COMMANDS, Case
from tests.steps.injected import FAULTS, WRITES, Fault

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there are no forks"),
    # From Python 3.13 on, a stream whose close failed fails once more when it is collected.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_at_a_step(name: str, tmp_path: Path) -> None:
    case = Case(tmp_path, COMMANDS[name])
    writes = [at for at, step in enumerate(case.steps) if step in WRITES]
    # The last steps are those of writing; before them the model is read.
    step = random.Random(name).choice(writes[-9:])
    fault = FAULTS[list(COMMANDS).index(name) % len(FAULTS)]
    assert case.try_step(step, fault, again=False)


def test_a_report_that_cannot_be_told(tmp_path: Path) -> None:
    """Neither is the result told as JSON on stdout, nor the error."""
    case = Case(tmp_path, COMMANDS["fix -o, older"])
    assert case.try_step(case.steps.index("write"), Fault("fails from then on", EIO))
