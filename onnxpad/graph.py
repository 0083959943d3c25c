"""The graph of a model, to read and to edit, and the way back to a file.

Imports attributes, constants, errors, external, files, names, saving, skeleton, view.

Edits go through `Graph`, never through graphsurgeon's lists: each is journaled, so that it can be
undone, and only what differs in the end is written; all else is copied byte for byte.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnx_graphsurgeon as gs
from onnx import numpy_helper

from onnxpad import attributes
from onnxpad.constants import Constants, whole_initializer
from onnxpad.errors import ModelError, OutputError, UsageError
from onnxpad.external import check_external, external_tensors
from onnxpad.files import write_whole
from onnxpad.names import Names, pinned
from onnxpad.saving import differences, node_proto
from onnxpad.skeleton import Skeleton, read_file, read_proto
from onnxpad.view import Declared, Entry, Initializer, Node, Tensor, Use, build, captures, describe

__all__ = ["Declared", "Graph", "Node", "Tensor", "Use"]

SHARE_LIMIT: Final = 1024
"""Bytes up to which equal initializers that are added become one."""

_DEFAULT_DOMAINS: Final = ("", "ai.onnx", None)


class Graph:
    """The graph of a model and the edits made to it.

    Attributes:
        path: The file it comes from, or None.
        ir_version: Of the model.
        opsets: Version of each operator set that the model imports; the default one is "".
        inputs: What each input declares, in order. An initializer that is also an input counts
            as one from IR version 4 on, since a caller may override it.
        outputs: Names of the graph outputs.
        has_external_data: Whether the elements of some tensors lie in files beside the model.
    """

    def __init__(self, skeleton: Skeleton, path: Path | None) -> None:
        """Use `load` or `from_proto`."""
        model = skeleton.light
        self.path = path
        self.ir_version = model.ir_version
        self.opsets = _opsets(model)
        self.outputs = frozenset(value.name for value in model.graph.output)
        external = external_tensors(model)
        self.has_external_data = bool(external)
        self._data_files = check_external(external, path.parent) if path else frozenset()
        self._skeleton = skeleton
        self._functions = {item.name for item in model.functions if item.domain in _DEFAULT_DOMAINS}
        self._view = build(skeleton)
        self.inputs = self._view.inputs
        self._constants = Constants(skeleton, self._view, self.is_standard)
        self._pinned = self.outputs | self.inputs.keys() | pinned(model)
        self._journal: list[Callable[[], object]] = []
        self._suspects: dict[int, Tensor] = {}
        self._shared: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._check_opset()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Graph":
        """The graph of a model file.

        Raises:
            ModelError: The file cannot be read, is no valid model, or lacks its external data.
        """
        file = Path(path)
        skeleton = read_file(file)
        try:
            return cls(skeleton, file)
        except ModelError as error:
            raise ModelError(f"{file}: {error}") from None

    @classmethod
    def from_proto(cls, proto: onnx.ModelProto) -> "Graph":
        """The graph of a model in memory, which is never changed.

        Raises:
            ModelError: It is no valid model, or over 2 GiB.
        """
        if not isinstance(proto, onnx.ModelProto):
            raise UsageError(f"expected a path or an onnx.ModelProto, got {type(proto).__name__}")
        return cls(read_proto(proto), None)

    # Reading

    @property
    def opset(self) -> int:
        """Version of the default operator set; 0 if the model does not import it."""
        return self.opsets.get("", 0)

    @property
    def nodes(self) -> Iterator[Node]:
        """The nodes in file order, inserted ones in place; edits underway do no harm."""
        return (entry.node for entry in self._view.order())

    def tensor(self, name: str) -> Tensor:
        """The tensor of a name.

        Raises:
            KeyError: The graph has none.
        """
        return self._view.tensors[name]

    def producer(self, tensor: Tensor) -> Node | None:
        """The node that computes a tensor; None for inputs and initializers."""
        return tensor.inputs[0] if tensor.inputs else None

    def uses(self, tensor: Tensor) -> Sequence[Use]:
        """Where a tensor is read, in no promised order; a copy, so edits do no harm to it."""
        return tuple(tensor.uses.values())

    def is_output(self, tensor: Tensor) -> bool:
        """Whether a tensor is an output of the graph."""
        return tensor.name in self.outputs

    def is_standard(self, node: Node) -> bool:
        """Whether a node is the ONNX operator of its name, not a custom one or a function."""
        return node.domain in _DEFAULT_DOMAINS and node.op not in self._functions

    def label(self, node: Node) -> str:
        """The name of a node, or that of its first output in angle brackets."""
        return describe(node)

    def declared(self, tensor: Tensor) -> Declared | None:
        """Type and shape of a graph input, an initializer or a Constant; None for all else.

        What value_info and graph outputs declare is enforced by nobody, so it does not count.
        """
        return self._constants.declared(tensor)

    def constant(self, tensor: Tensor) -> np.ndarray[Any, Any] | None:
        """The value of an initializer or a Constant, read-only; None where it is not known.

        That is so for what a caller may override, and for sparse, external and long (over 4,096
        elements) tensors.

        Raises:
            ModelError: Its elements do not fit its shape.
        """
        return self._constants.value(tensor)

    # Edits

    def set_attribute(self, node: Node, name: str, value: object | None) -> None:
        """Gives a node an attribute: a number, a string or a sequence of one kind; None removes."""
        values = {key: held for key, held in node.attrs.items() if key != name or value is not None}
        if value is not None:
            values[name] = attributes.normal(value)
        self._set_operator(node, node.op, node.domain, values)

    def set_input(self, node: Node, index: int, tensor: Tensor | None) -> None:
        """Has a node read another tensor, or at the end one more; None omits the input.

        Omitting the last input drops it, and omitted ones before it.
        """
        self._put(node, index, tensor or Tensor(""))
        while tensor is None and node.inputs and not node.inputs[-1].name:
            self._put(node, len(node.inputs) - 1, None)

    def insert(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        attributes: Mapping[str, object],
        *,
        before: Node,
        name: str,
    ) -> Tensor:
        """Adds a node of the default domain with one output in front of another; returns that.

        Node and output get fresh names derived from `name`.
        """
        node = gs.Node(op, self._names.fresh(name), _normal(attributes))
        output = Tensor(self._names.fresh(f"{node.name}_output"))
        list.append(node.outputs, output)
        list.extend(node.inputs, [tensor or Tensor("") for tensor in inputs])
        entry = Entry(node, touched=True)
        entry.next = self._view.entries[id(before)]
        entry.previous = entry.next.previous
        self._view.entries[id(node)] = entry
        self._attach(entry)
        self._journal.append(partial(self._undo_insert, entry))
        self._suspects[id(output)] = output
        return output

    def replace_op(
        self,
        node: Node,
        op: str,
        inputs: Sequence[Tensor | None],
        attributes: Mapping[str, object],
    ) -> None:
        """Makes a node another operator of the default domain; name and outputs stay."""
        domain = node.domain if node.domain in _DEFAULT_DOMAINS else None
        self._set_operator(node, op, domain, _normal(attributes))
        for index, tensor in enumerate(inputs):
            self._put(node, index, tensor or Tensor(""))
        while len(node.inputs) > len(inputs):
            self._put(node, len(node.inputs) - 1, None)

    def add_initializer(self, values: np.ndarray[Any, Any], name: str) -> Tensor:
        """Adds a constant under a fresh name derived from `name`.

        One that was added before and is equal is taken again, if it is small.
        """
        key = (values.dtype.name, values.shape, values.tobytes())
        small = values.nbytes <= SHARE_LIMIT and not values.dtype.hasobject
        known = self._shared.get(key) if small else None
        if known in self._view.initializers:
            return self._view.tensors[known]
        proto = numpy_helper.from_array(values, self._names.fresh(name))
        tensor = Tensor(proto.name)
        self._view.tensors[proto.name] = tensor
        self._view.initializers[proto.name] = Initializer(proto, values.shape)
        if small:
            self._shared[key] = proto.name
        self._journal.append(partial(self._undo_add_initializer, proto.name))
        self._suspects[id(tensor)] = tensor
        return tensor

    def remove(self, node: Node) -> None:
        """Removes a node whose outputs nothing reads.

        Raises:
            ValueError: Something does.
        """
        entry = self._view.entries[id(node)]
        if not entry.alive or not all(map(self._is_unused, node.outputs)):
            raise ValueError(f"node '{describe(node)}' is in use or gone")
        self._detach(entry)
        self._journal.append(partial(self._attach, entry))

    def sweep(self) -> tuple[str, ...]:
        """Removes what edits since the last sweep left without use; says which nodes.

        Initializers and value_info go too. What had no use before these edits stays.
        """
        removed = []
        self._journal.append(partial(setattr, self, "_suspects", self._suspects))
        while self._suspects:
            suspects, self._suspects = self._suspects, {}
            for tensor in suspects.values():
                if self._view.tensors.get(tensor.name) is not tensor:
                    continue
                if not self._is_unused(tensor):
                    continue
                if tensor.name in self._view.initializers:
                    self._remove_initializer(tensor)
                elif all(map(self._is_unused, tensor.inputs[0].outputs)):
                    removed.append(describe(tensor.inputs[0]))
                    self.remove(tensor.inputs[0])
        return tuple(removed)

    def mark(self) -> int:
        """A point to roll back to."""
        return len(self._journal)

    def rollback(self, mark: int) -> None:
        """Undoes every edit made since a mark, sweeps included."""
        while len(self._journal) > mark:
            self._journal.pop()()

    # Saving

    @property
    def changed(self) -> bool:
        """Whether anything differs from the original; looks at every node."""
        if not self._journal:
            return False
        replaced, added = differences(self._skeleton, self._view)
        return bool(replaced or added)

    def node_proto(self, node: Node) -> onnx.NodeProto:
        """A node as it would be saved now, with all its elements."""
        return node_proto(self._skeleton, self._view.entries[id(node)])

    def initializer_proto(self, name: str) -> onnx.TensorProto | None:
        """An initializer with its elements; None if there is no dense one of that name."""
        return whole_initializer(self._skeleton, self._view, name)

    def to_bytes(self) -> bytes:
        """The model, serialised; the original bytes if nothing changed."""
        return b"".join(self._skeleton.splice(*differences(self._skeleton, self._view)))

    def to_proto(self) -> onnx.ModelProto:
        """The model."""
        model = onnx.ModelProto()
        model.ParseFromString(self.to_bytes())
        return model

    def write(self, path: str | os.PathLike[str]) -> None:
        """Saves the model, whole or not at all; external data stays where it is.

        Raises:
            OutputError: The file cannot be written, or would lose its external data.
        """
        target = Path(path)
        if self._data_files and self.path:
            folder = self.path.parent
            if target.parent.is_dir() and not target.parent.samefile(folder):
                data = min(file.name for file in self._data_files)
                raise OutputError(
                    f"{target} would not find its external data ({data}); write it to {folder}, "
                    "or load the model and save it with its data inside first"
                )
            if any(target.exists() and target.samefile(file) for file in self._data_files):
                raise OutputError(f"{target} holds the model's external data; name another file")
        write_whole(target, self._skeleton.splice(*differences(self._skeleton, self._view)))

    # What edits and their undoing are made of

    @cached_property
    def _names(self) -> Names:
        return Names(self._skeleton.light)

    def _is_unused(self, tensor: Tensor) -> bool:
        return not tensor.name or (not tensor.uses and tensor.name not in self._pinned)

    def _read(self, node: Node, index: int, tensor: Tensor) -> None:
        tensor.uses[id(node), index] = Use(node, index)

    def _unread(self, node: Node, index: int, tensor: Tensor) -> None:
        del tensor.uses[id(node), index]
        self._suspects[id(tensor)] = tensor

    def _put(self, node: Node, index: int, tensor: Tensor | None) -> None:
        """Sets an input, appends one at the end, or (None) takes the last one off."""
        before = node.inputs[index] if index < len(node.inputs) else None
        self._put_unrecorded(node, index, tensor)
        self._journal.append(partial(self._put_unrecorded, node, index, before))

    def _put_unrecorded(self, node: Node, index: int, tensor: Tensor | None) -> None:
        if index < len(node.inputs):
            self._unread(node, index, node.inputs[index])
            list.pop(node.inputs, index)
        if tensor is not None:
            list.insert(node.inputs, index, tensor)
            self._read(node, index, tensor)
        self._view.entries[id(node)].touched = True

    def _set_operator(
        self, node: Node, op: str, domain: str | None, values: Mapping[str, object]
    ) -> None:
        before = partial(self._set_operator_unrecorded, node, node.op, node.domain, node.attrs)
        self._set_operator_unrecorded(node, op, domain, values)
        self._journal.append(before)

    def _set_operator_unrecorded(
        self, node: Node, op: str, domain: str | None, values: Mapping[str, object]
    ) -> None:
        entry = self._view.entries[id(node)]
        entry.touched = True
        node.op, node.domain, node.attrs = op, domain, values
        for tensor in entry.captures:
            self._unread(node, -1, tensor)
        entry.captures = captures(node, self._view.tensors)
        for tensor in entry.captures:
            self._read(node, -1, tensor)
        for tensor in node.outputs:
            self._constants.forget(tensor.name)

    def _attach(self, entry: Entry) -> None:
        """Puts a node between its neighbours and makes it read and produce its tensors."""
        entry.alive = True
        entry.previous.next = entry.next.previous = entry
        for index, tensor in enumerate(entry.node.inputs):
            self._read(entry.node, index, tensor)
        for tensor in entry.captures:
            self._read(entry.node, -1, tensor)
        for tensor in entry.node.outputs:
            tensor.inputs.append(entry.node)
            if tensor.name:
                self._view.tensors[tensor.name] = tensor
                self._view.gone.pop(tensor.name, None)

    def _detach(self, entry: Entry) -> None:
        """The reverse."""
        entry.alive = False
        entry.previous.next, entry.next.previous = entry.next, entry.previous
        for index, tensor in enumerate(entry.node.inputs):
            self._unread(entry.node, index, tensor)
        for tensor in entry.captures:
            self._unread(entry.node, -1, tensor)
        for tensor in entry.node.outputs:
            tensor.inputs.clear()
            if tensor.name:
                del self._view.tensors[tensor.name]
                self._view.gone[tensor.name] = ()
                self._constants.forget(tensor.name)

    def _undo_insert(self, entry: Entry) -> None:
        self._detach(entry)
        del self._view.entries[id(entry.node)]
        output = entry.node.outputs[0].name
        del self._view.gone[output]
        self._names.release(output)
        self._names.release(entry.node.name)

    def _undo_add_initializer(self, name: str) -> None:
        del self._view.tensors[name], self._view.initializers[name]
        self._constants.forget(name)
        self._names.release(name)

    def _remove_initializer(self, tensor: Tensor) -> None:
        initializer = self._view.initializers.pop(tensor.name)
        del self._view.tensors[tensor.name]
        self._view.gone[tensor.name] = initializer.records
        self._constants.forget(tensor.name)
        self._journal.append(partial(self._undo_remove_initializer, tensor, initializer))

    def _undo_remove_initializer(self, tensor: Tensor, initializer: Initializer) -> None:
        self._view.tensors[tensor.name] = tensor
        self._view.initializers[tensor.name] = initializer
        del self._view.gone[tensor.name]

    def _check_opset(self) -> None:
        """Raises ModelError if the operators of the model mean nothing, or nothing known here."""
        newest = onnx.defs.onnx_opset_version()
        if "" in self.opsets and not 1 <= self.opset <= newest:
            raise ModelError(
                f"the model uses opset {self.opset}, and onnx {onnx.__version__} knows 1 to "
                f"{newest}; upgrade onnx or export with another opset"
            )
        node = None if "" in self.opsets else next(filter(self.is_standard, self.nodes), None)
        if node is not None:
            raise ModelError(
                f"the model imports no default operator set, yet node '{describe(node)}' "
                f"({node.op}) needs one; export it again"
            )


def _normal(values: Mapping[str, object]) -> dict[str, attributes.Value]:
    return {name: attributes.normal(value) for name, value in values.items()}


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    """The operator sets that a model imports."""
    opsets: dict[str, int] = {}
    for item in model.opset_import:
        domain = "" if item.domain in _DEFAULT_DOMAINS else item.domain
        if domain in opsets and not domain:
            raise ModelError("the model imports the default operator set twice; remove one import")
        opsets[domain] = item.version
    # Before IR version 3 there was one operator set, and nothing to import.
    return opsets or ({"": 1} if model.ir_version < 3 else {})
