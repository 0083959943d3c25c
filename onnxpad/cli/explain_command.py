"""`onnxpad explain`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from onnxpad.cli.options import (
    ADVANCED,
    Format,
    FormatOption,
    options_given,
    path,
    takes_options,
)
from onnxpad.cli.output import painter, write


@takes_options(output_padding=("shapes", "dims", "trust_dim_names"))
def explain(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", help="A model with the node to explain.", parser=path),
    ] = None,
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="The node of the model, or a pattern.")
    ] = None,
    op: Annotated[
        str | None,
        typer.Option(
            metavar="OP",
            help="conv, maxpool, avgpool or convtranspose.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="N[xN...]", help="Elements of the data on each axis, as 224x160."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="N[xN...]", help="Size of the window: one number, or one per axis."),
    ] = None,
    stride: Annotated[
        str | None,
        typer.Option(metavar="N[xN...]", help="The same for the stride.  [default: 1]"),
    ] = None,
    dilation: Annotated[
        str | None,
        typer.Option(metavar="N[xN...]", help="The same for the dilation.  [default: 1]"),
    ] = None,
    padding: Annotated[
        str | None,
        typer.Option(
            metavar="N[xN...]",
            help="The padding on both sides, for conventions that leave it to the user.",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    output_padding: Annotated[
        str | None,
        typer.Option(
            metavar="N[xN...]",
            help="What a convtranspose appends to its output.",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    output_size: Annotated[
        str | None,
        typer.Option(
            metavar="N[xN...]", help="Say which padding gives this output size, and who writes it."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Only these conventions, with commas between them.",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
    **options: Any,
) -> int:
    """Compare what each framework's padding convention pads and returns, and draw it.

    Either for an operator, given by --op, --size and --kernel, or for a node of a model, whose own
    padding is a row too.

    Exit codes: 0 explained, 1 no padding gives the size of --output-size, 2 bad usage or an
    unreadable model.
    """
    from onnxpad.api import explain as api

    found = api.explain(
        model,
        node=node,
        op=op,
        size=size,
        kernel=kernel,
        stride=stride,
        dilation=dilation,
        padding=padding,
        output_padding=output_padding,
        output_size=output_size,
        only=only or (),
        **options_given(options),
    )
    if form is Format.JSON:
        from onnxpad.report.json import json_of

        write(json_of(found))
    else:
        from onnxpad.report.layout import Screen

        write(found.text(Screen(paint=painter())))
    return found.exit_code
