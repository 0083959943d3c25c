"""The record of runs in an SQLite file: what each model has given, by all that decides it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import glob
from json import dumps, loads
from pathlib import Path
from stat import S_IFMT, S_IFREG

from msgspec import MsgspecError, convert
from msgspec.structs import asdict

from onnxpad import __version__
from onnxpad.errors import ModelError, OutputError
from onnxpad.report import FileOutcome

_FOUND = (Path(each).name for at in sys.path for each in glob(f"{at}/onnx*.dist-info"))  # noqa: PTH207
_VERSIONS = [__version__, *sorted({*_FOUND})]
"""The versions of onnxpad and of all packages here whose names begin with onnx."""


class Ledger:
    """The outcomes in a file: each is there whole or not at all, whenever the process is killed."""

    def __init__(self, path: Path) -> None:
        """Opens the file, or makes it; raises OutputError where that cannot be."""
        try:
            self._db = sqlite3.connect(path, 60, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("BEGIN IMMEDIATE")  # fails where nothing can be written
            self._db.execute("CREATE TABLE IF NOT EXISTS outcomes (key PRIMARY KEY, data, files)")
            self._db.execute("SELECT key, data, files FROM outcomes LIMIT 1").fetchall()
            self._db.commit()
        except sqlite3.Error as error:
            raise OutputError(f"{path}: cannot keep outcomes ({error}); name another") from None

    def known(self, key: str) -> FileOutcome | None:
        """The outcome by its key, if the files that it wrote are still as they were."""
        asked = "SELECT data, files FROM outcomes WHERE key = ?"
        with suppress(sqlite3.Error, MsgspecError, ValueError, TypeError):  # damaged, or not there
            data, files = self._db.execute(asked, (key,)).fetchone()
            found = convert(loads(data), FileOutcome)
            return found if files == digest(found.written) else None
        return None

    def keep(self, key: str, outcome: FileOutcome) -> None:
        """Keeps an outcome, but not of a crash or the like, which the next run need not have."""
        if outcome.text or outcome.outcome in {"model", "usage"}:
            row = key, dumps(asdict(outcome)), digest(outcome.written)
            with suppress(sqlite3.Error):  # as of a full disk: it is done again
                self._db.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", row)


def key_of(asked: object, reads: Iterable[Path]) -> str:
    """The key of an outcome: a digest of what is asked, by its `repr`, and of all that is read."""
    files = [each for path in reads for each in (path, *_external(path))]
    return digest(files, repr((asked, _VERSIONS)))


def digest(paths: Iterable[str | Path], text: str = "") -> str:
    """The digest of the content of files, or of why they have none, and of a text."""
    whole = hashlib.sha256(text.encode())
    for path in paths:
        try:
            kind = S_IFMT(os.stat(path).st_mode)  # noqa: PTH116  # a third of the time for many
            whole.update(b"%d" % kind)
            if kind == S_IFREG:  # others, as a pipe, may never end
                with open(path, "rb") as file:  # noqa: PTH123
                    while block := file.read(1 << 20):
                        whole.update(block)
                    whole.update(b"%d bytes" % file.tell())
        except (OSError, ValueError) as error:
            whole.update(type(error).__name__.encode())
    return whole.hexdigest()


def _external(model: Path) -> Iterator[Path]:
    """The files with the external data of a model; none if it cannot be read."""
    with suppress(OSError, ModelError):
        data = model.read_bytes() if model.is_file() else b""
        if b"location" in data:  # else onnx is not needed
            from onnxpad.file.external import reference
            from onnxpad.file.skeleton import read_bytes

            named = {reference(each).location for each in read_bytes(memoryview(data), "").external}
            yield from (model.parent / each for each in sorted(named))
