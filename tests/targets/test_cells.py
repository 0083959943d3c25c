"""What `fix --target` writes of forms that were measured one by one, and what it tells of them."""

import pytest

import onnxpad
from tests.support import one
from tests.targets.test_choose import K3, LOWER, OPEN, S2, UPPER, P, W, X, nodes

BATCH = "float[n, 2, 8, 8] x"
LINE = "float[1, 2, 8] x"
CUBE = "float[1, 2, 6, 6, 6] x"
K33 = "kernel_shape = [3, 3, 3]"
SIZES = "float[1, 2, h, w] x"
TORCH = "pytorch"
POOL = "y = AveragePool <{}" + f"{K3}, pads = [1, 1, 1, 1]> (x)"
UP = "y = ConvTranspose <{}" + f", {S2}> (x, w)"
COUNTED = f"y = AveragePool <ceil_mode = 1, count_include_pad = 1, {K3}, {S2}" + "{}> (x)"
ONE_D = f"y = MaxPool <{UPPER}, kernel_shape = [3], strides = [3]> (x)"
WIDE = f"y = MaxPool <{K3}, pads = [2, 2, 2, 2]> (x)"
ROUNDED = f'y = MaxPool <auto_pad = "VALID", ceil_mode = 1, {K3}, {S2}> (x)'
ADDED = f"{UPPER}, output_padding = [1, 1]"
COMPUTED = "r = Shape (x) q = Concat <axis = 0> (r, r) z = Pad (x, q) y = Conv (z, w)"


@pytest.mark.parametrize(
    ("target", "text", "inputs", "producer", "written", "told"),
    [
        ("openvino", UP.format(UPPER), BATCH, "", "ConvTranspose(pads=[0,0,1,1])", ""),
        ("openvino", UP.format(UPPER), X, "", "", ""),
        (
            "openvino",
            f"z = Pad (x, p) y = Conv <{UPPER}> (z, w)",
            SIZES,
            "",
            "Conv(pads=[1,1,2,2])",
            "",
        ),
        ("openvino", COUNTED.format(""), X, "", "", ""),
        ("openvino", COUNTED.format(", pads = [1, 1, 1, 1]"), X, "", "Pad", ""),
        ("opencv@4", POOL.format(""), X, TORCH, "", "PAD703"),
        ("opencv@4", POOL.format(""), X, "tf2onnx", "", ""),
        ("opencv-classic", POOL.format(""), X, TORCH, "", "PAD703"),
        ("opencv@5", POOL.format(""), X, TORCH, "AveragePool(count_include_pad=0", ""),
        ("opencv@5", POOL.format("count_include_pad = 0, "), X, TORCH, "", ""),
        ("opencv@5", POOL.format(""), X, "", "", ""),
        ("opencv@5", ONE_D, LINE, "", "MaxPool(kernel_shape=[3], pads=[0,1])", ""),
        ("opencv@4", ONE_D, LINE, "", "Pad", ""),
        ("opencv@4", UP.format(UPPER), X, "", "ConvTranspose(pads=[0,0,0,0])", ""),
        (
            "mnn",
            f"y = Conv <{UPPER}, {K33}> (x, w)",
            CUBE,
            "",
            "Conv(kernel_shape=[3,3,3], pads=[1,1,1,1,1,1])",
            "",
        ),
        ("mnn", f"y = AveragePool <{K33}> (x)", CUBE, "", "", "PAD704"),
        ("mnn", ROUNDED, X, "", "MaxPool(ceil_mode=1, kernel_shape=[3,3])", ""),
        (
            "mnn",
            UP.format(f"{LOWER}, output_shape = [16, 16]"),
            X,
            "",
            "ConvTranspose(pads=[1,1,0,0])",
            "",
        ),
        ("tract", UP.format(ADDED), X, "", "ConvTranspose(pads=[1,1,0,0])", ""),
        ("onnxruntime-web", UP.format(ADDED), X, "", "ConvTranspose(pads=[1,1,0,0])", ""),
        (
            "tinygrad",
            UP.format('auto_pad = "VALID", output_padding = [1, 1]'),
            X,
            "",
            "ConvTranspose(output_padding=[1,1])",
            "",
        ),
        ("onnx2torch", WIDE, X, "", "Pad", ""),
        ("ncnn", "y = Conv <pads = [0, 0, 1, 1]> (x, w)", BATCH, "", "", ""),
        ("tensorrt@8", COMPUTED, OPEN, "", "", "PAD704"),
        ("tensorrt@10", COMPUTED, OPEN, "", "", ""),
        ("coreml-mlprogram", ROUNDED, X, "", "", ""),
        ("coreml-neuralnetwork", ROUNDED, X, "", "MaxPool(kernel_shape=[3,3], pads=[0,0,1,1])", ""),
        ("coreml-mlprogram", "y = Pad (x, p)", X, "", "", "PAD705"),
        ("coreml-neuralnetwork", "y = Pad (x, p)", X, "", "Pad", ""),
    ],
)
def test_a_measured_form_is_written_as_it_is_taken(
    target: str, text: str, inputs: str, producer: str, written: str, told: str
) -> None:
    weight = W.replace("3, 3]", "3, 3, 3]").replace("}", ", 1" * 72 + "}") if inputs == CUBE else W
    weights = [weight] * (", w)" in text) + [P] * (", p)" in text)
    model = one(text, inputs=inputs, initializers=", ".join(weights))
    model.producer_name = producer
    result = onnxpad.fix(model, target=target, validate=False)
    assert result.changed == bool(written)
    assert any(each.startswith(written) for each in nodes(result.model))
    assert {each.code for each in result.findings if "PAD703" <= each.code <= "PAD706"} == {
        *told.split()
    }
    again = onnxpad.fix(result.model, target=target, validate=False)
    assert not again.changed
