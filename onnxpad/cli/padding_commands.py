"""`onnxpad show`, `match`, `repad` and `explain`: the padding of a model, and of frameworks."""

from onnxpad.cli.configuration import options_of
from onnxpad.cli.options import Asked, options_given, takes
from onnxpad.cli.output import called, deliver, is_painted, require_page, saved, target_of
from onnxpad.process import gc_paused_for_good

_WINDOW = (
    *("node", "op", "size", "kernel", "stride", "dilation", "padding"),
    *("output_padding", "output_size"),
)


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

    result = called(asked, api.show, asked.model, asked.nodes or (), config=config, **options)
    return deliver(asked, result)


@takes(
    *("model!", "references!", "output", "inputs", "seconds", "rtol", "atol"),
    *("form", "html", "quiet", "verbose"),
    model="It stays as it is.",
    references="Inner tensors by the model's names for them make the search surer.",
)
def match(asked: Asked) -> int:
    """Find the padding with which a model reproduces a framework's recorded outputs.

    Differences that are not padding are never matched.

    Exit codes: 0 matched (or it reproduces them already), 2 bad usage or unreadable input, 3 not
    matched: nothing is written then.
    """
    target = target_of(asked, "matched") if asked.output else None
    require_page(asked, asked.model)
    from onnxpad.api import match as api

    options = asked.some("inputs", "seconds", "rtol", "atol")
    result = called(asked, api.match, asked.model, asked.references, **options)
    writes = target is not None and result.ok
    report = saved(asked, result, target, writes=writes)
    return deliver(asked, report, error=result.failure)


@takes(
    *("model!", "to!", "only", "output", "in_place", "keep_invalid"),
    *("shapes", "dims", "form", "html", "quiet"),
    output="[default: MODEL.repadded.onnx]",
    only="operators, or patterns. Repeatable.",
)
def repad(asked: Asked) -> int:
    """Bring the padding of a model to another framework's convention, and say what that changes.

    Each operator that keeps the size (SAME), pads nothing (VALID) or is causal pads as the
    framework does for the same intent; any other one stays, with the reason.

    Exit codes: 0 repadded or nothing to change, 2 bad usage or unreadable input, 3 the result does
    not run though the original does: nothing is written then.
    """
    target = target_of(asked, "repadded")
    options, config = options_of(asked, [asked.model])[asked.model]
    from onnxpad.api import repad as api

    options |= asked.some("only")
    result = called(asked, api.repad, asked.model, asked.to, config=config, **options)
    keeps = result.ok or asked.keep_invalid
    writes = keeps and (result.is_changed or asked.output is not None)
    report = saved(asked, result, target, writes=writes)
    return deliver(asked, report, error=result.failure)


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
    options, config = options_given(asked), None
    if asked.model is not None:
        options, config = options_of(asked, [asked.model])[asked.model]
    options |= asked.some(*_WINDOW)
    found = called(asked, api.explain, asked.model, config=config, **options)
    return deliver(asked, found, text=lambda: str(found.text(Screen(is_painted=is_painted()))))
