"""Changes of which some fail, alone or together: what is tried, and which are taken back.

`heals.txt` keeps the rounds. A line gives the changes in order, a letter each, and those that fail
together.
"""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from onnxpad.rewrite.heal import heal
from onnxpad.rewrite.run import Barred, Key
from onnxpad.validation.result import Comparison, Run, Validation
from tests.support.lines import Lines

_WRONG: Final = Comparison("y", False, 1.0, 1.0, "far", False)


def asked(line: str) -> tuple[str, list[frozenset[str]]]:
    """The changes, and those that fail together, of a line."""
    changes, together = line.partition("  =>  ")[0].split(" | ")
    return changes, [frozenset(each.strip("-")) for each in together.split()]


def said(line: str) -> str:
    """The line with the changes made in each round, those taken back and why, and what is left."""
    changes, together = asked(line)
    rounds: list[str] = []

    def verdict(made: str) -> Validation:
        for number, wrong in enumerate(together):
            if wrong <= set(made):
                return failure(number)
        return Validation(True, ())

    def attempt(barred: Barred) -> Validation:
        made = "".join(each for each in dict.fromkeys(changes) if key(each) not in barred)
        rounds.append(made or "-")
        return verdict(made)

    some: Any = [SimpleNamespace(key=key(each)) for each in changes]
    guilty, found = heal(some, verdict(changes), attempt)
    back = [f"{name} {reason}" for (_, name), reason in guilty.items()]
    result = f"{', '.join(back) or 'nothing'}; then {found.outcome}"
    return f"{line.partition('  =>  ')[0]}  =>  {' '.join(rounds) or 'no round'}; {result}"


def key(change: str) -> Key:
    return "PAD201", change


def failure(number: int) -> Validation:
    """A failure of one of four kinds."""
    level = "full" if number % 2 else "off"
    run = Run("cpu", level, "x", () if number > 1 else (_WRONG,), (0, 0), "", False)
    return Validation(False, (run,))


def drawn(seed: int, count: int) -> list[str]:
    """New lines, as they are asked."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        changes = "abcdefghijklmnop"[: chance.choice([0, 1, 2, 3, 4, 5, 7, 8, 12, 16])]
        sizes = chance.choices([0, 1, 2, 3], [1, 12, 8, 3], k=chance.choice([1, 1, 2, 3, 4]))
        together = [
            "".join(sorted(chance.sample(changes, min(size, len(changes))))) or "-"
            for size in sizes
        ]
        again = chance.choice(changes) if changes and chance.random() < 0.2 else ""
        found.append(f"{changes}{again} | {' '.join(together)}")
    return found


LINES: Final = Lines(Path(__file__).with_name("heals.txt"), said)
