"""Where onnxruntime departs from the specification on SAME, as the engines of the proof have it."""

from functools import partial
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace
from onnx import TensorProto

from onnxpad.arithmetic.window import Window
from onnxpad.runtimes.onnxruntime.departures import disagreement, runtime_pads, why_not_run
from onnxpad.semantics.operators import WindowOp, read_window
from onnxpad.semantics.window import onnxruntime, specification
from tests.semantics.test_read import graph_of

AUTO_PADS = ("SAME_UPPER", "SAME_LOWER")
ONE = Window(1)
WINDOWS = [
    Window(kernel, stride, dilation)
    for kernel, stride, dilation in product((1, 2, 3, 4), (1, 2, 3, 5), (1, 2))
]
FLOAT, BYTE = int(TensorProto.FLOAT), int(TensorProto.UINT8)
OPERATORS: list[tuple[str, int, int, dict[str, Any]]] = [
    ("Conv", 22, FLOAT, {}),
    ("MaxPool", 22, FLOAT, {}),
    ("MaxPool", 12, BYTE, {"ceil_mode": 1}),
    ("AveragePool", 18, FLOAT, {}),
    ("AveragePool", 19, FLOAT, {}),
    ("AveragePool", 18, FLOAT, {"ceil_mode": 1, "count_include_pad": 1}),
    ("LpPool", 22, FLOAT, {}),
]


def same(op: str, opset: int, auto_pad: str, **given: Any) -> WindowOp:
    """An operator with SAME."""
    if op != "Conv":
        given["kernel_shape"] = [3, 3]
    return read_window(
        *graph_of(op, "x w" if op == "Conv" else "x", opset, auto_pad=auto_pad, **given)
    )


@pytest.mark.parametrize("auto_pad", AUTO_PADS)
@pytest.mark.parametrize(("op", "opset", "dtype", "given"), OPERATORS)
def test_engines_disagree_where_they_place_windows_otherwise(
    op: str, opset: int, dtype: int, given: dict[str, Any], auto_pad: str
) -> None:
    read = same(op, opset, auto_pad, **given)
    for window, size in product(WINDOWS, range(1, 9)):
        node = replace(read, windows=(window, ONE))
        spec, ort = (each(node.form, 0, size, dtype) for each in (specification, onnxruntime))
        assert spec is not None
        runs = ort is not None and ort.runs == 1
        is_spread = window.dilation != 1 and window.kernel != 1 and op != "Conv"
        differs = ort is not None and (is_spread or (runs and spec[:3:2] != ort[:3:2]))
        refusal = disagreement(node, (size, 4), dtype)
        assert (refusal is not None) == differs, (window, size)
        why = why_not_run(node, partial(lambda each: (each, 4), size), lambda: dtype)
        assert bool(why) != runs, (window, size)
        if ort is not None and isinstance(ort.windows, int):
            assert isinstance(ort.begin, int)
            assert isinstance(ort.end, int)
            fits = window.extent <= size + ort.begin + ort.end
            assert runtime_pads(node, 0, size, dtype) == (ort[:2] if fits else None)
