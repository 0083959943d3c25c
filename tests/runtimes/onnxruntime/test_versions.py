"""What onnxruntime's optimiser gets wrong, by version: a row holds in just the versions it names.

What is written is protected from all of it, since any version from the lowest that is promised on
may run it. A row whose last version is below that can go, with what protects from it.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import onnx
import pytest

from tests.matrix import bounds
from tests.older import installed, numbers
from tests.runtimes.onnxruntime import models
from tests.support import BORDER, LEVELS, agree, negative, one, ran
from tests.test_matrix import PROJECT

POOL = "y = MaxPool <kernel_shape = [3, 3]> (a)"
WINDOW = "y = Conv (a, w)"
INPUTS: Final = "float[1, 2, 9, 8] x, float[1, 2, 3, 3] w"
AXES = "int64[4] p = {1, 2, 3, 1}, float v = {0}, int64[2] k = {1, 2}"
TURNED = (
    "t = Transpose <perm = [0, 2, 3, 1]> (x) a = Pad (t, p, v, k) y = Transpose "
    "<perm = [0, 3, 1, 2]> (a)"
)
FOLDS: Final = {
    "a MaxPool": (f"a = Pad (x, p) {POOL}", "1.31"),
    "an average": ("a = Pad (x, p) y = AveragePool <kernel_shape = [1, 1]> (a)", "1.31"),
    "a weight": ("a = Pad (w, p) y = Conv (x, a)", ""),
    "what is copied": (f"s = Neg (x) c = Identity (s) a = Pad (s, p) {WINDOW}", ""),
}
SINCE: Final = dict.fromkeys(
    (
        "DequantizeLinear of int8 and a pool",
        "DequantizeLinear of int8, a pool and another reader",
        "DequantizeLinear of int8, and readers that become one",
    ),
    "1.27",
)
UNTIL: Final = {"a QuantizeLinear to int8 that is copied past a pool": "1.31"}
NEVER: Final = (
    "two pairs with other zero points",
    "DequantizeLinear of int32 and a pool",
    "a Conv of float weights between quantisers",
)
"""These compute something else only at some data."""


def folded(body: str, opset: int) -> onnx.ModelProto:
    outputs = "float[] y" + (", float[] c" if " c = " in body else "")
    return one(body, inputs=INPUTS, outputs=outputs, initializers=BORDER, opset=opset)


def neighbours() -> Iterator[tuple[str, onnx.ModelProto]]:
    """What Pads keep apart, without these."""
    for title, (met, _) in models.of("apart").items():
        for pad in [node for node in met.graph.node if node.op_type == "Pad"]:
            met.graph.node.remove(pad)
            for node in met.graph.node:
                node.input[:] = [pad.input[0] if n == pad.output[0] else n for n in node.input]
        yield title, met


ROWS: Final = [
    *(
        pytest.param(folded(body, opset), since, until, id=f"{name}, opset {opset}")
        for name, (body, until) in FOLDS.items()
        for opset, since in ((17, "1.21"), (21, "1.25"))
    ),
    *(
        pytest.param(met, SINCE.get(name, "1.21"), UNTIL.get(name, ""), id=name)
        for name, met in neighbours()
        if name not in NEVER
    ),
    pytest.param(one(TURNED, initializers=AXES, opset=18), "1.21", "", id="axes of a Pad"),
]


@pytest.mark.parametrize(("model", "since", "until"), ROWS)
def test_what_is_wrong(model: onnx.ModelProto, since: str, until: str) -> None:
    feeds = {  # 1 / x stops at 0
        name: np.where(each == 0, 3, each) if each.dtype == np.int64 else each
        for name, each in negative(model).items()
    }
    expected = ran(model, feeds, LEVELS[0])
    assert not isinstance(expected, str), expected
    wrong = not all(agree(ran(model, feeds, level), expected) for level in LEVELS)
    version, last = installed("onnxruntime"), numbers(until or "9.9")
    assert wrong == (numbers(since) <= version <= last), "its row names other versions"
    lowest = {name.partition("-")[0]: each for name, each in bounds(PROJECT).items()}
    assert last >= numbers(lowest["onnxruntime"]), "no version that is supported has it"
