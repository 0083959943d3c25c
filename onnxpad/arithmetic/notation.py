"""How amounts of padding are written for people: `H 1+2, W 1+2`, begin and end of each axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

Pairs: TypeAlias = tuple[tuple[int, int], ...]

SPATIAL: Final = {1: ("L",), 2: ("H", "W"), 3: ("D", "H", "W")}
"""The names of the spatial axes of a window, by their number."""


def axis_names(rank: int) -> tuple[str, ...]:
    """The names of the spatial axes of a window of this rank.

    >>> axis_names(2), axis_names(4)
    (('H', 'W'), ('D1', 'D2', 'D3', 'D4'))
    """
    return SPATIAL.get(rank) or tuple(f"D{axis + 1}" for axis in range(rank))


@lru_cache(maxsize=1024)
def named(pairs: Pairs) -> tuple[tuple[str, int, int], ...]:
    """Padding of spatial axes with their names.

    >>> named(((1, 2), (0, 1)))
    (('H', 1, 2), ('W', 0, 1))
    """
    names = axis_names(len(pairs))
    return tuple([(name, *pair) for name, pair in zip(names, pairs, strict=True)])


@lru_cache(maxsize=1024)
def pads_text(pairs: Pairs) -> str:
    """Padding of spatial axes for people: `begin+end` for each axis by name.

    >>> pads_text(((1, 2), (0, 1)))
    'H 1+2, W 0+1'
    """
    return ", ".join(f"{name} {begin}+{end}" for name, begin, end in named(pairs))


def axes_text(pairs: Pairs, axes: Sequence[int] | None = None) -> str:
    """Amounts of a `Pad` for people: `begin+end` for each axis that it pads, by number.

    Args:
        pairs: The amounts, for each axis of the data or of `axes`.
        axes: The axes that they are for.

    >>> axes_text(((0, 0), (0, 0), (1, 2), (0, 1))), axes_text(((1, 1),), [-1])
    ('axis 2 1+2, axis 3 0+1', 'axis -1 1+1')
    >>> axes_text(((0, 0), (0, 0)))
    '0 on each axis'
    """
    named = zip(range(len(pairs)) if axes is None else axes, pairs, strict=True)
    padded = [f"axis {axis} {begin}+{end}" for axis, (begin, end) in named if begin or end]
    return ", ".join(padded) or "0 on each axis"
