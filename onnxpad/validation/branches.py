"""Inputs that enter every body in which two models differ: the sides of an If, the body of a Loop.

What no run enters is compared by no run: a body that differs, one that runs for another reason (the
condition of an If, the count of a Loop), and an operator that differs and that bodies alone read.
Whether a run enters a body is told by a node in it that fails if an input of the model says so (a
Gather beyond the end, which no shape inference sees).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

import numpy as np
import onnx
from msgspec import Struct

from onnxpad.file.external import internal
from onnxpad.file.proto_walk import bodies, is_external, named_bodies
from onnxpad.runtimes.runtime import EngineError, LimitError
from onnxpad.runtimes.sessions import Session, folder_of, open_session
from onnxpad.validation.draw import (
    Draw,
    Input,
    draw,
    overridable,
    steered,
    steered_sizes,
    steerings,
)
from onnxpad.validation.lab import Lab
from onnxpad.validation.names import Pairing, read_by

_MARK = "onnxpad_enters"
_FAILING = """f () => () {{
    {0}_d = Constant <value = int64[1] {{0}}> ()
    {0}_i = Constant <value = int64[1] {{{1}}}> ()
    {0}_n = Gather ({2}, {0}_i)
    [{0}] {0}_y = Gather ({0}_d, {0}_n)
}}"""
_MOST_PLACES = 32
_BEYOND = 7  # the end of one element

_HERE = Path()
_MAIN = onnx.NodeProto()  # what the main graph is held by
_STEERING = {"If": 1, "Loop": 2}  # how many of the first inputs decide what runs

_Path = tuple[tuple[int, str], ...]
_Tensor = tuple[_Path, str]
_Made = onnx.NodeProto | onnx.TensorProto | onnx.SparseTensorProto


class _Graph(Struct, frozen=True):
    """A graph of a model.

    It has its way down from the main graph, also in words; the nodes and constants by the tensors
    that they make; the graph it is in, and the node it is a body of; and the folder of the model's
    external data.
    """

    graph: onnx.GraphProto
    path: _Path
    text: str
    made: Mapping[str, _Made]
    outer: _Graph | None
    holder: onnx.NodeProto
    folder: Path


def entering(
    lab: Lab, inputs: Sequence[Input]
) -> tuple[tuple[Draw, ...], list[tuple[str, Draw | None]]]:
    """The inputs with which each body is entered in which both models differ, or that one lacks.

    Each model enters its own: the other's body of the same name may run otherwise.
    """
    draws, pairing = lab.draws, lab.pairings["rewritten"]
    models = [lab.proto(name) for name in lab.sources]
    places = [folder_of(each, lab.folder) or _HERE for each in lab.sources.values()]
    graphs = [[*_graphs(model.graph, place)] for model, place in zip(models, places, strict=True)]
    one, other = ((each.opset_import, each.functions) for each in models)
    twins = reversed(graphs) if one == other else ([], [])
    others = [_others(each, twin) for each, twin in zip(graphs, twins, strict=True)]
    if not any(others):
        return (), []
    steering, feeds = [*inputs], {**draws[0].feeds}
    for each, data in overridable(models[0]) if inputs else ():
        if any(each.name == value.name for value in models[1].graph.input):
            steering.append(each)
            feeds[each.name] = data
    values = [*steerings(steering, feeds)]
    pairs = steered_sizes(inputs, values)
    further = (steered(draw(inputs, sizes, 0), each) for each, sizes in pairs if sizes)
    ordinary, found = [each for each in draws if not each.again], list[Draw]()
    sites = list[tuple[str, Draw | None]]()
    for model, place, names, paths in zip(
        models, places, (Pairing(), pairing), others, strict=True
    ):
        entered = dict[_Path, Draw | None].fromkeys(paths)
        marked = _with_failures(model, [*paths])
        with suppress(EngineError), open_session(marked, folder=place) as session:
            for mark, path in enumerate(islice(paths, _MOST_PLACES)):
                again = (steered(draws[0], each, again=True) for each in values)
                fails = np.zeros(len(paths), np.int64)
                fails[mark] = _BEYOND
                asked = chain(ordinary, found, again, further)
                first = _first_entering(session, names, asked, fails)
                entered[path] = first
                if first and first not in (*ordinary, *found):
                    found.append(first)
        shut = [path for path in paths if entered[path] is None]
        inner = {path for path in shut for each in shut if path[: len(each)] == each != path}
        sites += [(text, entered[path]) for path, text in paths.items() if path not in inner]
    return tuple(found), sites


def _others(graphs: Sequence[_Graph], others: Sequence[_Graph]) -> dict[_Path, str]:
    """The bodies that may be other than in a second model, in words.

    What they read may be made otherwise, or what decides whether they run.
    """
    twins, known = {each.path: each for each in others}, dict[_Tensor, bool]()
    return {
        each.path: each.text
        for each in graphs
        if each.outer and _is_other(each, twins.get(each.path), known)
    }


def _is_other(body: _Graph, twin: _Graph | None, known: dict[_Tensor, bool]) -> bool:
    """Whether anything is made otherwise of all that a body depends on."""
    many = _STEERING.get(body.holder.op_type, 0)
    steering = body.holder.input[:many]
    if (
        twin is None
        or _content(body.graph, body.folder) != _content(twin.graph, twin.folder)
        or steering != twin.holder.input[:many]
    ):
        return True
    reads = [name for node in body.graph.node for name in read_by(node)]
    waiting: list[tuple[_Graph | None, _Graph | None, str]]
    waiting = [(body, twin, name) for name in (*reads, *(each.name for each in body.graph.output))]
    waiting += [(body.outer, twin.outer, name) for name in steering]
    seen = set[_Tensor]()
    while waiting:
        one, other, name = waiting.pop()
        if one is None or other is None or (place := (one.path, name)) in seen:
            continue
        seen.add(place)
        made, outer = one.made.get(name), (one.outer, other.outer)
        if place not in known:
            theirs, here = other.made.get(name), one.folder == other.folder
            known[place] = (here and made == theirs) or (
                _content(made, one.folder) == _content(theirs, other.folder)
            )
        if not known[place]:
            return True
        if isinstance(made, onnx.NodeProto):
            waiting += ((one, other, each) for each in read_by(made))
        elif made is None and any(name == each.name for each in one.graph.input) and one.outer:
            if one.holder.input != other.holder.input:
                return True
            waiting += ((*outer, each) for each in one.holder.input)
            waiting += ((one, other, each.name) for each in one.graph.output)  # a Loop carries it
        elif made is None:
            waiting.append((*outer, name))
    return False


def _graphs(
    graph: onnx.GraphProto,
    folder: Path = _HERE,
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
    yield (whole := _Graph(graph, path, text, made, outer, holder, folder))
    holding = [node for node in graph.node if any(bodies(node))]
    within = f", in {text}" if text else ""
    for number, node in enumerate(holding):
        for name, body in named_bodies(node.attribute):
            said = f"{name} of {_label(node)}{within}"
            yield from _graphs(body, folder, (*path, (number, name)), said, whole, node)


def _label(node: onnx.NodeProto) -> str:
    return f"{node.op_type} {node.name or ''.join(node.output[:1])!r}"


def _content(made: _Made | onnx.GraphProto | None, folder: Path) -> object:
    """All of a node or a graph but the names of nodes and what is noted of tensors.

    Of external data that is what the folder holds, wherever it lies.
    """
    if isinstance(made, onnx.GraphProto):
        constants = [_content(each, folder) for each in made.initializer]
        nodes = [_content(each, folder) for each in made.node]
        return [*made.input], [*made.output], constants, [*made.sparse_initializer], nodes
    if isinstance(made, onnx.TensorProto) and is_external(made):
        data = sha256(internal(made, folder).raw_data).digest()
        return made.name, made.data_type, [*made.dims], data
    if not isinstance(made, onnx.NodeProto):
        return made
    plain = [value for value in made.attribute if not any(named_bodies([value]))]
    inner = [_content(each, folder) for each in bodies(made)]
    return made.op_type, made.domain, made.input, made.output, plain, inner


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


def _first_entering(
    session: Session, names: Pairing, draws: Iterable[Draw], fails: np.ndarray
) -> Draw | None:
    """The first draw with which a model fails at a node put in, and runs without."""
    for each in draws:
        error = _failure(session, names.fed(each), fails)
        if error and any(_MARK in told for told in (str(error), *error.nodes)):
            otherwise = _failure(session, names.fed(each), 0 * fails)
            if otherwise is None or isinstance(otherwise, LimitError):
                return None if otherwise else each
    return None


def _failure(session: Session, draw: Draw, fails: np.ndarray) -> EngineError | None:
    try:
        session.run({**draw.feeds, _MARK: fails})
    except EngineError as error:
        return error
    return None
