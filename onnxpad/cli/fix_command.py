"""`onnxpad fix`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from onnxpad.cli.options import (
    CHOSEN,
    HOW,
    TARGETS,
    ExternalData,
    ExternalDataOption,
    Format,
    FormatOption,
    HtmlOption,
    InputsOption,
    IsolatedOption,
    KeepInvalidOption,
    QuietOption,
    RunTimeoutOption,
    VerboseOption,
    configuration_of,
    options_given,
    path,
    takes_options,
)
from onnxpad.cli.output import (
    called,
    check_target,
    painter,
    report_error,
    saved,
    screen,
    tell_page,
    write,
    write_page,
)
from onnxpad.errors import OutputError, UsageError
from onnxpad.options import Options
from onnxpad.process import gc_paused_for_good

if TYPE_CHECKING:
    from onnxpad.report import Outcome


@gc_paused_for_good()
@takes_options(in_place=(*HOW, *TARGETS), diff=("strict", *CHOSEN))
def fix(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The model to fix.", parser=path)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write; replaces a file of that name.  [default: MODEL.fixed.onnx]",
            parser=path,
        ),
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace the model.")] = False,
    form: FormatOption = Format.TEXT,
    html: HtmlOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            help="Write nothing, and print a diff of the nodes that change; exit 1 if any does.",
        ),
    ] = False,
    no_validate: Annotated[
        bool, typer.Option("--no-validate", help="Do not run the models to compare them.")
    ] = False,
    inputs: InputsOption = None,
    keep_invalid: KeepInvalidOption = False,
    run_timeout: RunTimeoutOption = None,
    external_data: ExternalDataOption = ExternalData.COPY,
    isolated: IsolatedOption = False,
    **options: Any,
) -> int:
    """Rewrite a model's padding, prove each change, compare both models, and write the result.

    Exit codes: 0 fixed or nothing to do; 1 a rewrite would be made (--diff), or a target
    does not take padding that is left; 2 bad usage or unreadable input; 3 validation failed,
    nothing is written; 5 nothing could be compared. The first line of the report says why.
    """
    target = target_of(model, output, in_place=in_place)
    named = str(model if in_place else target)
    require_apart(target, inputs)
    check_target(html, [model, target, inputs])
    typed = options_given(options)
    applied = configuration_of(model, typed, isolated=isolated)
    user_options = Options.from_mapping(applied.options if applied else typed)

    from onnxpad.api import fix as api
    from onnxpad.report import Delivery, Outcome

    result = called(
        api.fix,
        applied,
        model,
        validate=not no_validate,
        inputs=inputs,
        run_timeout=run_timeout,
        quiet=quiet,
        **user_options.keywords,
    )
    outcome = result.outcome
    written = not diff and _is_written(
        outcome, is_named=output is not None, keep_invalid=keep_invalid
    )
    data: tuple[Path, ...] = ()
    if written:
        keeps = {"external_data": external_data.value, "keep_invalid": keep_invalid}
        data = saved(result, target, quiet=quiet, **keeps)
    difference = None
    if diff:
        from onnxpad.report.diff import unified_diff

        names = str(model), named
        whole = verbose or form is Format.JSON
        difference = unified_diff(*result.outlines(), names, result.functions(), fold=not whole)
    delivery = Delivery(
        check=diff,
        written=named if written else "",
        older=str(target) if not (written or diff or in_place) and target.exists() else "",
        data=tuple(map(str, data)),
        diff=difference,
        html=str(html or ""),
    )
    report = replace(result, delivery=delivery)
    if html is not None:
        write_page(html, report.to_html())
    if form is Format.JSON:
        from onnxpad.report.json import json_of

        write(json_of(report))
    elif quiet and report.is_quiet_success:
        pass
    elif difference is not None:
        from onnxpad.report.diff import painted

        write(painted(difference, painter()))
    else:
        write(report.text(screen(), "full" if verbose else "brief"))
    if form is Format.TEXT and not (quiet and report.is_quiet_success):
        tell_page(delivery.html)
    if outcome is Outcome.INVALID:
        told = "the rewritten model does not compute what the original computes"
        report_error(f"validation failed: {told}")
    return report.exit_code


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
        return _behind_links(model)
    if output is not None and str(output) == "-":
        raise UsageError("--output - names no file: models are not written to stdout; name a file")
    target = output or model.with_name(f"{model.name.removesuffix('.onnx')}.{ending}.onnx")
    there = target.exists()
    if _behind_links(target) == _behind_links(model) or (there and target.samefile(model)):
        other = "name another file" if command == "match" else "--in-place replaces it"
        raise UsageError(f"{target}: is the model itself; {other}")
    if there and not target.is_file():
        raise OutputError(f"{target}: is not a file; give --output the name of a file to write")
    if output is not None and not output.parent.is_dir():
        raise OutputError(f"{output}: there is no folder {output.parent}; make it first")
    return target


def require_apart(target: Path, *arrays: Path | None) -> None:
    """Raises if the result would replace arrays that are given."""
    for each in arrays:
        if each is not None and target.exists() and each.exists() and target.samefile(each):
            raise UsageError(f"{target}: is the file of arrays given; name another file")


def _behind_links(path: Path) -> Path:
    """The path with symbolic links resolved; `Path.resolve` fails on loops in some versions."""
    return Path(os.path.realpath(path))


def _is_written(outcome: "Outcome", *, is_named: bool, keep_invalid: bool) -> bool:
    """Whether the result goes to disk; an unchanged one does only if --output names a file."""
    return {"unchanged": is_named, "fixed": True, "invalid": keep_invalid}[outcome.value]
