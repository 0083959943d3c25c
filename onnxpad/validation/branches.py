"""Inputs that enter every body in which two models differ: the sides of an If, the body of a Loop.

What no run enters is compared by no run: a body that differs, and an operator that differs and that
bodies alone read. Whether a run enters a body is told by a node in it that fails if an input of the
model says so (a Gather beyond the end, which no shape inference sees).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import onnx

from onnxpad.file.proto_walk import bodies, named_bodies
from onnxpad.records import NamedTuple
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import Session, Source, open_session, read_proto
from onnxpad.validation.inputs import Draw, Input, described, inlined, numpy_type
from onnxpad.validation.pairing import Pairing

_MARK: Final = "onnxpad_enters"
_FAILING: Final = """f () => () {{
    {0}_d = Constant <value = int64[1] {{0}}> ()
    {0}_i = Constant <value = int64[1] {{{1}}}> ()
    {0}_n = Gather ({2}, {0}_i)
    [{0}] {0}_y = Gather ({0}_d, {0}_n)
}}"""
_MOST_PLACES: Final = 32
_MOST_DRAWS: Final = 64
_MOST_STEERED: Final = 16  # elements of an input that may steer
_USUAL: Final = (0, 1, 2, 3)
_BEYOND: Final = 7  # the end of one element

_Path: TypeAlias = tuple[tuple[int, str], ...]


class _Graph(NamedTuple):
    """A graph of a model: its way down from the main graph, where that is in words, and itself."""

    path: _Path
    text: str
    graph: onnx.GraphProto


def entering(
    original: Source,
    rewritten: Source,
    inputs: Sequence[Input],
    draws: Sequence[Draw],
    *,
    pairing: Pairing,
    folder: Path | None = None,
) -> tuple[tuple[Draw, ...], list[str]]:
    """The inputs with which each body is entered in which both models differ, or that one lacks.

    Args:
        original: The original model, which runs on the draws.
        rewritten: The rewritten model.
        inputs: Those of the original whose integers and bools may have other values.
        draws: The inputs that both run on in any case.
        pairing: The rewritten model's own names of inputs.
        folder: Folder of the external data of models in memory.

    Returns:
        The draws that enter what others did not, and what is other and none enters, in words.
    """
    ours, theirs = inlined(read_proto(original)), inlined(read_proto(rewritten))
    mine, others = ([*_graphs(model.graph)] for model in (ours, theirs))
    changed = _places(mine, others)
    added = {k: v for k, v in _places(others, mine).items() if v not in changed.values()}
    found, left = list[Draw](), list[str]()
    for model, places, names in ((ours, changed, Pairing()), (theirs, added, pairing)):
        left += islice(places.values(), _MOST_PLACES, None)
        if not places:
            continue
        bodies = list(dict.fromkeys(path for paths in places for path in paths))
        shut = list[_Path]()
        try:
            with open_session(_with_failures(model, bodies), folder=folder) as session:
                for paths, text in islice(places.items(), _MOST_PLACES):
                    if all(any(path[: len(each)] == each for each in shut) for path in paths):
                        continue  # all of it is in what is named already
                    waiting = [*draws, *found, *islice(_steered(inputs, draws[0]), _MOST_DRAWS)]
                    fails = np.array([_BEYOND * (path in paths) for path in bodies])
                    entered = _first_entering(session, map(names.fed, waiting), fails)
                    if entered is None:
                        left.append(text)
                        shut += paths
                    elif entered >= len(draws) + len(found):
                        found.append(waiting[entered])
        except EngineError:  # from opening it
            left += places.values()
    return tuple(found), left


def _places(graphs: Sequence[_Graph], others: Sequence[_Graph]) -> dict[tuple[_Path, ...], str]:
    """What is other than in a second model, in words, by the bodies that compute it."""
    twins = {each.path: each.graph for each in others}
    places = dict[tuple[_Path, ...], str]()
    for each in graphs:
        other = twins.get(each.path, onnx.GraphProto())
        if each.path and _is_other(each.graph, other):
            places[each.path,] = each.text
        inner = [body for body in graphs if each.path == body.path[: len(each.path)] != body.path]
        places |= _hidden(each.graph, other, inner)
    return places


def _graphs(graph: onnx.GraphProto, path: _Path = (), text: str = "") -> Iterator[_Graph]:
    """A graph and all bodies in it; each is found in another model by the numbers of those before.

    The numbers are those of the nodes that have bodies.
    """
    yield _Graph(path, text, graph)
    holding = [node for node in graph.node if any(bodies(node))]
    within = f", in {text}" if text else ""
    for number, node in enumerate(holding):
        for name, body in named_bodies(node.attribute):
            yield from _graphs(body, (*path, (number, name)), f"{name} of {_label(node)}{within}")


def _label(node: onnx.NodeProto) -> str:
    return f"{node.op_type} {node.name or ''.join(node.output[:1])!r}"


def _is_other(graph: onnx.GraphProto, other: onnx.GraphProto) -> bool:
    """Whether two graphs differ in themselves, whatever the bodies in them."""
    fields = ("input", "output", "initializer", "sparse_initializer")
    if any(getattr(graph, field) != getattr(other, field) for field in fields):
        return True
    return [*map(_own, graph.node)] != [*map(_own, other.node)]


def _own(node: onnx.NodeProto) -> tuple[object, ...]:
    """All of a node but its name and the bodies in it."""
    plain = [value for value in node.attribute if not any(named_bodies([value]))]
    return node.op_type, node.domain, node.input, node.output, plain


def _hidden(
    graph: onnx.GraphProto, other: onnx.GraphProto, bodies: Sequence[_Graph]
) -> dict[tuple[_Path, ...], str]:
    """The nodes of a graph that differ and that bodies in it alone read, by these bodies."""
    made = {name: node for node in other.node for name in node.output}
    live, found = {each.name for each in graph.output}, dict[tuple[_Path, ...], str]()
    for node in reversed(graph.node):
        if not live.isdisjoint(node.output):
            live.update(node.input)
    for node in graph.node:
        twin = next((made[name] for name in node.output if name in made), onnx.NodeProto())
        if live.isdisjoint(node.output) and _own(node) != _own(twin):
            reached = {*node.output}
            for each in graph.node:
                if not reached.isdisjoint(each.input):
                    reached.update(each.output)
            readers = [each for each in bodies if not reached.isdisjoint(_read(each.graph))]
            if readers:
                others = " and others" * (len(readers) > 1)
                paths = tuple(each.path for each in readers)
                found[paths] = f"{_label(node)}, which only {readers[0].text}{others} read"
    return found


def _read(graph: onnx.GraphProto) -> Iterator[str]:
    yield from (name for node in graph.node for name in node.input)
    yield from (each.name for each in graph.output)


def _with_failures(model: onnx.ModelProto, bodies: Sequence[_Path]) -> onnx.ModelProto:
    """A copy of a model that fails as soon as a body is entered whose number an input names."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graphs = {each.path: each.graph for each in _graphs(copy.graph)}
    for number, path in enumerate(bodies):
        text = _FAILING.format(f"{_MARK}_{number}", number, _MARK)
        graphs[path].node.extend(onnx.parser.parse_graph(text).node)
    switches = onnx.helper.make_tensor_value_info(_MARK, onnx.TensorProto.INT64, [len(bodies)])
    copy.graph.input.append(switches)
    return copy


def _first_entering(session: Session, draws: Iterable[Draw], fails: np.ndarray) -> int | None:
    """The number of the first draw with which a model fails at a node that was put in."""
    for number, each in enumerate(draws):
        try:
            session.run({**each.feeds, _MARK: fails})
        except EngineError as error:
            if any(_MARK in told for told in (str(error), *error.nodes)):
                return number
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
    for some in product(*values.values()):
        steering = dict(zip(values, some, strict=True))
        told = ", ".join(f"{name} {data.flat[0]}" for name, data in steering.items() if data.size)
        yield described({**first.feeds, **steering}, told, again=True)
