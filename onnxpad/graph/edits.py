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


class Edits:
    """The elementary edits of one graph: each records what undoes it."""

    def __init__(
        self,
        model: Model,
        view: View,
        constants: Constants,
        pinned: frozenset[str],
        outer: Edits | None,
    ) -> None:
        """Edits a graph.

        Args:
            model: The model, with the journal and the names in use.
            view: The graph.
            constants: Its constants, whose cache edits invalidate.
            pinned: Names of tensors, besides the inputs, that stay although no node reads them.
            outer: For a body, the edits of the graph around it.
        """
        self.model = model
        self._view = view
        self._constants = constants
        self._pinned = pinned
        self._outer = outer

    def _record(self, undo: Callable[..., object], *arguments: object) -> None:
        view = self._view
        self.model.journal.record(undo, *arguments)
        self.model.journal.inner += not view.is_main
        view.touched = True
        while view.outer is not None:
            view, owner = view.outer
            view.touched = owner.touched = True

    # Declarations

    def take_defaults(self) -> None:
        """Takes the initializers that are also inputs as constants, which no caller overrides."""
        view = self._view
        if taken := view.inputs.keys() & view.initializers.keys():
            self._record(self._give_defaults, view.inputs, view.initializers, view.trusted)
            view.inputs, view.initializers = {**view.inputs}, {**view.initializers}
            view.trusted |= taken
            take_defaults(view)

    def _give_defaults(self, *before: Any) -> None:
        self._view.inputs, self._view.initializers, self._view.trusted = before

    def undeclare(self, tensor: Tensor) -> None:
        """Drops the `value_info` of a tensor."""
        if tensor.name not in self._view.undeclared:
            self._view.undeclared.add(tensor.name)
            self._record(self._view.undeclared.discard, tensor.name)

    # Nodes

    def _change(self, node: Node, state: State, *, stays: bool = True) -> None:
        """Makes a node another one, or removes it."""
        entry, was = self._view.entries[id(node)], state_of(node)
        self.model.journal.touch(self._view, node, was)
        self._record(self._become, entry, was, entry.alive)
        self._become(entry, state, stays and entry.alive)

    def _become(self, entry: Entry, state: State, is_alive: bool) -> None:
        """Makes a node what a state says, in the graph or out of it."""
        node, was_alive = entry.node, entry.alive
        op, attrs, domain, inputs, outputs = state
        is_same = attrs is node.attrs and op == node.op and domain == node.domain
        is_other = not is_same or _left_out(inputs) != _left_out(node.inputs)
        moves = was_alive != is_alive
        entry.alive = is_alive
        entry.touched |= not moves
        node.reading = None
        self._forget_values(node)
        if moves:
            previous, following = entry.previous, entry.next
            previous.next = entry if is_alive else following
            following.previous = entry if is_alive else previous
        for tensor in entry.captures if was_alive and (moves or not is_same) else ():
            self._unread(node, -1, tensor)
        old = node.inputs if was_alive else ()
        for index, pair in enumerate(zip_longest(old, inputs if is_alive else ())):
            if pair[0] is not pair[1]:
                self._exchange(node, index, *pair)
        old = node.outputs if was_alive else ()
        for before, after in zip_longest(old, outputs if is_alive else ()):
            if before is not after:
                self._write(node, before, after)
        node.op, node.attrs, node.domain = op, attrs, domain
        node.inputs[:], node.outputs[:] = inputs, outputs
        if is_other:
            self._view.share(node)
        if not is_same:
            entry.captures = captures(entry, self._view.tensors)
        for tensor in entry.captures if is_alive and (moves or not is_same) else ():
            self._read(node, -1, tensor)
        self._forget_values(node)

    def _exchange(self, node: Node, index: int, old: Tensor | None, new: Tensor | None) -> None:
        """Replaces an input of a node by another tensor."""
        if old is not None:
            self._unread(node, index, old)
        if new is not None:
            self._read(node, index, new)

    def _write(self, node: Node, old: Tensor | None, new: Tensor | None) -> None:
        """Replaces an output of a node by another tensor."""
        if old is not None:
            old.producer = None
            if old.name:
                self._forget(old, ())
        if new is not None:
            new.producer = node
            if new.name:
                self._view.tensors[new.name] = new
                self._view.gone.pop(new.name, None)

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
        entries = self._view.entries
        follower = entries[id(before)]
        if not follower.alive:
            raise ValueError(f"node '{describe(before)}' is gone")
        entry = Entry(node, None, None if like is None else entries[id(like)], alive=False)
        entry.previous, entry.next = follower.previous, follower
        entries[id(node)] = entry
        self._view.share(node)
        self._record(self._uninsert, node, fresh_name)
        state = state_of(node)
        self.model.journal.touch(self._view, node, None)
        self._record(self._become, entry, state, False)
        self._become(entry, state, True)
        self._suspect(node.outputs)

    def _uninsert(self, node: Node, fresh_name: bool) -> None:
        del self._view.entries[id(node)]
        for tensor in reversed(node.outputs):
            if tensor.name:
                del self._view.gone[tensor.name]
                self.model.names.release(tensor.name)
        if fresh_name:
            self.model.names.release(node.name)

    def remove(self, node: Node) -> None:
        """Removes a node whose outputs nothing reads.

        Raises:
            ValueError: Something reads one, or the node is not in the graph.
        """
        alive = self._view.entries[id(node)].alive
        if not alive or not all(map(self._is_unused, node.outputs)):
            raise ValueError(f"node '{describe(node)}' is in use or gone")
        self._change(node, state_of(node), stays=False)

    # Initializers

    def _add_initializer(self, tensor: Tensor, initializer: Initializer) -> None:
        """Adds a constant, whose name is fresh."""
        self._view.added.append(tensor.name)
        self._record(self._unadd_initializer, tensor)
        self._hold(tensor, initializer)
        self._suspect([tensor])

    def _unadd_initializer(self, tensor: Tensor) -> None:
        self._hold(tensor, None)
        self._view.added.pop()
        del self._view.gone[tensor.name]
        self.model.names.release(tensor.name)

    def _hold(self, tensor: Tensor, initializer: Initializer | None) -> None:
        """Gives a tensor its initializer, or (None) takes it away."""
        view, name = self._view, tensor.name
        if initializer is None:
            self._forget(tensor, view.initializers.pop(name).records)
        else:
            view.tensors[name], view.initializers[name] = tensor, initializer
            view.gone.pop(name, None)

    def _drop(self, tensor: Tensor) -> Node | None:
        """Removes the node or initializer of a tensor that nothing reads; returns the node."""
        view = self._view
        if view.tensors.get(tensor.name) is not tensor or not self._is_unused(tensor):
            return None
        if tensor.name in view.initializers:
            self._record(self._hold, tensor, view.initializers[tensor.name])
            self._hold(tensor, None)
        elif (node := tensor.producer) and all(map(self._is_unused, node.outputs)):
            self._change(node, state_of(node), stays=False)
            return node
        return None

    def _is_pinned(self, tensor: Tensor) -> bool:
        """Whether something other than a node refers to a tensor by its name."""
        return tensor.name in self._pinned or tensor.name in self._view.inputs

    def _is_unused(self, tensor: Tensor) -> bool:
        """Whether nothing reads a tensor or refers to it."""
        return not tensor.name or not (tensor.uses or self._is_pinned(tensor))

    def _read(self, node: Node, index: int, tensor: Tensor) -> None:
        if tensor.outer is not None and not self._view.is_read(tensor):
            self._capture(tensor.outer, 1)
        use = Use(node, index)
        tensor.uses[use] = use

    def _unread(self, node: Node, index: int, tensor: Tensor) -> None:
        del tensor.uses[node, index]
        self._suspect([tensor])
        if tensor.outer is not None and not self._view.is_read(tensor):
            self._capture(tensor.outer, -1)

    def _capture(self, tensor: Tensor, more: int) -> None:
        """Tells the graph around that one more body (1), or one less (-1), reads its tensor."""
        assert self._outer is not None
        assert self._view.outer is not None
        _, owner = self._view.outer
        before = owner.captures.pop(tensor, 0)
        if before + more > 0:
            owner.captures[tensor] = before + more
        if owner.alive and not before and more > 0:
            self._outer._read(owner.node, -1, tensor)
        elif owner.alive and before and before + more <= 0:
            self._outer._unread(owner.node, -1, tensor)

    def _suspect(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            self.model.journal.suspects[tensor] = self

    def _forget(self, tensor: Tensor, records: tuple[Record, ...]) -> None:
        del self._view.tensors[tensor.name]
        self._view.gone[tensor.name] = records
        self._constants.forget(tensor)


def state_of(node: Node) -> State:
    """All of a node that edits change."""
    return node.op, node.attrs, node.domain, tuple(node.inputs), tuple(node.outputs)


def _left_out(tensors: Sequence[Tensor]) -> list[bool]:
    """Which tensors are there."""
    return [*map(bool, map(_NAME, tensors))]
