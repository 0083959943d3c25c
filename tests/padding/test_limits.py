"""Where onnxruntime or the specification refuses a form of padding, and at which sizes."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, symbol
from onnxpad.arithmetic.window import Window
from onnxpad.padding.limits import (
    AXIS_LIMITS,
    LIMITS,
    check_pads,
    check_runs_same,
)
from onnxpad.padding.pad_limits import MERGING
from onnxpad.reasons import RefusalError
from tests.operators.test_read import read
from tests.support.rows import each_row

N = symbol("n")


@pytest.mark.parametrize("conditions", [LIMITS, AXIS_LIMITS, MERGING], ids=len)
def test_a_condition_is_named_by_what_it_needs(
    conditions: Sequence[Callable[..., RefusalError | None]],
) -> None:
    """It returns a refusal, so a name like a predicate's would say the opposite."""
    assert [each.__name__ for each in conditions if not each.__name__.startswith("needs_")] == []
    assert len({*conditions}) == len(conditions)


def test_the_types_of_a_pad() -> None:
    """Opset 2 to 10 has floats alone; opset 1 has no `Pad` that runs."""
    for opset, names in (
        (1, ()),
        (2, ("FLOAT", "DOUBLE", "FLOAT16")),
        (10, ("FLOAT", "DOUBLE", "FLOAT16")),
        (11, ("FLOAT", "DOUBLE", "FLOAT16", "INT8", "UINT8", "INT32", "INT64")),
        (21, ("FLOAT", "DOUBLE", "FLOAT16", "INT8", "UINT8", "INT32", "INT64")),
    ):
        for name, dtype in TensorProto.DataType.items():
            if name in names:
                check_pads(opset, dtype)
                continue
            with pytest.raises(RefusalError) as refusal:
                check_pads(opset, dtype)
            assert refusal.value.facts["opset"] == opset
    with pytest.raises(RefusalError):
        check_pads(13, None)
    with pytest.raises(RefusalError):
        check_pads(13, TensorProto.BOOL)
    with pytest.raises(RefusalError):
        check_pads(1, TensorProto.FLOAT)


@each_row(
    ("op", "auto_pad", "window", "size", "runs"),
    [
        ("Conv", "SAME_UPPER", Window(1, 3), 6, True),  # a total of -2
        ("Conv", "SAME_UPPER", Window(1, 4), 8, False),  # of -3
        ("Conv", "SAME_LOWER", Window(1, 4), 8, True),
        ("Conv", "SAME_LOWER", Window(1, 5), 10, False),
        ("LpPool", "SAME_UPPER", Window(3, 4), 8, False),  # of -1
        ("LpPool", "SAME_UPPER", Window(4, 4), 8, True),
        ("LpPool", "SAME_LOWER", Window(3, 4), 8, False),
        ("LpPool", "SAME_LOWER", Window(3, 4), 6, True),  # of 1
        ("LpPool", "SAME_UPPER", Window(1, 2), N, False),
        ("LpPool", "SAME_UPPER", Window(2, 2), N, True),
        ("LpPool", "SAME_UPPER", Window(1, 2), 2 * N + 1, True),
        ("LpPool", "SAME_UPPER", Window(3, 1, 2), 8, False),
        ("Conv", "SAME_UPPER", Window(3, 1, 2), 8, False),
    ],
    at_once=8,
)
def test_a_same_that_runs(op: str, auto_pad: str, window: Window, size: Extent, runs: bool) -> None:
    given: dict[str, Any] = {} if op == "Conv" else {"kernel_shape": [1, 1]}
    node = read(op, "x w" if op == "Conv" else "x", **given)
    node = node._replace(windows=(Window(1), window))
    if runs:
        check_runs_same(node, (8, size), auto_pad)
        return
    with pytest.raises(RefusalError) as refusal:
        check_runs_same(node, (8, size), auto_pad)
    facts = refusal.value.facts
    if window.dilation > 1:
        assert facts["dilations"] == [1, window.dilation]
    else:
        assert (facts["kernel"], facts["stride"]) == (window.kernel, window.stride)
