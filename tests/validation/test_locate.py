"""A fault planted in one node of a network is named, and what a rewrite may change is not."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxpad
from onnxpad.runtimes.sessions import CPU, Session
from onnxpad.validation.compare import Tolerance
from onnxpad.validation.draw import Draw, outline
from onnxpad.validation.lab import Lab
from onnxpad.validation.locate import first_difference
from onnxpad.validation.result import Divergence
from tests.support import MODELS, parsed

NODES = 500


def network() -> onnx.ModelProto:
    """Convolutions, sums over branches, and activations, each with weights of its own."""
    random = np.random.default_rng(0)
    graph = onnx.GraphProto(name="long")
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 9, 9]))
    graph.output.append(helper.make_tensor_value_info(f"t{NODES - 1}", TensorProto.FLOAT, None))
    names = ["x"]
    for index in range(NODES):
        output, given, kind = f"t{index}", f"w{index}", index % 4
        if kind in (0, 2):
            # An orthogonal centre keeps the magnitude through any number of layers.
            weight = 0.02 * random.standard_normal((2, 2, 3, 3)).astype(np.float32)
            weight[:, :, 1, 1] += np.array([[0, -1], [1, 0]], np.float32)
            graph.initializer.append(numpy_helper.from_array(weight, given))
            node = helper.make_node("Conv", [names[-1], given], [output], pads=[1, 1, 1, 1])
        elif kind == 1:
            node = helper.make_node("LeakyRelu", [names[-1]], [output], alpha=0.9)
        else:
            node = helper.make_node("Mean", [names[-1], names[-3]], [output])
        node.name = f"n{index}"
        graph.node.append(node)
        names.append(output)
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, ir_version=9, opset_imports=[opset])
    assert isinstance(model, onnx.ModelProto)
    return model


NETWORK = network()


def faulty(at: int) -> onnx.ModelProto:
    """The network with a wrong attribute or input at one node."""
    model = onnx.ModelProto()
    model.CopyFrom(NETWORK)
    node = model.graph.node[at]
    if node.op_type == "Conv":
        node.attribute[0].ints[:] = [0, 2, 2, 0]
    else:
        node.input.append("x")
    return model


def find(before: Any, after: Any, folder: Path | None = None) -> Divergence | None:
    data = np.random.default_rng(1).standard_normal((1, 2, 9, 9)).astype(np.float32)
    lab = Lab({"original": before, "rewritten": after}, outline(NETWORK), folder)
    return first_difference(lab, [f"t{NODES - 1}"], Draw({"x": data}, "x"), CPU, Tolerance())


@pytest.mark.parametrize("at", [2, NODES - 1])
def test_a_fault_in_any_of_500_nodes_is_named(at: int) -> None:
    found = find(NETWORK, faulty(at))
    assert found is not None
    assert (found.tensor, found.compared) == (f"t{at}", NODES)
    assert [each.partition(" ")[0] for each in found.producers] == [f"n{at}"] * 2
    assert not found.comparison.ok
    assert found.values[0] != found.values[1]
    if NETWORK.graph.node[at].op_type == "Mean":
        assert found.inputs[0] != found.inputs[1]
    else:
        assert found.attributes[0] != found.attributes[1]


def test_all_is_one_run_a_model_where_it_fits_and_many_where_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[int] = []
    plain = Session.run

    def counted(session: Session, feeds: Any, outputs: Any = None) -> Any:
        held.append(len(outputs))
        return plain(session, feeds, outputs)

    monkeypatch.setattr(Session, "run", counted)
    for budget in (None, 40 * 2 * 9 * 9 * 4):
        held.clear()
        if budget is not None:
            monkeypatch.setattr("onnxpad.validation.locate._BUDGET", budget)
        found = find(NETWORK, faulty(300))
        assert found is not None
        assert found.tensor == "t300"
        assert len(held) <= 10 if budget is None else max(held) <= 40
    assert find(NETWORK, NETWORK) is None


def test_external_data_is_found_beside_a_path(tmp_path: Path) -> None:
    paths = [tmp_path / name / "m.onnx" for name in ("before", "after")]
    for path, model in zip(paths, (NETWORK, faulty(42)), strict=True):
        path.parent.mkdir()
        onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    held = [path.read_bytes() for path in paths]
    for found in (find(paths[0], paths[1]), find(held[0], held[1], paths[0].parent)):
        assert found is not None
        assert found.tensor == "t42"


def test_the_first_that_rounding_alone_does_not_explain_is_named_or_where_it_grew() -> None:
    weights = "<float e = {1.0000001}, float[1,1,6] c = {1,2,3,4,5,6}>"
    one, other = (
        parsed(f"g (float[1,1,6] x) => (float[1,1,6] y) {weights} {{ a = {a} y = Sub (a, c) }}")
        for a in ("Identity (x)", "Mul (x, e)")
    )
    data: Any = {"x": np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)}
    found = onnxpad.validate(one, other, inputs=data).validation.divergence
    assert found is not None  # y was zero: nothing to be relative to
    assert (found.tensor, found.earlier) == ("y", "a")
    lab = Lab({"original": one, "rewritten": other}, outline(one), None)
    grew = first_difference(lab, ["y"], Draw(data, "x"), CPU, Tolerance(atol=1e-3))
    assert grew is not None
    assert grew.tensor == "a"


@pytest.mark.parametrize(
    ("name", "node", "right", "wrong"),
    [
        # onnxslim 0.1.98 writes this where onnxruntime is not installed.
        ("trims_torchscript", "/head/Conv", [4, 0], [0, 4]),
        ("causal_keras", "causal_keras_1/stem_1/convolution", [0, 1, 0, 0], [0, 0, 0, 1]),
        # onnxoptimizer 0.4.2 folds the Pad in front of this pool, which rounds up.
        ("ceil_pool_torch", "node_max_pool2d_1", None, [1, 1, 1, 1]),
    ],
)
def test_a_wrong_fold_of_a_peer_is_found_and_named(
    name: str, node: str, right: list[int] | None, wrong: list[int]
) -> None:
    path = MODELS / f"{name}.onnx"
    folded = onnx.load(path) if right is None else onnxpad.fix(path, validate=False).model
    (window,) = [each for each in folded.graph.node if each.name == node]
    (pads,) = [each for each in window.attribute if each.name == "pads"]
    if right is None:
        (pad,) = [each for each in folded.graph.node if each.name == "node_pad"]
        window.input[0] = pad.input[0]
        folded.graph.node.remove(pad)
    assert right in (None, [*pads.ints])
    pads.ints[:] = wrong
    found = onnxpad.validate(path, folded)
    first = found.validation.divergence
    assert found.outcome == "failed"
    assert first is not None
    assert first.producers == (f"{node} ({window.op_type})",) * 2
    if right is not None:
        (difference,) = found.validation.padding
        assert difference.nodes == first.producers
