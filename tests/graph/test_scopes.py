"""Bodies of nodes and functions are read, edited and written like the main graph."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, numpy_helper

from onnxpad.errors import ModelError
from onnxpad.file.skeleton import encode, scan
from onnxpad.graph import Declared, Graph
from tests.support import assert_same, checked, feeds_of, named, run
from tests.support import one as model_of
from tests.support.rows import each_row

CONV = "[conv] c = Conv (a, w)"
PAD_CONV = f"[pad] a = Pad (x, p) {CONV}"
HEAD = '<ir_version: 9, opset_import: ["" : 17, "f" : 1]>'
GIVEN = (
    "<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9},"
    " int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, bool yes = {1}, int64 two = {2}>"
)
SIGNATURE = "g (float[1, 1, 5, 5] x) => (float[1, 1, 5, 5] y)"

IF = f"""{HEAD} {SIGNATURE} {GIVEN} {{
    [first] f = Neg (x)
    [if] z = If (yes) <
        then_branch = t () => (float[] c) {{ {PAD_CONV} }},
        else_branch = e () => (float[] c) {{ c = Identity (f) }}
    >
    [last] y = Neg (z)
}}"""

LOOP_IN_IF = f"""{HEAD} {SIGNATURE} {GIVEN} {{
    [if] y = If (yes) <
        then_branch = t () => (float[] r) {{
            [loop] r = Loop (two, yes, x) <body = b (int64 i, bool on, float[] s) =>
                (bool go, float[] c) {{
                    go = Identity (on) [pad] a = Pad (s, p) {CONV}
                }}>
        }},
        else_branch = e () => (float[] c) {{ c = Identity (x) }}
    >
}}"""

SCAN = f"""{HEAD} {SIGNATURE} {GIVEN} {{
    s = Unsqueeze (x, zero)
    [scan] t = Scan <num_scan_inputs = 1, body = b (float[1, 1, 5, 5] q) => (float[] c) {{
        [pad] a = Pad (q, p) {CONV}
    }}> (s)
    y = Squeeze (t, zero)
}}""".replace("two = {2}", "two = {2}, int64[1] zero = {0}")

FUNCTION = f"""{HEAD} {SIGNATURE} {GIVEN} {{
    [call] z = f.blur (x, w, p) y = f.blur (z, w, p)
}}
<domain: "f", opset_import: ["" : 17]> blur (x, w, p) => (c) {{ {PAD_CONV} }}"""

IN_FUNCTION = f"""{HEAD} {SIGNATURE} {GIVEN} {{
    y = f.other (x) z = f.blur (x, w, p, yes)
}}
<domain: "f", opset_import: ["" : 17]> other (x) => (c) {{ c = Neg (x) }}
<domain: "f", opset_import: ["" : 17]> blur (x, w, p, on) => (y) {{
    y = If (on) <
        then_branch = t () => (float[] c) {{ {PAD_CONV} }},
        else_branch = e () => (float[] c) {{ c = Identity (x) }}
    >
}}""".replace("(float[1, 1, 5, 5] y)", "(float[1, 1, 5, 5] y, float[1, 1, 5, 5] z)")

PLACES = {
    "If 'if' > then_branch": IF,
    "If 'if' > then_branch > Loop 'loop' > body": LOOP_IN_IF,
    "Scan 'scan' > body": SCAN,
    "f::blur": FUNCTION,
    "f::blur > If '<y>' > then_branch": IN_FUNCTION,
}


def scopes(graph: Graph) -> dict[str, Graph]:
    """All graphs of a model by their place."""
    return {scope.place: scope for scope in (graph, *graph.inside())}


def fold(scope: Graph) -> None:
    """Folds the Pad of a scope into its Conv."""
    conv, pad = named(scope, "conv"), named(scope, "pad")
    scope.set_attribute(conv, "pads", [1, 1, 1, 1])
    scope.set_input(conv, 0, pad.inputs[0])
    assert scope.sweep() == (f"{scope.place} > Pad 'pad'",)


def future(model: onnx.ModelProto) -> bytes:
    """A model in which every node and body has a field that protobuf does not know."""

    def mark(nodes: list[onnx.NodeProto]) -> None:
        for node in nodes:
            for attribute in node.attribute:
                for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    mark(list(body.node))
                    body.MergeFromString(encode(1000, b"future body"))
            node.MergeFromString(encode(1001, node.name.encode() or b"nameless"))

    mark(list(model.graph.node))
    for function in model.functions:
        mark(list(function.node))
        function.MergeFromString(encode(1002, b"future function"))
    return bytes(model.SerializeToString())


def records(raw: bytes) -> list[bytes]:
    """The records of a model and of its main graph."""
    found = []
    for record in scan(memoryview(raw), 0, len(raw)):
        if record.field == 7:
            inner = scan(memoryview(raw), record.body, record.end)
            found += [raw[part.begin : part.end] for part in inner]
        else:
            found.append(raw[record.begin : record.end])
    return found


class TestReading:
    @pytest.mark.parametrize(("place", "text"), PLACES.items())
    def test_every_scope_is_found_and_nothing_is_changed(self, place: str, text: str) -> None:
        raw = future(checked(text))
        graph = Graph.from_bytes(raw)
        found = scopes(graph)
        assert place in found
        assert scopes(graph)[place] is found[place]
        assert [node.name for node in found[place].nodes if node.name] == ["pad", "conv"]
        assert not graph.model.changed
        assert graph.model.to_bytes() == raw

    def test_a_function_of_no_known_opset_has_no_standard_operators(self) -> None:
        for version in ("", '"" : 999', '"g" : 1'):
            text = FUNCTION.replace('["" : 17]> blur', f"[{version}]> blur")
            function = Graph.from_proto(onnx.parser.parse_model(text)).model.functions[0]
            assert function.opset == 0
            assert not any(map(function.is_standard, function.nodes))

    def test_inputs_of_bodies_are_what_their_node_determines(self) -> None:
        loop = scopes(Graph.from_proto(checked(LOOP_IN_IF)))
        assert loop["If 'if' > then_branch > Loop 'loop' > body"].inputs == {
            "i": Declared(TensorProto.INT64, ()),
            "on": Declared(TensorProto.BOOL, ()),
            "s": Declared(0, None),
        }
        vectors = LOOP_IN_IF.replace("int64 i, bool on", "int64[1] i, bool[1] on")
        loop = scopes(Graph.from_proto(onnx.parser.parse_model(vectors)))
        inputs = loop["If 'if' > then_branch > Loop 'loop' > body"].inputs
        assert [each.shape for each in inputs.values()] == [None, None, None]
        scan = scopes(Graph.from_proto(checked(SCAN)))["Scan 'scan' > body"]
        assert scan.inputs == {"q": Declared(0, None)}
        function = scopes(Graph.from_proto(checked(FUNCTION)))["f::blur"]
        assert set(function.inputs.values()) == {Declared(0, None)}
        foreign = LOOP_IN_IF.replace("Loop (", "f.Loop (")
        inner = scopes(Graph.from_proto(onnx.parser.parse_model(foreign)))
        inputs = inner["If 'if' > then_branch > Loop 'loop' > body"].inputs
        assert set(inputs.values()) == {Declared(0, None)}

    @each_row(
        "body",
        [
            "c = Relu (nowhere)",
            "c = Relu (z)",  # what the If itself gives
            "c = Relu (x) c = Neg (x)",
            "c = Relu (d) d = Relu (c)",
            "d = Relu (x)",
            "c = Identity ()",
        ],
    )
    def test_what_is_no_graph_is_refused(self, body: str) -> None:
        with pytest.raises(ModelError, match=r"^If 'if' > then_branch: "):
            Graph.from_proto(onnx.parser.parse_model(IF.replace(PAD_CONV, body)))

    def test_a_body_in_several_pieces_is_one(self) -> None:
        """Protobuf merges a message that occurs more than once."""
        raw = in_two_pieces(IF)
        graph = Graph.from_bytes(raw)
        fold(scopes(graph)["If 'if' > then_branch"])
        onnx.checker.check_model(graph.model.to_proto())
        assert_same(onnx.ModelProto.FromString(raw), graph.model.to_proto())
        graph.rollback(0)
        assert graph.model.to_bytes() == raw

    def test_what_is_added_to_a_body_in_several_pieces_is_added_once(self) -> None:
        raw = in_two_pieces(IF.replace(CONV, f"{CONV} [dead] q = Relu (x)"), nodes=0)
        graph = Graph.from_bytes(raw)
        branch = scopes(graph)["If 'if' > then_branch"]
        dead = named(branch, "dead")
        branch.insert("Neg", dead.inputs, {}, before=dead, name="last")
        branch.remove(dead)
        body = graph.model.to_proto().graph.node[1].attribute[-1].g
        assert [node.op_type for node in body.node] == ["Pad", "Conv", "Neg"]

    def test_what_a_body_out_of_order_computes_itself_is_its_own(self) -> None:
        text = IF.replace("c = Identity (f)", "c = Identity (f) f = Relu (x)")
        graph = Graph.from_proto(onnx.parser.parse_model(text))
        owner, f = named(graph, "if"), graph.tensor("f")
        assert not graph.uses(f)
        branch = scopes(graph)["If 'if' > else_branch"]
        assert branch.tensor("f").outer is None
        graph.set_attribute(owner, "new", 1)
        assert not graph.uses(f)


def in_two_pieces(text: str, *, nodes: int = 1) -> bytes:
    """A model whose first body comes in two messages, the second with its last nodes and output."""
    model = checked(text)
    node = model.graph.node[1]
    whole = node.SerializeToString()
    first, second = onnx.GraphProto(), onnx.GraphProto()
    first.CopyFrom(node.attribute[0].g)
    for _ in range(nodes):
        second.node.append(first.node.pop())
    second.output.append(first.output.pop())
    pieces = encode(6, first.SerializeToString()) + encode(6, second.SerializeToString())
    del node.attribute[0]
    attribute = encode(1, b"then_branch") + b"\xa0\x01\x05" + pieces
    spliced = node.SerializeToString() + encode(5, attribute)
    node.ParseFromString(whole)
    edited = model.graph.SerializeToString().replace(encode(1, whole), encode(1, spliced))
    model.ClearField("graph")
    return bytes(model.SerializeToString() + encode(7, edited))


def graph_initializers(raw: bytes) -> list[onnx.TensorProto]:
    return list(onnx.ModelProto.FromString(raw).graph.initializer)


class TestEditing:
    @pytest.mark.parametrize(("place", "text"), PLACES.items())
    def test_only_the_owner_is_encoded_anew(self, place: str, text: str) -> None:
        raw = future(checked(text))
        graph = Graph.from_bytes(raw)
        mark = graph.mark()
        fold(scopes(graph)[place])
        assert graph.model.changed
        edited = graph.model.to_bytes()
        proto = graph.model.to_proto()
        onnx.checker.check_model(proto)
        assert_same(onnx.ModelProto.FromString(raw), proto)

        old, new = records(raw), records(edited)
        kept = [record for record in old if record in new]
        swept = [each.SerializeToString() for each in graph_initializers(raw) if each.name == "p"]
        gone = [record for record in old if record not in new]
        assert [record for record in new if record in old] == kept
        assert len(new) == len(kept) + 1
        assert len([record for record in gone if record[2:] not in swept]) == 1
        unknown = edited.count(b"future body") + edited.count(b"future function")
        assert unknown == raw.count(b"future body") + raw.count(b"future function")
        for name in (b"nameless", encode(1001, b"conv"), encode(1001, b"loop")):
            assert edited.count(name) == raw.count(name)
        assert edited.count(encode(1001, b"pad")) == raw.count(encode(1001, b"pad")) - 1

        again = scopes(Graph.from_bytes(edited))[place]
        assert [node.name for node in again.nodes if node.name] == ["conv"]
        assert named(again, "conv").attrs["pads"] == [1, 1, 1, 1]

        graph.rollback(mark)
        assert not graph.model.changed
        assert graph.model.to_bytes() == raw

    def test_the_owner_says_so(self) -> None:
        graph = Graph.from_proto(checked(LOOP_IN_IF))
        found = scopes(graph)
        fold(found["If 'if' > then_branch > Loop 'loop' > body"])
        outer = named(graph, "if")
        assert graph.is_edited(outer)
        assert graph.inner_operators(outer) == {"Loop", "Identity", "Conv"}
        branch = graph.node_proto(outer).attribute[0].g
        assert [node.op_type for node in branch.node[0].attribute[0].g.node] == ["Identity", "Conv"]
        assert graph.model.light_now().graph.node[0] == graph.node_proto(outer)
        graph.rollback(0)
        assert not graph.is_edited(outer)
        assert graph.inner_operators(outer) == {"Loop", "Identity", "Conv", "Pad"}

    @pytest.mark.parametrize(
        ("text", "place", "touched"),
        [
            (IF, "If 'if' > then_branch", {"if"}),
            (LOOP_IN_IF, "If 'if' > then_branch > Loop 'loop' > body", {"if"}),
            (FUNCTION, "f::blur", {"call", ""}),
            (IN_FUNCTION, "f::blur > If '<y>' > then_branch", {""}),
        ],
    )
    def test_what_runs_an_edit_is_touched(self, text: str, place: str, touched: set[str]) -> None:
        graph = Graph.from_proto(checked(text))
        scope = scopes(graph)[place]
        for node in graph.nodes:
            graph.set_input(node, 0, node.inputs[0])
        mark = graph.mark()
        fold(scope)
        assert {each.node.name for each in scope.touched(mark)} == {"conv", "pad"}
        assert {each.node.name for each in graph.touched(mark)} == touched
        assert all(each.before is None for each in graph.touched(mark))
        since = {id(each.node): each.before for each in graph.touched(0)}
        assert all(since[id(each.node)] is None for each in graph.touched(mark))
        graph.rollback(mark)
        assert graph.touched(mark) == []

    @pytest.mark.parametrize(("domain", "overloads"), [("f", "ab"), ("ai.onnx", "-")])
    def test_a_call_may_run_any_function_of_its_name(self, domain: str, overloads: str) -> None:
        header = '<ir_version: 10, opset_import: ["" : 18, "f" : 1]> g (float x) => (float y)'
        model = onnx.parser.parse_model(f"{header} {{ y = {'f.' * (domain == 'f')}A (x) }}")
        for each, op in zip(overloads, ("Relu", "Exp"), strict=False):
            made = model.functions.add(name="A", domain=domain, overload=each.strip("-"))
            made.input.append("i")
            made.node.add(op_type=op, input=["i"], output=["o"])
        graph = Graph.from_proto(model)
        assert "Relu" in graph.inner_operators(next(graph.nodes))

    def test_a_node_with_bodies_is_not_copied(self) -> None:
        graph = Graph.from_proto(checked(IF))
        (node,) = graph.running()
        with pytest.raises(ValueError, match="bodies"):
            graph.insert_like(node, node.inputs, {})
        with pytest.raises(TypeError):
            graph.set_attribute(node, "new", node.attrs["then_branch"])

    def test_what_is_removed_runs_and_reads_no_more(self) -> None:
        text = IF.replace("Identity (f)", "Neg (p) p = Exp (f)")
        graph = Graph.from_proto(onnx.parser.parse_model(text))
        then, other = graph.inside()
        then.set_input(named(then, "conv"), 0, then.capture("x"))
        assert graph.sweep()
        assert "p" not in graph.tensors  # the other branch has its own
        other.set_input(next(other.nodes), 0, other.capture("x"))
        graph.set_input(named(graph, "last"), 0, graph.tensor("x"))
        graph.remove(named(graph, "if"))
        assert graph.running() == []
        assert graph.sweep() == ("If 'if' > else_branch > Exp '<p>'", "first")

    def test_a_tensor_of_a_graph_around_is_captured_by_all_in_between(self) -> None:
        text = LOOP_IN_IF.replace(" {\n    [if]", " {\n q = Neg (x)\n    [if]", 1)
        graph = Graph.from_proto(checked(text))
        found = scopes(graph)
        body = found["If 'if' > then_branch > Loop 'loop' > body"]
        q = graph.tensor("q")
        assert not graph.uses(q)
        body.set_input(named(body, "pad"), 0, body.capture("q"))
        assert [use.node.name for use in graph.uses(q)] == ["if"]
        assert q.producer is not None
        with pytest.raises(ValueError, match="in use"):
            graph.remove(q.producer)
        onnx.checker.check_model(graph.model.to_proto())
        run(graph.model.to_proto(), feeds_of(checked(text)))
        graph.rollback(0)
        assert not graph.uses(q)

    def test_a_hidden_tensor_is_not_captured(self) -> None:
        text = IF.replace("f = Neg", "a = Neg").replace("Identity (f)", "Identity (a)")
        graph = Graph.from_proto(onnx.parser.parse_model(text))
        branch = scopes(graph)["If 'if' > then_branch"]
        assert branch.capture("a") is branch.tensor("a")
        assert branch.tensor("a").outer is None
        assert branch.capture("z") is graph.capture("nowhere") is None

    def test_external_data_of_bodies_goes_along(self, tmp_path: Path) -> None:
        model = checked(IF)
        body = model.graph.node[1].attribute[0].g
        values = np.arange(9, dtype=np.float32)
        (tmp_path / "w.bin").write_bytes(values.tobytes())
        weight = body.initializer.add(
            name="own", data_type=1, dims=[1, 1, 3, 3], data_location=TensorProto.EXTERNAL
        )
        weight.external_data.add(key="location", value="w.bin")
        body.node[1].input[1] = "own"
        path = tmp_path / "net.onnx"
        onnx.save(model, path)
        graph = Graph.load(path)
        branch = scopes(graph)["If 'if' > then_branch"]
        assert branch.is_external(branch.tensor("own"))
        value = branch.constant(branch.tensor("own"))
        assert value is not None
        assert value.reshape(-1).tolist() == list(range(9))
        fold(branch)
        for how in ("copy", "inline"):
            target = tmp_path / how / "out.onnx"
            target.parent.mkdir()
            graph.model.write(target, external_data=how)
            assert (target.parent / "w.bin").exists() == (how == "copy")
            saved = onnx.load(target)
            (kept,) = saved.graph.node[1].attribute[0].g.initializer
            np.testing.assert_array_equal(numpy_helper.to_array(kept).reshape(-1), values)


def test_an_attribute_without_a_name_is_passed_over() -> None:
    proto = model_of(
        "y = If (c) <then_branch = t () => (float i) { i = Relu (x) },"
        " else_branch = e () => (float j) { j = Tanh (x) }>",
        inputs="float[2] x, bool c",
    )
    proto.graph.node[0].attribute.insert(0, onnx.AttributeProto(i=1, type=onnx.AttributeProto.INT))
    graph = Graph.from_bytes(proto.SerializeToString())
    (node,) = graph.nodes
    assert [next(body.nodes).op for body in graph.bodies(node)] == ["Relu", "Tanh"]


def test_a_body_without_nodes_has_no_place_for_a_constant() -> None:
    proto = model_of(
        "y = If (c) <then_branch = t () => (float x) {}, else_branch = e () => (float x) {}>",
        inputs="float[2] x, bool c",
    )
    graph = Graph.from_proto(proto)
    (node,) = graph.nodes
    body = next(iter(graph.bodies(node)))
    with pytest.raises(ValueError, match="no place for a constant"):
        body.add_initializer(np.zeros(2, np.float32), "zeros")
