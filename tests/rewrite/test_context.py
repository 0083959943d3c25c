"""One graph with the wishes of its user, and where and what a pass says of what it finds."""

from typing import Any, ClassVar

import onnx

import onnxpad
from onnxpad.arithmetic.size import Sizes
from onnxpad.facts.feasible import SizeDomain
from onnxpad.finding import Finding, Location, Severity
from onnxpad.graph import Graph
from onnxpad.options import Options, Wanted
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context, Match, Pass
from tests.support import BORDER, PADS, W, one, parsed
from tests.support.rows import each_row

OPEN = "float[1, 2, h, w] x, float[n] z"
ALL = ("--shape", "--dim", "--dynamic pad", "--trust spec")
SHAPED = SizeDomain({"x": (1, 2, 9, None)}, shaped=frozenset({"x"}))
NAMED = SizeDomain(given={"h": Sizes(1, 9)}, named=frozenset({"h"}))
RISKY = SizeDomain(by_name=True)
OF_H, OF_N = ({"name": name, "input": tensor} for name, tensor in (("h", "x"), ("n", "z")))


@each_row(
    ("wanted", "facts", "left"),
    [
        ({}, {}, ALL),
        ({"dynamic": "pad"}, {}, ("--shape", "--dim", "--trust spec")),
        ({"style": "pad"}, {}, ("--shape", "--dim", "--trust spec")),
        ({"trust": "spec"}, {}, ("--shape", "--dim", "--dynamic pad")),
        ({"strict": True}, {}, ("--shape", "--dim", "--dynamic pad")),
        ({"strict": True, "domain": RISKY}, {}, ("--shape", "--dim")),
        ({"domain": RISKY}, {}, ALL),
        ({"domain": SHAPED}, {}, ("--dim", "--dynamic pad", "--trust spec")),
        ({"domain": SHAPED}, {"sizes": [OF_H]}, ("--dim", "--dynamic pad", "--trust spec")),
        ({"domain": SHAPED}, {"sizes": [OF_N]}, ALL),
        ({"domain": NAMED}, {}, ("--dim", "--dynamic pad", "--trust spec")),
        ({"domain": NAMED}, {"sizes": [OF_H]}, ("--dim", "--dynamic pad", "--trust spec")),
        ({"domain": NAMED}, {"sizes": [OF_N]}, ALL),
        ({"domain": NAMED}, {"sizes": [OF_N, OF_H]}, ("--dim", "--dynamic pad", "--trust spec")),
        ({"domain": NAMED}, {"sizes": []}, ("--dim", "--dynamic pad", "--trust spec")),
    ],
)
def test_the_options_that_may_still_be_passed(
    wanted: dict[str, Any], facts: dict[str, Any], left: tuple[str, ...]
) -> None:
    domain = wanted.pop("domain", None)
    graph = Graph.from_proto(one("y = Relu (x)", inputs=OPEN))
    context = Context(graph, Options(**wanted), domain)
    assert context.options(RefusalError(Reason.OWN_RULE, "m", options=ALL, **facts)) == left
    assert context.options(RefusalError(Reason.OWN_RULE, "m", **facts)) == ()


def test_paddings_that_are_to_be_written_each_in_its_own_way() -> None:
    body = (
        "a = Pad (x, p) b = Relu (a) c = Conv (b, w) d = Conv (c, w) e = Pad (d, p) "
        "f = Conv (e, w) g = Conv (e, w) y = Add (f, g)"
    )
    graph = Graph.from_proto(one(body, initializers=f"{W}, {BORDER}"))
    context = Context(graph)
    wants = {"c": Wanted("pad"), "f": Wanted("pad"), "g": Wanted("symmetric")}
    context.write_each(wants, None)
    styles = {node.outputs[0].name: context.wanted(node).style for node in graph.nodes}
    assert styles == {
        "a": "pad", "b": "pad", "c": "pad",  # what is read by c alone
        "d": "keep", "e": "keep",  # two readers differ
        "f": "pad", "g": "symmetric", "y": "keep",
    }  # fmt: skip


class Rule(Pass):
    """A pass that is given what it finds."""

    code: ClassVar[str] = "PAD999"


class Sure(Rule):
    """The same with a usual reason."""

    why: ClassVar[str] = "it is so"
    severity: ClassVar[Severity] = Severity.INFO


def a_context(**wanted: Any) -> Context:
    return Context(
        Graph.from_proto(one("y = MaxPool <kernel_shape = [3, 3]> (x)")), Options(**wanted)
    )


def said(match: Match) -> tuple[object, ...]:
    found = match.finding
    return found.severity, found.message, found.reason, dict(found.evidence)


def test_what_is_only_reported() -> None:
    graph = a_context()
    (node,) = graph.graph.nodes
    found = Sure().reported(graph, node, "as found", "it stays", axis=2)
    assert said(found) == (Severity.INFO, "as found", "it stays", {"axis": 2})
    assert (found.finding.reason_code, found.plan, found.about) == (Reason.OWN_RULE, None, node)
    strict = Rule().reported(graph, node, "m", "it stays", severity=Severity.ERROR)
    assert strict.finding.severity is Severity.ERROR
    assert Rule().reported(graph, node, "m", "r").finding.severity is Severity.WARNING


SAME = 'auto_pad = "SAME_UPPER", strides = [2, 2]'
MODEL = f"""
<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
agraph (float[1, 1, h, w] x, bool c) => (y)
<{W}, {PADS}>
{{
    [named] a = Conv <{SAME}> (x, w)
    b = MaxPool <kernel_shape = [2, 2], {SAME}> (a)
    [choice] d = If (c) <
        then_branch = then () => (t) {{ [inner] t = MaxPool <kernel_shape = [2, 2], {SAME}> (b) }},
        else_branch = other () => (e) {{ e = MaxPool <kernel_shape = [3, 3], {SAME}> (b) }}
    >
    f = Pad <mode = "reflect"> (d, p)
    y = own.twice (f)
}}
<domain: "own", opset_import: ["" : 17]>
twice (u) => (v) {{ v = MaxPool <kernel_shape = [2, 2], {SAME}> (u) }}
"""


def findings(model: onnx.ModelProto) -> tuple[Finding, ...]:
    return onnxpad.check(model).findings


def test_a_finding_has_the_place_of_its_node() -> None:
    found = {each.location: each for each in findings(parsed(MODEL))}
    assert {*found} == {
        Location((), "named", "a"),
        Location((), "", "b"),
        Location(("choice", "then_branch"), "inner", "t"),
        Location(("choice", "else_branch"), "", "e"),
        Location((), "", "f"),
        Location(("own::twice",), "", "v"),
    }
