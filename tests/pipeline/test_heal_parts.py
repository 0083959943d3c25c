"""What a failed verdict says of the change to blame, from the verdict alone."""

from dataclasses import replace
from typing import Any

from onnxpad.pipeline.heal import _parts_at, _reason, _suspect
from onnxpad.pipeline.transaction import Made
from onnxpad.validation.result import Comparison, Divergence, Run, Validation
from tests.support.rows import each_row

WRONG = Comparison("y", False, 1.0, 1.0, "far", False)


def parted(tensor: str, reads: tuple[str, ...] = (), read: tuple[str, ...] = ()) -> Validation:
    first = Divergence(tensor, ("a", "b"), ("", ""), (reads, read), WRONG, ("1", "2"), "x", 1)
    return Validation(False, (), divergence=first)


def made(*tensors: str) -> list[Made]:
    some: Any = None
    return [Made(some, some, ("PAD201", tensor), frozenset(), frozenset()) for tensor in tensors]


@each_row(
    ("verdict", "changes", "left", "suspect"),
    [
        (parted("t"), "tu", "tu", "t"),
        (parted("t"), "u", "u", None),
        (parted("t"), "tu", "u", None),
        (parted("t", ("u", "v"), ("v",)), "uv", "uv", "u"),
        (parted("t", ("u", "v"), ("v",)), "tuv", "tuv", "t"),
        (parted("t", ("u", "v")), "uv", "uv", None),  # either may be
        (parted("t", ("v",), ("v",)), "v", "v", None),
        (Validation(False, ()), "t", "t", None),
    ],
)
def test_the_change_of_the_first_tensor_that_differs(
    verdict: Validation, changes: str, left: str, suspect: str | None
) -> None:
    keys = frozenset(("PAD201", each) for each in left)
    found = _suspect(verdict, made(*changes), keys)
    assert found == (None if suspect is None else ("PAD201", suspect))


def test_where_models_part_and_how() -> None:
    assert _parts_at(parted("t")) == "t"
    assert _parts_at(Validation(False, ())) == ""
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
