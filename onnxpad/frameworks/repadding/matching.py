"""Finds the padding with which a model reproduces a framework's recorded outputs.

A copy of the model takes all padding as inputs (`working_copy`): one session runs every padding.
Recorded tensors are reproduced one after the other, those with the fewest operators upstream
first: inner tensors where there are any, then the outputs. For each, whole conventions are tried
first, then what `search` finds. What is found is written into the model, and that is compared.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, repeat
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace
from onnx import TensorProto

from onnxpad.arguments import Progress
from onnxpad.arithmetic.window import same_of
from onnxpad.errors import UsageError
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.candidates import (
    Candidate,
    conventions_of,
    effect_of,
    options_of,
)
from onnxpad.frameworks.repadding.intents import lines_of
from onnxpad.frameworks.repadding.references import (
    ROUNDINGS,
    Closeness,
    bits,
    gap,
    trial,
    unrelated,
)
from onnxpad.frameworks.repadding.search import Point, Search, Space, Trial
from onnxpad.frameworks.repadding.sites import (
    declare_anew,
    output_sizes,
    settled,
    sites_of,
    with_pads,
    write,
    written_as,
)
from onnxpad.frameworks.repadding.verdict import Distinguishable, Matching, Repadded, Tried
from onnxpad.frameworks.repadding.working_copy import WorkingCopy, working_copy
from onnxpad.graph import Graph, Node, nodes_upstream
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import attributes
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.runtime import EngineError, LimitError
from onnxpad.runtimes.sessions import CPU, Array, Session, Value, open_session, read_proto
from onnxpad.semantics.layers import Pairs
from onnxpad.validation.align import nearest
from onnxpad.validation.draw import Draw, outline
from onnxpad.validation.given import Arrays, MatchedInputs, matched_inputs
from onnxpad.validation.lab import Result, ask, with_outputs

_PARTLY = 0.25
"""Of the error, what may be left where padding explains a part of it."""
_NEARLY = 0.05
"""The same of the output's range, where the shapes were others: unrelated outputs differ by 0.1
and more."""


def match_graph(
    graph: Graph,
    reference: Arrays,
    inputs: Arrays | None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    seconds: float = 120.0,
    partial: bool = False,
    progress: Progress | None = None,
) -> Matching:
    """Finds the padding with which a graph reproduces a reference, and writes it into the graph.

    The graph, whose padding is folded, stays as it is unless the outcome is `matched`, or `partly
    matched` and `partial`. The arguments are those of `onnxpad.match`.

    Raises:
        UsageError: The arrays do not fit the model.
        ModelError: The model does not load.
        LimitError: It does not end.
    """
    context = Context(graph)
    windows, left = sites_of(context)
    every, others = with_pads(context, windows)
    choices = {site: options_of(site) for site in every}
    sites = [site for site in every if len(choices[site]) > 1]
    run, folder = graph.model.to_run()
    model = read_proto(run)
    given = matched_inputs(outline(model), inputs, reference, _inner_names(graph))
    given = _without_folded(graph, given)
    if not any(given.expected):
        note = "the reference has no output: what is behind its inner tensors is not compared"
        given = replace(given, remarks=(*given.remarks, note))
    samples = zip(given.expected, given.inner, strict=True)
    wanted = tuple({**outputs, **inner} for outputs, inner in samples)
    dtypes = {site.node.outputs[0].name: type_of_data(context, site) for site in sites}
    names = list(dict.fromkeys(name for sample in wanted for name in sample))
    copy = working_copy(model, sites, dtypes, names)
    chosen = [choices[site] for site in copy.sites]
    kept = *((context.label(node), why) for node, why in left), *others, *copy.left
    with open_session(copy.model, folder=folder) as session:
        asked = given.draws, wanted, Closeness(rtol, atol), seconds, progress
        task = _Task(graph, copy, chosen, *asked, lambda: _noise(graph, given))
        task.session = session
        result = task.solve()
        result = replace(
            result,
            left=kept,
            layout={**given.layout, **task.layout()},
            notes=given.remarks,
            runs=task.runs,
            stages=dict(task.stages),
            record=() if any(given.inner) else tuple(task.to_record(result)),
        )
        if result.outcome == "matched" or (result.outcome == "partly matched" and partial):
            mark = graph.mark()
            task.write()
            why = _confirmed(graph, given, task)
            if why and result.outcome == "matched":
                graph.rollback(mark)
                result = replace(result, outcome="not matched", reason=why, changes=())
    return result


def _inner_names(graph: Graph) -> set[str]:
    """The names of inner tensors, also of those that folding padding has taken away."""
    before = graph.model.skeleton.light.graph.node
    return {name for node in before for name in node.output if name} | _kept_names(graph)


def _kept_names(graph: Graph) -> set[str]:
    return {output.name for node in graph.nodes for output in node.outputs if output.name}


def _without_folded(graph: Graph, found: MatchedInputs) -> MatchedInputs:
    """The arrays without inner tensors that are folded into operators, such as that of a `Pad`.

    Raises:
        UsageError: There are no others.
    """
    kept = _kept_names(graph)
    gone = dict.fromkeys(name for sample in found.inner for name in sample if name not in kept)
    if not gone:
        return found
    inner = tuple(
        {name: value for name, value in sample.items() if name in kept} for sample in found.inner
    )
    names = ", ".join(map(repr, gone))
    if not any((*inner, *found.expected)):
        raise UsageError(
            f"the reference has only padded tensors ({names}), whose padding is now an operator's; "
            "add an output or the output of an operator"
        )
    note = f"not compared, as its padding is now an operator's: {names}"
    return replace(found, inner=inner, remarks=(*found.remarks, note))


def type_of_data(context: Context, site: Site) -> int:
    """The element type of the data of an operator; UNDEFINED where it is unknown."""
    return context.analysis.dtype(site.op.data) or TensorProto.UNDEFINED


def _confirmed(graph: Graph, found: MatchedInputs, task: _Task) -> str:
    """Why the model as written does not reproduce the reference; empty if it does."""
    results = _results(graph, found, "off")
    for outputs, inner, result in zip(found.expected, found.inner, results, strict=True):
        for name, value in {**outputs, **inner}.items():
            seen = gap(value, result.outputs.get(name), task.closeness)
            if not seen.solved:
                why = result.error or f"{name!r} differs by {seen.greatest:.2g} of its range"
                return f"the model with the padding found does not reproduce it: {why}"
    return ""


def _noise(graph: Graph, found: MatchedInputs) -> dict[str, Trial]:
    """What the runtime's optimiser changes in each recorded tensor of a model."""
    plain, fast = (_results(graph, found, level) for level in ("off", "full"))
    noises: dict[str, Trial] = {}
    for name in (name for sample in (*found.expected, *found.inner) for name in sample):
        if name not in noises:
            seen: Any = [{n: v for n, v in each.outputs.items() if n == name} for each in plain]
            apart = trial(seen, [each.outputs for each in fast], Closeness())
            noises[name] = apart if all(seen) and math.isfinite(apart.greatest) else _SAME
    return noises


def _results(
    graph: Graph, found: MatchedInputs, level: Literal["off", "full"]
) -> tuple[Result, ...]:
    """The outputs and recorded inner tensors of a model at a level of optimisation."""
    run, folder = graph.model.to_run()
    inner = dict.fromkeys(name for each in found.inner for name in each)
    model = with_outputs(read_proto(run), inner)
    results, _ = ask(model, found.draws, CPU, level, folder=folder)
    return results


class _Task:
    """One model, its working copy in a session, and what it should answer."""

    session: Session

    def __init__(
        self,
        graph: Graph,
        copy: WorkingCopy,
        options: Sequence[list[Candidate]],
        draws: Sequence[Draw],
        wanted: Sequence[Mapping[str, Array]],
        closeness: Closeness,
        seconds: float,
        progress: Progress | None,
        noise: Callable[[], dict[str, Trial]],
    ) -> None:
        self._noise = noise
        self.closeness = closeness
        self.stages = Counter[str]()
        self._stage = "as it is"
        self._graph = graph
        self._copy = copy
        self._draws = draws
        self._wanted = wanted
        self._all = range(len(wanted))  # all samples
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._came_nearer = self._end  # when a search last did
        self._ran_out = False  # a search has stopped for lack of time
        self._progress = progress or (lambda *_: None)
        self._options = options
        self._whole = conventions_of(copy.sites, options)
        self._sizes: dict[Point, list[tuple[int, ...]]] = {}
        self._effects: dict[tuple[int, int, tuple[int, ...]], object] = {}
        self._point: Point = (0,) * len(copy.sites)
        self._settled = self._nearest = self._point
        self._reached: tuple[str, ...] = ()

    # Evaluating

    @property
    def runs(self) -> int:
        """How many times the model ran."""
        return self.stages.total()

    def _begin(self, stage: str) -> None:
        """Runs from here on are of another stage."""
        self._stage = stage

    def _is_over(self) -> bool:
        now = time.monotonic()
        self._ran_out |= now > self._end
        return now > min(self._end, self._came_nearer + _STALLED * self._seconds)

    def _outputs(
        self, point: Point, sample: int, names: Sequence[str]
    ) -> Mapping[str, Value] | None:
        chosen = [options[at].padding for options, at in zip(self._options, point, strict=True)]
        feeds = {**self._draws[sample].feeds, **self._copy.feeds(chosen)}
        self.stages[self._stage] += 1
        sizes = self._copy.probes
        self._progress(f"trying candidates, {self._seconds:.0f} s at most", self.runs, 0)
        try:
            found = self.session.run(feeds, [*names, *sizes])
        except LimitError:
            if not any(point):
                raise
            return None
        except EngineError:
            return None
        if sample == 0:
            self._sizes[point] = [
                tuple(int(size) for size in np.asarray(found.pop(name))) for name in sizes
            ]
        return found

    def _recorded(
        self, names: Sequence[str] = (), samples: Sequence[int] = ()
    ) -> list[dict[str, Array]]:
        """The tensors recorded: all, or those of some names and samples."""
        some = [self._wanted[each] for each in samples or self._all]
        return [{name: each[name] for name in names or each if name in each} for each in some]

    def _trial(self, point: Point, names: Sequence[str] = (), samples: Sequence[int] = ()) -> Trial:
        """How near a point comes to these."""
        wanted = self._recorded(names, samples)
        found = [*map(self._outputs, repeat(point), samples or self._all, map(list, wanted))]
        return trial(wanted, found, self.closeness)

    # Solving

    def solve(self) -> Matching:
        """Searches; the result is about the working copy."""
        base, noise, noises = self._trial(self._point), 0.0, dict[str, Trial]()
        if not base.solved:
            noises = self._noise()
            noise = max(each.greatest for each in noises.values())
            self.closeness = replace(self.closeness, noise=min(noise, _NEAR / ROUNDINGS))
            base = self._trial(self._point)
        result = Matching("not matched", before=base.greatest, after=base.greatest, noise=noise)
        if base.solved or (self.closeness.is_usual and self._is_noise(noises)):
            return replace(result, outcome="matches already")
        distinguishable = tuple(self._distinguishable())
        loud = [name for name, each in noises.items() if self._hides(name, each)]
        if loud and self._graph.outputs.issuperset(noises):
            reason = f"what the runtime's optimiser changes in {loud[0]!r} hides what padding does"
            return replace(result, reason=reason, distinguishable=distinguishable)
        first = self._reach(self._all[:1])
        if not first and len(self._all) > 1 and not self._trial(self._point).solved:
            first = self._reach(self._all)
        self._begin("checks")
        self._put_back_idle()
        final = self._trial(self._point)
        tried = [*self._tried(final)]
        near = None if final.solved else min(tried, key=lambda each: each[1].rank, default=None)
        explained = near[0] if near and self._explains(base, near[1]) else None
        if near and explained and near[1].solved:
            self._point, first = explained, ""  # time ran out before it was reached
            self._put_back_idle()
            final = self._trial(self._point)
        result = replace(
            result,
            after=final.greatest,
            distinguishable=distinguishable,
            tried=tuple(self._told(*each) for each in tried if self._changed_by(each[0])),
        )
        if final.solved:
            if base.error - final.error <= max(each.error for each in noises.values()):
                reason = "a padding fits better only by what the runtime's optimiser changes"
            elif self._tells(final.greatest):
                by = (self._told(*e).name for e in tried if self._is_by(e[0]) and e[1].solved)
                changes = tuple(self._changes())
                return replace(result, outcome="matched", by=next(by, ""), changes=changes)
            else:
                reason = (
                    "a padding fits, but the reference is too little to tell that from chance "
                    f"after {self.runs} tries; record more samples, or inner tensors"
                )
            return replace(result, reason=reason)
        points = [(each, self._trial(each)) for each in (self._point, self._nearest)]
        point, seen = min((*points, *filter(None, [near])), key=lambda each: each[1].rank)
        nearest = self._told(point, seen) if seen.greatest < base.greatest else None
        if explained := explained or (self._settled if self._is_certain() else None):
            self._point = explained
            self._put_back_idle()
            if changes := tuple(self._changes()):
                left = self._trial(self._point).greatest
                reason = "this padding explains a part of the difference, and none the rest"
                result = replace(result, outcome="partly matched", after=left, changes=changes)
                return replace(result, reason=reason, first=first)
        reason = "no padding that was tried reproduces it"
        if not distinguishable:
            reason += ": at these sizes no other one of its operators computes anything else"
        elif self._ran_out:
            reason += "; time ran out (--seconds)"
        return replace(result, reason=reason, first=first, nearest=nearest)

    def _is_noise(self, noises: Mapping[str, Trial]) -> bool:
        """Whether each tensor is off by no more than its own noise, which is little."""
        for name, noise in noises.items():
            seen = self._trial(self._point, [name])
            is_little = seen.error <= _ROUNDED * noise.error and not self._hides(name, noise, 0.0)
            if not (seen.solved or is_little):
                return False
        return True

    def _hides(self, name: str, noise: Trial, constant: float = 1.0) -> bool:
        """Whether a tensor that has nothing to do with another may be off by as little."""
        apart = unrelated(self._recorded([name]))
        return _ROUNDED * noise.error > _HIDES * (apart if apart < math.inf else constant)

    def _tried(self, final: Trial) -> Iterator[tuple[Point, Trial]]:
        """The conventions of the whole model by all that is recorded; once solved, what may be it.

        The nearest tells a part of a difference: single operators, chosen freely, come near
        anything.
        """
        for way in dict.fromkeys(self._whole.values()):
            if any(way) and (not final.solved or self._is_by(way)):
                yield way, self._trial(way)

    def _is_by(self, way: Point) -> bool:
        """Whether a convention may give the point found.

        Operators that are as they were may have the convention's padding or compute the same.
        """
        return all(not at or at == also for at, also in zip(self._point, way, strict=True))

    def _told(self, point: Point, seen: Trial) -> Tried:
        """A point by the name of its convention or of its first operator."""
        changed = self._changed_by(point)
        names = [name for name, each in self._whole.items() if each == point] or [
            f"{self._options[at][point[at]].name} of {self._copy.sites[at].label}" for at in changed
        ]
        return Tried(names[0], seen.greatest, len(changed))

    def _changed_by(self, point: Point) -> list[int]:
        """The operators that compute something else than the model's, at the sizes of that run."""
        return [at for at in range(len(point)) if not self._is_alike(point, at, point[at], 0)]

    def _tells(self, after: float, names: Sequence[str] = ()) -> bool:
        """Whether the reference, or these tensors of it, is enough to tell a match from chance."""
        wanted = self._recorded(names)
        found = [*map(self._outputs, repeat((0,) * len(self._point)), self._all, map(list, wanted))]
        return bits(wanted, found, after) > math.log2(self.runs) + _SURE

    def _is_certain(self) -> bool:
        """Whether recorded inner tensors are reproduced that the model as it was does not give."""
        if not any(self._settled):
            return False
        found = self._trial(self._settled, self._reached)
        return found.solved and self._tells(found.greatest, self._reached)

    def _put_back_idle(self) -> None:
        """Puts back changes that compute the same at the sizes of the run."""
        if self._point not in self._sizes:
            self._outputs(self._point, 0, ())
        changed = self._changed_by(self._point)
        self._point = tuple(at if place in changed else 0 for place, at in enumerate(self._point))

    def _explains(self, base: Trial, final: Trial) -> bool:
        """Whether most of the difference is gone, and more than by chance after so many tries."""
        is_comparable = math.isfinite(base.error)
        most = _PARTLY * base.error if is_comparable else _NEARLY
        if not final.error < most:
            return False
        before = base.error if is_comparable else unrelated(self._wanted)
        elements = sum(value.size for sample in self._wanted for value in sample.values())
        bits = elements * math.log2(before / max(final.error, _TINY))
        return bits > math.log2(self.runs) + _SURE

    def _reach(self, samples: Sequence[int]) -> str:
        """Reproduces the goals in order; returns the operator of the first out of reach."""
        settled: set[int] = set()
        reached: list[str] = []
        for names, places in self._goals():
            found = self._search(names, places - settled, samples)
            if not found and settled & places:
                found = self._search((*reached, *names), places, samples)
            if not found:
                return self._label(names[0])
            reached += names
            settled |= places
            self._reached, self._settled = tuple(reached), self._point
        return ""

    def _search(self, names: Sequence[str], free: frozenset[int], samples: Sequence[int]) -> bool:
        """Moves the point to one that reproduces these tensors, or to the nearest one found."""
        space = Space(
            tuple(tuple(each.tier for each in options) for options in self._options),
            tuple(self._groups()),
            self._is_alike,
        )
        having = [at for at in self._all if not self._wanted[at].keys().isdisjoint(names)]
        samples = [at for at in samples if at in having] or having[:1]
        least: list[Trial] = []
        self._came_nearer = time.monotonic()

        def evaluate(point: Point) -> Trial:
            seen = self._trial(point, names, samples)
            if not least or seen.is_better(least[-1]):
                least.append(seen)
                self._nearest, self._came_nearer = point, time.monotonic()
            return seen

        search = Search(evaluate, space, self._is_over, self._begin)
        now, places = self._point, range(len(self._point))
        ways = (
            tuple(way[at] if at in free else now[at] for at in places)
            for way in self._whole.values()
        )
        starts = [
            way
            for way in ways
            if not all(self._is_alike(now, at, now[at], way[at]) for at in places)
        ]
        found = search.run([now, *starts], free) if free else now
        if search.trial(found).solved:
            self._point = search.pruned(found, free)
        return search.trial(found).solved

    # Options

    def _is_alike(self, point: Point, place: int, one: int, other: int) -> bool:
        """Whether two options of an operator compute the same, at the sizes of a run."""
        sizes = self._sizes.get(point)
        if one == other or sizes is None:
            return one == other
        return self._effect(place, one, sizes[place]) == self._effect(place, other, sizes[place])

    def _effect(self, place: int, option: int, sizes: tuple[int, ...]) -> object:
        """The effect of an option at these sizes; a search asks for the same ones at each point."""
        key = place, option, sizes
        if key not in self._effects:
            padding = self._options[place][option].padding
            self._effects[key] = effect_of(self._copy.sites[place], padding, sizes)
        return self._effects[key]

    def _groups(self) -> Iterator[tuple[int, ...]]:
        """Operators that are alike and have the same options, by place."""
        alike: dict[object, list[int]] = {}
        for place, (site, options) in enumerate(zip(self._copy.sites, self._options, strict=True)):
            if len(options) > 1:
                key = site.signature, tuple(each.padding for each in options)
                alike.setdefault(key, []).append(place)
        yield from (tuple(group) for group in alike.values() if len(group) > 1)

    def _distinguishable(self) -> Iterator[Distinguishable]:
        """The operators with another likely padding that differs here."""
        for place, (site, options) in enumerate(zip(self._copy.sites, self._options, strict=True)):
            others = {
                each.name: self._described(place, each.padding)
                for at, each in enumerate(options)
                if each.tier == 0 and not self._is_alike(self._point, place, self._point[place], at)
            }
            if others:
                now = self._described(place, site.padding)
                yield Distinguishable(site.label, site.node.op, now, others)

    def _described(self, place: int, padding: Padding) -> str:
        site = self._copy.sites[place]
        start = self._sizes.get((0,) * len(self._copy.sites))
        if start is None and padding.is_same:
            return same_of(padding.odd)
        sizes = () if start is None else start[place]
        return written_as(site, padding, padding.amounts(sizes, site.windows))

    # Goals

    def _goals(self) -> list[tuple[tuple[str, ...], frozenset[int]]]:
        """Tensors to reproduce together, with the places of the operators upstream of them.

        Those with the fewest come first.
        """
        places = {id(site.node): place for place, site in enumerate(self._copy.sites)}

        def upstream(name: str) -> Iterator[int]:
            nodes = nodes_upstream([self._graph.tensor(name)], self._graph.sources, most=None)
            yield from (places[id(node)] for node in nodes if id(node) in places)

        names = dict.fromkeys(name for sample in self._wanted for name in sample)
        goals = [(name, frozenset(upstream(name))) for name in names]
        goals.sort(key=lambda each: len(each[1]))
        return [
            (tuple(name for name, _ in alike), upstream)
            for upstream, alike in groupby(goals, key=lambda each: each[1])
        ]

    def _label(self, name: str) -> str:
        node = self._graph.tensor(name).producer
        return name if node is None else f"{node.op} {self._graph.label(node)}"

    # Results

    def layout(self) -> dict[str, str]:
        """How recorded arrays were arranged as the model's, by name, where they were others."""
        found = self._outputs(self._point, 0, [*self._wanted[0]]) or {}
        pairs = ((name, value, found.get(name)) for name, value in self._wanted[0].items())
        fits = {name: nearest(a, b) for name, a, b in pairs if isinstance(b, np.ndarray)}
        return {name: fit.how for name, fit in fits.items() if fit is not None and fit.how}

    def to_record(self, result: Matching) -> Iterator[str]:
        """The outputs of operators that decide: recorded too, they tell where a model parts."""
        names = {each.node for each in result.distinguishable if result.reason}
        for site in self._copy.sites:
            name = site.node.outputs[0].name
            if site.label in names and name not in self._wanted[0]:
                yield name

    def _changed(self) -> Iterator[tuple[int, Candidate, Pairs, tuple[int, ...]]]:
        """The operators whose padding is another one, with its amounts at the sizes reached."""
        if self._point not in self._sizes:
            self._outputs(self._point, 0, ())
        sizes = self._sizes.get(self._point)
        for place, (site, at) in enumerate(zip(self._copy.sites, self._point, strict=True)):
            chosen = self._options[place][at]
            if at and (sizes is not None or not chosen.padding.is_same):
                here = () if sizes is None else sizes[place]
                padding = self._writable(site, chosen.padding, here)
                told = replace(chosen, padding=padding)
                yield place, told, padding.amounts(here, site.windows), here

    def _writable(self, site: Site, padding: Padding, sizes: tuple[int, ...]) -> Padding:
        """A padding as attributes can tell it in the model's opset, and the runtime runs it.

        The runtime refuses SAME with dilations, and older opsets have pools without ceil_mode.
        """
        if padding.is_same and any(window.dilation > 1 for window in site.windows):
            padding = replace(padding, pads=padding.amounts(sizes, site.windows))
        since = 0 if site.operator is None else site.operator.since("ceil_mode")
        if padding.ceil and self._graph.opset < since and sizes and not padding.counted:
            padding = replace(padding, pads=padding.reached(sizes, site.windows), ceil=False)
        return padding

    def _changes(self) -> Iterator[Repadded]:
        for place, chosen, pads, sizes in self._changed():
            site = self._copy.sites[place]
            lines = lines_of(site, replace(chosen.padding, pads=pads), sizes)
            yield Repadded(
                site.label,
                site.node.op,
                self._described(place, site.padding),
                written_as(site, chosen.padding, pads),
                chosen.name,
                attributes(settled(site, chosen.padding, pads)),
                lines["pytorch"],
                lines["keras"],
            )

    def write(self) -> None:
        """Writes what was found into the graph."""
        before, nodes = output_sizes(self._graph), list[Node]()
        for place, chosen, pads, _ in [*self._changed()]:
            nodes.append(self._copy.sites[place].node)
            write(self._graph, self._copy.sites[place], chosen.padding, pads)
        declare_anew(self._graph, nodes, before)


_SAME = Trial(True, 0.0, 0.0, None, 0.0)
_SURE = 7.0
"""Bits of a reference beyond those that all tries use up: less than 1 in 100 match by chance."""
_TINY = 1e-12
"""An error that is as good as none."""
_STALLED = 1 / 12
"""The share of the time after which a search ends in which nothing came nearer."""
_ROUNDED = 2.0
"""How many times what the optimiser changes a reference of the same padding may be off."""
_HIDES = 0.3
"""The share of unrelated outputs' error from which on what is allowed for that tells nothing."""
_NEAR = 1e-3
"""A difference, relative to the range, that rounding might explain in a deep model."""
