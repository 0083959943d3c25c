"""The graph: what it refuses, what it says, what edits and their undoing do, what they cost."""

from collections.abc import Callable, Sequence

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper

from onnxpad.errors import ModelError
from onnxpad.file.skeleton import encode
from onnxpad.graph import Declared, Graph
from tests.support import parsed
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
            "g (float x) => (float y) { y = Relu (z) z = Relu (x) }",  # unsorted
            "g (float x) => (float y) { y = Clip (x, , ) }",
            "g (float x) => (float x) { }",
            "g () => (float w) <float w = {1}> { }",
            "g (float x) => (float y) { [n] z = Relu (x) [n] y = Relu (z) }",
            CAPTURE,  # and a body that shadows an initializer
            (
                "g (bool x) => (float y) { y = If (x) "  # and bodies with outputs of its name
                "<then_branch = t () => (float y) { y = Constant <value_float = 1.0> () },"
                " else_branch = e () => (float y) { z = Relu (y) y = Abs (x) }> }"
            ),
            "g (bool x) => (float y) { y = If (x) <BODIES> q = Cast <to = 1> (x) }",
            '<ir_version: 9, opset_import: ["ai.onnx" : 9]> g (bool x) => (bool y) { y = Not (x) }',
            '<ir_version: 9, opset_import: ["c" : 1]> g (bool x) => (bool y) { y = c.Not (x) }',
        ],
    )
    def test_accepts(self, text: str) -> None:
        model = parsed(text.replace("<BODIES>", BODIES))
        assert Graph.from_proto(model).model.to_proto() == model

    def test_before_ir_version_3_the_opset_is_1(self) -> None:
        model = parsed(PAD_CONV)
        model.ir_version = 2
        model.ClearField("opset_import")
        assert Graph.from_proto(model).opset == 1


class TestReading:
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

    def test_standard_operators(self) -> None:
        graph = load("""
            <ir_version: 9, opset_import: ["" : 17, "custom" : 1]>
            g (float x) => (float d) {
                a = Conv (x, x) b = ai.onnx.Conv (a, a) c = custom.Identity (b) d = Pad (c, c)
            }
            <domain: "", opset_import: ["" : 17]> Pad (i, j) => (o) { o = Add (i, j) }
        """)
        assert [graph.is_standard(node) for node in graph.nodes] == [True, True, False, False]
        assert graph.origin(graph.tensor("c")).name == "c"


class TestConstants:
    @pytest.mark.parametrize("form", ["initializer", "node"])
    @pytest.mark.parametrize(
        "dtype", [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 21, 22]
    )
    def test_values(self, dtype: int, form: str) -> None:
        for count in (0, 1, 7, 4096):
            values = (np.arange(count) % 2).astype(helper.tensor_dtype_to_np_dtype(dtype))
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

    def test_equal_initializers_are_shared_while_they_are_there(self) -> None:
        graph = load(PAD_CONV)
        mark = graph.mark()
        one = graph.add_initializer(np.array([1, 2]), "amounts")
        assert graph.add_initializer(np.array([1, 2]), "other") is one
        for other in (np.array([1, 3]), np.array([[1, 2]]), np.array([1, 2], np.int32)):
            assert graph.add_initializer(other, "amounts") is not one
        for own in (np.zeros(1000), np.array(["text"], object)):
            assert graph.add_initializer(own, "b") is not graph.add_initializer(own, "b")
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

    def test_attribute_set_back_is_no_change(self) -> None:
        graph = load(PAD_CONV)
        conv = list(graph.nodes)[1]
        graph.set_attribute(conv, "pads", [])
        assert graph.model.changed
        graph.set_attribute(conv, "pads", None)
        assert not graph.model.changed
        assert graph.model.to_bytes() == parsed(PAD_CONV).SerializeToString()


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
