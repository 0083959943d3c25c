"""Finds the padding with which a model reproduces a framework's recorded outputs.

A copy of the model takes all padding as inputs (`working_copy`): one session runs every padding.
Recorded tensors are reproduced one after the other, those with the fewest operators upstream
first: inner tensors where there are any, then the outputs. For each, whole conventions are tried
first, then what `search` finds. What is found is written into the model, and that is compared.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Literal

import numpy as np
from msgspec.structs import replace

from onnxpad.arguments import Arrays, Progress
from onnxpad.arithmetic.size import Size, evaluate
from onnxpad.errors import UsageError, few
from onnxpad.facts.engine import open_axes
from onnxpad.frameworks.conventions.question import Question
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.conventions.writing import written
from onnxpad.frameworks.fitting.case import answer_of, case_of
from onnxpad.frameworks.repadding import sites
from onnxpad.frameworks.repadding.candidates import options_of
from onnxpad.frameworks.repadding.comparing import Closeness, Found, Key, Trial, apart, bits, trial
from onnxpad.frameworks.repadding.results import Matching, Repadded, Tried
from onnxpad.frameworks.repadding.search import Point, Search, Space
from onnxpad.frameworks.repadding.towards import alike, answers_of, op_of
from onnxpad.frameworks.repadding.working_copy import WorkingCopy, working_copy
from onnxpad.graph import Graph, nodes_upstream
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import attributes
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.runtime import EngineError, LimitError
from onnxpad.runtimes.sessions import CPU, Array, Session, Value, open_session, read_proto
from onnxpad.validation.compare import is_flat, shape_text
from onnxpad.validation.draw import outline
from onnxpad.validation.given import MatchedInputs, matched_inputs
from onnxpad.validation.lab import ask, with_outputs

_SURE = 7.0
"""Bits of a reference beyond those that all tries use up: less than 1 in 100 match by chance."""
_STALLED = 1 / 15
"""The share of the time after which a search ends in which nothing came nearer."""
_MOVES, _NEAR = 4.0, 1e-3
"""Rounding is a few times what the runtime changes itself, at most this of the range."""
_UNRUN = 1e6
"""The gap of a run that fails at its first node; one less for each node that it comes further."""
_MOVING = {"Einsum", "Gather", "If", "Loop", "OneHot", "Reshape", "Scan", "Transpose", "Unsqueeze"}
"""Operators behind which the first axes may be others than batch and channels."""
_effect = lru_cache(maxsize=1 << 14)(Padding.effect)


def match_graph(
    graph: Graph,
    reference: Arrays,
    inputs: Arrays | None,
    closeness: Closeness,
    seconds: float,
    progress: Progress | None = None,
) -> Matching:
    """Finds the padding with which a graph reproduces a reference, and writes it into the graph.

    The graph, whose padding is folded, stays as it is unless the outcome is `matched`. The
    arguments are those of `onnxpad.match`.

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
    names = [*dict.fromkeys(name for _, name in _recorded(given))]
    copy = working_copy(read_proto(run), varied, context.analysis.dtype, names)
    with open_session(copy.model, folder=folder) as session:
        task = _Task(graph, copy, session, given, closeness, seconds, progress)
        result = replace(task.solve(), left=(*left, *copy.left), notes=given.notes)
        mark = graph.mark()
        if result.outcome == "matched" or result.first:
            result = replace(result, changes=tuple(task.write(result.by)))
            told, by = {each.name for each in result.changes}, result.by
            if len(told) == 1 and by and not (by in FRAMEWORKS or ": " in by):
                result = replace(result, by=told.pop())  # and not the mistake that is undone
        if result.outcome == "matched" and not task.nearness("off").solved:
            reason = "the model with the padding found, as written, does not reproduce it"
            result = replace(result, outcome="not matched", reason=reason, changes=())
        result = task.undecided(result)
        if result.outcome != "matched":
            graph.rollback(mark)
    return replace(result, runs=task.runs)


def _matched(graph: Graph, inputs: Arrays | None, reference: Arrays) -> MatchedInputs:
    """The arrays given but inner tensors that are folded; UsageError where none is left."""
    kept = {output.name for node in graph.nodes for output in node.outputs}
    before = graph.model.skeleton.light.graph.node
    before = sorted(before, key=lambda node: not re.search("Conv|Pool", node.op_type))
    names = dict.fromkeys(name for node in before for name in node.output if name)
    model = outline(read_proto(graph.model.to_run()[0]))
    found = matched_inputs(model, inputs, reference, names)
    gone = dict.fromkeys(name for sample in found.inner for name in sample if name not in kept)
    inner = tuple({n: v for n, v in sample.items() if n in kept} for sample in found.inner)
    remarks = [f"not compared, as its padding is now an operator's: {name!r}" for name in gone]
    if not any((*inner, *found.expected)):
        raise UsageError(
            f"the reference has only tensors whose padding is now an operator's ({few(gone, 3)}); "
            "add an output or the output of an operator"
        )
    if not any(found.expected):
        remarks.append("no output is recorded: what is behind inner tensors is not compared")
    return replace(found, inner=inner, remarks=(*found.remarks, *remarks))


def _holes(array: Array) -> int:
    return int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0


def _recorded(given: MatchedInputs) -> dict[Key, Array]:
    pairs = enumerate(zip(given.expected, given.inner, strict=True))
    return {(at, n): v for at, both in pairs for each in both for n, v in each.items()}


class _Task:
    """A model whose padding is fed, and what it should answer; `runs` counts its runs."""

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
        self.runs = 0
        self._graph, self._copy, self._session = graph, copy, session
        self._given, self._closeness, self._progress = given, closeness, progress
        self._sites, self._wanted = copy.sites, _recorded(given)
        found = [*map(options_of, copy.sites)]
        self._options = [options for options, _ in found]
        self._ways = dict[Point, str]()  # what conventions choose, with the first that does
        for name in found[0][1] if found else ():
            self._ways.setdefault(tuple(which[name] for _, which in found), name)
        self._ways.pop((0,) * len(found), None)
        alike: dict[object, tuple[int, ...]] = {}
        for place, (site, options) in enumerate(zip(self._sites, self._options, strict=True)):
            key = site.node.op, site.windows, tuple(each.padding for each in options)
            alike[key] = (*alike.get(key, ()), place)
        self._groups = tuple(group for group in alike.values() if len(group) > 1)
        self._places = {node.name: at for at, node in enumerate(copy.model.graph.node)}
        self._seconds, self._end = seconds, time.monotonic() + seconds
        self._came_nearer = self._end  # when a search last did
        self._ran_out = False  # a search has stopped for lack of time
        self._sizes: dict[Point, dict[int, list[tuple[int, ...]]]] = {}  # of each sample
        self._point = self._start = (0,) * len(copy.sites)

    def _is_over(self) -> bool:
        now = time.monotonic()
        self._ran_out |= now > self._end
        return now > min(self._end, self._came_nearer + _STALLED * self._seconds)

    def _paddings(self, point: Point) -> list[Padding]:
        return [options[at].padding for options, at in zip(self._options, point, strict=True)]

    def _run(self, point: Point, wanted: Collection[Key]) -> Found:
        fed, values = self._copy.feeds(self._paddings(point)), dict[Key, Value]()
        for sample in sorted({sample for sample, _ in wanted}):
            self.runs += 1
            if self._progress is not None:
                self._progress(f"trying candidates, {self._seconds:.0f} s at most", self.runs, 0)
            names = [name for at, name in wanted if at == sample]
            feeds = {**self._given.draws[sample].feeds, **fed}
            found = self._session.run(feeds, [*names, *self._copy.probes])
            self._sizes.setdefault(point, {})[sample] = self._copy.sizes(found)
            values |= {(sample, name): found[name] for name in names}
        return values

    def _trial(self, point: Point, names: Collection[str] = ()) -> Trial:
        wanted = {key: v for key, v in self._wanted.items() if not names or key[1] in names}
        try:
            return trial(wanted, self._run(point, wanted), self._closeness)
        except EngineError as error:
            if isinstance(error, LimitError) and not any(point):
                raise
            reached = (self._places.get(name, 0) for name in error.nodes)
            return apart(_UNRUN - max(reached, default=0))

    def _outputs(self, level: Literal["off", "full"]) -> dict[Key, Array]:
        (run, folder), names = self._graph.model.to_run(), [name for _, name in self._wanted]
        model = with_outputs(read_proto(run), dict.fromkeys(names))
        results, _ = ask(model, self._given.draws, CPU, level, folder=folder)
        found = {(at, n): v for at, each in enumerate(results) for n, v in each.outputs.items()}
        return {key: value for key, value in found.items() if key in self._wanted}

    def nearness(self, level: Literal["off", "full"]) -> Trial:
        """How near the graph, as it is now, comes to all that is recorded."""
        return trial(self._wanted, self._outputs(level), self._closeness)

    def solve(self) -> Matching:
        """Searches; the result is about the working copy."""
        base = self._trial(self._start)
        result = Matching("not matched", "", base.greatest, base.greatest, worst=base.worst)
        if base.solved:
            return self._as_it_is(result)
        noise = trial(own := self._outputs("off"), self._outputs("full"), Closeness())
        noise = trial({}, {}, Closeness()) if noise.greatest == math.inf else noise
        self._closeness = replace(self._closeness, noise=min(_MOVES * noise.greatest, _NEAR))
        result = replace(result, noise=noise.greatest)
        if self._trial(self._start).solved or self.nearness("full").solved:
            return self._as_it_is(result)
        if why := self._unexplained(own):
            return replace(result, reason=why)
        tried, deciding, by = list[Tried](), set[int](), ""
        for way, name in self._ways.items():
            seen, changed = self._trial(way), self._apart(way, self._start)
            tried += [Tried(name, seen.greatest, len(changed))] if changed else []
            deciding |= {*changed}
            if seen.solved:
                self._point, by = self._search(()).pruned(way), name
                break
        result = replace(result, tried=tuple(tried), first="" if by else self._reach())
        final = self._trial(self._point)
        result, told = replace(result, after=final.greatest), math.inf
        if final.solved and base.missing is not None:
            told = bits(self._wanted, self._run(self._start, self._wanted), final.greatest)
        if not final.solved:
            reason = "no padding that was tried reproduces it"
            reason += "; time ran out (--seconds)" * self._ran_out
        elif base.error - final.error <= noise.error:
            reason = "a padding fits better only by what the runtime's optimiser changes"
        elif told <= math.log2(self.runs) + _SURE:
            reason = (
                "a padding fits, but the reference is too little to tell that from chance "
                f"after {self.runs} tries; record more samples, or inner tensors"
            )
        else:
            return replace(result, outcome="matched", by=by)
        return replace(result, reason=reason, record=self._unrecorded(sorted(deciding)))

    def _as_it_is(self, result: Matching) -> Matching:
        """The verdict where the model reproduces all, which outputs that never vary do not tell."""
        every = [[v for (_, n), v in self._wanted.items() if n == name] for _, name in self._wanted]
        if not all(map(is_flat, every)):
            return replace(result, outcome="matches already")
        told = "nothing compared: what is recorded is the same for any data, or nearly"
        return replace(result, reason=told, record=self._unrecorded(range(len(self._sites))))

    def _unexplained(self, own: Mapping[Key, Array]) -> str:
        """What no padding explains: a shape, or NaN in inputs, or where the model gives none."""
        moves = any(node.domain or node.op in _MOVING for node in self._graph.nodes)
        ranks = {len(site.windows) + 2 for site in self._sites if not moves}
        fed = ((name, v, v.shape, 0) for e in self._given.draws for name, v in e.feeds.items())
        pairs = ((key[1], v, own.get(key, v)) for key, v in self._wanted.items())
        found = ((name, v, mine.shape, _holes(mine)) for name, v, mine in pairs)
        for name, v, shape, mine in (*fed, *found):
            kept, bare = ([n for n in sizes if n != 1] for sizes in (shape[:2], v.shape))
            fits = {*kept} <= {*bare} and len(bare) - len(kept) <= len(shape) - 2
            if {len(shape)} == ranks and not fits:
                return f"{name!r}: padding makes no {shape_text(v.shape)} of {shape_text(shape)}"
            if (count := _holes(v)) and not mine:
                return f"{name!r} has {count:,} NaN, which no padding explains; record it anew"
        return ""

    def _unrecorded(self, places: Iterable[int]) -> tuple[str, ...]:
        """Outputs of operators that would tell more, unless inner tensors are recorded."""
        outputs = (self._sites[place].node.outputs[0].name for place in places)
        known = {name for _, name in self._wanted}
        return () if any(self._given.inner) else tuple(n for n in outputs if n not in known)

    def _reach(self) -> str:
        """Reproduces tensors, those with the fewest operators upstream first.

        Returns the operator of the first out of reach, if others or inner tensors are recorded.
        """
        places = {id(site.node): place for place, site in enumerate(self._sites)}
        upstream: dict[str, frozenset[int]] = {}
        for _, name in self._wanted:
            nodes = nodes_upstream([self._graph.tensor(name)], self._graph.sources, most=None)
            upstream[name] = frozenset(places[id(node)] for node in nodes if id(node) in places)
        done, reached = frozenset[int](), tuple[str, ...]()
        for name in sorted(upstream, key=lambda name: len(upstream[name])):
            mine, again = upstream[name], (*reached, name)
            found = self._finds((name,), mine - done)
            if not found and not (done & mine and self._finds(again, mine)):
                node, tells = self._graph.tensor(name).producer, reached or any(self._given.inner)
                told = name if node is None else f"{node.op} {self._graph.label(node)}"
                return told * bool(tells)
            reached, done = again, done | mine
        return ""

    def _finds(self, names: Sequence[str], free: frozenset[int]) -> bool:
        search, now = self._search(names, free), self._point
        ways = (tuple(w[at] if at in free else to for at, to in enumerate(now)) for w in self._ways)
        starts = [now, *(start for start in ways if self._apart(now, start))]
        self._came_nearer = time.monotonic()
        found = search.run(starts)
        if solved := search.trial(found).solved:
            self._point = search.pruned(found)
        return solved

    def _search(self, names: Sequence[str], free: frozenset[int] | None = None) -> Search:
        tiers = tuple(
            tuple(each.tier for each in options) if free is None or place in free else ()
            for place, options in enumerate(self._options)
        )
        least: list[Trial] = []

        def evaluate(point: Point) -> Trial:
            seen = self._trial(point, names)
            if not least or seen.rank < least[-1].rank:
                least.append(seen)
                self._came_nearer = time.monotonic()
            return seen

        return Search(evaluate, Space(tiers, self._groups, self._is_alike), self._is_over)

    def _is_alike(self, point: Point, place: int, one: int, other: int) -> bool:
        """Whether two options of an operator compute the same, at the sizes of all samples run."""
        sizes, windows = self._sizes.get(point), self._sites[place].windows
        if one == other or sizes is None:
            return one == other
        a, b = (self._options[place][option].padding for option in (one, other))
        each = (found[place] for found in sizes.values())
        return all(_effect(a, size, windows) == _effect(b, size, windows) for size in each)

    def _apart(self, point: Point, other: Point) -> list[int]:
        """The operators that compute something else with another point, at the sizes of a run."""
        return [at for at, to in enumerate(other) if not self._is_alike(point, at, point[at], to)]

    def write(self, by: str) -> Iterator[Repadded]:
        """Writes what was found into the graph, and tells it, by a convention of the whole."""
        found = (self._sizes.get(point, {}).values() for point in (self._start, self._point))
        before, after = (next(iter(sizes), []) for sizes in found)  # of the first sample
        with sites.redeclared(self._graph) as changed:
            for place in self._apart(self._point, self._start):
                site, sizes = self._sites[place], after[place]
                was, option = site.padding, self._point[place]
                padding, name, torch, keras, parting = self._written(place, option, by)
                sites.write(self._graph, site, padding)
                changed.append(site.node)
                answers = answers_of(site, sizes, was, padding)
                had = sites.described(was, before[place] if before else (), site.windows)
                is_one = len({each[place] for each in self._sizes[self._point].values()}) == 1
                now = sites.described(padding, sizes if is_one else (), site.windows)
                how = name, attributes(padding), torch, keras, answers, tuple(parting)
                yield Repadded(site.label, site.node.op, had, now, *how)

    def _written(
        self, place: int, option: int, by: str
    ) -> tuple[Padding, str, str, str, list[str]]:
        """The padding of an option as written, and the convention that it follows at all sizes.

        Or where it comes from; what a convention names is preferred if it computes the same here.
        Then lines of PyTorch and Keras for the sizes recorded, and conventions for these alone.
        """
        options, name = self._options[place], self._options[place][option].name
        site, every = self._sites[place], [e[place] for e in self._sizes[self._point].values()]
        padding = sites.settled(site, options[option].padding, every[0], self._graph.opset)
        if (op := op_of(site)) is None:
            return padding, name, "", "", []
        grouped = site.node.attrs.get("group", 1) != 1
        here = [Question(op, sizes, site.windows, grouped=grouped) for sizes in every]
        names = alike(padding, here)
        told = [written(each, answer_of(padding, each), names) for each in here]
        lines = [{each[kind] for each in told} for kind in ("pytorch", "keras")]
        torch, keras = ("".join(each) * (len(each) == 1) for each in lines)
        pairs = zip(site.sizes, every[0], strict=True)  # known ones may be others by now
        sizes = [now if isinstance(size, int) else size for size, now in pairs]
        holds = alike(padding, asked := case_of(op, site.windows, sizes, padding).questions)
        fits, parting = ([e for e in names if (e in holds) is held] for held in (True, False))
        if site.is_transposed and not fits:  # those to which a user gives numbers may
            given = (tuple(b for b, _ in padding.crop), tuple(b - e for b, e in padding.crop))
            asked = tuple(replace(e, padding=given[0], output_padding=given[1]) for e in asked)
            fits = [*alike(padding, asked)]
        others = (at for at, each in enumerate(options) if each.name in parting and not fits)
        others = (at for at in others if self._is_alike(self._point, place, option, at))
        if (other := next(others, option)) != option:
            return self._written(place, other, by)
        liked = name, by, "tensorflow", "pytorch"
        fits.sort(key=lambda fit: [not fit.startswith(each) for each in liked])
        return padding, (*fits, name)[0], torch, keras, parting

    def undecided(self, result: Matching) -> Matching:
        """The verdict, with frameworks that fit the recorded sizes alone, and sizes that tell.

        One size does not tell SAME from numbers where a window has a stride.
        """
        now = {id(site.node): site for site in sites.sites_of(Context(self._graph))[0]}
        here, point = [now.get(id(site.node), site) for site in self._sites], self._point
        slid = (size for site in here for size in site.sizes if isinstance(size, Size))
        names, fed = {e.name for size in slid for e in size.symbols}, self._given.draws[0].feeds
        axes = [each for each in open_axes(self._graph.inputs) if each.symbol in names]
        own, windows = [site.padding for site in here], [site.windows for site in here]
        ways = [w for w, n in self._ways.items() if n in FRAMEWORKS and not self._apart(point, w)]
        is_strided = any(window.stride > 1 for each in windows for window in each)
        for more in range(1, 65) if axes and result.outcome != "not matched" else ():
            larger = {e.symbol: fed[e.tensor].shape[e.axis] + more for e in axes if e.tensor in fed}
            with suppress(ValueError):  # sizes of operators that are not known
                sizes = [tuple(evaluate(size, larger) for size in site.sizes) for site in here]
                mine = [*map(_effect, own, sizes, windows)]
                others = ((w, [*map(_effect, self._paddings(w), sizes, windows)]) for w in ways)
                if rivals := {self._ways[way]: each for way, each in others if each != mine}:
                    each = zip(here, mine, *rivals.values(), strict=True)
                    apart = tuple(site.label for site, *found in each if len({*found}) > 1)
                    return replace(result, rivals=(*rivals,), further=larger, undecided=apart)
                if is_strided and not (result.further or self._given.draws[1:]):
                    result = replace(result, further=larger)
        return result
