"""Which options are tried next, and what counts as a gain, from counts and findings alone."""

from typing import Any

import pytest

from onnxpad.errors import UsageError
from onnxpad.facts.domain import SizeDomain
from onnxpad.finding import Counts, Finding, Severity
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.pipeline import next_option as module
from onnxpad.pipeline.next_option import (
    _by_range,
    _Candidate,
    _candidates,
    _gains,
    next_option,
)
from onnxpad.rewrite.context import Context
from tests.support import parsed
from tests.support.rows import each_row


@each_row(
    ("before", "after", "gains", "to_pads"),
    [
        ((2, 2, 9), (2, 2, 9), False, False),
        ((2, 2, 9), (1, 2, 9), True, True),
        ((2, 2, 9), (2, 1, 9), True, True),
        ((2, 2, 9), (2, 2, 8), True, True),
        ((2, 2, 9), (2, 3, 8), True, True),
        ((2, 2, 9), (1, 1, 10), False, True),
        ((2, 2, 9), (3, 1, 9), False, True),
        ((2, 2, 9), (3, 2, 8), False, False),
        ((2, 2, 9), (1, 3, 9), True, True),
        ((2, 2, 9), (2, 3, 9), False, False),
    ],
)
def test_what_is_a_gain(before: Any, after: Any, gains: bool, to_pads: bool) -> None:
    counts = Counts(*before), Counts(*after)
    assert _gains(*counts, to_pads=False) == gains
    assert _gains(*counts, to_pads=True) == to_pads


def finding(*options: str, **evidence: Any) -> Finding:
    told = {"options": options, **evidence}
    return Finding("PAD501", Severity.INFO, "n", "Conv", "m", evidence=told)


def test_ranges_of_common_multiples() -> None:
    found = [finding(multiples={"h": 4, "w": 2}), finding(multiples={"h": 6}), finding()]
    (candidate,) = _by_range(found)
    assert candidate.option == "--dim h=12..1020:12 --dim w=2..1024:2"
    assert candidate.most == 2
    assert [*_by_range([finding(), finding(multiples={})])] == []


def candidates(
    *found: Finding, to_pads: bool = False, inputs: str = "float[n, 3, h, 8] x"
) -> list[tuple[str, Any, int]]:
    graph = Graph.from_proto(parsed(f"g ({inputs}) => (float[a, b, c, d] y) {{ y = Relu (x) }}"))
    named = _candidates(graph, found, to_pads=to_pads)
    return [(each.option, each.keywords, each.most) for each in named if each.most]


def test_every_option_that_is_named_is_a_candidate() -> None:
    pad, auto = finding("--dynamic pad"), finding("--dynamic auto-pad")
    assert candidates(pad) == []
    assert candidates(pad, pad, to_pads=True) == [("--dynamic pad", {"dynamic": "pad"}, 2)]
    assert candidates(auto, finding()) == [("--dynamic auto-pad", {"dynamic": "auto-pad"}, 1)]
    trusting = candidates(finding("--trust onnxruntime"), finding("--trust spec"))
    assert trusting == [
        ("--trust spec", {"trust": "spec"}, 1),
        ("--trust onnxruntime", {"trust": "onnxruntime"}, 1),
    ]


def test_shapes_fix_the_sizes_that_decide() -> None:
    one = finding("--shape", sizes=[{"input": "x", "axis": 2}])
    (found,) = candidates(one)
    assert found == ("--shape '?,3,224,8'", {"shapes": {"x": (None, 3, 224, 8)}}, 1)
    (found,) = candidates(one, finding("--shape"))  # of which nothing more is known
    assert found[1:] == ({"shapes": {"x": (224, 3, 224, 8)}}, 2)
    (found,) = candidates(one, inputs="float[n, 3, h, 8] x, float[2] z")
    assert found[0] == "--shape 'x=?,3,224,8'"


BEFORE = (4, 4, 20)


@each_row(
    ("most", "tried", "is_told"),
    [
        (0, (3, 4, 20), None),
        (3, (4, 4, 20), False),
        (3, None, False),  # the model does not run with it
        (3, (3, 4, 20), True),
    ],
)
def test_what_most_findings_name_is_tried_once(
    most: int,
    tried: tuple[int, int, int] | None,
    is_told: bool | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The candidates are given: how many findings name each, and what the one tried leads to."""
    named = [_Candidate(f"{each}", {"no_ceil": each}, "h", each) for each in (most // 3, most)]
    graph = Graph.from_proto(parsed("g (float[2] x) => (float[2] y) { y = Relu (x) }"))
    now, trials = BEFORE, 0

    class Trial:
        domain = SizeDomain()

        def __init__(self, graph: Graph, options: Options, **_: object) -> None:
            assert options.no_ceil == most

        def edit(self) -> None:
            nonlocal now, trials
            trials += 1
            if tried is None:
                raise UsageError("it does not run")
            now = tried

    monkeypatch.setattr(module, "_candidates", lambda *_, **__: iter(named))
    monkeypatch.setattr(module, "counts_of", lambda _: Counts(*now))
    monkeypatch.setattr(module, "Run", Trial)
    found = next_option(graph, Options(), [], [Context(graph)], lambda _: None)
    assert trials == (is_told is not None)
    assert bool(found) == bool(is_told)
    if found is not None:
        assert (found.option, found.keywords, found.hint) == (f"{most}", {"no_ceil": most}, "h")
        assert (found.before, found.after) == (Counts(*BEFORE), Counts(*now))
