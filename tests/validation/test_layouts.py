"""Models that differ in the layout of their inputs are compared as if they had the same one."""

from typing import Any

import pytest

import onnxpad
from onnxpad.validation.align import Moved
from onnxpad.validation.layouts import moved_to
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
    assert moved_to(shape, other) is moved


WEIGHT = "float[2, 3, 3, 3] w = {" + ", ".join(map(str, range(54))) + "}"
CONV = "y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)"
LAST = "t = Transpose <perm = [0, 3, 1, 2]> (x) u = {} y = Transpose <perm = [0, 2, 3, 1]> (u)"
FIRST = parsed(f"g (float[1, 3, 8, 9] x) => (float[1, 2, 4, 5] y) <{WEIGHT}> {{ {CONV} }}")


@pytest.mark.parametrize("size", ["8, 9", "h, w"])
@pytest.mark.parametrize(("pads", "agree"), [("1, 1, 1, 1", True), ("0, 0, 1, 1", False)])
def test_inputs_and_outputs_with_channels_last(size: str, pads: str, agree: bool) -> None:
    conv = f"Conv <pads = [{pads}], strides = [2, 2]> (t, w)"
    ports = f"(float[1, {size}, 3] x) => (float[1, o, p, 2] y)"
    found = onnxpad.validate(FIRST, parsed(f"g {ports} <{WEIGHT}> {{ {LAST.format(conv)} }}"))
    assert found.ok == agree
    assert len([note for note in found.validation.notes if "transposed" in note]) == 2
    assert found.divergence is None


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
