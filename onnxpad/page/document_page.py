"""Documents as HTML: a whole page that needs nothing else, or a part of one for notebooks."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable

from onnxpad import __version__
from onnxpad.page.markup import NOTHING, Html, badge, el, esc, folded, join, names, table
from onnxpad.page.style import STYLE
from onnxpad.report.documents import (
    Block,
    Cell,
    Document,
    Group,
    Line,
    NodeNames,
    Pairs,
    Picture,
    Table,
    Tallies,
)
from onnxpad.report.layout import MARKED, ROLES, UNBREAKABLE

Draw = Callable[[Picture], Html]

_BADGES = {"good": "good", "warning": "warn", "error": "bad", "info": "plain"}


def page_of(document: Document, draw: Draw) -> str:
    """A page that needs nothing outside itself.

    Args:
        document: What it says; sections without a title stand before its contents.
        draw: The drawing of a picture.
    """
    head = [_blocks(group.blocks, draw, 2) for group in document.groups if not group.title]
    parts = [group for group in document.groups if group.title]
    anchors = [f"part-{place}" for place in range(len(parts))]
    links = (
        el("li", el("a", _text(group.title), href=f"#{anchor}"))
        for group, anchor in zip(parts, anchors, strict=True)
    )
    contents = el("nav", el("ul", *links), aria_label="Contents") if len(parts) > 1 else NOTHING
    sections = (
        el(
            "section",
            el("h2", _text(group.title), id=anchor),
            _blocks(group.blocks, draw, 3),
            aria_labelledby=anchor,
        )
        for group, anchor in zip(parts, anchors, strict=True)
    )
    header = el(
        "header",
        el("p", esc(f"onnxpad {document.command}"), class_="kicker"),
        el("h1", esc(document.title)),
        *head,
        contents,
    )
    foot = f"Made by onnxpad {__version__}. In pictures, dashed cells are padding, a bar is a "
    foot += "window, its dots what it reads. This page loads nothing and runs no script."
    body = el(
        "body",
        el("a", esc("Skip to the report"), class_="skip", href="#report"),
        el(
            "div",
            header,
            el("main", join(sections), id="report", tabindex=-1),
            el("footer", el("p", esc(foot))),
            class_="page",
        ),
    )
    return whole_page(f"{document.title} - onnxpad {document.command}", body)


def whole_page(title: str, body: Html) -> str:
    """A page that loads nothing: its head, with the style, and a body."""
    # The style is allowed by its digest, so that no other could be slipped in.
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{esc(title)}</title>\n"
        f"<style>{STYLE}</style>\n</head>\n{body}\n</html>\n"
    )


def fragment_of(document: Document) -> str:
    """A part of a page, as notebooks show it, without pictures and a style of its own."""
    blocks = [block for group in document.groups for block in (group.title, *group.blocks)]
    return el("div", _blocks(filter(None, blocks), lambda _: NOTHING, 3))


def _blocks(blocks: Iterable[Block], draw: Draw, level: int) -> Html:
    """Blocks one below the other.

    Args:
        blocks: The blocks.
        draw: The drawing of a picture.
        level: The level of a heading among them.
    """
    found = []
    for block in blocks:
        match block:
            case str():
                found.append(el("p", _text(block)))
            case Line():
                found.append(el("p", _text(block.text)))
            case Pairs():
                parts = [
                    el(name, _text(text))
                    for pair in block.rows
                    for name, text in zip(("dt", "dd"), pair, strict=True)
                    if text
                ]
                found.append(el("dl", *parts, class_="facts") if parts else NOTHING)
            case Table():
                found.append(_table(block))
            case Tallies():
                found.append(_counts(block))
            case Picture():
                found.append(draw(block))
            case Group():
                found.append(_card(block, draw, level))
    return join(filter(None, found))


def _card(group: Group, draw: Draw, level: int) -> Html:
    """A group that opens below its title."""
    inside = _blocks(group.blocks, draw, level + 1)
    title = el(f"h{min(level, 6)}", _text(group.title))
    return folded(title, el("div", inside, class_="inside"), is_open=group.is_open, kind="card")


def _text(text: str) -> Html:
    """A text, with its marks as badges, or as words that stand out."""
    parts = MARKED.split(text.replace(UNBREAKABLE, " "))
    found = []
    for plainly, number, marked in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        found += [esc(plainly), _marked(ROLES[number], marked)]
    return join([*found, esc(parts[-1])], "")


def _marked(role: str, text: str) -> Html:
    if role in _BADGES:
        return badge(text, _BADGES[role])
    return el("span", esc(text), class_=role)


def _table(block: Table) -> Html:
    rows = [[_cell(cell) for cell in row] for row in block.rows]
    return table(block.heads, rows)


def _cell(cell: Cell) -> Html:
    if isinstance(cell, str):
        return _text(cell)
    if isinstance(cell, NodeNames):
        above = [_text(line) for line in cell.above]
        return join([*above, names(cell.names, "operator")], " ")
    return _text(" ".join(cell))


def _counts(block: Tallies) -> Html:
    """Counts in large letters: a number, or a number before and after."""
    tiles = []
    for name, was, now in block.counts:
        content = [esc(f"{now:,}")]
        if was != now:
            arrow = el("span", esc("→"))
            content = [el("span", esc(f"{was:,} "), arrow, class_="was"), esc(f" {now:,}")]
        tiles.append(el("div", el("dt", esc(name)), el("dd", *content)))
    return el("dl", *tiles, class_="counts")
