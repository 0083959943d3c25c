"""`onnxpad show`."""

from pathlib import Path
from typing import Any

from onnxpad.cli.options import Format, options_given, takes
from onnxpad.cli.output import called, require_page, text_of, told
from onnxpad.process import gc_paused_for_good


@takes(
    "trust",
    "target",
    "shapes",
    "dims",
    node="It may also be a Pad or a tensor; shows it in full. Repeatable.",
)
def show(
    model: Path,
    node: list[str] | None = None,
    form: Format = Format.TEXT,
    html: Path | None = None,
    **options: Any,
) -> int:
    """Show every padding of a model, and what fix does to it; with --node one of them in full.

    Nothing is changed and nothing runs.

    Exit codes: 0 shown, 2 bad usage or an unreadable model.
    """
    require_page(html, [model])
    with gc_paused_for_good():
        from onnxpad.api import show as api

    typed = options_given(options)
    told_of = {**typed, "select": (), "ignore": ()}  # these are of fix: all padding is shown
    result = called(api.show, model, node or (), typed=typed, configured=told_of)
    told(result, form, lambda: text_of(result), html=html)
    return 0
