"""`onnxpad fix`."""

from pathlib import Path
from typing import Any

from onnxpad.cli.options import CHOSEN, HOW, Format, options_given, takes
from onnxpad.cli.output import (
    called,
    delivered,
    require_apart,
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
    model: Path,
    output: Path | None = None,
    in_place: bool = False,
    inputs: Path | None = None,
    no_validate: bool = False,
    diff: bool = False,
    form: Format = Format.TEXT,
    html: Path | None = None,
    quiet: bool = False,
    verbose: bool = False,
    **options: Any,
) -> int:
    """Rewrite a model's padding, prove each change, compare both models, and write the result.

    Exit codes: 0 fixed or nothing to do; 1 a rewrite would be made (--diff), or a target
    does not take padding that is left; 2 bad usage or unreadable input; 3 validation failed,
    nothing is written; 5 nothing could be compared. The first line of the report says why.
    """
    target = target_of(model, output, in_place=in_place)
    require_apart(target, inputs)
    require_page(html, [model, target, inputs])
    typed = options_given(options)

    from onnxpad.api import fix as api
    from onnxpad.report import Outcome

    result = called(
        with_bar(api.fix, quiet=quiet),
        model,
        typed=typed,
        validate=not no_validate,
        inputs=inputs,
    )
    fails = result.outcome is Outcome.INVALID
    named = model if in_place else target
    difference = None
    if diff:
        from onnxpad.report.diff import unified_diff

        names = str(model), str(named)
        difference = unified_diff(*result.outlines(), names, result.functions())
    report = delivered(
        result,
        target,
        is_written=not (diff or fails) and (result.changed or output is not None),
        named=named,
        tells_older=not (diff or in_place),
        quiet=quiet,
        check=diff,
        diff=difference,
    )

    def text() -> str:
        return text_of(report, verbose=verbose) if difference is None else difference

    what = "the rewritten model does not compute what the original computes"
    error = f"validation failed: {what}" if fails else ""
    told(report, form, text, quiet=quiet, html=html, error=error)
    return report.exit_code
