"""Reads a page as a browser would, strictly: tags must be balanced."""

from html.parser import HTMLParser
from typing import Final

_VOID: Final = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """A page with what tests ask about.

    Attributes:
        headings: Level and text of each heading, in order.
        text: All visible text.
        tags: Every element, in order, with its attributes.
        ids: The names that links can lead to.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.headings: list[tuple[int, str]] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self._open: list[str] = []
        self._texts: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def ids(self) -> list[str]:
        return [held["id"] for _, held in self.tags if "id" in held]

    def all(self, tag: str) -> list[dict[str, str]]:
        return [held for name, held in self.tags if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
            self.headings.append((int(tag[1]), ""))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self._texts.append(data)
        if any(tag[0] == "h" and tag[1:].isdigit() for tag in self._open):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)
