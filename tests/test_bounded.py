"""Work is bounded by the size of the file, however much a small file unfolds to."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxpad
from onnxpad.facts import engine
from onnxpad.graph import Graph, Tensor
from onnxpad.rewrite.sinking import Sinking

AMOUNTS = [0, 0, 1, 1, 0, 0, 1, 1]
IMPORTS = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
node = helper.make_node


def nested(depth: int, calls: int, reads: str = "Conv") -> onnx.ModelProto:
    """Functions that each call the next so many times in a row; the last pads for an operator."""
    last = [node("Constant", [], ["p"], value_ints=AMOUNTS), node("Pad", ["x", "p"], ["a"])]
    last.append(node(reads, ["a", "w"] if reads == "Conv" else ["a"], ["y"]))
    bodies: list[list[onnx.NodeProto]] = [last]
    for place in range(1, depth):
        names = ["x", *(f"t{index}" for index in range(1, calls)), "y"]
        pairs = pairwise(names)
        bodies.append([node(f"F{place - 1}", [one, "w"], [two], domain="f") for one, two in pairs])
    functions = [
        helper.make_function("f", f"F{place}", ["x", "w"], ["y"], body, IMPORTS)
        for place, body in enumerate(bodies)
    ]
    return model([node(f"F{depth - 1}", ["x", "w"], ["y"], domain="f")], functions)


def model(
    nodes: Sequence[onnx.NodeProto], functions: Sequence[onnx.FunctionProto] = ()
) -> onnx.ModelProto:
    """A model that reads an image of 9 by 9 and a kernel of 3 by 3."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 9, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=IMPORTS, functions=functions, ir_version=9)


@pytest.mark.parametrize(
    ("depth", "calls"),
    [pytest.param(31, 2, id="2^30 calls"), pytest.param(1_100, 1, id="1,100 calls deep")],
)
def test_functions_are_analysed_once_for_like_calls(depth: int, calls: int) -> None:
    given = nested(depth, calls)
    fixed = onnxpad.fix(given, validate=False)
    assert [change.after for change in fixed.changes] == ["Conv H 1+1, W 1+1, pads [1, 1, 1, 1]"]
    assert "PAD201" in {each.code for each in onnxpad.check(given).findings}
    assert [site.pads for site in onnxpad.show(given).sites] == [(1, 1, 1, 1)]
    assert onnxpad.explain(given, node="y").conventions


def test_functions_with_too_many_sizes_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of 100,000: the same way, in a tenth.
    monkeypatch.setattr(engine, "MOST_NODES", 10_000)
    fixed = onnxpad.fix(nested(40, 2, "Relu"), validate=False)
    assert not fixed.changes
    assert {each.code for each in fixed.findings} == {"PAD206"}


def test_a_model_that_unfolds_to_too_many_nodes_is_not_run() -> None:
    given = nested(31, 2)
    compared = onnxpad.validate(given, given)
    assert compared.outcome == "nothing compared"
    assert "unfold to 3,221,225,472 nodes" in str(compared.validation.reason)
    with pytest.raises(onnxpad.ModelError, match="unfold to"):
        onnxpad.match(given, {"x": np.zeros((1, 1, 9, 9), np.float32), "y": np.ones(3, np.float32)})


def test_pads_that_reach_one_step_share_its_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The `Pad`s stay, each with its reason: what reads the Concat has no window."""
    tried, trial = [], Sinking.check_taken

    def counted(*given: Any) -> list[str]:
        tried.append(given)
        return trial(*given)

    monkeypatch.setattr(Sinking, "check_taken", counted)
    nodes = [node("Constant", [], ["p"], value_ints=AMOUNTS)]
    nodes += [node("Pad", ["x", "p"], [f"x{place}"]) for place in range(300)]
    nodes.append(node("Concat", [f"x{place}" for place in range(300)], ["c"], axis=1))
    nodes.append(node("ReduceSum", ["c"], ["y"]))
    found = onnxpad.fix(model(nodes), validate=False).findings
    assert [each.code for each in found] == ["PAD206"] * 300
    assert 0 < len(tried) < 10


@pytest.mark.parametrize("handed_on", [False, True])
def test_a_node_downstream_is_looked_at_once(
    handed_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SAME of a dilated pool, whose size onnx infers wrongly, with 2^12 ways from it."""
    pool: dict[str, Any] = {"auto_pad": "SAME_UPPER", "dilations": [2, 2], "kernel_shape": [3, 3]}
    nodes = [
        node("Constant", [], ["c"], value_floats=[0.0, 0, 0, 1, 0, 0, 0, 0]),
        node("Cast", ["c"], ["p"], to=TensorProto.INT64),
        node("Pad", ["x", "p"], ["a"]),
        node("Relu", ["a"], ["r"]),
        node("MaxPool", ["r"], ["k0"], **pool),
        *(node("Add", [f"k{place}"] * 2, [f"k{place + 1}"]) for place in range(12)),
    ]
    out = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    branch = helper.make_graph([node("Relu", ["k12"], ["z"])], "b", [], [out])
    nodes.append(
        node("If", ["on"], ["y"], then_branch=branch, else_branch=branch)
        if handed_on
        else node("Relu", ["k12"], ["y"])
    )
    given = model(nodes)
    given.graph.initializer.append(numpy_helper.from_array(np.array(True), "on"))
    asked = []
    uses = Graph.uses

    def counted(graph: Graph, tensor: Tensor) -> Any:
        asked.append(tensor)
        return uses(graph, tensor)

    monkeypatch.setattr(Graph, "uses", counted)
    result = onnxpad.fix(given, validate=False)
    assert [each.reason_code for each in result.undone] == ["shape-refused"]
    assert len(asked) < 1_000


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param({"pads": [10**8, 1, 1, 1]}, id="pads"),
        pytest.param({"pads": [10**9, 1, 10**9, 1], "dilations": [10**9, 1]}, id="dilations"),
        pytest.param({"strides": [10**9, 1]}, id="strides"),
        pytest.param({"output_padding": [10**9, 0], "strides": [2, 2]}, id="output_padding"),
    ],
)
def test_explain_says_that_a_node_is_too_long(attributes: dict[str, Any]) -> None:
    op = "ConvTranspose" if "output_padding" in attributes else "Conv"
    with pytest.raises(onnxpad.UsageError):
        onnxpad.explain(model([node(op, ["x", "w"], ["y"], **attributes)]), node="y")
