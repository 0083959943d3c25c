"""Runs models, each once for a provider and level, with never more than one open at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from pathlib import Path

import numpy as np
import onnx
from msgspec import Struct

from onnxpad.arguments import Progress
from onnxpad.runtimes import pool
from onnxpad.runtimes.copies import seeded
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError, Optimisation
from onnxpad.runtimes.sessions import (
    CPU,
    Array,
    Session,
    Source,
    folder_of,
    open_session,
    read_proto,
    serialised,
)
from onnxpad.validation.compare import tensors
from onnxpad.validation.draw import Choice, Draw, Interface, choices, draw, inlined, other_choices
from onnxpad.validation.result import Comparison, Placement

_PATIENCE = 3  # times the limit of a run has a rewritten model before it is blamed for not ending
MOST_NODES = 10_000  # opening is superlinear: full optimisation of 20,000 nodes takes 18 s


class Result(Struct, frozen=True):
    """The result of one run: tensors by name, or why there are none, in one line."""

    outputs: Mapping[str, Array]
    seconds: float
    error: str = ""
    crashed: bool = False
    late: bool = False


Execution = tuple[tuple[Result, ...], Mapping[str, str]]
"""A result for each set of inputs; and the provider of each node, unless that is the CPU."""


def ask(
    source: Source,
    draws: Sequence[Draw],
    provider: str,
    optimisation: Optimisation,
    *,
    folder: Path | None = None,
    anew: bool = False,
    outputs: Sequence[str] | None = None,
) -> Execution:
    """Run a model on each set of inputs; one that does not end in time stands for those after it.

    On a provider other than the CPU's, each set runs once more first, to warm up and to record
    where nodes run. Each has a session of its own if `anew`.

    Raises:
        ProviderError: The provider is not installed, or does not start.
    """
    warms, places, every = provider != CPU, dict[str, str](), list[Result]()
    for some in [[each] for each in draws] if anew else [draws]:
        try:
            with open_session(
                source, provider=provider, optimisation=optimisation, folder=folder
            ) as session:
                for each in some if warms else ():
                    _run(session, each, outputs)
                places = session.ran_on() if warms else places
                for each in some:
                    every.append(_run(session, each, outputs))
        except EngineError as error:
            every.append(_failed(error))
        if every[-1].late:
            break
    return (*every, *[every[-1]] * (len(draws) - len(every))), places


def _run(session: Session, inputs: Draw, outputs: Sequence[str] | None = None) -> Result:
    """One run, for all outputs or some; a LimitError if it does not end in time."""
    try:
        return Result(tensors(session.run(inputs.feeds, outputs)), session.seconds)
    except LimitError:
        raise
    except EngineError as error:
        return _failed(error)


def _failed(error: EngineError) -> Result:
    crashed, late = isinstance(error, CrashError), isinstance(error, LimitError)
    return Result({}, math.nan, str(error), crashed=crashed, late=late)


def with_outputs(model: onnx.ModelProto, names: Iterable[str]) -> bytes:
    """A model, serialized, with further tensors of its main graph as outputs."""
    return b"".join(map(serialised, (model, further_outputs(model, names))))


def further_outputs(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """Tensors that are no outputs yet as a model to merge: the lists of both are joined."""
    known = {output.name for output in model.graph.output}
    asked = [onnx.ValueInfoProto(name=name) for name in names if name not in known]
    return onnx.ModelProto(graph=onnx.GraphProto(output=asked))


class Lab:
    """The models of a validation by name, and the results of their runs, each made once.

    Attributes:
        sources: `original`, and `rewritten` unless the original is compared alone.
        model: The outline of both.
        draws: The inputs to run on.
        subject: The model that the verdict is about.
        levels: Those of optimisation to run at; the last is the nearest to what is deployed.
        folder: Folder of the external data of models in memory.
        placements: Where nodes ran, on providers but the CPU.
        progress: Called with (step, runs made, runs planned).
        restless: How outputs differ that do not repeat, by provider, level and number of inputs.
        step: What runs now, or ran last.
    """

    def __init__(
        self,
        sources: dict[str, Source],
        model: Interface,
        folder: Path | None,
        progress: Progress | None = None,
    ) -> None:
        """Take models with the same names of inputs and outputs; random operators get one seed."""
        self.sources = {n: seeded(e) for n, e in sources.items()} if model.random else sources
        self.model = model
        self.draws: tuple[Draw, ...] = ()
        self.subject = [*sources][-1]
        both: tuple[Optimisation, ...] = ("off", "full")
        self.levels = both[:1] if model.nodes > MOST_NODES else both
        self.folder = folder
        self.placements: list[Placement] = []
        self.progress = progress or (lambda *_: None)
        self.restless: dict[tuple[str, str, int], Mapping[str, Comparison]] = {}
        self._protos: dict[str, onnx.ModelProto] = {}
        self._known: dict[tuple[str, str, str], tuple[Result, ...]] = {}
        self.step, self._made, self._planned = "", 0, 0

    def prepare(self, providers: Sequence[str], samples: int, seed: int) -> tuple[str, str]:
        """Draw inputs on which a model runs; returns which, and why the original does not.

        Raises:
            LimitError: A run does not end in time.
            UndrawableError: An input has too many elements, or elements of an unknown type.
        """
        whys = dict[str, None]()
        for name, provider in product(self.sources, dict.fromkeys((CPU, *providers))):
            self._planned = self._made + samples + 1
            self._begin(f"{name} model, optimisation off")
            found, why = self._accepted(name, provider, samples, seed)
            if found:
                self.draws, results = zip(*found, strict=True)
                # Elsewhere places are wanted too, and of random models a session for each draw.
                if provider == CPU and not self.model.random:
                    self._known[name, CPU, "off"] = results
                return name, "; ".join(whys)
            whys[why] = None
        return "", "; ".join(whys)

    def _accepted(
        self, name: str, provider: str, samples: int, seed: int
    ) -> tuple[list[tuple[Draw, Result]], str]:
        """Inputs of different sizes on which a model runs with optimisation off, or why none does.

        Where sizes are open the second sample has others in all. The last has the first's sizes
        and other data. After a run that does not end in time no other sizes are drawn.
        """
        inputs, found, why = self.model.inputs, list[tuple[Draw, Result]](), ""
        fresh, taken = choices(inputs), list[Choice]()

        def runs(session: Session, fed: Draw) -> bool:
            nonlocal why
            result = _run(session, fed)
            self._ran()
            why = why or result.error
            found.extend([] if result.error else [(fed, result)])
            return not result.error

        try:
            with open_session(self.sources[name], provider=provider, folder=self.folder) as session:
                for number in range(max(2, samples)):
                    first = taken[:1] if number == 1 else []
                    other = ((each, v) for s, v in first for each in other_choices(inputs, s))
                    again = taken[number % len(taken) :] if taken else ()
                    asked = chain(other, fresh, again) if number < max(1, samples) else other
                    for each in asked:
                        if runs(session, draw(inputs, each[0], seed + number, each[1])):
                            taken += [each] if each not in taken else []
                            break
                for sizes, values in taken[:1]:
                    one, more = found[0][0], draw(inputs, sizes, seed, values, again=True)
                    if any(not np.array_equal(one.feeds[e], more.feeds[e]) for e in one.feeds):
                        runs(session, more)
        except LimitError:
            if not found:
                raise
        except EngineError as error:
            return [], str(error)
        return found, why

    def plan(self, providers: Sequence[str], further: Sequence[Draw] = ()) -> None:
        """Count the runs that are to come, if each is made once, on further inputs too."""
        if further:
            self.draws = (*self.draws, *further)
            self._known.clear()
        runs = len(self.draws) * len(self.levels)
        known = sum(map(len, self._known.values()))
        self._planned = self._made + len(self.sources) * len(providers) * runs - known

    def results(self, name: str, provider: str, level: Optimisation) -> tuple[Result, ...]:
        """A result of a model for each of the inputs; a rewritten one that is late runs again."""
        key = name, provider, level
        if key in self._known:
            return self._known[key]
        self._protos.clear()  # no memory is held for what is only looked at
        self._begin(f"{name} model, optimisation {level}")
        ours = self._known.get(("original", provider, level))
        for times in (1, _PATIENCE):
            with pool.longer(times):
                source, anew = self.sources[name], self.model.random
                results, places = ask(
                    source, self.draws, provider, level, folder=self.folder, anew=anew
                )
            if not results[-1].late or ours is None or ours[-1].late:
                break
        if places and level == "off":
            elsewhere = tuple(node for node, place in places.items() if place != provider)
            self.placements.append(Placement(provider, name, len(places), elsewhere))
        self._ran(len(results))
        return self._known.setdefault(key, results)

    def values(
        self,
        name: str,
        tensors: Sequence[str],
        draws: Sequence[Draw],
        provider: str = CPU,
        level: Optimisation = "off",
    ) -> list[dict[str, Array]]:
        """Tensors of a model, also inner ones, for each set of inputs; none if a run fails."""
        results, _ = ask(
            with_outputs(self.proto(name), tensors),
            draws,
            provider,
            level,
            folder=folder_of(self.sources[name], self.folder),
            anew=self.model.random,
            outputs=tensors,
        )
        return [] if any(e.error for e in results) else [{**e.outputs} for e in results]

    def proto(self, name: str) -> onnx.ModelProto:
        """A model without its external data, and with its functions written out."""
        if name not in self._protos:
            self._protos[name] = inlined(read_proto(self.sources[name]))
        return self._protos[name]

    def _begin(self, step: str) -> None:
        """Report a step of which no run is made yet."""
        self.step = step
        self.progress(step, self._made, self._planned)

    def _ran(self, runs: int = 1) -> None:
        self._made += runs
        self._planned = max(self._made, self._planned)
        self.progress(self.step, self._made, self._planned)
