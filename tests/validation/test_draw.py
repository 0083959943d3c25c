"""What is drawn for inputs is taken by onnxruntime, at sizes that the graph and others allow."""

import numpy as np
import onnx
import pytest

from onnxpad.runtimes.sessions import CPU, open_session
from onnxpad.validation.draw import (
    Input,
    UndrawableError,
    draw,
    inlined,
    outline,
    pinned,
    size_choices,
)
from onnxpad.validation.lab import Lab
from tests.support import parsed
from tests.support.rows import each_row

FED = ["float", "float16", "double", "bool", "string"]
FED += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@each_row("elem", FED, at_once=16)
def test_onnxruntime_takes_scalars_and_tensors(elem: str) -> None:
    model = parsed(
        f"g ({elem}[2,3] x, {elem} s) => ({elem}[2,3] y, {elem} t) "
        "{ y = Identity (x) t = Identity (s) }",
        opset=21,
    )
    feeds = draw(outline(model).inputs, {}, 0).feeds
    with open_session(model) as session:
        outputs = session.run(feeds)
    assert np.array_equal(np.asarray(outputs["y"]), feeds["x"])
    assert np.array_equal(np.asarray(outputs["t"]), feeds["s"])


def test_inputs_and_seeds_differ_and_labels_name_what_was_fed() -> None:
    model = parsed("g (float[9,9] x, float[9,9] z) => (float[9,9] y) { y = Add (x, z) }")
    one, other = (draw(outline(model).inputs, {}, seed) for seed in (0, 1))
    assert not np.array_equal(one.feeds["x"], one.feeds["z"])
    assert not np.array_equal(one.feeds["x"], other.feeds["x"])
    assert other.label == "x float32 9x9, z float32 9x9, seed 1"
    with pytest.raises(UndrawableError):
        draw([Input("x", 1, ((1 << 28) + 1,))], {}, 0)


@pytest.mark.parametrize("least", [2, 4, 32])
def test_multiples_are_drawn_of_both_parities(least: int) -> None:
    """Sizes between them only the graph excludes."""
    nodes = f"y = SpaceToDepth <blocksize = {least}> (x)"
    model = parsed(f"g (float[N,3,H,W] x) => (float[N,C,P,Q] y) {{ {nodes} }}", opset=21)
    lab = Lab({"original": model}, outline(model), None)
    lab.prepare((CPU,), 1, 0)
    shapes = [draw.feeds["x"].shape for draw in lab.draws if not draw.again]
    assert [shape[0] for shape in shapes] == [1, 2]
    assert [[shape[axis] // least % 2 for axis in (2, 3)] for shape in shapes] == [[0, 0], [1, 1]]


@each_row(
    ("inputs", "shapes", "pinned_to"),
    [
        ("float[N,H] x, float[N,H] z", {"x": (5, 7)}, [(5, 7), (5, 7)]),
        ("float[N,H] x, float[N,H] z", {"x": (5, "H"), "z": (7, 4)}, [(5, 4), (7, 4)]),
        ("float[N,H,W] x, float z", {"x": (None, 5, "W"), "z": (2, None)},
         [("N", 5, "W"), (2, "z[1]")]),
        ("float[N,3] x", {"x": ("N", 4, None), "y": (1,)}, [("x[0]", 4, "x[2]")]),
    ],
)  # fmt: skip
def test_sizes_that_are_given(
    inputs: str, shapes: dict[str, tuple[int | str | None, ...]], pinned_to: object
) -> None:
    model = parsed(f"g ({inputs}) => (float[1] y) {{ y = Relu (x) }}")
    found = pinned(outline(model).inputs, shapes)
    assert [each.shape for each in found] == pinned_to


@pytest.mark.parametrize("ir", [3, 9])
def test_initializers_that_are_inputs_keep_their_value(ir: int) -> None:
    model = parsed("g (float[2] x, float[2] w) => (float[2] y) { y = Add (x, w) }", ir=ir)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, np.float32), "w"))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1  # as exporters have it
    assert [(each.name, each.shape) for each in outline(model).inputs] == [("x", ("x[0]",))]


def calls(depth: int, last: str) -> onnx.ModelProto:
    """Functions of which each calls the next one twice."""
    text = "g (float[N,C] x) => (float[N,C] y) { y = f.F0 (x) }"
    for level in range(depth - 1):
        call = f"a = f.F{level + 1} (x) y = f.F{level + 1} (a)"
        text += f' <domain: "f", opset_import: ["" : 21, "f" : 1]> F{level} (x) => (y) '
        text += f"{{ {call if level < depth - 2 else last} }}"
    return parsed(text, opset=21)


def test_functions_are_written_out_up_to_a_number_of_nodes() -> None:
    """2^13 nodes are fewer than 10,000."""
    for depth, whole in ((15, True), (16, False)):
        model = calls(depth, "y = Neg (x)")
        assert (inlined(model) is not model) == whole == (2 ** (depth - 2) <= 10_000)
    circle = calls(3, "y = f.F1 (x)")
    assert inlined(circle) is circle
    with pytest.raises(UndrawableError):  # 2^40 are too many
        outline(calls(42, "y = Neg (x)"))
    assert outline(calls(42, "y = f.F40 (x)")).inputs[0].shape == ("N", "C")  # it calls itself


def test_other_data_have_the_same_sizes_and_are_negative() -> None:
    inputs = (Input("x", 1, (2, "H")), Input("i", 7, (4,)), Input("e", 1, (0,)))
    sizes = next(size_choices(inputs))
    before, after = draw(inputs, sizes, 1), draw(inputs, sizes, 1, again=True)
    assert (before.again, after.again) == (False, True)
    assert [e.shape for e in after.feeds.values()] == [e.shape for e in before.feeds.values()]
    assert (after.feeds["x"] < 0).all()
    assert after.feeds["i"].min() >= 0
