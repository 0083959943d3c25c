"""What the arithmetic is compared with: a window that walks indices, and onnxruntime.

Shares no formula with `arithmetic.window`: of a `Window` only kernel, stride and dilation are read.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from onnxpad.arithmetic.window import Window
from tests.support import run, session


def taps(window: Window, start: int) -> range:
    """Positions that a window starting at `start` reads."""
    return range(start, start + window.kernel * window.dilation, window.dilation)


def walk(window: Window, begin: int, count: int) -> list[range]:
    """Positions that each of the first `count` windows reads; the first starts at `-begin`."""
    reads: list[range] = []
    start = -begin
    while len(reads) < count:
        reads.append(taps(window, start))
        start += window.stride
    return reads


def fitting(size: int, window: Window, begin: int, end: int) -> list[range]:
    """Positions that each window reads that lies in the padded line, found by trying each start."""
    line = range(-begin, size + end)
    starts = line[:: window.stride]
    return [taps(window, start) for start in starts if taps(window, start)[-1] in line]


def scattered(values: Sequence[float], weights: Sequence[float], window: Window) -> list[float]:
    """Full output of a transposed window: every input element adds the weights where it lands."""
    line: list[float] = []
    for start, value in zip(
        range(0, len(values) * window.stride, window.stride), values, strict=True
    ):
        for position, weight in zip(taps(window, start), weights, strict=True):
            line += [0.0] * (position + 1 - len(line))
            line[position] += value * weight
    return line


class Operator:
    """One operator on a line of any length, run by onnxruntime on CPU without optimisation.

    Args:
        op_type: `Conv`, `ConvTranspose`, `MaxPool` or `AveragePool`.
        window: Written as kernel_shape, strides and dilations.
        weights: Kernel of the two convolutions.
        **attributes: Further attributes of the operator.

    Raises:
        Exception: Whatever onnxruntime raises for a model that it refuses.
    """

    def __init__(
        self,
        op_type: str,
        window: Window,
        weights: Sequence[float] = (),
        **attributes: object,
    ) -> None:
        inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, "n"])]
        self._feeds: dict[str, npt.NDArray[np.float32]] = {}
        if weights:
            shape = (1, 1, window.kernel)
            inputs.append(helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, shape))
            self._feeds["w"] = np.array(weights, np.float32).reshape(shape)
        node = helper.make_node(
            op_type,
            [value.name for value in inputs],
            ["y"],
            kernel_shape=[window.kernel],
            strides=[window.stride],
            dilations=[window.dilation],
        )
        node.attribute.extend(helper.make_attribute(*item) for item in attributes.items())
        output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1, None])
        graph = helper.make_graph([node], "one_operator", inputs, [output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        self._session = session(model)

    def __call__(self, values: Sequence[float]) -> list[float]:
        """The operator's output for a line of values.

        Raises:
            Exception: Whatever onnxruntime raises for a size that it refuses.
        """
        x = np.array(values, np.float32).reshape(1, 1, -1)
        (y,) = run(self._session, {"x": x, **self._feeds})
        line: list[float] = y.ravel().tolist()
        return line
