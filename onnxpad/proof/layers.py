"""Layers of constant padding around data, from the inside out, and when several equal one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Final, TypeAlias

from onnxpad.arithmetic.size import Extent, Size, always, less_equal
from onnxpad.records import NamedTuple

Amounts: TypeAlias = tuple[tuple[Extent, Extent], ...]

EXCLUDED: Final = "excluded"  # counts neither in the sum nor in the divisor
LEAST: Final = "least"  # loses every comparison
NEGATIVE_ZERO: Final = "-0"  # equals 0.0 as a number, but is a different fill
EITHER_ZERO: Final = "0 or -0"  # perhaps another one for each element


class Layer(NamedTuple):
    """Constant padding around the data and the inner layers: (begin, end) per axis, and a fill."""

    amounts: Amounts
    fill: float | int | str


Layers: TypeAlias = tuple[Layer, ...]


def fill_of(value: float | int) -> float | int | str:
    """Return the fill of a layer for the value of a `Pad`; 0.0 and -0.0 are different fills."""
    return NEGATIVE_ZERO if value == 0 and math.copysign(1, value) < 0 else value


def fill_of_tensor(name: str) -> str:
    """Return the fill of a layer whose value a tensor has, unknown until run time."""
    return f"the value of {name!r}"


def without_sign(layers: Layers) -> Layers:
    """Return the layers with 0 for a zero of any sign, for what cannot tell them apart."""
    return tuple(
        layer._replace(fill=0) if layer.fill in (NEGATIVE_ZERO, EITHER_ZERO) else layer
        for layer in layers
    )


def count_shared(one: Layers, other: Layers) -> int:
    """Count the inner layers that both sides share: they can be treated as data."""
    return sum(
        1
        for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )


def finite_layers(layers: Layers) -> int:
    """Count the inner layers before the first infinite fill, on which MaxPool kernels differ."""
    return sum(
        1
        for _ in itertools.takewhile(
            lambda layer: not (isinstance(layer.fill, float) and math.isinf(layer.fill)), layers
        )
    )


def around(layers: Layers, axis: int) -> Extent:
    """Return how much the layers add to the length of an axis."""
    return total_of(amount for layer in layers for amount in layer.amounts[axis])


def total_of(amounts: Iterable[Extent]) -> Extent:
    """Return the sum of amounts."""
    total: Extent = 0
    for amount in amounts:
        total = total + amount
    return total


def without_crops(layers: Layers, axis: int | None = None) -> tuple[Amounts, Layers]:
    """Return what layers crop off axes that none of them pads, and the layers without that.

    Cropping such an axis first, and then adding the other layers, gives the same. The crops are
    empty where there is no such axis.

    Args:
        layers: The layers.
        axis: The only axis to look at; all of them without it.
    """
    axes = tuple(zip(*(layer.amounts for layer in layers), strict=True))
    cropped = [axis in (None, place) and never_pads(pairs) for place, pairs in enumerate(axes)]
    crops: Amounts = tuple(
        (total_of(begin for begin, _ in pairs), total_of(end for _, end in pairs))
        if is_cropped
        else (0, 0)
        for pairs, is_cropped in zip(axes, cropped, strict=True)
    )
    if all(crop == (0, 0) for crop in crops):
        return (), layers
    rest = [
        tuple(
            (0, 0) if is_cropped else pair
            for pair, is_cropped in zip(layer.amounts, cropped, strict=True)
        )
        for layer in layers
    ]
    kept = zip(layers, rest, strict=True)
    return crops, tuple(
        layer._replace(amounts=amounts)
        for layer, amounts in kept
        if any(pair != (0, 0) for pair in amounts)
    )


def merged(layers: Layers) -> Layers:
    """Drop empty layers, and join neighbours with equal fill where that is exact.

    Joining is exact where, on every side, both layers crop, or the inner one does not. A layer that
    only crops has any fill; it gets 0.
    """
    found: list[Layer] = []
    for layer in layers:
        outer = layer
        while any(pair != (0, 0) for pair in outer.amounts):
            if _only_crops(outer):
                outer = outer._replace(fill=found[-1].fill if found else 0)
            if found and _only_crops(found[-1]):
                found[-1] = found[-1]._replace(fill=outer.fill)
            if not found or found[-1].fill != outer.fill or not _summable(found[-1], outer):
                found.append(outer)
                break
            outer = _joined(found.pop(), outer)
    return tuple(each._replace(fill=0) if _only_crops(each) else each for each in found)


def never_pads(amounts: Amounts) -> bool:
    """Return whether amounts pad at no size: they only crop, if anything."""
    return all(always(less_equal(amount, 0)) is True for pair in amounts for amount in pair)


def _joined(inner: Layer, outer: Layer) -> Layer:
    """One layer for two with the same fill."""
    pairs = zip(inner.amounts, outer.amounts, strict=True)
    return Layer(tuple((b0 + b1, e0 + e1) for (b0, e0), (b1, e1) in pairs), outer.fill)


def _only_crops(layer: Layer) -> bool:
    return all(isinstance(n, int) and n <= 0 for pair in layer.amounts for n in pair)


def _summable(inner: Layer, outer: Layer) -> bool:
    def sums(one: Extent, other: Extent) -> bool:
        if not (isinstance(one, int) and isinstance(other, int)):
            return always(less_equal(0, one)) is True and always(less_equal(0, other)) is True
        return one >= 0 or other <= 0

    return all(
        sums(b0, b1) and sums(e0, e1)
        for (b0, e0), (b1, e1) in zip(inner.amounts, outer.amounts, strict=True)
    )


def same_layers(one: Layers, other: Layers) -> bool:
    """Return whether all amounts are known, and the layers are the same."""
    known = all(isinstance(n, int | Size) for layer in one for pair in layer.amounts for n in pair)
    return known and one == other
