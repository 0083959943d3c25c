"""Settles an edit: every tensor that was there before, and is still read, is what it was.

A proof is about one tensor, but an edit may touch nodes on which that does not depend. So the term
of each tensor that a touched node writes is read anew. Where it is the same object, nothing
changed. Where it is another, either nothing reads the tensor any more, or it is one that was to be
proved, and is: facts of a tensor are kept, so what gives it may be made anew, but not altered.

The cost depends on the number of touched nodes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Final, TypeAlias

from msgspec.structs import replace

from onnxpad.finding import Trust
from onnxpad.graph import Graph, Node, Tensor, Touched
from onnxpad.proof.assume import Facts
from onnxpad.proof.refine import LOST_SIGN, refine
from onnxpad.proof.term import DiffersError, Equal, Term

_Claim: TypeAlias = tuple[Term, Term, Equal | None]
"""What a tensor that is to be proved is now, what it should be, and a proof that is known."""
_NAME: Final = attrgetter("name")


def settle(
    facts: Facts,
    touched: Sequence[Touched],
    replaced: Mapping[Tensor, Tensor],
    trust: Trust | None = None,
) -> dict[Tensor, Equal]:
    """Shows that an edit leaves each tensor that is read what it was.

    Args:
        facts: What is known of the terms, with the reader that read them before the edit.
        touched: The nodes that the edit touched.
        replaced: The tensors to prove, each with the one that it replaces, perhaps itself; without
            any, each that changed is to be proved.
        trust: As `refine` has it.

    Returns:
        What was shown of each tensor that is not literally what it was.

    Raises:
        DiffersError: A tensor may be another one.
    """
    return _Settling(facts, replaced, trust).run(touched)


class _Settling:
    """One edit that is being settled.

    A tensor that is to be proved is taken for what it should be while all others are read. Only
    then it is compared, when every tensor that facts are asked of has the term that it has now.
    """

    def __init__(
        self, facts: Facts, replaced: Mapping[Tensor, Tensor], trust: Trust | None
    ) -> None:
        self._facts = facts
        self._graph = facts.graph
        self._reader = facts.reader
        self._replaced = replaced
        self._trust = trust
        self._was: dict[Tensor, Term | None] = {}
        self._claims: dict[Tensor, _Claim] = {}

    def run(self, touched: Sequence[Touched]) -> dict[Tensor, Equal]:
        """Settles the edit, as `settle` has it."""
        graph, written = self._graph, list[Tensor]()
        for node, was, _ in touched:
            outputs = [*filter(_NAME, node.outputs)]
            for tensor in outputs:
                self._was.setdefault(tensor, self._reader.forget(tensor))
            if node.alive:
                written += outputs
                if was is None and graph.runs_graphs(node):
                    label = graph.label(node)
                    said = f"the rewrite also edits the bodies of {node.op} {label!r}"
                    raise DiffersError(said, touched=label)
        for tensor in self._reader.unread(written[::-1]):
            self._reread(tensor)
        for new, old in self._replaced.items():
            if new not in self._claims:
                wanted = self._before(old)
                if wanted is None:
                    raise self._unaccounted(new)
                self._claims[new] = self._reader.read(new), wanted, None
        for node, was, again in touched:
            # A new node that was altered: its results are read nowhere, or are to be proved.
            for tensor in node.outputs if was is None and again and node.alive else ():
                if tensor not in self._claims and graph.is_read(tensor):
                    raise self._unaccounted(tensor)
        return self._proved()

    def _reread(self, tensor: Tensor) -> None:
        """Reads a tensor anew, and notes what is to be shown of it."""
        before, old = self._before(tensor), self._replaced.get(tensor)
        now, proof = self._reader.reread(tensor, before)
        wanted = before if old is None else self._before(old)
        if old is None and (now is before or (self._replaced and not self._graph.is_read(tensor))):
            wanted = None  # it may change
        self._reader.keep(tensor, now if wanted is None else wanted)
        if wanted is not None:
            self._claims[tensor] = now, wanted, proof

    def _before(self, tensor: Tensor) -> Term | None:
        return self._was[tensor] if tensor in self._was else self._reader.read(tensor)

    def _proved(self) -> dict[Tensor, Equal]:
        """What is shown of each tensor that is to be proved."""
        reader = self._reader
        found: dict[Tensor, Equal] = {}
        for tensor, (now, _, _) in self._claims.items():
            reader.keep(tensor, now)
        for tensor, (now, wanted, proof) in self._claims.items():
            if now is wanted:
                found[tensor] = proof or Equal("same")
                continue
            found[tensor] = shown = refine(now, wanted, self._facts, tensor, self._trust)
            if proof is not None:
                assumptions = shown.assumptions | proof.assumptions
                found[tensor] = replace(shown, assumptions=assumptions)
        for tensor, (now, wanted, _) in self._claims.items():
            if now is not wanted and found[tensor].rule != LOST_SIGN:
                reader.equate(now, wanted, found[tensor])
            reader.keep(tensor, wanted)
        return found

    def _unaccounted(self, tensor: Tensor) -> DiffersError:
        node = tensor.producer
        label = self._graph.label(node) if node is not None else tensor.name
        op = node.op if node is not None else "an input"
        return DiffersError(
            f"the rewrite also touches {op} {label!r}, about which nothing is proved",
            touched=label,
        )


def check_elsewhere(graph: Graph, mark: int) -> None:
    """Raises unless all other graphs of the model are as they were, but for what nothing reads.

    What a body captured may become unused, and is then removed from the graph around.

    Raises:
        DiffersError: A node of another graph was edited or inserted.
    """
    for each, is_there in graph.touched_elsewhere(mark):
        was, now = each.before, each.node
        if is_there and (was is None or _says(was) != _says(now)):
            raise DiffersError(
                f"the rewrite also touches {now.op} {graph.label(now)!r} outside of its graph",
                touched=graph.label(now),
            )


def _says(node: Node) -> tuple[object, ...]:
    """Everything that defines a node; an empty name at the end means what its absence means."""
    inputs = [tensor.name for tensor in node.inputs]
    while inputs and not inputs[-1]:
        inputs.pop()
    outputs = [tensor.name for tensor in node.outputs]
    return node.op, node.domain or "", dict(node.attrs), inputs, outputs
