"""Documents as HTML: a whole page that needs nothing else, or a part of one for notebooks."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator

from onnxpad import __version__
from onnxpad.page.axis_pictures import axis_pictures
from onnxpad.page.markup import Html, el, esc, join, names, table
from onnxpad.page.style import STYLE
from onnxpad.report.documents import Block, Cell, Document, Group, Picture, Table
from onnxpad.report.layout import MARKED, ROLES, UNBREAKABLE


def page_of(document: Document) -> str:
    """A page that loads nothing; sections without a title stand in its header."""
    head = [_blocks(group.blocks, 2) for group in document.groups if not group.title]
    sections = [
        el("section", el("h2", _text(each.title)), _blocks(each.blocks, 3))
        for each in document.groups
        if each.title
    ]
    kicker = el("p", esc(f"onnxpad {document.command}"), class_="kicker")
    header = el("header", kicker, el("h1", esc(document.title)), *head)
    foot = f"Made by onnxpad {__version__}. In pictures, dashed cells are padding, a bar is a "
    foot += "window, its dots what it reads. This page loads nothing and runs no script."
    page = el("div", header, el("main", *sections), el("footer", esc(foot)), class_="page")
    # The style is allowed by its digest, so that no other could be slipped in.
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src \
'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{esc(f"{document.title} - onnxpad {document.command}")}</title>
<style>{STYLE}</style>
</head>
{el("body", page)}
</html>
"""


def fragment_of(document: Document) -> str:
    """A part of a page, as notebooks show it, without pictures and a style of its own."""
    blocks = [block for group in document.groups for block in (group.title, *group.blocks)]
    return el("div", _blocks([e for e in blocks if e and not isinstance(e, Picture)], 3))


def _blocks(blocks: Iterable[Block], level: int) -> Html:
    """Blocks one below the other, whose headings are of a level."""
    return join(filter(None, (_block(block, level) for block in blocks)))


def _block(block: Block, level: int) -> Html:
    match block:
        case Table():
            return table(block.heads, ([_cell(cell) for cell in row] for row in block.rows))
        case Picture():
            return axis_pictures(block.subject)
        case Group():
            title = el(f"h{min(level, 6)}", _text(block.title))
            return el("div", title, _blocks(block.blocks, level + 1), class_="card")
        case str():
            return el("p", _text(block.strip(" ")))


def _text(text: str) -> Html:
    """A text, with its marks as badges, or as words that stand out."""
    return join(_spans(text.replace(UNBREAKABLE, " ")), "")


def _spans(text: str) -> Iterator[Html]:
    *marks, rest = MARKED.split(text)
    for plainly, number, marked in zip(marks[::3], marks[1::3], marks[2::3], strict=True):
        role = ROLES[number]
        kind = role if role in {"strong", "faint"} else f"badge {role}"
        yield from (esc(plainly), el("span", esc(marked), class_=kind))
    yield esc(rest)


def _cell(cell: Cell) -> Html:
    if isinstance(cell, str):
        return _text(cell)
    return join([*map(_text, cell.above), names(cell.names)], " ")
