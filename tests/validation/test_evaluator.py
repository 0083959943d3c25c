"""What onnx's reference evaluator is trusted with is right, whichever onnx is installed."""

from itertools import product

import numpy as np

from onnxpad.runtimes.runtime import EngineError
from onnxpad.validation.compare import answers
from tests.older import installed
from tests.support import one


def test_same_convolutions_are_right_or_not_evaluated() -> None:
    """onnx before 1.23 has another begin for some, and another size for others."""
    outcomes = set()
    for side, size, kernel, stride, dilation in product(
        ("UPPER", "LOWER"), (2, 5, 8), (2, 3), (1, 2), (1, 2)
    ):
        line, weights = np.arange(1, size + 1), np.arange(1, kernel + 1)
        output = -(-size // stride)
        total = max((output - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
        begin = total // 2 if side == "UPPER" else total - total // 2
        padded = np.pad(line, (begin, total - begin))
        wanted = [
            sum(padded[first * stride + tap * dilation] * weights[tap] for tap in range(kernel))
            for first in range(output)
        ]
        given = f'auto_pad = "SAME_{side}", strides = [{stride}], dilations = [{dilation}]'
        model = one(
            f"y = Conv <{given}> (x, w)",
            inputs=f"float[1, 1, {size}] x, float[1, 1, {kernel}] w",
            initializers="",
        )
        fed = {
            "x": line[None, None].astype(np.float32),
            "w": weights[None, None].astype(np.float32),
        }
        found = answers(model, ["y"], [fed])
        outcomes.add(isinstance(found, EngineError))
        if not isinstance(found, EngineError):
            assert not isinstance(found[0], EngineError)
            assert np.asarray(found[0]["y"]).ravel().tolist() == wanted, given
    assert outcomes == {installed("onnx") < (1, 23)}
