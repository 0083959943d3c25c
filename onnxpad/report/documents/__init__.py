"""Documents: a report in blocks, made by one builder a command, shown by one renderer a format.

Texts in blocks may be marked by `onnxpad.report.layout.marked`; names in them were made safe by
`onnxpad.report.text.shown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

View: TypeAlias = Literal["brief", "full", "page"]
"""How much a builder tells: what fits a screen, all of it in words, or all of it with pictures."""


class Line(Struct, frozen=True):
    """A text with indents of its own; a plain text is a line too, whose rest stands further right.

    Attributes:
        text: The text.
        first: Stands before its first line.
        rest: Stands before the others; None for one line, which is cut where there is no room.
    """

    text: str
    first: str = "  "
    rest: str | None = "    "


def line_of(text: str) -> Line:
    """A line with the indent that the text begins with, whose rest stands further right."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    return Line(text.lstrip(" "), indent, f"{indent}    ")


class Pairs(Struct, frozen=True):
    """Names or labels, each with a text."""

    rows: Sequence[tuple[str, str]]


class NodeNames(Struct, frozen=True):
    """Names of nodes: as many of the first ones as there is room for, and the number of others.

    Attributes:
        names: All of them.
        above: Lines above them.
    """

    names: Sequence[str]
    above: Sequence[str] = ()


Cell = str | Sequence[str] | NodeNames


class Table(Struct, frozen=True):
    """A table.

    Attributes:
        heads: The heads of the columns; all empty for a table without.
        rows: The cells of each row: a text, several lines, or names in the last column.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]


class Tallies(Struct, frozen=True):
    """Numbers by name, each before and after; twice the same where there is only one."""

    counts: Sequence[tuple[str, int, int]]


class Picture(Struct, frozen=True):
    """A block that pages draw and texts leave out.

    Attributes:
        subject: A change, the place of a padding, or `legend`.
    """

    subject: Any


class Group(Struct, frozen=True):
    """Blocks that belong together: a section of a document, or a part of one under a title.

    Attributes:
        title: Its title; texts have it only for parts of a section.
        blocks: What is in it.
        is_open: Whether a page shows what is in it at once.
    """

    title: str
    blocks: Sequence[Block]
    is_open: bool = False


Block: TypeAlias = "str | Line | Pairs | Table | Tallies | Picture | Group"


class Document(Struct, frozen=True):
    """All that a report says.

    Attributes:
        command: The command whose report it is.
        title: What it is about, such as the path of a model.
        groups: The sections, with an empty line between them in a text.
    """

    command: str
    title: str
    groups: Sequence[Group]
