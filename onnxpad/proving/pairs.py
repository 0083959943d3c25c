"""Two models in one store of terms, and what `refine` says of each pair of their outputs."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from msgspec import Struct, field

from onnxpad.arithmetic.size import Unknown
from onnxpad.facts import Analysis
from onnxpad.facts.engine import passed_to_body
from onnxpad.facts.feasible import SizeDomain
from onnxpad.finding import Assumption, Trust
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.model import first_like, schema_of
from onnxpad.proof.read import ALIKE_BY_CHANCE, Reader
from onnxpad.proof.refine import Facts, Found, Pair, ruled
from onnxpad.proof.term import Applied, DiffersError, Equal, Source, Stepped, Term, Terms
from onnxpad.proving.plain import COMMUTING, Array, Constants, greatest
from onnxpad.runtimes.runtime import LimitError
from onnxpad.semantics.rows import INTEGERS, Call, frozen

_KEEPING = {"Cast", "CastLike", "Expand", "Flatten", "Reshape", "Squeeze", "Tile", "Unsqueeze"}
"""Operators that give their data back where neither its shape nor its type changes."""
_ULPS = 4.0  # that a weight may be from the one that was computed anew, of its channel's greatest
_TRIES = 16  # comparisons of one term: a network may have thousands of each operator

Outcome: TypeAlias = Literal["proved", "refuted", "undecided"]


class Region(Struct, frozen=True):
    """A pair of tensors that could not be shown to be equal, although what they read is.

    Attributes:
        original, rewritten: The node of each, such as `Conv 'stem'`; empty where none is known.
        reason: Why, in one line.
        reason_code: The stable code of the reason.
    """

    original: str
    rewritten: str
    reason: str
    reason_code: str


class Counterexample(Struct, frozen=True):
    """Inputs on which two models compute something else, without optimisation.

    Attributes:
        inputs: Name, type and size of each input, and how it was drawn.
        sizes: The open dimensions, by name.
        output: The first output that differs; empty where the rewritten model does not run.
        detail: An element in both, and how many differ; or the runtime's error.
        where: The first operator that differs, with its padding in both; empty if not known.
        feeds: The inputs themselves, by name.
    """

    inputs: str
    sizes: Mapping[str, int]
    output: str
    detail: str
    where: str = ""
    feeds: Mapping[str, Array] = field(default_factory=dict)


class Decision(Struct, frozen=True):
    """What is known of whether a rewritten model computes what the original computes.

    Attributes:
        verdict: `proved` for every size of `limits`, `refuted` by the counterexample, `undecided`.
        assumptions: What the proof rests on, a line each.
        limits: The sizes that it holds for; empty for all at which the original runs.
        counterexample: Of a refutation.
        regions: What the proof leaves open, of what is undecided.
        runs: On how many inputs both models agreed.
        notes: Remarks on how they were compared, a line each.
    """

    verdict: Outcome
    assumptions: tuple[str, ...] = ()
    limits: str = ""
    counterexample: Counterexample | None = None
    regions: tuple[Region, ...] = ()
    runs: int = 0
    notes: tuple[str, ...] = ()


class Inside(Struct, frozen=True):
    """The inputs and the outputs of each body of a node, as terms."""

    inputs: tuple[tuple[Term, ...], ...]
    bodies: tuple[tuple[Term, ...], ...]


class Side(Reader):
    """The terms of one graph of a model, or of a body in it, that those of another model share.

    It tells nothing of the names of tensors, and reads bodies too.
    """

    _outer: Side | None = None
    _key: object = None

    def __init__(self, graph: Graph, analysis: Analysis, terms: Terms) -> None:
        """Takes a main graph; those of bodies are made of it."""
        super().__init__(graph, analysis, terms)
        self.graph, self.analysis, self.facts = graph, analysis, Facts(graph, analysis, self)
        self.sides = [self]
        self._bodies: dict[Node, Inside] = {}
        self._runs: dict[object, int] = {}

    def named(self, name: str) -> Term:
        """The term of the tensor of a name."""
        return self.read(self.graph.tensor(name))

    def _source(self, tensor: Tensor) -> Term:
        name: Any = tensor.name
        if self._outer is None:
            return self.terms.make(Source(name))
        if tensor.outer is not None:
            return self._outer.read(tensor.outer)
        if name in self.graph.inputs:
            name = self._key, [*self.graph.inputs].index(name)
        return self.terms.make(Source(name))

    def _computed(self, tensor: Tensor, *, as_written: bool = True) -> Term:
        if (content := self._content(tensor)) is not None:
            return content
        node = tensor.producer
        if node is not None and self._keeps(node, tensor):
            return self.read(node.inputs[0])
        return super()._computed(tensor, as_written=False)

    def _content(self, tensor: Tensor) -> Term | None:
        """The term of a small tensor of integers, as they are computed from open sizes."""
        value = self.analysis.value(tensor)
        if value is None or value.dtype not in INTEGERS or Unknown in map(type, value.flat):
            return None
        return self.terms.make(Applied(("content", value.dtype, value.data.shape, *value.flat)))

    def _keeps(self, node: Node, tensor: Tensor) -> bool:
        """Whether a node gives its data back as it is."""
        if node.op not in _KEEPING or not self.graph.is_standard(node):
            return False
        facts, data = self.analysis, node.inputs[0]
        before, types = facts.shape(data), {facts.dtype(data), facts.dtype(tensor)}
        if before is None or before != facts.shape(tensor) or Unknown in map(type, before):
            return False
        return not node.op.startswith("Cast") or (len(types) == 1 and None not in types)

    def _applied(self, node: Node, tensor: Tensor, args: tuple[Term, ...]) -> Term:
        graph, args = self.graph, args[: len(node.inputs)]
        opset = graph.opset if not node.domain else graph.opsets.get(node.domain, 0)
        version = opset if node.domain else first_like(node.op, schema_of(node.op, opset)[0])
        bodies = node.bodies
        attributes = (each for each in node.attrs.items() if each[0] not in bodies)
        says = sorted((name, *frozen(value)) for name, value in attributes)
        own = (id(node),) if node.op in ALIKE_BY_CHANCE else ()
        told = node.op, node.domain or "", version, len(node.outputs), tuple(says), *own
        if bodies and node not in self._bodies:
            run = self._runs[told, args] = self._runs.get((told, args), -1) + 1
            read = [
                self._read_body(body, (told, args, run, place))
                for place, body in enumerate(graph.bodies(node))
            ]
            self._bodies[node] = Inside(*zip(*read, strict=True))
        inside = (self._bodies[node],) if bodies else ()
        return self.terms.make(Applied((node.outputs.index(tensor), *told, *inside)), args)

    def _stepped(self, call: Call, args: tuple[Term, ...]) -> Term:
        """As read, with the first version of the operator that is specified alike."""
        found, op, version = super()._stepped(call, args), call.row.op, call.version
        key = found.head.key if isinstance(found.head, Stepped) else ()
        if key[:2] != (op, version):
            return found  # what it does says it all
        head = Stepped((op, first_like(op, version), *key[2:]))
        return self.terms.make(head, found.args, found.layers)

    def _read_body(self, body: Graph, key: object) -> tuple[tuple[Term, ...], ...]:
        """The terms of a body, told by the node that runs it: by a key alike in both models."""
        facts = Analysis(body, {}, self.analysis, passed_to_body(body, self.analysis))
        side = Side(body, facts, self.terms)
        side._outer, side._key, side._runs, side.sides = self, key, self._runs, self.sides
        self.sides.append(side)
        return tuple(map(side.named, body.inputs)), tuple(map(side.named, body.results))


_Pair = tuple[Term, Term]


class Unifier:
    """Shows that terms of the rewritten model are equal to terms of the original, operands first.

    A term that was shown to be equal stands for the original's wherever it is read. Inputs of a
    name are the same.
    """

    def __init__(
        self, sides: tuple[Side, Side], constants: Constants, trust: Trust | None, end: float
    ) -> None:
        """Takes both models, the original first; it has to end by a time, as `time.monotonic`."""
        self._sides, self._constants, self._trust, self._end = sides, constants, trust, end
        self._same: dict[Term, Term] = {}
        self._open: dict[_Pair, tuple[DiffersError | None, list[_Pair]]] = {}
        self._tried = Counter[Term]()
        self._assumptions: dict[Assumption, None] = {}
        self._apart = list[float]()

    def verdict(self, outputs: Sequence[tuple[str, str]], domain: SizeDomain) -> Decision:
        """What can be shown of pairs of outputs, the original's first, at the sizes of a domain.

        None is refuted. Raises LimitError if it is later than the end.
        """
        original, rewritten = self._sides
        pairs = [(rewritten.named(theirs), original.named(ours)) for ours, theirs in outputs]
        for each in pairs:
            self._unify(each)
        regions = tuple(dict.fromkeys(chain.from_iterable(map(self._regions, pairs))))
        told = [str(each) for each in dict.fromkeys((*domain.assumptions, *self._assumptions))]
        if self._apart:
            told.append(
                f"weights computed anew are equal: at most {max(self._apart):.1f} units in the "
                "last place of the greatest of their channel apart"
            )
        limits = str(domain) if domain.facts(original.graph) else ""
        return Decision("undecided" if regions else "proved", tuple(told), limits, None, regions)

    def _is_equal(self, pair: _Pair) -> bool:
        new, old = pair
        return new is old or self._same.get(new) is old

    def _unequal(self, pairs: Iterable[_Pair]) -> list[_Pair]:
        return [each for each in pairs if not self._is_equal(each)]

    def _untried(self, pairs: Iterable[_Pair]) -> list[_Pair]:
        return [e for e in pairs if e not in self._open and self._tried[e[0]] < _TRIES]

    def _unify(self, root: _Pair) -> None:
        """Shows that two terms are equal, or what keeps them apart; those that they read first."""
        pending: list[tuple[_Pair, bool]] = [(root, False)]
        while pending:
            pair, is_ready = pending.pop()
            if time.monotonic() > self._end:
                raise LimitError("the time was over")
            if self._is_equal(pair) or (not is_ready and pair in self._open):
                continue
            self._tried[pair[0]] += 1
            error, further = self._asked(pair, is_ready=is_ready)
            if error is None and not further:
                self._same[pair[0]] = pair[1]
                self._open.pop(pair, None)
                continue
            if error is not None and not is_ready:
                further = self._unequal(_aligned(*pair))
            known = self._open.get(pair, (None, []))[1]
            self._open[pair] = error, [*dict.fromkeys([*known, *further])]
            if new := self._untried(further):
                pending.append((pair, True))
                pending += [(each, False) for each in new]

    def _asked(self, pair: _Pair, *, is_ready: bool) -> tuple[DiffersError | None, list[_Pair]]:
        """Why a pair differs, or the pairs that have to be equal for it to be.

        Once its operands were looked at, those of what commutes may be equal crosswise.
        """
        new, old = pair
        args = tuple([self._same.get(each, each) for each in new.args])
        now = self._sides[0].terms.make(new.head, args, new.layers)
        if now is old:
            return None, []
        near = old.args[0] if old.args else old
        side = next((e for s in self._sides for e in s.sides if e.around(near)), self._sides[0])
        given = Pair(now, old, side.holder(old), self._trust, side.facts)
        try:
            equal, more = ruled(given, (self._near, self._bodies))
        except DiffersError as error:
            return error, []
        found = self._unequal(more)
        if found and is_ready and _commutes(now, old):
            found = self._unequal(zip(now.args[::-1], old.args, strict=True))
        if not found:
            self._assumptions |= dict.fromkeys(sorted(equal.assumptions))
        return None, found

    def _regions(self, root: _Pair) -> Iterator[Region]:
        """The pairs below one that are open although what they read is not."""
        pending, seen = [root], set[_Pair]()
        while pending:
            pair = pending.pop()
            if self._is_equal(pair) or pair in seen:
                continue
            seen.add(pair)
            error, further = self._open.get(pair, (None, []))
            if inner := self._unequal(e for e in further if type(e[0].head) is type(e[1].head)):
                pending += inner
                continue
            told = error or DiffersError("other steps are computed")
            ours, theirs = _label(pair[1], self._sides[0]), _label(pair[0], self._sides[1])
            yield Region(ours, theirs, str(told), told.code.value)

    def _bodies(self, pair: Pair) -> Found | None:
        """Nodes with bodies are equal if what they read is, and then what the bodies make of it."""
        new, old = pair.new.head, pair.old.head
        if not (isinstance(new, Applied) and isinstance(old, Applied)):
            return None
        now, was = new.written[-1], cast("Any", old.written[-1])  # of one operator: with bodies too
        if new.written[:-1] != old.written[:-1] or not isinstance(now, Inside):
            return None
        counts = [[*map(len, (*each.inputs, *each.bodies))] for each in (now, was)]
        if counts[0] != counts[1]:
            return None
        given = [*zip(pair.new.args, pair.old.args, strict=True)]
        if not all(map(self._is_equal, given)):
            return Equal("bodies"), given
        for ours, theirs in zip(now.inputs, was.inputs, strict=True):  # so the bodies read the same
            self._same |= dict(zip(ours, theirs, strict=True))
        inside = [zip(*each, strict=True) for each in zip(now.bodies, was.bodies, strict=True)]
        return Equal("bodies"), [*chain.from_iterable(inside)]

    def _near(self, pair: Pair) -> Found | None:
        """Constants of one content; or computed anew, at most 4 ulp of their channel apart."""
        new, old = pair.new.head, pair.old.head
        if not (isinstance(new, Source) and isinstance(old, Source)):
            return None
        now, was = self._constants.array(new.name), self._constants.array(old.name)
        if now is None or was is None or pair.new.layers or pair.old.layers:
            return None
        if (now.dtype, now.shape) != (was.dtype, was.shape):
            raise DiffersError("a constant differs")
        computed = self._constants.computed
        apart, anew = math.inf, [each.name for each in (new, old) if each.name in computed]
        if anew:
            with np.errstate(all="ignore"):
                units = np.spacing(computed[anew[0]].astype(was.dtype))
                apart = (greatest(now - was) / units).max(initial=0.0).item()
        if not apart <= _ULPS:
            if now.tobytes() != was.tobytes():
                raise DiffersError("a constant differs")
            apart = 0.0
        if anew:
            self._apart.append(apart)
        return Equal("near"), []


def _aligned(new: Term, old: Term) -> list[_Pair]:
    """The operands of two terms that may be equal."""
    pairs = [*zip(new.args, old.args, strict=False)]
    return pairs if len(new.args) == len(old.args) else pairs[:1]


def _commutes(new: Term, old: Term) -> bool:
    if not isinstance(old.head, Applied) or new.head != old.head or len(new.args) != 2:
        return False
    op, domain, _, _, says = old.head.written[1:6]
    return op in COMMUTING and not domain and not says


def _label(term: Term, side: Side) -> str:
    """The node that computes a term, or what the term is."""
    for each in side.sides:
        if (held := each.around(term)) is not None:
            node = held[0].producer
            return f"{held[0].name!r}" if node is None else f"{node.op} {node.name!r}"
    return ""
