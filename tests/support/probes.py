"""Both sides of a change, run."""

from typing import Any

import onnx

from onnxpad.probe.cut import ProbeResult, compare_scenes


def compare_runs(
    before: onnx.ModelProto, after: onnx.ModelProto, shapes: Any = (), **asked: Any
) -> ProbeResult:
    """As `compare_scenes`, for one choice of shapes; by default those that are declared."""
    given = (value.type.tensor_type.shape.dim for value in before.graph.input)
    shapes = shapes or tuple(tuple(dim.dim_value for dim in dims) for dims in given)
    (result,) = compare_scenes(before, after, [shapes], **asked)
    return result
