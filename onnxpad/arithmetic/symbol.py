"""What a graph leaves open: a named number and the values it may have.

The values have a greatest one: what happens beyond it is no counterexample to anything.
"""

from dataclasses import dataclass

NMAX = 2**31 - 1


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A number that a graph leaves open: every `step`-th from `minimum` on, up to `maximum`.

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
                f"steps of {self.step} from {self.minimum} to {self.maximum}: give `{self.name}` a "
                "positive step and a range that is not empty"
            )

    @property
    def count(self) -> int:
        """How many values are admitted."""
        return (self.maximum - self.minimum) // self.step + 1

    def value(self, index: int) -> int:
        """Return the admitted value at an index."""
        return self.minimum + self.step * index

    def index(self, value: int) -> int:
        """Return which admitted value this is, from 0 on."""
        index, rest = divmod(value - self.minimum, self.step)
        if rest or not 0 <= index < self.count:
            raise ValueError(f"{value} is no admitted value of {self}")
        return index
