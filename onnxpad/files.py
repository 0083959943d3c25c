"""Writing a file so that it is there whole or not at all. Imports errors."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from onnxpad.errors import OutputError


def write_whole(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Writes a file through a temporary one in its folder.

    A new file gets the usual mode, one that is replaced keeps its own. Through a symbolic link
    its target is written.

    Raises:
        OutputError: It cannot be written; nothing is left behind and an old file is untouched.
    """
    try:
        target = path.resolve()
        mode = _mode(target)
        temporary = target.with_name(f".onnxpad-{os.urandom(8).hex()}.tmp")
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
        )
    except (OSError, RuntimeError) as error:
        raise _refusal(path, error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(descriptor)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _refusal(path, error) from None
        raise


def _mode(target: Path) -> int | None:
    """The permissions of the file to replace, or None where there is none."""
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


def _refusal(path: Path, error: Exception) -> OutputError:
    if isinstance(error, FileNotFoundError):
        return OutputError(f"{path} cannot be written: the folder {path.parent} does not exist")
    reason = (isinstance(error, OSError) and error.strerror) or error
    return OutputError(f"{path} cannot be written: {reason}")
