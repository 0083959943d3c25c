"""`onnxpad fix`."""

from onnxpad.cli.configuration import options_of
from onnxpad.cli.options import CHOSEN, HOW, MANY, Asked, takes
from onnxpad.cli.output import called, deliver, is_many, report_beside, saved, target_of
from onnxpad.process import gc_paused_for_good


@gc_paused_for_good()
@takes(
    *("models!", "output", "in_place", *MANY, *HOW, *CHOSEN, "no_validate"),
    *("form", "html", "loud", "diff"),
    output="Or a folder, also for several models. [default: MODEL.fixed.onnx]",
)
def fix(asked: Asked) -> int:
    """Rewrite a model's padding, prove each change, compare both models, and write the result.

    Exit codes: 0 fixed or nothing to do; 1 a rewrite would be made (--diff), or a target
    does not take padding that is left; 2 bad usage or unreadable input; 3 validation failed,
    nothing is written; 5 nothing could be compared. The first line of the report says why. Of
    several models the worst counts, and results in a folder mirror the tree.
    """
    if is_many(asked, *asked.models):
        from onnxpad.cli.many import over_all
        from onnxpad.folders.paths import fixes

        places = fixes(asked.models, asked.output, in_place=asked.in_place, beside=True)
        how = {"copies": asked.output is not None, "validate": not asked.no_validate}
        return over_all(asked, "fix", places, how)
    (asked.model,) = asked.models
    model, target = asked.model, target_of(asked, "fixed")
    options, config = options_of(asked, [model])[model]
    options["validate"] = not asked.no_validate
    if not asked.no_validate:
        from onnxpad.runtimes import pool

        pool.warm()  # while onnx is imported and the model is read
    from onnxpad.api import fix as api
    from onnxpad.report import Outcome

    result = called(asked, api.fix, model, config=config, **options)
    fails = result.outcome is Outcome.INVALID
    names = str(model), str(model if asked.in_place else target)
    difference = result.diff(names) if asked.diff else None
    writes = not (asked.diff or fails) and (result.changed or asked.output is not None)
    report = saved(asked, result, target, writes=writes, check=asked.diff, diff=difference)
    if asked.diff and report.untaken:
        report_beside("note: padding is left that a target computes wrongly or rejects")
    what = "the rewritten model does not compute what the original computes"
    text = None if difference is None else difference.__str__
    return deliver(asked, report, text=text, error=f"validation failed: {what}" if fails else "")
