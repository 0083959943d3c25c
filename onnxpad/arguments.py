"""Arguments of the library's calls, checked and brought into one form."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from onnxpad.errors import UsageError, meant

if TYPE_CHECKING:
    import onnx

_T = TypeVar("_T")

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much it is in all."""

RESULT = ".fixed.onnx"  # how the name of a result ends, which is no input of a run over many
_NUMBER = r"\s*-?[0-9]{1,19}\s*"


class InFolder(Struct, frozen=True):
    """A serialised model whose external data lies in a folder."""

    data: bytes
    folder: Path


class OnnxModel(Protocol):
    """A model of the package onnx, an `onnx.ModelProto`."""

    @property
    def graph(self) -> Any:
        """The main graph."""


class GraphsurgeonGraph(Protocol):
    """A model of the package onnx_graphsurgeon, its class `Graph`."""

    @property
    def import_domains(self) -> Any:
        """The imported opsets."""


class IrModel(Protocol):
    """A model of the package onnx_ir, its class `Model`."""

    @property
    def opset_imports(self) -> Any:
        """The imported opsets."""


class TorchProgram(Protocol):
    """The result of `torch.onnx.export(..., dynamo=True)`, an `ONNXProgram`."""

    @property
    def exported_program(self) -> Any:
        """The program that was exported."""


Buffer: TypeAlias = bytes | bytearray | memoryview
ModelSource: TypeAlias = (
    str | os.PathLike[str] | Buffer | OnnxModel | GraphsurgeonGraph | IrModel | TorchProgram
)
"""A model in any form that `fix`, `check` and `validate` take."""

Source: TypeAlias = "Path | bytes | InFolder | onnx.ModelProto"

Shape = str | Sequence[int | None]
Shapes = Mapping[str, Shape] | Shape
Dims = Mapping[str, str | int | range]
_Some = str | os.PathLike[str] | Mapping[str, Any]
Arrays = _Some | Sequence[_Some]
"""A file or folder, or arrays by name, or several of those."""


def models_below(folder: Path, unread: Callable[[OSError], object]) -> list[str]:
    """The paths of the `.onnx` files below a folder, but for hidden folders and links to folders.

    Called with the error is `unread`, where a folder cannot be searched.
    """
    found: list[str] = []
    for parent, folders, names in os.walk(folder, onerror=unread):
        folders[:] = [name for name in folders if not name.startswith(".")]
        models = [name for name in names if name.lower().endswith(".onnx")]
        found += [os.path.join(parent, name) for name in models]  # noqa: PTH118
    return found


def fitting(argument: Path) -> list[Path] | None:
    """The models that a pattern such as `a/**/*.onnx` fits, and folders but links; else None."""
    from glob import glob, has_magic

    if not has_magic(str(argument)) or os.path.lexists(argument):
        return None
    fits = map(Path, glob(str(argument), recursive=True))  # noqa: PTH207
    folders = {each: each.is_dir() for each in fits}
    linked = {each for each, is_folder in folders.items() if is_folder and each.is_symlink()}
    return [e for e in folders if e not in linked and (folders[e] or e.suffix.lower() == ".onnx")]


def source(model: ModelSource, call: str) -> Source:
    """The model that a caller gave: a path, its bytes, or an `onnx.ModelProto`."""
    import onnx

    if isinstance(model, onnx.ModelProto | bytes):
        return model
    if isinstance(model, str | os.PathLike):
        with suppress(TypeError):  # an os.PathLike whose __fspath__ returns neither str nor bytes
            return Path(os.fsdecode(model))
    if isinstance(model, bytearray | memoryview):
        return bytes(model)
    hint = ""
    if isinstance(model, Collection) and not isinstance(model, Mapping):
        hint = f"; call {call} once for each model"
    elif callable(getattr(model, "read", None)):
        hint = "; give the path of an open file, or what its read() returns"
    raise UsageError(
        f"{call} takes the path of a model, an onnx.ModelProto or the bytes of one, a graphsurgeon "
        f"Graph, an onnx_ir.Model or a torch ONNXProgram, not {_kind(model)}{hint}"
    )


def shapes_given(shapes: Shapes | None) -> dict[str, Shape]:
    """Sizes by name of the input; sizes given without a name belong to the only input, named ''."""
    if shapes is None:
        return {}
    if isinstance(shapes, Mapping):
        return _by_name("shapes", shapes)
    if isinstance(shapes, str):
        name, _, text = shapes.rpartition("=")
        return {name: text}
    sizes = listed(shapes)
    if isinstance(sizes, Sequence) and not isinstance(sizes, range | bytes):
        return {"": sizes}
    raise UsageError(
        f"shapes takes sizes by name of the input, or those of the only input, not {_kind(shapes)}"
    )


def dims_given(dims: Dims | None) -> dict[str, str | int | range]:
    """Sizes and ranges by name of the dimension."""
    if dims is None:
        return {}
    if isinstance(dims, Mapping):
        return _by_name("dims", dims)
    raise UsageError(
        f"dims takes sizes by name of the dimension, as {{'height': 224}}, not {_kind(dims)}"
    )


def sizes_by_name(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Sizes by name, from texts `NAME=SIZES`; `--shape` may omit the name, which is then empty."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, sizes = text.rpartition("=")
        if option == "--dim" and not equals:
            raise UsageError(f"--dim {text!r} lacks a size; give it as {text}=...")
        if not name and equals:
            raise UsageError(f"{option} {text!r} lacks a name; give it as NAME=...")
        if name in found:
            raise UsageError(f"{option} is given twice{f' for {name!r}' if name else ''}")
        found[name] = sizes
    return found


def codes_given(option: str, codes: str | Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Codes or prefixes of codes; a text is split at its commas."""
    texts = [codes] if isinstance(codes, str) else codes
    if not isinstance(texts, Collection) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{option} takes codes, as ['PAD101'], not {_kind(codes)}")
    found = [part.strip().upper() for text in texts for part in text.split(",")]
    for code in found:
        if not code or not any(each.startswith(code) for each in known):
            raise UsageError(
                f"{option} {code!r} names no code; there is ".lstrip()
                + ", ".join(sorted(known))
                + meant(code, known)
            )
    return tuple(found)


def require_positive(**numbers: float | None) -> None:
    """Raises UsageError unless each is None, 0 or a finite positive number."""
    for name, value in numbers.items():
        if value is not None and not (isinstance(value, Real) and 0 <= value < float("inf")):
            raise UsageError(f"{name} has to be 0 or a positive number, not {value!r}")


def require_timeout(run_timeout: float | None) -> None:
    """Raises UsageError unless it is None or a positive number of seconds."""
    known = isinstance(run_timeout, Real) and 0 < run_timeout < float("inf")
    if run_timeout is not None and (isinstance(run_timeout, bool) or not known):
        raise UsageError(f"run_timeout has to be a positive number of seconds, not {run_timeout!r}")


def _by_name(what: str, given: Mapping[str, _T]) -> dict[str, _T]:
    for name in given:
        if not isinstance(name, str):
            raise UsageError(f"{what} has the key {name!r}, which is no name")
    return dict(given)


def listed(value: object) -> object:
    """An array of any package as a list; anything else unchanged."""
    convert = getattr(value, "tolist", None)
    return convert() if callable(convert) else value


def _kind(value: object) -> str:
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def whole_number(item: object) -> int | None:
    """The integer that an item is, or spells; else None."""
    if isinstance(item, str):
        return int(item) if re.fullmatch(_NUMBER, item) else None
    return int(item) if isinstance(item, Integral) and not isinstance(item, bool) else None
