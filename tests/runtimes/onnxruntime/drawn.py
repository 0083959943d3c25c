"""Drawn graphs, with what onnxruntime's optimiser is predicted to fold and fuse in each.

`predictions.txt` keeps them: a prediction that changes shows there. A line asks which neighbours
would be fused wrongly; or what stands before a colon:

- `pads`: which `Pad`s are folded.
- `harm TENSOR of INPUT`: what harm a pool in blocks did, if the shape of the tensor were known.
- `call`: how a graph of one input `d` and one output `e` is called, the nodes around the call, and
  those inside; what is folded in and out of functions and branches.
- `shield`: an opset, edits of nodes that were touched (`b`) or whose inputs were replaced
  (`y.0=a`), and the nodes; what is written so that no `Pad` is folded wrongly.
- `same`: an opset, a size (`n` if open, `?` if unknown) and an operator with SAME, on bytes if it
  is a MaxPool with dilations; why it does not run, its pads, and what the specification has.
- `claims`: an opset, inputs and nodes; the tensors of which shape inference claims other sizes.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from onnx import TensorProto

from onnxpad.arithmetic.size import Unknown
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.padding.site import Sites
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.onnxruntime.departures import disagreement, runtime_pads, why_not_run
from onnxpad.runtimes.onnxruntime.guard import shield
from onnxpad.runtimes.onnxruntime.hidden_shapes import disagreements
from onnxpad.runtimes.onnxruntime.neighbours import Neighbours
from onnxpad.runtimes.onnxruntime.pad_fusion import Fusion
from onnxpad.semantics.operators import WindowOp, read_window
from tests.support import one, parsed
from tests.support.lines import Lines, facts

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
CLAIMED = (
    "int64[1] zero = {0}, int64[1] two = {2}, int64[1] eight = {8}, int64[0] none = {},"
    " int64[4] target = {1, 2, 8, 8}"
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


def called(how: str, around: str, inside: str, *more: str) -> str:
    """The wrong folds in and out of functions, the `Pad`s taken for certain, and what is fed."""
    fusion = _fusion(how, around, inside, *more)
    graph = fusion._graph
    wrong = [
        f"{each.pad.node.outputs[0].name}>{each.window.outputs[0].name}"
        for each in fusion.exposed()
    ]
    surely = [pad.node.outputs[0].name for each in graph.nodes if (pad := fusion.takes(each))]
    names = [node.outputs[0].name for node in graph.nodes]
    fed = [name for name in names if fusion.is_fed(graph.tensor(name))]
    parts = {"wrongly": "; ".join(wrong), "for certain": " ".join(surely), "fed": " ".join(fed)}
    told = ", ".join(f"{name} {some}" for name, some in parts.items() if some)
    return told or "nothing"


def _fusion(how: str, around: str, inside: str, more: str = "") -> Fusion:
    """The prediction for a graph with calls of functions, or with branches in their place."""
    body = _filled(how, around, inside).replace("POOL", POOL)
    body = _filled("function", body, "").replace("MORE", "local.G")
    functions = "".join(
        f'<domain: "local", opset_import: ["" : 17, "local" : 1]> {name} (d) => (e) '
        f"{{ {text.replace('POOL', POOL).replace('MORE', 'local.G')} }}"
        for name, text in (("F", inside), ("G", more))
        if text
    )
    graph = Graph.from_proto(
        parsed(
            f"""<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
            g ({INPUTS}) => (float y) <{GIVEN}> {{ {body} }} {functions}"""
        )
    )
    analysis = Analysis(graph)
    return Sites(graph, analysis).fusion


def _filled(how: str, around: str, inside: str) -> str:
    """The nodes around with each call as a node of a function, or as an If."""
    if how == "function":
        return around.replace("CALL", "local.F")

    def branch(match: re.Match[str]) -> str:
        result, given = match.groups()
        names = {"d": given, "e": f"e{result}"}
        own = re.sub(r"\b[de]\b", lambda name: names[name[0]], inside)
        own = re.sub(r"\b[ijko]\b", lambda name: f"{name[0]}{result}", own)
        return (
            f"{result} = If ({how.removeprefix('if ')}) <then_branch = t () => (float e{result}) "
            f"{{ {own} }}, else_branch = f () => (float n{result}) {{ n{result} = Neg ({given}) }}>"
        )

    return re.sub(r"(\w+) = CALL \((\w+)\)", branch, around)


def shielded(opset: str, edits: str, body: str) -> str:
    """The nodes that are written after edits, and the `Pad`s that cannot be protected."""
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
    return "; ".join(told) or "nothing"


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


def same(opset: str, size: str, node: str) -> str:
    """What becomes of SAME on data of two axes, the second of size 4."""
    kind = "uint8" if "MaxPool" in node and "dilations" in node else "float"
    inputs = f"{kind}[1, 1, {size.strip('?') or 'h'}, 4] x"
    front = "a = vendor.Odd (x)" if size == "?" else "a = Identity (x)"
    given = "float[1, 1, 3, 1] w = {1, 2, 3}"
    body = f"{front} y = {node}"
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=given, opset=int(opset)))
    analysis, found = Analysis(graph), graph.tensor("y").producer
    assert found is not None
    op = read_window(graph, analysis, found)
    assert isinstance(op, WindowOp)
    shape = analysis.shape(op.data)
    sizes = (Unknown(""), 4) if shape is None else (shape[2], shape[3])
    dtype = TensorProto.DataType.Value(kind.upper())
    why = why_not_run(op, lambda: sizes, lambda: dtype)
    pads = None if isinstance(sizes[0], Unknown) else runtime_pads(op, 0, sizes[0], dtype)
    refusal = disagreement(op, sizes, dtype)
    told = "as specified" if refusal is None else str(facts(dict(refusal.facts)))
    return f"{why or 'runs'}, {pads}, {told}"


def claims(opset: str, inputs: str, body: str) -> str:
    """The sizes that the analysis has where shape inference claims others."""
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=CLAIMED, opset=int(opset)))
    analysis = Analysis(graph)
    results = (node.outputs[0] for node in disagreements(graph, analysis))
    return ", ".join(f"{each.name} {analysis.shape(each)}" for each in results) or "nothing"


def said(line: str) -> str:
    """The line with what is predicted now."""
    asked = line.partition("  =>  ")[0]
    kind, _, rest = asked.partition(": ")
    if ask := _ASKS.get(kind):
        return f"{asked}  =>  {ask(*rest.split(' | '))}"
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


_ASKS: Final[dict[str, Callable[..., str]]] = {
    "call": called,
    "shield": shielded,
    "same": same,
    "claims": claims,
}
LINES: Final = Lines(Path(__file__).with_name("predictions.txt"), said)
