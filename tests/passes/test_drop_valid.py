"""VALID: what is left when it goes, and where it stays and why."""

import onnx
import pytest

import onnxpad
from onnxpad.finding import Assumption
from tests.support import W, assert_graph, fixed, one, run

DROPPED = [
    pytest.param(
        one('y = Conv <auto_pad = "VALID", strides = [2, 1]> (x, w)', initializers=W),
        one("y = Conv <strides = [2, 1]> (x, w)", initializers=W),
        id="Conv",
    ),
    pytest.param(
        one('y = Conv <auto_pad = "VALID", dilations = [2, 2]> (x, w)', initializers=W),
        one("y = Conv <dilations = [2, 2]> (x, w)", initializers=W),
        id="dilated Conv",
    ),
    pytest.param(
        one(
            'y = Conv <auto_pad = "VALID"> (x, w)',
            inputs="float[N, 2, H, V] x, float[3, 2, 3, 3] w",
        ),
        one("y = Conv (x, w)", inputs="float[N, 2, H, V] x, float[3, 2, 3, 3] w"),
        id="no size known but the kernel's",
    ),
    pytest.param(
        one(
            'y = MaxPool <auto_pad = "VALID", ceil_mode = 1, kernel_shape = [2, 3],'
            " strides = [2, 2]> (x)"
        ),
        one("y = MaxPool <ceil_mode = 1, kernel_shape = [2, 3], strides = [2, 2]> (x)"),
        id="ceil_mode stays",
    ),
    pytest.param(
        one(
            'y, i = MaxPool <auto_pad = "VALID", kernel_shape = [2, 3]> (x)',
            outputs="float[] y, int64[] i",
        ),
        one("y, i = MaxPool <kernel_shape = [2, 3]> (x)", outputs="float[] y, int64[] i"),
        id="MaxPool with Indices",
    ),
    pytest.param(
        one(
            'y = AveragePool <auto_pad = "VALID", ceil_mode = 1, count_include_pad = 1,'
            " kernel_shape = [2, 3], strides = [2, 2]> (x)"
        ),
        one(
            "y = AveragePool <ceil_mode = 1, count_include_pad = 1, kernel_shape = [2, 3],"
            " strides = [2, 2]> (x)"
        ),
        id="AveragePool",
    ),
    pytest.param(
        one('y = LpPool <auto_pad = "VALID", kernel_shape = [2, 2], p = 1> (x)'),
        one("y = LpPool <kernel_shape = [2, 2], p = 1> (x)"),
        id="LpPool",
    ),
    pytest.param(
        one(
            'y = MaxPool <auto_pad = "VALID", kernel_shape = [3, 3], pads = [0, 0, 0, 0]> (x)',
        ),
        one("y = MaxPool <kernel_shape = [3, 3], pads = [0, 0, 0, 0]> (x)"),
        id="pads of zero beside it stay",
    ),
    pytest.param(
        one('y = Conv <auto_pad = "VALID"> (x, w)', initializers=W, opset=1, ir=3),
        one("y = Conv (x, w)", initializers=W, opset=1, ir=3),
        id="opset 1",
    ),
]


@pytest.mark.parametrize(("before", "after"), DROPPED)
@pytest.mark.parametrize("style", ["fold", "pad", "symmetric"])
def test_drops(style: str, before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    result = fixed(before, style, runs="K" not in str(before))
    assert_graph(result.model, after)
    assert [c.code for c in result.changes] == ["PAD102"]
    (change,) = result.changes
    alone = (Assumption.NOT_PROBED,) if change.probe.startswith("not probed") else ()
    assert change.certificate.assumptions == alone
    assert not onnxpad.check(result.model, style=style, ignore="PAD6").findings


def test_conv_that_onnxruntime_refuses_beside_pads_runs_afterwards() -> None:
    before = one('y = Conv <auto_pad = "VALID", pads = [0, 0, 0, 0]> (x, w)', initializers=W)
    after = one("y = Conv <pads = [0, 0, 0, 0]> (x, w)", initializers=W)
    with pytest.raises(Exception, match="both 'auto_pad' and 'pads'"):
        run(before, {})
    assert_graph(fixed(before, runs=False).model, after)


@pytest.mark.parametrize(
    "operator",
    ["Conv", "MaxPool"],
)
def test_pads_that_say_otherwise_stay(operator: str) -> None:
    weight = ", w" if operator == "Conv" else ""
    before = one(
        f'y = {operator} <auto_pad = "VALID", kernel_shape = [3, 3], pads = [1, 0, 0, 1]>'
        f" (x{weight})",
        initializers=W if weight else "",
    )
    result = onnxpad.fix(before)
    assert not result.changed
    (finding,) = result.findings
    assert (finding.code, finding.severity) == ("PAD102", "info")
    assert "H 1+0, W 0+1" in finding.reason


def test_a_pad_whose_mode_each_call_gives_is_data() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17, "f" : 1]> '
        f"g (float[1, 2, 9, 8] x) => (float[a, b, c, d] y) <{W}> "
        '{ y = f.go <how = "edge"> (x, w) } '
        '<domain: "f", opset_import: ["" : 17]> go <how> (x, w) => (y) '
        "{ o = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () "
        'u = Pad <mode : string = @how> (x, o) y = Conv <auto_pad = "VALID"> (u, w) }'
    )
    result = onnxpad.fix(model)
    assert [change.code for change in result.changes] == ["PAD102"]
    assert not result.undone
