"""A command for many models, in processes of their own, told as one report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from onnxpad.arguments import RESULT, models_below
from onnxpad.cli import output
from onnxpad.cli.configuration import options_of
from onnxpad.cli.options import MANY, Asked, options_given
from onnxpad.errors import UsageError, few
from onnxpad.folders.paths import is_result


def over_all(
    asked: Asked, command: str, found: Mapping[Path, Path | None], how: Mapping[str, Any]
) -> int:
    """Runs a command on each model, and tells of all; returns the exit code.

    What is not of `Options` are the options `how`, as of `onnxpad.folders.serving.reported`.

    Raises:
        UsageError: An option is for one model, or is wrong for every model.
        ProviderError: A provider does not run here.
    """
    results = [each for each in asked.models or asked.paths or () if is_result(each)]
    notes = [f"{few(map(str, results), 3)}: *{RESULT} are no inputs of such a run"] * bool(results)
    place, named = Path(os.path.realpath(asked.output or "")), asked.models if asked.output else ()
    inside = [each for each in named if place.is_relative_to(os.path.realpath(each))]
    where = "other runs take results there as models; name a folder elsewhere"
    notes += [f"{asked.output} is inside {each}: {where}" for each in inside]
    for line in () if asked.quiet else notes:
        output.report_beside(f"note: {line}")
    form = str(asked.form or asked.check_form or "text")
    one = [f"--{name}" for name in ("diff", "inputs") if getattr(asked, name)]
    one += ["--reference"] * bool(asked.references)
    alone = "name one model and " * bool(one)  # a format is for check of a folder, too
    one += [f"--format {form}"] * (form not in {"text", "json"})
    if one:
        mend = f"leave it out, or {alone}run without --jobs, --time-limit and --resume"
        raise UsageError(f"{one[0]} is not for a run over many models; {mend}")
    from onnxpad.folders.serving import over
    from onnxpad.report import WORST, FolderReport
    from onnxpad.report.documents.folder_document import quiet_blocks
    from onnxpad.report.layout import Screen

    output.require_page(asked, *found, *found.values())
    is_full = bool(form == "json" or asked.verbose or asked.html)  # what is told of each model
    own = options_of(asked, found)
    found = {model: found[model] for model in own}
    options = options_given(asked) | asked.some(*MANY)
    with output.progress_bar(hidden=asked.quiet) as progress:
        made = [
            each if is_full else replace(each, text="")
            for each in over(command, found, how, {**options, "progress": progress}, own)
        ]
    made.sort(key=lambda each: (WORST.index(each.exit_code), each.path))
    below = models_below(asked.output, lambda error: None) if asked.output else ()
    others = sorted({*below} - {*map(str, found.values())})
    report = FolderReport(command, tuple(made), tuple(others))

    def text() -> str:
        screen = Screen(None, output.is_painted())
        if asked.quiet:
            return "".join(f"{line}\n" for line in screen.block_lines(quiet_blocks(report)))
        return report.text(screen, "full" if asked.verbose else "brief")

    return output.deliver(asked, report, text=text)
