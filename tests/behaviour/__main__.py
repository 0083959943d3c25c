"""Records what every command says and writes over all models, and compares two such records.

`record FOLDER` makes a folder of small files, one for each command line. `compare FOLDER` records
anew and prints what differs as a unified diff; `compare FOLDER OTHER` compares two records.
Exit codes: 0 nothing differs, 1 something differs, 2 bad usage.
"""

import argparse
import difflib
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from tests import natural, run_command
from tests.behaviour.cases import COMMANDS, Case, Plan, failing, planned, words_of_pair
from tests.behaviour.covering import pairs_of
from tests.behaviour.recording import recorded

SUMMARY: Final = "SUMMARY"
"""The file that a record has when it is complete."""

_ROUNDS: Final = {"match": 1}
"""Cases of a command with each model, where not two: `match` takes ten times as long as others."""


class NoCaseError(Exception):
    """Nothing would be recorded or compared."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.behaviour",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("record", "compare"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path, help="the record")
        if name == "compare":
            command.add_argument("other", type=Path, nargs="?", help="the record compared with it")
        command.add_argument("--jobs", type=natural, default=2, help="processes at once")
        command.add_argument("--rounds", type=natural, default=2, help="cases each")
        command.add_argument("--only", default="", help="cases whose name begins so")
    options = parser.parse_args(arguments)
    try:
        if options.command == "record":
            if options.folder.exists() and not options.folder.is_dir():
                parser.error(f"{options.folder}: is no folder")
            if options.folder.exists() and any(options.folder.iterdir()):
                parser.error(f"{options.folder}: is not empty")
            print(record(options.folder, options.rounds, options.jobs, options.only), end="")
            return 0
        for folder in filter(None, (options.folder, options.other)):
            if not (folder / SUMMARY).is_file():
                parser.error(f"{folder}: is no complete record")
        if options.other:
            return compare(options.folder, options.other, options.only)
        with tempfile.TemporaryDirectory() as folder:
            record(Path(folder), options.rounds, options.jobs, options.only)
            return compare(options.folder, Path(folder), options.only)
    except NoCaseError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def record(folder: Path, rounds: int = 2, jobs: int = 2, only: str = "") -> str:
    """Writes the record and returns its summary."""
    plans = [planned(each, min(rounds, _ROUNDS.get(each, rounds))) for each in COMMANDS]
    failures = tuple(failing())
    cases = [case for plan in plans for case, _ in plan.cases] + list(failures)
    cases = [case for case in cases if case.name.startswith(only)]
    if not cases:
        raise NoCaseError(f"no case's name begins with {only!r}")
    codes: dict[str, str] = {}
    for done, (name, text) in enumerate(_recorded(cases, jobs), 1):
        path = folder / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        codes[name] = text.splitlines()[1].removeprefix("exit code ")
        if done % 50 == 0:
            print(f"{done} of {len(cases)} cases", file=sys.stderr)
    lines = [line for plan in plans for line in _summary(plan, codes)]
    lines.append(f"failing: {len(failures)} cases; exit codes {_counted(failures, codes)}")
    few = f", only those whose names begin with {only!r}" if only else ""
    lines.append(f"{len(codes)} cases{few}")
    text = "".join(f"{line}\n" for line in lines)
    (folder / SUMMARY).write_text(text)
    return text


def compare(folder: Path, other: Path, only: str = "") -> int:
    """Prints what differs between two records, case by case; 1 if anything does, else 0."""
    names = sorted(n for n in {*_names(folder), *_names(other)} if n.startswith(only))
    if not names:
        raise NoCaseError(f"no case's name begins with {only!r}")
    differing = 0
    for name in names:
        one, two = _lines(folder / name), _lines(other / name)
        if one != two:
            differing += 1
            told = [f"{each / name}" for each in (folder, other)]
            sys.stdout.writelines(difflib.unified_diff(one, two, told[0], told[1], n=2))
    print(f"{differing} of {len(names)} files differ")
    return int(differing > 0)


def _recorded(cases: Sequence[Case], jobs: int) -> Iterator[tuple[str, str]]:
    """The name and record of each case, the dearest commands first, in any order."""
    by_cost = sorted(cases, key=lambda case: not case.name.startswith(("match", "fix")))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, min(jobs, os.cpu_count() or 1)), context) as pool:
        try:
            texts = pool.map(recorded, by_cost, chunksize=4)
            yield from ((case.name, text) for case, text in zip(by_cost, texts, strict=True))
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


def _summary(plan: Plan, codes: dict[str, str]) -> Iterator[str]:
    """How many cases and pairs a command has, and what of it is not covered."""
    cases = [case for case, _ in plan.cases]
    total = plan.covered + len(plan.impossible)
    yield (
        f"{plan.kind}: {len(cases)} cases with {len({case.source for case in cases})} models; "
        f"{plan.covered} of {total} pairs; exit codes {_counted(cases, codes)}"
    )
    yield from (f"  no model allows {each}" for each in plan.impossible)
    effective = {p for c, row in plan.cases if codes.get(c.name) != "2" for p in pairs_of(row)}
    refused = {p for _, row in plan.cases for p in pairs_of(row)} - effective
    yield from (f"  refused wherever tried: {words_of_pair(each)}" for each in sorted(refused))


def _counted(cases: Sequence[Case], codes: dict[str, str]) -> str:
    counts = Counter(codes[case.name] for case in cases if case.name in codes)
    return ", ".join(f"{code}: {count}" for code, count in sorted(counts.items()))


def _names(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def _lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    return path.read_bytes().decode().splitlines(keepends=True)


if __name__ == "__main__":
    run_command(main)
