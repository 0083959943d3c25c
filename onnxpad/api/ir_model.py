"""Models of the package onnx_ir, and the programs of torch's exporter, which hold one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
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

    And what makes a result the kind that was given. It shares the weights of the model as it is
    now that are the same, so external, lazy and torch's own tensors stay what they are, and has the
    `meta` stores of the model and its graph, and no others.

    Raises:
        UsageError: The program of an old torch has a model of another kind.
        ModelError: As for `serialised`.
    """
    import onnx_ir

    if not isinstance(model, onnx_ir.Model):
        raise UsageError(
            f"this ONNXProgram holds no onnx_ir.Model; update torch and onnxscript, or {_SAVE}"
        )
    weights = {name: each.const_value for name, each in model.graph.initializers.items()}

    def same_kind(now: Model) -> Any:
        made, place = onnx_ir.from_proto(now.to_proto()), [*_external(model)][:1]
        made.meta.update(model.meta)
        made.graph.meta.update(model.graph.meta)
        for tensor in _external(made) if place else ():
            tensor.base_dir = place[0].base_dir
        held = made.graph.initializers
        for name in weights.keys() & now.main.initializers.keys() & held.keys():
            held[name].const_value = weights[name]
        return made if program is None else type(program)(made, program.exported_program)

    return serialised(model), same_kind


def serialised(model: Any) -> bytes | InFolder:
    """A model of onnx_ir, serialised; data that lies in files stays there.

    Raises:
        ModelError: It is over 2 GiB without its external data, or cannot be serialised, or its
            external data lies in several folders.
    """
    import onnx_ir

    external = [*_external(model)]
    size = sum(each.nbytes for each in _tensors(model)) - sum(each.nbytes for each in external)
    if size >= LIMIT:
        told = f"the model holds {size / GIBIBYTE:.1f} GiB of weights in memory"
        raise ModelError(f"{told}, and a serialised one at most 2 GiB; {_SAVE}")
    data = serialised_export(lambda: onnx_ir.to_proto(model))
    if len({os.path.realpath(each.base_dir) for each in external}) > 1:
        raise ModelError(f"the external data of the model lies in several folders; {_SAVE}")
    if not external or not all(Path(each.path).exists() for each in external if not each.base_dir):
        return data  # without a folder, external data may have lost its place
    return InFolder(data, Path(external[0].base_dir).absolute())


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


def _external(model: Any) -> Iterator[Any]:
    """The tensors of a model whose data lies in files."""
    import onnx_ir

    return (each for each in _tensors(model) if isinstance(each, onnx_ir.ExternalTensor))


def _tensors(model: Any) -> Iterator[Any]:
    """The tensors of a model, in attributes too."""
    import onnx_ir

    for whole in (model.graph, *model.functions.values()):
        for graph in (whole, *whole.subgraphs()):
            values = getattr(graph, "initializers", {}).values()  # functions have none
            yield from (each.const_value for each in values if each.const_value is not None)
            for attribute in (each for node in graph for each in node.attributes.values()):
                if attribute.type == onnx_ir.AttributeType.TENSOR and not attribute.is_ref():
                    yield attribute.value
                elif attribute.type == onnx_ir.AttributeType.TENSORS and not attribute.is_ref():
                    yield from attribute.value
