"""What the analysis does not claim, how it names sizes, and what calls and bodies hand on."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnxpad
from onnxpad.arithmetic.size import Extent, Sizes, Unknown, symbol
from onnxpad.errors import ModelError
from onnxpad.facts import LARGEST_SIZE, Analysis
from onnxpad.facts.shape_rules import resized
from onnxpad.graph import Graph
from tests.support import one, parsed
from tests.support.rows import each_row, rows_below

ROWS: Final = Path(__file__).with_name("rows.txt")


def analysed(text: str, **dims: Extent) -> tuple[Graph, Analysis]:
    graph = Graph.from_proto(parsed(text))
    return graph, Analysis(graph, dims=dims)


def shape_of(text: str, name: str = "y", **dims: Any) -> tuple[Extent, ...] | None:
    graph, analysis = analysed(text, **dims)
    return analysis.shape(graph.tensor(name))


def told(shape: tuple[Extent, ...] | None) -> str:
    assert shape is not None
    return " x ".join("?" if isinstance(size, Unknown) else str(size) for size in shape)


LISTS: Final = """zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> ()
    two = Constant <value_ints = [2]> () four = Constant <value_ints = [4]> ()
    minus = Constant <value_ints = [-1]> () nine = Constant <value_ints = [9]> ()
    s = Shape (x)"""


@each_row(("why", "body"), rows_below(ROWS, "no rank is claimed"))
def test_rank_that_cannot_be_told_is_none(why: str, body: str) -> None:
    far = f"far = Constant <value = int64[1] {{{2**62}}}> ()"
    data = "float[2, n, 5] x, float[4, 4, 4] k, int64[m] t"
    assert shape_of(f"g ({data}) => () {{ {LISTS} {far} {body} }}") is None


@each_row("body", [body for (body,) in rows_below(ROWS, "no size is claimed")])
def test_size_that_cannot_be_told_is_unknown(body: str) -> None:
    shape = shape_of(
        f"g (float[1, 2, n] x, float[2, 2, 3] w, int64[1] t) => () {{ {LISTS} less = Sub (s, one)"
        f" {body} }}"
    )
    assert not shape or any(isinstance(size, Unknown) for size in shape)


@each_row(("expected", "body"), rows_below(ROWS, "targets and lists, of a tensor of n x 4"))
def test_targets_and_lists(expected: str, body: str) -> None:
    lists = LISTS.replace("one = ", "n = Slice (s, zero, one) one = ").replace("two = ", "pair = ")
    assert told(shape_of(f"g (float[n, 4] x) => () {{ {lists} {body} }}")) == expected


def test_resize_is_claimed_only_where_the_product_is_not_rounded() -> None:
    def size(last: int) -> Extent:
        return symbol("n", Sizes(last=last))

    assert resized(11, 1.5) == 16
    known = [isinstance(resized(*each), Unknown) for each in (
        (11, float(np.float32(0.7))), (symbol("n"), 2.0), (size(2**24), 2.0), (size(2**24), 1.5),
        (size(2**24 + 1), 2.0),
    )]  # fmt: skip
    assert known == [True, True, False, True, True]


def test_axes_of_inputs_are_independent_symbols_of_their_names() -> None:
    """Whichever is asked about first; only inputs and constants are believed."""
    text = """g (float[N, 3, height] x, float[N, height, ?] other, float[N] third)
      => (float[1, 1, 10] y) <float[1, 1, 9] r> { r = Relu (x) y = Relu (r) }"""
    found = [told(shape_of(text, name)) for name in ("third", "x", "other", "y")]
    named = "N (other[0]) x height (other[1]) x other[2]"
    assert found == ["N (third[0])", "N x 3 x height", named, "N x 3 x height"]
    joined = "g (float[N, M] x, float[N, M] z) => () { y = Concat <axis = 1> (x, z) }"
    assert shape_of(joined, "y", **{"N": 2, "M": 3, "M (z[1])": 5}) == (2, 8)


# Contents


def content(text: str, name: str = "y") -> list[object] | None:
    graph, analysis = analysed(text)
    value = analysis.value(graph.tensor(name))
    items = None if value is None else value.data.reshape(-1).tolist()
    return items and ["?" if isinstance(each, Unknown) else each for each in items]


@each_row(("expected", "body"), rows_below(ROWS, "contents that are known in part, or not"))
def test_contents_that_are_known_in_part_or_not(expected: str, body: str) -> None:
    found = content(
        f"""g (int64[1] given, int64[2] overridden) => () <int64[2] overridden = {{1, 1}}> {{
          one = Constant <value_ints = [1]> () two = Constant <value_ints = [2]> ()
          one32 = Constant <value = int32[1] {{1}}> ()
          flags = Constant <value = bool[2] {{1, 0}}> ()
          huge = Constant <value_ints = [1000000, 1000000]> () {body} }}"""
    )
    assert str(found) == expected


@pytest.mark.parametrize(
    "value",
    [
        TensorProto(data_type=122, raw_data=b"1234"), TensorProto(raw_data=b"1234"),
        TensorProto(data_type=1, raw_data=b"12"),
        TensorProto(data_type=1, data_location=TensorProto.EXTERNAL),
    ],
    ids=["no such type", "no type", "half an element", "in no file"],
)  # fmt: skip
def test_what_cannot_be_read_fills_nothing(value: TensorProto) -> None:
    value.dims.append(1)
    model = one("y = ConstantOfShape (s)", initializers="int64[1] s = {2}")
    model.graph.node[0].attribute.append(helper.make_attribute("value", value))
    graph = Graph.from_proto(model)
    assert Analysis(graph).value(graph.tensor("y")) is None


def test_amounts_in_a_file_at_an_unknown_path() -> None:
    model = one("y = Pad (x, p)", inputs="float[2] x", initializers="int64[2] p = {1, 0}")
    (amounts,) = model.graph.initializer
    amounts.ClearField("raw_data")
    amounts.ClearField("int64_data")
    amounts.external_data.add(key="location", value="p.bin")
    amounts.data_location = TensorProto.EXTERNAL
    assert [each.reason_code for each in onnxpad.check(model).findings] == ["amounts-in-file"]


def test_elements_that_do_not_fit_are_an_error_but_in_a_function() -> None:
    bad = "s = Constant <value = int64[4] {1, 2}> () y = Reshape (x, s)"
    with pytest.raises(ModelError):
        shape_of(f"g (float[8] x) => () {{ {bad} }}")
    called = f"""<ir_version: 9, opset_import: ["": 17, "own": 1]> g (float[8] x) => ()
        {{ y = own.Formed (x) }}
        <domain: "own", opset_import: ["": 17]> Formed (x) => (y) {{ {bad} }}"""
    assert told(shape_of(called)) == "? x ? x ? x ?"


def test_deep_graph_needs_no_deep_stack() -> None:
    depth = 5_000
    relus = [helper.make_node("Relu", [f"x{k}"], [f"x{k + 1}"]) for k in range(depth)]
    copies = [helper.make_node("Identity", [f"s{k}"], [f"s{k + 1}"]) for k in range(depth)]
    nodes = [*relus, helper.make_node("Shape", [f"x{depth}"], ["s0"]), *copies]
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["n"])
    out = onnx.ValueInfoProto(name=f"s{depth}")
    model = helper.make_model(helper.make_graph(nodes, "deep", [x], [out]), ir_version=8)
    graph = Graph.from_proto(model)
    integers = Analysis(graph).integers(graph.tensor(f"s{depth}"))
    assert integers == (symbol("n", Sizes(last=LARGEST_SIZE)),)


def test_what_is_undone_is_worked_out_anew() -> None:
    graph, analysis = analysed("g (float[2, 3] x) => () { a = Transpose (x) y = Relu (a) }")
    node, journal, found = next(graph.nodes), graph.model.journal, list[object]()
    for perm in ([0, 1], None):
        graph.set_attributes(node, {"perm": perm})
        found.append(analysis.shape(graph.tensor("y")))
        journal.rollback(0)
    assert [*found, analysis.shape(graph.tensor("y"))] == [(2, 3), (3, 2), (3, 2)]


# Calls and bodies


@each_row(("shapes", "given", "body"), rows_below(ROWS, "calls with other values"))
def test_calls_with_other_values_are_two(shapes: str, given: str, body: str) -> None:
    graph, analysis = analysed(
        f"""<ir_version: 9, opset_import: ["": 17, "own": 1]>
        g () => (float[?] y, float[?] z) <{given}> {{ y = own.Sized (a) z = own.Sized (b) }}
        <domain: "own", opset_import: ["": 17]>
        Sized (n) => (r) {{ {body} r = ConstantOfShape (s) }}"""
    )
    assert str([analysis.shape(graph.tensor(name)) for name in "yz"]) == shapes


def test_a_result_of_branches_is_what_both_have() -> None:
    branches = (
        "y = If (c) <then_branch = t () => (float[?, ?, ?] u) { u = Relu (x) },"
        " else_branch = f () => (float[?, ?, ?] v) { v = Concat <axis = 1> (x, x) }>"
    )
    assert told(shape_of(f"g (bool c, float[2, 3, n] x) => () {{ {branches} }}")) == "2 x ? x n"


# The half of what is lacking to a square, `b` of `l`, as exporters write `//`.
