"""Models of the package onnx_ir, and the programs of torch's exporter, which hold one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError, UsageError, let_through

if TYPE_CHECKING:
    from onnxpad.graph.model import Model

_SAVING = "onnx_ir.save(model, path, external_data='weights.data')"

GIBIBYTE = 1 << 30
LIMIT = 2 * GIBIBYTE
"""More than fits one serialised model."""


def serialised(model: Any, kind: str = "onnx_ir.Model", saving: str = _SAVING) -> bytes | InFolder:
    """A model of onnx_ir, serialised; data that lies in files stays there.

    Args:
        model: The model, which is not changed.
        kind: The kind of object that it came as, for messages.
        saving: How such an object is saved with external data, for messages.

    Raises:
        ModelError: It is over 2 GiB without its external data, or cannot be serialised, or an
            initializer has no values, or its external data lies in several folders.
    """
    import onnx_ir

    missing = next(_without_values(model), None)
    if missing is not None:
        raise ModelError(f"initializer {missing!r} of the {kind} has no values; give it some")
    tensors = list(_tensors(model))
    external = [each for each in tensors if isinstance(each, onnx_ir.ExternalTensor)]
    require_room(
        sum(each.nbytes for each in tensors if not isinstance(each, onnx_ir.ExternalTensor)),
        kind,
        saving,
    )
    with _names_kept(tensors):
        data = serialised_export(lambda: onnx_ir.to_proto(model), kind)
    folders = {os.path.realpath(each.base_dir) for each in external}
    if len(folders) > 1:
        raise ModelError(
            f"the external data of the {kind} lies in several folders; save it with {saving} and "
            "give the path"
        )
    if not external or not all(Path(each.path).exists() for each in external if not each.base_dir):
        return data  # without a folder, external data may have lost its place
    return InFolder(data, Path(external[0].base_dir).absolute())


def weights(model: Any) -> dict[str, Any]:
    """The tensors of a model of onnx_ir that are the initializers of its main graph, by name."""
    return {each.name: each.const_value for each in model.graph.initializers.values()}


def rebuilt(now: Model, before: Any, known: Mapping[str, Any]) -> Any:
    """A model of onnx_ir with what `before` has beyond a serialised model.

    Tensors that are the same are shared, so external, lazy and torch's own tensors stay what they
    are. So are the values in all `meta` stores.

    Args:
        now: The rewritten model.
        before: The model that was given.
        known: The `weights` that it had then.
    """
    import onnx_ir

    model = onnx_ir.from_proto(now.to_proto())
    model.meta.update(before.meta)
    places = {
        each.base_dir for each in _tensors(before) if isinstance(each, onnx_ir.ExternalTensor)
    }
    for tensor in _tensors(model):
        if isinstance(tensor, onnx_ir.ExternalTensor) and places:
            tensor.base_dir = next(iter(places))
    kept = now.main.initializers
    _keep(before.graph, model.graph, {name: each for name, each in known.items() if name in kept})
    for name, function in model.functions.items():
        if name in before.functions:
            function.meta.update(before.functions[name].meta)
            _keep(before.functions[name], function)
    return model


def serialised_program(program: Any) -> bytes | InFolder:
    """The model of a torch `ONNXProgram`, serialised.

    Raises:
        UsageError: The program of an old torch has a model of another kind.
        ModelError: As for `serialised`.
    """
    import onnx_ir

    if not isinstance(program.model, onnx_ir.Model):
        raise UsageError(
            "the model of this ONNXProgram is no onnx_ir.Model; update torch and onnxscript, or "
            "save it and give the path"
        )
    return serialised(program.model, "ONNXProgram", "program.save(path, external_data=True)")


def program(now: Model, before: Any, known: Mapping[str, Any]) -> Any:
    """A torch `ONNXProgram` of a rewritten model; it opens its own inference session.

    Args:
        now: The rewritten model.
        before: The program that was given.
        known: The `weights` that its model had then.
    """
    found = type(before)(rebuilt(now, before.model, known), before.exported_program)
    for name in ("_capture_strategy",):  # not an argument
        if hasattr(before, name):
            setattr(found, name, getattr(before, name))
    return found


def require_room(size: int, kind: str, saving: str) -> None:
    """Refuses weights that no serialised model can hold.

    Raises:
        ModelError: There are more than 2 GiB of them.
    """
    if size >= LIMIT:
        raise ModelError(
            f"the {kind} holds {size / GIBIBYTE:.1f} GiB of weights in memory, and a serialised "
            f"model at most 2 GiB; save it with {saving} and give the path"
        )


def serialised_export(export: Callable[[], onnx.ModelProto], kind: str) -> bytes:
    """The model that an export returns, serialised.

    Raises:
        ModelError: The export fails; the message gives the innermost reason.
    """
    try:
        data: bytes = export().SerializeToString()
    except Exception as error:
        let_through(error)
        reason: BaseException = error
        while reason.__cause__ is not None:
            reason = reason.__cause__  # onnx_ir adds where it was at each level
        raise ModelError(f"the {kind} cannot be serialised: {reason}") from None
    return data


def _graphs(model: Any) -> Iterator[Any]:
    """All graphs of a model: the main graph, functions, and the bodies in both."""
    for whole in (model.graph, *model.functions.values()):
        yield whole
        yield from whole.subgraphs()


def _initializers(graph: Any) -> Mapping[str, Any]:
    """The initializers of a graph by name; a function has none."""
    found: Mapping[str, Any] = getattr(graph, "initializers", {})
    return found


def _tensors(model: Any) -> Iterator[Any]:
    """The tensors of a model: its initializers, and those in attributes."""
    import onnx_ir

    for graph in _graphs(model):
        for value in _initializers(graph).values():
            if value.const_value is not None:
                yield value.const_value
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.is_ref():
                    continue
                if attribute.type == onnx_ir.AttributeType.TENSOR:
                    yield attribute.value
                elif attribute.type == onnx_ir.AttributeType.TENSORS:
                    yield from attribute.value


def _without_values(model: Any) -> Iterator[str]:
    """The names of initializers that onnx_ir would leave out, as they have no values."""
    for graph in _graphs(model):
        for name, value in _initializers(graph).items():
            if value.const_value is None:
                yield name


@contextmanager
def _names_kept(tensors: list[Any]) -> Iterator[None]:
    """Gives tensors their names back: onnx_ir names an initializer's as the initializer."""
    names = [each.name for each in tensors]
    try:
        yield
    finally:
        for tensor, name in zip(tensors, names, strict=True):
            if tensor.name != name:
                tensor.name = name


def _keep(before: Any, now: Any, same: Mapping[str, Any] | None = None) -> None:
    """Shares what two graphs or functions both have: tensors, and what `meta` stores hold.

    Args:
        before: The graph or function that was given.
        now: The rewritten one.
        same: The tensors of initializers that are as they were, by name; others are compared.
    """
    import onnx_ir

    for store, other in ((now, before), *_values(before, now)):
        store.meta.update(other.meta)
    for name, value in _initializers(now).items():
        known = _initializers(before).get(name)
        if same and name in same:
            value.const_value = same[name]
        elif known is not None and _equal(known.const_value, value.const_value):
            value.const_value = known.const_value
    producers = _producers(before)
    for name, node in _producers(now).items():
        known = producers.get(name)
        if known is None or known.op_identifier() != node.op_identifier():
            continue
        node.meta.update(known.meta)
        node.version = known.version
        for attribute in node.attributes.values():
            other = known.attributes.get(attribute.name)
            if other is None or other.is_ref() or other.type != attribute.type:
                continue
            if attribute.type == onnx_ir.AttributeType.GRAPH:
                _keep(other.value, attribute.value)
            elif attribute.type == onnx_ir.AttributeType.GRAPHS:
                for one, body in zip(other.value, attribute.value, strict=False):
                    _keep(one, body)


def _values(before: Any, now: Any) -> Iterator[tuple[Any, Any]]:
    """The values of the same name in two graphs or functions, the new one first."""
    known = _named(before)
    for name, value in _named(now).items():
        if name in known:
            yield value, known[name]


def _named(graph: Any) -> Mapping[str, Any]:
    outputs = chain.from_iterable(node.outputs for node in graph)
    initializers = _initializers(graph).values()
    return {each.name: each for each in chain(graph.inputs, initializers, outputs) if each.name}


def _producers(graph: Any) -> Mapping[str, Any]:
    """The nodes of a graph or function, by the first of their outputs that has a name."""
    found = {}
    for node in graph:
        name = next((each.name for each in node.outputs if each.name), None)
        if name:
            found[name] = node
    return found


def _equal(one: Any, other: Any) -> bool:
    """Whether two tensors are the same, without reading data that lies in files."""
    import onnx_ir

    if one is None or other is None:
        return False
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if isinstance(one, onnx_ir.ExternalTensor) or isinstance(other, onnx_ir.ExternalTensor):
        return _place(one) == _place(other)
    if one.dtype == onnx_ir.DataType.STRING:
        return list(one.string_data()) == list(other.string_data())
    return bool(one.tobytes() == other.tobytes())


def _place(tensor: Any) -> tuple[str, int, int | None] | None:
    """Where the data of an external tensor lies; None for another one."""
    if not hasattr(tensor, "location"):
        return None
    return os.fspath(tensor.location), tensor.offset or 0, tensor.length
