"""The sites that a user names."""

import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.inventory import PaddingSite, chosen
from tests.support import one

POOL = "MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]>"


@pytest.fixture(scope="module")
def found() -> tuple[PaddingSite, ...]:
    """Three sites, whose names look like patterns."""
    model = one(f"a = {POOL} (x) b = {POOL} (a) y = {POOL} (b)")
    for node, name in zip(model.graph.node, ("first", "f?rst", "la[s]t"), strict=True):
        node.name = name
    return onnxpad.show(model).sites


@pytest.mark.parametrize(
    ("patterns", "places"),
    [
        ([], []),
        (["first"], [0]),
        (["f?rst"], [0, 1]),
        (["f*"], [0, 1]),
        (["?????"], [0, 1]),
        (["la[s]*"], [2]),
        (["y", "x"], [0, 2]),
        (["first", "first", "f*"], [0, 1]),
        (["*"], [0, 1, 2]),
    ],
)
def test_sites_by_name_and_pattern_in_file_order(
    found: tuple[PaddingSite, ...], patterns: list[str], places: list[int]
) -> None:
    assert chosen(found, patterns) == tuple(found[place] for place in places)


@pytest.mark.parametrize(
    "pattern",
    [
        "frist",
        "F*",
        "q",
        "?",
    ],
)
def test_a_name_that_no_site_has(found: tuple[PaddingSite, ...], pattern: str) -> None:
    with pytest.raises(UsageError):
        chosen(found, ["first", pattern])


def test_a_name_where_there_is_no_site() -> None:
    with pytest.raises(UsageError):
        chosen((), ["first"])
