"""Where onnxruntime departs, and SAME by each engine, held against the proof's own formulas."""

from dataclasses import fields
from functools import partial
from itertools import product
from typing import Any

import pytest
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Size, Unknown, symbol
from onnxpad.arithmetic.symbol import Sizes
from onnxpad.arithmetic.window import OpenWindow, Window
from onnxpad.operators.read import WindowOp, read_window
from onnxpad.operators.table import OPERATORS as ROWS
from onnxpad.runtimes.onnxruntime.departures import (
    DEPARTURES,
    Departures,
    Stops,
    computed,
    disagreement,
    folding_versions,
    folds_as_any,
    runtime_pads,
    specified,
    why_not_run,
)
from onnxpad.semantics.engines import onnxruntime, specification
from onnxpad.semantics.rows import Call
from onnxpad.semantics.window import WINDOWS as MEANINGS
from onnxpad.semantics.window import WindowForm, form_of
from tests.operators.test_read import graph_of
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


def same(op: str, opset: int, auto_pad: str, **given: Any) -> tuple[WindowOp, WindowForm]:
    """An operator with SAME as the passes read it, and as the proof does."""
    if op != "Conv":
        given["kernel_shape"] = [3, 3]
    node = graph_of(op, "x w" if op == "Conv" else "x", opset, auto_pad=auto_pad, **given)
    return read_window(*node), form_of(Call(*node, MEANINGS["", op]))


@pytest.mark.parametrize("auto_pad", AUTO_PADS)
@pytest.mark.parametrize(("op", "opset", "dtype", "given"), OPERATORS)
def test_both_say_where_windows_are_and_where_engines_differ(
    op: str, opset: int, dtype: int, given: dict[str, Any], auto_pad: str
) -> None:
    """A pool that is dilated is refused at any size, for it pads by chance only alike."""
    read, form = same(op, opset, auto_pad, **given)
    for window, size in product(WINDOWS, range(1, 9)):
        axes = (window, Window(1))
        form = form._replace(axes=axes, pads=((0, 0), (0, 0)))
        spec, ort = specification(form, 0, size, dtype), onnxruntime(form, 0, size, dtype)
        ours, theirs = specified(read, window, size), computed(read, window, size)
        assert spec is not None
        assert ours == spec[:3]
        runs = ort is not None and ort.runs == 1
        if ort is not None:
            assert theirs[:2] == ort[:2]
            assert theirs.windows == ort.windows or isinstance(ort.windows, Unknown)
        differs = runs and (ours.begin, ours.windows) != (theirs.begin, theirs.windows)
        is_spread = window.dilation != 1 and window.kernel != 1 and op != "Conv"
        node = read._replace(windows=(window, ONE))
        refusal = disagreement(node, (size, 4), opset, lambda: dtype)
        assert (refusal is not None) == (is_spread or differs), (window, size)
        if not is_spread:
            why = why_not_run(node, partial(lambda each: (each, 4), size), opset, lambda: dtype)
            assert bool(why) != runs, (window, size)
        begin, end, count = theirs
        if isinstance(count, int):
            assert isinstance(begin, int)
            assert isinstance(end, int)
            fits = window.extent <= size + begin + end
            assert runtime_pads(read, window, size) == ((begin, end) if fits else None)


def test_pads_that_depend_on_a_size_are_none() -> None:
    read, _ = same("Conv", 22, "SAME_UPPER")
    assert runtime_pads(read, Window(3, 2), symbol("n")) is None
    assert runtime_pads(read, Window(3, 1), symbol("n")) == (1, 1)
    rounded, _ = same("MaxPool", 22, "SAME_UPPER", ceil_mode=1)
    assert runtime_pads(rounded, Window(3, 1, 2), 8) is None
    assert runtime_pads(rounded, Window(1, 1, 2), 8) == (0, 0)


@each_row(
    ("op", "given", "windows", "told"),
    [
        ("Conv", {}, (Window(3, 1, 2), ONE), "SAME_UPPER with dilation"),
        ("Conv", {"pads": [0, 0, 0, 0]}, (ONE, ONE), "auto_pad beside pads"),
        ("MaxPool", {"pads": [0, 0, 0, 0]}, (ONE, ONE), ""),
        ("MaxPool", {}, (ONE, Window(1, 3)), "SAME_UPPER with a kernel below the stride"),
        ("MaxPool", {}, (ONE, Window(2, 3)), "SAME_UPPER with a kernel below the stride"),
        ("MaxPool", {}, (ONE, Window(3, 3)), ""),
        ("LpPool", {}, (ONE, Window(1, 3)), ""),
    ],
)
def test_why_onnxruntime_does_not_run_it(
    op: str, given: dict[str, Any], windows: tuple[Window, ...], told: str
) -> None:
    read, _ = same(op, 22, "SAME_UPPER", **given)
    read = read._replace(windows=windows)
    assert why_not_run(read, lambda: (4, 6), 22, lambda: FLOAT) == told
    is_pads = told == "auto_pad beside pads"
    valid = why_not_run(read._replace(auto_pad="VALID"), lambda: (4, 6), 22, lambda: FLOAT)
    assert valid == (told if is_pads else "")


BELOW = "kernel 1 below stride 5"
SPREAD = "for which onnxruntime does not pad a pool"
N, FIVEFOLD = symbol("n"), symbol("m", Sizes(5, 400, 5))


@each_row(
    ("op", "window", "size", "told"),
    [
        ("LpPool", Window(1, 5), 5, f"{BELOW}: on axis 2 of size 5 -2+-2 1 element, 0+0 1 element"),
        ("LpPool", Window(1, 5), N, f"{BELOW}: at size 3 -1+-1 1 element, 0+0 1 element"),
        ("LpPool", Window(1, 5), Unknown(""), f"{BELOW}: at size 3 -1+-1 1 element, 0+0 1 element"),
        ("Conv", Window(1, 5), FIVEFOLD, f"{BELOW}: at size 5 -1+-3 1 element, 0+0 1 element"),
        ("MaxPool", Window(2, 1, 2), 2 * N,
         f"dilation 2, {SPREAD}: at size 2 0+1 1 element, 1+1 2 elements"),
        ("MaxPool", Window(4, 2, 3), 1,
         f"dilation 3, {SPREAD}: on axis 2 of size 1 1+2 0 elements, 4+5 1 element"),
    ], at_once=8)  # fmt: skip
def test_what_is_told_of_both(op: str, window: Window, size: Extent, told: str) -> None:
    """The first size at which both have a result, and what each makes of it."""
    read, _ = same(op, 22, "SAME_UPPER")
    refusal = disagreement(read._replace(windows=(window, ONE)), (size, 4), 22, lambda: BYTE)
    assert refusal is not None
    text = str(refusal)
    for said in ("onnxruntime pads ", "the specification pads ", "and gives "):
        assert said in text
        text = text.replace(said, "")
    facts = dict(refusal.facts)
    assert (facts["axis"], facts["kernel"], facts["stride"]) == (2, window.kernel, window.stride)
    assert facts["dilations"] == [window.dilation, 1]
    at = facts["size"]
    assert isinstance(at, int)
    node = read._replace(windows=(window, ONE))
    for name, engine in (("onnxruntime", computed), ("specification", specified)):
        begin, end, windows = engine(node, window, at)
        assert facts[name] == {"pads": [begin, end], "windows": windows}


def test_an_open_kernel_is_told_by_no_number() -> None:
    read, _ = same("LpPool", 22, "SAME_UPPER")
    assert isinstance(N, Size)
    node = read._replace(windows=(OpenWindow(N, 5), ONE))
    refusal = disagreement(node, (5, 4), 22, lambda: BYTE)
    assert refusal is not None
    assert refusal.facts["kernel"] is None
    assert "size" not in refusal.facts
    assert str(refusal).endswith("SAME_UPPER with kernel n below stride 5")


def test_each_operator_has_a_row() -> None:
    assert {*DEPARTURES} == {*ROWS}


def test_what_a_row_does_not_name_is_as_specified() -> None:
    plain = Departures(same_from={}, runs_same_from={})
    named = [getattr(plain, field.name) for field in fields(plain)]
    assert [each for each in named if each] == [Stops.NEVER]


def test_versions_that_fold() -> None:
    conv, pool = ROWS["", "Conv"], ROWS["", "MaxPool"]
    told = [folding_versions(row, opset) for row in (conv, pool) for opset in (20, 21)]
    assert told == ["1.21 to 1.32", "1.25 to 1.32", "1.21 to 1.31", "1.25 to 1.31"]


@each_row(
    ("version", "opset", "answers"),
    [((1, 24), 20, "CM"), ((1, 24), 21, ""), ((1, 32), 17, "C"), ((1, 99), 17, "")],
)
def test_one_that_folds_less_than_others_is_not_asked(
    version: tuple[int, int], opset: int, answers: str
) -> None:
    for op in ("Conv", "MaxPool", "LpPool"):
        assert folds_as_any(version, {op, "LpPool", "Relu"}, opset) == (op[0] in answers + "L")
