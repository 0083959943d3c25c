"""Models of the package onnx_graphsurgeon: its `Graph` as a serialised model, and back.

graphsurgeon's own export renames tensors of the model that the graph was imported from, drops one
of two constants of the same name, repeats in each body the constants and declarations of the graph
around it, exports weights of 4 and 6 bits unpacked and float8e4m3fnuz as float8e4m3fn, and fails on
empty lists, texts, optional types, and declarations that have a shape but no type. This one does
not. What `import_onnx` leaves out of a graph, neither has: metadata, doc strings of nodes and
models, annotations, overloads, inputs that have initializers, and initializers that nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import onnx
from google.protobuf.message import EncodeError  # type: ignore[import-untyped]
from onnx import numpy_helper

from onnxpad.api.ir_model import require_room
from onnxpad.errors import ModelError
from onnxpad.file.external_data import is_external
from onnxpad.file.proto_walk import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from onnxpad.graph.model import Model

Opsets: TypeAlias = Sequence[onnx.OperatorSetIdProto]

_KIND: Final = "graphsurgeon Graph"
_SAVING: Final = "onnx.save(gs.export_onnx(graph), path, save_as_external_data=True)"

_FREE: Final = 4
"""The first IR version in which an initializer need not be an input."""

_WITH_FUNCTIONS: Final = 8
_TYPES_IN_FUNCTIONS: Final = 10
"""The IR versions that brought functions, and the types of tensors in them."""


def serialised(graph: Any) -> bytes:
    """A graph, serialised; the graph and the model that it was imported from are not changed.

    Raises:
        ModelError: It cannot be exported, or is over 2 GiB.
    """
    weights = {id(each): _size(each._values) for each in _constants(graph)}
    require_room(sum(weights.values()), _KIND, _SAVING)
    try:
        data: bytes = _model(graph).SerializeToString()
    except (EncodeError, AttributeError, TypeError, ValueError, AssertionError) as error:
        raise ModelError(f"the {_KIND} cannot be exported: {error}") from None
    return data


def values(graph: Any) -> dict[str, tuple[Any, Any]]:
    """The values of the constants that a graph reads outside of bodies, and their export types."""
    import onnx_graphsurgeon as gs

    return {
        name: (each._values, each._export_dtype)
        for name, each in _tensors(graph).items()
        if isinstance(each, gs.Constant)
    }


def rebuilt(now: Model, before: Any, known: Mapping[str, tuple[Any, Any]]) -> Any:
    """A graph, with the Python values of `before` where they mean the same.

    Args:
        now: The rewritten model.
        before: The graph that was given.
        known: The `values` that it had then.
    """
    import onnx_graphsurgeon as gs

    graph = gs.import_onnx(now.to_proto())
    graph.ir_version, graph.name_idx = _ir_version(before), before.name_idx
    if before.import_domains is None:
        graph.opset, graph.import_domains = before.opset, None
    kept = now.kept_initializers()
    _keep(before, graph, {name: each for name, each in known.items() if name in kept})
    functions = {each.unique_id: each for each in before.functions}
    for function in graph.functions:
        if function.unique_id in functions:
            _keep(functions[function.unique_id], function)
    return graph


# Export


def _model(graph: Any) -> onnx.ModelProto:
    """The model of a graph."""
    opsets = _imported(graph)
    model = onnx.ModelProto(
        producer_name=graph.producer_name or None,
        producer_version=graph.producer_version or None,
        graph=_graph(graph, opsets, frozenset()),
        opset_import=opsets,
    )
    # A new graph has no IR version: the lowest that has all that it needs runs everywhere.
    least = max(onnx.helper.find_min_ir_version_for(opsets, ignore_unknown=True), _FREE)
    if graph.functions:
        least = max(least, _WITH_FUNCTIONS)
    model.ir_version = _ir_version(graph) or least
    if model.ir_version < _FREE:
        for each in model.graph.initializer:
            declared = onnx.helper.make_tensor_value_info(each.name, each.data_type, each.dims)
            model.graph.input.append(declared)
    for function in graph.functions:
        model.functions.append(_function(function, model.ir_version))
    return model


def _ir_version(graph: Any) -> int | None:
    """The IR version of a graph; those of older versions of graphsurgeon have none."""
    found: int | None = vars(graph).get("ir_version")
    return found


def _imported(graph: Any) -> list[onnx.OperatorSetIdProto]:
    """The opsets that a graph or function imports: those that it names, and version 1 of others."""
    imports = graph.import_domains
    named = [onnx.helper.make_opsetid("", graph.opset)] if imports is None else list(imports)
    known = {None if each.domain in DEFAULT_DOMAINS else each.domain for each in named}
    for each in (graph, *graph.subgraphs(recursive=True)):
        for node in each.nodes:
            if node.domain not in DEFAULT_DOMAINS and node.domain not in known:
                known.add(node.domain)
                named.append(onnx.helper.make_opsetid(node.domain, 1))
    return named


def _graph(graph: Any, opsets: Opsets, around: frozenset[int]) -> onnx.GraphProto:
    """A graph or a body.

    Args:
        graph: The graph.
        opsets: The opsets that it imports.
        around: The tensors of the graphs around it, by identity; they are not its own.
    """
    import onnx_graphsurgeon as gs

    tensors = _tensors(graph)
    inside = around | {id(each) for each in tensors.values()}
    found = onnx.GraphProto(name=graph.name or None, doc_string=graph.doc_string or None)
    for borders, declared in ((graph.inputs, found.input), (graph.outputs, found.output)):
        declared.extend(_declared(each, is_body=bool(around)) for each in borders)
    for tensor in tensors.values():
        if not isinstance(tensor, gs.Constant) or id(tensor) in around:
            continue
        constant = _constant(tensor)
        if isinstance(constant, onnx.TensorProto):
            found.initializer.append(constant)
        else:
            found.sparse_initializer.append(constant)
    ends = {each.name for each in (*graph.inputs, *graph.outputs)}
    found.value_info.extend(_inner(each for each in _computed(graph) if each.name not in ends))
    found.node.extend(_node(each, opsets, inside) for each in graph.nodes)
    return found


def _function(function: Any, ir_version: int) -> onnx.FunctionProto:
    """A function; its constants become nodes, since functions have no initializers."""
    import onnx_graphsurgeon as gs

    opsets, tensors = _imported(function), _tensors(function)
    found = onnx.FunctionProto(
        name=function.name,
        domain=function.domain,
        doc_string=function.doc_string or None,
        input=[each.name for each in function.inputs],
        output=[each.name for each in function.outputs],
        opset_import=opsets,
    )
    for name, tensor in tensors.items():
        if isinstance(tensor, gs.Constant):
            constant = _constant(tensor)
            key = "value" if isinstance(constant, onnx.TensorProto) else "sparse_value"
            found.node.append(onnx.helper.make_node("Constant", [], [name], **{key: constant}))
    inside = frozenset(id(each) for each in tensors.values())
    found.node.extend(_node(each, opsets, inside) for each in function.nodes)
    if ir_version >= _TYPES_IN_FUNCTIONS:
        found.value_info.extend(_inner((*function.inputs, *_computed(function))))
    for name, value in function.attrs.items():
        if value is None:
            found.attribute.append(name)
        else:
            found.attribute_proto.append(_attribute(name, value, None, opsets, inside))
    return found


def _node(node: Any, opsets: Opsets, around: frozenset[int]) -> onnx.NodeProto:
    """A node with its bodies."""
    found = onnx.NodeProto(
        op_type=node.op,
        name=node.name or None,
        input=[each.name for each in node.inputs],
        output=[each.name for each in node.outputs],
    )
    if node.domain is not None:
        found.domain = node.domain
    for name, value in node.attrs.items():
        try:
            found.attribute.append(_attribute(name, value, node, opsets, around))
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"attribute {name!r} of {node.op} {node.name!r} of the {_KIND} cannot be exported: "
                f"{error}"
            ) from None
    return found


def _attribute(
    name: str, value: Any, node: Any, opsets: Opsets, around: frozenset[int]
) -> onnx.AttributeProto:
    """An attribute of a node; without a node, the default of a function's attribute."""
    import onnx_graphsurgeon as gs
    from onnx_graphsurgeon.exporters.onnx_exporter import OnnxExporter

    if isinstance(value, gs.Node.AttributeRef):
        (reference,) = OnnxExporter.export_attributes({name: value})
        return onnx.AttributeProto(
            name=name, type=reference.type, ref_attr_name=reference.ref_attr_name
        )
    if isinstance(value, list | tuple) and not value:
        return onnx.AttributeProto(name=name, type=_type_of_list(name, node, opsets))
    if isinstance(value, gs.Tensor):
        value = _constant(value)
    elif isinstance(value, gs.Graph):
        value = _graph(value, opsets, around)
    elif isinstance(value, type | np.dtype):
        value = _element_type(value)
    return onnx.helper.make_attribute(name, value)


def _type_of_list(name: str, node: Any, opsets: Opsets) -> onnx.AttributeProto.AttributeType:
    """The type of an empty attribute, as the operator declares it; otherwise integers."""
    domain = "" if node is None or node.domain in DEFAULT_DOMAINS else node.domain
    version = next((each.version for each in opsets if each.domain in {domain, "ai.onnx"}), 0)
    try:
        kind: Any = onnx.defs.get_schema(node.op, version, domain).attributes[name].type
        found: onnx.AttributeProto.AttributeType = int(kind)  # type: ignore[assignment]
        return found
    except (AttributeError, KeyError, onnx.defs.SchemaError):
        return onnx.AttributeProto.INTS


def _constant(tensor: Any) -> onnx.TensorProto | onnx.SparseTensorProto:
    """A constant by the name that it has in the graph.

    Raises:
        ModelError: It is a variable, or of a type that ONNX lacks.
    """
    import onnx_graphsurgeon as gs
    from onnx_graphsurgeon.exporters.onnx_exporter import OnnxExporter
    from onnx_graphsurgeon.ir.tensor import LazyValues, SparseValues

    if not isinstance(tensor, gs.Constant):
        raise ModelError(f"{tensor.name!r} of the {_KIND} has no values")
    values = tensor._values
    if isinstance(values, SparseValues):
        sparse = onnx.SparseTensorProto()
        sparse.CopyFrom(values.tensor)
        sparse.values.name = tensor.name
        return sparse
    found = onnx.TensorProto()
    if isinstance(values, LazyValues):
        found.CopyFrom(values.tensor)
    elif _element_type(tensor.export_dtype) != _element_type(values.dtype):
        found.CopyFrom(OnnxExporter.export_tensor_proto(tensor))
        found.ClearField("data_location")
    else:
        kind = np.dtype(object) if values.dtype.kind in "SU" else values.dtype.newbyteorder("=")
        found = numpy_helper.from_array(values.astype(kind, copy=False))
    found.name = tensor.name
    return found


def _declared(tensor: Any, *, is_body: bool) -> onnx.ValueInfoProto:
    """The declaration of an input or output.

    Raises:
        ModelError: One of the main graph has no type, or one that a graph does not hold completely.
    """
    kind = _type(tensor)
    if kind is None and not is_body:
        why = "no dtype" if tensor.dtype is None else f"a {tensor.type}, of which it holds a part"
        raise ModelError(f"input or output {tensor.name!r} of the {_KIND} has {why}")
    return onnx.ValueInfoProto(name=tensor.name, type=kind)


def _inner(tensors: Iterable[Any]) -> Iterator[onnx.ValueInfoProto]:
    """The declarations of those tensors whose type is known."""
    for tensor in tensors:
        if not tensor.is_empty() and (kind := _type(tensor)) is not None:
            yield onnx.ValueInfoProto(name=tensor.name, type=kind)


def _type(tensor: Any) -> onnx.TypeProto | None:
    """The declared type of a tensor; None if it is not known completely."""
    if tensor.dtype is None:
        return None
    kind = getattr(tensor, "type", "tensor_type")
    if kind == "optional_type" and isinstance(tensor.dtype, onnx.TypeProto):
        return onnx.helper.make_optional_type_proto(tensor.dtype)
    make = _MAKERS.get(kind)
    if make is None:
        return None
    shape = tensor.shape
    if shape is not None:
        shape = [int(each) if isinstance(each, np.integer) else each for each in shape]
    return make(_element_type(tensor.dtype), shape)


def _sequence(element_type: int, shape: Sequence[int | str | None] | None) -> onnx.TypeProto:
    element = onnx.helper.make_tensor_type_proto(element_type, shape)
    return onnx.helper.make_sequence_type_proto(element)


_MAKERS: Final[Mapping[str, Callable[..., onnx.TypeProto]]] = {
    "tensor_type": onnx.helper.make_tensor_type_proto,
    "sparse_tensor_type": onnx.helper.make_sparse_tensor_type_proto,
    "sequence_type": _sequence,
}


def _element_type(dtype: Any) -> int:
    """ONNX's number of an element type, which graphsurgeon has as such or as a numpy type.

    Raises:
        ValueError: ONNX has no such type.
    """
    if isinstance(dtype, int):
        return dtype
    try:
        return int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype).newbyteorder("=")))
    except (KeyError, TypeError):
        raise ValueError(f"ONNX has no element type {dtype}") from None


# Walks


def _tensors(graph: Any) -> dict[str, Any]:
    """The tensors of a graph or function by name, those of graphs around it too.

    Raises:
        ModelError: Two constants that differ have one name.
    """
    import onnx_graphsurgeon as gs

    found: dict[str, Any] = {}
    ends = (*graph.inputs, *graph.outputs)
    for tensor in chain(ends, *((*node.inputs, *node.outputs) for node in graph.nodes)):
        if tensor.is_empty():
            continue
        known = found.setdefault(tensor.name, tensor)
        if known is tensor:
            continue
        constants = [each for each in (known, tensor) if isinstance(each, gs.Constant)]
        if len(constants) == 1 or (constants and _constant(known) != _constant(tensor)):
            raise ModelError(f"two tensors of the {_KIND} have the name {tensor.name!r}")
    return found


def _computed(graph: Any) -> Iterator[Any]:
    """The tensors that the nodes of a graph or function compute."""
    return chain.from_iterable(node.outputs for node in graph.nodes)


def _constants(graph: Any) -> Iterator[Any]:
    """The constants of a graph, in all its bodies and functions, some of them several times."""
    import onnx_graphsurgeon as gs

    for whole in (graph, *graph.functions):
        for each in (whole, *whole.subgraphs(recursive=True)):
            for node in each.nodes:
                for tensor in (*node.inputs, *node.attrs.values()):
                    if isinstance(tensor, gs.Constant):
                        yield tensor


def _size(values: Any) -> int:
    """The number of bytes that the values of a constant take in a model."""
    stored = getattr(values, "tensor", None)
    is_outside = isinstance(stored, onnx.TensorProto) and is_external(stored)
    return 0 if is_outside else int(values.nbytes)


def _keep(before: Any, now: Any, same: Mapping[str, tuple[Any, Any]] | None = None) -> None:
    """Gives tensors of `now` the Python values of those of `before` that are the same.

    Args:
        before: The graph or function that was given.
        now: The rewritten one.
        same: The values of constants that are as they were, by name; others are compared.
    """
    import onnx_graphsurgeon as gs

    known = _tensors(before)
    for name, tensor in _tensors(now).items():
        old = known.get(name)
        if isinstance(tensor, gs.Constant):
            if same and name in same:
                tensor._values, tensor._export_dtype = same[name]
            else:
                _share(old, tensor)
        elif isinstance(old, gs.Variable):
            if old.dtype is None:  # a shape alone cannot be exported
                tensor.shape = tensor.shape or old.shape
            elif _type(old) == _type(tensor):
                tensor.dtype, tensor.shape = old.dtype, old.shape
    nodes = {_first_output(node): node for node in before.nodes}
    for node in now.nodes:
        match = nodes.get(_first_output(node))
        for key, value in node.attrs.items():
            other = match.attrs.get(key) if match is not None else None
            if isinstance(value, gs.Graph) and isinstance(other, gs.Graph):
                _keep(other, value)
            elif isinstance(value, gs.Constant):
                _share(other, value)


def _share(before: Any, now: Any) -> None:
    """Gives a constant the values of another one, if these are the same."""
    import onnx_graphsurgeon as gs

    if isinstance(before, gs.Constant) and _constant(before) == _constant(now):
        now._values, now._export_dtype = before._values, before._export_dtype


def _first_output(node: Any) -> str | None:
    return next((each.name for each in node.outputs if not each.is_empty()), None)
