"""`onnxpad explain`."""

from pathlib import Path
from typing import Any

from onnxpad.cli.options import Format, options_given, takes
from onnxpad.cli.output import painter, told


@takes("shapes", "dims")
def explain(
    model: Path | None = None,
    node: str | None = None,
    op: str | None = None,
    size: str | None = None,
    kernel: str | None = None,
    stride: str | None = None,
    dilation: str | None = None,
    padding: str | None = None,
    output_padding: str | None = None,
    output_size: str | None = None,
    form: Format = Format.TEXT,
    **options: Any,
) -> int:
    """Compare what each framework's padding convention pads and returns, and draw it.

    Either for an operator, given by --op, --size and --kernel, or for a node of a model, whose own
    padding is a row too.

    Exit codes: 0 explained, 1 no padding gives the size of --output-size, 2 bad usage or an
    unreadable model.
    """
    from onnxpad.api import explain as api

    found = api.explain(
        model,
        node=node,
        op=op,
        size=size,
        kernel=kernel,
        stride=stride,
        dilation=dilation,
        padding=padding,
        output_padding=output_padding,
        output_size=output_size,
        **options_given(options),
    )

    def text() -> str:
        from onnxpad.report.layout import Screen

        return str(found.text(Screen(paint=painter())))

    told(found, form, text)
    return found.exit_code
