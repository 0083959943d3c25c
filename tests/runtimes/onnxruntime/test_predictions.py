"""What is predicted of onnxruntime, beside the lines of `predictions.txt`.

Where it departs from the specification on SAME, as the engines of the proof have it; edits that
decide whether a `Pad` is folded; and where shape inference and the analysis disagree.
"""

from functools import partial
from itertools import product
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import replace
from onnx import TensorProto, helper, shape_inference

import onnxpad
from onnxpad.arithmetic.window import Window
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.onnxruntime.departures import disagreement, runtime_pads, why_not_run
from onnxpad.runtimes.onnxruntime.guard import _is_touched
from onnxpad.runtimes.onnxruntime.hidden_shapes import disagreements
from onnxpad.runtimes.onnxruntime.pad_fusion import Exposed
from onnxpad.semantics.operators import WindowOp, read_window
from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.window import onnxruntime, specification
from tests.support import BORDER, W, one, parsed, run
from tests.support.rows import each_row

AUTO_PADS = ("SAME_UPPER", "SAME_LOWER")
ONE = Window(1)
WINDOWS = [
    Window(kernel, stride, dilation)
    for kernel, stride, dilation in product((1, 2, 3, 4), (1, 2, 3, 5), (1, 2))
]
FLOAT, BYTE = int(TensorProto.FLOAT), int(TensorProto.UINT8)
OPERATORS: list[tuple[str, int, int, str]] = [
    ("Conv", 22, FLOAT, ""),
    ("MaxPool", 22, FLOAT, ""),
    ("MaxPool", 12, BYTE, ", ceil_mode = 1"),
    ("AveragePool", 18, FLOAT, ""),
    ("AveragePool", 19, FLOAT, ""),
    ("AveragePool", 18, FLOAT, ", ceil_mode = 1, count_include_pad = 1"),
    ("LpPool", 22, FLOAT, ""),
]


def same(op: str, opset: int, auto_pad: str, more: str) -> WindowOp:
    """An operator with SAME."""
    kernel, weight = ("", ", w") if op == "Conv" else (", kernel_shape = [3, 3]", "")
    body = f'y = {op} <auto_pad = "{auto_pad}"{kernel}{more}> (x{weight})'
    graph = Graph.from_proto(one(body, initializers=W, opset=opset))
    node = graph.tensor("y").producer
    assert node is not None
    read = read_window(graph, Analysis(graph), node)
    assert isinstance(read, WindowOp)
    return read


@pytest.mark.parametrize("auto_pad", AUTO_PADS)
@pytest.mark.parametrize(("op", "opset", "dtype", "more"), OPERATORS)
def test_engines_disagree_where_they_place_windows_otherwise(
    op: str, opset: int, dtype: int, more: str, auto_pad: str
) -> None:
    read = same(op, opset, auto_pad, more)
    for window, size in product(WINDOWS, range(1, 9)):
        node = replace(read, windows=(window, ONE))
        spec, ort = (each(node.form, 0, size, dtype) for each in (specification, onnxruntime))
        assert spec is not None
        runs = ort is not None and ort.runs == 1
        is_spread = window.dilation != 1 and window.kernel != 1 and op != "Conv"
        differs = ort is not None and (is_spread or (runs and spec[:3:2] != ort[:3:2]))
        refusal = disagreement(node, (size, 4), dtype)
        assert (refusal is not None) == differs, (window, size)
        why = why_not_run(node, partial(lambda each: (each, 4), size), lambda: dtype)
        assert bool(why) != runs, (window, size)
        if ort is not None and isinstance(ort.windows, int):
            assert isinstance(ort.begin, int)
            assert isinstance(ort.end, int)
            fits = window.extent <= size + ort.begin + ort.end
            assert runtime_pads(node, 0, size, dtype) == (ort[:2] if fits else None)


@pytest.mark.parametrize(("length", "touched"), [(8, False), (600, True)])
def test_what_is_too_far_to_see_may_have_been_edited(length: int, touched: bool) -> None:
    chain = " ".join(f"n{i + 1} = Neg (n{i})" for i in range(length))
    nodes = f"n0 = Neg (p) {chain} a = Pad (x, n{length}) y = MaxPool <kernel_shape = [3, 3]> (a)"
    context = Context(Graph.from_proto(one(nodes, initializers=BORDER)))
    found = {node.outputs[0].name: node for node in context.graph.nodes}
    pad = context.pad(found["a"])
    assert not isinstance(pad, UnreadError)
    assert _is_touched(context, Exposed(pad, found["y"], (), "")) is touched


TWICE = """
<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
g (float[1, 2, 9, 8] x) => (float[1, 2, 9, 8] y) { y = local.padded (x) }
<domain: "local", opset_import: ["" : 17]>
padded (x) => (y) {
    p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> ()
    r = Relu (x)
    a = Pad (r, p)
    y = MaxPool <kernel_shape = [3, 3]> (a)
}
<domain: "local", opset_import: ["" : 17]>
padded (x) => (y) { y = Neg (x) }
"""


def test_a_function_that_is_there_twice_ends_no_command() -> None:
    """onnx refuses to inline it, and onnxruntime to run it."""
    model = parsed(TWICE)
    assert [each.code for each in onnxpad.check(model).findings] == ["PAD201"]
    validation = onnxpad.fix(model).validation
    assert validation is not None
    assert validation.outcome == onnxpad.validate(model, model).outcome != "passed"


# Shape inference

POOL = "MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]>"
"""Shape inference counts a window too many where a size is even."""
UP = "y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2]"


def found(model: onnx.ModelProto) -> dict[str, Any]:
    """The tensors of which sizes are claimed, with those that the analysis has."""
    graph = Graph.from_proto(model)
    analysis = Analysis(graph)
    results = (node.outputs[0] for node in disagreements(graph, analysis))
    return {tensor.name: analysis.shape(tensor) for tensor in results}


def inferred(model: onnx.ModelProto) -> list[int]:
    """The sizes of the output by shape inference over the whole model."""
    (output,) = shape_inference.infer_shapes(model).graph.output
    return [dim.dim_value for dim in output.type.tensor_type.shape.dim]


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


# Where it begins, with what, and where not


def test_a_function_of_an_operators_name_is_not_asked_about() -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[1, 2, 8, 8] x) => (float[1, 2, 4, 4] y) {{ y = {POOL} (x) }}
        <domain: "", opset_import: ["" : 17]>
        MaxPool <ceil_mode, kernel_shape, strides> (a) => (b) {{ b = Relu (a) }}"""
    )
    assert not found(model)


@pytest.mark.parametrize(
    "text",
    [
        f"{UP}, strides = [0, 1]> (x)",
        f"{UP}, strides = [1]> (x)",
        f"{UP}, pads = [1, 1]> (x)",
        f"{UP}, start = 1> (x)",  # which the operator set lacks
        "y = Upsample (x)",  # an input too few
    ],
)
def test_what_is_malformed_does_not_reach_native_code(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[str] = []

    def infer(_: object, node: onnx.NodeProto, *__: object) -> dict[str, onnx.TypeProto]:
        handed.append(node.op_type)
        if len(handed) > 1:
            raise RuntimeError("vector::_M_range_check")  # without an answer nothing is compared
        return {}

    monkeypatch.setattr(shape_inference, "infer_node_outputs", infer)
    assert not found(one(f"r = {POOL} (x) {text}", opset=18, ir=8))
    assert handed == ["MaxPool"]
    assert not found(one(f"y = {POOL} (x)", inputs="float[1, 2, 8, 8] x"))
    assert len(handed) == 2
