"""Why a tensor's content is unknown: a graph input feeds it, or an operator is not evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onnxpad.analysis import Analysis, is_constant
from onnxpad.graph import Graph, Tensor


class Provenance:
    """Traces the tensors of one graph to what they are computed from.

    What is passed to a body or a function counts as an input of the graph.
    """

    def __init__(self, graph: Graph, analysis: Analysis, outer: Provenance | None = None) -> None:
        """Reads the graph as it is at each call; `outer` is that of the graph around a body."""
        self._graph = graph
        self._analysis = analysis
        self._outer = outer
        self._fed: dict[str, bool] = {}

    def forget(self) -> None:
        """Clears the cache, after edits of the graph were undone."""
        self._fed.clear()

    def obstacle(self, tensors: Iterable[Tensor]) -> str:
        """Names the first node or constant upstream that is not evaluated.

        An initializer that a caller may override counts as a graph input; the size of an axis that
        the graph fixes does not.

        Returns:
            The obstacle in words; empty where a graph input feeds one of the tensors, or where all
            of them are known.
        """
        unknown = [tensor for tensor in tensors if not self._is_known(tensor)]
        if not unknown or any(map(self._is_fed, unknown)):
            return ""
        tensor = unknown[0]
        while (node := self._graph.producer(tensor)) is not None or tensor.outer is not None:
            if node is None:
                assert tensor.outer is not None
                return "" if self._outer is None else self._outer.obstacle([tensor.outer])
            further = (each for each in self._graph.sources(node) if not self._is_known(each))
            source = next(further, None)
            if source is None:
                return f"{node.op} {self._graph.label(node)!r}, which is not evaluated"
            tensor = source
        return f"constant {tensor.name!r}, which is not read"

    def _is_known(self, tensor: Tensor) -> bool:
        return not tensor.name or is_constant(self._analysis.value(tensor))

    def _is_fed(self, tensor: Tensor) -> bool:
        """Whether the content of a tensor depends on a graph input."""
        fed = self._fed
        stack = [tensor]
        while stack:
            name = stack[-1].name
            if name not in fed:
                sources = self._sources(stack[-1])
                missing = [source for source in sources if source.name not in fed]
                if self._is_source(stack[-1]) or any(fed.get(each.name) for each in sources):
                    fed[name] = True
                elif missing:
                    stack += missing
                    continue
                else:
                    fed[name] = False
            stack.pop()
        return fed[tensor.name]

    def _is_source(self, tensor: Tensor) -> bool:
        """Whether a tensor is an input, or captured and depends on one."""
        if tensor.outer is not None:
            return self._outer is None or self._outer._is_fed(tensor.outer)
        return tensor.name in self._graph.inputs

    def _sources(self, tensor: Tensor) -> Sequence[Tensor]:
        """The tensors that a tensor's content is computed from."""
        node = self._graph.producer(tensor)
        if node is None:
            return ()
        if node.op in ("Shape", "Size") and self._graph.is_standard(node):
            shape = self._analysis.shape(node.inputs[0])
            if shape is not None and all(isinstance(extent, int) for extent in shape):
                return ()
        return self._graph.sources(node)
