"""The nodes and tensors of one graph of a model, and how they are read from its file.

Both are compared by identity, not by name: two bodies may use the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
import onnx
from msgspec import UNSET, Struct

from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import DEFAULT_DOMAINS, named_bodies
from onnxpad.file.skeleton import Record

State: TypeAlias = tuple[
    str, Mapping[str, Any], str | None, tuple["Tensor", ...], tuple["Tensor", ...]
]
"""Operator, attributes, domain, inputs and outputs of a node."""

Shape = tuple[int | str | None, ...]
"""Known, named and (None) unknown dimensions."""

AnyGraph = Any
"""A `Graph`, which is built of what is here."""

NAME = attrgetter("name")
_NONE: Any = MappingProxyType({})
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
        bodies: Its bodies by attribute, with the index in a list.
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
    bodies: dict[str, AnyGraph] = _NONE
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


MOST = 512
"""Tensors after which a walk ends: no node so far away has to do with the one that asks."""


def upstream(
    tensors: Iterable[Tensor], through: Callable[[Node], Iterable[Tensor]], most: int | None = MOST
) -> Iterator[Tensor | None]:
    """The tensors upstream of some, and these themselves, each once; None at last if cut short.

    It goes on with the inputs that `through` has of a node, once what it computes was given.
    """

    def onward(tensor: Tensor) -> Iterable[Tensor]:
        node = tensor.producer
        return () if node is None else through(node)

    return _reached(tensors, onward, most)


def nodes_upstream(
    tensors: Iterable[Tensor], through: Callable[[Node], Iterable[Tensor]], most: int | None = MOST
) -> Iterator[Node | None]:
    """The nodes that compute these tensors, each once; None at last if cut short."""
    seen: set[Node | None] = {None}
    for tensor in upstream(tensors, through, most):
        node = None if tensor is None else tensor.producer
        if tensor is None or node not in seen:
            seen.add(node)
            yield node


def downstream(
    tensors: Iterable[Tensor], through: Callable[[Use], Iterable[Tensor]], most: int | None = MOST
) -> Iterator[Tensor | None]:
    """The tensors downstream of some, and these themselves, each once; None at last if cut short.

    It goes on with the outputs that `through` has of a node that reads a tensor.
    """

    def onward(tensor: Tensor) -> Iterator[Tensor]:
        return (each for use in tuple(tensor.uses) for each in through(Use(*use)))

    return _reached(tensors, onward, most)


def _reached(
    tensors: Iterable[Tensor], onward: Callable[[Tensor], Iterable[Tensor]], most: int | None
) -> Iterator[Tensor | None]:
    pending = [each for each in tensors if each.name]
    seen = {each.name for each in pending}
    count = 0
    while pending:
        if count == most:
            yield None
            return
        tensor = pending.pop()
        count += 1
        yield tensor
        for each in onward(tensor):
            if each.name and each.name not in seen:
                seen.add(each.name)
                pending.append(each)


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


_UNDECLARED = Declared(onnx.TensorProto.DataType.UNDEFINED, None)


class Initializer(Struct, frozen=True):
    """An initializer of the graph that is not sparse, or what a Constant holds.

    The tensor may lack its elements. The record is that in the file, None if it was added.
    """

    proto: onnx.TensorProto
    declared: Declared
    record: Record | None = None


def held_in(proto: onnx.TensorProto, name: str, record: Record | None) -> Initializer:
    """A tensor, as an initializer has it; ModelError for a negative dimension."""
    shape = tuple(proto.dims)
    if min(shape, default=0) < 0:
        raise ModelError(f"constant '{name}' has the shape {list(shape)}; export the model again")
    return Initializer(proto, Declared(proto.data_type, shape), record)


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


def fill(graph: AnyGraph, passed: Sequence[Declared]) -> bool:
    """Adds all that the file has in a graph; returns whether its nodes are not sorted.

    Given are also types and shapes of the first inputs of a body, as its node passes them. Raises
    ModelError where a tensor has no source or several.
    """
    _add_sources(graph, passed)
    unknown, is_unsorted = _add_nodes(graph)
    for name, node in unknown.items():
        graph.tensors[name].outer = graph.around(name)
        if graph.tensors[name].outer is None:
            raise ModelError(
                f"node '{describe(node)}' ({node.op}) reads tensor '{name}', which nothing "
                "produces; export the model again, or add the tensor as graph input or initializer"
            )
    for name in graph.results:
        if graph.capture(name) is None:
            raise ModelError(f"graph output '{name}' is produced by nothing; rename or remove it")
    return is_unsorted


def _add_sources(graph: AnyGraph, passed: Sequence[Declared]) -> None:
    section = graph.section
    for item, record in section.parts("initializer"):
        _add_source(graph.tensors, item.name)
        graph.initializers[item.name] = held_in(item, item.name, record)
    for item, _ in section.parts("sparse_initializer"):  # of which nothing is known
        _add_source(graph.tensors, item.values.name)
    known = iter(passed)
    for value, _ in section.parts("input"):
        name = getattr(value, "name", value)
        if name in graph.inputs:
            raise ModelError(f"graph input '{name}' is declared twice; remove one")
        if name not in graph.tensors:
            _add_source(graph.tensors, name)
        graph.inputs[name] = declaration(value) if graph.is_main else next(known, _UNDECLARED)


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


def _add_nodes(graph: AnyGraph) -> tuple[dict[str, Node], bool]:
    """Adds the nodes; returns the first reader of each tensor that nothing produces, by its name.

    And whether a tensor is read before a later node produces it.
    """
    tensors, unknown, is_unsorted = graph.tensors, dict[str, Node](), False
    previous = graph.head
    for proto, record in graph.section.parts("node"):
        held = proto.attribute[:]  # a slice ends without an IndexError, unlike an iterator
        values = {item.name: read_value(item) for item in held}
        op, domain, label = proto.op_type, proto.domain, proto.name
        reads, gives = proto.input[:], proto.output[:]
        if not isinstance(label, str):
            label = bytes(label).decode(errors="backslashreplace")
        texts = op, domain, *values, *reads, *gives
        if not {str}.issuperset(map(type, texts)):
            for text in texts:
                _check_text(text, "name")
        node = Node(op, label, values, domain or None, record, alive=True, previous=previous)
        inputs, outputs = [], []
        graph.listed.append(node)
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
        if len(values) != len(held):
            raise ModelError(f"node '{describe(node)}' has an attribute twice; remove one")
        if not graph.share(node) and held_bodies(node):
            graph.holders.append(node)
        if op == "Identity" and domain in DEFAULT_DOMAINS and node.operand(0) is None:
            # All walks go through Identities.
            raise ModelError(
                f"node '{describe(node)}' (Identity) has no input; export the model again"
            )
    previous.next, graph.tail.previous = graph.tail, previous
    return unknown, is_unsorted


Value: TypeAlias = (
    "int | float | str | bytes | list[int] | list[float] | list[str] | list[bytes]"
    " | onnx.AttributeProto"
)

# Copied, since a look-up in protobuf's enumerations costs as much as reading an attribute.
_Type = onnx.AttributeProto.AttributeType
_FLOAT, _INT, _STRING = _Type.FLOAT, _Type.INT, _Type.STRING
_FLOATS, _INTS, _STRINGS = _Type.FLOATS, _Type.INTS, _Type.STRINGS

_FIELDS: dict[Any, str] = {
    _INT: "i",
    _FLOAT: "f",
    _STRING: "s",
    _INTS: "ints",
    _FLOATS: "floats",
    _STRINGS: "strings",
}
"""The fields of what is read as a Python value."""
_KINDS: dict[type, tuple[Any, Any]] = {
    int: (_INT, _INTS),
    float: (_FLOAT, _FLOATS),
    str: (_STRING, _STRINGS),
    bytes: (_STRING, _STRINGS),
}
"""The types of a value of a Python type, and of a list of such."""
_OTHERS: dict[int, str] = {
    _Type.TENSOR: "t",
    _Type.GRAPH: "g",
    _Type.SPARSE_TENSOR: "sparse_tensor",
}


def read_value(attribute: onnx.AttributeProto) -> Value:
    """The value of an attribute, where it is a number, a string or a list of these.

    A string that is not UTF-8 comes as bytes. For any other kind, and for a reference to an
    attribute of a function, the attribute itself; tensors in it may lack their elements.
    """
    kind = attribute.type or _kind(attribute)
    if attribute.ref_attr_name:
        return attribute
    if kind == _INT:
        return attribute.i
    if kind == _INTS:
        return list(attribute.ints[:])
    if kind == _FLOAT:
        return attribute.f
    if kind == _FLOATS:
        return list(attribute.floats[:])
    if kind == _STRING:
        return _text(attribute.s)
    if kind != _STRINGS:
        return attribute
    texts = [_text(item) for item in attribute.strings]
    return cast("list[str]", list(attribute.strings) if bytes in map(type, texts) else texts)


def is_of(value: Value, kind: int, *, in_function: bool = False) -> bool:
    """Whether a value is of a type of attribute; an empty list is of every type of list.

    In a function, one that refers to an attribute of that may be.
    """
    if isinstance(value, onnx.AttributeProto):
        if value.ref_attr_name:
            return in_function and value.type in (0, kind)
        return value.type == kind and (kind not in _OTHERS or value.HasField(_OTHERS[kind]))
    is_list = isinstance(value, list)
    held = {_KINDS[type(item)][is_list] for item in (value if isinstance(value, list) else [value])}
    return held == {kind} if held else kind in (_INTS, _FLOATS, _STRINGS)


def normal_value(value: object) -> Value:
    """A value as `read_value` would return it; TypeError where no attribute can hold it."""
    if type(value) is list and {int}.issuperset(map(type, value)):
        return list(value)  # a short way for pads
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(np.float32(value))
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, onnx.AttributeProto) and not (value.HasField("g") or value.graphs):
        return value
    if isinstance(value, Sequence | np.ndarray):
        items = [normal_value(item) for item in value]
        kinds = {type(item) for item in items}
        if kinds <= {int} or kinds <= {float} or kinds <= {str} or kinds <= {bytes}:
            return cast("list[int]", items)
    raise TypeError(f"no attribute holds {value!r}")


def same_value(left: Value, right: Value) -> bool:
    """Whether two values are encoded alike: 1 and 1.0 are not, nor are 0.0 and -0.0."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, float):
        return isinstance(right, float) and left.hex() == right.hex()
    return type(left) is type(right) and left == right


def write_value(attribute: onnx.AttributeProto, value: Value) -> None:
    """Gives an attribute another value; its name, doc string and unknown fields stay."""
    for field, _ in attribute.ListFields():
        if field.name not in ("name", "doc_string"):
            attribute.ClearField(field.name)
    if isinstance(value, onnx.AttributeProto):
        attribute.MergeFrom(value)
        return
    items = value if isinstance(value, list) else [value]
    encoded = [item.encode() if isinstance(item, str) else item for item in items]
    one, several = _KINDS[type(items[0]) if items else int]
    attribute.type = kind = several if value is items else one
    if value is items:
        getattr(attribute, _FIELDS[kind]).extend(encoded)
    else:
        setattr(attribute, _FIELDS[kind], *encoded)


def _text(text: bytes) -> str | bytes:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _kind(attribute: onnx.AttributeProto) -> int:
    """The type of an attribute that has no `type`, as IR version 1 allows."""
    held = {field.name for field, _ in attribute.ListFields()}
    return next((kind for kind, field in _FIELDS.items() if field in held), 0)
