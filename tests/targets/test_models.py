"""Exported models for one to three targets: proved, stable, and what is not taken is told."""

import random
from typing import Final

import pytest

import onnxpad
from onnxpad.targets.known_targets import known
from tests.exported.results import NAMES
from tests.support import MODELS

ONCE_WRONG: Final = (
    ("zeropad_torchscript", ("emx-onnx-cgen", "onnxruntime-cuda", "iree")),
    ("gaps_keras_open", ("tract",)),
)
TOLD: Final = {"PAD703", "PAD704", "PAD705", "PAD706"}


def drawn(name: str) -> tuple[str, ...]:
    """Targets for a model, other ones for another."""
    draw = random.Random(name)
    return tuple(draw.sample(known(), draw.choice((1, 2, 3))))


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        *ONCE_WRONG,
        *(pytest.param(name, drawn(name), marks=pytest.mark.night) for name in NAMES),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
def test_a_model_is_written_for_targets_once(name: str, targets: tuple[str, ...]) -> None:
    given = MODELS / f"{name}.onnx"
    result = onnxpad.fix(given, target=targets, validate=(name, targets) not in ONCE_WRONG)
    assert result.validation is None or result.validation.ok
    assert not result.undone
    assert not onnxpad.fix(result.model, target=targets, validate=False).changed
    found = onnxpad.check(result.model, target=targets).findings
    assert not [each for each in found if each.code in TOLD and each.fixable]
    left = [(each.code, each.node, each.reason) for each in found if each.code in TOLD]
    told = [(each.code, each.node, each.reason) for each in result.findings if each.code in TOLD]
    assert left == told
