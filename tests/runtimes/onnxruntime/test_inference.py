"""Where shape inference and the analysis disagree: told at its origin, and of nothing else."""

from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, shape_inference

from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.runtimes.onnxruntime.hidden_shapes import disagreements
from tests.support import one, run
from tests.support.rows import each_row

POOL = "MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]>"
"""Shape inference counts a window too many where a size is even."""
UP = "y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2]"


def found(model: onnx.ModelProto) -> dict[str, Any]:
    """The tensors of which sizes are claimed, with those that the analysis has."""
    graph = Graph.from_proto(model)
    analysis = Analysis(graph)
    results = (node.outputs[0] for node in disagreements(graph, analysis))
    return {tensor.name: analysis.shape(tensor) for tensor in results}


def places(model: onnx.ModelProto) -> list[str]:
    return list(found(model))


def inferred(model: onnx.ModelProto, name: str = "y") -> list[int]:
    """The sizes of a tensor by shape inference over the whole model."""
    graph = shape_inference.infer_shapes(model).graph
    values = {value.name: value for value in (*graph.value_info, *graph.output)}
    return [dim.dim_value for dim in values[name].type.tensor_type.shape.dim]


# What is claimed is so


def random_window(random: Random) -> onnx.ModelProto:
    """A model of one window operator with attributes that its opset has, which may not run."""
    op = random.choice(["Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"])
    opset = random.choice([10, 11, 17, 18, 19, 21, 22, 24])
    kernel = random.randint(1, 5)
    attributes: dict[str, Any] = {"kernel_shape": [kernel], "strides": [random.randint(1, 4)]}
    if random.random() < 0.3 and opset >= {"AveragePool": 19, "LpPool": 18}.get(op, 10):
        attributes["dilations"] = [random.randint(1, 3)]
    padding = random.choice(["pads", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if padding == "pads":
        attributes["pads"] = [random.randint(0, 4), random.randint(0, 4)]
    else:
        attributes["auto_pad"] = padding
    if op == "ConvTranspose":
        attributes["output_padding"] = [random.randint(0, 2)]
    elif op != "Conv" and opset >= {"LpPool": 18}.get(op, 10):
        attributes["ceil_mode"] = random.randint(0, 1)
    weights = [helper.make_tensor("w", TensorProto.FLOAT, [1, 1, kernel], [1.0] * kernel)]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w"] if "Conv" in op else ["x"], ["y"], **attributes)],
        "window",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, random.randint(1, 12)])],
        [onnx.ValueInfoProto(name="y")],
        weights if "Conv" in op else [],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def computed(model: onnx.ModelProto) -> tuple[int, ...] | None:
    """The shape that onnxruntime gives; None where it does not run the model."""
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    try:
        (result,) = run(model, {"x": np.zeros(shape, np.float32)})
    except Exception:
        return None
    return tuple(result.shape)


def test_where_shape_inference_is_wrong_the_analysis_is_right() -> None:
    """Of random windows: both sides of a claim are as they are told, by two oracles."""
    random = Random(5)
    confirmed: dict[str, int] = {}
    for _ in range(600):
        model = random_window(random)
        for derived in found(model).values():
            assert list(derived) != inferred(model)
            shape = computed(model)
            if shape is not None:
                assert derived == shape
                op = model.graph.node[0].op_type
                confirmed[op] = confirmed.get(op, 0) + 1
    assert confirmed.keys() == {"AveragePool", "ConvTranspose", "LpPool", "MaxPool"}


class Mistaken(Analysis):
    """Takes the last axis of `y` for longer than it is."""

    def shape(self, tensor: Any) -> Any:
        shape = super().shape(tensor)
        return shape if tensor.name != "y" or not shape else (*shape[:-1], shape[-1] + 1)


@each_row(
    "text",
    [
        "y = ai.onnx.MaxPool <ceil_mode = 1, kernel_shape = [2, 2]> (x)",
        'y = ConvTranspose <auto_pad = "SAME_UPPER"> (x, w)',
        "y = Resize (x, no, scales)",
        "y = Resize (x, no, no, t)",
    ],
)
def test_a_mistake_of_the_analysis_would_be_found(text: str) -> None:
    model = one(
        text,
        inputs="float[1, 2, 9, 8] x, float[2, 3, 3, 3] w",
        initializers="int64[4] t = {2, 1, 8, 9}, float[0] no = {}, float[4] scales = {1, 1, 2, 2}",
        opset=18,
    )
    graph = Graph.from_proto(model)
    assert list(disagreements(graph, Analysis(graph))) == []
    (claim,) = disagreements(graph, Mistaken(graph))
    assert claim.outputs[0].name == "y"


# Where it begins, and with what


def test_it_is_told_where_it_begins_and_not_behind() -> None:
    model = one(
        f"""a = Relu (x) b, positions = {POOL} (a) c = Sigmoid (b)
        d = {POOL} (c) y = AveragePool <kernel_shape = [2, 2]> (d)""",
        inputs="float[1, 2, 16, 12] x",
    )
    assert found(model) == {"b": (1, 2, 8, 6), "d": (1, 2, 4, 3)}
    assert inferred(model, "c") == [1, 2, 9, 7]  # it goes on there, and is not told again


@pytest.mark.parametrize(
    ("text", "opset"),
    [("Unsqueeze <axes = [-1]>(x)", 10), ("Squeeze <axes = [-1]>(x)", 10), ("Squeeze (x, z)", 17)],
)
def test_axes_that_it_does_not_know_are_told(text: str, opset: int) -> None:
    held = "int64[0] z = {}"
    model = one(f"y = {text}", inputs="float[1, 2, 1] x", initializers=held, opset=opset, ir=7)
    assert places(model) == ["y"]


def test_computed_targets_are_told() -> None:
    """Shape inference by itself does not follow them, but whoever folds constants first does."""
    model = one(
        f"""s = Shape (x) h = Slice (s, zero, two) t = Concat <axis = 0> (h, eight, eight)
        r = Reshape (x, t) y = {POOL} (r)""",
        inputs="float[1, 2, 4, 16] x",
        initializers="int64[1] zero = {0}, int64[1] two = {2}, int64[1] eight = {8}",
    )
    assert places(model) == ["y"]


# What is not claimed


BODY = f"""
y = If (c) <
  then_branch = g () => (float[] t) {{ t = {POOL} (x) }},
  else_branch = h () => (float[] e) {{ e = {POOL} (x) }}
>"""

QUIET = [
    pytest.param(one(f"y = {POOL} (x)", inputs="float[1, 2, 9, 9] x"), id="an odd size"),
    pytest.param(one(f"y, i = {POOL} (x)", inputs="float[1, 2, 9, 9] x"), id="positions"),
    pytest.param(one(f"y = {POOL} (x)", inputs="float[1, 2, 8, 8] x", opset=22), id="opset 22"),
    pytest.param(one(f"y = {POOL} (x)", inputs="float[0, 2, 8, 8] x"), id="a size of 0"),
    pytest.param(one(f"y = {POOL} (x)", inputs="float[1, 2, 0, 8] x"), id="a side of 0"),
    pytest.param(one(f"y = other.{POOL} (x)", inputs="float[1, 2, 8, 8] x"), id="another domain"),
    pytest.param(one(BODY, inputs="float[1, 2, 8, 8] x, bool c"), id="in another's body"),
]


@each_row("model", QUIET)
def test_nothing_is_claimed(model: onnx.ModelProto) -> None:
    assert places(model) == []


def test_a_function_of_an_operators_name_is_not_asked_about() -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[1, 2, 8, 8] x) => (float[1, 2, 4, 4] y) {{ y = {POOL} (x) }}
        <domain: "", opset_import: ["" : 17]>
        MaxPool <ceil_mode, kernel_shape, strides> (a) => (b) {{ b = Relu (a) }}"""
    )
    assert model.functions[0].name == "MaxPool"
    assert places(model) == []


def test_a_target_that_a_caller_may_override_is_not_taken_for_granted() -> None:
    model = one(
        f"r = Reshape (x, target) y = {POOL} (r)",
        inputs="float[1, 2, 4, 16] x, int64[4] target",
        initializers="int64[4] target = {1, 2, 8, 8}",
    )
    assert inferred(model, "r") == [1, 2, 8, 8]
    assert places(model) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{UP}, strides = [0, 1]> (x)", id="stride 0"),
        pytest.param(f"{UP}, strides = [1]> (x)", id="short strides"),
        pytest.param(f"{UP}, pads = [1, 1]> (x)", id="pads of another rank"),
        pytest.param(f"{UP}, start = 1> (x)", id="an attribute that the operator set lacks"),
        pytest.param("y = Upsample (x)", id="an input too few"),
    ],
)
def test_what_is_malformed_does_not_reach_native_code(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[str] = []

    def infer(_: object, node: onnx.NodeProto, *__: object) -> dict[str, onnx.TypeProto]:
        handed.append(node.op_type)
        return {}

    monkeypatch.setattr(shape_inference, "infer_node_outputs", infer)
    assert places(one(f"r = {POOL} (x) {text}", opset=18, ir=8)) == []
    assert handed == ["MaxPool"]


def test_without_an_answer_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def infer(*_: object) -> dict[str, onnx.TypeProto]:
        raise RuntimeError("vector::_M_range_check")

    model = one(f"y = {POOL} (x)", inputs="float[1, 2, 8, 8] x")
    assert places(model) == ["y"]
    monkeypatch.setattr(shape_inference, "infer_node_outputs", infer)
    assert places(model) == []
