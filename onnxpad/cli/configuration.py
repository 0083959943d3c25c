"""Configurations: `onnxpad.toml`, and the table `tool.onnxpad` of a `pyproject.toml`.

They hold data. Whatever runs, writes, or loosens what is proved is an option of the command line.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from onnxpad.arguments import codes_given, sizes_by_name
from onnxpad.cli.options import FILES, Asked, above, options_given
from onnxpad.cli.output import report_beside
from onnxpad.errors import UsageError, few
from onnxpad.options import Configured, Style

Texts = str | tuple[str, ...]
Read = tuple[Path, Mapping[str, Any]] | None
"""A configuration: its path as it is told, and its keys with their values."""

IGNORED, SIZED = "per-file-ignores", "per-file-dim"
BY_PATTERN = {IGNORED: "ignore", SIZED: "dims"}
"""Keys with patterns of models, and the options of which they are."""

_TABLE = re.compile(rb"^[ \t\[\"']*tool[ \t\"']*(\.[ \t\"']*onnxpad|[\]=])", re.MULTILINE)
"""How a line of a pyproject.toml with a table `tool.onnxpad` begins."""


class Keys(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Every key, and what its value is."""

    target: Texts = ()
    style: Style | None = None
    select: Texts = ()
    ignore: Texts = ()
    fail_on: Texts = ()
    per_file_ignores: dict[str, Texts] = {}
    dim: Texts = ()
    per_file_dim: dict[str, Texts] = {}
    exclude: Texts = ()


def options_of(
    asked: Asked, models: Iterable[Path]
) -> dict[Path, tuple[dict[str, Any], Configured | None]]:
    """The options of `Options` for each model, as typed or else as its configuration has them.

    Also what that says of them, None without one. Models that it excludes are left out unless they
    were named. What is excluded, and what holds for none of the models, is noted on stderr.

    Raises:
        UsageError: As for `options_given`, a configuration is not as it should be, or no model is
            left.
    """
    given, read, out = options_given(asked), cache(_read_in), dict[Path, list[str]]()
    # The configuration of a model is the nearest one.
    near = cache(lambda folder: next(filter(None, map(read, above(folder / "model"))), None))
    held: dict[Path, Read] = {model: near(model.parent) for model in models}
    known = dict(filter(None, held.values()))
    found = held.keys() - {asked.model, asked.original, *(asked.models or asked.paths or ())}
    for model in found:
        path, keys = held[model] or (Path(), {})
        if any(_fits(path.parent, each, model) for each in keys.get("exclude", ())):
            out.setdefault(path, []).append(str(model))
            del held[model]
    told = {path: f"{path}: exclude leaves out {few(sorted(e), 3)}" for path, e in out.items()}
    if told and not held:
        raise UsageError("; ".join(told.values()))
    # A configuration that is elsewhere may have come with a model.
    here = {path for path in told if Path.cwd().is_relative_to(path.absolute().parent)}
    notes = [line for path, line in told.items() if not (asked.quiet and path in here)]
    is_told = len(held) > 1 or not asked.quiet
    for line in [*notes, *(_unmet(asked, known, held, found) if is_told else ())]:
        report_beside(f"note: {line}")
    return {model: _configured(asked, given, model, found) for model, found in held.items()}


def _configured(
    asked: Asked, given: Mapping[str, Any], model: Path, found: Read
) -> tuple[dict[str, Any], Configured | None]:
    """The options of a model of which some were typed, and of what its configuration says."""
    options = dict(given)
    if found is None:
        return options, None
    path, keys = found
    said = {
        key: value
        for key, value in keys.items()
        if (name := key.replace("-", "_")) in vars(asked) and not getattr(asked, name)
    }
    options |= {key: value for key, value in said.items() if key != "fail-on"}
    for key, name in BY_PATTERN.items():
        is_held = name in vars(asked) and not (key == SIZED and asked.shapes)  # typed in its place
        patterns: Mapping[str, Texts] = keys.get(key, {}) if is_held else {}
        fit = (pattern for pattern in patterns if _fits(path.parent, pattern, model))
        held = tuple(each for pattern in fit for each in patterns[pattern])
        if held and key == IGNORED:
            said[key] = tuple(dict.fromkeys(held))
            options["ignore"] = (*options.get("ignore", ()), *said[key])
        elif held:
            typed, last = options.get("dims", {}), {each.rpartition("=")[0]: each for each in held}
            said["dim"] = tuple(each for name, each in last.items() if name not in typed)
            options["dims"] = sizes_by_name("--dim", said["dim"]) | typed
    said = {key: value for key, value in said.items() if value}
    return options, Configured(str(path), said) if said else None


def _unmet(
    asked: Asked, configs: Mapping[Path, Any], models: Collection[Path], found: Collection[Path]
) -> Iterator[str]:
    """A line for each pattern that fits none of several models, or whose models lack a size."""
    for path, keys in configs.items():
        for key in ("exclude", *(key for key, name in BY_PATTERN.items() if name in vars(asked))):
            of_key = found if key == "exclude" else models
            for pattern in keys.get(key, ()):
                fits = [each for each in of_key if _fits(path.parent, pattern, each)]
                if not fits and len(of_key) > 1:
                    yield f"{path}: {key} {pattern!r} fits no model of this run"
                if key == SIZED:
                    from onnxpad.folders.sizes import lacks

                    place = f"{path}: " + ("dim" if pattern == "*" else f"{key} {pattern!r}")
                    sizes = {"dims": sizes_by_name("--dim", keys[key][pattern])}
                    is_told = pattern != "*" and not asked.quiet
                    yield from (f"{place}: {line}" for line in lacks(fits, sizes, of_some=is_told))


def _read_in(folder: Path) -> Read:
    """The configuration in a folder, None without one; UsageError if it cannot be read."""
    here, path, under = Path.cwd(), folder / FILES[0], tuple[str, ...]()
    if not os.path.lexists(path):
        path, under = folder / FILES[1], ("tool", "onnxpad")
        if not os.path.isfile(path):  # noqa: PTH113  # Path.is_file raises where nobody may look
            return None
        with path.open("rb") as file:
            if not _TABLE.search(file.read(1 << 20)):
                return None
    from onnxpad import toml_file as toml
    from onnxpad.rewrite.registry import every_code, failing_of
    from onnxpad.targets.known_targets import load

    path = path.relative_to(here) if path.is_relative_to(here) else path
    keys = toml.parsed(path, toml.read_text(path), Keys, *under)
    if keys is None:
        return None
    targets = (keys.target,) if isinstance(keys.target, str) else keys.target
    codes = partial(codes_given, known=every_code())
    sized = {"*": keys.dim, **keys.per_file_dim}  # `dim` is for all
    try:
        said: dict[str, Any] = {
            # The path of a target's file is from the folder of the configuration.
            "target": tuple(str(path.parent / e) if e.endswith(".toml") else e for e in targets),
            "style": keys.style,
            "select": codes("select", keys.select),
            "ignore": codes("ignore", keys.ignore),
            "fail-on": keys.fail_on and failing_of(keys.fail_on),
            "exclude": (keys.exclude,) if isinstance(keys.exclude, str) else keys.exclude,
            IGNORED: {name: codes(IGNORED, each) for name, each in keys.per_file_ignores.items()},
            SIZED: {name: _sizes(each) for name, each in sized.items() if each},
        }
        for name in said["target"]:
            load(name)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return path, {key: value for key, value in said.items() if value}


def _sizes(texts: Texts) -> tuple[str, ...]:
    from onnxpad.facts.recorded import sizes_of

    given = (texts,) if isinstance(texts, str) else texts
    for name, size in sizes_by_name("--dim", given).items():
        sizes_of(name, size)
    return given


def _fits(folder: Path, pattern: str, model: Path) -> bool:
    place, path = map(Path, map(os.path.abspath, (folder, model)))
    below = path.relative_to(place) if path.is_relative_to(place) else path
    pattern = pattern.removeprefix("./")
    if pattern.startswith("**/"):  # any folders, or none
        return fnmatchcase(f"/{below.as_posix()}", pattern[1:])
    return any(fnmatchcase(text, pattern) for text in (path.name, below.as_posix()))
