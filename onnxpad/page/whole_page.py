"""A whole page: head, headline, contents, sections and foot."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from onnxpad._version import __version__
from onnxpad.page.markup import NOTHING, Html, el, esc, join
from onnxpad.page.style import STYLE


class Part(NamedTuple):
    """A section of a page.

    Attributes:
        title: Its heading.
        anchor: Its name in links.
        content: All of it, heading included; empty for a section that is left out.
    """

    title: str
    anchor: str
    content: Html


def part(title: str, anchor: str, *content: Html) -> Part:
    """A section under a heading; left out if it has no content."""
    if not any(content):
        return Part(title, anchor, NOTHING)
    heading = el("h2", esc(title), id=anchor)
    return Part(title, anchor, el("section", heading, *content, aria_labelledby=anchor))


def page(command: str, title: str, head: Sequence[Html], parts: Sequence[Part]) -> str:
    """A page that needs nothing outside itself.

    Args:
        command: The command whose report it is, such as `fix`.
        title: What it is about, such as the path of a model.
        head: What stands under the title, before the sections.
        parts: The sections.
    """
    parts = [each for each in parts if each.content]
    links = (el("li", el("a", esc(each.title), href=f"#{each.anchor}")) for each in parts)
    contents = el("nav", el("ul", *links), aria_label="Contents") if len(parts) > 1 else NOTHING
    header = el(
        "header",
        el("p", esc(f"onnxpad {command}"), class_="kicker"),
        el("h1", esc(title)),
        *head,
        contents,
    )
    foot = f"Made by onnxpad {__version__}. This page loads nothing and runs no script."
    body = el(
        "body",
        el("a", esc("Skip to the report"), class_="skip", href="#report"),
        el(
            "div",
            header,
            el("main", join(each.content for each in parts), id="report", tabindex=-1),
            el("footer", el("p", esc(foot))),
            class_="page",
        ),
    )
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
        f"<title>{esc(title)} - onnxpad {esc(command)}</title>\n"
        f"<style>{STYLE}</style>\n</head>\n{body}\n</html>\n"
    )
