"""Documents: a report in blocks, made by one builder a command, shown by one renderer a format.

Texts in blocks may be `marked` (report.layout); names in them were made safe by `shown` (.text).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, Self, TypeAlias

from msgspec import Struct

from onnxpad.errors import few

View: TypeAlias = Literal["brief", "full"]
"""How much a builder tells: what fits a screen, or all of it, as on pages."""


class NodeNames(Struct, frozen=True):
    """Names of nodes, of which texts have the first and the number of others; and lines above."""

    names: Sequence[str]
    above: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """What a text has of them."""
        return [*self.above, *filter(None, [few(self.names, 3)])]


Cell = str | NodeNames
Rows: TypeAlias = Sequence[Sequence[Cell]]


class Table(Struct, frozen=True):
    """A table with heads, which may be empty; names are in the last column, or below in a text."""

    heads: Sequence[str]
    rows: Rows
    is_below: bool = False


Pairs = partial(Table, ("", ""))
"""Names or labels, each with a text."""


class Picture(Struct, frozen=True):
    """A block that pages draw and texts leave out: windows over padded axes.

    What is padded is by its label a change, the place of a padding, an answer of a convention, or
    a call that gives one; the label of a lone one is empty. Pads of `transposed` answers crop.
    """

    subject: Mapping[str, object]
    transposed: bool = False


class Group(Struct, frozen=True):
    """Blocks that belong together: a section of a document, or a part of one under a title."""

    title: str
    blocks: Sequence[Block]


Block: TypeAlias = "str | Table | Picture | Group"


class Document(Struct, frozen=True):
    """All that a report says: what it is about, such as the path of a model, and the verdict.

    In a text there is an empty line between its sections, and none before the first. One `by_path`
    has each line whole instead, with the path that titles its section, and the verdict last.
    """

    command: str
    about: str
    title: str
    groups: Sequence[Group]
    by_path: bool = False

    @classmethod
    def of(cls, command: str, about: str, title: str, *sections: Sequence[Block] | Group) -> Self:
        """A document of sections, of which those that are no groups have no titles."""
        groups = [each if isinstance(each, Group) else Group("", each) for each in sections]
        return cls(command, about, title, groups)
