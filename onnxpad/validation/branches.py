"""Inputs that enter every body in which two models differ: the sides of an If, the body of a Loop.

What no run enters is compared by no run: a body that differs, one that runs for another reason (the
condition of an If, the count of a Loop), and an operator that differs and that bodies alone read.
Whether a run enters a body is told by a node in it that fails if an input of the model says so (a
Gather beyond the end, which no shape inference sees).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import onnx

from onnxpad.file.proto_walk import bodies, named_bodies
from onnxpad.records import NamedTuple
from onnxpad.runtimes.runtime import EngineError, LimitError
from onnxpad.runtimes.sessions import Session, Source, open_session, read_proto
from onnxpad.validation.inputs import Draw, Input, described, inlined, numpy_type
from onnxpad.validation.pairing import CHOICES, OF_SIZES, Pairing, read_by

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

_MAIN: Final = onnx.NodeProto()  # what the main graph is held by
_STEERING: Final = {"If": 1, "Loop": 2}  # how many of the first inputs decide what runs

_Path: TypeAlias = tuple[tuple[int, str], ...]
_Made: TypeAlias = onnx.NodeProto | onnx.TensorProto | onnx.SparseTensorProto


class _Graph(NamedTuple):
    """A graph of a model.

    Attributes:
        graph: The graph itself.
        path: Its way down from the main graph.
        text: That way in words.
        made: The nodes and constants by the tensors that they make.
        outer: The graph that a body is in.
        holder: The node that a body is of.
    """

    graph: onnx.GraphProto
    path: _Path
    text: str
    made: Mapping[str, _Made]
    outer: _Graph | None
    holder: onnx.NodeProto


def entering(
    original: Source,
    rewritten: Source,
    inputs: Sequence[Input],
    draws: Sequence[Draw],
    *,
    pairing: Pairing,
    folder: Path | None = None,
) -> tuple[tuple[Draw, ...], list[tuple[str, Draw | None]]]:
    """The inputs with which each body is entered in which both models differ, or that one lacks.

    Args:
        original: The original model, which runs on the draws.
        rewritten: The rewritten model.
        inputs: Those of the original whose integers and bools may have other values.
        draws: The inputs that both run on in any case.
        pairing: The rewritten model's own names of inputs.
        folder: Folder of the external data of models in memory.

    Returns:
        The draws that enter what others did not; and what is other, in words, each with the draw
        that enters it, or None.
    """
    ours, theirs = inlined(read_proto(original)), inlined(read_proto(rewritten))
    mine, others = ([*_graphs(model.graph)] for model in (ours, theirs))
    changed = _places(mine, others)
    added = {k: v for k, v in _places(others, mine).items() if v not in changed.values()}
    found, sites = list[Draw](), list[tuple[str, Draw | None]]()
    for model, places, names in ((ours, changed, Pairing()), (theirs, added, pairing)):
        if not places:
            continue
        entered: dict[tuple[_Path, ...], Draw | None] = dict.fromkeys(places)
        bodies = list(dict.fromkeys(path for paths in places for path in paths))
        shut, marked = list[_Path](), _with_failures(model, bodies)
        with suppress(EngineError), open_session(marked, folder=folder) as session:
            for paths in islice(places, _MOST_PLACES):
                if all(any(path[: len(each)] == each for each in shut) for path in paths):
                    del entered[paths]  # all of it is in what is named already
                    continue
                waiting = [*draws, *found, *islice(_steered(inputs, draws[0]), _MOST_DRAWS)]
                fails = np.array([_BEYOND * (path in paths) for path in bodies])
                number = _first_entering(session, map(names.fed, waiting), fails)
                if number is None:
                    shut += paths
                    continue
                entered[paths] = waiting[number]
                if number >= len(draws) + len(found):
                    found.append(waiting[number])
        sites += [(places[paths], draw) for paths, draw in entered.items()]
    return tuple(found), sites


def _places(graphs: Sequence[_Graph], others: Sequence[_Graph]) -> dict[tuple[_Path, ...], str]:
    """What is other than in a second model, in words, by the bodies that compute it."""
    twins = {each.path: each for each in others}
    places = dict[tuple[_Path, ...], str]()
    for each in graphs:
        twin = twins.get(each.path)
        if each.outer and (
            twin is None or _content(each.graph) != _content(twin.graph) or _is_steered(each, twin)
        ):
            places[each.path,] = each.text
        inner = [body for body in graphs if each.path == body.path[: len(each.path)] != body.path]
        places |= _hidden(each, {} if twin is None else twin.made, inner)
    return places


def _graphs(
    graph: onnx.GraphProto,
    path: _Path = (),
    text: str = "",
    outer: _Graph | None = None,
    holder: onnx.NodeProto = _MAIN,
) -> Iterator[_Graph]:
    """A graph and all bodies in it; each is found in another model by the numbers of those before.

    The numbers are those of the nodes that have bodies.
    """
    made: dict[str, _Made] = {each.name: each for each in graph.initializer}
    made |= {each.values.name: each for each in graph.sparse_initializer}
    made |= {name: node for node in graph.node for name in node.output if name}
    yield (whole := _Graph(graph, path, text, made, outer, holder))
    holding = [node for node in graph.node if any(bodies(node))]
    within = f", in {text}" if text else ""
    for number, node in enumerate(holding):
        for name, body in named_bodies(node.attribute):
            said = f"{name} of {_label(node)}{within}"
            yield from _graphs(body, (*path, (number, name)), said, whole, node)


def _label(node: onnx.NodeProto) -> str:
    return f"{node.op_type} {node.name or ''.join(node.output[:1])!r}"


def _content(made: _Made | onnx.GraphProto | None) -> object:
    """All of a node or a graph but the names of nodes and what is noted of tensors."""
    if isinstance(made, onnx.GraphProto):
        constants = [*made.initializer, *made.sparse_initializer]
        return [*made.input], [*made.output], constants, [*map(_content, made.node)]
    if not isinstance(made, onnx.NodeProto):
        return made
    plain = [value for value in made.attribute if not any(named_bodies([value]))]
    inner = [*map(_content, bodies(made))]
    return made.op_type, made.domain, made.input, made.output, plain, inner


def _is_steered(body: _Graph, twin: _Graph) -> bool:
    """Whether in another model something else decides if a body runs, or how often.

    That is looked for upstream, as far as tensors are computed alike, or outputs tell of them.
    """
    many = _STEERING.get(body.holder.op_type, 0)
    steering = body.holder.input[:many]
    if steering != twin.holder.input[:many]:
        return True
    waiting, seen = [(body.outer, twin.outer, name) for name in steering], set[tuple[_Path, str]]()
    while waiting:
        one, other, name = waiting.pop()
        if one is None or other is None or (one.path, name) in seen:
            continue
        seen.add((one.path, name))
        made, outer = one.made.get(name), (one.outer, other.outer)
        if _content(made) != _content(other.made.get(name)):
            if not isinstance(made, onnx.NodeProto) or made.op_type in CHOICES:
                return True
            if not made.input or name not in _live(one.graph) & _live(other.graph):
                return True
        elif isinstance(made, onnx.NodeProto):
            waiting += ((one, other, each) for each in read_by(made))
        elif made is None and any(name == each.name for each in one.graph.input) and one.outer:
            if one.holder.input != other.holder.input:
                return True
            waiting += ((*outer, each) for each in one.holder.input)
            waiting += ((one, other, each.name) for each in one.graph.output)  # a Loop carries it
        elif made is None:
            waiting.append((*outer, name))
    return False


def _live(graph: onnx.GraphProto, *, captured: bool = True) -> set[str]:
    """The tensors on whose values outputs depend, also by what bodies capture, or else not."""
    live = {each.name for each in graph.output}
    for node in reversed(graph.node):
        if node.op_type not in OF_SIZES and not live.isdisjoint(node.output):
            inner = [*bodies(node)]
            live.update(() if inner else node.input)
            live.update(*(_live(body) for body in inner if captured))
    return live


def _hidden(
    each: _Graph, others: Mapping[str, _Made], bodies: Sequence[_Graph]
) -> dict[tuple[_Path, ...], str]:
    """What a graph makes otherwise and only bodies in it read, by these bodies."""
    live, found = _live(each.graph, captured=False), dict[tuple[_Path, ...], str]()
    for name, made in each.made.items():
        if bodies and name not in live and _content(made) != _content(others.get(name)):
            reached = {name}
            for node in each.graph.node:
                if not reached.isdisjoint(node.input):
                    reached.update(node.output)
            readers = [body for body in bodies if not reached.isdisjoint(_read(body.graph))]
            if readers:
                rest = " and others" * (len(readers) > 1)
                paths = tuple(body.path for body in readers)
                found[paths] = f"tensor {name!r}, which only {readers[0].text}{rest} read"
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
    """The number of the first draw with which a model fails at a node that was put in.

    One on which it runs otherwise goes first.
    """
    first = None
    for number, each in enumerate(draws):
        error = _failure(session, each, fails)
        if error and any(_MARK in told for told in (str(error), *error.nodes)):
            otherwise = _failure(session, each, 0 * fails)
            if otherwise is None or isinstance(otherwise, LimitError):
                return None if otherwise else number
            first = number if first is None else first
    return first


def _failure(session: Session, draw: Draw, fails: np.ndarray) -> EngineError | None:
    try:
        session.run({**draw.feeds, _MARK: fails})
    except EngineError as error:
        return error
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
