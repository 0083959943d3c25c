"""The sizes for which a model's rewrites hold, recorded in the model's metadata.

A rewrite that was proved for a given range may be wrong at other sizes, and no input can declare a
range. So the rewritten model's metadata says it, axis by axis: renaming a dimension does not lift
the limit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.analysis import LARGEST_SIZE, open_axes
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import MismatchError
from onnxpad.graph import Graph
from onnxpad.messages import few

METADATA: Final = "onnxpad.sizes"
"""Key of the metadata: a JSON object, from names of dimensions to {first, last, step, axes}.

`axes` is a list of [name of the input, axis].
"""

Place: TypeAlias = tuple[str, int]
"""Name of an input, and one of its axes."""

_LONGEST: Final = 1 << 20
"""Longer metadata is ignored, in characters."""

_TOLD: Final = 3
"""A warning names at most this many unusable entries."""


class RecordedDim(Struct, frozen=True):
    """The entry of one dimension: its sizes and its axes."""

    sizes: Sizes
    axes: tuple[Place, ...]


class Recorded(Struct, frozen=True):
    """The sizes that a model's metadata records: its rewrites hold for these alone.

    Attributes:
        sizes: The sizes of dimensions that are still open, by their name now.
        entries: The usable entries, with the axes that are still there, by the name that the
            dimension had when they were recorded.
        warning: The unusable entries, and why, in one line; empty where all are usable.
    """

    sizes: Mapping[str, Sizes] = MappingProxyType({})
    entries: Mapping[str, RecordedDim] = MappingProxyType({})
    warning: str = ""

    def text(self, limits: Mapping[str, Sizes]) -> str:
        """The recorded sizes in words, as `height 32..1024 in steps of 32`.

        Args:
            limits: The sizes that the open dimensions may have, by name. A dimension for which they
                are fewer than those recorded is left out.
        """
        same = {name: sizes for name, sizes in self.sizes.items() if limits.get(name) == sizes}
        return ", ".join(f"{name} {sizes}" for name, sizes in same.items())

    def by_axis(self) -> Iterator[tuple[Place, Sizes]]:
        """The axes that are limited, and their sizes; an axis may come more than once."""
        for entry in self.entries.values():
            for place in entry.axes:
                yield place, entry.sizes


def recorded_sizes(graph: Graph) -> Recorded:
    """Reads the sizes that a model's metadata records."""
    text = graph.model.metadata(METADATA)
    if text is None:
        return Recorded()
    try:
        items = json.loads(text) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, dict):
        warning = f"the metadata {METADATA} is ignored: it is not a JSON object of sizes"
        return Recorded(warning=warning)
    labels = {(axis.tensor, axis.axis): axis.label for axis in open_axes(graph.inputs)}
    fixed = _declared(graph)
    sizes: dict[str, Sizes] = {}
    entries: dict[str, RecordedDim] = {}
    wrong: list[str] = []
    for name, item in items.items():
        entry = _entry(item)
        if entry is None:
            wrong.append(f"{name!r}, which is malformed")
            continue
        there = tuple(place for place in entry.axes if place in labels or place in fixed)
        names = {labels[place] for place in there if place in labels}
        left = {label: sizes.get(label, entry.sizes).common(entry.sizes) for label in names}
        is_outside = any(entry.sizes.common(fixed[at]) is None for at in there if at in fixed)
        if not there:
            wrong.append(f"{name!r}, whose axes are gone")
        elif is_outside or None in left.values():
            wrong.append(f"{name!r} as {entry.sizes}, for the model has other sizes there")
        else:
            entries[name] = replace(entry, axes=there)
            sizes |= {label: each for label, each in left.items() if each is not None}
    told = few(wrong, _TOLD, "; ")
    warning = f"of the metadata {METADATA} is ignored: {told}" if wrong else ""
    return Recorded(sizes, entries, warning)


class RecordedByBoth(Struct, frozen=True):
    """The sizes that the metadata of a model and of its rewritten version allow together.

    Attributes:
        recorded: The sizes, under the names that the original has for inputs and dimensions.
        limits: The sizes by axis of an input of the original.
        warnings: The unusable entries of each, a line each.
    """

    recorded: Recorded
    limits: Mapping[Place, Sizes]
    warnings: tuple[str, ...]

    def text(self, limits: Mapping[str, Sizes]) -> list[str]:
        """The sizes that come from metadata alone, in a line if there are any."""
        told = self.recorded.text(limits)
        return [f"sizes drawn as the models' metadata says: {told}"] if told else []


def recorded_by_both(original: Graph, rewritten: Graph) -> RecordedByBoth:
    """Reads the sizes that two versions of a model record; they may be the same graph.

    Inputs that only one of them has are matched by order.

    Raises:
        MismatchError: No size of an axis fits both.
    """
    before, after = recorded_sizes(original), recorded_sizes(rewritten)
    theirs = (name for name in rewritten.inputs if name not in original.inputs)
    ours = (name for name in original.inputs if name not in rewritten.inputs)
    called = dict(zip(theirs, ours, strict=False))
    labels = {(axis.tensor, axis.axis): axis.label for axis in open_axes(original.inputs)}
    declared = _declared(original)
    limits: dict[Place, Sizes] = {}
    sizes: dict[str, Sizes] = {}
    for (name, axis), allowed in (*before.by_axis(), *after.by_axis()):
        place = called.get(name, name), axis
        left = limits.get(place, declared.get(place, allowed))
        limits[place] = _common(place, left, allowed)
        if (label := labels.get(place)) is not None:
            sizes[label] = _common(place, sizes.get(label, allowed), allowed)
    warnings = dict.fromkeys(filter(None, (before.warning, after.warning)))
    return RecordedByBoth(replace(before, sizes=sizes), limits, tuple(warnings))


def _declared(graph: Graph) -> dict[Place, Sizes]:
    """The sizes that a graph's inputs fix."""
    return {
        (name, axis): Sizes(size, size)
        for name, (_, shape) in graph.inputs.items()
        for axis, size in enumerate(shape or ())
        if isinstance(size, int) and size >= 0
    }


def _common(place: Place, one: Sizes, other: Sizes) -> Sizes:
    """The sizes in both; raises where there are none."""
    found = one.common(other)
    if found is None:
        name, axis = place
        raise MismatchError(
            f"no size of axis {axis} of input {name!r} fits both models: one is limited to {one}, "
            f"the other to {other}, as their metadata says ({METADATA})"
        )
    return found


def record_sizes(graph: Graph, limits: Mapping[str, Sizes], recorded: Recorded) -> None:
    """Adds the sizes for which a model was rewritten to its metadata.

    Args:
        graph: The graph of the model.
        limits: The sizes of its open dimensions, by name; within those recorded already.
        recorded: The entries recorded already, which stay.
    """
    entries = dict(recorded.entries)
    for name, sizes in limits.items():
        axes = [axis for axis in open_axes(graph.inputs) if axis.label == name]
        entries[name] = RecordedDim(sizes, tuple((axis.tensor, axis.axis) for axis in axes))
    data = {name: {**entry.sizes.as_data(), "axes": entry.axes} for name, entry in entries.items()}
    graph.model.set_metadata(METADATA, json.dumps(data))


def _entry(item: object) -> RecordedDim | None:
    """Parses one entry; None where it is malformed."""
    match item:
        case {"first": int(first), "last": int(last), "step": int(step), "axes": list(axes)}:
            pass
        case _:
            return None
    numbers = {type(first), type(last), type(step)} == {int}  # a bool is an int to the pattern
    if not numbers or not 1 <= first <= last <= LARGEST_SIZE or step < 1:
        return None
    for place in axes:
        match place:
            case [str(), int()]:
                continue
            case _:
                return None
    return RecordedDim(Sizes(first, last, step), tuple((name, axis) for name, axis in axes))
