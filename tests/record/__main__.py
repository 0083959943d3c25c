"""`python -m tests.record` runs all tests and records what each costs and executes.

It writes `tests/record/costs.json`, by which a test is fast or slow, and
`tests/record/executed.xz`, from which `python -m tests.changed` chooses; commit both. On a quiet
machine, on Linux.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests import run_command
from tests.record.costs import POWER, choose_fast, write_costs
from tests.record.executed import Executed
from tests.record.marks import write_bytecode
from tests.record.plugin import FOLDER
from tests.support import ROOT


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.record",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", default="auto", help="processes, as pytest's -n; by default auto")
    options = parser.parse_args(arguments)
    if sys.platform != "linux":
        parser.error("the CPU time of processes that a test starts is read from Linux's /proc")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        blocks = write_bytecode(folder / "bytecode")
        environment = os.environ | {FOLDER: name, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "tests.record.plugin"]
        pytest += ["-n", options.n, "--dist", "loadfile", "-p", "no:cacheprovider"]
        code = subprocess.run(pytest, cwd=ROOT, env=environment, check=False).returncode
        rows = [
            json.loads(line)
            for file in sorted(folder.glob("*.jsonl"))
            for line in file.read_text().splitlines()
        ]
    if code:
        print("Nothing is recorded: tests failed.", file=sys.stderr)
        return code
    rows.sort()
    costs = {test: cost for test, cost, _ in rows}
    blocks_of = {test: executed for test, _, executed in rows}
    fast = choose_fast(costs, blocks_of, json.loads(POWER.read_text()))
    write_costs(costs, fast)
    functions = sorted({block.where for block in blocks})
    index = {function: row for row, function in enumerate(functions)}
    table = np.zeros((len(functions), len(rows)), bool)
    for column, (_, _, executed) in enumerate(rows):
        table[[index[blocks[block].where] for block in executed], column] = True
    Executed(list(costs), [round(cost, 1) for cost in costs.values()], functions, table).write()
    print(f"{len(fast)} of {len(rows)} tests are fast: {sum(costs[t] for t in fast) / 1000:.1f}")
    return 0


if __name__ == "__main__":
    run_command(main)
