"""`onnxpad match`."""

from onnxpad.cli.options import Asked, takes
from onnxpad.cli.output import called, deliver, require_page, saved, target_of


@takes(
    *("model!", "references!", "output", "inputs", "seconds", "rtol", "atol"),
    *("form", "html", "quiet", "verbose"),
    model="It stays as it is.",
    references="Inner tensors by the model's names for them make the search surer.",
)
def match(asked: Asked) -> int:
    """Find the padding with which a model reproduces a framework's recorded outputs.

    Conventions of the whole model are tried first, then groups of like operators, then single ones.
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
