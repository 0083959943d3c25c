"""onnx's reference evaluator as an oracle, for models of operators that it computes rightly."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import onnx

from onnxpad.engine.sessions import (
    Array,
    EngineError,
    Source,
    Value,
    first_line,
    read_proto,
)
from onnxpad.validation.inputs import Draw

Runner: TypeAlias = Callable[[Mapping[str, Array]], dict[str, Value]]

_EXACT = frozenset(
    {
        "Add",
        "Cast",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "Conv",
        "ConvInteger",
        "Gather",
        "Identity",
        "Mul",
        "Pad",
        "Relu",
        "Reshape",
        "Shape",
        "Slice",
        "Squeeze",
        "Sub",
        "Transpose",
        "Unsqueeze",
    }
)
"""Operators that the reference evaluator computes as specified. Pools are missing, since most of
its padded ones are wrong; ConvTranspose, since it crashes or clamps; QLinearConv, since it rounds
differently."""

_ROUNDED = _EXACT | {"Clip", "Div", "LeakyRelu", "Sigmoid", "Tanh"}
"""Operators that it computes rightly except for rounding."""

_MOST_WORK = 1 << 25  # elements fed times nodes: it takes a second for about so many


def evaluator(
    model: onnx.ModelProto, names: Sequence[str], trusted: frozenset[str] = _EXACT
) -> Runner:
    """A function that runs a model in the reference evaluator.

    Args:
        model: The model.
        names: Names of the outputs to compute.
        trusted: The operators that the model may consist of.

    Raises:
        EngineError: The model has another operator.
    """
    for node in model.graph.node:
        if node.domain not in {"", "ai.onnx"} or node.op_type not in trusted:
            raise EngineError(f"the reference evaluator is not trusted with {node.op_type}")
        if any(each.name == "mode" and each.s != b"constant" for each in node.attribute):
            raise EngineError(f"the reference evaluator is not trusted with this {node.op_type}")
    from onnx.reference import ReferenceEvaluator

    def run(feeds: Mapping[str, Array]) -> dict[str, Value]:
        try:
            with np.errstate(all="ignore"):
                values = session.run(list(names), dict(feeds))
        except Exception as error:  # whatever its operators raise
            raise EngineError(f"the reference evaluator fails: {first_line(error)}") from None
        return dict(zip(names, values, strict=True))

    try:
        session = ReferenceEvaluator(model)
    except Exception as error:  # whatever its operators raise
        raise EngineError(f"the reference evaluator fails: {first_line(error)}") from None
    return run


def evaluated(source: Source, inputs: Draw) -> dict[str, Value]:
    """The outputs of a whole model, right except for rounding; empty if it is not evaluated.

    Large models, models with external data, and those with other operators are not evaluated.
    """
    model = read_proto(source)
    work = sum(data.size for data in inputs.feeds.values()) * len(model.graph.node)
    outside = onnx.TensorProto.EXTERNAL
    if work > _MOST_WORK or any(each.data_location == outside for each in model.graph.initializer):
        return {}
    try:
        return evaluator(model, [each.name for each in model.graph.output], _ROUNDED)(inputs.feeds)
    except EngineError:
        return {}
