"""The sizes that a user gives a model, and those for which its rewrites hold.

The graph's inputs declare a fixed size from then on. No input can declare a range, and a rewrite
that was proved for one may be wrong at other sizes. So the rewritten model's metadata says it, axis
by axis: renaming a dimension does not lift the limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from onnxpad.arguments import Dims, Shape, Shapes, dims_given, listed, shapes_given, whole_number
from onnxpad.arithmetic.size import NMAX, Sizes
from onnxpad.errors import MismatchError, UsageError, and_list, few, meant
from onnxpad.facts import LARGEST_SIZE, open_axes
from onnxpad.facts.feasible import SizeDomain
from onnxpad.graph import Graph

METADATA = "onnxpad.sizes"
"""Key of the metadata: a JSON object, from names of dimensions to {first, last, step, axes}.

`axes` is a list of [name of the input, axis].
"""

Place = tuple[str, int]
"""Name of an input, and one of its axes."""

_LONGEST = 1 << 20
"""Longer metadata is ignored, in characters."""

_TOLD = 3
"""A warning names at most this many unusable entries."""

_Size = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]


class RecordedDim(Struct, frozen=True):
    """The entry of one dimension: its sizes and its axes."""

    first: _Size
    last: _Size
    step: Annotated[int, Meta(ge=1)]
    axes: tuple[Place, ...]

    def __post_init__(self) -> None:
        """Refuses a range without sizes."""
        if self.first > self.last:
            raise ValueError("no size is in the range")

    @property
    def sizes(self) -> Sizes:
        """Its sizes."""
        return Sizes(self.first, self.last, self.step)


class Recorded(Struct, frozen=True):
    """The sizes that a model's metadata records: its rewrites hold for these alone.

    `sizes` are those of dimensions that are still open, by their name now, `entries` the usable
    ones, by the name when they were recorded, with the axes that are still there, and `warnings`
    say what is unusable.
    """

    sizes: Mapping[str, Sizes] = MappingProxyType({})
    entries: Mapping[str, RecordedDim] = MappingProxyType({})
    limits: Mapping[Place, Sizes] = MappingProxyType({})
    warnings: tuple[str, ...] = ()

    def text(self, limits: Mapping[str, Sizes]) -> str:
        """Those of the sizes that are these limits, as `height 32..1024 in steps of 32`."""
        same = {name: sizes for name, sizes in self.sizes.items() if limits.get(name) == sizes}
        return ", ".join(f"{name} {sizes}" for name, sizes in same.items())


def recorded_sizes(graph: Graph) -> Recorded:
    """Reads the sizes that a model's metadata records."""
    text = graph.model.metadata(METADATA)
    if text is None:
        return Recorded()
    try:
        items = msgspec.json.decode(text[:_LONGEST], type=dict[str, RecordedDim])
    except (msgspec.DecodeError, RecursionError):
        return Recorded(warnings=(f"the metadata {METADATA} is ignored: it is malformed",))
    labels = labels_of(graph)
    # By label where it is open, else by place.
    allowed: dict[Any, Sizes] = dict(declared_sizes(graph))
    known = labels.keys() | allowed.keys()
    entries: dict[str, RecordedDim] = {}
    for name, entry in items.items():
        there = tuple(place for place in entry.axes if place in known)
        keys = {labels.get(place, place) for place in there}
        common = ((key, allowed.get(key, entry.sizes).common(entry.sizes)) for key in keys)
        left = {key: each for key, each in common if each is not None}
        if there and len(left) == len(keys):
            entries[name] = replace(entry, axes=there)
            allowed |= left
    wrong = [f"{name!r} as {each.sizes}" for name, each in items.items() if name not in entries]
    told = f"of the metadata {METADATA} is ignored what the model has no such axes or sizes for:"
    warnings = (f"{told} {few(wrong, _TOLD, '; ')}",) if wrong else ()
    sizes = {label: each for label, each in allowed.items() if isinstance(label, str)}
    limits = {
        place: sizes.get(labels.get(place, ""), entry.sizes)
        for entry in entries.values()
        for place in entry.axes
    }
    return Recorded(sizes, entries, limits, warnings)


def labels_of(graph: Graph) -> dict[Place, str]:
    """The name of the dimension of each open axis of a graph's inputs."""
    return {(axis.tensor, axis.axis): axis.label for axis in open_axes(graph.inputs)}


def declared_sizes(graph: Graph) -> dict[Place, Sizes]:
    """The sizes that a graph's inputs fix."""
    return {
        (name, axis): Sizes(size, size)
        for name, (_, shape) in graph.inputs.items()
        for axis, size in enumerate(shape or ())
        if isinstance(size, int)
    }


def record_sizes(graph: Graph, limits: Mapping[str, Sizes], recorded: Recorded) -> None:
    """Adds the sizes of open dimensions for which a model was rewritten to those recorded."""
    entries, labels = dict(recorded.entries), labels_of(graph)
    for name, sizes in limits.items():
        places = tuple(place for place, label in labels.items() if label == name)
        entries[name] = RecordedDim(sizes.first, sizes.last, sizes.step, places)
    graph.model.set_metadata(METADATA, json.dumps(msgspec.to_builtins(entries)))


_RANGE = r"\s*(-?\d{1,19})\s*\.\.\s*(-?\d{1,19})\s*(?::\s*(-?\d{1,19})\s*)?"
_RANGES = "; a range is given by the dimension's name: --dim NAME=32..1024, or dims"


def given_domain(
    graph: Graph,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    *,
    trust_dim_names: bool = False,
    recorded: Recorded | None = None,
) -> SizeDomain:
    """The domain that a user's sizes leave; the graph's inputs declare the fixed ones afterwards.

    Shapes are by input, where an empty name means the only one. Raises UsageError where they or the
    sizes are malformed, MismatchError where they contradict the model, those recorded, or another.
    """
    recorded = recorded or Recorded()
    by_input = shapes_given(shapes)
    wanted: dict[Place, Sizes] = {}
    for place, sizes in _fixed_by_shapes(graph, by_input):
        _agree(wanted, place, sizes)
    axes = {at: name for at, name in labels_of(graph).items() if at[0] not in graph.initializers}
    read = {name: sizes_of(name, given) for name, given in dims_given(dims).items()}
    for name, sizes in read.items():
        for place in _named(graph, axes, name, sizes, recorded.entries):
            _agree(wanted, place, sizes)
    known = {label: wanted[place] for place, label in axes.items() if place in wanted}
    for place, label in axes.items():
        if trust_dim_names and label in known:
            _agree(wanted, place, known[label])
        given, within = wanted.get(place), recorded.sizes.get(label)
        if given and within and given.common(within) != given:
            raise MismatchError(
                f"axis {place[1]} of input {place[0]!r} cannot be {given}: the model was "
                f"rewritten for {within} alone, as its metadata says ({METADATA})"
            )
    fixed = {place: sizes.first for place, sizes in wanted.items() if sizes.count == 1}
    declared = _declare(graph, fixed)
    labels = [*labels_of(graph).values()]
    return SizeDomain(
        declared,
        {name: sizes for name, sizes in {**recorded.sizes, **read}.items() if name in labels},
        by_name=trust_dim_names and len({*labels}) < len(labels),
        shaped=frozenset(graph.inputs if "" in by_input else by_input),
        named=frozenset(read),
    )


def _fixed_by_shapes(graph: Graph, shapes: Mapping[str, Shape]) -> Iterator[tuple[Place, Sizes]]:
    fed = [name for name in graph.inputs if name not in graph.initializers]
    read = {given: shape_of(given, sizes) for given, sizes in shapes.items()}
    for given, shape in read.items():
        if not given and len(fed) != 1:
            told = f"a shape without a name, of {len(fed)} inputs; there is {_known(fed)}"
            raise _lacking("shapes", given, f"{told}; name the one that it is for")
        name = given or fed[0]
        if name not in fed:
            told = f"there is no input {name!r} to give a shape; there is {_known(fed)}"
            raise _lacking("shapes", name, told + meant(name, fed), fed)
        dtype, declared = graph.inputs[name]
        if not dtype:
            told = f"input {name!r} is no tensor, so it cannot be given a shape"
            raise _lacking("shapes", given, told)
        if declared is None:
            declared = (None,) * len(shape)
            graph.declare(name, declared)
        wrong = [
            f"axis {axis} has size {was} where the shape given has {size}"
            for axis, (size, was) in enumerate(zip(shape, declared, strict=False))
            if isinstance(was, int) and size not in {None, was}
        ]
        if len(shape) != len(declared):
            wrong = [f"it has {len(declared)} axes where the shape given has {len(shape)}"]
        if wrong:
            told = f"input {name!r} is {_listed(declared)} in the model, so {and_list(wrong)}"
            raise _lacking("shapes", given, f"{told}: {_listed(shape)}")
        for axis, (size, was) in enumerate(zip(shape, declared, strict=True)):
            if size is not None and size != was:
                yield (name, axis), Sizes(size, size)


def _lacking(kind: str, name: str, told: str, known: Sequence[str] = ()) -> MismatchError:
    return MismatchError(told, {(kind, name): (told, known)})


def shape_of(name: str, given: Shape) -> tuple[int | None, ...]:
    """Parses a shape: None for each axis left open. `name` is that of the input, or empty."""
    of = f"shape of input {name!r}" if name else "shape"
    items: Sequence[object] | None = None
    if isinstance(given, str):
        # Reports print sizes as 1x3x?x224.
        items = re.split("," if "," in given else "[xX]", given) if given.strip() else ()
        items = None if "," not in given and "" in items else items
    elif isinstance(sizes := listed(given), Sequence) and not isinstance(sizes, range | bytes):
        items = sizes
    if items is None:
        raise UsageError(f"{of}: {given!r} is no list of sizes, as 1x3x224x? or 1,3,224,?{_RANGES}")
    shape = [None if _is_open(item) else whole_number(item) or 0 for item in items]
    for item, size in zip(items, shape, strict=True):
        if size is not None and not 1 <= size <= NMAX:
            raise UsageError(
                f"{of}: {item!r} is no size; give a number from 1 to {NMAX}, or "
                f"? for an axis that stays open{_RANGES}"
            )
    return tuple(shape)


def _is_open(item: object) -> bool:
    if isinstance(item, str) and item.strip() in {"", "?"}:
        return True
    return item is None or whole_number(item) == -1


def sizes_of(name: str, value: str | int | range) -> Sizes:
    """Parses the size or range of a dimension."""
    size = whole_number(value)
    if size is not None and 1 <= size <= NMAX:
        return Sizes(size, size)
    first, last, step = 1, 0, 1
    if isinstance(value, range) and value:
        first, last = sorted((value[0], value[-1]))  # max() would go through all of them
        step = abs(value.step)
    elif isinstance(value, str) and (match := re.fullmatch(_RANGE, value)):
        first, last, step = (int(part) if part else 1 for part in match.groups())
        if first >= 1 and step > 1:  # each multiple of the step
            first = -(-first // step) * step
    if step >= 1 and 1 <= first <= last <= LARGEST_SIZE:
        return Sizes(first, last, step)
    raise UsageError(
        f"dimension {name!r}: {value!r} is no size; give a number from 1 to {NMAX}, or a range of "
        f"at least one size, none above {LARGEST_SIZE}, as 32..1024 or, in multiples, 32..1024:32"
    )


def _named(
    graph: Graph,
    axes: Mapping[Place, str],
    name: str,
    sizes: Sizes,
    recorded: Mapping[str, RecordedDim],
) -> list[Place]:
    """The open axes that a dimension's name means; none where they are fixed within `sizes`."""
    if named := [place for place, label in axes.items() if label == name]:
        return named
    was = recorded[name].axes if name in recorded else ()
    for tensor, (_, shape) in graph.inputs.items():
        for place, size in enumerate(shape or ()):
            is_meant = name == f"{tensor}[{place}]" or (tensor, place) in was
            if is_meant and isinstance(size, int):
                if size in sizes:
                    return []
                told = f"axis {place} of input {tensor!r} is {size} in the model, not {sizes}"
                raise _lacking("dims", name, told)
    known = [*dict.fromkeys(axes.values())]
    there = f"there is {_known(known)}{meant(name, known)}" if known else "all its sizes are fixed"
    told = f"there is no dimension {name!r} to give a size; {there}"
    raise _lacking("dims", name, told, known)


def _agree(wanted: dict[Place, Sizes], place: Place, sizes: Sizes) -> None:
    """Adds the sizes of an axis; raises where it has others already."""
    before = wanted.setdefault(place, sizes)
    if before != sizes:
        raise MismatchError(
            f"axis {place[1]} of input {place[0]!r} is given two sizes: {before} and {sizes}"
        )


def _declare(graph: Graph, fixed: Mapping[Place, int]) -> dict[str, tuple[int | str | None, ...]]:
    """Has the graph's inputs declare the fixed sizes; returns their shapes afterwards."""
    for (tensor, axis), size in fixed.items():
        shape = list(graph.inputs[tensor].shape or ())
        shape[axis] = size
        graph.declare(tensor, tuple(shape))
    return {tensor: graph.inputs[tensor].shape or () for tensor, _ in fixed}


def _known(names: Sequence[str]) -> str:
    return few(map(repr, names), 8) or "none"


def _listed(shape: Sequence[object]) -> str:
    return ",".join("?" if size is None else str(size) for size in shape) or "nothing"
