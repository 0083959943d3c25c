"""`onnxpad match`."""

from pathlib import Path

from onnxpad.cli.options import Format, takes
from onnxpad.cli.output import called, delivered, require_apart, target_of, text_of, told, with_bar


@takes(
    model="It stays as it is.",
    reference="Inner tensors by the model's names for them make the search surer.",
)
def match(
    model: Path,
    reference: Path,
    output: Path | None = None,
    inputs: Path | None = None,
    partial: bool = False,
    seconds: float = 120.0,
    rtol: float | None = None,
    atol: float | None = None,
    verbose: bool = False,
    form: Format = Format.TEXT,
    quiet: bool = False,
) -> int:
    """Find the padding with which a model reproduces a framework's recorded outputs.

    Conventions of the whole model are tried first, then groups of like operators, then single ones.
    Differences that are not padding are never matched.

    Exit codes: 0 matched (or it reproduces them already), 2 bad usage or unreadable input, 3 not
    matched, or only partly: nothing is written then, unless --partial asks for a part.
    """
    target = None
    if output is not None:
        target = target_of(model, output, in_place=False, command="match")
        require_apart(target, reference, inputs)

    from onnxpad.api import match as api

    result = called(
        with_bar(api.match, quiet=quiet),
        model,
        reference,
        inputs=inputs,
        partial=partial,
        rtol=rtol,
        atol=atol,
        seconds=seconds,
    )
    is_written = target is not None and (result.ok or result.is_changed)
    report = delivered(result, target, is_written=is_written, quiet=quiet)
    told(
        report,
        form,
        lambda: text_of(report, verbose=verbose),
        quiet=quiet,
        error=result.failure,
    )
    return report.exit_code
