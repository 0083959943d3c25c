"""Amounts that are computed: where they are one number and go, and where they stay and why."""

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import assert_graph, decided, feeds_of, fixed, one, run
from tests.support.rows import each_row

# What torch's TorchScript exporter writes for `F.pad(x, (4, 3, 1, 2))` on four axes: torch lists
# (begin, end) from the last axis on; the chain fills up with zeros, turns round and transposes.
TORCHSCRIPT = """
    asked = Constant <value = int64[4] {{4, 3, 1, 2}}> ()
    first = Constant <value = int64[1] {{0}}> ()
    long = Shape (asked)
    length = Gather <axis = 0> (long, first)
    rank = Constant <value = int64 {{4}}> ()
    two = Constant <value = int64 {{2}}> ()
    all = Mul (rank, two)
    missing = Sub (all, length)
    integers = Cast <to = 7> (asked)
    zeros = ConstantOfShape <value = int64[1] {{0}}> (missing)
    filled = Concat <axis = 0> (integers, zeros)
    pairwise = Constant <value = int64[2] {{-1, 2}}> ()
    pairs = Reshape (filled, pairwise)
    axis = Constant <value = int64[1] {{0}}> ()
    start = Constant <value = int64[1] {{-1}}> ()
    stop = Constant <value = int64[1] {{-9223372036854775807}}> ()
    step = Constant <value = int64[1] {{-1}}> ()
    turned = Slice (pairs, start, stop, axis, step)
    columns = Transpose <perm = [1, 0]> (turned)
    flat = Constant <value = int64[1] {{-1}}> ()
    amounts = Reshape (columns, flat)
    pads = Cast <to = 7> (amounts)
    y = Pad <mode = "{mode}"> (x, pads)
"""
AMOUNTS = "int64[8] pads = {0, 0, 1, 4, 0, 0, 2, 3}"


@pytest.mark.parametrize(
    ("mode", "opset"), [("reflect", 13), ("edge", 17), ("constant", 11), ("wrap", 19)]
)
@pytest.mark.parametrize("inputs", ["float[1, 2, 9, 8] x", "float[N, 2, H, V] x"])
def test_the_chain_of_torchscript(mode: str, opset: int, inputs: str) -> None:
    before = one(TORCHSCRIPT.format(mode=mode), inputs=inputs, opset=opset)
    after = one(
        f'y = Pad <mode = "{mode}"> (x, pads)', inputs=inputs, initializers=AMOUNTS, opset=opset
    )
    result = fixed(before)
    assert_graph(result.model, after)
    (change,) = result.changes
    assert change.code == "PAD205"
    assert len(change.removed) == len(before.graph.node) - 1
    assert not decided(onnxpad.check(result.model, ignore="PAD6").findings)


FIXED = [
    pytest.param(
        one(
            't = Cast <to = 7> (s) y = Pad <mode = "edge"> (x, p, , t)',
            initializers="int64[4] p = {1, 2, 3, 4}, int32[2] s = {-1, 2}",
            opset=18,
        ),
        one(
            'y = Pad <mode = "edge"> (x, p, , t)',
            initializers="int64[4] p = {1, 2, 3, 4}, int64[2] t = {-1, 2}",
            opset=18,
        ),
        id="computed axes",
    ),
    pytest.param(
        one(
            "t = Cast <to = 7> (s) q = Concat <axis = 0> (t, t) y = Pad (x, q, c, t)",
            inputs="float[1, 2, 9, 8] x, float c",
            initializers="int32[2] s = {1, 2}",
            opset=18,
        ),
        one(
            "y = Pad (x, q, c, t)",
            inputs="float[1, 2, 9, 8] x, float c",
            initializers="int64[4] q = {1, 2, 1, 2}, int64[2] t = {1, 2}",
            opset=18,
        ),
        id="amounts and axes, with a value that only run time knows",
    ),
    pytest.param(
        one(
            'q = Add (p, p) y = Pad <mode = "reflect"> (x, q) z = Neg (q)',
            outputs="float[] y, int64[] z",
            initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 2, 1}",
        ),
        one(
            'q = Add (p, p) y = Pad <mode = "reflect"> (x, r) z = Neg (q)',
            outputs="float[] y, int64[] z",
            initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 2, 1},"
            " int64[8] r = {0, 0, 2, 2, 0, 0, 4, 2}",
        ),
        id="what else reads the computation keeps it",
    ),
    pytest.param(
        one(
            'q = Add (p, p) y = Pad <mode = "reflect"> (x, q)',
            outputs="float[] y, int64[] q",
            initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 2, 1}",
        ),
        one(
            'q = Add (p, p) y = Pad <mode = "reflect"> (x, r)',
            outputs="float[] y, int64[] q",
            initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 2, 1},"
            " int64[8] r = {0, 0, 2, 2, 0, 0, 4, 2}",
        ),
        id="an output of the graph",
    ),
    pytest.param(
        one(
            'q = Add (p, p) a = Pad <mode = "edge"> (x, q) y = Pad <mode = "reflect"> (a, q)',
            initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}",
        ),
        one(
            'a = Pad <mode = "edge"> (x, r) y = Pad <mode = "reflect"> (a, r)',
            initializers="int64[8] r = {0, 0, 2, 2, 0, 0, 2, 2}",
        ),
        id="one computation for two",
    ),
    pytest.param(
        one(
            "s = Shape (x) h = Slice (s, i, j) r = Sub (h, h) o = Add (r, t)"
            ' q = Concat <axis = 0> (z, o, z, o) y = Pad <mode = "reflect"> (x, q)',
            inputs="float[N, 2, H, V] x",
            initializers="int64[1] i = {2}, int64[1] j = {4}, int64[2] t = {2, 1},"
            " int64[2] z = {0, 0}",
        ),
        one(
            'y = Pad <mode = "reflect"> (x, q)',
            inputs="float[N, 2, H, V] x",
            initializers="int64[8] q = {0, 0, 2, 1, 0, 0, 2, 1}",
        ),
        id="sizes that cancel out",
    ),
    pytest.param(
        one("q = Add (p, p) y = Pad (x, q)", initializers="int64[8] p = {0, 0, -1, 1, 0, 0, 1, 0}"),
        one("y = Pad (x, q)", initializers="int64[8] q = {0, 0, -2, 2, 0, 0, 2, 0}"),
        id="crops",
    ),
]


@pytest.mark.parametrize(("before", "after"), FIXED)
def test_fixes(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    result = fixed(before)
    assert_graph(result.model, after)
    assert {c.code for c in result.changes} == {"PAD205"}
    held = {i.name for i in result.model.graph.initializer}
    read = {name for node in result.model.graph.node for name in node.input}
    assert held <= read, "an initializer that nothing reads"
    assert not decided(onnxpad.check(result.model, ignore="PAD6").findings)


SIZED = (
    "s = Shape (x) h = Slice (s, i, j) m = Mod (h, k) d = Sub (k, m) e = Mod (d, k)"
    " q = Concat <axis = 0> (z, z, z, z, z, z, e, z)"
)
SIZED_CONSTANTS = "int64[1] i = {2}, int64[1] j = {3}, int64[1] k = {4}, int64[1] z = {0}"

STAYS = [
    pytest.param(
        one(
            f"{SIZED} y = Pad (x, q)",
            inputs="float[1, 2, height, 8] x",
            initializers=SIZED_CONSTANTS,
        ),
        "its amounts depend on 'height' (axis 2 of input 'x'): on axis 2 the begin is 0 "
        "and the end (-n mod 4), where n is the size it reads. "
        "Pass --shape or --dim",
        id="a size that is open",
    ),
    pytest.param(
        one(
            "h = Shape <start = 2, end = 3> (x) v = Shape <start = 3, end = 4> (x)"
            " q = Concat <axis = 0> (z, z, z, z, z, z, h, v) y = Pad (x, q)",
            inputs="float[1, 2, height, width] x",
            initializers="int64[1] z = {0}",
        ),
        "its amounts depend on 'height' (axis 2 of input 'x') and 'width' (axis 3 of "
        "input 'x'): on axes 2 and 3 the begin is 0 and the end n, where n is the size it reads. "
        "Pass --shape or --dim",
        id="two sizes",
    ),
    pytest.param(
        one(
            "h = Shape <start = 2, end = 3> (x) v = Shape <start = 3, end = 4> (x) m = Mul (h, v)"
            " e = Sub (m, h) q = Concat <axis = 0> (z, z, z, z, z, z, e, z) y = Pad (x, q)",
            inputs="float[1, 2, height, width] x",
            initializers="int64[1] z = {0}",
        ),
        "its amounts depend on open sizes, in a way that onnxpad does not work out. Pass --shape "
        "or --dim",
        id="the product of two sizes",
    ),
    pytest.param(
        one(
            "h = Shape <start = 2, end = 3> (x) n = Neg (h) m = Mod (n, k) b = Div (m, t)"
            " e = Sub (m, b) q = Concat <axis = 0> (z, z, b, z, z, z, e, z) y = Pad (x, q)",
            inputs="float[1, 2, height, 8] x",
            initializers="int64[1] z = {0}, int64[1] k = {16}, int64[1] t = {2}",
        ),
        "its amounts depend on 'height' (axis 2 of input 'x'): on axis 2 the begin is "
        "from 0 to 7 and the end from 0 to 8, where n is the size it reads. "
        "Pass --shape or --dim",
        id="to a multiple, centred",
    ),
    pytest.param(
        one(
            f'{SIZED} p = Pad <mode = "reflect"> (x, q)'
            " y = MaxPool <kernel_shape = [1, 4], strides = [4, 4]> (p)",
            inputs="float[1, 2, height, 8] x",
            initializers=SIZED_CONSTANTS,
        ),
        "its amounts depend on 'height' (axis 2 of input 'x'): on axis 2 the begin is 0 "
        "and the end (-n mod 4), where n is the size it reads. "
        "Pass --shape or --dim",
        id="copies of data",
    ),
    pytest.param(
        one("y = Pad (x, p)", inputs="float[1, 2, 9, 8] x, int64[8] p"),
        "its amounts are known only at run time",
        id="an input of the graph",
    ),
    pytest.param(
        one(
            "m = ReduceMax <keepdims = 0> (x) i = Cast <to = 7> (m) u = Reshape (i, o)"
            " q = Concat <axis = 0> (z, z, z, z, z, z, u, z) y = Pad (x, q)",
            initializers="int64[1] z = {0}, int64[1] o = {1}",
        ),
        "its amounts are known only at run time",
        id="data",
    ),
    pytest.param(
        one(
            "y = Pad (x, p, , s)",
            inputs="float[1, 2, 9, 8] x, int64[2] s",
            initializers="int64[4] p = {1, 2, 3, 4}",
            opset=18,
        ),
        "its amounts are known only at run time",
        id="axes from an input",
    ),
    pytest.param(
        one(
            "y = Pad (x, p, , s)",
            inputs="float[1, 2, 9, 8] x, int64[4] p",
            initializers="int64[2] s = {2, 3}",
            opset=18,
        ),
        "its amounts are known only at run time",
        id="amounts from an input, for axes",
    ),
]


@each_row(("before", "reason"), STAYS, at_once=8)
def test_stays(before: onnx.ModelProto, reason: str) -> None:
    result = onnxpad.fix(before)
    assert not result.changed
    assert [(f.code, f.severity) for f in result.findings] == [("PAD205", "info")]
    assert result.findings[0].reason == reason


QUIET = [
    pytest.param(
        one('y = Pad <mode = "reflect"> (x, pads)', initializers=AMOUNTS), id="an initializer"
    ),
    pytest.param(
        one(
            "pads = Constant <value_ints = [0, 0, 1, 4, 0, 0, 2, 3]> ()"
            ' y = Pad <mode = "reflect"> (x, pads)'
        ),
        id="a Constant",
    ),
    pytest.param(
        one('y = Pad <mode = "reflect", pads = [0, 0, 1, 4, 0, 0, 2, 3]> (x)', opset=9),
        id="an attribute",
    ),
]


@pytest.mark.parametrize("before", QUIET)
def test_says_nothing(before: onnx.ModelProto) -> None:
    result = onnxpad.fix(before)
    assert not result.changed
    assert not decided(result.findings)


def test_what_a_body_reads_stays() -> None:
    before = one(
        """
        q = Add (p, p)
        r = Neg (q)
        a = Pad <mode = "reflect"> (x, q)
        y = If (c) <
            then_branch = t () => (float[A, B, H, V] u) { u = Pad (a, q) },
            else_branch = e () => (float[A, B, H, V] v) { v = Identity (a) }
        >
        """,
        inputs="float[1, 2, 9, 8] x, bool c",
        initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 2, 1}",
    )
    result = fixed(before, runs=False)
    assert [c.code for c in result.changes] == ["PAD205", "PAD205"]
    # The node that was dead before is not this change's to remove.
    assert [n.op_type for n in result.model.graph.node] == ["Add", "Neg", "Pad", "If"]
    assert result.model.graph.node[2].input[1] != "q"
    branches = {a.name: a.g for a in result.model.graph.node[3].attribute}
    amounts, pad = branches["then_branch"].node
    assert list(pad.input) == ["a", amounts.output[0]]
    assert branches["else_branch"] == before.graph.node[3].attribute[1].g
    for branch in (True, False):
        feeds = {**feeds_of(before), "c": np.array(branch)}
        np.testing.assert_array_equal(run(before, feeds)[0], run(result.model, feeds)[0])
