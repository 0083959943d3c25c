"""Sizes that vary with one symbol, tabulated: one row for each remainder by the common period."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm
from typing import Final

from onnxpad.arithmetic.size import Extent, Size, Unknown, evaluate, in_terms_of, residues

_MOST_ROWS: Final = 16
_LEAST: Final = 8
"""The least value of the symbol that is worth a row, if the symbol goes so far."""


def residue_table(
    extents: Mapping[str, Extent], size: Extent | None = None
) -> dict[str, object] | None:
    """Tabulates sizes by the size of an axis if that determines them, else by their one symbol.

    Args:
        extents: The sizes, by name.
        size: The size of the axis that they are about; None where it is unknown.

    Returns:
        The table as JSON: `of`, the name of the symbol, empty for the size of the axis itself;
        `modulus`, the common period; `since`, the value of the symbol from which the rows repeat;
        `rows`, with a value of the symbol `at` each remainder, and the sizes there. None where
        nothing varies, something is unknown, it varies with several symbols, or there would be many
        rows.

    >>> from onnxpad.arithmetic.size import symbol
    >>> residue_table({"n": symbol("n")})
    {'of': 'n', 'modulus': 1, 'since': 1, 'rows': [{'at': 8, 'n': 8}]}
    """
    if isinstance(size, Size):
        own = {name: in_terms_of(extent, size, "") for name, extent in extents.items()}
        if found := _table(own):
            return found
    return _table(extents)


def _table(extents: Mapping[str, Extent]) -> dict[str, object] | None:
    known = [residues(extent) for extent in extents.values()]
    symbols = {symbol for each in known for symbol in each}
    if any(isinstance(extent, Unknown) for extent in extents.values()) or len(symbols) != 1:
        return None
    (base,) = symbols
    rhythms = [each[base] for each in known if each]
    modulus = lcm(*(period for period, _ in rhythms))
    since = max(threshold for _, threshold in rhythms)
    sizes = base.sizes
    first = sizes.from_on(max(since, -(-_LEAST // modulus) * modulus))
    count = modulus // sizes.step
    if count > _MOST_ROWS or first + count > sizes.count:
        return None

    def row(index: int) -> dict[str, int]:
        at = {base.name: sizes.value(index)}
        return {name: evaluate(extent, at) for name, extent in extents.items()}

    rows = [{"at": sizes.value(index), **row(index)} for index in range(first, first + count)]
    return {"of": base.name, "modulus": modulus, "since": since, "rows": rows}
