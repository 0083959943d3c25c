"""A model as another run of its exporter might write it: other names, and another order."""

import random
from collections.abc import Iterable

import onnx


def exported_anew(model: onnx.ModelProto, seed: int = 1) -> onnx.ModelProto:
    """The same network with other names of nodes and tensors.

    Initializers, declarations and nodes that do not depend on each other are in another order.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    draw = random.Random(seed)
    _rename(copy.graph, {"": ""}, draw)
    for function in copy.functions:
        known = {"": ""}
        for names in (function.input, function.output):
            names[:] = [_fresh(name, known, draw) for name in names]
        _rename_nodes(function.node, known, draw)
        del function.value_info[:]
    for key in [each for each in copy.metadata_props if each.key.startswith("onnxpad.")]:
        copy.metadata_props.remove(key)  # their entries are names
    return copy


def _fresh(name: str, known: dict[str, str], draw: random.Random) -> str:
    if name not in known:
        known[name] = f"{draw.choice('abxyz')}_{draw.randrange(10**9)}"
    return known[name]


def _rename(graph: onnx.GraphProto, known: dict[str, str], draw: random.Random) -> None:
    """Renames all that a graph defines; `known` has the names of the tensors around it."""
    known = dict(known)
    inner = {name for node in graph.node for name in node.output}
    inner |= {each.name for each in (*graph.input, *graph.initializer)}
    for name in inner & known.keys() - {""}:
        del known[name]
    values = (*graph.input, *graph.initializer, *graph.value_info)
    for each in values:
        each.name = _fresh(each.name, known, draw)
    for sparse in graph.sparse_initializer:
        sparse.values.name = _fresh(sparse.values.name, known, draw)
    _rename_nodes(graph.node, known, draw)
    for each in graph.output:
        each.name = _fresh(each.name, known, draw)
    for listed in (graph.initializer, graph.value_info):
        shuffled = list(listed)
        draw.shuffle(shuffled)
        del listed[:]
        listed.extend(shuffled)


def _rename_nodes(
    nodes: Iterable[onnx.NodeProto], known: dict[str, str], draw: random.Random
) -> None:
    """Renames nodes and what they read and compute, and puts them into another order."""
    kept = list(nodes)
    needs = [{*node.input} | captured(node) for node in kept]
    made = {name: place for place, node in enumerate(kept) for name in node.output if name}
    left = [{made[name] for name in each if name in made} for each in needs]
    for node in kept:
        node.name = f"n{draw.randrange(10**9)}"
        node.input[:] = [_fresh(name, known, draw) for name in node.input]
        node.output[:] = [_fresh(name, known, draw) for name in node.output]
    for node in kept:
        for attribute in node.attribute:
            for body in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                _rename(body, known, draw)
    readers: dict[int, list[int]] = {}
    for place, each in enumerate(left):
        for producer in each:
            readers.setdefault(producer, []).append(place)
    counts = [len(each) for each in left]
    ready = [place for place, count in enumerate(counts) if not count]
    order: list[onnx.NodeProto] = []
    while ready:
        place = ready.pop(draw.randrange(len(ready)))
        order.append(kept[place])
        for reader in readers.get(place, ()):
            counts[reader] -= 1
            if not counts[reader]:
                ready.append(reader)
    assert len(order) == len(kept)
    copies = []
    for node in order:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copies.append(copy)
    for node, copy in zip(nodes, copies, strict=True):
        node.CopyFrom(copy)


def captured(node: onnx.NodeProto) -> set[str]:
    """The names that the bodies of a node read, its own names among them."""
    found: set[str] = set()
    for attribute in node.attribute:
        for body in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            found |= {each.name for each in body.output}
            for inner in body.node:
                found |= {*inner.input} | captured(inner)
    return found
