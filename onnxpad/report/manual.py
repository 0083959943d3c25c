"""The manual that ships with the package: its pages as Markdown, its index, and the glossary."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import chain

from onnxpad.finding import Assumption
from onnxpad.frameworks.conventions.table import CONVENTIONS, FRAMEWORKS
from onnxpad.reasons import Reason

INDEX = "index"
_DOCS = files("onnxpad") / "docs"
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]*)(?:#[^)]*)?\)")


def page_names() -> list[str]:
    """The names of all pages, in the order of the index, which is a page too."""
    return [INDEX, *re.findall(r"^- \[[\w-]+\]\(([\w-]+)\.md\): ", page_text(INDEX), re.M)]


@cache
def page_text(name: str) -> str:
    """A page as Markdown."""
    return (_DOCS / f"{name}.md").read_text(encoding="utf-8")


def without_links(text: str) -> str:
    """Markdown with the command that shows a page for each link to it, and with no other link.

    >>> without_links("[proofs](proofs.md) and [all sizes](open-sizes.md), [fits](#fits)")
    '`onnxpad docs proofs` and all sizes (`onnxpad docs open-sizes`), fits'
    """

    def told(link: re.Match[str]) -> str:
        text, name = link[1], link[2].removesuffix(".md")
        if name in {"", link[2]}:
            return text
        return f"`onnxpad docs {name}`" if text == name else f"{text} (`onnxpad docs {name}`)"

    return _LINK.sub(told, re.sub(r"^<!--.*-->\n\n?|^(```\w+) \w+$", r"\1", text, flags=re.M))


def glossary() -> dict[str, str]:
    """The words of the glossary, each with its paragraph, without links."""
    entries = re.split(r"^## ", page_text("glossary"), flags=re.MULTILINE)[1:]
    parts = (entry.partition("\n") for entry in entries)
    return {word: " ".join(without_links(text).split()) for word, _, text in parts}


def entry_of(word: str) -> tuple[str, str] | None:
    """A word of a report, or a convention, and what it means; None if there is none such.

    It may be in any case, with hyphens for spaces, and the code of an assumption or of a reason.
    """
    codes = {each.code: str(each) for each in Assumption}
    key = slug(codes.get(slug(word), word))
    known = {slug(each[0]): each for each in glossary().items()}
    if key not in known and key in [*Reason]:
        return key, f"Padding stays since {Reason(key).meaning}. See `onnxpad docs rules`."
    ways = (each for title, each in known.items() if f"-{key}-" in f"-{title}-")
    fields = re.findall(r"^\| (`.*`) \| (.*) \|$", page_text("targets"), re.M)  # of a form
    rows = (each for each in fields if f"`{key.split('-')[0]}`" in each[0])
    found = known.get(key) or next(chain(ways, rows), None)
    same = {name: framework.same[-1] for name, framework in FRAMEWORKS.items()}
    if found is None and (row := {**same, **CONVENTIONS}.get(key)):
        told = {n: e.usual if e.amounts == "number" else e.amounts for n, e in row.rules.items()}
        pads = map(" ".join, told.items())
        found = row.name, f"a row of `onnxpad explain`: pads {', '.join(pads)}. From {row.source}."
    return found


def slug(heading: str) -> str:
    """The anchor that a forge gives a heading.

    >>> slug("no axis is longer than 16,711,680")
    'no-axis-is-longer-than-16711680'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
