"""`onnxpad explain`."""

from onnxpad.cli.options import Asked, options_given, takes
from onnxpad.cli.output import called, deliver, painter

_WINDOW = ("node", "op", "size", "kernel", "stride", "dilation", "padding")
_OUTPUT = ("output_padding", "output_size")


@takes(
    *("model", *_WINDOW, *_OUTPUT, "only", "shapes", "dims", "form"),
    only="conventions, with commas between them.",
)
def explain(asked: Asked) -> int:
    """Compare what each framework's padding convention pads and returns, and draw it.

    Either for an operator, given by --op, --size and --kernel, or for a node of a model, whose own
    padding is a row too.

    Exit codes: 0 explained, 1 no padding gives the size of --output-size, 2 bad usage or an
    unreadable model.
    """
    from onnxpad.api import explain as api

    window = {name: getattr(asked, name) for name in (*_WINDOW, *_OUTPUT)}
    options = options_given(asked)
    found = called(asked, api.explain, asked.model, only=asked.only or (), **window, **options)

    def text() -> str:
        from onnxpad.report.layout import Screen

        return str(found.text(Screen(paint=painter())))

    return deliver(asked, found, text=text)
