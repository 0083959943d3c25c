"""Walks through a model: bodies of nodes, the tensors they capture, all names, all tensors.

Also the names themselves: fresh ones, and those of domains, operators and functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import onnx
from google.protobuf.message import Message  # type: ignore[import-untyped]

from onnxpad.declared import Key

DEFAULT_DOMAINS = (None, "", "ai.onnx")
"""Names of the domain of ONNX's own operators."""

_EXTERNAL = onnx.TensorProto.DataLocation.EXTERNAL

HOLDERS = (
    "ModelProto",
    "TrainingInfoProto",
    "FunctionProto",
    "GraphProto",
    "NodeProto",
    "AttributeProto",
    "SparseTensorProto",
    "TensorProto",
)
"""The messages that may have tensors in them."""

MOST_NODES = 1_000_000
"""Most nodes of a model that is run, once functions stand in the place of their calls."""


def normal_domain(domain: str | None) -> str:
    """A domain by its usual name: the default one is ""."""
    return "" if domain is None or domain in DEFAULT_DOMAINS else domain


def default_opset(imported: Iterable[onnx.OperatorSetIdProto]) -> int:
    """The version of ONNX's own operators that is imported; 0 if none is."""
    return next((each.version for each in imported if each.domain in DEFAULT_DOMAINS), 0)


def qualified(node: onnx.NodeProto) -> str:
    """The operator of a node, with its domain unless that is ONNX's own."""
    return ".".join(filter(None, (normal_domain(node.domain), node.op_type)))


def function_label(function: onnx.FunctionProto) -> str:
    """A function's name in messages, with its domain and overload where it has them."""
    name = f"{function.domain}::{function.name}" if function.domain else function.name
    return f"{name}:{function.overload}" if function.overload else name


def named_bodies(
    attributes: Iterable[onnx.AttributeProto],
) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The graphs in attributes by the name of each, with the index if it holds a list."""
    for item in attributes:
        if item.HasField("g"):
            yield item.name, item.g
        yield from ((f"{item.name}[{index}]", body) for index, body in enumerate(item.graphs))


def bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The bodies of an If, Loop or Scan."""
    return (body for _, body in named_bodies(node.attribute))


def walked(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Nodes, each followed by those in its bodies."""
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from walked(body.node)


def names(graph: onnx.GraphProto) -> Iterator[str]:
    """The names of all tensors and nodes in a graph and in its bodies, with repetitions."""
    for value in chain(graph.input, graph.output, graph.value_info):
        yield value.name
    for tensor in graph.initializer:
        yield tensor.name
    for sparse in graph.sparse_initializer:
        yield sparse.values.name
    for annotation in graph.quantization_annotation:
        yield annotation.tensor_name
    yield from node_names(graph.node)


def node_names(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """The names of nodes and of their inputs and outputs, those in their bodies included."""
    for node in nodes:
        yield node.name
        yield from node.input
        yield from node.output
        for body in bodies(node):
            yield from names(body)


def operators(
    nodes: Iterable[onnx.NodeProto], functions: Sequence[onnx.FunctionProto]
) -> Iterator[str]:
    """The op types of nodes, those in their bodies and in the functions they may call included."""
    bodies_of: dict[Key, list[Iterable[onnx.NodeProto]]] = {}
    for each in functions:
        bodies_of.setdefault(key_of(each), []).append(each.node)
    pending = [nodes]
    while pending:
        for key in called_in(pending.pop()):
            yield key[1]
            pending += bodies_of.pop(key, ())


def key_of(function: onnx.FunctionProto) -> Key:
    """The domain and the name by which nodes call a function."""
    return normal_domain(function.domain), function.name


def called_in(nodes: Iterable[onnx.NodeProto]) -> Iterator[Key]:
    """The operators of nodes and of those in their bodies."""
    return ((normal_domain(node.domain), node.op_type) for node in walked(nodes))


def callers_first(functions: Sequence[onnx.FunctionProto]) -> list[int]:
    """The indices of functions, each after all that call it; none if they call in a circle."""
    if not functions:
        return []
    from graphlib import CycleError, TopologicalSorter

    calling = defaultdict[Key, set[int]](set)
    for place, each in enumerate(functions):
        for key in called_in(each.node):
            calling[key].add(place)
    callers = {place: calling[key_of(each)] for place, each in enumerate(functions)}
    try:
        return [*TopologicalSorter(callers).static_order()]
    except CycleError:  # which no runtime accepts
        return []


def unfolds(model: onnx.ModelProto) -> str:
    """Why a model is too large to run once functions stand in the place of their calls, or ""."""
    count = unfolded(model) if model.functions else 0
    if count <= MOST_NODES:
        return ""
    return (
        f"its functions would unfold to {count:,} nodes, since onnxruntime puts a function in the "
        f"place of every call, and no more than {MOST_NODES:,} are tried"
    )


def with_bodies(*models: onnx.ModelProto) -> list[onnx.ModelProto]:
    """Models with the specification's bodies in place of operators that not all have; or none.

    None too where onnx cannot do that: its older releases do not, nor for functions of a model.
    """
    found = [{each.op_type for each in walked(e.graph.node) if not each.domain} for e in models]
    alone = [("", op) for op in sorted(set[str]().union(*found)) if not all(op in e for e in found)]
    if not alone or any(each.functions for each in models):
        return []
    with suppress(Exception):  # such as models of more than 2 GiB
        from onnx.inliner import inline_selected_functions as inline

        return [inline(each, alone, inline_schema_functions=True) for each in models]
    return []


def unfolded(model: onnx.ModelProto) -> int:
    """The number of nodes once functions stand in the place of their calls; 0 for a circle."""
    functions = model.functions
    sizes: dict[Key, int] = {}
    order = callers_first(functions)
    for index in reversed(order):
        sizes[key_of(functions[index])] = _size(functions[index].node, sizes)
    return _size(model.graph.node, sizes) if len(order) == len(functions) else 0


def _size(nodes: Iterable[onnx.NodeProto], sizes: Mapping[Key, int]) -> int:
    return sum(sizes.get(key) or 1 for key in called_in(nodes))


def tensors(message: Any) -> Iterator[onnx.TensorProto]:
    """All tensors in a model or a part of it, those in bodies, functions and training included."""
    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.name in HOLDERS:
            for each in [value] if isinstance(value, Message) else value:
                yield from tensors(each)


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the elements of a tensor lie in another file."""
    return tensor.data_location == _EXTERNAL


class Names:
    """The names in use anywhere in a model: of nodes and tensors, in bodies and functions too."""

    def __init__(self, model: onnx.ModelProto) -> None:
        """Collects the names in use."""
        self._taken = set(names(model.graph))
        for training in model.training_info:
            self._taken.update(names(training.initialization), names(training.algorithm))
        for function in model.functions:
            self._taken.update(function.input, function.output, node_names(function.node))
        self._next: dict[str, int] = {}
        self._before: dict[str, tuple[str, int]] = {}

    def fresh(self, base: str) -> str:
        """Returns `base` if it is free, else `base` with a number, and marks it as in use."""
        start = number = self._next.get(base, 0)
        name = base if base and not number else f"{base}_{number}"
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._next[base] = number + 1
        self._before[name] = (base, start)
        return name

    def release(self, name: str) -> None:
        """Undoes `fresh` for a name; the latest one must be undone first."""
        base, number = self._before.pop(name)
        self._next[base] = number
        self._taken.remove(name)


def pinned(model: onnx.ModelProto) -> frozenset[str]:
    """Names of the main graph's tensors to which annotations or training info refer.

    These tensors must keep their names.
    """
    found = set(referred(model.graph))
    for training in model.training_info:
        found.update(names(training.initialization), names(training.algorithm))
        for entry in chain(training.initialization_binding, training.update_binding):
            found.update((entry.key, entry.value))
    return frozenset(found)


def referred(graph: onnx.GraphProto | onnx.FunctionProto) -> frozenset[str]:
    """Names to which the quantization annotations of a graph refer; functions have none."""
    found: set[str] = set()
    if isinstance(graph, onnx.GraphProto):
        for annotation in graph.quantization_annotation:
            found.update(entry.value for entry in annotation.quant_parameter_tensor_names)
    return frozenset(found)
