"""Findings name only options that help: followed, each does away with the finding."""

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.facts import open_axes
from onnxpad.graph import Graph
from tests.support import FEW, parsed
from tests.support.rows import one_in

CHOICES: tuple[dict[str, Any], ...] = (
    {},
    {"dynamic": "auto-pad"},
    {"dynamic": "pad"},
    {"style": "symmetric"},
    {"style": "pad"},
    {"strict": True},
)

COMPUTED = """
net (float[1, 2, height, width] x) => (float[1, 3, h, w] y)
<float[3, 2, 3, 3] k, int64[1] one = {1}, int64[1] two = {2}, int64[2] none = {0, 0}>
{
  size = Shape <start = 2> (x)
  left = Mod (size, two)
  total = Add (left, one)
  begin = Div (total, two)
  end = Sub (total, begin)
  pads = Concat <axis = 0> (none, begin, none, end)
  p = Pad (x, pads)
  y = Conv <strides = [2, 2]> (p, k)
}
"""
"""A computed `Pad` that is SAME."""

SAME = """
net (float[1, 2, height, width] x) => (float[1, 3, h, w] y)
<float[3, 2, 3, 3] k>
{ y = Conv <strides = [2, 2], auto_pad = "SAME_UPPER"> (x, k) }
"""


def net(text: str) -> onnx.ModelProto:
    return parsed(text.replace("float[3, 2, 3, 3] k", f"float[3, 2, 3, 3] k = {WEIGHT}"))


WEIGHT = "{" + ", ".join(["1"] * 54) + "}"


def options(finding: onnxpad.Finding) -> Sequence[str]:
    found = finding.evidence.get("options", ())
    assert isinstance(found, tuple | list)
    return found


def left(model: Any, given: Mapping[str, Any]) -> Sequence[onnxpad.Finding]:
    is_file = isinstance(model, Path)
    result = of_file(model, str(given)) if is_file else onnxpad.fix(model, validate=False, **given)
    return [*result.findings, *result.undone]


@cache
def of_file(path: Path, given: str) -> onnxpad.FixResult:
    """What becomes of a file; options that one case begins with are those another is led to."""
    return onnxpad.fix(path, validate=False, **ast.literal_eval(given))


def followed(path: Path, given: Mapping[str, Any], option: str, about: Any) -> Mapping[str, Any]:
    """The keywords with which an option is followed."""
    if option not in {"--shape", "--dim"}:
        name, value = option.removeprefix("--").split()
        return {**given, name: value}
    named = [each["name"] for each in about or ()]
    graph = Graph.read(path)
    every = [a.label for a in open_axes(graph.inputs) if a.tensor not in graph.initializers]
    return {**given, "dims": dict.fromkeys(named or every, 224)}


@pytest.mark.parametrize(
    ("path", "given"),
    one_in(4, [(path, given) for path in FEW for given in CHOICES[: 6 if path in FEW[::3] else 1]]),
    ids=lambda case: getattr(case, "stem", str(case)),
)
def test_an_option_that_is_named_helps(path: Path, given: Mapping[str, Any]) -> None:
    """The padding changes, or goes."""
    tried: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for finding in left(path, given):
        sizes = finding.evidence.get("sizes")
        assert bool(options(finding)) == (" Pass --" in finding.reason)
        for option in options(finding):
            assert option in finding.reason
            assert not finding.asked
            key = option, str(sizes)
            if key not in tried:
                found = left(path, followed(path, given, option, sizes))
                tried[key] = {(each.code, each.node) for each in found if not each.asked}
            assert (finding.code, finding.node) not in tried[key]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, ["--shape", "--dim", "--dynamic auto-pad"]),
        ({"shapes": "1,2,?,?"}, ["--dim", "--dynamic auto-pad"]),
        ({"dims": {"height": "1..512"}}, ["--dim", "--dynamic auto-pad"]),
        ({"strict": True}, ["--shape", "--dim", "--dynamic auto-pad"]),
    ],
    ids=str,
)
def test_an_option_that_was_given_is_not_named(
    given: Mapping[str, Any], named: Sequence[str]
) -> None:
    """Nor one that contradicts it: a range and a shape of the same input."""
    (finding,) = left(net(COMPUTED), given)
    assert list(options(finding)) == named
    assert all(option in finding.reason for option in named)
    assert finding.reason.count(" --") == len(named)


@pytest.mark.parametrize(
    ("text", "given", "option"),
    [
        (SAME, {"dynamic": "auto-pad"}, "--dynamic auto-pad"),
        (SAME, {"dynamic": "pad"}, "--dynamic pad"),
        (SAME, {"style": "pad"}, "--style pad"),
        (COMPUTED, {"dynamic": "auto-pad"}, "--dynamic auto-pad"),
        (COMPUTED, {"dynamic": "pad"}, "--dynamic pad"),
        (COMPUTED, {"style": "pad"}, "--style pad"),
    ],
)
def test_what_stays_as_asked_is_said_to_be_asked_for(
    text: str, given: Mapping[str, Any], option: str
) -> None:
    result = onnxpad.fix(net(text), validate=False, **given)
    for finding in onnxpad.fix(result.model, validate=False, **given).findings:
        assert finding.asked == option
        assert finding.reason_code == "size-dependent"
        assert not options(finding)
        assert "Pass" not in finding.reason
