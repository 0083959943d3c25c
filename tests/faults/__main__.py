"""Plants faults in the product one at a time: `python -m tests.faults --sample 40 --seed 1`.

Prints each with the test that kills it, or that it survived, and how many were killed.
"""

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import duration, natural, run_command
from tests.faults.draw import Fault, product, sample
from tests.faults.plant import TIERS, Copy, Ran, nearest
from tests.support import ROOT


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one fault: the tier that killed it, or None, and the run that ended it."""

    fault: Fault
    tier: str | None
    ran: Ran


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--sample", type=natural, default=40, metavar="N", help="how many to draw")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--only", metavar="GLOB", help="draw from these files alone")
    parser.add_argument(
        "--faults", nargs="+", metavar="FILE:LINE[:COLUMN]", help="no sample: all that stand there"
    )
    parser.add_argument("--tier", choices=TIERS, default="fast", help="the tests that must notice")
    parser.add_argument("--then", choices=["whole"], help="what survives is shown to these too")
    parser.add_argument("--jobs", type=natural, default=2, help="processes at a time")
    parser.add_argument("--limit", type=duration, help="seconds for a tier")
    parser.add_argument("--list", action="store_true", help="only print the faults")
    options = parser.parse_args(arguments)
    faults = chosen(options)
    if not faults:
        asked = options.only or ", ".join(options.faults or ())
        parser.error(f"no fault can stand at {asked}: paths are those of the checkout")
    if options.list:
        print(*faults, sep="\n")
        return 0
    outcomes: list[Outcome] = []
    stopped = 0
    try:
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            copy = Copy(ROOT, Path(folder), options.jobs)
            limits = {"near": 600.0} | dict.fromkeys(TIERS if options.limit else (), options.limit)
            for tier in (options.tier, options.then):
                if tier and tier not in limits:
                    limits[tier] = limit(copy, tier)
            for fault in faults:
                near = nearest(ROOT, fault)
                outcomes.append(outcome(copy, fault, near, options.tier, options.then, limits))
                print(told(outcomes[-1]), flush=True)
    except KeyboardInterrupt:
        print("stopped")
        stopped = 130
    killed = sum(each.tier is not None for each in outcomes)
    first = sum(each.tier == options.tier for each in outcomes)
    print(f"{first} of {len(outcomes)} faults killed by the {options.tier} tier", end="")
    print(f", {killed} by {options.then} too" if options.then else "", f"(seed {options.seed})")
    return stopped


def chosen(options: argparse.Namespace) -> list[Fault]:
    """The faults that are asked for."""
    faults = product(ROOT)
    if options.faults:
        places = {place.removeprefix("./") for place in options.faults}
        return [
            fault
            for fault in faults
            if {f"{fault.path}:{fault.line}", f"{fault.path}:{fault.line}:{fault.column}"} & places
        ]
    if options.only:
        faults = [fault for fault in faults if fnmatch.fnmatch(fault.path, options.only)]
    return sample(faults, options.sample, options.seed)


def limit(copy: Copy, tier: str) -> float:
    """Seconds after which a tier that still runs has noticed; it must pass without a fault."""
    ran = copy.test(tier, [])
    if not ran.passed:
        sys.exit(f"the {tier} tier fails without a fault:\n{ran.told}")
    print(f"without a fault the {tier} tier passes in {ran.seconds:.1f} s", flush=True)
    return 4 * ran.seconds + 30


def outcome(
    copy: Copy,
    fault: Fault,
    near: Sequence[str],
    tier: str,
    then: str | None,
    limits: Mapping[str, float],
) -> Outcome:
    """The first tests that notice a fault: those nearest to it, its tier, and then the other."""
    turns: list[tuple[str, Sequence[str]]] = [(tier, near)] if near else []
    turns += [(each, []) for each in (tier, then) if each and each != "near"]
    ran = Ran(True, "", 0)
    with copy.with_fault(fault):
        for which, where in turns:
            ran = copy.test(which, where, limits[which])
            if not ran.passed:
                return Outcome(fault, which, ran)
    return Outcome(fault, None, ran)


def told(outcome: Outcome) -> str:
    """A fault and what became of it."""
    ran = outcome.ran
    end = f"killed ({outcome.tier}, {ran.seconds:.1f} s) by {ran.killer}"
    return f"{outcome.fault}\n    {end if outcome.tier else 'SURVIVED'}"


if __name__ == "__main__":
    run_command(main)
