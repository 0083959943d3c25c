"""One graph of a model, to read and to edit: the main graph, a body of a node, or a function.

Edits go through `Graph`, never through its lists. Each is journaled, so that it can be undone, and
its cost does not grow with the graph. Only the parts that differ in the end are encoded again; the
rest is copied byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import starmap, zip_longest
from math import prod
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import onnx
from onnx import numpy_helper

from onnxpad import declared
from onnxpad.arguments import InFolder, Source
from onnxpad.errors import ModelError, UsageError, place_in
from onnxpad.file.external import internal
from onnxpad.file.proto_walk import (
    DEFAULT_DOMAINS,
    function_label,
    is_external,
    normal_domain,
    pinned,
    referred,
)
from onnxpad.file.skeleton import (
    Section,
    Skeleton,
    WireError,
    read_bytes,
    read_file,
    read_proto,
)
from onnxpad.finding import Counts, Location
from onnxpad.graph.model import (
    Model,
    contradiction,
    edited_section,
    imported,
    is_edited,
    lacks_elements,
    node_proto,
)
from onnxpad.graph.nodes import (
    NAME,
    Declared,
    Initializer,
    Node,
    Shape,
    State,
    Tensor,
    Touched,
    Use,
    Value,
    declaration,
    describe,
    fill,
    held_bodies,
    held_in,
    normal_value,
    noted,
    written,
)
from onnxpad.process import gc_paused

Array = np.ndarray[Any, Any]

SHARE_LIMIT = 1024  # bytes of an initializer that is added only once
LIMIT = 4096  # elements of a constant that is read
_ENDLESS = 1 << 20  # iterations of a Loop that has no end

_STATE = ("op", "attrs", "domain", "inputs", "outputs")
_ABSENT: State = "", {}, None, (), ()  # of a node that is not in the graph

_Type = onnx.TensorProto.DataType
_LISTED = {"int": _Type.INT64, "float": _Type.FLOAT, "string": _Type.STRING}
"""The types of what a Constant holds in attributes that are no tensor, such as `value_ints`."""


class Graph:
    """A graph of a model, with its edits: the main graph, a body of a node, or a function.

    Attributes:
        model: The model, with its file and the journal of its edits.
        scope, place: Where in the model it is (see `Location`); in words, as `If 'x' > body`.
        is_in_function: Whether it is a function, or a body in one.
        offset: Where it begins in the file; for the main graph -1.
        opsets: Version of each imported opset, by domain; the default domain is "".
        opset: That of the default domain; 0 without one, or in a function one that is not known.
        skeleton, section: The file, and the graph in it.
        parent, owner: For a body, the graph around it, and the node there that has it; else None.
        is_main: Whether it is the main graph.
        tensors: All tensors by name, and in a body those that it captures.
        listed: The nodes of the file in its order, removed ones included.
        head, tail: The dummies before the first node and after the last one.
        holders: The nodes that have bodies.
        alike: The attributes and the notes of nodes by what is written in them.
        inputs: Types and shapes of the inputs, in order, as declared; for bodies as far as their
            node determines them. An initializer that is also an input counts as an input from IR
            version 4 on, since a caller may override it, unless its default is trusted.
        trusted: The inputs whose default is taken as a constant, since a user said so.
        outputs, results: Names of the outputs; in order, where one may be listed twice.
        initializers: The initializers, by name.
        added: Names of initializers in the order they were added, those removed since included.
        undeclared: Names of tensors whose `value_info` is to be removed.
        redeclared: The outputs whose declared shape is to be another one, by name.
        edited: Whether it, or a body in it, may differ from the file.
    """

    def __init__(
        self,
        model: Model,
        section: Section,
        parent: Graph | None = None,
        owner: Node | None = None,
        scope: tuple[str, ...] = (),
        place: str = "",
        passed: Sequence[Declared] = (),
    ) -> None:
        """Not for direct use: see `load`, `from_proto`, `from_bytes`, `bodies`, `functions`."""
        light = section.light
        self.model, self.skeleton, self.section = model, model.skeleton, section
        self.parent, self.owner, self.scope, self.place = parent, owner, scope, place
        self.is_main = parent is None and isinstance(light, onnx.GraphProto)
        self.tensors: dict[str, Tensor] = {}
        self.listed: list[Node] = []
        self.head, self.tail = Node("", "", {}), Node("", "", {})
        self.holders: list[Node] = []
        self.alike: dict[Any, tuple[Any, Any]] = {}
        self.inputs: dict[str, Declared] = {}
        self.trusted: frozenset[str] = frozenset()
        self.results = tuple(getattr(each, "name", each) for each in light.output)
        self.outputs = frozenset(self.results)
        self.initializers: dict[str, Initializer] = {}
        self.added: list[str] = []
        self.undeclared: set[str] = set()
        self.redeclared: dict[str, Shape] = {}
        self.edited = False
        self.is_in_function: bool = not self.is_main if parent is None else parent.is_in_function
        self.offset = -1 if self.is_main else section.containers[0].begin
        self.opsets: Mapping[str, int] = model.opsets if parent is None else parent.opsets
        if isinstance(light, onnx.FunctionProto):
            self.opsets = imported(light.opset_import, model.ir_version)
        opset = self.opsets.get("", 0)
        self._knows_default = self.is_main or 1 <= opset <= onnx.defs.onnx_opset_version()
        self.opset = opset if self._knows_default else 0
        self._values: dict[Tensor, Array | None] = {}
        self._alike: dict[Any, Array] = {}
        self._pinned = self.outputs | (
            pinned(model.skeleton.light) if self.is_main else referred(light)
        )
        self._shared: dict[Any, Tensor] = {}
        is_unsorted = fill(self, passed)
        places = {node: place for place, node in enumerate(self.listed if self.holders else ())}
        for node in self.holders:
            self._open_bodies(node)
            above = (tensor.producer for tensor in node.captures)
            is_unsorted |= any(each and places[each] > places[node] for each in above)
        if is_unsorted and (looped := self.on_cycle()):
            raise ModelError(
                f"the graph has a cycle through node '{describe(looped)}' ({looped.op}); "
                "export it again"
            )
        if self.is_main:
            self._check_opset()
            if model.ir_version < 4:  # every initializer had to be an input too
                for name in self.initializers:
                    self.inputs.pop(name, None)
            model.main = self
            model.functions = [self._opened(each) for each in model.skeleton.functions()]

    @classmethod
    @gc_paused()
    def load(cls, path: str | os.PathLike[str]) -> Graph:
        """The main graph of a model file; ModelError where it is none, or lacks external data."""
        file = Path(path)
        return cls._of(read_file(file), file, f"{file}: ")

    @classmethod
    @gc_paused()
    def from_proto(cls, proto: onnx.ModelProto) -> Graph:
        """The main graph of a model in memory, which is never changed; ModelError over 2 GiB."""
        if not isinstance(proto, onnx.ModelProto):
            raise UsageError(f"expected a path or an onnx.ModelProto, got {type(proto).__name__}")
        return cls._of(read_proto(proto), None)

    @classmethod
    @gc_paused()
    def from_bytes(cls, data: bytes, folder: Path | None = None) -> Graph:
        """The main graph of a serialised model, whose external data lies in a folder, if known."""
        path = None if folder is None else folder / "(model in memory)"
        return cls._of(read_bytes(memoryview(data), "the model"), path)

    @classmethod
    def read(cls, source: Source) -> Graph:
        """The main graph of a model file, of a serialised model, or of one in memory."""
        if isinstance(source, Path):
            return cls.load(source)
        if isinstance(source, InFolder):
            return cls.from_bytes(source.data, source.folder)
        return cls.from_bytes(source) if isinstance(source, bytes) else cls.from_proto(source)

    @gc_paused()
    def pristine(self) -> Graph:
        """The main graph as it was loaded, without any edits."""
        graph = self._of(self.skeleton, self.model.path)
        if self.model.main.trusted:
            graph.take_defaults()
        return graph

    @classmethod
    def _of(cls, skeleton: Skeleton, path: Path | None, prefix: str = "") -> Graph:
        with _one_line(prefix):
            return cls(Model(skeleton, path), skeleton.main)

    # Graphs inside

    def _opened(self, function: Section) -> Graph:
        name = function_label(function.light)
        with _one_line(f"function {name}: "):
            return Graph(self.model, function, scope=(name,), place=name)

    def _open_bodies(self, node: Node) -> None:
        """Opens the bodies of a node, which captures what they read then."""
        node.captures, node.bodies = {}, {}
        for key, light in held_bodies(node):
            steps = f"{node.op} {describe(node)!r}", key
            with _one_line(f"{place_in('', *steps)}: "):
                assert node.record is not None
                section = self.skeleton.body(node.record, key, light)
                scope, passed = (*self.scope, describe(node), key), self._passed(node, light)
                place = place_in(self.place, *steps)
                body = Graph(self.model, section, self, node, scope, place, passed)
            node.bodies[key] = body
            for tensor in filter(body.is_read, body.captured()):
                outer = cast("Tensor", tensor.outer)
                node.captures[outer] = None
                self._read(node, -1, outer)

    def _passed(self, node: Node, light: onnx.GraphProto) -> list[Declared]:
        """What a Loop passes to its body first, which some declare as vectors of one element."""
        if node.op != "Loop" or not self.is_standard(node):
            return []
        shapes = [declaration(value).shape for value in light.input[:2]]
        known = zip((_Type.INT64, _Type.BOOL), shapes, strict=False)
        return [Declared(kind, None if shape else ()) for kind, shape in known]

    def bodies(self, node: Node) -> Iterator[Graph]:
        """The bodies of a node."""
        return (node.bodies[key] for key, _ in held_bodies(node))

    def inside(self) -> Iterator[Graph]:
        """All bodies in it, then the functions of a main graph; each is followed by those in it."""
        bodies = (body for node in self.running() for body in self.bodies(node))
        for each in (*bodies, *(self.model.functions if self.is_main else ())):
            yield each
            yield from each.inside()

    # Reading

    @property
    def nodes(self) -> Iterator[Node]:
        """The nodes in file order, inserted ones in place; edits during the iteration are fine."""
        node, tail = self.head.next, self.tail
        while node is not tail:
            if node.alive:
                yield node
            node = node.next

    def capture(self, name: str) -> Tensor | None:
        """The tensor of a name that nodes here may read: a body captures those around it."""
        if name not in self.tensors and (source := self.around(name)) is not None:
            self.tensors[name] = Tensor(name, source)
        return self.tensors.get(name)

    def around(self, name: str) -> Tensor | None:
        """The tensor of a name that a body may capture; None where there is none."""
        found = None if self.parent is None else self.parent.capture(name)
        return None if found is None or found.producer is self.owner else found

    def captured(self) -> Iterator[Tensor]:
        """The tensors of a body that it captures from the graph around."""
        return (tensor for tensor in self.tensors.values() if tensor.outer is not None)

    def is_read(self, tensor: Tensor) -> bool:
        """Whether anything reads a tensor, or it is an output of the graph."""
        return bool(tensor.uses) or tensor.name in self.outputs

    def share(self, node: Node) -> bool:
        """Gives a node the attributes and notes of all nodes that are written alike, if any can."""
        key = written(node)
        own: tuple[Any, Any] = node.attrs, {}
        node.attrs, node.notes = own if key is None else self.alike.setdefault(key, own)
        return key is not None

    @property
    def version(self) -> int:
        """A number that changes with every edit: while it stays the same, so does the graph."""
        return self.model.journal.count

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name; raises KeyError where there is none."""
        return self.tensors[name]

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor that was in the graph is still there."""
        return self.tensors.get(tensor.name) is tensor

    def origin(self, tensor: Tensor) -> Tensor:
        """The tensor that a tensor is a copy of, through Identities; itself if it is no copy."""
        node = tensor.producer
        while node is not None and node.op == "Identity" and self.is_standard(node):
            tensor = node.inputs[0]
            node = tensor.producer
        return tensor

    def on_cycle(self) -> Node | None:
        """A node of this graph, or of one around it, that depends on itself; None without any."""
        from graphlib import CycleError, TopologicalSorter

        sources = {node: self.sources(node) for node in self.nodes}
        above = {node: [t.producer for t in read if t.producer] for node, read in sources.items()}
        try:
            TopologicalSorter(above).prepare()
        except CycleError as error:
            node: Node = error.args[1][0]
            return node
        return None if self.parent is None else self.parent.on_cycle()

    def sources(self, node: Node) -> Sequence[Tensor]:
        """The tensors that a node reads: its inputs, and those that its bodies capture."""
        return (*node.inputs, *node.captures)

    def uses(self, tensor: Tensor) -> Sequence[Use]:
        """The places where a tensor is read, in no particular order; a copy, safe from edits."""
        return tuple(starmap(Use, tensor.uses))

    def home(self, tensor: Tensor) -> tuple[Graph, Tensor]:
        """The graph that defines a tensor, and the tensor there: a body may capture it."""
        graph = self
        while tensor.outer is not None:
            graph, tensor = cast("Graph", graph.parent), tensor.outer
        return graph, tensor

    def unique(self, name: str) -> str:
        """A name of a tensor made unique in the model: bodies and functions may reuse names."""
        return place_in(self.place, name) if self.scope else name

    def is_output(self, tensor: Tensor) -> bool:
        """Whether a tensor is an output of the graph."""
        return tensor.name in self.outputs

    @noted
    def is_standard(self, node: Node) -> bool:
        """Whether a node is an operator of ONNX itself, written as its schema asks."""
        return self.names_standard(node) and not self.contradiction(node)

    def names_standard(self, node: Node) -> bool:
        """Whether a node names an operator of ONNX itself, not a custom one or a function."""
        is_default = self._knows_default and node.domain in DEFAULT_DOMAINS
        return is_default and node.op not in self.model.standard_functions

    @noted
    def contradiction(self, node: Node) -> str:
        """How a node contradicts the schema of its operator; empty where it does not."""
        if not self.names_standard(node):
            return ""
        return contradiction(node, self.opset, in_function=self.is_in_function)

    def _callees(self, node: Node) -> Sequence[int]:
        return self.model.function_indices.get((normal_domain(node.domain), node.op), ())

    def is_function(self, node: Node) -> bool:
        """Whether a node calls a function of the model."""
        return bool(self._callees(node))

    def called(self, node: Node) -> Graph | None:
        """The function that a node calls; None where there is none, or several of that name."""
        found = self._callees(node)
        return self.model.functions[found[0]] if len(found) == 1 else None

    def inner_operators(self, node: Node) -> frozenset[str]:
        """The op types in the bodies of a node and in the functions that it may call."""
        return frozenset(inner.op for each in self._run_by(node) for inner in each.nodes)

    @noted
    def _run_by(self, node: Node) -> Collection[Graph]:
        """The bodies of a node and the functions that it may call, with all that these run."""
        found, pending = set[Graph](), [(self, node)]
        for graph, owner in pending:
            called = (self.model.functions[index] for index in graph._callees(owner))
            fresh = {*graph.bodies(owner), *called} - found
            found |= fresh
            pending += [(each, inner) for each in fresh for inner in each.running()]
        return found

    def refers(self, node: Node) -> str:
        """An attribute of a node whose value each call of the function around gives; else empty."""
        for name, value in node.attrs.items() if self.is_in_function else ():
            if isinstance(value, onnx.AttributeProto) and value.ref_attr_name:
                return name
        return ""

    def is_there(self) -> bool:
        """Whether the model still has this graph: the node that has a body may be gone."""
        if self.owner is None or self.parent is None:
            return True
        return self.owner.alive and self.parent.is_there()

    def owner_in(self, graph: Graph) -> Node | None:
        """The node of another graph that has this one in a body; None if none does."""
        if self.parent is None or self.parent is graph:
            return self.owner
        return self.parent.owner_in(graph)

    label = staticmethod(describe)

    def location(self, node: Node) -> Location:
        """Where a node is."""
        return Location(self.scope, node.name, next(filter(None, map(NAME, node.outputs)), ""))

    def place_of(self, node: Node) -> str:
        """The label of a node in reports; in a body or function, with the way to it."""
        label = describe(node)
        return place_in(self.place, f"{node.op} {label!r}") if self.scope else label

    def is_edited(self, node: Node) -> bool:
        """Whether a node is not in the file, or differs from the file."""
        return is_edited(self.skeleton, node)

    def runs_edited(self, node: Node) -> bool:
        """Whether a node, a body of it, or a function that these may call differs from the file."""
        if self.is_edited(node) or not self.runs_graphs(node):
            return self.is_edited(node)
        return any(map(edited_section, self.model.functions))

    @noted
    def runs_graphs(self, node: Node) -> bool:
        """Whether a node has bodies, or calls a function of the model."""
        return self.is_function(node) or bool(held_bodies(node))

    def running(self) -> list[Node]:
        """The nodes that have bodies, or call a function of the model, in file order."""
        among = self.nodes if self.model.functions else self.holders
        return [node for node in among if node.alive and self.runs_graphs(node)]

    # Constants

    def declared(self, tensor: Tensor) -> Declared | None:
        """Type and shape of a graph input, an initializer or a Constant; None for other tensors."""
        graph, tensor = self.home(tensor)
        if tensor.name in graph.inputs:
            return graph.inputs[tensor.name]
        held = graph._held(tensor)
        return None if held is None else held.declared

    def is_external(self, tensor: Tensor) -> bool:
        """Whether the elements of an initializer or a Constant are external data."""
        graph, tensor = self.home(tensor)
        # An initializer that a caller may override counts as an input.
        held = None if tensor.name in graph.inputs else graph._held(tensor)
        return held is not None and is_external(held.proto)

    def is_raw(self, tensor: Tensor) -> bool:
        """Whether the elements of an initializer or a Constant are stored as bytes."""
        graph, tensor = self.home(tensor)
        held = graph._held(tensor)
        return held is not None and graph._whole(tensor, held).HasField("raw_data")

    def constant(self, tensor: Tensor) -> Array | None:
        """The value of an initializer or a Constant, read-only; None where it is not available.

        That is where a caller may override it, for sparse tensors and those with over 4,096
        elements, and for external data of a model that came without a path. Raises ModelError where
        its elements do not fit its shape, or cannot be read.
        """
        graph, tensor = self.home(tensor)
        node = tensor.producer
        if (node is not None and node.op != "Constant") or tensor.name in graph.inputs:
            return None  # a caller may override an initializer that is also an input
        if tensor not in graph._values:
            held = graph._held(tensor)
            graph._values[tensor] = None if held is None else graph._elements(tensor, held)
        return graph._values[tensor]

    def is_fixed(self, tensor: Tensor) -> bool:
        """Whether the value is a constant that no caller can override, trusted or not."""
        return tensor.name not in self.model.main.trusted and self.constant(tensor) is not None

    def _held(self, tensor: Tensor) -> Initializer | None:
        node = tensor.producer
        if node is None:
            return self.initializers.get(tensor.name)
        if node.op != "Constant" or len(node.attrs) != 1 or not self.is_standard(node):
            return None
        ((name, value),) = node.attrs.items()
        if isinstance(value, onnx.AttributeProto):
            is_held = value.HasField("t") and not value.ref_attr_name
            return held_in(value.t, tensor.name, node.record) if is_held else None
        kind = _LISTED.get(name.removeprefix("value_").removesuffix("s"))
        if kind is None:
            return None
        dims, items = ([len(value)], value) if isinstance(value, list) else ([], [value])
        return held_in(onnx.helper.make_tensor("", kind, dims, items), tensor.name, None)

    def _whole(self, tensor: Tensor, held: Initializer) -> onnx.TensorProto:
        """A tensor with its elements, where these are in the model."""
        if held.record is None or not lacks_elements(held.proto):
            return held.proto
        if tensor.producer is None:
            return self.skeleton.whole(held.record, onnx.TensorProto())
        node = self.skeleton.whole(held.record, onnx.NodeProto())
        value: onnx.TensorProto = node.attribute[0].t
        return value

    def _elements(self, tensor: Tensor, held: Initializer) -> Array | None:
        proto, path = held.proto, self.model.path
        if proto.HasField("segment") or prod(proto.dims) > LIMIT:
            return None
        if not is_external(proto):
            proto = self._whole(tensor, held)
        elif path is None:
            return None
        else:
            proto = internal(proto, path.parent)
        key = proto.data_type, tuple(proto.dims), proto.raw_data
        if key[-1] and key in self._alike:  # networks repeat the same few short ones
            return self._alike[key]
        try:
            array = np.array(numpy_helper.to_array(proto))
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ModelError(
                f"the elements of tensor '{tensor.name}' do not fit its type and shape "
                f"({list(proto.dims)}); export the model again"
            ) from error
        array.setflags(write=False)
        self._alike[key] = array
        return array

    # Edits

    def _record(self, *step: Any) -> None:
        self.model.journal.record(*step)
        graph: Graph | None = self
        while graph is not None:
            graph.edited = True
            if graph.owner is not None:
                graph.owner.touched = True
            graph = graph.parent

    def mark(self) -> int:
        """A point to roll back to."""
        return self.model.journal.mark()

    def rollback(self, mark: int) -> None:
        """Undoes every edit made since a mark, sweeps included."""
        self.model.journal.rollback(mark)

    def take_defaults(self) -> None:
        """Takes the initializers that are also inputs as constants, which no caller overrides."""
        if taken := self.inputs.keys() & self.initializers.keys():
            self._record(setattr, self, "inputs", self.inputs)
            self._record(setattr, self, "trusted", self.trusted)
            self.inputs = {name: each for name, each in self.inputs.items() if name not in taken}
            self.trusted |= taken

    def undeclare(self, tensor: Tensor) -> None:
        """Drops the `value_info` of a tensor."""
        if tensor.name not in self.undeclared:
            self.undeclared.add(tensor.name)
            self._record(self.undeclared.discard, tensor.name)

    def declare(self, name: str, shape: Shape) -> None:
        """Changes the declared shape of an input of the main graph."""
        inputs = self.inputs
        if inputs[name].shape != shape:
            self._record(inputs.__setitem__, name, inputs[name])
            inputs[name] = inputs[name]._replace(shape=shape)
            self.model.journal.declared += 1

    def declare_output(self, name: str, shape: Shape) -> None:
        """Changes the declared shape of an output of the main graph that declares one."""
        self._record(setattr, self, "redeclared", self.redeclared)
        self.redeclared = {**self.redeclared, name: shape}

    def claims(
        self, *kinds: Literal["value_info", "output", "input"]
    ) -> Iterator[tuple[Tensor, Shape]]:
        """Shapes that no runtime enforces: of `value_info`, outputs, and inputs of bodies."""
        for kind in kinds:
            for value, _ in () if kind == "input" and self.is_main else self.section.parts(kind):
                # A function declares only names.
                shape = None if isinstance(value, str) else declaration(value).shape
                if shape is not None and value.name in self.tensors:
                    yield self.tensors[value.name], shape

    def set_attribute(self, node: Node, name: str, value: object | None) -> None:
        """Sets an attribute to a number, a string or a sequence of one kind; None removes it."""
        self.set_attributes(node, {name: value})

    def set_attributes(
        self, node: Node, changed: Mapping[str, object | None], inputs: tuple[Tensor, ...] = ()
    ) -> None:
        """Sets several attributes at once, as `set_attribute` does one, and inputs if given."""
        attrs, was = _with(node.attrs, changed), node.state
        self._turn(node, was, (node.op, attrs, node.domain, inputs or node.inputs, node.outputs))

    def set_input(self, node: Node, index: int, tensor: Tensor | None) -> None:
        """Connects an input of a node to another tensor, or appends one; None omits the input.

        Omitting the last input drops it, together with omitted ones before it.
        """
        if not 0 <= index <= len(node.inputs):
            raise IndexError(f"node '{describe(node)}' has no input {index}")
        inputs = (*node.inputs[:index], *_present([tensor]), *node.inputs[index + 1 :])
        while tensor is None and not inputs[-1].name:
            inputs = inputs[:-1]
        self._change(node, inputs=inputs)

    def insert(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        attributes: Mapping[str, object],
        *,
        before: Node,
        name: str,
    ) -> Tensor:
        """Inserts a node of the default domain in front of another; returns its only output.

        Node and output get fresh names derived from `name`.
        """
        label = self._fresh(name)
        output = Tensor(self._fresh(f"{label}_output"))
        values, reads = _with({}, attributes), _present(inputs)
        self._insert(Node(op, label, values, inputs=reads, outputs=(output,)), before)
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

        Of `changed` attributes, None leaves one out. The name is a fresh one if None, but one that
        takes the place of another keeps its name. Returns as many outputs as the other node has.
        """
        if held_bodies(node):
            raise ValueError(f"node '{describe(node)}' has bodies, which stay where they are")
        first = node.outputs[0].name
        own = self._fresh(node.name or first) if name is None else name
        outputs = []
        for place, output in enumerate(node.outputs):
            fresh = f"{own or first}_output{place or ''}"
            outputs.append(Tensor(self._fresh(fresh) if output.name else ""))
        kept = {name: value for name, value in node.attrs.items() if name not in changed}
        new = Node(node.op, own, _with(kept, changed), node.domain)
        new.like = node.like if node.record is None else node
        new.inputs, new.outputs = _present(inputs), tuple(outputs)
        self._insert(new, node)
        return new.outputs

    def replace_op(
        self, node: Node, op: str, inputs: Sequence[Tensor | None], attributes: Mapping[str, object]
    ) -> None:
        """Turns a node into another operator of the default domain; name and outputs stay."""
        domain = node.domain if node.domain in DEFAULT_DOMAINS else None
        values, reads = _with({}, attributes), _present(inputs)
        self._change(node, op=op, attrs=values, domain=domain, inputs=reads)

    def absorb(self, node: Node) -> tuple[str, ...]:
        """Removes an Identity: the node upstream writes its output, which all read then.

        Nothing happens where the input must keep its name (it is a graph input or output, or a body
        reads it), or where a body has a tensor with the name of the output. Returns the names of
        the removed nodes.
        """
        if node.op != "Identity" or not self.is_standard(node):
            return ()
        (original,), (copy,) = node.inputs, node.outputs
        source, uses = original.producer, self.uses(original)
        stays = self._is_pinned(original) or any(use.index < 0 for use in uses)
        if source is None or stays or self._is_inside(copy.name):
            return ()
        for use in uses:
            if use.node is not node:
                self.set_input(use.node, use.index, copy)
        self._turn(node, node.state, None)
        outputs = tuple(copy if tensor is original else tensor for tensor in source.outputs)
        self._change(source, outputs=outputs)
        return (self.place_of(node),)

    def add_initializer(self, values: Array, name: str, *, as_numbers: bool = False) -> Tensor:
        """Adds a constant under a fresh name derived from `name`.

        It is stored as bytes, or `as_numbers`, which must be of int64 then. A small one that was
        added before is shared. In a body or a function it is a Constant in front of all nodes, of
        which there must be one.
        """
        if not hasattr(values, "dtype"):
            raise TypeError(f"add_initializer takes a numpy array, not {values!r:.60}")
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
            proto.name = self._fresh(name)
            tensor = Tensor(proto.name)
            self.added.append(proto.name)
            self._record(self.added.pop)
            self._record(self._hold, tensor, None)
            self._hold(tensor, held_in(proto, name, None))
            self.model.journal.leave(self, tensor)
        else:
            value = onnx.helper.make_attribute("value", proto)
            first = next(self.nodes, None)
            if first is None:
                raise ValueError(f"{self.place} has no node, so no place for a constant")
            tensor = self.insert("Constant", [], {"value": value}, before=first, name=name)
        if key:
            self._shared[key] = tensor
        return tensor

    def remove(self, node: Node) -> None:
        """Removes a node; raises ValueError where something reads it, or it is gone."""
        if not node.alive or not all(map(self._is_unused, node.outputs)):
            raise ValueError(f"node '{describe(node)}' is in use or gone")
        self._turn(node, node.state, None)

    def sweep(self) -> tuple[str, ...]:
        """Removes what edits since the last sweep left unused; returns the names of the nodes.

        Nodes that no edit concerns stay, unused or not.
        """
        removed, journal = [], self.model.journal
        done = journal.swept
        while done < len(journal.left):  # what is removed may leave more unused
            _, graph, tensor = journal.left[done]
            done += 1
            if (node := graph._drop(tensor)) is not None:
                removed.append(graph.place_of(node))
        if done != journal.swept:
            journal.steps.append((setattr, journal, "swept", journal.swept))
            journal.swept = done
        return tuple(removed)

    def _drop(self, tensor: Tensor) -> Node | None:
        if not self.holds(tensor) or not self._is_unused(tensor):
            return None
        if tensor.name in self.initializers:
            self._record(self._hold, tensor, self.initializers[tensor.name])
            self._hold(tensor, None)
        elif (node := tensor.producer) and all(map(self._is_unused, node.outputs)):
            self._turn(node, node.state, None)
            return node
        return None

    def _fresh(self, base: str) -> str:
        name = self.model.names.fresh(base)
        self._record(self.model.names.release, name)
        return name

    def _insert(self, node: Node, before: Node) -> None:
        if not before.alive:
            raise ValueError(f"node '{describe(before)}' is gone")
        node.previous, node.next = before.previous, before
        self._turn(node, None, node.state)
        for tensor in node.outputs:
            self.model.journal.leave(self, tensor)

    def _change(self, node: Node, **changed: Any) -> None:
        was = node.state
        now: Any = tuple(map(changed.get, _STATE, was))
        self._turn(node, was, now)

    def _turn(self, node: Node, was: State | None, now: State | None) -> None:
        self._record(Graph._become, self, node, now, was)
        self._become(node, was, now)

    def _become(self, node: Node, was: State | None, now: State | None) -> None:
        """Makes a node what a state says; None stands for one that is not in the graph."""
        old, new = was or _ABSENT, now or _ABSENT
        is_other = old[1] is not new[1]
        node.reading = None
        for tensor in old[4] if old[0] == "Constant" else ():
            self._values.pop(tensor, None)
        for tensor in node.captures if is_other else ():
            if (node, -1) in tensor.uses:
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
            for tensor in node.captures if held_bodies(node) else ():
                self._read(node, -1, tensor)

    def _read(self, node: Node, index: int, tensor: Tensor) -> None:
        if tensor.outer is not None and not self.is_read(tensor):
            self._pass_on(tensor.outer, is_read=True)
        tensor.uses[node, index] = None

    def _unread(self, node: Node, index: int, tensor: Tensor) -> None:
        del tensor.uses[node, index]
        if not tensor.uses:
            self.model.journal.leave(self, tensor)
        if tensor.outer is not None and not self.is_read(tensor):
            self._pass_on(tensor.outer, is_read=False)

    def _pass_on(self, tensor: Tensor, *, is_read: bool) -> None:
        """Tells the graph around that a body begins to read a tensor of it, or no longer does."""
        around, owner = cast("Graph", self.parent), cast("Node", self.owner)
        here = [(body, body.tensors.get(tensor.name)) for body in owner.bodies.values()]
        if is_read:
            owner.captures[tensor] = None
        elif any(each and each.outer is tensor and body.is_read(each) for body, each in here):
            return
        else:
            owner.captures.pop(tensor)
        if owner.alive:
            (around._read if is_read else around._unread)(owner, -1, tensor)

    def _write(self, node: Node, old: Tensor | None, new: Tensor | None) -> None:
        if old is not None:
            old.producer = None
            if old.name:
                self._forget(old)
        if new is not None:
            new.producer = node
            if new.name:
                self.tensors[new.name] = new

    def _hold(self, tensor: Tensor, initializer: Initializer | None) -> None:
        if initializer is None:
            del self.initializers[tensor.name]
            self._forget(tensor)
        else:
            self.tensors[tensor.name], self.initializers[tensor.name] = tensor, initializer

    def _forget(self, tensor: Tensor) -> None:
        del self.tensors[tensor.name]
        self._values.pop(tensor, None)

    def _is_pinned(self, tensor: Tensor) -> bool:
        """Whether something other than a node refers to a tensor by its name."""
        return tensor.name in self._pinned or tensor.name in self.inputs

    def _is_unused(self, tensor: Tensor) -> bool:
        return not (tensor.uses or self._is_pinned(tensor))

    def _is_inside(self, name: str) -> bool:
        inside = [body for node in self.holders for body in node.bodies.values()]
        found = [body.tensors[name] for body in inside if name in body.tensors]
        return any(t.outer is None for t in found) or any(body._is_inside(name) for body in inside)

    def touched(self, mark: int) -> Sequence[Touched]:
        """The nodes that edits since a mark touched, each as it was at the mark.

        Nodes whose bodies were edited count; where a function was edited, so do all that run one.
        """
        found: dict[Node, Touched] = {}
        inside: dict[Node, Touched] = {}
        for graph, node, _, was in self._changes(mark):
            if graph is self:
                again = node in found
                found[node] = Touched(node, found[node].was if again else was, again)
            elif (owner := graph.owner_in(self)) is not None:
                inside[owner] = Touched(owner, None)
            elif graph.is_in_function:
                inside.update((each, Touched(each, None)) for each in self.running())
        return list({**found, **inside}.values())

    def _changes(self, mark: int) -> Iterator[Sequence[Any]]:
        """The edits of nodes since a mark: graph, node, and the states after and before."""
        steps = self.model.journal.steps[mark:]
        return (step[1:] for step in steps if step[0] is Graph._become)

    def differs(self, touched: Touched) -> bool:
        """Whether a touched node of this graph is another one than before the edits."""
        return touched.node.state != touched.was

    def touched_elsewhere(self, mark: int) -> Sequence[Touched]:
        """The nodes of other graphs, bodies included, that edits since a mark touched."""
        changes = self._changes(mark)
        return [Touched(node, was) for graph, node, _, was in changes if graph is not self]

    # Saving

    def node_proto(self, node: Node) -> onnx.NodeProto:
        """A node as it would be saved now, with all elements of its tensors."""
        return node_proto(self.skeleton, node)

    def _check_opset(self) -> None:
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


def row_declared(graph: Graph, node: Node) -> declared.Row | None:
    """A user's declaration of a node's operator, in the version that the graph imports."""
    one = declared.declaration_of(node.domain, node.op)
    if one is None:
        return None
    return one if not one.versions or graph.opsets.get(one.domain) in one.versions else None


def counts_of(graph: Graph) -> Counts:
    """The padding and the nodes of a model, bodies and functions included."""
    pads = auto_pads = ceil_modes = nodes = 0
    for each in (graph, *graph.inside()):
        for node in each.nodes:
            nodes += 1
            pads += node.op == "Pad" and each.is_standard(node)
            if attrs := node.attrs:
                auto_pads += attrs.get("auto_pad", "") not in ("NOTSET", "")
                ceil_modes += attrs.get("ceil_mode", 0) == 1
    return Counts(pads, auto_pads, nodes, ceil_modes)


def has_open_loop(graph: Graph) -> bool:
    """Whether a model has a Loop that no constant stops within a million iterations or so."""
    for each in (graph, *graph.inside()):
        for node in each.nodes:
            if node.op == "Loop":
                count, value = node.operand(0), None
                with suppress(ModelError):  # its elements do not fit its shape
                    value = None if count is None else each.constant(count)
                if value is None or value.size != 1 or value.item() > _ENDLESS:
                    return True
    return False


@contextmanager
def _one_line(prefix: str) -> Iterator[None]:
    """Puts messages of errors on one line, whatever names they contain, after `prefix`."""
    try:
        yield
    except ModelError as error:
        raise ModelError(prefix + " ".join(str(error).splitlines())) from None
    except WireError as error:
        raise ModelError(f"{prefix}damaged at byte {error.position}; export it again") from None


def _with(values: Mapping[str, Value], changed: Mapping[str, object | None]) -> dict[str, Value]:
    """Attributes with other values for some of them; None leaves one out."""
    found = dict(values)
    for name, value in changed.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = normal_value(value)
    return found


def _present(inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    if wrong := [each for each in inputs if each is not None and not isinstance(each, Tensor)]:
        raise TypeError(f"inputs are tensors or None, not {wrong[0]!r:.60}")
    return tuple([tensor or Tensor("") for tensor in inputs])
