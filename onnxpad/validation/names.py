"""Matches inputs and outputs of two models by name, and those of other names by order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import TensorProto

from onnxpad.arguments import InFolder
from onnxpad.errors import UsageError
from onnxpad.file.proto_walk import bodies, walked
from onnxpad.runtimes.sessions import Source, folder_of, read_proto
from onnxpad.validation.align import fits
from onnxpad.validation.compare import shape_text
from onnxpad.validation.draw import Input, Interface, Output


def paired(original: Interface, rewritten: Interface) -> tuple[dict[str, str], list[str]]:
    """Match the inputs and outputs of two models: by name, the rest by order.

    Matches by order have the same element type and compatible shapes. If only one model has names
    left over, an input or output was added or removed, and none is matched. Returns the names of
    the original for those of the rewritten model that are others, with a line on each.

    Raises:
        UsageError: Inputs of other names do not fit.
    """
    inputs = _rest(original.inputs, rewritten.inputs)
    outputs = _rest(original.outputs, rewritten.outputs)
    into, out = _paired(*inputs), _paired(*outputs)
    if not into and all(inputs):
        texts = [", ".join(map(_text, side)) for side in inputs]
        raise UsageError(
            f"the models have different inputs: {texts[0]} in the original, {texts[1]} in the "
            "rewritten model, which do not match by order, type and shape; give them the same names"
        )
    notes = [
        f"{kind} {name!r} of the original is {other!r} in the rewritten model, by order, type and "
        "shape"
        for kind, names in (("input", into), ("output", out))
        for other, name in names.items()
    ]
    return {**into, **out}, notes


def renamed(source: Source, names: Mapping[str, str]) -> Source:
    """A model with other names for some tensors; those that have these names get further ones."""
    model, folder = onnx.ModelProto(), folder_of(source)
    model.CopyFrom(read_proto(source))
    every = {**{name: f"{name}/own" for name in names.values()}, **names}
    within = (body for node in walked(model.graph.node) for body in bodies(node))
    for graph in (model.graph, *within):
        for node in graph.node:
            node.input[:] = [every.get(each, each) for each in node.input]
            node.output[:] = [every.get(each, each) for each in node.output]
        for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            value.name = every.get(value.name, value.name)
    return model if folder is None else InFolder(model.SerializeToString(), folder)


_Ports = Sequence[Input | Output]


def _rest(one: _Ports, other: _Ports) -> tuple[list[Input | Output], list[Input | Output]]:
    """The entries on each side whose name the other side lacks."""
    names = {each.name for each in one} & {each.name for each in other}
    return [e for e in one if e.name not in names], [e for e in other if e.name not in names]


def _paired(ours: _Ports, theirs: _Ports) -> dict[str, str]:
    """The first names for the second ones, by order, if as many fit."""
    if len(ours) != len(theirs) or not all(map(_fit, ours, theirs)):
        return {}
    return {other.name: one.name for one, other in zip(ours, theirs, strict=True)}


def _fit(one: Input | Output, other: Input | Output) -> bool:
    """Whether type and shape are compatible; an open size fits any size."""
    return one.elem_type == other.elem_type and (
        one.shape is None or other.shape is None or fits(one.shape, other.shape)
    )


def _text(each: Input | Output) -> str:
    shape = "of any rank" if each.shape is None else shape_text(each.shape)
    return f"{each.name!r} {KINDS.get(each.elem_type, 'unknown')} {shape}"


KINDS = {number: name.lower() for name, number in TensorProto.DataType.items()}
"""The names of element types."""


def read_by(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node reads, and those that are read in its bodies."""
    for each in walked([node]):
        yield from filter(None, each.input)
        yield from (output.name for body in bodies(each) for output in body.output)
