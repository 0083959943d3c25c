"""`onnxpad prove`."""

from onnxpad.cli.options import Asked, options_given, takes
from onnxpad.cli.output import called, deliver, require_page


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
    result = called(asked, api.prove, asked.original, asked.rewritten, **options, **limit)
    if asked.counterexample and result.verdict.counterexample is not None:
        result.save_counterexample(asked.counterexample)
    return deliver(asked, result)
