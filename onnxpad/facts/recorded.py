"""The sizes for which a model's rewrites hold, recorded in the model's metadata.

A rewrite that was proved for a given range may be wrong at other sizes, and no input can declare a
range. So the rewritten model's metadata says it, axis by axis: renaming a dimension does not lift
the limit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import MismatchError
from onnxpad.facts import LARGEST_SIZE, open_axes
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


_Size: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]


class RecordedDim(Struct, frozen=True):
    """The entry of one dimension: its sizes and its axes."""

    first: _Size
    last: _Size
    step: Annotated[int, Meta(ge=1)]
    axes: tuple[Place, ...]

    @property
    def sizes(self) -> Sizes:
        """Its sizes."""
        return Sizes(self.first, self.last, self.step)


class Recorded(Struct, frozen=True):
    """The sizes that a model's metadata records: its rewrites hold for these alone.

    Attributes:
        sizes: The sizes of dimensions that are still open, by their name now.
        entries: The usable entries, with the axes that are still there, by the name that the
            dimension had when they were recorded.
        limits: The sizes by axis of an input.
        warnings: The unusable entries, and why, a line for each model with some.
    """

    sizes: Mapping[str, Sizes] = MappingProxyType({})
    entries: Mapping[str, RecordedDim] = MappingProxyType({})
    limits: Mapping[Place, Sizes] = MappingProxyType({})
    warnings: tuple[str, ...] = ()

    def text(self, limits: Mapping[str, Sizes]) -> str:
        """The recorded sizes in words, as `height 32..1024 in steps of 32`.

        Args:
            limits: The sizes that the open dimensions may have, by name. A dimension for which they
                are fewer than those recorded is left out.
        """
        same = {name: sizes for name, sizes in self.sizes.items() if limits.get(name) == sizes}
        return ", ".join(f"{name} {sizes}" for name, sizes in same.items())

    def drawn(self, limits: Mapping[str, Sizes]) -> list[str]:
        """The sizes that come from metadata alone, in a line if there are any."""
        told = self.text(limits)
        return [f"sizes drawn as the models' metadata says: {told}"] if told else []


def recorded_sizes(graph: Graph) -> Recorded:
    """Reads the sizes that a model's metadata records."""
    text = graph.model.metadata(METADATA)
    if text is None:
        return Recorded()
    try:
        items = msgspec.json.decode(text[:_LONGEST], type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        warning = f"the metadata {METADATA} is ignored: it is not a JSON object of sizes"
        return Recorded(warnings=(warning,))
    labels = {(axis.tensor, axis.axis): axis.label for axis in open_axes(graph.inputs)}
    allowed: dict[Any, Sizes] = dict(_declared(graph))  # by label where it is open, else by place
    known = labels.keys() | allowed.keys()
    entries: dict[str, RecordedDim] = {}
    wrong: list[str] = []
    for name, item in items.items():
        try:
            entry = msgspec.convert(item, RecordedDim)
        except msgspec.ValidationError:
            entry = None
        if entry is None or entry.first > entry.last:
            wrong.append(f"{name!r}, which is malformed")
            continue
        there = tuple(place for place in entry.axes if place in known)
        keys = {labels.get(place, place) for place in there}
        left = {key: allowed.get(key, entry.sizes).common(entry.sizes) for key in keys}
        if not there:
            wrong.append(f"{name!r}, whose axes are gone")
        elif None in left.values():
            wrong.append(f"{name!r} as {entry.sizes}, for the model has other sizes there")
        else:
            entries[name] = replace(entry, axes=there)
            allowed |= {key: each for key, each in left.items() if each is not None}
    told = few(wrong, _TOLD, "; ")
    warnings = (f"of the metadata {METADATA} is ignored: {told}",) if wrong else ()
    sizes = {label: each for label, each in allowed.items() if isinstance(label, str)}
    limits = {
        place: sizes.get(labels.get(place, ""), entry.sizes)
        for entry in entries.values()
        for place in entry.axes
    }
    return Recorded(sizes, entries, limits, warnings)


def recorded_by_both(original: Graph, rewritten: Graph) -> Recorded:
    """Reads the sizes that two versions of a model allow together; they may be the same graph.

    All are told under the names that the original has for inputs and dimensions. Inputs that only
    one of them has are matched by order.

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
    for (name, axis), allowed in (*before.limits.items(), *after.limits.items()):
        place = called.get(name, name), axis
        left = limits.get(place, declared.get(place, allowed))
        limits[place] = _common(place, left, allowed)
        if (label := labels.get(place)) is not None:
            sizes[label] = _common(place, sizes.get(label, allowed), allowed)
    warnings = dict.fromkeys((*before.warnings, *after.warnings))
    return replace(before, sizes=sizes, limits=limits, warnings=tuple(warnings))


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
        places = tuple((axis.tensor, axis.axis) for axis in axes)
        entries[name] = RecordedDim(sizes.first, sizes.last, sizes.step, places)
    graph.model.set_metadata(METADATA, json.dumps(msgspec.to_builtins(entries)))
