"""Models in onnxruntime at each level of its optimiser, and what they give on negative data."""

from typing import Any

import numpy as np
import onnx
import onnxruntime

from tests.support import Array

LEVELS = (
    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
)


def ran(model: onnx.ModelProto, level: Any, feeds: dict[str, Array]) -> list[Array] | str:
    """The outputs, or why there are none."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return list(session.run(None, feeds))
    except Exception as error:  # onnxruntime's own errors share no narrower base class
        return str(error)


def agree(found: list[Array] | str, expected: list[Array]) -> bool:
    return not isinstance(found, str) and all(
        one.shape == other.shape and np.allclose(one, other, 1e-3, 1e-3, equal_nan=True)
        for one, other in zip(found, expected, strict=True)
    )


def negative(model: onnx.ModelProto, size: int = 3) -> dict[str, Array]:
    """Data below zero for every input."""
    random = np.random.default_rng(0)
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or size for dim in tensor.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feeds[value.name] = (-random.random(shape) - 0.5).astype(kind)
    return feeds
