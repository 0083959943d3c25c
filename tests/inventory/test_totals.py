"""The total padding of a site is what `fix` keeps, however it was written before."""

import random
from collections import Counter

import pytest

import onnxpad
from onnxpad.arguments import ModelSource
from tests.random_models.draw import draw_model
from tests.support import ROOT
from tests.support.rows import one_in

MODELS = ("channels_last_dynamo", "unet_keras", "conv1d_keras", "zeropad_dynamo", "crops_dynamo")
SEEDS = (4, 7, 8, 26, 32, 33, 35, 38, 40, 53, 69)
"""Random models with several `Pad`s upstream, with steps between them."""


def totals(model: ModelSource) -> dict[tuple[str, str], tuple[int, ...] | None]:
    """The total of each operator, but for `Pad`s alone, by its name where that is its own."""
    sites = [site for site in onnxpad.show(model).sites if site.kind in {"window", "transposed"}]
    names = Counter((site.node, site.op_type) for site in sites)
    return {key: each.pads for each in sites if names[key := (each.node, each.op_type)] == 1}


def check_kept(model: ModelSource) -> None:
    before = totals(model)
    after = totals(onnxpad.fix(model, validate=False).model)
    assert before
    assert {key: pads for key, pads in before.items() if key in after} == {
        key: pads for key, pads in after.items() if key in before
    }


@pytest.mark.parametrize("name", MODELS)
def test_of_exported_models(name: str) -> None:
    check_kept(ROOT / "models" / f"{name}.onnx")


@pytest.mark.parametrize("seed", one_in(4, zip(SEEDS)))
def test_of_random_models(seed: int) -> None:
    check_kept(draw_model(random.Random(seed)).model)
