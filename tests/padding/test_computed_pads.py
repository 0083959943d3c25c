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
from tests.support import W, decided, one, op_types, ran, run, session
from tests.support.rows import each_row, one_in

TIMM = {
    "timm_same_torchscript": ("height", "width"),
    "timm_same_dynamo": ("s53", "s0"),
}
UNET = {"unet_torchscript": ("height", "width"), "unet_dynamo": ("s73", "s6")}
KERAS = ("aspp_keras", "dynamic_keras")

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


def images(channels: int = 3, *, last: bool = False) -> list[tuple[int, ...]]:
    sizes = zip(HEIGHTS, WIDTHS, strict=True)
    return [(1, h, w, channels) if last else (1, channels, h, w) for h, w in sizes]


def attribute(model: onnx.ModelProto, name: str) -> list[Any]:
    return [
        onnx.helper.get_attribute_value(each)
        for node in model.graph.node
        for each in node.attribute
        if each.name == name and each.s != b"NOTSET"
    ]


# Exported models


@pytest.mark.parametrize("name", [*TIMM][:1])
def test_computed_same_becomes_the_attribute(name: str) -> None:
    before = original(name)
    result = onnxpad.fix(before, dynamic="auto-pad")
    assert not result.undone
    assert result.validation is not None
    assert result.validation.ok
    assert Counter(c.code for c in result.changes) == {"PAD501": 3, "PAD201": 1}
    assert {c.certificate.sizes for c in result.changes} == {"every size"}
    assert attribute(result.model, "auto_pad") == [b"SAME_UPPER"] * 3
    assert op_types(result.model).keys().isdisjoint({"Pad", "Shape", "Gather", "Cast", "Ceil"})
    assert agree(before, result.model, images()) == len(HEIGHTS)
    assert not onnxpad.fix(result.model, dynamic="auto-pad", validate=False).changed
    assert not onnxpad.check(result.model, dynamic="auto-pad").failing()


@pytest.mark.parametrize("name", TIMM)
def test_computed_same_is_constant_for_multiples(name: str) -> None:
    before = original(name)
    dims = dict.fromkeys(TIMM[name], "32..128:32")
    result = onnxpad.fix(before, dims=dims)
    assert not result.undone
    assert not result.findings
    assert result.validation is not None
    assert result.validation.ok
    assert op_types(result.model).keys().isdisjoint({"Pad", "Shape"})
    assert not attribute(result.model, "auto_pad")
    height, width = TIMM[name]
    sizes = Counter(change.certificate.sizes for change in result.changes)
    ranges = f"{height} 32..128 in steps of 32, {width} 32..128 in steps of 32"
    assert sizes == {ranges: 3, "every size": 1}
    shapes = [(1, 3, h, w) for h, w in ((32, 32), (32, 96), (64, 128), (128, 64))]
    assert agree(before, result.model, shapes) == 4


@pytest.mark.parametrize("name", UNET)
def test_padding_to_a_skip_connection_stays_unless_it_is_nothing(name: str) -> None:
    before = original(name)
    kept = onnxpad.fix(before)
    assert not kept.changed
    assert [f.code for f in kept.findings] == ["PAD205", "PAD205"]
    for finding in kept.findings:
        assert "--shape" in finding.reason
    result = onnxpad.fix(before, dims=dict.fromkeys(UNET[name], "4..64:4"))
    assert [c.code for c in result.changes] == ["PAD204", "PAD204"]
    assert not result.findings
    assert "Pad" not in op_types(result.model)
    shapes = [(1, 3, h, w) for h, w in ((4, 4), (4, 12), (16, 8), (64, 36))]
    assert agree(before, result.model, shapes) == 4


SETTLED: list[tuple[str, Mapping[str, int], list[str], list[tuple[int, ...]], int]] = [
    # Model, what is changed, the codes of what stays, shapes, at how many of which it runs.
    (
        "codec_torchscript",
        {"PAD201": 9, "PAD402": 3},
        [],
        [(1, 1, n) for n in (*range(1, 45), 331)],
        45,
    ),
    ("windows_torchscript", {"PAD201": 1}, ["PAD205"] * 3, images(), 16),
    ("windows_dynamo", {"PAD201": 1}, ["PAD205"] * 3, images(), 16),
    ("detector_torchscript", {"PAD201": 1}, ["PAD205"], images(), 16),
    (
        "unet_keras",
        {"PAD101": 7, "PAD204": 2, "PAD402": 2},
        [],
        [(1, h, w, 3) for h, w in ((4, 4), (8, 20), (6, 8), (8, 7), (36, 12))],
        3,
    ),
]
NAMES = [each[0] for each in SETTLED]


@pytest.mark.parametrize(("name", "changes", "stays", "shapes", "runs"), SETTLED, ids=NAMES)
@pytest.mark.parametrize("dynamic", one_in(2, [("pad",), ("keep",)]))
def test_what_is_constant_in_effect_is_written_so(
    name: str,
    changes: Mapping[str, int],
    stays: list[str],
    shapes: list[tuple[int, ...]],
    runs: int,
    dynamic: str,
) -> None:
    before = original(name)
    result = onnxpad.fix(before, dynamic=dynamic, validate=False)
    assert not result.undone
    assert Counter(c.code for c in result.changes) == changes
    assert [f.code for f in result.findings] == stays
    assert all("the begin is " in f.reason for f in result.findings)
    assert agree(before, result.model, shapes) == runs
    assert not onnxpad.check(result.model, dynamic=dynamic).failing()


@pytest.mark.parametrize("name", KERAS)
@pytest.mark.parametrize("size", [(37, 50), (2, 3)])
def test_a_fixed_size_settles_everything(name: str, size: tuple[int, int]) -> None:
    before = original(name)
    result = onnxpad.fix(before, shapes={"": (1, *size, 3)})
    assert not result.undone
    assert not decided(result.findings)
    assert result.validation is not None
    assert result.validation.ok
    assert not attribute(result.model, "auto_pad")
    held = {tensor.name for tensor in result.model.graph.initializer}
    pads = [node for node in result.model.graph.node if node.op_type == "Pad"]
    assert all(node.input[1] in held for node in pads)
    assert agree(before, result.model, [(1, *size, 3)]) == 1


@pytest.mark.parametrize("name", [*KERAS, "deconv_paddle", *TIMM])
def test_a_computed_pad_is_the_same_at_every_size(name: str) -> None:
    before = original(name)
    result = onnxpad.fix(before, dynamic="pad", validate=False)
    assert not result.undone
    assert agree(before, result.model, images(last=name in KERAS)) == len(HEIGHTS)
    assert not onnxpad.fix(result.model, dynamic="pad", validate=False).changed


# SAME as a computed Pad


def conv(attributes: str, *, kernel: int, opset: int) -> onnx.ModelProto:
    values = ", ".join(str(i % 7 - 3) for i in range(2 * kernel * kernel))
    return one(
        f"y = Conv <{attributes}> (x, w)",
        inputs="float[N, 2, H, V] x",
        initializers=f"float[1, 2, {kernel}, {kernel}] w = {{{values}}}",
        opset=opset,
    )


def pool(attributes: str, *, kernel: int, opset: int) -> onnx.ModelProto:
    return one(
        f"y = MaxPool <{attributes}, kernel_shape = [{kernel}, {kernel}]> (x)",
        inputs="float[N, 2, H, V] x",
        opset=opset,
    )


@pytest.mark.parametrize(
    ("side", "opset"), [("SAME_UPPER", 11), ("SAME_LOWER", 15), ("SAME_LOWER", 18)]
)
@pytest.mark.parametrize(
    ("make", "kernel", "strides"),
    [(conv, 3, (2, 2)), (conv, 5, (4, 3)), (conv, 1, (3, 3)), (pool, 3, (2, 3))],
)
def test_dynamic_pad(
    make: Any, kernel: int, strides: tuple[int, int], side: str, opset: int
) -> None:
    attributes = f'auto_pad = "{side}", strides = [{strides[0]}, {strides[1]}]'
    before = make(attributes, kernel=kernel, opset=opset)
    result = onnxpad.fix(before, dynamic="pad", validate=opset == 18)
    assert not result.undone
    (change,) = result.changes
    assert change.code == "PAD101"
    assert not attribute(result.model, "auto_pad")
    assert agree(before, result.model, images(2)) == len(HEIGHTS)
    assert not onnxpad.fix(result.model, dynamic="pad", validate=False).changed


def test_dilated_same_runs_as_a_computed_pad() -> None:
    dilated = 'auto_pad = "SAME_UPPER", strides = [2, 2], dilations = [3, 2]'
    result = onnxpad.fix(conv(dilated, kernel=3, opset=17), dynamic="pad")
    assert [c.code for c in result.changes] == ["PAD101"]
    data = np.random.default_rng(0).integers(-8, 9, (1, 2, 9, 8)).astype(np.float32)
    fixed = conv("pads = [3, 1, 3, 2], strides = [2, 2], dilations = [3, 2]", kernel=3, opset=17)
    (found,), (expected,) = (run(m, {"x": data}) for m in (result.model, fixed))
    np.testing.assert_array_equal(found, expected)


SLIDES = "float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[1, 1, 2, 2] v = {1, 2, 3, 4}"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("a = {same} (x, w) b = {same} (x, w)", id="one tensor"),
        pytest.param("a = {same} (x, w) b = {lower} (x, w)", id="sides"),
        pytest.param("a = {same} (x, w) b = {wide} (x, v)", id="one extent"),
        pytest.param(
            "r = Slice (x, one, many, two) a = {same} (x, w) c = {same} (r, w)"
            " d = GlobalAveragePool (c) b = Add (a, d)",
            id="another size",
        ),
    ],
)
@pytest.mark.parametrize("opset", one_in(2, [(11,), (18,)]))
def test_operators_in_one_graph_compute_their_own_amounts(body: str, opset: int) -> None:
    kinds = {
        "same": 'Conv <auto_pad = "SAME_UPPER", strides = [3, 3]>',
        "lower": 'Conv <auto_pad = "SAME_LOWER", strides = [3, 3]>',
        "wide": 'Conv <auto_pad = "SAME_UPPER", strides = [3, 3], dilations = [2, 2]>',
    }
    before = one(
        f"{body.format(**kinds)} y = Add (a, b)",
        inputs="float[N, 1, H, V] x",
        initializers=SLIDES + ", int64[1] one = {1}, int64[1] two = {2}, int64[1] many = {99}",
        opset=opset,
    )
    result = onnxpad.fix(before, dynamic="pad", validate=opset == 18)
    assert op_types(result.model)["Pad"] == 2
    assert {change.certificate.sizes for change in result.changes} == {"every size"}
    there = {value.name for value in (*result.model.graph.input, *result.model.graph.initializer)}
    for node in result.model.graph.node:
        assert there.issuperset(node.input)
        there.update(node.output)
    if "wide" not in body:  # which onnxruntime refuses as it was
        assert agree(before, result.model, images(1)) >= len(HEIGHTS) - 2  # one has an empty axis


@pytest.mark.parametrize(
    "node",
    [
        'AveragePool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (x)',
        'LpPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (x)',
    ],
)
def test_what_stays_says_what_helps(node: str) -> None:
    result = onnxpad.fix(one(f"y = {node}", inputs="float[N, 2, 8, V] x"))
    (finding,) = result.findings
    assert "'V'" in finding.reason


# Computed pads that are constant in effect, or nearly

NUMBERS = "int64 one = {1}, int64 two = {2}, int64 four = {4}, int64[2] none = {0, 0}"
TO_FOUR = (
    "s = Shape <start = 2> (x) n = Neg (s) e = Mod (n, four) z = Sub (e, e)"
    " q = Concat <axis = 0> (none, z, none, e) p = Pad (x, q)"
)
NEARLY = (
    "s = Shape <start = 2> (x) h = Div (s, two) e = Min (h, two) z = Sub (e, e)"
    " q = Concat <axis = 0> (none, z, none, e) p = Pad (x, q)"
)


def padded(pad: str, strides: int, kernel: int) -> onnx.ModelProto:
    values = ", ".join(str(i % 7 - 3) for i in range(kernel * kernel))
    return one(
        f"{pad} y = Conv <strides = [{strides}, {strides}]> (p, w)",
        inputs="float[N, 1, H, V] x",
        initializers=f"{NUMBERS}, float[1, 1, {kernel}, {kernel}] w = {{{values}}}",
    )


def test_a_pad_to_a_multiple_folds_where_what_is_read_is_constant() -> None:
    before = padded(TO_FOUR, 4, 4)
    result = onnxpad.fix(before)
    assert [c.after for c in result.changes] == ["Conv H 0+3, W 0+3, pads [0, 0, 3, 3]"]
    assert agree(before, result.model, images(1)) == len(HEIGHTS)


def test_a_pad_to_a_multiple_stays_where_it_is_not() -> None:
    result = onnxpad.fix(padded(TO_FOUR, 1, 1))
    assert not result.changed
    (finding,) = result.findings
    assert "'H'" in finding.reason


def test_a_value_that_only_run_time_knows_is_no_padding_of_same() -> None:
    before = one(
        "s = Shape <start = 2> (x) m = Neg (s) e = Mod (m, two)"
        " q = Concat <axis = 0> (none, e, none, zero) p = Pad (x, q, v)"
        " y = MaxPool <kernel_shape = [2], strides = [2]> (p)",
        inputs="float[1, 1, L] x, float v",
        initializers="int64[1] two = {2}, int64[1] zero = {0}, int64[2] none = {0, 0}",
    )
    for dynamic in ("keep", "auto-pad"):
        result = onnxpad.fix(before, dynamic=dynamic)
        assert not result.changed
        assert "size-dependent" in {finding.reason_code for finding in result.findings}


def test_a_pool_of_what_may_be_empty_stops_either_way() -> None:
    """The Slice may leave nothing, and nothing is padded then."""
    before = one(
        "a = Slice (x, two, last, two) s = Shape <start = 2> (a) m = Neg (s) e = Mod (m, two)"
        " q = Concat <axis = 0> (none, e, none, zero) p = Pad (a, q)"
        " y = AveragePool <kernel_shape = [2], strides = [2]> (p)",
        inputs="float[1, 1, L] x",
        outputs="float[] y, float[] a",
        initializers="int64[1] last = {99}, int64[1] two = {2}, int64[1] zero = {0},"
        " int64[2] none = {0, 0}",
    )
    result = onnxpad.fix(before, dynamic="auto-pad")
    assert not result.undone
    assert [change.code for change in result.changes] == ["PAD501"]


GIVEN: list[tuple[Mapping[str, str], int]] = [
    ({}, 0),
    ({"H": "4..99"}, 0),
    ({"H": "3..99", "V": "4..99"}, 0),
    ({"H": "4..99", "V": "5..99"}, 1),
]


@pytest.mark.parametrize(("dims", "changes"), GIVEN)
def test_a_pad_that_is_constant_but_at_small_sizes(dims: Mapping[str, str], changes: int) -> None:
    before = padded(NEARLY, 1, 3)
    result = onnxpad.fix(before, dims=dims)
    assert not result.undone
    assert [c.after for c in result.changes] == ["Conv H 0+2, W 0+2, pads [0, 0, 2, 2]"] * changes
    if changes:
        assert agree(before, result.model, images(1)[4:]) == len(HEIGHTS) - 4


def framed(data: str, place: int) -> str:
    """As EnCodec pads in front of each convolution: what the last frame lacks, in floats."""
    text = (
        "s# = Shape <start = 2> (data) f# = Cast <to = 1> (s#) o# = Sub (f#, unit)"
        " q# = Div (o#, unit) m# = Add (q#, unit) c# = Ceil (m#) i# = Cast <to = 7> (c#)"
        " e# = Sub (i#, s#) a# = Concat <axis = 0> (zero, zero, one, zero, zero, e#)"
        " p# = Pad (data, a#)"
    )
    return text.replace("#", str(place)).replace("data", data)


DECODER = one(
    f"{framed('x', 0)} y0 = Conv (p0, v) u0 = ConvTranspose <strides = [40]> (y0, w)"
    f" {framed('u0', 1)} y1 = Conv (p1, v) u1 = ConvTranspose <strides = [8]> (y1, w)"
    f" {framed('u1', 2)} y = Conv (p2, v)",
    inputs="float[1, 1, length] x",
    initializers="float[1, 1, 2] v = {2, -1}, float[1, 1, 8] w = {1, 2, 3, 4, 5, 6, 7, 8},"
    " float[1] unit = {1}, int64[1] zero = {0}, int64[1] one = {1}",
)


def test_pads_of_a_decoder_are_known_while_float32_counts() -> None:
    asked = onnxpad.fix(DECODER, validate=False)
    assert {each.reason_code for each in asked.findings} == {Reason.NOT_WORKED_OUT}
    result = onnxpad.fix(DECODER, dims={"length": "1..50000"})
    assert not result.undone
    assert not result.findings
    assert [change.after for change in result.changes] == ["Conv L 1+0, pads [1, 0]"] * 3
    assert result.validation is not None
    assert result.validation.ok
    assert agree(DECODER, result.model, [(1, 1, length) for length in (1, 2, 3, 50)]) == 4
    assert not onnxpad.check(result.model).failing()


@pytest.mark.parametrize(
    ("name", "asked"), [("timm_same_dynamo", "--dynamic pad"), ("unet_dynamo", "")]
)
def test_computed_amounts_are_asked_for_only_in_place_of_auto_pad(name: str, asked: str) -> None:
    found = onnxpad.fix(original(name), dynamic="pad", validate=False).findings
    assert {each.asked for each in found} == {asked}


@pytest.mark.parametrize("name", [*TIMM, *UNET])
def test_a_computed_pad_is_told_of_once(name: str) -> None:
    findings = onnxpad.fix(original(name), validate=False).findings
    assert {finding.code for finding in findings} == {"PAD501" if name in TIMM else "PAD205"}
    assert len({finding.node for finding in findings}) == len(findings)


PARITY = "the begin is (n mod 2) and the end {}, where n is the size it reads"


@each_row(
    ("operator", "opset"),
    [
        ("y = Conv <kernel_shape = {}> (x, w)", 17),
        ("y = Conv <kernel_shape = {}> (x, w)", 10),
        ("y = LpPool <p = 1, kernel_shape = {}> (x)", 17),
        ("y = AveragePool <kernel_shape = {}> (x)", 17),
        ("y = AveragePool <count_include_pad = 1, kernel_shape = {}> (x)", 17),
        (
            "y = ConvInteger <kernel_shape = {}> (q, k, z)",
            17,
        ),
        ("y = ConvInteger <kernel_shape = {}> (q, k)", 17),
        (
            "y, i = MaxPool <kernel_shape = {}> (x)",
            17,
        ),
        ("y = MaxPool <kernel_shape = {}> (x)", 17),
    ],
    at_once=4,
)
@pytest.mark.parametrize(("side", "kernel", "end"), [("UPPER", 3, "1"), ("LOWER", 2, "0")])
def test_why_no_pad_computes_it(
    operator: str, opset: int, side: str, kernel: int, end: str
) -> None:
    """The formula has the odd element at the side that `auto_pad` says."""
    body = operator.format(f'[{kernel}, {kernel}], auto_pad = "SAME_{side}", strides = [2, 2]')
    taps = f"[3, 2, {kernel}, {kernel}]", ", ".join(["1"] * (6 * kernel**2))
    model = one(
        body,
        inputs="float[1, 2, n, 8] x, uint8[1, 2, n, 8] q, uint8 z",
        outputs=f"{'int32' if 'Integer' in body else 'float'}[] y",
        initializers="float{0} w = {{{1}}}, uint8{0} k = {{{1}}}".format(*taps),
        opset=opset,
    )
    (finding,) = onnxpad.check(model, ignore="PAD6").findings
    assert PARITY.format(end) in finding.reason


def test_a_body_that_declares_its_input_wrongly_computes_no_amounts() -> None:
    """onnxruntime folds a Shape to what is declared, and enforces none of that in a body."""
    body = (
        "b (int64 i, bool k, float[1, 2, 9, 5] s) => (bool o, float[] t, float[] c) {"
        " o = Identity (k) t = Identity (s)"
        ' c = Conv <auto_pad = "SAME_UPPER", strides = [1, 2]> (s, w) }'
    )
    model = one(
        f"z, y = Loop (m, , x) <body = {body}>",
        inputs="float[1, 2, 9, n] x",
        initializers=f"{W}, int64 m = {{1}}",
    )
    result = onnxpad.fix(model, dynamic="pad")
    assert not result.changed
    (finding,) = [each for each in result.findings if each.code == "PAD101"]
    assert finding.evidence["no_pad"] == Reason.WRONG_DECLARATION
