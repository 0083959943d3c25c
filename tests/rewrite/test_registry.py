"""`--select` and `--ignore`: what is not chosen stays exactly as it was, and the rest is safe."""

from collections.abc import Iterator
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.finding import Finding
from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from tests.support import PADS, W, one

BOTH = one(
    'a = Pad (x, p) y = Conv (a, w) z = Conv <auto_pad = "SAME_UPPER"> (x, w)',
    outputs="float[] y, float[] z",
    initializers=f"{W}, {PADS}",
)
OPEN = one(
    'n = Neg (x) a = Pad (n, p) y = MaxPool <auto_pad = "VALID", kernel_shape = [3, 3]> (a)',
    initializers=PADS,
)
"""Without the VALID onnxruntime folds the Pad."""
MISFOLDED = one(
    "n = Neg (x) a = Pad (n, p) y = MaxPool <kernel_shape = [3, 3]> (a) "
    'z = Conv <auto_pad = "SAME_UPPER"> (x, w)',
    outputs="float[] y, float[] z",
    initializers=f"{W}, {PADS}",
)
"""onnxruntime folds the Pad, which it must not."""


def nodes(model: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    """The nodes by their output."""
    return {node.output[0]: node for node in model.graph.node}


@pytest.mark.parametrize(
    ("options", "codes", "kept"),
    [
        pytest.param({"select": "PAD101"}, {"PAD101"}, "a y", id="one"),
        pytest.param({"select": "PAD2"}, {"PAD201"}, "z", id="a prefix"),
        pytest.param({"select": ["PAD9", "pad201"]}, {"PAD201"}, "z", id="several"),
        pytest.param({"ignore": "PAD201"}, {"PAD101"}, "a y", id="all but one"),
        pytest.param({"select": "PAD1,PAD2", "ignore": "PAD101"}, {"PAD201"}, "z", id="both"),
        pytest.param({"select": "PAD6"}, set(), "a y z", id="no pass"),
    ],
)
def test_what_is_not_chosen_stays_as_it_was(
    options: dict[str, Any], codes: set[str], kept: str
) -> None:
    result = onnxpad.fix(BOTH, **options)
    assert {change.code for change in result.changes} == codes
    assert not result.findings
    assert result.ok
    before, after = nodes(BOTH), nodes(result.model)
    assert all(after[name] == before[name] for name in kept.split())
    assert result.changed == bool(codes)
    assert not onnxpad.check(result.model, **options).failing()


def exposed(model: onnx.ModelProto) -> list[object]:
    """The `Pad`s that onnxruntime folds and must not."""
    return [*Context(Graph.from_proto(model)).sites.fusion.exposed()]


def test_what_a_change_lays_open_is_protected_though_that_code_is_not_chosen() -> None:
    assert not exposed(OPEN)
    result = onnxpad.fix(OPEN, select="PAD102")
    assert [change.code for change in result.changes] == ["PAD102"]
    assert result.ok
    assert list(nodes(result.model)["a"].input) == ["n", "p", ""]
    assert not exposed(result.model)


@pytest.mark.parametrize("validate", [False, True])
def test_what_was_open_before_is_left_alone_too(*, validate: bool) -> None:
    assert exposed(MISFOLDED)
    result = onnxpad.fix(MISFOLDED, select="PAD101", validate=validate)
    assert [change.code for change in result.changes] == ["PAD101"]
    assert result.ok or not validate
    assert nodes(result.model)["a"] == nodes(MISFOLDED)["a"]
    assert {change.code for change in onnxpad.fix(MISFOLDED).changes} == {"PAD101", "PAD701"}


def test_the_specification_decides_only_what_is_chosen() -> None:
    crops = one(
        'y = Conv <auto_pad = "SAME_UPPER", strides = [4, 4]> (x, k)',
        inputs="float[1, 2, 4, 4] x",
        initializers="float[1, 2, 1, 1] k = {1, 2}",
    )
    assert onnxpad.fix(crops, trust="spec").changes
    assert not onnxpad.fix(crops, trust="spec", ignore="PAD1").changed
    assert onnxpad.fix(crops, trust="spec", select="PAD1").changes


def test_an_assumption_is_refused_among_the_chosen_as_ever() -> None:
    infinite = one(
        'y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [1, 1], strides = [2, 2]> (x)'
    )
    plain, strict = (onnxpad.fix(infinite, select="PAD101", strict=each) for each in (False, True))
    assert len(plain.changes) >= len(strict.changes)
    assert {each.code for each in (*strict.undone, *strict.findings)} <= {"PAD101"}


def test_conventions_are_those_of_the_model_as_all_codes_leave_it() -> None:
    def of_conventions(**options: Any) -> list[Finding]:
        found = onnxpad.check(BOTH, **options).findings
        return [each for each in found if each.code.startswith("PAD6")]

    whole = of_conventions(select="PAD")
    assert whole
    several: tuple[dict[str, Any], ...] = (
        {"select": "PAD6"},
        {"select": "PAD", "ignore": "PAD2"},
        {"select": "PAD6,PAD101"},
    )
    for options in several:
        assert of_conventions(**options) == whole


class Marked(onnxpad.Pass):
    """Own pads of zeros."""

    code = "ACME001"

    def find(self, context: Context) -> Iterator[onnxpad.Match]:
        for op in context.windows():
            if op.pads_written and not any(map(any, op.pads)):
                yield self.found(context, op.node, "pads of zeros", plan=op.node)

    def rewrite(self, match: onnxpad.Match, context: Context) -> None:
        context.graph.set_attributes(match.plan, {"pads": None})


def test_own_passes_are_chosen_by_their_codes() -> None:
    model = one("y = Conv <pads = [0, 0, 0, 0]> (x, w)", initializers=W)
    with onnxpad.registered(Marked):
        assert [each.code for each in onnxpad.fix(model, select="ACME").changes] == ["ACME001"]
        assert not onnxpad.fix(model, ignore="ACME001").changed
        assert not onnxpad.check(model, select="PAD").failing()


def test_a_body_that_a_pass_removed_is_done_with() -> None:
    class Removing(Marked):
        def rewrite(self, match: onnxpad.Match, context: Context) -> None:
            super().rewrite(match, context)
            context.graph.remove(next(each for each in context.graph.nodes if each.op == "If"))

    bodies = ", ".join(
        f"{name}_branch = {name} () => (float[] u) {{ {more} a = Pad (x, p) u = Conv (a, w) }}"
        for name, more in (("then", ""), ("else", "s = Squeeze (x, one)"))
    )
    body = f"y = Conv <pads = [0, 0, 0, 0]> (x, w) z = If (c) <{bodies}>"
    held = f"{W}, {PADS}, int64[1] one = {{1}}"
    model = one(body, inputs="float[1, 2, 9, 8] x, bool c", initializers=held)
    for target in ((), "tract"):
        with onnxpad.registered(Removing):
            result = onnxpad.fix(model, validate=False, target=target)
        assert [each.code for each in result.changes] == ["ACME001"]
        assert not result.findings


@pytest.mark.parametrize("call", [onnxpad.fix, onnxpad.check])
def test_a_code_that_does_not_exist_is_bad_usage(call: object) -> None:
    with pytest.raises(UsageError):
        call(BOTH, select="PAD110")  # type: ignore[operator]
