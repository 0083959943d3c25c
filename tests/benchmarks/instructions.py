"""Counts the instructions that commands take: a figure that other programs do not touch.

    python -m tests.benchmarks.instructions

Valgrind counts them (cachegrind, without its caches), at some fifty times the cost of a run, so the
chains are short: what counts is the slope between them. The figures of HEAD are added to
`instructions.json` beside this module, in millions; an earlier measurement of the same commit goes.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import onnx

from tests import run_command
from tests.benchmarks.measure import ROOT, environment
from tests.benchmarks.networks import chain

RECORD: Final = Path(__file__).with_name("instructions.json")
LENGTHS: Final = (1_000, 3_000)
"""Nodes of the chains, the shorter one first."""

_MODEL: Final = ROOT / "models" / "mobilenet_v1_keras.onnx"
_REFERENCES: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


def main() -> None:
    """Measures HEAD and adds a line to the record."""
    argparse.ArgumentParser(
        prog="python -m tests.benchmarks.instructions", description=__doc__.split("\n", 1)[0]
    ).parse_args()
    commit = _git("rev-parse", "--short=10", "HEAD")
    if changed := _git("status", "--porcelain", "--untracked-files=no", "onnxpad", "passes"):
        raise SystemExit(f"commit first: a figure belongs to a commit\n{changed}")
    entry = {
        "commit": commit,
        "python": platform.python_version(),
        **{each: importlib.metadata.version(each) for each in ("numpy", "onnx")},
        **_measured(),
    }
    kept = [each for each in json.loads(RECORD.read_text("utf-8")) if each["commit"] != commit]
    lines = ",\n".join(f"  {json.dumps(each)}" for each in [*kept, entry])
    RECORD.write_text(f"[\n{lines}\n]\n", "utf-8")
    slope = slope_of(entry)
    print(f"{json.dumps(entry)}\n{slope:.3f} million instructions for each node of a chain")


def slope_of(entry: dict[str, Any]) -> float:
    """Millions of instructions for each further node of a chain."""
    short, long = LENGTHS
    return float(entry[f"chain {long}"] - entry[f"chain {short}"]) / (long - short)


def _measured() -> dict[str, float]:
    found = {"import onnx": _count("-c", "import onnx")}
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "result.onnx"
        options = ("-o", str(target), "--no-validate", "--quiet")
        fix = ("-m", "onnxpad", "fix")
        found["check"] = _count("-m", "onnxpad", "check", str(_MODEL))
        found["fix"] = _count(*fix, str(_MODEL), *options)
        for length in LENGTHS:
            source = Path(name) / f"{length}.onnx"
            onnx.save(chain(length, "shared"), source)
            found[f"chain {length}"] = _count(*fix, str(source), *options)
    return found


def _count(*arguments: str) -> float:
    """Millions of instructions of a Python process, whose byte code is cached."""
    with tempfile.TemporaryDirectory() as name:
        count = ("valgrind", "--tool=cachegrind", "--cache-sim=no")
        command = [*count, f"--cachegrind-out-file={os.devnull}", sys.executable, *arguments]
        variables = {**environment(Path(name) / "bytecode"), "PYTHONHASHSEED": "0"}
        for each in (command[len(count) + 1 :], command):  # the first run leaves byte code
            done = subprocess.run(
                each, cwd=ROOT, env=variables, capture_output=True, text=True, check=False
            )
    found = _REFERENCES.search(done.stderr)
    if found is None:
        raise SystemExit(f"valgrind counts nothing: {done.stderr[-500:]}")
    return round(int(found[1].replace(",", "")) / 1e6, 1)


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.rstrip()


if __name__ == "__main__":
    run_command(main)
