"""Amounts of padding, and layers of constant padding around data, in one form.

Equal paddings are written alike.

A layer pads or (with negative amounts) crops axes of what is inside of it. Layers are listed from
the inside out.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache, reduce
from itertools import chain
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, always, less_equal


class Operand(Struct, frozen=True):
    """The fill of a layer that is unknown until run time.

    A row gives the operand that holds it by its place among the inputs, whose place its term takes.
    With `steps`, that many steps, the last ones that the layer came through, make it of a fill.
    """

    of: Any
    steps: int = 0


Fill = float | int | str | Operand
"""The value of a layer: a number, an operand, or one of the texts below."""

LEAST = "least"
"""Loses every comparison."""
EXCLUDED = "excluded"
"""Counts neither in the sum nor in the divisor of an average."""
NEGATIVE_ZERO = "-0"
"""Equals 0.0 as a number, but is another element."""


class Layer(Struct, frozen=True):
    """Constant padding: (begin, end) on each axis, and its value."""

    amounts: ExtentPairs
    fill: Fill


Layers = tuple[Layer, ...]
NO_LAYERS: Layers = ()

_MOST = 1 << 24


def fill_of(number: float | int) -> Fill:
    """The fill of a number; 0.0 and -0.0 are different fills, and all NaN are one."""
    if math.isnan(number):
        return math.nan
    return NEGATIVE_ZERO if number == 0 and math.copysign(1, number) < 0 else number


def number_of(fill: Fill) -> float | int:
    """The number of a fill that is one; 0 stands for a zero of either sign.

    A whole number is one of Python's: which of two equal fills a cache kept must not show.
    """
    if isinstance(fill, float | int):
        return int(fill) if abs(fill) < _MOST and fill == int(fill) else fill
    return -0.0 if fill == NEGATIVE_ZERO else 0


def made_of(fill: Fill) -> Operand:
    """The fill that a step makes of another one, where that is no single number."""
    made = fill if isinstance(fill, Operand) and fill.steps else Operand(fill)
    return replace(made, steps=made.steps + 1)


def without_sign(layers: Layers) -> Layers:
    """The layers with 0 for -0.0, for what cannot tell them apart."""
    return tuple([replace(each, fill=0) if each.fill == NEGATIVE_ZERO else each for each in layers])


def touched_axes(layers: Layers) -> frozenset[int]:
    """The axes that some layer pads or crops."""
    pairs = (enumerate(layer.amounts) for layer in layers)
    return frozenset(axis for each in pairs for axis, pair in each if pair != (0, 0))


def total(amounts: Iterable[Extent]) -> Extent:
    """The sum of amounts."""
    return reduce(operator.add, amounts, 0)


def around(layers: Layers, axis: int) -> Extent:
    """How much the layers add to the length of an axis."""
    return total(amount for layer in layers for amount in layer.amounts[axis])


def of_axes(layer: Layer, axes: Collection[int]) -> Layer:
    """The part of a layer that concerns some axes."""
    pairs = enumerate(layer.amounts)
    return replace(layer, amounts=tuple([p if at in axes else (0, 0) for at, p in pairs]))


def is_finite(fill: Fill) -> bool:
    """Whether a fill is a finite number, or is known only at run time."""
    if isinstance(fill, str):
        return fill == NEGATIVE_ZERO
    return isinstance(fill, Operand) or math.isfinite(fill)


def crops(amounts: Iterable[ExtentPair]) -> bool:
    """Whether amounts may crop at some size."""
    return not all(_is_least(amount) for pair in amounts for amount in pair)


def never_pads(amounts: Iterable[ExtentPair]) -> bool:
    """Whether amounts pad at no size: they only crop, if anything."""
    return all(_is_least(-amount) for pair in amounts for amount in pair)


def _is_least(amount: Extent) -> bool:
    """Whether an amount is 0 or more at every size."""
    return amount >= 0 if isinstance(amount, int) else always(less_equal(0, amount)) is True


def merged(layers: Iterable[Layer]) -> Layers:
    """The normal form: each amount is as far inside as it may be, and no layer is empty.

    On one side of one axis, two amounts in turn are their sum where both pad or both crop, or the
    inner one pads. Layers of one fill pad each side as if it were alone. And what is cropped from a
    side that a layer does not pad may be cropped before. A layer that only crops has no fill of its
    own, and is written with 0.
    """
    found = [each for each in layers if is_padded(each.amounts)]
    if len(found) == 1:
        return (_fillless(found[0]),)
    while True:
        sunk: list[_Sides] = []
        for each in found:
            _sink(sunk, each)
        kept = [each.layer() for each in sunk if any(n != 0 for n in each.amounts)]
        if kept == found:
            return tuple(map(_fillless, kept))
        found = kept


class _Sides:
    """A layer that is being built, with the amounts of all sides in one list."""

    __slots__ = ("amounts", "fill")

    def __init__(self, amounts: list[Extent], fill: Fill) -> None:
        self.amounts = amounts
        self.fill = fill

    def layer(self) -> Layer:
        """The layer."""
        return Layer(tuple(zip(self.amounts[::2], self.amounts[1::2], strict=True)), self.fill)


def _sink(inner: list[_Sides], layer: Layer) -> None:
    """Adds a layer around others, each amount as far inside as it may be."""
    fill = layer.fill
    amounts = [*chain(*layer.amounts)]
    if inner and _only_crops(amounts):
        fill = inner[-1].fill
    elif inner and _only_crops(inner[-1].amounts):
        inner[-1].fill = fill
    left = _Sides([0] * len(amounts), fill)
    inner.append(left)
    for side, amount in enumerate(amounts):
        if amount == 0:
            continue
        is_crop = isinstance(amount, int) and amount < 0
        place = left
        for each in reversed(inner[:-1]):
            if not is_crop and each.fill != fill:
                break
            held = each.amounts[side]
            if held != 0:
                if _adds(held, amount):
                    place, amount = each, held + amount
                break
            place = each
        place.amounts[side] = amount


@lru_cache(maxsize=1024)
def _fillless(layer: Layer) -> Layer:
    return replace(layer, fill=0) if _only_crops(chain(*layer.amounts)) else layer


def _only_crops(amounts: Iterable[Extent]) -> bool:
    return all(isinstance(n, int) and n <= 0 for n in amounts)


def _adds(inner: Extent, outer: Extent) -> bool:
    """Whether padding one side by two amounts in turn pads it by their sum."""
    if isinstance(inner, int) and isinstance(outer, int):
        return inner >= 0 or outer <= 0
    return _is_least(inner) and _is_least(outer)


Pair = tuple[int, int]
"""(begin, end) on one axis."""
Pairs = tuple[Pair, ...]
ExtentPair = tuple[Extent, Extent]
ExtentPairs = tuple[ExtentPair, ...]
"""(begin, end) for each axis, which may depend on sizes."""
_T = TypeVar("_T")


def pairs_of(pads: Sequence[_T]) -> tuple[tuple[_T, _T], ...]:
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
