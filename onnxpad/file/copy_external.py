"""Saves a model with its external data: shared, copied, or embedded in the model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import onnx

from onnxpad.arguments import Progress
from onnxpad.errors import OutputError, UsageError, let_through
from onnxpad.file.atomic_write import Content
from onnxpad.file.external_data import external_tensors, reference
from onnxpad.file.skeleton import GRAPH_PARTS, MODEL_PARTS, Chunk, Record, Skeleton, read_bytes

ExternalData: TypeAlias = Literal["copy", "inline"]
_HOW: Final = ("copy", "inline")
_BLOCK: Final = 1 << 22
_MEBIBYTE: Final = 1 << 20


def contents(
    skeleton: Skeleton,
    source: Path | None,
    replaced: Mapping[Record, Sequence[Chunk]],
    appended: Sequence[Chunk],
    target: Path,
    how: ExternalData,
    progress: Progress | None,
) -> dict[Path, Content]:
    """The files to write so that `target` is the edited model and finds its external data.

    Args:
        skeleton: The model.
        source: Its file, or a path beside its data; None where its data cannot be found.
        replaced: As for `Skeleton.splice`.
        appended: As for `Skeleton.splice`.
        target: The file to write; the last of the result.
        how: Whether data that `target` would not find is copied or embedded.
        progress: Called with the name of a step, how much of it is done, and how much there is.

    Raises:
        UsageError: `how` is neither.
        OutputError: Another file is in the way, or runtimes would not find the data.
        ModelError: Data cannot be read.
    """
    if how not in _HOW:
        raise UsageError(f"unknown external_data {how!r}; choose one of {', '.join(_HOW)}")
    chunks: Iterator[Chunk] = skeleton.splice(replaced, appended)
    tensors = _survivors(skeleton, replaced)
    if source is None:
        if tensors and how != "copy":
            raise OutputError(
                f"{target} cannot {how} external data of a model that came without a path; "
                "load the model by its path"
            )
        return {target: chunks}
    if target.exists() and any(map(target.samefile, _files(skeleton.external, source).values())):
        raise OutputError(f"{target} holds the model's external data; name another file")
    if tensors and how == "inline":
        from onnxpad.file.embed_external import inlined

        edited = read_bytes(memoryview(b"".join(chunks)), str(target))
        return {target: inlined(edited, source.parent)}
    if not tensors or _shares_data(source, target, tensors):
        return {target: chunks}
    files = _files(tensors, source)
    moved = {target.parent / location: file for location, file in files.items()}
    return {**_moved(moved, target, progress), target: chunks}


def behind_links(source: Path, tensors: Iterable[onnx.TensorProto]) -> bool:
    """Whether external data files are symbolic links out of the model's folder.

    Download caches such as Hugging Face's look like that. Runtimes follow such links only where
    the model itself is one.
    """
    shown = source.parent.resolve()
    files = [file.resolve() for file in _files(tensors, source).values()]
    return not all(file.is_relative_to(shown) for file in files)


def follow_links(model: onnx.ModelProto, source: Path) -> Path:
    """Changes a model to refer to the files that its links lead to.

    Returns:
        The folder to which the new references are relative.
    """
    tensors = external_tensors(model)
    files = {name: file.resolve() for name, file in _files(tensors, source).items()}
    folder = Path(os.path.commonpath([file.parent for file in files.values()]))
    for tensor in tensors:
        location = str(reference(tensor).location)
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = files[location].relative_to(folder).as_posix()
    return folder


def _survivors(
    skeleton: Skeleton, replaced: Mapping[Record, Sequence[Chunk]]
) -> tuple[onnx.TensorProto, ...]:
    """The external tensors that a model still has when some records of its graph are replaced."""
    if not skeleton.external:
        return ()
    model = onnx.ModelProto()
    for name in MODEL_PARTS.values():
        getattr(model, name).extend(getattr(skeleton.light, name))
    for field, name in GRAPH_PARTS.items():
        parts = zip(getattr(skeleton.light.graph, name), skeleton.fields[field], strict=True)
        kept = (part for part, record in parts if replaced.get(record, True))
        getattr(model.graph, name).extend(kept)
    return external_tensors(model)


def _files(tensors: Iterable[onnx.TensorProto], source: Path) -> dict[str, Path]:
    """The data files of a model, by their path relative to the model's folder."""
    locations = dict.fromkeys(str(reference(tensor).location) for tensor in tensors)
    return {location: source.parent / location for location in locations}


def _shares_data(source: Path, target: Path, tensors: Iterable[onnx.TensorProto]) -> bool:
    """Whether `target` finds the data where the original does.

    Raises:
        OutputError: It is in the same folder, but runtimes would not follow the links to the data.
    """
    if target.exists() and source.exists() and target.samefile(source):
        return True
    if not target.parent.is_dir() or not target.parent.samefile(source.parent):
        return False
    if behind_links(source, tensors):
        raise OutputError(
            f"{target} would not find its external data: beside it are links out of the folder, "
            "which runtimes do not follow; write to another folder"
        )
    return True


def _moved(
    files: Mapping[Path, Path], target: Path, progress: Progress | None
) -> dict[Path, Content]:
    """The data files to write for `target`: those that are not there yet.

    Args:
        files: Where each data file is now, by where it has to be.
        target: The model.
        progress: Called with the name of a step, how much of it is done, and how much there is.

    Raises:
        OutputError: A different file is already in its place, or a link leads out of the folder.
    """
    written: dict[Path, Content] = {}
    sources: dict[Path, Path] = {}
    for path, source in files.items():
        place = path.resolve()
        if place == target.resolve():
            raise OutputError(
                f"{target} is where the model's external data goes; name another file"
            )
        if not place.is_relative_to(target.parent.resolve()):
            raise OutputError(
                f"{path} leads out of the folder of {target.name}, where runtimes do not follow; "
                "write to another folder, or remove that link"
            )
        if sources.setdefault(place, source.resolve()) != source.resolve():
            raise OutputError(
                f"{place} would be two different files of the model's external data, since "
                "symbolic links lead to them; put the data inside the model (inline)"
            )
        if place.exists() and not _are_equal(place, source):
            raise OutputError(
                f"{place} differs from the model's external data of that name; write to another "
                "folder, or remove that file"
            )
        # Where it is there but its path has a missing folder, as in `sub/..`, writing makes that.
        if not path.exists():
            written[path] = _copied(source, progress)
    return written


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
