"""The parts of the search for the first difference, each on its own."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from onnxpad.validation.bisect import (
    _at_worst,
    _attributes,
    _bytes,
    _Chunks,
    _elements,
    _influence,
    _Producer,
    _varying,
    with_outputs,
)
from onnxpad.validation.compare import Tolerance, compare
from tests.support import parsed


def test_the_attributes_of_a_node_in_a_line() -> None:
    tensor = onnx.numpy_helper.from_array(np.zeros((2, 3), np.float16), "t")
    graph = helper.make_graph([], "g", [], [])
    node = helper.make_node(
        "Any", [], [], strides=[2, 2], pads=[0, 1], mode="edge", alpha=0.5, value=tensor,
        body=graph, bodies=[graph], sparse=onnx.SparseTensorProto(),
    )  # fmt: skip
    node.attribute.append(
        onnx.AttributeProto(name="of", ref_attr_name="outer", type=onnx.AttributeProto.INT)
    )
    tensor.data_type = 999
    node.attribute.add(name="odd", type=onnx.AttributeProto.TENSOR, t=tensor)
    assert _attributes(node) == (
        "alpha=0.5, bodies=(graph), body=(graph), mode=edge, odd=unknown 2x3, of=@outer, "
        "pads=[0, 1], sparse=?, strides=[2, 2], value=float16 2x3"
    )
    assert _attributes(helper.make_node("Any", [], [], x=b"\xff")) == "x=\ufffd"


@pytest.mark.parametrize("more", [0, 1])
def test_long_attributes_are_cut(more: int) -> None:
    from onnxpad.validation.bisect import _ONE_LINE

    text = _attributes(helper.make_node("Any", [], [], x="a" * (_ONE_LINE - 2 + more)))
    assert len(text) == _ONE_LINE
    assert text.endswith("..." if more else "aaa")


def test_values_at_the_worst_element() -> None:
    before, after = np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 3.1])
    assert _at_worst(compare("y", before, after, Tolerance()), before, after) == ("2.0", "5.0")
    short = np.zeros(2)
    assert _at_worst(compare("y", before, short, Tolerance()), before, short) == ("3", "2")
    assert _at_worst(compare("y", before, [], Tolerance()), before, []) == ("ndarray", "list")
    assert _at_worst(compare("y", [], before, Tolerance()), [], before) == ("list", "ndarray")


@pytest.mark.parametrize(
    ("value", "elements", "size"),
    [
        (np.zeros((2, 3), np.float32), 6, 24),
        ([np.zeros(2), np.zeros(3)], 0, 40),
        ([[np.zeros(1)], np.zeros(1)], 0, 16),
        ({"a": 1}, 0, 0),
        (None, 0, 0),
    ],
)
def test_how_large_a_value_is(value: Any, elements: int, size: int) -> None:
    assert (_elements(value), _bytes(value)) == (elements, size)


def producers(**made: tuple[str, str]) -> dict[str, _Producer]:
    """Producers by tensor, of an operator and what it reads; in brackets what its bodies read."""
    found = {}
    for name, (op, read) in made.items():
        outer, _, inner = read.partition("|")
        found[name] = _Producer(name, "", (), frozenset(f"{outer} {inner}".split()), op)
    return found


def test_what_depends_on_data() -> None:
    made = producers(
        s=("Shape", "x"), r=("Relu", "x"), c=("Relu", "w"), d=("Add", "c r"), i=("If", "c|d"),
        z=("Size", "r"), k=("Add", "s z"), o=("Relu", ""),
    )  # fmt: skip
    assert _varying(made, ["x"]) == {"x", "r", "d", "i"}
    assert _varying(made, ["x", "w"]) == {"x", "w", "r", "c", "d", "i"}
    assert _varying(made, []) == set()


def test_differences_upstream_end_where_tensors_agree() -> None:
    made = producers(
        a=("", "x"), b=("", "a"), c=("", "b|s"), d=("", "c a"), e=("", "d"), s=("", "x")
    )
    assert _influence(made, ["e"], {"b", "c", "e"}, ()) == ({"b", "c", "e"}, set())
    assert _influence(made, ["e"], {"a", "b", "c", "e"}, {"b", "s"}) == (
        {"a", "c", "e"}, {"b", "s"},
    )  # fmt: skip
    assert _influence(made, ["e"], {"a", "c", "d"}, {"c"}) == ({"a", "d"}, {"c"})
    assert _influence(made, ["x"], {"x"}, ()) == (set(), set())
    assert _influence(made, ["x"], (), {"x"}) == (set(), {"x"})
    assert _influence(made, ["c"], {"s"}, {"b"}) == ({"s"}, {"b"})


def taken(names: int, budget: int, *sizes: int) -> list[int]:
    """The lengths of chunks where all tensors have the sizes given, in bytes."""
    chunks = _Chunks([str(each) for each in range(names)], budget)
    found = []
    for chunk in chunks:
        found.append(len(chunk))
        chunks.took([np.zeros(size, np.uint8) for size in sizes])
    assert chunks.done == sum(found) == names
    return found


def test_chunks_grow_to_their_budget() -> None:
    assert taken(300, 1 << 40, 1)[:3] == [8, 32, 128]
    assert taken(100, 800, 3, 8) == [8, 32, 60]
    assert taken(100, 80, 3, 8) == [8, *[10] * 9, 2]
    assert taken(12, 7, 8) == [8, 1, 1, 1, 1]
    assert taken(10, 0) == [8, 1, 1]


def test_a_chunk_that_fails_is_halved_down_to_one() -> None:
    chunks = _Chunks([str(each) for each in range(40)], 1 << 20)
    seen = []
    for chunk in chunks:
        seen.append(chunk)
        if "1" in chunk:
            chunks.failed(chunk)
        else:
            chunks.took([np.zeros(1 << 20, np.uint8)])
    assert [len(chunk) for chunk in seen[:4]] == [8, 4, 2, 1]
    assert [chunk for chunk in seen if "1" in chunk][-1] == ["1"]
    told = [name for chunk in seen if "1" not in chunk for name in chunk]
    assert told == [str(each) for each in range(40) if each != 1]


def test_further_outputs_of_any_source(tmp_path: Any) -> None:
    model = parsed("g (float[2] x) => (float[2] y) { a = Neg (x) y = Neg (a) }", opset=21)
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    for source in (model, model.SerializeToString(), path):
        found = onnx.ModelProto.FromString(with_outputs(source, ["a", "b"]))
        assert [output.name for output in found.graph.output] == ["y", "a", "b"]
        assert found.graph.node == model.graph.node
