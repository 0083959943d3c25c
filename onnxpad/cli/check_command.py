"""`onnxpad check`."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from onnxpad.cli.options import (
    HOW,
    CheckFormat,
    configurations_of,
    options_given,
    takes,
    words_typed,
)
from onnxpad.cli.output import (
    explained,
    report_beside,
    report_error,
    require_page,
    screen,
    tell_page,
    write,
    write_page,
)
from onnxpad.cli.sizes import SharedSizes
from onnxpad.errors import MismatchError, ModelError
from onnxpad.finding import Severity
from onnxpad.options import Options
from onnxpad.process import gc_paused_for_good

if TYPE_CHECKING:
    from onnxpad.api.check import CheckResult
    from onnxpad.report import CheckReport, FileReport
    from onnxpad.report.documents import View


@takes(*HOW, "select", "ignore")
def check(
    paths: list[Path],
    convention: str | None = None,
    form: CheckFormat = CheckFormat.TEXT,
    html: Path | None = None,
    quiet: bool = False,
    verbose: bool = False,
    fail_on: Severity | None = None,
    **options: Any,
) -> int:
    """Report the padding that fix would rewrite, and the padding that stays and why.

    Exit codes: 0 nothing at or above --fail-on; 1 findings at or above it; 2 bad usage or an
    unreadable model (the others are still reported).
    """
    require_page(html, paths)
    typed = options_given(options)
    listed = [(argument, *_models(argument)) for argument in paths]
    models = {model for _, found, _ in listed for model in found}
    applied = configurations_of(models, {**typed, "fail_on": fail_on})
    fail_on = fail_on or Severity.WARNING
    words = words_typed({**options, "shapes": None, "dims": None})
    sizes = SharedSizes(typed["shapes"], typed["dims"])
    user_options = _without_sizes(typed)
    own_options = {model: _without_sizes(own.options) for model, own in applied.items()}

    with gc_paused_for_good():
        from onnxpad.api import check as api
        from onnxpad.report import CheckReport

    def ask(model: Path) -> "CheckResult":
        own = applied.get(model)
        call = partial(own.result_of, api.check) if own else api.check
        asked = own_options.get(model, user_options)
        return sizes.result_of(partial(call, convention=convention, **asked.keywords), model)

    found = _checked(listed, ask)
    if sizes.sizes:  # a name that no model has is bad usage, known only when all were asked
        found = iter(tuple(found))
        sizes.require_used()
    place = screen()
    lists = form is CheckFormat.TEXT
    view: View = "brief" if lists and not verbose else "full"
    files: list[FileReport] = []
    for file in found:
        files.append(file)
        if file.error:
            report_error(file.error)
    report = CheckReport(
        user_options,
        fail_on,
        tuple(files),
        convention or "",
        html=str(html or ""),
        fix_command=fix_command(files, words, sizes),
    )
    if html is not None:
        from onnxpad.page.document_page import page_of

        write_page(html, page_of(report.document("full")))
    if form not in _FOR_PEOPLE:
        write(_rendered(report, form))
        if form is not CheckFormat.JSON:
            _tell_configurations(report)
        return report.exit_code
    if form is CheckFormat.GITHUB:
        from onnxpad.report.ci.github import check_github

        write(check_github(report, quiet=quiet), commands=True)
    if quiet:
        if lists:
            from onnxpad.report.documents.check_document import findings_text

            told = [replace(each, findings=each.failing(fail_on), notes=()) for each in files]
            write(findings_text(told, place))
        _tell_elsewhere(report)
    elif lists:
        write(report.text(place, view))
        tell_page(html)
    else:
        from onnxpad.report.layout import by_path

        write(by_path(report.document(view).groups[-1], place))
        tell_page(html)
    return report.exit_code


_FOR_PEOPLE = {CheckFormat.TEXT, CheckFormat.GITHUB}


def _rendered(report: "CheckReport", form: CheckFormat) -> str:
    """The report for a program."""
    if form is CheckFormat.SARIF:
        from onnxpad.report.ci.sarif import check_sarif

        return check_sarif(report)
    from onnxpad.report.json import json_of

    return json_of(report)


def fix_command(files: "Sequence[FileReport]", words: Sequence[str], sizes: SharedSizes) -> str:
    """A command to type for the rewrites that `fix` would make of models; empty without any.

    Args:
        files: The reports on the models.
        words: The options that were typed, but for sizes.
        sizes: The sizes.
    """
    paths = [file.path for file in files if any(each.fixable for each in file.findings)]
    if not paths:
        return ""
    import shlex

    from onnxpad.report.text import shown

    taken = [sizes.words(path) for path in paths]
    options = [*words, *taken[0]] if all(each == taken[0] for each in taken) else words
    name = paths[0] if len(paths) == 1 else "MODEL"
    name = f"./{name}" if name.startswith("-") else name
    place = ["--in-place"] * (len(files) > 1)  # else the next check finds the old models, too
    command = shown(shlex.join(["onnxpad", "fix", name, *place, *options]))
    return command if len(paths) == 1 else f"{command} for each of {len(paths):,} models"


def _tell_elsewhere(report: "CheckReport") -> None:
    """The lines of configurations that are neither of the working folder nor of one above it.

    They may have come with a model.
    """
    from onnxpad.report.text import configurations

    configs = (file.config for file in report.files)
    found = configurations(each for each in configs if each and _is_elsewhere(Path(each.path)))
    write("".join(f"{line}\n" for line in found))


def _is_elsewhere(path: Path) -> bool:
    """Whether a file is neither in the working folder nor above it."""
    try:
        return not Path.cwd().is_relative_to(path.absolute().parent)
    except OSError:  # the working folder was removed
        return True


def _tell_configurations(report: "CheckReport") -> None:
    """The lines of all configurations on stderr, for formats that have no place for them."""
    from onnxpad.report.text import configurations

    for line in configurations(file.config for file in report.files):
        report_beside(line)


def _without_sizes(typed: Mapping[str, Any]) -> Options:
    """The options that are asked of each model alike."""
    others = {"shapes", "dims", "fail_on"}
    return Options.from_mapping({name: typed[name] for name in typed.keys() - others})


def model_files(folder: Path) -> tuple[list[Path], list[OSError]]:
    """The `.onnx` files below a folder, sorted, and the errors of parts that cannot be searched.

    Hidden folders and links to folders are left out.
    """
    found: list[Path] = []
    failures: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=failures.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(parent, name) for name in names if name.lower().endswith(".onnx"))
    return sorted(found), failures


def _checked(
    listed: "Sequence[tuple[Path, list[Path], list[OSError]]]",
    ask: "Callable[[Path], CheckResult]",
) -> "Iterator[FileReport]":
    """One report for each model, once; a model that cannot be read gets a report with the error."""
    from onnxpad.report import FileReport

    seen: set[Path] = set()
    for argument, models, failures in listed:
        for failure in failures:
            place = Path(os.fsdecode(failure.filename or argument))
            yield FileReport(str(place), error=_about(place, failure))
        if not models and not failures:
            why = f"{argument}: no .onnx file in this folder"
            yield FileReport(str(argument), error=why)
        for model in models:
            if model.absolute() in seen:
                continue
            seen.add(model.absolute())
            try:
                result = ask(model)
            except (ModelError, MismatchError, OSError) as error:
                yield FileReport(str(model), error=_about(model, error))
            else:
                yield result


def _models(argument: Path) -> tuple[list[Path], list[OSError]]:
    """The models that an argument names: those below a folder, or else the argument itself."""
    try:
        return model_files(argument) if argument.is_dir() else ([argument], [])
    except OSError as error:
        return [], [error]


def _about(path: Path, error: Exception) -> str:
    """The error in one line that names the path exactly once."""
    message = explained(error).message
    named = error.filename if isinstance(error, OSError) else getattr(error, "path", None)
    is_named = named is not None and Path(os.fsdecode(named)) == path
    return message if is_named else f"{path}: {message}"
