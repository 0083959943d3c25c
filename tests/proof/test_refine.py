"""What is proved of pairs of graphs: equal ones, ones with one thing wrong, and by which rule.

onnxruntime says of each pair whether it is equal, so nothing here is refused that need not be, and
nothing accepted that must not.
"""

from itertools import chain

import onnx
import pytest

from onnxpad.finding import Trust
from onnxpad.proof import refine as refining
from onnxpad.proof.term import DiffersError
from tests.proof.bodies import model
from tests.proof.pairs import codes, refined
from tests.support import feeds_of, ran, run
from tests.support.rows import each_row


def differences(before: onnx.ModelProto, after: onnx.ModelProto) -> list[int]:
    """Sizes of the open axes at which the first has an answer, and the second another."""
    different = []
    for size in range(1, 13):
        feeds = feeds_of(before, seed=size, size=size)
        wanted, found = ran(before, feeds), ran(after, feeds)
        if isinstance(wanted, str):
            continue
        if isinstance(found, str) or any(
            one.shape != other.shape or one.tolist() != other.tolist()
            for one, other in zip(wanted, found, strict=True)
        ):
            different.append(size)
    return different


NHWC = "Transpose <perm = [0, 2, 1]>"
EQUAL = [
    ("a = Pad (s, p_1_2_2_1) y = Conv (a, w)", "y = Conv <pads = [1, 2, 2, 1]> (s, w)"),
    (("a = Pad (s, p_1_2_0_0) i = Identity (a) b = Pad (i, p_0_1_2_0) y = Conv <pads = [1, 0, 0,"
      " 0]> (b, w)"), "y = Conv <pads = [2, 3, 2, 0]> (s, w)"),
    ("a = Pad (s, p_3_2_0_1) b = Pad (a, p_m2_1_0_m1) y = Conv (b, w)",
     "y = Conv <pads = [1, 3, 0, 0]> (s, w)"),
    ('y = Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w2)',
     "y = Conv <pads = [0, 1], strides = [2]> (x, w2)"),
    ('y = Conv <auto_pad = "SAME_LOWER", strides = [2]> (x, w3)',
     "y = Conv <pads = [1, 1], strides = [2]> (x, w3)"),
    ("y = Conv <strides = [2, 1]> (s, w)",
     "y = Conv <pads = [0, 0, 1, 0], strides = [2, 1]> (s, w)"),
    (("z = Shape <start = 2> (x) m = Mod (z, i_2) d = Sub (m, i_1) c = Concat <axis = 0> (none2,"
      " i_0, none2, d) a = Pad (x, c) y = MaxPool <kernel_shape = [1], strides = [2]> (a)"),
     "y = MaxPool <kernel_shape = [1], strides = [2]> (x)"),
    ("y = MaxPool <ceil_mode = 1, kernel_shape = [4], strides = [4]> (x)",
     "y = MaxPool <kernel_shape = [4], pads = [0, 3], strides = [4]> (x)"),
    ("a = Pad (x, p_1_2) y = AveragePool <kernel_shape = [3]> (a)",
     "y = AveragePool <count_include_pad = 1, kernel_shape = [3], pads = [1, 2]> (x)"),
    ("a = Pad (x, p_0_1) y = AveragePool <ceil_mode = 1, kernel_shape = [3], strides = [2]> (a)",
     ("y = AveragePool <ceil_mode = 1, count_include_pad = 1, kernel_shape = [3], pads = [0, 1],"
      " strides = [2]> (x)")),
    ("a = Pad (s, p_1_2_0_1) y = Pad (a, p_2_0_1_m1)", "y = Pad (s, p_3_2_1_0)"),
    ('c = Add (p_1_2_0_1, p_1_2_0_1) y = Pad <mode = "edge"> (s, c)',
     'y = Pad <mode = "edge"> (s, p_2_4_0_2)'),
    (f"a = {NHWC} (x) b = {NHWC} (a) y = Conv <pads = [1, 1]> (b, w3)",
     f"a = {NHWC} (x) b = {NHWC} (a) c = Pad (b, p_1_1) y = Conv (c, w3)"),
    ('y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [1], strides = [2]> (small)',
     "y = MaxPool <kernel_shape = [1], strides = [2]> (small)"),
    ("a = Pad (small, p_1_2, least8) y = MaxPool <kernel_shape = [3]> (a)",
     "y = MaxPool <kernel_shape = [3], pads = [1, 2]> (small)"),
]  # fmt: skip


@each_row(("before", "after"), EQUAL)
def test_equal_ones_are_proved_both_ways(before: str, after: str) -> None:
    one, other = model(before), model(after)
    assert not differences(one, other)
    assert not refined(one, other).assumptions
    assert not refined(other, one).assumptions


POOL = "y = MaxPool <kernel_shape = [3]> (a)"
FINITE = [
    *(
        (f"a = Pad (x, p_1_2, {low}) {POOL}", "y = MaxPool <kernel_shape = [3], pads = [1, 2]> (x)")
        for low in ("low", "lowest")
    ),
    (f"n = Relu (x) a = Pad (n, p_1_2) {POOL}",
     "n = Relu (x) y = MaxPool <kernel_shape = [3], pads = [1, 2]> (n)"),
    *(
        (
            f'y = MaxPool <auto_pad = "{same}", kernel_shape = [1], strides = [2]> (x)',
            "y = MaxPool <kernel_shape = [1], strides = [2]> (x)",
        )
        for same in ("SAME_UPPER", "SAME_LOWER")
    ),
]  # fmt: skip


@each_row(("before", "after"), FINITE)
def test_finite_data_is_named(before: str, after: str) -> None:
    one, other = model(before), model(after)
    assert not differences(one, other)
    assert codes(refined(one, other).assumptions) == ["finite-data"]


FOLDED = "a = Pad (s, p_1_2_2_0) y = Conv (a, w)"
WRONG = {
    "begin and end swapped": (FOLDED, "y = Conv <pads = [2, 0, 1, 2]> (s, w)"),
    "axes swapped": (FOLDED, "y = Conv <pads = [2, 1, 0, 2]> (s, w)"),
    "one too many": (FOLDED, "y = Conv <pads = [1, 2, 2, 1]> (s, w)"),
    "another weight": ("y = Conv (s, w)", "y = Conv (s, v)"),
    "dilation lost": (
        "y = Conv <dilations = [2, 1], pads = [2, 2, 2, 2]> (s, w)",
        "y = Conv <pads = [1, 2, 1, 2]> (s, w)",
    ),
    "another kernel": (
        "y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (s)",
        "y = MaxPool <kernel_shape = [2, 3], pads = [1, 1, 0, 1]> (s)",
    ),
    "another stride": ("y = Conv <strides = [3, 1]> (s, w)", "y = Conv <strides = [2, 1]> (s, w)"),
    "another norm": (
        "y = LpPool <kernel_shape = [3, 3], p = 1> (s)",
        "y = LpPool <kernel_shape = [3, 3], p = 2> (s)",
    ),
    "another operator": (
        "y = MaxPool <kernel_shape = [3, 3]> (s)",
        "y = LpPool <kernel_shape = [3, 3]> (s)",
    ),
    "another group": ("y = ConvTranspose (x, t)", "y = ConvTranspose <group = 2> (x, t)"),
    "another tensor is read": ("n = Neg (s) y = Conv (n, w)", "n = Neg (s) y = Conv (s, w)"),
    "another operand": ("n = Sub (x, two) y = Conv (n, w1)", "n = Sub (two, x) y = Conv (n, w1)"),
    "a crop lost": (
        "a = Pad (s, p_m1_0_0_0) y = Conv <pads = [1, 0, 0, 0]> (a, w)",
        "y = Conv (s, w)",
    ),
    "another fill": (
        "a = Pad (s, p_1_2_2_0, one) y = Conv (a, w)",
        "y = Conv <pads = [1, 2, 2, 0]> (s, w)",
    ),
    "data that may be below 0": (
        f"a = Pad (x, p_1_2) {POOL}",
        "y = MaxPool <kernel_shape = [3], pads = [1, 2]> (x)",
    ),
    "data that may be below the fill": (
        f"n = Relu (x) a = Pad (n, p_1_2, one) {POOL}",
        "n = Relu (x) y = MaxPool <kernel_shape = [3], pads = [1, 2]> (n)",
    ),
    "count_include_pad forgotten": (
        "a = Pad (x, p_1_2) y = AveragePool <kernel_shape = [3]> (a)",
        "y = AveragePool <kernel_shape = [3], pads = [1, 2]> (x)",
    ),
    "what was not counted counts": (
        "a = Pad (x, p_1_2) y = AveragePool <kernel_shape = [3], pads = [1, 0]> (a)",
        "y = AveragePool <count_include_pad = 1, kernel_shape = [3], pads = [2, 2]> (x)",
    ),
    "ceil_mode drops a window": (
        ("a = Pad (short, p_1_1, low) y = MaxPool <ceil_mode = 1, kernel_shape = [2], strides ="
         " [2]> (a)"),
        "y = MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [1, 1], strides = [2]> (short)",
    ),
    "ceil_mode drops a window at some sizes": (
        "a = Pad (x, p_0_1) y = AveragePool <ceil_mode = 1, kernel_shape = [2], strides = [2]> (a)",
        ("y = AveragePool <ceil_mode = 1, count_include_pad = 1, kernel_shape = [2], pads = [0,"
         " 1], strides = [2]> (x)"),
    ),
    "equal from size 5 on": (
        "y = MaxPool <ceil_mode = 1, kernel_shape = [6], strides = [2]> (x)",
        "y = MaxPool <kernel_shape = [6], pads = [0, 1], strides = [2]> (x)",
    ),
    "equal from size 4 on, where no window lies in the padding": (
        "a = Pad (x, p_1_1, low) y = MaxPool <dilations = [4], kernel_shape = [2]> (a)",
        "y = MaxPool <dilations = [4], kernel_shape = [2], pads = [1, 1]> (x)",
    ),
    "integers below the fill": (
        "m = Max (small, three8) a = Pad (m, p_1_1, four8) y = MaxPool <kernel_shape = [2]> (a)",
        "m = Max (small, three8) y = MaxPool <kernel_shape = [2], pads = [1, 1]> (m)",
    ),
    "integers that are at least 3, and a window that reads only the padding": (
        ("m = Max (two8, three8) a = Pad (m, p_1_1, three8) y = MaxPool <kernel_shape = [2],"
         " dilations = [3]> (a)"),
        ("m = Max (two8, three8) y = MaxPool <kernel_shape = [2], dilations = [3], pads = [1, 1]>"
         " (m)"),
    ),
    "SAME_UPPER at every other size": (
        'y = Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w3)',
        "y = Conv <pads = [0, 1], strides = [2]> (x, w3)",
    ),
    "an end that fits one window more": (
        'y = Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w2)',
        "y = Conv <pads = [0, 2], strides = [2]> (x, w2)",
    ),
    "indices of another tensor": (
        ("a = Pad (s, p_1_2_2_1, low) z, i = MaxPool <kernel_shape = [3, 3]> (a) y = Cast <to ="
         " 1> (i)"),
        "z, i = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (s) y = Cast <to = 1> (i)",
    ),
    "another mode": (
        'y = Pad <mode = "edge"> (s, p_1_2_2_1)',
        'y = Pad <mode = "reflect"> (s, p_1_2_2_1)',
    ),
    "sides of a copy swapped": (
        'y = Pad <mode = "edge"> (s, p_1_2_2_1)',
        'y = Pad <mode = "edge"> (s, p_2_1_1_2)',
    ),
    "another value": ("y = Pad (x, p_1_2, one)", "y = Pad (x, p_1_2, two)"),
    "another value, though no sign shows": (
        "a = Pad (x, p_1_2, one) y = Conv (a, w2)",
        "a = Pad (x, p_1_2, two) y = Conv (a, w2)",
    ),
    "a crop lost between Pads": (
        "a = Pad (s, p_m1_2_0_1) y = Pad (a, p_1_0_1_0)",
        "y = Pad (s, p_0_2_1_1)",
    ),
    "another value that only run time knows": ("y = Pad (x, p_1_2, f)", "y = Pad (x, p_1_2, g)"),
    **{
        told: (
            f'a = Pad <mode = "{mode}"> (s, p_1_1_1_1) {given} = MaxPool <{kernel}> (a){then}',
            f"{given} = MaxPool <{kernel}, pads = [1, 1, 1, 1]> (s){then}",
        )
        for told, mode, kernel, given, then in (
            ("a copy without its original", "edge", "kernel_shape = [2, 2], dilations = [2, 2]",
             "y", ""),
            ("a mirrored element alone", "reflect", "kernel_shape = [2, 3]", "y", ""),
            ("an element of the other end", "wrap", "kernel_shape = [3, 3]", "y", ""),
            ("positions of copies", "edge", "kernel_shape = [3, 3]", "z, i",
             " y = Cast <to = 1> (i)"),
        )
    },
    **{
        f"copies, with {told} behind a Pad": (
            ('a = Pad <mode = "edge"> (x, p_1_1) m = MaxPool <kernel_shape = [3]> (a)'
            " y = Pad (m, p_1_2)"),
            f"m = MaxPool <kernel_shape = [3], {pads}> (x) y = Pad (m, {behind})",
        )
        for told, pads, behind in (
            ("other windows", "pads = [0, 2]", "p_1_2"),
            ("other amounts", "pads = [1, 1]", "p_2_1"),
        )
    },
    "copies in a sum": (
        'a = Pad <mode = "edge"> (x, p_1_1) y = Conv (a, w3)', "y = Conv <pads = [1, 1]> (x, w3)"
    ),
    "one branch of a Concat": (
        "a = Pad (x, p_1_1) y = Concat <axis = 1> (a, a)",
        "a = Pad (x, p_1_1) b = Pad (x, p_2_0) y = Concat <axis = 1> (a, b)",
    ),
    "another order of branches": (
        "n = Neg (x) a = Concat <axis = 0> (x, n) y = Conv <pads = [1, 1]> (a, t22)",
        "n = Neg (x) a = Concat <axis = 0> (n, x) y = Conv <pads = [1, 1]> (a, t22)",
    ),
}  # fmt: skip


@each_row(("before", "after"), [pytest.param(*pair, id=name) for name, pair in WRONG.items()])
def test_one_thing_wrong_is_refused(before: str, after: str) -> None:
    one, other = model(before), model(after)
    assert differences(one, other)
    with pytest.raises(DiffersError):
        refined(one, other)


SLICED = "b = Slice (short, i_0, e, i_2)"
AVERAGE = "com.microsoft.QLinearAveragePool <strides = [1]"
# What onnxruntime shows at no size, or not in numbers that are compared as numbers.
UNPROVED = [
    *(
        (f"{SLICED} a = Pad (b, p_1_1) y = {op}Pool <kernel_shape = [2]> (a)",
         f"{SLICED} y = {op}Pool <kernel_shape = [2], pads = [1, 1]{also}> (b)")
        for op, also in (("Average", ", count_include_pad = 1"), ("Lp", ""), ("Max", ""))
    ),
    ("a = Pad (x, p_1_1, minus) y = AveragePool <kernel_shape = [2]> (a)",
     "y = AveragePool <kernel_shape = [2], pads = [1, 1], count_include_pad = 1> (x)"),
    ("n = Relu (x) a = Pad (n, p_1_1, minus) y = MaxPool <kernel_shape = [2]> (a)",
     "n = Relu (x) y = MaxPool <kernel_shape = [2], pads = [1, 1]> (n)"),
    ("y = Pad (x, p_1_1, minus)", "y = Pad (x, p_1_1, zero)"),
    ("y = Pad (x, q, minus)", "y = Pad (x, q, zero)"),
    *(
        (
            f"a = Pad (bytes, p_0_1, nine) y = {AVERAGE}, {told}> (a, scale, nine, unit, three)",
            (
                f"y = {AVERAGE}, {told}, pads = [0, 1], count_include_pad = 1>"
                " (bytes, scale, nine, unit, three)"
            ),
        )
        for told in ("kernel_shape = [2]", "kernel_shape = [2], channels_last = 0")
    ),
    ("b = Reshape (flat, r) y = Identity (b)", "b = Reshape (flat, r) y = Pad (b, none3)"),
    ("y = Conv (x, w3)", "y = Conv <strides: ints = []> (x, w3)"),
    ("y = Conv (x, w3)", 'y = Conv <auto_pad = "VALID", pads = [0, 0]> (x, w3)'),
    ("y, i = MaxPool <kernel_shape = [2]> (x)", "y = MaxPool <kernel_shape = [2]> (x)"),
]  # fmt: skip


@each_row(("before", "after"), UNPROVED)
def test_what_may_differ_is_not_proved(before: str, after: str) -> None:
    with pytest.raises(DiffersError):
        refined(model(before), model(after))


BRANCHES = (
    "y = If (yes) <then_branch = h () => (float[] c) { c = Conv (a, w2) },"
    " else_branch = j () => (float[] d) { d = Neg (x) }>"
)


@each_row(
    ("readers", "is_lost"),
    [
        ("y = Conv (a, w2)", True),
        ("y = LpPool <kernel_shape = [2]> (a)", True),
        ("h = Mul (half, a) y = Conv (h, w2)", False),
        ("y = Neg (a)", False),
        ("n = Div (half, a) y = Conv (n, w2)", False),
        ("n = Reciprocal (a) y = Conv (n, w2)", False),
        ("n = MaxPool <kernel_shape = [2]> (a) y = Conv (n, w2)", False),
        ("n = AveragePool <kernel_shape = [2]> (a) y = Conv (n, w2)", False),
        ("y = Conv (x, a)", False),
        (BRANCHES, False),
    ],
    at_once=8,
)
def test_the_sign_of_a_zero_that_is_filled_in(readers: str, is_lost: bool) -> None:
    before, after = (model(f"a = Pad (x, p_1_2{fill}) {readers}") for fill in (", minus", ""))
    if not is_lost:
        with pytest.raises(DiffersError):
            refined(before, after, "a")
        return
    assert refined(before, after, "a").rule == refining.LOST_SIGN
    for size in (2, 3, 8):
        feeds = feeds_of(before, size=size)
        (one,), (other,) = run(before, feeds), run(after, feeds)
        assert one.tobytes() == other.tobytes()


RULES = {
    "same": ("a = Pad (x, p_1_1) y = Relu (a)", "a = Relu (x) y = Pad (a, p_1_1)"),
    "scattered": (
        "y = ConvTranspose <pads = [0, -1], strides = [2]> (x, t)",
        "y = ConvTranspose <output_padding = [1], strides = [2]> (x, t)",
    ),
    "copied": (
        ('b = Pad (s, p_0_1_0_0) a = Pad <mode = "reflect"> (b, p_0_0_0_1)'
        " y = MaxPool <kernel_shape = [1, 3], strides = [1, 2]> (a)"),
        ("b = Pad (s, p_0_1_0_0) y = MaxPool <kernel_shape = [1, 3], pads = [0, 0, 0, 1],"
        " strides = [1, 2]> (b)"),
    ),
    "windows": (
        "a = Pad (x, p_1_1) c = Conv (a, w3) y = Sigmoid (c)",
        "c = Conv <pads = [1, 1]> (x, w3) y = Sigmoid (c)",
    ),
}  # fmt: skip
"""A pair for each rule that decides; where operands differ, it is the one that decides there."""


@each_row(("rule", "before", "after"), [(rule, *pair) for rule, pair in RULES.items()])
def test_the_rule_that_decides(rule: str, before: str, after: str) -> None:
    output = "z" if "z =" in before else "y"
    equal = refined(model(before, output=output), model(after, output=output))
    assert equal.rule == rule
    assert equal.facts.get("repair", False) == (rule == "scattered")


def test_steps_over_equal_operands_may_lose_a_sign() -> None:
    """Both the operand and the padding around the step differ, each in a way that is proved."""
    behind = f"n = {NHWC} (c) y = Pad (n, p_1_1, {{}}) z = Conv (y, w2)"
    steps = ("c = Conv <pads = [1, 1]> (x, t22)", "a = Pad (x, p_1_1) c = Conv (a, t22)")
    behind = behind.replace(f"{NHWC} (c)", "Transpose <perm = [0, 1, 2]> (c)")
    before = model(f"{steps[0]} {behind.format('minus')}", output="z")
    after = model(f"{steps[1]} {behind.format('zero')}", output="z")
    assert refined(before, after).rule == refining.LOST_SIGN
    wrong = model(f"{steps[1]} {behind.format('one')}", output="z")
    with pytest.raises(DiffersError):
        refined(before, wrong)


def test_the_rules_and_their_order() -> None:
    rules = chain.from_iterable(refining.RULES.values())
    assert [rule.__name__ for rule in rules] == [
        "scattered", "steps", "copied", "windows",
    ]  # fmt: skip


TWICE = 'y = Conv <auto_pad = "SAME_UPPER", pads = [1, 1]> (x, w3)'
POOLED = 'y = LpPool <auto_pad = "SAME_UPPER", kernel_shape = [1], strides = [5]> (x)'


@each_row(
    ("before", "after", "trust", "told"),
    [
        (POOLED, "y = LpPool <kernel_shape = [1], strides = [5]> (x)", None, None),
        (POOLED, "y = LpPool <kernel_shape = [1], strides = [5]> (x)", Trust.SPEC, "trusts-spec"),
        (POOLED, "y = LpPool <kernel_shape = [1], strides = [5]> (x)", Trust.RUNTIME, None),
        (TWICE, "y = Conv <pads = [1, 1]> (x, w3)", None, ""),
        (TWICE, "y = Conv <pads = [1, 2]> (x, w3)", None, None),
        (
            'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [4]> (x, t)',
            "y = ConvTranspose <strides = [4]> (x, t)",
            Trust.RUNTIME,
            "trusts-onnxruntime",
        ),
        (
            'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [4]> (x, t)',
            "y = ConvTranspose <strides = [4]> (x, t)",
            Trust.SPEC,
            None,
        ),
    ],
)
def test_whose_reading_counts(
    before: str, after: str, trust: Trust | None, told: str | None
) -> None:
    if told is None:
        with pytest.raises(DiffersError):
            refined(model(before), model(after), trust=trust)
        return
    assert codes(refined(model(before), model(after), trust=trust).assumptions) == told.split()
