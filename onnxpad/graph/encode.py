"""Encodes the differences between a model and its file, as records to splice in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Final, TypeAlias

import onnx

from onnxpad.file.proto_walk import is_external
from onnxpad.file.skeleton import ELEMENTS, Chunk, Record, Skeleton, encode
from onnxpad.graph import attributes
from onnxpad.graph.nodes import Declared, Node, View, declaration

Differences: TypeAlias = tuple[dict[Record, list[Chunk]], list[Chunk]]

_INITIALIZER, _INPUT, _OUTPUT = 5, 11, 12
_IR_VERSION, _METADATA = 1, 14
_ANNOTATION: Final = "quantization_annotation"

_NOTES: Final = frozenset({"device_configurations", "doc_string", "metadata_props"})
"""All that a node says beside its computation."""


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
    """A node as the file has it, or parsed from the record that replaces that one."""
    proto = onnx.NodeProto()
    if not edited:
        return skeleton.whole(record, proto)
    _, *body = edited
    proto.ParseFromString(b"".join(body))
    return proto


def _edited_bodies(skeleton: Skeleton, node: Node) -> list[Chunk]:
    """The record of a node with its edited bodies; empty where these did not change."""
    holders: dict[Record, dict[Record, list[Chunk]]] = {}
    for view in node.bodies.values():
        holder, edited = view.section.attribute, edited_section(view)
        if holder is not None and edited:
            holders.setdefault(holder, {}).update(edited)
    if not holders or node.record is None:
        return []
    replaced = {holder: skeleton.rewritten(holder, edited) for holder, edited in holders.items()}
    return skeleton.rewritten(node.record, replaced)


def edited_section(view: View, found: Differences | None = None) -> dict[Record, list[Chunk]]:
    """The replacements of the records that hold a graph or a function; empty if it is unchanged."""
    if not view.edited and found is None:
        return {}
    replaced, appended = found or differences(view)
    edited = {}
    containers = view.section.containers
    for container in containers:
        inside = {
            record: chunks
            for record, chunks in replaced.items()
            if container.body <= record.begin < container.end
        }
        added = appended if container is containers[-1] else ()
        if inside or added:
            edited[container] = view.skeleton.rewritten(container, inside, added)
    return edited


def working_copy(
    view: View, edited: Mapping[Record, Sequence[Chunk]], is_cut: Callable[[str], bool]
) -> onnx.ModelProto:
    """A model as it is now, with graph inputs in place of large weights.

    Given are its main graph, and how it differs from the file.

    It loads and is optimised like the model, except where the elements of those weights decide.
    Large tensors in bodies, functions and edited nodes keep their elements, and so do constants of
    which `is_cut` says no.
    """
    skeleton = view.skeleton
    replaced, appended = differences(view)
    large: dict[str, tuple[Declared, Record]] = {}
    for name, each in view.initializers.items():
        if each.record and (each.sparse or (lacks_elements(each.proto) and is_cut(name))):
            large[name] = each.declared, each.record
    for node, record in view.section.parts("node"):
        held = next((item.t for item in node.attribute if item.HasField("t")), None)
        is_constant = node.op_type == "Constant" and record not in replaced
        if is_constant and held is not None and lacks_elements(held) and is_cut(node.output[0]):
            large[node.output[0]] = Declared(held.data_type, tuple(held.dims)), record
    inputs = {value.name for value in skeleton.light.graph.input}
    for name, (declared, record) in large.items():
        replaced[record] = []
        if name not in inputs:
            value = onnx.helper.make_tensor_value_info(name, declared.dtype, declared.shape or ())
            appended.append(encode(_INPUT, value.SerializeToString()))
    copied = {**edited, **edited_section(view, (replaced, appended))}
    model = onnx.ModelProto()
    model.ParseFromString(b"".join(skeleton.splice(copied)))
    return model


def lacks_elements(tensor: onnx.TensorProto) -> bool:
    """Whether the elements of a tensor were stripped, or are in another file."""
    if is_external(tensor):
        return True
    held = any(field.name in ELEMENTS for field, _ in tensor.ListFields())
    return not held and prod(tensor.dims) > 0


def differences(view: View) -> Differences:
    """The replacements of records in a graph or function, and the records to add at its end."""
    skeleton, number = view.skeleton, view.section.number("node")
    replaced: dict[Record, list[Chunk]] = {record: [] for record in _removed(view)}
    # A node inserted before another is written with the next one that the file has.
    inserted: list[Chunk] = []
    for node in view.nodes:
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
    replaced.update(_redeclared(view) if view.is_main else ())
    return replaced, [*inserted, *_added(view)]


def _removed(view: View) -> Iterator[Record]:
    """The records of what is gone, and of what the model says about it, or says wrongly."""
    section, known = view.section, view.tensors
    yield from (node.record for node in view.listed if node.record and not node.alive)
    gone = set[str]()
    for kind in ("initializer", "sparse_initializer", *["input"] * view.is_main):
        for item, record in section.parts(kind):
            name = item.values.name if kind == "sparse_initializer" else item.name
            if name not in known:
                gone.add(name)
                yield record
    said = [(value.name, record) for value, record in section.parts("value_info")]
    yield from (record for name, record in said if name in view.undeclared)
    said += [(each.tensor_name, record) for each, record in section.parts(_ANNOTATION)]
    lost = [(name, record) for name, record in said if name not in known]
    if lost:  # and not said of what there never was
        for node, proto in zip(view.listed, section.light.node, strict=False):
            if node.touched or not node.alive:
                gone.update(proto.output)
        yield from (record for name, record in lost if name in gone)


def edited_model(
    skeleton: Skeleton, views: Iterable[View], metadata: Mapping[str, str]
) -> dict[Record, list[Chunk]]:
    """The replacements of the records of a model, with new values of its metadata by key."""
    edited = dict(_noted(skeleton, metadata))
    for view in views:
        edited.update(edited_section(view))
    return edited


def _inserted(skeleton: Skeleton, node: Node) -> onnx.NodeProto:
    """A node that the file does not have, with the notes of the one that it was made like."""
    proto, like = onnx.NodeProto(), node.like
    while like is not None and like.record is None:
        like = like.like
    if like is not None and like.record is not None:
        skeleton.whole(like.record, proto)
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
        if proto.domain != (node.domain or ""):
            proto.ClearField("domain")
            if node.domain:
                proto.domain = node.domain
    inputs = [tensor.name for tensor in node.inputs]
    if list(proto.input) != inputs:
        amended = True
        proto.input[:] = inputs
    outputs = [tensor.name for tensor in node.outputs]
    if list(proto.output) != outputs:
        amended = True
        proto.output[:] = outputs
    for index in reversed(range(len(proto.attribute))):
        attribute = proto.attribute[index]
        if attribute.name not in node.attrs:
            amended = True
            del proto.attribute[index]
            continue
        value = node.attrs[attribute.name]
        # Another tensor may be set, which has its elements; other kinds are unchanged.
        if isinstance(value, onnx.AttributeProto) and (
            lacks_elements(value.t) or value.t == attribute.t
        ):
            continue
        if not attributes.same(attributes.read(attribute), value):
            amended = True
            attributes.write(attribute, value)
    known = {attribute.name for attribute in proto.attribute}
    for name, value in node.attrs.items():
        if name not in known:
            amended = True
            attributes.write(proto.attribute.add(name=name), value)
    return amended


def _redeclared(view: View) -> Iterator[tuple[Record, list[Chunk]]]:
    """The records of inputs and outputs whose declared shape changed, with their replacements."""
    shapes = {name: each.shape for name, each in view.inputs.items()}
    for kind, field, known in (("input", _INPUT, shapes), ("output", _OUTPUT, view.redeclared)):
        for value, record in view.section.parts(kind):
            shape = known.get(value.name)
            if shape is not None and shape != declaration(value).shape:
                yield record, [encode(field, _declaring(value, shape).SerializeToString())]


def _noted(skeleton: Skeleton, metadata: Mapping[str, str]) -> Iterator[tuple[Record, list[Chunk]]]:
    """The records of metadata that changed, each with its replacement; added ones too."""
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


def _declaring(
    value: onnx.ValueInfoProto, shape: tuple[int | str | None, ...]
) -> onnx.ValueInfoProto:
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


def _added(view: View) -> Iterator[Chunk]:
    """The added initializers; as graph inputs too, where the IR version requires that."""
    for name in view.added:
        if name in view.initializers:
            proto = view.initializers[name].proto
            yield encode(_INITIALIZER, proto.SerializeToString())
            if view.skeleton.light.ir_version < 4:
                value = onnx.helper.make_tensor_value_info(proto.name, proto.data_type, proto.dims)
                yield encode(_INPUT, value.SerializeToString())
