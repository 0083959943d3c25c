"""What `fix` leaves in the exported models, folded naively: onnxruntime must tell the difference.

A `Pad` that stays although dropping it and adding its amounts downstream changes nothing that
onnxruntime computes is one that `fix` has missed, or one that is told of here.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.exported.results import NAMES, fixed, original, recorded
from tests.random_models.draw import Data, Drawn
from tests.random_models.measure import Case, Outcome, measure
from tests.support import REFUSED, Array
from tests.support.rows import one_in

UNTOLD = {
    "branches_torchscript": {"/Pad_1"},
    # A series of 1 or 2 elements, shorter than any that is fed here, becomes an empty one.
    "deconv1d_open_tensorflow": {"Pad", "Slice__112", "strided_slice_1"},
    # The greater of two open sizes is not worked out.
    "letterbox_torchscript": {"/Pad_1"},
}
"""What onnxruntime cannot tell from the original once it is rewritten naively, by model."""

TOLD = {
    "ceil_pool_torch", "ceil_pool_torchscript", "crops_dynamo", "crops_torchscript",
    "deconv2d_tensorflow", "gaps_keras_open", "nasnet_keras", "resnetv2_keras", "zeropad_dynamo",
    "zeropad_opset10", "zeropad_torchscript", "zeropad_unfolded",
}  # fmt: skip
"""Models in which something stays that can be rewritten naively, and then computes otherwise."""


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


def examined(name: str) -> Outcome:
    feeds, _ = recorded(name)
    given = Recorded(original(name), open=True, exact=False, fed={}, sizes=(), inputs=feeds)
    return measure(Case(given, seed=1), fixed(name, "fold"))


@pytest.mark.parametrize("name", one_in(6, zip(NAMES)))
def test_what_stays_is_told_apart_from_its_naive_rewriting(name: str) -> None:
    outcome = examined(name)
    assert outcome.runs == (name not in REFUSED)
    assert not outcome.problems
    missed = {f"{kept.place.within}{kept.place.name}" for kept in outcome.kept if kept.missed}
    assert missed <= UNTOLD.get(name, set())
    assert any("else" in kept.why for kept in outcome.kept) == (name in TOLD)
