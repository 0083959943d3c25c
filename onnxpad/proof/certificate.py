"""Settles an edit: every tensor that was there before, and is still read, is what it was.

A proof is about one tensor, but an edit may touch nodes on which that does not depend. So the term
of each tensor that a touched node writes is read anew. Where it is the same object, nothing
changed. Where it is another, either nothing reads the tensor any more, or it is one that was to be
proved, and is: facts of a tensor are kept, so what gives it may be made anew, but not altered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from onnxpad.declared import operator_name
from onnxpad.facts.feasible import AnalysedDomain, AnalysedDomains
from onnxpad.finding import Assumption, Certificate, Trust
from onnxpad.graph import Graph, Tensor, Touched
from onnxpad.graph.graph import row_declared
from onnxpad.proof.read import Reader
from onnxpad.proof.refine import LOST_SIGN, Facts, refine
from onnxpad.proof.term import Copied, DiffersError, Equal, Slid, Spread, Stepped, Term, Terms
from onnxpad.proof.windows import known_sizes
from onnxpad.semantics.layers import touched_axes
from onnxpad.semantics.table import row_of

_MOST_NODES = 16
"""Nodes after which a walk to the roots ends: no edit concerns so many."""
_Domain = tuple[AnalysedDomain, Mapping[str, Any], Facts]
"""A domain of sizes, its limits as data, and the facts of a graph there."""


class Prover:
    """Proves edits of one graph in the first domain of sizes, the weakest first, that is enough.

    `begin` comes before an edit, `settle` or `undo` behind it.
    """

    def __init__(self, graph: Graph, domains: AnalysedDomains) -> None:
        """Reads nothing yet; passes decide by the last domain."""
        self._graph = graph
        terms = Terms()
        self._domains: list[_Domain] = [
            (
                each,
                each.domain.facts(graph),
                Facts(graph, each.analysis, Reader(graph, each.analysis, terms)),
            )
            for each in domains
        ]
        self._trusts = (Trust.INITIALIZERS.assumption,) * bool(graph.model.main.trusted)
        self._roots: dict[Tensor, tuple[str, ...]] = {}
        self._is_read = False

    @property
    def facts(self) -> Facts:
        """What is known in the domain by which passes decide."""
        return self._domains[-1][2]

    def begin(self) -> None:
        """Takes the graph as it is for the original of the edit that comes."""
        for *_, facts in self._domains:
            if not self._is_read:
                facts.reader.read_all()
            facts.reader.begin()
        self._is_read = True

    def undo(self) -> None:
        """Takes back what was settled since `begin`; the graph was rolled back."""
        for *_, facts in self._domains:
            facts.reader.undo()

    def roots(self, tensor: Tensor, *, behind: bool = False) -> tuple[str, ...]:
        """The names of the tensors that a tensor is computed from, without padding on the way.

        With `behind`, other operators than `Pad`s are looked through even where a window or a `Pad`
        writes the tensor.
        """
        self._roots[tensor] = found = _roots(self._graph, self.facts.reader, tensor, behind=behind)
        return found

    def settle(
        self,
        touched: Sequence[Touched],
        replaced: Mapping[Tensor, Tensor],
        trust: Trust | None = None,
    ) -> list[Certificate]:
        """Proves an edit; the certificate of each tensor to prove has the weakest assumptions."""
        failure = DiffersError("nothing is known about it")
        assuming: tuple[_Domain, dict[Tensor, Equal], list[Certificate]] | None = None
        for each in self._domains:
            try:
                equal = settle(each[2], touched, replaced, trust)
            except DiffersError as error:
                failure = error
                each[2].reader.undo()
                continue
            found = [self._certificate(each, new, old, equal[new]) for new, old in replaced.items()]
            if not any(certificate.assumptions for certificate in found):
                return self._accepted(each, replaced, equal, found)
            if assuming is None:
                assuming = each, equal, found
            else:
                each[2].reader.undo()
        if assuming is None:
            raise failure
        return self._accepted(assuming[0], replaced, *assuming[1:])

    def _accepted(
        self,
        at: _Domain,
        replaced: Mapping[Tensor, Tensor],
        equal: Mapping[Tensor, Equal],
        found: list[Certificate],
    ) -> list[Certificate]:
        """Takes an edit for proved, in each domain."""
        for each in self._domains:
            if each is at:
                continue
            reader, changed = each[2].reader, at[2].reader.log
            reader.undo()
            terms = {new: reader.known(replaced.get(new, new)) for new in equal}
            was = {tensor: reader.forget(tensor) for tensor in changed}
            for tensor in reader.unread([*filter(self._graph.holds, reversed(changed))]):
                now = terms.get(tensor) or reader.reread(tensor, was.get(tensor))[0]
                reader.keep(tensor, now)
        return found

    def _certificate(self, at: _Domain, new: Tensor, old: Tensor, equal: Equal) -> Certificate:
        """What was proved of a tensor, in words and as data."""
        analysed, limits, facts = at
        roots, domain, node = self._roots.get(old, (old.name,)), analysed.domain, new.producer
        names = ", ".join(map(repr, roots))
        slides = node is not None and facts.reader.slides(node)
        found = {"kind": "windows" if slides else "padding", "root": roots[0], **equal.facts}
        if slides:
            said, sizes = "each window reads the same positions of", equal.sizes
        else:
            said = f"{old.name!r} holds the same elements of"
            sizes = _sizes(facts, facts.reader.read(new))
            found["roots"] = [*roots]
        assumed: tuple[str, ...] = (*domain.assumptions, *self._trusts)
        is_limited = limits or assumed
        if limits:
            found["sizes"] = limits
        own = [row_declared(self._graph, each.producer) for each in {new, old} if each.producer]
        if declared := {*filter(None, own), *analysed.analysis.declared}:
            users = sorted(set(map(operator_name, declared)))
            found |= {
                "declared": users,
                "runnable": all(each.body is not None for each in declared),
            }
            assumed = (*assumed, Assumption.DECLARED)
        return Certificate(
            f"{said} {names}",
            limits=str(domain) if is_limited else "",
            assumptions=(*sorted(equal.assumptions), *assumed),
            facts=found,
            within={name: each.as_data() for name, each in domain.given.items()},
            data=sizes,
        )


def _roots(graph: Graph, reader: Reader, tensor: Tensor, *, behind: bool) -> tuple[str, ...]:
    """The names of the first tensors upstream of one around which there is no padding."""
    found: list[str] = []
    start = graph.origin(tensor)
    first, head = start.producer, reader.read(start).head
    slides = first is not None and reader.slides(first)
    through = behind or first is None or not (slides or first.op == "Pad")
    # Copies around the data are a layer before a maximum.
    copies = slides and isinstance(head, Slid) and head.form.compares
    pending = [start]
    seen = set()
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        node, term = at.producer, reader.read(at)
        padded = node.inputs if node and node.op == "Pad" else ()
        is_passed = (
            node is first
            or (through and term.is_open)
            or (copies and isinstance(term.head, Copied))
            or (padded and (term.layers or term is reader.read(padded[0])))
        )
        row = row_of(graph, node) if is_passed and node and len(seen) <= _MOST_NODES else None
        if node is None or row is None:
            found.append(at.name)
            continue
        # What a transposed convolution spreads, and what indices count, is a root.
        counts = any(each.name for each in node.outputs[1:])
        if node.op == "ConvTranspose" or (counts and reader.slides(node)):
            found.append(graph.origin(node.inputs[0]).name)
            continue
        handed = node.inputs if row.step is not None else ()
        opened = [each for each in handed if reader.read(each).is_open] or node.inputs[:1]
        pending += map(graph.origin, reversed(opened))
    return tuple(found)


def _sizes(facts: Facts, term: Term) -> tuple[int | None, ...]:
    """The sizes for which a proof without a window holds: those from which amounts may come."""
    plain = not isinstance(term.head, Stepped | Spread)
    tensor, padded = facts.reader.holder(term.bare if plain else term), touched_axes(term.layers)
    axes = enumerate((tensor and facts.analysis.shape(tensor)) or ())
    return known_sizes(tuple([size for axis, size in axes if axis > 1 or axis in padded]))


_Claim = tuple[Term, Term, Equal | None]
"""What a tensor that is to be proved is now, what it should be, and a proof that is known."""


def settle(
    facts: Facts,
    touched: Sequence[Touched],
    replaced: Mapping[Tensor, Tensor],
    trust: Trust | None = None,
) -> dict[Tensor, Equal]:
    """What shows of each tensor that is not literally what it was that an edit left it that.

    A tensor to prove is taken for what it should be while all others are read. Only then it is
    compared, when every tensor that facts are asked of has the term that it has now. Without any to
    prove, each that changed is to be proved.
    """
    graph, reader, pending = facts.graph, facts.reader, []
    was: dict[Tensor, Term | None] = {}
    claims: dict[Tensor, _Claim] = {}

    def before(tensor: Tensor) -> Term | None:
        return was[tensor] if tensor in was else reader.read(tensor)

    for each in touched:
        outputs = [tensor for tensor in each.node.outputs if tensor.name]
        for tensor in outputs:
            was.setdefault(tensor, reader.forget(tensor))
        if each.node.alive:
            pending += outputs
            if each.was is None and graph.runs_graphs(each.node):
                label = graph.label(each.node)
                said = f"the rewrite also edits the bodies of {each.node.op} {label!r}"
                raise DiffersError(said, touched=label)
    for tensor in reader.unread(pending[::-1]):
        old, then = replaced.get(tensor), before(tensor)
        now, proof = reader.reread(tensor, then)
        wanted = then if old is None else before(old)
        if old is None and (now is then or (replaced and not graph.is_read(tensor))):
            wanted = None  # it may change
        reader.keep(tensor, now if wanted is None else wanted)
        if wanted is not None:
            claims[tensor] = now, wanted, proof
    for new, old in replaced.items():
        if new not in claims:
            wanted = before(old)
            assert wanted is not None
            claims[new] = reader.read(new), wanted, None
    for each in touched:
        # A new node that was altered: its results are read nowhere, or are to be proved.
        is_altered = each.was is None and each.again and each.node.alive
        for tensor in each.node.outputs if is_altered else ():
            if tensor not in claims and graph.is_read(tensor):
                op, label = each.node.op, graph.label(each.node)
                said = f"the rewrite also touches {op} {label!r}, about which nothing is proved"
                raise DiffersError(said, touched=label)
    return _proved(facts, claims, trust)


def _proved(
    facts: Facts, claims: Mapping[Tensor, _Claim], trust: Trust | None
) -> dict[Tensor, Equal]:
    """What is shown of each tensor that is to be proved."""
    reader, found = facts.reader, {}
    for tensor, (now, _, _) in claims.items():
        reader.keep(tensor, now)
    for tensor, (now, wanted, proof) in claims.items():
        if now is wanted:
            found[tensor] = proof or Equal("same")
            continue
        found[tensor] = shown = refine(now, wanted, facts, tensor, trust)
        if proof is not None:
            found[tensor] = replace(shown, assumptions=shown.assumptions | proof.assumptions)
    for tensor, (now, wanted, _) in claims.items():
        if now is not wanted and found[tensor].rule != LOST_SIGN:
            reader.equate(now, wanted, found[tensor])
        reader.keep(tensor, wanted)
    return found


def check_elsewhere(graph: Graph, mark: int) -> None:
    """Raises unless other graphs are as they were, but for what a body captured and is unused."""
    for each in graph.touched_elsewhere(mark):
        now = each.node
        if now.alive and now.state != each.was:
            raise DiffersError(
                f"the rewrite also touches {now.op} {graph.label(now)!r} outside of its graph",
                touched=graph.label(now),
            )
