"""Pairs of small graphs, drawn, with the proof that both compute the same, or why there is none.

`pairs.txt` keeps them: what is proved of more, fewer or other pairs than before shows there.
"""

import json
import re
from pathlib import Path
from typing import Final

import onnx

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.graph import Graph
from onnxpad.proof.certify import Certifier, UncertifiedError
from tests.support import one

PAIRS: Final = Path(__file__).with_name("pairs.txt")

_LINE: Final = re.compile(r"opset (\d+), length (\w+): (.*)  or  (.*)  =>  (.*)")
_FILLS: Final = {"low": "-inf", "minus": "-0.0", "v": "2"}
_AMOUNTS: Final = re.compile(r"\bp(m?\d)_(m?\d)\b")


def kept() -> list[str]:
    """All lines."""
    return PAIRS.read_text(encoding="utf-8").splitlines()


def models(line: str) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """The two models of a line."""
    found = _LINE.fullmatch(line)
    assert found
    opset, length, before, after, _ = found.groups()
    return _model(before, length, int(opset)), _model(after, length, int(opset))


def _model(body: str, length: str, opset: int) -> onnx.ModelProto:
    """A model of the nodes of a graph, in which `p1_m2` are amounts of 1 and -2."""
    given = {name: f"float {name} = {{{value}}}" for name, value in _FILLS.items()}
    for kernel in (1, 2, 3):
        weights = ", ".join(str(index % 3 + 1) for index in range(2 * kernel))
        given[f"w{kernel}"] = f"float[1, 2, {kernel}] w{kernel} = {{{weights}}}"
    for pair in set(_AMOUNTS.findall(body)):
        begin, end = (each.replace("m", "-") for each in pair)
        name = "p" + "_".join(pair)
        given[name] = f"int64[6] {name} = {{0, 0, {begin}, 0, 0, {end}}}"
    named = [text for name, text in given.items() if re.search(rf"\b{name}\b", body)]
    inputs = f"float[1, 2, {length}] x"
    return one(body, inputs=inputs, initializers=", ".join(named), opset=opset)


def verdict(line: str) -> str:
    """What the proof says of the pair of a line."""
    graphs = [Graph.from_proto(proto) for proto in models(line)]
    certifiers = []
    for graph in graphs:
        analysis = Analysis(graph)
        certifiers.append(Certifier(graph, analysis, Signs(graph, analysis)))
    try:
        old, new = (
            certifier.window(graph.tensor("y"))
            for certifier, graph in zip(certifiers, graphs, strict=True)
        )
        found = certifiers[0].certify(old, new)
    except UncertifiedError as error:
        return f"{error} {_told(error.facts)}"
    parts = [found.statement, found.sizes, *map(str, found.assumptions), _told(dict(found.facts))]
    return "; ".join(filter(None, parts))


def _told(facts: dict[str, object]) -> str:
    return json.dumps(facts, default=str)


def said(line: str) -> str:
    """The line with what is said now."""
    return f"{line.partition('  =>  ')[0]}  =>  {verdict(line)}"


def keep() -> None:
    """Keeps what is said of all pairs anew."""
    PAIRS.write_text("".join(f"{said(line)}\n" for line in kept()), encoding="utf-8")
