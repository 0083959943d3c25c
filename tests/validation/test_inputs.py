"""Inputs drawn: accepted by the graph, of the right types, and the same again for a seed."""

from contextlib import suppress

import numpy as np
import onnx
import pytest

from onnxpad.arithmetic.size import Sizes
from onnxpad.runtimes.sessions import CPU, Array, open_session
from onnxpad.validation.draw import (
    UndrawableError,
    draw,
    other_choices,
    outline,
    pinned,
    size_choices,
)
from onnxpad.validation.lab import Lab
from tests.support import parsed
from tests.support.rows import each_row


def first(model: onnx.ModelProto, seed: int = 0) -> dict[str, Array]:
    inputs = outline(model).inputs
    return dict(draw(inputs, next(size_choices(inputs)), seed).feeds)


FED = ["float", "float16", "double", "bool", "string"]
FED += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
UNFED = ["bfloat16", "float8e4m3fn", "int4", "complex64"]  # no word for them in onnxruntime's API


@each_row("elem", FED + UNFED)
@pytest.mark.parametrize("shape", ["[2,3]", ""])
def test_every_type(elem: str, shape: str) -> None:
    model = parsed(f"g ({elem}{shape} x) => ({elem}{shape} y) {{ y = Identity (x) }}", opset=21)
    elem_type = model.graph.input[0].type.tensor_type.elem_type
    data = first(model)["x"]
    assert data.shape == ((2, 3) if shape == "[2,3]" else ())
    assert data.dtype == onnx.helper.tensor_dtype_to_np_dtype(elem_type)
    assert np.array_equal(data, first(model)["x"])


@each_row("elem", FED, at_once=8)
def test_onnxruntime_takes_scalars_and_tensors(elem: str) -> None:
    model = parsed(
        f"g ({elem}[2,3] x, {elem} s) => ({elem}[2,3] y, {elem} t) "
        "{ y = Identity (x) t = Identity (s) }",
        opset=21,
    )
    feeds = first(model)
    with open_session(model) as session:
        outputs = session.run(feeds)
    assert np.array_equal(outputs["y"], feeds["x"])  # type: ignore[arg-type]
    assert np.array_equal(outputs["t"], feeds["s"])  # type: ignore[arg-type]


def test_floats_have_both_signs_and_seeds_differ() -> None:
    model = parsed("g (float[9,9] x, float[9,9] y) => (float[9,9] z) { z = Add (x, y) }", opset=21)
    feeds = first(model)
    assert feeds["x"].min() < 0 < feeds["x"].max()
    assert not np.array_equal(feeds["x"], feeds["y"])
    assert not np.array_equal(feeds["x"], first(model, seed=1)["x"])


def test_integers_of_unknown_use_are_small_and_bytes_are_whole() -> None:
    model = parsed(
        "g (int64[500] m, uint8[5000] u, int8[5000] s) => (int64[500] a, uint8[5000] b, "
        "int8[5000] c) { a = Abs (m) b = Identity (u) c = Identity (s) }",
        opset=21,
    )
    feeds = first(model)
    assert set(feeds["m"]) == {0, 1}
    assert (feeds["u"].min(), feeds["u"].max()) == (0, 255)
    assert (feeds["s"].min(), feeds["s"].max()) == (-128, 127)


def test_open_sizes_are_shared_by_name_and_tried_in_turn() -> None:
    model = parsed(
        "g (float[batch,3,H,W] x, float[batch,3,H,W] z, float[?,?] u) => (float[batch,3,H,W] y) "
        "{ y = Add (x, z) }",
        opset=21,
    )
    inputs = outline(model).inputs
    choices = list(size_choices(inputs))
    assert len({tuple(choice.items()) for choice in choices}) == len(choices)
    parities = set()
    for choice in choices:
        feeds = draw(inputs, choice, 0).feeds
        assert feeds["x"].shape == feeds["z"].shape
        assert feeds["x"].shape[1] == 3
        assert max(each.size for each in feeds.values()) <= 1 << 23
        parities.add(tuple(size % 2 for size in feeds["x"].shape[2:]))
    assert draw(inputs, choices[0], 0).feeds["x"].shape[0] == 1
    assert len(parities) >= 3
    assert any(choice["H"] % 32 == choice["W"] % 32 == 0 for choice in choices)


def test_a_long_signal_is_tried_and_a_huge_image_is_not() -> None:
    text = "g (float[{0}] x) => (float[{0}] y) {{ y = Relu (x) }}"
    signal, image = (
        outline(parsed(text.format(shape), opset=21)).inputs for shape in ("N,T", "N,3,H,W")
    )
    assert max(choice["T"] for choice in size_choices(signal)) >= 10_000
    assert max(choice["H"] for choice in size_choices(image)) <= 1_024


def test_an_input_of_unknown_rank_has_one_axis() -> None:
    model = parsed("g (float[] x) => (float[] y) { y = Relu (x) }", opset=21)
    assert outline(model).inputs[0].shape == ("x[0]",)


def test_a_sequence_that_is_declared_inside_is_no_input() -> None:
    model = parsed(
        "g (float[2] x) => (float[2] y) { s = SequenceConstruct (x) "
        "i = Constant <value_int = 0> () y = SequenceAt (s, i) }"
    )
    kind = onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(1, [2]))
    model.graph.value_info.append(onnx.helper.make_value_info("s", kind))
    assert [value.shape for value in outline(model).inputs] == [(2,)]


def test_functions_that_call_each_other_are_not_written_out() -> None:
    """2^40 calls, and one that calls itself."""
    nested = "g (float[N,C,L] x) => (float[?,?,?] y) { y = f.F0 (x) }"
    for level in range(40):
        nested += f' <domain: "f", opset_import: ["" : 21, "f" : 1]> F{level} (x) => (y) '
        nested += f"{{ a = f.F{level + 1} (x) y = f.F{level + 1} (a) }}"
    for last in ("y = Neg (x)", "y = f.F40 (x)"):
        function = f' <domain: "f", opset_import: ["" : 21, "f" : 1]> F40 (x) => (y) {{ {last} }}'
        model = parsed(nested + function, opset=21)
        with suppress(UndrawableError):  # of too many nodes
            assert outline(model).inputs[0].shape == ("N", "C", "L")


def test_the_other_sizes_differ_in_batch_and_parity() -> None:
    def others(**sizes: Sizes) -> list[tuple[int, ...]]:
        inputs = pinned(outline(model).inputs, {}, sizes)
        start = next(size_choices(inputs))
        return [
            draw(inputs, sizes, 0).feeds["x"].shape
            for sizes in (start, *other_choices(inputs, start))
        ]

    model = parsed("g (float[N,3,H,W] x) => (float[N,3,H,W] y) { y = Relu (x) }", opset=21)
    moved = [(2, 3, 61 + step, 65 + step) for step in (2, 4, 8, 16, 32)]
    ends = [(1, 3, 60, 64), *moved, (2, 3, 61, 65)]
    assert others() == [(1, 3, 61, 65), (2, 3, 60, 64), *ends]
    steps = {"H": Sizes(32, 320, 32), "W": Sizes(5, 9)}
    assert others(**steps) == [(1, 3, 32, 5), (2, 3, 64, 6), (1, 3, 64, 6), (2, 3, 32, 5)]
    assert others(N=Sizes(1, 1), H=Sizes(7, 7), W=Sizes(9, 9)) == [(1, 3, 7, 9)]
    model = parsed("g (float[1,3,4,4] x) => (float[1,3,4,4] y) { y = Relu (x) }", opset=21)
    assert others() == [(1, 3, 4, 4)]


@pytest.mark.parametrize("least", [2, 4, 32])
def test_multiples_are_drawn_of_both_parities(least: int) -> None:
    """Sizes between them only the graph excludes."""
    model = parsed(
        "g (float[N,3,H,W] x) => (float[N,C,P,Q] y) "
        f"{{ y = SpaceToDepth <blocksize = {least}> (x) }}",
        opset=21,
    )
    lab = Lab({"original": model}, outline(model), None)
    lab.prepare((CPU,), 1, 0)
    shapes = [draw.feeds["x"].shape for draw in lab.draws if not draw.again]
    assert [shape[0] for shape in shapes] == [1, 2]
    assert [[shape[axis] // least % 2 for axis in (2, 3)] for shape in shapes] == [[0, 0], [1, 1]]


def test_sizes_fixed_in_the_rewritten_model_are_used() -> None:
    text = "g (float[{0}] x, float[N,H] z) => (float[{0}] y) {{ y = Add (x, z) }}"
    model = parsed(text.format("N,H"), opset=21)
    inputs = pinned(outline(model).inputs, {"x": (5, 7)})
    assert [each.shape for each in inputs] == [(5, 7), (5, 7)]
    assert list(size_choices(inputs)) == [{}]


def test_axes_of_one_name_may_be_fixed_apart() -> None:
    text = "g (float[{0}] x, float[{1}] z) => (float[1] y) {{ y = Relu (x) }}"
    inputs = pinned(
        outline(parsed(text.format("N,H", "N,H"), opset=21)).inputs, {"x": (5, "H"), "z": (7, 4)}
    )
    assert [each.shape for each in inputs] == [(5, 4), (7, 4)]


def test_sizes_that_are_given_take_the_place_of_what_is_known() -> None:
    text = "g (float[N, H, W] x, float z) => (float y) { y = Relu (x) }"
    inputs = outline(parsed(text, opset=21)).inputs
    shapes = {"x": (None, 5, "W"), "z": (2, None)}
    assert [each.shape for each in pinned(inputs, shapes)] == [("N", 5, "W"), (2, "z[1]")]


def test_sizes_keep_to_what_they_are_limited_to() -> None:
    model = parsed("g (float[N,H,W] x) => (float[N,H,W] y) { y = Relu (x) }", opset=21)
    limits = {"H": Sizes(96, 1024, 32), "W": Sizes(5, 7)}
    inputs = pinned(outline(model).inputs, {}, limits)
    choices = list(size_choices(inputs))
    drawn = [draw(inputs, choice, 0).feeds["x"].shape for choice in choices]
    assert drawn[:3] == [(1, 96, 5), (1, 1024, 7), (1, 576, 6)]
    assert all(h in limits["H"] and w in limits["W"] for _, h, w in drawn)


def test_a_range_of_huge_sizes_is_tried_at_its_first() -> None:
    model = parsed("g (float[1,3,H,W] x) => (float[1,3,H,W] y) { y = Relu (x) }", opset=21)
    inputs = pinned(outline(model).inputs, {}, {"H": Sizes(3000, 3999), "W": Sizes(3000, 3999)})
    assert list(size_choices(inputs)) == [{"H": 3000, "W": 3000}]


@pytest.mark.parametrize("ir", [3, 9])
def test_initializers_that_are_inputs_keep_their_value(ir: int) -> None:
    model = parsed("g (float[2] x, float[2] w) => (float[2] y) { y = Add (x, w) }", opset=21, ir=ir)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, np.float32), "w"))
    assert list(first(model)) == ["x"]


def test_labels_name_what_was_fed() -> None:
    model = parsed("g (float[1,3,4,4] x, int64 n) => (float[1,3,4,4] y) { y = Relu (x) }", opset=21)
    assert draw(outline(model).inputs, {}, 7).label == "x float32 1x3x4x4, n int64 scalar, seed 7"


def test_sequences_are_not_drawn() -> None:
    model = parsed("g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity (x) }", opset=21)
    with pytest.raises(UndrawableError, match="'x' is no tensor"):
        outline(model)


def test_nodes_inside_branches_are_counted() -> None:
    model = parsed(
        "g (bool c) => (float[1] y) <float[1] d = {1}> { y = If (c) "
        "<then_branch = t () => (float[1] u) { u = Neg (d) }, "
        "else_branch = f () => (float[1] v) { w = Neg (d) v = Neg (w) }> }",
        opset=21,
    )
    assert (outline(model).nodes, outline(model).quantised) == (4, False)
