"""Where findings are, and by what a tool knows them again."""

from dataclasses import replace
from hashlib import sha256
from typing import Any

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
    assert len({each.fingerprint for each in found.values()}) == len(found)


def test_a_fingerprint_stays_when_other_things_change() -> None:
    before = {each.location.output: each for each in findings(parsed(MODEL))}
    model = parsed(MODEL)
    del model.graph.node[0]
    model.graph.node[0].input[0] = "x"  # other sizes, too
    model.graph.node[0].name = "a new name"
    after = {each.location.output: each for each in findings(model)}
    assert {*before} - {*after} == {"a"}
    assert after["b"].location.name == "a new name"
    assert all(after[name].fingerprint == before[name].fingerprint for name in after)


def test_a_fingerprint_tells_codes_and_graphs_apart() -> None:
    first, *_ = findings(parsed(MODEL))

    def at(**changes: Any) -> str:
        return replace(first, **changes).fingerprint

    assert at() == at(message="other", reason="words", location=Location((), "renamed", "a"))
    others = {
        at(code="PAD999"),
        at(location=Location(("l", "body"), "named", "a")),
        at(location=Location((), "named", "b")),
        at(location=Location((), "b", "")),
        at(location=Location()),
    }
    assert len(others - {at()}) == 4  # the third and the fourth name one place
    assert first.fingerprint == sha256(f"{first.code}\0a".encode()).hexdigest()[:16]
