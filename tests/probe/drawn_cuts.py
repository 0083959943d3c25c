"""Neighbourhoods of windows behind padding, with the models that are cut out of them, or why not.

`cuts.txt` keeps them: other sizes, weights or steps than before show there, each a probe that would
notice other faults.
"""

import zlib
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from onnx.helper import get_attribute_value
from onnx.numpy_helper import to_array

from onnxpad.graph import Graph
from onnxpad.probe.cut import NeighbourhoodProbe, Scene
from tests.support import parsed
from tests.support.lines import Lines

_MOST: Final = 12
"""Scenes that are told by their sizes; the others are counted."""


def said(line: str) -> str:
    """The line with the cut: its sizes, its first model, and a checksum of all of them."""
    asked = line.partition("  =>  ")[0]
    opset, inputs, constants, body, roots = asked.split(" | ")
    held = f" <{constants}>" if constants else ""
    proto = parsed(f"g ({inputs}) => (y){held} {{ {body} }}", opset=int(opset))
    graph = Graph.from_proto(proto)
    found = NeighbourhoodProbe(graph).before(graph.tensor("y"), roots.split())
    return f"{asked}  =>  {'none' if isinstance(found, str) else _told(found)}"


def _told(scenes: tuple[tuple[Scene, onnx.ModelProto], ...]) -> str:
    sizes = [_sizes(scene) for scene, _ in scenes]
    if len(sizes) > _MOST:
        sizes[_MOST - 1 : -1] = [f"{len(sizes) - _MOST} more"]
    models = [model_text(model) for _, model in scenes]
    return f"{', '.join(sizes)}: {models[0]} [{zlib.crc32(repr((sizes, models)).encode()):08x}]"


def _sizes(scene: Scene) -> str:
    return " + ".join("x".join(map(str, shape)) for shape in scene.shapes)


def model_text(model: onnx.ModelProto) -> str:
    """What a model holds, in a line: inputs, constants, nodes, opsets, functions and outputs."""
    graph = model.graph
    steps = [_node(node) for node in graph.node]
    opsets = [f"{each.domain} {each.version}" for each in model.opset_import if each.domain]
    opsets += [f"{function.domain}::{function.name}" for function in model.functions]
    ends = [
        f"{value.name} {onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()}"
        for value in (*graph.input, *graph.output)
    ]
    held = [f"{each.name} = {_array(to_array(each))}" for each in graph.initializer]
    return "; ".join([" to ".join(ends), *held, *steps, *opsets])


def _node(node: onnx.NodeProto) -> str:
    attributes = [f"{each.name} {_value(each)}" for each in node.attribute]
    given = " ".join(name or "-" for name in node.input)
    outputs = " ".join(name or "-" for name in node.output)
    domain = f"{node.domain}::" if node.domain else ""
    return f"{outputs} = {domain}{node.op_type}({', '.join([given, *attributes])})"


def _value(attribute: onnx.AttributeProto) -> object:
    value = get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return _array(to_array(value))
    return value.decode() if isinstance(value, bytes) else value


def _array(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    values = str(array.tolist()).replace(" ", "")
    if array.size > 8:
        values = f"{'x'.join(map(str, array.shape))} {zlib.crc32(values.encode()):08x}"
    return f"{array.dtype} {values}"


LINES: Final = Lines(Path(__file__).with_name("cuts.txt"), said)
