"""What no rule reads: it is named, with what is wrong, and nothing around it is touched."""

from itertools import starmap

import onnx
import pytest

import onnxpad
from tests.support import BORDER, W, assert_graph, decided, fixed, one
from tests.support.rows import each_row

NAMED = [
    pytest.param(
        one('y = Conv <auto_pad = "SAME"> (x, w)', initializers=W),
        id="a spelling that onnxruntime refuses",
    ),
    pytest.param(
        one("y = Conv <pads = [-1, 0, 1, 0]> (x, w)", initializers=W),
        id="negative pads",
    ),
    pytest.param(
        one("y = MaxPool <ceil_mode = 1, kernel_shape = [3, 3]> (x)", opset=9),
        id="ceil_mode before its opset",
    ),
    pytest.param(
        one("y = AveragePool <dilations = [2, 2], kernel_shape = [3, 3]> (x)", opset=11),
        id="dilations before their opset",
    ),
    pytest.param(
        one("y = AveragePool <count_include_pad = 1, kernel_shape = [3, 3]> (x)", opset=6, ir=3),
        id="count_include_pad before its opset",
    ),
    pytest.param(
        one('y = Pad <mode = "mirror"> (x, p)', initializers=BORDER),
        id="a mode that is none",
    ),
    pytest.param(
        one("y = Conv (x, w)", inputs="float[1, 2, 9] x, float[2, 2] w"),
        id="a weight without a spatial axis",
    ),
    pytest.param(
        one(
            f'y = Conv <auto_pad = "SAME_UPPER", dilations = [{2**62}, 1]> (x, w)',
            initializers=W,
        ),
        id="dilations whose pads an int64 does not hold",
    ),
    pytest.param(
        one("y = Pad (x, p)", initializers=BORDER.replace("1", str(2**62))),
        id="amounts whose sum an int64 does not hold",
    ),
    pytest.param(
        one(
            "y = Pad (x, p, , a)",
            opset=18,
            initializers="int64[2] a = {2, -2}, int64[4] p = {0, 1, 0, 1}",
        ),
        id="axes that are the same",
    ),
    pytest.param(
        one(
            "y = Pad (x, p, , a)",
            opset=18,
            initializers="int64[2] a = {2, 4}, int64[4] p = {0, 1, 0, 1}",
        ),
        id="axes that the data lacks",
    ),
]


@pytest.mark.parametrize("style", ["fold", "pad", "symmetric"])
@each_row("before", NAMED, at_once=8)
def test_names_it(before: onnx.ModelProto, style: str) -> None:
    result = onnxpad.fix(before, style=style)
    assert not result.changed
    (finding,) = result.findings
    assert (finding.code, finding.severity) == ("PAD901", "info")
    assert finding.op_type == before.graph.node[0].op_type
    assert not onnxpad.check(before, style=style).failing()


QUIET = [
    pytest.param(one("y = Conv (x, w)", initializers=W), id="nothing said"),
    pytest.param(one('y = Conv <auto_pad = ""> (x, w)', initializers=W), id="an empty auto_pad"),
    pytest.param(
        one('y = Conv <auto_pad = "NOTSET", pads = [1, 1, 1, 1]> (x, w)', initializers=W),
        id="NOTSET beside pads",
    ),
    pytest.param(
        one(
            "y = Conv <pads = [1, 1, 1, 1]> (x, w)",
            inputs="float[A, B, H, V] x, float[C, D, 3, 3] w",
        ),
        id="no size known but the kernel's",
    ),
]


@pytest.mark.parametrize("before", QUIET)
def test_says_nothing(before: onnx.ModelProto) -> None:
    assert not onnxpad.check(before, ignore="PAD6").findings


def test_custom_operators_of_the_same_name_are_not_read() -> None:
    before = one('y = vendor.Conv <auto_pad = "SAME"> (x)')
    before.opset_import.append(onnx.helper.make_opsetid("vendor", 1))
    assert not decided(onnxpad.check(before, ignore="PAD6").findings)


def test_a_function_of_the_same_name_is_not_read() -> None:
    before = onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[1, 2, 9, 8] x) => (float[1, 2, 9, 8] y) { y = local.Pad (x) }
        <domain: "local", opset_import: ["" : 17]>
        Pad (a) => (b) { b = Relu (a) }
    """)
    onnx.checker.check_model(before)
    assert not onnxpad.check(before, ignore="PAD6").findings


def test_what_stands_beside_it_is_fixed() -> None:
    before = one(
        'a = Pad (x, p) y = Conv (a, w) z = Conv <auto_pad = "SAME"> (a, w)',
        outputs="float[] y, float[] z",
        initializers=f"{W}, {BORDER}",
    )
    after = one(
        'a = Pad (x, p) y = Conv <pads = [1, 1, 1, 1]> (x, w) z = Conv <auto_pad = "SAME"> (a, w)',
        outputs="float[] y, float[] z",
        initializers=f"{W}, {BORDER}",
    )
    result = fixed(before, runs=False)
    assert_graph(result.model, after)
    assert [f.code for f in decided(result.findings)] == ["PAD901"]


@each_row(
    "step",
    [
        's = Concat <axis = ["1"]> (r)',
        "s = Concat (r)",
        "s = Transpose <perm = 1> (r)",
        "s = LeakyRelu <alpha: float = @a> (r)",
        "s = Shape ()",
        "s = Relu (r, r)",
        "s = Mul (r, nothing)",
        "s, t, u = Dropout (r)",
        "nothing, s = Dropout (r)",
        "s = Conv <group = [1]> (r, w)",
    ],
    at_once=4,
)
def test_any_node_that_contradicts_its_schema_is_named(step: str) -> None:
    """Padding that has nothing to do with it is rewritten, and it is told as what it is."""
    before = one(
        f"r = Relu (x) {step} a = Pad (x, p) y = Conv (a, w)",
        outputs="float[] y, float[] s",
        initializers=f"{W}, {BORDER}",
    )
    node = before.graph.node[1]
    for names in (node.input, node.output):
        names[:] = [name if name != "nothing" else "" for name in names]
    result = onnxpad.fix(before, validate=False)
    assert [(change.code, change.op_type) for change in result.changes] == [("PAD201", "Conv")]
    (finding,) = result.findings
    assert (finding.code, finding.op_type) == ("PAD901", node.op_type)
    assert onnxpad.check(result.model, ignore="PAD6").findings == result.findings


DAMAGED = [
    pytest.param(
        one("y = Pad (x, p)", initializers="int64[6] p = {0, 0, 1, 1, 0, 0}"),
        id="amounts for another rank",
    ),
    pytest.param(
        one("y = Conv <strides = [0, 1]> (x, w)", initializers=W),
        id="a stride of 0",
    ),
    pytest.param(one("y = MaxPool (x)"), id="a pool without a kernel"),
    pytest.param(
        one("y = Conv <kernel_shape = [3, 5]> (x, w)", initializers=W),
        id="a kernel_shape that is not the weight's",
    ),
    pytest.param(
        one('y = LpPool <auto_pad = "VALID", kernel_shape = [3]> (x)'),
        id="a window over fewer axes than the data has",
    ),
    pytest.param(
        one('y = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1], value = "0"> (x)', opset=9),
        id="a value that is a text",
    ),
]


@each_row("before", DAMAGED, at_once=8)
def test_what_the_specification_forbids_is_an_error(before: onnx.ModelProto) -> None:
    for call in (onnxpad.check, onnxpad.fix):
        with pytest.raises(onnxpad.ModelError) as caught:
            call(before)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("domain", "opsets"),
    [("", {"": 9}), ("com.microsoft", {"": 17, "com.microsoft": 2})],
)
@pytest.mark.parametrize("padded", [False, True])
def test_an_operator_that_the_import_does_not_have(
    domain: str, opsets: dict[str, int], padded: bool
) -> None:
    """Nothing is offered that the proof would refuse."""
    model = one(
        f"y = {domain + '.' if domain else ''}QLinearConv "
        + ("" if padded else '<auto_pad = "SAME_UPPER"> ')
        + f"({'a' if padded else 'x'}, s, z, w, s, z, s, z)",
        inputs="uint8[1, 1, 9, 8] x",
        outputs="uint8[] y",
        initializers="float s = {1}, uint8 z = {0}, uint8[1, 1, 1, 2] w = {1, 2}, "
        "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}",
    )
    if padded:
        old = opsets[""] < 11
        pad = onnx.helper.make_node("Pad", ["x"] if old else ["x", "p", "z"], ["a"])
        if old:
            pad.attribute.append(onnx.helper.make_attribute("pads", [0, 0, 1, 1, 0, 0, 1, 1]))
        model.graph.node.insert(0, pad)
    del model.opset_import[:]
    model.opset_import.extend(starmap(onnx.helper.make_opsetid, opsets.items()))
    result = onnxpad.fix(model, validate=False)
    assert not result.changed
    assert not result.undone
    assert "PAD901" in {finding.code for finding in result.findings}
