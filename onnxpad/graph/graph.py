"""The graph of a model, to read and to edit, and the way back to a file.

Edits go through `Graph`, never through graphsurgeon's lists: each is journaled, so that it can be
undone, and only what differs in the end is written; all else is copied byte for byte.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import numpy_helper

from onnxpad.arguments import Source
from onnxpad.errors import ModelError, OutputError, UsageError
from onnxpad.file.atomic_write import write_whole
from onnxpad.file.copy_external import ExternalData, Progress, behind_links, contents, follow_links
from onnxpad.file.external_data import check_external
from onnxpad.file.proto_walk import (
    Scope,
    bodies,
    function_scopes,
    inner_scopes,
    inner_tensors,
    operators,
)
from onnxpad.file.skeleton import Skeleton, read_bytes, read_file, read_proto
from onnxpad.graph import attributes
from onnxpad.graph.encode import (
    Differences,
    differences,
    is_edited,
    node_proto,
    outline,
    working_copy,
)
from onnxpad.graph.fresh_names import Names, pinned
from onnxpad.graph.initializers import Constants, whole_initializer
from onnxpad.graph.journal import Edits, Touched
from onnxpad.graph.nodes import (
    Declared,
    Initializer,
    Node,
    Tensor,
    Use,
    build,
    declaration,
    describe,
)
from onnxpad.process import gc_pause

__all__ = ["Declared", "ExternalData", "Graph", "Node", "Tensor", "Use", "describe"]

SHARE_LIMIT: Final = 1024
"""Bytes up to which equal initializers that are added become one."""

_DEFAULT_DOMAINS: Final = (None, "", "ai.onnx")


class Graph:
    """The graph of a model and the edits made to it.

    Attributes:
        path: The file it comes from, or None.
        ir_version: Of the model.
        opsets: Version of each operator set that the model imports; the default one is "".
        opset: Version of the default one; 0 if the model does not import it.
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
        self.opset = self.opsets.get("", 0)
        self.outputs = frozenset(value.name for value in model.graph.output)
        self.has_external_data = bool(skeleton.external)
        folder = path.parent if path else None
        if path:
            check_external(skeleton.external, path)
        self._skeleton = skeleton
        self._functions = {item.name for item in model.functions if item.domain in _DEFAULT_DOMAINS}
        self._view = build(skeleton)
        self.inputs = self._view.inputs
        self._constants = Constants(skeleton, self._view, self.is_standard, folder)
        stay = self.outputs | self.inputs.keys() | pinned(model)
        self._edits = Edits(self._view, self._constants, lambda: self._names, stay)
        self._different: tuple[int, Differences] | None = None
        self._shared: dict[tuple[str, tuple[int, ...], bytes], Tensor] = {}
        self._check_opset()
        self._check_identities()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Graph":
        """The graph of a model file.

        Raises:
            ModelError: The file cannot be read, is no valid model, or lacks its external data.
        """
        file = Path(path)
        with gc_pause.paused():
            skeleton = read_file(file)
            with _one_line(f"{file}: "):
                return cls(skeleton, file)

    @classmethod
    def from_proto(cls, proto: onnx.ModelProto) -> "Graph":
        """The graph of a model in memory, which is never changed.

        Raises:
            ModelError: It is no valid model, or over 2 GiB.
        """
        if not isinstance(proto, onnx.ModelProto):
            raise UsageError(f"expected a path or an onnx.ModelProto, got {type(proto).__name__}")
        with gc_pause.paused(), _one_line(""):
            return cls(read_proto(proto), None)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Graph":
        """The graph of a serialised model.

        Raises:
            ModelError: It is no valid model.
        """
        with gc_pause.paused(), _one_line(""):
            return cls(read_bytes(memoryview(data), "the model"), None)

    @classmethod
    def read(cls, source: Source) -> "Graph":
        """The graph of a model file, of a serialised model or of one in memory.

        Raises:
            ModelError: It is no valid model.
        """
        if isinstance(source, Path):
            return cls.load(source)
        return cls.from_bytes(source) if isinstance(source, bytes) else cls.from_proto(source)

    def pristine(self) -> "Graph":
        """The graph as it came, without the edits made since."""
        with gc_pause.paused():
            return type(self)(self._skeleton, self.path)

    # Reading

    @property
    def version(self) -> int:
        """A number that is another after every edit: while it stays, so does the graph."""
        return self._edits.count

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

    def has_node(self, node: Node) -> bool:
        """Whether a node that was in the graph is still there."""
        entry = self._view.entries.get(id(node))
        return entry is not None and entry.alive

    def has_tensor(self, name: str) -> bool:
        """Whether the graph, as it is now, has a tensor of a name."""
        return name in self._view.tensors

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor that was in the graph is still there."""
        return self._view.tensors.get(tensor.name) is tensor

    def producer(self, tensor: Tensor) -> Node | None:
        """The node that computes a tensor; None for inputs and initializers."""
        return tensor.inputs[0] if tensor.inputs else None

    def origin(self, tensor: Tensor) -> Tensor:
        """What a tensor is a copy of: the nearest that no Identity gives, perhaps itself."""
        path = []
        while tensor.origin is None:
            node = self.producer(tensor)
            if node is None or node.op != "Identity" or not self.is_standard(node):
                break
            path.append(tensor)
            tensor = node.inputs[0]
        found = tensor if tensor.origin is None else tensor.origin
        for copy in path:
            copy.origin = found
        return found

    def sources(self, node: Node) -> Sequence[Tensor]:
        """What a node reads: its inputs, and what its bodies read of the graph."""
        return (*node.inputs, *self._view.entries[id(node)].captures)

    def uses(self, tensor: Tensor) -> Sequence[Use]:
        """Where a tensor is read, in no promised order; a copy, so edits do no harm to it."""
        return tuple(tensor.uses.values())

    def is_output(self, tensor: Tensor) -> bool:
        """Whether a tensor is an output of the graph."""
        return tensor.name in self.outputs

    def has_default(self, name: str) -> bool:
        """Whether an input is an initializer too, so that a caller may leave it out."""
        return name in self._view.initializers

    def is_standard(self, node: Node) -> bool:
        """Whether a node is the ONNX operator of its name, not a custom one or a function."""
        return node.domain in _DEFAULT_DOMAINS and node.op not in self._functions

    def is_function(self, node: Node) -> bool:
        """Whether a node calls a function of the model."""
        if node.domain in _DEFAULT_DOMAINS:
            return node.op in self._functions
        functions = self._skeleton.light.functions
        return any((each.domain, each.name) == (node.domain, node.op) for each in functions)

    def inner_operators(self, node: Node) -> frozenset[str]:
        """The operators in the bodies of a node, or in the function that it calls."""
        functions = {(each.domain, each.name): each for each in self._skeleton.light.functions}
        held: list[onnx.NodeProto] = []
        for value in node.attrs.values():
            if isinstance(value, onnx.AttributeProto):
                held += (inner for body in bodies(value) for inner in body.node)
        function = functions.get((node.domain or "", node.op))
        if function is not None:
            held += function.node
        return frozenset(operators(held, functions))

    def scopes(self) -> Iterator[tuple[Node, Scope]]:
        """The bodies of nodes, and those inside them, each with the node of this graph."""
        for node in self.nodes:
            for value in node.attrs.values():
                if isinstance(value, onnx.AttributeProto):
                    yield from ((node, scope) for scope in inner_scopes([value]))

    def function_scopes(self) -> Iterator[tuple[str, Scope]]:
        """The functions of the model, and the bodies inside them, each with the function's name."""
        for function in self._skeleton.light.functions:
            name = f"{function.domain}::{function.name}" if function.domain else function.name
            for scope in function_scopes(function):
                yield name, scope

    def label(self, node: Node) -> str:
        """The name of a node, or that of its first output in angle brackets."""
        return describe(node)

    def notes(self, node: Node) -> dict[object, Any]:
        """Room to keep what was worked out of a node alone; empty again after an edit of it."""
        notes: dict[object, Any] = node.notes
        return notes

    def is_new(self, node: Node) -> bool:
        """Whether a node was not in the file."""
        return self._view.entries[id(node)].record is None

    def is_edited(self, node: Node) -> bool:
        """Whether a node was not in the file, or differs from what is there."""
        return is_edited(self._skeleton, self._view.entries[id(node)])

    def declared(self, tensor: Tensor) -> Declared | None:
        """Type and shape of a graph input, an initializer or a Constant; None for all else.

        What value_info and graph outputs declare is enforced by nobody, so it does not count.
        """
        return self._constants.declared(tensor)

    def constant(self, tensor: Tensor) -> np.ndarray[Any, Any] | None:
        """The value of an initializer or a Constant, read-only; None where it is not known.

        That is so for what a caller may override, for sparse and long (over 4,096 elements)
        tensors, and for external ones of a model that has no path.

        Raises:
            ModelError: Its elements do not fit its shape, or cannot be read.
        """
        return self._constants.value(tensor)

    def is_external(self, tensor: Tensor) -> bool:
        """Whether the elements of an initializer or a Constant lie in another file."""
        return self.has_external_data and self._constants.is_external(tensor)

    # Edits

    def declare(self, name: str, shape: tuple[int | str | None, ...]) -> None:
        """Has an input declare another shape: numbers, names, and None for what is open.

        What outputs and value_info say of it stays as it is.
        """
        self._edits.declare(name, shape)

    def claims(self) -> Iterator[tuple[Tensor, tuple[int | str | None, ...]]]:
        """What value_info says of the shapes of tensors, which nobody enforces."""
        for value in self._skeleton.light.graph.value_info:
            shape = declaration(value).shape
            if shape is not None and self.has_tensor(value.name):
                yield self.tensor(value.name), shape

    def undeclare(self, tensor: Tensor) -> None:
        """Drops what value_info says of a tensor."""
        self._edits.undeclare(tensor.name)

    def claimed_outputs(self) -> Iterator[tuple[Tensor, tuple[int | str | None, ...]]]:
        """What graph outputs declare of their shapes, which nobody enforces either."""
        for value in self._skeleton.light.graph.output:
            shape = declaration(value).shape
            if shape is not None and self.has_tensor(value.name):
                yield self.tensor(value.name), shape

    def metadata(self, key: str) -> str | None:
        """What the model's metadata says under a key."""
        if key in self._view.metadata:
            return self._view.metadata[key]
        entries = self._skeleton.light.metadata_props
        return next((entry.value for entry in entries if entry.key == key), None)

    def set_metadata(self, key: str, value: str) -> None:
        """Has the model's metadata say something under a key."""
        if self.metadata(key) != value:
            self._edits.note(key, value)

    def set_attribute(self, node: Node, name: str, value: object | None) -> None:
        """Gives a node an attribute: a number, a string or a sequence of one kind; None removes."""
        self.set_attributes(node, {name: value})

    def set_attributes(self, node: Node, changed: Mapping[str, object | None]) -> None:
        """Gives a node several attributes at once, as `set_attribute` does one."""
        values = dict(node.attrs)
        for name, value in changed.items():
            if value is None:
                values.pop(name, None)
            else:
                values[name] = attributes.normal(value)
        self._edits.set_operator(node, node.op, node.domain, values)

    def set_input(self, node: Node, index: int, tensor: Tensor | None) -> None:
        """Has a node read another tensor, or at the end one more; None omits the input.

        Omitting the last input drops it, and omitted ones before it.
        """
        if not 0 <= index <= len(node.inputs):
            raise IndexError(f"node '{describe(node)}' has no input {index}")
        self._edits.put(node, index, tensor or Tensor(""))
        while tensor is None and node.inputs and not node.inputs[-1].name:
            self._edits.put(node, len(node.inputs) - 1, None)

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
        node = Node(op, self._names.fresh(name), _normal(attributes), None)
        output = Tensor(self._names.fresh(f"{node.name}_output"))
        node.inputs.extend(tensor or Tensor("") for tensor in inputs)
        node.outputs.append(output)
        self._edits.insert(node, before)
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
        self._edits.set_operator(node, op, domain, _normal(attributes))
        for index, tensor in enumerate(inputs):
            self._edits.put(node, index, tensor or Tensor(""))
        while len(node.inputs) > len(inputs):
            self._edits.put(node, len(node.inputs) - 1, None)

    def absorb(self, node: Node) -> tuple[str, ...]:
        """Has what computes the input of an Identity give its output instead; says what went.

        The copy is read wherever its original was. Nothing happens where the original has to stay
        under its name, as inputs and outputs of the graph do and what a body reads, or where a body
        has a tensor of the name that the copy has.
        """
        if node.op != "Identity" or not self.is_standard(node):
            return ()
        (original,), (copy,) = node.inputs, node.outputs
        source, uses = self.producer(original), self.uses(original)
        stays = self._edits.is_pinned(original) or any(use.index < 0 for use in uses)
        if source is None or stays or copy.name in self._inner_names:
            return ()
        self._edits.absorb(node, source, original)
        return (describe(node),)

    def add_initializer(self, values: np.ndarray[Any, Any], name: str) -> Tensor:
        """Adds a constant under a fresh name derived from `name`.

        One that was added before and is equal is taken again, if it is small.
        """
        key = None
        if values.nbytes <= SHARE_LIMIT and not values.dtype.hasobject:
            key = (values.dtype.name, values.shape, values.tobytes())
            known = self._shared.get(key)
            if known and self._view.tensors.get(known.name) is known:
                return known
        proto = numpy_helper.from_array(values, self._names.fresh(name))
        tensor = Tensor(proto.name)
        self._edits.add_initializer(tensor, Initializer(proto, values.shape))
        if key:
            self._shared[key] = tensor
        return tensor

    def remove(self, node: Node) -> None:
        """Removes a node whose outputs nothing reads.

        Raises:
            ValueError: Something does.
        """
        self._edits.remove(node)

    def touched(self, mark: int) -> Sequence[Touched]:
        """The nodes that edits since a mark touched, each with what it was at the mark."""
        return self._edits.touched(mark)

    def sweep(self) -> tuple[str, ...]:
        """Removes what edits since the last sweep left without use; says which nodes.

        Initializers and value_info go too. What had no use before these edits stays.
        """
        return self._edits.sweep()

    def mark(self) -> int:
        """A point to roll back to."""
        return self._edits.mark()

    def rollback(self, mark: int) -> None:
        """Undoes every edit made since a mark, sweeps included."""
        self._edits.rollback(mark)

    # Saving

    @property
    def changed(self) -> bool:
        """Whether anything differs from the original; looks at every node once after an edit."""
        return any(self._differences())

    def node_proto(self, node: Node) -> onnx.NodeProto:
        """A node as it would be saved now, with all its elements."""
        return node_proto(self._skeleton, self._view.entries[id(node)])

    def initializer_proto(self, name: str) -> onnx.TensorProto | None:
        """An initializer with its elements; None if there is no dense one of that name."""
        return whole_initializer(self._skeleton, self._view, name)

    def outlines(self) -> tuple[onnx.GraphProto, onnx.GraphProto]:
        """Inputs, nodes and initializers before and after; long tensors lack their elements."""
        return self._skeleton.light.graph, outline(self._skeleton, self._view)

    def working_copy(self, is_fed: Callable[[Tensor], bool]) -> onnx.ModelProto:
        """The model as it is now, with graph inputs in place of long or external constants.

        Only of those that are read beside what is fed, so that what constants alone determine is
        determined as it was.
        """

        def is_cut(name: str) -> bool:
            tensor = self.tensor(name)
            return all(
                any(is_fed(other) for other in self.sources(use.node))
                for use in tensor.uses.values()
            )

        return working_copy(self._skeleton, self._view, is_cut)

    def to_bytes(self) -> bytes:
        """The model, serialised; the original bytes if nothing changed."""
        return b"".join(self._skeleton.splice(*self._differences()))

    def to_proto(self) -> onnx.ModelProto:
        """The model."""
        model = onnx.ModelProto()
        model.ParseFromString(self.to_bytes())
        return model

    def to_run(self) -> tuple[bytes, Path | None]:
        """The model, serialised, and the folder where a runtime finds its external data.

        Without a path nobody knows that folder.
        """
        external = self._skeleton.external
        if self.path is None or not external:
            return self.to_bytes(), None
        if not behind_links(self.path, external):
            return self.to_bytes(), self.path.parent
        model = self.to_proto()
        folder = follow_links(model, self.path)
        return model.SerializeToString(), folder

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: ExternalData = "copy",
        progress: Progress | None = None,
    ) -> tuple[Path, ...]:
        """Saves the model, whole or not at all; says which other files it wrote.

        In the folder of the original it shares the external data. In another one that data is
        copied or linked before the model appears, and on demand it comes inside. A model without
        a path keeps its references as they are.

        Args:
            path: The file to write.
            external_data: `copy`, `link` (hard links) or `inline`.
            progress: Called with a step, how much of it is done, and how much there is.

        Raises:
            UsageError: There is no such choice.
            OutputError: A file cannot be written, or something is in the place of one.
            ModelError: External data cannot be read.
        """
        if not isinstance(path, str | os.PathLike):
            raise UsageError(f"a model is saved to a path, not to {path!r}")
        edits = self._differences()
        target = Path(os.fsdecode(path))
        try:
            files = contents(self._skeleton, self.path, *edits, target, external_data, progress)
            write_whole(files)
        except (OSError, ValueError) as error:  # of what is looked at before anything is written
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"{target} cannot be written: {reason}") from None
        return tuple(file for file in files if file is not target)

    def _differences(self) -> Differences:
        """What differs from the original; kept until the next edit."""
        if self._different is None or self._different[0] != self.version:
            self._different = self.version, differences(self._skeleton, self._view)
        return self._different[1]

    @cached_property
    def _names(self) -> Names:
        return Names(self._skeleton.light)

    @cached_property
    def _inner_names(self) -> frozenset[str]:
        """The names of tensors that bodies have of their own."""
        return frozenset(inner_tensors(self._skeleton.light.graph))

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

    def _check_identities(self) -> None:
        """Raises ModelError where an Identity, which all walks go through, leads nowhere."""
        for node in self.nodes:
            leads = node.op != "Identity" or (node.inputs and node.inputs[0].name)
            if not leads and self.is_standard(node):
                raise ModelError(
                    f"node '{describe(node)}' (Identity) has no input; export the model again"
                )


@contextmanager
def _one_line(prefix: str) -> Iterator[None]:
    """With messages on one line, whatever the names in them, and `prefix` before them."""
    try:
        yield
    except ModelError as error:
        raise ModelError(prefix + " ".join(str(error).splitlines())) from None


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
