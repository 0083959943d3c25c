"""Pairs of small graphs, drawn, and whether both are proved to compute the same.

`pairs.txt` keeps them, each with the rule and the assumptions of its proof: what is proved of more,
fewer or other pairs than before shows there.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import onnx

from onnxpad.facts import Analysis
from onnxpad.finding import Assumption, Trust
from onnxpad.graph import Graph
from onnxpad.proof.read import Reader
from onnxpad.proof.refine import Facts, refine
from onnxpad.proof.term import DiffersError, Equal, Term, Terms
from tests.support import one
from tests.support.lines import Lines

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
    "signs": "float[2, 1] signs = {1, -1}",
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


class Read:
    """A model whose terms are read, by what is done and not by what is written."""

    def __init__(self, proto: onnx.ModelProto, terms: Terms | None = None) -> None:
        self.graph = Graph.from_proto(proto)
        self.analysis = Analysis(self.graph)
        reader = Reader(self.graph, self.analysis, terms)
        self.facts = Facts(self.graph, self.analysis, reader)
        for tensor in (each for node in self.graph.nodes for each in node.outputs):
            reader.keep(tensor, reader.reread(tensor, None)[0])

    def term(self, name: str = "y") -> Term:
        """The term of a tensor."""
        return self.facts.reader.read(self.graph.tensor(name))


def refined(
    before: onnx.ModelProto, after: onnx.ModelProto, name: str = "y", trust: Trust | None = None
) -> Equal:
    """How a tensor of one model is shown to be equal to that of the same name of another one.

    Raises:
        DiffersError: It is not.
    """
    terms = Terms()
    old, new = Read(before, terms), Read(after, terms)
    return refine(new.term(name), old.term(name), new.facts, new.graph.tensor(name), trust)


def codes(assumptions: Sequence[str] | frozenset[Assumption]) -> list[str]:
    """The codes of what a proof assumes."""
    return [each.code for each in sorted(assumptions) if isinstance(each, Assumption)]


def said(line: str) -> str:
    """The line with what is said now."""
    trust = re.search(r"^[^:]*, trusts (\w+)", line)
    try:
        equal = refined(*models(line), trust=None if trust is None else Trust(trust[1]))
        told = " ".join(["proved", equal.rule, *codes(equal.assumptions)])
    except DiffersError:
        told = "refused"
    return f"{line.partition('  =>  ')[0]}  =>  {told}"


LINES: Final = Lines(Path(__file__).with_name("pairs.txt"), said)
