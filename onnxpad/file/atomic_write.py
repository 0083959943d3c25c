"""Atomic writes: each file is there whole or not at all.

Until it is whole, a file is called `.NAME.RANDOM.part` and lies in the folder of its target. An
error or an interrupt removes it. Only a process that is killed leaves it behind; it may be deleted.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from onnxpad.errors import OutputError, let_through

Content: TypeAlias = "Iterable[bytes | memoryview] | Path"
"""The content of a file to write: chunks, or an existing file to hard-link to."""

# File systems take names of 255 bytes.
_LONGEST: Final = 200


def write_whole(files: Mapping[Path, Content]) -> None:
    """Writes files through temporary ones; none appears before all of them are written.

    They appear in the order given, so a file that refers to others must be the last. Missing
    folders below the folder of the last file are made. A new file gets the usual mode, a replaced
    one keeps its mode. A symbolic link stays, and its target is written.

    Args:
        files: The content of each file, by its path.

    Raises:
        OutputError: A file cannot be written; nothing is left behind and old files are untouched.
    """
    waiting: dict[Path, Path] = {}
    made: list[Path] = []
    path = folder = Path()
    try:
        *_, last = files
        folder = last.parent
        for path, content in files.items():
            target = _resolved(path)
            mode = _mode(target)
            _make_folders(path.parent, folder, made)
            temporary = target.with_name(_temporary_name(target.name))
            # Noted before it is made, so that an interrupt in between does not leave it behind.
            waiting[temporary] = target
            if isinstance(content, Path):
                _link(temporary, content)
            else:
                _fill(temporary, content)
                if mode is not None:
                    temporary.chmod(mode)
        for temporary, target in list(waiting.items()):
            temporary.replace(target)
            del waiting[temporary]
    except BaseException as error:
        for temporary in waiting:
            with suppress(OSError):
                temporary.unlink()
        for parent in reversed(made):
            with suppress(OSError):
                parent.rmdir()
        let_through(error)
        if isinstance(error, OSError):
            raise _refusal(path, error) from None
        raise


def _link(temporary: Path, source: Path) -> None:
    try:
        temporary.hardlink_to(source)
    except OSError as error:
        raise OutputError(
            f"{source} cannot be linked into {temporary.parent}: {error.strerror}; copy it instead"
        ) from None


def _fill(temporary: Path, chunks: Iterable[bytes | memoryview]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(descriptor)


def _resolved(path: Path) -> Path:
    """The file that a path leads to."""
    try:
        return path.resolve()
    except RuntimeError as error:  # links in a circle, before Python 3.13
        raise OSError(0, str(error)) from None


def _temporary_name(name: str) -> str:
    known = name if len(os.fsencode(name)) <= _LONGEST else "onnxpad"
    return f".{known}.{os.urandom(8).hex()}.part"


def _make_folders(wanted: Path, folder: Path, made: list[Path]) -> None:
    """Makes the missing folders from `folder` down to `wanted`, and adds them to `made`."""
    missing = []
    while wanted != folder and wanted.is_relative_to(folder) and not wanted.is_dir():
        missing.append(wanted)
        wanted = wanted.parent
    for parent in reversed(missing):
        if not parent.is_dir():  # `sub/..` is there once `sub` is
            parent.mkdir()
            made.append(parent)


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


def _refusal(path: Path, error: OSError) -> OutputError:
    if isinstance(error, FileNotFoundError):
        if path.parent.is_dir():  # as in /proc, or through a dangling link
            return OutputError(f"{path} cannot be written: no file can be made there")
        return OutputError(f"{path} cannot be written: the folder {path.parent} does not exist")
    return OutputError(f"{path} cannot be written: {error.strerror or error}")
