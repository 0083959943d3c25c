"""Cases chosen by hand of what frameworks' padding is asked for, one for each kind, as lines.

`cases.txt` keeps them, and all are asked in every run:

- `explain`: an operator as the command takes it; what each convention pads there.
- `fits`: inputs, and the nodes of a graph; what `show` says of its last operator that pads, what
  `check --convention` warns of, and what `repad` leaves since it is a framework's already.
- `repad`: the sizes of `x`, and an operator; the intent that is read, and what is written, by
  framework. A weight `w3` has 3 elements on each axis.
- `match`: as in `repadding/matches.txt`.
- `front`: the nodes of a graph; of the operator that gives `y` its own padding, that of `Pad`s in
  front, and the whole in numbers.
- `gap`: a type, an output wanted and one found, by elements or shape, and what is allowed; whether
  it is reproduced, how far shape and values are off, and the bits that tell them apart.
- `settled`: an opset, an operator, a padding and sizes; the padding that the opset can tell.
"""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import onnxpad
from onnxpad.facts import Analysis
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.reading import SiteReader
from onnxpad.frameworks.repadding.comparing import Closeness, bits, gap
from onnxpad.frameworks.repadding.sites import settled, sites_of
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.operators import read_window
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
    else:
        asks: dict[str, Callable[..., str]]
        asks = {"fits": _fits, "front": _front, "gap": _gap, "settled": _settled}
        told = asks.get(kind, _repads)(*question.split(" | "))
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


def _front(body: str) -> str:
    """The padding of the operator that gives `y`."""
    inputs = "float[1, 2, 9, 8] x, float[1, 2, h, v] open, int64[8] r"
    given = f"{W}, int64[1] i = {{2}}, int64[1] e = {{7}}, int64[8] p = {{0, 0, 1, 2, 0, 0, 3, 4}}"
    given += ", int64[8] q = {0, 9, 5, 0, 0, 0, 0, 7}, int64[8] none = {0, 0, 0, 0, 0, 0, 0, 0}"
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=given))
    analysis, node = Analysis(graph), graph.tensor("y").producer
    assert node is not None
    site = SiteReader(graph, analysis).of(read_window(graph, analysis, node))
    whole = site.whole and (site.whole.numbers, site.whole.counted)
    return f"own {site.own}, front {site.front.amounts}, whole {whole}"


def _gap(wanted: str, found: str, allowed: str) -> str:
    """How far one output is from another, and what tells them apart."""
    kind, _, wanted = wanted.partition(" ")
    one, other = (_array(each, kind) for each in (wanted, found))
    closeness = Closeness(**{k: float(v) for k, v in (e.split("=") for e in allowed.split())})
    seen = gap(one, other, closeness)
    far = f"{seen.gap:.4g} in shape, {seen.greatest:.4g} at most, {seen.error:.4g}"
    apart = (
        "" if seen.missing is None else f", {bits({(0, 'y'): one}, {(0, 'y'): other}, 0):.4g} bits"
    )
    return f"{'solved' if seen.solved else 'not'}, {far}{apart}"


def _array(text: str, kind: str) -> Any:
    if "x" in text:
        return np.ones([int(size) for size in text.split("x")], kind)
    return np.array([each if kind == "object" else float(each) for each in text.split()]).astype(
        kind
    )


def _settled(opset: str, body: str, padding: str, sizes: str) -> str:
    """A padding as the opset can tell it, of an operator with two open sizes."""
    begin, end, *marks = padding.split()
    pairs = None if begin == "same" else ((int(begin), int(end)),) * 2
    asked = Padding(pairs, ceil="up" in marks, counted="counted" in marks)
    inputs = "float[1, 1, h, k] x, float[1, 1, 3, 3] w"
    (site,), _ = sites_of(Context(Graph.from_proto(one(body, inputs=inputs, opset=int(opset)))))
    now = settled(site, asked, tuple(map(int, sizes.split())), int(opset))
    return f"{now.pads}{' up' * now.ceil}{' counted' * now.counted}"


LINES: Final = Lines(Path(__file__).with_name("cases.txt"), said)
