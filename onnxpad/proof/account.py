"""Whether a proof covers everything that was edited, whoever edited it.

A proof is about one tensor, and an edit may touch what it does not read. So each node that was
touched since a mark must be one of these:

- all that it gives was proved to be the same;
- it was read on the way to a tensor that was proved, or computes what was read there (the amounts
  of a `Pad`), and nothing else reads what it gives;
- it is gone, since nothing read it any more;
- it is literally as it was, but that it reads or gives a tensor which was proved to be the same as
  the one before.

The cost is that of what was touched: a graph of any length is accounted for step by step.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from onnxpad.graph import Graph, Node, Tensor, Touched
from onnxpad.proof.certify import Reading
from onnxpad.proof.prove import Prover
from onnxpad.proof.sliding import UncertifiedError
from onnxpad.reasons import Reason

Same: TypeAlias = Mapping[str, str]
"""Names of tensors with the name of what they are the same as."""

NONE: Final[Same] = {}


def check_accounted(
    graph: Graph, touched: Sequence[Touched], reading: Reading, old: Tensor, new: Tensor
) -> None:
    """Return if a proof covers everything that was touched.

    Args:
        graph: The graph as it is now.
        touched: What was touched, as `Graph.touched` gives it.
        reading: What the proof read in this graph.
        old: The tensor that was proved of.
        new: The tensor that was proved to be the same, perhaps itself.

    Raises:
        UncertifiedError: Something else was touched; the message names it.
    """
    account = _Account(graph, touched, reading, old, new)
    for each in touched:
        account.check(each)


def check_in_place(graph: Graph, touched: Sequence[Touched], prover: Prover) -> None:
    """Return if each node that was touched gives what it gave of the same data, by itself.

    Raises:
        UncertifiedError: One does not, or nothing can be proved of it.
    """
    for was, now in ((each.before, each.node) for each in touched if graph.has_node(each.node)):
        if was is None:
            raise UncertifiedError(f"nothing is proved of {now.op} {graph.label(now)!r}")
        if _literally(was) != _literally(now):
            prover.certify(prover.of_node(was), prover.of_node(now))


def check_renamed(graph: Graph, touched: Sequence[Touched]) -> None:
    """Return if all that was touched is as it was, but for the names of copies that went.

    Raises:
        UncertifiedError: Something else was done.
    """
    same = _copied(graph, touched)
    for was, now in ((each.before, each.node) for each in touched if graph.has_node(each.node)):
        if was is None or _literally(was, same) != _literally(now, same):
            raise UncertifiedError(f"{now.op} {graph.label(now)!r} is more than renamed")


class _Account:
    """What is covered of the edits since a mark."""

    def __init__(
        self,
        graph: Graph,
        touched: Sequence[Touched],
        reading: Reading,
        old: Tensor,
        new: Tensor,
    ) -> None:
        self._graph = graph
        self._reading = reading
        self._touched = {id(each.node) for each in touched}
        self._proved = {old.name, new.name}
        producer = graph.producer(new)
        if producer is not None and id(producer) in reading.nodes:
            self._proved |= {tensor.name for tensor in producer.outputs}  # Indices are proved too
        self._same = {**_copied(graph, touched), old.name: new.name}

    def check(self, each: Touched) -> None:
        """Return if what became of one node is covered.

        Raises:
            UncertifiedError: It is not.
        """
        node = each.node
        if not self._graph.has_node(node):
            return
        if not self._is_covered(node, set()) and not self._is_as_before(each):
            raise UncertifiedError(
                f"the rewrite also touches {node.op} {self._graph.label(node)!r}, of which nothing "
                "is proved",
                Reason.NOT_CERTIFIED,
                touched=self._graph.label(node),
            )

    def _is_as_before(self, each: Touched) -> bool:
        """Whether a node is as it was, but for tensors that are the same under other names."""
        was, now = each.before, each.node
        return was is not None and _literally(was, self._same) == _literally(now, self._same)

    def _is_covered(self, node: Node, seen: set[int]) -> bool:
        """Whether all that reads what a node gives is covered by the proof."""
        if id(node) in seen:
            return True
        seen.add(id(node))
        graph = self._graph
        for tensor in node.outputs:
            if tensor.name in self._reading.taken:
                return False
            if not tensor.name or tensor.name in self._proved:
                continue
            if graph.is_output(tensor):
                return False
            for use in graph.uses(tensor):
                known = id(use.node) in self._reading.nodes or id(use.node) in self._touched
                if use.index < 0 or not (known or _copies(graph, use.node)):
                    return False
                if not self._is_covered(use.node, seen):
                    return False
        return True


def _copied(graph: Graph, touched: Sequence[Touched]) -> Same:
    """The tensors of which a copy went, each with the name of the copy, which is its own now."""
    gone = (each.before for each in touched if not graph.has_node(each.node))
    return {
        was.inputs[0].name: was.outputs[0].name
        for was in gone
        if was is not None and _copies(graph, was)
    }


def _literally(node: Node, same: Same = NONE) -> tuple[object, ...]:
    """All that a node says, with the names of tensors that are the same told as one."""
    inputs, outputs = (
        [_resolved(same, tensor.name) for tensor in tensors]
        for tensors in (node.inputs, node.outputs)
    )
    return node.op, node.domain or "", dict(node.attrs), inputs, outputs


def _copies(graph: Graph, node: Node) -> bool:
    return node.op == "Identity" and graph.is_standard(node) and bool(node.inputs)


def _resolved(same: Same, name: str) -> str:
    for _ in same:
        name = same.get(name, name)
    return name
