"""The record of runs in an SQLite file: what each model gave last, and all that decided it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from glob import glob
from json import dumps, loads
from pathlib import Path
from stat import S_IFMT, S_ISREG

from msgspec import MsgspecError, convert, to_builtins
from msgspec.structs import replace

from onnxpad import __version__
from onnxpad.errors import ModelError, OutputError
from onnxpad.report import FileOutcome

_FOUND = (Path(each).name for at in sys.path for each in glob(f"{at}/onnx*.dist-info"))  # noqa: PTH207
_VERSIONS = [__version__, *sorted({*_FOUND})]  # of all whose names begin with onnx

Pair = tuple[Path, Path | None]  # a model, and the file that is written or compared with it


class Ledger:
    """The outcomes in a file: each is there whole or not at all, whenever the process is killed."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        asked: object,
        own: Mapping[Path, object],
        decide: Iterable[Path],
        reads: int,
    ) -> None:
        """Opens or makes the file for what is asked, of all and of each model, by its `repr`.

        Raises:
            OutputError: It cannot be used.
        """
        self._asked, self._own, self._reads, files = repr(asked), own, reads, sorted(decide)
        self._shared = _VERSIONS, files, digest(files)
        try:
            self._db = sqlite3.connect(path, 60, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("BEGIN IMMEDIATE")  # fails where nothing can be written
            self._db.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE}")
            self._db.execute(f"{_ALL} LIMIT 1").fetchall()
            self._db.commit()
        except sqlite3.Error as error:
            raise OutputError(f"{path}: cannot keep outcomes ({error}); name another") from None

    def known(self, pairs: Iterable[Pair]) -> dict[Path, FileOutcome]:
        """The outcomes of models that are as they were, as are the files that were written."""
        wanted, found = {self._place(pair): pair for pair in pairs}, dict[Path, FileOutcome]()
        with suppress(sqlite3.Error):  # what is damaged is done again
            for place, key, files, data in self._db.execute(_ALL):
                with suppress(MsgspecError, ValueError, TypeError, LookupError):
                    pair, kept = wanted[place], convert(loads(data), FileOutcome)
                    if (key, files) == (self.key(pair), digest(kept.written)):
                        found[pair[0]] = replace(kept, resumed=True)
        return found

    def keep(self, pair: Pair, key: str, outcome: FileOutcome) -> None:
        """Keeps an outcome, but not of a crash or the like, which the next run need not have."""
        if outcome.text or outcome.outcome in {"unreadable", "refused", "no partner"}:
            data = dumps(to_builtins(outcome))
            with suppress(sqlite3.Error):  # as of a full disk: it is done again
                self._db.execute(_KEEP, (self._place(pair), key, digest(outcome.written), data))

    def key(self, pair: Pair) -> str:
        """A digest of all that decides the outcome of a model besides what is asked."""
        read = [file for path in pair[: self._reads] if path for file in _files(path)]
        whole = f"{self._shared} {self._own.get(pair[0])!r} {digest(read)}"
        return hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()

    def _place(self, pair: Pair) -> str:
        """What an outcome replaces: that of the same model, second path and options."""
        whole = f"{self._asked}\0{pair[0]}\0{pair[1]}"
        return hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()


_TABLE = "outcomes (place PRIMARY KEY, key, files, data)"
_ALL = "SELECT place, key, files, data FROM outcomes"
_KEEP = "INSERT OR REPLACE INTO outcomes (place, key, files, data) VALUES (?, ?, ?, ?)"


def digest(paths: Iterable[str | Path]) -> str:
    """The digest of the content of files, or of why they have none."""
    whole = hashlib.sha256()
    for path in paths:
        try:
            about = os.stat(path)  # noqa: PTH116  # a third of the time for many
            whole.update(b"%d %d " % (S_IFMT(about.st_mode), about.st_size))
            if S_ISREG(about.st_mode):  # others, as a pipe, may never end
                with open(path, "rb", 0) as file:  # noqa: PTH123
                    while part := file.read(1 << 16):  # `file_digest` clears 256 KB a file
                        whole.update(part)
        except (OSError, ValueError) as error:
            whole.update(type(error).__name__.encode())
    return whole.hexdigest()


def _files(model: Path) -> list[Path]:
    """A file, and those that have its external data if it is a model."""
    found = {model}
    with suppress(OSError, ValueError, ModelError):
        if model.is_file() and b"location" in (data := model.read_bytes()):
            from onnxpad.file.external import reference  # the import of onnx takes long
            from onnxpad.file.skeleton import read_bytes

            external = read_bytes(memoryview(data), "").external
            found |= {model.parent / reference(each).location for each in external}
    return sorted(found)
