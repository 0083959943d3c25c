"""Graphs that were edited, and what is written so that the optimiser folds no `Pad` wrongly.

`shields.txt` keeps them. A line gives the opset; the edits: nodes that were touched (`b`), and
inputs that were replaced (`y.0=a`); and the nodes.
"""

from pathlib import Path
from typing import Final

from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.onnxruntime.guard import shield
from tests.runtimes.onnxruntime.drawn import GIVEN, INPUTS, POOL
from tests.support import one
from tests.support.lines import Lines


def said(line: str) -> str:
    """The line with the nodes that are written then, and the `Pad`s that cannot be protected."""
    asked = line.partition("  =>  ")[0]
    opset, edits, body = asked.split(" | ")
    proto = one(body.replace("POOL", POOL), inputs=INPUTS, initializers=GIVEN, opset=int(opset))
    context = Context(Graph.from_proto(proto))
    graph = context.graph
    for edit in edits.split():
        name, _, replaced = edit.partition(".")
        node = graph.tensor(name).producer
        assert node is not None
        if replaced:
            index, _, given = replaced.partition("=")
            graph.set_input(node, int(index), graph.tensor(given))
        else:
            graph.set_attribute(node, *(("mode", "constant") if node.op == "Pad" else ("added", 1)))
    before = _texts(graph)
    found = shield(context)
    left = [f"{each.pad.node.outputs[0].name}>{each.window.outputs[0].name}" for each in found]
    after = _texts(graph)
    written = [text for text in after if text not in before]
    told = [*written, *(["left " + " ".join(left)] if left else [])]
    return f"{asked}  =>  {'; '.join(told) or 'nothing'}"


def _texts(graph: Graph) -> list[str]:
    """Each node in a line, and each declaration; new initializers with their elements."""
    told = [
        f"{', '.join(each.name for each in node.outputs)} = {node.op} "
        f"{dict(sorted(node.attrs.items())) if node.attrs else ''}"
        f"({', '.join(_input(graph, each.name) for each in node.inputs)})"
        for node in graph.nodes
    ]
    return [*told, *(f"{tensor.name}: {sizes}" for tensor, sizes in graph.claims("value_info"))]


def _input(graph: Graph, name: str) -> str:
    if not name.endswith("_pads"):
        return name
    found = graph.constant(graph.tensor(name))
    return f"{name} {None if found is None else found.tolist()}"


LINES: Final = Lines(Path(__file__).with_name("shields.txt"), said)
BY_DAY: Final = 1
