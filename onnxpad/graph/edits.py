"""Edits of one graph of a model, which can be undone.

The cost of an edit does not grow with the graph: no list of nodes or consumers is ever searched.
Initializers are edited with the graph that they are in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from math import prod
from typing import Any, Final, cast

import numpy as np
import onnx
from onnx import numpy_helper

from onnxpad.errors import ModelError
from onnxpad.file.external_data import internal, is_external
from onnxpad.file.skeleton import PAYLOAD_LIMIT, Record
from onnxpad.graph.encode import lacks_elements
from onnxpad.graph.model import Model, State
from onnxpad.graph.nodes import (
    Declared,
    Initializer,
    Node,
    Tensor,
    View,
    captures,
    constant_shape,
    describe,
    take_defaults,
)

_KNOWN: Final = frozenset({"Constant", "Identity"})
"""Operators of whose results something is kept."""

_ABSENT: Final[State] = "", {}, None, (), ()
"""The state of a node that is not in the graph."""


class Edits(View):
    """The elementary edits of one graph: each records what undoes it.

    Attributes:
        model: The model, with the journal and the names in use.
    """

    model: Model
    _constants: Constants
    _pinned: frozenset[str]

    def _record(self, *step: Any) -> None:
        self.model.journal.record(*step)
        self.edited = True
        if not self.is_main:
            self.model.journal.inner += 1
        outer = self.outer
        while outer is not None:
            view, owner = outer
            view.edited = owner.touched = True
            outer = view.outer

    # Declarations

    def take_defaults(self) -> None:
        """Takes the initializers that are also inputs as constants, which no caller overrides."""
        if taken := self.inputs.keys() & self.initializers.keys():
            self._record(self._give_defaults, self.inputs, self.initializers, self.trusted)
            self.inputs, self.initializers = {**self.inputs}, {**self.initializers}
            self.trusted |= taken
            take_defaults(self)

    def _give_defaults(self, *before: Any) -> None:
        self.inputs, self.initializers, self.trusted = before

    def undeclare(self, tensor: Tensor) -> None:
        """Drops the `value_info` of a tensor."""
        if tensor.name not in self.undeclared:
            self.undeclared.add(tensor.name)
            self._record(self.undeclared.discard, tensor.name)

    # Nodes

    def _change(self, node: Node, state: State | None) -> None:
        """Makes a node another one; None removes it."""
        was = state_of(node)
        if node.captures:
            self._record(Edits._captured, self, *node.captures)
        self._record(Edits._become, self, node, state, was)
        self._become(node, was, state)

    def _changes(self, mark: int) -> Iterator[Sequence[Any]]:
        """The edits of nodes since a mark: graph, node, and the states after and before."""
        steps = self.model.journal.steps[mark:]
        return (step[1:] for step in steps if step[0] is Edits._become)

    def _become(self, node: Node, was: State | None, now: State | None) -> None:
        """Makes a node what a state says; None stands for one that is not in the graph."""
        old, new = was or _ABSENT, now or _ABSENT
        is_other = old[1] is not new[1] or (old[0], old[2]) != (new[0], new[2])
        node.reading = None
        if old[0] in _KNOWN:
            self._forget_values(node)
        for tensor in node.captures if was and is_other else ():
            self._unread(node, -1, tensor)
        if was is None or now is None:
            node.alive = now is not None
            node.previous.next = node if now else node.next
            node.next.previous = node if now else node.previous
        else:
            node.touched = True
        if old[3] != new[3]:
            for index, (before, after) in enumerate(zip_longest(old[3], new[3])):
                if before is not after:
                    if before is not None:
                        self._unread(node, index, before)
                    if after is not None:
                        self._read(node, index, after)
                    # Facts that nodes share say which inputs are left out.
                    is_other |= not (before and after and before.name and after.name)
        if old[4] != new[4]:
            for before, after in zip_longest(old[4], new[4]):
                if before is not after:
                    self._write(node, before, after)
        if now is None:
            return
        node.op, node.attrs, node.domain, node.inputs, node.outputs = now
        if is_other:
            self.share(node)
            node.captures = captures(node, self.tensors)
            for tensor in node.captures:
                self._read(node, -1, tensor)
        if node.op in _KNOWN:
            self._forget_values(node)

    def _write(self, node: Node, old: Tensor | None, new: Tensor | None) -> None:
        """Replaces an output of a node by another tensor."""
        if old is not None:
            old.producer = None
            if old.name:
                self._forget(old, ())
        if new is not None:
            new.producer = node
            if new.name:
                self.tensors[new.name] = new
                self.gone.pop(new.name, None)

    def _forget_values(self, node: Node) -> None:
        """Forgets what is known of the output of a Constant, or of an Identity and its copies."""
        if node.op == "Constant":
            for tensor in node.outputs:
                self._constants.forget(tensor)
        pending = list(node.outputs) if node.op == "Identity" else []
        while pending:
            tensor = pending.pop()
            tensor.origin = None
            copies = (copy for reader, _ in tensor.uses for copy in reader.outputs)
            pending += (copy for copy in copies if copy.origin is not None)

    def _insert(self, node: Node, before: Node, *, fresh_name: bool) -> None:
        """Inserts a node that is not yet registered with its inputs and outputs.

        Args:
            node: The node; its outputs have fresh names.
            before: The node in front of which it goes.
            fresh_name: Whether its own name is fresh too.
        """
        if not before.alive:
            raise ValueError(f"node '{describe(before)}' is gone")
        node.previous, node.next = before.previous, before
        self.listed.append(node)
        self._record(self._uninsert, node, fresh_name)
        state = state_of(node)
        self._record(Edits._become, self, node, state, None)
        self._become(node, None, state)

    def _uninsert(self, node: Node, fresh_name: bool) -> None:
        self.unlike.pop(self.listed.pop(), None)
        for tensor in reversed(node.outputs):
            if tensor.name:
                del self.gone[tensor.name]
                self.model.names.release(tensor.name)
        if fresh_name:
            self.model.names.release(node.name)

    def remove(self, node: Node) -> None:
        """Removes a node whose outputs nothing reads.

        Raises:
            ValueError: Something reads one, or the node is not in the graph.
        """
        if not node.alive or not all(map(self._is_unused, node.outputs)):
            raise ValueError(f"node '{describe(node)}' is in use or gone")
        self._change(node, None)

    # Initializers

    def _add_initializer(self, tensor: Tensor, initializer: Initializer) -> None:
        """Adds a constant, whose name is fresh."""
        self.added.append(tensor.name)
        self._record(Edits._unadd_initializer, self, tensor)
        self._hold(tensor, initializer)

    def _unadd_initializer(self, tensor: Tensor) -> None:
        self._hold(tensor, None)
        self.added.pop()
        del self.gone[tensor.name]
        self.model.names.release(tensor.name)

    def _hold(self, tensor: Tensor, initializer: Initializer | None) -> None:
        """Gives a tensor its initializer, or (None) takes it away."""
        name = tensor.name
        if initializer is None:
            self._forget(tensor, self.initializers.pop(name).records)
        else:
            self.tensors[name], self.initializers[name] = tensor, initializer
            self.gone.pop(name, None)

    def _drop(self, tensor: Tensor) -> Node | None:
        """Removes the node or initializer of a tensor that nothing reads; returns the node."""
        if self.tensors.get(tensor.name) is not tensor or not self._is_unused(tensor):
            return None
        if tensor.name in self.initializers:
            self._record(self._hold, tensor, self.initializers[tensor.name])
            self._hold(tensor, None)
        elif (node := tensor.producer) and all(map(self._is_unused, node.outputs)):
            self._change(node, None)
            return node
        return None

    def _is_pinned(self, tensor: Tensor) -> bool:
        """Whether something other than a node refers to a tensor by its name."""
        return tensor.name in self._pinned or tensor.name in self.inputs

    def _is_unused(self, tensor: Tensor) -> bool:
        """Whether nothing reads a tensor or refers to it."""
        return not tensor.name or not (tensor.uses or self._is_pinned(tensor))

    def _read(self, node: Node, index: int, tensor: Tensor) -> None:
        if tensor.outer is not None and not self.is_read(tensor):
            self._capture(tensor.outer, 1)
        tensor.uses[node, index] = None

    def _unread(self, node: Node, index: int, tensor: Tensor) -> None:
        del tensor.uses[node, index]
        if tensor.outer is not None and not self.is_read(tensor):
            self._capture(tensor.outer, -1)

    def _capture(self, tensor: Tensor, more: int) -> None:
        """Tells the graph around that one more body (1), or one less (-1), reads its tensor."""
        assert self.outer is not None
        around, owner = self.outer
        assert isinstance(around, Edits)
        was_read, counts = tensor in owner.captures, Counter(owner.captures)
        counts[tensor] += more
        owner.captures = +counts  # those that are read
        if owner.alive and was_read != (tensor in owner.captures):
            change = around._read if more > 0 else around._unread
            change(owner, -1, tensor)

    @staticmethod
    def _left(undo: object, view: Edits, *given: Any) -> Iterator[tuple[Edits, Tensor]]:
        """The tensors that nothing reads since an edit, each with its graph."""
        found: Sequence[Tensor] = ()
        if undo is Edits._become:
            node, now, was = given
            if was is None:
                found = node.outputs
            elif now is None or now[3] is not was[3]:
                found = was[3]
        elif undo in (Edits._unadd_initializer, Edits._captured):
            found = given
        for each in found:
            graph, tensor = view, each
            while not tensor.uses:
                yield graph, tensor
                if tensor.outer is None or graph.outer is None:
                    break
                graph, tensor = cast("Edits", graph.outer[0]), tensor.outer

    def _captured(self, *tensors: Tensor) -> None:
        """Keeps in the journal what the bodies of a node captured before it was edited."""

    def _forget(self, tensor: Tensor, records: tuple[Record, ...]) -> None:
        del self.tensors[tensor.name]
        self.gone[tensor.name] = records
        self._constants.forget(tensor)


def state_of(node: Node) -> State:
    """All of a node that edits change."""
    return node.op, node.attrs, node.domain, node.inputs, node.outputs


def swept() -> None:
    """Stands in the journal where what was unused was removed; undoes nothing."""


LIMIT: Final = 4096
"""Constants with more elements than this are not read."""

# Attributes of Constant other than tensors: the Python type of an element, and numpy's.
_LISTED: Final[dict[str, tuple[type, type[np.generic]]]] = {
    "value_int": (int, np.int64),
    "value_ints": (int, np.int64),
    "value_float": (float, np.float32),
    "value_floats": (float, np.float32),
    "value_string": (str, np.object_),
    "value_strings": (str, np.object_),
}


class Constants:
    """Initializers and Constant nodes that one graph defines; their values are cached."""

    def __init__(self, model: Model, view: View, is_standard: Callable[[Node], bool]) -> None:
        """Reads the constants of a graph on demand; without a path external data is unknown."""
        self._skeleton = model.skeleton
        self._folder = model.path.parent if model.path else None
        self._view = view
        self._is_standard = is_standard
        self._values: dict[Tensor, np.ndarray[Any, Any] | None] = {}
        self._alike: dict[tuple[object, ...], np.ndarray[Any, Any]] = {}

    def forget(self, tensor: Tensor) -> None:
        """Drops a tensor from the cache, since it may have changed."""
        self._values.pop(tensor, None)

    def _whole(self, name: str) -> onnx.TensorProto | None:
        """A dense initializer with its elements; None if there is none of that name."""
        initializer = self._view.initializers.get(name)
        if initializer is None or initializer.sparse:
            return None
        for record in initializer.records[:1]:
            if record.end - record.body > PAYLOAD_LIMIT:
                return self._skeleton.whole(record, onnx.TensorProto())
        return initializer.proto

    def declared(self, tensor: Tensor) -> Declared | None:
        """Type and shape of a graph input, an initializer or a Constant; None for other tensors."""
        if tensor.name in self._view.inputs:
            return self._view.inputs[tensor.name]
        initializer = self._view.initializers.get(tensor.name)
        if initializer:
            return initializer.declared
        value = self._held(tensor)
        if isinstance(value, onnx.AttributeProto):
            if value.HasField("t"):
                return Declared(value.t.data_type, constant_shape(value.t.dims, tensor.name))
            sparse = value.sparse_tensor
            return Declared(sparse.values.data_type, constant_shape(sparse.dims, tensor.name))
        if value is None:
            return None
        return Declared(onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    def is_external(self, tensor: Tensor) -> bool:
        """Whether an initializer or a Constant has its elements in another file."""
        # An initializer that a caller may override counts as an input.
        if tensor.name in self._view.inputs:
            return False
        initializer = self._view.initializers.get(tensor.name)
        if initializer:
            return is_external(initializer.proto)
        value = self._held(tensor)
        return isinstance(value, onnx.AttributeProto) and is_external(value.t)

    def is_raw(self, tensor: Tensor) -> bool:
        """Whether the elements of an initializer or a Constant are stored as bytes."""
        proto = self._whole(tensor.name)
        if proto is None:
            value = self._held(tensor)
            proto = value.t if isinstance(value, onnx.AttributeProto) else None
        return proto is not None and proto.HasField("raw_data")

    def value(self, tensor: Tensor) -> np.ndarray[Any, Any] | None:
        """The elements of a constant, read-only; None where they are not available.

        Raises:
            ModelError: They do not fit its type and shape.
        """
        node = tensor.producer
        if (node is not None and node.op != "Constant") or tensor.name in self._view.inputs:
            return None  # a caller may override an initializer that is also an input
        if tensor not in self._values:
            self._values[tensor] = self._read(tensor)
        return self._values[tensor]

    def _read(self, tensor: Tensor) -> np.ndarray[Any, Any] | None:
        initializer = self._view.initializers.get(tensor.name)
        if initializer:
            if not self._readable(initializer.proto):
                return None
            proto = self._whole(tensor.name)
            return None if proto is None else self._array(proto, tensor.name)
        value = self._held(tensor)
        if isinstance(value, onnx.AttributeProto):
            if not value.HasField("t") or not self._readable(value.t):
                return None
            record = tensor.producer.record if tensor.producer else None
            if record is not None and lacks_elements(value.t):
                node = self._skeleton.whole(record, onnx.NodeProto())
                value = next(item for item in node.attribute if item.name == value.name)
            return self._array(value.t, tensor.name)
        return None if value is None or value.size > LIMIT else value

    def _held(self, tensor: Tensor) -> onnx.AttributeProto | np.ndarray[Any, Any] | None:
        """The value of the Constant that writes a tensor; a tensor in it may lack elements."""
        node = tensor.producer
        if node is None or node.op != "Constant" or not self._is_standard(node):
            return None
        if len(node.attrs) != 1:
            return None
        name, value = next(iter(node.attrs.items()))
        if isinstance(value, onnx.AttributeProto):
            known = value.HasField("t") or value.HasField("sparse_tensor")
            return value if known and not value.ref_attr_name else None
        if name not in _LISTED or isinstance(value, list) != name.endswith("s"):
            return None
        kind, dtype = _LISTED[name]
        if not all(isinstance(item, kind) for item in (value if name.endswith("s") else [value])):
            return None
        array: np.ndarray[Any, Any] = np.array(value, dtype=dtype)
        array.setflags(write=False)
        return array

    def _readable(self, proto: onnx.TensorProto) -> bool:
        """Whether a tensor's elements are available: in one segment, in reach, and few enough."""
        within_reach = self._folder is not None or not is_external(proto)
        return within_reach and not proto.HasField("segment") and prod(proto.dims) <= LIMIT

    def _array(self, proto: onnx.TensorProto, name: str) -> np.ndarray[Any, Any]:
        shape = constant_shape(proto.dims, name)
        if self._folder is not None and is_external(proto):
            proto = internal(proto, self._folder)
        key = proto.data_type, shape, proto.raw_data
        if key[-1] and key in self._alike:  # networks repeat the same few short ones
            return self._alike[key]
        try:
            array = np.array(numpy_helper.to_array(proto))
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ModelError(
                f"the elements of tensor '{name}' do not fit its type and shape "
                f"({list(proto.dims)}); export the model again"
            ) from error
        array.setflags(write=False)
        self._alike[key] = array
        return array
