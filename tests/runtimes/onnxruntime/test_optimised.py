"""What onnxruntime's optimiser makes of rewritten models: what it did right, at each level.

A row is a model that onnxruntime runs rightly as it is, also optimised, in which a rewrite that is
exact would lay something open: a Pad that is folded wrongly, a kernel that crashes, a size that is
taken from a declaration. What would lay it open stays, or is shielded.
"""

from functools import cache

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import BORDER, LEVELS, STYLES, Array, agree, negative, one, ran

every_style = pytest.mark.parametrize("style", STYLES)


@cache
def runs_rightly(serialised: bytes) -> tuple[list[Array], list[str]]:
    """What a model computes on negative data, and at which levels it does so too."""
    model = onnx.ModelProto.FromString(serialised)
    feeds = negative(model)
    expected = ran(model, feeds, LEVELS[0])
    assert not isinstance(expected, str), expected
    levels = [level for level in LEVELS if agree(ran(model, feeds, level), expected)]
    return expected, levels


def demand(model: onnx.ModelProto, style: str, *, dynamic: str = "keep") -> onnxpad.FixResult:
    """Where the original is right, what is proved is right too; a second run has nothing to do."""
    result = onnxpad.fix(model, style=style, dynamic=dynamic, validate=False)
    expected, levels = runs_rightly(model.SerializeToString())
    for level in levels:
        found = ran(result.model, negative(model), level)
        assert agree(found, expected), f"{level}: {found}"
    again = onnxpad.fix(result.model, style=style, dynamic=dynamic, validate=False)
    assert not again.changed
    assert not onnxpad.check(result.model, style=style, dynamic=dynamic).failing()
    return result


POOL = 'y = MaxPool <auto_pad = "VALID", kernel_shape = [3, 3]> (q)'
X = "float[1, 3, 8, 8] x"

BETWEEN = {
    "nothing": "q = Identity (a)",
    "a cast to the same type": "q = Cast <to = 1> (a)",
    "a dropout": "q = Dropout (a)",
    "a sum with zero": "q = Add (a, zero)",
    "zero plus": "q = Add (zero, a)",
    "a difference from zero": "q = Sub (a, zero)",
    "a product with one": "q = Mul (a, one)",
    "a quotient by one": "q = Div (a, one)",
    "an expansion by ones": "q = Expand (a, ones)",
    "a slice of all": "q = Slice (a, start, end)",
    "two transposes": "t = Transpose <perm = [0, 2, 3, 1]> (a)"
    " q = Transpose <perm = [0, 3, 1, 2]> (t)",
    "several": "d = Dropout (a) e = Mul (d, one) f = Add (e, zero) q = Identity (f)",
    "zeros that are computed": "z = Sub (one, one) q = Add (a, z)",
    "a Pad of nothing": "q = Pad (a, none)",
    "a branch that is always taken": "q = If (yes) <"
    " then_branch = t () => (float[] i) { i = Identity (a) },"
    " else_branch = e () => (float[] j) { j = Neg (a) }>",
}
CONSTANTS = (
    f"{BORDER}, float zero = {{0}}, float one = {{1}}, int64[4] ones = {{1, 1, 1, 1}},"
    " int64[1] start = {0}, int64[1] end = {9223372036854775807}, bool yes = {1},"
    " int64[8] none = {0, 0, 0, 0, 0, 0, 0, 0}"
)


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_what_is_between_goes_and_the_pad_is_folded(between: str) -> None:
    model = one(f"a = Pad (x, p) {between} {POOL}", inputs=X, initializers=CONSTANTS)
    for branch in (g for n in model.graph.node for a in n.attribute for g in [a.g]):
        for value in branch.output:
            value.type.tensor_type.ClearField("shape")
    result = demand(model, "fold")
    assert "PAD102" in [change.code for change in result.changes]


CASES = [
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x) a = Pad (t, p)"
            f" q = Transpose <perm = [0, 3, 1, 2]> (a) {POOL}",
            inputs=X,
            initializers="int64[8] p = {0, 1, 1, 0, 0, 1, 1, 0}",
        ),
        id="channels last",
    ),
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x) a = Pad (t, p)"
            " q = Transpose <perm = [0, 3, 1, 2]> (a)"
            ' y = AveragePool <auto_pad = "VALID", kernel_shape = [1, 3]> (q)',
            inputs=X,
            initializers="int64[8] p = {0, 1, 1, 0, 0, 1, 1, 0}",
        ),
        id="pads that are not below the kernel",
    ),
    pytest.param(
        one(
            f"a = Pad (x, p, v) q = Identity (a) {POOL} r = Reciprocal (y)",
            inputs=X,
            outputs="float[] r",
            initializers=f"{BORDER}, float v = {{-0.0}}",
        ),
        id="a fill of -0.0, which is not folded",
    ),
    pytest.param(
        one(
            f"q = BitwiseOr (p, p) a = Pad (x, q) b = Identity (a) {POOL.replace('(q)', '(b)')}",
            inputs=X,
            initializers=BORDER,
            opset=18,
        ),
        id="amounts by an operator on constants",
    ),
    pytest.param(
        one(
            f"v = Sin (c) a = Pad (x, p, v) q = Identity (a) {POOL}",
            inputs=X,
            initializers=f"{BORDER}, float c = {{0}}",
        ),
        id="a fill by an operator on constants",
    ),
    pytest.param(
        one(
            "s = Shape (w) z = Sub (s, s) b = Add (z, c) q = Concat <axis = 0> (z, b)"
            " a = Pad (w, q) y = Conv (x, a)",
            inputs="float[1, 1, 8, 8] x, float[1, 1, h, v] w",
            initializers="int64[4] c = {0, 0, 1, 1}",
        ),
        id="a weight that is padded",
    ),
    pytest.param(
        one(
            't = Relu (x) z = Identity (t) a = Pad (t, p) y = Conv <auto_pad = "VALID"> (a, w)',
            inputs="float[1, 1, 8, 8] x, float[1, 1, 3, 3] w",
            outputs="float[] z, float[] y",
            initializers="int64[8] p = {0, 0, 0, 0, 0, 0, 1, 1}",
        ),
        id="data that are copied to an output",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a) z = Conv (a, w)",
            inputs=X,
            outputs="float[] y, float[] z",
            initializers=f"{BORDER}, float[1, 3, 1, 1] w = {{1, 2, 3}}",
        ),
        id="a second reader that goes",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)"
            ' z = AveragePool <auto_pad = "VALID", kernel_shape = [3, 3]> (a)',
            inputs=X,
            outputs="float[] y, float[] z",
            initializers=BORDER,
        ),
        id="a second pool that goes",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) q = Identity (a) y = AveragePool"
            ' <auto_pad = "SAME_LOWER", count_include_pad = 1, kernel_shape = [5, 2, 3],'
            " strides = [1, 2, 3]> (q)",
            inputs="float[1, 3, 5, 6, 5] x",
            initializers="int64[10] p = {0, 0, 1, 3, 0, 0, 0, 1, 0, 3}",
            opset=13,
        ),
        id="a Pad behind a new one",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)"
            ' q = Pad <mode = "reflect", pads = [0, 0, 0, 0, 0, 0, 0, 0]> (a)'
            " y = MaxPool <kernel_shape = [3, 3]> (q)",
            inputs=X,
            opset=9,
        ),
        id="before opset 11, a Pad of nothing that kept another whole",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)"
            " q = Pad <value = -1.0, pads = [0, 0, 0, 0, 0, 0, 0, 0]> (a)"
            " y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (q)",
            inputs=X,
            opset=10,
        ),
        id="before opset 11, in front of a pool with pads",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 2]> (x)"
            " q = Pad <pads = [0, 0, 0, 0, 0, 0, 0, -1]> (a)"
            " y = MaxPool <kernel_shape = [3, 3]> (q)",
            inputs=X,
            opset=9,
        ),
        id="before opset 11, a crop that is merged",
    ),
    pytest.param(
        one(
            f"a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x) q = Dropout (a) {POOL}",
            inputs=X,
            opset=9,
        ),
        id="before opset 11, VALID behind a dropout",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 3, 3, 0, 0, 1, 3]> (x)"
            " q = Pad <pads = [0, 0, 1, 1, 0, 0, 0, 1]> (a)"
            ' y = AveragePool <auto_pad = "VALID", count_include_pad = 1, kernel_shape = [3, 4],'
            " strides = [2, 3]> (q)",
            inputs="float[2, 1, 4, 7] x",
            opset=7,
        ),
        id="before opset 11, two Pads and an average",
    ),
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x) c = Cast <to = 7> (i) a = Pad (t, c, , k)"
            " u = Transpose <perm = [0, 3, 1, 2]> (a) y = Neg (u)",
            inputs="float[2, 1, 3, 5] x",
            initializers="int32[4] i = {1, 0, 0, 2}, int64[2] k = {1, 2}",
            opset=18,
        ),
        id="a Pad of some axes between Transposes",
    ),
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x) n = Pad (t, none) a = Pad (n, c, , k)"
            " u = Transpose <perm = [0, 3, 1, 2]> (a) y = Neg (u)",
            inputs="float[2, 1, 3, 5] x",
            initializers="int64[4] c = {1, 0, 0, 2}, int64[2] k = {1, 2},"
            " int64[8] none = {0, 0, 0, 0, 0, 0, 0, 0}",
            opset=18,
        ),
        id="a Pad of some axes that comes to lie between Transposes",
    ),
]


@every_style
@pytest.mark.parametrize("model", CASES)
def test_every_level(model: onnx.ModelProto, style: str) -> None:
    demand(model, style)


SAME_AMOUNTS = "s = Shape (x) z = Sub (s, s) c = Concat <axis = 0> (z, z) r = Add (c, p)"
ZERO_BUT_COMPUTED = (
    "s = Shape (o) z = Sub (s, s) c = Concat <axis = 0> (z, z) t = Pad (o, c) u = Shape (t)"
    " g = ReduceProd <keepdims = 0> (u) k = Sub (g, n)"
)
TWO_INPUTS = f"{X}, float[1, 2, h, w] o"
TWO_OUTPUTS = "float[] y, float[] v"
LONG = f"{BORDER}, int64[200] ones = {{{', '.join(['1'] * 200)}}}, int64[4] i = {{0, 1, 2, 3}}"
ANY_POOL = "MaxPool <kernel_shape = [3, 3]>"
TAKEN = "g = Constant <value = bool {1}> ()"


def with_function(nodes: str, function: str, initializers: str = BORDER) -> onnx.ModelProto:
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17, "own" : 1]>'
        f" g ({X}) => (float[] y) <{initializers}> {{ {nodes} }}"
        f' <domain: "own", opset_import: ["" : 17]> f {function}'
    )
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    return proto


def with_branch(nodes: str, then: str, otherwise: str, after: str = "") -> onnx.ModelProto:
    branches = f"then_branch = t () => (float[] i) {{ {then} }},"
    branches += f" else_branch = e () => (float[] j) {{ {otherwise} }}"
    proto = one(f"{nodes} {TAKEN} b = If (g) <{branches}> {after}", inputs=X, initializers=BORDER)
    for node in proto.graph.node:
        for attribute in node.attribute:
            for value in attribute.g.output:
                value.type.tensor_type.ClearField("shape")
    return proto


SEEN_BY_OTHERS = [
    pytest.param(
        one(
            f"{SAME_AMOUNTS} a = Pad (x, p) b = Pad (x, r) y = {ANY_POOL} (a) v = {ANY_POOL} (b)",
            inputs=X,
            outputs=TWO_OUTPUTS,
            initializers=BORDER,
        ),
        id="a Pad that becomes the twin of another",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 0, 0, 0, 0, 1]> (x)"
            " y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1],"
            " ceil_mode = 1, count_include_pad = 1> (a)"
            " v = AveragePool <kernel_shape = [3, 3], strides = [3, 3], pads = [1, 1, 1, 1],"
            " ceil_mode = 1, count_include_pad = 1> (a)",
            inputs="float[1, 1, 15, 15] x",
            outputs=TWO_OUTPUTS,
            opset=10,
        ),
        id="twins, of which one may be folded",
    ),
    pytest.param(
        one(
            "q = QuantizeLinear (x, s, b) d = DequantizeLinear (q, s, b) a = Pad (d, p)"
            ' m = MaxPool <auto_pad = "VALID", kernel_shape = [3, 3]> (a)'
            " n = QuantizeLinear (m, s, b) y = DequantizeLinear (n, s, b)",
            inputs=X,
            initializers=f"{BORDER}, float s = {{0.05}}, uint8 b = {{128}}",
        ),
        id="between quantisations",
    ),
    pytest.param(
        one(
            f"g = Gather (ones, i) a = Pad (x, p) q = Expand (a, g) {POOL}",
            inputs=X,
            initializers=LONG,
        ),
        id="an expansion by what a long constant gives",
    ),
    pytest.param(
        one(
            f"g = ReduceMin <keepdims = 0> (ones) f = Cast <to = 1> (g) a = Pad (x, p)"
            f" q = Mul (a, f) {POOL}",
            inputs=X,
            initializers=LONG,
        ),
        id="a product with what a long constant gives",
    ),
    pytest.param(
        one(
            f"a = Pad (x, p) q = Mul (a, ones) {POOL}",
            inputs="float[1, 200, 8, 8] x",
            initializers=f"{BORDER}, float[1, 200, 1, 1] ones = {{{', '.join(['1'] * 200)}}}",
        ),
        id="a product with a long constant",
    ),
    pytest.param(
        one(
            f"{ZERO_BUT_COMPUTED} f = Cast <to = 1> (k) a = Pad (x, p) q = Add (a, f) {POOL}"
            " v = Relu (t)",
            initializers=f"{BORDER}, int64 n = {{18}}",
            inputs=TWO_INPUTS,
            outputs=TWO_OUTPUTS,
        ),
        id="a sum with what comes to be known",
    ),
    pytest.param(
        one(
            f"{ZERO_BUT_COMPUTED} r = Add (p, k) a = Pad (x, r) y = {ANY_POOL} (a) v = Relu (t)",
            initializers=f"{BORDER}, int64 n = {{18}}",
            inputs=TWO_INPUTS,
            outputs=TWO_OUTPUTS,
        ),
        id="amounts that come to be known",
    ),
    pytest.param(
        with_function(f"a = Pad (x, p) q = own.f (a) {POOL}", "(u) => (o) { o = Identity (u) }"),
        id="a function between",
    ),
    pytest.param(
        with_function(f"q = own.f (x, p) {POOL}", "(u, r) => (o) { o = Pad (u, r) }"),
        id="a Pad in a function",
    ),
    pytest.param(
        with_function(
            f"{SAME_AMOUNTS} a = Pad (x, r) y = own.f (a)", f"(u) => (o) {{ o = {ANY_POOL} (u) }}"
        ),
        id="a pool in a function",
    ),
    pytest.param(
        with_branch("", "i = Pad (x, p)", "j = Neg (x)", f"q = Identity (b) {POOL}"),
        id="a Pad in a branch that is always taken",
    ),
    pytest.param(
        with_branch(
            f"{SAME_AMOUNTS} a = Pad (x, r)", f"i = {ANY_POOL} (a)", "j = Neg (a)", "y = Neg (b)"
        ),
        id="a pool in a branch that is always taken",
    ),
    pytest.param(
        one(
            "n = Neg (x) a = Pad (n, p) v = Identity (a) t = Slice (a, i, j)"
            ' y = Conv <auto_pad = "SAME_UPPER"> (t, w)',
            inputs="float[1, 1, 8, 8] x",
            outputs=TWO_OUTPUTS,
            initializers=f"{BORDER}, int64[1] i = {{0}}, int64[1] j = {{9223372036854775807}},"
            " float[1, 1, 2, 2] w = {1, 2, 3, 4}",
        ),
        id="data that are copied to an output behind a Slice of all",
    ),
    pytest.param(
        one(
            "s = Shape (x) z = Sub (s, s) c = Concat <axis = 0> (z, z) r = Add (c, p)"
            " a = Pad (x, r) t = Transpose <perm = [0, 2, 1]> (a) b = Pad (t, o)"
            " u = Transpose <perm = [0, 2, 1]> (b)"
            " y = MaxPool <kernel_shape = [5], dilations = [2]> (u)",
            inputs="float[n, 2, 5] x",
            initializers="int64[6] p = {0, 0, 1, 0, 0, 2}, int64[6] o = {0, 2, 0, 0, 2, 0}",
        ),
        id="behind one that is folded wrongly as it is",
    ),
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x)"
            " a = Pad <pads = [0, 0, 1, 0, 0, 0, 1, 0]> (t)"
            " u = Transpose <perm = [0, 3, 1, 2]> (a)"
            ' r = Pad <mode = "reflect", pads = [0, 0, 0, 0, 0, 0, 0, 0]> (u)'
            " y = MaxPool <kernel_shape = [1, 2], pads = [0, 1, 0, 1]> (r)",
            inputs=X,
            opset=8,
        ),
        id="a Pad of nothing goes that stood between",
    ),
]


@every_style
@pytest.mark.parametrize("model", SEEN_BY_OTHERS)
def test_what_others_see_of_it(model: onnx.ModelProto, style: str) -> None:
    demand(model, style)


def test_further_upstream_than_is_looked() -> None:
    between = " ".join(f"a{n + 1} = Dropout (a{n or ''})" for n in range(600))
    body = f"a = Pad (x, p) {between} q = Identity (a600) {POOL}"
    demand(one(body, inputs=X, initializers=BORDER), "fold")


def test_what_was_wrong_before_and_cannot_be_guarded_bars_nothing_else() -> None:
    model = one(
        "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)"
        " y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)"
        ' v = Conv <auto_pad = "SAME_UPPER"> (x, w)',
        inputs="float[1, 1, 8, 8] x",
        outputs=TWO_OUTPUTS,
        initializers="float[1, 1, 2, 2] w = {1, 2, 3, 4}",
        opset=9,
    )
    result = demand(model, "fold")
    assert [change.code for change in result.changes] == ["PAD101"]


def test_a_wrong_declaration_does_not_reach_a_shape() -> None:
    model = one(
        "i = Identity (x) r = Sub (big, small) a = Pad (i, r) s = Shape (a)"
        " g = Gather <axis = 0> (s, k) f = Cast <to = 1> (g) y = Mul (a, f)",
        inputs="float[1, 1, h, w] x",
        initializers="int64[8] big = {0, 1, 2, 3, 4, 5, 6, 8},"
        " int64[8] small = {0, 1, 2, 3, 4, 5, 6, 7}, int64 k = {3}",
    )
    shape = (1, 1, 30, 40)
    lie = onnx.helper.make_tensor_value_info("i", onnx.TensorProto.FLOAT, shape)
    model.graph.value_info.append(lie)
    assert demand(model, "fold").changed


LYING = [
    pytest.param("t = Relu (x)", "float[1, 1, 8, 8] t", id="the data themselves"),
    pytest.param("u = Relu (x) t = Neg (u)", "float[1, 1, 8, 8] u", id="what they come from"),
]


@pytest.mark.parametrize(("nodes", "output"), LYING)
def test_a_wrong_output_declares_no_size(nodes: str, output: str) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 1, h, v] x, float[1, 1, 3, 3] w)'
        f" => ({output}, float[1, 1, a, b] y)"
        f' {{ {nodes} y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (t, w) }}'
    )
    result = onnxpad.fix(model, dynamic="pad", validate=False)
    assert "wrong-declaration" in {each.evidence.get("no_pad") for each in result.findings}
    feeds = negative(model, 9)
    expected = ran(model, feeds, LEVELS[0])
    assert not isinstance(expected, str)
    assert all(agree(ran(result.model, feeds, level), expected) for level in LEVELS)


def test_only_fixing_sizes_lays_nothing_open() -> None:
    model = one(
        "s = Shape (x) g = Gather <axis = 0> (s, i) c = CumSum (g, k) d = Div (c, e)"
        " q = Concat <axis = 0> (z, d, z, d) a = Pad (x, q)"
        " y = MaxPool <kernel_shape = [3, 3]> (a)",
        inputs="float[1, 3, h, v] x",
        initializers="int64[2] i = {2, 3}, int64 k = {0}, int64[2] e = {8, 8}, int64[2] z = {0, 0}",
    )
    feeds = negative(model, 8)
    expected = ran(model, feeds, LEVELS[0])
    assert not isinstance(expected, str)
    result = onnxpad.fix(model, shapes={"x": (1, 3, 8, 8)}, validate=False)
    for level in LEVELS:
        assert agree(ran(result.model, feeds, level), expected)


CRASHING = one(
    "s = Shape (x) z = Sub (s, s) b = Add (z, c) q = Concat <axis = 0> (z, b)"
    " a = Pad (x, q, v) y = MaxPool <kernel_shape = [5, 1], strides = [3, 3]> (a)",
    inputs="float[1, 16, h, w] x",
    initializers="int64[4] c = {0, 0, 0, 2}, float v = {-3}",
)


LOWEST = one(
    "s = Shape (x) z = Sub (s, s) b = Concat <axis = 0> (z, z) q = Add (b, c) a = Pad (x, q, v)"
    " y = MaxPool <kernel_shape = [2, 2]> (a)",
    inputs="float[1, 16, h, w] x",
    initializers="int64[8] c = {0, 0, 2, 2, 0, 0, 2, 2}, float v = {-inf}",
)


def test_amounts_stay_computed_where_a_kernel_in_blocks_would_lose_infinities() -> None:
    feeds = {"x": np.ones((1, 16, 4, 4), np.float32)}
    expected = ran(LOWEST, feeds, LEVELS[0])
    assert not isinstance(expected, str)
    assert np.isinf(expected[0]).any()
    for style in STYLES:
        result = onnxpad.fix(LOWEST, style=style, validate=False)
        for level in LEVELS:
            assert agree(ran(result.model, feeds, level), expected)
        assert not onnxpad.check(result.model, style=style).failing()


def test_amounts_stay_computed_where_a_pool_without_windows_would_crash() -> None:
    for style in STYLES:
        result = onnxpad.fix(CRASHING, style=style, validate=False)
        assert not result.changed
        assert any("crashes" in finding.reason for finding in result.undone)
        found = onnxpad.check(CRASHING, style=style).findings
        assert any("crashes" in finding.reason for finding in found)
        assert not onnxpad.check(CRASHING, style=style).failing()


def test_amounts_are_written_where_each_size_has_a_window() -> None:
    result = onnxpad.fix(CRASHING, shapes={"x": (1, 16, 8, 8)})
    assert [change.code for change in result.changes] == ["PAD205"]


def test_a_rewrite_downstream_of_one_that_is_barred_is_made() -> None:
    """Before opset 11 nothing protects a `Pad` before a pool that has pads of its own."""
    model = one(
        "s = Softmax (x) a = Pad <pads = [0, 0, 0, 0, 0, 0, 2, 0]> (s)"
        " t = Transpose <perm = [0, 1, 3, 2]> (a) b = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (t)"
        " m = MaxPool <kernel_shape = [3, 3]> (b) c = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (m)"
        " y = Conv (c, w)",
        initializers="float[1, 2, 3, 3] w = {" + ", ".join(map(str, range(18))) + "}",
        opset=9,
    )
    result = demand(model, "fold")
    assert ("PAD201", "<y>") in [(change.code, change.node) for change in result.changes]


def test_a_pad_whose_mode_each_call_sets_may_be_folded() -> None:
    """Once the function is inlined it is an ordinary Pad, with more than a pool may have."""
    model = onnx.parser.parse_model(
        """
        <ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[1, 3, 8, 8] x) => (float[a, b, c, d] y)
        { y = local.Block <given: string = "constant"> (x) }
        <domain: "local", opset_import: ["" : 17]>
        Block <given> (x) => (y)
        {
            p = Constant <value: tensor = int64[8] {0, 0, 3, 3, 0, 0, 0, 0}> ()
            q = Pad <mode: string = @given> (x, p)
            y = AveragePool <auto_pad = "VALID", kernel_shape = [3, 3], strides = [3, 3]> (q)
        }
        """
    )
    result = demand(model, "fold")
    assert not result.changes


@pytest.mark.parametrize(
    "weight",
    [
        "v = Constant <value = float[4, 1, 1] {1, 2, 3, 4}> () w = Pad (v, p)",
        "q = Constant <value = int64[6] {0, 0, 0, 0, 0, 1}> () w = Pad (u, q)",
        "v = Neg (u) a = Pad (v, p) w = Identity (a)",
    ],
    ids=["a Constant", "an initializer", "computed from constants"],
)
@pytest.mark.parametrize("opset", [22, 13])
def test_a_weight_that_is_padded_does_not_lose_its_auto_pad_unguarded(
    weight: str, opset: int
) -> None:
    """onnxruntime folds it as if it were data, before it computes the weight."""
    model = one(
        f'{weight} y = Conv <auto_pad = "SAME_UPPER", group = 2, strides = [2]> (x, w)',
        inputs="float[1, 2, n] x",
        initializers="int64[6] p = {0, 0, 0, 0, 0, 1}, float[4, 1, 1] u = {1, 2, 3, 4}",
        opset=opset,
    )
    ways = (("fold", "auto-pad"), ("pad", "keep"), ("symmetric", "keep"))
    for style, dynamic in ways:
        result = demand(model, style, dynamic=dynamic)
        assert [change.code for change in result.changes] == ["PAD101"]


def test_a_pad_would_be_folded_past_a_cast_that_changes_the_signs() -> None:
    """Zeros are least among uint8, but not among the int8 that they become."""
    for opset in (12, 17):
        model = one(
            "a = Pad (x, p) q = Cast <to = 3> (a)"
            ' y = MaxPool <auto_pad = "VALID", kernel_shape = [3, 3]> (q)',
            inputs="uint8[1, 3, 8, 8] x",
            outputs="int8[] y",
            initializers=BORDER,
            opset=opset,
        )
        result = demand(model, "fold")
        assert [change.code for change in result.changes] == ["PAD102"]
