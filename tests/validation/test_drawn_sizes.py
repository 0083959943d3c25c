"""Sizes and data drawn for inputs, each helper on its own, and what readers imply of an input."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import onnxpad
from onnxpad.arithmetic.size import Sizes
from onnxpad.validation.draw import (
    _MOST_ELEMENTS,
    Draw,
    Input,
    UndrawableError,
    _data,
    _is_batch,
    _nearest,
    draw,
    inlined,
    outline,
    pinned,
    size_choices,
)
from tests.support import parsed
from tests.support.rows import each_row

FLOAT = TensorProto.FLOAT


def image(*shape: int | str, **sizes: Sizes) -> Input:
    return Input("x", FLOAT, shape, sizes=sizes)


def test_the_sizes_that_are_guessed_in_order() -> None:
    choices = [*size_choices([image("N", 3, "H", "W")])]
    assert [(each["N"], each["H"], each["W"]) for each in choices] == [
        (1, 61, 65), (1, 64, 64), (1, 224, 224), (1, 33, 32), (1, 32, 32), (2, 96, 96),
        (1, 256, 256), (1, 8, 8), (1, 512, 512), (32, 32, 32), (1, 1, 1),
    ]  # fmt: skip
    signal = [each["T"] for each in size_choices([image(1, 3, "T")])]
    assert signal == [61, 64, 224, 33, 32, 96, 256, 8, 512, 16000, 1]
    assert [*size_choices([image(2, 3)])] == [{}]
    assert [*size_choices([image(_MOST_ELEMENTS + 1)])] == [{}]  # nothing is open


@pytest.mark.parametrize(("channels", "allowed"), [(_MOST_ELEMENTS // 64, True), (1 << 18, False)])
def test_guessed_sizes_end_at_a_number_of_elements(channels: int, allowed: bool) -> None:
    choices = [*size_choices([image(1, channels, "H", 1)])]
    assert ({"H": 64} in choices) == allowed
    assert {"H": 32} in choices


@pytest.mark.parametrize("stride", [2, 3, 4, 5, 6])
def test_padding_that_few_sizes_need_is_drawn(stride: int) -> None:
    """A small SAME window that steps far pads nothing but at sizes 1 above a multiple."""

    def steps(how: str) -> Any:
        return parsed(f"""g (float[1, 1, L] x) => (float[] y) <float[1, 1, 2] w = {{1, 2}}> {{
            y = Conv <strides = [{stride}], kernel_shape = [2], auto_pad = "{how}"> (x, w) }}""")

    assert onnxpad.validate(steps("SAME_UPPER"), steps("VALID")).outcome == "failed"


def test_limited_sizes_come_first_last_and_from_the_middle() -> None:
    def sizes(limit: Sizes) -> list[int]:
        return [each["H"] for each in size_choices([image(1, "H", H=limit)])]

    # of axis 1: 65, 64, 224, 32, 96 ... are guessed, and the nearest admitted taken
    assert sizes(Sizes(10, 20))[:3] == [10, 20, 15]
    assert sizes(Sizes(10, 13))[:3] == [10, 13, 12]
    assert sizes(Sizes(7, 7)) == [7]
    assert sizes(Sizes(40, (1 << 20) - 1))[:3] == [40, (1 << 20) - 1, (1 << 19) + 20]
    assert sizes(Sizes(40, 1 << 20))[:3] == [65, 64, 224]


@pytest.mark.parametrize("step", [1, 2, 3])
def test_admitted_sizes_by_place_and_by_nearness(step: int) -> None:
    for first in (1, 2, 5):
        for count in range(1, 8):
            limit = Sizes(first, first + step * (count - 1), step)
            listed = range(first, first + step * count, step)
            for size in range(1, listed[-1] + 4):
                near = _nearest(limit, size)
                assert near in listed
                assert abs(near - size) == min(abs(each - size) for each in listed)


@each_row(
    ("dim", "axis", "rank", "batch"),
    [
        ("n", 0, 2, True),
        ("n", 0, 1, False),
        ("n", 1, 2, False),
        ("my_batch", 3, 4, True),
        ("batch", 0, 1, True),
        *(
            (f"x_{word}", 0, 2, False)
            for word in ("height", "width", "len", "seq", "time", "frame")
        ),
    ],
)
def test_which_open_axis_is_the_batch(dim: str, axis: int, rank: int, batch: bool) -> None:
    assert _is_batch(dim, axis, rank) == batch


def of(kind: str, count: int = 4000) -> Any:
    elem = TensorProto.DataType.Value(kind)
    return _data(Input("x", elem, (count,)), (count,), np.random.default_rng(0))


def test_data_of_every_type() -> None:
    ranges = {"INT8": (-128, 127), "UINT8": (0, 255), "INT32": (0, 1), "UINT64": (0, 1)}
    for kind, ends in ranges.items():
        assert (of(kind).min(), of(kind).max()) == ends
        assert of(kind).dtype == np.dtype(kind.lower())
    assert set(of("BOOL")) == {False, True}
    assert set(of("STRING")) == {*"0123456789"}
    for kind in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"):
        data = of(kind)
        assert data.dtype == helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
        assert abs(float(data.astype(np.float64).std()) - 1) < 0.05
        assert np.array_equal(data, of("FLOAT").astype(data.dtype))
    assert of("COMPLEX64").dtype == np.complex64
    assert abs(of("COMPLEX64").imag.std() - 1) < 0.05


def test_other_data_has_the_same_sizes() -> None:
    inputs = (image(2, "H"), Input("i", TensorProto.INT64, (4,)), Input("e", FLOAT, (0,)))
    before = draw(inputs, {"H": 5}, 1)
    after = draw(inputs, {"H": 5}, 1, again=True)
    assert after.again
    assert [e.shape for e in after.feeds.values()] == [e.shape for e in before.feeds.values()]
    assert not before.again
    assert (after.feeds["x"] < 0).all()
    assert after.feeds["i"].min() >= 0


def test_an_input_of_too_many_elements_is_not_drawn() -> None:
    with pytest.raises(UndrawableError):
        draw([image((1 << 28) + 1)], {}, 0)


def test_sizes_given_for_another_rank() -> None:
    (found,) = pinned([image("N", 3)], {"x": ("N", 4, None), "y": (1,)})
    assert found.shape == ("x[0]", 4, "x[2]")


BODIES = """
g (float[2,3,4] x, float[5,2,3] s, bool c) => (float[?] y) {
  t = Transpose <perm = [2, 0, 1]> (x)
  r = Transpose (x)
  k = Relu (x)
  v, u = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float p, float q)
    { p = Add (a, e) q = Abs (e) }> (x, s)
  y = If (c) <then_branch = n () => (float o) { o = Neg (x) },
    else_branch = m () => (float o) { d = Neg (x) o = Neg (d) }>
}
"""


def test_the_outline_of_a_model() -> None:
    text = "g (float[1,2] x) => (float[1,2] y) {{ a = Relu (x) y = {} (a) }}"
    found = outline(parsed(text.format("Neg"), opset=21))
    assert (found.nodes, found.quantised, found.random) == (2, False, False)
    assert found.inner == {"a", "y"}
    (output,) = found.outputs
    assert (output.name, output.elem_type, output.shape) == ("y", FLOAT, (1, 2))
    assert outline(parsed(text.format("RandomNormalLike"), opset=21)).random
    quantised = "g (float[2] x) => (uint8[2] y) { y, s, z = DynamicQuantizeLinear (x) }"
    assert outline(parsed(quantised, opset=21)).quantised


@pytest.mark.parametrize(("depth", "whole"), [(15, True), (16, False)])
def test_functions_are_written_out_up_to_a_number_of_nodes(depth: int, whole: bool) -> None:
    """Each calls the next one twice: 2^13 nodes are fewer than 10,000."""
    functions = [
        helper.make_function(
            "f", f"f{each}", ["x"], ["y"],
            [
                helper.make_node(f"f{each + 1}", ["x"], ["a"], domain="f"),
                helper.make_node(f"f{each + 1}", ["a"], ["y"], domain="f"),
            ] if each < depth - 2 else [helper.make_node("Neg", ["x"], ["y"])],
            [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)],
        )
        for each in range(depth - 1)
    ]  # fmt: skip
    assert whole == (2 ** (depth - 2) <= 10_000)
    model = parsed("g (float[1] x) => (float[1] y) { y = Neg (x) }", opset=21)
    model.opset_import.append(helper.make_opsetid("f", 1))
    model.graph.node[0].CopyFrom(helper.make_node("f0", ["x"], ["y"], domain="f"))
    model.functions.extend(functions)
    assert (inlined(model) is not model) == whole


def test_a_draw_is_equal_to_nothing_else() -> None:
    assert Draw({}, "x") != Draw({}, "x")
