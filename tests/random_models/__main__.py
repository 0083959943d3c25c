"""Long runs: `python -m tests.random_models --count 1000 --seed 1 [--validate] [--deployed]`.

Prints every model that comes out wrong, with its seed, and a table of the `Pad`s that stay. A
crash of onnxruntime ends only the worker: the run goes on with the next seed.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.random_models.draw import draw_model
from tests.random_models.measure import DEPLOYED, OFF, examine


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_models", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many models to draw")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--style", default="fold", help="fold, pad, symmetric")
    parser.add_argument("--validate", action="store_true", help="with probes and validation")
    parser.add_argument("--deployed", action="store_true", help="also at full optimisation")
    parser.add_argument("--dump", type=Path, help="a folder for models that come out wrong")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--missed", action="store_true", help="print each Pad that is missed")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        work(options)
        return 0
    return supervise(options)


def work(options: argparse.Namespace) -> None:
    """Examine models and print one line of JSON each."""
    start = time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() - start > options.seconds:
            break
        print(json.dumps({"start": seed}), flush=True)
        drawn = draw_model(random.Random(seed))
        outcome = examine(
            drawn,
            seed,
            style=options.style,
            validate=options.validate,
            levels=(OFF, DEPLOYED) if options.deployed else (OFF,),
        )
        if outcome.problems and options.dump:
            options.dump.mkdir(parents=True, exist_ok=True)
            (options.dump / f"{seed}.onnx").write_bytes(drawn.model.SerializeToString())
        told = {
            "seed": seed,
            "runs": outcome.runs,
            "problems": outcome.problems,
            "removed": outcome.removed,
            "excused": outcome.excused,
            "kept": [
                (list(k.codes), k.missed, k.why, k.chance, k.place.name) for k in outcome.kept
            ],
        }
        print(json.dumps(told), flush=True)


def supervise(options: argparse.Namespace) -> int:
    """Run workers until all is done, and print what came of it."""
    begun = time.monotonic()
    last = options.seed + options.count
    seed = options.seed
    counts: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    chances: Counter[str] = Counter()
    whys: Counter[str] = Counter()
    while seed < last and (left := options.seconds - (time.monotonic() - begun)) > 0:
        command = [sys.executable, "-m", "tests.random_models", "--worker", f"--seed={seed}"]
        command += [f"--count={last - seed}", f"--style={options.style}", f"--seconds={left}"]
        command += ["--validate"] * options.validate + ["--deployed"] * options.deployed
        command += [f"--dump={options.dump}"] * bool(options.dump)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                told = json.loads(line)
                if "start" in told:
                    seed = told["start"]
                    continue
                counts["models"] += 1
                counts["run"] += told["runs"]
                counts["removed"] += told["removed"]
                counts["excused"] += told["excused"]
                for problem in told["problems"]:
                    problems[problem] += 1
                    print(f"seed {told['seed']}: {problem}", flush=True)
                for codes, is_missed, why, chance, name in told["kept"]:
                    counts["kept"] += 1
                    reasons[", ".join(codes)] += 1
                    if is_missed:
                        missed[", ".join(codes)] += 1
                        if chance:
                            chances[", ".join(codes)] += 1
                        if options.missed:
                            told_by = f" (told apart by further inputs: {chance})" if chance else ""
                            place = f"seed {told['seed']}: missed {name}"
                            print(f"{place}: {', '.join(codes)}{told_by}")
                    else:
                        whys[why] += 1
        if worker.returncode:
            problems[f"crash {worker.returncode}"] += 1
            print(f"seed {seed}: the process ended with {worker.returncode}", flush=True)
            seed += 1
        else:
            break
    report(counts, problems, reasons, missed, chances, whys, time.monotonic() - begun)
    return 1 if problems else 0


def report(
    counts: Counter[str],
    problems: Counter[str],
    reasons: Counter[str],
    missed: Counter[str],
    chances: Counter[str],
    whys: Counter[str],
    seconds: float,
) -> None:
    """Print what came of a run."""
    rate = counts["models"] / max(seconds, 1e-9)
    print(
        f"{counts['models']} models in {seconds:.0f} s ({rate:.1f}/s), of which {counts['run']} run"
    )
    print(f"wrong: {sum(problems.values())}; onnxruntime cannot load: {counts['excused']}")
    for text, count in problems.most_common():
        print(f"  {count:6} {text}")
    removed, apart = counts["removed"], sum(chances.values())
    total = removed + sum(missed.values())
    print(f"Pads removed: {removed}, kept: {counts['kept']}")
    print(
        f"of those that could go, {_percent(removed, total)} are removed;"
        f" {_percent(removed, total - apart)} without the {apart} that further inputs tell apart"
    )
    print("missed, by reason, and how many of them further inputs tell apart:")
    for text, count in missed.most_common():
        print(f"  {count:6} of {reasons[text]:6} {text}: {chances[text]}")
    print("kept and not missed, by what the naive rewriting does:")
    for text, count in whys.most_common():
        print(f"  {count:6} {text}")


def _percent(part: int, total: int) -> str:
    return f"{100 * part / max(total, 1):.1f} %"


if __name__ == "__main__":
    sys.exit(main())
