"""`onnxpad check`. Imports api, collection, errors, finding and report."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onnxpad import collection
from onnxpad.cli.options import (
    DimOption,
    Dynamic,
    DynamicOption,
    Format,
    FormatOption,
    ShapeOption,
    StrictOption,
    Style,
    StyleOption,
    TrustOption,
    codes,
    given,
    path,
)
from onnxpad.cli.output import explained, painter, report_error, write
from onnxpad.errors import OnnxpadError
from onnxpad.finding import Severity

if TYPE_CHECKING:
    from onnxpad.api import CheckResult
    from onnxpad.report import FileReport


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Models, or folders to search for them.", parser=path
        ),
    ],
    style: StyleOption = Style.FOLD,
    dynamic: DynamicOption = Dynamic.KEEP,
    shape: ShapeOption = None,
    dim: DimOption = None,
    trust_dim_names: TrustOption = False,
    strict: StrictOption = False,
    form: FormatOption = Format.TEXT,
    fail_on: Annotated[
        Severity, typer.Option(help="The least severity that makes the check fail.")
    ] = Severity.WARNING,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Only these codes or prefixes (PAD1), with commas."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="All but these codes or prefixes, with commas."),
    ] = None,
) -> int:
    """Report the padding that `fix` would rewrite, and the padding that stays and why.

    Exit codes: 0 nothing at or above --fail-on, 1 findings at or above it, 2 bad usage or an
    unreadable model (the others are still reported).
    """
    selected, ignored = codes("--select", select or ()), codes("--ignore", ignore or ())

    with collection.paused_for_good():
        from onnxpad import api
        from onnxpad.report import CheckReport

    ask = partial(
        api.check,
        style=style.value,
        dynamic=dynamic.value,
        shapes=given("--shape", shape or ()),
        dims=given("--dim", dim or ()),
        trust_dim_names=trust_dim_names,
        strict=strict,
        select=selected,
        ignore=ignored,
    )
    paint = painter()
    files: list[FileReport] = []
    for file in _checked(paths, ask, fail_on):
        files.append(file)
        if file.error:
            report_error(file.error)
        elif form is Format.TEXT:
            from onnxpad.report.text import file_text

            write(file_text(file, paint))
    report = CheckReport(style.value, fail_on, tuple(files))
    if form is Format.JSON:
        from onnxpad.report.json import check_json

        write(check_json(report))
    else:
        from onnxpad.report.text import check_summary

        write(check_summary(report, paint))
    return report.exit_code


def model_files(folder: Path) -> list[Path]:
    """The `.onnx` files below a folder, sorted; hidden folders and links to folders are left out.

    Raises:
        OSError: When a folder below it cannot be read.
    """

    def unreadable(error: OSError) -> None:
        raise error

    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(parent, name) for name in names if name.lower().endswith(".onnx"))
    return sorted(found)


def _checked(
    paths: Sequence[Path],
    ask: "Callable[[Path], CheckResult]",
    fail_on: Severity,
) -> "Iterator[FileReport]":
    """A report a model, each model once; what cannot be read becomes a report too."""
    from onnxpad.report import FileReport

    seen: set[Path] = set()
    for argument in paths:
        try:
            models = model_files(argument) if argument.is_dir() else [argument]
        except OSError as error:
            yield FileReport(str(argument), error=_about(argument, error))
            continue
        if not models:
            yield FileReport(str(argument), error=f"{argument}: no .onnx file in this folder")
        for model in models:
            if model in seen:
                continue
            seen.add(model)
            try:
                result = ask(model)
            except (OnnxpadError, OSError) as error:
                yield FileReport(str(model), error=_about(model, error))
            else:
                failing = len(result.failing(fail_on))
                yield FileReport(str(model), result.findings, failing)


def _about(path: Path, error: Exception) -> str:
    """The error in one line that names the path, once."""
    message = explained(error).message
    return message if str(path) in message else f"{path}: {message}"
