"""Padding that depends on open sizes: exported models and small graphs, at many sizes.

What comes out is held against the original in onnxruntime with optimisation off, from the smallest
size that the original runs at.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.exported.results import original
from tests.support import W, one, op_types, ran, run, session

TIMM = {"timm_same_torchscript": ("height", "width"), "timm_same_dynamo": ("s53", "s0")}
UNET = {"unet_torchscript": ("height", "width"), "unet_dynamo": ("s73", "s6")}

HEIGHTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 33, 64)
WIDTHS = (1, 3, 2, 5, 4, 7, 6, 9, 8, 13, 16, 15, 18, 33, 32, 66)


def agree(before: onnx.ModelProto, after: onnx.ModelProto, shapes: Iterable[Sequence[int]]) -> int:
    """How many shapes the original runs at; there, the result gives the same bits."""
    old, new = session(before), session(after)
    name = old.get_inputs()[0].name
    count = 0
    for seed, shape in enumerate(shapes):
        data = np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)
        expected = ran(old, {name: data})
        if isinstance(expected, str):  # a size that is too small
            continue
        for one_, other in zip(expected, run(new, {name: data}), strict=True):
            np.testing.assert_array_equal(one_, other, f"{shape}")
        count += 1
    return count


def images(channels: int = 3) -> list[tuple[int, ...]]:
    sizes = zip(HEIGHTS, WIDTHS, strict=True)
    return [(1, channels, h, w) for h, w in sizes]


def attribute(model: onnx.ModelProto, name: str) -> list[Any]:
    return [
        onnx.helper.get_attribute_value(each)
        for node in model.graph.node
        for each in node.attribute
        if each.name == name and each.s != b"NOTSET"
    ]


# Exported models


def test_computed_same_becomes_the_attribute() -> None:
    before = original("timm_same_torchscript")
    result = onnxpad.fix(before, dynamic="auto-pad")
    assert not result.undone
    assert Counter(c.code for c in result.changes) == {"PAD501": 3, "PAD201": 1}
    assert {c.certificate.sizes for c in result.changes} == {"every size"}
    assert attribute(result.model, "auto_pad") == [b"SAME_UPPER"] * 3
    assert op_types(result.model).keys().isdisjoint({"Pad", "Shape", "Gather", "Cast", "Ceil"})
    assert agree(before, result.model, images()) == len(HEIGHTS)
    assert not onnxpad.check(result.model, dynamic="auto-pad").failing()


@pytest.mark.parametrize("name", [*TIMM, *UNET])
def test_a_range_leaves_constant_pads_or_none(name: str) -> None:
    before, names = original(name), {**TIMM, **UNET}[name]
    step = 32 if name in TIMM else 4
    result = onnxpad.fix(before, dims=dict.fromkeys(names, f"{step}..128:{step}"))
    assert (result.undone, result.findings) == ((), ())
    assert "Pad" not in op_types(result.model)
    assert not attribute(result.model, "auto_pad")
    ranges = ", ".join(f"{each} {step}..128 in steps of {step}" for each in names)
    sizes = {change.certificate.sizes for change in result.changes}
    assert sizes - {"every size"} == {ranges}
    shapes = [(1, 3, step * h, step * w) for h, w in ((1, 1), (1, 3), (2, 4), (4, 2))]
    assert agree(before, result.model, shapes) == 4
    kept = onnxpad.fix(before, validate=False)
    assert {finding.code for finding in kept.findings} == {"PAD501" if name in TIMM else "PAD205"}
    assert len({finding.node for finding in kept.findings}) == len(kept.findings)  # each once
    asked = "--dynamic pad" if name == "timm_same_dynamo" else ""
    if "dynamo" in name:
        found = onnxpad.fix(before, dynamic="pad", validate=False).findings
        assert {each.asked for each in found} == {asked}


# SAME as a computed Pad


@pytest.mark.parametrize(
    ("operator", "side", "opset"),
    [
        ("Conv <kernel_shape = [5, 5], strides = [4, 3], {}> (x, w)", "UPPER", 11),
        ("MaxPool <kernel_shape = [3, 3], strides = [2, 3], {}> (x)", "LOWER", 18),
    ],
)
def test_dynamic_pad(operator: str, side: str, opset: int) -> None:
    body = "y = " + operator.format(f'auto_pad = "SAME_{side}"')
    weight = f"float[1, 2, 5, 5] w = {{{', '.join(str(i % 7 - 3) for i in range(50))}}}"
    before = one(body, inputs="float[N, 2, H, V] x", initializers=weight, opset=opset)
    result = onnxpad.fix(before, dynamic="pad", validate=False)
    assert [change.code for change in result.changes] == ["PAD101"]
    assert not attribute(result.model, "auto_pad")
    assert agree(before, result.model, images(2)) == len(HEIGHTS)
    assert not onnxpad.fix(result.model, dynamic="pad", validate=False).changed


def test_what_stays_says_which_sizes_it_depends_on() -> None:
    pool = 'y = AveragePool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (x)'
    for opset, code in ((17, Reason.OWN_PADDING_UNCOUNTED), (10, Reason.OPSET_TOO_OLD)):
        model = one(pool, inputs="float[N, 2, 8, V] x", opset=opset)
        (finding,) = onnxpad.fix(model, validate=False).findings
        assert (finding.evidence["axes"], finding.evidence["no_pad"]) == ([3], code)


def test_a_body_that_declares_its_input_wrongly_computes_no_amounts() -> None:
    """onnxruntime folds a Shape to what is declared, and enforces none of that in a body."""
    body = (
        "b (int64 i, bool k, float[1, 2, 9, 5] s) => (bool o, float[] t, float[] c) {"
        " o = Identity (k) t = Identity (s)"
        ' c = Conv <auto_pad = "SAME_UPPER", strides = [1, 2]> (s, w) }'
    )
    loop, held = f"z, y = Loop (m, , x) <body = {body}>", f"{W}, int64 m = {{1}}"
    model = one(loop, inputs="float[1, 2, 9, n] x", initializers=held)
    result = onnxpad.fix(model, dynamic="pad")
    assert not result.changed
    (finding,) = [each for each in result.findings if each.code == "PAD101"]
    assert finding.evidence["no_pad"] == Reason.WRONG_DECLARATION


# Computed pads that are constant in effect, or nearly


def computed(amounts: str, strides: int, kernel: int) -> onnx.ModelProto:
    """Padding at the end by `e`, computed of the sizes `s`, before a Conv."""
    values = ", ".join(str(i % 7 - 3) for i in range(kernel * kernel))
    return one(
        f"s = Shape <start = 2> (x) {amounts} z = Sub (e, e) q = Concat <axis = 0> (none, z, none,"
        f" e) p = Pad (x, q) y = Conv <strides = [{strides}, {strides}]> (p, w)",
        inputs="float[N, 1, H, V] x",
        initializers="int64 two = {2}, int64 four = {4}, int64[2] none = {0, 0},"
        f" float[1, 1, {kernel}, {kernel}] w = {{{values}}}",
    )


TO_FOUR = "n = Neg (s) e = Mod (n, four)"
AT_MOST_TWO = "h = Div (s, two) e = Min (h, two)"


@pytest.mark.parametrize(
    ("amounts", "strides", "kernel", "dims", "after"),
    [
        (TO_FOUR, 4, 4, {}, "Conv H 0+3, W 0+3, pads [0, 0, 3, 3]"),
        (TO_FOUR, 1, 1, {}, ""),
        (AT_MOST_TWO, 1, 3, {}, ""),
        (AT_MOST_TWO, 1, 3, {"H": "3..99", "V": "4..99"}, ""),
        (AT_MOST_TWO, 1, 3, {"H": "4..99", "V": "5..99"}, "Conv H 0+2, W 0+2, pads [0, 0, 2, 2]"),
    ],
)
def test_a_computed_pad_folds_where_what_is_read_is_constant(
    amounts: str, strides: int, kernel: int, dims: Mapping[str, str], after: str
) -> None:
    before = computed(amounts, strides, kernel)
    result = onnxpad.fix(before, dims=dims)
    assert not result.undone
    assert [c.after for c in result.changes] == [after] * bool(after)
    if after:
        given = images(1)[4 * bool(dims) :]
        assert agree(before, result.model, given) == len(given)


def test_amounts_of_the_greatest_of_two_open_sizes_are_not_worked_out() -> None:
    """As images are padded to a square."""
    body = (
        "s = Shape (x) h = Gather (s, two) v = Gather (s, i3) m = Max (h, v) d = Sub (m, h)"
        " b = Div (d, two) e = Sub (d, b) q = Concat <axis = 0> (none, b, zero, none, e, zero)"
        ' a = Pad (x, q) y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'
    )
    given = "int64[1] i3 = {3}, int64[2] none = {0, 0}, int64[1] zero = {0}, int64[1] two = {2}"
    model = one(body, inputs="float[1, 2, H, V] x", initializers=f"{W}, {given}")
    found = {each.code: each.reason_code for each in onnxpad.check(model).findings}
    assert found["PAD205"] == Reason.NOT_WORKED_OUT
