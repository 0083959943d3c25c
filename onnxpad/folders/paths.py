"""The models that files, folders and patterns name, and the files that go with them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from glob import has_magic
from pathlib import Path
from tempfile import TemporaryDirectory

from onnxpad.arguments import RESULT, fitting, models_below
from onnxpad.errors import ModelError, OutputError, UsageError


def models_in(arguments: Iterable[Path], but: Path | None = None) -> dict[Path, Path]:
    """The place of each model below what is named: files, folders, or patterns (`a/**/*.onnx`).

    That is its path below the folder that is named, what several have in common, or what a pattern
    begins with. But for results, also those below the folder `but`, hidden folders, links to
    folders, and other paths of a model. Raises UsageError where there is no model, or one that is
    named is not there; OSError where none can be sought.
    """
    real, unread = cache(os.path.realpath), list[OSError]()
    places: dict[str, tuple[Path, Path]] = {}
    left_out = os.path.join(real(but), "") if but else "\0"  # noqa: PTH118
    arguments = [*arguments]
    folders = {os.path.abspath(each) for each in arguments if each.is_dir()}  # noqa: PTH100
    common = os.path.commonpath(folders) if len(folders) > 1 else ""
    for argument in [each for each in arguments if not is_result(each)] or arguments:
        named, root = [argument], argument if argument.is_dir() else argument.parent
        if (fits := fitting(argument)) is not None:
            named, root = fits, next(e for e in argument.parents if not has_magic(str(e)))
        elif not os.path.lexists(argument):
            raise ModelError(f"{argument} does not exist; check the path")
        found = list[str]()
        for path in named:
            found += models_below(path, unread.append) if path.is_dir() else [str(path)]
        for error in unread:
            raise error
        models = [each for each in found if not each.endswith(RESULT)]
        if not models:
            raise UsageError(f"{argument}: there is no .onnx file here but for results (*{RESULT})")
        models.sort(key=lambda each: (each.count(os.sep), each))  # ways round by links come last
        above = os.path.join(root, "")  # noqa: PTH118
        parts = {each: os.path.split(each) for each in models}  # a link to a model is one itself
        wholes = {e: os.path.join(real(at), name) for e, (at, name) in parts.items()}  # noqa: PTH118
        inside = {each: at for each, at in wholes.items() if not at.startswith(left_out)}
        if not inside:
            raise UsageError(f"{argument} is in --output; name another folder, or --in-place")
        for each, whole in inside.items():
            place = os.path.relpath(each, common) if common and argument.is_dir() else each
            places.setdefault(whole, (Path(each), Path(place.removeprefix(above))))
    return dict(places.values())


def partners(old: Path, new: Path) -> dict[Path, Path]:
    """The models of two folders by their place; or two models. The second may not be there."""
    if not old.is_dir():
        return {old: new}
    olds, news = ({*models_in([folder]).values()} for folder in (old, new))
    pairs = {each: (old / each, new / each) for each in sorted(olds | news)}
    return dict(pair if place in olds else pair[::-1] for place, pair in pairs.items())


def is_result(path: Path) -> bool:
    """Whether a path that is named is a result by its name."""
    return str(path).endswith(RESULT) and not path.is_dir()


def fixes(
    arguments: Iterable[Path], folder: Path | None, *, in_place: bool, beside: bool = False
) -> dict[Path, Path | None]:
    """The file to write for each model: in a folder that mirrors the tree, itself, or beside it.

    Of links to one model, one is left. Raises UsageError where two have the same place, or a result
    would replace a model through a link; OutputError where no result can be in the folder.
    """
    places = models_in(arguments, folder)
    if in_place and folder:
        raise UsageError("--in-place and --output exclude each other; give one of them")
    if folder and not folder.is_dir() and (folder.exists() or folder.suffix.lower() == ".onnx"):
        raise OutputError(f"{folder} names a file; several models are written to a folder")
    if in_place:
        led = {os.path.realpath(each): each for each in reversed([*places])}
        return {e: Path(path) if e.is_symlink() else e for path, e in reversed(led.items())}
    if not (folder or beside):
        return dict.fromkeys(places)
    results = dict[Path, Path]()
    for model, place in places.items():
        target = folder / place if folder else Path(str(model).removesuffix(".onnx") + RESULT)
        if (other := results.setdefault(target, model)) is not model:
            raise UsageError(f"{target} is the place of two models, {other} and {model}")
    if lost := {*map(os.path.realpath, results)} & {*map(os.path.realpath, places)}:
        raise UsageError(f"{min(lost)}: a result would replace this model, where a link leads")
    if folder:
        require_writable(folder, {each.parent: each for each in results}.values())
    return {model: target for target, model in results.items()}


def require_writable(folder: Path, files: Iterable[Path]) -> None:
    """Raises OutputError unless one of the files in a folder can be made, with the folders."""
    told = ""
    for home in sorted({next(filter(os.path.lexists, each.absolute().parents)) for each in files}):
        try:
            with TemporaryDirectory(dir=home):  # not all systems say else that it can be
                return
        except OSError as error:
            told = f"nothing can be written in {home} ({error.strerror})"
    raise OutputError(f"{folder}: {told}; name another folder")
