"""What a failed verdict says of the reason to bar a change."""

from msgspec.structs import replace

from onnxpad.rewrite.heal import _reason
from onnxpad.validation.result import Comparison, Divergence, Run, Validation

WRONG = Comparison("y", False, 1.0, 1.0, "far", False)


def parted(tensor: str) -> Validation:
    first = Divergence(tensor, ("a", "b"), ("", ""), ((), ()), WRONG, ("1", "2"), "x", 1)
    return Validation(False, (), divergence=first)


def test_how_models_part() -> None:
    run = Run("cpu", "off", "x", (WRONG,), (0, 0), "", False)
    for runs, told in (
        ((run,), "differs"),
        ((replace(run, comparisons=()),), "stops"),
        ((replace(run, optimisation="full"),), "differs-optimised"),
        ((replace(run, optimisation="full", comparisons=()),), "stops-optimised"),
        ((replace(run, ok=True, comparisons=()), run), "differs"),
        ((replace(run, subject="original", comparisons=()), run), "differs"),
        ((), "differs"),
    ):
        assert _reason(Validation(False, runs)) == told
