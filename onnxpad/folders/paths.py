"""The models that files, folders and patterns name, and the files that go with them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from glob import glob, has_magic
from pathlib import Path

from onnxpad.errors import OutputError, UsageError

RESULT = ".fixed.onnx"
"""How the name of a result ends; such a model is no input of a run over many."""


def models_in(arguments: Iterable[Path], but: Path | None = None) -> dict[Path, Path]:
    """The place of each model below what is named: files, folders, or patterns (`a/**/*.onnx`).

    Left out are results, also those below the folder `but`, hidden folders, and links to folders.
    Raises UsageError where no model is named, OSError where a folder cannot be searched.
    """
    places, seen = dict[Path, Path](), set[Path]()
    left_out = but.absolute() if but else None
    for argument in arguments:
        found, root = [argument], argument.parent
        if argument.is_dir():
            found, root = [], argument
            for folder, folders, names in os.walk(argument, onerror=_fail):
                folders[:] = [name for name in folders if not name.startswith(".")]
                found += [Path(folder, name) for name in names if name.lower().endswith(".onnx")]
        elif has_magic(str(argument)) and not argument.exists():
            found = [*map(Path, glob(str(argument), recursive=True))]  # noqa: PTH207
            root = next(each for each in argument.parents if not has_magic(str(each)))
        whole = {each: each.absolute() for each in sorted(found) if not each.name.endswith(RESULT)}
        taken = [each for each in whole if left_out not in whole[each].parents]
        if not taken:
            raise UsageError(f"{argument}: there is no .onnx file here; results are none")
        places |= {each: each.relative_to(root) for each in taken if whole[each] not in seen}
        seen |= {*whole.values()}
    return places


def _fail(error: OSError) -> None:
    raise error


def fixes(
    arguments: Iterable[Path], folder: Path | None, *, in_place: bool, beside: bool = False
) -> dict[Path, Path | None]:
    """The file to write for each model: in a folder that mirrors the tree, itself, or beside it.

    Raises UsageError where two have the same place, OutputError where the folder is a file.
    """
    places = models_in(arguments, folder)
    if in_place and folder:
        raise UsageError("--in-place and --output exclude each other; give one of them")
    if folder and folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; several models are written to a folder")
    if folder and len({*places.values()}) < len(places):
        raise UsageError(f"{folder}: two models have the same place there; name a folder above")

    def target(model: Path, place: Path) -> Path | None:
        if in_place:
            return Path(os.path.realpath(model))
        name = f"{model.name.removesuffix('.onnx')}{RESULT}"
        return folder / place if folder else model.with_name(name) if beside else None

    return {model: target(model, place) for model, place in places.items()}


def partners(old: Path, new: Path) -> dict[Path, Path]:
    """The models of two folders by their place, of which one may not be there; or two models."""
    if not (old.is_dir() or new.is_dir()):
        return {old: new}
    places = {place for folder in (old, new) for place in models_in([folder]).values()}
    return {old / place: new / place for place in sorted(places)}
