"""Where conventions part: at which sizes of an axis two of them compute the same.

Away from the smallest sizes everything repeats with the stride, so the conventions are evaluated at
one long axis for each remainder.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
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
    by_axis = [_OneAxis(question, axes, conventions) for axes in _alike(question.axes)]
    classes = _sets({name: tuple(one.behaviour[name] for one in by_axis) for name in conventions})
    return Survey(classes, tuple(parting for one in by_axis for parting in one.partings()))


def _alike(axes: Sequence[Axis]) -> list[tuple[int, ...]]:
    """The axes, by index, that are equal."""
    found: dict[Axis, list[int]] = {}
    for place, axis in enumerate(axes):
        found.setdefault(replace(axis, size=0), []).append(place)
    return [tuple(places) for places in found.values()]


def _sets(keys: Mapping[str, Hashable]) -> tuple[tuple[str, ...], ...]:
    found: dict[Hashable, list[str]] = {}
    for name, key in keys.items():
        found.setdefault(key, []).append(name)
    return tuple(map(tuple, found.values()))


class _OneAxis:
    """Conventions on one axis, or on several with the same window.

    Attributes:
        behaviour: What each convention computes at the sizes given, then at each remainder.
    """

    def __init__(
        self, question: Question, axes: tuple[int, ...], conventions: Mapping[str, Convention]
    ) -> None:
        self._question, self._axes, self._conventions = question, axes, conventions
        window, self._op = question.windows[axes[0]], question.op
        self._stride = window.stride
        least = _long(window.extent, window.stride, max(question.padding or (0,)))
        self._long = least + -least % window.stride
        here = tuple(question.sizes[axis] for axis in axes)
        sizes = (*here, *range(self._long, self._long + window.stride))
        self._answers = {
            name: [self._answer(row, size) for size in sizes] for name, row in conventions.items()
        }
        self.behaviour = {
            name: tuple(_effect(self._op, conventions[name], answer) for answer in answers)
            for name, answers in self._answers.items()
        }

    def partings(self) -> Iterator[Parting]:
        """The pairs of sets that compute the same at some sizes."""
        here = len(self._axes)
        for first, second in combinations(_sets(self.behaviour), 2):
            one, other = first[0], second[0]
            same = [a == b for a, b in zip(*map(self.behaviour.get, (one, other)), strict=True)]
            if not any(same):
                continue
            rests = [rest for rest in range(self._stride) if same[here + rest]]
            differing: dict[Deviation, list[int]] = {}
            for rest in {*range(self._stride)}.difference(rests):
                answers = self._answers[one][here + rest], self._answers[other][here + rest]
                differing.setdefault(_difference(self._op, *answers), []).append(rest)
            yield Parting(
                self._axes,
                self._stride,
                first,
                second,
                tuple(rests),
                tuple(replace(how, remainders=tuple(at)) for how, at in differing.items()),
                self._since(one, other, rests),
            )

    def _answer(self, row: Convention, size: int) -> AxisAnswer | None:
        """The answer where these axes have some size, and all others long ones."""
        question = self._question
        sizes = tuple(
            size if place in self._axes else _long(axis.window.extent, 1, axis.padding or 0)
            for place, axis in enumerate(question.axes)
        )
        try:
            return row.answer(replace(question, sizes=sizes)).axes[self._axes[0]]
        except AbsentError:
            return None

    def _since(self, one: str, other: str, same: Sequence[int]) -> int:
        """The size from which on both compute the same just at these remainders."""
        if self._long > _SEARCHED:
            return self._long
        rows = self._conventions[one], self._conventions[other]
        for size in range(self._long - 1, 0, -1):
            first, second = (_effect(self._op, row, self._answer(row, size)) for row in rows)
            if (first == second) != (size % self._stride in same):
                return size + 1
        return 1


def _long(extent: int, stride: int, padding: int) -> int:
    """A size from which on everything repeats with the stride."""
    return 2 * (extent + padding) + stride


def _effect(op: Op, row: Convention, axis: AxisAnswer | None) -> Hashable:
    return None if axis is None else effect(op, axis, counts=row.counts)


def _difference(op: Op, one: AxisAnswer | None, other: AxisAnswer | None) -> Deviation:
    """How the second of two that compute something else differs, at any remainder."""
    assert one is not None
    assert other is not None
    further = one.begin - other.begin
    shift = -further if op == "convtranspose" else further  # whose pads crop
    outputs = other.output - one.output
    dilation = one.window.dilation != other.window.dilation
    return Deviation((), shift, outputs, dilation, not (shift or outputs or dilation))
