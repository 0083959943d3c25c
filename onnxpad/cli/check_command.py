"""`onnxpad check`."""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from onnxpad.api.sizes import held, with_sizes
from onnxpad.arguments import RESULT, fitting, models_below
from onnxpad.cli import output
from onnxpad.cli.configuration import options_of
from onnxpad.cli.options import CHOSEN, HOW, MANY, Asked, CheckFormat, options_given, takes
from onnxpad.cli.output import deliver, explained, report_beside, screen, write
from onnxpad.errors import MismatchError, ModelError, few
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

    Exit codes: 0 no findings that --fail-on names; 1 such findings; 2 bad usage or an
    unreadable model (the others are still reported).
    """
    output.require_page(asked, *asked.paths)
    fail_on = ",".join(asked.fail_on or ["warning"])
    if output.is_many(asked):  # a folder alone is told as it always was
        from onnxpad.cli.many import over_all
        from onnxpad.folders import paths

        how = {"fail_on": fail_on, "convention": asked.convention}
        return over_all(asked, "check", dict.fromkeys(paths.models_in(asked.paths)), how)
    if asked.convention:
        from onnxpad.frameworks.conventions.table import framework_named

        asked.convention = framework_named(asked.convention, "convention").name
    given = options_given(asked)
    results = list[str]()
    models = models_in(asked.paths, results)
    own = options_of(asked, [path for path, error in models.items() if not error])
    if results and own and not asked.quiet:
        report_beside(f"note: results of fix are checked if named: {few(results, 3)}")
    fails = {str(e.options.get("fail-on", fail_on)) if e else fail_on for _, e in own.values()}
    fail_on = fails.pop() if len(fails) == 1 else fail_on  # what holds for all
    with gc_paused_for_good():
        from onnxpad.api import check as api
        from onnxpad.report import CheckReport, FileReport

    is_one = len(models) == 1
    if not is_one:
        from onnxpad.folders.sizes import require_sizes

        require_sizes(own, given)
    files = list[FileReport]()
    for path, problem in ((each, e) for each, e in models.items() if e or each in own):
        try:
            if problem is not None:
                raise problem
            options, config = own[path]
            call = partial(api.check, path, convention=asked.convention)
            result, lacking = with_sizes(call, options, given if is_one else {})
            files.append(replace(result, config=held(config, lacking)))
        except (ModelError, MismatchError, OSError) as error:
            if isinstance(error, MismatchError) and is_one:
                raise
            told = explained(error)[1]
            if not told.startswith((f"{path}: ", f"{path} ")):
                told = f"{path}: {told}"
            files.append(FileReport(str(path), error=told))
            report_beside(f"error: {told}")
    report = CheckReport(
        Options(**{name: given[name] for name in given.keys() - {"shapes", "dims"}}),
        fail_on,
        tuple(files),
        asked.convention or "",
        fix_command=_command(asked.paths, files, is_optioned=bool(given.keys() - {*CHOSEN})),
    )
    return deliver(asked, report, text=partial(_told, asked, report))


def _told(asked: Asked, report: "CheckReport") -> str:
    from onnxpad.report.text import configurations

    configs = [(file.path, file.config) for file in report.files if file.config]
    if asked.check_form == CheckFormat.SARIF:
        from onnxpad.report.ci import check_sarif

        for line in configurations(configs):  # it has no place for them
            report_beside(line)
        return check_sarif(report)
    # A configuration that is elsewhere may have come with a model.
    places = [(each, Path(each[1].path).absolute().parent) for each in configs]
    elsewhere = [each for each, place in places if not Path.cwd().is_relative_to(place)]
    quiet = "".join(f"{line}\n" for line in configurations(elsewhere))
    if asked.check_form == CheckFormat.GITHUB:
        from onnxpad.report.ci import check_github
        from onnxpad.report.layout import text_of

        write(check_github(report, quiet=asked.quiet), commands=True)
        document = report.document("full")
        ending = replace(document, groups=document.groups[-1:])
        return quiet if asked.quiet else text_of(ending, screen())
    if asked.quiet:
        from onnxpad.report.documents.check_document import findings_text, merged

        failing = [(file, file.failing(report.fail_on)) for file in report.files]
        told = [replace(file, findings=found, notes=()) for file, found in failing]
        return findings_text([*map(merged, told)], screen()) + quiet
    return report.text(screen(), "full" if asked.verbose else "brief")


def _command(given: Sequence[Path], files: "Sequence[FileReport]", *, is_optioned: bool) -> str:
    import shlex

    from onnxpad.report.text import shown

    paths = [file.path for file in files if any(each.fixable for each in file.findings)]
    if not paths:
        return ""
    asked = [*map(str, given)] if len(given) <= 4 else ["MODEL..."]  # more are not read
    names = asked if len(files) > 1 else paths  # the folders and patterns that were named, too
    named = [f"./{each}" if each.startswith("-") else each for each in names]
    told = f"onnxpad fix {shown(shlex.join(named))}"
    if len(files) > 1:
        folder = f"{given[0]}.fixed" if len(given) == 1 and given[0].name else "fixed"
        told += f" -o {shown(shlex.quote(folder))}"
    return told + " and the same options" * is_optioned


def models_in(arguments: Iterable[Path], results: list[str]) -> dict[Path, Exception | None]:
    """The models that arguments name, or that are in folders, each once, or why there is none.

    Hidden folders and links to folders are left out, and results in folders, which are appended.
    """
    found: dict[Path, Exception | None] = {}

    def unread(error: OSError) -> None:
        found[Path(os.fsdecode(error.filename))] = error

    for argument in arguments:
        models, before, fits = list[Path](), len(found), fitting(argument)
        for path in [argument] if fits is None else fits:
            if os.path.isdir(path):  # noqa: PTH112  # Path.is_dir raises where nobody may look
                below = models_below(path, unread)
                results += (each for each in below if each.endswith(RESULT))
                models += (Path(each) for each in below if not each.endswith(RESULT))
            elif fits is None or not str(path).endswith(RESULT):
                models.append(path)
        if not models and len(found) == before:
            but = f" but for results (*{RESULT})" * bool(results)
            found.setdefault(argument, ModelError(f"there is no .onnx file here{but}"))
        seen = {each.absolute() for each in found}
        found |= dict.fromkeys(each for each in sorted(models) if each.absolute() not in seen)
    return found
