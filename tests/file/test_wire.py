"""The fields in which a file is looked into, against the descriptors of onnx's messages."""

from typing import Any

import onnx
import pytest

from onnxpad.file.wire import _PAYLOADS, Kind

MESSAGES: dict[Kind, Any] = {
    Kind.MODEL: onnx.ModelProto.DESCRIPTOR,
    Kind.TRAINING: onnx.TrainingInfoProto.DESCRIPTOR,
    Kind.FUNCTION: onnx.FunctionProto.DESCRIPTOR,
    Kind.GRAPH: onnx.GraphProto.DESCRIPTOR,
    Kind.NODE: onnx.NodeProto.DESCRIPTOR,
    Kind.ATTRIBUTE: onnx.AttributeProto.DESCRIPTOR,
    Kind.SPARSE: onnx.SparseTensorProto.DESCRIPTOR,
    Kind.TENSOR: onnx.TensorProto.DESCRIPTOR,
}
KINDS = {message.full_name: kind for kind, message in MESSAGES.items()}


@pytest.mark.parametrize("kind", MESSAGES)
def test_every_message_that_may_hold_a_tensor_is_entered(kind: Kind) -> None:
    fields = MESSAGES[kind].fields
    if kind == Kind.TENSOR:  # its elements, in whichever field of their type
        names = {field.name for field in fields if field.name.endswith("_data")} - {"external_data"}
        expected = {field.number: Kind.PAYLOAD for field in fields if field.name in names}
    else:
        expected = {
            field.number: KINDS[field.message_type.full_name]
            for field in fields
            if field.message_type is not None and field.message_type.full_name in KINDS
        }
    assert _PAYLOADS[kind] == expected
