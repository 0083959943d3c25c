"""`onnxpad docs`: the manual, as it is written."""

from typing import Annotated

import typer

from onnxpad.cli.output import screen, write
from onnxpad.errors import UsageError


def docs(
    page: Annotated[
        str | None,
        typer.Argument(metavar="[PAGE]", help="The page to show; without it, all are listed."),
    ] = None,
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the JSON Schema of the reports of --format json."),
    ] = False,
) -> int:
    """Show a page of the manual, or list its pages.

    Exit codes: 0 shown, 2 no page of that name.
    """
    from onnxpad.report.manual import page_names, page_text, without_links

    if schema:
        if page not in {None, "json"}:
            raise UsageError("--schema prints the schema alone: leave out the rest")
        from onnxpad.report.json_schema import schema_json

        write(schema_json())
    elif page is None:
        from onnxpad.report.documents.rule_documents import index_document
        from onnxpad.report.layout import text_of
        from onnxpad.report.manual import index

        write(text_of(index_document(index()), screen()))
    else:
        name = page.lower().removesuffix(".md")
        if name not in page_names():
            from onnxpad.errors import meant

            told = f"{page!r} is no page of the manual, which onnxpad docs lists"
            if name.startswith("pad") and name[3:].isdigit():
                raise UsageError(f"{told}; onnxpad rule {name.upper()} explains a code")
            raise UsageError(f"{told}{meant(page, page_names())}")
        write(without_links(page_text(name)))
    return 0
