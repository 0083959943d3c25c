"""Proofs under the weakest assumptions that are enough."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from onnxpad.analysis.signs import Signs
from onnxpad.declared import Row, operator_name
from onnxpad.facts import Facts
from onnxpad.finding import Assumption, Certificate, Trust
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.declared_nodes import row_declared
from onnxpad.graph.walk import nodes_upstream
from onnxpad.proof.certify import Certifier, Reading, UncertifiedError
from onnxpad.records import NamedTuple
from onnxpad.sizes.analysed import AnalysedDomains


class Readings(NamedTuple):
    """The readings of a tensor, one in each domain of sizes; None where unknown.

    Attributes:
        each: The readings.
        roots: Names of the tensors that are read.
    """

    each: tuple[Reading | None, ...]
    roots: tuple[str, ...]


class Prover:
    """Certifies in the first domain of sizes, the weakest assumption first, that is enough."""

    def __init__(self, graph: Graph, domains: AnalysedDomains, signs: Signs) -> None:
        """Reads the graph as it is at each call; passes decide by the last domain."""
        self._graph = graph
        self._domains = [(each.domain, each.domain.facts(graph)) for each in domains]
        self._certifiers = [Certifier(graph, each.analysis, signs) for each in domains]
        self._trusts = (Trust.INITIALIZERS.assumption,) * bool(graph.model.main.trusted)

    def read(
        self,
        node: Node,
        tensor: Tensor,
        before: Readings | None = None,
        *,
        steps: bool = False,
    ) -> Readings:
        """Derives what a tensor is computed from; as `Certifier.read`.

        With `steps`, as `Certifier.steps`, whatever the node is.

        Args:
            node: The node.
            tensor: The tensor.
            before: Of the tensor that it replaces: gives the roots.
            steps: Whether to look for steps, whatever the node is.

        Raises:
            UncertifiedError: Nothing can be proved about the nodes there.
        """
        roots = () if before is None else before.roots

        def read(certifier: Certifier, old: Reading | None) -> Reading:
            further = None if old is None else old.further
            if steps:
                return certifier.steps(tensor, roots, further=further)
            return certifier.read(node, tensor, roots, further=further)

        return self._read(read, before)

    def of_node(self, node: Node) -> Readings:
        """Derives what one node alone computes, even one that was removed; its data is the root.

        Raises:
            UncertifiedError: Nothing can be proved about the node.
        """
        return self._read(lambda certifier, _: certifier.of_node(node))

    def _read(
        self,
        read: Callable[[Certifier, Reading | None], Reading],
        before: Readings | None = None,
    ) -> Readings:
        olds = (None,) * len(self._certifiers) if before is None else before.each
        *weaker, last = zip(self._certifiers, olds, strict=True)
        found: list[Reading | None] = []
        for certifier, old in weaker:
            try:
                found.append(read(certifier, old))
            except UncertifiedError:
                found.append(None)
        reading = read(*last)
        return Readings((*found, reading), reading.roots)

    def certify(
        self, before: Readings, after: Readings, trust: Trust | None = None
    ) -> tuple[Certificate, Reading]:
        """Certifies that two tensors are the same, under the weakest assumptions.

        Args:
            before: The tensor before the change.
            after: The tensor that replaces it.
            trust: Whose reading of `before` counts where onnxruntime and the specification
                disagree; without it, nothing is proved there.

        Returns:
            The certificate, and the reading of the rewritten graph on which it is based.

        Raises:
            UncertifiedError: They differ, or cannot be compared; the message says how.
        """
        failure: UncertifiedError | None = None
        assuming: tuple[Certificate, Reading] | None = None
        for (domain, limits), certifier, old, new in zip(
            self._domains, self._certifiers, before.each, after.each, strict=True
        ):
            if old is None or new is None:
                continue
            try:
                certificate = certifier.certify(old, new, trust)
            except UncertifiedError as error:
                failure = error
                continue
            assumed = (*domain.assumptions, *self._trusts)
            if limits or assumed:
                certificate = replace(
                    certificate,
                    limits=str(domain),
                    assumptions=(*certificate.assumptions, *assumed),
                    facts=Facts(certificate.facts, **({"sizes": limits} if limits else {})),
                    within={name: sizes.as_data() for name, sizes in domain.given.items()},
                )
            alone = not certificate.assumptions
            certificate = _resting(certificate, self._declared(certifier, old, new, bool(limits)))
            if alone:
                return certificate, new
            assuming = assuming or (certificate, new)
        if assuming is not None:
            return assuming
        raise failure or UncertifiedError("nothing is known about it")

    def _declared(
        self, certifier: Certifier, old: Reading, new: Reading, limited: bool
    ) -> frozenset[Row]:
        """The declarations that a proof rests on: of what it read, and of what gave the sizes.

        Args:
            certifier: What proved it.
            old: The reading of the original.
            new: The reading of the rewritten graph.
            limited: Whether the proof is limited to the sizes at which the whole graph runs.
        """
        read, graph = old.declared | new.declared, self._graph
        sizes = frozenset(certifier.declared)
        if sizes <= read or limited or not graph.is_main:
            return read | sizes
        for name in {old.direct, new.direct}:
            upstream = _declared_upstream(graph, graph.tensor(name))
            if upstream is None:
                return read | sizes
            read |= upstream
        return read


def _resting(certificate: Certificate, declared: Collection[Row]) -> Certificate:
    """A certificate that says on which declarations of operators by users it rests."""
    if not declared:
        return certificate
    names = sorted(set(map(operator_name, declared)))
    runnable = all(each.body is not None for each in declared)
    as_declared = f"; as declared of {', '.join(names)}"
    return replace(
        certificate,
        statement=certificate.statement + as_declared,
        general=certificate.general and certificate.general + as_declared,
        assumptions=(*certificate.assumptions, Assumption.DECLARED),
        facts=Facts(certificate.facts, declared=names, runnable=runnable),
    )


def _declared_upstream(graph: Graph, tensor: Tensor) -> frozenset[Row] | None:
    """The declarations of the operators that a tensor depends on; None where these are many."""
    found = set[Row]()
    for node in nodes_upstream(graph, [tensor], graph.sources):
        if node is None:
            return None
        own = row_declared(graph, node)
        if own is not None:
            found.add(own)
    return frozenset(found)
