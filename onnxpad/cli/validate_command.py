"""`onnxpad validate` and `onnxpad prove`: two models are compared."""

from msgspec.structs import replace

from onnxpad.cli.configuration import options_of
from onnxpad.cli.options import MANY, Asked, options_given, takes
from onnxpad.cli.output import called, deliver, is_many, require_page


@takes(
    *("original!", "rewritten", "inputs", "references", "shapes", "dims"),
    *("provider", "no_fallback", "samples", "seed", "rtol", "atol", *MANY),
    *("form", "html", "quiet", "verbose"),
    original="Or a folder.",
    rewritten="Or a folder; or give --reference.",
)
def validate(asked: Asked) -> int:
    """Run both models on the same inputs and compare their outputs.

    Exit codes: 0 they agree, 2 bad usage or unreadable input, 3 they differ, 4 a provider asked
    for by name does not run here, 5 nothing, or not all that was asked for, could be compared.
    """
    require_page(asked, asked.original, asked.rewritten)
    how = asked.some("samples", "seed", "rtol", "atol")
    how |= {"providers": asked.provider or ("cpu",), "fallback": not asked.no_fallback}
    if asked.rewritten is not None and is_many(asked, asked.original):
        from onnxpad.cli.many import over_all
        from onnxpad.folders.paths import partners

        return over_all(asked, "validate", partners(asked.original, asked.rewritten), how)
    options, config = options_of(asked, [asked.original])[asked.original]
    from onnxpad.api import validate as api

    options |= how | {"inputs": asked.inputs, "reference": asked.references}
    models = asked.original, asked.rewritten
    result = called(asked, api.validate, *models, config=config, **options)
    what = "validation failed: " if result.outcome == "failed" else ""
    error = "" if result.ok else f"{what}{result.failure}"
    return deliver(asked, result, error=error)


@takes(
    *("original!", "rewritten!", "shapes", "dims", "trust", "strict", "time_limit"),
    *("counterexample", "form", "html"),
)
def prove(asked: Asked) -> int:
    """Prove that a model computes what another one computes for every size, or refute it.

    Exit codes: 0 proved (the first line names what that rests on), 2 bad usage or unreadable
    input, 3 refuted by inputs on which they differ, 5 undecided: the report says what is open.
    """
    require_page(asked, asked.original, asked.rewritten)
    options = options_given(asked)
    from onnxpad.api import prove as api

    limit = asked.some("time_limit")
    found = called(asked, api.prove, asked.original, asked.rewritten, **options, **limit)
    if asked.counterexample and found.verdict.counterexample is not None:
        found.save_counterexample(asked.counterexample)
        found = replace(found, delivery=replace(found.delivery, written=str(asked.counterexample)))
    return deliver(asked, found)
