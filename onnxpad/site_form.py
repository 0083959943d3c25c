"""How the padding of a place is written, as facts, and the words for it."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["pad", "window", "transposed", "step"]
"""A `Pad`, a window operator that can be read, one that scatters, or any other on the way."""

_GUARDED: Final = " with its fill left empty"
_COUNTED: Final = " counted"


class WrittenAmounts(Struct, frozen=True):
    """How much an operator pads or crops.

    Attributes:
        axes: The name of each axis that it names, with what is added or cropped at begin and end.
        attributes: The attributes that say so, as they are written, such as `pads`.
    """

    axes: tuple[tuple[str, int, int], ...] = ()
    attributes: tuple[tuple[str, str | tuple[int, ...]], ...] = ()

    @property
    def by_axis(self) -> str:
        """The amounts by axis, such as `H 1+2, W 0+1`; in words if no axis is padded."""
        said = ", ".join(f"{name} {begin}+{end}" for name, begin, end in self.axes)
        return said or ("" if self.attributes else "0 on all axes")

    @property
    def written(self) -> str:
        """The attributes, such as `pads [1, 0, 2, 1]`."""
        return ", ".join(
            f"{name}={value}" if isinstance(value, str) else f"{name} {list(value)}"
            for name, value in self.attributes
        )

    @property
    def text(self) -> str:
        """All of it, such as `H 1+2, W 0+1, pads [1, 0, 2, 1]`."""
        return ", ".join(filter(None, (self.by_axis, self.written)))


class StepForm(Struct, frozen=True):
    """How one operator writes padding, or what else it is on the way of padded data.

    Attributes:
        op: The operator.
        kind: What it is.
        amounts: How much it pads or crops; None where it does not, or they are not constant.
        fill: What a `Pad` upstream of a step writes; None for 0, and where that is not told.
        source: Where amounts that are not constant come from; empty for constants.
        mode: The mode of a `Pad` other than `constant`.
        is_guarded: Whether its fill is left empty, so that the runtime's optimiser cannot fold it.
        auto_pad: The attribute; empty for NOTSET.
        has_pads: Whether pads of its own are written.
        is_counted: Whether an average counts its padding.
        rounds_up: Whether its output size is rounded up.
        beside: Other attributes that say how much a transposed convolution gives.
    """

    op: str
    kind: Kind = "step"
    amounts: WrittenAmounts | None = None
    fill: float | int | str | None = None
    source: Literal["", "computed", "external"] = ""
    mode: str = ""
    is_guarded: bool = False
    auto_pad: str = ""
    has_pads: bool = False
    is_counted: bool = False
    rounds_up: bool = False
    beside: tuple[str, ...] = ()

    @property
    def details(self) -> str:
        """All but the operator, such as `H 1+2, W 1+2, pads [1, 1, 2, 2] counted`."""
        said = [self.mode] if self.mode else []
        if self.kind == "window" and self.auto_pad:
            said.append(f"auto_pad={self.auto_pad}")
        elif self.kind == "window" and not self.has_pads:
            said.append("without pads")
        elif self.amounts is not None:
            said.append(self.amounts.text)
        if self.source:
            said.append("(in another file)" if self.source == "external" else "(computed)")
        filled = f" with {self.fill}" if self.fill is not None else ""
        return f"{' '.join(said)}{self._flags()}{filled}".lstrip()

    @property
    def form(self) -> str:
        """All but the amounts, such as `computed Pad` or `AveragePool pads counted`."""
        return self.words(self.op)

    @property
    def is_phrased(self) -> bool:
        """Whether its form goes on with a phrase, such as `with output_padding`."""
        return bool(self._beside) or (self.is_guarded and not self.mode)

    def words(self, op: str, guarded: str = _GUARDED, counted: str = _COUNTED) -> str:
        """The form, with words of one's own for the operator and for flags."""
        said = [self.source, op, self.mode]
        if self.kind == "window" and (self.auto_pad or self.has_pads):
            said.append(f"auto_pad={self.auto_pad}" if self.auto_pad else "pads")
        if self._beside:
            said.append(f"with {', '.join(self._beside)}")
        return " ".join(filter(None, said)) + self._flags(guarded, counted)

    @property
    def _beside(self) -> list[str]:
        auto_pad = [f"auto_pad={self.auto_pad}"] * bool(self.auto_pad)
        return [*auto_pad, *self.beside] if self.kind == "transposed" else []

    def _flags(self, guarded: str = _GUARDED, counted: str = _COUNTED) -> str:
        return guarded * self.is_guarded + counted * self.is_counted + " ceil_mode" * self.rounds_up


class SiteForm(Struct, frozen=True):
    """How the padding of a place is written: the operators from the padded data on.

    Attributes:
        steps: The operators; none where no padding is written any more.
        tensor: The name of the tensor that is left where none is.
    """

    steps: tuple[StepForm, ...] = ()
    tensor: str = ""

    @property
    def text(self) -> str:
        """All of it, such as `Pad H 1+2, W 1+2 -> Conv without pads`."""
        said = [" ".join(filter(None, (step.op, step.details))) for step in self.steps]
        return " -> ".join(said) or (repr(self.tensor) if self.tensor else "")

    @property
    def form(self) -> str:
        """The same without amounts, such as `Pad -> Conv`; empty where no operator is left."""
        return " -> ".join(step.form for step in self.steps)

    @property
    def amounts(self) -> WrittenAmounts | None:
        """All that a window operator and `Pad`s upstream of it add, and which adds what.

        Of other operators, the amounts of the last that has some; None if none has.
        """
        found = [(step.op, step.amounts) for step in self.steps if step.amounts]
        if len(found) < 2 or self.steps[-1].kind != "window":
            return found[-1][1] if found else None
        begins, ends = Counter[str](), Counter[str]()
        for name, begin, end in (axis for _, amounts in found for axis in amounts.axes):
            begins[name] += begin
            ends[name] += end
        axes = tuple((name, begins[name], ends[name]) for name in begins)
        parts = (part for op, each in found for part in each.attributes or [(op, each.by_axis)])
        return WrittenAmounts(axes, tuple(parts))
