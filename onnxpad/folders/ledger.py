"""The record of runs in an SQLite file: what each model has given, by all that decides it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from glob import glob
from pathlib import Path

from msgspec import json

from onnxpad import __version__
from onnxpad.errors import ModelError, OutputError
from onnxpad.report import FileOutcome


class Ledger:
    """The outcomes in a file: each is there whole or not at all, whenever the process is killed."""

    def __init__(self, path: Path) -> None:
        """Opens the file, or makes it; raises OutputError where that cannot be."""
        try:
            self._base = sqlite3.connect(path, 60, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA synchronous = NORMAL")
            self._base.execute("CREATE TABLE IF NOT EXISTS outcomes (key PRIMARY KEY, data, files)")
        except sqlite3.Error as error:
            raise OutputError(f"{path}: cannot keep outcomes ({error}); name another") from None

    def known(self, key: str) -> FileOutcome | None:
        """The outcome by its key, if the files that it wrote are still as they were."""
        rows = self._base.execute("SELECT data, files FROM outcomes WHERE key = ?", (key,))
        for data, files in rows.fetchall():
            outcome = json.decode(data, type=FileOutcome)
            return outcome if files == digest(outcome.written) else None
        return None

    def keep(self, key: str, outcome: FileOutcome) -> None:
        """Keeps an outcome, but not of a crash or the like, which the next run need not have."""
        if outcome.text or outcome.outcome in {"model", "usage"}:
            row = key, json.encode(outcome), digest(outcome.written)
            self._base.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", row)


def key_of(asked: object, reads: Iterable[Path]) -> str:
    """The key of an outcome: a digest of all that decides it.

    Args:
        asked: The call with its options, of which `repr` says all.
        reads: The models and other files. External data and configurations are found from there.
    """
    files = [each for path in reads for each in (path, *_external(path))]
    for path in (*files, Path("here")):
        folder = path.parent.absolute()
        above = map(str, (folder, *folder.parents))
        names = (f"{up}/{name}" for up in above for name in ("onnxpad.toml", "pyproject.toml"))
        files += [Path(name) for name in names if os.path.exists(name)]  # noqa: PTH110  # 1 us
    return digest(files, repr((asked, _versions())))


def digest(paths: Iterable[str | Path], text: str = "") -> str:
    """The digest of the content of files, or of why they cannot be read, and of a text."""
    whole = hashlib.sha256(text.encode())
    for path in paths:
        try:
            with open(path, "rb") as file:  # noqa: PTH123  # a third of the time for many
                whole.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            whole.update(type(error).__name__.encode())
    return whole.hexdigest()


def _external(model: Path) -> Iterator[Path]:
    """The files with the external data of a model; none if it cannot be read."""
    with suppress(OSError, ModelError):
        data = model.read_bytes()
        if b"location" in data:  # else onnx is not needed
            from onnxpad.file.external import reference
            from onnxpad.file.skeleton import read_bytes

            external = read_bytes(memoryview(data), "").external
            yield from sorted({model.parent / reference(each).location for each in external})


@cache
def _versions() -> list[str]:
    """The versions of onnxpad and of all packages here whose names begin with onnx."""
    found = (glob(f"{folder}/onnx*.dist-info") for folder in sys.path)  # noqa: PTH207
    return [__version__, *sorted({Path(each).name for names in found for each in names})]
