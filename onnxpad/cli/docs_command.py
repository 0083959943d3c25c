"""`onnxpad docs`: the manual in the terminal, or as pages for a browser."""

from pathlib import Path
from typing import Annotated, Final

import typer

from onnxpad.cli.options import completed, path
from onnxpad.cli.output import painter, screen, write
from onnxpad.errors import OutputError, UsageError

_WIDEST: Final = 100
"""Columns of a page on a terminal: longer lines are hard to read."""


def docs(
    page: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAGE]",
            autocompletion=completed("pages"),
            help="The page to show; without it, all are listed.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="DIR",
            help="Write all pages into this folder, for a browser, beginning with index.html.",
            parser=path,
        ),
    ] = None,
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the JSON Schema of the reports of --format json."),
    ] = False,
) -> int:
    """Show a page of the manual, list its pages, or write all of them for a browser.

    On a terminal a page is laid out; elsewhere, and with NO_COLOR, it is the text as written.

    Exit codes: 0 shown or written, 2 no page of that name, or a folder that cannot be written.
    """
    from onnxpad.report.manual import page_names, page_text, without_links

    if schema:
        if page not in {None, "json"} or html is not None:
            raise UsageError("--schema prints the schema alone: leave out the rest")
        from onnxpad.report.json_schema import schema_json

        write(schema_json())
    elif html is not None:
        if page is not None:
            raise UsageError("--html writes all pages: leave out the name of a page")
        _write_pages(html)
    elif page is None:
        from onnxpad.report.documents.rule_documents import index_document
        from onnxpad.report.layout import text_of
        from onnxpad.report.manual import index

        write(text_of(index_document(index()), screen()))
    else:
        name = page.lower().removesuffix(".md")
        if name not in page_names():
            from onnxpad.messages import meant

            told = f"{page!r} is no page of the manual, which onnxpad docs lists"
            if name.startswith("pad") and name[3:].isdigit():
                raise UsageError(f"{told}; onnxpad rule {name.upper()} explains a code")
            raise UsageError(f"{told}{meant(page, page_names())}")
        from onnxpad.report.text import plain

        text = without_links(page_text(name))
        write(text if painter() is plain else _laid_out(text))
    return 0


def _laid_out(text: str) -> str:
    """Markdown as it looks on this terminal."""
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    width = min(_WIDEST, screen().width or _WIDEST)
    console = Console(file=StringIO(), force_terminal=True, width=width, legacy_windows=False)
    with console.capture() as shown:
        console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
    return shown.get()


def _write_pages(folder: Path) -> None:
    """Writes all pages into a folder, which is made if it is not there.

    Raises:
        UsageError: A file is there that is no page.
        OutputError: The folder or a page cannot be written.
    """
    from onnxpad.cli.html_page import check_target, write_page
    from onnxpad.page.manual_pages import manual_pages
    from onnxpad.report.text import counted, shown

    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is not a folder; give --html the name of a folder")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror}") from error
    pages = {folder / name: text for name, text in manual_pages({}).items()}
    for each in pages:
        check_target(each)
    for each, text in reversed(pages.items()):  # the index last, which leads to the others
        write_page(each, text)
    write(f"Wrote {counted(len(pages), 'page')}; begin with {shown(str(folder / 'index.html'))}\n")
