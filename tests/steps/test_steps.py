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


@pytest.mark.parametrize(
    ("name", "step", "fault"),
    [
        # The temporary folder of a question to onnxruntime, which the worker removes then.
        pytest.param("fix, validated", "unlink", Fault("dies"), id="a process that dies"),
        # Neither is the result told as JSON on stdout, nor the error.
        pytest.param("fix -o, older", "write", Fault("fails from then on", EIO), id="no stdout"),
    ],
)
def test_what_is_not_a_file_of_the_result(
    name: str, step: str, fault: Fault, tmp_path: Path
) -> None:
    case = Case(tmp_path, COMMANDS[name])
    assert case.try_step(case.steps.index(step), fault)


def test_a_worker_without_memory(tmp_path: Path) -> None:
    case = Case(tmp_path, COMMANDS["fix, validated"])
    for spare in (0, 1 << 20):
        case.try_without_memory(spare)
