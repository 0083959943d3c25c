"""Models that differ in the layout of their inputs are compared as if they had the same one."""

from typing import Any

import pytest

import onnxpad
from onnxpad.validation.align import Moved, likeliest
from tests.support import parsed
from tests.support.rows import each_row


@each_row(
    ("shape", "other", "moved"),
    [
        ((1, 8, 9, 3), (1, 3, 8, 9), Moved.FIRST),
        ((1, 3, 8, 9), (1, 8, 9, 3), Moved.LAST),
        (("n", "h", "w", 3), ("n", 3, "h", "w"), Moved.FIRST),
        (("n", "h", "w", 3), (1, 3, 8, 9), Moved.FIRST),
        (("n", "h", "w", 3), ("n", 8, 9, "c"), None),
        ((1, 3, 3, 3), (1, 3, 3, 3), None),
        ((1, 8, 9, 3), (1, 8, 9, 4), None),
        ((1, 8, 9, 3), (1, 3, 9, 8), None),
        ((1, 3), (3, 1), None),
        ((1, 3, 8), (1, 3, 8, 1), None),
    ],
)
def test_where_channels_are_moved(shape: Any, other: Any, moved: Moved | None) -> None:
    assert likeliest(shape, other)[0] is moved


WEIGHT = "float[2, 3, 3, 3] w = {" + ", ".join(map(str, range(54))) + "}"
CONV = "y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)"
LAST = "t = Transpose <perm = [0, 3, 1, 2]> (x) u = {} p = Transpose <perm = {}> (u) q = Neg (p)"


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ("8, 9", "[]"),
        ("h, w", "[a, b, c, d]"),
        ("6, 6", "[1, b, c, 2]"),
        ("3, 4", "[?, ?, ?, ?]"),  # 2x2x2
    ],
)
@pytest.mark.parametrize(
    ("pads", "back", "agree"),
    [
        ("1, 1, 1, 1", "0, 2, 3, 1", True),
        ("0, 0, 1, 1", "0, 2, 3, 1", False),
        ("0, 0, 2, 2", "0, 2, 3, 1", False),
        ("1, 1, 1, 1", "0, 3, 2, 1", False),  # no layout
    ],
)
def test_inputs_and_outputs_with_channels_last(
    size: str, shape: str, pads: str, back: str, agree: bool
) -> None:
    ports = f"(float[1, 3, {size}] x) => (float[] y, float[] z)"
    first = parsed(f"g {ports} <{WEIGHT}> {{ {CONV} z = Neg (y) }}")
    body = LAST.format(f"Conv <pads = [{pads}], strides = [2, 2]> (t, w)", f"[{back}]")
    ports = f"(float[1, {size}, 3] x) => (float{shape} p, float{shape} q)"
    models = [first, parsed(f"g {ports} <{WEIGHT}> {{ {body} }}")]
    found = [onnxpad.validate(*pair) for pair in (models, models[::-1])]
    assert [each.ok for each in found] == [agree, agree]
    assert not any(each.divergence and each.divergence.operands for each in found), "of a Transpose"


@each_row(
    ("sizes", "pads", "agree"),
    [
        (("?, ?, ?, ?", "?, ?, ?, ?"), "1, 1, 1, 1", True),
        (("n, c, h, w", "n, h, w, c"), "1, 1, 1, 1", True),
        (("n, c, h, w", "n, i, j, k"), "0, 0, 2, 2", False),
        (("n, a, b, c", "n, a, b, c"), "1, 1, 1, 1", False),  # names tell it
        (("1, 3, 3, 3", "1, 3, 3, 3"), "1, 1, 1, 1", False),  # both run
        (("1, a, b, c", "n, d, e, f"), "1, 1, 1, 1", True),
        (("1, 3, a, b", "1, 3, a, b"), "1, 1, 1, 1", False),  # contradicts the Transpose
    ],
)
def test_where_sizes_tell_no_layout_each_is_tried(
    sizes: tuple[str, str], pads: str, agree: bool
) -> None:
    first = parsed(f"g (float[{sizes[0]}] x) => (float[] y) <{WEIGHT}> {{ {CONV} }}")
    body = f"t = Transpose <perm = [0, 3, 1, 2]> (x) u = {CONV[4:]} "
    body = body.replace("(x, w)", "(t, w)").replace("1, 1, 1, 1", pads)
    body += "y = Transpose <perm = [0, 2, 3, 1]> (u)"
    other = parsed(f"g (float[{sizes[1]}] x) => (float[] y) <{WEIGHT}> {{ {body} }}")
    assert onnxpad.validate(first, first).ok
    assert [onnxpad.validate(*pair).ok for pair in ((first, other), (other, first))] == [agree] * 2


@each_row(
    ("first", "last", "agree"),
    [
        ("y = GlobalMaxPool (x)", "y = ReduceMax <axes = [1, 2]> (x)", True),
        ("y = Flatten (x)", "t = Transpose <perm = [0, 3, 1, 2]> (x) y = Flatten (t)", True),
        ("y = Flatten (x)", "y = Flatten (x)", False),
        ("y = Neg (x)", "t = Transpose <perm = [0, 3, 1, 2]> (x) y = Neg (t)", True),
        ("y = Neg (x)", "t = Transpose <perm = [0, 2, 1, 3]> (x) y = Neg (t)", False),
    ],
)
def test_outputs_of_other_forms(first: str, last: str, agree: bool) -> None:
    ours = parsed(f"g (float[1, 2, 4, 4] x) => (float[] y) {{ {first} }}")
    theirs = parsed(f"g (float[1, 4, 4, 2] x) => (float[] y) {{ {last} }}")
    assert onnxpad.validate(ours, theirs).ok is agree


def test_a_body_reads_the_input() -> None:
    then = "b () => (float[i, j, k, l] e) { e = Neg (x) }"
    other = "o () => (float[i, j, k, l] f) { f = Abs (x) }"
    both = f"y = If (c) <then_branch = {then}, else_branch = {other}>"
    first = parsed(f"g (float[1, 2, 4, 5] x, bool c) => (float[1, 2, 4, 5] y) {{ {both} }}")
    last = parsed(f"g (float[1, 4, 5, 2] x, bool c) => (float[1, 4, 5, 2] y) {{ {both} }}")
    assert onnxpad.validate(first, last).ok


def test_an_output_alone_is_not_moved() -> None:
    first = parsed("g (float[1, 2, 4, 5] x) => (float[1, 2, 4, 5] y) { y = Neg (x) }")
    last = "u = Neg (x) y = Transpose <perm = [0, 2, 3, 1]> (u)"
    other = parsed(f"g (float[1, 2, 4, 5] x) => (float[1, 4, 5, 2] y) {{ {last} }}")
    assert not onnxpad.validate(first, other).ok
