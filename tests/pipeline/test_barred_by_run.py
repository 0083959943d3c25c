"""Rewrites that a run bars, since they expose a `Pad` to onnxruntime's optimiser."""

import onnxpad
from tests.support import assert_same, one

NODES = """
    p = Pad <pads = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]> (x)
    q = Pad <pads = [0, 0, 0, 0, 0, 0, 0, 1, 0, 2]> (p)
    s = Slice <axes = [2], starts = [2], ends = [-1]> (q)
    t = Slice <axes = [4], starts = [1], ends = [-1]> (s)
    b = Abs (t)
    y = AveragePool <count_include_pad = 1, kernel_shape = [2, 2, 3], pads = [1, 0, 0, 1, 1, 1]> (b)
"""


def test_no_more_is_barred_than_must_be() -> None:
    model = one(NODES, inputs="float[1, 2, 5, 7, 6] x", initializers="", opset=9)
    result = onnxpad.fix(model)
    assert [change.code for change in result.changes] == [*["PAD207"] * 5, "PAD201"]
    left = [finding.code for finding in result.findings if finding.reason_code == "lays-pad-open"]
    assert left == ["PAD207"]
    assert_same(model, result.model)
