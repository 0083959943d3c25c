"""The sizes that a user gives a model, and those for which its rewrites hold.

The graph's inputs declare a fixed size from then on. No input can declare a range, so a certificate
that needs it says so.

A rewrite that was proved for a given range may be wrong at other sizes, and no input can declare a
range. So the rewritten model's metadata says it, axis by axis: renaming a dimension does not lift
the limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from onnxpad.arguments import Dims, Shape, Shapes, dims_given, listed, shapes_given, whole_number
from onnxpad.arithmetic.size import NMAX, Sizes
from onnxpad.errors import MismatchError, UsageError, few, meant
from onnxpad.facts import LARGEST_SIZE, OpenAxis, open_axes
from onnxpad.facts.feasible import SizeDomain
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


_Size: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]


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
        items = msgspec.json.decode(text[:_LONGEST], type=dict[str, RecordedDim])
    except (msgspec.DecodeError, RecursionError):
        return Recorded(warnings=(f"the metadata {METADATA} is ignored: it is malformed",))
    labels = _labels(graph)
    allowed: dict[Any, Sizes] = dict(_declared(graph))  # by label where it is open, else by place
    known = labels.keys() | allowed.keys()
    entries: dict[str, RecordedDim] = {}
    for name, entry in items.items():
        there = tuple(place for place in entry.axes if place in known)
        keys = {labels.get(place, place) for place in there}
        left = {key: allowed.get(key, entry.sizes).common(entry.sizes) for key in keys}
        if there and None not in left.values():
            entries[name] = replace(entry, axes=there)
            allowed |= {key: each for key, each in left.items() if each is not None}
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
    labels, declared = _labels(original), _declared(original)
    limits, sizes = dict(before.limits), dict(before.sizes)
    for (name, axis), allowed in after.limits.items():
        place = called.get(name, name), axis
        label = labels.get(place, "")
        one = declared.get(place) or sizes.get(label) or limits.get(place, allowed)
        if (common := one.common(allowed)) is None:
            raise MismatchError(
                f"no size of axis {axis} of input {place[0]!r} fits both models: one is limited to "
                f"{one}, the other to {allowed}, as their metadata says ({METADATA})"
            )
        limits[place] = common
        if label:
            sizes[label] = common
    warnings = dict.fromkeys((*before.warnings, *after.warnings))
    return replace(before, sizes=sizes, limits=limits, warnings=tuple(warnings))


def _labels(graph: Graph) -> dict[Place, str]:
    return {(axis.tensor, axis.axis): axis.label for axis in open_axes(graph.inputs)}


def _declared(graph: Graph) -> dict[Place, Sizes]:
    """The sizes that a graph's inputs fix."""
    return {
        (name, axis): Sizes(size, size)
        for name, (_, shape) in graph.inputs.items()
        for axis, size in enumerate(shape or ())
        if isinstance(size, int) and size >= 0
    }


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


_RANGE: Final = r"\s*(-?\d{1,19})\s*\.\.\s*(-?\d{1,19})\s*(?::\s*(-?\d{1,19})\s*)?"
_RANGES: Final = "; a range is given by the dimension's name: --dim NAME=32..1024, or dims"


def given_domain(
    graph: Graph,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    *,
    trust_dim_names: bool = False,
    recorded: Recorded | None = None,
) -> SizeDomain:
    """The domain that a user's sizes leave; the graph's inputs declare the fixed ones afterwards.

    Args:
        graph: The graph, which is edited.
        shapes: By name of the input, sizes with None for an axis left open; or text, as
            `1,3,224,?` or `1x3x224x?`. An empty name, or sizes without a name, mean the only input.
        dims: By name of the dimension (`input[axis]` where it has none), a size or a range; or
            text, as `224`, `32..1024` or, for every multiple of 32 in there, `32..1024:32`.
        trust_dim_names: Whether axes whose dimensions share a name share one size.
        recorded: The sizes for which the model was rewritten, which count as given.

    Raises:
        UsageError: A shape or size is malformed.
        MismatchError: An input or dimension does not exist, or a size contradicts the model,
            another one given, or those recorded.
    """
    recorded = recorded or Recorded()
    by_input = shapes_given(shapes)
    wanted = dict(_fixed_by_shapes(graph, by_input))
    axes = [axis for axis in open_axes(graph.inputs) if axis.tensor not in graph.initializers]
    read = {name: sizes_of(name, given) for name, given in dims_given(dims).items()}
    for name, sizes in read.items():
        for axis in _named(graph, axes, name, sizes, recorded.entries):
            _agree(wanted, axis, sizes)
    known = {a.label: wanted[a.tensor, a.axis] for a in axes if (a.tensor, a.axis) in wanted}
    for axis in axes:
        if trust_dim_names and axis.label in known:
            _agree(wanted, axis, known[axis.label])
        given, within = wanted.get((axis.tensor, axis.axis)), recorded.sizes.get(axis.label)
        if given and within and given.common(within) != given:
            raise MismatchError(
                f"axis {axis.axis} of input {axis.tensor!r} cannot be {given}: the model was "
                f"rewritten for {within} alone, as its metadata says ({METADATA})"
            )
    fixed = {place: sizes.first for place, sizes in wanted.items() if sizes.count == 1}
    declared = _declare(graph, fixed)
    labels = [axis.label for axis in open_axes(graph.inputs)]
    return SizeDomain(
        declared,
        {name: sizes for name, sizes in {**recorded.sizes, **read}.items() if name in labels},
        by_name=trust_dim_names and len({*labels}) < len(labels),
        shaped=frozenset(graph.inputs if "" in by_input else by_input),
        named=frozenset(read),
    )


def require_within(domain: SizeDomain, graph: Graph, other: Graph) -> None:
    """Raises unless the sizes that another version of a graph declares are within a domain.

    Raises:
        MismatchError: An input of `other` declares a size that was not given.
    """
    labels = {(axis.tensor, axis.axis): axis.label for axis in open_axes(graph.inputs)}
    for name, (_, shape) in graph.inputs.items():
        declared = other.inputs[name].shape if name in other.inputs else None
        for axis, (size, fixed) in enumerate(zip(shape or (), declared or (), strict=False)):
            if isinstance(size, int):
                sizes = Sizes(size, size) if name in domain.declared else None
            else:
                sizes = domain.given.get(labels[name, axis])
            if sizes is not None and isinstance(fixed, int) and fixed not in sizes:
                raise MismatchError(
                    f"the rewritten model declares {fixed} for axis {axis} of input {name!r}, not "
                    f"{sizes}"
                )


def _fixed_by_shapes(graph: Graph, shapes: Mapping[str, Shape]) -> Iterator[tuple[Place, Sizes]]:
    """The sizes that shapes fix on open axes."""
    fed = [name for name in graph.inputs if name not in graph.initializers]
    read = {given: shape_of(given, sizes) for given, sizes in shapes.items()}
    for given, shape in read.items():
        if not given and len(fed) != 1:
            known = f"; there is {_known(fed)}; name the one that it is for" if fed else ""
            raise _lacking("shapes", given, f"a shape without a name, of {len(fed)} inputs{known}")
        name = given or fed[0]
        if name not in fed:
            told = f"there is no input {name!r} to give a shape; there is {_known(fed)}"
            raise _lacking("shapes", name, told + meant(name, fed))
        if not given and name in read:
            raise MismatchError(f"input {name!r} is given two shapes, one of them without its name")
        dtype, declared = graph.inputs[name]
        if not dtype:
            raise MismatchError(f"input {name!r} is no tensor, so it cannot be given a shape")
        if declared is None:
            declared = (None,) * len(shape)
            graph.declare(name, declared)
        fits = len(shape) == len(declared) and all(
            size is None or size == was or not isinstance(was, int)
            for size, was in zip(shape, declared, strict=True)
        )
        if not fits:
            raise MismatchError(
                f"input {name!r} has {len(declared)} axes in the model, {_listed(declared)}; the "
                f"shape given has {len(shape)}: {_listed(shape)}"
            )
        for axis, (size, was) in enumerate(zip(shape, declared, strict=True)):
            if size is not None and size != was:
                yield (name, axis), Sizes(size, size)


def _lacking(kind: str, name: str, told: str) -> MismatchError:
    """The error about a shape or size of something that the model does not have."""
    return MismatchError(told, {(kind, name): told})


def shape_of(name: str, given: Shape) -> tuple[int | None, ...]:
    """Parses a shape: None for each axis left open. `name` is that of the input, or empty."""
    of = f"shape of input {name!r}" if name else "shape"
    items: Sequence[object] | None = None
    if isinstance(given, str):
        # Reports print sizes as 1x3x?x224.
        items = re.split("," if "," in given else "[xX]", given) if given.strip() else ()
        items = None if "," not in given and "" in items and len(items) > 1 else items
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
    """Whether an item of a shape leaves an axis open."""
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
    axes: Sequence[OpenAxis],
    name: str,
    sizes: Sizes,
    recorded: Mapping[str, RecordedDim],
) -> list[OpenAxis]:
    """The open axes that a dimension's name means; none where they are fixed within `sizes`.

    Raises:
        MismatchError: There is no such dimension, or it has another size.
    """
    if named := [axis for axis in axes if axis.label == name]:
        return named
    was = recorded[name].axes if name in recorded else ()
    for tensor, (_, shape) in graph.inputs.items():
        for place, size in enumerate(shape or ()):
            is_meant = name == f"{tensor}[{place}]" or (tensor, place) in was
            if is_meant and isinstance(size, int):
                if size in sizes:
                    return []
                raise MismatchError(
                    f"axis {place} of input {tensor!r} is {size} in the model, not {sizes}"
                )
    known = list(dict.fromkeys(axis.label for axis in axes))
    there = f"there is {_known(known)}{meant(name, known)}"
    raise _lacking("dims", name, f"there is no dimension {name!r} to give a size; {there}")


def _agree(wanted: dict[Place, Sizes], axis: OpenAxis, sizes: Sizes) -> None:
    """Adds the sizes of an axis; raises where it has others already."""
    before = wanted.setdefault((axis.tensor, axis.axis), sizes)
    if before != sizes:
        raise MismatchError(
            f"axis {axis.axis} of input {axis.tensor!r} is given two sizes: {before} and {sizes}"
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
