"""`onnxpad validate`."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from onnxpad.cli.options import Format, options_given, takes
from onnxpad.cli.output import called, is_many, require_page, text_of, told, with_bar


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
    jobs: int | None = None,
    time_limit: float | None = None,
    resume: Path | None = None,
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
    runs: dict[str, Any] = {
        "providers": provider or ("cpu",),
        "fallback": not no_fallback,
        "samples": samples,
        "seed": seed,
        "rtol": rtol,
        "atol": atol,
    }
    of_many = {"jobs": jobs, "time_limit": time_limit, "resume": resume}
    if rewritten is not None and is_many([original], of_many):
        from onnxpad.cli.many import over_all, validated
        from onnxpad.folders.paths import partners

        return over_all(
            "validate",
            partners(original, rewritten),
            validated,
            (typed, runs),
            reads=2,
            form=form,
            quiet=quiet,
            options=of_many,
            one={"--inputs": inputs, "--reference": reference, "--html": html},
        )
    is_drawn = inputs is None and reference is None  # else sizes of a configuration are not asked
    result = called(
        with_bar(api.validate, quiet=quiet),
        original,
        rewritten,
        **({"typed": typed} if is_drawn else typed),
        **runs,
        inputs=inputs,
        reference=reference,
    )
    report = replace(result, html=str(html or ""))
    what = "validation failed: " if report.outcome == "failed" else ""
    error = "" if result.ok else f"{what}{result.failure}"
    told(
        report,
        form,
        lambda: text_of(report, verbose=verbose),
        quiet=quiet,
        html=html,
        error=error,
    )
    return report.exit_code
