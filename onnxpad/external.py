"""Tensors whose elements lie in files beside the model: where, and whether they are there.

Elements are read of one tensor at a time, and only where its value is asked for.

Imports errors, scope.
"""

import os
from collections.abc import Iterable
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final, NamedTuple

import onnx

from onnxpad.errors import ModelError
from onnxpad.scope import tensors

# Types of which several elements may share a byte; onnx may be too old to know some.
_BITS: Final = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}
_UNSURE: Final = ("FLOAT6E2M3", "FLOAT6E3M2")


class Reference(NamedTuple):
    """Where the elements of a tensor lie.

    Attributes:
        location: The file, relative to the folder of the model, without detours.
        begin: The first byte.
        length: How many bytes; None where neither the reference nor type and shape tell.
    """

    location: PurePosixPath
    begin: int
    length: int | None


def external_tensors(model: onnx.ModelProto) -> tuple[onnx.TensorProto, ...]:
    """The tensors of a model whose elements lie in other files."""
    return tuple(tensor for tensor in tensors(model) if is_external(tensor))


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the elements of a tensor lie in another file."""
    return tensor.data_location == onnx.TensorProto.DataLocation.EXTERNAL


def reference(tensor: onnx.TensorProto) -> Reference:
    """Where the elements of an external tensor lie.

    Raises:
        ModelError: It does not say so, or names a file outside the model's folder.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if not location or not isinstance(location, str):
        raise ModelError(
            f"tensor '{tensor.name}' keeps its data in another file and does not say which; "
            "export the model again"
        )
    what = f"tensor '{tensor.name}' keeps its data in '{location}'"
    path = PurePosixPath(os.path.normpath(location))
    outside = path.parts[:1] == ("..",)
    if outside or PurePosixPath(location).is_absolute() or PureWindowsPath(location).drive:
        raise ModelError(f"{what}, outside the model's folder; save both in one folder")
    try:
        begin, length = int(entries.get("offset", 0)), int(entries.get("length", 0))
    except ValueError:
        begin = length = -1
    if begin < 0 or length < 0:
        raise ModelError(f"{what} at an offset or length that is no number; export it again")
    # onnx and onnxruntime read a length of 0 as one that is not given.
    return Reference(path, begin, length or _length(tensor))


def check_external(tensors: Iterable[onnx.TensorProto], folder: Path) -> None:
    """Looks whether the files that hold the elements of `tensors` are there and long enough.

    Raises:
        ModelError: A file is missing, too short, or not in the folder of the model.
    """
    sizes: dict[Path, int] = {}
    for tensor in tensors:
        location, begin, length = reference(tensor)
        path, end = folder / location, begin + (length or 0)
        what = f"tensor '{tensor.name}' keeps its data in '{location}'"
        if path not in sizes:
            if not path.is_file():
                raise ModelError(f"{what}, which is not in {folder}; put it beside the model")
            sizes[path] = path.stat().st_size
        if end > sizes[path]:
            raise ModelError(
                f"{what} up to byte {end}, but that file has {sizes[path]}; "
                "it is cut short: export or download it again"
            )


def internal(tensor: onnx.TensorProto, folder: Path) -> onnx.TensorProto:
    """A copy of an external tensor that holds its elements itself, as read from their file.

    Raises:
        ModelError: They cannot be read.
    """
    location, begin, length = reference(tensor)
    path = folder / location
    try:
        with path.open("rb") as file:
            file.seek(begin)
            elements = file.read(length or 0)
    except OSError as error:
        raise ModelError(
            f"the data of tensor '{tensor.name}' in {path} cannot be read: {error.strerror}"
        ) from None
    if length is None or len(elements) < length:
        raise ModelError(
            f"{path} has no {length or 'known number of'} bytes for tensor '{tensor.name}' from "
            f"byte {begin} on; export or download it again"
        )
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    detach(copy)
    copy.raw_data = elements
    return copy


def detach(tensor: onnx.TensorProto) -> None:
    """Has a tensor no longer refer to another file."""
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")


def _length(tensor: onnx.TensorProto) -> int | None:
    """How many bytes the elements of a tensor take; None where its type does not tell."""
    try:
        name = onnx.TensorProto.DataType.Name(tensor.data_type)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except (KeyError, ValueError, TypeError):
        return None
    if dtype.hasobject or name in _UNSURE or min(tensor.dims, default=0) < 0:
        return None
    bits = _BITS.get(name, 8 * dtype.itemsize)
    return int(prod(tensor.dims) * bits + 7) // 8
