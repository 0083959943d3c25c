"""Documents as HTML: a whole page that needs nothing else; only `esc` makes text into markup."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import NewType

from onnxpad import __version__
from onnxpad.report.documents import Block, Cell, Document, Group, Picture, Table
from onnxpad.report.layout import MARKED, ROLES, UNBREAKABLE, unmarked
from onnxpad.report.text import counted, shown
from onnxpad.report.window_drawing import Figure, drawing_lines, figures
from onnxpad.rewrite.registry import catalogue

STYLE = (files("onnxpad") / "page" / "style.css").read_text(encoding="utf-8")
_OPEN = 3
"""Parts of a section under a title of their own that are open at first."""
_MOST = 24
"""Rows of a table, or blocks of a section, that are not folded."""
Html = NewType("Html", str)
"""Markup; every text in it is escaped."""


def page_of(document: Document) -> str:
    """A page that loads nothing; sections without a title stand in its header."""
    head = [_blocks(group.blocks, 2) for group in document.groups if not group.title]
    titled = [each for each in document.groups if each.title and each.blocks]
    sections = [_section(each.title, _blocks(each.blocks, 3)) for each in titled]
    command = f"onnxpad {document.command}"
    title, about = document.title or command, [el("code", esc(document.about))]
    kicker = el("p", join([esc(command), *about * bool(document.about)], " "), class_="kicker")
    header = el("header", kicker, el("h1", _text(title)), *head)
    foot = f"Made by onnxpad {__version__}. This page loads nothing and runs no script."
    page = el("main", *_explained(join([header, *sections])), el("footer", esc(foot)))
    # The style is allowed by its digest, so that no other could be slipped in.
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    named = " - ".join(filter(None, [unmarked(title), document.about]))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src \
'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{esc(named.replace(UNBREAKABLE, " "))}</title>
<style>{STYLE}</style>
</head>
{el("body", page)}
</html>
"""


def _section(title: str, content: Html) -> Html:
    return el("section", el("h2", _text(title)), content)


def _explained(told: Html) -> Iterator[Html]:
    """Content in which each code leads to what it means, which comes last."""
    pages = [page for code, page in catalogue().items() if code in told]
    codes = "|".join(re.escape(page.code) for page in pages)
    link = r'<a href="#\1">\1</a>'
    yield Html(re.sub(rf"\b({codes})\b(?![^<]*>)", link, told) if codes else told)
    entries = []
    for page in pages:
        lines = map(esc, page.text.replace("## ", "").splitlines()[1:])
        title = join([el("strong", esc(page.code)), esc(page.title)], " ")
        entries.append(folded(title, el("div", join(lines), id=page.code, class_="entry")))
    if entries:
        yield _section("What the codes mean", join(entries))


def _blocks(blocks: Iterable[Block], level: int) -> Html:
    told = list[Html]()
    for place, each in enumerate(blocks):
        block = _block(each, level, place)
        if block and not (isinstance(each, Picture) and block in told):  # one like it is above
            told.append(block)
    rest = told[_MOST:]
    more = [folded(esc(f"{len(rest):,} more"), join(rest))] * bool(rest)
    return join([*told[:_MOST], *more])


def _block(block: Block, level: int, place: int) -> Html:
    match block:
        case Table():
            return table(block.heads, [[_cell(cell) for cell in row] for row in block.rows])
        case Picture():
            return join(map(_figure, figures(block)))
        case Group():
            title = el(f"h{min(level, 6)}", _text(block.title))
            content = _blocks(block.blocks, level + 1)
            return folded(title, content, is_open=place < _OPEN, class_="card")
        case str():
            return el("p", _text(block.strip(" ")))


def _figure(figure: Figure) -> Html:
    caption, *lines = drawing_lines(figure)
    drawn = el("pre", join(map(_text, lines)), tabindex=0)
    return el("figure", el("figcaption", esc(caption)), drawn)


def _text(text: str) -> Html:
    told = list[Html]()
    *marks, rest = MARKED.split(text.replace(UNBREAKABLE, " "))
    for plainly, number, marked in zip(marks[::3], marks[1::3], marks[2::3], strict=True):
        role = ROLES[number]
        kind = role if role in {"strong", "faint", "command"} else f"badge {role}"
        tag = "code" if role == "command" else "span"
        told += esc(plainly), el(tag, esc(marked), class_=kind)
    return join([*told, esc(rest)], "")


def _cell(cell: Cell) -> Html:
    if isinstance(cell, str):
        return _text(cell)
    return join([*map(_text, cell.above), names(cell.names)], " ")


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
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    written = "".join(f' {key}="{esc(e)}"' for key, e in given.items() if e is not None)
    return Html(f"<{name}{written}>{''.join(content)}</{name}>")


def join(parts: Iterable[Html], between: str = "\n") -> Html:
    """Markup, one after the other."""
    return Html(between.join(parts))


def table(head: Sequence[str], rows: Sequence[Sequence[Html]]) -> Html:
    """A table that scrolls sideways, or is folded if it is long; a row begins with its heading."""
    titles = el("tr", *(el("th", esc(title), scope="col") for title in head))
    cells = ((el("th", first, scope="row"), *(el("td", e) for e in rest)) for first, *rest in rows)
    body = (el("tr", *each) for each in cells)
    content = el("table", *[el("thead", titles)] * any(head), el("tbody", join(body)))
    # Focusable, so that it scrolls by keyboard too.
    found = el("div", content, class_="scroll", tabindex=0, role="region", aria_label="A table")
    return found if len(rows) <= _MOST else folded(esc(counted(len(rows), "row")), found)


def names(items: Sequence[str]) -> Html:
    """Names of operators: a few as they are, more in a list that opens."""
    if len(items) <= 3:
        return join((el("code", esc(item)) for item in items), ", ")
    listed = (el("li", el("code", esc(item))) for item in items)
    return folded(esc(counted(len(items), "operator")), el("ul", join(listed), class_="names"))


def folded(title: Html, content: Html, *, is_open: bool = False, **more: str) -> Html:
    """Content below a title that opens and closes it."""
    return el("details", el("summary", title), content, open="" if is_open else None, **more)
