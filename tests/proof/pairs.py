"""Pairs of small graphs, drawn, with the proof that both compute the same, or why there is none.

`pairs.txt` keeps them: what is proved of more, fewer or other pairs than before shows there.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import onnx

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.finding import Assumption, Trust
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.proof.certify import Certifier, Reading, UncertifiedError
from onnxpad.proof.meaning import slides
from tests.support import one
from tests.support.lines import Lines, facts

_LINE: Final = re.compile(
    r"opset (\d+), (\w+ )?length (\w+)(?:, trusts (\w+))?: (.*)  or  (.*)  =>  (.*)"
)
_FILLS: Final = {"low": "-inf", "minus": "-0.0", "v": "2", "half": "0.5"}
_OTHERS: Final = {
    "each": "float[1, 2, 1] each = {1, 2}",
    "bias": "float[2] bias = {1, -2}",
    "t1": "float[2, 1, 1] t1 = {1, 2}",
    "t2": "float[2, 1, 2] t2 = {1, 2, 3, 4}",
    "t3": "float[2, 2, 3] t3 = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6}",
    "flat": "int64[3] flat = {0, -1, 1}",
    "e211": "int64[3] e211 = {2, 1, 1}",
    "point": "uint8 point = {3}",
    "none2": "int64[2] none2 = {0, 0}",
    "ones": "float[2] ones = {1, 1}",
    "zeros": "float[2] zeros = {0, 0}",
}
_AMOUNTS: Final = re.compile(r"\bp(m?\d)_(m?\d)\b")
_INDEX: Final = re.compile(r"\b([ik])(m?\d+)\b")


def models(line: str) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """The two models of a line."""
    found = _LINE.fullmatch(line)
    assert found
    opset, dtype, length, _, before, after, _ = found.groups()
    kind = (dtype or "float ").strip()
    return model_of(before, kind, length, int(opset)), model_of(after, kind, length, int(opset))


def model_of(body: str, dtype: str, length: str, opset: int) -> onnx.ModelProto:
    """A model of the nodes of a graph, in which `p1_m2` are amounts of 1 and -2, `im1`
    is -1 on one axis, and `k1` is the number 1."""
    given = {name: f"{dtype} {name} = {{{value}}}" for name, value in _FILLS.items()} | _OTHERS
    for kernel in (1, 2, 3):
        weights = ", ".join(str(index % 3 + 1) for index in range(2 * kernel))
        given[f"w{kernel}"] = f"float[1, 2, {kernel}] w{kernel} = {{{weights}}}"
    for pair in set(_AMOUNTS.findall(body)):
        begin, end = (each.replace("m", "-") for each in pair)
        name = "p" + "_".join(pair)
        given[name] = f"int64[6] {name} = {{0, 0, {begin}, 0, 0, {end}}}"
    for kind, number in set(_INDEX.findall(body)):
        shape = "[1]" if kind == "i" else ""
        given[kind + number] = f"int64{shape} {kind}{number} = {{{number.replace('m', '-')}}}"
    named = [text for name, text in given.items() if re.search(rf"\b{name}\b", body)]
    inputs, outputs = f"{dtype}[1, 2, {length}] x", _ends(body)
    return one(body, inputs=inputs, outputs=outputs, initializers=", ".join(named), opset=opset)


def _ends(body: str) -> str:
    """The output of a graph: the last of `y`, `z`, `t` and `u` that a node computes."""
    names = [name for name in "yztu" if re.search(rf"\b{name}(, \w+)* = ", body)]
    return f"float[] {names[-1]}"


def verdict(line: str) -> str:
    """What the proof says of the pair of a line."""
    graphs = [Graph.from_proto(proto) for proto in models(line)]
    certifiers = []
    for graph in graphs:
        analysis = Analysis(graph)
        certifiers.append(Certifier(graph, analysis, Signs(graph, analysis)))
    try:
        old, new = _readings(certifiers, graphs)
        trust = re.search(r"^[^:]*, trusts (\w+)", line)
        found = certifiers[1].certify(old, new, None if trust is None else Trust(trust[1]))
    except UncertifiedError as error:
        return f"refused {_told(error.facts)}"
    return " ".join(["proved", *codes(found.assumptions), _told(found.facts)])


def codes(assumptions: Iterable[str]) -> list[str]:
    """The codes of what a proof assumes."""
    return [each.code for each in assumptions if isinstance(each, Assumption)]


def _readings(certifiers: list[Certifier], graphs: list[Graph]) -> tuple[Reading, Reading]:
    """What `y` is computed from in both graphs: by a window, by `Pad`s alone, or through steps."""
    (first, one), (second, other) = (_writer(graph) for graph in graphs)
    if not {first.op, second.op} <= {"Pad", "Identity"} and not slides(graphs[0], first):
        old = certifiers[0].steps(one)
        return old, certifiers[1].steps(other, old.roots)
    return certifiers[0].read(first, one), certifiers[1].read(second, other)


def _writer(graph: Graph) -> tuple[Node, Tensor]:
    """The node that writes `y`, and that tensor."""
    node = graph.producer(graph.tensor("y"))
    assert node is not None
    return node, graph.tensor("y")


def _told(found: Mapping[str, object]) -> str:
    return json.dumps(facts(found), default=str)


def said(line: str) -> str:
    """The line with what is said now."""
    return f"{line.partition('  =>  ')[0]}  =>  {verdict(line)}"


LINES: Final = Lines(Path(__file__).with_name("pairs.txt"), said)
