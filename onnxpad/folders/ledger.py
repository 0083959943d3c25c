"""The record of runs in an SQLite file: what each model gave last, and all that decided it."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import suppress
from glob import glob
from json import dumps, loads
from pathlib import Path
from stat import S_IFMT, S_IFREG

from msgspec import MsgspecError, convert, to_builtins
from msgspec.structs import replace

from onnxpad import __version__
from onnxpad.errors import ModelError, OutputError
from onnxpad.report import FileOutcome

_FOUND = (Path(each).name for at in sys.path for each in glob(f"{at}/onnx*.dist-info"))  # noqa: PTH207
_VERSIONS = [__version__, *sorted({*_FOUND})]
"""The versions of onnxpad and of all packages here whose names begin with onnx."""
_LOCATION = re.compile(rb"\x0a\x08location(?:\x12([\x80-\xff]?[\x00-\x7f]))?")
"""How the entry of a tensor that says where its data lies begins, with the length of the path."""

Pair = tuple[Path, Path | None]
"""A model, and the file that is written or compared with it."""


class Ledger:
    """The outcomes in a file: each is there whole or not at all, whenever the process is killed."""

    def __init__(self, path: Path, asked: object, decide: Iterable[Path], reads: int) -> None:
        """Opens the file, or makes it, for what is asked of models, by its `repr`.

        Outcomes also depend on the files that `decide`, and on the first files of a pair or both.
        Raises OutputError where outcomes cannot be kept.
        """
        self._asked = hashlib.sha256(repr(asked).encode())
        self._reads, files = reads, sorted(decide)
        self._shared = hashlib.sha256(repr((_VERSIONS, files, digest(files))).encode())
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
            for place, key, files, data, text in self._db.execute(_ALL):
                if (pair := wanted.get(place)) and key == self.key(pair):
                    with suppress(MsgspecError, ValueError, TypeError):
                        kept = convert(loads(data), FileOutcome)
                        if files == digest(kept.written):
                            found[pair[0]] = replace(kept, text=text, resumed=True)
        return found

    def keep(self, pair: Pair, key: str, outcome: FileOutcome) -> None:
        """Keeps an outcome, but not of a crash or the like, which the next run need not have."""
        if outcome.text or outcome.outcome in {"model", "usage"}:
            data, files = dumps(to_builtins(replace(outcome, text=""))), digest(outcome.written)
            row = self._place(pair), key, files, data, outcome.text
            with suppress(sqlite3.Error):  # as of a full disk: it is done again
                self._db.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?)", row)

    def key(self, pair: Pair) -> str:
        """A digest of all that decides the outcome of a model besides what is asked."""
        whole = self._shared.copy()
        for path in filter(None, pair[: self._reads]):
            data, reason = _content(path)
            whole.update(b"%d bytes %b " % (len(data), reason))
            whole.update(data)
            for location in _locations(data):
                whole.update(digest([path.parent / location]).encode())
        return whole.hexdigest()

    def _place(self, pair: Pair) -> str:
        """What an outcome replaces: that of the same model, second path and options."""
        whole = self._asked.copy()
        whole.update(f"{pair[0]}\0{pair[1]}".encode(errors="surrogateescape"))
        return whole.hexdigest()


_TABLE = "outcomes (place PRIMARY KEY, key, files, data, text)"
_ALL = "SELECT place, key, files, data, text FROM outcomes"


def digest(paths: Iterable[str | Path]) -> str:
    """The digest of the content of files, or of why they have none."""
    whole = hashlib.sha256()
    for path in paths:
        try:
            kind = S_IFMT(os.stat(path).st_mode)  # noqa: PTH116  # a third of the time for many
            whole.update(b"%d" % kind)
            if kind == S_IFREG:  # others, as a pipe, may never end
                with open(path, "rb", 0) as file:  # noqa: PTH123
                    while block := file.read(1 << 20):
                        whole.update(block)
                    whole.update(b"%d bytes" % file.tell())
        except (OSError, ValueError) as error:
            whole.update(type(error).__name__.encode())
    return whole.hexdigest()


def _content(path: Path) -> tuple[bytes, bytes]:
    """The content of a file, and if it has none, why."""
    try:
        kind = S_IFMT(os.stat(path).st_mode)  # noqa: PTH116  # a third of the time for many
        if kind != S_IFREG:  # as a pipe, which may never end
            return b"", b"%d" % kind
        with open(path, "rb", 0) as file:  # noqa: PTH123
            return file.read(), b""
    except (OSError, ValueError) as error:
        return b"", type(error).__name__.encode()


def _locations(data: bytes) -> Iterable[str]:
    """Where a model has its external data; other names may be among these.

    They are found in the bytes, since onnx takes longer to import than a thousand small models to
    read.
    """
    if b"\x08location" not in data:
        return ()
    named, found = set[str](), [*_LOCATION.finditer(data)]
    if all(each[1] for each in found):
        for each in found:  # the length is a number in groups of 7 bits, the lowest first
            length = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(each[1]))
            named.add(os.fsdecode(data[each.end() : each.end() + length]))
        return sorted(named)
    from onnxpad.file.external import reference  # the fields of an entry are in another order
    from onnxpad.file.skeleton import read_bytes

    with suppress(ModelError):
        external = read_bytes(memoryview(data), "").external
        named = {str(reference(each).location) for each in external}
    return sorted(named)
