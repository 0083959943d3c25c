"""The sizes for which a model's rewrites hold, recorded in the model's metadata.

A rewrite that was proved for a given range may be wrong at other sizes, and no input can declare a
range. So the rewritten model's metadata says it, axis by axis: renaming a dimension does not lift
the limit.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from onnxpad.analysis import LARGEST_SIZE, open_axes
from onnxpad.arithmetic.size import Sizes
from onnxpad.graph import Graph

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


class Entry(NamedTuple):
    """The entry of one dimension: its sizes and its axes."""

    sizes: Sizes
    axes: tuple[Place, ...]


class Recorded(NamedTuple):
    """The sizes that a model's metadata records: its rewrites hold for these alone.

    Attributes:
        sizes: The sizes of dimensions that are still open, by their name now.
        entries: The usable entries, by the name of the dimension when they were recorded.
        warning: The unusable entries, and why, in one line; empty where all are usable.
    """

    sizes: Mapping[str, Sizes] = MappingProxyType({})
    entries: Mapping[str, Entry] = MappingProxyType({})
    warning: str = ""

    def __str__(self) -> str:
        """The sizes in words, as `height 32..1024 in steps of 32`."""
        return ", ".join(f"{name} {sizes}" for name, sizes in self.sizes.items())


def recorded_sizes(
    text: str | None, graph: Graph, called: Mapping[str, str] = MappingProxyType({})
) -> Recorded:
    """Reads the sizes that a model's metadata records.

    Args:
        text: The metadata; None where a model has none.
        graph: The graph.
        called: The graph's names of inputs, by the names that the metadata has for them, where
            these differ.
    """
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
    known = {
        (name, axis): size
        for name, (_, shape) in graph.inputs.items()
        for axis, size in enumerate(shape or ())
    }
    sizes: dict[str, Sizes] = {}
    entries: dict[str, Entry] = {}
    wrong: list[str] = []
    for name, item in items.items():
        entry = _entry(item, called)
        if entry is None:
            wrong.append(f"{name!r}, which is malformed")
            continue
        there = [place for place in entry.axes if place in known]
        fixed = [known[place] for place in there if place not in labels]
        outside = [size for size in fixed if isinstance(size, int) and size not in entry.sizes]
        open_ = {labels[place] for place in there if place in labels}
        left = {label: sizes.get(label, entry.sizes).common(entry.sizes) for label in open_}
        if not there:
            wrong.append(f"{name!r}, whose axes are gone")
        elif outside or None in left.values():
            now = outside[0] if outside else "other sizes"
            wrong.append(f"{name!r} as {entry.sizes}, for the model has {now} there")
        else:
            entries[name] = entry
            sizes |= {label: each for label, each in left.items() if each is not None}
    if len(wrong) > _TOLD:
        wrong[_TOLD:] = [f"and {len(wrong) - _TOLD} more"]
    warning = f"of the metadata {METADATA} is ignored: {'; '.join(wrong)}" if wrong else ""
    return Recorded(sizes, entries, warning)


def record_sizes(graph: Graph, given: Mapping[str, Sizes], recorded: Recorded) -> None:
    """Adds the sizes for which a model was rewritten to its metadata.

    Args:
        graph: The graph of the model.
        given: The sizes of its open dimensions, by name; within those recorded already.
        recorded: The entries recorded already, which stay.
    """
    entries = dict(recorded.entries)
    for name, sizes in given.items():
        axes = [axis for axis in open_axes(graph.inputs) if axis.label == name]
        entries[name] = Entry(sizes, tuple((axis.tensor, axis.axis) for axis in axes))
    data = {name: {**entry.sizes.as_data(), "axes": entry.axes} for name, entry in entries.items()}
    graph.model.set_metadata(METADATA, json.dumps(data))


def _entry(item: object, called: Mapping[str, str]) -> Entry | None:
    """Parses one entry; None where it is malformed."""
    match item:
        case {"first": int(first), "last": int(last), "step": int(step), "axes": list(axes)}:
            places = [place for each in axes if (place := _place(each, called)) is not None]
        case _:
            return None
    numbers = {type(first), type(last), type(step)} == {int}  # a bool is an int to the pattern
    if not numbers or len(places) < len(axes) or not 1 <= first <= last <= LARGEST_SIZE or step < 1:
        return None
    return Entry(Sizes(first, last, step), tuple(places))


def _place(item: object, called: Mapping[str, str]) -> Place | None:
    match item:
        case [str(name), int(axis)]:
            return called.get(name, name), axis
        case _:
            return None
