"""Where onnxruntime departs from the specification on SAME, as the engines of the proof have it."""

from functools import partial
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Unknown, symbol
from onnxpad.arithmetic.window import Window
from onnxpad.runtimes.onnxruntime.departures import disagreement, runtime_pads, why_not_run
from onnxpad.semantics.operators import WindowOp, read_window
from onnxpad.semantics.window import onnxruntime, specification
from tests.semantics.test_read import graph_of
from tests.support.rows import each_row

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


def test_pads_that_depend_on_a_size_are_none() -> None:
    def pads(read: WindowOp, window: Window, size: Extent) -> object:
        return runtime_pads(replace(read, windows=(window, ONE)), 0, size, FLOAT)

    read = same("Conv", 22, "SAME_UPPER")
    assert pads(read, Window(3, 2), symbol("n")) is None
    assert pads(read, Window(3, 1), symbol("n")) == (1, 1)
    rounded = same("MaxPool", 22, "SAME_UPPER", ceil_mode=1)
    assert pads(rounded, Window(3, 1, 2), 8) is None
    assert pads(rounded, Window(1, 1, 2), 8) == (0, 0)


@each_row(
    ("op", "given", "windows", "runs"),
    [
        ("Conv", {}, (Window(3, 1, 2), ONE), False),
        ("MaxPool", {"pads": [0, 0, 0, 0]}, (ONE, ONE), True),
        ("MaxPool", {}, (ONE, Window(1, 3)), False),  # a kernel below the stride
        ("MaxPool", {}, (ONE, Window(3, 3)), True),
        ("LpPool", {}, (ONE, Window(1, 3)), True),
    ],
)
def test_whether_onnxruntime_runs_it(
    op: str, given: dict[str, Any], windows: tuple[Window, ...], runs: bool
) -> None:
    read = replace(same(op, 22, "SAME_UPPER", **given), windows=windows)
    assert bool(why_not_run(read, lambda: (4, 6), lambda: FLOAT)) is not runs
    assert not why_not_run(replace(read, auto_pad="VALID"), lambda: (4, 6), lambda: FLOAT)
    both = replace(same("Conv", 22, "SAME_UPPER", pads=[0, 0, 0, 0]), windows=(ONE, ONE))
    for read in (both, replace(both, auto_pad="VALID")):
        assert why_not_run(read, lambda: (4, 6), lambda: FLOAT) == "auto_pad beside pads"


N = symbol("n")


@each_row(
    ("op", "window", "size"),
    [
        ("LpPool", Window(1, 5), 5),
        ("LpPool", Window(1, 5), N),
        ("LpPool", Window(1, 5), Unknown("")),
        ("MaxPool", Window(2, 1, 2), 2 * N),
        ("MaxPool", Window(4, 2, 3), 1),
    ],
)
def test_what_is_told_of_both(op: str, window: Window, size: Extent) -> None:
    """What each makes of a size that is known."""
    node = replace(same(op, 22, "SAME_UPPER"), windows=(window, ONE))
    refusal = disagreement(node, (size, 4), BYTE)
    assert refusal is not None
    facts = dict(refusal.facts)
    assert (facts["axis"], facts["kernel"], facts["stride"]) == (2, window.kernel, window.stride)
    assert facts["dilations"] == [window.dilation, 1]
    for name, engine in (("onnxruntime", onnxruntime), ("specification", specification)):
        placed = engine(node.form, 0, size, BYTE) if isinstance(size, int) else None
        read_by = None if placed is None else {"pads": [*placed[:2]], "windows": placed.windows}
        assert facts.get(name) == read_by
