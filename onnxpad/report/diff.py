"""A unified diff of two graphs: one line for each input and each node.

Weights are never shown. Short constants that a node reads, such as the amounts of a `Pad`, are
shown by value in the line of the node.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxpad.errors import place_in
from onnxpad.file.proto_walk import function_label, named_bodies, qualified
from onnxpad.report.text import shown

MOST_ELEMENTS = 16
"""Elements up to which numbers are listed: the amounts of a `Pad` up to rank 8."""

Held = onnx.GraphProto | onnx.FunctionProto


def unified_diff(
    before: onnx.GraphProto,
    after: onnx.GraphProto,
    names: tuple[str, str],
    functions: Iterable[tuple[onnx.FunctionProto, onnx.FunctionProto]] = (),
) -> str:
    """A unified diff without context lines; empty if nothing differs.

    The line numbers of a hunk count the inputs and then the nodes, from 1, in each graph anew. The
    headings of hunks in bodies and functions say where these are. Long tensors may lack elements.
    """
    hunks: list[str] = []
    held: list[tuple[str, Held, Held]] = [("", before, after)]
    held += [(function_label(was), was, now) for was, now in functions]
    for place, was, now in held:
        after_it = dict(_lines(place, now, {}))
        for where, lines in _lines(place, was, {}):
            now_there = after_it.get(where, lines)  # a body that is gone: its node has a line
            found = difflib.unified_diff(lines, now_there, n=0, lineterm="")
            told = f" {shown(where)}" * bool(where)
            hunks += (line + told * (line[0] == "@") for line in islice(found, 2, None))
    heading = f"--- {shown(names[0])}", f"+++ {shown(names[1])}"
    return "\n".join((*heading, *hunks, "")) if hunks else ""


def node_text(node: onnx.NodeProto, known: Mapping[str, str] = {}) -> str:
    """A node in one line, such as `y = Conv <pads = [0, 1]> (x, w)`, with constants by value."""
    given = ", ".join(sorted(f"{item.name} = {_attribute(item)}" for item in node.attribute))
    read = ", ".join(f"{name} = {known[name]}" if name in known else name for name in node.input)
    label = f"{node.name}: " if node.name else ""
    attributes = f" <{given}>" if given else ""
    return shown(f"{label}{', '.join(node.output)} = {qualified(node)}{attributes} ({read})")


def _input_text(value: onnx.ValueInfoProto) -> str:
    try:
        return shown(f"input {onnx.helper.printable_value_info(value)[1:]}")
    except ValueError:  # a type that this onnx does not know
        return shown(f"input {value.name}[?]")


def _lines(place: str, graph: Held, outer: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    lines, inside, constants = list[str](), list[tuple[str, Held]](), dict(outer)
    if isinstance(graph, onnx.GraphProto):
        held = {item.name: item for item in graph.initializer}
        constants |= {name: text for name, item in held.items() if (text := _short(item))}
        lines += [_input_text(each) for each in graph.input if each.name not in held]
    for node in graph.node:
        output = next(filter(None, node.output), "")
        if node.op_type == "Constant" and len(node.attribute) == 1:
            (value,) = node.attribute
            is_integer = value.name in {"value_int", "value_ints"}
            if text := _attribute(value) if is_integer else _short(value.t):
                constants[output] = text
        lines.append(node_text(node, constants))
        label = place_in(place, f"{node.op_type} {node.name or f'<{output or node.op_type}>'!r}")
        inside += [(f"{label} > {name}", body) for name, body in named_bodies(node.attribute)]
    yield place, lines
    for where, body in inside:
        yield from _lines(where, body, constants)


def _attribute(item: onnx.AttributeProto) -> str:
    if item.ref_attr_name:
        return f"@{item.ref_attr_name}"
    try:
        return _written(onnx.helper.get_attribute_value(item))
    except ValueError:  # a type that this onnx does not know
        return "?"


def _written(value: Any) -> str:
    if isinstance(value, bytes):
        return json.dumps(value.decode(errors="backslashreplace"), ensure_ascii=False)
    if isinstance(value, list):
        more = f", ... {len(value):,} in all" * (len(value) > MOST_ELEMENTS)
        return f"[{', '.join(map(_written, value[:MOST_ELEMENTS]))}{more}]"
    if isinstance(value, int | float):
        return str(value if isinstance(value, int) else np.float32(value))
    is_tensor = isinstance(value, onnx.TensorProto)
    return (_short(value) if is_tensor else "") or f"a {type(value).__name__}"


def _short(tensor: onnx.TensorProto) -> str:
    """A number or a short list of integers stored in the model itself; empty for other tensors."""
    is_external = tensor.data_location == onnx.TensorProto.DataLocation.EXTERNAL
    if is_external or len(tensor.dims) > 1 or math.prod(tensor.dims) > MOST_ELEMENTS:
        return ""
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, IndexError):  # a damaged tensor
        return ""
    return _written(array.tolist()) if array.size == 1 or array.dtype.kind in "biu" else ""
