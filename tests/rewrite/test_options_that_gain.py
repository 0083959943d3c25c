"""Which options are tried next, and what counts as a gain, from counts and findings alone."""

from typing import Any

import pytest

from onnxpad.errors import UsageError
from onnxpad.facts.feasible import SizeDomain
from onnxpad.finding import Counts, Finding, Severity
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.rewrite import next_option as module
from onnxpad.rewrite.next_option import _gains, _most_named, next_option
from onnxpad.rewrite.pass_api import Context
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


@each_row(
    ("named", "to_pads", "most"),
    [
        ([], False, ""),
        (["--dynamic pad"], False, ""),
        (["--dynamic pad"] * 2 + ["--trust spec"], True, "--dynamic pad"),
        (["--dim", "--dynamic auto-pad"], False, "--dynamic auto-pad"),
        (["--trust onnxruntime", "--trust spec"], False, "--trust spec"),
        (["--trust spec", "--shape"], False, "--trust spec"),
    ],
)
def test_the_option_that_is_named_most(named: list[str], to_pads: bool, most: str) -> None:
    found = [*map(finding, named), finding()]
    assert _most_named(found, to_pads=to_pads) == most


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
    """What the option that is tried leads to is given."""
    named = [finding("--trust spec")] * most
    graph = Graph.from_proto(parsed("g (float[2] x) => (float[2] y) { y = Relu (x) }"))
    now, trials = BEFORE, 0

    class Trial:
        domain = SizeDomain()

        def __init__(self, graph: Graph, options: Options, **_: object) -> None:
            assert options.trust == "spec"

        def edit(self) -> None:
            nonlocal now, trials
            trials += 1
            if tried is None:
                raise UsageError("it does not run")
            now = tried

    monkeypatch.setattr(module, "counts_of", lambda _: Counts(*now))
    monkeypatch.setattr(module, "Run", Trial)
    found = next_option(graph, Options(), named, [Context(graph)], lambda _: None)
    assert trials == (is_told is not None)
    assert bool(found) == bool(is_told)
    if found is not None:
        assert (found.option, found.keywords) == ("--trust spec", {"trust": "spec"})
        assert (found.before, found.after) == (Counts(*BEFORE), Counts(*now))
