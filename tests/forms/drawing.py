"""Models as short text: `Pad 1+2 → Conv` is a `Pad` and the Conv that reads it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
from onnx import numpy_helper

from onnxpad.semantics.window import TRANSPOSED
from tests.support import SLIDING

Nodes: TypeAlias = Sequence[onnx.NodeProto]

_ARROW: Final = " → "


def drawn(model: onnx.ModelProto) -> str:
    """The way to each output, along first inputs: operators, with their padding in parentheses."""
    functions = {(each.domain, each.name): each for each in model.functions}
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    outputs = [each.name for each in model.graph.output]
    return _graph(model.graph.node, outputs, constants, functions)


def _graph(
    nodes: Nodes,
    outputs: Iterable[str],
    constants: Mapping[str, np.ndarray[Any, Any]],
    functions: Mapping[tuple[str, str], onnx.FunctionProto],
) -> str:
    known = dict(constants)
    for node in nodes:
        if node.op_type == "Constant":
            (value,) = node.attribute
            tensor = onnx.helper.get_attribute_value(value)
            is_tensor = isinstance(tensor, onnx.TensorProto)
            known[node.output[0]] = numpy_helper.to_array(tensor) if is_tensor else np.array(tensor)
    producers = {name: node for node in nodes for name in node.output if name}
    ways = []
    for output in outputs:
        way, current = list[str](), producers.get(output)
        while current is not None:
            way.append(_node(current, known, functions))
            captured = [
                name for body in _bodies(current) for each in body.node for name in each.input
            ]
            read = [*current.input, *(name for name in captured if name in producers)]
            data = [name for name in read if name and name not in known]
            current = producers.get(data[0]) if data else None
        ways.append(_ARROW.join(reversed(way)))
    return "; ".join(dict.fromkeys(filter(None, ways)))


def _node(
    node: onnx.NodeProto,
    known: Mapping[str, np.ndarray[Any, Any]],
    functions: Mapping[tuple[str, str], onnx.FunctionProto],
) -> str:
    attributes = {
        a.name: onnx.helper.get_attribute_value(a) for a in node.attribute if not a.ref_attr_name
    }
    if node.op_type == "Pad":
        return " ".join(["Pad", *_pad(node, attributes, known)])
    inside = [_graph(b.node, [o.name for o in b.output], known, functions) for b in _bodies(node)]
    if (node.domain, node.op_type) in functions:
        function = functions[node.domain, node.op_type]
        inside.append(_graph(function.node, function.output, {}, functions))
    words = [node.op_type, *(f"{{ {each} }}" for each in dict.fromkeys(inside) if each)]
    if (node.domain, node.op_type) in {*SLIDING, *TRANSPOSED}:
        words += _window(attributes)
        words += ["(of the call)" for a in node.attribute if a.ref_attr_name == "pads"]
    return " ".join(words)


def _bodies(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [a.g for a in node.attribute if a.HasField("g")]


def _window(attributes: Mapping[str, Any]) -> Iterator[str]:
    """The padding of a window operator."""
    auto_pad = attributes.get("auto_pad", b"NOTSET").decode()
    pads = list(attributes.get("pads", ()))
    if any(pads):
        yield ", ".join(dict.fromkeys(_pairs(pads)))
        if attributes.get("count_include_pad"):
            yield "counted"
    if auto_pad != "NOTSET":
        yield auto_pad
    if attributes.get("ceil_mode"):
        yield "ceil_mode"
    if any(attributes.get("output_padding", ())):
        yield f"output_padding {list(attributes['output_padding'])}"


def _pad(
    node: onnx.NodeProto, attributes: Mapping[str, Any], known: Mapping[str, np.ndarray[Any, Any]]
) -> Iterator[str]:
    """Amounts, value and mode of a `Pad`."""
    inputs = [*node.input, "", "", ""][:4]
    mode = attributes.get("mode", b"constant").decode()
    if inputs[1] in known:
        pairs = _pairs(known[inputs[1]].tolist())
        axes = known[inputs[3]].tolist() if inputs[3] in known else range(len(pairs))
        yield _amounts(dict(zip(axes, pairs, strict=True)))
    else:
        yield "(computed)"
    value = known[inputs[2]].item() if inputs[2] in known else 0
    if mode != "constant":
        yield mode
    elif inputs[2] and inputs[2] not in known:
        yield "of a computed value"
    elif value or str(value).startswith("-"):
        yield "of -0.0" if value == 0 else f"of {value:g}"


def _amounts(pairs: Mapping[int, str]) -> str:
    """The pair of all spatial axes, if it is one and no other axis is padded; else each by axis."""
    padded = {axis: pair for axis, pair in pairs.items() if pair != "0+0"}
    if len({*padded.values()}) == 1 and len(padded) == len(pairs) - 2 and 0 not in padded:
        return next(iter(padded.values()))
    return " and ".join(f"{pair} on axis {axis}" for axis, pair in padded.items()) or "0+0"


def _pairs(pads: Sequence[int]) -> list[str]:
    half = len(pads) // 2
    return [f"{begin}+{end}" for begin, end in zip(pads[:half], pads[half:], strict=True)]
