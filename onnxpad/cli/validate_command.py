"""`onnxpad validate`."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from onnxpad.arguments import sizes_by_name
from onnxpad.cli.options import (
    ADVANCED,
    AbsoluteOption,
    Format,
    FormatOption,
    HtmlOption,
    IsolatedOption,
    QuietOption,
    RelativeOption,
    RunTimeoutOption,
    VerboseOption,
    configuration_of,
    path,
)
from onnxpad.cli.output import (
    called,
    check_target,
    report_error,
    screen,
    tell_page,
    write,
    write_page,
)
from onnxpad.errors import RUNTIME


def validate(
    original: Annotated[
        Path, typer.Argument(metavar="ORIGINAL", help="The model to compare with.", parser=path)
    ],
    rewritten: Annotated[
        Path | None,
        typer.Argument(
            metavar="[REWRITTEN]", help="The model to check; or give --reference.", parser=path
        ),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROVIDER",
            help="cpu, cuda, tensorrt, auto (CUDA where it runs), an installed plugin (openvino, "
            f"webgpu, tensorrt-rtx) or {RUNTIME}'s name of one; repeatable.  [default: cpu]",
        ),
    ] = None,
    no_fallback: Annotated[
        bool, typer.Option("--no-fallback", help="Fail where nodes fall back to the CPU.")
    ] = False,
    inputs: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Inputs to use: .npz, .npy, or a folder of ONNX test data (input_0.pb).",
            parser=path,
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A framework's inputs and outputs: .npz, or such a folder.",
            parser=path,
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            help="How many inputs to draw.  [default: 1]",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="The seed of the first; the next count up.  [default: 0]",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[INPUT=]SIZES",
            help="Draw an input of these sizes, such as input=1,3,224,224 or 1x3x224x224; ? leaves "
            "one open. Repeatable.",
        ),
    ] = None,
    dim: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SIZE",
            help="Draw with this size of a named dimension (height=224), or with sizes from a "
            "range (height=32..1024, height=32..1024:32 for multiples of 32). Repeatable.",
        ),
    ] = None,
    rtol: RelativeOption = None,
    atol: AbsoluteOption = None,
    run_timeout: RunTimeoutOption = None,
    form: FormatOption = Format.TEXT,
    html: HtmlOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    isolated: IsolatedOption = False,
) -> int:
    """Run both models on the same inputs and compare their outputs.

    The report gives the greatest difference of each output, absolute (max abs) and relative to the
    greatest magnitude in the expected output. If a reference is not reproduced and padding may be
    why, its last line is the match command to run.

    Exit codes: 0 they agree, 2 bad usage or unreadable input, 3 they differ, 4 a provider asked
    for by name does not run here, 5 nothing, or not all that was asked for, could be compared.
    """
    from onnxpad.api import validate as api

    check_target(html, [original, rewritten, inputs, reference])
    typed = {
        "shapes": sizes_by_name("--shape", shape or ()),
        "dims": sizes_by_name("--dim", dim or ()),
    }
    applied = None
    if inputs is None and reference is None:  # else nothing is drawn
        applied = configuration_of(original, typed, isolated=isolated)
    result = called(
        api.validate,
        applied,
        original,
        rewritten,
        providers=provider or ("cpu",),
        fallback=not no_fallback,
        inputs=inputs,
        reference=reference,
        samples=samples,
        seed=seed,
        **typed,
        rtol=rtol,
        atol=atol,
        run_timeout=run_timeout,
        quiet=quiet,
    )
    report = replace(result, html=str(html or ""))
    if html is not None:
        write_page(html, report.to_html())
    if form is Format.JSON:
        from onnxpad.report.json import json_of

        write(json_of(report))
    elif not (quiet and report.is_quiet_success):
        write(report.text(screen(), "full" if verbose else "brief"))
        tell_page(report.html)
    if not result.ok:
        what = "validation failed: " if report.outcome == "failed" else ""
        report_error(f"{what}{api.failure(result)}")
    return report.exit_code
