"""Proofs that take as little for granted as they can."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from onnxpad.analysis.signs import Signs
from onnxpad.finding import Certificate
from onnxpad.graph import Graph, Tensor
from onnxpad.proof.certify import Certifier, Reading, UncertifiedError
from onnxpad.sizes.assumptions import Premises


class Readings(NamedTuple):
    """What a tensor's elements are made of, under each premise; None where that is not known."""

    each: tuple[Reading | None, ...]
    root: str


class Prover:
    """Certifies under the first of the premises that suffices."""

    def __init__(self, graph: Graph, premises: Premises, signs: Signs) -> None:
        """Reads the graph as it is at each call; the last premise is what passes decide by."""
        self._premises = premises
        self._certifiers = [Certifier(graph, each.analysis, signs) for each in premises]

    def window(self, tensor: Tensor, root: str = "") -> Readings:
        """What the elements of a window operator's first output are made of, back to `root`.

        Raises:
            UncertifiedError: Its producer is no such operator, or cannot be read.
        """
        return self._read(lambda certifier: certifier.window(tensor, root))

    def padding(self, tensor: Tensor, root: str = "") -> Readings:
        """What the elements of a tensor are made of, through the `Pad`s behind it, back to `root`.

        Raises:
            UncertifiedError: One of them says something that cannot be read.
        """
        return self._read(lambda certifier: certifier.padding(tensor, root))

    def _read(self, read: Callable[[Certifier], Reading]) -> Readings:
        *weaker, last = self._certifiers
        found: list[Reading | None] = []
        for certifier in weaker:
            try:
                found.append(read(certifier))
            except UncertifiedError:
                found.append(None)
        reading = read(last)
        return Readings((*found, reading), reading.root)

    def certify(self, before: Readings, after: Readings) -> Certificate:
        """Why two tensors are the same, on as little as it takes.

        Raises:
            UncertifiedError: They differ, or could not be compared; the message says how.
        """
        failure = UncertifiedError("nothing is known of it")
        for premise, certifier, old, new in zip(
            self._premises, self._certifiers, before.each, after.each, strict=True
        ):
            if old is None or new is None:
                continue
            try:
                certificate = certifier.certify(old, new)
            except UncertifiedError as error:
                failure = error
                continue
            if not premise.sizes and not premise.assumptions:
                return certificate
            return replace(
                certificate,
                sizes=premise.sizes or certificate.sizes,
                assumptions=(*certificate.assumptions, *premise.assumptions),
            )
        raise failure
