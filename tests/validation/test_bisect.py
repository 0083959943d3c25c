"""A fault planted in one node of a network is named, and what a rewrite may change is not."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxpad.runtimes.sessions import CPU, Session
from onnxpad.validation.compare import Tolerance
from onnxpad.validation.draw import Draw, outline
from onnxpad.validation.lab import Lab
from onnxpad.validation.locate import first_difference
from onnxpad.validation.result import Divergence
from tests.support import one

NODES = 500


def network(nodes: int = NODES) -> onnx.ModelProto:
    """Convolutions, sums over branches, and activations, each with weights of its own."""
    random = np.random.default_rng(0)
    graph = onnx.GraphProto(name="long")
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 9, 9]))
    graph.output.append(helper.make_tensor_value_info(f"t{nodes - 1}", TensorProto.FLOAT, None))
    names = ["x"]
    for index in range(nodes):
        output, kind = f"t{index}", index % 4
        if kind in (0, 2):
            # An orthogonal centre keeps the magnitude through any number of layers.
            weight = 0.02 * random.standard_normal((2, 2, 3, 3)).astype(np.float32)
            weight[:, :, 1, 1] += np.array([[0, -1], [1, 0]], np.float32)
            graph.initializer.append(numpy_helper.from_array(weight, f"w{index}"))
            pads = [1, 1, 1, 1]
            node = helper.make_node(
                "Conv", [names[-1], f"w{index}"], [output], name=f"n{index}", pads=pads
            )
        elif kind == 1:
            node = helper.make_node("LeakyRelu", [names[-1]], [output], f"n{index}", alpha=0.9)
        else:
            node = helper.make_node("Mean", [names[-1], names[-3]], [output], f"n{index}")
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
    elif node.op_type == "LeakyRelu":
        node.attribute[0].f = 0.5
    else:
        node.input.append("x")
    return model


def parting(
    before: Any,
    after: Any,
    draw: Draw,
    name: str = "y",
    folder: Path | None = None,
    tolerance: Tolerance = Tolerance(),
) -> Divergence | None:
    lab = Lab({"original": before, "rewritten": after}, outline(NETWORK), folder)
    return first_difference(lab, [name], draw, CPU, tolerance)


def find(before: Any, after: Any, **options: Any) -> Divergence | None:
    data = np.random.default_rng(1).standard_normal((1, 2, 9, 9)).astype(np.float32)
    return parting(before, after, Draw({"x": data}, "x"), f"t{NODES - 1}", **options)


@pytest.mark.parametrize("at", [2, NODES - 1])
def test_a_fault_in_any_of_500_nodes_is_named(at: int) -> None:
    found = find(NETWORK, faulty(at))
    assert found is not None
    assert found.tensor == f"t{at}"
    assert [each.partition(" ")[0] for each in found.producers] == [f"n{at}"] * 2
    assert found.compared == NODES
    assert not found.comparison.ok
    assert found.values[0] != found.values[1]
    if NETWORK.graph.node[at].op_type == "Mean":
        assert found.inputs[0] != found.inputs[1]
    else:
        assert found.attributes[0] != found.attributes[1]


def test_all_is_one_run_a_model_where_it_fits_and_many_where_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensor = 2 * 9 * 9 * 4
    held: list[int] = []
    plain = Session.run

    def counted(session: Session, feeds: Any, outputs: Any = None) -> Any:
        held.append(len(outputs))
        return plain(session, feeds, outputs)

    monkeypatch.setattr(Session, "run", counted)
    found = find(NETWORK, faulty(300))
    assert found is not None
    assert found.tensor == "t300"
    assert len(held) <= 10
    held.clear()
    monkeypatch.setattr("onnxpad.validation.locate._BUDGET", 40 * tensor)
    found = find(NETWORK, faulty(300))
    assert found is not None
    assert found.tensor == "t300"
    assert max(held) <= 40


def test_equal_models_do_not_diverge() -> None:
    assert find(NETWORK, NETWORK) is None


def parse(body: str, inputs: str = "float[1,1,6] x", weights: str = "") -> onnx.ModelProto:
    return one(body, inputs=inputs, initializers=weights)


WEIGHTS = "float[1,1,3] w = {1,2,4}, int64[6] p = {0,0,1,0,0,1}, int64[6] q = {0,0,2,0,0,2}"


def short(before: onnx.ModelProto, after: onnx.ModelProto) -> Divergence | None:
    data = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)
    return parting(before, after, Draw({"x": data}, "x"))


def test_tensors_of_one_model_only_are_passed_over() -> None:
    before = parse("a = Pad (x, p) b = Conv (a, w) y = Neg (b)", weights=WEIGHTS)
    body = "n = Neg (x) c = Neg (n) b = Conv <pads = [0,1]> (c, w) y = Neg (b)"
    found = short(before, parse(body, weights=WEIGHTS))
    assert found is not None
    assert (found.tensor, found.producers[0]) == ("b", "<b> (Conv)")
    assert found.attributes == ("", "pads=[0, 1]")
    assert found.values == ("1x1x6", "1x1x5")


def test_a_name_that_means_something_else_is_no_divergence_while_what_reads_it_agrees() -> None:
    # two pads are summed up: `b` keeps its meaning, `a` does not; the fault is behind them
    before = parse("a = Pad (x, p) b = Pad (a, p) c = Conv (b, w) y = Neg (c)", weights=WEIGHTS)
    after = parse("a = Pad (x, q) b = Identity (a) c = Conv (b, w) y = Abs (c)", weights=WEIGHTS)
    found = short(before, after)
    assert found is not None
    assert (found.tensor, found.producers) == ("y", ("<y> (Neg)", "<y> (Abs)"))


def test_rounding_on_the_way_is_told_apart_from_the_fault() -> None:
    weights = "float e = {1.0000001}, float two = {2.0}"
    before = parse("a = Mul (x, two) b = Neg (a) y = Neg (b)", weights=weights)
    after = parse("c = Mul (x, two) a = Mul (c, e) b = Neg (a) y = Identity (b)", weights=weights)
    found = short(before, after)
    assert found is not None
    assert (found.tensor, found.earlier) == ("y", "a")


def test_rounding_that_grew_is_named_where_it_begins() -> None:
    weights = "float e = {1.0000001}, float[1,1,6] c = {1,2,3,4,5,6}"
    before = parse("a = Identity (x) y = Sub (a, c)", weights=weights)
    after = parse("a = Mul (x, e) y = Sub (a, c)", weights=weights)
    data = Draw({"x": np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)}, "x")
    found = parting(before, after, data, tolerance=Tolerance(atol=1e-3))
    assert found is not None
    assert found.tensor == "a"
    found = parting(before, after, data)  # y was zero: nothing to be relative to
    assert found is not None
    assert (found.tensor, found.earlier) == ("y", "a")


def test_sequences_branches_and_omitted_outputs() -> None:
    body = (
        "s = SequenceConstruct (x, x) one, m = MaxPool <kernel_shape = [2]> (x) "
        "k = Constant <value = bool {{1}}> () i = If (k) <then_branch = g1 () => (float[1,1,?] u) "
        "{{ u = {} (one) }}, else_branch = g2 () => (float[1,1,?] v) {{ v = Neg (one) }}> "
        "d, = Dropout (i) n = SequenceLength (s) f = Cast <to = 1> (n) y = Add (d, f)"
    ).replace("d, =", "d =")
    found = short(parse(body.format("Abs")), parse(body.format("Neg")))
    assert found is not None
    assert (found.tensor, found.producers[0]) == ("i", "<i> (If)")
    assert "then_branch=<graph" in found.attributes[0]


def test_external_data_is_found_beside_a_path(tmp_path: Path) -> None:
    paths = [tmp_path / name / "m.onnx" for name in ("before", "after")]
    for path, model in zip(paths, (NETWORK, faulty(42)), strict=True):
        path.parent.mkdir()
        onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    for sources, folder in ((paths, None), ([p.read_bytes() for p in paths], paths[0].parent)):
        found = find(*sources, folder=folder)
        assert found is not None
        assert found.tensor == "t42"
