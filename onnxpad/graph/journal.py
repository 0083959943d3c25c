"""Edits of the graphs of a model, which can be undone.

The cost of an edit does not grow with the graph: no list of nodes or consumers is ever searched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from onnxpad.file.proto_walk import Names
from onnxpad.file.wire import Record
from onnxpad.graph.initializers import Constants
from onnxpad.graph.nodes import (
    Declared,
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

Was: TypeAlias = tuple[str, Mapping[str, Any], str | None, Sequence[Tensor], Sequence[Tensor]]
"""Operator, attributes, domain, inputs and outputs of a node as it was."""


class Touched(NamedTuple):
    """A node that an edit touched.

    Attributes:
        node: The node, as it is now.
        was: The node as it was; None if it was inserted, or if its body, or a function that it may
            run, was edited.
        again: Whether it was edited more than once.
    """

    node: Node
    was: Was | None
    again: bool = False

    @property
    def before(self) -> Node | None:
        """A copy of the node as it was."""
        if self.was is None:
            return None
        op, attributes, domain, inputs, outputs = self.was
        node = Node(op, self.node.name, attributes, domain)
        node.inputs, node.outputs = list(inputs), list(outputs)
        return node


class Journal:
    """The edits of all graphs of a model, in order, with the functions that undo them.

    Attributes:
        count: A number that grows with edits made or undone: while it stays, so does the model.
        inner: The number of those in bodies and functions that were made.
        declared: The number of those that declared another shape of an input.
        undone: The points to which edits were undone.
        settled: The count when the round of passes began that is under way.
        suspects: Tensors that lost a use since the last sweep, with the `Edits` of their graph.
    """

    def __init__(self) -> None:
        """Starts without edits."""
        self.count = 0
        self.inner = 0
        self.declared = 0
        self.undone: list[int] = []
        self.settled = 0
        self.suspects: dict[Tensor, Edits] = {}
        self._steps: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self._touched: list[tuple[int, View, Node, Was | None]] = []

    def mark(self) -> int:
        """A point to roll back to."""
        return len(self._steps)

    def rollback(self, mark: int) -> None:
        """Undoes everything since a mark, the latest first."""
        self.undone.append(mark)
        while len(self._steps) > mark:
            self.count += 1
            undo, arguments = self._steps.pop()
            undo(*arguments)
        while self._touched and self._touched[-1][0] >= mark:
            self._touched.pop()

    def touch(self, view: View, node: Node, *, was_there: bool = True) -> None:
        """Stores what a node is before an edit of it."""
        inputs, outputs = tuple(node.inputs), tuple(node.outputs)
        was = (node.op, node.attrs, node.domain, inputs, outputs) if was_there else None
        self._touched.append((len(self._steps), view, node, was))

    def touched(self, mark: int) -> list[tuple[int, View, Node, Was | None]]:
        """The nodes that edits since a mark touched, in all graphs, once for each edit."""
        touched = self._touched
        start = len(touched)
        while start and touched[start - 1][0] >= mark:
            start -= 1
        return touched[start:]

    def record(self, undo: Callable[..., object], *arguments: object) -> None:
        """Stores the function that undoes an edit, and what that is given."""
        self.count += 1
        self._steps.append((undo, arguments))

    def sweep(self) -> tuple[str, ...]:
        """Removes what edits since the last sweep left unused; returns the nodes' names."""
        removed: list[str] = []
        self.record(setattr, self, "suspects", self.suspects)
        while self.suspects:
            suspects, self.suspects = self.suspects, {}
            for tensor, edits in suspects.items():
                removed += edits.drop(tensor)
        return tuple(removed)


class Edits:
    """The elementary edits of one graph.

    Methods whose names begin with an underscore do not write to the journal: others record them, or
    use them to undo.
    """

    def __init__(
        self,
        journal: Journal,
        view: View,
        constants: Constants,
        names: Callable[[], Names],
        pinned: frozenset[str],
        label: Callable[[Node], str],
        outer: Edits | None = None,
    ) -> None:
        """Edits a graph.

        Args:
            journal: The journal of the model.
            view: The graph.
            constants: Its constants, whose cache edits invalidate.
            names: Returns the names in use in the model.
            pinned: Names of tensors, besides the inputs, that stay although no node reads them.
            label: Returns the label of a node in reports.
            outer: For a body, the edits of the graph around it.
        """
        self._journal = journal
        self._view = view
        self._constants = constants
        self._names = names
        self._pinned = pinned
        self._label = label
        self._outer = outer
        self._is_inner = not view.is_main

    def _record(self, undo: Callable[..., object], *arguments: object) -> None:
        self._journal.record(undo, *arguments)
        if self._is_inner:
            self._journal.inner += 1
        view: View | None = self._view
        while view is not None and not (view.touched and view.outer is None):
            view.touched = True
            view, owner = view.outer or (None, None)
            if owner is not None:
                owner.touched = True

    def declare(self, name: str, shape: tuple[int | str | None, ...]) -> None:
        """Changes the declared shape of an input."""
        before = self._view.inputs[name]
        if before.shape != shape:
            self._view.inputs[name] = before._replace(shape=shape)
            self._record(self._view.inputs.__setitem__, name, before)
            self._journal.declared += 1

    def take_defaults(self) -> None:
        """Takes the initializers that are also inputs as constants."""
        view = self._view
        if taken := view.inputs.keys() & view.initializers.keys():
            self._record(self._give_defaults, view.inputs, view.initializers, view.trusted)
            view.inputs, view.initializers = {**view.inputs}, {**view.initializers}
            view.trusted |= taken
            take_defaults(view)

    def _give_defaults(self, *before: Any) -> None:
        self._view.inputs, self._view.initializers, self._view.trusted = before

    def declare_output(self, name: str, declared: Declared) -> None:
        """Changes the declared shape of an output."""
        before = self._view.redeclared_outputs
        self._view.redeclared_outputs = {**before, name: declared}
        self._record(setattr, self._view, "redeclared_outputs", before)

    def undeclare(self, name: str) -> None:
        """Drops the value_info of a tensor."""
        if name not in self._view.undeclared:
            self._view.undeclared.add(name)
            self._record(self._view.undeclared.discard, name)

    def put(self, node: Node, index: int, tensor: Tensor | None) -> None:
        """Sets an input, appends one at the end, or (None) removes the last one."""
        before = node.inputs[index] if index < len(node.inputs) else None
        self._journal.touch(self._view, node)
        self._put(node, index, tensor)
        self._record(self._put, node, index, before)

    def _put(self, node: Node, index: int, tensor: Tensor | None) -> None:
        before = node.inputs[index : index + 1]
        if before:
            self._unread(node, index, *before)
        if tensor is None:
            node.inputs.pop()
        else:
            # Assigned as a slice, it replaces an input or appends one.
            node.inputs[index : index + 1] = [tensor]
            self._read(node, index, tensor)
        self._edited(node)
        if tensor is None or not before or bool(tensor.name) != bool(before[0].name):
            self._view.share(node)

    def set_operator(
        self, node: Node, op: str, domain: str | None, values: Mapping[str, object]
    ) -> None:
        """Turns a node into another operator, or gives it other attributes."""
        before = node.op, node.domain, node.attrs
        self._journal.touch(self._view, node)
        self._set_operator(node, op, domain, values)
        self._record(self._set_operator, node, *before)

    def _set_operator(
        self, node: Node, op: str, domain: str | None, values: Mapping[str, object]
    ) -> None:
        entry = self._edited(node)
        node.op, node.domain, node.attrs = op, domain, values
        self._view.share(node)
        for tensor in entry.captures:
            self._unread(node, -1, tensor)
        entry.captures = captures(entry, self._view.tensors)
        for tensor in entry.captures:
            self._read(node, -1, tensor)
        self._forget_origins(node)

    def _edited(self, node: Node) -> Entry:
        """Marks a node as edited, and returns its entry."""
        entry = self._view.entries[id(node)]
        entry.touched = True
        node.reading = None
        for tensor in node.outputs if node.op == "Constant" else ():
            self._constants.forget(tensor)
        self._forget_origins(node)
        return entry

    def _forget_origins(self, node: Node) -> None:
        """Clears the cached origins of an Identity's output and of copies of it."""
        pending = list(node.outputs) if node.op == "Identity" else []
        while pending:
            tensor = pending.pop()
            tensor.origin = None
            copies = (copy for use in tensor.uses.values() for copy in use.node.outputs)
            pending += (copy for copy in copies if copy.origin is not None)

    def insert(
        self, node: Node, before: Node, *, fresh_name: bool = True, like: Node | None = None
    ) -> None:
        """Inserts a node that is not yet registered with its inputs and outputs.

        Args:
            node: The node; its outputs have fresh names.
            before: The node in front of which it goes.
            fresh_name: Whether its own name is fresh too.
            like: The node whose notes (`doc_string`, `metadata_props`) it gets, if any.
        """
        follower = self._view.entries[id(before)]
        if not follower.alive:
            raise ValueError(f"node '{describe(before)}' is gone")
        entry = Entry(node, like=None if like is None else self._view.entries[id(like)])
        entry.previous, entry.next = follower.previous, follower
        self._view.entries[id(node)] = entry
        self._view.share(node)
        self._journal.touch(self._view, node, was_there=False)
        self._attach(entry)
        self._record(self._uninsert, entry, node.name if fresh_name else None)
        self._suspect(node.outputs)

    def _uninsert(self, entry: Entry, fresh_name: str | None) -> None:
        self._detach(entry)
        del self._view.entries[id(entry.node)]
        for tensor in reversed(entry.node.outputs):
            if tensor.name:
                del self._view.gone[tensor.name]
                self._names().release(tensor.name)
        if fresh_name is not None:
            self._names().release(fresh_name)

    def remove(self, node: Node) -> None:
        """Removes a node whose outputs nothing reads."""
        entry = self._view.entries[id(node)]
        if not entry.alive or not all(map(self.is_unused, node.outputs)):
            raise ValueError(f"node '{describe(node)}' is in use or gone")
        self._remove(entry)

    def _remove(self, entry: Entry) -> None:
        self._journal.touch(self._view, entry.node)
        self._detach(entry)
        self._record(self._attach, entry)

    def _attach(self, entry: Entry) -> None:
        """Links a node between its neighbours, and registers it with its tensors."""
        node = entry.node
        entry.alive = True
        entry.previous.next = entry.next.previous = entry
        for index, tensor in enumerate(node.inputs):
            self._read(node, index, tensor)
        for tensor in entry.captures:
            self._read(node, -1, tensor)
        for tensor in node.outputs:
            tensor.producer = node
            if tensor.name:
                self._view.tensors[tensor.name] = tensor
                self._view.gone.pop(tensor.name, None)
        self._forget_origins(node)

    def _detach(self, entry: Entry) -> None:
        """The reverse of `_attach`; the node keeps its lists of inputs and outputs."""
        entry.alive = False
        entry.previous.next, entry.next.previous = entry.next, entry.previous
        for index, tensor in enumerate(entry.node.inputs):
            self._unread(entry.node, index, tensor)
        for tensor in entry.captures:
            self._unread(entry.node, -1, tensor)
        for tensor in entry.node.outputs:
            tensor.producer = None
            if tensor.name:
                self._forget(tensor, ())
        self._forget_origins(entry.node)

    def absorb(self, copying: Node, source: Node, original: Tensor) -> None:
        """Removes a node that copies a tensor; the node that wrote it now writes the copy."""
        (copy,) = copying.outputs
        for use in tuple(original.uses.values()):
            if use.node is not copying:
                self.put(use.node, use.index, copy)
        self._journal.touch(self._view, copying)
        self._journal.touch(self._view, source)
        self._absorb(copying, source, original)
        self._record(self._unabsorb, copying, source, original)

    def _absorb(self, copying: Node, source: Node, original: Tensor) -> None:
        (copy,) = copying.outputs
        self._detach(self._view.entries[id(copying)])
        self._forget(original, ())
        self._give(source, original, copy)

    def _unabsorb(self, copying: Node, source: Node, original: Tensor) -> None:
        (copy,) = copying.outputs
        self._constants.forget(copy)
        self._give(source, copy, original)
        self._attach(self._view.entries[id(copying)])

    def _give(self, source: Node, old: Tensor, new: Tensor) -> None:
        """Replaces an output of a node by another tensor."""
        place = next(index for index, tensor in enumerate(source.outputs) if tensor is old)
        old.producer = None
        source.outputs[place] = new
        new.producer = source
        self._view.tensors[new.name] = new
        self._view.gone.pop(new.name, None)
        self._edited(source)

    def add_initializer(self, tensor: Tensor, initializer: Initializer) -> None:
        """Adds a constant."""
        self._view.added.append(tensor.name)
        self._restore_initializer(tensor, initializer)
        self._record(self._unadd_initializer, tensor)
        self._suspect([tensor])

    def _unadd_initializer(self, tensor: Tensor) -> None:
        self._remove_initializer(tensor)
        self._view.added.pop()
        del self._view.gone[tensor.name]
        self._names().release(tensor.name)

    def remove_initializer(self, tensor: Tensor) -> None:
        """Removes a constant that nothing reads."""
        initializer = self._remove_initializer(tensor)
        self._record(self._restore_initializer, tensor, initializer)

    def _remove_initializer(self, tensor: Tensor) -> Initializer:
        initializer = self._view.initializers.pop(tensor.name)
        self._forget(tensor, initializer.records)
        return initializer

    def _restore_initializer(self, tensor: Tensor, initializer: Initializer) -> None:
        self._view.tensors[tensor.name] = tensor
        self._view.initializers[tensor.name] = initializer
        self._view.gone.pop(tensor.name, None)

    def drop(self, tensor: Tensor) -> Sequence[str]:
        """Removes the node or initializer of a tensor that nothing reads; returns a node's name."""
        known = self._view.tensors.get(tensor.name)
        if known is not tensor or not self.is_unused(tensor):
            return ()
        if tensor.name in self._view.initializers:
            self.remove_initializer(tensor)
        elif (node := tensor.producer) and all(map(self.is_unused, node.outputs)):
            self._remove(self._view.entries[id(node)])
            return (self._label(node),)
        return ()

    def is_pinned(self, tensor: Tensor) -> bool:
        """Whether something other than a node refers to a tensor by its name."""
        return tensor.name in self._pinned or tensor.name in self._view.inputs

    def is_unused(self, tensor: Tensor) -> bool:
        """Whether nothing reads a tensor or refers to it."""
        return not tensor.name or not (tensor.uses or self.is_pinned(tensor))

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

    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor of this body with the name of one of the graph around; added if missing."""
        known = self._view.tensors.get(tensor.name)
        if known is None:
            known = Tensor(tensor.name)
            known.outer = tensor
            self._view.tensors[tensor.name] = known
            self._record(self._view.tensors.pop, tensor.name)
        return known

    def _suspect(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            self._journal.suspects[tensor] = self

    def _forget(self, tensor: Tensor, records: tuple[Record, ...]) -> None:
        del self._view.tensors[tensor.name]
        self._view.gone[tensor.name] = records
        self._constants.forget(tensor)
