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

    held = (pair for graph in _graphs(model) for pair in _initializers(graph).items())
    for name, value in held:
        if value.const_value is None:  # onnx_ir would leave it out
            raise ModelError(f"initializer {name!r} of the {kind} has no values; give it some")
    tensors = list(_tensors(model))
    external = [each for each in tensors if isinstance(each, onnx_ir.ExternalTensor)]
    size = sum(each.nbytes for each in tensors if not isinstance(each, onnx_ir.ExternalTensor))
    if size >= LIMIT:
        raise ModelError(
            f"the {kind} holds {size / GIBIBYTE:.1f} GiB of weights in memory, and a serialised "
            f"model at most 2 GiB; save it with {saving} and give the path"
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

    Weights that are the same are shared, so external, lazy and torch's own tensors stay what they
    are. So are the values in the `meta` stores, but for those in bodies.

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
    for name in known.keys() & now.main.initializers.keys() & model.graph.initializers.keys():
        model.graph.initializers[name].const_value = known[name]
    _keep(before.graph, model.graph)
    for name, function in model.functions.items():
        if name in before.functions:
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


def _keep(before: Any, now: Any) -> None:
    """Shares what the `meta` stores of two graphs or functions hold, and the versions of nodes."""
    now.meta.update(before.meta)
    known = _named(before)
    for name, value in _named(now).items():
        if name in known:
            value.meta.update(known[name].meta)
    producers = _producers(before)
    for name, node in _producers(now).items():
        other = producers.get(name)
        if other is not None and other.op_identifier() == node.op_identifier():
            node.meta.update(other.meta)
            node.version = other.version


def _named(graph: Any) -> Mapping[str, Any]:
    """The values of a graph or function by name."""
    outputs = chain.from_iterable(node.outputs for node in graph)
    initializers = _initializers(graph).values()
    return {each.name: each for each in chain(graph.inputs, initializers, outputs) if each.name}


def _producers(graph: Any) -> Mapping[str, Any]:
    """The nodes of a graph or function, by the first of their outputs that has a name."""
    named = ((next(filter(None, (each.name for each in node.outputs)), ""), node) for node in graph)
    return {name: node for name, node in named if name}
