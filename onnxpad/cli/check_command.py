"""`onnxpad check`."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from onnxpad.cli.options import (
    ADVANCED,
    CHOSEN,
    HOW,
    TARGETS,
    CheckFormat,
    HtmlOption,
    IsolatedOption,
    QuietOption,
    VerboseOption,
    configurations_of,
    options_given,
    path,
    takes_options,
    words_typed,
)
from onnxpad.cli.output import (
    check_target,
    explained,
    report_beside,
    report_error,
    screen,
    tell_page,
    write,
    write_page,
)
from onnxpad.errors import MismatchError, ModelError, UsageError
from onnxpad.finding import Severity
from onnxpad.options import TYPED, Options
from onnxpad.process import gc_paused_for_good

if TYPE_CHECKING:
    from onnxpad.api.check import CheckResult
    from onnxpad.report import CheckReport, FileReport
    from onnxpad.report.documents import View


@takes_options(paths=(*HOW, *TARGETS, "strict"), fail_on=CHOSEN)
def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Models, or folders to search for them.", parser=path
        ),
    ],
    convention: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Warn of operators that do not pad as this framework does: tensorflow, keras, "
            "pytorch, caffe, paddle, coreml, tflite and so on. (--select PAD6 says what fits.)",
        ),
    ] = None,
    form: Annotated[
        CheckFormat,
        typer.Option(
            "--format",
            help="Format of the report: for people or programs (json), for code scanning (sarif), "
            "or as annotations of GitHub Actions (github).",
        ),
    ] = CheckFormat.TEXT,
    html: HtmlOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    fail_on: Annotated[
        Severity | None,
        typer.Option(
            show_default=str(Severity.WARNING), help="The least severity that makes the check fail."
        ),
    ] = None,
    exit_zero: Annotated[
        bool,
        typer.Option(
            "--exit-zero",
            help="Exit with 0 whatever is found.",
            rich_help_panel=ADVANCED,
        ),
    ] = False,
    statistics: Annotated[
        bool,
        typer.Option(
            "--statistics",
            help="Only count what is found, by code.",
            rich_help_panel=ADVANCED,
        ),
    ] = False,
    isolated: IsolatedOption = False,
    **options: Any,
) -> int:
    """Report the padding that fix would rewrite, and the padding that stays and why.

    Exit codes: 0 nothing at or above --fail-on, or --exit-zero; 1 findings at or above it; 2 bad
    usage or an unreadable model (the others are still reported).
    """
    check_target(html, paths)
    if statistics and form is not CheckFormat.TEXT:
        raise UsageError(
            f"--statistics is text: leave out --format {form}, or count its findings by code"
        )
    typed = options_given(options)
    listed = [(argument, *_models(argument)) for argument in paths]
    models = {model for _, found, _ in listed for model in found}
    applied = configurations_of(models, {**typed, "fail_on": fail_on}, isolated=isolated)
    fail_on = fail_on or Severity.WARNING
    words = words_typed({**options, "shapes": None, "dims": None}) + ["--isolated"] * isolated
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
    lists = form is CheckFormat.TEXT and not statistics
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
        str(html or ""),
        exit_zero=exit_zero,
        fix_command=fix_command(files, words, sizes),
    )
    if html is not None:
        from onnxpad.page.document_page import page_of

        write_page(html, page_of(report.document("full")))
    if statistics:
        from onnxpad.report.documents.check_document import statistics_group
        from onnxpad.report.layout import by_path

        write(by_path(statistics_group(report, quiet=quiet), place))
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
        tell_page(report.html)
    else:
        from onnxpad.report.layout import by_path

        write(by_path(report.document(view).groups[-1], place))
        tell_page(report.html)
    return report.exit_code


_FOR_PEOPLE = {CheckFormat.TEXT, CheckFormat.GITHUB}


def _rendered(report: "CheckReport", form: CheckFormat) -> str:
    """The report for a program."""
    if form is CheckFormat.SARIF:
        from onnxpad.report.ci.sarif import check_sarif

        return check_sarif(report)
    from onnxpad.report.json import json_of

    return json_of(report)


def fix_command(files: "Sequence[FileReport]", words: Sequence[str], sizes: "SharedSizes") -> str:
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


class SharedSizes:
    """Sizes for several models; each model gets those whose input or dimension it has."""

    def __init__(self, shapes: Mapping[str, str], dims: Mapping[str, str]) -> None:
        """Keeps the sizes given by `--shape` and `--dim`, by name."""
        self.sizes = {("shapes", name): text for name, text in shapes.items()}
        self.sizes |= {("dims", name): text for name, text in dims.items()}
        self._lacking: dict[tuple[str, str], list[str]] = {key: [] for key in self.sizes}
        self._taken: dict[str, list[str]] = {}
        self._asked = 0

    def words(self, model: str) -> list[str]:
        """Those that a model took, as they are typed; without them where it was not asked."""
        return self._taken.get(model, [])

    def result_of(self, ask: "Callable[..., CheckResult]", model: Path) -> "CheckResult":
        """The result of `ask` for one model, given only the sizes whose name it has."""
        left = dict(self.sizes)
        while True:
            sizes: dict[str, dict[str, str]] = {"shapes": {}, "dims": {}}
            for (kind, name), text in left.items():
                sizes[kind][name] = text
            try:
                result = ask(model, **sizes)
            except MismatchError as error:
                if not error.missing:
                    self._asked += 1
                    raise
                for key, told in error.missing.items():
                    self._lacking[key].append(told)
                    del left[key]
            else:
                self._asked += 1
                self._taken[str(model)] = [
                    word
                    for (kind, name), text in left.items()
                    for word in (TYPED[kind].option, f"{name}={text}" if name else text)
                ]
                return result

    def require_used(self) -> None:
        """Raises unless each name is in at least one of the models that could be read.

        Raises:
            UsageError: A name is in none of them.
        """
        for (kind, name), errors in self._lacking.items():
            if not errors or len(errors) < self._asked:
                continue
            if self._asked == 1:
                raise UsageError(errors[0])
            lacks = f"{'an input' if kind == 'shapes' else 'a dimension'} {name!r}"
            lacks = lacks if name else "a single input, which a shape without a name is about"
            raise UsageError(f"none of the {self._asked} models has {lacks}")


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
            yield FileReport(str(argument), error=why, is_missing=True)
        for model in models:
            if model.absolute() in seen:
                continue
            seen.add(model.absolute())
            try:
                result = ask(model)
            except (ModelError, MismatchError, OSError) as error:
                is_missing = not os.path.lexists(model)
                yield FileReport(str(model), error=_about(model, error), is_missing=is_missing)
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
