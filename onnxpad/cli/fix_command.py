"""`onnxpad fix`."""

from pathlib import Path
from typing import Any

from onnxpad.cli.options import CHOSEN, HOW, Format, options_given, takes
from onnxpad.cli.output import (
    called,
    delivered,
    is_many,
    painter,
    require_page,
    target_of,
    text_of,
    told,
    with_bar,
)
from onnxpad.process import gc_paused_for_good


@gc_paused_for_good()
@takes(*HOW, *CHOSEN, output="[default: MODEL.fixed.onnx]")
def fix(
    models: list[Path],
    output: Path | None = None,
    in_place: bool = False,
    jobs: int | None = None,
    time_limit: float | None = None,
    resume: Path | None = None,
    no_validate: bool = False,
    diff: bool = False,
    form: Format = Format.TEXT,
    html: Path | None = None,
    loud: bool | None = None,
    **options: Any,
) -> int:
    """Rewrite a model's padding, prove each change, compare both models, and write the result.

    Exit codes: 0 fixed or nothing to do; 1 a rewrite would be made (--diff), or a target
    does not take padding that is left; 2 bad usage or unreadable input; 3 validation failed,
    nothing is written; 5 nothing could be compared. The first line of the report says why. Of
    several models the worst counts, and results in a folder mirror the tree.
    """
    typed = options_given(options)
    quiet, verbose = loud is False, bool(loud)
    of_many = {"jobs": jobs, "time_limit": time_limit, "resume": resume}
    if is_many(models, of_many):
        from onnxpad.cli.many import fixed, over_all
        from onnxpad.folders.paths import fixes

        return over_all(
            "fix",
            fixes(models, output, in_place=in_place, beside=True),
            fixed,
            (output is not None, not no_validate, typed),
            targets=typed["target"],
            form=form,
            quiet=quiet,
            options=of_many,
            one={"--diff": diff, "--html": html},
        )
    (model,) = models
    target = target_of(model, output, in_place=in_place)
    require_page(html, [model, target])

    from onnxpad.api import fix as api
    from onnxpad.report import Outcome

    result = called(
        with_bar(api.fix, quiet=quiet),
        model,
        typed=typed,
        validate=not no_validate,
    )
    fails = result.outcome is Outcome.INVALID
    named = model if in_place else target
    difference = None
    if diff:
        from onnxpad.report.diff import painted, unified_diff

        fold = not (verbose or form is Format.JSON)
        difference = unified_diff(
            *result.outlines(), (str(model), str(named)), result.functions(), fold=fold
        )
    report = delivered(
        result,
        target,
        is_written=not (diff or fails) and (result.changed or output is not None),
        named=named,
        tells_older=not (diff or in_place),
        quiet=quiet,
        check=diff,
        diff=difference,
        html=str(html or ""),
    )

    def text() -> str:
        if difference is None:
            return text_of(report, verbose=verbose)
        return painted(difference, painter())

    what = "the rewritten model does not compute what the original computes"
    error = f"validation failed: {what}" if fails else ""
    told(report, form, text, quiet=quiet, html=html, error=error)
    return report.exit_code
