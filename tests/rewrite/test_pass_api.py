"""What a pass says of what it finds: the message, its reason, and the facts of a report."""

from typing import Any, ClassVar

import pytest

from onnxpad.finding import Severity
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context, Match, Pass
from tests.support import one


class Rule(Pass):
    """A pass that is given what it finds."""

    code: ClassVar[str] = "PAD999"


class Sure(Rule):
    """The same with a usual reason."""

    why: ClassVar[str] = "it is so"
    severity: ClassVar[Severity] = Severity.INFO


def context(**wanted: Any) -> Context:
    return Context(
        Graph.from_proto(one("y = MaxPool <kernel_shape = [3, 3]> (x)")), Options(**wanted)
    )


def said(match: Match) -> tuple[object, ...]:
    found = match.finding
    return found.severity, found.message, found.reason, dict(found.evidence)


@pytest.mark.parametrize(
    ("asked", "wanted", "reason", "facts"),
    [
        ("", {}, "it is open. Pass --dynamic pad", {"options": ("--dynamic pad",)}),
        ("", {"dynamic": "pad"}, "it is open", {}),
        ("--style same", {}, "this is what --style same asks for; it is open",
         {"asked": "--style same"}),
    ],
)  # fmt: skip
def test_what_is_refused(
    asked: str, wanted: dict[str, Any], reason: str, facts: dict[str, object]
) -> None:
    graph = context(**wanted)
    (node,) = graph.graph.nodes
    why = RefusalError(Reason.OWN_RULE, "it is open", options=("--dynamic pad",), axis=1)
    found = Rule().refused(graph, node, "as found", why, asked=asked, place=3)
    assert said(found) == (Severity.INFO, "as found", reason, {"axis": 1, "place": 3, **facts})
    assert (found.finding.reason_code, found.plan) == (Reason.OWN_RULE, None)
    assert (found.node, found.about) == (node, node)


def test_what_is_only_reported() -> None:
    graph = context()
    (node,) = graph.graph.nodes
    found = Sure().reported(graph, node, "as found", "it stays", axis=2)
    assert said(found) == (Severity.INFO, "as found", "it stays", {"axis": 2})
    assert (found.finding.reason_code, found.plan, found.about) == (Reason.OWN_RULE, None, node)
    strict = Rule().reported(graph, node, "m", "it stays", severity=Severity.ERROR)
    assert strict.finding.severity is Severity.ERROR
    assert Rule().reported(graph, node, "m", "r").finding.severity is Severity.WARNING
