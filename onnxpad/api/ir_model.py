"""Models of the package onnx_ir, and the programs of torch's exporter, which hold one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError, UsageError, let_through

if TYPE_CHECKING:
    from onnxpad.graph.model import Model

GIBIBYTE = 1 << 30
LIMIT = 2 * GIBIBYTE
"""More than fits one serialised model."""

_SAVE = "save it with external data and give the path"


def taken(model: Any, program: Any = None) -> tuple[bytes | InFolder, Callable[[Model], Any]]:
    """A model of onnx_ir, or the one of a torch `ONNXProgram`, as onnxpad reads it.

    And what makes a result the kind that was given, with the weights that the model has now.

    Raises:
        UsageError: The program of an old torch has a model of another kind.
        ModelError: As for `serialised`.
    """
    import onnx_ir

    if not isinstance(model, onnx_ir.Model):
        raise UsageError(
            f"this ONNXProgram holds no onnx_ir.Model; update torch and onnxscript, or {_SAVE}"
        )
    weights: dict[str, Any] = {
        name: each.const_value for name, each in model.graph.initializers.items()
    }

    def same_kind(now: Model) -> Any:
        made = rebuilt(now, model, weights)
        return made if program is None else type(program)(made, program.exported_program)

    return serialised(model), same_kind


def serialised(model: Any) -> bytes | InFolder:
    """A model of onnx_ir, serialised; data that lies in files stays there.

    Raises:
        ModelError: It is over 2 GiB without its external data, or cannot be serialised, or an
            initializer has no values, or its external data lies in several folders.
    """
    import onnx_ir

    external, size = list[Any](), 0
    for name, tensor in _tensors(model):
        if tensor is None:  # onnx_ir would leave it out
            raise ModelError(f"initializer {name!r} of the model has no values; give it some")
        if isinstance(tensor, onnx_ir.ExternalTensor):
            external.append(tensor)
        else:
            size += tensor.nbytes
    if size >= LIMIT:
        told = f"the model holds {size / GIBIBYTE:.1f} GiB of weights in memory"
        raise ModelError(f"{told}, and a serialised one at most 2 GiB; {_SAVE}")
    data = serialised_export(lambda: onnx_ir.to_proto(model))
    if len({os.path.realpath(each.base_dir) for each in external}) > 1:
        raise ModelError(f"the external data of the model lies in several folders; {_SAVE}")
    if not external or not all(Path(each.path).exists() for each in external if not each.base_dir):
        return data  # without a folder, external data may have lost its place
    return InFolder(data, Path(external[0].base_dir).absolute())


def rebuilt(now: Model, before: Any, weights: Mapping[str, Any]) -> Any:
    """A rewritten model as one of onnx_ir, which shares the weights that are the same.

    So external, lazy and torch's own tensors stay what they are. Of the `meta` stores of `before`,
    the model that was given, those of the model and its graph stay, and no others.
    """
    import onnx_ir

    model = onnx_ir.from_proto(now.to_proto())
    model.meta.update(before.meta)
    model.graph.meta.update(before.graph.meta)
    places = [
        each.base_dir for _, each in _tensors(before) if isinstance(each, onnx_ir.ExternalTensor)
    ]
    for _, tensor in _tensors(model):
        if isinstance(tensor, onnx_ir.ExternalTensor) and places:
            tensor.base_dir = places[0]
    for name in weights.keys() & now.main.initializers.keys() & model.graph.initializers.keys():
        model.graph.initializers[name].const_value = weights[name]
    return model


def serialised_export(export: Callable[[], onnx.ModelProto]) -> bytes:
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
        raise ModelError(f"the model cannot be serialised: {reason}") from None
    return data


def _tensors(model: Any) -> Iterator[tuple[str, Any]]:
    """The tensors of a model, in attributes too; initializers by name, and None without values."""
    import onnx_ir

    kinds = onnx_ir.AttributeType
    for whole in (model.graph, *model.functions.values()):
        for graph in (whole, *whole.subgraphs()):
            for name, value in getattr(graph, "initializers", {}).items():  # functions have none
                yield name, value.const_value
            for attribute in (each for node in graph for each in node.attributes.values()):
                if attribute.type == kinds.TENSOR and not attribute.is_ref():
                    yield "", attribute.value
                elif attribute.type == kinds.TENSORS and not attribute.is_ref():
                    yield from (("", each) for each in attribute.value)
