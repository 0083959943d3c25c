"""graphsurgeon nodes and tensors for the graph of a model, and the checks that come with them.

graphsurgeon compares nodes deeply and tensors by name, and its lists search by that: so nothing
here or in `graph` asks it whether two things are equal, or has it remove anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import onnx
import onnx_graphsurgeon as gs

from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import bodies, captured
from onnxpad.file.skeleton import Skeleton
from onnxpad.file.wire import Record
from onnxpad.graph import attributes


class Node(gs.Node):  # type: ignore[misc]
    """A graphsurgeon node whose inputs and outputs are plain lists.

    Attributes:
        notes: What others worked out of the node alone; gone with the next edit of it.
    """

    def __init__(self, op: str, name: str, attrs: Mapping[str, Any], domain: str | None) -> None:
        """A node that reads and gives nothing yet."""
        self.op: str = op
        self.name: str = name
        self.attrs: Mapping[str, Any] = attrs
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.domain: str | None = domain
        self.notes: dict[object, Any] = {}

    # graphsurgeon's is slow, and keeps the lists of nodes and tensors in step.
    __setattr__ = object.__setattr__


class Tensor(gs.Variable):  # type: ignore[misc]
    """A graphsurgeon tensor that finds its uses by key: its list of consumers may be long.

    Attributes:
        uses: By identity of the node and index.
        origin: What it is a copy of, where that has been looked for and an Identity gives it.
    """

    def __init__(self, name: str) -> None:
        """A tensor nobody produces or reads yet."""
        self.name: str = name
        self.dtype = None
        self.shape = None
        self.type = "tensor_type"
        self.inputs: list[Node] = []
        self.uses: dict[tuple[int, int], Use] = {}
        self.origin: Tensor | None = None

    __setattr__ = object.__setattr__

    @property
    def outputs(self) -> list[Node]:
        """The nodes that read it, once for every input."""
        return [use.node for use in self.uses.values() if use.index >= 0]


class Use(NamedTuple):
    """One place where a tensor is read.

    Attributes:
        node: The node that reads it.
        index: Position in `node.inputs`; -1 if a body of that node (of If, Loop or Scan) reads it.
    """

    node: Node
    index: int  # type: ignore[assignment]


class Declared(NamedTuple):
    """What a graph input or an initializer declares.

    Attributes:
        dtype: `onnx.TensorProto.DataType`; UNDEFINED for what is no dense tensor.
        shape: Known, named and (None) unknown dimensions; None where not even the rank is known.
    """

    dtype: int
    shape: tuple[int | str | None, ...] | None


class Initializer(NamedTuple):
    """A constant of the graph.

    Attributes:
        proto: The tensor, in a file perhaps without elements; the values of a sparse one.
        dims: Its shape.
        records: Where the file has it, and its graph input before IR version 4; none if added.
        sparse: Whether it is a sparse one.
    """

    proto: onnx.TensorProto
    dims: tuple[int, ...]
    records: tuple[Record, ...] = ()
    sparse: bool = False


@dataclass(slots=True, eq=False)
class Entry:
    """A node in the order of the graph, which is a linked list.

    Attributes:
        node: The node; one that stands for none in the head and the tail of the list.
        record: Where the file has it; None for an inserted one.
        captures: What its bodies read of the graph.
        alive: Whether it is in the graph.
        touched: Whether it may differ from the file.
    """

    node: Node
    record: Record | None = None
    captures: Sequence[Tensor] = ()
    alive: bool = True
    touched: bool = False
    previous: "Entry" = field(init=False)
    next: "Entry" = field(init=False)


@dataclass(frozen=True, slots=True)
class View:
    """The graph of a model.

    Attributes:
        tensors: By name, all that the graph has.
        entries: The nodes by identity, in file order, also those that were removed.
        inputs: True inputs, also those with a default from IR version 4 on.
        initializers: By name.
        added: Names of initializers in the order they were added, also of those removed since.
        gone: Names of tensors that were removed, with what records went with them.
        undeclared: Names of tensors whose value_info is to go.
        metadata: What the model's metadata is to say, by key, where that is to be another.
        head: What precedes the first node.
        tail: What follows the last node.
    """

    tensors: dict[str, Tensor]
    entries: dict[int, Entry]
    inputs: dict[str, Declared]
    initializers: dict[str, Initializer]
    added: list[str]
    gone: dict[str, tuple[Record, ...]]
    undeclared: set[str] = field(default_factory=set, kw_only=True)
    metadata: dict[str, str] = field(default_factory=dict, kw_only=True)
    head: Entry
    tail: Entry

    def order(self) -> Iterator[Entry]:
        """The live nodes in their order; edits underway do no harm."""
        entry = self.head.next
        while entry is not self.tail:
            if entry.alive:
                yield entry
            entry = entry.next


def build(skeleton: Skeleton) -> View:
    """The graph of a model.

    Raises:
        ModelError: A tensor has no source or several, or the graph has a cycle.
    """
    nowhere = Node("", "", {}, None)
    view = View({}, {}, {}, {}, [], {}, Entry(nowhere), Entry(nowhere))
    _add_sources(skeleton, view)
    unsorted = _add_nodes(skeleton, view)
    if _add_captures(view) or unsorted:
        _refuse_cycle(view)
    _chain(view)
    for value in skeleton.light.graph.output:
        if value.name not in view.tensors:
            raise ModelError(
                f"graph output '{value.name}' is produced by nothing; rename or remove it"
            )
    return view


def declaration(value: onnx.ValueInfoProto) -> Declared:
    """What the type of a graph input says."""
    if not value.type.HasField("tensor_type"):
        return Declared(onnx.TensorProto.DataType.UNDEFINED, None)
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return Declared(tensor.elem_type, None)
    shape: list[int | str | None] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value"):
            shape.append(dim.dim_value if dim.dim_value >= 0 else None)
        else:
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
    """How messages name a node: its name, or that of its first output in angle brackets."""
    if node.name:
        return str(node.name)
    outputs = [tensor.name for tensor in node.outputs if tensor.name]
    return f"<{outputs[0] if outputs else node.op}>"


def _add_sources(skeleton: Skeleton, view: View) -> None:
    """Adds graph inputs and initializers."""
    graph, records = skeleton.light.graph, skeleton.fields
    for proto, record in zip(graph.initializer, records[5], strict=True):
        name = proto.name
        _add_source(view.tensors, name)
        dims = constant_shape(proto.dims, name)
        view.initializers[name] = Initializer(proto, dims, (record,))
    for sparse, record in zip(graph.sparse_initializer, records[15], strict=True):
        name = sparse.values.name
        _add_source(view.tensors, name)
        dims = constant_shape(sparse.dims, name)
        view.initializers[name] = Initializer(sparse.values, dims, (record,), sparse=True)
    seen = set()
    for value, record in zip(graph.input, records[11], strict=True):
        name = value.name
        if name in seen:
            raise ModelError(f"graph input '{name}' is declared twice; remove one")
        seen.add(name)
        initializer = view.initializers.get(name)
        if initializer is None:
            _add_source(view.tensors, name)
        if initializer is None or skeleton.light.ir_version >= 4:
            view.inputs[name] = declaration(value)
        else:
            # Before IR version 4 every initializer had to be an input too.
            records_of = (*initializer.records, record)
            view.initializers[name] = initializer._replace(records=records_of)


def _add_source(tensors: dict[str, Tensor], name: str) -> None:
    if name in tensors:
        raise ModelError(f"tensor '{name}' is defined twice; rename one")
    if not name:
        raise ModelError("a graph input or an initializer has no name; name it")
    tensors[name] = _tensor(name)


def _tensor(name: str) -> Tensor:
    # protobuf gives bytes where a string is not UTF-8.
    if not isinstance(name, str):
        raise ModelError(f"the tensor name {name!r} is not UTF-8; rename it")
    return Tensor(name)


def _add_nodes(skeleton: Skeleton, view: View) -> bool:
    """Adds the nodes; says whether one reads what a later one produces."""
    tensors = view.tensors
    ahead: dict[str, Node] = {}
    unsorted = False
    records = skeleton.fields[1]
    for proto, record in zip(skeleton.light.graph.node, records, strict=True):
        values = {item.name: attributes.read(item) for item in proto.attribute}
        label = proto.name
        if not isinstance(label, str):
            label = bytes(label).decode(errors="backslashreplace")
        node = Node(proto.op_type, label, values, proto.domain or None)
        identity = id(node)
        view.entries[identity] = Entry(node, record)
        for index, name in enumerate(proto.input):
            tensor = tensors.get(name)
            if tensor is None:
                tensor = _tensor(name)
                if name:
                    tensors[name] = tensor
                    ahead[name] = node
            tensor.uses[identity, index] = Use(node, index)
            node.inputs.append(tensor)
        for name in proto.output:
            if name in ahead:
                del ahead[name]
                unsorted = True
            elif name:
                _add_source(tensors, name)
            tensor = tensors[name] if name else Tensor("")
            tensor.inputs.append(node)
            node.outputs.append(tensor)
        if len(values) != len(proto.attribute):
            raise ModelError(f"node '{describe(node)}' has an attribute twice; remove one")
    for name, node in ahead.items():
        raise ModelError(
            f"node '{describe(node)}' ({node.op}) reads tensor '{name}', which nothing produces; "
            "export the model again, or add the tensor as graph input or initializer"
        )
    return unsorted


def captures(node: Node, tensors: dict[str, Tensor]) -> tuple[Tensor, ...]:
    """What the bodies of a node read of the graph around it, each tensor once.

    A body may define what bears the name of an output of the node.
    """
    names: dict[str, None] = {}
    for value in node.attrs.values():
        if isinstance(value, onnx.AttributeProto):
            for body in bodies(value):
                names.update(captured(body))
    own = {tensor.name for tensor in node.outputs} if names else ()
    return tuple(tensors[name] for name in names if name in tensors and name not in own)


def _add_captures(view: View) -> bool:
    """Adds what bodies read; says whether one reads what a later node produces."""
    unsorted = False
    done: set[int] = set()
    for identity, entry in view.entries.items():
        entry.captures = captures(entry.node, view.tensors)
        for tensor in entry.captures:
            tensor.uses[identity, -1] = Use(entry.node, -1)
            unsorted |= any(id(node) not in done for node in tensor.inputs)
        done.add(identity)
    return unsorted


def _chain(view: View) -> None:
    """Puts the nodes in a linked list."""
    previous = view.head
    for entry in (*view.entries.values(), view.tail):
        previous.next, entry.previous = entry, previous
        previous = entry


def _refuse_cycle(view: View) -> None:
    """Raises ModelError if the nodes cannot be put in order."""
    waiting = {}
    ready = []
    for identity, entry in view.entries.items():
        sources = (*entry.node.inputs, *entry.captures)
        waiting[identity] = sum(len(tensor.inputs) for tensor in sources)
        if not waiting[identity]:
            ready.append(entry.node)
    while ready:
        node = ready.pop()
        del waiting[id(node)]
        for tensor in node.outputs:
            for use in tensor.uses.values():
                waiting[id(use.node)] -= 1
                if not waiting[id(use.node)]:
                    ready.append(use.node)
    if not waiting:
        return
    # Every node left waits for another one left: going back from any ends in a cycle.
    identity = next(iter(waiting))
    seen: set[int] = set()
    while identity not in seen:
        seen.add(identity)
        entry = view.entries[identity]
        sources = (*entry.node.inputs, *entry.captures)
        identity = next(
            id(node) for tensor in sources for node in tensor.inputs if id(node) in waiting
        )
    node = view.entries[identity].node
    raise ModelError(
        f"the graph has a cycle through node '{describe(node)}' ({node.op}); export it again"
    )
