"""Tensors whose elements lie in files beside the model: never read, only checked.

Imports errors, scope.
"""

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx

from onnxpad.errors import ModelError
from onnxpad.scope import tensors


def external_tensors(model: onnx.ModelProto) -> tuple[onnx.TensorProto, ...]:
    """The tensors of a model whose elements lie in other files."""
    external = onnx.TensorProto.DataLocation.EXTERNAL
    return tuple(tensor for tensor in tensors(model) if tensor.data_location == external)


def check_external(tensors: tuple[onnx.TensorProto, ...], folder: Path) -> frozenset[Path]:
    """The files that hold the elements of `tensors`, after a look at their sizes.

    Raises:
        ModelError: A file is missing, too short, or not in the folder of the model.
    """
    sizes: dict[Path, int] = {}
    for tensor in tensors:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        what = f"tensor '{tensor.name}' keeps its data in '{location}'"
        if not location or not isinstance(location, str):
            raise ModelError(
                f"tensor '{tensor.name}' keeps its data in another file and does not say which; "
                "export the model again"
            )
        path = folder / os.path.normpath(location)
        outside = PurePosixPath(os.path.normpath(location)).parts[:1] == ("..",)
        if outside or PurePosixPath(location).is_absolute() or PureWindowsPath(location).drive:
            raise ModelError(f"{what}, outside the model's folder; save both in one folder")
        try:
            begin, length = int(entries.get("offset", 0)), int(entries.get("length", 0))
        except ValueError:
            begin = length = -1
        if begin < 0 or length < 0:
            raise ModelError(f"{what} at an offset or length that is no number; export it again")
        if path not in sizes:
            if not path.is_file():
                raise ModelError(f"{what}, which is not in {folder}; put it beside the model")
            sizes[path] = path.stat().st_size
        if begin + length > sizes[path]:
            raise ModelError(
                f"{what} up to byte {begin + length}, but that file has {sizes[path]}; "
                "it is cut short: export or download it again"
            )
    return frozenset(sizes)
