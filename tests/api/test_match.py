"""`match`: padding is found where it is the difference, and never where it is not."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import onnxpad
from onnxpad.frameworks.repadding import sites
from tests.frameworks.repadding import ports
from tests.support import MODELS, Array, checked, run
from tests.support.rows import one_in

SIZE = 20


def network(
    *pads: list[int],
    opset: int = 17,
    pool: dict[str, Any] | None = None,
    activation: str = "Relu",
    scale: float = 1.0,
    seed: int = 3,
) -> onnx.ModelProto:
    """Three strided convolutions in a row, each with its pads, then a pool and a mean."""
    source = np.random.default_rng(seed)
    nodes, weights, data = [], [], "x"
    for place, each in enumerate(pads):
        weight = scale * source.normal(size=(4, 4 if place else 3, 3, 3)) / 3
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"w{place}"))
        nodes.append(
            helper.make_node(
                "Conv",
                [data, f"w{place}"],
                [f"c{place}"],
                f"conv{place}",
                pads=each,
                strides=[2, 2],
            )
        )
        nodes.append(helper.make_node(activation, [f"c{place}"], [f"a{place}"]))
        data = f"a{place}"
    if pool is not None:
        kind = pool.pop("op", "MaxPool")
        nodes.append(helper.make_node(kind, [data], ["p"], "pool", **pool))
        pool["op"], data = kind, "p"
    nodes.append(helper.make_node("GlobalAveragePool", [data], ["y"], "mean"))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4, 1, 1])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    return model


END, BOTH, BEGIN, NONE = [0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]


def image(seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(1, 3, SIZE, SIZE)).astype(np.float32)


def recorded(model: onnx.ModelProto, *inner: str, seed: int = 0) -> dict[str, Array]:
    """Inputs, outputs and inner tensors of the network that is meant."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner)
    data = image(seed)
    values = run(copy, {"x": data})
    return {"x": data, **dict(zip(["y", *inner], values, strict=True))}


def pads_of(model: onnx.ModelProto) -> dict[str, list[int]]:
    """The pads of the convolutions."""
    return {
        node.name: next((list(a.ints) for a in node.attribute if a.name == "pads"), NONE)
        for node in model.graph.node
        if node.op_type == "Conv"
    }


@pytest.mark.parametrize("opset", [9, 17])
def test_one_convention_for_all(opset: int) -> None:
    right = network(END, END, BOTH, opset=opset)  # 20, 10, 5: symmetric at the odd size
    found = onnxpad.match(network(BOTH, BOTH, BOTH, opset=opset), recorded(right))
    assert found.outcome == "matched"
    assert found.ok
    assert found.matching.by == "tensorflow"
    assert pads_of(found.model) == {"conv0": END, "conv1": END, "conv2": BOTH}
    assert [change.node for change in found.changes] == ["conv0", "conv1"]
    assert {(change.pytorch, change.keras) for change in found.changes} == {
        ("nn.Conv2d(c, n, 3, stride=2)(F.pad(x, (0, 1, 0, 1)))",
         "Conv2D(n, 3, strides=2, padding='same')")
    }  # fmt: skip
    assert found.matching.before > 0.01
    assert found.matching.after < 1e-5
    onnxpad.validate(found.model, reference=recorded(right)).raise_for_failure()


def test_a_convention_is_named_only_where_it_reproduces_all() -> None:
    """The second convolution is not TensorFlow's, and that can be told."""
    found = onnxpad.match(network(BOTH, BOTH, BOTH), recorded(network(END, BOTH, BOTH)))
    assert [change.name for change in found.changes] == ["tensorflow-same"]
    assert not found.matching.by


@pytest.mark.parametrize("names", [["c0"], ["c0", "c1", "c2"]])
def test_what_is_written_reproduces_inner_tensors_too(
    names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = recorded(network(END, END, BOTH), *names)
    del arrays["y"]
    wrong = network(BOTH, BOTH, BOTH)
    found = onnxpad.match(wrong, arrays)
    assert found.outcome == "matched"
    assert any("not compared" in note for note in found.matching.notes)
    monkeypatch.setattr(sites, "write", lambda *_: None)
    found = onnxpad.match(wrong, arrays)
    assert found.outcome == "not matched"
    assert found.reason
    assert found.model == wrong


@pytest.mark.parametrize("pads", [(END, BOTH, BOTH), (END, BOTH, BEGIN), (BOTH, END, NONE)])
def test_a_mixture_is_found_operator_by_operator(pads: tuple[list[int], ...]) -> None:
    right = network(*pads)
    found = onnxpad.match(network(BOTH, BOTH, BOTH), recorded(right))
    assert found.outcome == "matched"
    for seed in range(3):
        other = {"x": image(seed)}
        np.testing.assert_allclose(run(found.model, other), run(right, other), rtol=1e-5)


def test_what_reproduces_it_already_stays() -> None:
    right = network(END, BOTH, END)
    found = onnxpad.match(right, recorded(right))
    assert found.outcome == "matches already"
    assert found.ok
    assert not found.changes
    assert found.model == right


@pytest.mark.parametrize(
    ("pads", "other"),
    one_in(
        2,
        [
            ((BOTH, BOTH, BOTH), {"activation": "Tanh"}),
            ((BOTH, BOTH, BOTH), {"scale": 1 / 255}),
            ((END, END, BOTH), {"scale": 1.05}),
            ((END, END, BOTH), {"seed": 4}),
        ],
    ),
)
def test_what_is_not_padding_is_never_matched(
    pads: tuple[list[int], ...], other: dict[str, Any], tmp_path: Path
) -> None:
    reference = recorded(network(END, END, BOTH, **other))
    wrong = network(*pads)
    found = onnxpad.match(wrong, reference)
    assert found.outcome == "not matched"
    assert found.model == wrong
    with pytest.raises(onnxpad.ValidationError, match="matched"):
        found.save(tmp_path / "out.onnx")
    assert not [*tmp_path.iterdir()]
    with pytest.raises(onnxpad.ValidationError):
        found.raise_for_failure()


@pytest.mark.parametrize("name", one_in(4, zip(ports.CHOSEN)))
def test_ports_with_wrong_pads_are_found(name: str) -> None:
    (port,) = ports.wrong([name])
    found = onnxpad.match(port.model, port.reference)
    assert found.outcome == "matched", found.reason
    values = run(found.model, {"x": port.reference["x"]})
    for value, wanted in zip(values, [*port.reference.values()][1:], strict=True):
        assert np.allclose(value, wanted, rtol=0, atol=1e-5 * np.ptp(wanted))


@pytest.mark.night
@pytest.mark.parametrize(
    ("build", "names"),
    one_in(2, [(ports.nasnet, {"a weight scaled"}), (ports.deeplab, {"other weights", "noise"})]),
)
def test_what_is_perturbed_is_no_part(build: ports.Build, names: set[str]) -> None:
    """Single operators come near anything: nine tenths of the first difference go with eleven."""
    for port in ports.perturbed([build], names):
        found = onnxpad.match(port.model, port.reference, seconds=2)
        assert found.outcome == "not matched", port.name
        assert found.changes == ()


def ended(model: onnx.ModelProto, *nodes: onnx.NodeProto, dtype: int) -> onnx.ModelProto:
    """The network with nodes behind its output, the last of which gives `z`."""
    model.graph.node.extend(nodes)
    del model.graph.output[:]
    model.graph.output.append(onnx.ValueInfoProto(name="z"))
    model.graph.output[0].type.tensor_type.elem_type = dtype
    return model


def test_a_class_alone_tells_no_padding() -> None:
    """One of four classes agrees by chance, also with other weights."""

    def classes(*pads: list[int], seed: int) -> onnx.ModelProto:
        node = helper.make_node("ArgMax", ["y"], ["z"], "class", axis=1)
        return ended(network(*pads, seed=seed), node, dtype=onnx.TensorProto.INT64)

    data = {"x": image()}
    for seed in (0, 1, 2, 3, 7, 8):  # a padding of some fits, and one is right already
        reference = run(classes(END, END, BOTH, seed=100 + seed), data)[0]
        found = onnxpad.match(classes(BOTH, BOTH, BOTH, seed=seed), {**data, "z": reference})
        assert found.outcome in {"matches already", "not matched"}
        assert found.outcome != "not matched" or found.model == classes(BOTH, BOTH, BOTH, seed=seed)


def test_inner_tensors_to_record_are_named_and_find_it() -> None:
    """The greatest of four means tells no padding; the outputs of the convolutions do."""

    def greatest(*pads: list[int]) -> onnx.ModelProto:
        node = helper.make_node("ArgMax", ["y"], ["z"], "class", axis=1)
        return ended(network(*pads), node, dtype=onnx.TensorProto.INT64)

    right, data = greatest(END, END, BOTH), {"x": image()}
    z = run(right, data)[0]
    found = onnxpad.match(greatest(BOTH, BOTH, BOTH), {**data, "z": (z + 1) % 4})
    assert (found.outcome, found.matching.record) == ("not matched", ("c0", "c1", "c2"))
    right.graph.output.extend(onnx.ValueInfoProto(name=name) for name in found.matching.record)
    arrays = dict(zip(("z", *found.matching.record), run(right, data), strict=True))
    found = onnxpad.match(greatest(BOTH, BOTH, BOTH), {**data, **arrays})
    assert (found.outcome, found.matching.record) == ("matched", ())


def test_what_differs_by_what_the_optimiser_changes_matches_already() -> None:
    """A quantised model is off by some steps at other levels, and no padding is at fault."""
    path = MODELS / "mobilenet_qdq.onnx"
    with np.load(path.with_suffix(".npz")) as arrays:
        feeds = {"input": arrays["input"]}
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = onnxpad.match(
        path, {**feeds, **dict(zip(names, session.run(names, feeds), strict=True))}
    )
    assert (found.outcome, found.changes) == ("matches already", ())
    assert found.matching.runs < 9
    assert 0 < found.matching.before < 2 * found.matching.noise


def test_noise_that_hides_what_padding_does_is_no_match() -> None:
    """Not even where the output that is told apart is one of several."""
    text, data = "q = Conv<pads = [1, 1, 1, 1]>(x, w)", "x"
    for place in range(40):
        text += f" c{place} = Conv<pads = [1, 1, 1, 1]>({data}, w) t{place} = Tanh(c{place})"
        data = f"t{place}"
    one = "float[1, 3, 20, 20]"
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["": 17]>
        g ({one} x) => ({one} {data}, {one} q) {{ {text} }}""")
    weight = np.random.default_rng(1).normal(0, 5, (3, 3, 3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    loud, quiet = run(model, {"x": image()})
    for reference in ({data: image(1), "q": quiet}, {data: loud, "q": quiet + 10}):
        found = onnxpad.match(model, {"x": image(), **reference})
        assert (found.outcome, found.exit_code) == ("not matched", 3)
        assert found.matching.noise > 0.1


def test_the_nearest_convention_is_told() -> None:
    """A small other difference beside the padding: padding explains most of it, and all is said."""
    wrong = network(BOTH, BOTH, BOTH)
    found = onnxpad.match(wrong, recorded(network(END, END, BOTH, scale=1.001)))
    assert (found.outcome, found.changes) == ("not matched", ())
    assert found.model == wrong
    near = min(found.matching.tried, key=lambda each: each.error)
    assert (near.name, near.operators) == ("tensorflow", 2)
    assert near.error < 0.1 * found.matching.before


def test_a_saturated_softmax_tells_no_padding() -> None:
    """All 0 and 1: other weights give the same as often as not."""

    def saturated(*pads: list[int], seed: int) -> onnx.ModelProto:
        model = network(*pads, seed=seed)
        model.graph.initializer.append(numpy_helper.from_array(np.array(1e3, np.float32), "factor"))
        nodes = (
            helper.make_node("Mul", ["y", "factor"], ["large"], "large"),
            helper.make_node("Softmax", ["large"], ["z"], "softmax", axis=1),
        )
        return ended(model, *nodes, dtype=onnx.TensorProto.FLOAT)

    for seed in (0, 4, 9, 10, 11):  # a padding of some fits, and one is right already
        reference = recorded(saturated(END, END, BOTH, seed=50 + seed), "z")
        arrays = {"x": reference["x"], "z": reference["z"]}
        found = onnxpad.match(saturated(BOTH, BOTH, BOTH, seed=150 + seed), arrays)
        assert found.outcome != "matched"


def test_one_number_tells_while_few_tries_are_made() -> None:
    def mean(*pads: list[int]) -> onnx.ModelProto:
        node = helper.make_node("ReduceMean", ["y"], ["z"], "all", keepdims=0)
        return ended(network(*pads), node, dtype=onnx.TensorProto.FLOAT)

    data = {"x": image()}
    reference = {**data, "z": run(mean(END, END, BOTH), data)[0]}
    assert onnxpad.match(mean(BOTH, BOTH, BOTH), reference).outcome == "matched"


def test_zeros_are_not_what_is_small() -> None:
    wrong = network(BOTH, BOTH, BOTH, scale=1e-3)
    found = onnxpad.match(wrong, {"x": image(), "y": np.zeros((1, 4, 1, 1), np.float32)})
    assert found.outcome == "not matched"


def test_a_shape_that_fits_explains_nothing_by_itself() -> None:
    weight = np.random.default_rng(1).normal(size=(2, 3, 3, 3)).astype(np.float32)
    net = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,3,9,9] x) => (float[1,2,H,W] y) '
        "{ y = Conv (x, w) }"
    )
    net.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    source = np.random.default_rng(2)
    x = (source.normal(size=(1, 3, 9, 9)) ** 5).astype(np.float32)  # most values are near 0
    right = onnx.ModelProto()
    right.CopyFrom(net)
    right.graph.node[0].attribute.append(helper.make_attribute("pads", BOTH))
    (meant,) = run(right, {"x": x})
    unrelated = source.permutation(meant.reshape(-1)).reshape(meant.shape)
    assert onnxpad.match(net, {"x": x, "y": unrelated}).outcome == "not matched"
    assert onnxpad.match(net, {"x": x, "y": meant}).outcome == "matched"
    assert onnxpad.match(net, {"x": x, "y": meant * 1.03}).outcome == "not matched"


def test_a_pool_that_rounds_up() -> None:
    kernel: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    right = network(END, END, pool={**kernel, "ceil_mode": 1})
    found = onnxpad.match(network(BOTH, BOTH, pool={**kernel}), recorded(right))
    assert found.outcome == "matched"
    pool = next(node for node in found.model.graph.node if node.name == "pool")
    attributes = {a.name: helper.get_attribute_value(a) for a in pool.attribute}
    assert attributes.get("ceil_mode") == 1 or attributes.get("pads") == [0, 0, 1, 1]


def test_averages_that_count_padding() -> None:
    average: dict[str, Any] = {"op": "AveragePool", "kernel_shape": [3, 3], "pads": BOTH}
    right = network(END, END, pool={**average, "count_include_pad": 1})
    found = onnxpad.match(network(BOTH, BOTH, pool={**average}), recorded(right))
    assert found.outcome == "matched"
    assert {change.node for change in found.changes} == {"conv0", "conv1", "pool"}


def test_inner_tensors_tell_where_it_ends() -> None:
    """The second weight is another one: the first operator is reached, the second one is not."""
    right = network(END, END, BOTH)
    weight = numpy_helper.to_array(right.graph.initializer[1]) * 1.5
    right.graph.initializer[1].CopyFrom(numpy_helper.from_array(weight, "w1"))
    found = onnxpad.match(network(BOTH, BOTH, BOTH), recorded(right, "c0", "c1", "c2"))
    assert found.outcome == "not matched"
    assert min(each.error for each in found.matching.tried) > 0.1, (
        "by all that is recorded, not by c0"
    )
    assert found.matching.first == "Conv conv1"
    upstream = {name: value for name, value in recorded(right, "c0").items() if name != "y"}
    assert pads_of(onnxpad.match(network(BOTH, BOTH, BOTH), upstream).model)["conv0"] == END
    found = onnxpad.match(network(END, BOTH, BOTH), recorded(right, "c0", "c1", "c2"))
    assert found.outcome == "not matched"
    assert found.matching.first == "Conv conv1"
    right = network(END, END, BOTH)
    found = onnxpad.match(network(BOTH, BOTH, BOTH), recorded(right, "c0", "a1"))
    assert found.outcome == "matched"
    assert not found.matching.first
    assert pads_of(found.model) == pads_of(right)


def test_samples_may_have_different_inner_tensors() -> None:
    right, wrong = network(END, END, BOTH), network(BOTH, BOTH, BOTH)
    samples = [recorded(right), recorded(right, "c0", seed=1), recorded(right, "c1", seed=2)]
    assert onnxpad.match(wrong, samples).outcome == "matched"
    without = {name: value for name, value in samples[1].items() if name != "y"}
    assert onnxpad.match(wrong, [samples[0], without]).outcome == "matched"


def test_inner_tensors_that_are_folded_are_left_out() -> None:
    """The output of a `Pad` that its Conv takes up is no tensor of the model any more."""

    def padded(amounts: list[int]) -> onnx.ModelProto:
        model = network(NONE, END, BOTH)
        model.graph.node[0].input[0] = "q"
        model.graph.node.insert(0, helper.make_node("Pad", ["x", "amounts"], ["q"], "pad"))
        whole = np.array([0, 0, *amounts[:2], 0, 0, *amounts[2:]])
        model.graph.initializer.append(numpy_helper.from_array(whole, "amounts"))
        return model

    arrays = recorded(padded(END), "q", "c1")
    found = onnxpad.match(padded(BOTH), arrays)
    assert found.outcome == "matched"
    assert any("'q'" in line for line in found.matching.notes)
    with pytest.raises(onnxpad.UsageError):
        onnxpad.match(padded(BOTH), {name: arrays[name] for name in ("x", "q")})


def test_a_sample_is_held_out() -> None:
    """What fits the first sample and not the other one is no match."""
    right = network(END, END, BOTH)
    samples = [recorded(right, seed=0), recorded(right, seed=1)]
    wrong = network(BOTH, BOTH, BOTH)
    assert onnxpad.match(wrong, samples).outcome == "matched"
    samples[1] = {**recorded(network(BEGIN, BOTH, BOTH, seed=9), seed=1)}
    assert onnxpad.match(wrong, samples).outcome == "not matched"


def test_layout_and_names_are_another_frameworks() -> None:
    arrays = recorded(network(END, END, BOTH))
    reference = {"image": np.moveaxis(arrays["x"], 1, -1), "scores": arrays["y"].reshape(1, 4)}
    found = onnxpad.match(network(BOTH, BOTH, BOTH), reference)
    assert found.outcome == "matched"
    assert any("'x'" in note and "channels moved" in note for note in found.matching.notes)
    assert any("by order" in line for line in found.matching.notes)


def test_open_sizes_get_what_holds_at_every_size() -> None:
    """SAME of an open size is `auto_pad`."""
    wrong = network(BOTH, BOTH, BOTH)
    for axis, name in ((2, "height"), (3, "width")):
        wrong.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    found = onnxpad.match(wrong, recorded(network(END, END, BOTH)))
    assert found.outcome == "matched"
    changed = [node for node in found.model.graph.node if node.name in {"conv0", "conv1"}]
    written = [{a.name: helper.get_attribute_value(a) for a in node.attribute} for node in changed]
    assert [each.get("auto_pad") for each in written] == [b"SAME_UPPER", b"SAME_UPPER"]


def test_open_sizes_and_dilations_get_numbers() -> None:
    """onnxruntime refuses SAME of a dilated convolution."""

    def dilated(pads: list[int]) -> onnx.ModelProto:
        model = network(pads, BOTH)
        model.graph.node[0].attribute.append(helper.make_attribute("dilations", [2, 2]))
        for axis, name in ((2, "height"), (3, "width")):
            model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
        return model

    found = onnxpad.match(dilated([2, 2, 2, 2]), recorded(dilated([1, 1, 2, 2])))
    assert found.outcome == "matched"
    assert pads_of(found.model)["conv0"] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("op", "opset", "attributes"),
    [("LpPool", 13, {"p": 2}), ("MaxPool", 9, {}), ("AveragePool", 9, {}), ("LpPool", 18, {})],
)
def test_rounding_up_where_the_opset_cannot_tell_it(
    op: str, opset: int, attributes: dict[str, Any]
) -> None:
    pool = {"op": op, "kernel_shape": [3, 3], "strides": [3, 3], **attributes}
    wrong = network(END, pool=pool, opset=opset, activation="Tanh")  # of 10 elements: 3, or 4
    right = network(END, pool={**pool, "pads": [0, 0, 2, 2]}, opset=opset, activation="Tanh")
    found = onnxpad.match(wrong, recorded(right))
    assert found.outcome == "matched"
    onnx.checker.check_model(found.model, full_check=True)
    (change,) = found.changes
    assert change.node == "pool"
    assert ("ceil_mode" in change.attributes) is (opset == 18)


def test_a_pad_that_stays_is_named() -> None:
    """A MaxPool cannot take zeros from a Pad, which is not varied."""
    model = network(END, pool={"kernel_shape": [3, 3], "strides": [2, 2]}, activation="Tanh")
    place = next(i for i, node in enumerate(model.graph.node) if node.name == "pool")
    pad = helper.make_node("Pad", [model.graph.node[place].input[0], "amounts"], ["q"], "pad")
    model.graph.node[place].input[0] = "q"
    model.graph.node.insert(place, pad)
    amounts = np.array([0, 0, *END[:2], 0, 0, *END[2:]])
    model.graph.initializer.append(numpy_helper.from_array(amounts, "amounts"))
    found = onnxpad.match(model, recorded(network(BOTH)))
    assert "pad" in dict(found.matching.left)


def test_the_same_kind_of_object_comes_back() -> None:
    reference = recorded(network(END, END, BOTH))
    wrong = network(BOTH, BOTH, BOTH)
    found = onnxpad.match(wrong.SerializeToString(), reference)
    assert isinstance(found.as_same_kind(), bytes)
    assert onnx.load_from_string(found.as_same_kind()) == onnxpad.match(wrong, reference).model


@pytest.mark.parametrize(
    "arguments",
    [
        {"rtol": -1.0},
        {"seconds": math.inf},
        {"reference": {"x": np.zeros((1, 3, SIZE, SIZE), np.float32)}},
        {"reference": {"y": np.zeros((1, 4), np.float32)}},
        {"reference": 3},
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any]) -> None:
    reference = recorded(network(END, END, BOTH))
    with pytest.raises(onnxpad.UsageError):
        onnxpad.match(network(BOTH, BOTH, BOTH), **{"reference": reference, **arguments})


BRANCHES = """
<ir_version: 9, opset_import: ["" : 17]>
branches (float[1, 1, 8] x) => (float[1, 1, 4] first, float[1, 1, 4] second)
<float[1, 1, 3] v = {1, 2, 4}, float[1, 1, 3] w = {3, -1, 2}>
{ first = Conv <strides = [2], pads = [PADS]> (x, v)
  second = Conv <strides = [2], pads = [PADS]> (x, w) }
"""


def test_what_reproduces_one_output_stays_while_the_next_one_is_reproduced() -> None:
    right, wrong = (checked(BRANCHES.replace("PADS", pads)) for pads in ("0, 1", "1, 1"))
    data = {"x": np.array([[[1, 2, 4, 8, 3, 5, 7, 6]]], np.float32)}
    reference = {**data, **dict(zip(("first", "second"), run(right, data), strict=True))}
    result = onnxpad.match(wrong, reference)
    assert result.outcome == "matched"
    assert len(result.changes) == 2
    for found, wanted in zip(run(result.model, data), run(right, data), strict=True):
        assert np.array_equal(found, wanted)


SERIES = """
<ir_version: 9, opset_import: ["" : 17]>
series (float[1, 1, 1, 9] x) => (float[1, 1, 1, 9] y) <float[1, 1, 1, 3] w = {1, 2, 4}>
{ y = Conv <dilations = [1, 2], pads = [PADS]> (x, w) }
"""


def test_a_causal_series_that_was_exported_as_2_d() -> None:
    right, wrong = (checked(SERIES.replace("PADS", pads)) for pads in ("0, 4, 0, 0", "0, 2, 0, 2"))
    data = {"x": np.array([[[[1, 2, 4, 8, 3, 5, 7, 6, 9]]]], np.float32)}
    result = onnxpad.match(wrong, {**data, "y": run(right, data)[0]})
    assert [change.name for change in result.changes] == ["keras-causal"]
    assert np.array_equal(run(result.model, data)[0], run(right, data)[0])


def test_an_output_of_text_is_compared_too() -> None:
    text = """g (float[1, 1, 8, 8] x, string[2] t) => (float[1, 1, a, b] y, string[2] u) {{
        y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [{}]> (x)
        u = Identity (t)
    }}"""
    x = np.random.default_rng(0).normal(size=(1, 1, 8, 8)).astype(np.float32)
    feeds = {"x": x, "t": np.array(["a", "b"], object)}
    y, u = run(checked(text.format("1, 1, 0, 0")), feeds)
    mine = checked(text.format("0, 0, 1, 1"))
    assert onnxpad.match(mine, {**feeds, "y": y, "u": u}).outcome == "matched"
