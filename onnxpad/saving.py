"""What of a model differs from its file, as records to splice in.

Imports attributes, skeleton, view, wire.
"""

from collections.abc import Iterator
from typing import TypeAlias

import onnx

from onnxpad import attributes
from onnxpad.skeleton import Skeleton
from onnxpad.view import Declared, Entry, Node, View, declaration
from onnxpad.wire import Chunk, Record, encode

Differences: TypeAlias = tuple[dict[Record, list[Chunk]], list[Chunk]]

_NODE, _INITIALIZER, _INPUT, _VALUE_INFO, _ANNOTATION = 1, 5, 11, 13, 14


def node_proto(skeleton: Skeleton, entry: Entry) -> onnx.NodeProto:
    """A node as it is now, with all its elements."""
    if entry.record is None:
        return _inserted(entry.node)
    proto = skeleton.whole(entry.record, onnx.NodeProto())
    if entry.touched:
        _amend(proto, entry.node)
    return proto


def outline(skeleton: Skeleton, view: View) -> onnx.GraphProto:
    """Inputs, nodes and initializers as they are now, without what `skeleton.light` lacks."""
    graph = onnx.GraphProto()
    for value in skeleton.light.graph.input:
        declared = view.inputs.get(value.name)
        if declared is not None:
            known = declared == declaration(value)
            graph.input.append(value if known else _declaring(value, declared))
    light = dict(zip(view.entries, skeleton.light.graph.node, strict=False))
    for entry in view.order():
        was = light.get(id(entry.node))
        if was is None:
            graph.node.append(_inserted(entry.node))
            continue
        graph.node.append(was)
        if entry.touched:
            _amend(graph.node[-1], entry.node)
    graph.initializer.extend(
        initializer.proto for initializer in view.initializers.values() if not initializer.sparse
    )
    return graph


def differences(skeleton: Skeleton, view: View) -> Differences:
    """What stands in place of records of the graph, and what is added at its end."""
    replaced: dict[Record, list[Chunk]] = {
        record: [] for records in view.gone.values() for record in records
    }
    for entry in view.entries.values():
        if not entry.alive and entry.record:
            replaced[entry.record] = []
    # A node inserted before another is written with the next one that the file has.
    inserted: list[Chunk] = []
    for entry in view.order():
        if entry.record is None:
            inserted.append(encode(_NODE, _inserted(entry.node).SerializeToString()))
        elif inserted or entry.touched:
            record = entry.record
            proto = skeleton.whole(record, onnx.NodeProto()) if entry.touched else None
            if proto is not None and _amend(proto, entry.node):
                inserted.append(encode(_NODE, proto.SerializeToString()))
            elif inserted:
                inserted.append(skeleton.data[record.begin : record.end])
            if inserted:
                replaced[record] = inserted
                inserted = []
    replaced.update((record, []) for record in _dead_annotations(skeleton, view))
    replaced.update(_redeclared(skeleton, view))
    return replaced, [*inserted, *_added(skeleton, view)]


def _inserted(node: Node) -> onnx.NodeProto:
    """A node that the file does not have."""
    proto = onnx.NodeProto(name=node.name)
    _amend(proto, node)
    return proto


def _amend(proto: onnx.NodeProto, node: Node) -> bool:
    """Makes a node's proto say what the node says; whether it did not before."""
    amended = False
    if (proto.op_type, proto.domain) != (node.op, node.domain or ""):
        amended = True
        proto.op_type = node.op
        proto.ClearField("overload")
        if proto.domain != (node.domain or ""):
            proto.ClearField("domain")
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
        # What is no number, string or list cannot be set, so it is what the file has.
        if isinstance(value, onnx.AttributeProto):
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


def _dead_annotations(skeleton: Skeleton, view: View) -> Iterator[Record]:
    """The records that describe tensors which are gone, or describe them wrongly."""
    if not view.gone and not view.undeclared:
        return
    graph = skeleton.light.graph
    for value, record in zip(graph.value_info, skeleton.fields[_VALUE_INFO], strict=True):
        if value.name in view.gone or value.name in view.undeclared:
            yield record
    annotations = zip(graph.quantization_annotation, skeleton.fields[_ANNOTATION], strict=True)
    for annotation, record in annotations:
        if annotation.tensor_name in view.gone:
            yield record


def _redeclared(skeleton: Skeleton, view: View) -> Iterator[tuple[Record, list[Chunk]]]:
    """The records of inputs that declare another shape by now, each with what it says then."""
    for value, record in zip(skeleton.light.graph.input, skeleton.fields[_INPUT], strict=True):
        declared = view.inputs.get(value.name)
        if declared is not None and declared != declaration(value):
            yield record, [encode(_INPUT, _declaring(value, declared).SerializeToString())]


def _declaring(value: onnx.ValueInfoProto, declared: Declared) -> onnx.ValueInfoProto:
    """An input with a shape; of each axis that stays as it was, everything stays."""
    proto = onnx.ValueInfoProto()
    proto.CopyFrom(value)
    was, shape = declaration(value).shape, declared.shape or ()
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
    return proto


def _added(skeleton: Skeleton, view: View) -> Iterator[Chunk]:
    """Added initializers, as graph inputs too where the IR version demands it."""
    for name in view.added:
        if name in view.initializers:
            proto = view.initializers[name].proto
            yield encode(_INITIALIZER, proto.SerializeToString())
            if skeleton.light.ir_version < 4:
                value = onnx.helper.make_tensor_value_info(proto.name, proto.data_type, proto.dims)
                yield encode(_INPUT, value.SerializeToString())
