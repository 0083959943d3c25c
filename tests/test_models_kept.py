"""What `fix` leaves in the exported models, folded naively: onnxruntime must tell the difference.

A `Pad` that stays although dropping it and adding its amounts downstream changes nothing that
onnxruntime computes is one that `fix` has missed, or one that is told of here.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import onnx
import pytest

from tests.random_models.draw import Data, Drawn
from tests.random_models.measure import Outcome, examine
from tests.support import EXPORTED, Array

pytestmark = pytest.mark.slow

NAMES = [path.stem for path in EXPORTED]

UNTOLD = {
    "branches_torchscript": {"/Pad_1"},
    # A series of 1 or 2 elements, shorter than any that is fed here, becomes an empty one.
    "deconv1d_open_tensorflow": {"Pad", "Slice__112", "strided_slice_1"},
}
"""What onnxruntime cannot tell from the original once it is rewritten naively, by model."""

REFUSED = {"aspp_tensorflow", "wavenet_torchscript"}
"""Models that onnxruntime 1.31 does not run as they were exported."""


@dataclass
class Recorded(Drawn):
    """An exported model with the inputs that its framework was fed, whose open axes may grow."""

    inputs: dict[str, Array] = field(default_factory=dict)

    def feeds(
        self, seed: int, size: int | None = None, data: Data = "integers"
    ) -> dict[str, Array]:
        """Data of the recorded kinds; open axes other than the first grow by `size`."""
        numbers = np.random.default_rng([seed, size or 0])
        fed = {}
        for value in self.model.graph.input:
            recorded = self.inputs[value.name]
            dims = value.type.tensor_type.shape.dim
            shape = [
                length if dim.HasField("dim_value") or axis == 0 else length + (size or 0)
                for axis, (length, dim) in enumerate(zip(recorded.shape, dims, strict=True))
            ]
            drawn = numbers.normal(-2 if data == "below zero" else 0, 2, shape)
            fed[value.name] = recorded if recorded.ndim == 0 else drawn.astype(recorded.dtype)
        return fed


@cache
def examined(name: str) -> Outcome:
    (path,) = [path for path in EXPORTED if path.stem == name]
    model = onnx.load(path)
    with np.load(path.with_suffix(".npz")) as arrays:
        inputs = {value.name: arrays[value.name] for value in model.graph.input}
    recorded = Recorded(model, open=True, exact=False, fed={}, sizes=(), inputs=inputs)
    return examine(recorded, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_what_stays_is_told_apart_from_its_naive_rewriting(name: str) -> None:
    outcome = examined(name)
    assert outcome.runs == (name not in REFUSED)
    assert not outcome.problems
    missed = {f"{kept.place.within}{kept.place.name}" for kept in outcome.kept if kept.missed}
    assert missed <= UNTOLD.get(name, set())


def test_naive_rewritings_are_told_apart() -> None:
    told = [kept for name in NAMES for kept in examined(name).kept if not kept.missed]
    assert sum("else" in kept.why for kept in told) >= 8
    assert sum(examined(name).removed for name in NAMES) >= 130
