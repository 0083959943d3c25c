"""What a graph leaves open: a named number and the values it may have. Imports nothing.

The values have a greatest one: what happens beyond it is no counterexample to anything.
"""

from dataclasses import dataclass

NMAX = 2**31 - 1


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A number that a graph leaves open: the multiples of `step` from `minimum` to `maximum`.

    Two symbols with the same fields are the same symbol.
    """

    name: str
    minimum: int = 1
    maximum: int = NMAX
    step: int = 1

    def __post_init__(self) -> None:
        """Refuse a symbol with no value."""
        if self.step < 1 or self.count < 1:
            raise ValueError(
                f"no multiple of {self.step} lies between {self.minimum} and {self.maximum}: "
                f"give `{self.name}` a positive step and a range that holds one"
            )

    @property
    def least(self) -> int:
        """The least admitted value."""
        return -(-self.minimum // self.step) * self.step

    @property
    def count(self) -> int:
        """How many values are admitted."""
        return self.maximum // self.step - -(-self.minimum // self.step) + 1

    def value(self, index: int) -> int:
        """Return the admitted value at an index."""
        return self.least + self.step * index

    def index(self, value: int) -> int:
        """Return which admitted value this is, from 0 on."""
        index, rest = divmod(value - self.least, self.step)
        if rest or not 0 <= index < self.count:
            raise ValueError(f"{value} is no admitted value of {self}")
        return index
