"""One graph of a model, to read and to edit: the main graph, a body of a node, or a function.

Edits go through `Graph`, never through the lists of nodes and tensors. Each is journaled, so that
it can be undone. Only the parts that differ in the end are encoded again; the rest is copied byte
for byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import starmap
from math import prod
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np
import onnx
from onnx import numpy_helper

from onnxpad import declared
from onnxpad.arguments import InFolder, Source
from onnxpad.errors import ModelError, UsageError, place_in
from onnxpad.file.external import ExternalData, internal
from onnxpad.file.proto_walk import (
    DEFAULT_DOMAINS,
    bodies,
    function_label,
    inner_tensors,
    is_external,
    normal_domain,
    operators,
    pinned,
    referred,
)
from onnxpad.file.skeleton import (
    PAYLOAD_LIMIT,
    Section,
    WireError,
    read_bytes,
    read_file,
    read_proto,
)
from onnxpad.finding import Location
from onnxpad.graph import attributes
from onnxpad.graph.edits import Edits, state_of, swept
from onnxpad.graph.encode import edited_section, is_edited, lacks_elements, node_proto, working_copy
from onnxpad.graph.model import Model, Touched, contradiction, imported
from onnxpad.graph.nodes import (
    Declared,
    Initializer,
    Node,
    Tensor,
    Use,
    constant_shape,
    declaration,
    describe,
    held_bodies,
    looped_in,
    noted,
    take_defaults,
)
from onnxpad.process import gc_paused

__all__ = ["Declared", "ExternalData", "Graph", "Node", "Tensor", "Use", "describe"]

SHARE_LIMIT: Final = 1024
"""Equal initializers of at most this many bytes are added only once."""

_NO_FILE: Final = "(model in memory)"
"""Stands for the file of a model in memory whose external data lies in a folder."""

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


class Graph(Edits):
    """A graph of a model, with its edits: the main graph, a body of a node, or a function.

    Attributes:
        model: The model, with its file.
        parent: For a body, the graph around it, whose tensors it may read; else None.
        scope: Where in the model it is: see `Location`.
        opsets: Version of each imported opset, by domain; the default domain is "".
        opset: Version of the default domain. 0 if it is not imported, or, in a function, if the
            installed onnx does not know that version.
        inputs: Types and shapes of the inputs, in order. For the main graph as declared, for bodies
            as far as their node determines them. An initializer that is also an input counts as an
            input from IR version 4 on, since a caller may override it, unless its default is
            trusted.
        outputs: Names of the outputs.
        results: The same in order; an output may be listed twice.
    """

    def __init__(
        self,
        model: Model,
        section: Section | None = None,
        outer: tuple[Graph, Node] | None = None,
        scope: tuple[str, ...] = (),
        passed: Sequence[Declared] | None = None,
    ) -> None:
        """Not for direct use: see `load`, `from_proto`, `from_bytes`, `bodies`, `functions`."""
        light, section = model.skeleton.light, section or model.skeleton.main
        super().__init__(section, outer, passed)
        self.model = model
        if self.is_main:
            model.main = self
            if light.ir_version < 4:  # every initializer had to be an input too
                take_defaults(self)
        self.parent: Graph | None = outer[0] if outer else None
        self.scope = scope
        if isinstance(section.light, onnx.FunctionProto):
            self.opsets = imported(section.light.opset_import, light.ir_version)
        else:
            self.opsets = model.opsets if self.parent is None else self.parent.opsets
        opset = self.opsets.get("", 0)
        is_known = self.is_main or 1 <= opset <= onnx.defs.onnx_opset_version()
        self.opset = opset if is_known else 0
        self._knows_default = is_known
        self._hidden = model.standard_functions
        self._values = {}
        self._alike: dict[tuple[object, ...], np.ndarray[Any, Any]] = {}
        self._pinned = self.outputs | (pinned(light) if self.is_main else referred(section.light))
        self._shared: dict[tuple[str, tuple[int, ...], bytes, bool], Tensor] = {}
        if self.is_main:
            self._check_opset()
        self._check_identities()

    @property
    def offset(self) -> int:
        """Where it begins in the file; for the main graph -1."""
        return -1 if self.is_main else self.section.containers[0].begin

    @property
    def owner(self) -> Node | None:
        """For a body, the node of the graph around it that has it; else None."""
        return None if self.outer is None else self.outer[1]

    @property
    def main(self) -> Graph:
        """The main graph of the model."""
        main = self.model.main
        assert isinstance(main, Graph)
        return main

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Graph:
        """The main graph of a model file.

        Raises:
            ModelError: The file cannot be read, is not a valid model, or lacks its external data.
        """
        file = Path(path)
        with gc_paused():
            try:
                skeleton = read_file(file)
                with _one_line(f"{file}: "):
                    return cls(Model(skeleton, file))
            except ModelError as error:
                error.path = file
                raise

    @classmethod
    def from_proto(cls, proto: onnx.ModelProto) -> Graph:
        """The main graph of a model in memory, which is never changed.

        Raises:
            ModelError: It is not a valid model, or over 2 GiB.
        """
        if not isinstance(proto, onnx.ModelProto):
            raise UsageError(f"expected a path or an onnx.ModelProto, got {type(proto).__name__}")
        with gc_paused(), _one_line(""):
            return cls(Model(read_proto(proto), None))

    @classmethod
    def from_bytes(cls, data: bytes, folder: Path | None = None) -> Graph:
        """The main graph of a serialised model.

        Args:
            data: The model.
            folder: The folder in which its external data lies, if it is known.

        Raises:
            ModelError: It is not a valid model, or lacks its external data.
        """
        path = None if folder is None else folder / _NO_FILE
        with gc_paused(), _one_line(""):
            return cls(Model(read_bytes(memoryview(data), "the model"), path))

    @classmethod
    def read(cls, source: Source) -> Graph:
        """The main graph of a model file, of a serialised model, or of one in memory.

        Raises:
            ModelError: It is not a valid model.
        """
        if isinstance(source, Path):
            return cls.load(source)
        if isinstance(source, InFolder):
            return cls.from_bytes(source.data, source.folder)
        return cls.from_bytes(source) if isinstance(source, bytes) else cls.from_proto(source)

    def pristine(self) -> Graph:
        """The main graph as it was loaded, without any edits."""
        with gc_paused():
            graph = type(self)(Model(self.model.skeleton, self.model.path))
        if self.model.main.trusted:
            graph.take_defaults()
        return graph

    # Graphs inside

    def bodies(self, node: Node) -> Iterator[Graph]:
        """The bodies of a node, opened on demand.

        Raises:
            ModelError: A body is not a valid graph.
        """
        if node.record is not None:
            yield from (self._body(node, key, light) for key, light in held_bodies(node))

    def _body(self, node: Node, key: str, light: onnx.GraphProto) -> Graph:
        """A body of a node, by name of the attribute, with the index if that holds a list."""
        if key not in node.bodies:
            with gc_paused(), _one_line(f"{self._place_of_body(node, key)}: "):
                assert node.record is not None
                section = self.model.skeleton.body(node.record, key, light)
                given = self._passed_to_body(node, light)
                scope = (*self.scope, describe(node), key)
                body = Graph(self.model, section, (self, node), scope, given)
                node.bodies = {**node.bodies, key: body}
        found = node.bodies[key]
        assert isinstance(found, Graph)
        return found

    @property
    def place(self) -> str:
        """Where in the model it is, as `If 'x' > then_branch`; empty for the main graph."""
        if self.parent is None or self.owner is None:
            return "".join(self.scope)
        return self.parent._place_of_body(self.owner, self.scope[-1])

    def _place_of_body(self, node: Node, key: str) -> str:
        return place_in(self.place, f"{node.op} {describe(node)!r}", key)

    def _passed_to_body(self, node: Node, light: onnx.GraphProto) -> list[Declared]:
        """The types that a node passes to its body: no runtime enforces those that it declares.

        A Loop passes its iteration number and its condition, which some bodies declare as vectors
        of one element.
        """
        if node.op != "Loop" or not self.is_standard(node):
            return []
        scalars = (onnx.TensorProto.DataType.INT64, onnx.TensorProto.DataType.BOOL)
        shapes = [declaration(value).shape for value in light.input[:2]]
        return [
            Declared(kind, None if shape else ())
            for kind, shape in zip(scalars, shapes, strict=False)
        ]

    def inside(self) -> Iterator[Graph]:
        """All bodies in the graph, each followed by those inside it.

        Raises:
            ModelError: A body is not a valid graph.
        """
        for node in self.running():
            for body in self.bodies(node):
                yield body
                yield from body.inside()

    def functions(self) -> Iterator[Graph]:
        """The functions of the model, opened on demand; only the main graph has them.

        Raises:
            ModelError: A function is not a valid graph.
        """
        count = len(self.model.function_sections) if self.is_main else 0
        return map(self.function, range(count))

    def function(self, index: int) -> Graph:
        """A function of the model, by index.

        Raises:
            ModelError: It is not a valid graph.
        """
        functions = self.model.functions
        if index not in functions:
            section = self.model.function_sections[index]
            place = function_label(section.light)
            with gc_paused(), _one_line(f"function {place}: "):
                functions[index] = Graph(self.model, section, None, (place,), ())
        found = functions[index]
        assert isinstance(found, Graph)
        return found

    # Reading

    @property
    def version(self) -> int:
        """A number that changes with every edit: while it stays the same, so does the graph."""
        return self.model.journal.count

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name.

        Raises:
            KeyError: The graph has no such tensor.
        """
        return self.tensors[name]

    def has_tensor(self, name: str) -> bool:
        """Whether the graph, as it is now, has a tensor of that name."""
        return name in self.tensors

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor that was in the graph is still there."""
        return self.tensors.get(tensor.name) is tensor

    def origin(self, tensor: Tensor) -> Tensor:
        """The tensor that a tensor is a copy of, through Identities; itself if it is no copy."""
        if tensor.producer is None or tensor.producer.op != "Identity":
            return tensor  # as nearly all are
        path = []
        while tensor.origin is None:
            node = tensor.producer
            if node is None or node.op != "Identity" or not self.is_standard(node):
                break
            path.append(tensor)
            tensor = node.inputs[0]
        found = tensor if tensor.origin is None else tensor.origin
        for copy in path:
            copy.origin = found
        return found

    def on_cycle(self) -> Node | None:
        """A node of this graph, or of one around it, that depends on itself; None without any."""
        found = looped_in(self)
        return self.parent.on_cycle() if found is None and self.parent is not None else found

    def sources(self, node: Node) -> Sequence[Tensor]:
        """The tensors that a node reads: its inputs, and those that its bodies capture."""
        return (*node.inputs, *node.captures)

    def uses(self, tensor: Tensor) -> Sequence[Use]:
        """The places where a tensor is read, in no particular order; a copy, safe from edits."""
        return tuple(starmap(Use, tensor.uses))

    def captured(self) -> Iterator[Tensor]:
        """The tensors of a body that it captures from the graph around."""
        if self.parent is not None:
            yield from (tensor for tensor in self.tensors.values() if tensor.outer is not None)

    def home(self, tensor: Tensor) -> tuple[Graph, Tensor]:
        """The graph that defines a tensor, and the tensor there: a body may capture it."""
        graph = self
        while tensor.outer is not None and graph.parent is not None:
            graph, tensor = graph.parent, tensor.outer
        return graph, tensor

    def unique(self, name: str) -> str:
        """A name of a tensor made unique in the model: bodies and functions may reuse names."""
        return place_in(self.place, name) if self.scope else name

    def is_output(self, tensor: Tensor) -> bool:
        """Whether a tensor is an output of the graph."""
        return tensor.name in self.outputs

    def has_default(self, name: str) -> bool:
        """Whether an input is also an initializer, so that a caller may omit it."""
        return name in self.initializers

    @noted
    def is_standard(self, node: Node) -> bool:
        """Whether a node is an operator of ONNX itself, written as its schema asks.

        It is no custom operator, no function, and does not contradict its schema.
        """
        return self.names_standard(node) and not self.contradiction(node)

    def names_standard(self, node: Node) -> bool:
        """Whether a node names an operator of ONNX itself, not a custom one or a function."""
        is_default = self._knows_default and node.domain in DEFAULT_DOMAINS
        return is_default and node.op not in self._hidden

    @noted
    def contradiction(self, node: Node) -> str:
        """How a node contradicts the schema of its operator; empty where it does not."""
        if not self.names_standard(node):
            return ""
        return contradiction(node, self.opset, in_function=self.is_in_function)

    def is_function(self, node: Node) -> bool:
        """Whether a node calls a function of the model."""
        return (normal_domain(node.domain), node.op) in self.model.function_indices

    def called(self, node: Node) -> Graph | None:
        """The function that a node calls; None where there is none, or several of that name.

        Raises:
            ModelError: It is not a valid graph.
        """
        if not self.is_function(node):
            return None
        found = self.model.function_indices.get((normal_domain(node.domain), node.op), ())
        return self.main.function(found[0]) if len(found) == 1 else None

    def inner_operators(self, node: Node) -> frozenset[str]:
        """The op types in the bodies of a node, and in the functions that it may call."""
        functions = self.model.functions_now()
        found = [body for _, body in held_bodies(node)]
        if node.touched and node.bodies:
            found = [*bodies(self.node_proto(node))]
        held = [inner for body in found for inner in body.node]
        for function in functions.get((normal_domain(node.domain or ""), node.op), ()):
            held += function.node
        return frozenset(operators(held, functions))

    def refers(self, node: Node) -> str:
        """An attribute of a node whose value each call of the function around gives; else empty."""
        if self.is_main or not self.is_in_function:
            return ""
        given = (
            name
            for name, value in node.attrs.items()
            if isinstance(value, onnx.AttributeProto) and value.ref_attr_name
        )
        return next(given, "")

    def is_there(self) -> bool:
        """Whether the model still has this graph: the node that has a body may be gone."""
        if self.outer is None or self.parent is None:
            return True
        return self.outer[1].alive and self.parent.is_there()

    def label(self, node: Node) -> str:
        """The name of a node, or that of its first output in angle brackets."""
        return describe(node)

    def location(self, node: Node) -> Location:
        """Where a node is."""
        outputs = [tensor.name for tensor in node.outputs if tensor.name] or [""]
        return Location(self.scope, node.name, outputs[0])

    def place_of(self, node: Node) -> str:
        """The label of a node in reports; in a body or function, with the way to it."""
        label = describe(node)
        return place_in(self.place, f"{node.op} {label!r}") if self.scope else label

    def is_edited(self, node: Node) -> bool:
        """Whether a node is not in the file, or differs from the file."""
        return is_edited(self.model.skeleton, node)

    def runs_edited(self, node: Node) -> bool:
        """Whether a node, a body of it, or a function that these may call differs from the file."""
        if self.is_edited(node):
            return True
        edited = [view for view in self.model.functions.values() if view.edited]
        if not edited or not self.runs_graphs(node):
            return False
        skeleton = self.model.skeleton
        return any(edited_section(skeleton, view) for view in edited)

    @property
    def _folder(self) -> Path | None:
        """Where external data lies; None where that is unknown."""
        return self.model.path.parent if self.model.path else None

    def _whole(self, name: str) -> onnx.TensorProto | None:
        """A dense initializer with its elements; None if there is none of that name."""
        initializer = self.initializers.get(name)
        if initializer is None or initializer.sparse:
            return None
        for record in initializer.records[:1]:
            if record.end - record.body > PAYLOAD_LIMIT:
                return self.model.skeleton.whole(record, onnx.TensorProto())
        return initializer.proto

    def declared(self, tensor: Tensor) -> Declared | None:
        """Type and shape of a graph input, an initializer or a Constant; None for other tensors.

        Declarations in `value_info` and of graph outputs do not count: no runtime enforces them.
        """
        graph, tensor = self.home(tensor)
        if tensor.name in graph.inputs:
            return graph.inputs[tensor.name]
        initializer = graph.initializers.get(tensor.name)
        if initializer:
            return initializer.declared
        value = graph._held(tensor)
        if isinstance(value, onnx.AttributeProto):
            if value.HasField("t"):
                return Declared(value.t.data_type, constant_shape(value.t.dims, tensor.name))
            sparse = value.sparse_tensor
            return Declared(sparse.values.data_type, constant_shape(sparse.dims, tensor.name))
        if value is None:
            return None
        return Declared(onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    def is_external(self, tensor: Tensor) -> bool:
        """Whether the elements of an initializer or a Constant are external data."""
        graph, tensor = self.home(tensor)
        if not graph.model.has_external_data:
            return False
        # An initializer that a caller may override counts as an input.
        if tensor.name in graph.inputs:
            return False
        initializer = graph.initializers.get(tensor.name)
        if initializer:
            return is_external(initializer.proto)
        value = graph._held(tensor)
        return isinstance(value, onnx.AttributeProto) and is_external(value.t)

    def is_raw(self, tensor: Tensor) -> bool:
        """Whether the elements of an initializer or a Constant are stored as bytes."""
        graph, tensor = self.home(tensor)
        proto = graph._whole(tensor.name)
        if proto is None:
            value = graph._held(tensor)
            proto = value.t if isinstance(value, onnx.AttributeProto) else None
        return proto is not None and proto.HasField("raw_data")

    def constant(self, tensor: Tensor) -> np.ndarray[Any, Any] | None:
        """The value of an initializer or a Constant, read-only; None where it is not available.

        It is not available where a caller may override it, for sparse tensors and those with over
        4,096 elements, and for external data of a model that came without a path.

        Raises:
            ModelError: Its elements do not fit its shape, or cannot be read.
        """
        graph, tensor = self.home(tensor)
        node = tensor.producer
        if (node is not None and node.op != "Constant") or tensor.name in graph.inputs:
            return None  # a caller may override an initializer that is also an input
        if tensor not in graph._values:
            graph._values[tensor] = graph._elements(tensor)
        return graph._values[tensor]

    def _elements(self, tensor: Tensor) -> np.ndarray[Any, Any] | None:
        initializer = self.initializers.get(tensor.name)
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
                node = self.model.skeleton.whole(record, onnx.NodeProto())
                value = next(item for item in node.attribute if item.name == value.name)
            return self._array(value.t, tensor.name)
        return None if value is None or value.size > LIMIT else value

    def _held(self, tensor: Tensor) -> onnx.AttributeProto | np.ndarray[Any, Any] | None:
        """The value of the Constant that writes a tensor; a tensor in it may lack elements."""
        node = tensor.producer
        if node is None or node.op != "Constant" or not self.is_standard(node):
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

    def is_fixed(self, tensor: Tensor) -> bool:
        """Whether the value is a constant that no caller can override, trusted or not."""
        return tensor.name not in self.model.main.trusted and self.constant(tensor) is not None

    # Edits

    def declare(self, name: str, shape: tuple[int | str | None, ...]) -> None:
        """Changes the declared shape of an input: numbers, names, and None for unnamed open axes.

        The declared shapes of outputs and in `value_info` stay as they are.

        Raises:
            ValueError: It is not an input of the main graph.
        """
        if not self.is_main or name not in self.inputs:
            raise ValueError(f"'{name}' is no input of the main graph")
        inputs = self.inputs
        if inputs[name].shape != shape:
            self._record(inputs.__setitem__, name, inputs[name])
            inputs[name] = inputs[name]._replace(shape=shape)
            self.model.journal.declared += 1

    def declare_output(self, name: str, shape: tuple[int | str | None, ...]) -> None:
        """Changes the declared shape of an output, for edits that make it another one.

        Raises:
            ValueError: It is not an output of the main graph that declares a shape.
        """
        values = (value for value, _ in self.section.parts("output") if self.is_main)
        known = {value.name: declaration(value) for value in values}
        if name not in known or known[name].shape is None:
            raise ValueError(f"'{name}' is no output of the main graph with a shape")
        before, declared = self.redeclared_outputs, known[name]._replace(shape=shape)
        self._record(setattr, self, "redeclared_outputs", before)
        self.redeclared_outputs = {**before, name: declared}

    def claims(
        self, *kinds: Literal["value_info", "output", "input"]
    ) -> Iterator[tuple[Tensor, tuple[int | str | None, ...]]]:
        """Shapes that no runtime enforces: of `value_info`, outputs, and inputs of bodies."""
        for kind in kinds:
            for value, _ in () if kind == "input" and self.is_main else self.section.parts(kind):
                # A function declares only names.
                shape = None if isinstance(value, str) else declaration(value).shape
                if shape is not None and value.name in self.tensors:
                    yield self.tensors[value.name], shape

    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor of this body that stands for one of a graph around it, so it can be read here.

        Raises:
            ValueError: Another tensor hides it here or in between, or no graph around has it.
        """
        if self.tensors.get(tensor.name) is tensor:
            return tensor
        if self.parent is None:
            raise ValueError(f"'{tensor.name}' is no tensor of a graph around")
        source, known = self.parent.capture(tensor), self.tensors
        if tensor.name not in known:
            known[tensor.name] = Tensor(tensor.name)
            known[tensor.name].outer = source
            self._record(known.pop, tensor.name)
        found = known[tensor.name]
        if found.outer is not source:
            raise ValueError(f"'{tensor.name}' is another tensor in {self.place}")
        return found

    def set_attribute(self, node: Node, name: str, value: object | None) -> None:
        """Sets an attribute to a number, a string or a sequence of one kind; None removes it."""
        self.set_attributes(node, {name: value})

    def set_attributes(
        self,
        node: Node,
        changed: Mapping[str, object | None],
        inputs: tuple[Tensor, ...] = (),
    ) -> None:
        """Sets several attributes at once, as `set_attribute` does one, and inputs if given."""
        values = dict(node.attrs)
        for name, value in changed.items():
            if value is None:
                values.pop(name, None)
            else:
                values[name] = attributes.normal(value)
        self._change(node, (node.op, values, node.domain, inputs or node.inputs, node.outputs))

    def set_input(self, node: Node, index: int, tensor: Tensor | None) -> None:
        """Connects an input of a node to another tensor, or appends one; None omits the input.

        Omitting the last input drops it, together with omitted ones before it.
        """
        if not 0 <= index <= len(node.inputs):
            raise IndexError(f"node '{describe(node)}' has no input {index}")
        inputs = (*node.inputs[:index], tensor or Tensor(""), *node.inputs[index + 1 :])
        while tensor is None and inputs and not inputs[-1].name:
            inputs = inputs[:-1]
        self._change(node, (node.op, node.attrs, node.domain, inputs, node.outputs))

    def insert(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        attributes: Mapping[str, object],
        *,
        before: Node,
        name: str,
    ) -> Tensor:
        """Inserts a node of the default domain with one output, in front of another node.

        Node and output get fresh names derived from `name`.

        Returns:
            The output.
        """
        label = self.model.names.fresh(name)
        output = Tensor(self.model.names.fresh(f"{label}_output"))
        values, reads = _normal(attributes), _present(inputs)
        node = Node(op, label, values, inputs=reads, outputs=(output,))
        self._insert(node, before, fresh_name=True)
        return output

    def insert_like(
        self,
        node: Node,
        inputs: Sequence[Tensor | None],
        changed: Mapping[str, object | None],
        *,
        name: str | None = None,
    ) -> tuple[Tensor, ...]:
        """Inserts a node with the operator, attributes and notes of another one, in front of it.

        Args:
            node: The other node.
            inputs: The inputs of the new one.
            changed: Attributes with other values; None leaves one out.
            name: Its name; a fresh one if None. Names of nodes need not differ, and a node that
                takes the place of another keeps its name.

        Returns:
            Its outputs, as many as the other node has; those that it omits are nameless.
        """
        kept = {name: value for name, value in node.attrs.items() if name not in changed}
        given = {name: value for name, value in changed.items() if value is not None}
        own = name
        if own is None:
            own = self.model.names.fresh(node.name or node.outputs[0].name)
        new = Node(node.op, own, {**kept, **_normal(given)}, node.domain, like=node)
        new.inputs = _present(inputs)
        for place, output in enumerate(node.outputs):
            fresh = f"{own or node.outputs[0].name}_output{place or ''}"
            named = self.model.names.fresh(fresh) if output.name else ""
            new.outputs = (*new.outputs, Tensor(named))
        self._insert(new, node, fresh_name=name is None)
        return new.outputs

    def replace_op(
        self,
        node: Node,
        op: str,
        inputs: Sequence[Tensor | None],
        attributes: Mapping[str, object],
    ) -> None:
        """Turns a node into another operator of the default domain; name and outputs stay."""
        domain = node.domain if node.domain in DEFAULT_DOMAINS else None
        state = op, _normal(attributes), domain, _present(inputs), node.outputs
        self._change(node, state)

    def absorb(self, node: Node) -> tuple[str, ...]:
        """Removes an Identity: the node upstream writes its output directly.

        All readers of the Identity's input read its output instead. Nothing happens where the input
        must keep its name (it is a graph input or output, or a body reads it), or where a body has
        a tensor with the name of the output.

        Returns:
            The names of the removed nodes: that of the Identity, or none.
        """
        if node.op != "Identity" or not self.is_standard(node):
            return ()
        (original,), (copy,) = node.inputs, node.outputs
        source, uses = original.producer, self.uses(original)
        stays = self._is_pinned(original) or any(use.index < 0 for use in uses)
        if source is None or stays or copy.name in self._inner_names:
            return ()
        for use in uses:
            if use.node is not node:
                self.set_input(use.node, use.index, copy)
        self._change(node, None)
        outputs = tuple(copy if tensor is original else tensor for tensor in source.outputs)
        self._change(source, (source.op, source.attrs, source.domain, source.inputs, outputs))
        return (self.place_of(node),)

    def add_initializer(
        self, values: np.ndarray[Any, Any], name: str, *, as_numbers: bool = False
    ) -> Tensor:
        """Adds a constant under a fresh name derived from `name`.

        It is stored as bytes, or `as_numbers`, which must be of int64 then.
        A small constant that was added before is shared. In a body or a function, the constant is a
        Constant node in front of all nodes, since functions have no initializers.

        Raises:
            ValueError: There is no node, in a body or function, that it could stand in front of.
        """
        key = None
        if values.nbytes <= SHARE_LIMIT and not values.dtype.hasobject:
            key = (values.dtype.name, values.shape, values.tobytes(), as_numbers)
            known = self._shared.get(key)
            if known and self.tensors.get(known.name) is known:
                return known
        proto = numpy_helper.from_array(values)
        if as_numbers:
            proto.ClearField("raw_data")
            proto.int64_data.extend(values.ravel().tolist())
        if self.is_main:
            proto.name = self.model.names.fresh(name)
            tensor = Tensor(proto.name)
            declared = Declared(proto.data_type, values.shape)
            self._add_initializer(tensor, Initializer(proto, declared))
        else:
            value = onnx.helper.make_attribute("value", proto)
            first = next(self.nodes, None)
            if first is None:
                raise ValueError(f"{self.place} has no node, so no place for a constant")
            tensor = self.insert("Constant", [], {"value": value}, before=first, name=name)
        if key:
            self._shared[key] = tensor
        return tensor

    def touched(self, mark: int) -> Sequence[Touched]:
        """The nodes that edits since a mark touched, each as it was at the mark.

        Nodes whose bodies were edited count; where a function was edited, so do all nodes that may
        run it. Nodes of graphs around this one do not count.
        """
        found: dict[Node, Touched] = {}
        inside: dict[Node, Touched] = {}
        for view, node, _, was in self._changes(mark):
            if view is self:
                again = node in found
                found[node] = Touched(node, found[node].was if again else was, again)
            elif (owner := view.owner_in(self)) is not None:
                inside[owner] = Touched(owner, None)
            elif view.is_in_function:
                inside.update((each, Touched(each, None)) for each in self.running())
        return list({**found, **inside}.values())

    def differs(self, touched: Touched) -> bool:
        """Whether a touched node of this graph is another one than before the edits, or gone."""
        node = touched.node
        return state_of(node) != touched.was or not node.alive

    def touched_elsewhere(self, mark: int) -> Sequence[tuple[Touched, bool]]:
        """The nodes of other graphs that edits since a mark touched, but for bodies in this graph.

        Each with whether it is still there.
        """
        journal = self.model.journal
        if self.is_main and not journal.inner:
            return []
        return [
            (Touched(node, was), node.alive)
            for view, node, _, was in self._changes(mark)
            if view is not self and view.owner_in(self) is None
        ]

    @noted
    def runs_graphs(self, node: Node) -> bool:
        """Whether a node has bodies, or calls a function of the model."""
        return self.is_function(node) or bool(held_bodies(node))

    def running(self) -> list[Node]:
        """The nodes that have bodies, or call a function of the model, in file order."""
        is_listed = all(node.record for node in self.unlike) and not self.model.function_indices
        among = self.unlike if is_listed else self.nodes
        return [node for node in among if node.alive and self.runs_graphs(node)]

    def sweep(self) -> tuple[str, ...]:
        """Removes the nodes and initializers that edits since the last sweep left unused.

        Their `value_info` is removed too. Nodes that no edit concerns stay, unused or not.

        Returns:
            The names of the removed nodes.
        """
        removed = list[str]()
        steps = self.model.journal.steps
        done = len(steps)
        while done and steps[done - 1][0] is not swept:
            done -= 1
        while done < len(steps):  # what is removed may leave more unused
            for graph, tensor in self._left(*steps[done]):
                if (node := graph._drop(tensor)) is not None:
                    removed.append(cast("Graph", graph).place_of(node))
            done += 1
        if steps and steps[-1][0] is not swept:
            steps.append((swept,))
        return tuple(removed)

    def mark(self) -> int:
        """A point to roll back to."""
        return self.model.journal.mark()

    def rollback(self, mark: int) -> None:
        """Undoes every edit made since a mark, sweeps included."""
        self.model.journal.rollback(mark)

    # Saving

    def node_proto(self, node: Node) -> onnx.NodeProto:
        """A node as it would be saved now, with all elements of its tensors."""
        return node_proto(self.model.skeleton, node)

    def working_copy(self, is_fed: Callable[[Tensor], bool]) -> onnx.ModelProto:
        """The model as it is now, with graph inputs in place of long or external constants.

        Constants stay where a node reads nothing but constants, so that constant folding does the
        same as in the model.

        Args:
            is_fed: Whether a tensor depends on the elements of graph inputs.
        """

        def is_cut(name: str) -> bool:
            tensor = self.tensor(name)
            return all(
                any(is_fed(other) for other in self.sources(reader)) for reader, _ in tensor.uses
            )

        model = self.model
        return working_copy(model.skeleton, model.main, model.differences(), is_cut)

    @cached_property
    def _inner_names(self) -> frozenset[str]:
        """The names of tensors that bodies define."""
        return frozenset(inner_tensors(self.section.light.node))

    def _check_opset(self) -> None:
        """Raises ModelError unless the installed onnx knows the default opset of the model."""
        newest = onnx.defs.onnx_opset_version()
        if "" in self.opsets and not 1 <= self.opset <= newest:
            raise ModelError(
                f"the model uses opset {self.opset}, and onnx {onnx.__version__} knows 1 to "
                f"{newest}; upgrade onnx or export with another opset"
            )
        node = None if "" in self.opsets else next(filter(self.names_standard, self.nodes), None)
        if node is not None:
            raise ModelError(
                f"the model imports no default operator set, yet node '{describe(node)}' "
                f"({node.op}) needs one; export it again"
            )

    def _check_identities(self) -> None:
        """Raises ModelError where an Identity has no input: all walks go through Identities."""
        written = [(op, reads) for op, _, reads, *_ in self.alike]
        written += [(node.op, ()) for node in self.unlike]
        if all(op != "Identity" or any(reads[:1]) for op, reads in written):
            return
        for node in self.nodes:
            leads = node.op != "Identity" or (node.inputs and node.inputs[0].name)
            if not leads and self.names_standard(node):
                raise ModelError(
                    f"node '{describe(node)}' (Identity) has no input; export the model again"
                )


def row_declared(graph: Graph, node: Node) -> declared.Row | None:
    """A user's declaration of a node's operator, in the version that the graph imports.

    A function of the model needs none: its body says what it computes.
    """
    one = declared.declaration_of(node.domain, node.op)
    if one is None or graph.is_function(node):
        return None
    opset = graph.opsets.get(one.domain)
    return one if opset is not None and (not one.versions or opset in one.versions) else None


@contextmanager
def _one_line(prefix: str) -> Iterator[None]:
    """Puts messages of errors on one line, whatever names they contain, after `prefix`."""
    try:
        yield
    except ModelError as error:
        raise ModelError(prefix + " ".join(str(error).splitlines())) from None
    except WireError as error:
        raise ModelError(f"{prefix}damaged at byte {error.position}; export it again") from None


def _normal(values: Mapping[str, object]) -> dict[str, attributes.Value]:
    return {name: attributes.normal(value) for name, value in values.items()}


def _present(inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    """Inputs of a node, with a nameless tensor for one that is left out."""
    return tuple([tensor or Tensor("") for tensor in inputs])
