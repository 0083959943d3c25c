"""Models that once came out wrong, rewritten in every style, against onnxruntime.

What is demanded of each is in `tests.random_models.measure`: nothing undone, nothing left to do for
a second run, the input untouched, and the same bits wherever the original ran, at the smallest
sizes too; at the levels at which onnxruntime optimises, the same values wherever it computed for
the original what that says.
"""

import numpy as np
import onnx
import pytest

import onnxpad
from tests.random_models.draw import Data, Drawn
from tests.random_models.measure import Session, examine
from tests.random_models.writer import always
from tests.support import LEVELS, PADS, STYLES, Array, one, run

Feeds = dict[str, Array]

SIZES = (1, 2, 3, 4, 5, 6, 8, 13)
INPUTS: list[tuple[int, Data]] = [
    (size, kind) for size in SIZES for kind in ("integers", "below zero", "integers")
]


def sizes(model: onnx.ModelProto) -> list[Feeds]:
    """Data for a model of one input."""
    drawn = Drawn(model, open=True, exact=True, fed={}, sizes=())
    return [drawn.feeds(seed, size) for seed in range(2) for size in SIZES]


OPEN = "float[1, 2, h, w] x"
CASES = [
    pytest.param(
        one(
            "a = Pad (x, p) s = Shape (a) g = Gather <axis = 0> (s, i) z = Sub (g, g)"
            " m = Mul (z, p) q = Add (m, p) y = Pad (a, q)",
            initializers=f"{PADS}, int64[1] i = {{3}}",
        ),
        id="amounts that read the size of a Pad before them",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool <kernel_shape = [5, 5], strides = [5, 5]> (a)",
            inputs="float[1, 2, 2, 2] x",
            initializers="int64[8] p = {0, 0, 0, 1, 0, 0, 1, 0}",
            opset=13,
        ),
        id="a padded average over less than its kernel",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool <kernel_shape = [3, 3], strides = [2, 2]> (a)",
            inputs=OPEN,
            initializers="int64[8] p = {0, 0, 0, 0, 0, 0, 1, 1}",
            opset=17,
        ),
        id="a padded average over less than its kernel at the smallest size",
    ),
    pytest.param(
        one(
            "y = MaxPool <kernel_shape = [4, 4], strides = [2, 2], ceil_mode = 1,"
            ' auto_pad = "SAME_UPPER"> (x)',
            inputs=OPEN,
        ),
        id="SAME_UPPER with ceil_mode at open sizes",
    ),
    pytest.param(
        one(
            "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1,"
            ' auto_pad = "SAME_LOWER"> (x)',
            inputs=OPEN,
        ),
        id="SAME_LOWER with ceil_mode at open sizes",
    ),
    pytest.param(
        one(
            "y = AveragePool <kernel_shape = [2, 2], strides = [5, 5], ceil_mode = 1,"
            ' count_include_pad = 1, auto_pad = "SAME_UPPER"> (x)',
            inputs="float[1, 2, 4, 5] x",
            opset=10,
        ),
        id="SAME crops where the size is rounded up",
    ),
    pytest.param(
        one(
            "m = MaxPool <kernel_shape = [1, 2]> (x) y = MaxPool <kernel_shape = [3, 1],"
            ' strides = [1, 2], auto_pad = "SAME_UPPER"> (m)',
            inputs=OPEN,
        ),
        id="SAME behind a pool that may leave nothing",
    ),
    pytest.param(
        one(
            "r = Relu (x) m = MaxPool <kernel_shape = [2, 2]> (r) a = Pad (m, p) y = Neg (a)",
            initializers="int64[8] p = {0, 0, 0, 0, 0, 0, 0, 0}",
        ),
        id="a Pad of nothing behind a MaxPool of what is not negative",
    ),
    pytest.param(
        one(
            "m = MaxPool <kernel_shape = [1, 2]> (x) s = Shape (m) g = Gather <axis = 0> (s, i)"
            " o = Mod (g, t) q = Concat <axis = 0> (z, z, z, z, z, z, z, o) a = Pad (m, q)"
            ' y = Conv <auto_pad = "SAME_LOWER", strides = [2, 2], dilations = [3, 3]> (a, w)',
            inputs="float[1, 2, 8, n] x",
            initializers="int64[1] i = {3}, int64[1] t = {2}, int64[1] z = {0},"
            " float[1, 2, 3, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}",
        ),
        id="SAME on an even size that may be nothing",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, low) y = MaxPool <kernel_shape = [3, 3], pads = [2, 0, 0, 2]> (a)"
            " z = Relu (a)",
            outputs="float[] y, float[] z",
            initializers="int64[8] p = {0, 0, 2, 2, 0, 0, 2, 2}, float low = {-inf}",
        ),
        id="MaxPool windows of padding only",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, low) y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)",
            initializers="int64[8] p = {0, 1, 0, 0, 0, 0, 0, 0}, float low = {-inf}",
        ),
        id="MaxPool on a channel of infinities",
    ),
    pytest.param(
        one(
            "n = Neg (x) m = MaxPool <kernel_shape = [1, 3]> (n) a = Pad (m, p, low)"
            " b = Pad (a, q, low) c = Pad (b, p) y = MaxPool <kernel_shape = [3, 5]> (c)",
            inputs="float[1, 2, 9, 8] x, int64[8] q",
            initializers=f"{PADS}, float low = {{-inf}}",
        ),
        id="signs of several inputs",
    ),
    pytest.param(
        one(
            "b = AveragePool <kernel_shape = [3, 1]> (x) r = Relu (b) a = Pad (r, p)"
            " y = MaxPool <kernel_shape = [5, 3], pads = [1, 0, 1, 1]> (a)",
            inputs="float[1, 2, 2, 6] x",
            initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 1, 0}",
        ),
        id="a Pad of nothing",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, v) b = Pad (a, q) c = Pad (b, r) y = Relu (c)",
            inputs="float[1, 2, 9, 8] x, float v",
            outputs="float[] y",
            initializers=f"{PADS}, int64[8] q = {{0, 0, 0, 0, 0, 0, 1, 0}},"
            " int64[8] r = {0, 0, 0, 0, 0, 0, -1, 0}",
        ),
        id="Pads that add up to nothing behind one of unknown value",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) z = Relu (a) y = Conv <pads = [2, 2, 2, 0]> (a, w)",
            outputs="float[] y, float[] z",
            initializers="int64[8] p = {0, 0, -1, 0, 0, 0, 2, 0}, float[1, 2, 1, 1] w = {1, 2}",
        ),
        id="own pads behind a Pad that crops",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, low) b = Pad (a, q) z = Relu (b) c = Pad (b, r) d = Pad (c, p)"
            " y = Relu (d)",
            outputs="float[] y, float[] z",
            initializers=f"{PADS}, int64[8] q = {{0, 0, 0, -1, 0, 0, 0, 1}}, float low = {{-1}},"
            " int64[8] r = {0, 0, 1, 0, 0, 0, 1, 1}",
        ),
        id="Pads behind one that crops",
    ),
    pytest.param(
        one(
            "c = Conv <kernel_shape = [3, 2]> (x, w) a = Pad (c, p)"
            " y = LpPool <kernel_shape = [4, 3], pads = [1, 0, 0, 0]> (a)",
            inputs="float[1, 2, h, 9] x",
            initializers="int64[8] p = {0, 0, 3, 1, 0, 0, 2, -2},"
            " float[1, 2, 3, 2] w = {1, 2, 3, 4, 0, 1, 2, 3, 0, 1, 2, 3}",
        ),
        id="a crop of one side of an axis beside an open one",
    ),
    pytest.param(
        one(
            "r = Relu (x) m = MaxPool <kernel_shape = [1, 3], pads = [0, 0, 0, 2]> (r)"
            " t = Cast <to = 7> (c) a = Pad (m, t)"
            " y = MaxPool <kernel_shape = [2, 2], pads = [1, 0, 0, 1]> (a)",
            initializers="int32[8] c = {0, 0, 1, 0, 0, 0, 0, 1}",
        ),
        id="zeros that can win once more is padded",
    ),
    pytest.param(
        one(
            'm = LpPool <kernel_shape = [3, 1], dilations = [1, 3], auto_pad = "SAME_UPPER"> (x)'
            " s = Shape (m) g = Gather <axis = 0> (s, i) z = Sub (g, g) q = Concat <axis = 0>"
            " (z, z, g, z, z, z, z, z) a = Pad (m, q)"
            ' y = Conv <auto_pad = "SAME_LOWER", strides = [3, 3]> (a, w)',
            initializers="int64[1] i = {3}, float[1, 2, 2, 2] w = {1,2,3,4,5,6,7,8}",
            opset=18,
        ),
        id="a size that is known once an operator is written out",
    ),
    pytest.param(
        one(
            "r = Relu (x) a = Pad (r, p, low) m = MaxPool <kernel_shape = [3, 3], strides = [2, 2]>"
            " (a) b = Pad (m, q) c = Pad (b, n) y = MaxPool <kernel_shape = [3, 3]> (c)",
            initializers="int64[8] p = {0, 0, 2, 1, 0, 0, 0, 0}, float low = {-inf},"
            " int64[8] q = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] n = {0, 0, 0, 0, 0, 0, 0, 0}",
        ),
        id="a sign that is known once a Pad is folded",
    ),
    pytest.param(
        one(
            "r = Relu (x) a = Pad (r, p, low) m = MaxPool <kernel_shape = [3, 3]> (a)"
            ' b = Pad (m, q) y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [5, 5],'
            " strides = [2, 2]> (b)",
            initializers="int64[8] p = {0, 0, 2, 1, 0, 0, 0, 0}, float low = {-inf},"
            " int64[8] q = {0, 0, 1, 1, 0, 0, 1, 1}",
        ),
        id="SAME behind a sign that is known once a Pad is folded",
    ),
]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("model", CASES)
def test_once_wrong(model: onnx.ModelProto, style: str) -> None:
    fed = {}
    for value in model.graph.input[1:]:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        zeros = np.zeros([d.dim_value for d in value.type.tensor_type.shape.dim], kind)
        fed[value.name] = always(zeros)
    drawn = Drawn(model, open=True, exact=True, fed=fed, sizes=())
    outcome = examine(drawn, 0, style=style, validate=True, levels=LEVELS, inputs=INPUTS)
    assert not outcome.problems


ZEROS = "int64[8] p = {0, 0, 2, 2, 0, 0, 2, 2}"
EXPOSED = [
    pytest.param(
        one(
            'a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3], auto_pad = "VALID"> (a)',
            initializers=ZEROS,
        ),
        id="VALID dropped before negative data are pooled with zeros",
    ),
    pytest.param(
        one(
            "s = Shape (x) z = Sub (s, s) t = Concat <axis = 0> (z, z) q = Add (t, p)"
            " a = Pad (x, q) y = AveragePool <kernel_shape = [2, 2]> (a)",
            initializers=ZEROS,
        ),
        id="computed amounts that no pool can take made constant",
    ),
    pytest.param(
        one(
            "r = Relu (x) a = Pad (r, p, ) b = Pad (a, q)"
            " y = MaxPool <kernel_shape = [3, 3], dilations = [3, 3]> (b)",
            inputs=OPEN,
            initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 0, 2},"
            " int64[8] q = {0, 0, 0, 1, 0, 0, 0, 1}",
        ),
        id="more in a Pad that was open before",
    ),
]


@pytest.mark.parametrize("model", EXPOSED)
def test_rewritten_models_bear_full_optimisation(model: onnx.ModelProto) -> None:
    rewritten = onnxpad.fix(model, validate=False).model
    for feeds in sizes(model)[-1:]:
        expected = Session(model).run(feeds)
        assert expected is not None
        found = run(rewritten, feeds, "full")
        assert found is not None
        np.testing.assert_array_equal(found, expected)


def test_a_copy_to_an_output_does_no_harm_to_a_new_pad() -> None:
    model = one(
        "t = Relu (x) z = Identity (t) y = Conv <pads = [1, 1, 1, 1]> (t, w)",
        outputs="float[] y, float[] z",
        initializers="float[1, 2, 3, 3] w = {" + ", ".join(map(str, range(18))) + "}",
    )
    rewritten = onnxpad.fix(model, style="pad").model
    feeds = sizes(model)[0]
    for found, expected in zip(
        run(rewritten, feeds, "full"), run(model, feeds, "full"), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_auto_pad_stays_where_it_keeps_the_optimiser_from_a_pad() -> None:
    model = one(
        "a = Pad <pads = [0, 0, 0, 1, 0, 0, 1, 1]> (x)"
        ' y = MaxPool <auto_pad = "SAME_LOWER", kernel_shape = [3, 3], strides = [2, 1]> (a)',
        opset=9,
    )
    result = onnxpad.fix(model)
    assert not result.changed
    assert any("optimiser" in finding.reason for finding in result.findings)


def test_a_stale_declaration_does_not_decide_computed_amounts() -> None:
    model = one(
        'r = Relu (x) y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (r, w)',
        inputs="float[1, 1, height, width] x",
        initializers="float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
    )
    stale = onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [1, 1, 10, 10])
    model.graph.value_info.append(stale)
    rewritten = onnxpad.fix(model, dynamic="pad").model
    assert not rewritten.graph.value_info
    data = np.arange(11 * 13, dtype=np.float32).reshape(1, 1, 11, 13)
    expected = Session(model).run({"x": data})
    assert expected is not None
    np.testing.assert_array_equal(run(rewritten, {"x": data}, "full")[0], expected[0])


def test_a_size_inferred_wrongly_with_which_a_node_downstream_is_refused_stays_hidden() -> None:
    model = one(
        "s = Shape (x) g = Gather <axis = 0> (s, two) q = Mul (g, p) a = Pad (x, q)"
        " m = MaxPool <ceil_mode = 1, kernel_shape = [1, 4], strides = [3, 2]> (a)"
        " y = Squeeze (m, two)",
        inputs="float[1, 2, 1, n] x",
        initializers="int64[8] p = {0, 0, 0, 3, 0, 0, 1, 2}, int64[1] two = {2}",
        opset=13,
    )
    for style in STYLES:
        rewritten = onnxpad.fix(model, style=style, dynamic="pad", validate=False).model
        feeds = {"x": np.arange(12, dtype=np.float32).reshape(1, 2, 1, 6)}
        np.testing.assert_array_equal(run(rewritten, feeds)[0], run(model, feeds)[0])


def test_a_declared_shape_that_nothing_confirms_is_not_carried_on() -> None:
    model = one(
        "a = Pad (x, fed) r = Relu (a) q = Sub (more, less) b = Pad (r, q) c = Add (b, row)"
        " y = MaxPool <kernel_shape = [2, 2]> (c)",
        inputs="float[1, 1, 4, 4] x, int64[8] fed",
        initializers="int64[8] fed = {0, 0, 0, 0, 0, 0, 0, 0}, float[5] row = {1, 2, 3, 4, 5},"
        " int64[8] more = {1, 1, 1, 2, 1, 1, 1, 1}, int64[8] less = {1, 1, 1, 1, 1, 1, 1, 1}",
        opset=13,
    )
    lie = onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [20, 22, 21, 24])
    model.graph.value_info.append(lie)
    feeds = {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)}
    for style in STYLES:
        rewritten = onnxpad.fix(model, style=style, validate=False).model
        assert not rewritten.graph.value_info
        np.testing.assert_array_equal(run(rewritten, feeds)[0], run(model, feeds)[0])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "body",
    [
        "a = Pad (x, p, c) m = Mul (a, k) s = Squeeze (m, first) u = Unsqueeze (s, first)",
        "a = Pad (x, p, f) m = MaxPool <kernel_shape = [3, 1]> (a) u = ConvTranspose (m, w)",
    ],
)
def test_a_maximum_over_a_fill_that_overflows_behind_its_pad(body: str, style: str) -> None:
    model = one(
        f"{body} y = MaxPool <kernel_shape = [3, 3], pads = [2, 0, 2, 2]> (u)",
        inputs="float[1, 2, 5, 4] x",
        initializers="int64[8] p = {0, 0, 3, 4, 0, 0, 3, 4}, float c = {-3.4028235e38},"
        " float k = {4}, int64[1] first = {0}, float f = {-inf},"
        " float[2, 2, 2, 3] w = {" + ", ".join(["1", "-1", "0"] * 8) + "}",
    )
    rewritten = onnxpad.fix(model, style=style, validate=False).model
    feeds = {"x": np.arange(40, dtype=np.float32).reshape(1, 2, 5, 4)}
    np.testing.assert_array_equal(run(rewritten, feeds)[0], run(model, feeds)[0])
