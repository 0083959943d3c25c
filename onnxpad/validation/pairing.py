"""Matches the inputs and outputs of two models that name them differently."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import onnx

from onnxpad.engine.sessions import Value
from onnxpad.errors import UsageError
from onnxpad.validation.compare import shape_text
from onnxpad.validation.inputs import Draw, Input, Outline, Output


@dataclass(frozen=True, slots=True)
class Pairing:
    """The names of inputs and outputs in a second model that differ from those in the first.

    Attributes:
        inputs: Name in the second model by name in the first.
        outputs: The same for outputs.
        notes: The pairs, a line each.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def fed(self, draw: Draw) -> Draw:
        """Inputs of the first model under the names of the second."""
        if not self.inputs:
            return draw
        feeds = {self.inputs.get(name, name): data for name, data in draw.feeds.items()}
        return replace(draw, feeds=feeds)

    def told(self, outputs: Mapping[str, Value]) -> Mapping[str, Value]:
        """Outputs of the second model under the names of the first."""
        if not self.outputs:
            return outputs
        known = {other: name for name, other in self.outputs.items()}
        return {known.get(name, name): value for name, value in outputs.items()}


def paired(original: Outline, rewritten: Outline) -> Pairing:
    """Match the inputs and outputs of two models: by name, the rest by order.

    Matches by order have the same element type and compatible shapes. If only one model has names
    left over, an input or output was added or removed, and none is matched.

    Raises:
        UsageError: Inputs of other names are ambiguous, or do not fit.
    """
    inputs = _rest(original.inputs, rewritten.inputs)
    outputs = _rest(original.outputs, rewritten.outputs)
    into = _paired(*inputs)
    if into is None:
        told = [", ".join(map(_told, side)) for side in inputs]
        raise UsageError(
            f"the models have different inputs: {told[0]} in the original, {told[1]} in the "
            "rewritten model, which do not match by order, type and shape; give them the same names"
        )
    out = _paired(*outputs) or {}
    notes = [
        f"{kind} {name!r} of the original is {other!r} in the rewritten model, by order, type and "
        "shape"
        for kind, names in (("input", into), ("output", out))
        for name, other in names.items()
    ]
    return Pairing(into, out, tuple(notes))


_Rest = tuple[list[Input | Output], list[Input | Output]]


def _rest(one: Sequence[Input | Output], other: Sequence[Input | Output]) -> _Rest:
    """The entries on each side whose name the other side lacks."""
    names = {each.name for each in one} & {each.name for each in other}
    return [e for e in one if e.name not in names], [e for e in other if e.name not in names]


def _paired(
    ours: Sequence[Input | Output], theirs: Sequence[Input | Output]
) -> dict[str, str] | None:
    """Names matched by order, or in the only other way that fits; None if there is none."""
    if not ours or not theirs:
        return {}
    if len(ours) != len(theirs):
        return None
    if all(map(_fit, ours, theirs)):
        return {one.name: other.name for one, other in zip(ours, theirs, strict=True)}
    found = {one.name: [each.name for each in theirs if _fit(one, each)] for one in ours}
    if any(len(names) != 1 for names in found.values()):
        return None
    only = {name: names[0] for name, names in found.items()}
    return only if len(set(only.values())) == len(only) else None


def _fit(one: Input | Output, other: Input | Output) -> bool:
    """Whether type and shape are compatible; an open size fits any size."""
    if one.elem_type != other.elem_type:
        return False
    if one.shape is None or other.shape is None:
        return True
    return len(one.shape) == len(other.shape) and all(
        isinstance(size, str) or isinstance(also, str) or size == also
        for size, also in zip(one.shape, other.shape, strict=True)
    )


def _told(each: Input | Output) -> str:
    kind = "untyped"
    if each.elem_type == onnx.TensorProto.STRING:
        kind = "string"
    elif each.elem_type != onnx.TensorProto.UNDEFINED:
        kind = str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(each.elem_type)))
    shape = "of any rank" if each.shape is None else shape_text(each.shape)
    return f"{each.name!r} {kind} {shape}"
