"""Models compared as wholes: by their graphs, and by what they compute."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any
from zlib import crc32

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onnxpad.graph import Graph, Node
from onnxpad.report.diff import unified_diff
from tests.support.sessions import Array, feeds_of, ran, run, session


def canonical(model: onnx.ModelProto, labels: Collection[str] = ()) -> list[Any]:
    """The nodes with what they read, constants by value, so that new names do not matter.

    Args:
        model: A model; the names of its inputs and outputs matter.
        labels: The names of nodes that matter.
    """
    numbers = count()

    def named(names: dict[str, Any], of: Sequence[str]) -> list[Any]:
        return [names.setdefault(each, f"%{next(numbers)}") if each else "" for each in of]

    def nodes(of: Any, outer: Mapping[str, Any], held: Sequence[onnx.TensorProto]) -> list[Any]:
        given = [getattr(each, "name", each) for each in of.input]
        names = {**outer, **{each: each for each in given}}
        names |= {each.name: constant(each) for each in held if each.name not in given}
        for value in of.output:
            name = getattr(value, "name", value)
            names.setdefault(name, name)
        return [
            (
                node.domain,
                node.op_type,
                node.name if node.name in labels else "",
                named(names, node.input),
                sorted((a.name, attribute(a, names)) for a in node.attribute),
                named(names, node.output),
            )
            for node in of.node
        ]

    def attribute(of: onnx.AttributeProto, names: Mapping[str, Any]) -> str:
        if of.HasField("g"):
            return str(nodes(of.g, names, of.g.initializer))
        if of.HasField("t"):
            return str(constant(of.t))
        return of.ref_attr_name or str(onnx.helper.get_attribute_value(of))

    def constant(of: onnx.TensorProto) -> tuple[int, str]:
        return of.data_type, str(numpy_helper.to_array(of).tolist())

    functions = sorted(model.functions, key=lambda each: (each.domain, each.name))
    told = nodes(model.graph, {}, model.graph.initializer)
    return told + [nodes(each, {}, ()) for each in functions]


def assert_graph(found: onnx.ModelProto, expected: onnx.ModelProto, where: object = "") -> None:
    """The nodes are these, whatever inner tensors are called; a failure shows a unified diff."""
    here, there = canonical(found), canonical(expected)
    if here != there:
        told = unified_diff(_plain(expected), _plain(found), ("expected", "found"))
        first = [f"{old}\n{new}" for old, new in zip(there, here, strict=False) if old != new][:1]
        pytest.fail("\n".join([f"another graph {where}", told or "".join(first)]), pytrace=False)


def _plain(proto: onnx.ModelProto) -> onnx.GraphProto:
    """The graph with its inner tensors named by what makes them, constants by a checksum."""
    graph = onnx.GraphProto()
    graph.CopyFrom(proto.graph)
    names = {each.name: each.name for each in (*graph.input, *graph.output)}
    for tensor in graph.initializer:
        array = numpy_helper.to_array(tensor)
        shape = "x".join(map(str, array.shape))
        told = f"{array.dtype}_{shape}_{crc32(array.tobytes()):08x}"
        names[tensor.name] = tensor.name = told
    made: Counter[str] = Counter()
    for node in graph.node:
        made[node.op_type] += 1
        node.name = ""
        node.input[:] = [names.get(name, name) for name in node.input]
        for index, name in enumerate(node.output):
            given = f"{node.op_type}_{made[node.op_type]}" + f".{index}" * (index > 0)
            node.output[index] = names.setdefault(name, given) if name else ""
    return graph


def assert_same(before: onnx.ModelProto, after: onnx.ModelProto, size: int = 9) -> None:
    """Both models give the same bits on small integers, of both signs and below zero.

    The second also bears onnxruntime's optimiser, where the first does.
    """
    mixed, other = feeds_of(before, 0, size), feeds_of(before, 1, size)
    below_zero = {
        name: data if data.dtype.kind in "ub" else np.asarray(-1 - np.abs(data), data.dtype)
        for name, data in mixed.items()
    }
    old, new = session(before), session(after)
    for feeds in (mixed, other, below_zero):
        expected = run(old, feeds)
        for one, found in zip(expected, run(new, feeds), strict=True):
            np.testing.assert_array_equal(found, one)
    if agree(ran(before, feeds, "full"), expected):
        optimised = ran(after, feeds, "full")
        assert agree(optimised, expected), f"with onnxruntime's optimiser on: {optimised}"


def agree(found: Sequence[Array] | str, expected: Sequence[Array]) -> bool:
    """Whether there are outputs, and they are near."""
    return not isinstance(found, str) and all(
        one.shape == other.shape and np.allclose(one, other, 1e-3, 1e-3, equal_nan=True)
        for one, other in zip(found, expected, strict=True)
    )


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes of a node by name."""
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


def op_types(model: onnx.ModelProto) -> Counter[str]:
    """How many nodes of each operator there are."""
    return Counter(node.op_type for node in model.graph.node)


def named(graph: Graph, name: str) -> Node:
    """The node of that name."""
    return next(node for node in graph.nodes if node.name == name)
