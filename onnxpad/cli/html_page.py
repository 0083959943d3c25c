"""The page that `--html` asks for: where it may go, and how it is written."""

import os
from collections.abc import Iterable
from pathlib import Path

from onnxpad.errors import OutputError, UsageError

_PAGE = b"<!doctype html"


def check_target(page: Path | None, others: Iterable[Path | None] = ()) -> None:
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
    if page.is_dir():
        raise OutputError(f"{page}: is a folder; give --html the name of a file to write")
    if not page.parent.is_dir():
        raise OutputError(f"{page}: there is no folder {page.parent}; make it first")
    writable = page if page.exists() else page.parent
    if not os.access(writable, os.W_OK):
        raise OutputError(f"{page}: {writable} is write-protected; name another file")
    if page.exists() and not page.is_file():
        raise OutputError(f"{page}: is not a file; give --html the name of a file to write")
    if page.exists() and not _is_page(page):
        raise UsageError(f"{page}: is there and is no page; name another file, or remove it")


def write_page(page: Path, text: str) -> None:
    """Writes a page, whole or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    from onnxpad.file.atomic_write import write_whole

    write_whole({page: [text.encode()]})


def tell_page(page: str) -> None:
    """The last line of a report in text: where the page is."""
    if page:
        from onnxpad.cli.output import write
        from onnxpad.report.text import shown

        write(f"Report: {shown(page)}\n")


def _is_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def _is_page(path: Path) -> bool:
    """Whether a file is empty or begins as HTML does: anything else is somebody's data."""
    with path.open("rb") as file:
        begin = file.read(256).lstrip().lower()
    return not begin or begin.startswith((_PAGE, b"<html"))
