"""The fill that an operator's own padding stands for, where that is the data's zero point."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxpad
from onnxpad.reasons import Reason
from tests.support import feeds_of, fixed, one, run
from tests.support.rows import each_row, rows_below

AMOUNTS = "int64[8] p = {0, 0, 1, 2, 0, 0, 0, 1}"
SCALES = "float s = {0.5}, float t = {16}"


def weight(kind: str) -> str:
    """A weight of small integers that no swap leaves as it is."""
    values = ", ".join(str(i * 5 % 7 - 3 * (kind == "int8")) for i in range(36))
    return f"{kind}[3, 2, 3, 2] w = {{{values}}}"


def integer(body: str, *held: str, kind: str = "uint8", inputs: str = "") -> onnx.ModelProto:
    """A ConvInteger, perhaps with a `Pad` before it."""
    given = ", ".join(filter(None, (AMOUNTS, weight(kind), *held)))
    data = f"{kind}[1, 2, 7, 6] x{inputs}"
    return one(body, inputs=data, outputs="int32[] y", initializers=given)


def codes(model: onnx.ModelProto) -> list[str]:
    """The reasons for what stays."""
    return [finding.reason_code for finding in onnxpad.check(model, ignore="PAD6").findings]


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


POINTS = "a Pad of the zero point: `z`, the fill, the data, the reason where the Pad stays"
ROWS = [
    pytest.param(*row, id=" ".join(row))
    for row in rows_below(Path(__file__).with_name("rows.txt"), POINTS)
]


@each_row(("zero", "value", "kind", "reason"), ROWS, at_once=5)
def test_a_pad_of_the_zero_point_folds_and_another_stays(
    zero: str, value: str, kind: str, reason: str
) -> None:
    fill, point = (", c" if value else ""), (", z" if zero else "")
    body = f"a = Pad (x, p{fill}) y = ConvInteger (a, w{point})"
    model = integer(body, zero, value, kind=kind)
    if reason != "folds":
        assert codes(model) == [reason]
        assert not onnxpad.fix(model).changes
        return
    result = fixed(model)
    assert ops(result.model) == ["ConvInteger"]
    assert not result.changes[0].certificate.assumptions


def test_a_zero_point_that_a_caller_may_override_is_unknown() -> None:
    body = "a = Pad (x, p, c) y = ConvInteger (a, w, z)"
    model = integer(body, "uint8 z = {4}", "uint8 c = {4}")
    declared = {each.name: each for each in model.graph.initializer}

    def input_of(name: str) -> onnx.ValueInfoProto:
        held = declared[name]
        return onnx.helper.make_tensor_value_info(name, held.data_type, list(held.dims))

    model.graph.input.append(input_of("z"))
    assert codes(model) == [Reason.ZERO_POINT_UNKNOWN]
    model.ir_version = 3  # there it is a constant, and so must all initializers be inputs
    model.graph.input.extend(map(input_of, "pcw"))
    assert [change.code for change in onnxpad.fix(model).changes] == ["PAD201"]


def test_a_zero_point_of_run_time_is_unknown_and_a_computed_constant_known() -> None:
    body, four = "a = Pad (x, p, {}) y = ConvInteger (a, w, z)", "uint8 c = {4}"
    both = integer(body.format("z"), inputs=", uint8 z")
    assert codes(both) == [Reason.FILL_UNKNOWN]
    (finding,) = onnxpad.check(
        integer(body.format("c"), four, inputs=", uint8 z"), ignore="PAD6"
    ).findings
    assert finding.reason_code == Reason.ZERO_POINT_UNKNOWN
    assert finding.evidence["tensor"] == "z"
    cast = integer(f"z = Cast <to = 2> (f) {body.format('c')}", four, "float f = {4.5}")
    assert ops(fixed(cast).model) == ["Cast", "ConvInteger"]


def test_an_empty_name_is_no_zero_point() -> None:
    model = integer('a = Pad (x, p) y = ConvInteger (a, w, "", v)', "uint8 v = {2}")
    assert [change.code for change in fixed(model).changes] == ["PAD201"]


def test_same_needs_no_known_zero_point() -> None:
    """The padding stays that of the operator, whatever its value."""
    same = 'y = ConvInteger <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w, z)'
    model = integer(same, inputs=", uint8 z")
    (change,) = fixed(model).changes
    assert change.code == "PAD101"
    assert change.certificate.facts["outside"] == ["the value of an operand"]
    assert ops(onnxpad.fix(model, style="pad").model) == ["ConvInteger"]


@pytest.mark.parametrize(("kind", "zero"), [("uint8", 7), ("int8", -7)])
def test_a_pad_that_is_written_has_the_zero_point_in_its_type(kind: str, zero: int) -> None:
    body = "y = ConvInteger <pads = [1, 0, 0, 2]> (x, w, z)"
    model = fixed(integer(body, f"{kind} z = {{{zero}}}", kind=kind), "pad").model
    held = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    fill = held[model.graph.node[0].input[2]]
    assert (fill.dtype, fill.item()) == (np.dtype(kind), zero)


def average(attributes: str, inputs: str, amounts: str = AMOUNTS) -> onnx.ModelProto:
    """A `Pad` of the zero point before a QLinearAveragePool."""
    pool = f"y = com.microsoft.QLinearAveragePool <{attributes}> (a, s, z, s, z)"
    given = f"{SCALES}, uint8 z = {{9}}, {amounts}"
    return one(f"a = Pad (x, p, z) {pool}", inputs=inputs, outputs="uint8[] y", initializers=given)


@pytest.mark.parametrize("counts", [0, 1])
def test_a_quantised_average_counts_what_it_takes_over(counts: int) -> None:
    said = f"kernel_shape = [3, 3], count_include_pad = {counts}"
    (node,) = fixed(average(said, "uint8[1, 2, 7, 6] x")).model.graph.node
    given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert (given["count_include_pad"], given["pads"]) == (1, [1, 2, 0, 1])


def test_a_quantised_average_that_rounds_up_may_divide_by_more() -> None:
    """Once it counts its padding it divides by the whole kernel, even past the padding."""
    line = "uint8[1, 1, 6] x", "int64[6] p = {0, 0, 1, 0, 0, 1}"
    attributes = "kernel_shape = [3], strides = [2], ceil_mode = 1"
    assert codes(average(attributes, *line)) == [Reason.DIVISOR_DIFFERS]
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


@each_row(
    ("pad", "attributes", "size", "how", "stays"),
    [
        ("p", "", 1, {}, True),
        ("p", "", "n", {}, True),
        ("p", "", 3, {}, False),
        ("", ', strides = [2], auto_pad = "SAME_UPPER"', "n", {}, True),
        ("", ', strides = [2], count_include_pad = 1, auto_pad = "SAME_UPPER"', "n",
         {"style": "pad"}, True),
        ("", ", strides = [2], ceil_mode = 1", "n", {"no_ceil": True}, True),
        ("", ", pads = [0, 1], count_include_pad = 1", 1, {"style": "pad"}, True),
    ],
)  # fmt: skip
def test_a_quantised_average_does_not_begin_to_round_otherwise(
    pad: str, attributes: str, size: int | str, how: dict[str, Any], stays: bool
) -> None:
    """onnxruntime rounds otherwise where one kernel is all data, without padding."""
    data, first = ("a", "a = Pad (x, p)") if pad else ("x", "")
    model = one(
        f"{first} y = com.microsoft.QLinearAveragePool <kernel_shape = [2]{attributes}>"
        f" ({data}, s, z, t, r)",
        inputs=f"uint8[1, 20, {size}] x",
        outputs="uint8[] y",
        initializers="float s = {0.5}, float t = {1}, uint8 z = {0}, uint8 r = {3},"
        " int64[6] p = {0, 0, 0, 0, 0, 1}",
    )
    if not stays:
        assert fixed(model).changed
        return
    result = onnxpad.fix(model, validate=False, **how)
    assert (result.changed, result.undone) == (False, ())
    assert Reason.ROUNDING_DIFFERS in {finding.reason_code for finding in result.findings}
