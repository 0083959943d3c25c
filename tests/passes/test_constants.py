"""Amounts and fills that come from constants by way of any operator: known, or said not to be."""

import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.support import PADS, W, assert_graph, fixed, one
from tests.support.rows import each_row

FOLDED = one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W, opset=18)

AMOUNTS = {
    "Relu of integers": ("q = Relu (d)", "int64[8] d = {0, -1, 1, 2, -4, 0, 2, 1}"),
    "Relu over sizes": (
        (
            "s = Shape <start = 1> (x) f = Cast <to = 1> (s) d = Sub (f, v) r = Relu (d)"
            " i = Cast <to = 7> (r) q = Gather (i, o)"
        ),
        "float[3] v = {5, 8, 6}, int64[8] o = {0, 0, 1, 2, 0, 0, 2, 1}",
    ),
}


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_are_evaluated(name: str) -> None:
    body, constants = AMOUNTS[name]
    before = one(
        f"{body} a = Pad (x, q) y = Conv (a, w)", initializers=f"{W}, {constants}", opset=18
    )
    assert_graph(fixed(before).model, FOLDED)


FILLS = {
    "half precision": (
        "h = Cast <to = 10> (z) i = Identity (h) c = Cast <to = 1> (i)",
        "float z = {0}",
    ),
}


@pytest.mark.parametrize("name", FILLS)
def test_fills_are_evaluated(name: str) -> None:
    body, constants = FILLS[name]
    before = one(
        f"{body} a = Pad (x, p, c) y = Conv (a, w)",
        initializers=f"{W}, {PADS}, {constants}",
        opset=18,
    )
    assert_graph(fixed(before).model, FOLDED)


NOT_EVALUATED = {
    "drawn": (
        "r = RandomUniform <shape = [8]> () q = Cast <to = 7> (r)",
        "",
    ),
    "rounded in many ways": (
        "r = Exp (e) q = Cast <to = 7> (r)",
        "float[8] e = {0, 0, 1, 1, 0, 0, 1, 1}",
    ),
    "of a fixed size": (
        (
            "s = Shape (x) f = Cast <to = 1> (s) r = Log (f) i = Cast <to = 7> (r)"
            " q = Concat <axis = 0> (i, i)"
        ),
        "",
    ),
    "a branch on a constant": (
        (
            "q = If <then_branch = t () => (int64[8] v) { v = Identity (p) },"
            " else_branch = e () => (int64[8] u) { u = Identity (p) }> (c)"
        ),
        f"{PADS}, bool c = {{1}}",
    ),
    "a branch that reads data": (
        (
            "q = If <then_branch = t () => (int64[8] v) { m = ReduceSum <keepdims = 0> (x)"
            " i = Cast <to = 7> (m) v = Mul (p, i) },"
            " else_branch = e () => (int64[8] u) { u = Identity (p) }> (c)"
        ),
        f"{PADS}, bool c = {{1}}",
    ),
    "of an element of data": (
        "m = ReduceMax <keepdims = 0> (x) i = Cast <to = 7> (m) q = Mul (p, i)",
        PADS,
    ),
}


@each_row("name", NOT_EVALUATED, at_once=8)
def test_what_is_not_evaluated_is_said(name: str) -> None:
    body, constants = NOT_EVALUATED[name]
    before = one(f"{body} y = Pad (x, q)", initializers=constants, opset=18)
    result = onnxpad.fix(before, validate=False)
    assert not result.changed
    assert [finding.reason_code for finding in result.findings] == [Reason.AMOUNTS_UNKNOWN]


def test_what_a_caller_may_override_is_not_evaluated() -> None:
    before = one(
        "q = Relu (p) y = Pad (x, q)", inputs="float[1, 2, 9, 8] x, int64[8] p", initializers=PADS
    )
    result = onnxpad.fix(before, validate=False)
    assert not result.changed


def test_a_fill_that_is_not_evaluated_is_said() -> None:
    before = one(
        "c = Exp (e) a = Pad (x, p, c) y = Conv (a, w)",
        initializers=f"{W}, {PADS}, float e = {{1}}",
    )
    (finding,) = onnxpad.fix(before, validate=False).findings
    assert finding.reason_code == Reason.FILL_UNKNOWN
