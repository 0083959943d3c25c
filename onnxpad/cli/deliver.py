"""What commands have in common: the call, the files that it leaves, and the report.

Each asks first whether its files may be written, which `files` answers.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from onnxpad.cli.files import write_page
from onnxpad.cli.options import Format, configuration_of
from onnxpad.cli.output import ProgressBar, report_error, screen, write

if TYPE_CHECKING:
    from onnxpad.report.documents import Document

R = TypeVar("R", bound=Any)

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
    applied = configuration_of(model, asked) if asked else None
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
