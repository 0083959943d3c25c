"""What keeps a `Pad` in front of an operator, by the operator's row."""

from dataclasses import replace

import pytest

import onnxpad
from onnxpad.operators.table import OPERATORS, Fill, Inputs
from onnxpad.reasons import Reason
from tests.support import BORDER, W, one


def test_zeros_are_no_zero_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an operator that pads with an input a `Pad` of zeros is another padding."""
    proto = one("q = Pad (x, p) y = Conv (q, w)", initializers=f"{W}, {BORDER}")
    assert [change.code for change in onnxpad.fix(proto, validate=False).changes] == ["PAD201"]
    inputs = Inputs(data=0, weight=1, bias=None, zero_point=2, quantisation=(2,))
    row = replace(OPERATORS["", "Conv"], inputs=inputs, padding=Fill.ZERO_POINT)
    monkeypatch.setitem(OPERATORS, row.key, row)
    result = onnxpad.fix(proto, validate=False)
    assert "Pad" in [node.op_type for node in result.model.graph.node]
    refused = [finding.reason_code for finding in result.findings if finding.code == "PAD201"]
    assert refused == [Reason.FILL_DIFFERS]
