"""Where conventions part: at which sizes of an axis two of them compute the same.

Away from the smallest sizes everything repeats with the stride, so the conventions are evaluated at
one long axis for each remainder.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.frameworks.conventions.effect import effect
from onnxpad.frameworks.conventions.question import Axis, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.table import AbsentError, Convention

_SEARCHED = 400
"""Sizes up to which the first one is looked for from which on everything repeats."""


class Deviation(Struct, frozen=True):
    """How the second of two conventions differs from the first, at sizes of some remainders.

    Attributes:
        remainders: The remainders of the size by the stride.
        shift: By how many elements its windows are further right; for a transposed convolution,
            by how many of its output begins further right.
        outputs: How many outputs more it has.
        dilation: Whether its window has another dilation.
        divisor: Whether its averages at the edges divide by another number.
    """

    remainders: tuple[int, ...]
    shift: int
    outputs: int
    dilation: bool = False
    divisor: bool = False


class Parting(Struct, frozen=True):
    """Two sets of conventions that compute the same at some sizes and not at others.

    Attributes:
        axes: The axes that this is about: those with the same window.
        stride: The stride, with which everything repeats.
        first: Names of conventions that are the same at all sizes.
        second: The same for those compared with them.
        same: The remainders of the size by the stride at which both compute the same.
        differences: How the second differs at the others.
        since: The size from which on this is so.
    """

    axes: tuple[int, ...]
    stride: int
    first: tuple[str, ...]
    second: tuple[str, ...]
    same: tuple[int, ...]
    differences: tuple[Deviation, ...]
    since: int


class Survey(Struct, frozen=True):
    """Conventions compared at all sizes of each axis.

    Attributes:
        classes: The conventions that compute the same at all sizes, in sets; each is in one.
        partings: The pairs of sets that compute the same at some sizes of an axis.
    """

    classes: tuple[tuple[str, ...], ...]
    partings: tuple[Parting, ...]


def survey(question: Question, conventions: Mapping[str, Convention]) -> Survey:
    """Compares conventions that exist for a question at all sizes.

    Each axis is looked at for itself; axes with the same window come together.
    """
    alike: dict[Axis, list[int]] = {}
    for place, axis in enumerate(question.axes):
        alike.setdefault(replace(axis, size=0), []).append(place)
    some = [_OneAxis(question, tuple(axes), conventions) for axes in alike.values()]
    classes = _sets({name: tuple(one.behaviour(name) for one in some) for name in conventions})
    return Survey(classes, tuple(parting for one in some for parting in one.partings()))


def _sets(keys: Mapping[str, Hashable]) -> tuple[tuple[str, ...], ...]:
    found: dict[Hashable, list[str]] = {}
    for name, key in keys.items():
        found.setdefault(key, []).append(name)
    return tuple(map(tuple, found.values()))


class _OneAxis:
    """Conventions on one axis, or on several with the same window."""

    def __init__(
        self, question: Question, axes: tuple[int, ...], conventions: Mapping[str, Convention]
    ) -> None:
        self._question, self._axes, self._conventions = question, axes, conventions
        window, self._op = question.windows[axes[0]], question.op
        self._stride = window.stride
        least = _long(window.extent, window.stride, max(question.padding or (0,)))
        self._long = least + -least % window.stride
        self._here = [question.sizes[axis] for axis in axes]
        self._answers: dict[tuple[str, int], AxisAnswer] = {}
        self._effects: dict[tuple[str, int], Hashable] = {}

    def behaviour(self, name: str) -> tuple[Hashable, ...]:
        """What a convention computes at the sizes given, then at each remainder of a long size."""
        sizes = (*self._here, *range(self._long, self._long + self._stride))
        return tuple(self._effect(name, size) for size in sizes)

    def partings(self) -> Iterator[Parting]:
        """The pairs of sets that compute the same at some sizes."""
        sets = _sets({name: self.behaviour(name) for name in self._conventions})
        for first, second in combinations(sets, 2):
            pair = first[0], second[0]
            rests = [rest for rest in range(self._stride) if self._agree(*pair, self._long + rest)]
            if not rests and not any(self._agree(*pair, size) for size in self._here):
                continue
            differing: dict[Deviation, list[int]] = {}
            for rest in sorted({*range(self._stride)}.difference(rests)):
                answers = (self._answers[name, self._long + rest] for name in pair)
                differing.setdefault(_difference(self._op, *answers), []).append(rest)
            differences = (replace(how, remainders=tuple(at)) for how, at in differing.items())
            told = first, second, tuple(rests), tuple(differences), self._since(*pair, rests)
            yield Parting(self._axes, self._stride, *told)

    def _effect(self, name: str, size: int) -> Hashable:
        """What a convention computes where these axes have some size, and all others long ones."""
        if (name, size) not in self._effects:
            question, row = self._question, self._conventions[name]
            sizes = tuple(
                size if place in self._axes else _long(axis.window.extent, 1, axis.padding or 0)
                for place, axis in enumerate(question.axes)
            )
            self._effects[name, size] = None
            with suppress(AbsentError):
                axis = row.answer(replace(question, sizes=sizes)).axes[self._axes[0]]
                self._answers[name, size] = axis
                self._effects[name, size] = effect(self._op, axis, counts=row.counts)
        return self._effects[name, size]

    def _agree(self, one: str, other: str, size: int) -> bool:
        return self._effect(one, size) == self._effect(other, size)

    def _since(self, one: str, other: str, same: Sequence[int]) -> int:
        """The size from which on both compute the same just at these remainders."""
        if self._long > _SEARCHED:
            return self._long
        for size in range(self._long - 1, 0, -1):
            if self._agree(one, other, size) != (size % self._stride in same):
                return size + 1
        return 1


def _long(extent: int, stride: int, padding: int) -> int:
    """A size from which on everything repeats with the stride."""
    return 2 * (extent + padding) + stride


def _difference(op: Op, one: AxisAnswer, other: AxisAnswer) -> Deviation:
    """How the second of two that compute something else differs, at any remainder."""
    further = one.begin - other.begin
    shift = -further if op == "convtranspose" else further  # whose pads crop
    outputs = other.output - one.output
    dilation = one.window.dilation != other.window.dilation
    return Deviation((), shift, outputs, dilation, not (shift or outputs or dilation))
