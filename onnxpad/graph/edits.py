"""Edits of one graph of a model, which can be undone.

The cost of an edit does not grow with the graph: no list of nodes or consumers is ever searched.
Initializers are edited with the graph that they are in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final, cast

import numpy as np

from onnxpad.file.skeleton import Record
from onnxpad.graph.model import Model, State
from onnxpad.graph.nodes import Initializer, Node, Tensor, View, captures, describe, take_defaults

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
    _pinned: frozenset[str]
    _values: dict[Tensor, np.ndarray[Any, Any] | None]

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
                self._values.pop(tensor, None)
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
        self._values.pop(tensor, None)


def state_of(node: Node) -> State:
    """All of a node that edits change."""
    return node.op, node.attrs, node.domain, node.inputs, node.outputs


def swept() -> None:
    """Stands in the journal where what was unused was removed; undoes nothing."""
