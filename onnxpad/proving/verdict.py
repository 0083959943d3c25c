"""Proves, refutes, or leaves undecided whether two models compute the same."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
from msgspec.structs import replace

from onnxpad.arguments import InFolder
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import RUNTIME, ModelError, UsageError, shortened
from onnxpad.facts.feasible import SizeDomain
from onnxpad.finding import Trust
from onnxpad.graph import Graph
from onnxpad.inventory import padding_differences
from onnxpad.proving.pairs import Counterexample, Decision, Region, proofs
from onnxpad.proving.plain import Constants, Plain
from onnxpad.reasons import Reason
from onnxpad.runtimes import pool
from onnxpad.runtimes.copies import draws
from onnxpad.runtimes.runtime import EngineError, LimitError
from onnxpad.runtimes.sessions import (
    Array,
    Session,
    Source,
    folder_of,
    open_session,
    read_proto,
)
from onnxpad.validation.compare import compare, tensors
from onnxpad.validation.draw import (
    Draw,
    Input,
    UndrawableError,
    choices,
    draw,
    outline,
    pinned,
)
from onnxpad.validation.result import Comparison, culprit
from onnxpad.validation.whole import validate_models

_SIZES = (*range(1, 13), 15, 16, 17, 23, 31, 32, 33, 47, 63, 64, 65, 96, 127, 128, 224)
"""Sizes of open dimensions at which a difference is looked for, the smallest first."""
_MOST = 1 << 22  # elements of an input that is drawn for that
_CONFIRMED = 4  # runs that have to agree with a proof
_NUDGED, _NUDGE = 3, 16  # how often inputs are moved by about so many units in the last place
_NEVER = 1e9  # seconds
_SEARCHING = 120.0  # seconds for which a difference is looked for
_DEAD = "nodes of the rewritten model that nothing reads run"
_DISPUTED = {Reason.ENGINES_DISAGREE.value, Reason.AUTO_PAD_AND_PADS.value}
_Models: TypeAlias = tuple[onnx.ModelProto, onnx.ModelProto]


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
    end = time.monotonic() + (time_limit or _NEVER)
    models, domain = (read_proto(original), read_proto(rewritten)), domain or SizeDomain()
    renamed, notes = _aligned(*models)
    folders = folder_of(original), folder_of(rewritten)
    if renamed:
        models = models[0], _renamed(models[1], renamed)
        data = models[1].SerializeToString()
        rewritten = data if folders[1] is None else InFolder(data, folders[1])
    with pool.limited(time_limit):
        proof, domain = _proof(models, folders, domain, trust, end)
    is_disputed = _is_disputed(proof, trust)
    if strict and (notes or proof.assumptions):
        said = f"the proof rests on an assumption: {(*notes, *proof.assumptions)[0]}"
        proof = _open(said, "assumption-refused")
    search, found = _Search((original, rewritten), models, domain), None
    if runs:
        enough = _CONFIRMED if proof.verdict == "proved" else math.inf
        found = search.found(enough, min(end, time.monotonic() + _SEARCHING))
    told = (search.why,) if search.why else ()
    if found is not None and not is_disputed:
        return Decision("refuted", counterexample=found, runs=search.runs, notes=notes)
    if proof.verdict == "undecided":
        return replace(proof, assumptions=(), runs=search.runs, notes=(*notes, *told))
    sizes = (f"{name} {_by(shape)}" for name, shape in domain.declared.items())
    limits = ", ".join(filter(None, (*sizes, proof.limits)))
    assumptions = (*notes, *proof.assumptions)
    return replace(proof, assumptions=assumptions, limits=limits, runs=search.runs, notes=told)


def _is_disputed(proof: Decision, trust: Trust | None) -> bool:
    """Whether a run refutes nothing, as onnxruntime and the specification disagree on the model."""
    if trust is not None and str(trust.assumption) in proof.assumptions:
        return proof.verdict == "proved"
    codes = {each.reason_code for each in proof.regions}
    return trust is not Trust.RUNTIME and not codes.isdisjoint(_DISPUTED)


def _common(original: Graph, rewritten: Graph, domain: SizeDomain) -> SizeDomain:
    """The sizes that both models take, which both graphs then declare, by the original's names.

    Raises:
        ModelError: An input has another type, rank or size.
    """
    declared = dict(domain.declared)
    for name, (kind, shape) in original.inputs.items():
        other, now = rewritten.inputs.get(name, (kind, None))
        if now is None:
            now = declared.get(name, shape) or ()
        ours = declared.get(name, (None,) * len(now) if shape is None else shape)
        if other != kind or len(ours) != len(now):
            raise ModelError(f"input {name!r} has another type or rank in both")
        both = tuple(
            n if isinstance(n, int) and not isinstance(o, int) else o
            for o, n in zip(ours, now, strict=True)
        )
        if any(isinstance(n, int) and n != size for n, size in zip(now, both, strict=True)):
            raise ModelError(f"input {name!r} has other sizes in both")
        if both != ours:
            declared[name] = both
        for graph in (original, rewritten):
            if name in graph.inputs and (both or shape is not None):
                graph.declare(name, both)
    return replace(domain, declared=declared)


def _by(shape: Sequence[int | str | None]) -> str:
    return "x".join(str(size or "?") for size in shape)


def _open(said: str, code: str = "not-certified") -> Decision:
    return Decision("undecided", regions=(Region("", "", said, code),))


def _aligned(
    original: onnx.ModelProto, rewritten: onnx.ModelProto
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Other names for the inputs and outputs of the rewritten model, and what that assumes.

    Raises:
        UsageError: They are not as many, or of other types and ranks.
    """
    found, notes = dict[str, str](), list[str]()
    for what, ours, theirs in (
        ("inputs", _inputs(original), _inputs(rewritten)),
        ("outputs", original.graph.output, rewritten.graph.output),
    ):
        if {each.name for each in ours} == {each.name for each in theirs}:
            continue
        if len(ours) != len(theirs) or not all(map(_alike, ours, theirs)):
            raise UsageError(
                f"the {what} of both models have other names, and do not agree in number, type and "
                "rank: they cannot be compared"
            )
        found |= {b.name: a.name for a, b in zip(ours, theirs, strict=True) if a.name != b.name}
        notes.append(f"{what} of other names are the same in their order")
    return found, tuple(notes)


def _inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    held = {each.name for each in model.graph.initializer}
    return [each for each in model.graph.input if each.name not in held]


def _alike(one: onnx.ValueInfoProto, other: onnx.ValueInfoProto) -> bool:
    kinds = one.type.tensor_type, other.type.tensor_type
    ranks = {len(each.shape.dim) for each in kinds if each.HasField("shape")}
    return len({each.elem_type for each in kinds}) == 1 and len(ranks) < 2


def _renamed(model: onnx.ModelProto, names: Mapping[str, str]) -> onnx.ModelProto:
    """A copy with other names for tensors of its main graph; what has such a name gets another."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    clashing = {each: f"{each} (of the rewritten model)" for each in names.values()}
    _rename(copy.graph, {**clashing, **names})
    return copy


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = names.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [names.get(each, each) for each in node.input]
        node.output[:] = [names.get(each, each) for each in node.output]
        for each in node.attribute:
            if each.HasField("g"):
                _rename(each.g, names)


def _proof(
    models: _Models,
    folders: tuple[Path | None, Path | None],
    domain: SizeDomain,
    trust: Trust | None,
    end: float,
) -> tuple[Decision, SizeDomain]:
    """The first proof that holds, or the last that does not; and the sizes that both take."""
    constants, found = Constants(), _open("nothing is known of the sizes")
    try:
        if folders[0] == folders[1] and _are_same(*models) and not draws(models[0]):
            return Decision("proved"), domain
        sides = "<original> ", "<rewritten> "
        first, second = map(Plain, models, (constants,) * 2, sides, folders)
        graphs = Graph.from_proto(first.model), Graph.from_proto(second.model)
        domain = _common(*graphs, domain)
        outputs = [(first.outputs[name], second.outputs[name]) for name in first.outputs]
        is_anew = first.folded != second.folded
        gemms = second.gemms if len(second.gemms) > len(first.gemms) else ()
        given = (*graphs, outputs, constants, domain, trust)
        every = proofs(*given, is_anew=is_anew, gemms=gemms, end=end)
        dead = (_DEAD,) if second.dead - first.dead else ()
        for found in every:
            found = replace(found, assumptions=(*found.assumptions, *dead))
            if found.verdict == "proved" or time.monotonic() > end:
                break
    except Exception as error:  # whatever is beyond the terms leaves it open, and is no failure
        said = str(error).partition("\n")[0] or type(error).__name__
        found = _open(f"the proof stops: {shortened(said)}")
    return found, domain


def _are_same(one: onnx.ModelProto, other: onnx.ModelProto) -> bool:
    """Whether two models are written alike, byte for byte."""
    if len(one.graph.node) != len(other.graph.node):  # its size takes as long as its bytes
        return False
    first, second = (each.SerializeToString(deterministic=True) for each in (one, other))
    return bool(first == second)


class _Search:
    """Looks for inputs on which the models differ; `runs` agreed, `why` no more were made."""

    def __init__(self, sources: tuple[Source, Source], models: _Models, domain: SizeDomain) -> None:
        self._sources, self._models, self._domain = sources, models, domain
        self.runs, self.why = 0, ""

    def found(self, enough: float, end: float) -> Counterexample | None:
        """The first, unless `enough` runs agreed before."""
        limit, refused = max(end - time.monotonic(), 0.1), ""
        try:
            inputs = outline(self._models[0]).inputs
            inputs = pinned(inputs, self._domain.declared, self._domain.given)
            with pool.limited(limit), ExitStack() as opened:
                before, after = (
                    opened.enter_context(each) if isinstance(each, Session) else each
                    for each in map(_opened, self._sources)
                )
                if isinstance(before, str):
                    raise EngineError(before)
                for fed, sizes in _draws(inputs):
                    if time.monotonic() > end:
                        self.why = "the time was over"
                        break
                    wanted = _run(before, fed.feeds)
                    if isinstance(wanted, str):
                        refused = refused or f"{RUNTIME} does not run the original: {wanted}"
                        continue
                    one = self._difference(fed, sizes, before, wanted, _run(after, fed.feeds))
                    if one is not None:
                        return one
                    self.runs += 1
                    if self.runs >= enough:
                        break
        except (EngineError, UndrawableError) as error:
            self.why = f"not run: {error}"
        self.why = self.why or ("" if self.runs else refused)
        return None

    def _difference(
        self,
        fed: Draw,
        sizes: Mapping[str, int],
        before: Session | str,
        wanted: Mapping[str, Array],
        given: Mapping[str, Array] | str,
    ) -> Counterexample | None:
        """What differs on some inputs; None where nothing does, or that is rounding."""
        if isinstance(given, str):
            said = f"the rewritten model does not run: {given}"
            return Counterexample(fed.label, sizes, "", said, feeds=fed.feeds)
        named = (name for name in wanted if name in given)
        each = (compare(name, wanted[name], given[name]) for name in named)
        differing = [found for found in each if not found.ok]
        moved = _moved(before, fed) if differing else []
        worst = next((found for found in differing if not _is_rounding(found, wanted, moved)), None)
        if worst is None:
            return None
        found = validate_models(*self._sources, inputs=dict(fed.feeds))
        mine = (
            run for run in found.runs if (run.subject, run.optimisation) == ("rewritten", "off")
        )
        if all(run.ok for run in mine):
            return None
        with suppress(ModelError):
            ours, theirs = map(Graph.from_proto, self._models)
            found = replace(found, padding=tuple(padding_differences(ours, theirs)))
        return Counterexample(
            fed.label, sizes, worst.output, worst.detail, culprit(found), fed.feeds
        )


def _opened(source: Source) -> Session | str:
    """A session, or why there is none; a LimitError if it does not load in time."""
    try:
        return open_session(source, folder=folder_of(source))
    except LimitError:
        raise
    except EngineError as error:
        return str(error)


def _moved(before: Session | str, fed: Draw) -> list[Mapping[str, Array]]:
    """What the original makes of inputs that are moved as far as rounding moves tensors inside."""
    generator = np.random.default_rng(0)

    def nudged(data: Array) -> Array:
        if data.dtype.kind != "f":
            return data
        steps = generator.standard_normal(data.shape) * _NUDGE * np.finfo(data.dtype).eps
        return np.asarray(data * (1 + steps), data.dtype)

    feeds = ({name: nudged(data) for name, data in fed.feeds.items()} for _ in range(_NUDGED))
    found = (_run(before, each) for each in feeds)
    return [each for each in found if not isinstance(each, str)]


def _is_rounding(
    found: Comparison, wanted: Mapping[str, Array], moved: Sequence[Mapping[str, Array]]
) -> bool:
    """Whether an output moves as far by rounding alone, as that of a Floor or ArgMax may."""
    again = [compare(found.output, wanted[found.output], each[found.output]) for each in moved]
    return bool(found.differing) and any(
        not each.ok and not each.max_abs < found.max_abs / 2 for each in again
    )


def _run(session: Session | str, feeds: Mapping[str, Array]) -> Mapping[str, Array] | str:
    """The outputs of a run, or why there are none; a LimitError if it does not end in time."""
    if isinstance(session, str):
        return session
    try:
        return tensors(session.run(feeds))
    except LimitError:
        raise
    except EngineError as error:
        return str(error)


def _draws(inputs: Sequence[Input]) -> Iterator[tuple[Draw, dict[str, int]]]:
    """Inputs to run on with their sizes, small ones first, then those that a user would take."""
    seen = list[tuple[dict[str, int], Mapping[str, int]]]()
    open_ = ((dim, each.sizes) for each in inputs for dim in each.shape)
    admitted = {dim: sizes.get(dim) for dim, sizes in open_ if isinstance(dim, str)}
    small = (
        {dim: _near(admitted[dim], n + place % 2 * more) for place, dim in enumerate(admitted)}
        for n in _SIZES
        for more in (0, 1)
    )
    for sizes, values in chain(((each, {}) for each in small), choices(inputs)):
        if (sizes, values) in seen:
            continue
        seen.append((sizes, values))
        for seed, again in ((0, False), (1, True)):
            try:
                fed = draw(inputs, sizes, seed, values, again=again)
            except UndrawableError:
                continue
            if all(each.size <= _MOST for each in fed.feeds.values()):
                yield fed, sizes


def _near(admitted: Sizes | None, size: int) -> int:
    """The admitted size that is the `size`th, or `size` where all are."""
    return size if admitted is None else admitted.value(min(size - 1, admitted.count - 1))
