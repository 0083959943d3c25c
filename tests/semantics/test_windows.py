"""Windows by row and engine, drawn, against onnxruntime; what is read of them, and refused."""

from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

from onnxpad.arithmetic.size import evaluate, symbol
from onnxpad.arithmetic.window import window_of
from onnxpad.errors import ModelError
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.semantics.layers import EXCLUDED, LEAST, Fill, Operand
from onnxpad.semantics.rows import Call, Row, UnreadError
from onnxpad.semantics.transposed import spread_of
from onnxpad.semantics.window import (
    TRANSPOSED,
    WINDOWS,
    AutoPad,
    WindowForm,
    divides_by_kernel,
    form_of,
    onnxruntime,
    specification,
)
from tests.semantics.drawn_windows import Drawing, computed
from tests.support import one, ran
from tests.support.rows import each_row, one_in, rows_below

ROWS: Final = {**WINDOWS, **TRANSPOSED}
TABLES: Final = Path(__file__).with_name("rows.txt")
SEEDS: Final = 11


@pytest.mark.parametrize(
    ("key", "seed"), one_in(SEEDS, ((key, seed) for key in ROWS for seed in range(SEEDS)))
)
def test_windows_and_values_are_those_of_onnxruntime(key: tuple[str, str], seed: int) -> None:
    """Where the engine says that onnxruntime does not run a node, that refuses it."""
    drawing, compared = Drawing(ROWS[key], seed), 0
    for _ in range(50):
        drawn = drawing.node()
        try:
            wanted = computed(drawn)
        except UnreadError:  # where less is known than onnxruntime does
            continue
        if key[1].startswith("QLinear") and wanted is not None and not wanted.size:
            continue  # onnxruntime divides by the number of windows, which ends the process
        found = ran(drawn.model, drawn.feeds)
        assert isinstance(found, str) == (wanted is None), (drawn.model, found)
        if wanted is not None and not isinstance(found, str):
            rounding = 1 if key[1] == "QLinearAveragePool" else 0
            np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=rounding)
            compared += 1
    assert compared > 15


ONES: Final = ", ".join(["1"] * 90)
GIVEN: Final = f"""
    float[3, 2, 3, 5] w = {{{ONES}}}, uint8[3, 2, 3, 5] k = {{{ONES}}}, uint8 z = {{7}},
    uint8[1] z1 = {{7}}, uint8[2] z2 = {{7, 7}}, int8 zi = {{7}}, float s = {{1}},
    float[2, 3, 3, 2] t = {{{", ".join(["1"] * 36)}}}, float[3] b = {{2, 2, 2}},
    float[3] biases = {{1, 2, 3}}, float[3] minus = {{-0.0, 0.0, -0.0}},
    float[0] nothing = {{}}, int64[3] whole = {{2, 2, 2}}
"""
INPUTS: Final = (
    "float[1, 2, 9, 8] x, uint8[1, 2, 9, 8] u, float[3, 2, a, 5] open, float[] free, "
    "uint8 zero, float[1, 2, h, 5] wide, float[3] computed"
)


def called(body: str, opset: int = 17, row: Row | None = None) -> Call:
    """The only node of a model in text, as its row reads it."""
    body = body if " = MaxPool" in body else f"y = {body}"
    proto = one(body.replace(" <>", ""), inputs=INPUTS, initializers=GIVEN, opset=opset)
    graph = Graph.from_proto(proto)
    (node,) = graph.nodes
    return Call(graph, Analysis(graph), node, row or ROWS[node.domain or "", node.op])


def form(body: str, opset: int = 17, row: Row | None = None) -> WindowForm:
    return form_of(called(body, opset, row))


def read(body: str, opset: int = 17, row: Row | None = None) -> object:
    """What is read of a node."""
    call = called(body, opset, row)
    return spread_of(call) if call.row.transposed else form_of(call)


@each_row(("body", "opset"), rows_below(TABLES, "malformed, or not specified: the node, its opset"))
def test_what_is_malformed_or_not_specified_is_refused(body: str, opset: str) -> None:
    with pytest.raises((UnreadError, ModelError)):
        read(body, int(opset))


def told(fill: Fill) -> str:
    if isinstance(fill, Operand):
        return f"input {fill.of}"
    named: dict[object, str] = {EXCLUDED: "excluded", LEAST: "least"}
    return named.get(fill, str(fill).removesuffix(".0"))


@each_row(("body", "own"), rows_below(TABLES, "the fill of own padding"))
def test_the_fill_of_own_padding(body: str, own: str) -> None:
    assert told(form(body).own) == own
    assert divides_by_kernel(form(body)) == ("count_include_pad = 1" in body)
    assert not divides_by_kernel(replace(form(body), version=19, ceil=True, counts=False))


@each_row(("placed", "body", "opset", "dtype"), rows_below(TABLES, "where onnxruntime departs"))
def test_where_onnxruntime_departs(placed: str, body: str, opset: str, dtype: str) -> None:
    """Drawn nodes show the same, but seldom: its limits, and what it makes of a negative total."""
    element = int(getattr(onnx.TensorProto, dtype))
    found = onnxruntime(form(body, int(opset)), 0, 7, element)
    told = "none" if found is None else f"{found.begin} {found.windows} {found.runs}"
    assert told == placed


def starts(form: WindowForm, size: int) -> tuple[int, list[int]]:
    """The padding at the begin of axis 0, and where its windows start, one by one."""
    axis, extent = form.axes[0], evaluate(form.axes[0].extent, {})
    if form.is_same:
        found = [*range(0, size, axis.stride)]
        missing = max(found[-1] + extent - size, 0)
        begin = missing // 2 if form.auto_pad == "SAME_UPPER" else missing - missing // 2
        return begin, [start - begin for start in found]
    begin, end = form.pads[0] if form.auto_pad == "NOTSET" else (0, 0)
    found = [*range(-begin, size + end, axis.stride)]
    if form.ceil:  # what the one before does not reach, unless it starts behind the data
        before = extent - axis.stride
        return begin, [each for each in found if each + before < size + end and each < size]
    return begin, [each for each in found if each + extent <= size + end]


def test_the_specification_places_windows_as_counted_one_by_one() -> None:
    conv, pool = form("Conv (x, w)"), form("MaxPool <kernel_shape = [3, 2]> (x)")
    auto_pads: tuple[AutoPad, ...] = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    for auto_pad, row, kernel, stride, dilation in product(
        auto_pads, (conv, pool, replace(pool, ceil=True)), (1, 2, 5), (1, 2, 4), (1, 3)
    ):
        axes = (window_of(kernel, stride, dilation),) * 2
        one = replace(row, axes=axes, auto_pad=auto_pad, pads=((1, 0), (0, 0)))
        placed = specification(one, 0, symbol("n"), None)
        assert placed is not None
        for size in range(1, 14):
            begin, end, windows, runs = (evaluate(each, {"n": size}) for each in placed)
            told, found = starts(one, size)
            windows = max(windows, 0) if row is conv else windows
            assert (begin, windows, runs) == (told, len(found), 1)
            after = evaluate(one.axes[0].extent, {})
            if one.is_same and found[-1] + after >= size:
                assert found[-1] + after == size + end
        empty = specification(one, 0, 0, None)
        assert empty is not None
        assert empty.runs == (row is conv and not one.is_same)
        ours = onnxruntime(one, 0, 0, None)
        assert ours is None or ours.runs == empty.runs


@each_row(("layer", "flags", "attributes", "bias"), rows_below(TABLES, "layers of transposed ones"))
def test_a_transposed_convolution_has_one_layer(
    layer: str, flags: str, attributes: str, bias: str
) -> None:
    found = spread_of(called(f"ConvTranspose <{attributes}> (x, t{bias})"))
    said = [
        " ".join([*("{}+{}".format(*pair) for pair in each.amounts[2:]), told(each.fill)])
        for each in found.layers
    ]
    assert said == [layer] * (layer != "none")
    assert [name for name in ("runs", "disputed") if getattr(found, name)] == flags.split()
