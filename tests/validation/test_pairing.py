"""Names of two models matched: inputs and outputs by order; and what is a choice."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from onnxpad.errors import UsageError
from onnxpad.validation.draw import Draw, Input, Interface, Output
from onnxpad.validation.names import (
    Makers,
    Pairing,
    _fit,
    is_discrete,
    paired,
    read_by,
)
from tests.support import one, parsed
from tests.support.rows import each_row

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def inputs(words: str) -> tuple[Input, ...]:
    """Inputs such as `a:1x2 b:Nx3`; `i` before the sizes is an integer's."""
    found = []
    for each in words.split():
        name, _, sizes = each.partition(":")
        kind = INT64 if sizes.startswith("i") else FLOAT
        parts = [size for size in sizes.lstrip("i").split("x") if size]
        shape = tuple(int(size) if size.isdigit() else size for size in parts)
        found.append(Input(name, kind, shape))
    return tuple(found)


def outline(given: str, outputs: str = "") -> Interface:
    told = tuple(Output(each.name, each.elem_type, each.shape) for each in inputs(outputs))
    return Interface(inputs(given), 1, False, told)


@each_row(
    ("ours", "theirs", "expected"),
    [
        ("a:2", "a:2", {}),
        ("a:2 b:3", "a:2 c:3", {"b": "c"}),
        ("a:2", "b:2", {"a": "b"}),
        ("a:2 b:2", "c:2 d:2", {"a": "c", "b": "d"}),  # by order
        ("a:2 b:3", "c:3 d:2", {"a": "d", "b": "c"}),  # the only way that fits
        ("a:2 b:i2", "c:i2 d:2", {"a": "d", "b": "c"}),
        ("a:N b:3", "c:5 d:M", {"a": "c", "b": "d"}),
        ("a:2", "a:2 b:3", {}),  # an input more
        ("a:2 b:3", "a:2", {}),
        ("a:2 b:2 c:3", "d:3 e:2 f:2", None),  # two ways fit
        ("a:2 b:N c:3", "d:3 e:2 f:2", None),
        ("a:2 b:3", "c:2", None),
        ("a:2", "c:3", None),
        ("a:2", "c:2x1", None),
        ("a:N b:2", "c:3 d:3", None),
        ("a:2 b:3 e:4", "c:3 d:3 f:4", None),
    ],
)
def test_inputs_of_other_names(ours: str, theirs: str, expected: dict[str, str] | None) -> None:
    if expected is None:
        with pytest.raises(UsageError):
            paired(outline(ours), outline(theirs))
        # An output that has no pair is none of the other model's.
        assert paired(outline("x:1", ours), outline("x:1", theirs)) == Pairing()
        return
    assert paired(outline(ours), outline(theirs)).inputs == expected
    found = paired(outline("x:1", ours), outline("x:1", theirs))
    assert (found.inputs, found.outputs) == ({}, expected)


def test_pairs_are_told() -> None:
    found = paired(outline("a:2 n:1", "y:2"), outline("b:2 n:1", "z:2"))
    assert found.notes == (
        "input 'a' of the original is 'b' in the rewritten model, by order, type and shape",
        "output 'y' of the original is 'z' in the rewritten model, by order, type and shape",
    )
    some = Input("s", TensorProto.STRING, (2, "N")), Output("u", 0, None), *inputs("i:i")
    with pytest.raises(UsageError) as caught:
        paired(Interface((*some,), 1, False), outline("f:2x3"))  # type: ignore[arg-type]
    assert "'s'" in str(caught.value)


def test_an_unknown_rank_fits_any() -> None:
    known, unknown = Output("a", FLOAT, (2,)), Output("b", FLOAT, None)
    assert _fit(known, unknown)
    assert _fit(unknown, known)
    assert not _fit(unknown, Output("c", INT64, None))


def test_data_and_outputs_go_by_the_other_names() -> None:
    draw = Draw({"x": np.ones(1), "n": np.zeros(1)}, "x")
    pairing = Pairing({"x": "a"}, {"y": "z", "w": "z", "v": "u"})
    assert [*pairing.fed(draw).feeds] == ["a", "n"]
    assert pairing.fed(draw).feeds["a"] is draw.feeds["x"]
    assert Pairing().fed(draw) is draw
    told: Any = {"z": 1, "u": 2, "t": 3}
    assert pairing.renamed(told) == {"y": 1, "w": 1, "v": 2, "t": 3}
    assert Pairing().renamed(told) is told


def makers(body: str, given: str = "float[4, 5] x, float[4, 5] w") -> Makers:
    model = one(body, inputs=given, initializers="int64[1] k = {2}, float[4] c = {1, 2, 3, 4}")
    return Makers(model.graph, ["x"])


@each_row(
    ("body", "choices", "varying"),
    [
        ("a = Relu (x) y = Add (a, c)", "", "a x y"),
        ("a = Relu (w) y = Add (a, c)", "", "x"),  # of no data
        ("y = ArgMax (x)", "y", "x y"),
        ("a = ArgMin (x) b = Cast <to = 1> (a) y = Mul (b, c)", "a b y", "a b x y"),
        ("a = ArgMax (x) b = Cast <to = 1> (a) y = Mul (b, x)", "a b", "a b x y"),
        ("v, y = TopK (x, k)", "y", "v x y"),
        ("y = Hardmax (x)", "y", "x y"),
        ("y = Less (x, c)", "y", "x y"),
        ("a = Greater (x, c) y = Where (a, c, c)", "a y", "a x y"),
        ("a = Greater (x, c) y = Where (a, x, c)", "a", "a x y"),
        ("y = Cast <to = 7> (x)", "y", "x y"),
        ("y = Cast <to = 9> (x)", "y", "x y"),
        ("y = Cast <to = 10> (x)", "", "x y"),
        ("a = Shape (x) y = Cast <to = 1> (a)", "", "x"),
        ("a = Size (x) y = Neg (a)", "", "x"),
        ("a = ArgMax (x) y = Sin (a)", "a", "a x y"),
    ],
)
def test_what_are_choices(body: str, choices: str, varying: str) -> None:
    found = makers(body)
    assert found.choices == {*choices.split()}
    assert found.varying == {*varying.split()}
    assert "y" in found.nodes


@each_row(
    ("dtype", "discrete"),
    [
        ("bool", True), ("U1", True), ("S1", True), (object, True), ("int16", True),
        ("uint16", True), ("int64", True), ("int8", False), ("uint8", False), ("float32", False),
        ("complex64", False),
    ],
)  # fmt: skip
def test_what_is_discrete(dtype: Any, discrete: bool) -> None:
    assert is_discrete(np.zeros(2, dtype)) == discrete


def test_what_tells_more_than_a_choice() -> None:
    found = makers("a = ArgMax (x) b = ConvInteger (x, w) y = Abs (x)")
    assert found.tells("y", np.zeros(2, np.float32))
    assert not found.tells("y", np.zeros(2, np.int32))
    assert found.tells("b", np.zeros(2, np.int32))
    assert not found.tells("a", np.zeros(2, np.float32))
    assert not found.tells("y", [np.zeros(2, np.float32)])


BODIES = (
    "g (bool o, float[2] x, float[2] p) => (float[2] y) <float[2] k = {1, 2}> { y = If (o) "
    "<then_branch = t () => (float[2] u) <float[2] i = {1, 2}> { a = Add (x, i) "
    "b = If (o) <then_branch = t2 () => (float[2] d) { d = Mul (a, p) }, "
    "else_branch = f2 () => (float[2] e) { e = Neg (k) }> u = Add (b, x) }, "
    "else_branch = f () => (float[2] v) { v = Identity (p) }> }"
)


def test_what_a_node_reads_in_its_bodies() -> None:
    (node,) = parsed(BODIES).graph.node
    assert {*read_by(node)} == {*"ouxidapekbv"}
