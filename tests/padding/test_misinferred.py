"""Sizes that onnx's shape inference gets wrong, upstream of a transposed convolution.

It counts a last window of a pool with `ceil_mode` that lies behind the data. onnxruntime, which
folds a Shape to what is inferred, is kept from that by an `output_shape` or a Slice between them.
"""

import numpy as np
import pytest

import onnxpad
from tests.support import LEVELS, one, ran

POOL = "q = AveragePool <ceil_mode = 1, kernel_shape = [1], strides = [3]> (x)"
SHAPED = "y = ConvTranspose <output_shape = [6], dilations = [2]> (q, w)"
SLICED = "t = ConvTranspose <dilations = [2]> (q, w) y = Slice (t, begin, end, axis)"
CONSTANTS = ", ".join(
    (
        "float[1, 1, 4] w = {1, 2, 3, 4}",
        "int64[1] begin = {1}, int64[1] end = {6}, int64[1] axis = {2}",
    )
)


@pytest.mark.parametrize(
    ("body", "length", "codes"),
    [
        (SHAPED, 2, {"PAD401": "size-misinferred"}),
        (SLICED, 2, {"PAD402": "size-misinferred"}),
        (SHAPED, 4, {}),
        (SLICED, 4, {}),
    ],
)
def test_what_hides_them_stays(body: str, length: int, codes: dict[str, str]) -> None:
    model = one(
        f"{POOL} {body} s = Shape (y)",
        inputs=f"float[1, 1, {length}] x",
        outputs="float[] y, int64[] s",
        initializers=CONSTANTS,
    )
    result = onnxpad.fix(model, validate=False)
    stays = {each.code: each.reason_code for each in result.findings if each.code < "PAD7"}
    assert stays == codes
    assert result.changed is not bool(codes)
    feeds = {"x": np.arange(length, dtype=np.float32).reshape(1, 1, length) + 1}
    for level in LEVELS:
        for found, expected in zip(
            ran(result.model, feeds, level), ran(model, feeds, "off"), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
