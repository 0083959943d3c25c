"""`onnxpad.repad`: the padding of each framework, outputs held against models written with it."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

import onnxpad
from onnxpad import repad
from onnxpad.errors import UsageError, ValidationError
from onnxpad.report import Delivery
from tests.support import MODELS, feeds_of, one, run
from tests.support.rows import each_row

MISCONVERTED = MODELS / "misconverted"
K3 = "float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}"
K2 = "float[1, 1, 2, 2] w = {1, 2, 3, 4}"
S2 = "strides = [2, 2]"
HALF = f"Conv <pads = [1, 1, 1, 1], {S2}> (x, w)"
SQUARE = "float[1, 1, 8, 8] x"
AMOUNTS = "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () "


def attributes(model: onnx.ModelProto) -> dict[str, Any]:
    """The attributes of padding of the first node, without those that say what absence says."""
    found = {}
    for each in model.graph.node[0].attribute:
        value = onnx.helper.get_attribute_value(each)
        if each.name in {"pads", "output_padding", "ceil_mode", "count_include_pad", "auto_pad"}:
            found[each.name] = value.decode() if isinstance(value, bytes) else value
    return {name: value for name, value in found.items() if value not in ("NOTSET", 0)}


def model(text: str, inputs: str = SQUARE, weight: str = K3, **more: Any) -> onnx.ModelProto:
    return one(text, inputs=inputs, initializers=weight if ", w)" in text else "", **more)


@each_row(
    ("node", "to", "wanted"),
    [
        (HALF, "tensorflow", {"pads": [0, 0, 1, 1]}),
        (f'Conv <auto_pad = "SAME_UPPER", {S2}> (x, w)', "coreml-top-left", {"pads": [1, 1, 0, 0]}),
        (f"MaxPool <kernel_shape = [3, 3], {S2}> (x)", "caffe", {"ceil_mode": 1}),
        (f"AveragePool <kernel_shape = [3, 3], pads = [0, 0, 1, 1], {S2}> (x)", "pytorch",
         {"pads": [1, 1, 1, 1], "count_include_pad": 1}),
        (f"ConvTranspose <pads = [1, 1, 1, 1], output_padding = [1, 1], {S2}> (x, w)", "keras",
         {"pads": [0, 0, 1, 1]}),
    ],
    at_once=4,
)  # fmt: skip
def test_one_operator(node: str, to: str, wanted: dict[str, Any]) -> None:
    before = model(f"y = {node}", opset=19)
    kept = before.SerializeToString()
    result = repad(before, to)
    assert [change.node for change in result.changes] == ["<y>"]
    assert attributes(result.model) == wanted
    assert before.SerializeToString() == kept
    (output,) = result.difference.outputs
    assert not output.equal
    assert result.ok
    again = repad(result.model, to)
    assert not again.changes
    assert again.model == result.model


def test_what_stays() -> None:
    before = model(f"y = {HALF}", ir=7)
    result = repad(before, "onnx-same-lower")  # the last element of padding is not read
    assert not result.changes
    assert result.model == before
    assert result.ok
    assert result.difference.outputs == ()


def test_what_is_causal_stays_and_is_said_to_be() -> None:
    path = MISCONVERTED / "begin_conv1d.onnx"
    (stays,) = repad(path, "tensorflow").unchanged
    assert (stays.is_same, "stays causal" in stays.reason) == (True, True)
    (found,) = onnxpad.check(path, convention="tensorflow", select="PAD6").findings
    assert (found.severity, "causal" in found.message) == (onnxpad.Severity.INFO, True)


def test_a_pad_in_front_is_folded_and_counts_as_what_it_was() -> None:
    result = repad(model(f"{AMOUNTS} q = Pad (x, p) y = Conv <{S2}> (q, w)"), "tensorflow")
    assert [node.op_type for node in result.model.graph.node] == ["Conv"]
    assert attributes(result.model) == {"pads": [0, 0, 1, 1]}
    mean = model(f"{AMOUNTS} q = Pad (x, p) y = AveragePool <kernel_shape = [3, 3]> (q)")
    assert not repad(mean, "tensorflow").changes  # an average over zeros is no framework's own


def test_a_quantised_average_that_divides_otherwise_stays() -> None:
    before = one(
        "y = com.microsoft.QLinearAveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], "
        f"{S2}> (x, s, z, s, z)",
        inputs="uint8[1, 1, 8, 8] x",
        outputs="uint8[] y",
        initializers="float s = {1}, uint8 z = {0}",
        opset=19,
    )
    assert len(repad(before, "caffe").unchanged) == 1
    (change,) = repad(before, "pytorch").changes
    assert change.attributes_after["count_include_pad"] == 1


def test_open_sizes_become_auto_pad() -> None:
    inputs = "float[1, 1, height, 8] x"
    before = model(f"y = {HALF}", inputs)
    result = repad(before, "tensorflow")
    assert attributes(result.model) == {"auto_pad": "SAME_UPPER"}
    assert result.changes[0].after == "SAME_UPPER"
    fixed = repad(before, "tensorflow", dims={"height": 8})
    assert attributes(fixed.model) == {"pads": [0, 0, 1, 1]}
    assert fixed.declared == {"x": (1, 1, 8, 8)}


def chain(seed: int, written: str) -> onnx.ModelProto:
    """A chain of operators with the same intent, written as one framework does."""
    draw = random.Random(seed)
    nodes, weights, tensor = [], [], "x"
    for place in range(5):
        kernel, stride = draw.choice([(3, 2), (5, 2), (7, 2), (3, 1), (4, 2), (2, 1), (5, 3)])
        kind = draw.choice(["Conv", "Conv", "MaxPool", "AveragePool", "ConvTranspose"])
        if kind.endswith("Pool") and kernel == 2:
            kernel = 3  # PyTorch's half would be none, which is VALID
        if kind == "ConvTranspose":
            kernel, stride = draw.choice([(3, 2), (4, 2), (5, 2)])
        half = (kernel - 1) // 2
        pads = f"pads = [{', '.join([str(half)] * 4)}]"
        if written == "tensorflow":
            pads = 'auto_pad = "SAME_UPPER"'
        elif kind == "ConvTranspose" and (more := stride + 2 * half - kernel):
            pads += f", output_padding = [{more}, {more}]"
        elif kind == "AveragePool" and half:
            pads += ", count_include_pad = 1"
        elif kind == "Conv" and stride == 1 and not kernel % 2:
            pads = f"pads = [{half}, {half}, {kernel - 1 - half}, {kernel - 1 - half}]"
        shape = f"kernel_shape = [{kernel}, {kernel}], strides = [{stride}, {stride}], {pads}"
        inputs = tensor
        if kind.startswith("Conv"):
            values = (draw.randint(-2, 2) for _ in range(kernel**2))
            weights.append(
                f"float[1, 1, {kernel}, {kernel}] w{place} = {{{', '.join(map(str, values))}}}"
            )
            inputs += f", w{place}"
        output = "y" if place == 4 else f"t{place}"
        nodes.append(f"{output} = {kind} <{shape}> ({inputs})")
        tensor = output
    return one(
        " ".join(nodes), inputs="float[1, 1, 61, 70] x", initializers=", ".join(weights), opset=19
    )


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_a_chain_becomes_what_the_framework_computes(seed: int) -> None:
    """The sizes downstream are those of the other framework: even kernels change them."""
    pytorch, tensorflow = chain(seed, "pytorch"), chain(seed, "tensorflow")
    result = repad(pytorch, "tensorflow")
    feeds = feeds_of(pytorch)
    (wanted,) = run(tensorflow, feeds)
    (found,) = run(result.model, feeds)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * float(np.ptp(wanted)))
    assert not repad(tensorflow, "tensorflow").changes
    back = repad(tensorflow, "pytorch")
    if any("it pads this apart" in each.reason for each in back.unchanged):
        return
    (wanted,) = run(pytorch, feeds)
    (found,) = run(back.model, feeds)
    assert all(each.is_same for each in back.unchanged)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * float(np.ptp(wanted)))


def test_declared_sizes_that_became_wrong_go() -> None:
    before = model(
        f"a = {HALF} b = Relu (a) y = Conv (b, w) c = Relu (x) z = Relu (c) d = If (t) <"
        "then_branch = g () => (float[N, 1, J, K] e) <float[N, 1, 4, U] f> "
        "{f = Relu (a) e = Relu (f)}, else_branch = h () => (float[N, 1, J, K] i) {i = Abs (x)}>",
        "float[N, 1, 8, W] x, bool t",
        outputs="float[N, 1, 2, V] y, float[N, 1, 8, W] z",
    )
    graph = before.graph
    for output, shape in zip(graph.output, (("N", 1, 2, "V"), ("N", 1, 8, "W")), strict=True):
        output.CopyFrom(onnx.helper.make_tensor_value_info(output.name, 1, shape))
    for name, shape in (("a", ("N", 1, 4, "U")), ("c", ("N", 1, 8, "W"))):
        graph.value_info.append(onnx.helper.make_tensor_value_info(name, 1, shape))
    found = repad(before, "valid").model
    assert [value.name for value in found.graph.value_info] == ["c"]
    assert not found.graph.node[-1].attribute[0].g.value_info
    sizes = [
        [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in found.graph.output
    ]
    assert sizes == [["N", 1, 1, 0], ["N", 1, 8, "W"]]
    onnx.checker.check_model(found, full_check=True)
    graph.output[0].type.tensor_type.shape.dim.pop()  # so that it contradicts what it is
    assert repad(before, "valid").model.graph.output[0] == graph.output[0]


def test_only_some_operators() -> None:
    left = "[left] b, i = MaxPool <kernel_shape = [3, 3]> (x)"
    before = model(f"[first] a = {HALF} [second] y = {HALF.replace('(x', '(a')} {left}")
    result = repad(before, "tensorflow", only="second")
    assert [change.node for change in result.changes] == ["second"]
    assert not result.unchanged
    assert attributes(result.model) == {"pads": [1, 1, 1, 1]}
    assert [change.node for change in repad(before, "tensorflow", only="f*").changes] == ["first"]
    for wrong in ("secnd", "third*"):
        with pytest.raises(UsageError):
            repad(before, "tensorflow", only=["first", wrong])


def test_bodies_are_not_covered_and_said() -> None:
    branch = f"then () => (t) {{ t = {HALF} }}"
    other = "other () => (e) { e = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w) }"
    before = model(
        f"y = If (c) <then_branch = {branch}, else_branch = {other}>", f"{SQUARE}, bool c"
    )
    result = repad(before, "tensorflow")
    assert not result.changes
    assert len(result.unchanged) == 2


def test_a_result_that_does_not_run_is_refused(tmp_path: Path) -> None:
    result = repad(model("a = Conv <pads = [1, 1, 1, 1]> (x, w) y = Add (x, a)"), "valid")
    assert not result.ok
    for act in (lambda: result.save(tmp_path / "out.onnx"), result.raise_for_failure):
        with pytest.raises(ValidationError):
            act()
    assert not (tmp_path / "out.onnx").exists()
    assert "; --keep-invalid writes" in str(replace(result, delivery=Delivery()))
    result.save(tmp_path / "out.onnx", keep_invalid=True)
    assert (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("name", "to", "changed"),
    [
        ("strided_conv2d", "tensorflow", 1),
        ("depthwise_norm", "keras", 4),
        ("series_conv1d", "tensorflow", 2),
        ("caffe_pools", "caffe", 2),
    ],
)
def test_ports_become_what_their_originals_computed(name: str, to: str, changed: int) -> None:
    result = repad(MISCONVERTED / f"{name}.onnx", to)
    onnxpad.validate(result.model, reference=MISCONVERTED / f"{name}.npz").raise_for_failure()
    assert len(result.changes) == changed
    truth = json.loads((MISCONVERTED / "truth.json").read_text())[name]["right"]
    assert {change.node for change in result.changes} == {*truth}


def test_paddles_transposed_same_depends_on_the_size() -> None:
    """It crops the convolution's total; the export of it computes something else."""
    path = MODELS / "deconv_paddle.onnx"
    result = repad(path, "paddle", shapes=(1, 3, 9, 14))
    onnxpad.validate(result.model, reference=path.with_suffix(".npz")).raise_for_failure()
    assert [change.op_type for change in result.changes] == ["ConvTranspose"]
    assert result.difference.outputs[0].detail == "shape 1x4x10x14 became 1x4x9x13"
    assert "--shape" in repad(path, "paddle").unchanged[1].reason


def test_an_original_that_onnxruntime_does_not_run_is_compared_repaired() -> None:
    dilated = 'a = Conv <auto_pad = "SAME_UPPER", dilations = [2, 2]> (x, w)'
    result = repad(model(f"{dilated} y = {HALF.replace('(x', '(a')}"), "tensorflow")
    assert [change.node for change in result.changes] == ["<y>"]
    assert result.difference.uncompared == ""
    assert result.difference.outputs[0].max_rel > 0
    other = f"y = {HALF} z = vendor.Odd (y)"
    pools = f"a = {HALF} b = MaxPool <kernel_shape = [3, 3], {S2}> (x) y = Add (a, b)"
    unread = f"a = {HALF} b = ReduceMax (a) c = Sub (b, b) d = ReduceMax (x) y = Add (c, d)"
    assert len(repad(model(unread), "tensorflow").difference.inputs) == 2  # unoptimised runs alone
    for each, to in ((other, "tensorflow"), (pools, "caffe")):
        found = repad(model(each), to)
        assert found.difference.uncompared
        assert "results are the same" not in str(found)


def test_what_is_given_comes_back_and_bad_arguments_are_refused() -> None:
    before = model(f"y = {HALF}")
    assert isinstance(repad(before, "tensorflow").as_same_kind(), onnx.ModelProto)
    assert isinstance(repad(before.SerializeToString(), "tensorflow").as_same_kind(), bytes)
    wrong: list[dict[str, Any]] = [{"to": "pytroch"}, {"to": None}, {"only": 3}, {"only": [3]}]
    for arguments in wrong:
        with pytest.raises(UsageError):
            onnxpad.repad(MODELS / "mobilenet_keras.onnx", **{"to": "caffe", **arguments})


@pytest.mark.parametrize("name", ["mobilenet_keras", "decoder_keras", "dynamic_keras"])
def test_models_of_a_framework_stay_as_they_are(name: str) -> None:
    result = repad(MODELS / f"{name}.onnx", "tensorflow")
    assert not result.changes
    assert result.ok
