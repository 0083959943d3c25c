"""Where findings are."""

import onnx

import onnxpad
from onnxpad.finding import Finding, Location
from tests.support import PADS, W, parsed

SAME = 'auto_pad = "SAME_UPPER", strides = [2, 2]'
MODEL = f"""
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
agraph (float[1, 1, h, w] x, bool c) => (y)
<{W}, {PADS}>
{{
    [named] a = Conv <{SAME}> (x, w)
    b = MaxPool <kernel_shape = [2, 2], {SAME}> (a)
    [choice] d = If (c) <
        then_branch = then () => (t) {{ [inner] t = MaxPool <kernel_shape = [2, 2], {SAME}> (b) }},
        else_branch = other () => (e) {{ e = MaxPool <kernel_shape = [3, 3], {SAME}> (b) }}
    >
    f = Pad <mode = "reflect"> (d, p)
    y = own.twice (f)
}}
<domain: "own", opset_import: ["" : 17]>
twice (u) => (v) {{ v = MaxPool <kernel_shape = [2, 2], {SAME}> (u) }}
"""


def findings(model: onnx.ModelProto) -> tuple[Finding, ...]:
    return onnxpad.check(model).findings


def test_a_finding_has_the_place_of_its_node() -> None:
    found = {each.location: each for each in findings(parsed(MODEL))}
    assert {*found} == {
        Location((), "named", "a"),
        Location((), "", "b"),
        Location(("choice", "then_branch"), "inner", "t"),
        Location(("choice", "else_branch"), "", "e"),
        Location((), "", "f"),
        Location(("own::twice",), "", "v"),
    }
