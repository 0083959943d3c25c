"""`onnxpad show`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from onnxpad.cli.options import (
    Format,
    FormatOption,
    HtmlOption,
    IsolatedOption,
    configuration_of,
    options_given,
    path,
    takes_options,
)
from onnxpad.cli.output import check_target, screen, tell_page, write, write_page
from onnxpad.process import gc_paused_for_good


@takes_options(node=("shapes", "dims", "trust_dim_names", "trust", "target"))
def show(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The model.", parser=path)],
    node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Show this in full: the name of an operator, a Pad or a tensor, or a pattern such "
            "as '*/conv1/*'. Repeatable.",
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
    html: HtmlOption = None,
    isolated: IsolatedOption = False,
    **options: Any,
) -> int:
    """Show every padding of a model, and what fix does to it; with --node one of them in full.

    Nothing is changed and nothing runs.

    Exit codes: 0 shown, 2 bad usage or an unreadable model.
    """
    check_target(html, [model])
    with gc_paused_for_good():
        from onnxpad.api import show as api

    typed = options_given(options)
    choice = {"select": (), "ignore": ()}  # of fix; told, since all padding is shown
    applied = configuration_of(model, {**typed, **choice}, isolated=isolated)
    call = partial(applied.result_of, api.show) if applied else api.show
    given = applied.options if applied else typed
    found = call(model, node or (), **{name: given[name] for name in typed})
    if html is not None:
        write_page(html, found.to_html())
    if form is Format.JSON:
        from onnxpad.report.json import json_of

        write(json_of(replace(found, html=str(html or ""))))
    else:
        write(found.text(screen()))
        tell_page(str(html or ""))
    return 0
