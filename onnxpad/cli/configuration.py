"""Configurations: `onnxpad.toml`, and the table `tool.onnxpad` of a `pyproject.toml`.

They hold data. Whatever runs, writes, or loosens what is proved is an option of the command line.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import defstruct
from msgspec.structs import replace

from onnxpad.arguments import codes_given, sizes_by_name
from onnxpad.cli.sizes import SIZES, with_sizes
from onnxpad.errors import MismatchError, UsageError
from onnxpad.finding import Severity
from onnxpad.options import Style, Unasked
from onnxpad.report import Configured
from onnxpad.targets import toml_file as toml
from onnxpad.targets.toml_file import Place, Problem

Report = TypeVar("Report", bound=Any)
Value = str | tuple[str, ...] | Mapping[str, str]
"""The value of a key for one model."""

IGNORED = "per-file-ignores"


def _require(folder: Path, key: str, text: str) -> None:
    """Raises UsageError unless there is what a text of a key names."""
    from onnxpad.facts.recorded import shape_of, sizes_of
    from onnxpad.targets.known_targets import load

    if key == "target":
        load(_target(folder, text))
    elif key in SIZES:
        for name, sizes in sizes_by_name(SIZES[key], [text]).items():
            (shape_of if key == "shapes" else sizes_of)(name, sizes)
    else:
        _chosen("", [text])


def _chosen(name: str, texts: str | Sequence[str]) -> tuple[str, ...]:
    """Codes or beginnings of codes, all of which there are."""
    from onnxpad.rewrite.registry import every_code

    return codes_given(name, texts, every_code())


Texts = str | tuple[str, ...]


Keys = defstruct(
    "Keys",
    [
        *((key, Texts, ()) for key in ("target", "select", "ignore")),
        *((key, dict[str, Texts], {}) for key in ("per_file_ignores", *SIZES)),
        *(("style", Style | None, None), ("fail_on", Severity | None, None)),
    ],
    frozen=True,
    forbid_unknown_fields=True,
    rename="kebab",
)
"""Every key, and what its value is."""


def _problems(folder: Path, table: Mapping[str, Any]) -> Iterator[Problem]:
    """Names that there are none of, each with its place."""
    for key, value in table.items():
        if key in {"style", "fail-on"}:
            continue
        parts = value.items() if isinstance(value, dict) else [(None, value)]
        for pattern, texts in parts:
            place = (key,) if pattern is None else (key, pattern)
            for text in _tuple(texts):
                try:
                    _require(folder, key, text)
                except UsageError as error:
                    yield place, f"{place[-1]!r}: {error}"


class Configuration:
    """The configuration in one file.

    Attributes:
        path: The file: relative to the working folder, if it is below it.
        table: Its keys, all as they should be.
    """

    def __init__(self, path: Path, table: Mapping[str, Any]) -> None:
        """Takes the keys."""
        self.path, self.table = path, table

    def said(self, model: Path) -> dict[str, Value]:
        """The value of each key for a model; what no pattern fits is left out."""
        found: dict[str, Value] = {}
        for key, value in self.table.items():
            if key in {"style", "fail-on"}:
                found[key] = value
            elif key == "target":
                found[key] = tuple(_target(self.path.parent, each) for each in _tuple(value))
            elif not isinstance(value, dict):
                found[key] = _tuple(value)
            elif matching := [each for text, each in value.items() if self._fits(text, model)]:
                texts = [text for each in matching for text in _tuple(each)]
                found[key] = (
                    tuple(dict.fromkeys(texts)) if key == IGNORED else _sizes(SIZES[key], texts)
                )
        return found

    def applied(self, model: Path, typed: Mapping[str, Any]) -> "Applied | None":
        """As `options.configurations_of`, for one."""
        said = {
            key: value
            for key, value in self.said(model).items()
            if (name := "ignore" if key == IGNORED else key.replace("-", "_")) in typed
            and (key == IGNORED or isinstance(typed[name], Unasked) or not typed[name])
        }
        return Applied(self.path, said, typed) if said else None

    def _fits(self, pattern: str, model: Path) -> bool:
        """Whether a pattern fits the name of a model, or its path from the folder of this file."""
        folder, path = map(Path, map(os.path.abspath, (self.path.parent, model)))
        below = path.relative_to(folder) if path.is_relative_to(folder) else path
        pattern = pattern.removeprefix("./")
        if pattern.startswith("**/"):  # any folders, or none
            return fnmatchcase(f"/{below.as_posix()}", pattern[1:])
        return any(fnmatchcase(text, pattern) for text in (path.name, below.as_posix()))


class Applied:
    """The part of a configuration that is about one model, for one command.

    Attributes:
        options: The options of the command, typed or said, but for the sizes that are said.
    """

    def __init__(self, path: Path, said: Mapping[str, Value], typed: Mapping[str, Any]) -> None:
        """Takes what the file says where nothing was typed, and what was typed."""
        self._path, self._said = path, said
        self.options = dict(typed)
        for key, value in said.items():
            if key not in (IGNORED, *SIZES):
                self.options[key.replace("-", "_")] = value
        for key in ("select", "ignore"):
            if key in said:
                self.options[key] = _chosen(key, cast("Sequence[str]", said[key]))
        if IGNORED in said:
            ignored = _chosen(IGNORED, cast("Sequence[str]", said[IGNORED]))
            self.options["ignore"] = (*self.options["ignore"], *ignored)

    def result_of(self, ask: Callable[..., Report], *models: object, **keywords: Any) -> Report:
        """The result of a call with the sizes that the configuration gives and the model has.

        Raises:
            MismatchError: A size contradicts the model, or one that is typed is of nothing in it.
        """
        sizes = {
            (key, name): text
            for key in SIZES
            for name, text in cast("Mapping[str, str]", self._said.get(key, {})).items()
        }
        try:
            result, lacking = with_sizes(partial(ask, *models), sizes, **keywords)
        except MismatchError as error:
            if error.missing or not sizes:
                raise
            told = f"{self._path}: {error}; a size that is typed goes before those of the file"
            raise MismatchError(told) from error
        said = {key: value for key, value in self._said.items() if key not in SIZES}
        unused: dict[str, dict[str, str]] = {}
        for (key, name), text in sizes.items():
            kept = unused if (key, name) in lacking else said
            cast("dict[str, dict[str, str]]", kept).setdefault(key, {})[name] = text
        return replace(result, config=Configured(str(self._path), said, unused))


def read(path: Path) -> Configuration | None:
    """The configuration in a file; None in a `pyproject.toml` without a table of it.

    Raises:
        UsageError: It cannot be read, or is not as it should be: with the line.
    """
    shown = _shown(path)
    place = ("tool", "onnxpad") if path.name == "pyproject.toml" else ()
    text = toml.read_text(shown)
    table = _within(toml.tables_in(shown, text), place)
    if table is None:
        return None
    toml.parsed(
        shown,
        text,
        Keys,
        lambda _: _problems(shown.parent, table),
        under=place,
        known=Keys.__struct_encode_fields__,
    )
    return Configuration(shown, table)


def _within(tables: Any, place: Place) -> Any:
    """The table at a place; None if there is none."""
    for key in place:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


def _tuple(value: Any) -> tuple[str, ...]:
    """Texts, of which one may stand alone."""
    return (value,) if isinstance(value, str) else tuple(value)


def _sizes(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Sizes by name; the last text about a name holds."""
    return {name: sizes for text in texts for name, sizes in sizes_by_name(option, [text]).items()}


def _target(folder: Path, name: str) -> str:
    """A target; the path of a file is from the folder of the configuration."""
    path, at, version = (name, "", "") if name.endswith(".toml") else name.rpartition("@")
    return f"{folder / path}{at}{version}" if path.endswith(".toml") else name


def _shown(path: Path) -> Path:
    """A path from the working folder, if it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
