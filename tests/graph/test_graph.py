"""The graph: what it refuses, what it says, what edits and their undoing do, what they cost."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnxpad.errors import ModelError
from onnxpad.file.skeleton import encode
from onnxpad.graph import Declared, Graph, Tensor
from tests.support import parsed, work
from tests.support.rows import each_row


def load(text: str) -> Graph:
    return Graph.from_proto(parsed(text))


PAD_CONV = """
g (float[1, 1, 5, 5] x) => (float[1, 1, 5, 5] y)
<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
{
    a = Pad (x, p)
    [conv] y = Conv (a, w)
}
"""

# A copy to an output, a reader of its original, and a copy of that.
COPIED = """
g (float[4] x) => (float[4] y, float[4] b, float[4] z) <float[4] a> {
    [relu] a = Relu (x)
    [neg] b = Neg (a)
    [copy] y = Identity (a)
    [twice] z = Identity (a)
}
"""

# Reads a from the body of an If, which also shadows w.
CAPTURE = """
g (float[4] x, bool b) => (float[4] y)
<float[1] w = {1}>
{
    a = Relu (x)
    y = If (b) <
        then_branch = t () => (float[4] y1) <float[1] w = {2}> { y1 = Add (a, w) },
        else_branch = e () => (float[4] y2) { y2 = Identity (x) }
    >
}
"""

BODIES = """<
    then_branch = t () => (float i) { i = Relu (q) },
    else_branch = e () => (float j) { j = Relu (q) }
>"""


class TestChecks:
    @pytest.mark.parametrize(
        "text",
        [
            "g (float x) => (float y) { y = Relu (x) y = Abs (x) }",
            "g (float x) => (float y) { y, y = Split (x) }",
            "g (float x) => (float x) { x = Relu (x) }",
            "g (float x) => (float y) <float y = {1}> { y = Relu (x) }",
            "g (float x, float x) => (float x) { }",
            "g (float w, float w) => (float w) <float w = {1}> { }",
            "g (float x) => (float y) { y = Add (x, z) }",
            "g (float x) => (float y) { [n] y = Add (x, z) }",
            "g (float x) => (float z) { y = Relu (x) }",
            "g (float x) => (float y) { y = Add (x, y) }",
            "g (float x) => (float y) { y = Add (x, z) z = Abs (y) }",
            "g (float x) => (float q) { q = Relu (y) y = Add (x, z) z = Relu (y) }",
            "g (bool x) => (float q) { q = Relu (y) y = If (x) <BODIES> }",
            "g (bool x) => (float q) { y = If (x) <BODIES> q = Relu (y) }",
            '<ir_version: 9, opset_import: ["" : 0]> g (float x) => (float x) {}',
            '<ir_version: 9, opset_import: ["" : 999]> g (float x) => (float x) {}',
            '<ir_version: 9, opset_import: ["" : 7, "ai.onnx" : 7]> g (bool x) => (bool x) {}',
            '<ir_version: 9, opset_import: ["c" : 1]> g (bool x) => (bool y) { y = Not (x) }',
            "g (float x) => (float y) { y = Identity () }",
            'g (float x) => (float y) { y = Identity ("") }',
            "g (float x) => (float y) { y = Identity <t = float {1}> () }",
        ],
    )
    def test_refuses(self, text: str) -> None:
        with pytest.raises(ModelError) as caught:
            load(text.replace("<BODIES>", BODIES))
        assert "\n" not in str(caught.value)

    @each_row(
        "edit",
        [
            lambda m: m.graph.initializer.append(m.graph.initializer[0]),
            lambda m: m.graph.initializer.add(),
            lambda m: m.graph.output.add(name="a\nb"),
            lambda m: m.graph.initializer[0].dims.__setitem__(0, -1),
            lambda m: m.graph.node[1].attribute.extend(
                [helper.make_attribute("group", 1), helper.make_attribute("group", 1)]
            ),
            lambda m: m.graph.node[0].MergeFromString(b"\x0a\x01\xff"),
            lambda m: m.ClearField("opset_import"),
        ],
    )
    def test_refuses_protos(self, edit: Callable[[onnx.ModelProto], None]) -> None:
        model = parsed(PAD_CONV)
        edit(model)
        with pytest.raises(ModelError):
            Graph.from_proto(model)

    @each_row(
        "text",
        [
            pytest.param("g (float x) => (float y) { y = Relu (z) z = Relu (x) }", id="unsorted"),
            pytest.param("g (float x) => (float y) { y = Clip (x, , ) }", id="omitted"),
            pytest.param("g (float x) => (float x) { }", id="input-as-output"),
            pytest.param("g () => (float w) <float w = {1}> { }", id="initializer-as-output"),
            pytest.param("g (float x) => (float y) { [n] z = Relu (x) [n] y = Relu (z) }", id="n"),
            pytest.param(CAPTURE, id="body-shadows-initializer"),
            pytest.param(
                "g (bool x) => (float y) { y = If (x) "
                "<then_branch = t () => (float y) { y = Constant <value_float = 1.0> () },"
                " else_branch = e () => (float y) { z = Relu (y) y = Abs (x) }> }",
                id="body-output-named-as-the-output",
            ),
            pytest.param(
                "g (bool x) => (float y) { y = If (x) "
                "<then_branch = t () => (float i) { i = Relu (z) },"
                " else_branch = e () => (float j) { j = Relu (z) }> z = Cast <to = 1> (x) }",
                id="unsorted-through-a-body",
            ),
            pytest.param(
                '<ir_version: 9, opset_import: ["ai.onnx" : 17]> g (float x) => (float y)'
                "{ y = Relu (x) }",
                id="spelled-domain",
            ),
            pytest.param(
                '<ir_version: 9, opset_import: ["custom" : 1]> g (float x) => (float y)'
                "{ y = custom.Relu (x) }",
                id="no-default-domain-needed",
            ),
        ],
    )
    def test_accepts(self, text: str) -> None:
        model = parsed(text)
        assert Graph.from_proto(model).model.to_proto() == model

    def test_before_ir_version_3_the_opset_is_1(self) -> None:
        model = parsed(PAD_CONV)
        model.ir_version = 2
        model.ClearField("opset_import")
        assert Graph.from_proto(model).opset == 1


class TestReading:
    def test_nodes_and_their_neighbours(self) -> None:
        graph = load(PAD_CONV)
        pad, conv = graph.nodes
        assert (pad.op, conv.op) == ("Pad", "Conv")
        assert (graph.label(pad), graph.label(conv)) == ("<a>", "conv")
        a = graph.tensor("a")
        assert a.producer is pad
        assert conv.inputs[0] is a is pad.outputs[0]
        (use,) = graph.uses(a)
        assert use.node is conv
        assert use.index == 0
        assert graph.tensor("x").producer is None
        assert graph.is_output(graph.tensor("y"))
        assert not graph.is_output(a)
        with pytest.raises(KeyError):
            graph.tensor("none")

    def test_what_bodies_read_is_used(self) -> None:
        graph = load(CAPTURE)
        node = list(graph.nodes)[1]
        for name, indices in (("a", [-1]), ("x", [-1, 0]), ("b", [0]), ("w", [])):
            uses = graph.uses(graph.tensor(name))
            assert sorted(use.index for use in uses) == indices
            assert all(use.node is node or name == "x" for use in uses)
        with pytest.raises(ValueError, match="in use"):
            graph.remove(next(graph.nodes))

    @each_row(
        ("body", "read"),
        [
            ("l () => (float o) { o = Add (a, b) }", "ab"),
            ("l () => (float o) { a = Abs (b) o = Abs (a) }", "b"),
            ("l () => (float o) { o = Abs (a) a = Abs (b) }", "b"),
            ("l () => (float o) <float a = {1}> { o = Add (a, b) }", "b"),
            ("l (float a, float o) => (float o) { b = Abs (a) }", ""),
            ("l () => (float a) { }", "a"),
            ("l () => (float a) { a = Abs (b) }", "b"),
            ("l () => (float o) { o = Loop (b) <body = n () => (float i) { i = Abs (a) }> }", "ab"),
            ("l () => (float o) { o = Loop (b) <body = n (float a) => (float a) { }> }", "b"),
            (
                "l () => (float o) { a = Abs (b) o = Loop () <body = n () => (float a) { }> }",
                "b",
            ),
        ],
    )
    def test_what_bodies_define_is_theirs(self, body: str, read: str) -> None:
        graph = load(f"g (float x) => (float y) {{ a, b = Split (x) y = Loop () <body = {body}> }}")
        found = {name for name in "ab" if graph.uses(graph.tensor(name))}
        assert found == set(read)

    def test_attributes_are_python_values(self) -> None:
        values: dict[str, Any] = {"int": 3, "ints": [1, 2], "float": 0.5, "floats": [0.5, 1.0]}
        values |= {
            "text": "NOTSET",
            "texts": ["a", "b"],
            "bytes": b"\xff",
            "mixed": [b"\xff", b"a"],
        }
        node = helper.make_node("Op", ["x"], ["y"], domain="custom", **values)
        node.attribute.add(name="none", type=onnx.AttributeProto.INTS)
        node.attribute.add(name="reference", type=onnx.AttributeProto.INT, ref_attr_name="outer")
        node.attribute.add(name="untyped", f=0.5)
        tensor = helper.make_attribute("tensor", helper.make_tensor("t", 1, [1], [0]))
        node.attribute.append(tensor)
        graph = load('<ir_version: 9, opset_import: ["custom" : 1]> g (float x) => (float x) {}')
        proto = graph.model.to_proto()
        proto.graph.node.append(node)
        (read,) = Graph.from_proto(proto).nodes
        found = dict(read.attrs)
        assert found.pop("reference").ref_attr_name == "outer"
        assert found.pop("tensor") == tensor
        assert found == values | {"none": [], "untyped": 0.5}

    def test_standard_operators(self) -> None:
        graph = load("""
            <ir_version: 9, opset_import: ["" : 17, "custom" : 1]>
            g (float x) => (float d) {
                a = Conv (x, x) b = ai.onnx.Conv (a, a) c = custom.Conv (b, b) d = Pad (c, c)
            }
            <domain: "", opset_import: ["" : 17]> Pad (i, j) => (o) { o = Add (i, j) }
        """)
        assert [graph.is_standard(node) for node in graph.nodes] == [True, True, False, False]

    def test_declarations(self) -> None:
        model = parsed("""
            g (float[1, n, 5] x, float y, float16 z, float[3] w) => (float[7] o, float[2] r)
            <float[3] w = {1, 2, 3}, int64[2] v = {1, 2}, float[9] o, float[9] c>
            { c = Constant <value = float[2] {1, 2}> () o = Relu (x) r = Relu (c) }
        """)
        dims = model.graph.input[0].type.tensor_type.shape.dim
        dims.add()
        dims.add(dim_value=-1)
        dims.add(dim_param="")
        model.graph.input[1].type.tensor_type.ClearField("shape")
        sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [1]))
        model.graph.input.append(helper.make_value_info("s", sequence))
        values, indices = (
            helper.make_tensor("sparse", 1, [1], [3]),
            helper.make_tensor("", 7, [1], [2]),
        )
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [5]))
        graph = Graph.from_proto(model)
        assert graph.inputs == {
            "x": Declared(1, (1, "n", 5, None, None, None)),
            "y": Declared(1, None),
            "z": Declared(10, ()),
            "w": Declared(1, (3,)),
            "s": Declared(0, None),
        }
        declared = {name: graph.declared(graph.tensor(name)) for name in ("v", "c", "o", "sparse")}
        assert declared == {
            "v": Declared(7, (2,)),
            "c": Declared(1, (2,)),
            "o": None,
            "sparse": None,
        }

    def test_an_initializer_that_is_an_input_may_be_overridden_from_ir_version_4(self) -> None:
        text = "g (float[1] x, float[1] w) => (float[1] y) <float[1] w = {1}> { y = Add (x, w) }"
        model = parsed(text)
        graph = Graph.from_proto(model)
        assert graph.constant(graph.tensor("w")) is None
        assert list(graph.inputs) == ["x", "w"]
        model.ir_version = 3
        graph = Graph.from_proto(model)
        assert graph.constant(graph.tensor("w")) == [1]
        assert list(graph.inputs) == ["x"]


ALIKE = """
<ir_version: 9, opset_import: ["" : 17, "Custom" : 1]>
g (float[2, 2] x) => (float[2, 2] y) {
    [first] a = Selu <alpha = 0.0> (x)
    [alike] b = Selu <alpha = 0.0> (a)
    [negative] c = Selu <alpha = -0.0> (b)
    [none] d = Selu (c)
    [float] e = Custom.Selu <alpha = 1.0> (d)
    [integer] f = Custom.Selu <alpha = 1> (e)
    [list] g1 = Custom.Selu <alpha = [1]> (f)
    [clip] h = Clip (g1, a)
    [high] y = Clip (h, , a)
}
"""


class TestNotes:
    """Facts of nodes that are written alike are asked for once."""

    def notes(self) -> tuple[Graph, dict[str, dict[object, Any]]]:
        graph = load(ALIKE)
        return graph, {node.name: node.notes for node in graph.nodes}

    def test_nodes_share_them_that_differ_in_names_alone(self) -> None:
        _, notes = self.notes()
        assert notes["first"] is notes["alike"]
        assert len(set(map(id, notes.values()))) == len(notes) - 1

    def test_an_edited_node_shares_those_of_what_it_is_now(self) -> None:
        graph, notes = self.notes()
        nodes = {node.name: node for node in graph.nodes}
        mark = graph.mark()
        graph.set_attribute(nodes["none"], "alpha", 0.0)
        for place, name in ((1, "a"), (2, "a"), (1, "")):
            graph.set_input(nodes["clip"], place, graph.tensor(name) if name else None)
        assert nodes["none"].notes is notes["first"]
        assert nodes["none"].attrs is nodes["first"].attrs
        assert nodes["clip"].notes is notes["high"]
        graph.rollback(mark)
        assert {name: id(node.notes) for name, node in nodes.items()} == {
            name: id(each) for name, each in notes.items()
        }

    def test_a_node_that_reads_another_tensor_keeps_its_own(self) -> None:
        graph, notes = self.notes()
        node = next(iter(graph.nodes))
        graph.set_input(node, 0, graph.tensor("x"))
        assert node.notes is notes["first"]

    def test_one_with_a_body_or_a_tensor_has_its_own(self) -> None:
        graph = load(
            CAPTURE.replace(
                "a = Relu (x)",
                "c = Constant <value = float {1}> ()\n"
                "d = Constant <value = float {1}> ()\na = Add (c, d)",
            )
        )
        first, second, _, branch = graph.nodes
        assert first.notes is not second.notes
        assert branch.notes is not first.notes


class TestConstants:
    @pytest.mark.parametrize("form", ["initializer", "node"])
    @pytest.mark.parametrize(
        "dtype", [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 21, 22]
    )
    def test_values(self, dtype: int, form: str) -> None:
        for count in (0, 1, 7, 4096):
            self.reads(dtype, count, form)

    def reads(self, dtype: int, count: int, form: str) -> None:
        numpy_type = helper.tensor_dtype_to_np_dtype(dtype)
        values = (np.arange(count) % 2).astype(numpy_type)
        proto = onnx.numpy_helper.from_array(values, "c")
        model = parsed("g (float x) => (float x) { }")
        if form == "initializer":
            model.graph.initializer.append(proto)
        else:
            model.graph.node.append(helper.make_node("Constant", [], ["c"], value=proto))
        graph = Graph.from_proto(model)
        read = graph.constant(graph.tensor("c"))
        assert read is not None
        np.testing.assert_array_equal(read, values, strict=True)
        assert not read.flags.writeable
        assert graph.declared(graph.tensor("c")) == Declared(dtype, (count,))

    @each_row(
        "attribute",
        [
            *("value_int = -3", "value_ints = [1, -2]", "value_float = 0.1"),
            *("value_floats = [0.1, 2.0]", 'value_string = "a"', 'value_strings = ["a", "b"]'),
        ],
    )
    def test_listed_values(self, attribute: str) -> None:
        model = parsed(f"g () => (float y) {{ y = Constant <{attribute}> () }}")
        graph = Graph.from_proto(model)
        (expected,) = ReferenceEvaluator(model).run(None, {})
        read = graph.constant(graph.tensor("y"))
        assert read is not None
        assert read.shape == np.shape(expected)
        assert read.tolist() == np.asarray(expected).tolist()
        declared = graph.declared(graph.tensor("y"))
        assert declared is not None
        assert declared.shape == np.shape(expected)
        if read.dtype != object:
            assert read.dtype == np.asarray(expected).dtype

    @pytest.mark.parametrize(("count", "known"), [(4096, True), (4097, False)])
    def test_a_long_list_is_not_read(self, count: int, *, known: bool) -> None:
        model = parsed(f"g () => (float y) {{ y = Constant <value_ints = {[1] * count}> () }}")
        graph = Graph.from_proto(model)
        assert (graph.constant(graph.tensor("y")) is not None) is known

    @pytest.mark.parametrize("opset", [11, 17])  # the schema has value_int and the like since 12
    def test_what_is_long_or_elsewhere_is_not_read(self, opset: int) -> None:
        model = parsed("g (float x) => (float x) { }", opset=opset)
        graph = model.graph
        graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(4097), "long"))
        graph.initializer.add(name="external", data_type=1, dims=[1], data_location=1)
        values, indices = (
            helper.make_tensor("sparse", 1, [1], [3]),
            helper.make_tensor("", 7, [1], [2]),
        )
        sparse = helper.make_sparse_tensor(values, indices, [5])
        graph.sparse_initializer.append(sparse)
        graph.node.append(helper.make_node("Constant", [], ["node"], sparse_value=sparse))
        constants: dict[str, dict[str, Any]] = {
            "odd": {"value_int": "text"},
            "listed": {"value_int": [1]},
            "single": {"value_ints": 1},
            "other": {"number": 1},
        }
        for name, attribute in constants.items():
            graph.node.append(helper.make_node("Constant", [], [name], **attribute))
        graph.node.append(helper.make_node("Relu", ["x"], ["relu"]))
        loaded = Graph.from_proto(model)
        for name in ("long", "external", "sparse", "node", *constants, "relu", "x"):
            assert loaded.constant(loaded.tensor(name)) is None, name
        assert loaded.declared(loaded.tensor("node")) is None

    def test_a_constant_of_two_minds_is_not_read(self) -> None:
        graph = load("g () => (int64 y) { y = Constant <value_int = 1, value_ints = [1]> () }")
        assert graph.constant(graph.tensor("y")) is None

    def test_damage_in_elements_is_refused(self) -> None:
        model = parsed("g (float x) => (float x) { }")
        tensor = onnx.TensorProto(name="c", data_type=7, dims=[2000])
        damaged = tensor.SerializeToString() + encode(7, b"\xff" * 2000)
        raw = model.SerializeToString() + encode(7, encode(5, damaged))
        graph = Graph.from_bytes(raw)
        with pytest.raises(ModelError, match="damaged"):
            graph.constant(graph.tensor("c"))
        assert graph.model.to_bytes() == raw

    @pytest.mark.parametrize("size", [3, 300])
    def test_elements_that_do_not_fit_are_refused(self, size: int) -> None:
        model = parsed("g (float x) => (float x) { }")
        proto = onnx.numpy_helper.from_array(np.zeros(size, np.float32), "c")
        proto.dims[0] += 1
        model.graph.initializer.append(proto)
        graph = Graph.from_proto(model)
        with pytest.raises(ModelError):
            graph.constant(graph.tensor("c"))

    def test_change_with_edits(self) -> None:
        graph = load("g () => (int64 y) { y = Constant <value_int = 1> () }")
        (node,) = graph.nodes
        y = graph.tensor("y")
        assert graph.constant(y) == 1
        mark = graph.mark()
        graph.set_attribute(node, "value_int", 2)
        assert graph.constant(y) == 2
        graph.rollback(mark)
        assert graph.constant(y) == 1
        added = graph.add_initializer(np.array([5]), "added")
        assert graph.constant(added) == 5
        graph.rollback(mark)
        assert graph.constant(graph.add_initializer(np.array([6]), "added")) == 6


class TestEdits:
    def test_input_omitted_at_the_end_is_dropped(self) -> None:
        graph = load("g (float x) => (float y) { y = Clip (x, , x) }")
        (clip,) = graph.nodes
        graph.set_input(clip, 2, None)
        assert list(graph.node_proto(clip).input) == ["x"]
        graph.set_input(clip, 1, graph.tensor("x"))
        graph.set_input(clip, 0, None)
        assert list(graph.node_proto(clip).input) == ["", "x"]
        with pytest.raises(IndexError):
            graph.set_input(clip, 3, None)

    def test_omitted_inputs_elsewhere_stay(self) -> None:
        model = parsed("g (float x) => (float y) { z = Abs (x) y = Clip (x, , x) }")
        model.graph.node[1].input[2] = ""
        graph = Graph.from_proto(model)
        clip = list(graph.nodes)[1]
        graph.set_input(clip, 0, graph.tensor("z"))
        assert list(graph.node_proto(clip).input) == ["z", "", ""]

    def test_fresh_names_are_free_everywhere(self) -> None:
        model = parsed("""
            <ir_version: 9, opset_import: ["" : 17, "custom" : 1]>
            g (float t, bool b) => (float y) <float[1] t_1 = {1}, float t_2> {
                [t_3] t_4 = Relu (t) t_6 = Relu (t)
                y = If (b) <
                    then_branch = e () => (float t_5) { [t_7] t_5 = Relu (t) },
                    else_branch = e () => (float i) {
                        i = If (b) <
                            then_branch = e () => (float j) <float[1] t_8 = {1}> { j = Relu (t) },
                            else_branch = e () => (float k) { t_9 = Relu (t) k = Relu (t) }
                        >
                    }
                >
            }
            <domain: "custom", opset_import: ["" : 17]> f (t_10) => (t_11) { t_11 = Relu (t_10) }
        """)
        annotation = model.graph.quantization_annotation.add(tensor_name="t_12")
        annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="t_1")
        model.training_info.add().algorithm.node.add(op_type="Relu", output=["t_13"])
        text = str(model)
        graph = Graph.from_proto(model)
        relu = next(graph.nodes)
        names = [graph.add_initializer(np.array([i]), "t").name for i in range(3)]
        output = graph.insert("Relu", [relu.inputs[0]], {}, before=relu, name="t")
        assert output.producer is not None
        names += [output.name, output.producer.name]
        assert len(set(names)) == 5
        assert not [name for name in names if f'"{name}"' in text]
        assert all(name.startswith("t_") for name in names)

    def test_a_producer_gives_what_a_copy_gave(self) -> None:
        graph = load(COPIED)
        kept = graph.model.to_bytes()
        mark = graph.mark()
        names = {node.name: node for node in graph.nodes}
        assert graph.absorb(names["copy"]) == ("copy",)
        assert [n.name for n in graph.nodes] == ["relu", "neg", "twice"]
        assert "a" not in graph.tensors
        assert graph.tensor("y").producer is names["relu"]
        assert {use.node.name for use in graph.uses(graph.tensor("y"))} == {"neg", "twice"}
        assert graph.origin(graph.tensor("z")) is graph.tensor("y")
        proto = graph.model.to_proto()
        assert [list(n.output) for n in proto.graph.node] == [["y"], ["b"], ["z"]]
        assert not [value.name for value in proto.graph.value_info]
        graph.rollback(mark)
        assert graph.model.to_bytes() == kept
        assert graph.tensor("a").producer is names["relu"]
        assert graph.tensor("y").producer is names["copy"]
        assert graph.origin(graph.tensor("z")) is graph.tensor("a")
        assert not graph.model.changed

    def test_what_is_referred_to_keeps_its_name(self) -> None:
        annotated = parsed(COPIED)
        entry = annotated.graph.quantization_annotation.add(tensor_name="x")
        entry.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="a")
        for model in (annotated, parsed(COPIED.replace(" y, ", " a, float[4] y, "))):
            graph = Graph.from_proto(model)
            copy = next(node for node in graph.nodes if node.name == "copy")
            assert graph.absorb(copy) == ()
            assert not graph.model.changed
        graph = load(COPIED)
        assert graph.absorb(next(graph.nodes)) == ()

    @pytest.mark.parametrize(("own", "gone"), [("z", ("copy",)), ("y", ())])
    def test_what_a_body_calls_its_own_keeps_its_name(self, own: str, gone: Sequence[str]) -> None:
        graph = load(f"""g (float[4] x) => (float[4] y, float[4] s) {{
            a = Relu (x) [copy] y = Identity (a)
            s = Scan <num_scan_inputs = 1, body = b (float {own}) => (float w) {{
                w = Neg ({own}) }}> (x) }}""")
        copy = next(node for node in graph.nodes if node.name == "copy")
        assert graph.absorb(copy) == gone

    def test_names_return_with_a_rollback(self) -> None:
        graph = load(PAD_CONV)
        mark = graph.mark()

        def names() -> list[str]:
            added = [graph.add_initializer(np.array([i]), "p").name for i in range(3)]
            for _ in range(2):
                before = next(graph.nodes)
                output = graph.insert("Relu", [graph.tensor("x")], {}, before=before, name="p")
                assert output.producer is not None
                added += [output.name, output.producer.name]
            return added

        first = names()
        graph.rollback(mark)
        assert names() == first

    @pytest.mark.parametrize("name", [None, "c", "another"])
    def test_a_node_in_the_place_of_another_goes_with_a_rollback(self, name: str | None) -> None:
        graph = load(PAD_CONV)
        (node,) = (node for node in graph.nodes if node.op == "Conv")
        mark, nodes = graph.mark(), list(graph.nodes)

        def insert() -> list[str]:
            outputs = graph.insert_like(node, node.inputs, {}, name=name)
            assert outputs[0].producer is not None
            return [outputs[0].name, outputs[0].producer.name]

        first = insert()
        graph.rollback(mark)
        assert list(graph.nodes) == nodes
        assert insert() == first

    def test_equal_initializers_are_shared_while_they_are_there(self) -> None:
        graph = load(PAD_CONV)
        mark = graph.mark()
        one = graph.add_initializer(np.array([1, 2]), "amounts")
        assert graph.add_initializer(np.array([1, 2]), "other") is one
        for other in (np.array([1, 3]), np.array([[1, 2]]), np.array([1, 2], np.int32)):
            assert graph.add_initializer(other, "amounts") is not one
        big = np.zeros(1000)
        assert graph.add_initializer(big, "b") is not graph.add_initializer(big, "b")
        graph.rollback(mark)
        new = graph.add_initializer(np.array([3, 4]), "amounts")
        again = graph.add_initializer(np.array([1, 2]), "amounts")
        np.testing.assert_array_equal(graph.constant(new), [3, 4])
        np.testing.assert_array_equal(graph.constant(again), [1, 2])

    @pytest.mark.parametrize("ir_version", [3, 9])
    def test_initializers_are_inputs_before_ir_version_4(self, ir_version: int) -> None:
        model = parsed(PAD_CONV)
        model.ir_version = ir_version
        if ir_version == 3:
            model.graph.input.append(helper.make_tensor_value_info("p", 7, [8]))
            model.graph.input.append(helper.make_tensor_value_info("w", 1, [1, 1, 3, 3]))
        graph = Graph.from_proto(model)
        pad = next(graph.nodes)
        graph.set_input(pad, 1, graph.add_initializer(np.arange(8), "new"))
        graph.sweep()
        saved = graph.model.to_proto()
        onnx.checker.check_model(saved)
        assert {item.name for item in saved.graph.initializer} == {"w", "new"}
        inputs = {item.name for item in saved.graph.input}
        assert inputs == ({"x", "w", "new"} if ir_version == 3 else {"x"})

    def test_replaced_operator_keeps_outputs(self) -> None:
        graph = load(
            '<ir_version: 9, opset_import: ["" : 17, "custom" : 1]> g (float x) => (float y)'
            '{ [n] y = custom.Pad <mode = "edge", pads = [1, 1]> (x, x, x) }'
        )
        (node,) = graph.nodes
        graph.replace_op(node, "Identity", [graph.tensor("x")], {})
        expected = parsed("g (float x) => (float y) { [n] y = Identity (x) }")
        (saved,) = graph.model.to_proto().graph.node
        assert helper.printable_node(saved) == helper.printable_node(expected.graph.node[0])
        assert len(graph.uses(graph.tensor("x"))) == 1
        assert graph.is_standard(node)

    def test_replaced_call_of_a_function_has_no_overload(self) -> None:
        model = parsed("g (float x) => (float y) { y = Relu (x) }")
        model.graph.node[0].op_type = "f"
        model.graph.node[0].domain = "custom"
        model.graph.node[0].overload = "one"
        graph = Graph.from_proto(model)
        graph.replace_op(next(graph.nodes), "Relu", [graph.tensor("x")], {})
        assert not graph.model.to_proto().graph.node[0].overload

    def test_inserted_node_outlives_the_one_behind_it(self) -> None:
        graph = load("g (float x) => (float y) { y = Relu (x) dead = Abs (x) }")
        y, dead = graph.nodes
        graph.insert("Neg", [graph.tensor("x")], {}, before=dead, name="n")
        tensor = dead.outputs[0]
        graph.remove(dead)
        assert [node.op_type for node in graph.model.to_proto().graph.node] == ["Relu", "Neg"]
        assert tensor.producer is None
        for edit in (
            lambda: graph.insert("Neg", [], {}, before=dead, name="n"),
            lambda: graph.remove(dead),
            lambda: graph.remove(y),
        ):
            with pytest.raises(ValueError, match="gone"):
                edit()

    def test_a_proto_is_never_changed(self) -> None:
        model = parsed(PAD_CONV)
        graph = Graph.from_proto(model)
        pad, conv = graph.nodes
        graph.set_attribute(conv, "pads", [1, 1, 1, 1])
        graph.set_input(conv, 0, pad.inputs[0])
        assert graph.sweep() == ("<a>",)
        graph.model.to_proto().graph.Clear()
        graph.node_proto(conv).Clear()
        assert [node.op_type for node in graph.model.to_proto().graph.node] == ["Conv"]
        assert len(graph.model.to_proto().graph.initializer[0].dims) == 4
        assert model == parsed(PAD_CONV)

    def test_nodes_can_go_while_they_are_walked(self) -> None:
        graph = load("g (float x) => (float x) { a = Abs (x) b = Abs (x) c = Abs (x) }")
        nodes = list(graph.nodes)
        walked = []
        for node in graph.nodes:
            walked.append(node.outputs[0].name)
            if node is nodes[0]:
                graph.remove(nodes[0])
                graph.remove(nodes[1])
        assert walked == ["a", "c"]

    def test_replacing_a_node_with_a_body_frees_what_the_body_read(self) -> None:
        graph = load(CAPTURE)
        node = list(graph.nodes)[1]
        graph.replace_op(node, "Identity", [graph.tensor("x")], {})
        assert graph.sweep() == ("<a>",)
        graph.rollback(0)
        assert [use.index for use in graph.uses(graph.tensor("a"))] == [-1]
        assert graph.sweep() == ()

    def test_attribute_set_back_is_no_change(self) -> None:
        graph = load(PAD_CONV)
        conv = list(graph.nodes)[1]
        graph.set_attribute(conv, "group", 1)
        assert graph.model.changed
        graph.set_attribute(conv, "group", None)
        assert not graph.model.changed
        assert graph.model.to_bytes() == parsed(PAD_CONV).SerializeToString()

    def test_attribute_of_the_same_value_is_no_change(self) -> None:
        text = "g (float x) => (float y) { y = Elu <alpha = 0.1, n = 1, f = 1.0, l = [1.0]> (x) }"
        graph = load(text)
        (node,) = graph.nodes
        for name, value in (("alpha", 0.1), ("n", 1), ("f", 1.0), ("l", [1.0])):
            before = node.attrs[name]
            graph.set_attribute(node, name, value)
            assert node.attrs[name] == before
            assert not graph.model.changed
        for name, other in (("n", 1.0), ("f", 1), ("l", [1])):
            graph.set_attribute(node, name, other)
            assert graph.model.changed
            graph.rollback(0)

    @each_row(
        ("value", "expected"),
        [
            (3, 3),
            (True, 1),
            (np.int32(3), 3),
            (0.1, np.float32(0.1)),
            ("text", b"text"),
            ((1, 2), [1, 2]),
            (np.array([1, 2]), [1, 2]),
            ([], []),
            ([0.5, 1.0], [0.5, 1.0]),
        ],
    )
    def test_attributes_of_every_type(self, value: object, expected: object) -> None:
        graph = load(PAD_CONV)
        conv = list(graph.nodes)[1]
        graph.set_attribute(conv, "probe", value)
        (saved,) = graph.node_proto(conv).attribute
        assert helper.get_attribute_value(saved) == expected
        assert Graph.from_proto(graph.model.to_proto()).model.to_bytes() == graph.model.to_bytes()

    @pytest.mark.parametrize("value", [[1, 0.5], object(), {"a": 1}, [[1]]])
    def test_other_values_are_refused(self, value: object) -> None:
        graph = load(PAD_CONV)
        with pytest.raises(TypeError):
            graph.set_attribute(next(graph.nodes), "probe", value)


class TestSweep:
    CHAIN = """
    g (float[4] x) => (float[4] y) <float[4] k = {1, 2, 3, 4}, float[4] a, float[4] b, float[4] l> {
        a = Relu (x)
        b, c = Op (a, k)
        dead = Relu (x)
        deader = Add (dead, l)
        l = Abs (b)
        y = Add (x, l)
    }
    """

    def test_takes_what_lost_its_last_use(self) -> None:
        graph = load(self.CHAIN)
        add = list(graph.nodes)[-1]
        graph.set_input(add, 1, graph.tensor("x"))
        assert graph.sweep() == ()  # a dead node reads l
        graph.remove(next(node for node in graph.nodes if node.outputs[0].name == "deader"))
        assert graph.sweep() == ("<dead>", "<l>", "<b>", "<a>")
        saved = graph.model.to_proto().graph
        assert [node.op_type for node in saved.node] == ["Add"]
        assert not saved.initializer
        assert not saved.value_info
        graph.rollback(0)
        assert graph.model.to_bytes() == parsed(self.CHAIN).SerializeToString()

    def test_leaves_what_was_dead_before(self) -> None:
        graph = load(self.CHAIN)
        add = list(graph.nodes)[-1]
        graph.set_attribute(add, "probe", 1)
        assert graph.sweep() == ()

    def test_leaves_a_node_with_another_output_in_use(self) -> None:
        graph = load("g (float x) => (float y, float c) { b, c = Split (x) y = Relu (b) }")
        relu = list(graph.nodes)[1]
        graph.set_input(relu, 0, graph.tensor("x"))
        assert graph.sweep() == ()

    def test_leaves_what_training_or_quantization_refers_to(self) -> None:
        model = parsed(PAD_CONV)
        annotation = model.graph.quantization_annotation.add(tensor_name="x")
        annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="p")
        training = model.training_info.add()
        training.algorithm.node.add(op_type="Relu", input=["a"], output=["b"])
        training.update_binding.add(key="w", value="b")
        graph = Graph.from_proto(model)
        pad, conv = graph.nodes
        graph.set_input(conv, 0, graph.tensor("x"))
        assert graph.sweep() == ()
        graph.set_input(pad, 1, None)
        graph.set_input(conv, 1, None)
        assert graph.sweep() == ()
        assert {item.name for item in graph.model.to_proto().graph.initializer} == {"w", "p"}

    def test_takes_what_was_added_for_nothing(self) -> None:
        graph = load(PAD_CONV)
        graph.add_initializer(np.array([1]), "unused")
        graph.insert("Relu", [graph.tensor("x")], {}, before=next(graph.nodes), name="unused")
        assert len(graph.sweep()) == 1
        assert not graph.model.changed

    def test_after_a_rollback_finds_the_same(self) -> None:
        graph = load(PAD_CONV)
        conv = list(graph.nodes)[1]
        graph.set_input(conv, 0, graph.tensor("x"))
        mark = graph.mark()
        assert graph.sweep() == ("<a>",)
        graph.rollback(mark)
        assert graph.sweep() == ("<a>",)
        assert graph.sweep() == ()


class TestAnyEdits:
    """Edits at random, against what the saved model says."""

    MODEL = """
    g (float[4] x, bool b, float[4] o) => (float[4] y, float[4] c)
    <float[1] w = {1}, float[4] o = {1, 2, 3, 4}, int64[1] p = {2}, float[4] c, float[4] d> {
        c = Relu (x)
        [n] d = Conv <pads = [1, 1], auto_pad = "NOTSET"> (c, w, )
        [n] e, f = custom.Split <alpha = 0.5> (d, p)
        g = If (b) <
            then_branch = t () => (float[4] y1) <float[1] w = {2}> { y1 = Add (d, w) },
            else_branch = e () => (float[4] y2) { y2 = Identity (e) }
        >
        h = Constant <value_ints = [1, 2]> ()
        i = Concat <axis = 0> (c, d, e, g, o, o)
        y = Clip (i, , h)
    }
    """

    @pytest.mark.parametrize("seed", [3, 11, 18, 30])
    def test_are_saved_and_undone(self, seed: int) -> None:
        generator = random.Random(seed)
        model = parsed(self.MODEL)
        model.ir_version = generator.choice([3, 9])
        graph = Graph.from_proto(model)
        marks = []
        for step in range(40):
            if generator.random() < 0.15:
                marks.append((graph.mark(), graph.model.to_bytes()))
            if marks and generator.random() < 0.1:
                index = generator.randrange(len(marks))
                mark, expected = marks[index]
                graph.rollback(mark)
                assert graph.model.to_bytes() == expected
                del marks[index:]
            self.edit(graph, generator, step)
            self.check(graph)
        graph.rollback(0)
        self.check(graph)
        assert graph.model.to_bytes() == model.SerializeToString()
        assert not graph.model.changed

    WITH_FUNCTION = """<ir_version: 10, opset_import: ["" : 17, "local" : 1, "custom" : 1]>
    g (float[4] x, bool b, float[n] u) => (float[4] y, float[4] z)
    <float[1] w = {1}, int64[1] p = {2}, float[4] c, float[4] d, float[4] k, float[4] e> {
        c = Relu (x)
        k = Identity (c)
        l = Identity (k)
        [n] d = local.F <alpha = 0.5> (l, w)
        e = If (b) <
            then_branch = t () => (float[4] s) <float[1] w = {2}> { r = Add (d, k) s = Neg (r) },
            else_branch = o () => (float[4] q) { q = Identity (k) }
        >
        h = Constant <value_ints = [1, 2]> ()
        y = Sum (e, h, u)
        z = local.F (d, p)
    }
    <domain: "local", opset_import: ["" : 17]>
    F (i, j) => (o) { m = Identity (i) v = Add (m, j) o = Neg (v) }
    """

    @pytest.mark.parametrize("seed", [1, 2, 5])
    def test_light_forms_and_origins_follow_edits(self, seed: int) -> None:
        generator = random.Random(seed)
        model = onnx.parser.parse_model(self.WITH_FUNCTION)
        graph = Graph.from_proto(model)
        graph.model.set_metadata("key", "value")
        mark = 0
        for step in range(24):
            node = generator.choice([*graph.nodes])
            match generator.randrange(7):
                case 0:
                    for body in [*graph.bodies(node), graph.model.functions[0]]:
                        inner = generator.choice([*body.nodes])
                        body.set_attribute(inner, "step", step)
                        if len(inner.inputs) == 2:
                            body.replace_op(inner, "Mul", inner.inputs[::-1], {})
                case 1:
                    graph.set_attribute(node, "step", step)
                    for body in graph.bodies(node):
                        body.set_attribute(next(iter(body.nodes)), "step", step)
                case 2:
                    graph.replace_op(node, "Identity", node.inputs[:1], {})
                case 3:
                    for tensor in node.outputs:
                        graph.undeclare(tensor)
                case 4:
                    graph.declare("u", (step,))
                    graph.declare_output("y", (step + 1,))
                case 5 if graph.mark() > mark:
                    graph.rollback(generator.randrange(mark, graph.mark() + 1))
                case _:
                    self.edit(graph, generator, step)
            self.check_light(graph)
            if step == 12:
                mark = graph.mark()
        graph.rollback(0)
        self.check_light(graph)

    def check_light(self, graph: Graph) -> None:
        saved = graph.model.to_proto()
        again = Graph.from_proto(saved)
        now = graph.model.light_now()
        assert now.functions == saved.functions
        assert now.graph.node == saved.graph.node
        assert now.graph.input == saved.graph.input
        found = sorted(now.graph.initializer, key=lambda each: each.name)
        assert found == sorted(saved.graph.initializer, key=lambda each: each.name)
        for node, other in zip(graph.nodes, again.nodes, strict=True):
            for mine, theirs in zip(node.outputs, other.outputs, strict=True):
                assert graph.origin(mine).name == again.origin(theirs).name
            assert graph.inner_operators(node) == again.inner_operators(other)

    def edit(self, graph: Graph, generator: random.Random, step: int) -> None:
        nodes = list(graph.nodes)
        place = generator.randrange(len(nodes))
        node = nodes[place]
        earlier = [tensor for other in nodes[:place] for tensor in other.outputs if tensor.name]
        earlier += [graph.tensor(name) for name in graph.inputs if name != "b"]
        match generator.randrange(8):
            case 0:
                name = generator.choice(["pads", "axis", "new", "then_branch"])
                graph.set_attribute(node, name, generator.choice([None, 1, "text", [1, 2], 0.5]))
            case 1 | 2:
                index = generator.randrange(len(node.inputs) + 1)
                graph.set_input(node, index, generator.choice([None, *earlier]))
            case 3:
                inputs = [generator.choice([None, *earlier]) for _ in range(2)]
                output = graph.insert("Add", inputs, {"a": step}, before=node, name="n")
                if generator.random() < 0.8:
                    graph.set_input(node, 0, output)
            case 4:
                inputs = generator.choices(earlier, k=generator.randrange(3))
                graph.replace_op(node, "Sum", inputs, {"step": step, "pads": [step]})
            case 5:
                values = np.arange(generator.randrange(3))
                graph.set_input(node, 0, graph.add_initializer(values, "p"))
            case 6:
                free = [
                    node
                    for node in nodes
                    if not any(graph.uses(t) or graph.is_output(t) for t in node.outputs)
                ]
                if free:
                    graph.remove(generator.choice(free))
            case _:
                graph.sweep()

    def check(self, graph: Graph) -> None:
        saved = graph.model.to_proto()
        again = Graph.from_proto(saved)  # checks order, sources and names
        assert [node.name for node in graph.nodes] == [node.name for node in saved.graph.node]
        initializers = {item.name for item in saved.graph.initializer}
        names = {item.name for item in saved.graph.input} | initializers
        for node, proto, other in zip(graph.nodes, saved.graph.node, again.nodes, strict=True):
            assert [tensor.name for tensor in node.inputs] == list(proto.input)
            assert [tensor.name for tensor in node.outputs] == list(proto.output)
            assert (node.op, node.domain or "") == (proto.op_type, proto.domain)
            assert {k: str(v) for k, v in node.attrs.items()} == {
                k: str(v) for k, v in other.attrs.items()
            }
            assert graph.node_proto(node) == proto
            assert all(tensor.producer is node for tensor in node.outputs)
            names.update(proto.output)
        names.discard("")
        for name in names:
            mine, theirs = graph.tensor(name), again.tensor(name)
            assert self.places(graph, mine) == self.places(again, theirs)
            assert graph.declared(mine) == again.declared(theirs)
            np.testing.assert_array_equal(graph.constant(mine), again.constant(theirs))
        values = {item.name for item in saved.graph.value_info}
        assert values <= names

    def places(self, graph: Graph, tensor: Tensor) -> list[tuple[int, int]]:
        order = {id(node): place for place, node in enumerate(graph.nodes)}
        return sorted((order[id(use.node)], use.index) for use in graph.uses(tensor))


class TestCost:
    """Calls made, which do not depend on the machine."""

    @staticmethod
    def model(count: int, shared: bool) -> onnx.ModelProto:
        """Many Convs, behind a Pad each, of which all take the same amounts, or all behind one."""
        nodes = []
        for index in range(count):
            if shared or not index:
                nodes.append(helper.make_node("Pad", ["x", "p"], [f"a{index}"]))
            nodes.append(
                helper.make_node(
                    "Conv", [nodes[-1].output[0] if shared else "a0", "w"], [f"y{index}"]
                )
            )
        tensors = [
            onnx.numpy_helper.from_array(np.array([0, 0, 1, 1] * 2), "p"),
            onnx.numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "w"),
        ]
        x = helper.make_tensor_value_info("x", 1, [1, 1, 5, 5])
        outputs = [helper.make_tensor_value_info(f"y{index}", 1, None) for index in range(count)]
        graph = helper.make_graph(nodes, "g", [x], outputs, tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

    @pytest.mark.parametrize(("shared", "sweep_each"), [(False, True), (True, False)])
    def test_is_linear(self, shared: bool, sweep_each: bool) -> None:
        small, large = (self.calls(self.model(n, shared), sweep_each) for n in (50, 200))
        assert large < 4.4 * small

    @staticmethod
    def calls(model: onnx.ModelProto, sweep_each: bool) -> int:
        def edit() -> None:
            graph = Graph.from_proto(model)
            x, w = graph.tensor("x"), graph.tensor("w")
            for node in graph.nodes:
                if node.op == "Conv":
                    graph.set_attribute(node, "pads", [1, 1, 1, 1])
                    output = graph.insert("Relu", [w], {}, before=node, name="w")
                    graph.set_input(node, 0, x)
                    graph.set_input(node, 1, output)
                    graph.add_initializer(np.full(200, len(graph.label(node))), "p")
                    if sweep_each:
                        graph.sweep()
            graph.sweep()
            edited = graph.model.to_bytes()
            graph.rollback(0)
            assert graph.model.to_bytes() != edited

        return work.calls(edit)


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    graph = load(CAPTURE)
    graph.insert("Relu", [graph.tensor("x")], {}, before=next(graph.nodes), name="r")
    graph.model.to_bytes()
    assert capsys.readouterr() == ("", "")


def test_garbage_collection_is_left_as_it_was() -> None:
    import gc

    assert gc.isenabled()
    load(CAPTURE)
    assert gc.isenabled()
    with pytest.raises(ModelError):
        load("g (float x) => (float z) { }")
    assert gc.isenabled()
