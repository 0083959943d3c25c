"""`onnxpad validate`."""

from pathlib import Path
from typing import Any

from onnxpad.cli.options import Format, options_given, takes
from onnxpad.cli.output import called, require_page, text_of, told, with_bar


@takes("shapes", "dims")
def validate(
    original: Path,
    rewritten: Path | None = None,
    provider: list[str] | None = None,
    no_fallback: bool = False,
    inputs: Path | None = None,
    reference: Path | None = None,
    samples: int | None = None,
    seed: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    form: Format = Format.TEXT,
    html: Path | None = None,
    quiet: bool = False,
    verbose: bool = False,
    **options: Any,
) -> int:
    """Run both models on the same inputs and compare their outputs.

    The report gives the greatest difference of each output, absolute (max abs) and relative to the
    greatest magnitude in the expected output. If a reference is not reproduced and padding may be
    why, its last line is the match command to run.

    Exit codes: 0 they agree, 2 bad usage or unreadable input, 3 they differ, 4 a provider asked
    for by name does not run here, 5 nothing, or not all that was asked for, could be compared.
    """
    from onnxpad.api import validate as api

    require_page(html, [original, rewritten, inputs, reference])
    typed = options_given(options)
    is_drawn = inputs is None and reference is None  # else sizes of a configuration are not asked
    result = called(
        with_bar(api.validate, quiet=quiet),
        original,
        rewritten,
        **({"typed": typed} if is_drawn else typed),
        providers=provider or ("cpu",),
        fallback=not no_fallback,
        inputs=inputs,
        reference=reference,
        samples=samples,
        seed=seed,
        rtol=rtol,
        atol=atol,
    )
    what = "validation failed: " if result.outcome == "failed" else ""
    error = "" if result.ok else f"{what}{result.failure}"
    told(
        result,
        form,
        lambda: text_of(result, verbose=verbose),
        quiet=quiet,
        html=html,
        error=error,
    )
    return result.exit_code
