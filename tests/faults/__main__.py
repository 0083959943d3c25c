"""Plants faults in a copy of the product: `python -m tests.faults --sample 40 --seed 1`.

One at a time; prints each with the test that kills it, or that it survived. Those that are asked
are the tests nearest to the fault, those of the fast tier (unless `--tier near`), and with `--then
whole` all.
"""

import argparse
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tests import duration, natural, run_command
from tests.faults.draw import Fault, product, sample
from tests.support import ROOT

TIERS: Final = {"near": (), "fast": ("-m", "not slow"), "whole": ()}
"""What pytest is told to run a tier; `near` is only what is nearest to the fault."""
READ_THE_TEXT: Final = (
    "tests/mutants/test_mutants.py::test_what_is_wrong_is_noticed",
    "tests/mutants/test_mutants.py::test_each_mutant_finds_what_it_breaks",
    "tests/mutants/test_mutants.py::test_what_changes_nothing_is_accepted",
)
"""Tests that fail at any edit of some functions, for they replace a text in them: left out."""
NEAR: Final = Path(__file__).with_name("near.txt")
"""How the paths of parts of the product begin, each with tests that ask it through another part."""
_NONE: Final = (4, 5)  # pytest's exit codes where a test that is asked for is not there, or not run
_DATA: Final = 8 << 30  # bytes that a process may take, for a fault that never stops taking more


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--sample", type=natural, default=40, metavar="N", help="how many to draw")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--only", metavar="GLOB", default="*", help="draw from these files alone")
    parser.add_argument(
        "--faults", nargs="+", metavar="FILE:LINE", help="no sample: all that stand there"
    )
    parser.add_argument("--tier", choices=TIERS, default="fast", help="the tests that must notice")
    parser.add_argument("--then", choices=["whole"], help="what survives is shown to these too")
    parser.add_argument("--jobs", type=natural, default=2, help="processes at a time")
    parser.add_argument("--limit", type=duration, default=600, help="seconds for a run  [600]")
    parser.add_argument("--list", action="store_true", help="only print the faults")
    options = parser.parse_args(arguments)
    faults = [each for each in product(ROOT) if fnmatch.fnmatch(each.path, options.only)]
    if options.faults:
        faults = [each for each in faults if f"{each.path}:{each.line}" in options.faults]
    else:
        faults = sample(faults, options.sample, options.seed)
    if not faults:
        parser.error("no fault can stand there: paths are those of the checkout")
    if options.list:
        print(*faults, sep="\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy = Copy(ROOT, Path(folder), options.jobs, options.limit)
        if options.tier != "near" and (failed := copy.killer(options.tier)):
            sys.exit(f"the {options.tier} tier fails without a fault: {failed}")
        killed = 0
        for fault in faults:
            with copy.with_fault(fault):
                found = copy.noticed(fault, [options.tier, options.then])
            killed += bool(found)
            print(f"{fault}\n    {f'killed by {found}' if found else 'SURVIVED'}", flush=True)
    print(f"{killed} of {len(faults)} faults killed (seed {options.seed})")
    return 0


class Copy:
    """A copy of a checkout, whose product is imported by the tests that run in it."""

    def __init__(self, source: Path, folder: Path, jobs: int, limit: float) -> None:
        self.root, self.jobs, self.limit = folder / "tree", jobs, limit
        ignored = source / ".gitignore"  # what is made: environments, caches
        names = ignored.read_text(encoding="utf-8").split() if ignored.exists() else []
        unwanted = shutil.ignore_patterns(".git", *(name.strip("/") for name in names))
        shutil.copytree(source, self.root, symlinks=True, ignore=unwanted)
        # Without kept bytecode: Python takes a file of the same size and second for the same.
        own = {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        own["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        self.environment = {k: v for k, v in os.environ.items() if "PYTEST" not in k} | own
        code = "from importlib.util import find_spec; print(find_spec('onnxpad').origin)"
        found = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder, env=self.environment, capture_output=True, text=True, check=False,
        ).stdout.strip()  # fmt: skip
        if not Path(found).resolve().is_relative_to(self.root.resolve()):
            raise RuntimeError(f"another product would be tested: {found}")

    @contextmanager
    def with_fault(self, fault: Fault) -> Iterator[None]:
        """The copy has the fault for as long as this lasts."""
        path = self.root / fault.path
        data = path.read_bytes()
        try:
            path.write_bytes(fault.planted(data))
            yield
        finally:
            path.write_bytes(data)

    def noticed(self, fault: Fault, tiers: Sequence[str | None]) -> str:
        """The first test that notices a fault: of those nearest to it, then of the tiers."""
        near = nearest(self.root, fault)
        turns = [("near", near)] if near else []
        turns += [(tier, []) for tier in tiers if tier and tier != "near"]
        return next(filter(None, (self.killer(tier, where) for tier, where in turns)), "")

    def killer(self, tier: str, where: Sequence[str] = ()) -> str:
        """The test that fails, or what else ends the tests of a tier; empty if all pass."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "--no-header"]
        command += ["-p", "no:cacheprovider", "-n", str(self.jobs), "--dist", "loadfile"]
        command += [*TIERS[tier], *(f"--deselect={test}" for test in READ_THE_TEXT), *where]
        with tempfile.TemporaryFile() as printed:
            process = subprocess.Popen(
                command, cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=bounded,
            )  # fmt: skip
            code: int | None = None
            try:
                with suppress(subprocess.TimeoutExpired):
                    code = process.wait(self.limit)
            finally:  # workers too, and after an interrupt
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            printed.seek(0)
            told = printed.read().decode(errors="replace")
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", told, re.MULTILINE)
        if code == 0 or (code in _NONE and where and not failed):
            return ""
        return failed[1] if failed else f"pytest's exit code {code}" if code else "the time limit"


def nearest(root: Path, fault: Fault) -> list[str]:
    """The tests about a fault's file, those of the folder that mirrors its own, and others."""
    path = Path(fault.path)
    mirror = Path("tests", *path.parent.parts[path.parts[0] == "onnxpad" :])
    about = mirror / f"test_{path.stem}.py"
    inside = (each for each in (mirror, *mirror.parents) if each.parent != Path())
    folder = next((each for each in inside if (root / each).exists()), about)
    told = (line.split() for line in NEAR.read_text(encoding="utf-8").splitlines())
    beside = [Path(each) for start, *some in told if fault.path.startswith(start) for each in some]
    every = dict.fromkeys([about, folder, *beside])
    return [each.as_posix() for each in every if (root / each).exists()]


def bounded() -> None:
    """Ends a fault that takes ever more memory, with an error, before the machine does."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (_DATA, _DATA))


if __name__ == "__main__":
    run_command(main)
