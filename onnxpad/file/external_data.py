"""External data: where the elements of tensors lie beside the model, and whether they are there.

The elements of a tensor are read only when its value is needed, one tensor at a time.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final, NamedTuple

import onnx

from onnxpad.errors import ModelError, let_through
from onnxpad.file.proto_walk import tensors

_BITS: Final = {"BFLOAT16": 16, "INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2} | {
    f"FLOAT8{kind}": 8 for kind in ("E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ", "E8M0")
}
"""Bits of an element by type, where numpy's type has more, or has in an onnx before 1.19.

The installed onnx may be too old to know some of the names.
"""
_UNSURE: Final = ("FLOAT6E2M3", "FLOAT6E3M2")

_DIGITS: Final = 20  # of the greatest number of 64 bits
_EXTERNAL: Final = onnx.TensorProto.DataLocation.EXTERNAL
_UNREACHABLE: Final = (errno.EACCES, errno.EPERM, errno.EIO, errno.ENAMETOOLONG)


class Reference(NamedTuple):
    """Where the elements of a tensor lie.

    Attributes:
        location: The file, relative to the folder of the model. It keeps its `..`: after a
            symbolic link that leads elsewhere than up the text.
        begin: The first byte.
        length: The number of bytes; None where neither the reference nor type and shape say it.
    """

    location: PurePosixPath
    begin: int
    length: int | None


def external_tensors(model: onnx.ModelProto) -> tuple[onnx.TensorProto, ...]:
    """The tensors of a model whose elements lie in other files."""
    return tuple(tensor for tensor in tensors(model) if is_external(tensor))


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the elements of a tensor lie in another file."""
    return tensor.data_location == _EXTERNAL


def reference(tensor: onnx.TensorProto) -> Reference:
    """Where the elements of an external tensor lie.

    Raises:
        ModelError: It names no file, or one outside the model's folder, or a wrong offset.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if not location or not isinstance(location, str):
        raise ModelError(
            f"tensor '{tensor.name}' keeps its data in another file and does not say which; "
            "export the model again"
        )
    what = f"tensor '{tensor.name}' keeps its data in '{location}'"
    path = PurePosixPath(location)
    # Windows takes a backslash for a separator, so a path that is safe here may not be safe there.
    windows = PureWindowsPath(os.path.normpath(location.replace("\\", "/")))
    if windows.parts[:1] == ("..",) or windows.anchor:
        raise ModelError(f"{what}, outside the model's folder; save both in one folder")
    begin, length = _number(entries.get("offset", "0")), _number(entries.get("length", "0"))
    if begin is None or length is None:
        raise ModelError(f"{what} at an offset or length that is no number; export it again")
    # onnx and onnxruntime take a length of 0 for a missing one.
    return Reference(path, begin, length or _length(tensor))


def check_external(tensors: Iterable[onnx.TensorProto], model: Path) -> None:
    """Checks that the files that hold the elements of `tensors` are there and long enough.

    There need not be a file at `model`, if it is in memory.
    Symbolic links may lead into the folder of `model`, and, where `model` is a link itself, into
    the folder that it leads to: download caches are made of such links.

    Raises:
        ModelError: A file is missing, too short, outside the model's folder, or not a regular file.
    """
    sizes: dict[PurePosixPath, int] = {}
    for tensor in tensors:
        location, begin, length = reference(tensor)
        end = begin + (length or 0)
        what = f"tensor '{tensor.name}' keeps its data in '{location}'"
        if location not in sizes:
            sizes[location] = _size(location, model, what)
        if end > sizes[location]:
            raise ModelError(
                f"{what} up to byte {end}, but that file has {sizes[location]}; "
                "it is cut short: export or download it again"
            )


def _size(location: PurePosixPath, model: Path, what: str) -> int:
    """The length of a data file in bytes.

    Raises:
        ModelError: It cannot be used as one; `what` begins the message.
    """
    folder, path = model.parent, model.parent / location
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        let_through(error)
        if isinstance(error, OSError) and error.errno in _UNREACHABLE:
            raise ModelError(f"{what}, which cannot be read: {error.strerror}") from None
        if path.is_symlink():
            raise ModelError(
                f"{what}, a symbolic link that leads to no file; put the file itself there"
            ) from None
        spelt = folder / PurePosixPath(str(location).replace("\\", "/"))
        hint = "; its name is written with backslashes" if spelt != path else ""
        if os.path.exists(os.path.normpath(path)):  # noqa: PTH110
            hint = " by that path: a folder that the path passes through is missing"
        raise ModelError(
            f"{what}, which is not in {folder}; put it beside the model{hint}"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise ModelError(f"{what}, which is {kind} in {folder}; put a file beside the model")
    if model.exists() and os.path.samestat(status, model.stat()):
        raise ModelError(f"{what}, which is the model file itself; export the model again")
    real = Path(os.path.realpath(path))
    homes = {Path(os.path.realpath(folder)), Path(os.path.realpath(model)).parent}
    if not any(real.is_relative_to(home) for home in homes):
        raise ModelError(
            f"{what}, a symbolic link out of the model's folder to {real}; put the file itself "
            "beside the model"
        )
    return status.st_size


def _number(text: str | bytes) -> int | None:
    """The number that a text of digits spells; None where it is anything else."""
    digits = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _DIGITS
    return int(text) if digits else None


def internal(tensor: onnx.TensorProto, folder: Path) -> onnx.TensorProto:
    """A copy of an external tensor with its elements embedded, as read from their file.

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
        let_through(error)
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
    """Removes a tensor's reference to its file."""
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")


def _length(tensor: onnx.TensorProto) -> int | None:
    """The number of bytes that a tensor's elements take; None for an unknown type."""
    try:
        name = onnx.TensorProto.DataType.Name(tensor.data_type)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except (KeyError, ValueError, TypeError):
        return None
    if dtype.hasobject or name in _UNSURE or min(tensor.dims, default=0) < 0:
        return None
    bits = _BITS.get(name, 8 * dtype.itemsize)
    return int(prod(tensor.dims) * bits + 7) // 8
