"""What initializers that are also inputs decide, where a caller may override them or not."""

import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.finding import Assumption
from onnxpad.graph import Graph
from tests.support import PADS, W, assert_graph, one

X = "float[1, 2, 9, 8] x"
CONV = "y = Conv (a, w)"
T = "float[2, 1, 3, 3] t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}"
SIZES = "int64[4] s = {1, 2, 8, 9}"
FOLDED = one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W)
SAME = 'auto_pad = "SAME_UPPER", strides = [2, 2]'
CASES = {
    "amounts": (f"a = Pad (x, p) {CONV}", "int64[8] p", f"{W}, {PADS}", FOLDED),
    "what amounts are computed from": (
        f"q = Cast <to = 7> (p) a = Pad (x, q) {CONV}",
        "int32[8] p",
        f"{W}, {PADS}".replace("int64", "int32"),
        FOLDED,
    ),
    "the value": (
        f"a = Pad (x, p, v) {CONV}",
        "float v",
        f"{W}, {PADS}, float v = {{0}}",
        FOLDED,
    ),
    "in a body": (
        (
            "y = If (c) <then_branch = t () => (float[] z) { a = Pad (x, p) z = Conv (a, w) },"
            " else_branch = e () => (float[] u) { u = Conv <pads = [1, 2, 2, 1]> (x, w) }>"
        ),
        "bool c, int64[8] p",
        f"{W}, {PADS}",
        one(
            "y = If (c) <then_branch = t () => (float[] z) { z = Conv <pads = [1, 2, 2, 1]> (x, w)"
            " }, else_branch = e () => (float[] u) { u = Conv <pads = [1, 2, 2, 1]> (x, w) }>",
            inputs=f"{X}, bool c",
            initializers=W,
        ),
    ),
    "sizes": (
        f"a = Reshape (x, s) y = Conv <{SAME}> (a, w)",
        "int64[4] s",
        f"{W}, {SIZES}",
        one(
            "a = Reshape (x, s) y = Conv <pads = [0, 1, 1, 1], strides = [2, 2]> (a, w)",
            inputs=f"{X}, int64[4] s",
            initializers=f"{W}, {SIZES}",
        ),
    ),
    "bounds of a crop": (
        "a = ConvTranspose (x, t) y = Slice (a, s, e, d)",
        "int64[2] s",
        f"{T}, int64[2] s = {{1, 0}}, int64[2] e = {{9, 9}}, int64[2] d = {{2, 3}}",
        one("y = ConvTranspose <pads = [1, 0, 2, 1]> (x, t)", initializers=T),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_defaults_are_constants_only_if_trusted(name: str) -> None:
    body, inputs, constants, after = CASES[name]
    before = one(body, inputs=f"{X}, {inputs}", initializers=constants)
    kept = onnxpad.fix(before)
    assert not kept.changed
    (finding,) = kept.findings
    assert finding.reason_code == ("size-dependent" if name == "sizes" else "overridable")
    assert finding.evidence["options"] == ("--trust initializers",)
    assert kept.next is not None
    assert kept.next.keywords == {"trust": "initializers"}

    result = onnxpad.fix(before, trust="initializers")
    assert result.validation is not None
    assert result.validation.outcome == "passed"
    assert_graph(result.model, after)
    assert [each.name for each in result.model.graph.input] == [
        each.name for each in after.graph.input
    ]
    (change,) = result.changes
    assert change.certificate.assumptions == (Assumption.TRUSTS_INITIALIZERS,)
    assert not onnxpad.fix(before, trust="initializers", strict=True).changed


def test_what_is_trusted_is_told_by_all_that_read() -> None:
    body, inputs, constants, _ = CASES["amounts"]
    before = one(body, inputs=f"{X}, {inputs}", initializers=constants)
    (site,) = onnxpad.show(before).sites
    assert [each.pads for each in site.outer] == [None]
    (site,) = onnxpad.show(before, trust="initializers").sites
    assert site.pads == (1, 2, 2, 1)
    assert [each.fixable for each in onnxpad.check(before, trust="initializers").findings] == [True]
    with pytest.raises(UsageError):
        onnxpad.show(before, trust="everyone")


def test_trust_is_taken_back_with_all_edits() -> None:
    body, inputs, constants, _ = CASES["amounts"]
    graph = Graph.from_proto(one(body, inputs=f"{X}, {inputs}", initializers=constants))
    p = graph.tensor("p")
    mark = graph.mark()
    assert graph.constant(p) is None
    graph.take_defaults()
    assert graph.constant(p) is not None
    assert not graph.is_fixed(p)
    assert graph.pristine().constant(p) is not None
    graph.rollback(mark)
    assert graph.constant(p) is None
    assert [*graph.inputs] == ["x", "p"]
    assert not graph.model.changed


def test_weights_that_are_inputs_stay_so() -> None:
    body, inputs, constants, after = CASES["amounts"]
    before = one(body, inputs=f"{X}, {inputs}, float[3, 2, 3, 3] w", initializers=constants)
    result = onnxpad.fix(before, trust="initializers")
    assert [each.name for each in result.model.graph.input] == ["x", "w"]
    after.graph.input.append(before.graph.input[2])
    assert_graph(result.model, after)
