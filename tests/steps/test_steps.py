"""Two faults at steps of each command; `python -m tests.steps` tries all faults at all steps."""

import random
import sys
from pathlib import Path

import pytest

from tests.steps.commands import COMMANDS, Case
from tests.steps.injected import FAULTS, WRITES, Fault

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_keeps_all_at_a_step(name: str, tmp_path: Path) -> None:
    case = Case(tmp_path, COMMANDS[name])
    writes = [at for at, step in enumerate(case.steps) if step in WRITES]
    chosen = random.Random(name)
    error = chosen.choice([each for each in FAULTS if each.code])
    for fault in (error, Fault(chosen.choice(["dies", "dies halfway"]))):
        # Steps before the first file is open for writing change nothing.
        assert case.try_step(chosen.choice(writes[-8:]), fault, again=False)
