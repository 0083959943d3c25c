"""Smaller models with the same defect: nodes, outputs and constants are taken away one by one."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import TypeAlias

import onnx

Wrong = Callable[[onnx.ModelProto], bool]
Holder: TypeAlias = onnx.GraphProto | onnx.FunctionProto


def walk(model: onnx.ModelProto) -> Iterator[tuple[Holder, int, str]]:
    """Every graph, body and function with the index of each of its nodes, and where it is."""

    def inner(holder: Holder, place: str) -> Iterator[tuple[Holder, int, str]]:
        for position, node in enumerate(holder.node):
            yield holder, position, place
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from inner(attribute.g, f"{place}{node.op_type} > {attribute.name} > ")

    yield from inner(model.graph, "")
    for function in model.functions:
        yield from inner(function, f"{function.name} > ")


def bodies(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The bodies of all nodes."""
    for holder, index, _ in walk(model):
        yield from (each.g for each in holder.node[index].attribute if each.HasField("g"))


def shrink(model: onnx.ModelProto, wrong: Wrong) -> onnx.ModelProto:
    """The smallest model found that is still wrong."""
    while smaller := next(filter(wrong, candidates(model)), None):
        model = smaller
    return model


def candidates(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Models with one thing less, the largest things first."""
    for index in range(len(model.graph.output)):
        if len(model.graph.output) > 1:
            smaller = deepcopy(model)
            del smaller.graph.output[index]
            yield pruned(smaller)
    nodes = [holder.node[index] for holder, index, _ in walk(model)]

    def copied(at: int) -> tuple[onnx.ModelProto, Holder, int]:
        smaller = deepcopy(model)
        holder, index, _ = list(walk(smaller))[at]
        return smaller, holder, index

    for at, node in reversed(list(enumerate(nodes))):
        if not node.input or node.op_type in ("Identity", "Constant"):
            continue
        for body in [a.name for a in node.attribute if a.HasField("g") and node.op_type == "If"]:
            smaller, holder, index = copied(at)
            if inlined(holder, index, body):
                yield pruned(smaller)
        for kept in filter(None, node.input[:2]):
            smaller, holder, index = copied(at)
            plain = onnx.helper.make_node("Identity", [kept], [node.output[0]])
            holder.node[index].CopyFrom(plain)
            yield pruned(smaller)
    for at, node in enumerate(nodes):
        smaller, holder, index = copied(at)
        if node.op_type == "Identity" and bypassed(smaller, holder.node[index]):
            del holder.node[index]
            yield pruned(smaller)
    for at, node in enumerate(nodes):
        for number, attribute in enumerate(node.attribute):
            if not attribute.HasField("g") and attribute.name not in ("perm", "axis", "to"):
                smaller, holder, index = copied(at)
                del holder.node[index].attribute[number]
                yield smaller
    for number in range(len(model.graph.value_info)):
        smaller = deepcopy(model)
        del smaller.graph.value_info[number]
        yield smaller


def inlined(holder: Holder, index: int, body: str) -> bool:
    """Put one branch of an If in its place; False in a function, if the branch has constants."""
    node = holder.node[index]
    (graph,) = [a.g for a in node.attribute if a.name == body]
    if isinstance(holder, onnx.GraphProto):
        holder.initializer.extend(graph.initializer)
    elif graph.initializer:
        return False
    ends = zip(graph.output, node.output, strict=True)
    given = [onnx.helper.make_node("Identity", [value.name], [name]) for value, name in ends]
    nodes = [*holder.node[:index], *graph.node, *given, *holder.node[index + 1 :]]
    kept = [deepcopy(each) for each in nodes]
    del holder.node[:]
    holder.node.extend(kept)
    return True


def bypassed(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    """Connect the readers of an Identity to what it reads; False if both names are needed."""
    name, source = node.output[0], node.input[0]
    made = {each for holder, i, _ in walk(model) for each in holder.node[i].output}
    if name in (given := results(model)):
        if source in given or source not in made:
            return False
        name, source = source, name
    for holder, index, _ in walk(model):
        reader = holder.node[index]
        reader.input[:] = [source if each == name else each for each in reader.input]
        if reader is not node:
            reader.output[:] = [source if each == name else each for each in reader.output]
    return True


def results(model: onnx.ModelProto) -> set[str]:
    """The outputs of all graphs, bodies and functions."""
    graphs = (model.graph, *bodies(model))
    names = {value.name for graph in graphs for value in graph.output}
    return names.union(*(function.output for function in model.functions))


def pruned(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without nodes, constants and inputs that nothing reads."""
    while True:
        read = {name for holder, i, _ in walk(model) for name in holder.node[i].input}
        read |= results(model)
        dead = [
            (holder, i)
            for holder, i, _ in walk(model)
            if not read.intersection(filter(None, holder.node[i].output))
        ]
        for holder, i in reversed(dead):
            del holder.node[i]
        if not dead:
            break
    called = {holder.node[i].op_type for holder, i, _ in walk(model)}
    for number in reversed(range(len(model.functions))):
        if model.functions[number].name not in called:
            del model.functions[number]
    for graph in (model.graph, *bodies(model)):
        for number in reversed(range(len(graph.initializer))):
            if graph.initializer[number].name not in read:
                del graph.initializer[number]
    for number in reversed(range(1, len(model.graph.input))):
        if model.graph.input[number].name not in read:
            del model.graph.input[number]
    return model
