"""Which options are tried next, and what counts as a gain, from counts and findings alone."""

from typing import Any

import pytest

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import UsageError
from onnxpad.finding import Counts, Finding, Severity
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.pipeline import next_option as module
from onnxpad.pipeline.next_option import (
    _by_range,
    _Candidate,
    _candidates,
    _gains,
    _near,
    _options,
    next_option,
)
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
    assert candidate.keywords["dims"]["h"].startswith("12..")
    assert candidate.keywords["dims"]["h"].endswith(":12")
    assert candidate.keywords["dims"]["w"].endswith(":2")
    assert candidate.most == 2
    assert candidate.option == " ".join(
        f"--dim {name}={text}" for name, text in candidate.keywords["dims"].items()
    )
    for text in candidate.keywords["dims"].values():
        first, rest = text.split("..")
        last, step = map(int, rest.split(":"))
        assert int(first) == step
        assert last % step == 0
        assert last >= 8 * step
    assert [*_by_range([finding(), finding(multiples={})])] == []


def test_options_that_findings_name() -> None:
    assert _options(finding("--dim", "--shape")) == ("--dim", "--shape")
    assert _options(Finding("c", Severity.INFO, "n", "o", "m", evidence={"options": "no"})) == ()
    assert _options(Finding("c", Severity.INFO, "n", "o", "m")) == ()


def candidates(
    *found: Finding, to_pads: bool = False, inputs: str = "float[n, 3, h, 8] x", **limits: Sizes
) -> list[tuple[str, Any, int]]:
    graph = Graph.from_proto(parsed(f"g ({inputs}) => (float[a, b, c, d] y) {{ y = Relu (x) }}"))
    named = _candidates(graph, found, limits, to_pads=to_pads)
    return [(each.option, each.keywords, each.most) for each in named]


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
    (found,) = candidates(one, h=Sizes(32, 64, 32))
    assert found[1] == {"shapes": {"x": (None, 3, 64, 8)}}


def test_the_size_nearest_to_the_usual_one() -> None:
    assert _near(None) == 224
    cases = [(1, 999, 1, 224), (1, 223, 1, 223), (225, 999, 1, 225), (32, 320, 32, 224)]
    for first, last, step, near in cases:
        assert _near(Sizes(first, last, step)) == near


BEFORE = (4, 4, 20)


@each_row(
    ("tried", "best", "asked"),
    [
        ([], None, 0),
        ([(3, (4, 4, 20))], None, 1),
        ([(3, None)], None, 1),  # the model does not run with it
        ([(3, (3, 4, 20))], "0", 1),
        ([(1, (4, 4, 19)), (1, (4, 3, 20))], "1", 2),
        ([(3, (3, 4, 20)), (3, (3, 4, 20))], "0", 2),  # the first of two that gain as much
        ([(3, (3, 4, 20)), (3, (3, 3, 20))], "1", 2),
        ([(3, (2, 5, 20)), (3, (3, 3, 20))], "0", 2),  # 2 Pads fewer, and an auto_pad more
        ([(3, (4, 3, 20)), (3, (4, 2, 20)), (3, (1, 4, 20))], "1", 2),  # two are tried
        ([(2, (2, 4, 20)), (2, (1, 4, 20))], "0", 1),  # none after it can gain more
        ([(2, (2, 4, 20)), (3, (1, 4, 20))], "1", 1),  # what may gain most comes first
        ([(3, None), (3, (3, 4, 20))], "1", 2),
    ],
)
def test_the_option_that_gains_most(
    tried: list[tuple[int, tuple[int, int, int] | None]],
    best: str | None,
    asked: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The candidates are given: how many findings each could settle, and what it leads to."""
    named = [
        _Candidate(str(place), {"no_ceil": place}, "h", most)
        for place, (most, _) in enumerate(tried)
    ]
    graph = Graph.from_proto(parsed("g (float[2] x) => (float[2] y) { y = Relu (x) }"))
    now, trials = BEFORE, 0

    class Trial:
        def __init__(self, graph: Graph, options: Options, **_: object) -> None:
            self.options = options

        def edit(self) -> None:
            nonlocal now, trials
            trials += 1
            found = tried[int(self.options.no_ceil)][1]
            if found is None:
                raise UsageError("it does not run")
            now = found

    def counted(_: Graph) -> Counts:
        nonlocal now
        found, now = Counts(*now), BEFORE
        return found

    monkeypatch.setattr(module, "_candidates", lambda *_, **__: iter(named))
    monkeypatch.setattr(module, "counts_of", counted)
    monkeypatch.setattr(module, "Run", Trial)
    found = next_option(graph, Options(), [], {}, [], lambda _: None)
    assert (found and found.option) == best
    assert trials == asked
    if found is not None:
        after = tried[int(found.option)][1]
        assert after is not None
        assert (found.before, found.after, found.hint) == (Counts(*BEFORE), Counts(*after), "h")
        assert found.keywords == {"no_ceil": int(found.option)}
