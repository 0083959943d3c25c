"""`onnxpad.explain`: its arguments in any form, and what it returns."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import PADS, W, one
from tests.support.rows import each_row

UP = "float[2, 1, 3, 3] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}"
ODD = "float[1, 2, 10, 10] x"
CEIL = "<kernel_shape = [2, 2], strides = [3, 3], ceil_mode = 1>"


def test_the_answer_is_data() -> None:
    found = onnxpad.explain(op="conv", size=(224, 160), kernel=3, stride=2)
    assert isinstance(found, onnxpad.Explanation)
    answer = found.conventions["tensorflow-same"]
    assert answer is not None
    assert (answer.pads, answer.output) == (((0, 1), (0, 1)), (112, 80))
    assert found.conventions["pytorch-same"] is None
    assert found.refused["pytorch-same"] == "stride 1 only"
    (group,) = [names for names in found.agree if "pytorch-half" in names]
    assert {"caffe", "cudnn", "onnx-same-lower"} <= {*group}


@each_row(
    "size", ["9x8", " 9 x 8 ", (9, 8), [9, 8], ("9", "8"), np.array([9, 8]), (np.int64(9), 8)]
)
def test_numbers_come_in_any_form(size: Any) -> None:
    found = onnxpad.explain(op="maxpool", size=size, kernel=3)
    assert found.size == (9, 8)
    assert [window.kernel for window in found.windows] == [3, 3]


@each_row(
    "arguments",
    [{"size": True}, {"size": ()}, {"size": "٩"}, {"size": "9xa"}, {"op": 3}, {"op": "deconv"},
     {"shapes": {"x": "1,2"}}, {"dims": {"n": 2}}, {"node": "c"}, {"model": b""}],
)  # fmt: skip
def test_bad_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(onnxpad.UsageError):
        onnxpad.explain(**{"op": "conv", "size": 9, "kernel": 3, **arguments})


def test_a_node_reaches_a_size_by_what_its_operator_does_and_axes_not_drawn_are_named() -> None:
    node = one("[c] y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)", initializers=W)
    found = onnxpad.explain(node, node="c", output_size=(6, 5)).reach
    alone = onnxpad.explain(op="conv", size="9x8", kernel=3, stride=2, output_size=(6, 5)).reach
    assert found is not None is not alone
    assert (found.conventions, found.refused) == (alone.conventions, alone.refused)
    body = "[c] y = ConvTranspose <pads = [1, 1, 1, 1], strides = [2, 2], output_padding = [1, 1]>"
    up = onnxpad.explain(one(f"{body} (x, v)", initializers=UP), node="c")
    slid = onnxpad.explain(
        op="convtranspose", size="9x8", kernel=3, stride=2, padding=1, output_padding=1
    )
    assert up.conventions == slid.conventions
    pool = one("[c] y = MaxPool <kernel_shape = [2, 2], strides = [3, 3]> (x)", inputs=ODD)
    reach = onnxpad.explain(pool, node="c", output_size=4).reach
    assert [e.what for e in (reach.changes if reach else ())].count("ceil_mode") == 1
    drawn = onnxpad.explain(op="conv", size="8x7", kernel=3, stride=2)
    assert not drawn.same_as_model
    assert "W: size 7, kernel 3, stride 2, dilation 1 (not drawn" in str(drawn)


def test_a_model_in_any_form(tmp_path: Path) -> None:
    model = one("[c] y = Conv (x, w)", initializers=W)
    onnx.save(model, tmp_path / "model.onnx")
    for given in (model, model.SerializeToString(), tmp_path / "model.onnx"):
        found = onnxpad.explain(given, node="c", padding=2)
        assert (found.op, found.size) == ("conv", (9, 8))
        assert found.about is not None
        assert found.about.node == "c"
        assert found.answer("pytorch-padding").pads == ((2, 2), (2, 2))


def test_a_damaged_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"none")
    with pytest.raises(onnxpad.ModelError, match=r"model\.onnx"):
        onnxpad.explain(tmp_path / "model.onnx", node="c")


@each_row(
    "body",
    [
        '[c] y = Conv <auto_pad = "SAME"> (x, w)',
        "[c] y = Conv (x, v)",
        "[c] y = Pad (x, p)",
        "[c] a = Relu (x) [d] y = Conv (a, w)",
        "[c] a = Conv (x, w) [c] y = Conv (x, w)",
        "[c] y = Relu (x)",
        "y = Relu (x)",
        "[d] y = Conv (x, w)",
        "[c] y = LpPool <kernel_shape = [2, 2]> (x)",
    ],
    at_once=8,
)
def test_nodes_of_which_nothing_can_be_explained(body: str) -> None:
    inputs = "float[1, 2, 9, 8] x, float[1, 2, j, k] v"
    model = one(body, inputs=inputs, initializers=f"{W}, {PADS}")
    with pytest.raises(onnxpad.UsageError):
        onnxpad.explain(model, node="c")


def test_of_nodes_with_one_name_the_one_with_a_window_is_meant() -> None:
    body = "[c] a = Relu (x) [c] b = Conv (a, w) [c] y = Relu (b)"
    found = onnxpad.explain(one(body, initializers=W), node="c")
    assert (found.op, found.size) == ("conv", (9, 8))


def own_of(nodes: str, more: str = "") -> tuple[tuple[int, int], ...] | None:
    """The pads of the node `c` of a model that has an input of 9x8; None where not known."""
    made = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float low = {-inf}, float zero = {0}"
    found = onnxpad.explain(one(nodes, initializers=f"{W}, {made}{more}"), node="c", output_size=3)
    given = found.about
    assert given is not None is not found.reach
    assert str(found)
    assert given.own or not found.same_as_model
    assert not (given.padded and given.ceil_mode and found.reach.changes)
    return None if given.own is None else given.own.pads


def test_a_transposed_convolution_crops_what_a_slice_behind_it_crops() -> None:
    more = ", int64[2] s = {0, 1}, int64[2] e = {-2, 99}, int64[2] a = {2, 3}"
    up = "ConvTranspose <pads = [1, 0, 0, 0]> (x, v)"
    assert own_of(f"[c] t = {up} y = Slice (t, s, e, a)", f"{more}, {UP}") == ((1, 2), (1, 0))
    nodes = f"a = Pad (x, p, zero) [c] y = {up.replace('x', 'a')}"
    assert own_of(nodes, f", {UP}") == ((1, 0), (0, 0))  # a Pad in front is no crop


@each_row(
    ("nodes", "pads"),
    [
        ("a = Pad (x, p, zero) [c] y = Conv (a, w)", ((1, 1), (1, 1))),
        ("b = Pad (x, p, zero) a = Pad (b, p, zero) [c] y = Conv <strides = [4, 4]> (a, w)", None),
        ("r = Relu (x) a = Pad (r, p, zero) [c] y = MaxPool <kernel_shape = [3, 3]> (a)",
         ((1, 1), (1, 1))),
        (f"a = Pad (x, p, low) [c] y = MaxPool {CEIL} (a)", ((1, 1), (1, 1))),
        ("b = Pad (x, p, zero) a = Pad (b, p, low) [c] y = MaxPool <kernel_shape = [3, 3]> (a)",
         None),
    ],
)  # fmt: skip
def test_a_pad_in_front_counts_if_it_is_the_only_one_and_pads_as_the_node_does(
    nodes: str, pads: tuple[tuple[int, int], ...] | None
) -> None:
    assert own_of(nodes) == pads
