"""A named number that a graph leaves open, and the values it may have.

The values have a greatest one: nothing is claimed beyond it.
"""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from onnxpad.arithmetic import quasi_affine
from onnxpad.arithmetic.quasi_affine import QuasiAffine

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
        """Return the index of the first value that is not less than this one.

        That is past the last index if all values are less.
        """
        return max(-((self.first - value) // self.step), 0)

    def by_index(self) -> QuasiAffine:
        """The values as a function of the index."""
        multiples = quasi_affine.scale(quasi_affine.identity(self.count), self.step)
        return quasi_affine.translate(multiples, self.first)

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


Terms: TypeAlias = tuple[tuple[Symbol, QuasiAffine], ...]
"""Functions of symbols, to be added."""
