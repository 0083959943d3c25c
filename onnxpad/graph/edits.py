"""Edits of one graph of a model, which can be undone.

The cost of an edit does not grow with the graph: no list of nodes or consumers is ever searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from operator import attrgetter
from typing import Any, Final

from onnxpad.file.wire import Record
from onnxpad.graph.initializers import Constants
from onnxpad.graph.model import Model, State
from onnxpad.graph.nodes import (
    Entry,
    Initializer,
    Node,
    Tensor,
    Use,
    View,
    captures,
    describe,
    take_defaults,
)

_NAME: Final = attrgetter("name")
_KNOWN: Final = frozenset({"Constant", "Identity"})
"""Operators of whose results something is kept."""


class Edits(View):
    """The elementary edits of one graph: each records what undoes it.

    Attributes:
        model: The model, with the journal and the names in use.
    """

    model: Model
    _constants: Constants
    _pinned: frozenset[str]

    def _record(self, undo: Callable[..., object], *arguments: object) -> None:
        self.model.journal.record(undo, *arguments)
        self.model.journal.inner += not self.is_main
        self.edited = True
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

    def _change(self, node: Node, state: State, *, stays: bool = True) -> None:
        """Makes a node another one, or removes it."""
        entry, was = self.entries[id(node)], state_of(node)
        self.model.journal.touch(self, node, was)
        self._record(self._become, entry, was, entry.alive)
        self._become(entry, state, stays and entry.alive)

    def _become(self, entry: Entry, state: State, is_alive: bool) -> None:
        """Makes a node what a state says, in the graph or out of it."""
        node, was_alive = entry.node, entry.alive
        op, attrs, domain, inputs, outputs = state
        is_same = attrs is node.attrs and op == node.op and domain == node.domain
        reads_same = inputs == tuple(node.inputs)
        moves = was_alive != is_alive
        entry.alive = is_alive
        entry.touched |= not moves
        node.reading = None
        if node.op in _KNOWN:
            self._forget_values(node)
        if moves:
            previous, following = entry.previous, entry.next
            previous.next = entry if is_alive else following
            following.previous = entry if is_alive else previous
        for tensor in entry.captures if was_alive and (moves or not is_same) else ():
            self._unread(node, -1, tensor)
        if moves or not reads_same:
            reads = zip_longest(node.inputs if was_alive else (), inputs if is_alive else ())
            for index, (before, after) in enumerate(reads):
                if before is not after and before is not None:
                    self._unread(node, index, before)
                if before is not after and after is not None:
                    self._read(node, index, after)
        if moves or outputs != tuple(node.outputs):
            writes = zip_longest(node.outputs if was_alive else (), outputs if is_alive else ())
            for before, after in writes:
                if before is not after:
                    self._write(node, before, after)
        is_other = not (reads_same or _left_out(inputs) == _left_out(node.inputs))
        node.op, node.attrs, node.domain = op, attrs, domain
        node.inputs[:], node.outputs[:] = inputs, outputs
        if is_other or not is_same:
            self.share(node)
        if not is_same:
            entry.captures = captures(entry, self.tensors)
        for tensor in entry.captures if is_alive and (moves or not is_same) else ():
            self._read(node, -1, tensor)
        if op in _KNOWN:
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
            copies = (copy for use in tensor.uses.values() for copy in use.node.outputs)
            pending += (copy for copy in copies if copy.origin is not None)

    def _insert(self, node: Node, before: Node, *, fresh_name: bool, like: Node | None) -> None:
        """Inserts a node that is not yet registered with its inputs and outputs.

        Args:
            node: The node; its outputs have fresh names.
            before: The node in front of which it goes.
            fresh_name: Whether its own name is fresh too.
            like: The node whose notes (`doc_string`, `metadata_props`) it gets, if any.
        """
        entries = self.entries
        follower = entries[id(before)]
        if not follower.alive:
            raise ValueError(f"node '{describe(before)}' is gone")
        entry = Entry(node, None, None if like is None else entries[id(like)], alive=False)
        entry.previous, entry.next = follower.previous, follower
        entries[id(node)] = entry
        self.share(node)
        self._record(self._uninsert, node, fresh_name)
        state = state_of(node)
        self.model.journal.touch(self, node, None)
        self._record(self._become, entry, state, False)
        self._become(entry, state, True)
        self._suspect(node.outputs)

    def _uninsert(self, node: Node, fresh_name: bool) -> None:
        del self.entries[id(node)]
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
        alive = self.entries[id(node)].alive
        if not alive or not all(map(self._is_unused, node.outputs)):
            raise ValueError(f"node '{describe(node)}' is in use or gone")
        self._change(node, state_of(node), stays=False)

    # Initializers

    def _add_initializer(self, tensor: Tensor, initializer: Initializer) -> None:
        """Adds a constant, whose name is fresh."""
        self.added.append(tensor.name)
        self._record(self._unadd_initializer, tensor)
        self._hold(tensor, initializer)
        self._suspect([tensor])

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
            self._change(node, state_of(node), stays=False)
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
        use = Use(node, index)
        tensor.uses[use] = use

    def _unread(self, node: Node, index: int, tensor: Tensor) -> None:
        del tensor.uses[node, index]
        self._suspect([tensor])
        if tensor.outer is not None and not self.is_read(tensor):
            self._capture(tensor.outer, -1)

    def _capture(self, tensor: Tensor, more: int) -> None:
        """Tells the graph around that one more body (1), or one less (-1), reads its tensor."""
        assert self.outer is not None
        around, owner = self.outer
        assert isinstance(around, Edits)
        before = owner.captures.pop(tensor, 0)
        if before + more > 0:
            owner.captures[tensor] = before + more
        if owner.alive and not before and more > 0:
            around._read(owner.node, -1, tensor)
        elif owner.alive and before and before + more <= 0:
            around._unread(owner.node, -1, tensor)

    def _suspect(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            self.model.journal.suspects[tensor] = self

    def _forget(self, tensor: Tensor, records: tuple[Record, ...]) -> None:
        del self.tensors[tensor.name]
        self.gone[tensor.name] = records
        self._constants.forget(tensor)


def state_of(node: Node) -> State:
    """All of a node that edits change."""
    return node.op, node.attrs, node.domain, tuple(node.inputs), tuple(node.outputs)


def _left_out(tensors: Sequence[Tensor]) -> list[bool]:
    """Which tensors are there."""
    return [*map(bool, map(_NAME, tensors))]
