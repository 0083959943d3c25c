"""What a walk through a model finds."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onnxpad.file.proto_walk import has_open_loop
from tests.support import parsed

LOOP = """g (float[1] x, bool c) => (float[1] y) {
    y = Loop (n, c, x) <body = b (int64 i, bool k, float[1] z) => (bool l, float[1] w)
    { l = Identity (k) w = Neg (z) }>
}"""
MOST = 1 << 20


def counted(tensor: onnx.TensorProto) -> bool:
    model = parsed(LOOP)
    tensor.name = "n"
    model.graph.initializer.append(tensor)
    return not has_open_loop(model)


@pytest.mark.parametrize(
    ("values", "closed"),
    [
        (np.int64(5), True),
        (np.array([5]), True),
        (np.array([[5]]), True),
        (np.int64(-1), True),
        (np.int64(MOST), True),
        (np.int64(MOST + 1), False),
        (np.int64(1) << 40, False),
        (np.array([5, 5]), False),
        (np.array([], np.int64), False),
        (np.float64(5), False),
        (np.array([5, 0], np.int32), False),
    ],
)
def test_a_loop_ends_by_an_integer_however_it_is_stored(values: Any, closed: bool) -> None:
    raw = numpy_helper.from_array(np.asarray(values))
    assert counted(raw) is closed
    plain = onnx.helper.make_tensor(
        "n", raw.data_type, list(raw.dims), np.asarray(values).ravel().tolist()
    )
    assert not plain.raw_data
    assert counted(plain) is closed
