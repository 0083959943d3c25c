"""Amounts and fills of padding: their order, their sums, and when two are the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Final, TypeAlias, cast

from onnxpad.arithmetic.size import Extent

Pair: TypeAlias = tuple[int, int]
"""(begin, end) on one axis."""
Pairs: TypeAlias = tuple[Pair, ...]
ExtentPair: TypeAlias = tuple[Extent, Extent]
ExtentPairs: TypeAlias = tuple[ExtentPair, ...]
"""(begin, end) for each axis, which may depend on sizes."""
ENDLESS: Final = 2**31 - 1
"""The end of a Slice beyond every axis, which fits an int32."""


def pairs_of(pads: Sequence[int]) -> Pairs:
    """ONNX order (all begins, then all ends) as one (begin, end) per axis."""
    half = len(pads) // 2
    return tuple(zip(pads[:half], pads[half:], strict=True))


def numbers_of(pairs: Sequence[ExtentPair] | None) -> Pairs | None:
    """Amounts that are all numbers; None where one is not, or nothing is known of them."""
    if pairs is None or not {int}.issuperset(map(type, chain.from_iterable(pairs))):
        return None
    return cast("Pairs", tuple(pairs))


def onnx_order(pairs: Sequence[Pair]) -> list[int]:
    """One (begin, end) per axis as ONNX writes pads: all begins, then all ends."""
    return [begin for begin, _ in pairs] + [end for _, end in pairs]


def is_padded(pairs: Sequence[ExtentPair]) -> bool:
    """Whether any amount is, at some size, not zero."""
    return tuple(pairs) != ((0, 0),) * len(pairs)


def add(one: Pairs, other: Pairs) -> Pairs:
    """The sum, for each side of each axis."""
    return tuple([(b0 + b1, e0 + e1) for (b0, e0), (b1, e1) in zip(one, other, strict=True)])


def less(one: Pairs, other: Pairs) -> Pairs:
    """The difference, for each side of each axis."""
    return tuple([(b0 - b1, e0 - e1) for (b0, e0), (b1, e1) in zip(one, other, strict=True)])


def is_plain_zero(value: float | None) -> bool:
    """Whether a fill is 0 but not -0.0: an omitted fill means 0.0."""
    return value is not None and value == 0 and math.copysign(1, value) > 0
