"""Operators that shape inference sizes otherwise are named; nothing is made of that."""

from typing import Any

import onnx
import pytest
from onnx import shape_inference

import onnxpad
from onnxpad.finding import Finding, Severity
from tests.support import W, fixed, one

POOL = "MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]>"


def sized(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.node for finding in findings if finding.code == "PAD902"]


def test_what_it_tells() -> None:
    model = one(f"[pool] y = {POOL} (x)", inputs="float[N, 2, 8, 6] x")
    (finding,) = onnxpad.check(model, ignore="PAD6").findings
    assert (finding.node, finding.op_type, finding.severity) == ("pool", "MaxPool", Severity.INFO)
    assert not finding.fixable
    assert dict(finding.evidence) == {
        "output": "y",
        "derived": [None, 2, 4, 3],
        "inferred": [None, 2, 5, 4],
    }
    assert not onnxpad.check(model).failing()


def test_it_is_of_the_graph_as_it_came_out() -> None:
    """A `Pad` that makes a size even goes, and it is the pool that pads and is wrong then."""
    before = one(
        """p = Pad (x, pads) c = Conv <kernel_shape = [3, 3]> (p, w)
        [pool] y = MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]> (c)""",
        inputs="float[1, 2, 8, 8] x",
        initializers=f"{W}, int64[8] pads = {{0, 0, 1, 1, 0, 0, 1, 1}}",
    )
    result = fixed(before)
    assert result.changed
    assert sized(onnxpad.check(before).findings) == ["pool"]
    assert sized(result.findings) == sized(onnxpad.check(result.model).findings) == ["pool"]


def test_a_size_that_is_given_counts() -> None:
    model = one(f"[pool] y = {POOL} (x)", inputs="float[1, 2, height, width] x")
    assert sized(onnxpad.check(model).findings) == []
    assert sized(onnxpad.check(model, dims={"height": 8, "width": 7}).findings) == ["pool"]
    assert sized(onnxpad.check(model, dims={"height": 9, "width": 7}).findings) == []
    result = onnxpad.fix(model, shapes={"x": (1, 2, 8, 8)}, validate=False)
    assert sized(result.findings) == ["pool"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators that shape inference was asked about."""
    handed: list[str] = []
    infer = shape_inference.infer_node_outputs

    def recorded(schema: Any, node: onnx.NodeProto, *given: Any) -> dict[str, onnx.TypeProto]:
        handed.append(node.op_type)
        return infer(schema, node, *given)

    monkeypatch.setattr(shape_inference, "infer_node_outputs", recorded)
    return handed


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        pytest.param("r = Relu (x) y = Concat <axis = 1> (r, x)", [], id="nothing could pad"),
        pytest.param(f"p = Pad (x, z) y = {POOL} (p)", [], id="no size is known"),
        pytest.param("y = MaxPool <kernel_shape = [2, 2]> (x)", [], id="a pool that rounds down"),
        pytest.param(f"r = Relu (x) y = {POOL} (r)", ["MaxPool"], id="a pool that rounds up"),
    ],
)
def test_what_it_asks_about(text: str, operators: list[str], asked: list[str]) -> None:
    pads = "int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}"
    onnxpad.check(one(text, inputs="float[1, 2, 9, 8] x, int64[8] z", initializers=pads))
    assert asked == operators


def test_a_fix_asks_once_however_many_rounds_it_takes(asked: list[str]) -> None:
    text = f'c = Conv <auto_pad = "SAME_UPPER"> (x, w) y = {POOL} (c)'
    assert onnxpad.fix(one(text, initializers=W), validate=False).changed
    assert asked == ["MaxPool"]
