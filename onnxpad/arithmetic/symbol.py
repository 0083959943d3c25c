"""A named number that a graph leaves open, and the values it may have.

The values have a greatest one: nothing is claimed beyond it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from onnxpad.arithmetic import quasi_affine
from onnxpad.arithmetic.quasi_affine import QuasiAffine
from onnxpad.records import dataclass

NMAX = 2**31 - 1

_MOST: Final = 64
"""Most values that a set with gaps lists: those before it repeats, and the first that repeat."""

_TOLD: Final = 8
"""Most values of a set with gaps that are named in words."""


@dataclass(frozen=True, slots=True, order=True)
class Sizes:
    """The values that an open size may have: every `step`-th from `first` on, up to `last`.

    A set with gaps, such as 3, 4, 7, 8, 11 and so on, has only some of these: the values in
    `early`, and those in `cycle` with all multiples of `period` added. `counted` makes such a set.

    Equal sets compare equal: `last` becomes the last value hit, and a single value has step 1.

    Attributes:
        first: The least value.
        last: The greatest value.
        step: Every difference of two values is a multiple of it.
        early: The values before the repetition starts; empty without gaps.
        cycle: The first values that repeat; empty without gaps.
        period: The distance from each value to its repetition; 0 without gaps.
    """

    first: int = 1
    last: int = NMAX
    step: int = 1
    early: tuple[int, ...] = ()
    cycle: tuple[int, ...] = ()
    period: int = 0

    def __post_init__(self) -> None:
        """Refuses a set without a value."""
        if self.step < 1 or self.last < self.first:
            raise ValueError(
                f"steps of {self.step} from {self.first} to {self.last}: give a positive step and "
                "a range that is not empty"
            )
        if rest := (self.last - self.first) % self.step:
            object.__setattr__(self, "last", self.last - rest)
        if self.last == self.first:
            object.__setattr__(self, "step", 1)

    def __str__(self) -> str:
        """The values in words, as `32..1024 in steps of 32` or `3, 4, 7, 8 and so on to 1024`."""
        if self.cycle:
            return f"{self.listed()} to {self.last}" if self._goes_on else self.listed()
        steps = f" in steps of {self.step}" if self.step > 1 else ""
        return f"{self.first}..{self.last}{steps}" if self.last > self.first else str(self.first)

    @property
    def _goes_on(self) -> bool:
        """Whether there are more values than are listed."""
        shown = len(self.early) + 2 * len(self.cycle)
        return min(shown, self.count) > _TOLD or shown < self.count

    def listed(self) -> str:
        """The values of a set with gaps in words, as `3, 4, 7, 8 and so on`."""
        shown = len(self.early) + 2 * len(self.cycle)
        if min(shown, self.count) > _TOLD:
            few = ", ".join(str(self.value(index)) for index in range(_TOLD // 2))
            return f"{few}, ..., {len(self.cycle)} of every {self.period} and so on"
        values = [str(self.value(index)) for index in range(min(shown, self.count))]
        if shown >= self.count:
            return f"{', '.join(values[:-1])} or {values[-1]}"
        return f"{', '.join(values)} and so on"

    @property
    def count(self) -> int:
        """How many values there are."""
        return self.from_on(self.last) + 1

    def __contains__(self, value: int) -> bool:
        """Whether this is one of the values."""
        return self.first <= value <= self.last and self.value(self.from_on(value)) == value

    def as_data(self) -> dict[str, object]:
        """The values as JSON."""
        data: dict[str, object] = {"first": self.first, "last": self.last, "step": self.step}
        if self.cycle:
            data |= {"early": [*self.early], "cycle": [*self.cycle], "period": self.period}
        return data

    def value(self, index: int) -> int:
        """Return the value at an index from 0 on."""
        if not self.cycle:
            return self.first + self.step * index
        if index < len(self.early):
            return self.early[index]
        repeated, place = divmod(index - len(self.early), len(self.cycle))
        return self.cycle[place] + repeated * self.period

    def index(self, value: int) -> int:
        """Return which value this is, from 0 on."""
        if value not in self:
            raise ValueError(f"{value} is no admitted value of {self}")
        return self.from_on(value)

    def from_on(self, value: int) -> int:
        """Return the index of the first value that is not less than this one.

        That is past the last index if all values are less.
        """
        if not self.cycle:
            return max(-((self.first - value) // self.step), 0)
        if value < self.cycle[0]:
            return bisect_left(self.early, value)
        repeated, offset = divmod(value - self.cycle[0], self.period)
        place = bisect_left(self.cycle, self.cycle[0] + offset)
        return len(self.early) + repeated * len(self.cycle) + place

    def by_index(self) -> QuasiAffine:
        """The values as a function of the index."""
        if self.cycle:
            return self._continued(self.count)
        multiples = quasi_affine.scale(quasi_affine.identity(self.count), self.step)
        return quasi_affine.translate(multiples, self.first)

    def _continued(self, count: int) -> QuasiAffine:
        """The values as a function of the index, continued or cut off at another number of them."""
        length = len(self.early) + 2 * len(self.cycle)
        table = map(self.value, range(count if count <= quasi_affine.LIMIT else length))
        return quasi_affine.tabulated([*table], len(self.cycle), count)

    @property
    def settled(self) -> int:
        """The index from which the values repeat."""
        return len(self.early)

    @property
    def repeats(self) -> int:
        """After how many values they repeat."""
        return len(self.cycle) or 1

    @property
    def span(self) -> int:
        """How much the values grow from one repetition to the next."""
        return self.period or self.step

    def until(self, last: int) -> Sizes:
        """The set, continued or cut off at another limit, which is not less than `first`."""
        if not self.cycle:
            return Sizes(self.first, last, self.step)
        return counted(self._continued(self.from_on(last + 1))) or self

    def common(self, other: Sizes) -> Sizes | None:
        """The values that are in both, which have no gaps; None where there is none."""
        divisor = math.gcd(self.step, other.step)
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


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A number that a graph leaves open.

    Two symbols of one name and the same values are the same symbol, if both are derived from the
    same sums, or neither from any.

    Attributes:
        name: The name, which for a derived symbol says what it stands for.
        sizes: The values; for a derived symbol some of them may not occur.
        kind: How it is derived; empty if it is not.
        of: The sums from which it is derived: a constant and terms each.
    """

    name: str
    sizes: Sizes = ANY
    kind: str = ""
    of: tuple[tuple[int, Terms], ...] = ()

    def __hash__(self) -> int:
        """A hash of the name, which nearly always tells symbols apart."""
        return hash(self.name)

    @property
    def bases(self) -> tuple[Symbol, ...]:
        """The symbols on which it depends that are not derived: itself, if it is not."""
        if not self.kind:
            return (self,)
        parts = [base for _, terms in self.of for symbol, _ in terms for base in symbol.bases]
        return tuple(sorted({*parts}))

    @property
    def kinds(self) -> frozenset[str]:
        """How it, and the symbols from which it is derived, are derived."""
        inner = (symbol.kinds for _, terms in self.of for symbol, _ in terms)
        return frozenset().union({self.kind} - {""}, *inner)

    @property
    def depth(self) -> int:
        """How often symbols are derived from derived ones; 0 if it is not derived."""
        depths = [symbol.depth for _, terms in self.of for symbol, _ in terms]
        return 1 + max(depths, default=0) if self.kind else 0


Terms: TypeAlias = tuple[tuple[Symbol, QuasiAffine], ...]
"""Functions of symbols, to be added."""


def counted(f: QuasiAffine) -> Sizes | None:
    """Return the set of values of a function that always climbs; None where it has no short form.

    Args:
        f: The values by index, in normal form.
    """
    first, last = f.at(0), f.at(f.count - 1)
    differences = [after - before for before, after in pairwise(f.values)]
    step = math.gcd(*differences) or 1
    found = (f.threshold, f.period) if f.period else _repetition(differences)
    if found is None or sum(found) > _MOST or len({*f.slopes}) > 1:
        return None
    settled, repeats = found
    if found == (0, 1):
        return Sizes(first, last, step)
    early, cycle = f.values[:settled], f.values[settled : settled + repeats]
    return Sizes(first, last, step, early, cycle, f.at(settled + repeats) - f.at(settled))


def _repetition(differences: Sequence[int]) -> tuple[int, int] | None:
    """Return from where on, and after how many, differences repeat: the pair of the least sum."""
    if not differences:
        return 0, 1
    best: tuple[int, int] | None = None
    for lag in range(1, min(len(differences), _MOST) + 1):
        if best is not None and lag >= sum(best):
            break
        settled = len(differences) - lag
        while settled and differences[settled - 1] == differences[settled - 1 + lag]:
            settled -= 1
        if best is None or settled + lag < sum(best):
            best = settled, lag
    return best
