"""Inputs that enter every body in which two models differ: the sides of an If, the body of a Loop.

What no run enters is compared by no run. A body is entered by a run that fails with a node in it
that always fails (a Gather beyond the end, which no shape inference sees), and not without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from onnx import AttributeProto

from onnxpad.records import NamedTuple
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import Source, open_session, read_proto
from onnxpad.validation.inputs import Draw, Input, feeds_text, inlined, numpy_type

_MARK: Final = "onnxpad_enters"
_FAILING: Final = f"""f () => () {{
    {_MARK}_d = Constant <value = int64[1] {{0}}> ()
    {_MARK}_i = Constant <value = int64[1] {{7}}> ()
    [{_MARK}] {_MARK}_y = Gather ({_MARK}_d, {_MARK}_i)
}}"""
_MOST_BODIES: Final = 32
_MOST_DRAWS: Final = 64
_MOST_STEERED: Final = 16  # elements of an input that may steer
_USUAL: Final = (0, 1, 2, 3)


class Entered(NamedTuple):
    """The draws that enter what others did not, and the bodies that none enters.

    Attributes:
        draws: Further inputs to run.
        left: Bodies that were not entered, in words.
    """

    draws: tuple[Draw, ...] = ()
    left: tuple[str, ...] = ()


class _Body(NamedTuple):
    """A body of a model: its way down from the main graph, and where that is, in words."""

    path: tuple[tuple[int, str], ...]
    text: str
    graph: onnx.GraphProto


def entering(
    original: Source,
    rewritten: Source,
    inputs: Sequence[Input],
    draws: Sequence[Draw],
    *,
    folder: Path | None = None,
    may_draw: bool = True,
    ran: Callable[[], None] = lambda: None,
) -> Entered:
    """The inputs with which each body is entered in which both models differ.

    Args:
        original: The original model, which runs on the draws.
        rewritten: The rewritten model.
        inputs: The inputs of the original.
        draws: The inputs that both run on in any case.
        folder: Folder of the external data of models in memory.
        may_draw: Whether integers and bools may have other values than in the draws.
        ran: Called after each run.
    """
    ours, theirs = inlined(read_proto(original)), inlined(read_proto(rewritten))
    others = {body.path: _own(body.graph) for body in _bodies(theirs.graph)}
    differing = [body for body in _bodies(ours.graph) if others.get(body.path) != _own(body.graph)]
    found, left = list[Draw](), list[str]()
    for body in differing[:_MOST_BODIES]:
        waiting = [*draws, *found]
        if may_draw:
            waiting += islice(_steered(inputs, draws[0]), _MOST_DRAWS)
        entered = _first_entering(_with_failure(ours, body), waiting, folder, ran)
        if entered is None:
            left.append(body.text)
        elif entered >= len(draws) + len(found):
            found.append(waiting[entered])
    left += [body.text for body in differing[_MOST_BODIES:]]
    return Entered(tuple(found), tuple(left))


def _bodies(
    graph: onnx.GraphProto, path: tuple[tuple[int, str], ...] = (), within: str = ""
) -> Iterator[_Body]:
    """All bodies of a graph; each is found in another model by the numbers of those before it."""
    holding = [node for node in graph.node if any(each.HasField("g") for each in node.attribute)]
    for number, node in enumerate(holding):
        name = node.name or (node.output[0] if node.output else str(number))
        for each in node.attribute:
            if each.type == AttributeProto.GRAPH:
                text = f"{each.name} of {node.op_type} {name!r}{within}"
                way = (*path, (number, each.name))
                yield _Body(way, text, each.g)
                yield from _bodies(each.g, way, f", in {text}")


def _own(graph: onnx.GraphProto) -> bytes:
    """What a body computes by itself, without the bodies in it."""
    mine = onnx.GraphProto()
    mine.CopyFrom(graph)
    for node in mine.node:
        kept = [each for each in node.attribute if each.type != AttributeProto.GRAPH]
        del node.attribute[:]
        node.attribute.extend(kept)
        node.name = ""
    del mine.value_info[:]
    return bytes(mine.SerializeToString(deterministic=True))


def _with_failure(model: onnx.ModelProto, body: _Body) -> onnx.ModelProto:
    """A copy of the model that fails as soon as a body is entered."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    for number, name in body.path:
        holding = [n for n in graph.node if any(each.HasField("g") for each in n.attribute)]
        graph = next(each.g for each in holding[number].attribute if each.name == name)
    nodes = [*onnx.parser.parse_graph(_FAILING).node, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return copy


def _first_entering(
    failing: onnx.ModelProto, draws: Sequence[Draw], folder: Path | None, ran: Callable[[], None]
) -> int | None:
    """The number of the first draw with which a model fails at the node that was put in."""
    try:
        with open_session(failing, folder=folder) as session:
            for number, each in enumerate(draws):
                try:
                    session.run(each.feeds)
                except EngineError as error:
                    if _MARK in str(error) or _MARK in error.nodes:
                        return number
                ran()
    except EngineError:
        pass
    return None


def _steered(inputs: Sequence[Input], first: Draw) -> Iterator[Draw]:
    """The first draw with other bools and whole numbers, each that may steer an If or a Loop."""
    values = dict[str, list[np.ndarray]]()
    for each in inputs:
        data, dtype = first.feeds[each.name], numpy_type(each)
        if dtype.kind in "biu" and data.size <= _MOST_STEERED:
            near = [n + step for n in each.compared for step in (0, -1, 1)]
            chosen = (False, True) if dtype.kind == "b" else dict.fromkeys((*near, *_USUAL))
            fit = [n for n in chosen if np.array(n).astype(dtype) == n]
            values[each.name] = [np.full_like(data, n) for n in fit]
    for some in product(*values.values()) if values else ():
        steering = dict(zip(values, some, strict=True))
        told = ", ".join(f"{name} {data.flat[0]}" for name, data in steering.items() if data.size)
        feeds = {**first.feeds, **steering}
        parts = feeds_text(feeds), told
        yield replace(first, feeds=feeds, label=", ".join(parts), again=True, drawn=parts)
