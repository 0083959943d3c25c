"""What onnxruntime's optimiser gets wrong, by version: each in just the versions that it names.

What is written is protected from all of it, since any version from the lowest that is promised on
may run it. A model whose last version is below that can go, with what protects from it.
"""

import numpy as np
import onnx
import pytest

from tests.matrix import bounds
from tests.older import installed, numbers
from tests.runtimes.onnxruntime import models
from tests.support import LEVELS, agree, negative, ran
from tests.test_matrix import PROJECT


def without_pads(model: onnx.ModelProto) -> onnx.ModelProto:
    """What Pads keep apart, without these."""
    for pad in [node for node in model.graph.node if node.op_type == "Pad"]:
        model.graph.node.remove(pad)
        for node in model.graph.node:
            node.input[:] = [pad.input[0] if n == pad.output[0] else n for n in node.input]
    return model


APART = {title: (without_pads(met), told) for title, (met, told) in models.of("apart").items()}
WRONG = models.of("wrong") | {title: each for title, each in APART.items() if each[1][0].isdigit()}


@pytest.mark.parametrize("title", WRONG)
def test_what_is_wrong(title: str) -> None:
    model, told = WRONG[title]
    since, _, until = told.partition(" to ")
    feeds = {  # 1 / x stops at 0
        name: np.where(each == 0, 3, each) if each.dtype == np.int64 else each
        for name, each in negative(model).items()
    }
    expected = ran(model, feeds, LEVELS[0])
    assert not isinstance(expected, str), expected
    wrong = not all(agree(ran(model, feeds, level), expected) for level in LEVELS)
    version, last = installed("onnxruntime"), numbers(until or "9.9")
    assert wrong == (numbers(since) <= version <= last), "it names other versions"
    lowest = {name.partition("-")[0]: each for name, each in bounds(PROJECT).items()}
    assert last >= numbers(lowest["onnxruntime"]), "no version that is supported has it"
