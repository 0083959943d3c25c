"""A model without its quantisers saturates as they did, and does not round."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from onnxpad.validation.unquantised import unquantised
from tests.support import Array, one, op_types, run
from tests.support.rows import each_row

HELD = "float s = {0.5}, float s2 = {0.25}, uint8 z = {128}, int8 i = {3}, int8 j = {-4}"
PAIR = "q = QuantizeLinear (x, s, {0}) y = DequantizeLinear (q, s, {0})"
DATA = np.array([-1e3, -65.7, -64.1, -0.3, 0, 0.1, 62.7, 64, 65.1, 1e3], np.float32)


def pairs(body: str, **given: Any) -> onnx.ModelProto:
    """A model that quantises a vector."""
    return one(body, **({"inputs": "float[10] x", "initializers": HELD} | given))


def result(model: onnx.ModelProto, data: Array = DATA) -> Array:
    """What the model without its quantisers computes."""
    found = unquantised(model)
    assert found is not None
    (computed,) = run(onnx.load_from_string(found), {"x": data})
    return computed


@each_row("opset", [10, 11, 17, 21], at_once=8)
@pytest.mark.parametrize(("zero", "low", "high"), [("z", -64, 63.5), ("i", -65.5, 62)])
def test_a_pair_becomes_its_limits(opset: int, zero: str, low: float, high: float) -> None:
    model = pairs(PAIR.format(zero), opset=opset)
    before = model.SerializeToString()
    found = result(model)
    assert found.dtype == np.float32
    assert np.array_equal(found, np.clip(DATA, np.float32(low), np.float32(high)))
    assert model.SerializeToString() == before
    (ours,) = run(model, {"x": DATA})  # which rounds to half a scale
    assert np.abs(found - ours).max() <= 0.25


def test_limits_are_of_the_type_of_the_scale() -> None:
    model = pairs(
        PAIR.format("z"),
        inputs="float16[10] x",
        outputs="float16[] y",
        initializers="uint8 z = {128}",
        opset=21,
    )
    model.graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float16), "s"))
    data = DATA.astype(np.float16)
    assert np.array_equal(result(model, data), np.clip(data, -64, 63.5))


def test_each_pair_has_limits_of_its_own_and_what_is_no_pair_stays() -> None:
    model = pairs(
        "c = Constant <value = float {0.125}> () q = QuantizeLinear (x, s, z) "
        "d = DequantizeLinear <axis = 0> (q, s, z) e = Neg (d) "
        "r = QuantizeLinear (e, c, j) f = DequantizeLinear (r, c, j) "
        "w = DequantizeLinear (weight, s, z) y = Add (f, w)",
        initializers=f"{HELD}, uint8[10] weight = {{128, 129, 130, 128, 1, 2, 3, 4, 5, 6}}",
    )
    found = unquantised(model)
    assert found is not None
    kinds = op_types(onnx.load_from_string(found))
    assert (kinds["Clip"], kinds["DequantizeLinear"]) == (2, 1)
    weight = (numpy_helper.to_array(model.graph.initializer[-1]).astype(np.float32) - 128) * 0.5
    inner = np.clip(-np.clip(DATA, -64, np.float32(63.5)), -124 * 0.125, 131 * 0.125)
    assert np.array_equal(result(model), inner + weight)


def test_quantisers_of_another_domain_become_a_clip_of_onnx() -> None:
    model = pairs(
        "q = com.microsoft.QuantizeLinear (x, s, z) y = com.microsoft.DequantizeLinear (q, s, z)"
    )
    assert np.array_equal(result(model), np.clip(DATA, -64, np.float32(63.5)))


@each_row(
    "body",
    [
        pytest.param("y = Relu (x)", id="none"),
        pytest.param(
            "q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s2, z)", id="another scale"
        ),
        pytest.param(
            "q = QuantizeLinear (x, s, i) y = DequantizeLinear (q, s, j)", id="another zero point"
        ),
        pytest.param(
            "q = QuantizeLinear (x, s) y = DequantizeLinear (q, s)", id="a zero point left out"
        ),
        pytest.param("q = QuantizeLinear (x, s, z) y = Cast <to = 1> (q)", id="a Cast"),
        pytest.param(
            "t = Mul (s, s2) q = QuantizeLinear (x, t, z) y = DequantizeLinear (q, t, z)",
            id="a scale that is computed",
        ),
        pytest.param(
            "q = QuantizeLinear <axis = 0> (x, v, u) y = DequantizeLinear <axis = 0> (q, v, u)",
            id="along an axis",
        ),
    ],
)
def test_what_is_no_pair_of_one_scale_stays(body: str) -> None:
    ones = ", ".join(["1"] * 10)
    held = f"{HELD}, float[10] v = {{{ones}}}, uint8[10] u = {{{ones}}}"
    assert unquantised(pairs(body, initializers=held)) is None


def test_a_scale_in_a_file_is_not_read() -> None:
    model = pairs(PAIR.format("z"))
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL
    assert unquantised(model) is None


def test_levels_that_are_no_integers_stay() -> None:
    model = pairs(PAIR.format("f"), opset=19)
    zero = numpy_helper.from_array(np.zeros((), ml_dtypes.float8_e4m3fn), "f")
    model.graph.initializer.append(zero)
    assert unquantised(model) is None
