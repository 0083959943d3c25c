"""Every tensor of a model that is run, those of bodies and functions too.

A body or function is run by itself on what it is given: a branch whether it is taken or not, a
Loop's and a Scan's body once, as in the first iteration.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.support import Array, ran

Arrays: TypeAlias = Mapping[str, Array]


@dataclass(frozen=True)
class Seen:
    """One graph, body or call of a function with its tensors.

    Attributes:
        nodes: Its nodes.
        tensors: Its tensors and those that it sees of the graphs around it, by name.
    """

    nodes: Sequence[onnx.NodeProto]
    tensors: Arrays


def seen(model: onnx.ModelProto, feeds: Arrays) -> Iterator[Seen]:
    """The main graph of a model, then its bodies and calls, as far as onnxruntime runs them."""
    yield from _seen(model, model.graph.node, model.graph.initializer, feeds)


def _seen(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    initializers: Sequence[onnx.TensorProto],
    given: Arrays,
) -> Iterator[Seen]:
    tensors = {each.name: numpy_helper.to_array(each) for each in initializers} | dict(given)
    tensors |= _run(model, nodes, tensors)
    yield Seen(nodes, tensors)
    functions = {(each.domain, each.name): each for each in model.functions}
    for node in nodes:
        inputs = [tensors.get(name) for name in node.input]
        if (node.domain, node.op_type) in functions:
            function = functions[node.domain, node.op_type]
            bound = {n: a for n, a in zip(function.input, inputs, strict=False) if a is not None}
            yield from _seen(model, _called(function, node), [], bound)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                body = attribute.g
                names = [value.name for value in body.input]
                bound = _first(node.op_type, names, inputs)
                yield from _seen(model, body.node, body.initializer, tensors | bound)


def _called(function: onnx.FunctionProto, call: onnx.NodeProto) -> list[onnx.NodeProto]:
    """The nodes of a function with the attributes of a call."""
    held = {each.name: each for each in call.attribute}
    nodes = []
    for node in function.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for attribute in copy.attribute:
            if attribute.ref_attr_name in held:
                name = attribute.name
                attribute.CopyFrom(held[attribute.ref_attr_name])
                attribute.name = name
        nodes.append(copy)
    return nodes


def _first(op: str, names: Sequence[str], inputs: Sequence[Array | None]) -> dict[str, Array]:
    """What a body is given in the first iteration."""
    values: list[Array | None] = []
    if op == "Loop":
        values = [np.asarray(0), np.asarray(True), *inputs[2:]]
    elif op == "Scan":
        values = [each[0] if each is not None and len(each) else None for each in inputs]
    return {name: a for name, a in zip(names, values, strict=False) if a is not None}


def _run(
    model: onnx.ModelProto, nodes: Sequence[onnx.NodeProto], given: Arrays
) -> dict[str, Array]:
    """What these nodes compute, given all other tensors; nothing where they do not run."""
    made = list(dict.fromkeys(name for node in nodes for name in node.output if name))
    wanted = [name for name in _read(nodes) if name in given]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(given[name].dtype), given[name].shape
        )
        for name in wanted
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in made]
    alone = helper.make_model(
        helper.make_graph(nodes, "seen", inputs, outputs),
        ir_version=max(model.ir_version, 4),
        opset_imports=model.opset_import,
        functions=model.functions,
    )
    results = ran(alone, {name: given[name] for name in wanted})
    if isinstance(results, str):
        return {}
    return dict(zip(made, results, strict=True))


def _read(nodes: Sequence[onnx.NodeProto]) -> dict[str, None]:
    """The names that nodes and their bodies read, each once."""
    found: dict[str, None] = {}
    for node in nodes:
        found |= dict.fromkeys(name for name in node.input if name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= _read(attribute.g.node)
                found |= dict.fromkeys(value.name for value in attribute.g.output)
    return found
