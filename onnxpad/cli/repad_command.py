"""`onnxpad repad`."""

from onnxpad.cli.options import Asked, options_given, takes
from onnxpad.cli.output import called, deliver, saved, target_of


@takes(
    *("model!", "to!", "only", "output", "in_place", "keep_invalid"),
    *("shapes", "dims", "form", "html", "quiet"),
    output="[default: MODEL.repadded.onnx]",
    only="operators, or patterns. Repeatable.",
)
def repad(asked: Asked) -> int:
    """Bring the padding of a model to another framework's convention, and say what that changes.

    Each operator that keeps the size (SAME), pads nothing (VALID) or is causal pads as the
    framework does for the same intent; any other one stays, with the reason. Unlike fix, this
    changes results: both models run on drawn inputs, and the report says how far apart they are.

    Exit codes: 0 repadded or nothing to change, 2 bad usage or unreadable input, 3 the result does
    not run though the original does: nothing is written then.
    """
    target = target_of(asked, "repadded")
    options = options_given(asked) | asked.some("only")

    from onnxpad.api import repad as api

    result = called(asked, api.repad, asked.model, asked.to, **options)
    keeps = result.ok or asked.keep_invalid
    writes = keeps and (result.is_changed or asked.output is not None)
    report = saved(asked, result, target, writes=writes)
    return deliver(asked, report, error=result.failure)
