"""Styles `pad` and `symmetric`: the `Pad` that comes out, and where pads stay and why."""

from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import (
    BORDER,
    LOW,
    Array,
    W,
    assert_graph,
    assert_same,
    decided,
    fixed,
    one,
    run,
)
from tests.support.rows import each_row

TRUTHS = ", ".join("10011101")
PAD = '<mode = "constant">'


def amounts(name: str, *pads: int) -> str:
    """An initializer: amounts of two spatial axes, begins first, and none before them."""
    told = ", ".join(map(str, (0, 0, *pads[:2], 0, 0, *pads[2:])))
    return f"int64[8] {name} = {{{told}}}"


ALL = amounts("p", 1, 2, 2, 2)
REST = amounts("p", 0, 0, 1, 0)

# Each: the operator before, its `Pad` and itself in style pad, and the same in style symmetric.
OPERATORS = [
    pytest.param(
        "y = Conv <pads = [1, 2, 2, 2], strides = [2, 1]> (x, w)",
        f"a = Pad {PAD} (x, p) y = Conv <pads = [0, 0, 0, 0], strides = [2, 1]> (a, w)",
        f"a = Pad {PAD} (x, p) y = Conv <pads = [1, 2, 1, 2], strides = [2, 1]> (a, w)",
        W,
        id="Conv",
    ),
    pytest.param(
        "y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 2]> (x)",
        f"a = Pad {PAD} (x, p, c) y = MaxPool <kernel_shape = [3, 3], pads = [0, 0, 0, 0]> (a)",
        f"a = Pad {PAD} (x, p, c) y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 1, 2]> (a)",
        LOW,
        id="MaxPool",
    ),
    pytest.param(
        "y = AveragePool <count_include_pad = 1, kernel_shape = [3, 4], pads = [1, 2, 2, 2]> (x)",
        f"a = Pad {PAD} (x, p) y = AveragePool <count_include_pad = 1, kernel_shape = [3, 4],"
        " pads = [0, 0, 0, 0]> (a)",
        f"a = Pad {PAD} (x, p) y = AveragePool <count_include_pad = 1, kernel_shape = [3, 4],"
        " pads = [1, 2, 1, 2]> (a)",
        "",
        id="AveragePool that counts its padding",
    ),
    pytest.param(
        "y = LpPool <kernel_shape = [3, 3], p = 1, pads = [1, 2, 2, 2]> (x)",
        f"a = Pad {PAD} (x, p) y = LpPool <kernel_shape = [3, 3], p = 1, pads = [0, 0, 0, 0]> (a)",
        f"a = Pad {PAD} (x, p) y = LpPool <kernel_shape = [3, 3], p = 1, pads = [1, 2, 1, 2]> (a)",
        "",
        id="LpPool",
    ),
]


def given(*initializers: str) -> str:
    return ", ".join(filter(None, initializers))


@pytest.mark.parametrize("inputs", ["float[1, 2, 9, 8] x", "float[N, 2, H, V] x"])
@pytest.mark.parametrize(("before", "pad", "symmetric", "weight"), OPERATORS)
def test_every_operator(before: str, pad: str, symmetric: str, weight: str, inputs: str) -> None:
    original = one(before, inputs=inputs, initializers=weight if "w)" in before else "")
    for style, body, amounts in (("pad", pad, ALL), ("symmetric", symmetric, REST)):
        result = fixed(original, style)
        expected = one(body, inputs=inputs, initializers=given(weight, amounts))
        assert_graph(result.model, expected)
        assert [c.code for c in result.changes] == ["PAD202"]
        assert not onnxpad.check(result.model, style=style, ignore="PAD6").findings


@each_row(("before", "pad", "symmetric", "weight"), OPERATORS, at_once=4)
@pytest.mark.parametrize("opset", [7, 10, 11, 13, 18, 19, 21, 22])
def test_every_opset(opset: int, before: str, pad: str, symmetric: str, weight: str) -> None:
    original = one(
        before, initializers=weight if "w)" in before else "", opset=opset, ir=8 if opset > 9 else 3
    )
    result = fixed(original, "pad")
    node = result.model.graph.node[0]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert node.op_type == "Pad"
    if opset < 11:
        value = float("-inf") if "MaxPool" in before else 0.0
        assert attributes == {"mode": b"constant", "pads": [0, 0, 1, 2, 0, 0, 2, 2], "value": value}
        assert node.input == ["x"]
    else:
        assert attributes == {"mode": b"constant"}
        assert len(node.input) == (3 if "MaxPool" in before else 2)


SAME = [
    pytest.param(
        one('y = Conv <auto_pad = "SAME_UPPER", strides = [2, 1]> (x, w)', initializers=W),
        one(
            f"a = Pad {PAD} (x, p) y = Conv <strides = [2, 1]> (a, w)",
            initializers=f"{W}, {amounts('p', 1, 1, 1, 1)}",
        ),
        one("y = Conv <pads = [1, 1, 1, 1], strides = [2, 1]> (x, w)", initializers=W),
        id="SAME_UPPER on an odd size",
    ),
    pytest.param(
        one('y = Conv <auto_pad = "SAME_UPPER", strides = [1, 2]> (x, w)', initializers=W),
        one(
            f"a = Pad {PAD} (x, p) y = Conv <strides = [1, 2]> (a, w)",
            initializers=f"{W}, {amounts('p', 1, 0, 1, 1)}",
        ),
        one(
            f"a = Pad {PAD} (x, p) y = Conv <pads = [1, 0, 1, 0], strides = [1, 2]> (a, w)",
            initializers=f"{W}, {amounts('p', 0, 0, 0, 1)}",
        ),
        id="SAME_UPPER on an even size",
    ),
]


@pytest.mark.parametrize(("before", "pad", "symmetric"), SAME)
def test_same_goes_straight_to_the_style(
    before: onnx.ModelProto, pad: onnx.ModelProto, symmetric: onnx.ModelProto
) -> None:
    for style, after in (("pad", pad), ("symmetric", symmetric)):
        result = fixed(before, style)
        assert_graph(result.model, after)
        assert [c.code for c in result.changes] == ["PAD101"]


MERGED = [
    pytest.param(
        "pad",
        one(
            "a = Pad (x, q) y = Conv <pads = [1, 2, 2, 2]> (a, w)",
            initializers=f"{W}, {amounts('q', 0, 0, 1, 0)}",
        ),
        one(
            f"a = Pad {PAD} (x, p) y = Conv <pads = [0, 0, 0, 0]> (a, w)",
            initializers=f"{W}, {amounts('p', 1, 2, 3, 2)}",
        ),
        id="with the Pad in front",
    ),
    pytest.param(
        "symmetric",
        one(
            "a = Pad (x, q) y = Conv <pads = [1, 2, 2, 2]> (a, w)",
            initializers=f"{W}, {amounts('q', 1, 0, 1, 3)}",
        ),
        one(
            f"a = Pad {PAD} (x, p) y = Conv <pads = [2, 2, 2, 2]> (a, w)",
            initializers=f"{W}, {amounts('p', 0, 0, 1, 3)}",
        ),
        id="with the Pad in front, what is equal moves in",
    ),
    pytest.param(
        "pad",
        one(
            "a = Pad (x, q) y = Conv <pads = [1, 2, 2, 2]> (a, w) z = Relu (a)",
            outputs="float[] y, float[] z",
            initializers=f"{W}, {amounts('q', 1, 0, 1, 3)}",
        ),
        one(
            f"a = Pad (x, q) b = Pad {PAD} (x, p) y = Conv <pads = [0, 0, 0, 0]> (b, w)"
            " z = Relu (a)",
            outputs="float[] y, float[] z",
            initializers=f"{W}, {amounts('q', 1, 0, 1, 3)}, {amounts('p', 2, 2, 3, 5)}",
        ),
        id="a Pad that others read stays for them",
    ),
    pytest.param(
        "pad",
        one(
            'a = Pad <mode = "reflect"> (x, q) y = Conv <pads = [1, 2, 2, 2]> (a, w)',
            initializers=f"{W}, {amounts('q', 1, 0, 1, 3)}",
        ),
        one(
            f'a = Pad <mode = "reflect"> (x, q) b = Pad {PAD} (a, p)'
            " y = Conv <pads = [0, 0, 0, 0]> (b, w)",
            initializers=f"{W}, {amounts('q', 1, 0, 1, 3)}, {ALL}",
        ),
        id="not with one that copies data",
    ),
    pytest.param(
        "symmetric",
        *(
            one(
                "a = Pad (x, q, c) y = LpPool <kernel_shape = [2, 2], strides = [2, 3],"
                f" pads = [1, 0, 1, {end}]> (a)",
                initializers=f"{amounts('q', 2, 0, 0, 3)}, float c = {{2}}",
                opset=18,
            )
            for end in (1, 0)
        ),
        id="one whose amounts stay keeps its value",
    ),
]


@pytest.mark.parametrize(("style", "before", "after"), MERGED)
def test_merges(style: str, before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert_graph(fixed(before, style).model, after)


@pytest.mark.parametrize(
    ("kind", "dtype", "least"),
    [
        ("int8", np.int8, -128),
        ("uint8", np.uint8, 0),
        ("float16", np.float16, -np.inf),
        ("double", np.float64, -np.inf),
    ],
)
def test_max_pool_pads_with_what_never_wins(kind: str, dtype: Any, least: float) -> None:
    before = one(
        "y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 2]> (x)",
        inputs=f"{kind}[1, 2, 5, 4] x",
        outputs=f"{kind}[] y",
    )
    after = fixed(before, "pad").model
    if least == 0:  # what a Pad writes unasked
        assert len(after.graph.node[0].input) == 2
    else:
        value = next(i for i in after.graph.initializer if i.name == after.graph.node[0].input[2])
        array = onnx.numpy_helper.to_array(value)
        assert array.dtype == dtype
        assert array.item() == least
    lowest = np.iinfo(dtype).min if np.issubdtype(dtype, np.integer) else np.finfo(dtype).min
    low: Array = np.full((1, 2, 5, 4), lowest, dtype)
    np.testing.assert_array_equal(run(before, {"x": low})[0], run(after, {"x": low})[0])


MAXIMUM = "y = MaxPool <kernel_shape = [2, 5], pads = [1, 1, 1, 2], strides = [2, 2]> (t)"
STAYS = [
    *(
        pytest.param(
            one(f"{body} {MAXIMUM}", initializers=f"{BORDER}, {LOW}, bool[8] b = {{{TRUTHS}}}"),
            "holds infinities, from 'c'",
            id=f"infinities behind {name}",
        )
        for name, body in {
            "Transpose": "a = Pad (x, p, c) t = Transpose <perm = [0, 1, 3, 2]> (a)",
            "Concat": "a = Pad (x, p, c) z = Concat <axis = 1> (a, a) t = LeakyRelu (z)",
            "a mask": "t = Where (b, x, c)",
        }.items()
    ),
    pytest.param(
        one("y = AveragePool <kernel_shape = [3, 3], pads = [1, 2, 2, 2]> (x)"),
        "would be read, not excluded",
        id="AveragePool that does not count its padding",
    ),
    pytest.param(
        one(
            "y, i = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 2]> (x)",
            outputs="float[] y, int64[] i",
        ),
        "Indices count positions",
        id="MaxPool with Indices",
    ),
    pytest.param(
        one(
            "y = MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [0, 1], strides = [2]> (x)",
            inputs="float[1, 2, L] x",
        ),
        "the number of windows depends on the size of axis 2",
        id="ceil_mode on an open size",
    ),
    pytest.param(
        one(
            "y = MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [0, 1], strides = [2]> (x)",
            inputs="float[1, 2, 4] x",
            opset=22,  # before it, shape inference is wrong about this pool too
            ir=10,
        ),
        "the output has 3, not 2",
        id="ceil_mode where a window would come back",
    ),
    pytest.param(
        one(
            "y = MaxPool <dilations = [4, 1], kernel_shape = [2, 2], pads = [1, 0, 1, 1]> (x)",
            inputs="float[1, 2, L, 8] x",
        ),
        "wholly in the padding",
        id="a dilated window may read padding only",
    ),
    pytest.param(
        one(
            "y = Conv <pads = [1, 2, 2, 2]> (x, w)",
            inputs="bfloat16[1, 2, 9, 8] x, bfloat16[3, 2, 3, 3] w",
            outputs="bfloat16[] y",
            opset=22,
            ir=10,
        ),
        "onnxruntime has no Pad for element type bfloat16 at opset 22",
        id="bfloat16",
    ),
    pytest.param(
        one("y = Conv <pads = [1, 2, 2, 2]> (x, w)", initializers=W, opset=1, ir=3),
        "opset 1 has no Pad that onnxruntime runs",
        id="opset 1",
    ),
    pytest.param(
        one(
            "y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 2]> (x)",
            inputs="int8[1, 2, 9, 8] x",
            outputs="int8[] y",
            opset=10,
        ),
        "onnxruntime has no Pad for element type int8 at opset 10",
        id="int8 before opset 11",
    ),
]


@pytest.mark.parametrize("style", ["pad", "symmetric"])
@each_row(("before", "reason"), STAYS)
def test_stays(before: onnx.ModelProto, reason: str, style: str) -> None:
    result = onnxpad.fix(before, style=style)
    assert not result.changed
    found = decided(result.findings)
    assert [(f.code, f.severity) for f in found] == [("PAD202", "info")]
    assert reason in found[0].reason, found[0].reason


def test_ceil_mode_with_the_same_number_of_windows() -> None:
    before = one(
        "y = MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [0, 1], strides = [2]> (x)",
        inputs="float[1, 2, 5] x",
    )
    after = one(
        f"a = Pad {PAD} (x, p, c)"
        " y = MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [0, 0], strides = [2]> (a)",
        inputs="float[1, 2, 5] x",
        initializers=f"int64[6] p = {{0, 0, 0, 0, 0, 1}}, {LOW}",
    )
    assert_graph(fixed(before, "pad").model, after)


@pytest.mark.parametrize(("before", "pad", "symmetric", "weight"), OPERATORS)
def test_fold_then_pad_and_pad_then_fold(
    before: str, pad: str, symmetric: str, weight: str
) -> None:
    """Each style says all there is to say: the other one finds its own form in it again."""
    original = one(before, initializers=weight if "w)" in before else "")
    styles = ("fold", "pad", "symmetric")
    forms = {style: fixed(original, style).model for style in styles}
    for source in styles:
        for target in styles:
            again = fixed(forms[source], target).model
            assert_graph(again, forms[target], (source, target))
            assert_same(original, again)
