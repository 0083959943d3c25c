"""The library's call to rewrite the padding of many models, and how their results are written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from onnxpad.arguments import Progress
from onnxpad.folders.paths import fixes
from onnxpad.folders.serving import outcomes
from onnxpad.options import OptionKeywords, Options
from onnxpad.report import Delivery, FileOutcome, FixReport, Outcome

if TYPE_CHECKING:
    from onnxpad.api.fix import FixResult


def fix_all(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    output: str | os.PathLike[str] | None = None,
    in_place: bool = False,
    jobs: int = 1,
    time_limit: float | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    validate: bool = True,
    run_timeout: float | None = None,
    **options: Unpack[OptionKeywords],
) -> Iterator[FileOutcome]:
    """Fix many models in processes of their own, where a crash is the outcome of one file.

    The processes end with the iterator. They know nothing of what `register` added here.

    Args:
        paths: Models, folders to search for them, or patterns such as `exported/**/*.onnx`;
            results of other runs (`*.fixed.onnx`) are left out.
        output: A folder for the results, which mirrors the tree below each path. Unchanged models
            are copied, and those that fail their validation left out.
        in_place: Whether to replace the models that change. Without either, nothing is written.
        jobs: How many models to fix at once, each with its share of the cores.
        time_limit: Seconds after which a model is given up.
        resume: A file that keeps outcomes. What an unchanged model has already given, by the same
            options and versions, is taken from there if its result is still there, too. Crashes and
            time limits are tried again.
        progress: Called with the time that is left, the models that are done, and all.
        validate: As for `fix`.
        run_timeout: As for `fix`.
        options: As for `fix`.

    Returns:
        The outcome of each model, as it comes. What `fix` raises about one is an outcome, too.

    Raises:
        UsageError: An option is not valid, or two models would be written to one file.
        OutputError: The results or the record cannot be written there.
        ProviderError: No process can be started.
    """
    targets = Options.of(options).targets
    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    folder = None if output is None else Path(output)
    return outcomes(
        _fixed,
        fixes(map(Path, named), folder, in_place=in_place),
        (folder is not None, {"validate": validate, "run_timeout": run_timeout, **options}),
        targets=targets,
        jobs=jobs,
        time_limit=time_limit,
        resume=None if resume is None else Path(resume),
        progress=progress,
    )


def _fixed(model: Path, target: Path | None, copies: bool, keywords: Any) -> FixReport:
    from onnxpad.api.fix import fix

    return written(fix(model, **keywords), target, copies=copies)


def written(result: FixResult, target: Path | None, *, copies: bool) -> FixReport:
    """The report of a result, whose model is written where it is whole and has to be.

    Args:
        result: The result.
        target: The file to write; None for no file.
        copies: Whether an unchanged model is written, too.
    """
    delivery = Delivery()
    is_whole = result.outcome is not Outcome.INVALID
    if target is not None and is_whole and (result.changed or copies):
        target.parent.mkdir(parents=True, exist_ok=True)
        data = result.save(target)
        delivery = Delivery(written=str(target), data=tuple(map(str, data)))
    # A plain report tries no further options, which `FixResult.next` does.
    fields = {name: getattr(result, name) for name in FixReport.__struct_fields__}
    return FixReport(**{**fields, "delivery": delivery})
