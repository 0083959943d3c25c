"""Inputs that enter every body in which two models differ: the sides of an If, the body of a Loop.

A body differs if anything does that it is computed from: what is in it, what it reads, or what
decides whether it runs. Whether a run enters it is told by a node put in that fails if an input of
the model says so (a Gather beyond the end, which no shape inference sees).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, islice

import numpy as np
import onnx
from msgspec import Struct

from onnxpad.file.proto_walk import named_bodies
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError
from onnxpad.runtimes.sessions import Session, folder_of, open_session
from onnxpad.validation.draw import Draw, Input, draw, pinned, steerings
from onnxpad.validation.lab import Lab
from onnxpad.validation.meaning import Place, meanings

_MARK = "onnxpad_enters"
_FAILING = """f () => () {{
    {0}_d = Constant <value = int64[1] {{0}}> ()
    {0}_i = Constant <value = int64[1] {{{1}}}> ()
    {0}_n = Gather ({2}, {0}_i)
    [{0}] {0}_y = Gather ({0}_d, {0}_n)
}}"""
_MOST_PLACES = 32
_BEYOND = 7  # the end of one element


class Entered(Struct, frozen=True):
    """A body in which models differ, what holds it, and inputs that enter it, if any."""

    text: str
    holder: tuple[str, Place, int]
    draw: Draw | None


def entering(lab: Lab, inputs: Sequence[Input]) -> tuple[tuple[Draw, ...], list[Entered]]:
    """The inputs that enter each body in which models differ, or that one lacks, in its model."""
    models = {name: lab.proto(name) for name in lab.sources}
    calls = [[*map(str, model.functions)] for model in models.values()]
    within = (node for model in models.values() for each in model.functions for node in each.node)
    if calls[0] != calls[-1] and any(any(named_bodies(each.attribute)) for each in within):
        return (), [Entered("set of functions that have bodies", ("", (), 0), None)]
    if not any(any(named_bodies(n.attribute)) for m in models.values() for n in m.graph.node):
        return (), []
    bodies = {name: each.bodies for name, each in meanings(lab).items()}
    both = set.intersection(*({found for _, found in each.values()} for each in bodies.values()))
    draws = [each for each in lab.draws if not each.again]
    found, sites = list[Draw](), list[Entered]()
    shapes = {name: data.shape for name, data in lab.draws[0].feeds.items()}
    at_sizes: list[Sequence[Input]] = [pinned(inputs, shapes)]
    at_sizes += [inputs] if any(each.shape != shapes[each.name] for each in inputs) else []
    for name, model in models.items():
        other = {at: text for at, (text, digest) in bodies[name].items() if digest not in both}
        entered = dict[Place, Draw | None].fromkeys(other)
        marked, folder = _with_failures(model, [*other]), folder_of(lab.sources[name], lab.folder)
        with suppress(EngineError), open_session(marked, folder=folder) as session:
            for mark, at in enumerate(islice(other, _MOST_PLACES)):
                fails = np.zeros(len(other), np.int64)
                fails[mark] = _BEYOND
                chosen = ((some, each) for some in at_sizes for each in steerings(some))
                further = (draw(some, sizes, 0, values) for some, (sizes, values) in chosen)
                entered[at] = one = _first_entering(session, chain(draws, found, further), fails)
                if one and one not in (*draws, *found):
                    found.append(one)
        shut = [at for at in other if entered[at] is None]
        inner = {at for at in shut for each in shut if at[: len(each)] == each != at}
        sites += [
            Entered(text, (name, at[:-1], at[-1][0]), entered[at])
            for at, text in other.items()
            if at not in inner
        ]
    return tuple(found), sites


def _with_failures(model: onnx.ModelProto, places: Sequence[Place]) -> onnx.ModelProto:
    """A copy of a model that fails as soon as a body is entered whose number an input names."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graphs = list[onnx.GraphProto]()
    for place in places:
        graph = copy.graph
        for number, name in place:
            graph = dict(named_bodies(graph.node[number].attribute))[name]
        graphs.append(graph)
    for number, graph in enumerate(graphs):
        text = _FAILING.format(f"{_MARK}_{number}", number, _MARK)
        graph.node.extend(onnx.parser.parse_graph(text).node)
    switches = onnx.helper.make_tensor_value_info(_MARK, onnx.TensorProto.INT64, [len(places)])
    copy.graph.input.append(switches)
    return copy


def _first_entering(session: Session, draws: Iterable[Draw], fails: np.ndarray) -> Draw | None:
    """The first draw with which a body is entered and the model runs, else fails by itself."""
    failing = None
    for each in draws:
        error = _failure(session, each, fails)
        if error and any(_MARK in told for told in (str(error), *error.nodes)):
            otherwise = _failure(session, each, 0 * fails)
            if otherwise is None or isinstance(otherwise, CrashError | LimitError):
                return each if otherwise is None else None
            failing = failing or each
    return failing


def _failure(session: Session, draw: Draw, fails: np.ndarray) -> EngineError | None:
    try:
        session.run({**draw.feeds, _MARK: fails})
    except EngineError as error:
        return error
    return None
