"""What a walk through a model finds."""

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxpad.file.proto_walk import (
    bodies,
    captured,
    has_open_loop,
    inner_tensors,
    names,
    operators,
    tensors,
    unfolds,
)
from tests.support import parsed
from tests.support.rows import each_row

LOOP = """g (float[1] x, bool c) => (float[1] y) {
    y = Loop (n, c, x) <body = b (int64 i, bool k, float[1] z) => (bool l, float[1] w)
    { l = Identity (k) w = Neg (z) }>
}"""
MOST = 1 << 20


def counted(tensor: onnx.TensorProto) -> bool:
    model = parsed(LOOP)
    tensor.name = "n"
    model.graph.initializer.append(tensor)
    return not has_open_loop(model)


@each_row(
    ("values", "closed"),
    [
        (np.int64(5), True),
        (np.array([5]), True),
        (np.array([[5]]), True),
        (np.int64(-1), True),
        (np.int64(MOST), True),
        (np.int64(MOST + 1), False),
        (np.int64(1) << 40, False),
        (np.array([5, 5]), False),
        (np.array([], np.int64), False),
        (np.float64(5), False),
        (np.array([5, 0], np.int32), False),
    ],
)
def test_a_loop_ends_by_an_integer_however_it_is_stored(values: Any, closed: bool) -> None:
    raw = numpy_helper.from_array(np.asarray(values))
    assert counted(raw) is closed
    plain = onnx.helper.make_tensor(
        "n", raw.data_type, list(raw.dims), np.asarray(values).ravel().tolist()
    )
    assert not plain.raw_data
    assert counted(plain) is closed


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
        "k", "e", "e_at", "begun", "learned", "usual", "held",
        "y", "y_at", "i", "j", "m", "m_at", "w", "x", "x_at",
    ]  # fmt: skip


def test_what_bodies_define_and_read() -> None:
    graph = crowded().graph
    assert [*inner_tensors(graph.node)] == ["n", "w", "x", "u", "v", "z", "q", "r"]
    assert [len([*bodies(item)]) for node in graph.node for item in node.attribute] == [
        0, 0, 0, 1, 1, 1,
    ]  # fmt: skip
    then, otherwise = (item.g for item in graph.node[1].attribute)
    assert [*captured(then)] == ["a", "e", "k", "h"]
    assert [*captured(otherwise)] == ["k", "in"]


def test_the_operators_that_run() -> None:
    model = crowded()
    functions = {("local", "F"): model.functions[0]}
    assert [*operators(model.graph.node, functions)] == [
        "Neg", "If", "F", "Constant", "Sub", "Add", "F", "Scan", "Abs", "Exp",
    ]  # fmt: skip
    assert [*operators(model.graph.node[2:], {})] == ["F"]


def calling(factor: int) -> onnx.ModelProto:
    """A model of six levels, each of which calls the next one so often."""
    made = [" ".join(f"o{n} = {op} (i)" for n in range(factor)) for op in ("local.F", "Neg")]
    levels = [made[0].replace("F", f"F{level + 1}") for level in range(5)] + [made[1]]
    inner = "".join(
        f"""<domain: "local", opset_import: ["" : 17, "local" : 1]>
        F{level} (i) => (o0) {{ {nodes} }}"""
        for level, nodes in enumerate(levels[1:], 1)
    )
    return parsed(
        f"""<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[1] i) => (float[1] o0) {{ {levels[0]} }} {inner}"""
    )


def test_a_model_whose_functions_unfold_to_too_many_nodes() -> None:
    assert unfolds(calling(10)) == ""  # a million
    assert unfolds(calling(11)) == (
        "its functions would unfold to 1,771,561 nodes, since onnxruntime puts a function in the "
        "place of every call, and no more than 1,000,000 are tried"
    )
