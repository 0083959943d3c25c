"""Sizes that vary with one symbol, tabulated: one row for each remainder by the common period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lcm
from typing import Final

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    evaluate,
    in_terms_of,
    period,
    threshold,
)
from onnxpad.records import dataclass

_MOST_ROWS: Final = 16
_OWN: Final = "size"


@dataclass(frozen=True, slots=True)
class ResidueTable:
    """The values of some sizes for each remainder of their symbol by their common period.

    Attributes:
        of: The symbol; empty for the size of the axis itself.
        modulus: The common period.
        since: The value of the symbol from which the rows repeat.
        rows: A value of the symbol for each remainder, and there the values of the sizes, in the
            order in which these were given.
    """

    of: str
    modulus: int
    since: int
    rows: tuple[tuple[int, tuple[int, ...]], ...]

    def as_data(self, *names: str) -> dict[str, object]:
        """The table as JSON, with a name for each of the sizes."""
        rows = [{"at": at, **dict(zip(names, values, strict=True))} for at, values in self.rows]
        return {"of": self.of, "modulus": self.modulus, "since": self.since, "rows": rows}


def residue_table(
    extents: Sequence[Extent],
    size: Extent | None = None,
    least: int = 8,
    *,
    constant: bool = False,
) -> ResidueTable | None:
    """Tabulates sizes by the size of an axis if that determines them, else by their one symbol.

    Args:
        extents: The sizes.
        size: The size of the axis that they are about; None where it is unknown.
        least: The least value of the symbol that is worth a row, if the symbol goes so far.
        constant: Whether each must be the same for all values of one remainder; else it may grow.

    Returns:
        The table; None where nothing varies, something is unknown, it varies with several symbols,
        or there would be many rows.

    >>> from onnxpad.arithmetic.size import symbol
    >>> residue_table([symbol("n")]).rows, residue_table([symbol("n")], constant=True)
    (((8, (8,)),), None)
    """
    if isinstance(size, Size):
        own = [in_terms_of(extent, size, _OWN) for extent in extents]
        if found := _table(own, least, constant):
            return replace(found, of="")
    return _table(extents, least, constant)


def _table(extents: Sequence[Extent], least: int, constant: bool) -> ResidueTable | None:
    open_sizes = [extent for extent in extents if isinstance(extent, Size)]
    symbols = {each for extent in open_sizes for each in extent.symbols}
    if any(isinstance(extent, Unknown) for extent in extents) or len(symbols) != 1:
        return None
    (base,) = symbols
    if any(extent.kinds for extent in open_sizes):
        return None
    modulus = lcm(*map(period, open_sizes))
    since = max(threshold(extent) for extent in open_sizes)
    sizes = base.sizes
    first = sizes.from_on(max(since, -(-least // modulus) * modulus))
    count = sizes.from_on(sizes.value(first) + modulus) - first
    if count > _MOST_ROWS or first + count > sizes.count:
        return None

    def row(index: int) -> tuple[int, tuple[int, ...]]:
        value = sizes.value(index)
        return value, tuple(evaluate(extent, {base.name: value}) for extent in extents)

    rows = tuple(map(row, range(first, first + count)))
    again = map(row, range(first + count, min(first + 2 * count, sizes.count)))
    if constant and any(now != then for (_, now), (_, then) in zip(rows, again, strict=False)):
        return None
    return ResidueTable(base.name, modulus, since, rows)
