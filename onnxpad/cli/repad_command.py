"""`onnxpad repad`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from onnxpad.cli.fix_command import require_apart, target_of
from onnxpad.cli.options import (
    AbsoluteOption,
    ExternalData,
    ExternalDataOption,
    Format,
    FormatOption,
    InputsOption,
    IsolatedOption,
    KeepInvalidOption,
    QuietOption,
    RelativeOption,
    RunTimeoutOption,
    configuration_of,
    options_given,
    path,
    takes_options,
)
from onnxpad.cli.output import called, report_error, saved, screen, write


@takes_options(inputs=("shapes", "dims"))
def repad(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The model to repad.", parser=path)
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="FRAMEWORK",
            help="tensorflow, keras, tflite, pytorch, caffe, cudnn, paddle, coreml, "
            "coreml-top-left, onnx-same-upper, onnx-same-lower, or valid to pad nothing.",
        ),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NODE", help="Repad this operator alone. Repeatable."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write; replaces a file of that name.  [default: MODEL.repadded.onnx]",
            parser=path,
        ),
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace the model.")] = False,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The framework's inputs and outputs, which the result has to reproduce: .npz, or "
            "a folder of ONNX test data.",
            parser=path,
        ),
    ] = None,
    inputs: InputsOption = None,
    rtol: RelativeOption = None,
    atol: AbsoluteOption = None,
    run_timeout: RunTimeoutOption = None,
    keep_invalid: KeepInvalidOption = False,
    external_data: ExternalDataOption = ExternalData.COPY,
    form: FormatOption = Format.TEXT,
    quiet: QuietOption = False,
    isolated: IsolatedOption = False,
    **options: Any,
) -> int:
    """Bring the padding of a model to another framework's convention, and say what that changes.

    Each operator that keeps the size (SAME), pads nothing (VALID) or is causal pads as the
    framework does for the same intent; any other one stays, with the reason. Unlike fix, this
    changes results: both models run on the same inputs, and the report says how far apart they are.

    Exit codes: 0 repadded or nothing to change, 2 bad usage or unreadable input, 3 the reference is
    not reproduced, or the result does not run though the original does: nothing is written then.
    """
    target = target_of(model, output, in_place=in_place, command="repad", ending="repadded")
    require_apart(target, reference, inputs)
    typed = options_given(options)
    applied = configuration_of(model, typed, isolated=isolated)

    from onnxpad.api import repad as api
    from onnxpad.report import Delivery

    result = called(
        api.repad,
        applied,
        model,
        to,
        only=only or (),
        inputs=inputs,
        reference=reference,
        rtol=rtol,
        atol=atol,
        run_timeout=run_timeout,
        quiet=quiet,
        **(applied.options if applied else typed),
    )
    written = (result.ok or keep_invalid) and (result.is_changed or output is not None)
    data: tuple[Path, ...] = ()
    if written:
        keeps = {"external_data": external_data.value, "keep_invalid": keep_invalid}
        data = saved(result, target, quiet=quiet, **keeps)
    delivery = Delivery(
        written=str(model if in_place else target) if written else "",
        older=str(target) if not (written or in_place) and target.exists() else "",
        data=tuple(map(str, data)),
    )
    report = replace(result, delivery=delivery)
    if form is Format.JSON:
        from onnxpad.report.json import json_of

        write(json_of(report))
    elif not (quiet and report.is_quiet_success):
        write(report.text(screen()))
    if not result.ok:
        report_error(result.failure)
    return report.exit_code
