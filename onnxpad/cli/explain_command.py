"""`onnxpad explain`."""

from onnxpad.cli.options import Asked, options_given, takes
from onnxpad.cli.output import called, deliver, is_painted, require_page

_WINDOW = (
    *("node", "op", "size", "kernel", "stride", "dilation", "padding"),
    *("output_padding", "output_size"),
)


@takes("model", *_WINDOW, "shapes", "dims", "form", "html")
def explain(asked: Asked) -> int:
    """Compare what each framework's padding convention pads and returns, and draw it.

    Either for an operator, given by --op, --size and --kernel, or for a node of a model, whose own
    padding is a row too.

    Exit codes: 0 explained, 1 no padding gives the size of --output-size, 2 bad usage or an
    unreadable model.
    """
    from onnxpad.api import explain as api
    from onnxpad.report.layout import Screen

    require_page(asked, asked.model)
    options = options_given(asked) | asked.some(*_WINDOW)
    found = called(asked, api.explain, asked.model, **options)
    return deliver(asked, found, text=lambda: str(found.text(Screen(is_painted=is_painted()))))
