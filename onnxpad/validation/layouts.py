"""A model with its inputs and outputs in the layout of another one: NHWC or NCHW, of any rank."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import helper

from onnxpad.arguments import InFolder, Source
from onnxpad.file.proto_walk import walked
from onnxpad.runtimes.sessions import folder_of, read_proto
from onnxpad.validation.align import Moved
from onnxpad.validation.inputs import declared


def relaid(original: Source, rewritten: Source) -> tuple[Source, tuple[str, ...]]:
    """The second of two models with its inputs and outputs in the layout of the first.

    Outputs are moved only where inputs are. Those of other names are matched by order.

    Returns:
        The model, as given if the layouts agree; and a line on each input and output moved.
    """
    model, wanted, notes = onnx.ModelProto(), read_proto(original).graph, list[str]()
    model.CopyFrom(read_proto(rewritten))
    graph = model.graph
    for kind, ours, theirs in (
        ("input", wanted.input, graph.input),
        ("output", wanted.output, graph.output),
    ):
        known = dict(zip((each.name for each in theirs), ours, strict=False))
        known |= {each.name: each for each in ours}
        for value in theirs if kind == "input" or notes else ():
            own = declared(value) or ()
            moved = moved_to(own, declared(known.get(value.name, value)) or ())
            if moved is None:
                continue
            name, inner = value.name, f"{value.name}, {moved.value}"
            order = perm = _order(moved, len(own))
            ends, place = (inner, name), len(graph.node)
            if kind == "input":
                perm = sorted(range(len(own)), key=order.__getitem__)
                ends, place = (name, inner), 0
            _rename(graph.node, name, inner)
            node = helper.make_node("Transpose", ends[:1], ends[1:], inner, perm=perm)
            graph.node.insert(place, node)
            shape = value.type.tensor_type.shape
            shape.CopyFrom(onnx.TensorShapeProto(dim=[shape.dim[axis] for axis in order]))
            notes.append(f"{kind} {name!r} of the rewritten model is transposed: {moved.value}")
    if not notes:
        return rewritten, ()
    folder, data = folder_of(rewritten), model.SerializeToString()
    return data if folder is None else InFolder(data, folder), tuple(notes)


def moved_to(shape: Sequence[int | str], other: Sequence[int | str]) -> Moved | None:
    """Where the channels of a shape are to be moved to give another one; None if nowhere.

    An open size fits any, so the layout counts in which more of the sizes are known to agree.
    """
    rank = len(shape)
    if len(other) != rank or rank < 3:
        return None

    def agreeing(way: Moved | None) -> int:
        order = range(rank) if way is None else _order(way, rank)
        pairs = [*zip((shape[axis] for axis in order), other, strict=True)]
        known = [
            one == also for one, also in pairs if isinstance(one, int) and isinstance(also, int)
        ]
        return sum(known) if all(known) else -1

    ways: list[Moved | None] = [None, *Moved]
    return max(ways, key=agreeing)


def _order(moved: Moved, rank: int) -> list[int]:
    """The axes of an array before its channels are moved, in the order after."""
    return [0, rank - 1, *range(1, rank - 1)] if moved is Moved.FIRST else [0, *range(2, rank), 1]


def _rename(nodes: Sequence[onnx.NodeProto], name: str, now: str) -> None:
    """Renames a tensor in nodes and their bodies."""
    for node in walked(nodes):
        for names in (node.input, node.output):
            for place, each in enumerate(names):
                if each == name:
                    names[place] = now
