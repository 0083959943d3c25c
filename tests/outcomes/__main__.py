"""Whether two trees of onnxpad behave alike: exit codes, models, findings, keys of JSON; no words.

`record FILE` keeps the outcome of each case. `--against` runs the cases of this tree in another
too, or reads a record, and prints what differs, alike differences together, each with a command
that runs it again. Exit codes: 0 nothing unwanted differs, 1 something does, 2 bad usage.
"""

import argparse
import contextlib
import difflib
import random
import re
import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests import natural, run_command
from tests.outcomes.cases import Case, made
from tests.outcomes.comparing import differences, is_wanted, told, wanted
from tests.outcomes.running import Facts, Worker, read, run, write
from tests.outcomes.worker import text_of
from tests.support import ROOT


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.outcomes", description=__doc__)
    parser.add_argument("record", nargs="*", metavar="record FILE", help="keep what comes of them")
    parser.add_argument("--against", type=Path, help="another checkout, or a record")
    parser.add_argument("--case", help="one case alone; its files stay")
    parser.add_argument("--only", default="", help="cases whose names begin so")
    parser.add_argument("--sample", type=natural, help="so many of the cases")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and the order")
    parser.add_argument("--shuffled", action="store_true", help="the last tree in another order")
    parser.add_argument("--jobs", type=natural, default=2, help="processes at once")
    parser.add_argument("--wanted", type=Path, help="a file of differences that are meant")
    options = parser.parse_args(arguments)
    against: Path | None = options.against
    is_record = options.record[:1] == ["record"] and len(options.record) == 2
    if is_record is bool(against or options.case) or is_record is not bool(options.record):
        parser.error("give one of `record FILE`, --against and --case")
    begun = time.monotonic()
    try:
        meant = wanted(options.wanted) if options.wanted else []
        known = read(against) if against and not against.is_dir() else None
        with tempfile.TemporaryDirectory(prefix="outcomes-") as folder:
            only = options.case or options.only
            with contextlib.chdir(folder):  # some functions of tests write files
                cases = [*{case.digest: case for case in made(Path(folder), only)}.values()]
            cases = [each for each in cases if each.name == only or not options.case]
            if not cases:
                parser.error(f"there is no case {only}")
            if options.case:
                return _again(cases[0], against, known)
            draw = random.Random(options.seed)
            if options.sample:
                cases = draw.sample(cases, min(options.sample, len(cases)))
            ordered = draw.sample(cases, len(cases)) if options.shuffled else cases
            ours = run(ROOT, cases if against and not known else ordered, options.jobs)
            if not against:
                write(Path(options.record[1]), cases, ours)
                return 0
            known = known or run(against, ordered, options.jobs)
    except (OSError, EOFError, ValueError, re.error) as error:
        parser.error(str(error))
    held = [case for case in cases if case.digest in known]
    if not held:
        parser.error(f"{against} has none of the {len(cases)} cases")
    found = [d for c in held for d in differences(c.name, known[c.digest], ours[c.digest])]
    bad = [each for each in found if not is_wanted(each, meant)]
    good = [each for each in found if is_wanted(each, meant)]
    command, names = (
        f"python -m tests.outcomes --against {shlex.quote(str(against))}",
        [case.name for case in held],
    )
    print(*told(names, bad, good, command), sep="\n")
    print(f"not in the record: {len(cases) - len(held)}; {time.monotonic() - begun:.0f} s")
    return int(bool(bad))


def _again(case: Case, against: Path | None, known: dict[str, Facts] | None) -> int:
    """Runs one case, here and there, and says what came of it and where that lies."""
    print("onnxpad", *case.words)
    home = Path(tempfile.mkdtemp(prefix="outcome-"))
    there = (known or {}).get(case.digest)
    facts: dict[str, Facts] = {"there": there} if there else {}
    texts: list[list[str]] = []
    for name, tree in {"there": against, "here": ROOT}.items():
        if tree and tree.is_dir():
            folder = home / name
            folder.mkdir()
            with contextlib.closing(Worker(tree)) as worker:
                facts[name] = worker.ask(case, folder)
            models = [path.read_bytes() for path in sorted(folder.rglob("*.onnx"))]
            texts.append([line[:200] for each in models for line in text_of(each).splitlines()])
            print(f"{name}: {tree}, in {folder}")
    there, here = facts.get("there") or facts["here"], facts["here"]
    for kind in there | here:
        if there.get(kind) == here.get(kind):
            print(f"{kind}: {here[kind]}"[:300])
    for each in differences(case.name, there, here):
        print(f"{each.kind} differs:", *each.items, sep="\n  ")
    if len(texts) == 2:
        print(*difflib.unified_diff(texts[0], texts[1], "there", "here", lineterm=""), sep="\n")
    return int(there != here)


if __name__ == "__main__":
    run_command(main)
