"""`onnxpad.repad`: the padding of each framework, outputs held against models written with it."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad import repad
from onnxpad.errors import UsageError, ValidationError
from tests.support import MODELS, feeds_of, one, run
from tests.support.rows import each_row

MISCONVERTED = MODELS / "misconverted"
K3 = "float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}"
K2 = "float[1, 1, 2, 2] w = {1, 2, 3, 4}"
LINE = "float[1, 1, 3] w = {1, 2, 3}"


def attributes(model: onnx.ModelProto, which: int = 0) -> dict[str, Any]:
    """The attributes of padding of one node, without those that say what their absence says."""
    found = {}
    for each in model.graph.node[which].attribute:
        value = onnx.helper.get_attribute_value(each)
        if each.name in {"pads", "output_padding", "ceil_mode", "count_include_pad", "auto_pad"}:
            found[each.name] = value.decode() if isinstance(value, bytes) else value
    return {name: value for name, value in found.items() if value not in ("NOTSET", 0)}


def square(size: int = 8, rank: int = 2) -> str:
    return f"float[{', '.join(map(str, (1, 1, *(size,) * rank)))}] x"


@pytest.mark.parametrize(
    ("node", "weight", "size", "to", "wanted"),
    [
        pytest.param(
            "Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
            K3,
            8,
            "tensorflow",
            {"pads": [0, 0, 1, 1]},
            id="PyTorch's half becomes TensorFlow's",
        ),
        pytest.param(
            "Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)",
            K3,
            8,
            "pytorch",
            {"pads": [1, 1, 1, 1]},
            id="and back",
        ),
        pytest.param(
            'Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
            K3,
            8,
            "onnx-same-lower",
            {"pads": [1, 1, 0, 0]},
            id="the odd element at the begin",
        ),
        pytest.param(
            'Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
            K3,
            8,
            "coreml-top-left",
            {"pads": [1, 1, 0, 0]},
            id="CoreML's other mode",
        ),
        pytest.param(
            "Conv <pads = [1, 1, 1, 1]> (x, w)", K3, 8, "valid", {}, id="nothing is padded"
        ),
        pytest.param(
            "MaxPool <kernel_shape = [3, 3], pads = [0, 0, 1, 1], strides = [2, 2]> (x)",
            "",
            8,
            "pytorch",
            {"pads": [1, 1, 1, 1]},
            id="half of a pool",
        ),
        pytest.param(
            "MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)",
            "",
            8,
            "caffe",
            {"ceil_mode": 1},
            id="Caffe's pools round up",
        ),
        pytest.param(
            "AveragePool <kernel_shape = [3, 3], pads = [0, 0, 1, 1], strides = [2, 2]> (x)",
            "",
            8,
            "pytorch",
            {"pads": [1, 1, 1, 1], "count_include_pad": 1},
            id="PyTorch counts padding",
        ),
        pytest.param(
            "AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1> (x)",
            "",
            8,
            "tensorflow",
            {"pads": [1, 1, 1, 1]},
            id="TensorFlow does not",
        ),
        pytest.param(
            "ConvTranspose <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)",
            K3,
            8,
            "pytorch",
            {"pads": [1, 1, 1, 1], "output_padding": [1, 1]},
            id="PyTorch's output_padding",
        ),
        pytest.param(
            "ConvTranspose <pads = [1, 1, 1, 1], output_padding = [1, 1], strides = [2, 2]> (x, w)",
            K3,
            8,
            "keras",
            {"pads": [0, 0, 1, 1]},
            id="and away with it",
        ),
    ],
)
def test_one_operator(node: str, weight: str, size: int, to: str, wanted: dict[str, Any]) -> None:
    before = one(f"y = {node}", inputs=square(size), initializers=weight, opset=19)
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


@each_row(
    ("node", "weight", "size", "to"),
    [
        pytest.param(
            "Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
            K3,
            9,
            "tensorflow",
            id="the same at odd sizes",
        ),
        pytest.param(
            "Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
            K3,
            8,
            "onnx-same-lower",
            id="the last element of padding is not read",
        ),
        pytest.param(
            "MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)",
            "",
            8,
            "pytorch",
            id="PyTorch rounds up where it is told to",
        ),
        pytest.param(
            "MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)",
            "",
            8,
            "caffe",
            id="nothing to pad",
        ),
        pytest.param(
            "Conv <pads = [2, 2, 0, 0]> (x, w)",
            K3,
            8,
            "tensorflow",
            id="an intent of its own",
        ),
        pytest.param(
            "Conv <pads = [1, 1, 0, 0]> (x, w)",
            K3,
            8,
            "tensorflow",
            id="too little",
        ),
        pytest.param(
            "Conv <pads = [1, 0, 1, 0]> (x, w)",
            K3,
            8,
            "tensorflow",
            id="SAME on one axis, VALID on the other",
        ),
        pytest.param(
            "LpPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x)",
            "",
            8,
            "tensorflow",
            id="no framework",
        ),
        pytest.param(
            "ConvTranspose <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
            K3,
            8,
            "tensorflow",
            id="one element less than size * stride",
        ),
        pytest.param(
            "ConvTranspose <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)",
            K3,
            8,
            "caffe",
            id="no such transposed convolution",
        ),
        pytest.param(
            "MaxPool <kernel_shape = [2, 2], pads = [0, 0, 1, 1]> (x)",
            "",
            8,
            "pytorch",
            id="half of two is nothing",
        ),
        pytest.param(
            "Conv <pads = [2, 2, 2, 2], dilations = [2, 2], strides = [2, 2]> (x, w)",
            K3,
            8,
            "keras",
            id="no such convolution",
        ),
        pytest.param(
            "Conv <pads = [2, 2, 2, 2], dilations = [2, 2]> (x, w)",
            K3,
            8,
            "paddle",
            id="another operator",
        ),
        pytest.param(
            "MaxPool <kernel_shape = [3, 3], pads = [0, 0, 1, 1], strides = [2, 2]> (x)",
            "",
            8,
            "caffe at opset 9",
            id="an opset without ceil_mode",
        ),
        pytest.param(
            'MaxPool <kernel_shape = [2, 2], dilations = [3, 3], auto_pad = "SAME_UPPER"> (x)',
            "",
            8,
            "onnx-same-lower",
            id="pads as long as the kernel of a pool",
        ),
        pytest.param(
            "AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x)",
            "",
            8,
            "caffe at opset 17",
            id="an average that divides otherwise",
        ),
    ],
    at_once=4,
)
def test_what_stays(node: str, weight: str, size: int, to: str) -> None:
    to, _, opset = to.partition(" at opset ")
    before = one(
        f"y = {node}", inputs=square(size), initializers=weight, opset=int(opset or 19), ir=7
    )
    result = repad(before, to)
    assert not result.changes
    assert result.model == before
    assert result.ok
    assert result.difference.outputs == ()


def test_causal_stays_and_may_not_be_taken_for_same() -> None:
    line = "float[1, 1, 9] x"
    causal = one("y = Conv <pads = [2, 0]> (x, w)", inputs=line, initializers=LINE)
    assert all(len(repad(causal, name).unchanged) == 1 for name in ("tensorflow", "pytorch"))
    assert repad(causal, "valid").changes
    short = "float[1, 1, 2] w = {1, 2}"
    unclear = one("y = Conv <pads = [1, 0]> (x, w)", inputs=line, initializers=short)
    (_stays,) = repad(unclear, "tensorflow").unchanged


def test_a_pad_is_folded_first() -> None:
    before = one(
        "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () padded = Pad (x, p) "
        "y = Conv <strides = [2, 2]> (padded, w)",
        inputs=square(),
        initializers=K3,
    )
    result = repad(before, "tensorflow")
    (node,) = result.model.graph.node
    assert node.op_type == "Conv"
    assert attributes(result.model) == {"pads": [0, 0, 1, 1]}


def test_a_pad_that_stays_makes_the_padding_unclear() -> None:
    before = one(
        "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () "
        'padded = Pad <mode = "reflect"> (x, p) y = Conv <strides = [2, 2]> (padded, w)',
        inputs=square(),
        initializers=K3,
    )
    (stays,) = repad(before, "caffe").unchanged
    assert stays.reason.startswith("a Pad in front of it")


def test_a_quantised_average_that_divides_otherwise_stays() -> None:
    before = one(
        "y = com.microsoft.QLinearAveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], "
        "strides = [2, 2]> (x, s, z, s, z)",
        inputs="uint8[1, 1, 8, 8] x",
        outputs="uint8[] y",
        initializers="float s = {1}, uint8 z = {0}",
        opset=19,
    )
    (_stays,) = repad(before, "caffe").unchanged
    (change,) = repad(before, "pytorch").changes
    assert change.attributes_after["count_include_pad"] == 1


def test_an_average_over_a_pad_of_zeros_stays() -> None:
    """No framework's own padding: it is written apart in all of them."""
    before = one(
        "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () padded = Pad (x, p) "
        "y = AveragePool <kernel_shape = [3, 3]> (padded)",
        inputs=square(),
    )
    (stays,) = repad(before, "tensorflow").unchanged
    assert stays.padding == "pads H 1+1, W 1+1, padding counted (count_include_pad)"


def test_a_pool_that_gives_indices_is_named() -> None:
    before = one(
        "y, at = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x) ",
        inputs=square(),
        outputs="float[] y, int64[] at",
    )
    (stays,) = repad(before, "caffe").unchanged
    assert stays.op_type == "MaxPool"


def test_open_sizes_become_auto_pad() -> None:
    before = one(
        "y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
        inputs="float[1, 1, height, 8] x",
        initializers=K3,
    )
    result = repad(before, "tensorflow")
    assert attributes(result.model) == {"auto_pad": "SAME_UPPER"}
    assert result.changes[0].after == "SAME_UPPER"
    fixed = repad(before, "tensorflow", dims={"height": 8})
    assert attributes(fixed.model) == {"pads": [0, 0, 1, 1]}
    assert fixed.declared == {"x": (1, 1, 8, 8)}
    for size in (7, 8):
        wanted = one(
            'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
            inputs="float[1, 1, height, 8] x",
            initializers=K3,
        )
        feeds = feeds_of(before, size=size)
        np.testing.assert_array_equal(run(result.model, feeds)[0], run(wanted, feeds)[0])


def test_pads_that_are_same_at_some_open_sizes_only_are_not_taken_for_it() -> None:
    before = one(
        "y = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)",
        inputs="float[1, 1, height, width] x",
        initializers=K3,
    )
    (_stays,) = repad(before, "pytorch").unchanged
    (change,) = repad(before, "pytorch", shapes={"x": (1, 1, 8, 8)}).changes
    assert change.after == "pads H 1+1, W 1+1"


def test_auto_pad_that_onnxruntime_misreads_is_not_written() -> None:
    before = one(
        "y = Conv <pads = [1, 1, 1, 1], strides = [5, 5]> (x, w)",
        inputs="float[1, 1, height, width] x",
        initializers=K2,
    )
    (stays,) = repad(before, "tensorflow").unchanged
    assert "which onnxruntime misreads" in stays.reason


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
    assert {each.reason for each in back.unchanged} <= {
        "computes the same in PyTorch",
        "SAME and VALID are the same here",
    }
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * float(np.ptp(wanted)))


def test_declared_sizes_that_became_wrong_go() -> None:
    before = one(
        "a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w) "
        "b = Relu (a) y = Conv (b, w) c = Relu (x) z = Relu (c)",
        inputs="float[N, 1, 8, 8] x",
        outputs="float[N, 1, 2, 2] y, float[N, 1, 8, 8] z",
        initializers=K3,
    )
    graph = before.graph
    for output, shape in zip(graph.output, (("N", 1, 2, 2), ("N", 1, 8, 8)), strict=True):
        output.CopyFrom(onnx.helper.make_tensor_value_info(output.name, 1, shape))
    for name, shape in (("a", ("N", 1, 4, 4)), ("c", ("N", 1, 8, 8))):
        graph.value_info.append(onnx.helper.make_tensor_value_info(name, 1, shape))
    model = repad(before, "valid").model
    assert [value.name for value in model.graph.value_info] == ["c"]
    sizes = [
        [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in model.graph.output
    ]
    assert sizes == [["N", 1, 1, 1], ["N", 1, 8, 8]]
    onnx.checker.check_model(model, full_check=True)


def test_outputs_whose_shape_changes_are_told() -> None:
    before = one(
        "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)", inputs=square(), opset=19
    )
    (output,) = repad(before, "caffe").difference.outputs
    assert output.detail == "has shape 1x1x4x4, was 1x1x3x3"


def test_only_some_operators() -> None:
    before = one(
        "[first] a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w) "
        "[second] y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (a, w)",
        inputs=square(16),
        initializers=K3,
    )
    result = repad(before, "tensorflow", only="second")
    assert [change.node for change in result.changes] == ["second"]
    assert not result.unchanged
    assert attributes(result.model) == {"pads": [1, 1, 1, 1]}
    with pytest.raises(UsageError):
        repad(before, "tensorflow", only=["first", "secnd"])


def test_bodies_are_not_covered_and_said() -> None:
    branch = "then () => (t) { t = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w) }"
    other = "other () => (e) { e = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w) }"
    before = one(
        f"y = If (c) <then_branch = {branch}, else_branch = {other}>",
        inputs=f"{square()}, bool c",
        initializers=K3,
    )
    result = repad(before, "tensorflow")
    assert not result.changes
    assert len(result.unchanged) == 2
    assert all("which repad does not cover" in each.reason for each in result.unchanged)


def test_a_result_that_does_not_run_is_refused(tmp_path: Path) -> None:
    before = one(
        "a = Conv <pads = [1, 1, 1, 1]> (x, w) y = Add (x, a)", inputs=square(), initializers=K3
    )
    result = repad(before, "valid")
    assert not result.ok
    with pytest.raises(ValidationError):
        result.save(tmp_path / "out.onnx")
    with pytest.raises(ValidationError):
        result.raise_for_failure()
    assert not (tmp_path / "out.onnx").exists()
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
    assert result.difference.outputs[0].detail == "has shape 1x4x9x13, was 1x4x10x14"
    stays = repad(path, "paddle").unchanged[1]
    assert "--shape" in stays.reason


def test_an_original_that_onnxruntime_does_not_run_is_compared_repaired() -> None:
    before = one(
        'a = Conv <auto_pad = "SAME_UPPER", dilations = [2, 2]> (x, w) '
        "y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (a, w)",
        inputs=square(),
        initializers=K3,
    )
    result = repad(before, "tensorflow")
    assert [change.node for change in result.changes] == ["<y>"]
    assert result.difference.uncompared == ""
    assert result.difference.outputs[0].max_rel > 0


def test_the_kind_given_comes_back() -> None:
    before = one(
        "y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
        inputs=square(),
        initializers=K3,
    )
    assert isinstance(repad(before, "tensorflow").as_same_kind(), onnx.ModelProto)
    assert isinstance(repad(before.SerializeToString(), "tensorflow").as_same_kind(), bytes)


@pytest.mark.parametrize(
    "arguments",
    [
        {"to": "pytroch"},
        {"to": None},
        {"to": "caffe", "only": 3},
    ],
)
def test_bad_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        onnxpad.repad(MODELS / "mobilenet_keras.onnx", **arguments)


@pytest.mark.parametrize("name", ["mobilenet_keras", "decoder_keras", "dynamic_keras"])
def test_models_of_a_framework_stay_as_they_are(name: str) -> None:
    result = repad(MODELS / f"{name}.onnx", "tensorflow")
    assert not result.changes
    assert result.ok
