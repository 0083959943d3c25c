"""A command for many models, in processes of their own, told as one report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from onnxpad.cli.output import ProgressBar, called, screen, write
from onnxpad.errors import UsageError


def over_all(
    command: str,
    found: Mapping[Path, Path | None],
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    *,
    reads: int = 1,
    targets: Iterable[str] = (),
    form: str,
    quiet: bool,
    options: dict[str, Any],
    one: dict[str, Any],
) -> int:
    """Runs a command on each model, and tells of all; returns the exit code.

    Args:
        command: Its name.
        found: A second path by each model.
        call: A function of a module, which returns the report on a model.
        arguments: What it takes behind both paths.
        reads: How many of both it reads.
        targets: Targets, which may be files that it reads.
        form: The format of the report.
        quiet: Whether only failing models are told, without a bar.
        options: Those of such runs.
        one: Options that are for one model alone, by name.

    Raises:
        UsageError: An option for one model is given.
    """
    for name, value in one.items():
        if value:
            raise UsageError(f"{name} is for one model; leave it out, or name one model alone")

    from onnxpad.folders.serving import outcomes
    from onnxpad.report import WORST, FolderReport
    from onnxpad.report.json import json_of

    asked = {**options, "jobs": options["jobs"] or 1, "reads": reads, "targets": targets}
    with ProgressBar(hidden=quiet) as progress:
        made = [
            each if form == "json" else replace(each, text="")
            for each in outcomes(call, found, *arguments, progress=progress, **asked)
        ]
    made.sort(key=lambda each: (WORST.index(each.exit_code), each.path))
    report = FolderReport(command, tuple(made))
    if form == "json":
        write(json_of(report))
    else:
        lines = report.text(screen()).splitlines(keepends=True)
        failing = sum(each.exit_code > 0 for each in made)
        write("".join(lines[:failing] if quiet else lines))
    return report.exit_code


def fixed(model: Path, target: Path, copies: bool, validate: bool, typed: dict[str, Any]) -> Any:
    """The report on a model that was fixed and written."""
    from onnxpad.api.fix import fix
    from onnxpad.folders.serving import written

    return written(called(fix, model, typed=typed, validate=validate), target, copies=copies)


def checked(model: Path, _: Path, convention: str, typed: dict[str, Any], fail_on: Any) -> Any:
    """The report on a model that was checked."""
    from onnxpad.api.check import check
    from onnxpad.finding import Severity

    configured = {**typed, "fail_on": fail_on}
    found = called(check, model, typed=typed, configured=configured, convention=convention)
    return found.report(fail_on or Severity.WARNING)


def validated(old: Path, new: Path, typed: dict[str, Any], keywords: dict[str, Any]) -> Any:
    """The report on two models."""
    from onnxpad.api.validate import validate

    return called(validate, old, new, typed=typed, **keywords)
