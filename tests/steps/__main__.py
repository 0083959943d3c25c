"""Tries the faults at every step of every command that writes files.

Prints for each command how many steps there are, how many faults were tried, and what was lost,
half, left behind or told wrongly.
"""

import argparse
import importlib
import pkgutil
import tempfile
import time
from pathlib import Path

import onnxpad
from tests import run_command
from tests.steps.commands import COMMANDS, Case
from tests.steps.injected import WRITES, faults_of


def main() -> int:
    """The exit code: 1 if anything is not as promised, 130 if interrupted before."""
    parser = argparse.ArgumentParser(prog="python -m tests.steps", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="one, or all that contain this")
    only = parser.parse_args().only
    named = [only] if only in COMMANDS else [name for name in COMMANDS if only in name]
    if not named:
        parser.error(f"--only fits no command; they are: {'; '.join(COMMANDS)}")
    warm()
    problems: list[str] = []
    total = stopped = 0
    try:
        for name in named:
            begun = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                case = Case(Path(folder), COMMANDS[name])
                tried, found = _try_all(case)
            problems += found
            total += tried
            writes = sum(step in WRITES for step in case.steps)
            seconds = time.monotonic() - begun
            steps = f"{len(case.steps)} steps ({writes} that write)"
            print(f"{name}: {steps}, {tried} tries, {seconds:.0f} s")
            for problem in found:
                print(f"  {problem}", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
        stopped = 130
    print(f"in all {total}, {len(problems)} problems")
    return 1 if problems else stopped or int(not total)


def warm() -> None:
    """Imports all of onnxpad and what it runs, which no fork has to do then."""
    importlib.import_module("onnxruntime")
    for module in pkgutil.walk_packages(onnxpad.__path__, "onnxpad."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _try_all(case: Case) -> tuple[int, list[str]]:
    """How many faults happened, and what was not as promised."""
    tried = 0
    problems = []
    for at, step in enumerate((*case.steps, "")):
        for fault in faults_of(step):
            tried += 1
            try:
                fired = case.try_step(at, fault)
            except AssertionError as error:
                problems.append(str(error))
            else:
                # Behind the last step nothing fails any more.
                tried -= not fired
                if fired != bool(step):
                    problems.append(f"the fault at step {at} happened: {fired}")
    return tried, problems


if __name__ == "__main__":
    run_command(main)
