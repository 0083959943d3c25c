"""What two graphs of graphsurgeon share, and how parts of one are exported, part by part."""

from typing import Any

import numpy as np
import onnx_graphsurgeon as gs
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from onnxpad.api.graphsurgeon_graph import (
    _constant,
    _constants,
    _first_output,
    _function,
    _imported,
    _keep,
    _share,
    _size,
    _tensors,
    _type,
    _type_of_list,
    values,
)
from onnxpad.errors import ModelError
from tests.support.rows import each_row


@each_row(
    ("node", "name", "opsets", "kind"),
    [
        (("ReduceSum", None), "axes", {"": 11}, "INTS"),
        (("Upsample", None), "scales", {"": 7}, "FLOATS"),
        (("Upsample", ""), "scales", {"own": 9, "": 7}, "FLOATS"),
        (("Upsample", "ai.onnx"), "scales", {"ai.onnx": 7}, "FLOATS"),
        (("Upsample", ""), "scales", {"": 9}, "INTS"),  # an input since opset 9
        (("Upsample", "own"), "scales", {"": 7, "own": 1}, "INTS"),
        (("Upsample", None), "scales", {"own": 7}, "INTS"),
        (("Constant", None), "value_strings", {"": 13}, "STRINGS"),
        (("Constant", None), "value_strings", {"": 11}, "INTS"),
        (("TfIdfVectorizer", None), "pool_strings", {"": 9}, "STRINGS"),
        (("Scaler", "ai.onnx.ml"), "offset", {"": 17, "ai.onnx.ml": 1}, "FLOATS"),
        (("Unknown", None), "any", {"": 17}, "INTS"),
        (None, "any", {"": 17}, "INTS"),
    ],
)
def test_the_type_of_an_empty_list(
    node: tuple[str, str | None] | None, name: str, opsets: dict[str, int], kind: str
) -> None:
    given = None if node is None else gs.Node(node[0], domain=node[1])
    imports = [helper.make_opsetid(*each) for each in opsets.items()]
    assert _type_of_list(name, given, imports) == AttributeProto.AttributeType.Value(kind)


def constant(name: str, *numbers: float) -> gs.Constant:
    return gs.Constant(name, np.array(numbers, np.float32))


def variable(name: str, dtype: Any = np.float32, shape: Any = (2,)) -> gs.Variable:
    return gs.Variable(name, dtype, shape)


def test_tensors_by_name_and_two_of_one_name() -> None:
    x, y, w = variable("x"), variable("y"), constant("w", 1)
    empty = gs.Variable.empty()
    graph = gs.Graph([gs.Node("Op", inputs=[x, empty, w], outputs=[empty, y])], [x], [y])
    assert _tensors(graph) == {"x": x, "y": y, "w": w}
    assert _first_output(graph.nodes[0]) == "y"
    assert _first_output(gs.Node("Op", outputs=[empty])) is None
    for other, well in (
        (constant("w", 1), True), (constant("w", 2), False), (variable("w"), False)
    ):  # fmt: skip
        graph.nodes[0].inputs[1] = other
        if well:
            assert _tensors(graph)["w"] is other
        else:
            said = "two tensors of the graphsurgeon Graph have the name 'w'"
            with pytest.raises(ModelError, match=said):
                _tensors(graph)
    graph.nodes[0].inputs[1] = variable("x")  # graphsurgeon's users make some twice
    assert _tensors(graph)["x"] is x
    assert values(graph) == {"w": (w._values, w._export_dtype)}


def test_what_two_graphs_share() -> None:
    def graph(*numbers: float) -> gs.Graph:
        inner = gs.Graph([gs.Node("Neg", inputs=[constant("i", 7)], outputs=[variable("j")])])
        x, a, b, y = (variable(name) for name in "xaby")
        return gs.Graph(
            [
                gs.Node("Add", inputs=[x, constant("same", 1)], outputs=[a]),
                gs.Node("Add", inputs=[a, constant("other", *numbers)], outputs=[b]),
                gs.Node("Add", inputs=[b, constant("given", 3)], outputs=[y],
                        attrs={"body": inner, "held": constant("h", 9), "k": 1}),
                gs.Node("Abs", inputs=[x], outputs=[variable("fresh")], attrs={"body": inner}),
            ],
            [x], [y],
        )  # fmt: skip

    before, now = graph(1, 2), graph(1, 3)
    before.nodes[3].outputs[0].name = "another"
    kept = before.tensors()
    kept["x"].dtype, kept["x"].shape = None, ("n",)
    kept["a"].shape = (2,)
    now.tensors()["b"].shape = (3,)
    given = np.zeros(3, np.float32), None
    now.tensors()["x"].shape = None
    now.tensors()["y"].dtype = np.int32
    before.tensors()["y"].dtype = np.dtype(np.float32)
    marks = before.tensors()["a"].dtype = np.dtype(np.float32)
    _keep(before, now, {"given": given})
    found = now.tensors()
    assert found["same"]._values is kept["same"]._values
    assert found["other"]._values is not kept["other"]._values
    assert found["given"]._values is given[0]
    assert found["x"].shape == ("n",)
    assert found["a"].dtype is marks
    assert (found["b"].shape, found["y"].dtype) == ((3,), np.int32)
    one, another = before.nodes[2].attrs, now.nodes[2].attrs
    assert another["held"]._values is one["held"]._values
    inner = [each["body"].nodes[0].inputs[0]._values for each in (one, another)]
    assert inner[0] is inner[1]
    alone = now.nodes[3].attrs["body"].nodes[0].inputs[0]
    assert alone._values is not None
    target = constant("v", 1)
    for source in (None, variable("v"), constant("v", 2), constant("u", 1)):
        _share(source, target)
        assert target._values is not getattr(source, "_values", None)


def test_the_size_of_values() -> None:
    assert _size(np.zeros((3, 2), np.float32)) == 24
    outside = TensorProto(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)

    class Values:
        tensor: Any = outside
        nbytes = 8

    assert _size(Values()) == 0
    Values.tensor = numpy_helper.from_array(np.zeros(2, np.float32))
    assert _size(Values()) == 8
    Values.tensor = None
    assert _size(Values()) == 8


def test_constants_are_found_in_bodies_functions_and_attributes() -> None:
    def body(name: str) -> gs.Graph:
        return gs.Graph([gs.Node("Neg", inputs=[variable("v"), constant(name, 1)])])

    outer = body("deep")
    outer.nodes[0].attrs["then_branch"] = body("deeper")
    node = gs.Node("If", inputs=[constant("c", 1)], attrs={"b": outer, "t": constant("t", 2)})
    function = gs.Function("F", nodes=[gs.Node("Neg", inputs=[constant("f", 3)])])
    graph = gs.Graph([node, gs.Node("Abs", inputs=[constant("last", 4)])], functions=[function])
    assert [each.name for each in _constants(graph)] == ["c", "t", "last", "deep", "deeper", "f"]


def test_the_domains_that_a_graph_imports() -> None:
    inner = gs.Graph([gs.Node("Op", domain="inner")])
    nodes = [gs.Node("A", domain=domain) for domain in ("own", None, "", "ai.onnx", "own", "named")]
    nodes[0].attrs["body"] = inner
    graph = gs.Graph(nodes, opset=13)
    graph.import_domains = None

    def told() -> list[tuple[str, int]]:
        return [(each.domain, each.version) for each in _imported(graph)]

    assert told() == [("", 13), ("own", 1), ("named", 1), ("inner", 1)]
    graph.import_domains = [helper.make_opsetid("named", 5), helper.make_opsetid("ai.onnx", 12)]
    assert told() == [("named", 5), ("ai.onnx", 12), ("own", 1), ("inner", 1)]


def test_a_function_with_constants_types_and_defaults() -> None:
    x, h, y = variable("x", shape=None), variable("h"), variable("y", None, None)
    sparse = gs.Constant("s", np.zeros(1, np.float32))
    function = gs.Function(
        "F", "own", [gs.Node("Add", inputs=[x, constant("w", 1, 2)], outputs=[h]),
                     gs.Node("Mul", inputs=[h, sparse], outputs=[y])],
        [x], [y], "doc", opset=17, attrs={"by": None, "to": 3, "at": []},
    )  # fmt: skip
    for ir_version, typed in ((9, []), (10, ["x", "h"]), (11, ["x", "h"])):
        found = _function(function, ir_version)
        assert [each.name for each in found.value_info] == typed
    assert (found.name, found.domain, found.doc_string) == ("F", "own", "doc")
    assert ([*found.input], [*found.output], [*found.attribute]) == (["x"], ["y"], ["by"])
    assert [(each.name, each.type) for each in found.attribute_proto] == [
        ("to", AttributeProto.INT), ("at", AttributeProto.INTS)
    ]  # fmt: skip
    assert [(node.op_type, *node.output) for node in found.node] == [
        ("Constant", "w"), ("Constant", "s"), ("Add", "h"), ("Mul", "y")
    ]  # fmt: skip
    assert numpy_helper.to_array(found.node[0].attribute[0].t).tolist() == [1, 2]
    assert found.node[0].attribute[0].name == "value"


def test_declared_types() -> None:
    for tensor, kind in (
        (variable("x"), helper.make_tensor_type_proto(1, [2])),
        (variable("x", np.int64, ["n", np.int32(3), None]),
         helper.make_tensor_type_proto(7, ["n", 3, None])),
        (variable("x", TensorProto.BFLOAT16, None), helper.make_tensor_type_proto(16, None)),
        (variable("x", np.dtype(">f4"), []), helper.make_tensor_type_proto(1, [])),
        (variable("x", None), None),
    ):  # fmt: skip
        assert _type(tensor) == kind
    with pytest.raises(ValueError, match="type"):
        _type(variable("x", np.dtype("V3")))
    with pytest.raises(ModelError, match="'x' of the graphsurgeon Graph has no values"):
        _constant(variable("x"))
    assert _constant(constant("w", 1)) == numpy_helper.from_array(np.ones(1, np.float32), "w")
