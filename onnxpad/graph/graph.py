"""One graph of a model, to read and to edit: the main graph, a body of a node, or a function.

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
from onnxpad.errors import ModelError, UsageError
from onnxpad.file.copy_external import ExternalData, Progress
from onnxpad.file.proto_walk import bodies, inner_tensors, operators
from onnxpad.file.skeleton import read_bytes, read_file, read_proto
from onnxpad.file.wire import WireError
from onnxpad.graph import attributes
from onnxpad.graph.encode import is_edited, node_proto
from onnxpad.graph.fresh_names import pinned, referred
from onnxpad.graph.initializers import Constants, whole_initializer
from onnxpad.graph.journal import Edits, Touched
from onnxpad.graph.model import DEFAULT_DOMAINS, Model, imported
from onnxpad.graph.nodes import (
    Declared,
    Entry,
    Initializer,
    Node,
    Tensor,
    Use,
    View,
    build,
    declaration,
    describe,
    function_label,
    held_bodies,
)
from onnxpad.process import gc_pause

__all__ = ["Declared", "ExternalData", "Graph", "Node", "Tensor", "Use", "describe"]

SHARE_LIMIT: Final = 1024
"""Bytes up to which equal initializers that are added become one."""


class Graph:
    """A graph of a model, and the edits made to it: the main graph, a body of a node, a function.

    Attributes:
        model: The model, with its file.
        parent: The graph around a body, whose tensors it may read; None for all but bodies.
        owner: The node of that graph which has the body; None for all but bodies.
        place: Where in the model it is, as `If 'x' > then_branch`; empty for the main graph.
        opsets: Version of each operator set that is imported; the default one is "".
        opset: Version of the default one; 0 if it is not imported, or in a function not known here.
        inputs: What each input is, in order: of the main graph as declared, of others as far as
            their node determines it. An initializer that is also an input counts as one from IR
            version 4 on, since a caller may override it.
        outputs: Names of the outputs.
    """

    def __init__(
        self,
        model: Model,
        view: View | None = None,
        parent: "Graph | None" = None,
        place: str = "",
    ) -> None:
        """Use `load`, `from_proto` and their like, `bodies` or `functions`."""
        light = model.skeleton.light
        view = model.main if view is None else view
        self.model = model
        self.parent = parent
        self.owner = None if view.outer is None else view.outer[1].node
        self.place = place
        self.inputs, self.outputs = view.inputs, view.outputs
        self._view = view
        if isinstance(view.section.light, onnx.FunctionProto):
            self.opsets = imported(view.section.light.opset_import, light.ir_version)
        else:
            self.opsets = model.opsets if parent is None else parent.opsets
        opset = self.opsets.get("", 0)
        is_known = view.is_main or 1 <= opset <= onnx.defs.onnx_opset_version()
        self.opset = opset if is_known else 0
        self._knows_default = is_known
        self._hidden = model.standard_functions
        self._constants: Constants = Constants(
            model.skeleton,
            view,
            self.is_standard,
            model.path.parent if model.path else None,
            None if parent is None else parent._constants,
        )
        stay = pinned(light) if view.is_main else referred(view.section.light)
        self._edits: Edits = Edits(
            model.journal,
            view,
            self._constants,
            lambda: model.names,
            self.outputs | self.inputs.keys() | stay,
            None if parent is None else parent._edits,
        )
        self._shared: dict[tuple[str, tuple[int, ...], bytes], Tensor] = {}
        self._bodies: dict[tuple[int, str], Graph] = {}
        self._functions: dict[int, Graph] = {}
        if view.is_main:
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
                return cls(Model(skeleton, file))

    @classmethod
    def from_proto(cls, proto: onnx.ModelProto) -> "Graph":
        """The graph of a model in memory, which is never changed.

        Raises:
            ModelError: It is no valid model, or over 2 GiB.
        """
        if not isinstance(proto, onnx.ModelProto):
            raise UsageError(f"expected a path or an onnx.ModelProto, got {type(proto).__name__}")
        with gc_pause.paused(), _one_line(""):
            return cls(Model(read_proto(proto), None))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Graph":
        """The graph of a serialised model.

        Raises:
            ModelError: It is no valid model.
        """
        with gc_pause.paused(), _one_line(""):
            return cls(Model(read_bytes(memoryview(data), "the model"), None))

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
        """The main graph as it came, without the edits made since."""
        with gc_pause.paused():
            return type(self)(Model(self.model.skeleton, self.model.path))

    # Graphs inside

    def bodies(self, node: Node) -> Iterator["Graph"]:
        """The bodies of a node, which are looked into only now.

        Raises:
            ModelError: A body is no valid graph.
        """
        entry = self._view.entries[id(node)]
        for name, value in node.attrs.items():
            if not isinstance(value, onnx.AttributeProto) or entry.record is None:
                continue
            if value.HasField("g"):
                yield self._body(entry, name, value.g, None)
            for index, light in enumerate(value.graphs):
                yield self._body(entry, name, light, index)

    def _body(
        self, entry: Entry, attribute: str, light: onnx.GraphProto, index: int | None
    ) -> "Graph":
        """A body of a node: what an attribute holds, or has in some place of a list."""
        node, key = entry.node, attribute if index is None else f"{attribute}[{index}]"
        known = self._bodies.get((id(node), key))
        if known is not None:
            return known
        where = f"{node.op} {describe(node)!r} > {key}"
        where = f"{self.place} > {where}" if self.place else where
        with gc_pause.paused(), _one_line(f"{where}: "):
            assert entry.record is not None
            section = self.model.skeleton.body(entry.record, attribute, light, index)
            given = self._given(node, light)
            view = build(section, (self._view, entry), given=given)
            graph = Graph(self.model, view, self, where)
        entry.bodies[key] = view
        self._bodies[id(node), key] = graph
        return graph

    def _given(self, node: Node, light: onnx.GraphProto) -> list[Declared]:
        """What a node hands to its body: what that declares is enforced by nobody.

        A Loop hands over its trip count and its condition, which some declare as vectors of one.
        """
        if node.op != "Loop" or not self.is_standard(node):
            return []
        scalars = (onnx.TensorProto.DataType.INT64, onnx.TensorProto.DataType.BOOL)
        shapes = [declaration(value).shape for value in light.input[:2]]
        return [
            Declared(kind, None if shape else ())
            for kind, shape in zip(scalars, shapes, strict=False)
        ]

    def inside(self) -> Iterator["Graph"]:
        """All bodies in the graph, each followed by those inside it.

        Raises:
            ModelError: One is no valid graph.
        """
        for node in self.nodes:
            for body in self.bodies(node):
                yield body
                yield from body.inside()

    def functions(self) -> Iterator["Graph"]:
        """The functions of the model, which are looked into only now; the main graph has them.

        Raises:
            ModelError: One is no valid graph.
        """
        count = len(self.model.function_sections) if self._view.is_main else 0
        return map(self.function, range(count))

    def function(self, index: int) -> "Graph":
        """A function of the model by its place.

        Raises:
            ModelError: It is no valid graph.
        """
        if index not in self._functions:
            section = self.model.function_sections[index]
            place = function_label(section.light)
            with gc_pause.paused(), _one_line(f"function {place}: "):
                view = build(section, given=())
                self._functions[index] = Graph(self.model, view, place=place)
            self.model.functions[index] = view
        return self._functions[index]

    # Reading

    @property
    def version(self) -> int:
        """A number that is another after every edit: while it stays, so does the graph."""
        return self.model.journal.count

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

    def outer(self, tensor: Tensor) -> Tensor | None:
        """The tensor of the graph around that one in a body stands for; None for all others."""
        return tensor.outer

    def is_output(self, tensor: Tensor) -> bool:
        """Whether a tensor is an output of the graph."""
        return tensor.name in self.outputs

    def has_default(self, name: str) -> bool:
        """Whether an input is an initializer too, so that a caller may leave it out."""
        return name in self._view.initializers

    def is_standard(self, node: Node) -> bool:
        """Whether a node is the ONNX operator of its name, not a custom one or a function."""
        is_default = self._knows_default and node.domain in DEFAULT_DOMAINS
        return is_default and node.op not in self._hidden

    def is_function(self, node: Node) -> bool:
        """Whether a node calls a function of the model."""
        if node.domain in DEFAULT_DOMAINS:
            return node.op in self._hidden
        functions = self.model.skeleton.light.functions
        return any((each.domain, each.name) == (node.domain, node.op) for each in functions)

    def inner_operators(self, node: Node) -> frozenset[str]:
        """The operators in the bodies of a node, or in the function that it calls."""
        functions = self.model.light_functions()
        entry = self._view.entries[id(node)]
        held: list[onnx.NodeProto] = []
        if entry.touched and entry.bodies:
            now = self.node_proto(node)
            found = (body for attribute in now.attribute for body in bodies(attribute))
        else:
            found = (body for _, body in held_bodies(node))
        held += (inner for body in found for inner in body.node)
        function = functions.get((node.domain or "", node.op))
        if function is not None:
            held += function.node
        return frozenset(operators(held, functions))

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
        return is_edited(self.model.skeleton, self._view.entries[id(node)])

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
        return self.model.has_external_data and self._constants.is_external(tensor)

    # Edits

    def declare(self, name: str, shape: tuple[int | str | None, ...]) -> None:
        """Has an input declare another shape: numbers, names, and None for what is open.

        What outputs and value_info say of it stays as it is.

        Raises:
            ValueError: It is no input of the main graph.
        """
        if not self._view.is_main:
            raise ValueError(f"'{name}' is no input of the main graph")
        self._edits.declare(name, shape)

    def claims(self) -> Iterator[tuple[Tensor, tuple[int | str | None, ...]]]:
        """What value_info says of the shapes of tensors, which nobody enforces."""
        for value, _ in self._view.section.parts("value_info"):
            shape = declaration(value).shape
            if shape is not None and self.has_tensor(value.name):
                yield self.tensor(value.name), shape

    def undeclare(self, tensor: Tensor) -> None:
        """Drops what value_info says of a tensor."""
        self._edits.undeclare(tensor.name)

    def claimed_outputs(self) -> Iterator[tuple[Tensor, tuple[int | str | None, ...]]]:
        """What graph outputs declare of their shapes, which nobody enforces either."""
        for value, _ in self._view.section.parts("output"):
            shape = declaration(value).shape
            if shape is not None and self.has_tensor(value.name):
                yield self.tensor(value.name), shape

    def capture(self, tensor: Tensor) -> Tensor:
        """What stands in a body for a tensor of a graph around it, so that the body can read it.

        Raises:
            ValueError: Something else has its name here or in between, or it is of no such graph.
        """
        if self._view.tensors.get(tensor.name) is tensor:
            return tensor
        if self.parent is None:
            raise ValueError(f"'{tensor.name}' is no tensor of a graph around")
        source = self.parent.capture(tensor)
        found = self._edits.capture(source)
        if found.outer is not source:
            raise ValueError(f"'{tensor.name}' is another tensor in {self.place}")
        return found

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
        node = Node(op, self.model.names.fresh(name), _normal(attributes), None)
        output = Tensor(self.model.names.fresh(f"{node.name}_output"))
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
        domain = node.domain if node.domain in DEFAULT_DOMAINS else None
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

        One that was added before and is equal is taken again, if it is small. In a body or a
        function it is a Constant in front of all nodes: functions have no initializers.
        """
        key = None
        if values.nbytes <= SHARE_LIMIT and not values.dtype.hasobject:
            key = (values.dtype.name, values.shape, values.tobytes())
            known = self._shared.get(key)
            if known and self._view.tensors.get(known.name) is known:
                return known
        if self._view.is_main:
            proto = numpy_helper.from_array(values, self.model.names.fresh(name))
            tensor = Tensor(proto.name)
            self._edits.add_initializer(tensor, Initializer(proto, values.shape))
        else:
            value = onnx.helper.make_attribute("value", numpy_helper.from_array(values))
            first = next(self.nodes)
            tensor = self.insert("Constant", [], {"value": value}, before=first, name=name)
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
        """The nodes that edits since a mark touched, each with what it was at the mark.

        Nodes whose bodies were edited count, and where a function was, all that may run it. What
        was touched in graphs around this one is theirs to tell.
        """
        found: dict[int, Touched] = {}
        inside: dict[int, Touched] = {}
        for view, each in self.model.journal.touched(mark):
            owner = view.owner_in(self._view)
            if view is self._view:
                found.setdefault(id(each.node), each)
            elif owner is not None:
                inside[id(owner)] = Touched(owner, None)
            elif view.is_in_function:
                running = filter(self._runs_function, self.nodes)
                inside.update((id(node), Touched(node, None)) for node in running)
        return list({**found, **inside}.values())

    def _runs_function(self, node: Node) -> bool:
        """Whether a node calls a function of the model, or a body of it may."""
        return self.is_function(node) or any(True for _ in held_bodies(node))

    def sweep(self) -> tuple[str, ...]:
        """Removes what edits since the last sweep left without use; says which nodes.

        Initializers and value_info go too. What had no use before these edits stays.
        """
        return self.model.journal.sweep()

    def mark(self) -> int:
        """A point to roll back to."""
        return self.model.journal.mark()

    def rollback(self, mark: int) -> None:
        """Undoes every edit made since a mark, sweeps included."""
        self.model.journal.rollback(mark)

    # Saving

    def node_proto(self, node: Node) -> onnx.NodeProto:
        """A node as it would be saved now, with all its elements."""
        return node_proto(self.model.skeleton, self._view.entries[id(node)])

    def initializer_proto(self, name: str) -> onnx.TensorProto | None:
        """An initializer with its elements; None if there is no dense one of that name."""
        return whole_initializer(self.model.skeleton, self._view, name)

    @property
    def changed(self) -> bool:
        """Whether the model differs from the original."""
        return self.model.changed

    def to_bytes(self) -> bytes:
        """The model, serialised; the original bytes if nothing changed."""
        return self.model.to_bytes()

    def to_proto(self) -> onnx.ModelProto:
        """The model."""
        return self.model.to_proto()

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: ExternalData = "copy",
        progress: Progress | None = None,
    ) -> tuple[Path, ...]:
        """Saves the model, as `Model.write` does."""
        return self.model.write(path, external_data=external_data, progress=progress)

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

        return self.model.working_copy(is_cut)

    @cached_property
    def _inner_names(self) -> frozenset[str]:
        """The names of tensors that bodies have of their own."""
        return frozenset(inner_tensors(self._view.section.light.node))

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
    except WireError as error:
        raise ModelError(f"{prefix}damaged at byte {error.position}; export it again") from None


def _normal(values: Mapping[str, object]) -> dict[str, attributes.Value]:
    return {name: attributes.normal(value) for name, value in values.items()}
