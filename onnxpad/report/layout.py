"""Documents as text for a screen or a pipe: lines wrapped with hanging indents, and tables.

No line is broken inside a word: a name that is longer than the screen stays whole.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from operator import gt
from typing import Any

from msgspec import Struct

from onnxpad.report.documents import Block, Document, Group, NodeNames, Rows, Table

PIPED_WIDTH = 80
"""Columns of a report that goes to a pipe or a file, so that it is the same on every machine."""

_NAMED = ("good", "info", "warning", "error", "strong", "faint", "command")
_SGR = dict(zip(_NAMED, ("32", "36", "33", "1;31", "1", "2", "1;36"), strict=True))
ROLES = {code: role for role, code in _SGR.items()}
"""The role by the number that marks it."""
MARKED = re.compile("\x1b\\[([0-9;]+)m(.*?)\x1b\\[0m")
"""A text that is marked: the number, and the text."""
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
UNBREAKABLE = "\u00a0"
"""A space at which no line is broken; names never hold one, since it is escaped in them."""
_LEAST = 24
"""Columns that the last cell of a row has at least."""


def marked(text: str, role: str) -> str:
    """The text marked with its role: a severity, `good`, `strong`, `faint` or `command`.

    The marks are the colours of terminals, which renderers read or drop; no safe name has any.
    """
    return f"\x1b[{_SGR[role]}m{text}\x1b[0m"


def unmarked(text: str) -> str:
    """The text without marks."""
    return _COLOURS.sub("", text)


def wrapped(text: str, width: int | None, first: str, rest: str) -> list[str]:
    """Lines of at most `width` cells, as far as words are not longer; None for one line.

    `first` stands before the first, `rest` before the others. Each word of a marked text is marked,
    so that a mark never goes over the end of a line.

    >>> wrapped("pads that the operator has", 16, "  Conv  ", " " * 8)
    ['  Conv  pads', '        that the', '        operator', '        has']
    """
    if width is None:
        return [(first + text).replace(UNBREAKABLE, " ")]
    text = MARKED.sub(lambda it: " ".join(marked(e, ROLES[it[1]]) for e in it[2].split(" ")), text)
    lines, line, begin = list[str](), first, True
    for word in text.split(" "):
        if not begin and len(unmarked(line)) + 1 + len(unmarked(word)) > width:
            lines.append(line)
            line, begin = rest, True
        line += word if begin else f" {word}"
        begin = False
    return [each.rstrip().replace(UNBREAKABLE, " ") for each in [*lines, line]]


class Screen(Struct, frozen=True):
    """The columns that a report is laid out for, None if lines are never broken; and colours."""

    width: int | None = PIPED_WIDTH
    is_painted: bool = False

    def block_lines(self, blocks: Iterable[Block]) -> Iterator[str]:
        """The lines of blocks of a document, without marks where nothing is painted."""
        lines = (line for block in blocks for line in self._lines_of_block(block))
        return lines if self.is_painted else map(unmarked, lines)

    def _lines_of_block(self, block: Block) -> Iterable[str]:
        match block:
            case str():
                text = block.lstrip(" ")
                indent = " " * (len(block) - len(text))
                return wrapped(text, self.width, indent, f"{indent}  ")
            case Table():
                return self._rows(block.heads, block.rows, block.is_below)
            case Group():
                return self.block_lines([*filter(None, [block.title]), *block.blocks])
        return ()

    def _rows(self, heads: Sequence[str], rows: Rows, is_below: bool) -> Iterator[str]:
        """Rows in columns, narrowed to their words; the last has the room left, or is below."""
        told: list[Sequence[Any]] = [*rows]
        if any(heads):
            told.insert(0, [each and marked(each, "faint") for each in heads])
        lasts = [cell.lines if isinstance(cell, NodeNames) else [cell] for *_, cell in told]
        columns = [*zip(*(row[:-1] for row in told), strict=True)]
        widths = [max(len(unmarked(text)) for text in column) for column in columns]
        words = [[e for t in each for e in enumerate(unmarked(t).split(" "))] for each in columns]
        least = [max(len(word) + 2 * (place > 0) for place, word in each) for each in words]
        room = (self.width or sys.maxsize) - 2 * len(heads) - _LEAST
        names = [each for *_, cell in rows if isinstance(cell, NodeNames) for each in cell.names]
        longer = max(map(len, " ".join(names).split(" "))) - _LEAST
        is_below |= max(sum(map(min, widths, least)), min(sum(widths), room) + longer) > room
        room += _LEAST * is_below
        while sum(widths) > room and any(map(gt, widths, least)):
            broad = (at for at, width in enumerate(widths) if width > least[at])
            widths[max(broad, key=widths.__getitem__)] -= 1
        hang = "  " * (len(heads) > 2)
        drawn, spare = [list[list[str]]()] * len(columns), 0
        for at in [*range(len(columns))] * 2:  # what a wrapped one leaves, the next ones may take
            width = widths[at] + spare
            drawn[at] = [wrapped(e, width, "", hang) for e in columns[at]]
            widths[at] = max(len(unmarked(e)) for lines in drawn[at] for e in lines)
            spare = width - widths[at]
        indent = 6 if is_below else sum(widths) + 2 * len(heads)
        limit = self.width and self.width - indent
        for place, lines in enumerate(lasts):
            row = [column[place] for column in drawn]
            below = [part for each in lines for part in wrapped(each, limit, "", hang)]
            for parts in zip_longest(*row, *[below] * (not is_below), fillvalue=""):
                room_of = zip(parts, [*widths, 0], strict=False)
                yield "".join(f"  {e}{' ' * (n - len(unmarked(e)))}" for e, n in room_of).rstrip()
            yield from (f"{' ' * indent}{each}" for each in below if is_below and each)


def text_of(document: Document, screen: Screen) -> str:
    """A document as text, with an empty line between its sections, or by path."""
    about = document.about and marked(document.about, "strong")
    headline = [": ".join(filter(None, [about, document.title]))]
    if document.by_path:
        groups = [*document.groups, Group("", headline)]
        return "".join(by_path(group, screen) for group in groups)
    first, *rest = document.groups
    groups = [Group("", [*filter(None, headline), *first.blocks]), *rest]
    titled = (Group(each.title and marked(each.title, "strong"), each.blocks) for each in groups)
    return "\n\n".join("\n".join(screen.block_lines([e])) for e in titled if e.blocks) + "\n"


def by_path(group: Group, screen: Screen) -> str:
    """A section about a file as text: lines that are never broken, each with the path."""
    path = f"{group.title}: " if group.title else ""
    told = (f"{path}{line}" for line in group.blocks if isinstance(line, str))
    return "".join(f"{line}\n" for line in Screen(None, screen.is_painted).block_lines(told))
