"""Pools that round up are written as pools that round down, where that is the same."""

import json
import random
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.finding import Severity
from onnxpad.reasons import Reason
from tests.random_models.draw import draw_model
from tests.support import MODELS, STYLES, Array, assert_graph, fixed, one, onnxpad_runs, run
from tests.support.rows import each_row

CEIL = "ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]"
FLOOR = "kernel_shape = [3, 3], strides = [2, 2]"
SIDES = "pads = [1, 1, 1, 1]"
OPEN = "float[1, 2, height, width] x"
W = "float[3, 2, 3, 3] w = {" + ", ".join(str(i % 5 - 2) for i in range(54)) + "}"
BORDER = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"

CASES = [
    pytest.param(
        one(f"y = MaxPool <{CEIL}> (x)"),
        one(f"y = MaxPool <{FLOOR}, pads = [0, 0, 0, 1]> (x)"),
        id="an axis with a remainder and one without",
    ),
    pytest.param(
        one(f"y = MaxPool <{CEIL}, {SIDES}> (x)"),
        one(f"y = MaxPool <{FLOOR}, pads = [1, 1, 1, 2]> (x)"),
        id="pads get longer",
    ),
    pytest.param(
        one(f"y, i = MaxPool <{CEIL}> (x)", outputs="float[] y, int64[] i"),
        one(f"y, i = MaxPool <{FLOOR}, pads = [0, 0, 0, 1]> (x)", outputs="float[] y, int64[] i"),
        id="Indices count positions of the data",
    ),
    pytest.param(
        one("y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], strides = [3, 3]> (x)"),
        one("y = MaxPool <kernel_shape = [2, 2], strides = [3, 3]> (x)"),
        id="a last window that starts past the data is dropped",
    ),
    pytest.param(
        one("y = MaxPool <ceil_mode = 1, kernel_shape = [3, 3], dilations = [2, 2]> (x)"),
        one("y = MaxPool <kernel_shape = [3, 3], dilations = [2, 2]> (x)"),
        id="a stride of 1 rounds nothing",
    ),
    pytest.param(
        one(f"y = AveragePool <{CEIL}> (x)"),
        one(f"y = AveragePool <{FLOOR}, pads = [0, 0, 0, 1]> (x)"),
        id="an average that does not count its padding",
    ),
    pytest.param(
        one(f"y = AveragePool <{CEIL}, {SIDES}> (x)"),
        one(f"y = AveragePool <{FLOOR}, pads = [1, 1, 1, 2]> (x)"),
        id="an average that does not count the padding it has",
    ),
    pytest.param(
        one(f"y = AveragePool <{CEIL}, count_include_pad = 1> (x)"),
        one(f"y = AveragePool <{FLOOR}, pads = [0, 0, 0, 1]> (x)"),
        id="an average without padding to count",
    ),
    pytest.param(
        one(
            f"y = AveragePool <{CEIL}, {SIDES}, count_include_pad = 1> (x)",
            inputs="float[1, 2, 9, 7] x",
        ),
        one(
            f"y = AveragePool <{FLOOR}, {SIDES}, count_include_pad = 1> (x)",
            inputs="float[1, 2, 9, 7] x",
        ),
        id="an average that counts its padding, without a remainder",
    ),
    pytest.param(
        one(f"y = LpPool <{CEIL}, {SIDES}, p = 3> (x)", opset=18),
        one(f"y = LpPool <{FLOOR}, pads = [1, 1, 1, 2], p = 3> (x)", opset=18),
        id="LpPool",
    ),
    pytest.param(
        one(f'y = MaxPool <{CEIL}, auto_pad = "VALID"> (x)'),
        one(f"y = MaxPool <{FLOOR}, pads = [0, 0, 0, 1]> (x)"),
        id="VALID is dropped first",
    ),
    pytest.param(
        one(f'y = MaxPool <{CEIL}, auto_pad = "SAME_UPPER"> (x)'),
        one(f"y = MaxPool <{FLOOR}, pads = [1, 0, 1, 1]> (x)"),
        id="SAME is written out first",
    ),
    pytest.param(
        one(
            "y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], strides = [2, 2]> (x)", inputs=OPEN
        ),
        one(
            "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], pads = [0, 0, 1, 1]> (x)",
            inputs=OPEN,
        ),
        id="every size",
    ),
    pytest.param(
        one(
            "y = AveragePool <ceil_mode = 1, kernel_shape = [3, 3], strides = [4, 3], "
            "pads = [0, 1, 1, 0]> (x)",
            inputs=OPEN,
        ),
        one(
            "y = AveragePool <kernel_shape = [3, 3], strides = [4, 3], pads = [0, 1, 2, 2]> (x)",
            inputs=OPEN,
        ),
        id="every size, a stride above the kernel",
    ),
    pytest.param(
        one("y = MaxPool <ceil_mode = 1, kernel_shape = [5, 5]> (x)", inputs=OPEN),
        one("y = MaxPool <kernel_shape = [5, 5]> (x)", inputs=OPEN),
        id="every size, also those that are too short for a window",
    ),
    pytest.param(
        one(f"c = MaxPool <{CEIL}> (x) y = Conv (c, w)", inputs=OPEN, initializers=W),
        one(
            f"c = MaxPool <{FLOOR}, pads = [0, 0, 1, 1]> (x) y = Conv (c, w)",
            inputs=OPEN,
            initializers=W,
        ),
        id="every size at which a Conv downstream has a window",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool <ceil_mode = 1, count_include_pad = 1, "
            "kernel_shape = [3, 3], strides = [2, 1]> (a)",
            initializers=BORDER,
        ),
        one(
            "y = AveragePool <count_include_pad = 1, kernel_shape = [3, 3], pads = [1, 1, 1, 1],"
            " strides = [2, 1]> (x)"
        ),
        id="a Pad folds once nothing rounds up",
    ),
]

SPLIT = [
    pytest.param(
        style,
        one(
            f'a = Pad <mode = "constant"> (x, p, c) y = MaxPool <{FLOOR}, pads = [0, 0, 0, 0]> (a)',
            initializers="int64[8] p = {0, 0, 0, 0, 0, 0, 0, 1}, float c = {-inf}",
        ),
        id=style,
    )
    for style in ("pad", "symmetric")
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_rounds_down(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    result = fixed(before, no_ceil=True, validate=True)
    assert_graph(result.model, after)
    (change,) = [change for change in result.changes if change.code == "PAD301"]
    assert " ceil_mode" in change.before
    assert " ceil_mode" not in change.after
    assert not change.certificate.assumptions
    assert result.validation is not None
    assert not result.validation.padding, "the reach of a window is no other padding"


@each_row(("before", "after"), CASES, at_once=4)
def test_nothing_is_said_unless_asked(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert "PAD301" not in {finding.code for finding in onnxpad.check(before).findings}
    changed = [each.code for each in onnxpad.fix(before, validate=False).changes]
    assert "PAD301" not in changed
    assert "PAD301" not in {each.code for each in onnxpad.check(after, no_ceil=True).findings}


@pytest.mark.parametrize(("style", "after"), SPLIT)
def test_the_pads_go_where_the_style_wants_them(style: str, after: onnx.ModelProto) -> None:
    result = fixed(one(f"y = MaxPool <{CEIL}> (x)"), style, no_ceil=True)
    assert_graph(result.model, after)
    assert [change.code for change in result.changes] == ["PAD301", "PAD202"]


def test_a_pad_counts_what_an_average_counted() -> None:
    more = "count_include_pad = 1, pads = [1, 1, 1, 1]"
    model = one(f"y = AveragePool <{CEIL}, {more}> (x)", inputs="float[1, 2, 10, 10] x")
    result = fixed(model, "pad", no_ceil=True)
    pad, pool = result.model.graph.node
    kept = {each.name: [*each.ints] or each.i for each in pool.attribute}
    assert (pad.op_type, kept.get("ceil_mode"), kept["pads"]) == ("Pad", None, [0, 0, 1, 1])


@each_row(
    ("body", "inputs", "style", "reason"),
    [
        pytest.param(
            f"y = MaxPool <{CEIL}> (x)", OPEN, "fold", Reason.SIZE_DEPENDENT, id="no window at 1"
        ),
        pytest.param(
            "y = AveragePool <ceil_mode = 1, kernel_shape = [5, 5], strides = [2, 2]> (x)",
            OPEN,
            "fold",
            Reason.SIZE_DEPENDENT,
            id="no window at sizes up to 3",
        ),
        pytest.param(
            f"y = AveragePool <{CEIL}, {SIDES}, count_include_pad = 1> (x)",
            "",
            "fold",
            Reason.DIVISOR_DIFFERS,
            id="padding counts, and what is past it does not",
        ),
        pytest.param(
            f"y = AveragePool <{CEIL}, {SIDES}, count_include_pad = 1> (x)",
            OPEN,
            "fold",
            Reason.DIVISOR_DIFFERS,
            id="the same at some sizes only",
        ),
        pytest.param(
            "y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], dilations = [3, 3], "
            "strides = [4, 4]> (x)",
            "",
            "fold",
            Reason.PADS_NOT_BELOW_KERNEL,
            id="a window that reaches further than pads may",
        ),
        pytest.param(
            'y = MaxPool <ceil_mode = 1, auto_pad = "SAME_UPPER", kernel_shape = [2, 2], '
            "dilations = [2, 2], strides = [2, 2]> (x)",
            OPEN,
            "fold",
            Reason.SAME_STAYS,
            id="a dilated SAME stays",
        ),
        pytest.param(
            f"y = AveragePool <{CEIL}> (x)",
            "",
            "pad",
            Reason.OWN_PADDING_UNCOUNTED,
            id="no Pad can be left out of a divisor",
        ),
        pytest.param(
            f"y = AveragePool <{CEIL}, {SIDES}> (x)",
            "",
            "symmetric",
            Reason.OWN_PADDING_UNCOUNTED,
            id="symmetric pads would get unequal",
        ),
    ],
    at_once=8,
)
def test_what_stays_has_its_reason(body: str, inputs: str, style: str, reason: Reason) -> None:
    model = one(body, inputs=inputs or "float[1, 2, 9, 8] x")
    result = onnxpad.fix(model, style=style, no_ceil=True)
    assert not result.changed
    assert not result.undone
    (finding,) = [finding for finding in result.findings if finding.code == "PAD301"]
    assert (finding.severity, finding.reason_code) == (Severity.INFO, reason)


def test_indices_cannot_have_a_pad_in_front() -> None:
    model = one(f"y, i = MaxPool <{CEIL}> (x)", outputs="float[] y, int64[] i")
    (finding,) = onnxpad.check(model, style="pad", no_ceil=True, ignore="PAD6").findings
    assert finding.reason_code == Reason.INDICES_READ


def test_a_style_that_cannot_be_had_anyway_hinders_nothing() -> None:
    model = one(f"y = AveragePool <{CEIL}, {SIDES}> (x)")
    result = fixed(model, "pad", no_ceil=True)
    assert [change.code for change in result.changes] == ["PAD301"]
    assert [finding.code for finding in result.findings] == ["PAD202"]


def test_a_range_without_the_least_sizes_is_enough() -> None:
    model = one(f"y = MaxPool <{CEIL}> (x)", inputs=OPEN)
    result = onnxpad.fix(model, no_ceil=True, dims={"height": "3..64", "width": "32..96:32"})
    (change,) = result.changes
    assert change.after == "MaxPool H 0+1, W 0+1, pads [0, 0, 1, 1]"
    assert change.certificate.within
    assert result.ok


def test_multiples_may_leave_no_remainder() -> None:
    body = "y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], strides = [2, 2]> (x)"
    model = one(body, inputs=OPEN)
    result = onnxpad.fix(model, no_ceil=True, dims={"height": "2..64:2", "width": "2..65"})
    assert result.changes[0].after == "MaxPool H 0+0, W 0+1, pads [0, 0, 0, 1]"
    assert result.ok


@pytest.mark.parametrize(("opset", "severity"), [(17, Severity.ERROR), (19, Severity.WARNING)])
def test_an_average_that_old_onnxruntime_gets_wrong_is_an_error(
    opset: int, severity: Severity
) -> None:
    model = one(f"y = AveragePool <{CEIL}, count_include_pad = 1> (x)", opset=opset)
    (finding,) = onnxpad.check(model, no_ceil=True, ignore="PAD6").findings
    assert finding.severity is severity


EXTREMES = (-np.inf, np.inf, np.nan, -0.0)
POOLS = [
    ("MaxPool", ""),
    ("AveragePool", ""),
    ("AveragePool", "count_include_pad = 1, "),
    ("LpPool", "p = 1, "),
]


@pytest.mark.parametrize(
    ("op", "more", "dtype"),
    [
        *((*pool, dtype) for pool in POOLS for dtype in ("float", "float16")),
        ("MaxPool", "", "double"),
    ],
)
@pytest.mark.parametrize("level", ["off", "full"])
def test_infinities_and_nan_stay_where_they_are(op: str, more: str, dtype: str, level: str) -> None:
    """Neither form of a pool treats windows of -inf or NaN alone in another way."""
    drawn = np.random.default_rng(0)
    seen = 0
    for kernel, stride, size in product((2, 4), (2, 3), (5, 6)):
        text = f"{more}ceil_mode = 1, kernel_shape = [{kernel}, 2], strides = [{stride}, 3]"
        model = one(
            f"y = {op} <{text}> (x)",
            inputs=f"{dtype}[2, 8, {size}, 7] x",
            outputs=f"{dtype}[] y",
            opset=22,
        )
        result = onnxpad.fix(model, no_ceil=True, validate=False)
        assert not any("ceil_mode" in str(node.attribute) for node in result.model.graph.node)
        kind = {"float": np.float32, "float16": np.float16, "double": np.float64}[dtype]
        data: Array = drawn.integers(-8, 9, (2, 8, size, 7)).astype(kind)
        for extreme in EXTREMES:
            data[drawn.random(data.shape) < 0.3] = extreme
        (expected,) = run(model, {"x": data}, level)
        (found,) = run(result.model, {"x": data}, level)
        np.testing.assert_array_equal(found, expected)
        seen += found.size
    assert seen > 200


@pytest.mark.parametrize("name", ["ceil_pool_torch", "ceil_pool_torchscript", "same_paddle"])
def test_networks_that_exporters_wrote(name: str) -> None:
    path = MODELS / f"{name}.onnx"
    result = onnxpad.fix(path, no_ceil=True)
    assert result.ok
    left = [
        node.output[0]
        for node in result.model.graph.node
        for attribute in node.attribute
        if attribute.name == "ceil_mode" and attribute.i
    ]
    reasons = [finding.reason_code for finding in result.findings if finding.code == "PAD301"]
    assert len(left) == len(reasons)
    assert set(reasons) <= {Reason.DIVISOR_DIFFERS}
    assert name == "same_paddle" or "PAD301" in {change.code for change in result.changes}


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(one(f"y = MaxPool <{CEIL}> (x)"), path)
    assert onnxpad_runs("check", path).exit_code == 0
    found = onnxpad_runs("check", path, "--no-ceil", "--select", "PAD3")
    assert found.exit_code == 1
    assert "PAD301" in found.stdout
    fix = onnxpad_runs("fix", path, "--no-ceil", "--format", "json")
    assert fix.exit_code == 0
    report = json.loads(fix.stdout)
    assert report["no_ceil"] is True
    assert [change["code"] for change in report["changes"]] == ["PAD301"]
    written = onnx.load(report["written"])
    assert_graph(written, one(f"y = MaxPool <{FLOOR}, pads = [0, 0, 0, 1]> (x)"))
    validated = onnxpad_runs("validate", path, report["written"])
    assert validated.exit_code == 0


def rounds_down_for_good(model: onnx.ModelProto, style: str) -> int:
    """How many pools of a model round down now; none of these changes is taken back."""
    if not any(a.name == "ceil_mode" for node in model.graph.node for a in node.attribute):
        return 0
    result = onnxpad.fix(model, style=style, no_ceil=True)
    assert not {"PAD301"} & {each.code for each in (*result.undone, *result.barred)}
    assert result.validation is None or result.validation.outcome != "failed"
    return sum(change.code == "PAD301" for change in result.changes)


@pytest.mark.parametrize("seed", [12, 24, 35, 37, 115, 122, 142, 218])
def test_random_models(seed: int) -> None:
    style = STYLES[seed % 3]
    assert rounds_down_for_good(draw_model(random.Random(seed)).model, style) == 1
