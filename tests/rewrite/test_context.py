"""One graph with the wishes of its user: the options that are left, and what it reads."""

from typing import Any

from onnxpad.arithmetic.size import Sizes
from onnxpad.facts.feasible import SizeDomain
from onnxpad.graph import Graph
from onnxpad.options import Options, Wanted
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context
from tests.support import BORDER, W, one
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
        ({"domain": NAMED}, {}, ("--dynamic pad", "--trust spec")),
        ({"domain": NAMED}, {"sizes": [OF_H]}, ("--dynamic pad", "--trust spec")),
        ({"domain": NAMED}, {"sizes": [OF_N]}, ALL),
        ({"domain": NAMED}, {"sizes": [OF_N, OF_H]}, ("--dynamic pad", "--trust spec")),
        ({"domain": NAMED}, {"sizes": []}, ("--dynamic pad", "--trust spec")),
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
