"""Eventually quasi-affine functions of an index, in normal form.

Such a function f is defined for 0 <= i < count and has a threshold T and a period P with
f(i) - 2 f(i+P) + f(i+2P) = 0 for every i >= T: from T on it is affine on each residue class mod P.
The table f(0) .. f(T+2P-1) says all of it. Sums, multiples, floor division by a constant and choice
by sign stay in the class: every operation bounds T and P of its result, tabulates its operands that
far, applies Python's integers point by point, and normalises: the least P first, then the least T.

Functions are equal if and only if their normal forms are. Let f (T, P) and g (T', P') agree for all
i < count. From max(T, T') on, (x^P - 1)^2 (x^P' - 1)^2 annihilates f - g, which is therefore zero
everywhere if it is on the first max(T, T') + 2P + 2P' points. No table is longer than count / 2, so
it is. The periods of a function are the multiples of the least one, and all have the same least T.

A function of at most `LIMIT` points is its full table instead, with period 0. A result that would
need a threshold or period above `LIMIT` raises `InexpressibleError`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import gcd, lcm

from msgspec import Struct
from msgspec.structs import force_setattr

LIMIT = 4096


class InexpressibleError(ArithmeticError):
    """The result does not fit the normal form; never leaves `arithmetic.size`."""


class QuasiAffine(Struct, frozen=True, order=True, cache_hash=True):
    """A function of an index below `count`, in normal form: f(0) .. f(T+2P-1), or every value."""

    values: tuple[int, ...]
    period: int
    count: int

    @property
    def threshold(self) -> int:
        """T, the least; `count` for a full table."""
        return len(self.values) - 2 * self.period

    @property
    def slopes(self) -> list[int]:
        """Growth of each residue class in one period, from the class of T on."""
        return _slopes(self.values, self.period)

    def at(self, index: int) -> int:
        """Return f(index)."""
        if index < len(self.values):
            return self.values[index]
        periods, residue = divmod(index - self.threshold, self.period)
        start = self.values[self.threshold + residue]
        return start + periods * (self.values[self.threshold + self.period + residue] - start)

    @lru_cache(maxsize=256)  # noqa: B019 - a few small functions, asked again and again
    def bounds(self) -> tuple[int, int]:
        """Return the least and the greatest value."""
        if not self.period:
            return min(self.values), max(self.values)
        # An affine class is extreme at its first or its last index.
        first, slopes = self.values[: len(self.values) - self.period], self.slopes
        periods, rest = divmod(self.count - self.threshold, self.period)
        starts = self.values[self.threshold : self.threshold + self.period]
        last = [
            start + periods * slope for start, slope in zip(starts[:rest], slopes, strict=False)
        ]
        last += [
            start + (periods - 1) * slope
            for start, slope in zip(starts[rest:], slopes[rest:], strict=True)
        ]
        return min(min(first), min(last)), max(max(first), max(last))


def support(f: QuasiAffine) -> range:
    """Return the closest range that holds every index where f, which is 0 or 1 and varies, is 1."""
    found = [index for index, value in enumerate(f.values) if value]
    step = gcd(*(index - found[0] for index in found)) or 1
    # All later periods repeat the last two of the table.
    ends = not any(f.values[f.threshold :]) if f.period else True
    return range(found[0], (found[-1] if ends else f.count - 1) + 1, step)


def repetition(f: QuasiAffine) -> tuple[int, int]:
    """Return a threshold and a period; for a full table the pair with the least T + 2P."""
    if f.period:
        return f.threshold, f.period
    best, shortest = (f.count, 1), f.count
    for period in range(1, f.count // 2 + 1):
        if 2 * period >= shortest:
            break
        threshold = f.count - 2 * period
        while threshold and _is_affine(f.values, threshold - 1, period):
            threshold -= 1
        if threshold + 2 * period < shortest:
            best, shortest = (threshold, period), threshold + 2 * period
    return best


def identity(count: int) -> QuasiAffine:
    """Return f(i) = i for 0 <= i < count."""
    if count <= LIMIT:
        return QuasiAffine(tuple(range(count)), 0, count)
    return QuasiAffine((0, 1), 1, count)


def scale(f: QuasiAffine, factor: int) -> QuasiAffine:
    """Return factor * f, for a factor that is not 0."""
    if factor == 1:
        return f
    return QuasiAffine(tuple([factor * value for value in f.values]), f.period, f.count)


def translate(f: QuasiAffine, offset: int) -> QuasiAffine:
    """Return f + offset."""
    if offset == 0:
        return f
    return QuasiAffine(tuple([value + offset for value in f.values]), f.period, f.count)


def add(f: QuasiAffine, g: QuasiAffine) -> QuasiAffine:
    """Return f + g."""
    threshold, period = max(f.threshold, g.threshold), lcm(f.period, g.period)
    pairs = zip(_table(f, threshold, period), _table(g, threshold, period), strict=True)
    return _normal([a + b for a, b in pairs], period, f.count)


def multiply(f: QuasiAffine, g: QuasiAffine) -> QuasiAffine:
    """Return f * g, where no residue class grows in both."""
    threshold, period = max(f.threshold, g.threshold), lcm(f.period, g.period)
    left, right = _table(f, threshold, period), _table(g, threshold, period)
    if any(map(operator.mul, _slopes(left, period), _slopes(right, period))):
        raise InexpressibleError("a product of two sizes that both grow")
    return _normal([a * b for a, b in zip(left, right, strict=True)], period, f.count)


def divide(f: QuasiAffine, divisor: int) -> QuasiAffine:
    """Return floor(f / divisor), for a positive divisor."""
    # After that many periods every class has gained a multiple of the divisor.
    periods = lcm(*(divisor // gcd(divisor, slope) for slope in set(f.slopes)))
    table = _table(f, f.threshold, f.period * periods)
    return _normal([value // divisor for value in table], f.period * periods, f.count)


def positive_part(f: QuasiAffine) -> QuasiAffine:
    """Return max(f, 0)."""
    table = _table(f, _settled(f), f.period)
    return _normal([value if value > 0 else 0 for value in table], f.period, f.count)


def negative(f: QuasiAffine) -> QuasiAffine:
    """Return 1 where f < 0, else 0."""
    table = _table(f, _settled(f), f.period)
    return _normal([1 if value < 0 else 0 for value in table], f.period, f.count)


@lru_cache(maxsize=256)
def through(f: QuasiAffine, g: QuasiAffine) -> tuple[QuasiAffine, int] | None:
    """Return F and s with f(i) = F((g(i) - g(0)) / s) for every i, where each step of g is 0 or s.

    None unless g climbs like that, exactly once a period from its threshold on, and unless f has
    one value wherever g has one value.
    """
    steps = [b - a for a, b in pairwise(g.values)]
    step = max(steps)
    if step < 1 or set(steps) - {0, step} or (f.period and set(g.slopes) != {step}):
        return None
    threshold, period = max(f.threshold, g.threshold), lcm(f.period, g.period)
    # From where F repeats on, an equation that holds for two periods holds for all further ones.
    span = threshold + 2 * (g.period + period) if f.period else f.count
    if span > LIMIT:
        return None
    known: dict[int, int] = {}
    for at, value in zip(_first(g, span), _first(f, span), strict=True):
        if known.setdefault((at - g.values[0]) // step, value) != value:
            return None
    count = (g.at(g.count - 1) - g.values[0]) // step + 1
    if not f.period:
        return QuasiAffine(tuple(known.values()), 0, count), step
    repeats = period // g.period
    length = (g.at(threshold) - g.values[0]) // step + 1 + 2 * repeats
    if 2 * length > count:
        return None
    return _normal([known[place] for place in range(length)], repeats, count), step


def _settled(f: QuasiAffine) -> int:
    """Return a threshold from which each residue class of f keeps its sign.

    A class that crosses 0 only beyond the last index keeps it.
    """
    settled = f.threshold
    for index, slope in enumerate(f.slopes, f.threshold):
        start = f.values[index]
        if slope and start * slope <= 0:
            distance, slope = abs(start), abs(slope)
            change = -(-distance // slope)
            if index + f.period * change < f.count:
                settled = max(settled, index + f.period * (distance // slope) + 1)
    return settled


def _table(f: QuasiAffine, threshold: int, period: int) -> list[int]:
    """Return f(0) .. f(T+2P-1) for a greater threshold and a multiple of the period."""
    if not f.period:
        return list(f.values)
    length = threshold + 2 * period
    if period > LIMIT or threshold > LIMIT or 2 * length > f.count:
        raise InexpressibleError(
            f"a size that repeats only after {period} steps from step {threshold} on"
        )
    return _first(f, length)


def _first(f: QuasiAffine, length: int) -> list[int]:
    """Return f(0) .. f(length - 1)."""
    table, slopes = list(f.values), f.slopes
    block = table[len(table) - f.period :]
    while len(table) < length:
        block = list(map(operator.add, block, slopes))
        table += block
    del table[length:]
    return table


def _slopes(table: Sequence[int], period: int) -> list[int]:
    """Return the growth of each residue class in one period, given f(0) .. f(T+2P-1)."""
    last, before = len(table) - period, len(table) - 2 * period
    return list(map(operator.sub, table[last:], table[before:last]))


def _normal(table: list[int], period: int, count: int) -> QuasiAffine:
    """Return the normal form of f(0) .. f(T+2P-1)."""
    if not period:
        return QuasiAffine(tuple(table), 0, count)
    threshold = len(table) - 2 * period
    tail = table[threshold:]
    for lag in range(1, period // 2 + 1):
        spans = range(2 * (period - lag))
        if period % lag == 0 and all(_is_affine(tail, index, lag) for index in spans):
            period = lag
            break
    while threshold and _is_affine(table, threshold - 1, period):
        threshold -= 1
    return QuasiAffine(tuple(table[: threshold + 2 * period]), period, count)


def _is_affine(table: Sequence[int], index: int, lag: int) -> bool:
    """Whether the values at `index` and one and two lags later lie on a line."""
    return table[index] + table[index + 2 * lag] == 2 * table[index + lag]


NMAX = 2**31 - 1


class Sizes(Struct, frozen=True, order=True):
    """The values that an open size may have: every `step`-th from `first` on, up to `last`.

    Equal sets compare equal: `last` becomes the last value hit, and a single value has step 1.
    """

    first: int = 1
    last: int = NMAX
    step: int = 1

    def __post_init__(self) -> None:
        """Refuses a set without a value."""
        if self.step < 1 or self.last < self.first:
            raise ValueError(
                f"steps of {self.step} from {self.first} to {self.last}: give a positive step and "
                "a range that is not empty"
            )
        if rest := (self.last - self.first) % self.step:
            force_setattr(self, "last", self.last - rest)
        if self.last == self.first:
            force_setattr(self, "step", 1)

    def __str__(self) -> str:
        """The values in words, as `32..1024 in steps of 32`."""
        steps = f" in steps of {self.step}" if self.step > 1 else ""
        return f"{self.first}..{self.last}{steps}" if self.last > self.first else str(self.first)

    @property
    def count(self) -> int:
        """How many values there are."""
        return (self.last - self.first) // self.step + 1

    def __contains__(self, value: int) -> bool:
        """Whether this is one of the values."""
        return self.first <= value <= self.last and (value - self.first) % self.step == 0

    def as_data(self) -> dict[str, object]:
        """The values as JSON."""
        return {"first": self.first, "last": self.last, "step": self.step}

    def value(self, index: int) -> int:
        """Return the value at an index from 0 on."""
        return self.first + self.step * index

    def index(self, value: int) -> int:
        """Return which value this is, from 0 on."""
        if value not in self:
            raise ValueError(f"{value} is no admitted value of {self}")
        return (value - self.first) // self.step

    def from_on(self, value: int) -> int:
        """Return the index of the first value not less than this one; past the last without one."""
        return max(-((self.first - value) // self.step), 0)

    def by_index(self) -> QuasiAffine:
        """The values as a function of the index."""
        return translate(scale(identity(self.count), self.step), self.first)

    def common(self, other: Sizes) -> Sizes | None:
        """The values that are in both; None where there is none."""
        divisor = gcd(self.step, other.step)
        gap, rest = divmod(other.first - self.first, divisor)
        if rest:
            return None
        # The first of these values that is on the other's grid, wherever that grid starts.
        period = other.step // divisor
        hit = self.value(gap * pow(self.step // divisor, -1, period) % period)
        step, last = self.step * period, min(self.last, other.last)
        hit += max(-(-(other.first - hit) // step), 0) * step
        return Sizes(hit, last, step) if hit <= last else None


ANY = Sizes()


class Symbol(Struct, frozen=True, order=True, cache_hash=True):
    """A number that a graph leaves open; of one name and the same values it is the same."""

    name: str
    sizes: Sizes = ANY


Terms = tuple[tuple[Symbol, QuasiAffine], ...]
"""Functions of symbols, to be added."""
