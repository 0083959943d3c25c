"""Proves, refutes, or leaves undecided whether two models compute the same."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, product
from pathlib import Path
from threading import Thread
from typing import TypeAlias

import numpy as np
import onnx
from msgspec.structs import replace

from onnxpad.errors import RUNTIME, ModelError, OnnxpadError, UsageError, shortened
from onnxpad.facts import OPEN_SIZES, Analysis
from onnxpad.facts.feasible import SizeDomain, analysed_domains
from onnxpad.file.proto_walk import with_bodies
from onnxpad.finding import Trust
from onnxpad.graph import Graph
from onnxpad.inventory import padding_differences
from onnxpad.proof.term import Terms
from onnxpad.proving.pairs import Counterexample, Decision, Region, Side, Unifier
from onnxpad.proving.plain import Array, Constants, Names, Plain
from onnxpad.reasons import Reason
from onnxpad.runtimes import pool
from onnxpad.runtimes.copies import draws
from onnxpad.runtimes.sessions import CPU, Source, folder_of, read_proto
from onnxpad.validation.compare import compare, shape_text
from onnxpad.validation.draw import Choice, Draw, UndrawableError, choices, draw, outline, pinned
from onnxpad.validation.lab import Result, ask
from onnxpad.validation.result import Comparison, culprit
from onnxpad.validation.whole import validate_models

_SIZES = (*range(1, 13), 15, 16, 17, 23, 31, 32, 33, 47, 63, 64, 65, 96, 127, 128, 224)
"""Sizes of open dimensions at which a difference is looked for, the smallest first."""
_MOST = 1 << 22  # elements of an input that is drawn for that
_CONFIRMED = 4  # runs that have to agree with a proof
_NUDGED, _NUDGE = 3, 16  # how often inputs are moved by about so many units in the last place
_SEARCHING = 120.0  # seconds for which a difference is looked for
_DEAD = "nodes of the rewritten model that nothing reads run"
_DISPUTED = {Reason.ENGINES_DISAGREE.value, Reason.AUTO_PAD_AND_PADS.value}
_Models: TypeAlias = Sequence[onnx.ModelProto]
_Drawn: TypeAlias = tuple[Draw, dict[str, int]]


def decide(
    original: Source,
    rewritten: Source,
    *,
    domain: SizeDomain | None = None,
    trust: Trust | None = None,
    strict: bool = False,
    time_limit: float | None = None,
    runs: bool = True,
) -> Decision:
    """Prove that a rewritten model computes what the original computes, or show where it does not.

    It has to wherever the original is defined, by the specification and onnxruntime. A proof is
    confirmed by a few runs; without one a difference is looked for, at small sizes first.

    Args:
        original: The model as it was.
        rewritten: The model that somebody made of it.
        domain: The sizes of open dimensions that count.
        trust: Whose reading counts where onnxruntime and the specification disagree.
        strict: Whether a proof that rests on an assumption is none.
        time_limit: Seconds after which what is not decided is undecided.
        runs: Whether to run the models; nothing is refuted without.

    Raises:
        ModelError: A model cannot be read.
    """
    end = time.monotonic() + (time_limit or math.inf)
    models, domain = (read_proto(original), read_proto(rewritten)), domain or SizeDomain()
    names, notes = _aligned(*models)
    folders = folder_of(original), folder_of(rewritten)
    search = _Search((original, rewritten), names, _draws(models, names, domain))
    looking = Thread(target=search.look, args=(_CONFIRMED * runs, end), daemon=True)
    looking.start()
    with pool.limited(time_limit):
        given = folders, names, domain, trust, end
        proof, domain = _proof(models, *given)
        is_open = proof.verdict != "proved" and time.monotonic() < end
        if is_open and (written_out := with_bodies(*models)):
            again, _ = _proof(written_out, *given)
            proof = again if again.verdict == "proved" else proof
    is_certain = not _is_disputed(proof, trust)
    if strict and (notes or proof.assumptions):
        said = f"the proof rests on an assumption: {(*notes, *proof.assumptions)[0]}"
        proof = _open(said, "assumption-refused")
    looking.join()
    if runs and proof.verdict != "proved" and search.found is None:
        search.look(math.inf, end)
    told = (search.why,) * bool(search.why)
    if search.found is not None and is_certain:
        return Decision("refuted", counterexample=search.found, runs=search.runs, notes=notes)
    if proof.verdict == "undecided":
        return replace(proof, assumptions=(), runs=search.runs, notes=(*notes, *told))
    shapes = {n: shape_text([size or "?" for size in e]) for n, e in domain.declared.items()}
    limits = ", ".join(filter(None, (*map(" ".join, shapes.items()), proof.limits)))
    assumptions = (*notes, *proof.assumptions)
    return replace(proof, assumptions=assumptions, limits=limits, runs=search.runs, notes=told)


def _is_disputed(proof: Decision, trust: Trust | None) -> bool:
    """Whether a run refutes nothing, as onnxruntime and the specification disagree on the model."""
    if trust is not None and str(trust.assumption) in proof.assumptions:
        return proof.verdict == "proved"
    codes = {each.reason_code for each in proof.regions}
    return trust is not Trust.RUNTIME and not codes.isdisjoint(_DISPUTED)


def _common(original: Graph, rewritten: Graph, domain: SizeDomain) -> SizeDomain:
    """The sizes that both graphs take, and declare then; a ModelError says that none fit both."""
    declared = dict(domain.declared)
    for name, (kind, shape) in original.inputs.items():
        other, now = rewritten.inputs.get(name, (kind, None))
        known = [each for each in (declared.get(name, shape), now) if each is not None]
        axes = [*zip(*known, strict=False)]
        fixed = [{size for size in sizes if isinstance(size, int)} for sizes in axes]
        if kind != other or len({*map(len, known)}) > 1 or max(map(len, fixed), default=0) > 1:
            raise ModelError(f"input {name!r} has another type, rank or size in both")
        if not known:
            continue
        both = tuple(next(iter(ints), each[0]) for ints, each in zip(fixed, axes, strict=True))
        if both != declared.get(name, shape):
            declared[name] = both
        for graph in (each for each in (original, rewritten) if name in each.inputs):
            graph.declare(name, both)
    return replace(domain, declared=declared)


def _open(said: str, code: str = "not-certified") -> Decision:
    return Decision("undecided", regions=(Region("", "", said, code),))


def _aligned(
    original: onnx.ModelProto, rewritten: onnx.ModelProto
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The original's names of what has others now, and what they assume; or a UsageError."""
    found, notes = dict[str, str](), list[str]()
    graphs = original.graph, rewritten.graph
    held = [{each.name for each in graph.initializer} for graph in graphs]
    for what in ("input", "output"):
        ours, theirs = (
            {e.name: e.type.tensor_type.elem_type for e in getattr(graph, what) if e.name not in no}
            for graph, no in zip(graphs, held, strict=True)
        )
        if ours.keys() == theirs.keys():
            continue
        if [*ours.values()] != [*theirs.values()]:
            raise UsageError(f"the {what}s have other names, and differ in number or type")
        found |= zip(theirs, ours, strict=True)
        notes.append(f"{what}s of other names are the same in their order")
    return found, tuple(notes)


def _proof(
    models: _Models,
    folders: tuple[Path | None, Path | None],
    names: Names,
    domain: SizeDomain,
    trust: Trust | None,
    end: float,
) -> tuple[Decision, SizeDomain]:
    """The first proof that holds, or the last that does not; and the sizes that both take."""
    constants, found = Constants(), _open("nothing is known of the sizes")
    try:
        if folders[0] == folders[1] and _are_same(*models) and not any(map(draws, models)):
            return Decision("proved"), domain
        first = Plain(models[0], constants, folders[0], {})
        second = Plain(models[1], constants, folders[1], names)
        ours, theirs = Graph.from_proto(first.model), Graph.from_proto(second.model)
        domain = _common(ours, theirs, domain)
        outputs = [(each, second.outputs[name]) for name, each in first.outputs.items()]
        dead = (_DEAD,) if second.dead - first.dead else ()
        for each in analysed_domains(ours, domain):
            terms, other = Terms(), Analysis(theirs, each.domain.extents(ours))
            sides = Side(ours, each.analysis, terms), Side(theirs, other, terms)
            found = Unifier(sides, constants, trust, end).verdict(outputs, each.domain)
            found = replace(found, assumptions=(*found.assumptions, *dead))
            if found.verdict == "proved" or time.monotonic() > end:
                break
    except Exception as error:  # whatever is beyond the terms leaves it open, and is no failure
        said = str(error).partition("\n")[0] or type(error).__name__
        found = _open(f"the proof stops: {shortened(said)}")
    return found, domain


def _are_same(one: onnx.ModelProto, other: onnx.ModelProto) -> bool:
    """Whether two models are written alike, byte for byte."""
    is_near = len(one.graph.node) == len(other.graph.node)  # its bytes take time
    return is_near and len({e.SerializeToString(deterministic=True) for e in (one, other)}) == 1


class _Search:
    """Looks for inputs on which models differ: `runs` agreed before, `why` no more were made."""

    found: Counterexample | None = None
    runs = 0
    why = ""

    def __init__(
        self, sources: tuple[Source, Source], names: Names, draws: Iterator[_Drawn]
    ) -> None:
        """Takes the original's names of what has others in the rewritten model; runs nothing."""
        self._sources, self._draws = sources, draws
        self._theirs = {ours: name for name, ours in names.items()}

    def look(self, enough: float, end: float) -> None:
        """Goes on until some are found, enough runs agreed, or it is late."""
        end, refused = min(end, time.monotonic() + _SEARCHING), ""
        try:
            while self.runs < enough and (drawn := [*islice(self._draws, _CONFIRMED)]):
                for (fed, sizes), before, after in self._ran(drawn, end):
                    if after.late or time.monotonic() > end:
                        self.why = "the time was over"
                        return
                    refused = refused or before.error
                    self.found = None if before.error else self._other(fed, sizes, before, after)
                    if self.found is not None:
                        return
                    self.runs += not before.error
            if refused and not self.runs:
                self.why = f"{RUNTIME} does not run the original: {refused}"
        except Exception as error:  # such as inputs that cannot be drawn, or no runtime
            self.why = f"not run: {error}"

    def _ran(self, drawn: Sequence[_Drawn], end: float) -> Iterator[tuple[_Drawn, Result, Result]]:
        """What both models make of inputs."""
        draws, others = [fed for fed, _ in drawn], list[Draw]()
        for fed in draws:
            named = {self._theirs.get(name, name): data for name, data in fed.feeds.items()}
            others.append(replace(fed, feeds=named))
        with pool.limited(max(end - time.monotonic(), 0.1)):
            both = zip(self._sources, (draws, others), strict=True)
            return zip(drawn, *(ask(*each, CPU, "off")[0] for each in both), strict=True)

    def _other(
        self, fed: Draw, sizes: Mapping[str, int], before: Result, after: Result
    ) -> Counterexample | None:
        """What the rewritten model computes otherwise; None of nothing, or of rounding."""
        if after.error:
            said = f"the rewritten model does not run: {after.error}"
            return Counterexample(fed.label, sizes, "", said, feeds=fed.feeds)
        wanted, given = before.outputs, after.outputs
        pairs = ((name, self._theirs.get(name, name)) for name in wanted)
        seen = [compare(name, wanted[name], given[it]) for name, it in pairs]
        differing = [each for each in seen if not each.ok]
        moved = ask(self._sources[0], _nudged(fed), CPU, "off")[0] if differing else ()
        found = next((e for e in differing if not _is_rounding(e, wanted, moved)), None)
        if found is None:
            return None
        where = ""
        with suppress(OnnxpadError):  # of other names
            told = validate_models(*self._sources, inputs=dict(fed.feeds))  # with one seed
            if all(e.ok for e in told.runs if (e.subject, e.optimisation) == ("rewritten", "off")):
                return None
            ours, theirs = (Graph.from_proto(read_proto(each)) for each in self._sources)
            where = culprit(replace(told, padding=tuple(padding_differences(ours, theirs))))
            for name, data in fed.feeds.items():
                ours.declare(name, data.shape)
            shape, joins = Analysis(ours).shape, (e for e in ours.nodes if e.op == "Concat")
            if any(all(map(shape, e.inputs)) and not shape(e.outputs[0]) for e in joins):
                return None  # onnxruntime joins empty tensors to any, and leaves some unwritten
        return Counterexample(fed.label, sizes, found.output, found.detail, where, fed.feeds)


def _nudged(fed: Draw) -> list[Draw]:
    """Inputs once more, then moved as far as rounding moves tensors inside."""
    generator = np.random.default_rng(0)

    def nudged(data: Array) -> Array:
        if data.dtype.kind != "f":
            return data
        steps = generator.standard_normal(data.shape) * _NUDGE * np.finfo(data.dtype).eps
        return np.asarray(data * (1 + steps), data.dtype)

    feeds = ({name: nudged(data) for name, data in fed.feeds.items()} for _ in range(_NUDGED))
    return [fed, *(replace(fed, feeds=each) for each in feeds)]


def _is_rounding(found: Comparison, wanted: Mapping[str, Array], moved: Sequence[Result]) -> bool:
    """Whether an output moves as far by rounding alone, as that of a Floor or ArgMax may."""
    name = found.output
    again = [compare(name, wanted[name], each.outputs[name]) for each in moved]
    far = [each for each in again if not each.ok and (found.differing or not each.differing)]
    return any(not each.max_abs < found.max_abs / 2 for each in far)  # NaN is another shape


def _draws(models: _Models, names: Names, domain: SizeDomain) -> Iterator[_Drawn]:
    """Inputs to run on with their sizes, small ones first, then those that a user would take."""
    if names and any(map(draws, models)):
        raise UndrawableError("models of other names draw numbers")
    ours, theirs = (outline(each).inputs for each in models)
    inputs = pinned(ours, domain.declared, domain.given)
    ranks = {(each.name, len(each.shape)) for each in inputs}
    shapes = {names.get(each.name, each.name): each.shape for each in theirs}
    fixed = {name: shape for name, shape in shapes.items() if (name, len(shape)) in ranks}
    inputs, seen = pinned(inputs, fixed, domain.given), list[Choice]()
    dims = {d: e.sizes.get(d, OPEN_SIZES) for e in inputs for d in e.shape if isinstance(d, str)}
    places = [(place % 2, dim, sizes) for place, (dim, sizes) in enumerate(dims.items())]
    small = (
        {dim: sizes.value(min(n + odd * more, sizes.count) - 1) for odd, dim, sizes in places}
        for n, more in product(_SIZES, (0, 1))
    )
    for sizes, values in chain(((each, {}) for each in small), choices(inputs)):
        if (sizes, values) in seen:
            continue
        seen.append((sizes, values))
        for seed, again in ((0, False), (1, True)):
            with suppress(UndrawableError):
                fed = draw(inputs, sizes, seed, values, again=again)
                if all(each.size <= _MOST for each in fed.feeds.values()):
                    yield fed, sizes
