"""The baseline of `check`: findings that are known, so that only new ones count.

A JSON file by the paths of models, as seen from its folder. It knows a finding by its fingerprint,
so by no name: see `Finding.fingerprint`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from onnxpad.errors import OutputError, UsageError
from onnxpad.file.toml_file import read_text
from onnxpad.finding import Finding, Severity
from onnxpad.messages import meant
from onnxpad.options import Options
from onnxpad.passes import REPORTS, TARGETS
from onnxpad.pipeline.ignores import Kind, claimed
from onnxpad.pipeline.registry import every_code
from onnxpad.records import NamedTuple
from onnxpad.report import BaselineUse, FileReport

VERSION: Final = 1
LARGEST: Final = 1 << 28
"""Bytes of a baseline that is read."""

_ABOUT: Final = (
    "findings of onnxpad check that are known; --baseline FILE --write-baseline writes it"
)


class Entry(NamedTuple):
    """Like findings of one model.

    Attributes:
        kind: What is known of them; a finding of a greater severity is new.
        against: The target or the convention that they are about; else empty.
    """

    kind: Kind
    against: str = ""


Known = Mapping[Entry, tuple[int, str]]
"""The findings of one model: how many are alike, and a note for those who read the file."""


class Baseline:
    """A baseline that models are compared with, one after the other.

    Attributes:
        path: The file.
        writes: Whether what is found becomes known.
    """

    def __init__(
        self,
        path: Path | None,
        options: Options,
        convention: str | None,
        *,
        writes: bool,
        configured: Mapping[Path, Options] = MappingProxyType({}),
    ) -> None:
        """Reads the file; one that is to be written need not be there.

        Args:
            path: The file.
            options: The options of the check.
            convention: The framework whose padding is asked for.
            writes: Whether what is found becomes known.
            configured: The options of models for which a configuration has others.

        Raises:
            UsageError: None is named, it cannot be read, or is no baseline of this version.
            OutputError: It is to be written, and cannot be.
        """
        if path is None:
            raise UsageError("--write-baseline needs the file to write: --baseline FILE")
        self.path = path
        self.writes = writes
        self._options = options
        self._configured = {self._key(model): each for model, each in configured.items()}
        self._convention = convention or ""
        self._codes = {*every_code()}
        if writes:
            _require_writable(path)
        self._read()
        self._found: dict[str, Known] = {}
        self._gone = 0
        self._added = 0

    def compared(self, file: FileReport) -> FileReport:
        """The report of a file, with what the baseline knows set apart.

        Where the baseline is written, all of it is known from now on.
        """
        if file.error:
            return file
        key = self._key(Path(file.path))
        known = self._models.get(key, {})
        left = [count for count, _ in known.values()]
        places = {*claimed(file.findings, [each.kind for each in known], left)}
        found = [*enumerate(file.findings)]
        self._found[key] = _entries(file.findings)
        self._added += len(found) - len(places)
        gone = zip(known, left, strict=True)
        self._gone += sum(count for entry, count in gone if self._judges(key, entry))
        if self.writes:
            places = {*range(len(found))}
        return replace(
            file,
            findings=tuple(each for place, each in found if place not in places),
            known=tuple(each for place, each in found if place in places),
        )

    def end(self, arguments: Iterable[Path]) -> BaselineUse:
        """The use of the baseline, once all models are compared; writes it if it is to be.

        Args:
            arguments: What was checked: where a model is gone from a folder in which others were
                found, so are its findings.

        Raises:
            OutputError: It cannot be written; an older one stays.
            UsageError: Meanwhile it was replaced by what is no baseline.
        """
        for folder in (self._key(each / "_").removesuffix("_") for each in arguments):
            if not any(_is_below(key, folder) for key in self._found):
                continue  # rather not exported than mended
            for key, known in self._models.items():
                is_there = key in self._found or os.path.lexists(self.path.parent / key)
                if _is_below(key, folder) and not is_there:
                    self._found[key] = {}
                    self._gone += sum(
                        n for each, (n, _) in known.items() if self._judges(key, each)
                    )
        if self.writes:
            self._read()  # another job may have written it meanwhile
        text = self._written() if self.writes else self._text
        if text is not None and text != self._text:
            from onnxpad.file.atomic_write import write_whole

            write_whole({self.path: [text.encode()]})
        return BaselineUse(str(self.path), self._gone, self._added, text != self._text)

    def _read(self) -> None:
        """Takes what is in the file; nothing where it is to be written and is not there."""
        is_new = self.writes and not os.path.lexists(self.path)
        self._text = None if is_new else _read(self.path)
        self._models = {} if self._text is None else _models(self.path, self._text)

    def _key(self, path: Path) -> str:
        """The path of a model as seen from the folder of the baseline, with `/` in between.

        A link below that folder goes by its own name: where it leads differs between machines.
        """
        parents = path.parent, self.path.parent
        where = [os.path.normpath(each.absolute()) for each in parents]
        real = [os.path.realpath(each) for each in parents]
        is_below = Path(where[0]).is_relative_to(where[1])
        if not is_below or [os.path.realpath(each) for each in where] != real:  # `..` of a link
            where = real
        model = Path(where[0]) / path.name
        try:
            found = os.path.relpath(model, where[1])
        except ValueError:  # Windows: it is on another drive
            found = str(model)
        return found.replace(os.sep, "/")

    def _judges(self, key: str, entry: Entry) -> bool:
        """Whether such findings of a model are reported, so that none is there without one."""
        options = self._configured.get(key, self._options)
        if (code := entry.kind.code) not in self._codes or not options.chooses(code):
            return False
        if code in TARGETS:
            return bool(options.targets) and entry.against in _targets(options.targets)
        if code in REPORTS:
            is_asked = bool(self._convention or options.select)
            return is_asked and entry.against == self._convention
        return not options.targets  # for them, other padding is rewritten

    def _written(self) -> str:
        """The file as it is to be: with all that was found, and what was not looked for."""
        models = dict(self._models)
        for key, found in self._found.items():
            kept = dict(found)
            for entry, (count, note) in self._models.get(key, {}).items():
                if not self._judges(key, entry):
                    kept[entry] = max(kept.get(entry, (0, "")), (count, note))
            models[key] = kept
        listed = []
        for key, known in sorted(models.items()):
            entries = [_line(entry, *known[entry]) for entry in sorted(known)]
            if entries:
                listed.append(f"    {json.dumps(key)}: [\n" + ",\n".join(entries) + "\n    ]")
        inner = "{\n" + ",\n".join(listed) + "\n  }" if listed else "{}"
        head = f'  "about": {json.dumps(_ABOUT)},\n  "version": {VERSION},\n'
        return f'{{\n{head}  "models": {inner}\n}}\n'


@cache
def _targets(names: tuple[str, ...]) -> set[str]:
    """The targets that are asked for, without a version; empty for what is spelled for all."""
    from onnxpad.targets.known_targets import load

    return {"", *(load(name).full_name.partition("@")[0] for name in names)}


def _is_below(key: str, folder: str) -> bool:
    """Whether a model is below a folder, which ends with `/` unless it is that of the baseline."""
    if folder:
        return key.startswith(folder)
    return not key.startswith("../") and not Path(key).is_absolute()


def _entries(findings: Iterable[Finding]) -> Known:
    """Findings as entries, each with their number and a note."""
    counts: Counter[Entry] = Counter()
    notes: dict[Entry, str] = {}
    for each in findings:
        entry = Entry(Kind(each.code, each.fingerprint, each.severity), each.against)
        counts[entry] += 1
        notes.setdefault(entry, _note(each))
    return {entry: (count, notes[entry]) for entry, count in counts.items()}


def _note(finding: Finding) -> str:
    """The operator and its padding for those who read the file, without names."""
    form = finding.form
    steps = [replace(each, computing=0, is_guarded=False) for each in form.steps]
    said = [f"{each.op} {each.details}".rstrip() for each in steps] or [finding.op_type]
    windows = next((each.windows for each in (*form.steps, *form.readers) if each.windows), ())
    for index, name in enumerate(("kernel", "stride", "dilation")):
        numbers = [window[index] for window in windows]
        if {*numbers} - {1}:
            said.append(f"{name} {'x'.join('?' if n is None else str(n) for n in numbers)}")
    said += filter(None, form.traits)
    said += [f"after {each.op}" for each in form.above]
    if any(form.below):
        said.append(f"before {', '.join(sorted({*filter(None, form.below)}))}")
    return ", ".join(said)


def _line(entry: Entry, count: int, note: str) -> str:
    """An entry on a line of its own, so that versions of the file are easily compared."""
    fields: dict[str, object] = {
        **entry.kind._asdict(),
        "count": count,
        **({"against": entry.against} if entry.against else {}),
        "note": note,
    }
    return f"      {json.dumps(fields)}"


def _require_writable(path: Path) -> None:
    """Raises unless a file can be written there.

    Raises:
        OutputError: It is no file, or its folder is not there.
    """
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; give --baseline the name of a file to write")
    if os.path.lexists(path) and not path.is_file():
        raise OutputError(f"{path}: is not a file; give --baseline the name of a file to write")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}; make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OutputError(f"{path}: is write-protected; name another file")


def _read(path: Path) -> str:
    """The text of a baseline.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such baseline; --write-baseline writes it") from None
    except (OSError, ValueError):
        pass  # which is told below
    if os.path.isdir(path):  # noqa: PTH112  # Path.is_dir raises where nobody may look
        raise UsageError(f"{path}: is a folder; give --baseline the name of a file")
    return read_text(path, LARGEST, "a baseline").replace("\r\n", "\n")


def _damaged(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path}: is no baseline: {why}; mend it, or remove it and write it anew (--write-baseline)"
    )


def _models(path: Path, text: str) -> dict[str, Known]:
    """The findings that a baseline knows, by model.

    Raises:
        UsageError: It is not as `--write-baseline` writes it.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(
                key for key, count in Counter(key for key, _ in pairs).items() if count > 1
            )
            raise _damaged(path, f"it has the key {twice!r} twice")
        return found

    try:
        document = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        if _MERGED.search(text):
            raise UsageError(
                f"{path}: has the marks of a merge; take the file of one side, see what check "
                "tells of the models that the other changed, and write it anew (--write-baseline)"
            ) from None
        raise _damaged(path, f"line {error.lineno} is no JSON ({error.msg})") from None
    except (ValueError, RecursionError):
        raise _damaged(path, "it is no JSON that can be read") from None
    if not isinstance(document, dict):
        raise _damaged(path, "it is no JSON object")
    version = document.get("version")
    if type(version) is not int:
        raise _damaged(path, "it has no version")
    if version != VERSION:
        raise UsageError(
            f"{path}: is a baseline of version {version}, and this onnxpad reads version "
            f"{VERSION}; remove it and write it anew (--write-baseline)"
        )
    for key in document.keys() - {"about", "version", "models"}:
        raise _damaged(path, f"it has an unknown key {key!r}{meant(key, ['about', 'models'])}")
    models = document.get("models")
    if not isinstance(models, dict):
        raise _damaged(path, "it has no object of models")
    return {key: _checked(path, key, entries) for key, entries in models.items()}


_MERGED: Final = re.compile(r"^(<{7}|={7}|>{7})", re.MULTILINE)
_TEXT: Final = re.compile(r"(?s).*")
_FIELDS: Final = {
    "code": re.compile(r"\S+"),
    "fingerprint": re.compile(r"[0-9a-f]{16}"),
    "severity": re.compile("|".join(Severity)),
    "against": _TEXT,
    "note": _TEXT,
}
"""The pattern of each text of an entry."""


def _checked(path: Path, key: str, entries: object) -> Known:
    """The findings of one model.

    Raises:
        UsageError: They are not as they are written.
    """
    if not isinstance(entries, list):
        raise _damaged(path, f"{key!r} has no list of findings")
    found: dict[Entry, tuple[int, str]] = {}
    for number, each in enumerate(entries, 1):
        at = f"finding {number} of {key!r}"
        if not isinstance(each, dict):
            raise _damaged(path, f"{at} is no object")
        given = {"against": "", "note": "", **each}
        for name in sorted(given.keys() - _FIELDS.keys() - {"count"}):
            raise _damaged(path, f"{at} has an unknown key {name!r}")
        for name, pattern in _FIELDS.items():
            value = given.get(name)
            if not isinstance(value, str) or not pattern.fullmatch(value):
                raise _damaged(path, f"{at} has no right {name}")
        count = given.get("count")
        if type(count) is not int or count < 1:
            raise _damaged(path, f"{at} has no right count")
        severity = Severity(given["severity"])
        entry = Entry(Kind(given["code"], given["fingerprint"], severity), given["against"])
        if entry in found:
            raise _damaged(path, f"{at} is there twice; its count says how many there are")
        found[entry] = count, given["note"]
    return found
