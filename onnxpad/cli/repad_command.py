"""`onnxpad repad`."""

from pathlib import Path
from typing import Any

from onnxpad.cli.options import Format, options_given, takes
from onnxpad.cli.output import called, delivered, require_apart, target_of, text_of, told, with_bar


@takes(
    "shapes",
    "dims",
    output="[default: MODEL.repadded.onnx]",
    only="operators. Repeatable.",
)
def repad(
    model: Path,
    to: str,
    only: list[str] | None = None,
    output: Path | None = None,
    in_place: bool = False,
    reference: Path | None = None,
    inputs: Path | None = None,
    keep_invalid: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    form: Format = Format.TEXT,
    quiet: bool = False,
    **options: Any,
) -> int:
    """Bring the padding of a model to another framework's convention, and say what that changes.

    Each operator that keeps the size (SAME), pads nothing (VALID) or is causal pads as the
    framework does for the same intent; any other one stays, with the reason. Unlike fix, this
    changes results: both models run on the same inputs, and the report says how far apart they are.

    Exit codes: 0 repadded or nothing to change, 2 bad usage or unreadable input, 3 the reference is
    not reproduced, or the result does not run though the original does: nothing is written then.
    """
    target = target_of(model, output, in_place=in_place, command="repad", ending="repadded")
    require_apart(target, reference, inputs)
    typed = options_given(options)

    from onnxpad.api import repad as api

    result = called(
        with_bar(api.repad, quiet=quiet),
        model,
        to,
        typed=typed,
        only=only or (),
        inputs=inputs,
        reference=reference,
        rtol=rtol,
        atol=atol,
    )
    report = delivered(
        result,
        target,
        is_written=(result.ok or keep_invalid) and (result.is_changed or output is not None),
        named=model if in_place else target,
        tells_older=not in_place,
        keep_invalid=keep_invalid,
        quiet=quiet,
    )
    told(report, form, lambda: text_of(report), quiet=quiet, error=result.failure)
    return report.exit_code
