"""The manual as pages for a browser, with links between them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxpad.page.document_page import whole_page
from onnxpad.page.markup import Html, el, esc, join
from onnxpad.report.manual import INDEX, index, page_names, page_text, slug

if TYPE_CHECKING:
    from markdown_it.token import Token


def manual_pages(pictures: Mapping[str, str]) -> dict[str, str]:
    """Every page of the manual as HTML, by the name of its file.

    Args:
        pictures: By the name of a page, an SVG that stands at its end.
    """
    return {f"{name}.html": _page(name, pictures.get(name, "")) for name in page_names()}


def _page(name: str, picture: str) -> str:
    text = page_text(name)
    title = text.partition("\n")[0].removeprefix("# ")
    home = [el("p", el("a", esc("The manual of onnxpad"), href=f"{INDEX}.html"), class_="kicker")]
    figure = Html("")
    if picture:
        data = base64.b64encode(picture.encode()).decode()
        source = f"data:image/svg+xml;base64,{data}"  # longer than `el` leaves an attribute
        drawn = Html(f'<img alt="The example as a picture" src="{source}">')
        figure = el("figure", drawn)
    body = el(
        "div",
        el("a", esc("Skip to the text"), class_="skip", href="#text"),
        el("header", *(home if name != INDEX else []), _beside(name)),
        el("main", _rendered(text), figure, class_="manual", id="text", tabindex=-1),
        class_="page",
    )
    return whole_page(f"{title} - onnxpad", el("body", body))


def _beside(name: str) -> Html:
    """Links to the pages of the same part; none on the index, which lists all."""
    part = next((list(part) for part in index().values() if name in part), [])
    items = (
        el("li", esc(each) if each == name else el("a", esc(each), href=f"{each}.html"))
        for each in part
    )
    return el("nav", el("ul", join(items)), aria_label="Pages") if part else Html("")


def _rendered(text: str) -> Html:
    """Markdown as HTML: headings have the anchors of a forge, and tables scroll."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    lines = (line for line in text.splitlines(keepends=True) if not line.startswith("<!--"))
    tokens = reader.parse("".join(lines))
    known = set(page_names())
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            token.attrSet("id", slug("".join(each.content for each in following.children or ())))
        elif token.type in {"th_open", "td_open"} and "style" in token.attrs:
            aligned = str(token.attrs.pop("style"))  # the page allows no style of its elements
            if aligned.endswith("right"):
                token.attrSet("class", "number")
        elif token.children:
            token.children = _with_links(token.children, known)
    html: str = reader.renderer.render(tokens, reader.options, {})
    opened = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
    return Html(html.replace("<table>", opened).replace("</table>", "</table></div>"))


def _with_links(tokens: list[Token], known: set[str]) -> list[Token]:
    """Inline text in which links lead to pages of the manual; others, to the sources, are text."""
    found, leads = [], False
    for token in tokens:
        if token.type == "link_open":
            path, hash_, anchor = str(token.attrs["href"]).partition("#")
            leads = not path or path.removesuffix(".md") in known
            if leads and path:
                token.attrSet("href", f"{path.removesuffix('.md')}.html{hash_}{anchor}")
        if leads or token.type not in {"link_open", "link_close"}:
            found.append(token)
    return found
