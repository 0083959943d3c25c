"""A model with its inputs and outputs in the layout of another one: NHWC or NCHW, of any rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from onnxpad.arguments import InFolder, Source
from onnxpad.file.proto_walk import walked
from onnxpad.runtimes.sessions import CPU, Value, folder_of, read_proto
from onnxpad.runtimes.sessions import Source as Runnable
from onnxpad.validation.align import Moved, Shape, likeliest, nearest
from onnxpad.validation.draw import Draw, declared
from onnxpad.validation.lab import ask
from onnxpad.validation.names import Pairing

_MOST_TRIED = 9


def inputs_relaid(original: Source, rewritten: Source) -> Iterator[tuple[Source, tuple[str, ...]]]:
    """The second of two models with its inputs in the layout of the first, the likeliest first.

    Inputs of other names are matched by order. If one is moved, outputs have no shape any more.
    """
    inputs = {name: shapes for name, *shapes in _inputs(original, rewritten)}
    ways = {name: likeliest(*shapes) for name, shapes in inputs.items()}
    for moved in islice(product(*ways.values()), _MOST_TRIED):
        each = zip(inputs.items(), moved, strict=True)
        moves = {name: (way, len(shapes[0])) for (name, shapes), way in each if way}
        yield _relaid(rewritten, None, "input", moves) if moves else (rewritten, ())


def _inputs(original: Source, rewritten: Source) -> Iterator[tuple[str, Shape, Shape]]:
    """The inputs of the second of two models with their shapes, and those in the first."""
    ours, theirs = (read_proto(each).graph.input for each in (original, rewritten))
    known = dict(zip((each.name for each in theirs), ours, strict=False))
    known |= {each.name: each for each in ours}
    for each in theirs:
        shape, wanted = (declared(one) or () for one in (each, known.get(each.name, each)))
        told = [f"{each.name}[{axis}]" for axis in range(len(shape))]  # where there is no name
        named = zip(shape, told, strict=True)
        yield each.name, tuple("" if size == no else size for size, no in named), wanted


def outputs_relaid(
    source: Runnable,
    draw: Draw,
    wanted: Mapping[str, Value],
    *,
    pairing: Pairing,
    folder: Path | None,
) -> tuple[Runnable, tuple[str, ...]]:
    """A model with its outputs in the layout in which a run has them nearest to those wanted."""
    (found,) = ask(source, [draw], CPU, "off", folder=folder, pairing=pairing).results
    moves = {}
    for name, value in found.outputs.items():
        other = wanted.get(name)
        if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
            fit = nearest(value, other)
            shape = [size if size in value.shape else "another" for size in other.shape]
            ways = likeliest(value.shape, shape)
            way = ways[0] if fit is None or fit.resized else fit.moved
            if way is not None:
                moves[pairing.outputs.get(name, name)] = way, value.ndim
    return _relaid(source, folder, "output", moves) if moves else (source, ())


def _relaid(
    source: Runnable, folder: Path | None, kind: str, moves: Mapping[str, tuple[Moved, int]]
) -> tuple[bytes | InFolder, tuple[str, ...]]:
    """A model with the channels of inputs or outputs moved, given with their rank."""
    model, folder, notes = onnx.ModelProto(), folder_of(source, folder), list[str]()
    model.CopyFrom(read_proto(source))
    graph = model.graph
    for value in [each for each in getattr(graph, kind) if each.name in moves]:
        name, (moved, rank) = value.name, moves[value.name]
        inner, order = f"{name}, {moved.value}", moved.order(rank)
        _rename(graph.node, name, inner)
        ends, perm, place = (inner, name), order, len(graph.node)
        if kind == "input":
            ends, perm, place = (name, inner), [*map(order.index, range(rank))], 0
            shape = value.type.tensor_type.shape
            shape.CopyFrom(onnx.TensorShapeProto(dim=[shape.dim[axis] for axis in order]))
        node = helper.make_node("Transpose", ends[:1], ends[1:], inner, perm=perm)
        graph.node.insert(place, node)
        notes.append(f"{kind} {name!r} of the rewritten model is transposed: {moved.value}")
    for value in filter(declared, graph.output):
        value.type.tensor_type.ClearField("shape")  # that of the former layout
    data = model.SerializeToString()
    return data if folder is None else InFolder(data, folder), tuple(notes)


def _rename(nodes: Sequence[onnx.NodeProto], name: str, now: str) -> None:
    """Renames a tensor in nodes and their bodies."""
    for node in walked(nodes):
        for names in (node.input, node.output):
            names[:] = [now if each == name else each for each in names]
