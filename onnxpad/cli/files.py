"""Where results and pages may go, asked before any work is done, and how pages are written."""

import os
from collections.abc import Iterable
from pathlib import Path

from onnxpad.errors import OutputError, UsageError

_PAGE = b"<!doctype html"


def target_of(
    model: Path, output: Path | None, *, in_place: bool, command: str = "fix", ending: str = "fixed"
) -> Path:
    """The path of the result; checked before any work is done.

    Args:
        model: The model.
        output: The path asked for; None for the model's with an ending.
        in_place: Whether to replace the model.
        command: The command, for messages.
        ending: The ending of the usual name: MODEL.ending.onnx.

    Raises:
        UsageError: Options exclude each other, or the result would replace the model.
        OutputError: No file can be written there.
    """
    if model.is_dir():
        raise UsageError(
            f"{model}: is a folder; {command} takes one model, `onnxpad check` takes folders"
        )
    if in_place and output is not None:
        raise UsageError("--in-place and --output exclude each other; give one of them")
    if in_place:
        return Path(os.path.realpath(model))  # `Path.resolve` fails on loops in some versions
    if output is not None and str(output) == "-":
        raise UsageError("--output - names no file: models are not written to stdout; name a file")
    target = output or model.with_name(f"{model.name.removesuffix('.onnx')}.{ending}.onnx")
    if _is_same(target, model):
        other = "name another file" if command == "match" else "--in-place replaces it"
        raise UsageError(f"{target}: is the model itself; {other}")
    _require_file(target, "--output", in_folder=output is not None)
    return target


def require_apart(target: Path, *arrays: Path | None) -> None:
    """Raises if the result would replace arrays that are given."""
    for each in arrays:
        if each is not None and target.exists() and each.exists() and target.samefile(each):
            raise UsageError(f"{target}: is the file of arrays given; name another file")


def require_page(page: Path | None, others: Iterable[Path | None] = ()) -> None:
    """Raises unless a page can be written there; called before any work is done.

    Args:
        page: Where; None if no page is asked for.
        others: Files of the command that it must not replace, such as the model and the result.

    Raises:
        UsageError: It is one of the other files, or a file that is no page.
        OutputError: No file can be written there.
    """
    if page is None:
        return
    if str(page) == "-":
        raise UsageError("--html - names no file: pages are not written to stdout; name a file")
    for other in others:
        if other is not None and _is_same(page, other):
            raise UsageError(f"{page}: --html would replace {other}; name another file")
    _require_file(page, "--html")
    writable = page if page.exists() else page.parent
    if not os.access(writable, os.W_OK):
        raise OutputError(f"{page}: {writable} is write-protected; name another file")
    if page.exists() and not _is_page(page):
        raise UsageError(f"{page}: is there and is no page; name another file, or remove it")


def write_page(page: Path, text: str) -> None:
    """Writes a page, whole or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    from onnxpad.file.external import write_whole

    write_whole({page: [text.encode()]})


def _require_file(path: Path, option: str, *, in_folder: bool = True) -> None:
    """Raises unless a file can be there: in its place is one or nothing, and there is a folder."""
    if path.exists() and not path.is_file():
        raise OutputError(f"{path}: is not a file; give {option} the name of a file to write")
    if in_folder and not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}; make it first")


def _is_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def _is_page(path: Path) -> bool:
    """Whether a file is empty or begins as HTML does: anything else is somebody's data."""
    with path.open("rb") as file:
        begin = file.read(256).lstrip().lower()
    return not begin or begin.startswith((_PAGE, b"<html"))
