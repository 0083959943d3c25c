"""The catalogue of findings: every code with its page, which is its pass's docstring."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType

from onnxpad.finding import Page
from onnxpad.passes import PASSES


def catalogue() -> Mapping[str, Page]:
    """Every code with its page, in the order of the codes."""
    pages = {}
    for kind in sorted(PASSES, key=lambda each: each.code):
        text = inspect.cleandoc(kind.__doc__ or "")
        pages[kind.code] = Page(kind.code, kind.severity, text.split("\n", 1)[0], text)
    return MappingProxyType(pages)
