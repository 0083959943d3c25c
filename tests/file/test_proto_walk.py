"""What a walk through a model finds."""

import onnx

from onnxpad.file.proto_walk import (
    names,
    operators,
    tensors,
    unfolded,
)
from tests.support import parsed
from tests.support.rows import each_row


@each_row(
    ("nodes", "functions", "count"),
    [
        ("y = Neg (x)", {"F": "y = Neg (x)"}, 1),
        ("y = local.F (x)", {"F": "a = Neg (x) b = Neg (a) y = Neg (b)"}, 3),
        ("a = local.F (x) y = local.F (a)", {"F": "a = Neg (x) y = Neg (a)"}, 4),
        ("y = local.F (x)", {"F": "y = Identity (x)", "G": "a = Neg (x) y = Neg (a)"}, 1),
        ("y = local.F (x)", {"F": ""}, 1),
        ("y = local.F (x)", {"F": "a = local.G (x) y = local.G (a)", "G": "y = Abs (x)"}, 2),
        ("y = local.F (x)", {"G": "a = Abs (x) y = Abs (a)", "F": "a = local.G (x) y = Neg (a)"},
         3),
        ("y = other.F (x)", {"F": "a = Neg (x) y = Neg (a)"}, 1),
        ("y = F (x)", {"F": "a = Neg (x) y = Neg (a)"}, 1),
        # In a circle, without an end.
        ("y = local.F (x)", {"F": "a = Neg (x) y = local.F (a)"}, 0),
        ("y = local.F (x)", {"F": "a = Neg (x) y = local.G (a)", "G": "y = local.F (x)"}, 0),
        # Bodies count, those of functions too.
        (("y = If (c) <then_branch = t () => (float[1] u) { u = local.F (x) }, "
         "else_branch = e () => (float[1] v) { v = Neg (x) }>"),
         {"F": "a = Neg (x) b = Neg (a) y = Neg (b)"}, 5),
        ("y = local.F (x)",
         {"F": "y = If (x) <then_branch = t () => (float[1] u) { u = local.G (x) }, "
               "else_branch = e () => (float[1] v) { v = Neg (x) }>",
          "G": "a = Neg (x) b = Neg (a) y = Neg (b)"}, 5),
        # Three ways to one function: its size is found once.
        ("a = local.F (x) b = local.G (a) y = local.H (b)",
         {"F": "a = local.G (x) y = local.H (a)", "G": "a = local.H (x) y = local.H (a)",
          "H": "a = Neg (x) y = Neg (a)"}, 12),
    ],
)  # fmt: skip
def test_how_many_nodes_run(nodes: str, functions: dict[str, str], count: int) -> None:
    inner = "".join(
        f"""<domain: "local", opset_import: ["" : 17, "local" : 1]>
        {name} (x) => (y) {{ {body} }}"""
        for name, body in functions.items()
    )
    model = parsed(f"g (float[1] x, bool c) => (float[1] y) {{ {nodes} }} {inner}")
    assert unfolded(model) == count


def value(name: str, number: float = 0) -> onnx.TensorProto:
    return onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [1], [number])


def sparse(name: str) -> onnx.SparseTensorProto:
    index = onnx.helper.make_tensor(f"{name}_at", onnx.TensorProto.INT64, [1], [0])
    return onnx.helper.make_sparse_tensor(value(name), index, [1])


def crowded() -> onnx.ModelProto:
    """A model with a tensor in every place that can have one, each with a name of its own."""
    model = parsed(
        """<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[1] in, bool c) => (float[1] out) {
            [first] a = Neg (in)
            [if] b = If (c) <
                then_branch = t () => (float[1] u) { [deep] u = Scan (a, w, e, k) <
                    body = s (float[1] v) => (float[1] z, float[1] h) { z = Abs (e) },
                    num_scan_inputs = 1> },
                else_branch = f () => (float[1] q) { q = Add (k, in) r = local.F (q) }>
            [last] out = local.F (b)
        }
        <domain: "local", opset_import: ["" : 17, "local" : 1]> F (d) => (o)
        { l = Constant <value = float[1] held {1}> () o = Sub (d, l) }"""
    )
    graph = model.graph
    graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [1]))
    graph.value_info[0].name = "told"
    graph.quantization_annotation.add(tensor_name="scaled")
    graph.initializer.append(value("k"))
    graph.sparse_initializer.append(sparse("e"))
    branch = graph.node[1].attribute[0].g
    branch.initializer.append(value("w"))
    branch.sparse_initializer.append(sparse("x"))
    odd = graph.node[0].attribute
    odd.append(onnx.helper.make_attribute("sparse", sparse("y")))
    odd.add(name="tensors").tensors.extend([value("i"), value("j")])
    odd.add(name="sparse_tensors").sparse_tensors.append(sparse("m"))
    odd.add(name="graphs").graphs.add(name="g").node.add(op_type="Exp", output=["n"])
    training = model.training_info.add()
    training.initialization.initializer.append(value("begun"))
    training.algorithm.initializer.append(value("learned"))
    model.functions[0].attribute_proto.append(onnx.helper.make_attribute("p", value("usual")))
    return model


def test_the_names_in_a_graph() -> None:
    assert [*names(crowded().graph)] == [
        "in", "c", "out", "told", "k", "e", "scaled",
        "first", "in", "a", "", "n",
        "if", "c", "b",
        "u", "w", "x", "deep", "a", "w", "e", "k", "u", "v", "z", "h", "", "e", "z",
        "q", "", "k", "in", "q", "", "q", "r",
        "last", "b", "out",
    ]  # fmt: skip


def test_the_tensors_of_a_model() -> None:
    assert [each.name for each in tensors(crowded())] == [
        "y", "y_at", "i", "j", "m", "m_at", "w", "x", "x_at",
        "k", "e", "e_at", "begun", "learned", "held", "usual",
    ]  # fmt: skip


def test_the_operators_that_run() -> None:
    model = crowded()
    assert {*operators(model.graph.node, model.functions)} == {
        "Neg", "If", "F", "Constant", "Sub", "Add", "Scan", "Abs", "Exp",
    }  # fmt: skip
    assert [*operators(model.graph.node[2:], ())] == ["F"]
