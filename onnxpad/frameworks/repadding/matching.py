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
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from msgspec.structs import replace

from onnxpad.arguments import Progress
from onnxpad.errors import UsageError
from onnxpad.frameworks.repadding import comparing, sites
from onnxpad.frameworks.repadding.candidates import WHOLE, options_of
from onnxpad.frameworks.repadding.comparing import Closeness, Found, Tensors, Trial, trial
from onnxpad.frameworks.repadding.intents import lines_of
from onnxpad.frameworks.repadding.results import Distinguishable, Matching, Repadded, Tried
from onnxpad.frameworks.repadding.search import Point, Search, Space
from onnxpad.frameworks.repadding.sites import described
from onnxpad.frameworks.repadding.working_copy import WorkingCopy, working_copy
from onnxpad.graph import Graph, nodes_upstream
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import attributes
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.runtime import EngineError, LimitError
from onnxpad.runtimes.sessions import CPU, Session, open_session, read_proto
from onnxpad.validation.align import nearest
from onnxpad.validation.draw import outline
from onnxpad.validation.given import Arrays, MatchedInputs, matched_inputs
from onnxpad.validation.lab import ask, with_outputs

_SURE = 7.0
"""Bits of a reference beyond those that all tries use up: less than 1 in 100 match by chance."""
_PARTLY = 0.25
"""Of the error, what may be left where padding explains a part of it."""
_TINY = 1e-12
"""An error that is as good as none."""
_STALLED = 1 / 15
"""The share of the time after which a search ends in which nothing came nearer."""
_LOUD = 0.05
"""What the optimiser changes of a range where that hides what padding does."""
_NEAR = 1e-3
"""A difference, relative to the range, that rounding might explain in a deep model."""
_effect = lru_cache(maxsize=1 << 14)(Padding.effect)


def match_graph(
    graph: Graph,
    reference: Arrays,
    inputs: Arrays | None,
    closeness: Closeness,
    seconds: float,
    *,
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
    found, unread = sites.sites_of(context)
    left = [(context.label(node), why) for node, why in unread]
    left += [(context.label(pad.node), "a Pad that stays") for pad in context.pads()]
    left += [(label, "it is in a body or a function") for label, _ in sites.in_bodies(graph)]
    given = _matched(graph, inputs, reference)
    run, folder = graph.model.to_run()
    varied = [site for site in found if any(window.extent > 1 for window in site.windows)]
    copy = working_copy(read_proto(run), varied, context.analysis.dtype, [*_recorded(given)])
    with open_session(copy.model, folder=folder) as session:
        task = _Task(graph, copy, session, given, closeness, seconds, progress)
        result = replace(
            task.solve(),
            left=(*left, *copy.left),
            layout={**given.layout, **task.layout()},
            notes=given.remarks,
            runs=task.stages.total(),
            stages=dict(task.stages),
        )
        if result.outcome == "matched" or (result.outcome == "partly matched" and partial):
            mark = graph.mark()
            task.write()
            written = task.nearness(_outputs(graph, given, "off"))
            if result.outcome == "matched" and not written.solved:
                graph.rollback(mark)
                reason = "the model with the padding found, as written, does not reproduce it"
                result = replace(result, outcome="not matched", reason=reason, changes=())
    return result


def _matched(graph: Graph, inputs: Arrays | None, reference: Arrays) -> MatchedInputs:
    """The arrays given, without the inner tensors that are folded, such as that of a `Pad`.

    Raises:
        UsageError: They do not fit the model, or there are no others.
    """
    kept = {output.name for node in graph.nodes for output in node.outputs if output.name}
    before = graph.model.skeleton.light.graph.node
    names = {name for node in before for name in node.output if name} | kept
    model = outline(read_proto(graph.model.to_run()[0]))
    found = matched_inputs(model, inputs, reference, names)
    gone = dict.fromkeys(name for sample in found.inner for name in sample if name not in kept)
    inner = tuple({n: v for n, v in sample.items() if n in kept} for sample in found.inner)
    remarks = [f"not compared, as its padding is now an operator's: {name!r}" for name in gone]
    if not any((*inner, *found.expected)):
        raise UsageError(
            f"the reference has only padded tensors ({', '.join(map(repr, gone))}), whose "
            "padding is now an operator's; add an output or the output of an operator"
        )
    if not any(found.expected):
        remarks.append("no output is recorded: what is behind inner tensors is not compared")
    return replace(found, inner=inner, remarks=(*found.remarks, *remarks))


def _recorded(given: MatchedInputs) -> dict[str, None]:
    """The names of all tensors recorded."""
    return dict.fromkeys(name for each in (*given.expected, *given.inner) for name in each)


def _outputs(graph: Graph, given: MatchedInputs, level: Literal["off", "full"]) -> list[Tensors]:
    """What a model gives of the tensors recorded, at a level of optimisation."""
    (run, folder), names = graph.model.to_run(), _recorded(given)
    model = with_outputs(read_proto(run), names)
    results, _ = ask(model, given.draws, CPU, level, folder=folder)
    return [{n: v for n, v in result.outputs.items() if n in names} for result in results]


class _Task:
    """A model whose padding is fed, and what it should answer; `stages` counts its runs."""

    def __init__(
        self,
        graph: Graph,
        copy: WorkingCopy,
        session: Session,
        given: MatchedInputs,
        closeness: Closeness,
        seconds: float,
        progress: Progress | None,
    ) -> None:
        self.stages, self._stage = Counter[str](), "as it is"
        self._graph, self._copy, self._session = graph, copy, session
        self._given, self._closeness, self._progress = given, closeness, progress
        found = [*map(options_of, copy.sites)]
        self._sites, self._options = copy.sites, [options for options, _ in found]
        self._whole = {name: tuple(which[name] for _, which in found) for name in WHOLE}
        pairs = zip(given.expected, given.inner, strict=True)
        self._wanted: list[Tensors] = [{**outputs, **inner} for outputs, inner in pairs]
        self._seconds, self._end = seconds, time.monotonic() + seconds
        self._came_nearer = self._end  # when a search last did
        self._ran_out = False  # a search has stopped for lack of time
        self._sizes: dict[Point, list[tuple[int, ...]]] = {}
        self._point = self._start = self._settled = (0,) * len(copy.sites)
        self._reached: tuple[str, ...] = ()

    # Evaluating

    def _begin(self, stage: str) -> None:
        """Runs from here on are of another stage."""
        self._stage = stage

    def _is_over(self) -> bool:
        now = time.monotonic()
        self._ran_out |= now > self._end
        return now > min(self._end, self._came_nearer + _STALLED * self._seconds)

    def _run(self, point: Point, sample: int, names: Sequence[str] = ()) -> Found:
        """Tensors of the model with the options of a point; None if it does not run."""
        chosen = [options[at].padding for options, at in zip(self._options, point, strict=True)]
        feeds = {**self._given.draws[sample].feeds, **self._copy.feeds(chosen)}
        self.stages[self._stage] += 1
        if self._progress is not None:
            said = f"trying candidates, {self._seconds:.0f} s at most"
            self._progress(said, self.stages.total(), 0)
        try:
            found = self._session.run(feeds, [*names, *self._copy.probes])
        except EngineError as error:
            if isinstance(error, LimitError) and not any(point):
                raise
            return None
        if sample == 0:
            self._sizes[point] = self._copy.sizes(found)
        return found

    def nearness(self, found: Sequence[Found]) -> Trial:
        """How near outputs come to all that is recorded."""
        return trial(self._wanted, found, self._closeness)

    def _recorded(self, names: Sequence[str]) -> dict[int, Tensors]:
        """The tensors recorded, or those of some names, by the sample that has some."""
        some = [{n: v for n, v in each.items() if not names or n in names} for each in self._wanted]
        return {at: each for at, each in enumerate(some) if each}

    def _trial(self, point: Point, names: Sequence[str] = ()) -> Trial:
        """How near a point comes to what is recorded, or to what has some names."""
        wanted = self._recorded(names)
        found = [self._run(point, at, [*each]) for at, each in wanted.items()]
        return trial([*wanted.values()], found, self._closeness)

    def _is_more_than_chance(self, bits: float) -> bool:
        return bits > math.log2(self.stages.total()) + _SURE

    def _is_told(self, point: Point, names: Sequence[str] = ()) -> bool:
        """Whether a point gives the reference, or some of it, where that is hardly by chance."""
        seen, wanted = self._trial(point, names), self._recorded(names)
        found = [self._run(self._start, at, [*each]) for at, each in wanted.items()]
        bits = comparing.bits([*wanted.values()], found, seen.greatest)
        return seen.solved and self._is_more_than_chance(bits)

    # Solving

    def solve(self) -> Matching:
        """Searches; the result is about the working copy."""
        base, noise = self._trial(self._start), Trial(True, 0.0, 0.0, None, 0.0)
        result = Matching("not matched", before=base.greatest, after=base.greatest)
        if base.solved:
            return replace(result, outcome="matches already")
        plain, fast = (_outputs(self._graph, self._given, level) for level in ("off", "full"))
        if (changed := trial(plain, fast, Closeness())).greatest < math.inf:
            noise = changed
        share = min(noise.greatest, _NEAR / comparing.ROUNDINGS)
        self._closeness = replace(self._closeness, noise=share)
        result = replace(result, noise=noise.greatest)
        if self._trial(self._start).solved or self.nearness(fast).solved:
            return replace(result, outcome="matches already")
        result = replace(result, distinguishable=tuple(self._distinguishable()))
        if noise.greatest > _LOUD and not any(self._given.inner):
            reason = "what the runtime's optimiser changes in its outputs hides what padding does"
            return self._unmatched(result, reason)
        first = self._reach()
        self._begin("checks")
        self._put_back_idle()
        final, ways = self._trial(self._point), dict.fromkeys(filter(any, self._whole.values()))
        tried = {way: self._trial(way) for way in ways if not final.solved or self._may_be_by(way)}
        near = min(tried, key=lambda way: tried[way].rank, default=self._start)
        nearest = tried.get(near, base)
        if nearest.solved and not final.solved:  # time ran out before it was reached
            self._point, final, first = near, nearest, ""
            self._put_back_idle()
        told = {way: self._told(way, seen) for way, seen in tried.items()}
        listed = tuple(each for each in told.values() if each.operators)
        result = replace(result, after=final.greatest, tried=listed, first=first)
        if final.solved:
            if base.error - final.error <= noise.error:
                reason = "a padding fits better only by what the runtime's optimiser changes"
                return self._unmatched(result, reason)
            if not self._is_told(self._point):
                reason = (
                    "a padding fits, but the reference is too little to tell that from chance "
                    f"after {self.stages.total()} tries; record more samples, or inner tensors"
                )
                return self._unmatched(result, reason)
            by = (told[way].name for way in tried if tried[way].solved and self._may_be_by(way))
            changes = tuple(self._changes())
            return replace(result, outcome="matched", by=next(by, ""), changes=changes)
        if nearest.greatest < base.greatest:
            result = replace(result, nearest=told[near])
        # Of a convention alone: single operators, chosen freely, come near anything.
        explains = nearest.error < _PARTLY * base.error < math.inf
        if explains:
            elements = sum(value.size for sample in self._wanted for value in sample.values())
            bits = elements * math.log2(base.error / max(nearest.error, _TINY))
            explains = self._is_more_than_chance(bits)
        if explains or (any(self._settled) and self._is_told(self._settled, self._reached)):
            self._point = near if explains else self._settled
            self._put_back_idle()
            if changes := tuple(self._changes()):
                left = self._trial(self._point).greatest
                reason = "this padding explains a part of the difference, and none the rest"
                result = replace(result, outcome="partly matched", after=left, changes=changes)
                return self._unmatched(result, reason)
        reason = "no padding that was tried reproduces it"
        if not result.distinguishable:
            reason += ": at these sizes no other one of its operators computes anything else"
        return self._unmatched(result, reason + "; time ran out (--seconds)" * self._ran_out)

    def _unmatched(self, result: Matching, reason: str) -> Matching:
        """The result with why it is none, and which tensors would tell more, if none is inner."""
        decide = {each.node for each in result.distinguishable if not any(self._given.inner)}
        outputs = (s.node.outputs[0].name for s in self._sites if s.label in decide)
        record = tuple(name for name in outputs if name not in self._wanted[0])
        return replace(result, reason=reason, record=record)

    def _may_be_by(self, way: Point) -> bool:
        """Whether a convention may give the point found.

        Operators that are as they were may have the convention's padding or compute the same.
        """
        return all(not at or at == also for at, also in zip(self._point, way, strict=True))

    def _reach(self) -> str:
        """Reproduces tensors, those with the fewest operators upstream first.

        Returns the operator of the first out of reach.
        """
        places = {id(site.node): place for place, site in enumerate(self._sites)}
        upstream: dict[str, frozenset[int]] = {}
        for name in _recorded(self._given):
            nodes = nodes_upstream([self._graph.tensor(name)], self._graph.sources, most=None)
            upstream[name] = frozenset(places[id(node)] for node in nodes if id(node) in places)
        done, reached = frozenset[int](), tuple[str, ...]()
        for name in sorted(upstream, key=lambda name: len(upstream[name])):
            found = self._search((name,), upstream[name] - done)
            if not found and done & upstream[name]:
                found = self._search((*reached, name), upstream[name])
            if not found:
                node = self._graph.tensor(name).producer
                return name if node is None else f"{node.op} {self._graph.label(node)}"
            reached, done = (*reached, name), done | upstream[name]
            self._reached, self._settled = reached, self._point
        return ""

    def _search(self, names: Sequence[str], free: frozenset[int]) -> bool:
        """Moves the point to one that reproduces these tensors, if one is found."""
        tiers = tuple(
            tuple(each.tier for each in options) if place in free else ()
            for place, options in enumerate(self._options)
        )
        alike: dict[object, tuple[int, ...]] = {}
        for place, (site, options) in enumerate(zip(self._sites, self._options, strict=True)):
            key = site.signature, tuple(each.padding for each in options)
            alike[key] = (*alike.get(key, ()), place)
        groups = tuple(group for group in alike.values() if len(group) > 1)
        least: list[Trial] = []
        self._came_nearer = time.monotonic()

        def evaluate(point: Point) -> Trial:
            seen = self._trial(point, names)
            if not least or seen.is_better(least[-1]):
                least.append(seen)
                self._came_nearer = time.monotonic()
            return seen

        space, now = Space(tiers, groups, self._is_alike), self._point
        search, starts = Search(evaluate, space, self._is_over, self._begin), [now]
        for way in self._whole.values():
            start = tuple(way[at] if at in free else now[at] for at in range(len(now)))
            if not all(self._is_alike(now, at, now[at], start[at]) for at in free):
                starts.append(start)
        found = search.run(starts)
        if solved := search.trial(found).solved:
            self._point = search.pruned(found)
        return solved

    def _is_alike(self, point: Point, place: int, one: int, other: int) -> bool:
        """Whether two options of an operator compute the same, at the sizes of a run."""
        sizes, windows = self._sizes.get(point), self._sites[place].windows
        if one == other or sizes is None:
            return one == other
        paddings = (self._options[place][option].padding for option in (one, other))
        a, b = (_effect(padding, sizes[place], windows) for padding in paddings)
        return a == b

    def _changed_by(self, point: Point) -> list[int]:
        """The operators that compute something else than the model's, at the sizes of that run."""
        return [at for at in range(len(point)) if not self._is_alike(point, at, point[at], 0)]

    def _put_back_idle(self) -> None:
        """Puts back changes that compute the same at the sizes of the run."""
        if self._point not in self._sizes:
            self._run(self._point, 0)
        changed = self._changed_by(self._point)
        self._point = tuple(at if place in changed else 0 for place, at in enumerate(self._point))

    # Results

    def _told(self, way: Point, seen: Trial) -> Tried:
        """A convention by its name, with what is left by it."""
        name = next(name for name, each in self._whole.items() if each == way)
        return Tried(name, seen.greatest, len(self._changed_by(way)))

    def _sizes_at(self, point: Point, place: int) -> tuple[int, ...]:
        """The sizes of an operator's data; empty where the model does not run."""
        return self._sizes[point][place] if point in self._sizes else ()

    def _distinguishable(self) -> Iterator[Distinguishable]:
        """The operators with another likely padding that differs here."""
        for place, (site, options) in enumerate(zip(self._sites, self._options, strict=True)):
            sizes = self._sizes_at(self._start, place)
            others = {
                each.name: described(each.padding, sizes, site.windows)
                for at, each in enumerate(options)
                if each.tier == 0 and not self._is_alike(self._start, place, 0, at)
            }
            if others:
                now = described(site.padding, sizes, site.windows)
                yield Distinguishable(site.label, site.node.op, now, others)

    def layout(self) -> dict[str, str]:
        """How recorded arrays were arranged as the model's, by name, where they were others."""
        found = self._run(self._point, 0, [*self._wanted[0]]) or {}
        pairs = ((name, value, found.get(name)) for name, value in self._wanted[0].items())
        fits = {name: nearest(a, b) for name, a, b in pairs if isinstance(b, np.ndarray)}
        return {name: fit.how for name, fit in fits.items() if fit is not None and fit.how}

    def _changed(self) -> Iterator[tuple[int, Padding]]:
        """The operators whose padding is another one, by place, with that as it is written."""
        if self._point not in self._sizes:
            self._run(self._point, 0)
        for place, at in enumerate(self._point):
            padding, sizes = self._options[place][at].padding, self._sizes_at(self._point, place)
            if at and (sizes or not padding.is_same):
                yield place, sites.settled(self._sites[place], padding, sizes, self._graph.opset)

    def _changes(self) -> Iterator[Repadded]:
        for place, padding in self._changed():
            site, sizes = self._sites[place], self._sizes_at(self._point, place)
            pads = replace(padding, pads=padding.amounts(sizes, site.windows))
            lines, start = lines_of(site, pads, sizes), self._sizes_at(self._start, place)
            yield Repadded(
                site.label,
                site.node.op,
                described(site.padding, start, site.windows),
                described(padding, sizes, site.windows),
                self._options[place][self._point[place]].name,
                attributes(padding),
                lines["pytorch"],
                lines["keras"],
            )

    def write(self) -> None:
        """Writes what was found into the graph."""
        with sites.redeclared(self._graph) as changed:
            for place, padding in [*self._changed()]:
                sites.write(self._graph, self._sites[place], padding)
                changed.append(self._sites[place].node)
