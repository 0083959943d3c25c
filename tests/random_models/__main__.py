"""Long runs: `python -m tests.random_models --count 1000 --seed 1 [--validate] [--deployed]`.

Prints every model that comes out wrong, with its seed, a table of the `Pad`s that stay, and one of
what stays at transposed convolutions: attributes, and crops and `Pad`s downstream of them. A crash
of onnxruntime ends only the worker: the run goes on with the next seed.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
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
            "seed": seed,
            "runs": outcome.runs,
            "problems": outcome.problems,
            "removed": outcome.removed,
            "resolved": outcome.resolved,
            "excused": outcome.excused,
            "kept": [
                (list(k.codes), k.missed, k.why, k.chance, k.place.name, k.site and k.site.what)
                for k in outcome.kept
            ],
        }
        print(json.dumps(told), flush=True)


@dataclass
class Measure:
    """How much of one kind of padding goes.

    Attributes:
        removed: How much is gone.
        kept: What stays, by the reasons given.
        missed: What of it onnxruntime cannot tell from the naive rewriting, by the reasons given.
        chances: What of that it can tell on further inputs, by the reasons given.
        whys: Why the rest is not missed.
    """

    removed: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    chances: Counter[str] = field(default_factory=Counter)
    whys: Counter[str] = field(default_factory=Counter)

    def count(self, codes: str, why: str, chance: str, *, missed: bool) -> None:
        self.kept[codes] += 1
        if missed:
            self.missed[codes] += 1
            self.chances[codes] += bool(chance)
        else:
            self.whys[why] += 1

    def report(self, what: str) -> None:
        """Print it."""
        apart = sum(self.chances.values())
        total = self.removed + sum(self.missed.values())
        print(f"{what} removed: {self.removed}, kept: {sum(self.kept.values())}")
        print(
            f"of those that could go, {_percent(self.removed, total)} are removed;"
            f" {_percent(self.removed, total - apart)} without the {apart} that further inputs"
            " tell apart"
        )
        print("missed, by reason, and how many of them further inputs tell apart:")
        for text, count in self.missed.most_common():
            print(f"  {count:6} of {self.kept[text]:6} {text}: {self.chances[text]}")
        print("kept and not missed, by what the naive rewriting does:")
        for text, count in self.whys.most_common():
            print(f"  {count:6} {text}")


def supervise(options: argparse.Namespace) -> int:
    """Run workers until all is done, and print what came of it."""
    begun = time.monotonic()
    last = options.seed + options.count
    seed = options.seed
    counts: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    excuses: Counter[str] = Counter()
    running = ""
    pads, transposed = Measure(), Measure()
    while seed < last and (left := options.seconds - (time.monotonic() - begun)) > 0:
        command = [sys.executable, "-m", "tests.random_models", "--worker", f"--seed={seed}"]
        command += [f"--count={last - seed}", f"--style={options.style}", f"--seconds={left}"]
        command += [f"--dynamic={options.dynamic}"]
        command += [f"--trust={options.trust}"] * bool(options.trust)
        command += ["--validate"] * options.validate + ["--deployed"] * options.deployed
        command += [f"--dump={options.dump}"] * bool(options.dump)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                told = json.loads(line)
                if "start" in told:
                    seed, running = told["start"], "drawing"
                    continue
                if "runs next" in told:
                    running = told["runs next"]
                    continue
                counts["models"] += 1
                counts["run"] += told["runs"]
                excuses.update([told["excused"]] if told["excused"] else [])
                pads.removed += told["removed"]
                transposed.removed += told["resolved"]
                for problem in told["problems"]:
                    problems[problem] += 1
                    print(f"seed {told['seed']}: {problem}", flush=True)
                for codes, missed, why, chance, name, what in told["kept"]:
                    reasons = f"{what}: " * bool(what) + ", ".join(codes)
                    (transposed if what else pads).count(reasons, why, chance, missed=missed)
                    if missed and options.missed:
                        told_by = f" (told apart by further inputs: {chance})" if chance else ""
                        print(f"seed {told['seed']}: missed {name}: {reasons}{told_by}", flush=True)
        if worker.returncode:
            end = f"{running} ended the process with {worker.returncode}"
            (excuses if running in HARMLESS else problems)[end] += 1
            print(f"seed {seed}: {end}", flush=True)
            seed += 1
        else:
            break
    seconds = time.monotonic() - begun
    rate = counts["models"] / max(seconds, 1e-9)
    print(
        f"{counts['models']} models in {seconds:.0f} s ({rate:.1f}/s), of which {counts['run']} run"
    )
    for what, texts in {"wrong": problems, "not wrong, though": excuses}.items():
        print(f"{what}: {sum(texts.values())}")
        for text, count in texts.most_common():
            print(f"  {count:6} {text}")
    pads.report("Pads")
    transposed.report("transposed: attributes, crops and Pads")
    return 1 if problems else 0


def _percent(part: int, total: int) -> str:
    return f"{100 * part / max(total, 1):.1f} %"


if __name__ == "__main__":
    run_command(main)
