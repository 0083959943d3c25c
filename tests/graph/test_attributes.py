"""Attributes as Python values, and nodes that contradict the schema of their operator."""

import math
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, GraphProto, helper

from onnxpad.graph import Graph, nodes
from onnxpad.graph.model import contradiction
from tests.support import parsed
from tests.support.rows import each_row

KINDS = [
    (5, AttributeProto.INT),
    (0.5, AttributeProto.FLOAT),
    ("a", AttributeProto.STRING),
    (b"\xff", AttributeProto.STRING),
    ([5, 6], AttributeProto.INTS),
    ([0.5, 2.0], AttributeProto.FLOATS),
    (["a", "b"], AttributeProto.STRINGS),
    ([b"\xff", b"b"], AttributeProto.STRINGS),
]


@each_row(("value", "kind"), KINDS)
def test_a_value_is_written_read_and_of_its_type_alone(value: Any, kind: int) -> None:
    attribute = helper.make_attribute("a", 7, doc_string="why")
    nodes.write_value(attribute, value)
    assert (attribute.name, attribute.doc_string, attribute.type) == ("a", "why", kind)
    assert len(attribute.ListFields()) == 4
    assert nodes.read_value(attribute) == value
    attribute.ClearField("type")
    assert nodes.read_value(attribute) == value
    types = [*AttributeProto.AttributeType.values()]
    assert [each for each in types if nodes.is_of(value, each)] == [kind]


@each_row(
    ("value", "normal"),
    [(True, 1), (np.int32(3), 3), (0.1, float(np.float32(0.1))), ((1, np.int64(2)), [1, 2]),
     (np.array([1.5, 2.5]), [1.5, 2.5]), (("a", "b"), ["a", "b"]), ([], []), ([b"a"], [b"a"])],
)  # fmt: skip
def test_a_value_as_it_is_read_again(value: object, normal: Any) -> None:
    found: Any = nodes.normal_value(value)
    assert (found, type(found)) == (normal, type(normal))


@each_row("value", [{}, [1, 0.5], ["a", b"b"], [None], helper.make_attribute("a", [GraphProto()])])
def test_what_no_attribute_holds(value: object) -> None:
    with pytest.raises(TypeError, match=r"^no attribute holds "):
        nodes.normal_value(value)
    empty = AttributeProto(type=AttributeProto.GRAPH)  # of a file that is damaged
    assert not nodes.is_of(empty, AttributeProto.GRAPH)


@each_row(
    ("left", "right", "same"),
    [
        (1, 1, True), (1, 2, False), (1, 1.0, False), (1.0, 1.0, True),
        (math.nan, math.nan, True), (math.nan, 1.0, False), (1.0, math.nan, False), (1.0, 1, False),
        ([1, 2], [1, 2], True), ([1, 2], [1, 3], False), ([1], [1, 1], False),
        ([1], 1, False), ([], [], True), ([1], [1.0], False), ([math.nan], [math.nan], True),
        ("a", "a", True), ("a", b"a", False), (0.0, -0.0, False), ([0.0], [-0.0], False),
    ],
)  # fmt: skip
def test_values_that_are_encoded_alike(left: Any, right: Any, same: bool) -> None:
    assert nodes.same_value(left, right) is same


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ("y = Conv (x, x)", ""),
        ("y = Conv (x, x, x)", ""),
        ("y = Conv (x, x, )", ""),
        ("y = Conv (x)", "its number of inputs is 1, which the operator does not take"),
        ("y = Conv (x, x, x, x)", "its number of inputs is 4, which the operator does not take"),
        ("y, z = Conv (x, x)", "its number of outputs is 2, which the operator does not take"),
        ("y = Conv (, x)", "its input 0 is left out, which the operator requires"),
        ("y = Clip (x, , x)", ""),
        ("y = Concat <axis = 0> (x, , x)",
         "its input 1 is left out, which the operator requires"),
        ("y = Concat (x)", "it has no attribute axis, which opset 17 requires"),
        ("y = Concat <axis = 0> ()", "its number of inputs is 0, which the operator does not take"),
        ("y = Conv <pads = 1> (x, x)", "its attribute pads is not of its type"),
        ("y = Conv <pads = [1.5]> (x, x)", "its attribute pads is not of its type"),
        ("y = Conv <group = [1]> (x, x)", "its attribute group is not of its type"),
        ("y = Conv <auto_pad = 1> (x, x)", "its attribute auto_pad is not of its type"),
        ("y = LeakyRelu <alpha = 1> (x)", "its attribute alpha is not of its type"),
        ("y = Constant <value = 1> ()", "its attribute value is not of its type"),
        ("y = Constant <value_floats = 1.5> ()",
         "its attribute value_floats is not of its type"),
        ("y = Constant <value_strings = 1> ()",
         "its attribute value_strings is not of its type"),
        ("y = Constant <sparse_value = 1> ()", "its attribute sparse_value is not of its type"),
        ("y = If <then_branch = 1, else_branch = 1> (x)",
         "its attribute then_branch is not of its type"),
        ("y = Conv <mine = 1> (x, x)", ""),
        ("y = Optional <type = float[1]> ()", ""),
        ("y = Absent <pads = 1> ()", ""),
    ],
)  # fmt: skip
def test_how_a_node_contradicts_its_operator(node: str, why: str) -> None:
    (read,) = Graph.from_proto(parsed(f"g (float[1] x) => (float[1] y) {{ {node} }}")).nodes
    assert contradiction(read, 17, in_function=False) == why


@pytest.mark.parametrize(
    ("name", "kind", "in_function", "why"),
    [
        ("pads", AttributeProto.INTS, True, ""),
        ("pads", AttributeProto.UNDEFINED, True, ""),
        ("pads", AttributeProto.INTS, False, "pads is not of its type"),
        ("pads", AttributeProto.INT, True, "pads is not of its type"),
        ("group", AttributeProto.INT, True, ""),
    ],
)
def test_an_attribute_of_the_function_around(
    name: str, kind: Any, in_function: bool, why: str
) -> None:
    model = parsed("g (float[1] x) => (float[1] y) { y = Conv (x, x) }")
    model.graph.node[0].attribute.add(name=name, type=kind, ref_attr_name="p")
    (node,) = Graph.from_proto(model).nodes
    told = contradiction(node, 17, in_function=in_function)
    assert told == (f"its attribute {why}" if why else "")
