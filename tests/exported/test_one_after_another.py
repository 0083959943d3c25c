"""Exported models in one style after another: nothing is lost, and nothing is left over."""

from collections import Counter
from functools import cache
from itertools import permutations

import onnx
import pytest

import onnxpad
from tests.exported.results import (
    FEW_NAMES,
    HIDDEN,
    NAMES,
    ROUNDING,
    distance,
    fixed_model,
    outputs,
    recorded,
)
from tests.support import STYLES, attributes, canonical, op_types, run
from tests.support.rows import one_in

MOVED = {"nasnet_keras"}
"""Models in which style `pad` moves a `Pad` past a crop, up to a pool that cannot take it."""

WIDENED = {"deconv1d_tensorflow", "trims_dynamo", "trims_torchscript", "upsampling_paddle"}
"""Models to which style `symmetric` gives `output_padding`, which stays beside equal pads."""

PAIRS = tuple(permutations(STYLES, 2))


def asked(place: int, name: str) -> tuple[tuple[str, str], ...]:
    """All pairs of styles for a model of `FEW`; for the others two, another two for the next."""
    return PAIRS if name in FEW_NAMES else PAIRS[place % 3 :: 3]


@cache
def with_auto_pad(name: str) -> onnx.ModelProto:
    """The model in style `fold`, with its computed SAME as the attribute."""
    return onnxpad.fix(fixed_model(name, "fold"), dynamic="auto-pad", validate=False).model


def with_few_amounts(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its computed amounts as style `pad` writes them: by the fewest nodes."""
    return onnxpad.fix(model, dynamic="pad", validate=False).model


def same_sizes(model: onnx.ModelProto) -> Counter[tuple[str, bytes]]:
    """The operators whose padding is SAME."""
    given = [(node.op_type, attributes(node).get("auto_pad", b"")) for node in model.graph.node]
    return Counter(each for each in given if each[1].startswith(b"SAME"))


@pytest.mark.parametrize(
    ("name", "first", "then"),
    one_in(20, ((name, *pair) for place, name in enumerate(NAMES) for pair in asked(place, name))),
)
def test_one_style_after_another(name: str, first: str, then: str) -> None:
    result = onnxpad.fix(fixed_model(name, first), style=then, validate=False)
    assert {each.node for each in result.undone} == HIDDEN.get(name, set())
    model = result.model
    assert not onnxpad.fix(model, style=then, validate=False).changed
    assert distance(run(model, recorded(name)[0]), outputs(name, first)) <= ROUNDING
    if then == "fold":
        # A SAME of open sizes leaves style `pad` as a computed Pad, which is recognised as SAME.
        back = onnxpad.fix(model, dynamic="auto-pad", validate=False).model
        direct = with_auto_pad(name)
        assert same_sizes(back) == same_sizes(direct)
        if name in MOVED or (first == "symmetric" and name in WIDENED):
            assert op_types(back) == op_types(direct)
        else:
            assert canonical(with_few_amounts(back)) == canonical(with_few_amounts(direct))
