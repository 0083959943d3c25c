"""The nodes and tensors of one graph of a model, and how they are read from its file.

Both are compared by identity, not by name: two bodies may use the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import onnx
from msgspec import UNSET, Struct

from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import DEFAULT_DOMAINS, named_bodies
from onnxpad.file.skeleton import Record, Section, Skeleton
from onnxpad.graph import attributes

State: TypeAlias = tuple[
    str, Mapping[str, Any], str | None, tuple["Tensor", ...], tuple["Tensor", ...]
]
"""Operator, attributes, domain, inputs and outputs of a node."""

Shape: TypeAlias = tuple[int | str | None, ...]
"""Known, named and (None) unknown dimensions."""

NAME: Final = attrgetter("name")
_NONE: Final[Any] = MappingProxyType({})
_Fact = TypeVar("_Fact")
_Graph = TypeVar("_Graph")


class Node(Struct, eq=False):
    """One use of an operator, and its place in the order of its graph, which is a linked list.

    Attributes:
        op, name: The operator, and its own name, which may be empty.
        attrs: Its attributes by name, never changed in place: all nodes of a graph that are
            written alike share them, and `notes`, as networks repeat the same few layers.
        domain: The domain of the operator; None for that of ONNX.
        record: Its record in the file; None for an inserted one.
        inputs, outputs: The tensors that it reads and computes; nameless where left out.
        notes: A cache for facts that follow from what `written` gives alone.
        reading: What was last read of it and of its inputs, with the analysis that knew these; an
            edit of the node drops it.
        like: For an inserted one, the node whose notes (`doc_string`, `metadata_props`) it gets.
        bodies, broken: Its bodies by attribute, with the index in a list; why there are none.
        captures: The tensors that its bodies capture.
        alive, touched: Whether it is in a graph, and whether it may differ from the file.
        previous, next: The nodes before and after it.
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
    bodies: Mapping[str, Any] = _NONE
    broken: ModelError | None = None
    captures: dict[Tensor, None] = _NONE
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

    @property
    def state(self) -> State:
        """All of it that edits change."""
        return self.op, self.attrs, self.domain, self.inputs, self.outputs


class Touched:
    """A node that an edit touched, how it was, and whether it was edited more than once.

    It was nothing if it was inserted, or if its body, or a function that it may run, was edited.
    """

    def __init__(self, node: Node, was: State | None, again: bool = False) -> None:
        """Of one edit."""
        self.node, self.was, self.again = node, was, again

    @property
    def before(self) -> Node | None:
        """A copy of the node as it was."""
        if self.was is None:
            return None
        op, attributes, domain, inputs, outputs = self.was
        return Node(op, self.node.name, attributes, domain, None, inputs, outputs)


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


class Tensor(Struct, eq=False):
    """A tensor by its name, with the places that write and read it.

    Its name is empty for one that is left out. `outer` is that of the graph around which a body
    captures, `producer` the node that computes it, `uses` who reads it, as `Use` has that.
    """

    name: str
    outer: Tensor | None = None
    producer: Node | None = None
    uses: dict[tuple[Node, int], None] = {}


class Use(NamedTuple):
    """One place where a tensor is read: the node, and the position in its inputs.

    That is -1 if a body of the node (of If, Loop or Scan) reads it.
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
    inputs = tuple(map(bool, map(NAME, node.inputs)))
    outputs = tuple(map(bool, map(NAME, node.outputs)))
    return node.op, node.domain, inputs, outputs, *says


class Declared(NamedTuple):
    """The declared type and shape of a graph input or an initializer.

    The type is UNDEFINED for anything but a dense tensor, the shape None where the rank is unknown.
    """

    dtype: int
    shape: Shape | None


_UNDECLARED: Final = Declared(onnx.TensorProto.DataType.UNDEFINED, None)


class Initializer(Struct, frozen=True):
    """An initializer of the graph, or what a Constant holds.

    The tensor may lack its elements; a sparse one is its values. The record is that in the file,
    None if it was added.
    """

    proto: onnx.TensorProto
    declared: Declared
    record: Record | None = None
    sparse: bool = False


class View:
    """The lists of one graph of a model, as `Graph` reads and edits them.

    Attributes:
        skeleton, section: The file, and the graph in it.
        parent, owner: For a body, the graph around it, and the node there that has it; else None.
        is_main: Whether it is the main graph.
        tensors: All tensors by name, and in a body those that it captures.
        listed: The nodes in file order, inserted ones at the end, removed ones included.
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
        self, skeleton: Skeleton, section: Section, parent: View | None, owner: Node | None
    ) -> None:
        """The lists of a graph of the file, which has nothing yet."""
        self.skeleton, self.section, self.parent, self.owner = skeleton, section, parent, owner
        self.is_main = parent is None and isinstance(section.light, onnx.GraphProto)
        self.tensors: dict[str, Tensor] = {}
        self.listed: list[Node] = []
        self.head, self.tail = Node("", "", {}), Node("", "", {})
        self.holders: list[Node] = []
        self.alike: dict[tuple[Any, ...], tuple[Mapping[str, Any], dict[object, Any]]] = {}
        self.inputs: dict[str, Declared] = {}
        self.trusted: frozenset[str] = frozenset()
        self.results = tuple(getattr(each, "name", each) for each in section.light.output)
        self.outputs = frozenset(self.results)
        self.initializers: dict[str, Initializer] = {}
        self.added: list[str] = []
        self.undeclared: set[str] = set()
        self.redeclared: dict[str, Shape] = {}
        self.edited = False

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
        return bool(tensor.name and (tensor.uses or tensor.name in self.outputs))

    def share(self, node: Node) -> bool:
        """Gives a node the attributes and notes of all nodes that are written alike, if any can."""
        key = written(node)
        own: tuple[Mapping[str, Any], dict[object, Any]] = node.attrs, {}
        node.attrs, node.notes = own if key is None else self.alike.setdefault(key, own)
        return key is not None


def held_in(item: Any, name: str, record: Record | None) -> Initializer:
    """A tensor or a sparse one, as an initializer has it; ModelError for a negative dimension."""
    is_sparse = isinstance(item, onnx.SparseTensorProto)
    proto, shape = item.values if is_sparse else item, tuple(item.dims)
    if min(shape, default=0) < 0:
        raise ModelError(f"constant '{name}' has the shape {list(shape)}; export the model again")
    return Initializer(proto, Declared(proto.data_type, shape), record, is_sparse)


def declaration(value: onnx.ValueInfoProto) -> Declared:
    """The declared type and shape of a graph input."""
    if not value.type.HasField("tensor_type"):
        return _UNDECLARED
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


def describe(node: Node) -> str:
    """A node's name in messages: its own, or that of its first output in angle brackets."""
    if node.name:
        return str(node.name)
    return f"<{next(filter(None, map(NAME, node.outputs)), node.op)}>"


def held_bodies(node: Node) -> Sequence[tuple[str, onnx.GraphProto]]:
    """The bodies of a node by name of the attribute, with the index if it is a list."""
    if held_bodies not in node.notes:
        held = [each for each in node.attrs.values() if isinstance(each, onnx.AttributeProto)]
        node.notes[held_bodies] = [*named_bodies(held)]
    found: Sequence[tuple[str, onnx.GraphProto]] = node.notes[held_bodies]
    return found


def fill(view: View, passed: Sequence[Declared]) -> bool:
    """Adds all that the file has in a graph; returns whether its nodes are not sorted.

    Given are also types and shapes of the first inputs of a body, as its node passes them. Raises
    ModelError where a tensor has no source or several.
    """
    _add_sources(view, passed)
    unknown, is_unsorted = _add_nodes(view)
    for name, node in unknown.items():
        view.tensors[name].outer = view.around(name)
        if view.tensors[name].outer is None:
            raise ModelError(
                f"node '{describe(node)}' ({node.op}) reads tensor '{name}', which nothing "
                "produces; export the model again, or add the tensor as graph input or initializer"
            )
    for name in view.results:
        if view.capture(name) is None:
            raise ModelError(f"graph output '{name}' is produced by nothing; rename or remove it")
    return is_unsorted


def _add_sources(view: View, passed: Sequence[Declared]) -> None:
    section = view.section
    for kind in ("initializer", "sparse_initializer"):
        for item, record in section.parts(kind):
            name = item.values.name if kind == "sparse_initializer" else item.name
            _add_source(view.tensors, name)
            view.initializers[name] = held_in(item, name, record)
    known = iter(passed)
    for value, _ in section.parts("input"):
        name = getattr(value, "name", value)
        if name in view.inputs:
            raise ModelError(f"graph input '{name}' is declared twice; remove one")
        if name not in view.initializers:
            _add_source(view.tensors, name)
        view.inputs[name] = declaration(value) if view.is_main else next(known, _UNDECLARED)


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
    """Adds the nodes; returns the first reader of each tensor that nothing produces, by its name.

    And whether a tensor is read before a later node produces it.
    """
    tensors, unknown, is_unsorted = view.tensors, dict[str, Node](), False
    previous = view.head
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
        node = Node(op, label, values, domain or None, record, alive=True, previous=previous)
        inputs, outputs = list[Tensor](), list[Tensor]()
        view.listed.append(node)
        previous.next = previous = node
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
                is_unsorted = True
            elif name:
                _add_source(tensors, name)
            tensor = tensors[name] if name else Tensor("")
            tensor.producer = node
            outputs.append(tensor)
        node.outputs = tuple(outputs)
        if len(values) != len(proto.attribute):
            raise ModelError(f"node '{describe(node)}' has an attribute twice; remove one")
        if not view.share(node) and held_bodies(node):
            view.holders.append(node)
        if op == "Identity" and domain in DEFAULT_DOMAINS and node.operand(0) is None:
            # All walks go through Identities.
            raise ModelError(
                f"node '{describe(node)}' (Identity) has no input; export the model again"
            )
    previous.next, view.tail.previous = view.tail, previous
    return unknown, is_unsorted
