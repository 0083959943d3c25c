"""Fresh names: those that nothing in a model has yet."""

from __future__ import annotations

from itertools import chain

import onnx

from onnxpad.file.proto_walk import names, node_names


class Names:
    """The names in use anywhere in a model: of nodes and tensors, in bodies and functions too."""

    def __init__(self, model: onnx.ModelProto) -> None:
        """Collects the names in use."""
        self._taken = set(names(model.graph))
        for training in model.training_info:
            self._taken.update(names(training.initialization), names(training.algorithm))
        for function in model.functions:
            self._taken.update(function.input, function.output, node_names(function.node))
        self._next: dict[str, int] = {}
        self._before: dict[str, tuple[str, int]] = {}

    def fresh(self, base: str) -> str:
        """Returns `base` if it is free, else `base` with a number, and marks it as in use."""
        start = number = self._next.get(base, 0)
        name = base if base and not number else f"{base}_{number}"
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._next[base] = number + 1
        self._before[name] = (base, start)
        return name

    def release(self, name: str) -> None:
        """Undoes `fresh` for a name; the latest one must be undone first."""
        base, number = self._before.pop(name)
        self._next[base] = number
        self._taken.remove(name)


def pinned(model: onnx.ModelProto) -> frozenset[str]:
    """Names of the main graph's tensors to which annotations or training info refer.

    These tensors must keep their names.
    """
    found = set(referred(model.graph))
    for training in model.training_info:
        found.update(names(training.initialization), names(training.algorithm))
        for entry in chain(training.initialization_binding, training.update_binding):
            found.update((entry.key, entry.value))
    return frozenset(found)


def referred(graph: onnx.GraphProto | onnx.FunctionProto) -> frozenset[str]:
    """Names to which the quantization annotations of a graph refer; functions have none."""
    found: set[str] = set()
    if isinstance(graph, onnx.GraphProto):
        for annotation in graph.quantization_annotation:
            found.update(entry.value for entry in annotation.quant_parameter_tensor_names)
    return frozenset(found)
