"""Which tensors are drawn, and the seeds that copies of a model get."""

from typing import Any

import onnx

from onnxpad.runtimes.copies import draws, seeded
from onnxpad.runtimes.sessions import read_proto
from tests.support import one, parsed
from tests.support.rows import each_row

ANY = 9_999_991
GIVEN = "float h = {0.5}, bool t = {1}, bool f = {0}, bool[2] some = {0, 1}"


def built(body: str) -> onnx.ModelProto:
    return one(body, inputs="float[2] x, bool fed", initializers=GIVEN)


@each_row(
    ("body", "names"),
    [
        ("y = Relu (x)", ""),
        ("y = RandomNormalLike (x)", "y"),
        ("a = RandomUniform <shape = [2]> () b = Bernoulli (x) y = Add (a, b)", "a b"),
        ("y = mine.RandomNormalLike (x)", ""),  # whatever that is
        ("y = Dropout (x)", ""),
        ("y = Dropout (x, h)", ""),
        ('y = Dropout (x, h, "")', ""),
        ("y = Dropout (x, h, f)", ""),
        ("y = Dropout (x, h, t)", "y"),
        ("y = Dropout (x, h, some)", "y"),
        ("y = Dropout (x, h, fed)", "y"),
        ("y, m = Dropout (x, h, t)", "y m"),
        ("a = RandomNormalLike (x) y = Dropout (a, h, f)", "a"),
        ("c = Constant <value = bool {0}> () y = Dropout (x, h, c)", ""),
        ("c = Constant <value = bool {1}> () y = Dropout (x, h, c)", "y"),
        ("c = Cast <to = 9> (f) y = Dropout (x, h, c)", "y"),  # computed, so not known
        (("y = If (fed) <then_branch = g () => (float[2] u) { u = Dropout (x, h, t) }, "
         "else_branch = e () => (float[2] v) { v = Neg (x) }>"), "y"),
        (("y = If (fed) <then_branch = g () => (float[2] u) { u = Dropout (x, h, f) }, "
         "else_branch = e () => (float[2] v) { v = Neg (x) }>"), "y"),  # more than need be
        (("y = If (fed) <then_branch = g () => (float[2] u) <bool k = {1}> "
         "{ u = Dropout (x, h, k) }, else_branch = e () => (float[2] v) <bool k = {0}> "
         "{ v = Dropout (x, h, k) }>"), "y"),  # one name, of two values
        (("y = Scan <num_scan_inputs = 1, body = b (bool f) => (float[2] u) "
         "{ u = Dropout (x, h, f) }> (some)"), "y"),  # an input has that name
    ],
)  # fmt: skip
def test_what_is_drawn(body: str, names: str) -> None:
    assert draws(built(body)) == bool(names)


FUNCTIONS = """
g (float[2] x) => (float[2] y) { a = l.outer (x) b = l.still (a) y = l.other (b) }
<domain: "l", opset_import: ["" : 17, "l" : 1]> outer (x) => (y) { y = l.noisy (x) }
<domain: "l", opset_import: ["" : 17]> noisy (x) => (y) { y = RandomNormalLike (x) }
<domain: "l", opset_import: ["" : 17]> still (x) => (y) { y = Dropout (x) }
<domain: "l", opset_import: ["" : 17]> other (x) => (y) { y = Neg (x) }
"""


def test_what_is_drawn_in_functions_that_call_each_other() -> None:
    model = parsed(FUNCTIONS)
    assert draws(model)
    changed = read_proto(seeded(model))
    (node,) = (each.node[0] for each in changed.functions if each.name == "noisy")
    assert said(node) == {"seed": float(ANY)}
    assert [said(node) for node in changed.graph.node] == [{}, {}, {}]


def said(node: onnx.NodeProto) -> dict[str, Any]:
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


def test_seeds_are_of_the_type_of_their_attribute() -> None:
    model = built(
        "a = RandomNormalLike (x) b = Dropout (x, h, t) c = RandomNormalLike <seed = 2.0> (x) "
        "d = Dropout (x) y = Multinomial (x)"
    )
    before = model.SerializeToString()
    found = [said(node) for node in read_proto(seeded(model)).graph.node]
    assert found == [{"seed": float(ANY)}, {"seed": ANY}, {"seed": 2.0}, {}, {"seed": float(ANY)}]
    assert type(found[1]["seed"]) is int
    assert model.SerializeToString() == before


def test_a_seed_that_calls_may_set_is_one() -> None:
    model = parsed(
        """
        g (float[2] x) => (float[2] y) { a = l.outer (x) y = l.outer <q = 5.0> (a) }
        <domain: "l", opset_import: ["" : 17, "l" : 1]> outer <q> (x) => (y)
        { y = l.inner <s: float = @q> (x) }
        <domain: "l", opset_import: ["" : 17]> inner <s, other> (x) => (y)
        { y = RandomNormalLike <seed: float = @s> (x) }
        """
    )
    inner = read_proto(seeded(model)).functions[1]
    assert said(inner.node[0]) == {"seed": float(ANY)}
