"""Cases chosen by hand of what frameworks' padding is asked for, one for each kind, as lines.

`cases.txt` keeps them, and all are asked in every run:

- `explain`: an operator as the command takes it; what each convention pads there.
- `fits`: inputs, and the nodes of a graph; what `show` says of its last operator that pads, what
  `check --convention` warns of, and what `repad` leaves since it is a framework's already.
- `repad`: the sizes of `x`, and an operator; the intent that is read, and what is written, by
  framework. A weight `w3` has 3 elements on each axis.
- `match`: as in `repadding/matches.txt`.
"""

import math
import re
from pathlib import Path
from typing import Final

import onnxpad
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from tests.frameworks.conventions import drawn_explanations
from tests.frameworks.repadding import drawn, drawn_matches
from tests.support import BORDER, W, one
from tests.support.lines import Lines

_ASKED: Final = ("tensorflow", "keras", "pytorch", "caffe", "cudnn")


def ones(name: str, *shape: int) -> str:
    """An initializer full of ones."""
    return f"float[{', '.join(map(str, shape))}] {name} = {{{', '.join(['1'] * math.prod(shape))}}}"


_GIVEN: Final = ", ".join(
    (
        *(W, BORDER, ones("r", 4, 2, 3), ones("b", 2, 3, 3, 3), ones("k", 1, 1, 3)),
        *(ones("v", 2, 2, 3, 3), ones("u", 3, 4, 3, 3), "bool yes = {1}", "int64[2] axes = {0, 1}"),
        "int64[8] q = {0, 0, 0, 0, 0, 0, 1, 1}, int64[8] deep = {0, 0, 2, 0, 0, 0, 0, 2}",
    )
)


def said(line: str) -> str:
    """The line with what is said now."""
    asked = line.partition("  =>  ")[0]
    kind, _, question = asked.partition(": ")
    if kind == "explain":
        told = drawn_explanations.said(question).partition("  =>  ")[2]
    elif kind == "match":
        told = drawn_matches.said(question).partition("  =>  ")[2]
    elif kind == "fits":
        told = _fits(*question.split(" | "))
    else:
        told = _repads(*question.split(" | "))
    return f"{asked}  =>  {told}"


def _fits(inputs: str, body: str) -> str:
    """What `show` says, then each framework with what `check` finds and whether `repad` stays."""
    model = one(body, inputs=inputs, initializers=_GIVEN, opset=19)
    sites = onnxpad.show(model).sites[-1:]
    told = [f"{e.amounts} {e.convention or 'none'}: {' '.join(e.conventions)}" for e in sites]
    for name in _ASKED:
        found = onnxpad.check(model, convention=name, select="PAD6").findings
        _, stays = repad_graph(Graph.from_proto(model), FRAMEWORKS[name])
        same = sum(each.is_same for each in stays)
        parts = [
            f"{each.node} {each.evidence['would_be']} {each.evidence['same_at']}"
            if "would_be" in each.evidence
            else f"unknown {each.node}"
            for each in found
        ]
        told.append(f"{name} {', '.join(parts) or 'fits'}, {same} the same of {len(stays)} left")
    return "; ".join(told)


def _repads(sizes: str, body: str) -> str:
    """The intent and the attributes by framework."""
    axes = sizes.count(",") + 1
    kernels = re.findall(r"\bw(\d+)\b", body)
    weights = [ones(f"w{kernel}", 1, 1, *[int(kernel)] * axes) for kernel in kernels]
    model = one(f"y = {body}", inputs=f"float[1, 1, {sizes}] x", initializers=", ".join(weights))
    return drawn.told(model)


LINES: Final = Lines(Path(__file__).with_name("cases.txt"), said)
