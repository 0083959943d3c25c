"""Checks that a proof covers everything that was edited, whoever edited it.

A proof is about one tensor, but an edit may touch nodes that the tensor does not depend on. So for
each node that was touched since a mark, one of these must hold:

- All of its outputs were proved to be the same.
- The proof read it upstream of the proved tensor, or it computes something read there (the amounts
  of a `Pad`), and nothing else reads its outputs.
- It was removed, since nothing read it any more.
- It is literally as it was, except that it reads or writes a tensor that was proved to be the same
  as the one before.

The cost depends on the number of touched nodes alone, not on the length of the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from onnxpad.graph import Graph, Node, Tensor, Touched
from onnxpad.proof.certify import Reading
from onnxpad.proof.prove import Prover
from onnxpad.proof.sliding import UncertifiedError
from onnxpad.reasons import Reason
from onnxpad.records import NamedTuple

Same: TypeAlias = Mapping[str, str]
"""Names of tensors, each with the name of the tensor that it was proved equal to."""

NONE: Final[Same] = {}


class Equal(NamedTuple):
    """A tensor that was proved equal to another.

    Attributes:
        reading: What the proof read in the rewritten graph.
        old: The tensor before the change.
        new: The tensor after it, perhaps the same one.
    """

    reading: Reading
    old: Tensor
    new: Tensor


def check_accounted(graph: Graph, touched: Sequence[Touched], proved: Sequence[Equal]) -> None:
    """Raises unless proofs cover every node that was touched.

    Args:
        graph: The graph as it is now.
        touched: The touched nodes, from `Graph.touched`.
        proved: What was proved about this graph.

    Raises:
        UncertifiedError: Another node was touched; the message names it.
    """
    account = _Account(graph, touched, proved)
    for each in touched:
        account.check(each)


def check_elsewhere(graph: Graph, mark: int) -> None:
    """Raises unless all other graphs of the model are as they were, but for what nothing reads.

    What a body captured may become unused, and is then removed from the graph around.

    Raises:
        UncertifiedError: A node of another graph was edited or inserted.
    """
    for each, is_there in graph.touched_elsewhere(mark):
        was, now = each.before, each.node
        if is_there and (was is None or _literally(was) != _literally(now)):
            raise UncertifiedError(
                f"the rewrite also touches {now.op} {graph.label(now)!r} outside of its graph",
                Reason.NOT_CERTIFIED,
                touched=graph.label(now),
            )


def check_in_place(graph: Graph, touched: Sequence[Touched], prover: Prover) -> None:
    """Raises unless each touched node, taken alone, computes the same as before from its inputs.

    Raises:
        UncertifiedError: A node does not, or nothing can be proved about it.
    """
    for was, now in ((each.before, each.node) for each in touched if graph.has_node(each.node)):
        if was is None:
            raise UncertifiedError(f"nothing is proved about {now.op} {graph.label(now)!r}")
        if _literally(was) != _literally(now):
            prover.certify(prover.of_node(was), prover.of_node(now))


def check_renamed(graph: Graph, touched: Sequence[Touched]) -> None:
    """Raises unless every touched node is as it was, apart from the names of removed copies.

    Raises:
        UncertifiedError: A node was changed in another way.
    """
    same = _copied(graph, touched)
    for was, now in ((each.before, each.node) for each in touched if graph.has_node(each.node)):
        if was is None or _literally(was, same) != _literally(now, same):
            raise UncertifiedError(f"{now.op} {graph.label(now)!r} is more than renamed")


class _Account:
    """Decides for each touched node whether a proof covers it."""

    def __init__(self, graph: Graph, touched: Sequence[Touched], proved: Sequence[Equal]) -> None:
        self._graph = graph
        self._taken = frozenset[str]().union(*[each.reading.taken for each in proved])
        self._proved = {tensor.name for each in proved for tensor in (each.old, each.new)}
        for each in proved:
            producer = graph.producer(each.new)
            if each.reading.slide is not None and producer is not None:
                self._proved |= {tensor.name for tensor in producer.outputs}  # Indices too
        self._all = touched
        self._equal = proved

    @cached_property
    def _known(self) -> frozenset[int]:
        """The nodes, by identity, that a proof read or an edit touched."""
        touched = frozenset(id(each.node) for each in self._all)
        return touched.union(*[each.reading.nodes for each in self._equal])

    @cached_property
    def _same(self) -> Same:
        ends = {each.old.name: each.new.name for each in self._equal}
        return {**_copied(self._graph, self._all), **ends}

    def check(self, each: Touched) -> None:
        """Raises unless the edit of one node is covered.

        Raises:
            UncertifiedError: It is not covered.
        """
        node = each.node
        if not self._graph.has_node(node) or self._is_new_constant(each):
            return
        # What is known of a tensor is kept, so what gives it may be made anew, but not altered.
        altered = each.was is not None or each.again
        covered = self._gives_what_is_proved(node) if altered else self._is_covered(node, set())
        if not covered and not self._is_as_before(each):
            raise UncertifiedError(
                f"the rewrite also touches {node.op} {self._graph.label(node)!r}, about which "
                "nothing is proved",
                Reason.NOT_CERTIFIED,
                touched=self._graph.label(node),
            )

    def _is_new_constant(self, each: Touched) -> bool:
        """Whether a node is an inserted Constant: like an initializer, it alters nothing."""
        node = each.node
        is_new = each.was is None and not each.again
        return is_new and node.op == "Constant" and self._graph.is_standard(node)

    def _gives_what_is_proved(self, node: Node) -> bool:
        """Whether every output of a node is proved to be the same, or read by nothing."""
        graph = self._graph
        return all(
            tensor.name not in self._taken
            and (tensor.name in self._proved or not graph.is_read(tensor))
            for tensor in node.outputs
            if tensor.name
        )

    def _is_as_before(self, each: Touched) -> bool:
        """Whether a node is as it was, apart from equal tensors under other names."""
        was, now = each.before, each.node
        return was is not None and _literally(was, self._same) == _literally(now, self._same)

    def _is_covered(self, node: Node, seen: set[int]) -> bool:
        """Whether the proof covers every reader of a node's outputs."""
        if id(node) in seen:
            return True
        seen.add(id(node))
        graph = self._graph
        for tensor in node.outputs:
            if tensor.name in self._taken:
                return False
            if not tensor.name or tensor.name in self._proved:
                continue
            if graph.is_output(tensor):
                return False
            for use in graph.uses(tensor):
                if use.index < 0 or not (id(use.node) in self._known or _copies(graph, use.node)):
                    return False
                if not self._is_covered(use.node, seen):
                    return False
        return True


def _copied(graph: Graph, touched: Sequence[Touched]) -> Same:
    """The tensors whose copy (an Identity's output) was removed, each with the copy's name."""
    removed = (each for each in touched if not graph.has_node(each.node))
    gone = (each.before for each in removed if each.was is not None and each.was[0] == "Identity")
    return {
        was.inputs[0].name: was.outputs[0].name
        for was in gone
        if was is not None and _copies(graph, was)
    }


def _literally(node: Node, same: Same = NONE) -> tuple[object, ...]:
    """Everything that defines a node, with one name for tensors that are the same."""
    inputs, outputs = (
        [_resolved(same, tensor.name) for tensor in tensors]
        for tensors in (node.inputs, node.outputs)
    )
    while inputs and not inputs[-1]:
        inputs.pop()  # an empty name at the end means what its absence means
    return node.op, node.domain or "", dict(node.attrs), inputs, outputs


def _copies(graph: Graph, node: Node) -> bool:
    return node.op == "Identity" and graph.is_standard(node) and bool(node.inputs)


def _resolved(same: Same, name: str) -> str:
    for _ in same:
        if name not in same:
            break
        name = same[name]
    return name
