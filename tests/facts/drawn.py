"""Nodes drawn over a pool of tensors, with all that is claimed of their outputs, as lines of text.

`claims.txt` keeps them: what the analysis claims more, less or otherwise than before shows there.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import onnx

from onnxpad.arithmetic.size import Unknown
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import infinite
from onnxpad.graph import Graph
from tests.support import parsed

CLAIMS: Final = Path(__file__).with_name("claims.txt")

INPUTS, GIVEN, SHARED = (
    re.sub(r"^# .*\n", "", part)
    for part in re.split(r"(?m)^(?=# )", CLAIMS.with_name("pool.txt").read_text(encoding="utf-8"))[
        1:
    ]
)
"""Inputs, constants and nodes that all drawn nodes may read."""


def kept() -> dict[int, list[tuple[str, str]]]:
    """The nodes by opset, each with what is claimed of its outputs."""
    found: dict[int, list[tuple[str, str]]] = {}
    for line in CLAIMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("# opset "):
            opset = int(line.removeprefix("# opset "))
            found[opset] = []
        else:
            node, _, claims = line.partition("  =>  ")
            found[opset].append((node, claims))
    return found


def outputs(node: str) -> list[str]:
    """The names of a node's outputs."""
    return re.split(r", ", node.partition(" = ")[0])


def model_of(nodes: Iterable[str], opset: int) -> onnx.ModelProto:
    """One graph of all nodes; the names of the outputs of the n-th begin with `n_`."""
    body = []
    for place, node in enumerate(nodes):
        names = ", ".join(f"_{place}_{name}" for name in outputs(node))
        body.append(f"{names} = {node.partition(' = ')[2]}")
    text = f"g ({INPUTS}) => () <{GIVEN}> {{ {SHARED} {' '.join(body)} }}"
    return parsed(text, opset=opset)


def claimed(nodes: list[str], opset: int) -> Iterator[str]:
    """What is claimed of the outputs of each node: type, shape, elements, and the lower bound."""
    graph = Graph.from_proto(model_of(nodes, opset))
    analysis = Analysis(graph)
    for place, node in enumerate(nodes):
        yield "; ".join(_of(graph, analysis, f"_{place}_{name}") for name in outputs(node))


def keep() -> None:
    """Keeps the claims of all nodes anew."""
    texts = []
    for opset, lines in kept().items():
        nodes = [node for node, _ in lines]
        texts.append(f"# opset {opset}\n")
        found = claimed(nodes, opset)
        texts += [f"{node}  =>  {said}\n" for node, said in zip(nodes, found, strict=True)]
    CLAIMS.write_text("".join(texts), encoding="utf-8")


def _of(graph: Graph, analysis: Analysis, name: str) -> str:
    tensor = graph.tensor(name)
    dtype, shape, value = analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor)
    parts = [
        "no type" if dtype is None else onnx.TensorProto.DataType.Name(dtype).lower(),
        "no rank" if shape is None else f"({_listed(shape)})",
        "" if value is None else f"= {_listed(value.data.reshape(-1))}",
        f">= {analysis.bound(tensor)}",
        f"infinities from {origin.name!r}" if (origin := infinite(analysis, tensor)) else "",
    ]
    return " ".join(filter(None, parts)).replace(name, "it")


def _listed(items: Iterable[object]) -> str:
    return ", ".join("?" if isinstance(each, Unknown) else str(each) for each in items)
