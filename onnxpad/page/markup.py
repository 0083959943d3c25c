"""Elements of HTML: markup has a type of its own, and only `esc` makes text into it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import NewType

from onnxpad.report.text import counted, shown

MOST = 24
"""Rows of a table, or blocks of a section, that are not folded."""

Html = NewType("Html", str)
"""Markup; every text in it is escaped."""


def esc(text: object) -> Html:
    """A text as markup: names in models may hold any character, and may be a megabyte long.

    >>> print(esc('<b> & "c"'))
    &lt;b&gt; &amp; &quot;c&quot;
    """
    return Html(html.escape(shown(str(text))))


def el(name: str, *content: Html, **attributes: str | int | None) -> Html:
    """An element; an attribute of value None is left out, and `class_` is written `class`.

    >>> print(el("p", esc("a < b"), class_="faint"))
    <p class="faint">a &lt; b</p>
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{esc(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{''.join(content)}</{name}>")


def join(parts: Iterable[Html], between: str = "\n") -> Html:
    """Markup, one after the other."""
    return Html(between.join(parts))


def table(head: Sequence[str], rows: Sequence[Sequence[Html]]) -> Html:
    """A table that scrolls sideways where it is wider than the page; a long one is folded.

    Args:
        head: The titles of the columns.
        rows: The cells; the first of each row is its heading.
    """
    titles = el("tr", *(el("th", esc(title), scope="col") for title in head))
    body = (
        el("tr", el("th", first, scope="row"), *(el("td", cell) for cell in rest))
        for first, *rest in rows
    )
    content = el("table", *[el("thead", titles)] * any(head), el("tbody", join(body)))
    # Focusable, so that it scrolls by keyboard too.
    found = el("div", content, class_="scroll", tabindex=0, role="region", aria_label="A table")
    return found if len(rows) <= MOST else folded(esc(counted(len(rows), "row")), found)


def names(items: Sequence[str]) -> Html:
    """Names of operators: a few as they are, more in a list that opens."""
    if len(items) <= 3:
        return join((el("code", esc(item)) for item in items), ", ")
    listed = (el("li", el("code", esc(item))) for item in items)
    return folded(esc(counted(len(items), "operator")), el("ul", join(listed), class_="names"))


def folded(title: Html, content: Html, *, is_open: bool = False, **more: str) -> Html:
    """Content below a title that opens and closes it."""
    return el("details", el("summary", title), content, open="" if is_open else None, **more)
