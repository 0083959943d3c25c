"""Builds nodes and tensors for one graph of a model, and checks the graph.

Both are compared by identity, not by name: two bodies may use the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import onnx
from msgspec import UNSET, Struct
from msgspec.structs import replace

from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import captured, named_bodies
from onnxpad.file.skeleton import Record, Section
from onnxpad.graph import attributes

_NAME: Final = attrgetter("name")
_Shared: TypeAlias = tuple[Mapping[str, Any], dict[object, Any]]
_Graph = TypeVar("_Graph")
_Fact = TypeVar("_Fact")


_EMPTY: Final[Mapping[Any, Any]] = MappingProxyType({})


class Node(Struct, eq=False):
    """One use of an operator, and its place in the order of its graph, which is a linked list.

    Attributes:
        op: The operator.
        name: Its own name; may be empty.
        attrs: Its attributes by name. They are never changed in place: all nodes of a graph that
            are written alike share them.
        inputs: The tensors that it reads; one without a name for an input that is left out.
        outputs: The tensors that it computes, likewise.
        domain: The domain of the operator; None for that of ONNX.
        notes: A cache for facts that follow from what `written` gives alone. All nodes of a graph
            that are written alike share it, as networks repeat the same few layers.
        reading: What was last read of it and of its inputs, with the analysis that knew these; an
            edit of the node drops it.
        record: Its record in the file; None for an inserted one.
        like: For an inserted one, the node whose notes (`doc_string`, `metadata_props`) it gets.
        captures: The tensors that its bodies capture, with the number of bodies that do.
        bodies: The bodies that were opened, by name of the attribute, with the index if it is a
            list.
        alive: Whether it is in a graph.
        touched: Whether it may differ from the file.
        previous: The node before it.
        next: The node after it.
    """

    op: str
    name: str
    attrs: Mapping[str, Any]
    domain: str | None = None
    record: Record | None = None
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    notes: dict[object, Any] = {}
    reading: tuple[object, Any] | None = None
    like: Node | None = None
    captures: Mapping[Tensor, int] = _EMPTY
    bodies: Mapping[str, View] = _EMPTY
    alive: bool = False
    touched: bool = False
    previous: Node = UNSET  # type: ignore[assignment]  # until it is linked
    next: Node = UNSET  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The operator and the name."""
        return f"<{self.op} {describe(self)!r}>"

    def operand(self, index: int) -> Tensor | None:
        """An input; None where it is left out."""
        inputs = self.inputs
        return inputs[index] if index < len(inputs) and inputs[index].name else None


def noted(ask: Callable[[_Graph, Node], _Fact]) -> Callable[[_Graph, Node], _Fact]:
    """Caches a function of a graph and a node of it that looks at nothing but what is written."""

    @wraps(ask)
    def answer(graph: _Graph, node: Node) -> _Fact:
        try:
            fact: _Fact = node.notes[ask]
        except KeyError:
            fact = node.notes[ask] = ask(graph, node)
        return fact

    return answer


class Tensor:
    """A tensor by its name, with the places that write and read it.

    Attributes:
        name: Its name; empty for one that is left out.
        producer: The node that computes it; None for inputs and initializers.
        uses: Its uses: the node that reads it, and the index of the input, as `Use` has them.
        origin: The tensor that it is a copy of, through Identities; None until it is looked up.
        outer: In a body, the tensor of the graph around that it captures; else None.
    """

    __slots__ = ("name", "origin", "outer", "producer", "uses")

    def __init__(self, name: str) -> None:
        """A tensor that no node writes or reads yet."""
        self.name: str = name
        self.producer: Node | None = None
        self.uses: dict[tuple[Node, int], None] = {}
        self.origin: Tensor | None = None
        self.outer: Tensor | None = None


class Use(NamedTuple):
    """One place where a tensor is read.

    Attributes:
        node: The node that reads it.
        index: Position in `node.inputs`; -1 if a body of that node (of If, Loop or Scan) reads it.
    """

    node: Node
    index: int  # type: ignore[assignment]


def written(node: Node) -> tuple[object, ...] | None:
    """All that is written in a node but names; None where an attribute is no number, text or list.

    Of inputs and outputs, it says how many there are, and which are left out.
    """
    says: list[object] = []
    for name, value in node.attrs.items():
        each = value if type(value) is list else (value,)
        kinds = set(map(type, each))
        if onnx.AttributeProto in kinds:
            return None
        # Equal numbers of several types are not alike, nor are 0.0 and -0.0.
        says += name, type(value), *kinds, *(map(float.hex, each) if float in kinds else each)
    inputs = tuple(map(bool, map(_NAME, node.inputs)))
    outputs = tuple(map(bool, map(_NAME, node.outputs)))
    return node.op, node.domain, inputs, outputs, *says


class Declared(NamedTuple):
    """The declared type and shape of a graph input or an initializer.

    Attributes:
        dtype: `onnx.TensorProto.DataType`; UNDEFINED for anything but a dense tensor.
        shape: Known, named and (None) unknown dimensions; None where even the rank is unknown.
    """

    dtype: int
    shape: tuple[int | str | None, ...] | None


UNDECLARED: Final = Declared(onnx.TensorProto.DataType.UNDEFINED, None)
"""The declaration of an input of which nothing is known."""


class Initializer(Struct, frozen=True):
    """An initializer of the graph.

    Attributes:
        proto: The tensor, perhaps without its elements; for a sparse one, its values.
        declared: Its type and shape.
        records: Its records in the file, with that of its graph input before IR version 4; none
            if it was added.
        sparse: Whether it is sparse.
    """

    proto: onnx.TensorProto
    declared: Declared
    records: tuple[Record, ...] = ()
    sparse: bool = False


class View:
    """The lists of one graph of a model: the main graph, a body of a node, or a function.

    Attributes:
        section: The graph in the file.
        outer: For a body, the graph around it and the node there that has it; else None.
        tensors: All tensors of the graph by name, and in a body those that it captures.
        listed: The nodes in file order, inserted ones at the end, removed ones included.
        alike: The attributes and the notes of nodes by what is written in them.
        unlike: The nodes that share none; all that have bodies are among them.
        inputs: The inputs; from IR version 4 on, those with an initializer as default too, but for
            those of `trusted`.
        trusted: The inputs whose default is taken as a constant, since a user said so.
        outputs: Names of the outputs.
        results: The same in order; an output may be listed twice.
        initializers: The initializers, by name.
        added: Names of initializers in the order they were added, those removed since included.
        gone: Names of removed tensors, with the records to remove along with them.
        undeclared: Names of tensors whose `value_info` is to be removed.
        redeclared_outputs: The outputs whose declared shape is to be another one, by name.
        uncertain: Names that a body reads before it defines them itself: in a sorted body these
            would be captured.
        edited: Whether it, or a body in it, may differ from the file.
        head: The dummy before the first node.
        tail: The dummy after the last node.
    """

    def __init__(
        self,
        section: Section,
        outer: tuple[View, Node] | None,
        passed: Sequence[Declared] | None,
    ) -> None:
        """Reads one graph of a model.

        Args:
            section: The graph in the file.
            outer: For a body, the graph around it and the node there that has it.
            passed: Types and shapes of the inputs, where the declared ones do not count.

        Raises:
            ModelError: A tensor has no source or several, or the graph has a cycle.
        """
        self.section = section
        self.outer = outer
        self.tensors: dict[str, Tensor] = {}
        self.listed: list[Node] = []
        self.alike: dict[tuple[Any, ...], _Shared] = {}
        self.unlike: dict[Node, None] = {}
        self.inputs: dict[str, Declared] = {}
        self.trusted: frozenset[str] = frozenset()
        self.results = tuple(getattr(each, "name", each) for each in section.light.output)
        self.outputs = frozenset(self.results)
        self.initializers: dict[str, Initializer] = {}
        self.added: list[str] = []
        self.gone: dict[str, tuple[Record, ...]] = {}
        self.undeclared: set[str] = set()
        self.redeclared_outputs: dict[str, Declared] = {}
        self.uncertain: frozenset[str] = frozenset()
        self.edited = False
        self.head = Node("", "", {})
        self.tail = Node("", "", {})
        _add_sources(self, passed)
        unknown, unsorted = _add_nodes(self)
        if outer is not None:
            _add_captured(self, outer, unknown)
        for name, node in unknown.items():
            raise ModelError(
                f"node '{describe(node)}' ({node.op}) reads tensor '{name}', which nothing "
                "produces; export the model again, or add the tensor as graph input or initializer"
            )
        has_captures = _add_captures(self)
        _chain(self)
        looped = looped_in(self) if has_captures or unsorted else None
        if looped is not None:
            raise ModelError(
                f"the graph has a cycle through node '{describe(looped)}' ({looped.op}); "
                "export it again"
            )
        for name in self.outputs:
            if name not in self.tensors:
                raise ModelError(
                    f"graph output '{name}' is produced by nothing; rename or remove it"
                )

    @cached_property
    def is_main(self) -> bool:
        """Whether it is the main graph."""
        return self.outer is None and isinstance(self.section.light, onnx.GraphProto)

    @property
    def is_in_function(self) -> bool:
        """Whether it is a function, or a body in one."""
        return self.outer[0].is_in_function if self.outer is not None else not self.is_main

    def owner_in(self, view: View) -> Node | None:
        """The node of another graph that has this one in a body; None if none does."""
        if self.outer is None:
            return None
        around, owner = self.outer
        return owner if around is view else around.owner_in(view)

    @property
    def nodes(self) -> Iterator[Node]:
        """The nodes in file order, inserted ones in place; edits during the iteration are fine."""
        node, tail = self.head.next, self.tail
        while node is not tail:
            if node.alive:
                yield node
            node = node.next

    def share(self, node: Node) -> None:
        """Gives a node the attributes and notes of all nodes that are written alike."""
        key = written(node)
        own: _Shared = node.attrs, {}
        node.attrs, node.notes = own if key is None else self.alike.setdefault(key, own)
        if key is None:
            self.unlike[node] = None

    def is_read(self, tensor: Tensor) -> bool:
        """Whether anything reads a tensor, or it is an output of the graph."""
        return bool(tensor.name and (tensor.uses or tensor.name in self.outputs))


def declaration(value: onnx.ValueInfoProto) -> Declared:
    """The declared type and shape of a graph input."""
    if not value.type.HasField("tensor_type"):
        return UNDECLARED
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return Declared(tensor.elem_type, None)
    shape: list[int | str | None] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value"):
            shape.append(dim.dim_value if dim.dim_value >= 0 else None)
        else:
            _check_text(dim.dim_param, "name of a dimension")
            shape.append(dim.dim_param or None)
    return Declared(tensor.elem_type, tuple(shape))


def constant_shape(dims: Sequence[int], name: str) -> tuple[int, ...]:
    """The shape of a constant.

    Raises:
        ModelError: A dimension is negative.
    """
    shape = tuple(dims)
    if min(shape, default=0) < 0:
        raise ModelError(f"constant '{name}' has the shape {list(shape)}; export the model again")
    return shape


def describe(node: Node) -> str:
    """A node's name in messages: its own, or that of its first output in angle brackets."""
    if node.name:
        return str(node.name)
    outputs = [tensor.name for tensor in node.outputs if tensor.name]
    return f"<{outputs[0] if outputs else node.op}>"


def _add_sources(view: View, passed: Sequence[Declared] | None) -> None:
    """Adds inputs and initializers."""
    section = view.section
    for proto, record in section.parts("initializer"):
        name = proto.name
        _add_source(view.tensors, name)
        declared = Declared(proto.data_type, constant_shape(proto.dims, name))
        view.initializers[name] = Initializer(proto, declared, (record,))
    for sparse, record in section.parts("sparse_initializer"):
        name = sparse.values.name
        _add_source(view.tensors, name)
        declared = Declared(sparse.values.data_type, constant_shape(sparse.dims, name))
        view.initializers[name] = Initializer(sparse.values, declared, (record,), sparse=True)
    seen = set()
    known = iter(passed or ())
    for value, _ in section.parts("input"):
        name = getattr(value, "name", value)
        if name in seen:
            raise ModelError(f"graph input '{name}' is declared twice; remove one")
        seen.add(name)
        if name not in view.initializers:
            _add_source(view.tensors, name)
        view.inputs[name] = declaration(value) if passed is None else next(known, UNDECLARED)


def take_defaults(view: View) -> None:
    """Takes the initializers that are also inputs as constants, which go with their inputs."""
    for value, record in view.section.parts("input"):
        initializer = view.initializers.get(value.name)
        if initializer is not None and view.inputs.pop(value.name, None) is not None:
            records = (*initializer.records, record)
            view.initializers[value.name] = replace(initializer, records=records)


def _add_source(tensors: dict[str, Tensor], name: str) -> None:
    if name in tensors:
        raise ModelError(f"tensor '{name}' is defined twice; rename one")
    if not name:
        raise ModelError("a graph input or an initializer has no name; name it")
    _check_text(name, "tensor name")
    tensors[name] = Tensor(name)


def _check_text(text: object, what: str) -> None:
    """Raises ModelError where a string is not UTF-8: protobuf gives bytes then."""
    if not isinstance(text, str):
        raise ModelError(f"the {what} {text!r} is not UTF-8; rename it")


def _add_nodes(view: View) -> tuple[dict[str, Node], bool]:
    """Adds the nodes.

    Returns:
        The first node that reads each tensor which no node produces, by its name; and whether a
        tensor is read before a later node produces it.
    """
    tensors, unknown, unsorted = view.tensors, dict[str, Node](), False
    for proto, record in view.section.parts("node"):
        values = {item.name: attributes.read(item) for item in proto.attribute}
        op, domain, label = proto.op_type, proto.domain, proto.name
        reads, gives = list(proto.input), list(proto.output)
        if not isinstance(label, str):
            label = bytes(label).decode(errors="backslashreplace")
        texts = op, domain, *values, *reads, *gives
        if not {str}.issuperset(map(type, texts)):
            for text in texts:
                _check_text(text, "name")
        node = Node(op, label, values, domain or None, record)
        inputs, outputs = list[Tensor](), list[Tensor]()
        view.listed.append(node)
        for index, name in enumerate(reads):
            tensor = tensors.get(name)
            if tensor is None:
                tensor = Tensor(name)
                if name:
                    tensors[name] = tensor
                    unknown[name] = node
            tensor.uses[node, index] = None
            inputs.append(tensor)
        node.inputs = tuple(inputs)
        for name in gives:
            if name in unknown:
                del unknown[name]
                unsorted = True
            elif name:
                _add_source(tensors, name)
            tensor = tensors[name] if name else Tensor("")
            tensor.producer = node
            outputs.append(tensor)
        node.outputs = tuple(outputs)
        if len(values) != len(proto.attribute):
            raise ModelError(f"node '{describe(node)}' has an attribute twice; remove one")
        view.share(node)
    return unknown, unsorted


def _add_captured(view: View, outer: tuple[View, Node], unknown: dict[str, Node]) -> None:
    """Adds the tensors that a body captures from the graph around it; they are known then."""
    around, owner = outer
    light = view.section.light
    assert isinstance(light, onnx.GraphProto)
    free = captured(light)
    for name in free:
        source = around.tensors.get(name)
        mine = view.tensors.get(name)
        if source is None or source.producer is owner:
            continue
        if mine is not None and name not in unknown:
            continue  # the body defines it itself, after reading it
        unknown.pop(name, None)
        if mine is None:
            mine = view.tensors[name] = Tensor(name)
        mine.outer = source
    is_captured = (name for name, tensor in view.tensors.items() if tensor.outer is not None)
    view.uncertain = frozenset(free).difference(is_captured)


def held_bodies(node: Node) -> Sequence[tuple[str, onnx.GraphProto]]:
    """The bodies of a node by name of the attribute, with the index if it is a list."""
    if held_bodies not in node.notes:
        held = [each for each in node.attrs.values() if isinstance(each, onnx.AttributeProto)]
        node.notes[held_bodies] = [*named_bodies(held)]
    found: Sequence[tuple[str, onnx.GraphProto]] = node.notes[held_bodies]
    return found


def captures(node: Node, tensors: dict[str, Tensor]) -> Mapping[Tensor, int]:
    """The tensors that the bodies of a node capture, with the number of bodies that do.

    Outputs of the node itself do not count: a body may define tensors of the same name.
    """
    found: dict[Tensor, int] = {}
    for key, body in held_bodies(node):
        opened = node.bodies.get(key)
        if opened is None:
            named = [tensors[name] for name in captured(body) if name in tensors]
        else:
            named = [tensors[name] for name in opened.uncertain if name in tensors]
            inner = opened.tensors.values()
            read = (each.outer for each in inner if opened.is_read(each))
            named += [each for each in read if each is not None]
        for tensor in named:
            if tensor not in node.outputs:
                found[tensor] = found.get(tensor, 0) + 1
    return found or _EMPTY


def _add_captures(view: View) -> bool:
    """Adds the captures of bodies; returns whether one captures what a later node produces."""
    unsorted = False
    done: set[Node] = set()
    for node in view.listed:
        node.captures = captures(node, view.tensors)
        for tensor in node.captures:
            tensor.uses[node, -1] = None
            unsorted |= tensor.producer is not None and tensor.producer not in done
        done.add(node)
    return unsorted


def _chain(view: View) -> None:
    """Links the nodes in a list."""
    previous = view.head
    for node in (*view.listed, view.tail):
        previous.next, node.previous = node, previous
        node.alive = node is not view.tail
        previous = node


def looped_in(view: View) -> Node | None:
    """A node that depends on itself; None where the nodes can be sorted topologically."""
    from graphlib import CycleError, TopologicalSorter

    sources = {node: (*node.inputs, *node.captures) for node in view.nodes}
    above = {node: [t.producer for t in read if t.producer] for node, read in sources.items()}
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        node: Node = error.args[1][0]
        return node
    return None
