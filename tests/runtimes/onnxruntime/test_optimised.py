"""What onnxruntime's optimiser makes of rewritten models: what it did right, at each level."""

from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.runtimes.onnxruntime import models
from tests.support import BORDER, LEVELS, STYLES, agree, negative, one, parsed, ran

OPTIMISED, APART, TOGETHER, KEPT = map(models.of, ("optimised", "apart", "together", "kept"))


def demand(model: onnx.ModelProto, style: str, *, dynamic: str = "keep") -> onnxpad.FixResult:
    """Where the original is right, what is proved is right too; a second run has nothing to do."""
    result = onnxpad.fix(model, style=style, dynamic=dynamic, validate=False)
    same(model, result.model, negative(model), every_level=False)
    again = onnxpad.fix(result.model, style=style, dynamic=dynamic, validate=False)
    assert not again.changed
    assert not onnxpad.check(result.model, style=style, dynamic=dynamic).failing()
    return result


def same(
    model: onnx.ModelProto, fixed: onnx.ModelProto, feeds: Any, *, every_level: bool = True
) -> None:
    """The fixed model is right at every level, or at those where the original is."""
    expected = ran(model, feeds, LEVELS[0])
    assert not isinstance(expected, str), expected
    for level in LEVELS:
        if every_level or agree(ran(model, feeds, level), expected):
            found = ran(fixed, feeds, level)
            assert agree(found, expected), f"{level}: {found}"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("title", OPTIMISED)
def test_what_was_right_stays_right(title: str, style: str) -> None:
    demand(OPTIMISED[title][0], style)


@pytest.mark.parametrize("title", [*OPTIMISED, *TOGETHER])
def test_no_more_stays_than_has_to(title: str) -> None:
    model, codes = {**OPTIMISED, **TOGETHER}[title]
    assert models.codes(model) == codes


def spread(proto: onnx.ModelProto) -> dict[str, Any]:
    """Data over the whole range of 8 bits, without zeros."""
    (value,) = proto.graph.input
    tensor = value.type.tensor_type
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    low = 1 if kind.kind == "u" else -120
    data = np.random.default_rng(0).integers(low, 120, [d.dim_value for d in tensor.shape.dim])
    if kind == np.int64:
        data = np.sign(data) * (1 + abs(data) % 5)
    return {value.name: np.where(data == 0, 1, data).astype(kind)}


@pytest.mark.parametrize("title", APART)
def test_what_a_pad_keeps_apart_stays_apart(title: str) -> None:
    model, feeds, reasons = APART[title][0], spread(APART[title][0]), set()
    same(model, model, feeds)
    for style in STYLES:
        result = onnxpad.fix(model, style=style, validate=False)
        same(model, result.model, feeds)
        assert not onnxpad.check(result.model, style=style).failing()
        reasons |= {finding.reason_code for finding in result.findings}
    assert Reason.JOINS_NEIGHBOURS in reasons


@pytest.mark.parametrize("title", KEPT)
def test_what_would_crash_or_be_lost_is_kept(title: str) -> None:
    (model, reason), reasons = KEPT[title], set()
    for style in STYLES:
        assert not onnxpad.fix(model, style=style, validate=False).changed
        found = onnxpad.check(model, style=style)
        assert not found.failing()
        reasons |= {finding.reason_code for finding in found.findings}
    assert reason in reasons


POOL = "MaxPool <kernel_shape = [3, 3]>"


def test_further_upstream_than_is_looked() -> None:
    between = " ".join(f"a{n + 1} = Dropout (a{n or ''})" for n in range(600))
    pool = 'MaxPool <auto_pad = "VALID", kernel_shape = [3, 3]>'
    body = f"a = Pad (x, p) {between} q = Identity (a600) y = {pool} (q)"
    demand(one(body, inputs="float[1, 3, 8, 8] x", initializers=BORDER), "fold")


# What is declared


def test_a_wrong_declaration_does_not_reach_a_shape() -> None:
    model = one(
        "i = Identity (x) r = Sub (big, small) a = Pad (i, r) s = Shape (a)"
        " g = Gather <axis = 0> (s, k) f = Cast <to = 1> (g) y = Mul (a, f)",
        inputs="float[1, 1, h, w] x",
        initializers="int64[8] big = {0, 1, 2, 3, 4, 5, 6, 8},"
        " int64[8] small = {0, 1, 2, 3, 4, 5, 6, 7}, int64 k = {3}",
    )
    lie = onnx.helper.make_tensor_value_info("i", onnx.TensorProto.FLOAT, (1, 1, 30, 40))
    model.graph.value_info.append(lie)
    assert demand(model, "fold").changed


@pytest.mark.parametrize(
    ("nodes", "output"), [("t = Relu (x)", "t"), ("u = Relu (x) t = Neg (u)", "u")]
)
def test_a_wrong_output_declares_no_size(nodes: str, output: str) -> None:
    """Of the data themselves, and of what they come from."""
    model = parsed(
        f"g (float[1, 1, h, v] x, float[1, 1, 3, 3] w) => (float[1, 1, 8, 8] {output},"
        f' float[1, 1, a, b] y) {{ {nodes} y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]>'
        " (t, w) }",
        ir=8,
    )
    result = onnxpad.fix(model, dynamic="pad", validate=False)
    assert "wrong-declaration" in {each.evidence.get("no_pad") for each in result.findings}
    same(model, result.model, negative(model, 9))


def test_only_fixing_sizes_lays_nothing_open() -> None:
    model = one(
        "s = Shape (x) g = Gather <axis = 0> (s, i) c = CumSum (g, k) d = Div (c, e)"
        f" q = Concat <axis = 0> (z, d, z, d) a = Pad (x, q) y = {POOL} (a)",
        inputs="float[1, 3, h, v] x",
        initializers="int64[2] i = {2, 3}, int64 k = {0}, int64[2] e = {8, 8}, int64[2] z = {0, 0}",
    )
    result = onnxpad.fix(model, shapes={"x": (1, 3, 8, 8)}, validate=False)
    same(model, result.model, negative(model, 8))


def test_amounts_are_written_where_each_size_has_a_window() -> None:
    model, _ = KEPT["amounts where a pool without windows would crash"]
    sized = onnxpad.fix(model, shapes={"x": (1, 16, 8, 8)})
    assert [change.code for change in sized.changes] == ["PAD205"]


@pytest.mark.parametrize(
    "weight",
    [
        "v = Constant <value = float[4, 1, 1] {1, 2, 3, 4}> () w = Pad (v, p)",
        "q = Constant <value = int64[6] {0, 0, 0, 0, 0, 1}> () w = Pad (u, q)",
        "v = Neg (u) a = Pad (v, p) w = Identity (a)",
    ],
)
@pytest.mark.parametrize("opset", [22, 13])
def test_a_weight_that_is_padded_does_not_lose_its_auto_pad_unguarded(
    weight: str, opset: int
) -> None:
    """onnxruntime folds it as if it were data, before it computes the weight."""
    model = one(
        f'{weight} y = Conv <auto_pad = "SAME_UPPER", group = 2, strides = [2]> (x, w)',
        inputs="float[1, 2, n] x",
        initializers="int64[6] p = {0, 0, 0, 0, 0, 1}, float[4, 1, 1] u = {1, 2, 3, 4}",
        opset=opset,
    )
    for style, dynamic in (("fold", "auto-pad"), ("pad", "keep"), ("symmetric", "keep")):
        result = demand(model, style, dynamic=dynamic)
        assert [change.code for change in result.changes] == ["PAD101"]
