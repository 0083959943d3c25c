"""The proof by itself: pairs of graphs made by hand, equal ones and ones with one thing wrong.

onnxruntime says of each pair whether it is equal, so nothing here is refused that need not be, and
nothing accepted that must not.
"""

from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.finding import Certificate
from onnxpad.graph import Graph
from onnxpad.operators.table import operator_of
from onnxpad.proof.certify import Certifier, Reading, UncertifiedError
from tests.support import LOW, Array, W, feeds_of, one, run
from tests.support.rows import each_row

LINE = "float[1, 2, L] x"


def amounts(name: str, *pads: int) -> str:
    """An initializer: amounts of the spatial axes, begins first, and none before them."""
    half = len(pads) // 2
    told = (0, 0, *pads[:half], 0, 0, *pads[half:])
    return f"int64[{len(told)}] {name} = {{{', '.join(map(str, told))}}}"


def line(kernel: int) -> str:
    """A weight for two channels of a line."""
    return f"float[1, 2, {kernel}] w = {{{', '.join(str(i % 3 + 1) for i in range(2 * kernel))}}}"


def conv(attributes: str, kernel: int = 3, data: str = "x", before: str = "") -> onnx.ModelProto:
    """A Conv over a line of open size."""
    return one(
        f"{before} y = Conv <{attributes}> ({data}, w)", inputs=LINE, initializers=line(kernel)
    )


def pool(op: str, attributes: str, **given: str) -> onnx.ModelProto:
    """A pool over a line of open size."""
    return one(f"y = {op} <{attributes}> (x)", inputs=given.get("inputs", LINE))


def padded(op: str, attributes: str, pads: str, value: str = "", **given: str) -> onnx.ModelProto:
    """A pool behind a constant `Pad`."""
    return one(
        f"{given.get('first', '')} a = Pad ({given.get('data', 'x')}, p{', c' if value else ''})"
        f" y = {op} <{attributes}> (a)",
        inputs=given.get("inputs", LINE),
        initializers=", ".join(filter(None, (pads, value))),
    )


def certifier_of(graph: Graph) -> Certifier:
    return Certifier(graph, Analysis(graph), Signs(graph, Analysis(graph)))


def reading(certifier: Certifier, graph: Graph) -> Reading:
    tensor = graph.tensor("y")
    node = graph.producer(tensor)
    window = node is not None and operator_of(graph, node) is not None
    return certifier.window(tensor) if window else certifier.padding(tensor)


def certify(before: onnx.ModelProto, after: onnx.ModelProto) -> Certificate:
    """The verdict on a pair, `y` for `y`."""
    old, new = Graph.from_proto(before), Graph.from_proto(after)
    certifier = certifier_of(old)
    return certifier.certify(reading(certifier, old), reading(certifier_of(new), new))


def computed(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[object]:
    """Outputs with their shapes, or that onnxruntime has none."""
    try:
        return [(array.shape, array.tolist()) for array in run(model, feeds)]
    except Exception:  # whatever onnxruntime raises
        return ["no answer"]


def differences(before: onnx.ModelProto, after: onnx.ModelProto) -> list[int]:
    """Sizes of the open axes at which the first has an answer, and the second another."""
    different = []
    for size in range(1, 13):
        feeds = feeds_of(before, seed=size, size=size)
        expected = computed(before, feeds)
        if expected != ["no answer"] and expected != computed(after, feeds):
            different.append(size)
    return different


EQUAL = [
    pytest.param(
        one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {amounts('p', 1, 2, 2, 1)}"),
        one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W),
        id="Pad and pads",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) i = Identity (a) b = Pad (i, q) y = Conv <pads = [1, 0, 0, 0]> (b, w)",
            initializers=f"{W}, {amounts('p', 1, 2, 0, 0)}, {amounts('q', 0, 1, 2, 0)}",
        ),
        one("y = Conv <pads = [2, 3, 2, 0]> (x, w)", initializers=W),
        id="a chain and its sum",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) b = Pad (a, q) y = Conv (b, w)",
            initializers=f"{W}, {amounts('p', 3, 2, 0, 1)}, {amounts('q', -2, 1, 0, -1)}",
        ),
        one("y = Conv <pads = [1, 3, 0, 0]> (x, w)", initializers=W),
        id="a crop of what was padded",
    ),
    pytest.param(
        conv('auto_pad = "SAME_UPPER", strides = [2]', kernel=2),
        conv("pads = [0, 1], strides = [2]", kernel=2),
        id="SAME_UPPER, kernel 2, stride 2",
    ),
    pytest.param(
        conv('auto_pad = "SAME_UPPER", strides = [2]', kernel=4),
        conv("pads = [1, 2], strides = [2]", kernel=4),
        id="SAME_UPPER, kernel 4, stride 2",
    ),
    pytest.param(
        conv('auto_pad = "SAME_LOWER", strides = [2]'),
        conv("pads = [1, 1], strides = [2]"),
        id="SAME_LOWER, kernel 3, stride 2",
    ),
    pytest.param(
        conv('auto_pad = "SAME_UPPER"', kernel=4),
        conv("pads = [1, 2]", kernel=4),
        id="SAME_UPPER, stride 1",
    ),
    pytest.param(
        conv('auto_pad = "VALID"'), conv("pads = [0, 0]"), id="VALID"
    ),
    pytest.param(
        one("y = Conv <strides = [2, 1]> (x, w)", initializers=W),
        one("y = Conv <pads = [0, 0, 1, 0], strides = [2, 1]> (x, w)", initializers=W),
        id="end padding that no window reaches",
    ),
    pytest.param(
        one("s = Shape <start = 2> (x) r = Mod (s, two) e = Sub (r, one)"
            " q = Concat <axis = 0> (none, zero, none, e) a = Pad (x, q)"
            " y = MaxPool <kernel_shape = [1], strides = [2]> (a)",
            inputs=LINE,
            initializers="int64[1] two = {2}, int64[1] one = {1}, int64[2] none = {0, 0},"
            " int64[1] zero = {0}"),
        pool("MaxPool", "kernel_shape = [1], strides = [2]"),
        id="a crop that no window reaches",
    ),
    pytest.param(
        pool("MaxPool", "ceil_mode = 1, kernel_shape = [4], strides = [4]"),
        pool("MaxPool", "kernel_shape = [4], pads = [0, 3], strides = [4]"),
        id="rounding up and padding to a multiple",
    ),
    pytest.param(
        padded("AveragePool", "kernel_shape = [3]", amounts("p", 1, 2)),
        pool("AveragePool", "count_include_pad = 1, kernel_shape = [3], pads = [1, 2]"),
        id="AveragePool that counts",
    ),
    pytest.param(
        padded("AveragePool", "ceil_mode = 1, kernel_shape = [3], strides = [2]",
               amounts("p", 0, 1)),
        pool("AveragePool", "ceil_mode = 1, count_include_pad = 1, kernel_shape = [3],"
             " pads = [0, 1], strides = [2]"),
        id="ceil_mode drops no window at any size",
    ),
    pytest.param(
        padded("LpPool", "kernel_shape = [3]", amounts("p", 1, 2)),
        pool("LpPool", "kernel_shape = [3], pads = [1, 2]"),
        id="LpPool",
    ),
    pytest.param(
        one("a = Pad (x, p) y = Pad (a, q)",
            initializers=f"{amounts('p', 1, 2, 0, 1)}, {amounts('q', 2, 0, 1, -1)}"),
        one("y = Pad (x, p)", initializers=amounts("p", 3, 2, 1, 0)),
        id="Pads alone",
    ),
    pytest.param(
        one('q = Add (p, p) y = Pad <mode = "edge"> (x, q)', initializers=amounts("p", 1, 2, 0, 1)),
        one('y = Pad <mode = "edge"> (x, p)', initializers=amounts("p", 2, 4, 0, 2)),
        id="a Pad that copies",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), EQUAL)
def test_equal_ones_are_certified_both_ways(
    before: onnx.ModelProto, after: onnx.ModelProto
) -> None:
    assert not differences(before, after)
    assert certify(before, after).assumptions == ()
    assert certify(after, before).assumptions == ()


FINITE = [
    pytest.param(
        padded("MaxPool", "kernel_shape = [3]", amounts("p", 1, 2), LOW),
        pool("MaxPool", "kernel_shape = [3], pads = [1, 2]"),
        id="-inf before MaxPool",
    ),
    pytest.param(
        padded("MaxPool", "kernel_shape = [3]", amounts("p", 1, 2), "float c = {-3.4028235e38}"),
        pool("MaxPool", "kernel_shape = [3], pads = [1, 2]"),
        id="the lowest finite number before MaxPool",
    ),
    pytest.param(
        padded("MaxPool", "kernel_shape = [3]", amounts("p", 1, 2), first="r = Relu (x)", data="r"),
        one("r = Relu (x) y = MaxPool <kernel_shape = [3], pads = [1, 2]> (r)", inputs=LINE),
        id="0 before MaxPool, on data that is never negative",
    ),
    *(
        pytest.param(
            pool("MaxPool", f'auto_pad = "{same}", kernel_shape = [1], strides = [2]'),
            pool("MaxPool", "kernel_shape = [1], strides = [2]"),
            id=f"{same}, kernel below stride",
        )
        for same in ("SAME_UPPER", "SAME_LOWER")
    ),
]


@pytest.mark.parametrize(("before", "after"), FINITE)
def test_finite_data_is_named(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert not differences(before, after)
    assert certify(before, after).assumptions == ("finite data",)


@pytest.mark.parametrize(("before", "after"), FINITE)
def test_strict_undoes_what_rests_on_an_assumption(
    before: onnx.ModelProto, after: onnx.ModelProto
) -> None:
    kept = onnxpad.fix(before, strict=True)
    assert not kept.changed
    assert not kept.changes
    assert kept.model == before
    assert onnxpad.fix(before).changed


def test_strict_keeps_what_rests_on_none() -> None:
    before = one(
        "a = Pad (x, p) y = Conv (a, w) b = Pad (x, p, c) z = MaxPool <kernel_shape = [3, 3]> (b)",
        outputs="float[] y, float[] z",
        initializers=f"{W}, {amounts('p', 1, 2, 2, 1)}, {LOW}",
    )
    result = onnxpad.fix(before, strict=True)
    assert [change.op_type for change in result.changes] == ["Conv"]
    assert [node.op_type for node in result.model.graph.node] == ["Conv", "Pad", "MaxPool"]
    assert len(result.undone) == 1


STRICT = [
    ('auto_pad = "SAME_UPPER", kernel_shape = [3], strides = [2]', "float[1, 2, 9] x"),
    ('auto_pad = "SAME_LOWER", kernel_shape = [2], strides = [2]', "float[1, 2, 8] x"),
    ('auto_pad = "SAME_UPPER", kernel_shape = [3]', LINE),
    ('auto_pad = "VALID", kernel_shape = [1], strides = [2]', LINE),
]


@pytest.mark.parametrize(("attributes", "inputs"), STRICT)
def test_pads_that_the_same_kernel_gets_need_no_assumption(attributes: str, inputs: str) -> None:
    before = pool("MaxPool", attributes, inputs=inputs)
    result = onnxpad.fix(before, strict=True)
    assert [change.certificate.assumptions for change in result.changes] == [()]
    data = {"x": np.full((1, 2, 9 if "9" in inputs else 8), -np.inf, np.float32)}
    np.testing.assert_array_equal(run(before, data)[0], run(result.model, data)[0])


def test_integers_of_a_kernel_below_its_stride_need_no_assumption() -> None:
    kind: dict[str, Any] = {"inputs": "int8[1, 2, L] x", "outputs": "int8[] y"}
    before = one(
        'y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [1], strides = [2]> (x)', **kind
    )
    after = one("y = MaxPool <kernel_shape = [1], strides = [2]> (x)", **kind)
    assert certify(before, after).assumptions == ()


def test_integers_need_no_assumption() -> None:
    before = one(
        "a = Pad (x, p, c) y = MaxPool <kernel_shape = [3]> (a)",
        inputs="int8[1, 2, L] x",
        outputs="int8[] y",
        initializers=f"{amounts('p', 1, 2)}, int8 c = {{-128}}",
    )
    after = one(
        "y = MaxPool <kernel_shape = [3], pads = [1, 2]> (x)",
        inputs="int8[1, 2, L] x",
        outputs="int8[] y",
    )
    assert not differences(before, after)
    assert certify(before, after).assumptions == ()


FOLDED = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {amounts('p', 1, 2, 2, 0)}")
COUNTED = padded("AveragePool", "kernel_shape = [3]", amounts("p", 1, 2))
THREE = "float[1, 2, 3] x"

BOUNDED: dict[str, Any] = {
    "inputs": "int8[1, 2, L] x",
    "outputs": "int8[] y",
    "initializers": f"{amounts('p', 1, 1)}, int8 c = {{3}}, int8 d = {{4}}",
}
WRONG = [
    pytest.param(
        FOLDED,
        one("y = Conv <pads = [2, 0, 1, 2]> (x, w)", initializers=W),
        "the first window starts at",
        id="begin and end swapped",
    ),
    pytest.param(
        FOLDED,
        one("y = Conv <pads = [2, 1, 0, 2]> (x, w)", initializers=W),
        "the output has",
        id="axes swapped",
    ),
    pytest.param(
        FOLDED,
        one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W),
        "the output has",
        id="one too many",
    ),
    pytest.param(
        FOLDED, one("y = Conv (x, w)", initializers=W), "the output has", id="the padding lost"
    ),
    pytest.param(
        one("y = Conv (x, w)", initializers=f"{W}, {W.replace(' w ', ' v ')}"),
        one("y = Conv (x, v)", initializers=f"{W}, {W.replace(' w ', ' v ').replace('-2', '5')}"),
        "the operator's other inputs differ",
        id="another weight",
    ),
    pytest.param(
        one("y = Conv <dilations = [2, 1], pads = [2, 2, 2, 2]> (x, w)", initializers=W),
        one("y = Conv <pads = [1, 2, 1, 2]> (x, w)", initializers=W),
        "the window itself differs",
        id="dilation lost",
    ),
    pytest.param(
        one("y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)"),
        one("y = MaxPool <kernel_shape = [2, 3], pads = [1, 1, 0, 1]> (x)"),
        "the window itself differs",
        id="another kernel",
    ),
    pytest.param(
        one("y = Conv <strides = [3, 1]> (x, w)", initializers=W),
        one("y = Conv <strides = [2, 1]> (x, w)", initializers=W),
        "the window itself differs",
        id="another stride",
    ),
    pytest.param(
        one("y = LpPool <kernel_shape = [3, 3], p = 1> (x)"),
        one("y = LpPool <kernel_shape = [3, 3], p = 2> (x)"),
        "the window itself differs",
        id="another norm",
    ),
    pytest.param(
        one("y = MaxPool <kernel_shape = [3, 3]> (x)"),
        one("y = LpPool <kernel_shape = [3, 3]> (x)"),
        "the window itself differs",
        id="another operator",
    ),
    pytest.param(
        one("r = Neg (x) y = Conv (r, w)", initializers=W),
        one("r = Neg (x) y = Conv (x, w)", initializers=W),
        "reads 'x' where the original reads 'r'",
        id="another tensor is read",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv <pads = [1, 0, 0, 0]> (a, w)",
            initializers=f"{W}, {amounts('p', -1, 0, 0, 0)}",
        ),
        one("y = Conv (x, w)", initializers=W),
        "outside the data",
        id="a crop lost",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = Conv (a, w)",
            initializers=f"{W}, {amounts('p', 1, 2, 2, 0)}, float c = {{1}}",
        ),
        one("y = Conv <pads = [1, 2, 2, 0]> (x, w)", initializers=W),
        "outside the data",
        id="another fill",
    ),
    pytest.param(
        padded("MaxPool", "kernel_shape = [3]", amounts("p", 1, 2)),
        pool("MaxPool", "kernel_shape = [3], pads = [1, 2]"),
        "outside the data",
        id="0 before a MaxPool whose data may be below it",
    ),
    pytest.param(
        padded("MaxPool", "kernel_shape = [3]", amounts("p", 1, 2), "float c = {1}",
               first="r = Relu (x)", data="r"),
        one("r = Relu (x) y = MaxPool <kernel_shape = [3], pads = [1, 2]> (r)", inputs=LINE),
        "outside the data",
        id="above 0 before a MaxPool whose data may be below it",
    ),
    pytest.param(
        COUNTED,
        pool("AveragePool", "kernel_shape = [3], pads = [1, 2]"),
        "outside the data",
        id="count_include_pad forgotten",
    ),
    pytest.param(
        padded("AveragePool", "kernel_shape = [3], pads = [1, 0]", amounts("p", 1, 2)),
        pool("AveragePool", "count_include_pad = 1, kernel_shape = [3], pads = [2, 2]"),
        "outside the data",
        id="counts what was not counted",
    ),
    pytest.param(
        padded("MaxPool", "ceil_mode = 1, kernel_shape = [2], strides = [2]", amounts("p", 1, 1),
               LOW, inputs=THREE),
        pool("MaxPool", "ceil_mode = 1, kernel_shape = [2], pads = [1, 1], strides = [2]",
             inputs=THREE),
        "the output has 2, not 3",
        id="ceil_mode drops a window",
    ),
    pytest.param(
        padded("AveragePool", "ceil_mode = 1, kernel_shape = [2], strides = [2]",
               amounts("p", 0, 1)),
        pool("AveragePool", "ceil_mode = 1, count_include_pad = 1, kernel_shape = [2],"
             " pads = [0, 1], strides = [2]"),
        "the output has",
        id="ceil_mode drops a window at some sizes",
    ),
    pytest.param(
        pool("MaxPool", "ceil_mode = 1, kernel_shape = [6], strides = [2]"),
        pool("MaxPool", "kernel_shape = [6], pads = [0, 1], strides = [2]"),
        "the output has",
        id="equal from size 5 on, not before",
    ),
    pytest.param(
        padded("MaxPool", "dilations = [4], kernel_shape = [2]", amounts("p", 1, 1), LOW),
        pool("MaxPool", "dilations = [4], kernel_shape = [2], pads = [1, 1]"),
        "on axis 2 a window may lie wholly in the padding",
        id="equal from size 4 on, where no window lies in the padding",
    ),
    *(
        pytest.param(
            one(f"s = Max (x, c) a = Pad (s, p, d) y = MaxPool <{kernel}> (a)", **(BOUNDED | says)),
            one(f"s = Max (x, c) y = MaxPool <{kernel}, pads = [1, 1]> (s)", **(BOUNDED | says)),
            told,
            id=told_id,
        )
        for kernel, says, told, told_id in (
            ("kernel_shape = [2]", {}, "instead of 4", "4 where the data may be 3"),
            (
                "kernel_shape = [2], dilations = [3]",
                {"inputs": "int8[1, 2, 2] x", "initializers": f"{amounts('p', 1, 1)},"
                " int8 c = {3}, int8 d = {3}"},
                "on axis 2 a window may lie wholly in the padding",
                "integers that are at least 3, and a window that reads only the padding",
            ),
        )
    ),
    pytest.param(
        conv('auto_pad = "SAME_UPPER", strides = [2]'),
        conv("pads = [0, 1], strides = [2]"),
        "the output has floor(L/2), not ceil(L/2)",
        id="SAME_UPPER at every other size",
    ),
    pytest.param(
        conv('auto_pad = "SAME_UPPER", strides = [2]', kernel=2),
        conv("pads = [0, 2], strides = [2]", kernel=2),
        "the output has",
        id="an end that fits one window more",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y, i = MaxPool <kernel_shape = [3, 3]> (a)",
            outputs="float[] y, int64[] i",
            initializers=f"{amounts('p', 1, 2, 2, 1)}, {LOW}",
        ),
        one(
            "y, i = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (x)",
            outputs="float[] y, int64[] i",
        ),
        "reads 'x' where the original reads 'a'",
        id="Indices of another tensor",
    ),
    pytest.param(
        one('y = Pad <mode = "edge"> (x, p)', initializers=amounts("p", 1, 2, 2, 1)),
        one('y = Pad <mode = "reflect"> (x, p)', initializers=amounts("p", 1, 2, 2, 1)),
        "the copied padding differs",
        id="another mode",
    ),
    pytest.param(
        one('y = Pad <mode = "edge"> (x, p)', initializers=amounts("p", 1, 2, 2, 1)),
        one('y = Pad <mode = "edge"> (x, p)', initializers=amounts("p", 2, 1, 1, 2)),
        "the copied padding differs",
        id="sides of a copy swapped",
    ),
    pytest.param(
        one("y = Pad (x, p, c)", initializers=f"{amounts('p', 1, 2, 2, 1)}, float c = {{1}}"),
        one("y = Pad (x, p, c)", initializers=f"{amounts('p', 1, 2, 2, 1)}, float c = {{2}}"),
        "the padding differs",
        id="Pads alone, another value",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q)",
            initializers=f"{amounts('p', -1, 2, 0, 1)}, {amounts('q', 1, 0, 1, 0)}",
        ),
        one("y = Pad (x, p)", initializers=amounts("p", 0, 2, 1, 1)),
        "the padding differs",
        id="Pads alone, a crop lost",
    ),
    pytest.param(
        one(
            "y = Pad (x, p, c)",
            inputs="float[1, 2, 9, 8] x, float c, float d",
            initializers=amounts("p", 1, 2, 2, 1),
        ),
        one(
            "y = Pad (x, p, d)",
            inputs="float[1, 2, 9, 8] x, float c, float d",
            initializers=amounts("p", 1, 2, 2, 1),
        ),
        "the copied padding differs",
        id="another value that only run time knows",
    ),
]  # fmt: skip


SLICED: dict[str, Any] = {
    "inputs": "float[1, 2, 8] x, int64[1] e",
    "opset": 18,
    "initializers": "int64[6] p = {0, 0, 1, 0, 0, 1}, int64[1] none = {0}, int64[1] two = {2}",
}
UNKNOWN: dict[str, Any] = {
    "inputs": "float[N] x, int64[K] s",
    "initializers": "int64[6] p = {0, 0, 1, 0, 0, 1}, int64[6] n = {0, 0, 0, 0, 0, 0},"
    " float z = {0}, float m = {-0.0}",
}
AVERAGE = "com.microsoft.QLinearAveragePool <strides = [1]"
BYTES: dict[str, Any] = {
    "inputs": "uint8[1, 2, L] x",
    "outputs": "uint8[] y",
    "initializers": f"{amounts('p', 0, 1)}, float s = {{0.5}}, float t = {{1}}, uint8 z = {{9}},"
    " uint8 r = {3}",
}
NEGATIVE = f"{amounts('p', 1, 1)}, float z = {{0}}, float m = {{-0.0}}"
# What onnxruntime shows at no size, or not in numbers that are compared as numbers.
UNPROVED = [
    *(
        pytest.param(
            one(f"t = Slice (x, none, e, two) a = Pad (t, p) y = {op} (a)", **SLICED),
            one(
                f"t = Slice (x, none, e, two) y = {op[:-1]}, pads = [1, 1]{also}> (t)", **SLICED
            ),
            "axis 2 may be empty",
            id=f"{op} of what a run-time Slice leaves",
        )
        for op, also in (
            ("AveragePool <kernel_shape = [2]>", ", count_include_pad = 1"),
            ("LpPool <kernel_shape = [2]>", ""),
            ("MaxPool <kernel_shape = [2]>", ""),
        )
    ),
    pytest.param(
        padded("AveragePool", "kernel_shape = [2]", amounts("p", 1, 1), "float c = {-0.0}"),
        pool("AveragePool", "kernel_shape = [2], pads = [1, 1], count_include_pad = 1"),
        "outside the data 0 instead of -0",
        id="-0.0 before AveragePool",
    ),
    pytest.param(
        one(
            "r = Relu (x) a = Pad (r, p, m) y = MaxPool <kernel_shape = [2]> (a)",
            inputs=LINE,
            initializers=NEGATIVE,
        ),
        one("r = Relu (x) y = MaxPool <kernel_shape = [2], pads = [1, 1]> (r)", inputs=LINE),
        "outside the data a value that never wins instead of -0",
        id="-0.0 before MaxPool",
    ),
    pytest.param(
        one("y = Pad (x, p, m)", inputs=LINE, initializers=NEGATIVE),
        one("y = Pad (x, p, z)", inputs=LINE, initializers=NEGATIVE),
        "the sign of zeros in 'y' differs",
        id="-0.0 alone",
    ),
    pytest.param(
        one('y = Pad <mode = "constant"> (x, q, m)', inputs="float[1, 2, L] x, int64[6] q",
            initializers="float z = {0}, float m = {-0.0}"),
        one('y = Pad <mode = "constant"> (x, q, z)', inputs="float[1, 2, L] x, int64[6] q",
            initializers="float z = {0}, float m = {-0.0}"),
        "the padding of 'y' is unknown",
        id="-0.0 by amounts that only run time knows",
    ),
    *(
        pytest.param(
            padded("LpPool", f"kernel_shape = [2], p = {power}", amounts("p", 1, 1)),
            pool("LpPool", f"kernel_shape = [2], p = {power}, pads = [1, 1]"),
            "power is not above 0",
            id=f"LpPool, p = {power}",
        )
        for power in (0, -1)
    ),
    *(
        pytest.param(
            one(f"a = Pad (x, p, z) y = {AVERAGE}, {attributes}> (a, s, z, t, r)", **BYTES),
            one(f"y = {AVERAGE}, {attributes}, {pads}> (x, s, z, t, r)", **BYTES),
            "an average rounds otherwise where its kernel is all of the data",
            id=f"QLinearAveragePool, {attributes}",
        )
        for attributes, pads in (
            ("kernel_shape = [2]", "pads = [0, 1], count_include_pad = 1"),
            ("kernel_shape = [2], channels_last = 0", "pads = [0, 1], count_include_pad = 1"),
        )
    ),
    pytest.param(
        one("t = Reshape (x, s) y = Pad (t, n)", **UNKNOWN),
        one("t = Reshape (x, s) y = Identity (t)", **UNKNOWN),
        "the copied padding differs",
        id="a Pad of nothing for data of another rank",
    ),
]  # fmt: skip


@each_row(("before", "after", "reason"), UNPROVED)
def test_what_may_differ_is_not_proved(
    before: onnx.ModelProto, after: onnx.ModelProto, reason: str
) -> None:
    with pytest.raises(UncertifiedError) as caught:
        certify(before, after)
    assert reason in str(caught.value)


CAPTURED = (
    "z = If (yes) <then_branch = g () => (float[] u) { u = Conv (y, w) },"
    " else_branch = h () => (float[] e) { e = Neg (x) }>"
)


@each_row(
    ("readers", "refusal"),
    [
        ("z = Conv (y, w)", ""),
        ("z = LpPool <kernel_shape = [2]> (y)", ""),
        ("h = Mul (half, y) z = Conv (h, w)", ""),
        ("i = Identity (y) n = Neg (i) r = Relu (n) z = Conv (r, w)", ""),
        ("c = Cast <to = 6> (y) z = Neg (c)", ""),
        ("d = Div (y, half) z = Conv (d, w)", ""),
        ("b = Pad (y, p) z = Conv (b, w)", ""),
        ("a, b = Split <axis = 1> (y) c = Concat <axis = 1> (b, a) z = Conv (c, w)", ""),
        ("z = Neg (y)", "the sign of zeros in 'z' differs"),
        ("n = Div (half, y) z = Conv (n, w)", "Div '<n>' may tell 0.0 from -0.0"),
        ("n = Reciprocal (y) z = Conv (n, w)", "Reciprocal '<n>' may tell"),
        ("n = MaxPool <kernel_shape = [2]> (y) z = Conv (n, w)", "MaxPool '<n>' may tell"),
        ("n = AveragePool <kernel_shape = [2]> (y) z = Conv (n, w)", "AveragePool '<n>' may tell"),
        ("z = Conv (x, y)", "Conv '<z>' may tell"),
        (CAPTURED, "If '<z>' may tell"),
    ],
    at_once=8,
)
def test_the_sign_of_a_zero_that_is_filled_in(readers: str, refusal: str) -> None:
    given = f"{amounts('p', 1, 2)}, {line(2)}, float m = {{-0.0}}, float half = {{0.5}}"
    before, after = (
        one(
            f"y = Pad (x, p{fill}) {readers}",
            inputs=LINE,
            outputs=f"{'int32' if 'Cast' in readers else 'float'}[] z",
            initializers=f"{given}, bool yes = {{1}}",
        )
        for fill in (", m", "")
    )
    if refusal:
        with pytest.raises(UncertifiedError) as caught:
            certify(before, after)
        assert refusal in str(caught.value)
        return
    for size in (2, 3, 8):
        feeds = feeds_of(before, size=size)
        (one_result,), (other,) = run(before, feeds), run(after, feeds)
        assert one_result.tobytes() == other.tobytes()


@pytest.mark.parametrize(("before", "after", "reason"), WRONG)
def test_one_thing_wrong_is_refused(
    before: onnx.ModelProto, after: onnx.ModelProto, reason: str
) -> None:
    assert differences(before, after)
    with pytest.raises(UncertifiedError) as caught:
        certify(before, after)
    assert reason in str(caught.value)


def test_another_fill_is_refused_though_what_reads_it_tells_no_zeros_apart() -> None:
    before, after = (
        one(
            "y = Pad (x, p, c) z = Conv (y, w)",
            inputs=LINE,
            outputs="float[] z",
            initializers=f"{amounts('p', 1, 2)}, {line(2)}, float c = {{{fill}}}",
        )
        for fill in (1, 2)
    )
    with pytest.raises(UncertifiedError):
        certify(before, after)


def test_a_window_over_nothing_but_the_least_integer_gives_it() -> None:
    window, small = "kernel_shape = [2], dilations = [3]", "int8[1, 2, 2] x"
    before = padded("MaxPool", window, amounts("p", 1, 1), "int8 c = {-128}", inputs=small)
    after = pool("MaxPool", f"{window}, pads = [1, 1]", inputs=small)
    assert certify(before, after)
    assert not differences(before, after)


@each_row(
    ("body", "roots", "alike"),
    [
        ("y = Identity (x)", ["x"], "padding"),
        ("y = Identity (x)", [], "steps"),
        ("y = Identity (x)", ["x", "v"], "steps"),
        ("y = Relu (x)", ["x"], "steps"),
        ("a = Pad (x, p) y = Relu (a)", ["x"], "steps"),
        ("a = Pad (x, p) y = Relu (a)", [], "steps"),
        ("y = Pad (x, p)", ["x"], "padding"),
        ("y = Pad (x, p)", [], "padding"),
        ("y = LpPool <kernel_shape = [2]> (x)", ["x"], "window"),
    ],
)
def test_how_a_node_is_read(body: str, roots: list[str], alike: str) -> None:
    """As a window, as padding, or as steps: an Identity of one root may have been a `Pad`."""
    model = one(body, inputs=f"{LINE}, float v", initializers=amounts("p", 1, 2))
    graph = Graph.from_proto(model)
    tensor = graph.tensor("y")
    node = graph.producer(tensor)
    assert node is not None
    certifier = certifier_of(graph)
    (root,) = roots[:1] or ("",)
    wanted = {
        "window": lambda: certifier.window(tensor, root),
        "padding": lambda: certifier.padding(tensor, root),
        "steps": lambda: certifier.steps(tensor, roots),
    }[alike]()
    assert certifier.read(node, tensor, roots) == wanted
