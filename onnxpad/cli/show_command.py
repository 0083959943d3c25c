"""`onnxpad show`."""

from msgspec.structs import replace

from onnxpad.cli.configuration import options_of
from onnxpad.cli.options import Asked, takes
from onnxpad.cli.output import called, deliver, require_page
from onnxpad.process import gc_paused_for_good


@takes("model!", "nodes", "shapes", "dims", "trust", "target", "form", "html")
def show(asked: Asked) -> int:
    """Show every padding of a model, and what fix does to it; with --node one of them in full.

    Nothing is changed and nothing runs.

    Exit codes: 0 shown, 2 bad usage or an unreadable model.
    """
    require_page(asked, asked.model)
    options, config = options_of(asked, [asked.model])[asked.model]
    with gc_paused_for_good():
        from onnxpad.api import show as api

    result = called(asked, api.show, asked.model, asked.nodes or (), **options)
    return deliver(asked, replace(result, config=config))
