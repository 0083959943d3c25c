"""`onnxpad check`."""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from onnxpad.cli.options import CHOSEN, HOW, MANY, Asked, CheckFormat, options_given, takes
from onnxpad.cli.output import (
    options_for,
    report_beside,
    report_error,
    require_page,
    screen,
    tell_page,
    write,
    write_page,
)
from onnxpad.cli.sizes import Lacking, require_used, with_sizes
from onnxpad.errors import MismatchError, ModelError
from onnxpad.finding import Severity
from onnxpad.options import Options
from onnxpad.process import gc_paused_for_good

if TYPE_CHECKING:
    from onnxpad.report import CheckReport, FileReport


@takes(
    *("paths!", "convention", *MANY, *HOW, *CHOSEN),
    *("check_form", "html", "quiet", "verbose", "fail_on"),
)
def check(asked: Asked) -> int:
    """Report the padding that fix would rewrite, and the padding that stays and why.

    Exit codes: 0 nothing at or above --fail-on; 1 findings at or above it; 2 bad usage or an
    unreadable model (the others are still reported).
    """
    require_page(asked, *asked.paths)
    if {*asked.some(*MANY).values()} != {None}:
        from onnxpad.cli.many import checked, over_all
        from onnxpad.folders import paths

        return over_all(asked, "check", checked, paths.models_in(asked.paths))
    given = options_given(asked)
    known: dict[Path, Any] = {}
    models = models_in(asked.paths)
    chosen = {path: options_for(asked, path, known) for path, error in models.items() if not error}

    with gc_paused_for_good():
        from onnxpad.api import check as api
        from onnxpad.report import CheckReport, FileReport

    files, lacking = list[FileReport](), list[Lacking]()
    for path, problem in models.items():
        try:
            if problem is not None:
                raise problem
            options, config = chosen[path]
            call = partial(api.check, path, convention=asked.convention)
            result, lacks = with_sizes(call, options)
            lacking.append(lacks)
            files.append(replace(result, config=config))
        except (ModelError, MismatchError, OSError) as error:
            if isinstance(error, MismatchError):  # it has the names
                lacking.append({})
            is_missing = error is _EMPTY or not os.path.lexists(path)
            files.append(FileReport(str(path), error=_about(path, error), is_missing=is_missing))
    require_used(lacking)  # a name that no model has is bad usage, known when all were asked
    for file in files:
        if file.error:
            report_error(file.error)
    report = CheckReport(
        Options.from_mapping({name: given[name] for name in given.keys() - {"shapes", "dims"}}),
        asked.fail_on or Severity.WARNING,
        tuple(files),
        asked.convention or "",
        str(asked.html or ""),
        fix_command=_command(files, is_optioned=bool(given.keys() - {*CHOSEN})),
    )
    if asked.html is not None:
        from onnxpad.page.document_page import page_of

        write_page(asked.html, page_of(report.document("full")))
    _tell(asked, report)
    return report.exit_code


def _tell(asked: Asked, report: "CheckReport") -> None:
    """Tells a report in its format."""
    from onnxpad.report.text import configurations

    form, configs = asked.check_form, [file.config for file in report.files if file.config]
    if form == CheckFormat.JSON:
        from onnxpad.report.json import json_of

        write(json_of(report))
        return
    if form == CheckFormat.SARIF:
        from onnxpad.report.ci.sarif import check_sarif

        write(check_sarif(report))
        for line in configurations(configs):  # it has no place for them
            report_beside(line)
        return
    is_text = form != CheckFormat.GITHUB
    if not is_text:
        from onnxpad.report.ci.github import check_github

        write(check_github(report, quiet=asked.quiet), commands=True)
    if asked.quiet:
        if is_text:
            from onnxpad.report.documents.check_document import findings_text

            failing = [(file, file.failing(report.fail_on)) for file in report.files]
            told = [replace(file, findings=found, notes=()) for file, found in failing]
            write(findings_text(told, screen()))
        # A configuration that is elsewhere may have come with a model.
        places = [(each, Path(each.path).absolute().parent) for each in configs]
        elsewhere = [each for each, place in places if not Path.cwd().is_relative_to(place)]
        write("".join(f"{line}\n" for line in configurations(elsewhere)))
        return
    if is_text:
        write(report.text(screen(), "full" if asked.verbose else "brief"))
    else:
        from onnxpad.report.layout import by_path

        write(by_path(report.document("full").groups[-1], screen()))
    tell_page(asked.html)


def _command(files: "Sequence[FileReport]", *, is_optioned: bool) -> str:
    """A command for the rewrites that `fix` would make of models; empty without any."""
    import shlex

    from onnxpad.report.text import shown

    paths = [file.path for file in files if any(each.fixable for each in file.findings)]
    if not paths:
        return ""
    name = f"./{paths[0]}" if paths[0].startswith("-") else paths[0]
    told = f"onnxpad fix {shown(shlex.quote(name)) if len(paths) == 1 else 'MODEL'}"
    told += " --in-place" * (len(files) > 1)  # else the next check finds the old models, too
    told += " and the same options" * is_optioned
    return told if len(paths) == 1 else f"{told} for each of {len(paths):,} models"


_EMPTY = ModelError("no .onnx file in this folder")


def models_in(arguments: Iterable[Path]) -> dict[Path, Exception | None]:
    """The models that arguments name, or that are in folders, each once.

    With the reason where there is none. Hidden folders and links to folders are left out.
    """
    found: dict[Path, Exception | None] = {}
    for argument in arguments:
        models, failures = [argument], list[OSError]()
        if os.path.isdir(argument):  # noqa: PTH112  # Path.is_dir raises where nobody may look
            models = []
            for parent, folders, names in os.walk(argument, onerror=failures.append):
                folders[:] = [name for name in folders if not name.startswith(".")]
                models += (Path(parent, name) for name in names if name.lower().endswith(".onnx"))
        places = [Path(os.fsdecode(each.filename or argument)) for each in failures]
        found |= dict(zip(places, failures, strict=True))
        if not models and not failures:
            found[argument] = _EMPTY
        seen = {each.absolute() for each in found}
        found |= dict.fromkeys(each for each in sorted(models) if each.absolute() not in seen)
    return found


def _about(path: Path, error: Exception) -> str:
    """The error in one line that names the path exactly once."""
    from onnxpad.cli.failures import explained

    _, message, _ = explained(error)
    named = getattr(error, "path", getattr(error, "filename", None))
    is_named = named is not None and Path(os.fsdecode(named)) == path
    return message if is_named else f"{path}: {message}"
