"""A command for many models, in processes of their own, told as one report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from onnxpad.api.sizes import require_sizes, with_sizes
from onnxpad.arguments import models_below
from onnxpad.cli.configuration import without_model
from onnxpad.cli.options import FILES, Asked, above, options_given
from onnxpad.cli.output import (
    called,
    deliver,
    is_painted,
    options_for,
    progress_bar,
    report_beside,
    require_page,
)
from onnxpad.errors import MismatchError, ModelError, UsageError, few
from onnxpad.finding import Severity
from onnxpad.folders.paths import RESULT, is_result, models_in

_APART = {"models", "paths", "original", "rewritten", "output", "jobs", "time_limit", "resume"} | {
    *("form", "check_form", "html", "quiet", "verbose")
}
"""What decides nothing about one model."""


class PartnerError(ModelError):
    """A model of one folder of which the other folder has none at this place."""

    kind = "no partner"


def over_all(
    asked: Asked,
    command: str,
    call: Callable[..., Any],
    found: Mapping[Path, Path | None],
    *options: Any,
    reads: int = 1,
) -> int:
    """Runs a command on each model, and tells of all; returns the exit code.

    The function of a module is called with a model and its second path, further options, and what
    was asked; it returns the report on a model. It reads the first path, or both.

    Raises:
        UsageError: An option is for one model, or is wrong for every model.
        ProviderError: A provider does not run here.
    """
    results = [each for each in asked.models or asked.paths or () if is_result(each)]
    if results and not asked.quiet:
        report_beside(f"note: {few(map(str, results), 3)}: *{RESULT} are no inputs of such a run")
    form = str(asked.form or asked.check_form or "text")
    one = [f"--{name}" for name in ("diff", "inputs", "reference") if getattr(asked, name)]
    for name in one + [f"--format {form}"] * (form not in {"text", "json"}):
        how = "leave it out, or name one model, without --jobs, --time-limit and --resume"
        raise UsageError(f"{name} is not for a run over many models; {how}")

    from onnxpad.folders.serving import outcomes, tiny
    from onnxpad.report import WORST, FolderReport
    from onnxpad.report.documents import View
    from onnxpad.report.documents.folder_document import OTHERS
    from onnxpad.report.layout import Screen

    require_page(asked, *found, *found.values())
    is_full = bool(form == "json" or asked.verbose or asked.html)  # what is told of each model
    of_one = Asked(**{name: each for name, each in vars(asked).items() if name not in _APART})

    def trial() -> None:
        known: dict[Path, Any] = {}
        for model in {each.parent: each for each in found}.values():
            options_for(asked, model, known)
        for line in () if asked.quiet else without_model(asked, known, found):
            report_beside(f"note: {line}")
        with suppress(MismatchError):
            call(tiny(), tiny() if reads > 1 else None, *options, of_one)
        require_sizes(found, options_given(asked))

    with progress_bar(hidden=asked.quiet) as progress:
        made = [
            each if is_full else replace(each, text="")
            for each in outcomes(
                call,
                found,
                *options,
                of_one,
                reads=reads,
                decide=deciding(asked, found) if asked.resume else (),
                jobs=1 if asked.jobs is None else asked.jobs,
                progress=progress,
                trial=trial,
                **asked.some("time_limit", "resume"),
            )
        ]
    made.sort(key=lambda each: (WORST.index(each.exit_code), each.path))
    below = models_below(asked.output, lambda error: None) if asked.output else ()
    others = sorted({*below} - {*map(str, found.values())})
    report = FolderReport(command, tuple(made), tuple(others))

    def text() -> str:
        view: View = "full" if asked.verbose and not asked.quiet else "brief"
        lines = report.text(Screen(None, is_painted()), view).splitlines(keepends=True)
        if not asked.quiet:
            return "".join(lines)
        pairs = zip_longest(lines, made)  # first come lines of models alone
        needing = (
            (e, it.exit_code or it.older or it.warnings if it else OTHERS in e) for e, it in pairs
        )
        return "".join(line for line, is_needing in needing if is_needing)

    return deliver(asked, report, text=text)


def partners(old: Path, new: Path) -> dict[Path, Path]:
    """The models of two folders by their place; or two models. The second may not be there."""
    if not (old.is_dir() or new.is_dir()):
        return {old: new}
    olds, news = ({*models_in([folder]).values()} for folder in (old, new))
    pairs = {each: (old / each, new / each) for each in sorted(olds | news)}
    return dict(pair if place in olds else pair[::-1] for place, pair in pairs.items())


def deciding(asked: Asked, models: Iterable[Path]) -> Iterator[Path]:
    """The files that decide too: targets, configurations of the models, and targets in these."""
    yield from map(Path, asked.target or ())
    near = [above(each / "model") for each in {each.parent for each in models}]
    for file in {folder / name for folders in near for folder in folders for name in FILES}:
        if file.is_file():
            yield file
            named = re.findall(r"[^\"'\n]+\.toml", file.read_text("utf-8", "replace"))
            yield from (file.parent / each for each in {*named})


def fixed(model: Path | bytes, target: Path | None, copies: bool, asked: Asked) -> Any:
    """The report on a model that was fixed and written; bytes are neither run nor written."""
    from onnxpad.api.fix import fix
    from onnxpad.folders.serving import written

    options, config = options_for(asked, model)
    runs = isinstance(model, Path) and not asked.no_validate
    result, _ = with_sizes(partial(called, asked, fix, model, validate=runs), options)
    return written(replace(result, config=config), target, copies=copies)


def checked(model: Path | bytes, _: object, asked: Asked) -> Any:
    """The report on a model that was checked."""
    from onnxpad.api.check import check

    options, config = options_for(asked, model)
    found = with_sizes(partial(check, model, convention=asked.convention), options)[0]
    return replace(found, config=config).report(asked.fail_on or Severity.WARNING)


def validated(old: Path | bytes, new: Path | bytes, asked: Asked) -> Any:
    """The report on two models."""
    from onnxpad.api.validate import validate

    if isinstance(old, Path) and isinstance(new, Path) and old.exists() != new.exists():
        there, gone = (old, new) if old.exists() else (new, old)
        raise PartnerError(f"{there}: there is no {gone}")
    runs = {"providers": asked.provider or ("cpu",), "fallback": not asked.no_fallback}
    runs |= asked.some("samples", "seed", "rtol", "atol")
    options, config = options_for(asked, old)
    result, _ = with_sizes(partial(called, asked, validate, old, new, **runs), options)
    return replace(result, config=config)
