"""The sizes that a user gives a model: shapes of its inputs, sizes and ranges of its dimensions.

The graph's inputs declare a fixed size from then on. No input can declare a range, so a certificate
that needs it says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from onnxpad.arguments import Dims, Shape, Shapes, dims_given, listed, shapes_given, whole_number
from onnxpad.arithmetic.size import NMAX, Sizes
from onnxpad.errors import MismatchError, UsageError
from onnxpad.facts import LARGEST_SIZE, OpenAxis, open_axes
from onnxpad.facts.domain import SizeDomain
from onnxpad.facts.recorded import METADATA, Recorded, RecordedDim
from onnxpad.graph import Graph
from onnxpad.messages import few, meant

__all__ = ["Dims", "Shapes", "given_domain", "require_within"]

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
    fixed = dict(_fixed_by_shapes(graph, by_input))
    axes = [axis for axis in open_axes(graph.inputs) if not graph.has_default(axis.tensor)]
    read = {name: sizes_of(name, given) for name, given in dims_given(dims).items()}
    for name, sizes in read.items():
        for axis in _named(graph, axes, name, sizes, recorded.entries):
            _agree(fixed, axis, sizes)
    if trust_dim_names:
        known = {a.label: size for a in axes if (size := fixed.get((a.tensor, a.axis)))}
        for axis in axes:
            if (size := known.get(axis.label)) is not None:
                _agree(fixed, axis, Sizes(size, size))
    for axis in axes:
        size = fixed.get((axis.tensor, axis.axis))
        wanted = read.get(axis.label) if size is None else Sizes(size, size)
        within = recorded.sizes.get(axis.label)
        if wanted and within and wanted.common(within) != wanted:
            raise MismatchError(
                f"axis {axis.axis} of input {axis.tensor!r} cannot be {wanted}: the model was "
                f"rewritten for {within} alone, as its metadata says ({METADATA})"
            )
    declared = _declare(graph, fixed)
    labels = [axis.label for axis in open_axes(graph.inputs)]
    given = {**recorded.sizes, **read}
    return SizeDomain(
        declared,
        {name: sizes for name, sizes in given.items() if name in labels},
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


def _fixed_by_shapes(
    graph: Graph, shapes: Mapping[str, Shape]
) -> Iterator[tuple[tuple[str, int], int]]:
    """The sizes that shapes fix on open axes, as ((input, axis), size)."""
    fed = [name for name in graph.inputs if not graph.has_default(name)]
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
        if len(shape) != len(declared):
            raise MismatchError(
                f"input {name!r} has {len(declared)} axes, {_listed(declared)}, but the shape "
                f"given has {len(shape)}: {_listed(shape)}"
            )
        for axis, (size, was) in enumerate(zip(shape, declared, strict=True)):
            if size is None or size == was:
                continue
            if isinstance(was, int):
                raise MismatchError(
                    f"axis {axis} of input {name!r} is {was} in the model, not {size}"
                )
            yield (name, axis), size


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
    shape: list[int | None] = []
    for item in items:
        size = whole_number(item)
        if item is None or size == -1 or (isinstance(item, str) and item.strip() in {"", "?"}):
            shape.append(None)
        elif size is None or not 1 <= size <= NMAX:
            raise UsageError(
                f"{of}: {item!r} is no size; give a number from 1 to {NMAX}, or "
                f"? for an axis that stays open{_RANGES}"
            )
        else:
            shape.append(size)
    return tuple(shape)


def sizes_of(name: str, value: str | int | range) -> Sizes:
    """Parses the size or range of a dimension."""
    size = whole_number(value)
    if size is not None and 1 <= size <= NMAX:
        return Sizes(size, size)
    first, last, step = 1, 0, 1
    if isinstance(value, range) and value:
        first, last, step = min(value), max(value), abs(value.step)
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


def _agree(fixed: dict[tuple[str, int], int], axis: OpenAxis, sizes: Sizes) -> None:
    """Adds a single size to `fixed`; raises where the axis has another size already."""
    place = (axis.tensor, axis.axis)
    if place in fixed and sizes != Sizes(fixed[place], fixed[place]):
        raise MismatchError(
            f"axis {axis.axis} of input {axis.tensor!r} is given two sizes: {fixed[place]} and "
            f"{sizes}"
        )
    if sizes.count == 1:
        fixed[place] = sizes.first


def _declare(
    graph: Graph, fixed: Mapping[tuple[str, int], int]
) -> dict[str, tuple[int | str | None, ...]]:
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
