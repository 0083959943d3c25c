"""Sizes that onnx's shape inference gets wrong, upstream of what states or hides them.

It counts a last window of a pool with `ceil_mode` that lies behind the data. onnxruntime, which
folds a Shape to what is inferred, is kept from that by an `output_shape`, SAME or a Slice between.
"""

import numpy as np
import pytest

import onnxpad
from tests.support import LEVELS, one, ran

POOL = "q = AveragePool <ceil_mode = 1, kernel_shape = [1], strides = [3]> (x)"
SHAPED = "y = ConvTranspose <output_shape = [6], dilations = [2]> (q, w)"
SLICED = "t = ConvTranspose <dilations = [2]> (q, w) y = Slice (t, begin, end, axis)"
SAME = 'y = MaxPool <auto_pad = "SAME_UPPER", ceil_mode = 1, kernel_shape = [2], strides = [2]> (q)'
CONSTANTS = (
    "float[1, 1, 4] w = {1, 2, 3, 4}, int64[1] begin = {1}, int64[1] end = {6}, int64[1] axis = {2}"
)


@pytest.mark.parametrize(
    ("body", "length", "codes"),
    [
        (SHAPED, 2, {"PAD401": "size-misinferred"}),
        (SLICED, 2, {"PAD402": "size-misinferred"}),
        (SAME, 2, {"PAD101": "size-misinferred"}),
        (SHAPED, 4, {}),
        (SLICED, 4, {}),
        (SAME, 4, {}),
    ],
)
def test_what_hides_them_stays(body: str, length: int, codes: dict[str, str]) -> None:
    nodes, inputs = f"{POOL} {body} s = Shape (y)", f"float[1, 1, {length}] x"
    model = one(nodes, inputs=inputs, outputs="float[] y, int64[] s", initializers=CONSTANTS)
    result = onnxpad.fix(model, validate=False)
    stays = {each.code: each.reason_code for each in result.findings if each.code < "PAD7"}
    assert stays == codes
    assert result.changed is not bool(codes)
    feeds = {"x": np.arange(length, dtype=np.float32).reshape(1, 1, length) + 1}
    for level in LEVELS:
        pairs = zip(ran(result.model, feeds, level), ran(model, feeds, "off"), strict=True)
        for found, expected in pairs:
            np.testing.assert_array_equal(found, expected)


SPREAD = """m = MaxPool <auto_pad = "SAME_UPPER", dilations = [1, 2], kernel_shape = [4, 4],
    strides = [1, 2]> (x) q = ReduceMax <axes = [3]> (m)"""
CEIL = """m = MaxPool <ceil_mode = 1, kernel_shape = [1, 2], pads = [0, 0, 0, 1],
    strides = [1, 3]> (x) q = ReduceMax <axes = [3]> (m)"""
WIDE = "y = MaxPool <kernel_shape = [1, 3], pads = [0, {}, 0, {}]>"


@pytest.mark.parametrize(
    ("body", "style", "code"),
    [
        (f"{SPREAD} {WIDE.format(1, 1)} (q)", "pad", "PAD202"),
        (f"{SPREAD} {WIDE.format(2, 0)} (q)", "symmetric", "PAD202"),
        (f"{SPREAD} y = Conv <pads = [0, 1, 0, 1]> (q, w)", "pad", "PAD202"),
        (f'{SPREAD} y = Conv <auto_pad = "SAME_UPPER"> (q, w)', "pad", "PAD101"),
        (f"{CEIL} {WIDE.format(1, 1)} (q)", "pad", "PAD202"),
        (f"{WIDE.format(1, 1)} (z) {SPREAD}", "pad", "PAD202"),  # m may take the Pad's buffer
    ],
)
def test_no_pad_shares_a_buffer_with_one(body: str, style: str, code: str) -> None:
    inputs = "float[1, 1, 7, 5] x, float[1, 1, 7, 1] z"
    weight = "float[1, 1, 1, 3] w = {1, 2, 3}"
    model = one(body, inputs=inputs, outputs="float[] y, float[] q", initializers=weight)
    result = onnxpad.fix(model, style=style, validate=False)
    refused = {(each.code, each.reason_code) for each in result.findings}
    assert (code, "size-misinferred") in refused
    feeds = {"x": np.ones((1, 1, 7, 5), np.float32), "z": np.ones((1, 1, 7, 1), np.float32)}
    for level in LEVELS:
        pairs = zip(ran(result.model, feeds, level), ran(model, feeds, level), strict=True)
        for found, expected in pairs:
            np.testing.assert_array_equal(found, expected)
