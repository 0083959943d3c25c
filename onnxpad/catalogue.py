"""The catalogue of findings: a page for each code, from its pass's docstring and examples."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType

from onnxpad.finding import Page
from onnxpad.frameworks.fitting.reports import MODEL_REPORTS, ModelReport
from onnxpad.pipeline.own_passes import every_pass
from onnxpad.rewrite.rule import Pass


def catalogue() -> Mapping[str, Page]:
    """Every code with its page, in the order of the codes; users' own passes have theirs too."""
    pages = {}
    kinds: list[type[Pass] | type[ModelReport]] = [*every_pass(), *MODEL_REPORTS]
    for kind in sorted(kinds, key=lambda each: each.code):
        text = _text(kind)
        pages[kind.code] = Page(kind.code, kind.severity, text.split("\n", 1)[0], text)
    return MappingProxyType(pages)


def _text(kind: type[Pass] | type[ModelReport]) -> str:
    """A page: the docstring of a pass, with its examples before the heading on exactness."""
    written = inspect.cleandoc(vars(kind).get("__doc__") or kind.__name__)
    if not kind.examples:
        return written
    above, heading, below = written.partition("## When it is exact")
    shown = "\n\n".join(example.text for example in kind.examples)
    return "\n\n".join(filter(None, [f"{above.rstrip()}\n\n## Example\n{shown}", heading + below]))
