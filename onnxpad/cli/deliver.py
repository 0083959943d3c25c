"""What commands have in common: the call, the files that it leaves, and the report.

Whether files may be written is asked before any work is done.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from onnxpad.cli.options import Format, configurations_of
from onnxpad.cli.output import ProgressBar, report_error, screen, write
from onnxpad.errors import OutputError, UsageError

if TYPE_CHECKING:
    from onnxpad.report.documents import Document

R = TypeVar("R", bound=Any)

_PAGE = b"<!doctype html"
_DOCUMENTS = {"validate": "validation"}
"""The names of documents that are not those of their command."""


def called(
    call: Callable[..., R],
    model: Path,
    *others: object,
    typed: Mapping[str, Any] | None = None,
    configured: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> R:
    """The result of a call about a model, with what the configuration nearest to it says.

    Args:
        call: A call of the library.
        model: The model.
        others: What else the call takes by place.
        typed: The options for which a configuration may stand in, with what was typed.
        configured: The same with those that the call does not take; as typed by default.
        keywords: What else the call takes by name.
    """
    given, asked = typed or {}, configured or typed or {}
    applied = configurations_of([model] * bool(asked), asked).get(model)
    if applied is not None:
        given = {name: applied.options[name] for name in given}
        call = partial(applied.result_of, call)
    return call(model, *others, **keywords, **given)


def with_bar(call: Callable[..., R], *, quiet: bool) -> Callable[..., R]:
    """A call that shows how far it is in a bar."""

    def shown(*values: Any, **keywords: Any) -> R:
        with ProgressBar(hidden=quiet) as progress:
            return call(*values, progress=progress, **keywords)

    return shown


def delivered(
    result: R,
    target: Path | None,
    *,
    is_written: bool,
    quiet: bool,
    named: Path | None = None,
    tells_older: bool = False,
    keep_invalid: bool = False,
    **others: Any,
) -> R:
    """The result, which tells how it was delivered; its model is written if it has to be.

    Args:
        result: The result.
        target: The file to write; None if none is asked for.
        is_written: Whether to write it.
        quiet: Whether to show no bar.
        named: The path to tell of it, if it is another one.
        tells_older: Whether to tell of an older file that is there in its place.
        keep_invalid: As for `save`.
        others: Further fields of the delivery.
    """
    from onnxpad.report import Delivery

    data: tuple[Path, ...] = ()
    if is_written:
        data = with_bar(result.save, quiet=quiet)(target, keep_invalid=keep_invalid)
    older = tells_older and not is_written and target is not None and target.exists()
    delivery = Delivery(
        written=str(named or target) if is_written else "",
        older=str(target) if older else "",
        data=tuple(map(str, data)),
        **others,
    )
    told: R = replace(result, delivery=delivery)
    return told


def text_of(report: Any, command: str, *, verbose: bool | None = None) -> str:
    """A report as text; None for one that has no more to tell than it does."""
    view = () if verbose is None else ("full" if verbose else "brief",)
    document = f"{_DOCUMENTS.get(command, command)}_document"
    module = import_module(f"onnxpad.report.documents.{document}")
    text: str = getattr(module, f"{command}_text")(report, screen(), *view)
    return text


def document_text(document: "Document") -> str:
    """A document as text, for the screen."""
    from onnxpad.report import layout

    return layout.text_of(document, screen())


def write_report(report: Any, form: Format, text: Callable[[], str], *more: Any) -> None:
    """Writes a report as JSON, with what more that takes, or else its text."""
    if form is Format.JSON:
        from onnxpad.report.json import json_of

        write(json_of(report, *more))
    else:
        write(text())


def told(
    report: Any,
    form: Format,
    text: Callable[[], str],
    *,
    quiet: bool = False,
    html: Path | None = None,
    error: str = "",
) -> None:
    """Tells a report as it is asked for.

    Args:
        report: The report.
        form: Its format.
        text: What it is as text.
        quiet: Whether a text is told only if something needs attention.
        html: Where to write it as a page, too.
        error: What is wrong; empty if nothing is.
    """
    if html is not None:
        write_page(html, report.to_html())
    if form is Format.JSON or not (quiet and report.is_quiet_success):
        write_report(report, form, text)
        if form is Format.TEXT:
            tell_page(html)
    if error:
        report_error(error)


def tell_page(page: Path | None) -> None:
    """The last line of a report in text: where the page is."""
    if page is not None:
        from onnxpad.report.text import shown

        write(f"Report: {shown(str(page))}\n")


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
