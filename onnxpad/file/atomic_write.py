"""Atomic writes: each file is there whole or not at all.

Until it is whole, a file is called `.NAME.RANDOM.part` and lies in the folder of its target. An
error or an interrupt removes it. A process that is killed leaves at most one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from onnxpad.errors import OutputError, let_through

Content: TypeAlias = Iterable[bytes | memoryview]
"""The content of a file to write, in chunks."""

_Placed: TypeAlias = tuple[Path, os.stat_result]

# File systems take names of 255 bytes.
_LONGEST: Final = 200


def write_whole(files: Mapping[Path, Content]) -> None:
    """Writes files, each through a temporary one; the last appears when all others are there.

    Only the last file, which may refer to the others, replaces an older
    one. Missing folders below the folder of the last file are made. A new file gets the usual mode,
    a replaced one keeps its mode. A symbolic link stays, and its target is written.

    Args:
        files: The content of each file, by its path.

    Raises:
        OutputError: A file cannot be written; nothing is left behind and old files are untouched.
    """
    *_, last = files
    temporaries: list[Path] = []
    placed: list[_Placed] = []
    made: list[Path] = []
    whole: _Placed | None = None
    path = last
    try:
        for path, content in files.items():
            target = _resolved(path)
            mode = _mode(target)
            _make_folders(path.parent, last.parent, made)
            descriptor = _create(target, temporaries)
            status = _fill(descriptor, content, temporaries[-1], mode)
            if path is not last:
                placed.append((target, status))
                _place(temporaries[-1], target)
        whole = target, status
        temporaries[-1].replace(target)
    except BaseException as error:
        _take_back(temporaries, placed, made, whole)
        let_through(error)
        if isinstance(error, OSError):
            raise _refusal(path, error) from None
        raise


def _create(target: Path, temporaries: list[Path]) -> int:
    """Makes an empty temporary file, and adds its path to `temporaries`; returns a descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # Noted before it is made, so that an interrupt in between does not leave it behind.
    temporaries.append(target.with_name(_temporary_name(target.name)))
    return os.open(temporaries[-1], flags, 0o666)


def _fill(
    descriptor: int, chunks: Iterable[bytes | memoryview], temporary: Path, mode: int | None
) -> os.stat_result:
    """Writes a temporary file to the disk; returns what tells it from all others."""
    with os.fdopen(descriptor, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        if mode is not None:
            temporary.chmod(mode)
        os.fsync(descriptor)
        return os.fstat(descriptor)


def _place(temporary: Path, target: Path) -> None:
    """Moves a file to where there is none, or only one of the same content."""
    try:
        target.hardlink_to(temporary)
    except OSError:  # it has appeared meanwhile, or the file system has no hard links
        import filecmp

        if target.exists() and not filecmp.cmp(temporary, target, shallow=False):
            raise OutputError(
                f"{target} has appeared meanwhile, and differs from what goes there; write to "
                "another folder"
            ) from None
        temporary.replace(target)
    else:
        temporary.unlink()


def _take_back(
    temporaries: Iterable[Path],
    placed: Iterable[_Placed],
    made: Iterable[Path],
    whole: _Placed | None,
) -> None:
    """Removes what a write has made, unless the last of its files, `whole`, is there already."""
    for temporary in temporaries:
        with suppress(OSError):
            temporary.unlink()
    if whole is not None and _is(*whole):  # it was interrupted when all was done
        return
    for each in placed:
        with suppress(OSError):
            if _is(*each):
                each[0].unlink()
    for parent in reversed([*made]):
        with suppress(OSError):
            parent.rmdir()


def _is(path: Path, status: os.stat_result) -> bool:
    """Whether a path leads to one file and no other."""
    try:
        return os.path.samestat(path.stat(), status)
    except FileNotFoundError:
        return False


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
            with suppress(FileExistsError):  # another process has made it meanwhile
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
