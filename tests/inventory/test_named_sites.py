"""The sites that a user names, and the names that are offered for one that nothing has."""

import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.inventory.named_sites import chosen, nearest
from onnxpad.inventory.padding_site import PaddingSite
from tests.support import one
from tests.support.rows import each_row

LONG = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))
"""As many letters as are compared, none of them twice, which difflib would not count."""
NEAR = "x" + LONG[1:]
POOLS = ["pool1", "pool2", "pool3", "pool4"]


@each_row(
    ("name", "known", "listed", "says"),
    [
        pytest.param("a", [], None, "", id="nothing is known"),
        pytest.param("a", [], ["b"], "", id="nothing is known but listed"),
        pytest.param("convo", ["pool", "conv"], None, "; did you mean 'conv'?", id="one"),
        pytest.param(
            "conw", ["conx", "pool", "conv"], None, "; did you mean 'conx' or 'conv'?", id="two"
        ),
        pytest.param(
            "pool", POOLS, None, "; did you mean 'pool4', 'pool3' or 'pool2'?", id="most"
        ),
        pytest.param(
            "*LAST?", ["first", "the_last_one_of_all"], None,
            "; did you mean 'the_last_one_of_all'?", id="a part, in other letters",
        ),
        pytest.param(
            "pool", ["Pool", "pools"], None, "; did you mean 'pools' or 'Pool'?", id="none twice"
        ),
        pytest.param("*", ["a", "b", "c"], None, "; all are 'a', 'b', 'c'", id="all"),
        pytest.param("q", [*"abcd"], None, "; all are 'a', 'b', 'c' and 1 more", id="too many"),
        pytest.param("q", [*"abc"], ["d", "e"], "; all are 'd', 'e'", id="others that are listed"),
        pytest.param(NEAR, [LONG], None, f"; did you mean '{LONG}'?", id="the longest"),
        pytest.param(NEAR, [LONG + "s"], None, f"; all are '{LONG}s'", id="too long to be near"),
        pytest.param(NEAR + "s", [LONG], None, f"; all are '{LONG}'", id="too long a name"),
        pytest.param(
            LONG, [LONG + "s"], None, f"; did you mean '{LONG}s'?", id="a part of a long one"
        ),
    ],
)  # fmt: skip
def test_the_names_nearest_to_one(
    name: str, known: list[str], listed: list[str] | None, says: str
) -> None:
    assert nearest(name, known, "all are", listed) == says


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
        (["f?rst"], [1]),
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
