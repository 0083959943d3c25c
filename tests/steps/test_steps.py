"""One fault at a step of each command; `python -m tests.steps` tries all faults at all steps."""

import random
import sys
from pathlib import Path

import pytest

from tests.steps.commands import COMMANDS, Case
from tests.steps.injected import FAULTS, WRITES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_at_a_step(name: str, tmp_path: Path) -> None:
    case = Case(tmp_path, COMMANDS[name])
    writes = [at for at, step in enumerate(case.steps) if step in WRITES]
    # The last steps are those of writing; before them the model is read.
    step = random.Random(name).choice(writes[-9:])
    fault = FAULTS[list(COMMANDS).index(name) % len(FAULTS)]
    assert case.try_step(step, fault, again=False)


@pytest.mark.parametrize("spare", [0, 1 << 20])
def test_a_worker_without_memory(spare: int, tmp_path: Path) -> None:
    Case(tmp_path, COMMANDS["repad -o"]).try_without_memory(spare)
