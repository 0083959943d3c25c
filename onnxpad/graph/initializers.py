"""Initializers and Constant nodes: their types, shapes and values, external data included."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import numpy as np
import onnx
from onnx import numpy_helper

from onnxpad.errors import ModelError
from onnxpad.file.external_data import internal, is_external
from onnxpad.file.wire import PAYLOAD_LIMIT
from onnxpad.graph.encode import lacks_elements
from onnxpad.graph.model import Model
from onnxpad.graph.nodes import Declared, Node, Tensor, View, constant_shape

LIMIT: Final = 4096
"""Constants with more elements than this are not read."""

# Attributes of Constant other than tensors: the Python type of an element, and numpy's.
_LISTED: Final[dict[str, tuple[type, type[np.generic]]]] = {
    "value_int": (int, np.int64),
    "value_ints": (int, np.int64),
    "value_float": (float, np.float32),
    "value_floats": (float, np.float32),
    "value_string": (str, np.object_),
    "value_strings": (str, np.object_),
}


class Constants:
    """Initializers and Constant nodes that one graph defines; their values are cached."""

    def __init__(self, model: Model, view: View, is_standard: Callable[[Node], bool]) -> None:
        """Reads the constants of a graph on demand; without a path external data is unknown."""
        self._skeleton = model.skeleton
        self._folder = model.path.parent if model.path else None
        self._view = view
        self._is_standard = is_standard
        self._values: dict[Tensor, np.ndarray[Any, Any] | None] = {}
        self._alike: dict[tuple[object, ...], np.ndarray[Any, Any]] = {}

    def forget(self, tensor: Tensor) -> None:
        """Drops a tensor from the cache, since it may have changed."""
        self._values.pop(tensor, None)

    def _whole(self, name: str) -> onnx.TensorProto | None:
        """A dense initializer with its elements; None if there is none of that name."""
        initializer = self._view.initializers.get(name)
        if initializer is None or initializer.sparse:
            return None
        for record in initializer.records[:1]:
            if record.end - record.body > PAYLOAD_LIMIT:
                return self._skeleton.whole(record, onnx.TensorProto())
        return initializer.proto

    def declared(self, tensor: Tensor) -> Declared | None:
        """Type and shape of a graph input, an initializer or a Constant; None for other tensors."""
        if tensor.name in self._view.inputs:
            return self._view.inputs[tensor.name]
        initializer = self._view.initializers.get(tensor.name)
        if initializer:
            return initializer.declared
        value = self._held(tensor)
        if isinstance(value, onnx.AttributeProto):
            if value.HasField("t"):
                return Declared(value.t.data_type, constant_shape(value.t.dims, tensor.name))
            sparse = value.sparse_tensor
            return Declared(sparse.values.data_type, constant_shape(sparse.dims, tensor.name))
        if value is None:
            return None
        return Declared(onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    def is_external(self, tensor: Tensor) -> bool:
        """Whether an initializer or a Constant has its elements in another file."""
        # An initializer that a caller may override counts as an input.
        if tensor.name in self._view.inputs:
            return False
        initializer = self._view.initializers.get(tensor.name)
        if initializer:
            return is_external(initializer.proto)
        value = self._held(tensor)
        return isinstance(value, onnx.AttributeProto) and is_external(value.t)

    def is_raw(self, tensor: Tensor) -> bool:
        """Whether the elements of an initializer or a Constant are stored as bytes."""
        proto = self._whole(tensor.name)
        if proto is None:
            value = self._held(tensor)
            proto = value.t if isinstance(value, onnx.AttributeProto) else None
        return proto is not None and proto.HasField("raw_data")

    def value(self, tensor: Tensor) -> np.ndarray[Any, Any] | None:
        """The elements of a constant, read-only; None where they are not available.

        Raises:
            ModelError: They do not fit its type and shape.
        """
        node = tensor.producer
        if (node is not None and node.op != "Constant") or tensor.name in self._view.inputs:
            return None  # a caller may override an initializer that is also an input
        if tensor not in self._values:
            self._values[tensor] = self._read(tensor)
        return self._values[tensor]

    def _read(self, tensor: Tensor) -> np.ndarray[Any, Any] | None:
        initializer = self._view.initializers.get(tensor.name)
        if initializer:
            if not self._readable(initializer.proto):
                return None
            proto = self._whole(tensor.name)
            return None if proto is None else self._array(proto, tensor.name)
        value = self._held(tensor)
        if isinstance(value, onnx.AttributeProto):
            if not value.HasField("t") or not self._readable(value.t):
                return None
            record = tensor.producer.record if tensor.producer else None
            if record is not None and lacks_elements(value.t):
                node = self._skeleton.whole(record, onnx.NodeProto())
                value = next(item for item in node.attribute if item.name == value.name)
            return self._array(value.t, tensor.name)
        return None if value is None or value.size > LIMIT else value

    def _held(self, tensor: Tensor) -> onnx.AttributeProto | np.ndarray[Any, Any] | None:
        """The value of the Constant that writes a tensor; a tensor in it may lack elements."""
        node = tensor.producer
        if node is None or node.op != "Constant" or not self._is_standard(node):
            return None
        if len(node.attrs) != 1:
            return None
        name, value = next(iter(node.attrs.items()))
        if isinstance(value, onnx.AttributeProto):
            known = value.HasField("t") or value.HasField("sparse_tensor")
            return value if known and not value.ref_attr_name else None
        if name not in _LISTED or isinstance(value, list) != name.endswith("s"):
            return None
        kind, dtype = _LISTED[name]
        if not all(isinstance(item, kind) for item in (value if name.endswith("s") else [value])):
            return None
        array: np.ndarray[Any, Any] = np.array(value, dtype=dtype)
        array.setflags(write=False)
        return array

    def _readable(self, proto: onnx.TensorProto) -> bool:
        """Whether a tensor's elements are available: in one segment, in reach, and few enough."""
        within_reach = self._folder is not None or not is_external(proto)
        return within_reach and not proto.HasField("segment") and prod(proto.dims) <= LIMIT

    def _array(self, proto: onnx.TensorProto, name: str) -> np.ndarray[Any, Any]:
        shape = constant_shape(proto.dims, name)
        if self._folder is not None and is_external(proto):
            proto = internal(proto, self._folder)
        key = proto.data_type, shape, proto.raw_data
        if key[-1] and key in self._alike:  # networks repeat the same few short ones
            return self._alike[key]
        try:
            array = np.array(numpy_helper.to_array(proto))
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ModelError(
                f"the elements of tensor '{name}' do not fit its type and shape "
                f"({list(proto.dims)}); export the model again"
            ) from error
        array.setflags(write=False)
        self._alike[key] = array
        return array
