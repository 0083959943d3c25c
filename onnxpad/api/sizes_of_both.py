"""The sizes that two versions of a model allow together, by what the metadata of each records."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import MismatchError
from onnxpad.facts.feasible import SizeDomain
from onnxpad.facts.recorded import METADATA, Recorded, declared_sizes, labels_of, recorded_sizes
from onnxpad.graph import Graph


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
    labels, declared = labels_of(original), declared_sizes(original)
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


def require_within(domain: SizeDomain, graph: Graph, other: Graph) -> None:
    """Raises MismatchError unless what another version of a graph declares is within a domain."""
    labels = labels_of(graph)
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


def drawn_sizes(both: Recorded, limits: Mapping[str, Sizes]) -> list[str]:
    """The sizes that come from metadata alone, in a line if there are any."""
    told = both.text(limits)
    return [f"sizes drawn as the models' metadata says: {told}"] if told else []
