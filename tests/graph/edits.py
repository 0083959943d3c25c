"""Edits of a model, drawn, with all that changes in what is written, as lines of text.

`edits.txt` keeps them: a use, a name or a record that is left over or lost shows there.
"""

from collections.abc import Iterable, Iterator
from difflib import ndiff
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx

from onnxpad.graph import Graph, Node, Tensor, describe
from tests.support import parsed
from tests.support.lines import Lines

MODEL: Final = """
<ir_version: 8, opset_import: ["" : 17, "local" : 1, "vendor" : 2]>
g (float[1, 2, h, 5] x, bool flag) => (float[1, 2, n, m] y, float z, float[?, 2] j)
<float[2, 2, 1, 1] w = {1, 2, 3, 4}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float one = {1},
 float spare = {2}, float[1, 2, 7, 7] a, float[1, 2, 7, 7] c> {
    [pad] a = Pad <mode = "constant"> (x, p) [conv] b = Conv <group = 1> (a, w) c = Identity (b)
    [if] d = If (flag) <
        then_branch = t () => (float u) { [inner] q = Relu (b) [deep] v = Add (q, one)
            u = Identity (v) },
        else_branch = e () => (float u2) { [both] o = Add (c, b) [loop] s = Loop <
            body = l (int64 i, bool on, float k) => (bool go, float kk) {
                go = Identity (on) [last] kk = Add (k, o) }> ("", flag, b)
            [cut] u2 = Mul (o, s) }>
    [sum] f = Add (c, d) [call] h = local.F (f) [out] y = Identity (h)
    [dead] k = Exp (a) [max] z = ReduceMax <keepdims = 0> (f)
    [long] g = Constant () [fixed] n = Constant ()
    [own] i, r = vendor.Two <scale = 0.5, names = ["a", "b"]> (a, "", c, wide, g)
    [end] j = Clip (i, "", n)
}
<domain: "local", opset_import: ["" : 17]> F (r) => (s) {
    [abs] t = Abs (r) m = Identity (t) [root] s = Sqrt (m) }
"""


def model(ir: int) -> onnx.ModelProto:
    """The model, with notes and annotations; before IR version 4 constants are inputs too."""
    proto = parsed(MODEL)
    proto.ir_version = ir
    onnx.helper.set_model_props(proto, {"kept": "1", "told": "2"})
    nodes = {node.name: node for node in proto.graph.node}
    nodes["fixed"].attribute.add(name="value_float", type=onnx.AttributeProto.FLOAT, f=6)
    wide = onnx.numpy_helper.from_array(np.arange(300, dtype=np.float32), "wide")
    proto.graph.initializer.append(wide)
    nodes["long"].attribute.append(onnx.helper.make_attribute("value", wide))
    for node in proto.graph.node[:2]:
        node.doc_string = f"what {node.name} does"
    annotation = proto.graph.quantization_annotation.add(tensor_name="f")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="spare")
    if ir < 4:
        for each in proto.graph.initializer:
            value = onnx.helper.make_tensor_value_info(each.name, each.data_type, each.dims)
            proto.graph.input.append(value)
    return proto


def graphs(graph: Graph) -> Iterator[Graph]:
    """A graph, those of its bodies, and those of the functions."""
    yield graph
    yield from graph.inside()


def found(main: Graph, name: str) -> tuple[Graph, Node]:
    """A node by its name or that of its first output, with its graph."""
    for graph in graphs(main):
        for node in graph.nodes:
            if name in (node.name, node.outputs[0].name):
                return graph, node
    raise ValueError(f"there is no {name}")


def edit(main: Graph, marks: list[int], command: str) -> str:
    """Makes an edit; returns what it says, if anything."""
    verb, *words = command.split()
    if verb == "sweep":
        return "swept " + " ".join(main.sweep())
    if verb == "mark":
        marks.append(main.mark())
    elif verb == "back":
        main.rollback(marks.pop())
    elif verb == "declare":
        main.declare(words[0], tuple(int(each) if each.isdigit() else each for each in words[1:]))
    elif verb == "output":
        shape = [None if each == "?" else int(each) for each in words[1:]]
        main.declare_output(words[0], tuple(shape))
    elif verb == "note":
        main.model.set_metadata(*words)
        return f"{main.model.metadata(words[0])} {main.model.metadata('told')}"
    else:
        return _edited(verb, words, *found(main, words[0]))
    return ""


def _edited(verb: str, words: list[str], graph: Graph, node: Node) -> str:
    """Edits one node."""

    def tensor(name: str) -> Tensor | None:
        if name == "-":
            return None
        if name[0].isdigit():
            return graph.add_initializer(np.array(float(name), np.float32), "number")
        found = graph.capture(name)
        if found is None:
            raise KeyError(name)
        return found

    if verb == "set":
        value: Any = None if words[2] == "-" else float(words[2]) if "." in words[2] else words[2:]
        graph.set_attribute(node, words[1], value)
    elif verb == "in":
        graph.set_input(node, int(words[1]), tensor(words[2]))
    elif verb == "new":
        made = graph.insert(words[1], [*map(tensor, words[2:])], {"a": 1}, before=node, name="new")
        graph.set_input(node, 0, made)
        return made.name
    elif verb == "like":
        own = "own" if node.name else None
        made, *_ = graph.insert_like(node, [*map(tensor, words[1:])], {"group": 2}, name=own)
        for use in graph.uses(node.outputs[0]):
            if use.index >= 0:
                graph.set_input(use.node, use.index, made)
        return made.name
    elif verb == "becomes":
        graph.replace_op(node, words[1], [*map(tensor, words[2:])], {"axis": 1})
    elif verb == "absorb":
        return "absorbed " + " ".join(graph.absorb(node))
    elif verb == "remove":
        graph.remove(node)
    elif verb == "undeclare":
        graph.undeclare(node.outputs[0])
    return ""


def said(line: str) -> str:
    """The line with what its edits make now."""
    asked = line.partition("  =>  ")[0]
    ir, _, commands = asked.removeprefix("ir ").partition(": ")
    return f"{asked}  =>  {outcome(model(int(ir)), commands.split('; '))}"


def outcome(proto: onnx.ModelProto, commands: list[str]) -> str:
    """What edits say, what they touched, and how what is written differs."""
    graph = Graph.from_proto(proto)
    start, said = graph.mark(), list[str]()
    marks: list[int] = []
    for command in commands:
        try:
            said.append(edit(graph, marks, command))
        except (ValueError, IndexError, KeyError, TypeError) as error:
            said.append(type(error).__name__)
    said.append("touched " + " ".join(_touched(graph, start)))
    if marks:
        said.append("since the mark " + " ".join(_touched(graph, marks[-1])))
    for each in graphs(graph):
        if own := " ".join(_touched(each, start)) if each is not graph else "":
            said.append(f"in {each.place} {own}")
        elsewhere = each.touched_elsewhere(start)
        names = [f"{describe(one.node)} {one.node.alive}" for one in elsewhere]
        said.append(f"elsewhere than {each.place or 'main'} {' '.join(names)}" if names else "")
    runs = [describe(node) for node in graph.nodes if graph.runs_edited(node)]
    said.append("runs edited " + " ".join(runs))
    said.append("" if graph.model.changed else "unchanged")
    written = _text(graph.model.to_proto())
    said += _differing(_text(proto), written)
    return " | ".join(filter(None, said))


def _differing(before: list[str], after: list[str]) -> Iterator[str]:
    yield from (" ".join(each.split()) for each in ndiff(before, after) if each[:1] in "+-")


def _touched(graph: Graph, start: int) -> Iterator[str]:
    for each in graph.touched(start):
        op, _, _, reads, gives = each.was or ("", {}, None, (), ())
        before = f"({op}/{len(reads)}/{len(gives)})" if each.was else ""
        yield f"{describe(each.node)}{before}{'*' if each.again else ''}"


def _text(proto: onnx.ModelProto) -> list[str]:
    """All that edits may change, one line for each node, value and constant."""
    return [
        *[f"note {each.key}: {each.value}" for each in proto.metadata_props],
        *_lines(proto.graph),
        *[line for each in proto.functions for line in nodes_told(each.node, each.name)],
    ]


def _lines(graph: onnx.GraphProto) -> Iterator[str]:
    for kind in ("input", "output", "value_info"):
        for value in getattr(graph, kind):
            dims = value.type.tensor_type.shape.dim
            shape = [each.dim_param or each.dim_value for each in dims]
            yield f"{kind} {graph.name}.{value.name} {shape}"
    for tensor in graph.initializer:
        shown = onnx.numpy_helper.to_array(tensor).reshape(-1).tolist()[:2]
        yield f"constant {tensor.name} {list(tensor.dims)} {shown}"
    yield from (f"annotated {each.tensor_name}" for each in graph.quantization_annotation)
    yield from nodes_told(graph.node, graph.name)


def nodes_told(nodes: Iterable[onnx.NodeProto], place: str) -> Iterator[str]:
    """One line for each node, those of bodies included."""
    for node in nodes:
        bodies = [each.g for each in node.attribute if each.HasField("g")]
        held = [each for each in node.attribute if not each.HasField("g")]
        given = {each.name: _value(each) for each in held}
        ends = f"{', '.join(node.output)} = {node.domain}.{node.op_type}({', '.join(node.input)})"
        yield f"{place} [{node.name}] {ends} {given or ''} {node.doc_string}"
        for body in bodies:
            yield from _lines(body)


def _value(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    return value.dims if isinstance(value, onnx.TensorProto) else value


LINES: Final = Lines(Path(__file__).with_name("edits.txt"), said)
