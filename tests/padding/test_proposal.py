"""The fill that an operator's own padding stands for, where that is the data's zero point."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxpad
from onnxpad.reasons import Reason
from tests.support import feeds_of, fixed, one, run
from tests.support.rows import each_row

U8 = "uint8[1, 2, 7, 6] x"
I8 = "int8[1, 2, 7, 6] x"
AMOUNTS = "int64[8] p = {0, 0, 1, 2, 0, 0, 0, 1}"
SCALES = "float s = {0.5}, float t = {16}"


def weight(kind: str) -> str:
    """A weight of small integers that no swap leaves as it is."""
    least = 0 if kind == "uint8" else -3
    values = ", ".join(str(i * 5 % 7 + least) for i in range(36))
    return f"{kind}[3, 2, 3, 2] w = {{{values}}}"


def integer(
    zero: str, value: str, inputs: str = U8, more: str = "", **kind: int
) -> onnx.ModelProto:
    """A `Pad` before a ConvInteger with the zero point `z`; `zero` and `value` are initializers."""
    given = inputs.split("[")[0]
    held = [AMOUNTS, weight(given), *filter(None, (zero, value, more))]
    fill, point = (", c" if value else ""), (", z" if zero else "")
    return one(
        f"a = Pad (x, p{fill}) y = ConvInteger (a, w{point})",
        inputs=inputs,
        outputs="int32[] y",
        initializers=", ".join(held),
        **kind,
    )


def codes(model: onnx.ModelProto) -> list[str]:
    """The reasons for what stays."""
    return [finding.reason_code for finding in onnxpad.check(model, ignore="PAD6").findings]


FOLDS = [
    pytest.param("uint8 z = {4}", "uint8 c = {4}", U8, id="a scalar"),
    pytest.param("uint8[1] z = {4}", "uint8 c = {4}", U8, id="one element"),
    pytest.param("uint8 z = {4}", "uint8[1] c = {4}", U8, id="a fill of one element"),
    pytest.param("uint8 z = {255}", "uint8 c = {255}", U8, id="the greatest"),
    pytest.param("uint8 z = {0}", "", U8, id="zero, and no fill"),
    pytest.param("", "", U8, id="neither"),
    pytest.param("", "uint8 c = {0}", U8, id="no zero point"),
    pytest.param("int8 z = {-128}", "int8 c = {-128}", I8, id="the least of int8"),
    pytest.param("int8 z = {-3}", "int8 c = {-3}", I8, id="below zero"),
]


@each_row(("zero", "value", "inputs"), FOLDS, at_once=4)
def test_a_pad_of_the_zero_point_folds(zero: str, value: str, inputs: str) -> None:
    result = fixed(integer(zero, value, inputs))
    assert [node.op_type for node in result.model.graph.node] == ["ConvInteger"]
    assert not result.changes[0].certificate.assumptions


STAYS = [
    pytest.param("uint8 z = {4}", "uint8 c = {3}", U8, Reason.FILL_DIFFERS, id="one off"),
    pytest.param("uint8 z = {4}", "", U8, Reason.FILL_DIFFERS, id="an omitted fill is 0"),
    pytest.param("", "uint8 c = {4}", U8, Reason.FILL_DIFFERS, id="an omitted zero point is 0"),
    pytest.param("int8 z = {-128}", "int8 c = {-127}", I8, Reason.FILL_DIFFERS, id="int8, one off"),
    pytest.param("int8 z = {-128}", "", I8, Reason.FILL_DIFFERS, id="int8, no fill"),
    pytest.param(
        "uint8[2] z = {4, 4}", "uint8 c = {4}", U8, Reason.ZERO_POINT_UNKNOWN, id="per channel"
    ),
    pytest.param(
        "uint8[1, 1] z = {4}", "uint8 c = {4}", U8, Reason.ZERO_POINT_UNKNOWN, id="a matrix"
    ),
]


@each_row(("zero", "value", "inputs", "reason"), STAYS, at_once=8)
def test_another_pad_stays(zero: str, value: str, inputs: str, reason: Reason) -> None:
    model = integer(zero, value, inputs)
    assert codes(model) == [reason]
    assert not onnxpad.fix(model).changes


def test_a_zero_point_that_a_caller_may_override_is_unknown() -> None:
    model = integer("uint8 z = {4}", "uint8 c = {4}")
    declared = onnx.helper.make_tensor_value_info("z", onnx.TensorProto.UINT8, [])
    model.graph.input.append(declared)
    assert codes(model) == [Reason.ZERO_POINT_UNKNOWN]
    model.ir_version = 3  # there it is a constant, and so must all initializers be inputs
    for name in ("p", "c", "w"):
        (held,) = [each for each in model.graph.initializer if each.name == name]
        model.graph.input.append(
            onnx.helper.make_tensor_value_info(name, held.data_type, list(held.dims))
        )
    assert [change.code for change in onnxpad.fix(model).changes] == ["PAD201"]


def test_a_zero_point_of_run_time_is_unknown() -> None:
    model = one(
        "a = Pad (x, p, z) y = ConvInteger (a, w, z)",
        inputs=f"{U8}, uint8 z",
        outputs="int32[] y",
        initializers=f"{AMOUNTS}, {weight('uint8')}",
    )
    assert codes(model) == [Reason.FILL_UNKNOWN]
    given = one(
        "a = Pad (x, p, c) y = ConvInteger (a, w, z)",
        inputs=f"{U8}, uint8 z",
        outputs="int32[] y",
        initializers=f"{AMOUNTS}, {weight('uint8')}, uint8 c = {{4}}",
    )
    (finding,) = onnxpad.check(given, ignore="PAD6").findings
    assert finding.reason_code == Reason.ZERO_POINT_UNKNOWN
    assert finding.evidence["tensor"] == "z"


def test_a_computed_constant_is_known() -> None:
    model = one(
        "z = Cast <to = 2> (f) a = Pad (x, p, c) y = ConvInteger (a, w, z)",
        inputs=U8,
        outputs="int32[] y",
        initializers=f"{AMOUNTS}, {weight('uint8')}, uint8 c = {{4}}, float f = {{4.5}}",
    )
    assert [node.op_type for node in fixed(model).model.graph.node] == ["Cast", "ConvInteger"]


def test_an_empty_name_is_no_zero_point() -> None:
    model = one(
        'a = Pad (x, p) y = ConvInteger (a, w, "", v)',
        inputs=U8,
        outputs="int32[] y",
        initializers=f"{AMOUNTS}, {weight('uint8')}, uint8 v = {{2}}",
    )
    assert [change.code for change in fixed(model).changes] == ["PAD201"]


def test_same_needs_no_known_zero_point() -> None:
    """The padding stays that of the operator, whatever its value."""
    model = one(
        'y = ConvInteger <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w, z)',
        inputs=f"{U8}, uint8 z",
        outputs="int32[] y",
        initializers=weight("uint8"),
    )
    result = fixed(model)
    (change,) = result.changes
    assert change.code == "PAD101"
    assert change.certificate.facts["outside"] == ["the value of an operand"]
    assert not change.certificate.assumptions
    kept = onnxpad.fix(model, style="pad")
    assert [each.code for each in kept.changes] == ["PAD101"]
    assert [node.op_type for node in kept.model.graph.node] == ["ConvInteger"]


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_a_pad_that_is_written_has_the_zero_point_in_its_type(kind: str) -> None:
    zero = 7 if kind == "uint8" else -7
    model = one(
        "y = ConvInteger <pads = [1, 0, 0, 2]> (x, w, z)",
        inputs=U8 if kind == "uint8" else I8,
        outputs="int32[] y",
        initializers=f"{weight(kind)}, {kind} z = {{{zero}}}",
    )
    result = fixed(model, "pad")
    pad, _ = result.model.graph.node
    held = {each.name: numpy_helper.to_array(each) for each in result.model.graph.initializer}
    fill = held[pad.input[2]]
    assert (fill.dtype, fill.item()) == (np.dtype(kind), zero)


LINEAR = f"{SCALES}, uint8 z = {{9}}, uint8 v = {{2}}, uint8 r = {{128}}, {weight('uint8')}"


@pytest.mark.parametrize("domain", ["", "com.microsoft."])
def test_a_linear_convolution_folds_and_splits(domain: str) -> None:
    model = one(
        f"a = Pad (x, p, z) y = {domain}QLinearConv (a, s, z, w, s, v, t, r)",
        inputs=U8,
        outputs="uint8[] y",
        initializers=f"{LINEAR}, {AMOUNTS}",
    )
    result = fixed(model)
    assert [node.op_type for node in result.model.graph.node] == ["QLinearConv"]
    for style in ("pad", "symmetric"):
        split = fixed(result.model, style)
        assert [node.op_type for node in split.model.graph.node] == ["Pad", "QLinearConv"]


@pytest.mark.parametrize(
    ("rank", "auto_pad"),
    [
        (3, ""),
        (5, "SAME_LOWER"),
        *((4, each) for each in ("SAME_UPPER", "SAME_LOWER", "VALID", "")),
    ],
)
@pytest.mark.parametrize("operator", ["QLinearConv", "QLinearAveragePool", "NhwcMaxPool"])
def test_channels_may_be_last(rank: int, operator: str, auto_pad: str) -> None:
    axes = rank - 2
    shape = [1, *(7, 6, 5)[:axes], 2]
    kernel = (3, 2, 3)[:axes]
    pads = [0, *(1, 1, 2)[:axes], 0, 0, *(0, 1, 1)[:axes], 0]
    said = [f"kernel_shape = {list(kernel)}", f"strides = {[2] * axes}"]
    if auto_pad:
        said.append(f'auto_pad = "{auto_pad}"')
    if operator != "NhwcMaxPool":
        said.append("channels_last = 1")
    held = "int8 z = {-128}, int8 r = {-5}, float s = {0.25}, float t = {8}"
    operands = {
        "QLinearConv": "a, s, z, w, s, v, t, r",
        "QLinearAveragePool": "a, s, z, s, r",
        "NhwcMaxPool": "a",
    }
    taps = ", ".join(str(i * 5 % 7 - 3) for i in range(6 * int(np.prod(kernel))))
    sizes = ", ".join(map(str, (3, 2, *kernel)))
    held += f", int8[{sizes}] w = {{{taps}}}, int8 v = {{1}}"
    fold = not auto_pad.startswith("SAME")
    held += f", int64[{2 * rank}] p = {{{', '.join(map(str, pads))}}}"
    first = "a = Pad (x, p, z)" if fold else "a = Identity (x)"
    model = one(
        f"{first} y = com.microsoft.{operator} <{', '.join(said)}> ({operands[operator]})",
        inputs=f"int8[{', '.join(map(str, shape))}] x",
        outputs="int8[] y",
        initializers=held,
    )
    result = fixed(model)
    left = [node.op_type for node in result.model.graph.node]
    assert left[-1] == operator
    assert "Pad" not in left
    for style in ("pad", "symmetric"):
        fixed(result.model, style)


def test_a_layout_that_is_not_specified_is_not_read() -> None:
    model = one(
        "a = Pad (x, p, z) y = com.microsoft.QLinearConv <channels_last = 2>"
        " (a, s, z, w, s, v, t, r)",
        inputs="uint8[1, 7, 6, 2] x",
        outputs="uint8[] y",
        initializers=f"{LINEAR}, int64[8] p = {{0, 1, 2, 0, 0, 0, 1, 0}}",
    )
    result = onnxpad.fix(model)
    assert not result.changes
    assert any("channels_last is 2" in finding.reason for finding in result.findings)


def average(attributes: str, inputs: str = U8, amounts: str = AMOUNTS) -> onnx.ModelProto:
    """A `Pad` of the zero point before a QLinearAveragePool."""
    return one(
        f"a = Pad (x, p, z) y = com.microsoft.QLinearAveragePool <{attributes}> (a, s, z, s, z)",
        inputs=inputs,
        outputs="uint8[] y",
        initializers=f"{LINEAR}, {amounts}",
    )


@pytest.mark.parametrize("counts", [0, 1])
def test_a_quantised_average_counts_what_it_takes_over(counts: int) -> None:
    model = average(f"kernel_shape = [3, 3], count_include_pad = {counts}")
    result = fixed(model)
    (node,) = result.model.graph.node
    given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert given["count_include_pad"] == 1
    assert given["pads"] == [1, 2, 0, 1]


def test_a_quantised_average_that_rounds_up_may_divide_by_more() -> None:
    """Once it counts its padding it divides by the whole kernel, even past the padding."""
    line = "uint8[1, 1, 6] x", "int64[6] p = {0, 0, 1, 0, 0, 1}"
    attributes = "kernel_shape = [3], strides = [2], ceil_mode = 1"
    model = average(attributes, *line)
    assert codes(model) == [Reason.DIVISOR_DIFFERS]
    x = np.array([[[10, 20, 40, 80, 100, 120]]], np.uint8)
    wrong = average(attributes, *line)
    del wrong.graph.node[0]
    wrong.graph.node[0].input[0] = "x"
    wrong.graph.node[0].attribute.extend(
        [
            onnx.helper.make_attribute("pads", [1, 1]),
            onnx.helper.make_attribute("count_include_pad", 1),
        ]
    )
    assert run(model, {"x": x})[0].tolist() != run(wrong, {"x": x})[0].tolist()
    result = fixed(average(f"{attributes}, count_include_pad = 1", *line))
    assert [change.code for change in result.changes] == ["PAD201"]


@pytest.mark.parametrize(("size", "reasons"), [(8, [Reason.ENGINES_DISAGREE]), (7, [])])
def test_a_quantised_average_that_counts_rounds_up_in_two_ways(
    size: int, reasons: list[Reason]
) -> None:
    """Past its padding onnxruntime counts, and the specification does not."""
    model = one(
        "y = com.microsoft.QLinearAveragePool <kernel_shape = [3], strides = [2], ceil_mode = 1,"
        " count_include_pad = 1> (x, s, z, s, z)",
        inputs=f"uint8[1, 2, {size}] x",
        outputs="uint8[] y",
        initializers="float s = {0.5}, uint8 z = {9}",
    )
    for trust in ("spec", "onnxruntime") if reasons else ():
        decided = onnxpad.fix(model, no_ceil=True, trust=trust)
        (change,) = decided.changes
        assert change.certificate.facts["trusts"] == trust
        feeds = feeds_of(model)
        was, now = run(model, feeds)[0], run(decided.model, feeds)[0]
        np.testing.assert_array_equal(was[..., :-1], now[..., :-1])
        assert np.array_equal(was, now) == (trust == "onnxruntime")
        last = feeds["x"][..., 6:].astype(np.float64) - 9
        expected = np.rint(last.sum(-1) / {"spec": 2, "onnxruntime": 3}[trust]) + 9
        np.testing.assert_array_equal(now[..., -1], np.clip(expected, 0, 255))
    result = onnxpad.fix(model, no_ceil=True)
    assert not result.undone
    assert [finding.reason_code for finding in result.findings] == reasons
    assert len(result.changes) == 1 - len(reasons)


def halves(attributes: str, size: int | str, pad: str = "") -> onnx.ModelProto:
    """A QLinearAveragePool whose results often lie halfway, to be moved by an odd zero point."""
    return one(
        f"{pad} y = com.microsoft.QLinearAveragePool <{attributes}> ({'a' if pad else 'x'}, s, z,"
        " t, r)",
        inputs=f"uint8[1, 20, {size}] x",
        outputs="uint8[] y",
        initializers="float s = {0.5}, float t = {1}, uint8 z = {0}, uint8 r = {3},"
        " int64[6] p = {0, 0, 0, 0, 0, 1}, int64[6] q = {0, 0, 1, 0, 0, 1}",
    )


END, BOTH = "a = Pad (x, p)", "a = Pad (x, q)"
WHOLE = [
    pytest.param(END, "kernel_shape = [2]", 1, {}, id="a Pad that is read"),
    pytest.param(END, "kernel_shape = [2]", "n", {}, id="a Pad of an open size"),
    pytest.param(
        "", 'kernel_shape = [2], strides = [2], auto_pad = "SAME_UPPER"', "n", {}, id="SAME"
    ),
    pytest.param(
        "",
        'kernel_shape = [2], strides = [2], count_include_pad = 1, auto_pad = "SAME_UPPER"',
        "n",
        {"style": "pad"},
        id="SAME as a computed Pad",
    ),
    pytest.param("", "kernel_shape = [2], strides = [2], ceil_mode = 1", "n", {"no_ceil": True},
                 id="ceil_mode"),
    pytest.param("", "kernel_shape = [2], pads = [0, 1], count_include_pad = 1", 1,
                 {"style": "pad"}, id="pads into a Pad"),
]  # fmt: skip


@each_row(("pad", "attributes", "size", "how"), WHOLE)
def test_a_quantised_average_does_not_begin_to_round_otherwise(
    pad: str, attributes: str, size: int | str, how: dict[str, Any]
) -> None:
    """onnxruntime rounds otherwise where one kernel is all data, without padding."""
    model = halves(attributes, size, pad)
    result = onnxpad.fix(model, validate=False, **how)
    assert not result.changed
    assert not result.undone
    assert Reason.ROUNDING_DIFFERS in {finding.reason_code for finding in result.findings}


def test_a_quantised_average_over_longer_data_folds() -> None:
    assert fixed(halves("kernel_shape = [2]", 3, END)).changed


def test_a_quantised_average_keeps_a_pad_that_is_never_read() -> None:
    line = np.arange(20, dtype=np.uint8).reshape(1, 20, 1)
    attributes = "kernel_shape = [1], strides = [2]"
    part, whole = halves(attributes, 1, END), halves(attributes, 1)
    assert not np.array_equal(run(part, {"x": line})[0], run(whole, {"x": line})[0])
    result = onnxpad.fix(part, validate=False)
    assert not result.changed
    assert not result.undone


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("operator", ["MaxPool", "com.microsoft.NhwcMaxPool"])
def test_a_maximum_of_integers_that_may_see_padding_only_keeps_it(kind: str, operator: str) -> None:
    last = operator != "MaxPool"
    model = one(
        f"a = Pad (x, p, c) y = {operator} <kernel_shape = [2], dilations = [3]> (a)",
        inputs=f"{kind}[1, 2, 2] x",
        outputs=f"{kind}[] y",
        initializers=f"int64[6] p = {{0, {'1, 0, 0, 1, 0' if last else '0, 1, 0, 0, 1'}}},"
        f" {kind} c = {{{0 if kind == 'uint8' else -128}}}",
    )
    (finding,) = onnxpad.fix(model).findings
    assert finding.reason_code == "window-in-padding"


def test_a_fused_convolution_keeps_its_activation_and_its_sum() -> None:
    taps = ", ".join(str(i % 5 - 2) for i in range(36))
    model = one(
        "a = Pad (x, p) n = Constant <value = float[1, 3, 8, 8] {2}> ()"
        ' y = com.microsoft.FusedConv <activation = "Relu"> (a, w, , n)',
        initializers=f"float[3, 2, 3, 2] w = {{{taps}}}, {AMOUNTS}",
    )
    numbers = np.arange(240, dtype=np.float32).reshape(1, 3, 8, 10)
    model.graph.node[1].attribute[0].t.CopyFrom(numpy_helper.from_array(numbers % 7 - 3))
    result = fixed(model)
    node = result.model.graph.node[-1]
    assert [each.name for each in node.attribute] == ["activation", "pads"]
    assert list(node.input) == ["x", "w", "", "n"]


@pytest.mark.parametrize(
    ("before", "reader", "reasons"),
    [
        ("d = Relu (x)", "Reciprocal (m)", [Reason.FILL_WINS]),
        ("d = Relu (x)", "Relu (m)", []),
        ("d = Clip (x, half)", "Reciprocal (m)", []),
        ("r = Relu (x) d = Add (r, zero)", "Reciprocal (m)", [Reason.FILL_WINS]),
        ("d = Identity (x)", "Relu (m)", [Reason.FILL_WINS]),
    ],
)
def test_a_zero_may_win_over_minus_zero(before: str, reader: str, reasons: list[Reason]) -> None:
    """That is told apart only by some operators, and there is none where the data is above 0."""
    model = one(
        f"{before} a = Pad (d, p) m = MaxPool <kernel_shape = [3, 3]> (a) y = {reader}",
        inputs="float[1, 2, 7, 6] x",
        initializers=f"{AMOUNTS}, float half = {{0.5}}, float zero = {{0}}",
    )
    assert [code for code in codes(model) if code] == reasons
    folds = {change.code for change in onnxpad.fix(model).changes} >= {"PAD201"}
    assert folds == (not reasons)
