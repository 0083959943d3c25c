"""`auto_pad` and `output_shape` of ConvTranspose become the pads that onnxruntime takes."""

from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import assert_same, one, run

W = "float[2, 3, {k}] w = {{{w}}}"


def transposed(attributes: str, *, kernel: int = 3, size: int | str = 5) -> onnx.ModelProto:
    """A ConvTranspose over one axis, with taps that are all different."""
    taps = ", ".join(str(n % 7 - 3) for n in range(6 * kernel))
    return one(
        f"y = ConvTranspose <{attributes}> (x, w)",
        inputs=f"float[1, 2, {size}] x",
        initializers=W.format(k=kernel, w=taps),
    )


def attributes(model: onnx.ModelProto) -> dict[str, Any]:
    """The attributes of the only ConvTranspose."""
    (node,) = (each for each in model.graph.node if each.op_type == "ConvTranspose")
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


@pytest.mark.parametrize(
    ("written", "size", "becomes"),
    [
        ('auto_pad = "VALID", strides = [2]', "n", {"strides": [2]}),
        ('auto_pad = "SAME_UPPER", strides = [2]', "n", {"strides": [2], "pads": [0, 1]}),
        ('auto_pad = "SAME_LOWER", strides = [2]', "n", {"strides": [2], "pads": [1, 0]}),
        (
            'auto_pad = "SAME_UPPER", strides = [2], output_padding = [1]',
            5,
            {"strides": [2], "pads": [1, 0]},
        ),
        (
            'auto_pad = "SAME_UPPER", dilations = [2], strides = [2]',
            "n",
            {"strides": [2], "dilations": [2], "pads": [1, 2]},
        ),
        ("output_shape = [9], strides = [2]", 5, {"strides": [2], "pads": [1, 1]}),
        ("output_shape = [8], strides = [2]", 5, {"strides": [2], "pads": [2, 1]}),
        (
            'output_shape = [8], strides = [2], auto_pad = "SAME_UPPER"',
            5,
            {"strides": [2], "pads": [1, 2]},
        ),
        # pads have no effect beside an output_shape
        ("output_shape = [10], strides = [2], pads = [2, 2]", 5, {"strides": [2], "pads": [1, 0]}),
        (
            "output_shape = [12], strides = [2], output_padding = [1]",
            5,
            {"strides": [2], "output_padding": [1]},
        ),
    ],
)
def test_written_out(written: str, size: int | str, becomes: dict[str, Any]) -> None:
    model = transposed(written, size=size)
    result = onnxpad.fix(model)
    assert [change.code for change in result.changes] == ["PAD401"]
    assert attributes(result.model) == becomes
    assert result.ok
    assert_same(model, result.model)
    assert not onnxpad.check(result.model).failing()


@pytest.mark.parametrize(
    ("written", "size", "reason"),
    [
        ('auto_pad = "SAME_UPPER", strides = [4]', 5, "engines-disagree"),
        ('auto_pad = "SAME_UPPER", strides = [2], pads = [0, 1]', 5, "auto-pad-and-pads"),
        ("output_shape = [9], strides = [2]", "n", "size-dependent"),
        ("output_shape = [12], strides = [2]", 5, "engines-disagree"),
        ("output_shape = [13], strides = [2]", 5, "crops"),  # onnxruntime refuses it too
    ],
)
def test_refused(written: str, size: int | str, reason: str) -> None:
    model = transposed(written, size=size)
    (finding,) = [each for each in onnxpad.check(model).findings if each.code == "PAD401"]
    assert finding.reason_code == reason
    result = onnxpad.fix(model, validate=False)
    assert result.model.SerializeToString() == model.SerializeToString()


def test_explicit_pads_stay() -> None:
    model = transposed("strides = [2], pads = [1, 0], output_padding = [1]")
    result = onnxpad.fix(model, validate=False)
    assert not result.changed
    assert result.findings == ()


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
def test_every_small_form_stays_the_same(auto_pad: str) -> None:
    """Kernels, strides, dilations, output_padding and output_shape of every kind that runs."""
    ran = 0
    for kernel, stride, dilation, more in product((1, 2, 4), (1, 3), (1, 2), (0, 1)):
        for wanted in (None, 4, 9, 13):
            said = f'auto_pad = "{auto_pad}", strides = [{stride}], dilations = [{dilation}]'
            said += f", output_padding = [{more}]" * bool(more)
            said += f", output_shape = [{wanted}]" * (wanted is not None)
            model = transposed(said, kernel=kernel)
            feeds = {"x": np.arange(1, 11, dtype=np.float32).reshape(1, 2, 5)}
            try:
                expected = run(model, feeds)
            except Exception:  # onnxruntime's errors share no narrower class
                continue
            result = onnxpad.fix(model, validate=False)
            if not result.changed:
                assert result.model == model
                continue
            (found,) = run(result.model, feeds)
            np.testing.assert_array_equal(found, expected[0], err_msg=said)
            ran += 1
    assert ran >= (0 if auto_pad == "NOTSET" else 20)


@pytest.mark.parametrize(
    "written",
    [
        'auto_pad = "SAME_UPPER", strides = [4]',
        'auto_pad = "SAME_LOWER", strides = [5], output_padding = [1]',
        "output_shape = [12], strides = [2]",
    ],
)
def test_what_the_specification_leaves_open_stays(written: str) -> None:
    model = transposed(written)
    for trust in (None, "spec", "onnxruntime"):
        (finding,) = onnxpad.check(model, trust=trust, ignore="PAD6").findings
        assert finding.reason_code == "engines-disagree"


def test_data_of_another_rank_is_reported() -> None:
    model = transposed("output_shape = [30], strides = [6]", kernel=7)
    del model.graph.input[0].type.tensor_type.shape.dim[2:]
    result = onnxpad.fix(model, validate=False)
    assert [each.code for each in result.findings] == ["PAD901"]
    assert "2 axes" in str(result.findings[0].reason)
