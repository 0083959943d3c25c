"""A model: its file, its opsets, the journal of its edits, and how it is saved.

Parts that were not edited are copied byte for byte. In an edited graph, each record that differs is
encoded again; for a body or a function, so is the node or the function that holds it. The schemas
of operators, which say what a node may be, come last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

import onnx

from onnxpad.arguments import Progress
from onnxpad.errors import ModelError, OutputError, UsageError, let_through
from onnxpad.file.external import ExternalData, check_external, contents, runnable, write_model
from onnxpad.file.proto_walk import DEFAULT_DOMAINS, Names, key_of
from onnxpad.file.skeleton import ELEMENTS, Chunk, Record, Skeleton, encode, read_bytes
from onnxpad.graph.nodes import (
    AnyGraph,
    Node,
    Shape,
    Tensor,
    declaration,
    is_of,
    read_value,
    same_value,
    write_value,
)

Edited = dict[Record, list[Chunk]]
"""The records that stand in the place of others."""
Differences = tuple[Edited, list[Chunk]]
"""Those in a graph or function, and what is added at its end."""


class Journal:
    """The edits of all graphs of a model, in order, with the functions that undo them.

    Attributes:
        count: A number that grows with edits made or undone: while it stays, so does the model.
        declared: The number of those that declared another shape of an input.
        undone: The points to which edits were undone.
        settled: The count when the round of passes began that is under way.
        steps: Each edit: the function that undoes it, and what that is given.
        left: The tensors that edits left unread, with their graphs and the number of edits then.
        swept: How many of these the last sweep went through.
    """

    def __init__(self) -> None:
        """Starts without edits."""
        self.count = 0
        self.declared = 0
        self.undone: list[int] = []
        self.settled = 0
        self.steps: list[tuple[Any, ...]] = []
        self.left: list[tuple[int, AnyGraph, Tensor]] = []
        self.swept = 0

    def mark(self) -> int:
        """A point to roll back to."""
        return len(self.steps)

    def rollback(self, mark: int) -> None:
        """Undoes everything since a mark, the latest first."""
        self.undone.append(mark)
        while len(self.steps) > mark:
            self.count += 1
            undo, *arguments = self.steps.pop()
            undo(*arguments)
        while self.left and self.left[-1][0] > mark:
            self.left.pop()

    def record(self, *step: Any) -> None:
        """Stores the function that undoes an edit, and what that is given."""
        self.count += 1
        self.steps.append(step)

    def leave(self, graph: AnyGraph, tensor: Tensor) -> None:
        """Notes a tensor that nothing may read since the last edit."""
        self.left.append((len(self.steps), graph, tensor))


class Model:
    """A model, and the journal of all edits of its graphs.

    Attributes:
        skeleton: The file, as it was loaded, with its `ir_version`.
        path: Its path, or None; of a model in memory, a path in the folder of its external data.
        opsets: Version of each opset that the model imports, by domain; the default one is "".
        has_external_data: Whether any tensor has external data.
        main: The main graph.
        functions: The functions.
        function_indices: Their indices by domain and name, which overloads share.
        standard_functions: Names of the functions that replace operators of ONNX itself.
        journal: The edits of all graphs.
        notes: A cache for facts derived from several graphs, by who derives them.
    """

    def __init__(self, skeleton: Skeleton, path: Path | None) -> None:
        """Not for direct use: `Graph.load` and its like return the main graph."""
        light = skeleton.light
        self.skeleton = skeleton
        self.path = path
        self.ir_version = light.ir_version
        self.opsets = imported(light.opset_import, light.ir_version)
        self.has_external_data = bool(skeleton.external)
        if path:
            check_external(skeleton.external, path)
        self.main: AnyGraph
        self.functions: list[AnyGraph] = []
        self.standard_functions = set[str]()
        self.function_indices: dict[tuple[str, str], list[int]] = {}
        for index, each in enumerate(light.functions):
            key = key_of(each)
            self.function_indices.setdefault(key, []).append(index)
            if not key[0]:
                self.standard_functions.add(each.name)
        self.journal = Journal()
        self.notes: dict[object, Any] = {}
        self._metadata: dict[str, str] = {}
        self._different: tuple[int, Edited] | None = None

    @cached_property
    def names(self) -> Names:
        """The names in use in all graphs."""
        return Names(self.skeleton.light)

    def metadata(self, key: str) -> str | None:
        """The metadata value of a key; None where there is none."""
        entries = self.skeleton.light.metadata_props
        before = next((entry.value for entry in entries if entry.key == key), None)
        return self._metadata.get(key, before)

    def set_metadata(self, key: str, value: str) -> None:
        """Sets the metadata value of a key."""
        if self.metadata(key) != value:
            self.journal.record(setattr, self, "_metadata", self._metadata)
            self._metadata = {**self._metadata, key: value}

    @property
    def changed(self) -> bool:
        """Whether anything differs from the original; compares every node once after an edit."""
        return bool(self.differences())

    def light_now(self) -> onnx.ModelProto:
        """The model after the edits, without large weights."""
        return read_bytes(memoryview(self.to_bytes()), "the model").light

    def to_bytes(self) -> bytes:
        """The model, serialised; the original bytes if nothing changed."""
        return b"".join(self.skeleton.splice(self.differences()))

    def to_proto(self) -> onnx.ModelProto:
        """The model."""
        model = onnx.ModelProto()
        model.ParseFromString(self.to_bytes())
        return model

    def to_run(self) -> tuple[bytes, Path | None]:
        """The model, serialised, and the folder where a runtime finds its external data, if any."""
        if self.path is None or not self.has_external_data:
            return self.to_bytes(), None
        return runnable(self.to_bytes(), self.path)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: ExternalData = "copy",
        progress: Progress | None = None,
    ) -> tuple[Path, ...]:
        """Saves the model, whole or not at all; returns the other files that were written.

        In the folder of the original, it shares the external data. For another folder, that data is
        copied before the model appears there, or embedded in the model (`inline`); that of an older
        model at the path is replaced with it. A model without a path keeps its references as they
        are. Raises OutputError where that cannot be.
        """
        if not isinstance(path, str | os.PathLike):
            raise UsageError(f"a model is saved to a path, not to {path!r}")
        chunks = self.skeleton.splice(self.differences())
        target = Path(os.fsdecode(path))
        try:
            given = self.skeleton, self.path, chunks, target, external_data, progress
            return write_model(*contents(*given), chunks, target)
        except (OSError, ValueError) as error:  # from the checks before anything is written
            let_through(error)
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"{target} cannot be written: {reason}") from None

    def differences(self) -> Edited:
        """The records that replace some of the file; cached until the next edit."""
        version = self.journal.count
        if self._different is None or self._different[0] != version:
            edited = dict(_noted(self.skeleton, self._metadata))
            for graph in (self.main, *self.functions):
                edited.update(edited_section(graph))
            self._different = version, edited
        return self._different[1]


def imported(operator_sets: Iterable[onnx.OperatorSetIdProto], ir_version: int) -> dict[str, int]:
    """The version of each imported opset, by domain; the default one is ""."""
    opsets: dict[str, int] = {}
    for item in operator_sets:
        domain = "" if item.domain in DEFAULT_DOMAINS else item.domain
        if domain in opsets and not domain:
            raise ModelError("the model imports the default operator set twice; remove one import")
        opsets[domain] = item.version
    # Before IR version 3 there was one opset, and models imported none.
    return opsets or ({"": 1} if ir_version < 3 else {})


_INITIALIZER, _INPUT, _OUTPUT = 5, 11, 12
_IR_VERSION, _METADATA = 1, 14
_ANNOTATION = "quantization_annotation"

# All that a node says beside its computation.
_NOTES = frozenset({"device_configurations", "doc_string", "metadata_props"})


def node_proto(skeleton: Skeleton, node: Node) -> onnx.NodeProto:
    """A node as it is now, with all elements of its tensors."""
    if node.record is None:
        return _inserted(skeleton, node)
    proto = _proto(skeleton, node.record, _edited_bodies(skeleton, node))
    if node.touched:
        _amend(proto, node)
    return proto


def is_edited(skeleton: Skeleton, node: Node) -> bool:
    """Whether a node or one of its bodies differs from the file; edits may have been undone."""
    if node.record is None or not node.touched:
        return node.record is None
    if _edited_bodies(skeleton, node):
        return True
    return _amend(skeleton.whole(node.record, onnx.NodeProto()), node)


def _proto(skeleton: Skeleton, record: Record, edited: Sequence[Chunk]) -> onnx.NodeProto:
    proto = onnx.NodeProto()
    if not edited:
        return skeleton.whole(record, proto)
    _, *body = edited
    proto.ParseFromString(b"".join(body))
    return proto


def _edited_bodies(skeleton: Skeleton, node: Node) -> list[Chunk]:
    """The record of a node with its edited bodies; empty where these did not change."""
    holders: dict[Record, Edited] = {}
    for graph in node.bodies.values():
        if edited := edited_section(graph):
            holders.setdefault(graph.section.attribute, {}).update(edited)
    if not holders:
        return []
    replaced = {holder: skeleton.rewritten(holder, edited) for holder, edited in holders.items()}
    return skeleton.rewritten(cast("Record", node.record), replaced)


def edited_section(graph: AnyGraph) -> Edited:
    """The replacements of the records that hold a graph or a function; empty if it is unchanged."""
    if not graph.edited:
        return {}
    replaced, appended = differences(graph)
    edited = {}
    containers = graph.section.containers
    for container in containers:
        inside = {
            record: chunks
            for record, chunks in replaced.items()
            if container.body <= record.begin < container.end
        }
        added = appended if container is containers[-1] else ()
        if inside or added:
            edited[container] = graph.skeleton.rewritten(container, inside, added)
    return edited


def lacks_elements(tensor: onnx.TensorProto) -> bool:
    """Whether a tensor has none here: they were stripped, are in another file, or it is empty."""
    return not any(field.name in ELEMENTS for field, _ in tensor.ListFields())


def differences(graph: AnyGraph) -> Differences:
    """The replacements of records in a graph or function, and the records to add at its end."""
    skeleton, number = graph.skeleton, graph.section.number("node")
    replaced: Edited = {record: [] for record in _removed(graph)}
    # A node inserted before another is written with the next one that the file has.
    inserted: list[Chunk] = []
    for node in graph.nodes:
        if node.record is None:
            inserted.append(encode(number, _inserted(skeleton, node).SerializeToString()))
        elif inserted or node.touched:
            record = node.record
            edited = _edited_bodies(skeleton, node) if node.touched else []
            proto = _proto(skeleton, record, edited) if node.touched else None
            if proto is not None and _amend(proto, node):
                inserted.append(encode(number, proto.SerializeToString()))
            elif edited:
                inserted += edited
            elif inserted:
                inserted.append(skeleton.data[record.begin : record.end])
            if inserted:
                replaced[record] = inserted
                inserted = []
    replaced.update(_redeclared(graph) if graph.is_main else ())
    return replaced, [*inserted, *_added(graph)]


def _removed(graph: AnyGraph) -> Iterator[Record]:
    """The records of what is gone, and of what the model says about it, or says wrongly."""
    section, known = graph.section, graph.tensors
    yield from (node.record for node in graph.listed if not node.alive)
    gone = set[str]()
    for kind in ("initializer", *["input"] * graph.is_main):
        for item, record in section.parts(kind):
            if item.name not in known:
                gone.add(item.name)
                yield record
    said = [(value.name, record) for value, record in section.parts("value_info")]
    yield from (record for name, record in said if name in graph.undeclared)
    said += [(each.tensor_name, record) for each, record in section.parts(_ANNOTATION)]
    lost = [(name, record) for name, record in said if name not in known]
    if lost:  # and not said of what there never was
        for node, proto in zip(graph.listed, section.light.node, strict=False):
            if node.touched or not node.alive:
                gone.update(proto.output)
        yield from (record for name, record in lost if name in gone)


def _inserted(skeleton: Skeleton, node: Node) -> onnx.NodeProto:
    """A node that the file does not have, with the notes of the one that it was made like."""
    proto, like = onnx.NodeProto(), node.like
    if like is not None:
        skeleton.whole(cast("Record", like.record), proto)
        for name in {field.name for field, _ in proto.ListFields()} - _NOTES:
            proto.ClearField(name)
    proto.name = node.name
    _amend(proto, node)
    return proto


def _amend(proto: onnx.NodeProto, node: Node) -> bool:
    """Updates a node's proto to the node as it is now; returns whether anything differed."""
    amended = False
    if (proto.op_type, proto.domain) != (node.op, node.domain or ""):
        amended = True
        proto.op_type = node.op
        proto.ClearField("overload")
        proto.ClearField("domain")
        if node.domain:
            proto.domain = node.domain
    for names, tensors in ((proto.input, node.inputs), (proto.output, node.outputs)):
        now = [tensor.name for tensor in tensors]
        if names[:] != now:
            amended = True
            names[:] = now
    held = proto.attribute
    known = [attribute.name for attribute in held[:]]
    for index, name in reversed([*enumerate(known)]):
        if name not in node.attrs:
            amended = True
            del held[index]
            continue
        attribute, value = held[index], node.attrs[name]
        # Another tensor may be set, which has its elements; other kinds are unchanged.
        if isinstance(value, onnx.AttributeProto) and lacks_elements(value.t):
            continue
        if not same_value(read_value(attribute), value):
            amended = True
            write_value(attribute, value)
    for name, value in node.attrs.items():
        if name not in known:
            amended = True
            write_value(held.add(name=name), value)
    return amended


def _redeclared(graph: AnyGraph) -> Iterator[tuple[Record, list[Chunk]]]:
    shapes = {name: each.shape for name, each in graph.inputs.items()}
    for kind, field, known in (("input", _INPUT, shapes), ("output", _OUTPUT, graph.redeclared)):
        for value, record in graph.section.parts(kind):
            shape = known.get(value.name)
            if shape is not None and shape != declaration(value).shape:
                yield record, [encode(field, _declaring(value, shape).SerializeToString())]


def _noted(skeleton: Skeleton, metadata: Mapping[str, str]) -> Iterator[tuple[Record, list[Chunk]]]:
    records = [record for record in skeleton.model if record.field == _METADATA]
    known = set()
    for entry, record in zip(skeleton.light.metadata_props, records, strict=True):
        known.add(entry.key)
        value = metadata.get(entry.key, entry.value)
        if value != entry.value:
            yield record, [_metadata(entry.key, value)]
    added = [_metadata(key, value) for key, value in metadata.items() if key not in known]
    if added:
        # Added next to `ir_version`, which every model has: the order of records has no meaning.
        (first, *_) = (record for record in skeleton.model if record.field == _IR_VERSION)
        yield first, [skeleton.data[first.begin : first.end], *added]


def _metadata(key: str, value: str) -> Chunk:
    entry = onnx.StringStringEntryProto(key=key, value=value)
    return encode(_METADATA, entry.SerializeToString())


def _declaring(value: onnx.ValueInfoProto, shape: Shape) -> onnx.ValueInfoProto:
    """An input or output with another shape; axes whose size did not change keep all fields."""
    proto = onnx.ValueInfoProto()
    proto.CopyFrom(value)
    was = declaration(value).shape
    dims = proto.type.tensor_type.shape.dim
    for axis, size in enumerate(shape):
        if axis == len(dims):
            dims.add()
        if was is not None and was[axis] == size:
            continue
        if isinstance(size, int):
            dims[axis].dim_value = size
        elif size is not None:
            dims[axis].dim_param = size
        else:
            dims[axis].Clear()
    return proto


def _added(graph: AnyGraph) -> Iterator[Chunk]:
    """The added initializers; as graph inputs too, where the IR version requires that."""
    for name in graph.added:
        if name in graph.initializers:
            proto = graph.initializers[name].proto
            yield encode(_INITIALIZER, proto.SerializeToString())
            if graph.skeleton.light.ir_version < 4:
                value = onnx.helper.make_tensor_value_info(proto.name, proto.data_type, proto.dims)
                yield encode(_INPUT, value.SerializeToString())


_Parameter = onnx.defs.OpSchema.FormalParameterOption

_Places = tuple[int, int, Sequence[int]]
"""The least and the most inputs or outputs, and which of them may be left out."""
Schema = tuple[int, _Places, _Places, Mapping[str, int], Sequence[str]]
"""Its version, the inputs and outputs, its attributes by type, and those that it requires."""

_NONE: Schema = 0, (0, 0, ()), (0, 0, ()), {}, ()


@cache
def schema_of(op: str, opset: int) -> Schema:
    """The schema of an operator in an opset; one of version 0 where there is none.

    `schemas.txt` has it: for the first, onnx takes 13 ms. It is asked for newer opsets alone.
    """
    newest, *lines = _listed()
    if opset > int(newest):
        try:
            return described(onnx.defs.get_schema(op, opset, ""))
        except (onnx.defs.SchemaError, TypeError):  # or the opset is beyond 31 bits
            return _NONE
    listed = next((line for line in lines if line.startswith(f"{op} ")), " []")
    versions: list[Schema] = json.loads(listed.split(" ", 1)[1])
    return next((each for each in versions if each[0] <= opset), _NONE)


@cache
def _listed() -> list[str]:
    """The newest opset of the list, then for each operator its versions, the newest first."""
    return Path(__file__).with_name("schemas.txt").read_text(encoding="utf-8").splitlines()


def described(schema: onnx.defs.OpSchema) -> Schema:
    """A schema as the list has it."""
    attributes = schema.attributes.items()
    return (
        schema.since_version,
        (schema.min_input, schema.max_input, _optional(schema.inputs)),
        (schema.min_output, schema.max_output, _optional(schema.outputs)),
        {name: int(cast("Any", item.type)) for name, item in attributes},
        [name for name, item in attributes if item.required],
    )


@cache
def first_like(op: str, version: int) -> int:
    """The first version of an operator that is specified in the same words, for fewer types."""
    before = schema_of(op, version - 1)[0]
    is_like = before and _words(op, before) == _words(op, version)
    return first_like(op, before) if is_like else version


def _words(op: str, version: int) -> tuple[object, ...]:
    schema = onnx.defs.get_schema(op, version, "")
    parts: list[Any] = [*schema.inputs, *schema.outputs, *schema.attributes.values()]
    usual = (str(getattr(each, "default_value", "")) for each in parts)
    told = sorted((e.name, e.description, value) for e, value in zip(parts, usual, strict=True))
    doc = str(schema.doc).partition("(Opset 14 change): Extend supported types")[0].strip()
    return doc, told, described(schema)[1:]


def _optional(parameters: Sequence[onnx.defs.OpSchema.FormalParameter]) -> list[int]:
    places = enumerate(parameters)
    return [place for place, each in places if each.option != _Parameter.Single]


def contradiction(node: Node, opset: int, *, in_function: bool) -> str:
    """How a node contradicts the schema of an operator of ONNX; empty if it has none, or agrees.

    One that does counts as no operator of ONNX (`Graph.is_standard`), so nothing else that reads
    nodes needs to doubt the types of their attributes, or the number of their inputs and outputs.
    No runtime loads such a node. In a function, attributes may refer to those of that.
    """
    version, inputs, outputs, types, needed = schema_of(node.op, opset)
    if not version:
        return ""
    for name, value in node.attrs.items():
        if name in types and not is_of(value, types[name], in_function=in_function):
            return f"its attribute {name} is not of its type"
    for name in needed:
        if name not in node.attrs:
            return f"it has no attribute {name}, which opset {opset} requires"
    return _misplaced(node.inputs, inputs, "input") or _misplaced(node.outputs, outputs, "output")


def _misplaced(tensors: Sequence[Tensor], places: _Places, what: str) -> str:
    least, most, optional = places
    if not least <= len(tensors) <= most:
        return f"its number of {what}s is {len(tensors)}, which the operator does not take"
    for place, tensor in enumerate(tensors):
        if not tensor.name and place not in optional:
            return f"its {what} {place} is left out, which the operator requires"
    return ""
