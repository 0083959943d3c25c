"""External data, where the elements of tensors lie beside the model; and how files are written.

The elements of a tensor are read only when its value is needed, one tensor at a time. Data is
shared, copied, or embedded in the model. A file is there whole or not at all: until it is whole, it
is called `.NAME.RANDOM.part` and lies in the folder of its target. An error or an interrupt removes
it. A process that is killed leaves at most one.

Data that replaces an earlier result's comes as a stand-in first, whose name is made of its content:
`w-0123456789abcdef.bin` for `w.bin`. The model that replaces the earlier one refers to that. Then
`w.bin` is replaced, and the model by one that refers to `w.bin`. So at any moment the model that is
there refers to its own data. Where another model refers to the earlier data, this
stays, and so does the stand-in.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal, NamedTuple, TypeAlias

import onnx

from onnxpad.arguments import Progress
from onnxpad.errors import ModelError, OutputError, UsageError, let_through
from onnxpad.file.proto_walk import is_external, tensors
from onnxpad.file.skeleton import PARTS, Chunk, Skeleton, encode, read_bytes, read_file

ExternalData: TypeAlias = Literal["copy", "inline"]
Content = Iterable[Chunk]
"""The content of a file to write, in chunks."""

_BITS = {"BFLOAT16": 16, "INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2} | {
    f"FLOAT8{kind}": 8 for kind in ("E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ", "E8M0")
}
"""Bits of an element by type, where numpy's type has more, or has in an onnx before 1.19.

The installed onnx may be too old to know some of the names.
"""
_UNSURE = ("FLOAT6E2M3", "FLOAT6E3M2")

_DIGITS = 20  # of the greatest number of 64 bits
_BLOCK = 1 << 22
_MEBIBYTE = 1 << 20

# The greatest message that protobuf reads.
_MESSAGE_LIMIT = (1 << 31) - 1

# File systems take names of 255 bytes.
_LONGEST = 200


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
    """The length of a data file; ModelError begins with `what` if it cannot be used as one."""
    folder, path = model.parent, model.parent / location
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        let_through(error)
        reason = getattr(error, "strerror", None) or error
        raise ModelError(
            f"{what}, which is not in {folder} ({reason}); put it beside the model"
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
    digits = text.isascii() and text.isdigit() and len(text) <= _DIGITS
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
    copy.ClearField("data_location")
    copy.ClearField("external_data")
    copy.raw_data = elements
    return copy


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


def write_model(
    files: dict[Path, Content], places: Mapping[Path, Path], chunks: Sequence[Chunk], target: Path
) -> tuple[Path, ...]:
    """Writes what `contents` gives, raising what `write_whole` does; returns the other files."""
    write_whole(files)
    try:
        if _settle(places, chunks, target):
            files = {places.get(path, path): content for path, content in files.items()}
        _sweep(places.values(), target)
    except (OSError, OutputError) as error:  # the model keeps its stand-ins
        let_through(error)
    return tuple(path for path in files if path is not target)


def contents(
    model: Skeleton,
    source: Path | None,
    chunks: Sequence[Chunk],
    target: Path,
    how: ExternalData,
    progress: Progress | None,
) -> tuple[dict[Path, Content], dict[Path, Path]]:
    """The files to write so that `target` is the edited model and finds its external data.

    The last is `target`. Also, by the path at which it refers to copied data, where that belongs:
    elsewhere if the path is a stand-in.

    Args:
        model: The model as it was read.
        source: Its file, or a path beside its data; None where its data cannot be found.
        chunks: The edited model.
        target: The file to write.
        how: Whether data that `target` would not find is copied or embedded.
        progress: Called with the name of a step, how much of it is done, and how much there is.

    Raises:
        UsageError: `how` is neither.
        OutputError: Another file is in the way, or runtimes would not find the data.
        ModelError: Data cannot be read.
    """
    if how not in ("copy", "inline"):
        raise UsageError(f"unknown external_data {how!r}; choose one of copy, inline")
    if not model.external:
        return {target: chunks}, {}
    edited = read_bytes(memoryview(b"".join(chunks)), str(target))
    if source is None:
        if how != "copy":
            raise OutputError(
                f"{target} cannot {how} external data of a model that came without a path; "
                "load the model by its path"
            )
        return {target: chunks}, {}
    given = _files(model.external, source).values()
    if target.exists() and any(map(target.samefile, given)):
        raise OutputError(f"{target} holds the model's external data; name another file")
    if how == "inline":
        return {target: inlined(edited, source.parent)}, {}
    if _shares_data(source, target, edited.external):
        return {target: chunks}, {}
    files, places, moves = dict[Path, Content](), dict[Path, Path](), dict[str, str]()
    for location, file in _files(edited.external, source).items():
        path = usual = target.parent / location
        _require_readable(file)
        if _is_other(path, file, target):
            own = path.resolve() in {*_data(target), *map(_usual, _data(target))}
            is_given = any(map(path.samefile, given))
            if own and os.access(path, os.W_OK) and not is_given:
                path = _stand_in(usual, file)
                moves[location] = path.relative_to(target.parent).as_posix()
            if path == usual or _is_other(path, file, target):
                raise OutputError(
                    f"{path} differs from the model's external data of that name, and is not data "
                    f"of {target} to replace; write to another folder, or remove that file"
                )
        places[path] = usual
        # Where it is there but its path has a missing folder, as in `sub/..`, writing makes that.
        if not path.exists():
            files[path] = _copied(file, progress)
    moved = _with_tensors(edited, lambda tensor: _move(tensor, moves)) if moves else chunks
    return {**files, target: moved}, places


def _require_readable(file: Path) -> None:
    """Raises ModelError unless a data file can be read."""
    try:
        with file.open("rb"):
            return
    except OSError as error:
        let_through(error)
        raise ModelError(f"the external data {file} cannot be read: {error.strerror}") from None


def inlined(model: Skeleton, folder: Path) -> list[Chunk]:
    """A model with all external tensors embedded, as read from the files in `folder`.

    Raises OutputError where that is more than protobuf can read, ModelError as `internal`.
    """
    size = sum(reference(tensor).length or 0 for tensor in model.external)
    if size + len(model.data) > _MESSAGE_LIMIT:
        raise OutputError(
            f"{size / 1e9:.1f} GB of external data do not fit inside a model, which ends at 2 GiB; "
            "copy the data"
        )
    return _with_tensors(model, lambda tensor: tensor.CopyFrom(internal(tensor, folder)))


def _with_tensors(model: Skeleton, change: Callable[[onnx.TensorProto], None]) -> list[Chunk]:
    """A model in which each external tensor was changed."""
    chunks: list[Chunk] = []
    for record in model.model:
        body, kind = model.data[record.body : record.end], PARTS["ModelProto"].get(record.field)
        if kind and re.search(b"location", body):
            part = getattr(onnx, kind).FromString(body)
            for tensor in filter(is_external, tensors(part)):
                change(tensor)
            chunks.append(encode(record.field, part.SerializeToString()))
        else:
            chunks.append(model.data[record.begin : record.end])
    return chunks


def _move(tensor: onnx.TensorProto, places: Mapping[str, str]) -> None:
    """Has an external tensor refer to another file, if one is given for its own."""
    location = str(reference(tensor).location)
    for entry in tensor.external_data:
        if entry.key == "location":
            entry.value = places.get(location, entry.value)


def runnable(data: bytes, source: Path) -> tuple[bytes, Path]:
    """A model, and the folder where a runtime finds its data.

    Runtimes follow links out of the folder of a model, of which download caches such as Hugging
    Face's are made, only where the model itself is one: others get the files that they lead to.
    """
    model = onnx.ModelProto.FromString(data)
    found = [*filter(is_external, tensors(model))]
    if not _behind_links(source, found):
        return data, source.parent
    files = {name: file.resolve() for name, file in _files(found, source).items()}
    folder = Path(os.path.commonpath([file.parent for file in files.values()]))
    places = {name: file.relative_to(folder).as_posix() for name, file in files.items()}
    for tensor in found:
        _move(tensor, places)
    return model.SerializeToString(), folder


def _behind_links(source: Path, found: Iterable[onnx.TensorProto]) -> bool:
    """Whether external data files are symbolic links out of the model's folder."""
    shown = source.parent.resolve()
    files = [file.resolve() for file in _files(found, source).values()]
    return not all(file.is_relative_to(shown) for file in files)


def _files(found: Iterable[onnx.TensorProto], source: Path) -> dict[str, Path]:
    """The data files of a model, by their path relative to the model's folder."""
    locations = dict.fromkeys(str(reference(tensor).location) for tensor in found)
    return {location: source.parent / location for location in locations}


def _shares_data(source: Path, target: Path, found: Iterable[onnx.TensorProto]) -> bool:
    """Whether `target` finds the data; OutputError if runtimes do not follow the links to it."""
    if target.exists() and source.exists() and target.samefile(source):
        return True
    if not target.parent.samefile(source.parent):
        return False
    if _behind_links(source, found):
        raise OutputError(
            f"{target} would not find its external data: beside it are links out of the folder, "
            "which runtimes do not follow; write to another folder"
        )
    return True


def _is_other(path: Path, source: Path, target: Path) -> bool:
    """Whether a file is another where data goes; OutputError if it is the model, or elsewhere."""
    place = path.resolve()
    if place == target.resolve():
        raise OutputError(f"{target} is where the model's external data goes; name another file")
    if not place.is_relative_to(target.parent.resolve()):
        raise OutputError(
            f"{path} leads out of the folder of {target.name}, where runtimes do not follow; "
            "write to another folder, or remove that link"
        )
    return place.exists() and not _are_equal(place, source)


def _stand_in(path: Path, source: Path) -> Path:
    """The path at which the content of a file comes before it replaces what is at another."""
    with source.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return path.with_name(f"{path.stem}-{digest[:16]}{path.suffix}")


def _usual(path: Path) -> Path:
    """The path for which a stand-in stands; any other as it is."""
    return path.with_name(re.sub("-[0-9a-f]{16}$", "", path.stem) + path.suffix)


def _data(model: Path) -> frozenset[Path]:
    """The data files of a model, without links; none if there is no model."""
    with suppress(OSError, ModelError, ValueError):
        status = model.stat()
        return _data_then(model, status.st_ino, status.st_mtime_ns, status.st_size)
    return frozenset()


@lru_cache(1 << 12)
def _data_then(model: Path, *_: int) -> frozenset[Path]:
    return frozenset(file.resolve() for file in _files(read_file(model).external, model).values())


def _is_shared(path: Path) -> bool:
    """Whether a model refers to a data file: an `.onnx` in a folder above."""
    place = path.resolve()
    for folder in place.parents:
        with suppress(OSError):
            models = [each for each in folder.iterdir() if each.suffix.lower() == ".onnx"]
            if any(place in _data(each) for each in models):
                return True
    return False


def _settle(places: Mapping[Path, Path], chunks: Content, target: Path) -> bool:
    """Has stand-ins replace older data, unless another model refers to that; returns whether so.

    The model is written once more, and refers to what is at the usual places then.
    """
    stand_ins = {path: usual for path, usual in places.items() if path != usual}
    if not stand_ins or any(map(_is_shared, stand_ins.values())):
        return False
    for path, usual in stand_ins.items():
        place = usual.resolve()
        temporary = place.with_name(_temporary_name(place.name))
        try:  # a copy: onnx refuses data of which there are several links
            _fill(temporary, _copied(path, None), _mode(place))
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
    write_whole({target: chunks})
    return True


def _sweep(usual: Iterable[Path], target: Path) -> None:
    """Removes the stand-ins of data files to which no model refers, as one that was killed left."""
    for path in usual:
        for each in path.parent.iterdir():
            is_named_so = each.name != path.name and _usual(each).name == path.name
            if not is_named_so or each.resolve() in _data(target) or _is_shared(each):
                continue
            if each == _stand_in(path, each):  # else it is somebody's own
                each.unlink()


def _copied(source: Path, progress: Progress | None) -> Iterator[bytes]:
    """Yields the content of a data file."""
    done = 0
    try:
        with source.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # The bound ends the loop where the file grows meanwhile.
            while done <= size and (block := file.read(_BLOCK)):
                yield block
                done += len(block)
                if progress is not None:
                    progress(f"copying {source.name} (MiB)", done // _MEBIBYTE, size // _MEBIBYTE)
    except OSError as error:
        let_through(error)
        raise OutputError(f"{source} cannot be copied: {error.strerror}") from None
    if done != size:
        raise OutputError(f"{source} changed while it was copied; try again")


def _are_equal(path: Path, source: Path) -> bool:
    """Whether two files have the same content."""
    import filecmp

    filecmp.clear_cache()  # it goes by sizes and times
    return path.samefile(source) or filecmp.cmp(path, source, shallow=False)


def write_whole(files: Mapping[Path, Content]) -> None:
    """Writes files, each through a temporary one; the last appears when all others are there.

    Only the last file, which may refer to the others, replaces an older one. Missing folders below
    the folder of the last file are made. A new file gets the usual mode, a replaced one keeps its
    mode. A symbolic link stays, and its target is written.

    Args:
        files: The content of each file, by its path.

    Raises:
        OutputError: A file cannot be written; nothing is left behind and old files are untouched.
    """
    *_, last = files
    temporaries: list[Path] = []
    made: list[Path] = []  # what is taken back, unless the last file is there
    path, filled = last, 0
    try:
        for path, content in files.items():
            target = path.resolve()
            mode = _mode(target)
            _make_folders(path.parent, last.parent, made)
            # Noted before it is made, so that an interrupt in between does not leave it behind.
            temporaries.append(target.with_name(_temporary_name(target.name)))
            _fill(temporaries[-1], content, mode)
            filled += 1
            if path is not last:
                _place(temporaries[-1], target, made)
        temporaries[-1].replace(target)
    except BaseException as error:
        is_whole = filled == len(files) and not temporaries[-1].exists()
        for each in [*temporaries, *([] if is_whole else reversed(made))]:
            with suppress(OSError):
                each.rmdir() if each.is_dir() else each.unlink()
        let_through(error)
        if isinstance(error, OSError | RuntimeError):  # links in a circle, before Python 3.13
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"{path} cannot be written: {reason}") from None
        raise


def _fill(temporary: Path, chunks: Content, mode: int | None) -> None:
    """Writes a temporary file to the disk."""
    with temporary.open("xb") as file:
        file.writelines(chunks)
        file.flush()
        if mode is not None:
            temporary.chmod(mode)
        os.fsync(file.fileno())


def _place(temporary: Path, target: Path, made: list[Path]) -> None:
    """Moves a file to where there was none; it may have appeared meanwhile."""
    if not target.exists():
        made.append(target)
        temporary.replace(target)
    elif _are_equal(target, temporary):
        temporary.unlink()
    else:
        raise OutputError(
            f"{target} is there by now, and differs from what goes there; write to another folder"
        )


def _temporary_name(name: str) -> str:
    known = name if len(os.fsencode(name)) <= _LONGEST else "onnxpad"
    return f".{known}.{os.urandom(8).hex()}.part"


def _make_folders(wanted: Path, folder: Path, made: list[Path]) -> None:
    """Makes the missing folders from `folder` down to `wanted`, and adds them to `made`."""
    for part in wanted.relative_to(folder).parts:
        folder /= part
        if not folder.is_dir():  # `sub/..` is there once `sub` is
            with suppress(FileExistsError):  # another process has made it meanwhile
                folder.mkdir()
                made.append(folder)


def _mode(target: Path) -> int | None:
    """The permissions of the file to replace; None where there is no such file."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(0, "it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise OSError(0, "it is not a regular file; name a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(0, "it is write-protected; name another file")
    return stat.S_IMODE(mode)
