"""Removes the quantisers of a quantised model, so that nothing is rounded to a few levels."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnxpad.file.proto_walk import default_opset
from onnxpad.runtimes.sessions import Array, Source, payload, read_proto

_QUANTISER, _DEQUANTISER = "QuantizeLinear", "DequantizeLinear"
_CLIP_INPUTS = 11  # first opset in which Clip's limits are inputs


def unquantised(source: Source) -> bytes | None:
    """The model with each pair of QuantizeLinear and DequantizeLinear replaced by a Clip.

    The Clip saturates as the pair does, but does not round. Pairs that quantise along an axis, and
    those of weights, stay as they are.

    Returns:
        The serialized model, which keeps its references to external data; None if it has no such
        pair.
    """
    model = onnx.ModelProto()
    model.CopyFrom(read_proto(source))
    graph = model.graph
    opset = default_opset(model.opset_import)
    held = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            held[node.output[0]] = node.attribute[0].t
    quantisers = {node.output[0]: node for node in graph.node if node.op_type == _QUANTISER}
    replaced = 0
    for node in graph.node:
        quantiser = quantisers.get(node.input[0]) if node.op_type == _DEQUANTISER else None
        if quantiser is None:
            continue
        limits = [_limits(each, held) for each in (quantiser, node)]
        if limits[0] is None or limits[0] != limits[1]:
            continue
        low, high = limits[0]
        replaced += 1
        del node.attribute[:]
        node.op_type, node.domain = "Clip", ""
        node.input[:] = [quantiser.input[0]]
        if opset >= _CLIP_INPUTS:
            scale = held[quantiser.input[1]]
            dtype = helper.tensor_dtype_to_np_dtype(scale.data_type)
            for kind, limit in (("low", low), ("high", high)):
                name = f"onnxpad/{kind}/{replaced}"
                graph.initializer.append(numpy_helper.from_array(np.array(limit, dtype), name))
                node.input.append(name)
        else:
            node.attribute.append(helper.make_attribute("min", low))
            node.attribute.append(helper.make_attribute("max", high))
    data = payload(model) if replaced else None
    return data if isinstance(data, bytes) else None


def _limits(node: onnx.NodeProto, held: dict[str, onnx.TensorProto]) -> tuple[float, float] | None:
    """The least and the greatest value that a quantiser can represent; None if unknown."""
    scale, zero = (_scalar(held.get(name)) for name in (*node.input[1:3], "", "")[:2])
    if scale is None or zero is None or zero.dtype.kind not in "iu":
        return None
    kind = np.iinfo(zero.dtype)
    least, greatest = (
        (float(level) - float(zero)) * float(scale) for level in (kind.min, kind.max)
    )
    return least, greatest


def _scalar(tensor: onnx.TensorProto | None) -> Array | None:
    if tensor is None or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return None
    found = numpy_helper.to_array(tensor)
    return found.reshape(()) if found.size == 1 else None
