"""The catalogue of findings: a page for each code, from its pass's docstring and examples."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType

from onnxpad.finding import Page
from onnxpad.passes import PASSES


def catalogue() -> Mapping[str, Page]:
    """Every code with its page, in the order of the codes."""
    pages = {}
    for kind in sorted(PASSES, key=lambda each: each.code):
        shown = "\n\n".join(example.text for example in kind.examples)
        above, heading, below = inspect.cleandoc(kind.__doc__ or "").partition(
            "## When it is exact"
        )
        text = f"{above}## Example\n{shown}\n\n{heading}{below}"
        pages[kind.code] = Page(kind.code, kind.severity, text.split("\n", 1)[0], text)
    return MappingProxyType(pages)
