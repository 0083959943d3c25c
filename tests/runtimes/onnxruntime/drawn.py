"""Drawn graphs, with what onnxruntime's optimiser is predicted to fold and fuse in each.

`predictions.txt` keeps them: a prediction that changes shows there. A line asks which neighbours
would be fused wrongly; behind `pads`, which `Pad`s are folded; and behind `harm TENSOR of INPUT`,
what harm it did that a pool runs in blocks, if onnxruntime knew the shape of the tensor.
"""

from pathlib import Path
from typing import Final

from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.padding.site import Sites
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.onnxruntime.neighbours import Neighbours
from onnxpad.runtimes.onnxruntime.pad_fusion import Fusion
from tests.support import one
from tests.support.lines import Lines

PADS = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] deep = {0, 1, 0, 0, 0, 0, 0, 0}"
GIVEN = (
    f"{PADS}, float zero = {{0}}, float one = {{1}}, float[1] none = {{-inf}}, bool yes = {{1}},"
    " int64[8] empty = {0, 0, 0, 0, 0, 0, 0, 0}, int64[8] crop = {0, 0, -1, 0, 0, 0, 0, 0},"
    " float nil = {0}, int64[4] two = {1, 1, 1, 1}, int64[2] at = {2, 3}, float[3, 3, 2, 2] w = {"
    + ", ".join("1" * 36)
    + "}, int64[4] ones = {1, 1, 1, 1}"
)
INPUTS = "float[1, 3, 8, 8] x, float[1, 3, 10, 10] z, float s, bool f, int64[8] given"
POOL = "MaxPool <kernel_shape = [3, 3]>"


ONES = "{" + ", ".join("1" * 36) + "}"
NUMBERS = ", ".join(
    (
        "float s1 = {1}, float[1] s2 = {1}, float s3 = {0.5}, float[3] sv = {1, 2, 3}",
        "int8 i = {3}, int8 j = {0}, uint8 u = {7}, uint8 v = {0}, uint8[3] uv = {1, 2, 3}",
        "float one = {1}, float two = {2}, float low = {-1}, float high = {5}",
        "int64 lone = {1}, int64 ltwo = {2}, double dl = {-1}, double dh = {5}, double dz = {0}",
        "double do = {1}, int64[4] same = {1, 3, 8, 8}, int64[4] ones = {1, 1, 1, 1}",
        f"int64[2] flat = {{3, 64}}, float[3, 3, 2, 2] w = {ONES}, uint8[3, 3, 2, 2] qw = {ONES}",
    )
)
BLOCKS = ", ".join(
    (
        "float low = {-inf}, int64[2] hw = {2, 3}, int64[1] two = {2}",
        "float[16, 16, 1, 1] w = {" + ", ".join("1" * 256) + "}",
        "int64[8] p1 = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] p2 = {0, 0, 2, 2, 0, 0, 2, 2}",
        "int64[8] end2 = {0, 0, 0, 0, 0, 0, 2, 0}, int64[8] begin2 = {0, 0, 0, 2, 0, 0, 0, 0}",
        "int64[4] q1 = {1, 1, 1, 1}, int64[4] q2 = {2, 2, 2, 2}",
    )
)
KINDS = {"x": "float", "d": "double", "l": "int64", "q": "uint8", "k": "int8"}


def neighbours(body: str, opset: int = 17) -> str:
    """The operators of all neighbours that would be fused wrongly."""
    inputs = ", ".join(f"{kind}[1, 3, 8, 8] {name}" for name, kind in KINDS.items())
    ir = 8 if opset < 21 else 10
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=NUMBERS, opset=opset, ir=ir))
    analysis = Analysis(graph)
    fusion = Sites(graph, analysis).fusion
    found = Neighbours(graph, analysis, fusion).wrong()
    return ", ".join(" ".join(node.op for node in nodes) for nodes, _ in found)


def predicted(body: str, opset: int = 17) -> tuple[Graph, Analysis, Fusion]:
    graph = Graph.from_proto(one(body, inputs=INPUTS, initializers=GIVEN, opset=opset))
    analysis = Analysis(graph)
    return graph, analysis, Sites(graph, analysis).fusion


def pads_before(body: str, opset: int = 17) -> tuple[str, str]:
    """The Pads that may be folded wrongly, and those that are folded for sure."""
    graph, _, fusion = predicted(body, opset)
    wrongly = [f"{each.pad.node.outputs[0].name}>{each.window.op}" for each in fusion.exposed()]
    pads = [pad for pad in map(fusion.takes, graph.nodes) if pad is not None]
    taken = [pad.node.outputs[0].name for pad in pads]
    return " ".join(wrongly), " ".join(taken)


def harm(tensor: str, given: str, body: str) -> str:
    """The harm done if onnxruntime knew the shape of a tensor."""
    inputs = f"{given}, bool[8] f, int64[1] begin, int64[1] end"
    proto = one(body, inputs=inputs, initializers=BLOCKS, opset=18)
    context = Context(Graph.from_proto(proto))
    found = context.hidden.behind(context.graph.tensor(tensor))
    return "none" if found is None else found.reason.value


def said(line: str) -> str:
    """The line with what is predicted now."""
    asked = line.partition("  =>  ")[0]
    if asked.startswith("harm "):
        where, _, body = asked.removeprefix("harm ").partition(": ")
        tensor, _, given = where.partition(" of ")
        return f"{asked}  =>  {harm(tensor, given, body)}"
    opset, _, body = asked.removeprefix("opset ").partition(": ")
    if not body.startswith("pads "):
        return f"{asked}  =>  {neighbours(body, int(opset)) or 'nothing'}"
    wrongly, surely = pads_before(body.removeprefix("pads "), int(opset))
    parts = {"wrongly": wrongly, "for certain": surely}
    told = "; ".join(f"{name} {pads}" for name, pads in parts.items() if pads)
    return f"{asked}  =>  {told or 'nothing'}"


LINES: Final = Lines(Path(__file__).with_name("predictions.txt"), said)
BY_DAY: Final = 1
