"""Long runs: `python -m tests.random_models --count 1000 --seed 1 [--validate] [--deployed]`.

Prints every model that comes out wrong, with its seed, how many `Pad`s are removed, and the reasons
given for padding that stays. A crash of onnxruntime ends only the worker: the run goes on with the
next seed.
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
from typing import Final

from tests import duration, natural, run_command
from tests.random_models.draw import draw_model
from tests.random_models.measure import DEPLOYED, HARMLESS, OFF, examine
from tests.support import STYLES

DYNAMICS: Final = ("keep", "pad", "auto-pad")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_models", description=__doc__)
    parser.add_argument("--count", type=natural, default=200, help="how many models to draw")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--style", choices=(*STYLES, "any"), default="fold")
    parser.add_argument("--dynamic", choices=(*DYNAMICS, "any"), default="keep")
    parser.add_argument("--trust", choices=["onnxruntime"], help="whose reading is written")
    parser.add_argument("--validate", action="store_true", help="with probes and validation")
    parser.add_argument("--deployed", action="store_true", help="also at full optimisation")
    parser.add_argument("--dump", type=Path, help="a folder for models that come out wrong")
    parser.add_argument("--seconds", type=duration, default=1e9, help="stop after this time")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    options = parser.parse_args(given)
    if options.worker:
        work(options)
        return 0
    return supervise(options, given)


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
            style=STYLES[seed % 3] if options.style == "any" else options.style,
            dynamic=DYNAMICS[seed // 3 % 3] if options.dynamic == "any" else options.dynamic,
            trust=options.trust,
            validate=options.validate,
            levels=(OFF, DEPLOYED) if options.deployed else (OFF,),
            tell=lambda what: print(json.dumps({"runs next": what}), flush=True),
        )
        if outcome.problems and options.dump:
            options.dump.mkdir(parents=True, exist_ok=True)
            (options.dump / f"{seed}.onnx").write_bytes(drawn.model.SerializeToString())
        told = {
            "problems": outcome.problems,
            "excuses": [outcome.excused] * bool(outcome.excused),
            "kept": [*outcome.kept.elements()],
            "counts": {
                "models": 1,
                "run": outcome.runs,
                "removed": outcome.removed,
                "left": outcome.left,
            },
        }
        print(json.dumps(told), flush=True)


def supervise(options: argparse.Namespace, given: Sequence[str]) -> int:
    """Run workers until all is done, and print what came of it."""
    begun = time.monotonic()
    last, seed, running = options.seed + options.count, options.seed, ""
    counts: Counter[str] = Counter()
    found: dict[str, Counter[str]] = {key: Counter() for key in ("problems", "excuses", "kept")}
    while seed < last and (left := options.seconds - (time.monotonic() - begun)) > 0:
        command = [sys.executable, "-m", "tests.random_models", *given, "--worker"]
        command += [f"--seed={seed}", f"--count={last - seed}", f"--seconds={left}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                told = json.loads(line)
                if "start" in told:
                    seed, running = told["start"], "drawing"
                elif "runs next" in told:
                    running = told["runs next"]
                else:
                    counts.update(told["counts"])
                    for key, texts in found.items():
                        texts.update(told[key])
                    for problem in told["problems"]:
                        print(f"seed {seed}: {problem}", flush=True)
        if not worker.returncode:
            break
        end = f"{running} ended the process with {worker.returncode}"
        found["excuses" if running in HARMLESS else "problems"][end] += 1
        print(f"seed {seed}: {end}", flush=True)
        seed += 1
    seconds = time.monotonic() - begun
    rate = counts["models"] / max(seconds, 1e-9)
    print(
        f"{counts['models']} models in {seconds:.0f} s ({rate:.1f}/s), of which {counts['run']} run"
    )
    print(f"Pads removed: {counts['removed']}, left: {counts['left']}")
    titles = {"problems": "wrong", "excuses": "not wrong, though", "kept": "padding that stays"}
    for key, texts in found.items():
        print(f"{titles[key]}: {texts.total()}")
        for text, count in texts.most_common():
            print(f"  {count:6} {text}")
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    run_command(main)
