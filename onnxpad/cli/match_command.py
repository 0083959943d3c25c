"""`onnxpad match`."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from onnxpad.cli.fix_command import require_apart, target_of
from onnxpad.cli.options import (
    ADVANCED,
    AbsoluteOption,
    ExternalData,
    ExternalDataOption,
    Format,
    FormatOption,
    QuietOption,
    RelativeOption,
    RunTimeoutOption,
    VerboseOption,
    path,
)
from onnxpad.cli.output import called, report_error, screen, write


def match(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The model, which stays as it is.", parser=path)
    ],
    reference: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="A framework's inputs and outputs: .npz, or a folder of ONNX test data. Inner "
            "tensors by the model's names for them make the search surer.",
            parser=path,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the model found.", parser=path),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="The inputs, if the reference has only outputs.", parser=path
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="Write also a padding that explains only a part of the difference.",
            rich_help_panel=ADVANCED,
        ),
    ] = False,
    seconds: Annotated[float, typer.Option(help="How long to search.")] = 120.0,
    rtol: RelativeOption = None,
    atol: AbsoluteOption = None,
    run_timeout: RunTimeoutOption = None,
    external_data: ExternalDataOption = ExternalData.COPY,
    verbose: VerboseOption = False,
    form: FormatOption = Format.TEXT,
    quiet: QuietOption = False,
) -> int:
    """Find the padding with which a model reproduces a framework's recorded outputs.

    Conventions of the whole model are tried first, then groups of like operators, then single ones.
    Differences that are not padding are never matched.

    Exit codes: 0 matched (or it reproduces them already), 2 bad usage or unreadable input, 3 not
    matched, or only partly: nothing is written then, unless --partial asks for a part.
    """
    target = None
    if output is not None:
        target = target_of(model, output, in_place=False, command="match")
        require_apart(target, reference, inputs)

    from onnxpad.api import match as api
    from onnxpad.report import Delivery

    result = called(
        api.match,
        None,
        model,
        reference,
        inputs=inputs,
        partial=partial,
        rtol=rtol,
        atol=atol,
        seconds=seconds,
        run_timeout=run_timeout,
        quiet=quiet,
    )
    data: tuple[Path, ...] = ()
    written = target is not None and (result.ok or result.is_changed)
    if target is not None and written:
        data = result.save(target, external_data=external_data.value)
    delivery = Delivery(written=str(target) if written else "", data=tuple(map(str, data)))
    report = replace(result, delivery=delivery)
    if form is Format.JSON:
        from onnxpad.report.json import json_of

        write(json_of(report))
    elif not (quiet and report.is_quiet_success):
        write(report.text(screen(), "full" if verbose else "brief"))
    if not result.ok:
        report_error(f"{result.outcome}: {result.reason}")
    return report.exit_code
