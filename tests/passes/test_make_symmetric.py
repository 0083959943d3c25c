"""Pads of a ConvTranspose become equal at both ends, where the user wants that."""

import onnx
import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.support import assert_graph, fixed, one

V = f"float[2, 3, 3, 3] v = {{{', '.join(str(i % 7 - 3) for i in range(54))}}}"


def transposed(
    attributes: str, *, size: str = "4, 5", opset: int = 17, node: str = "y"
) -> onnx.ModelProto:
    return one(
        f"{node} = ConvTranspose <{attributes}> (x, v)",
        inputs=f"float[1, 2, {size}] x",
        initializers=V,
        opset=opset,
    )


def sliced(attributes: str, starts: str, ends: str, axes: str) -> onnx.ModelProto:
    count = axes.count(",") + 1
    bounds = ", ".join(
        f"int64[{count}] {name} = {{{values}}}"
        for name, values in (("s", starts), ("e", ends), ("a", axes))
    )
    return one(
        f"t = ConvTranspose <{attributes}> (x, v) y = Slice (t, s, e, a)",
        inputs="float[1, 2, 4, 5] x",
        initializers=f"{V}, {bounds}",
    )


TWO = "strides = [2, 2]"
ALL = 2**31 - 1
MADE = [
    pytest.param(
        f"pads = [1, 1, 0, 0], {TWO}",
        transposed(f"output_padding = [1, 1], pads = [1, 1, 1, 1], {TWO}"),
        id="more at the begin: output_padding",
    ),
    pytest.param(
        f"pads = [0, 0, 1, 1], {TWO}",
        sliced(f"pads = [0, 0, 0, 0], {TWO}", "0, 0", "-1, -1", "2, 3"),
        id="more at the end: a Slice",
    ),
    pytest.param(
        f"pads = [1, 0, 0, 1], {TWO}",
        sliced(f"output_padding = [1, 0], pads = [1, 0, 1, 0], {TWO}", "0", "-1", "3"),
        id="each axis in its own way",
    ),
    pytest.param(
        f"pads = [2, 1, 0, 1], {TWO}",
        sliced(f"pads = [0, 1, 0, 1], {TWO}", "2", str(ALL), "2"),
        id="by a stride or more: a Slice at the begin",
    ),
    pytest.param(
        f"output_padding = [1, 1], pads = [0, 0, 1, 1], {TWO}",
        transposed(f"pads = [0, 0, 0, 0], {TWO}"),
        id="an output_padding that the end crops",
    ),
]


@pytest.mark.parametrize(("before", "after"), MADE)
def test_makes_them_equal(before: str, after: onnx.ModelProto) -> None:
    result = fixed(transposed(before), symmetric_transpose=True)
    assert_graph(result.model, after)
    assert [change.code for change in result.changes] == ["PAD404"]
    assert_graph(fixed(transposed(before), "symmetric").model, after)


def test_they_stay_where_nobody_asks() -> None:
    model = transposed(f"pads = [1, 0, 0, 1], {TWO}")
    for style in ("fold", "pad"):
        assert not onnxpad.check(model, style=style).findings


def test_a_slice_of_an_old_opset_has_attributes() -> None:
    result = fixed(transposed(f"pads = [0, 0, 1, 0], {TWO}", opset=9), symmetric_transpose=True)
    expected = one(
        f"t = ConvTranspose <pads = [0, 0, 0, 0], {TWO}> (x, v)"
        " y = Slice <axes = [2], ends = [-1], starts = [0]> (t)",
        inputs="float[1, 2, 4, 5] x",
        initializers=V,
        opset=9,
    )
    assert_graph(result.model, expected)


def test_the_operator_keeps_its_name_and_the_slice_has_one_of_its_own() -> None:
    before = transposed(f"pads = [0, 0, 1, 0], {TWO}", node="[up] y")
    nodes = fixed(before, symmetric_transpose=True).model.graph.node
    assert [node.name for node in nodes] == ["up", "up_crop"]


@pytest.mark.parametrize(
    "pads", ["pads = [1, 1, 1, 1]", "pads = [0, 2, 0, 2]", 'auto_pad = "VALID"']
)
def test_equal_ones_stay(pads: str) -> None:
    found = onnxpad.check(transposed(f"{pads}, {TWO}"), symmetric_transpose=True).findings
    assert "PAD404" not in {each.code for each in found}


def test_a_slice_that_may_leave_nothing_is_refused() -> None:
    """A ConvTranspose that gives nothing does not run; a Slice would."""
    model = transposed("pads = [0, 0, 3, 3]", size="1, 1")
    (found,) = onnxpad.check(model, symmetric_transpose=True).findings
    assert (found.code, found.reason_code) == ("PAD404", Reason.MAY_BE_EMPTY)
    assert not found.fixable
