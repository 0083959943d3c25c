"""Pairs of models as text, and what is proved and refuted of them: `pairs.txt` keeps it.

A line has two graphs with `or` between, each of which gives `y`. In front of the first `:` stand
inputs, those of the second graph behind `/` if they are others, and behind `;` words: `opset 12`,
`ir 3`, `trust spec`, `strict 1`, or `run 1` of pairs that are run too. Said is the verdict without
a run, and the other way round if that is another, with how much it assumes, and whether it stops;
then that with runs, and the greatest size that refutes.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np

from onnxpad.finding import Trust
from onnxpad.proving.pairs import Decision
from onnxpad.proving.verdict import decide
from tests.support import one, session
from tests.support.lines import Lines

_HELD: Final = (
    f"float[4, 3, 3, 3] w = {{{', '.join(str(n % 7 - 3) for n in range(108))}}}, float two = {{2}},"
    f" float[4, 3, 3, 3] ww = {{{', '.join(str(n % 7 * 2 - 6) for n in range(108))}}},"
    " int64[8] p = {0, 0, 1, 1, 0, 0, 2, 2}, float[4] bias = {1, 2, 3, 4},"
    " float[4] s = {2, 1, 1, 3}, float[4] m = {0, 1, 0, 1}, float[4] v = {1, 1, 2, 1},"
    " float[3, 1, 1] t = {1, 2, 3}, float[4, 1, 1] u = {1, 2, 3, 4}, float[2, 2] i = {1, 2, 0, 1},"
    " float[2, 2] j = {1, 0, 2, 1}, float[2] a1 = {1, 1}, float[2] a2 = {1, 2},"
    " int64[1] k1 = {1}, int64[2] k12 = {1, 2}"
)


def said(line: str) -> str:
    """The line with the verdicts now."""
    asked = line.partition("  =>  ")[0]
    head, _, graphs = asked.partition(": ")
    inputs, *words = head.split("; ")
    given = dict(each.split() for each in words)
    versions: Any = {name: int(given[name]) for name in ("opset", "ir") if name in given}
    pair = [
        one(nodes, inputs=fed, initializers=_HELD, **versions)
        for nodes, fed in zip(graphs.split("  or  "), (inputs.split(" / ") * 2)[:2], strict=True)
    ]
    options: Any = {"strict": "strict" in given}
    options["trust"] = Trust(given["trust"]) if "trust" in given else None
    there, back = (_told(decide(*each, runs=False, **options)) for each in (pair, pair[::-1]))
    parts = [there] + [f"back {back}"] * (there != back)
    if "run" in given:
        found = decide(*pair, **options)
        parts.append(f"run {_told(found)}" + ", some agree" * (found.runs > 0))
        if (seen := found.counterexample) is not None:
            parts.append(f"at {max(seen.sizes.values(), default=0)}")
        if seen is not None and seen.output:
            values = [session(model).run(None, dict(seen.feeds)) for model in pair]
            assert any(
                one.shape != other.shape or not np.allclose(one, other, atol=1e-4)
                for one, other in zip(*values, strict=True)
            )
    return f"{asked}  =>  {', '.join(parts)}"


def _told(found: Decision) -> str:
    assumed, stops = len(found.assumptions), any("stops" in e.reason for e in found.regions)
    return found.verdict + f" with {assumed} assumption" * bool(assumed) + ", stops" * stops


LINES: Final = Lines(Path(__file__).with_name("pairs.txt"), said)
