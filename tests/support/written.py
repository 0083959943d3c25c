"""Models as ONNX text that the parser reads back: shorter than what onnx prints."""

import json
import re
from collections.abc import Collection, Iterable, Iterator

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

_PLAIN = re.compile(r"[A-Za-z_]\w*")
_TYPED = {AttributeProto.INTS: "ints", AttributeProto.FLOATS: "floats"}


def nodes_text(nodes: Iterable[onnx.NodeProto], indent: str = "  ") -> Iterator[str]:
    """A line for each node; bodies are indented in theirs."""
    for node in nodes:
        label = f"[{_name(node.name)}] " if node.name else ""
        given = ", ".join(_attribute(each, indent) for each in node.attribute)
        operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        outputs = ", ".join(map(_name, node.output))
        inputs = ", ".join(map(_name, node.input))
        if node.input and not node.input[-1]:
            inputs = f'{inputs}""'  # the parser drops an empty last one that is not quoted
        attributes = f" <{given}>" if given else ""
        yield f"{indent}{label}{outputs} = {operator}{attributes} ({inputs})"


def graph_text(graph: onnx.GraphProto, indent: str = "", known: Collection[str] = ()) -> str:
    """A graph; initializers and declared shapes with these names are left out."""
    held = [constant_text(each) for each in graph.initializer if each.name not in known]
    held += [value_text(each) for each in graph.value_info if each.name not in known]
    given = f" <{', '.join(held)}>" if held else ""
    return f"{signature(graph)}{given} {block(graph.node, indent)}"


def signature(graph: onnx.GraphProto) -> str:
    """The inputs and outputs of a graph."""
    inputs, outputs = (", ".join(map(value_text, each)) for each in (graph.input, graph.output))
    return f"({inputs}) => ({outputs})"


def block(nodes: Iterable[onnx.NodeProto], indent: str = "") -> str:
    """Nodes in braces."""
    return "\n".join(["{", *nodes_text(nodes, f"{indent}  "), f"{indent}}}"])


def function_text(function: onnx.FunctionProto) -> str:
    """A function with its domain and what it imports."""
    opsets = ", ".join(f'"{each.domain}" : {each.version}' for each in function.opset_import)
    given = ", ".join([*function.attribute, *(_attribute(e, "") for e in function.attribute_proto)])
    attributes = f" <{given}>" if given else ""
    inputs, outputs = (", ".join(map(_name, each)) for each in (function.input, function.output))
    head = f'<domain: "{function.domain}", opset_import: [{opsets}]>\n{function.name}{attributes}'
    return f"{head} ({inputs}) => ({outputs}) {block(function.node)}"


def value_text(value: onnx.ValueInfoProto) -> str:
    """The type and name of a tensor."""
    tensor = value.type.tensor_type
    kind = TensorProto.DataType.Name(tensor.elem_type).lower()
    if not tensor.HasField("shape"):
        return f"{kind}[] {_name(value.name)}"
    dims = [each.dim_param or str(each.dim_value) for each in tensor.shape.dim]
    known = [each.WhichOneof("value") is not None for each in tensor.shape.dim]
    said = ",".join(dim if is_known else "?" for dim, is_known in zip(dims, known, strict=True))
    return f"{kind}{f'[{said}]' if dims else ''} {_name(value.name)}"


def constant_text(tensor: TensorProto) -> str:
    """A constant with its name and values."""
    return f"{_type(tensor)} {_name(tensor.name)} = {_values(tensor)}"


def _type(tensor: TensorProto) -> str:
    dims = f"[{','.join(map(str, tensor.dims))}]" if tensor.dims else ""
    return f"{TensorProto.DataType.Name(tensor.data_type).lower()}{dims}"


def _values(tensor: TensorProto) -> str:
    array = numpy_helper.to_array(tensor)
    if tensor.data_type in {TensorProto.FLOAT16, TensorProto.BFLOAT16}:
        array = array.view(np.uint16)  # of which the parser reads the bits
    values = [
        json.dumps(each.decode() if isinstance(each, bytes) else each)
        if array.dtype.kind in "OSU"
        else _number(int(each) if array.dtype.kind == "b" else each)
        for each in array.ravel().tolist()
    ]
    return f"{{{', '.join(values)}}}"


def _number(number: float) -> str:
    """Whole numbers as such; the shortest text that a float32 comes back from is not sought."""
    is_whole = isinstance(number, float) and number.is_integer() and abs(number) < 2**53
    return "-0.0" if str(number) == "-0.0" else str(int(number)) if is_whole else repr(number)


def _name(name: str) -> str:
    return name if not name or _PLAIN.fullmatch(name) else json.dumps(name)


def _attribute(given: AttributeProto, indent: str) -> str:
    kind = AttributeProto.AttributeType.Name(given.type).lower()
    if given.ref_attr_name:
        return f"{given.name}: {kind} = @{given.ref_attr_name}"
    match given.type:
        case AttributeProto.GRAPH:
            body = graph_text(given.g, f"{indent}  ")
            return f"\n{indent}  {given.name} = {given.g.name or 'body'} {body}"
        case AttributeProto.TENSOR:
            return f"{given.name} = {_type(given.t)} {_values(given.t)}"
        case AttributeProto.STRING:
            return f"{given.name} = {json.dumps(given.s.decode())}"
        case AttributeProto.STRINGS:
            return f"{given.name} = [{', '.join(json.dumps(s.decode()) for s in given.strings)}]"
        case AttributeProto.FLOAT:
            return f"{given.name} = {_short(given.f)}"
        case AttributeProto.FLOATS if given.floats:
            return f"{given.name} = [{', '.join(map(_short, given.floats))}]"
        case AttributeProto.INT:
            return f"{given.name} = {given.i}"
        case AttributeProto.INTS if given.ints:
            return f"{given.name} = [{', '.join(map(str, given.ints))}]"
        case empty if empty in _TYPED:
            return f"{given.name}: {_TYPED[empty]} = []"
    raise ValueError(f"{given.name}: no text says an attribute of type {kind}")


def _short(number: float) -> str:
    """A float32 in few digits, with a point, by which the parser knows it."""
    texts = (f"{number:.{digits}g}" for digits in range(1, 18))
    text = next(each for each in texts if _is_float32(float(each), number))
    return text if re.search(r"[.eni]", text) else f"{text}.0"


def _is_float32(one: float, other: float) -> bool:
    return bool(np.array_equal(np.float32(one), np.float32(other), equal_nan=True))
