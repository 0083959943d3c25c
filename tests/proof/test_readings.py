"""What the proof reads of a node: every attribute and default of windows and `Pad`s, or why not."""

from functools import cache

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.graph import Graph, Node
from onnxpad.proof.certify import Certifier
from onnxpad.proof.meaning import MeaninglessError, meaning_of, padding_of
from tests.support import one
from tests.support.rows import each_row

ONES = ", ".join(["1"] * 90)
GIVEN = f"""
    int64[8] p = {{0, 0, 1, -2, 0, 0, 3, 4}}, int64[3] odd = {{1, 2, 3}},
    int64[4] few = {{1, 2, 3, 4}}, int64[2] two = {{2, 3}}, int64[2] same = {{2, -2}},
    int64[2] far = {{2, 4}}, int64[2] back = {{-1, -4}}, int64[2] before = {{-5, 0}},
    int64[2] long = {{0, 2147483648}}, int64[2] most = {{0, 2147483647}},
    int64[1, 4] row = {{0, 1, 1, 1}}, int64[4, 1] column = {{0, 1, 1, 1}},
    int64[1, 1, 4] cube = {{0, 1, 1, 1}}, int64[2, 1, 2] stack = {{0, 1, 1, 1}},
    int32[2] two32 = {{2, 3}}, float[2] real = {{2, 3}}, float v = {{1.5}}, float minus = {{-0.0}},
    float[2] vs = {{1, 2}}, double d = {{1}}, int32[4] few32 = {{0, 0, 0, 0}}, uint8 z = {{7}},
    uint8[1] z1 = {{7}},
    uint8[2] z2 = {{7, 7}}, int8 zi = {{7}}, float[3, 2, 3, 5] w = {{{ONES}}},
    uint8[3, 2, 3, 5] k = {{{ONES}}}, float[2, 3, 3, 5] t = {{{ONES}}},
    float[3] bias = {{2, 2, 2}}, float[3] biases = {{1, 2, 3}}, float[3] below = {{-0.0, 0.0, -0.0}}
"""


@cache
def node_of(body: str, opset: int, dtype: str) -> tuple[Graph, Analysis, Node]:
    """A graph of one node, its analysis, and the node."""
    inputs = f"{dtype}[1, 2, 9, 8] x, {dtype} u, float[3, 2, a, 5] open, int64[4] q, "
    inputs += "float[] free, uint8[3, 2, b, 5] half, uint8[] some, uint8 zero, uint8[1] zeros, "
    inputs += "float[1, 2, n, 8] wide, float[1, 2, 9] row3"
    graph = Graph.from_proto(one(f"y = {body}", inputs=inputs, initializers=GIVEN, opset=opset))
    (node,) = graph.nodes
    return graph, Analysis(graph), node


def pairs(amounts: object) -> str:
    return " ".join(f"{begin}+{end}" for begin, end in amounts)  # type: ignore[attr-defined]


def pad_said(body: str, opset: int) -> str:
    """What is read of a `Pad`, without what is usual; amounts over 4 and over 3 axes."""
    try:
        read = padding_of(*node_of(body, opset, "float"))
    except MeaninglessError:
        return "refused"
    words = [
        read.mode if read.mode != "constant" else "",
        "unknown" if read.amounts is None else pairs(read.amounts),
        "" if read.axes is None else f"of {read.axes}",
        "" if read.axes_known else "of some axes",
        f"with {read.value}" if read.filler else "",
        "plain" if read.is_plain else "",
    ]
    over = [None if (full := read.over(rank)) is None else pairs(full) for rank in (4, 3)]
    return "; ".join([" ".join(filter(None, words)), *(full for full in over if full)])


def window_said(body: str, opset: int) -> str:
    """What is read of a window operator, without what is usual."""
    dtype = "uint8" if any(each in body for each in ("Integer", "Nhwc", "QLinear")) else "float"
    try:
        slide = meaning_of(*node_of(body, opset, dtype))
    except MeaninglessError:
        return "refused"
    words = [
        " ".join("/".join(map(str, axis)) for axis in slide.axes),
        "" if (slide.before, slide.after) == (2, 0) else f"{slide.before} before {slide.after}",
        "" if slide.auto_pad == "NOTSET" else slide.auto_pad,
        pairs(slide.pads) if slide.pads_written else "",
        "rounds up" if slide.ceil_mode else "",
        "counts" if slide.counts else "",
        str(slide.own),
        "indices" if slide.has_indices else "",
        str(dict(slide.others)) if slide.others else "",
        f"version {slide.version}",
    ]
    return ", ".join(filter(None, words))


PADS: list[tuple[str, int, str]] = [
    ("Pad (x, p)", 17, "0+0 0+0 1+3 -2+4; 0+0 0+0 1+3 -2+4"),
    ("Pad (x, p, v)", 17, "0+0 0+0 1+3 -2+4 with 1.5; 0+0 0+0 1+3 -2+4"),
    ("Pad (x, p, minus)", 17, "0+0 0+0 1+3 -2+4 with -0.0; 0+0 0+0 1+3 -2+4"),
    ("Pad (x, p, u)", 17, "0+0 0+0 1+3 -2+4 with None; 0+0 0+0 1+3 -2+4"),
    ("Pad (x, p, vs)", 17, "0+0 0+0 1+3 -2+4 with None; 0+0 0+0 1+3 -2+4"),
    ("Pad (x, p, d)", 17, "refused"),
    ("Pad (x, q)", 17, "unknown"),
    ("Pad (x, odd)", 17, "refused"),
    ("Pad (x, few)", 17, "1+3 2+4 plain"),
    ("Pad (x, few, , two)", 18, "1+3 2+4 of (2, 3) plain; 0+0 0+0 1+3 2+4"),
    ("Pad (x, few, , two32)", 18, "1+3 2+4 of (2, 3) plain; 0+0 0+0 1+3 2+4"),
    ("Pad (x, few, , real)", 18, "refused"),
    ("Pad (x, few, , same)", 18, "1+3 2+4 of (2, -2) plain; 0+0 2+4 1+3"),
    ("Pad (x, few, , far)", 18, "1+3 2+4 of (2, 4) plain"),
    ("Pad (x, few, , back)", 18, "1+3 2+4 of (-1, -4) plain; 2+4 0+0 0+0 1+3"),
    ("Pad (x, few, , before)", 18, "1+3 2+4 of (-5, 0) plain"),
    ("Pad (x, p, , two)", 18, "refused"),
    ("Pad (x, q, , two)", 18, "unknown of (2, 3)"),
    ("Pad (x, few, , q)", 18, "1+3 2+4 of some axes plain"),
    ("Pad (x, few32)", 17, "refused"),
    ("Pad (x, row)", 17, "0+1 1+1 plain"),
    ("Pad (x, column)", 17, "refused"),
    ("Pad (x, long)", 17, "refused"),
    ("Pad (x, most)", 17, "0+2147483647 plain"),
    ('Pad <mode = "edge"> (x, few)', 17, "edge 1+3 2+4 plain"),
    ('Pad <mode = "wrap"> (x, few)', 18, "wrap 1+3 2+4 plain"),
    ('Pad <mode = "reflect"> (x, few)', 11, "reflect 1+3 2+4 plain"),
    ('Pad <mode = "mirror"> (x, p)', 17, "refused"),
    ("Pad <pads = [0, 1, 1, 2]> (x)", 10, "0+1 1+2 plain"),
    ("Pad <pads = [0, 1, 1, 2], value = 2.5> (x)", 2, "0+1 1+2 plain"),
    ("Pad <pads = [-1, 1, 1, 2]> (x)", 10, "-1+1 1+2"),
    ("Pad <paddings = [0, 1, 1, 2]> (x)", 1, "0+1 1+2 plain"),
    ("Pad <pads = [0, 1, 1, 2]> (x)", 1, "refused"),
    ("Pad (x)", 10, "refused"),
    ("Pad (x)", 11, "refused"),
    ("Pad <value = 1> (x)", 10, "refused"),
]


WINDOWS: list[tuple[str, int, str]] = [
    ("Conv (x, w)", 17, "3/1/1 5/1/1, 0, version 11"),
    ("Conv (x, w)", 22, "3/1/1 5/1/1, 0, version 22"),
    (
        "Conv <strides = [2, 3], dilations = [1, 2], pads = [1, 2, 3, 4], group = 1> (x, w)",
        17,
        "3/2/1 5/3/2, 1+3 2+4, 0, {'group': 1}, version 11",
    ),
    (
        "Conv <kernel_shape = [3, 4]> (x, w)",
        17,
        "refused",
    ),
    ("Conv <kernel_shape = [3]> (x, w)", 17, "refused"),
    ("Conv (x, open)", 17, "a/1/1 5/1/1, 0, version 11"),
    ("Conv <kernel_shape = [3, 5]> (x, open)", 17, "3/1/1 5/1/1, 0, version 11"),
    (
        "Conv <kernel_shape = [3, 4]> (x, open)",
        17,
        "refused",
    ),
    ("Conv (x)", 17, "refused"),
    ("Conv (x, w, u, u)", 17, "refused"),
    ("MaxPool <kernel_shape = [3, 2]> (x)", 1, "3/1/1 2/1/1, least, version 1"),
    (
        "MaxPool <kernel_shape = [3, 2], ceil_mode = 1> (x)",
        10,
        "3/1/1 2/1/1, rounds up, least, version 10",
    ),
    (
        "MaxPool <kernel_shape = [3, 2], ceil_mode = 1> (x)",
        9,
        "refused",
    ),
    (
        "MaxPool <kernel_shape = [3, 2], storage_order = 1> (x)",
        17,
        "3/1/1 2/1/1, least, {'storage_order': 1}, version 12",
    ),
    (
        "MaxPool <kernel_shape = [3, 2], strides = [1]> (x)",
        17,
        "refused",
    ),
    (
        "MaxPool <kernel_shape = [0, 2]> (x)",
        17,
        "refused",
    ),
    (
        "MaxPool <kernel_shape = [1, 2], pads = [0, 0, 0, 2147483647]> (x)",
        17,
        "1/1/1 2/1/1, 0+0 0+2147483647, least, version 12",
    ),
    (
        "MaxPool <kernel_shape = [1, 2], pads = [0, 0, 0, 2147483648]> (x)",
        17,
        "refused",
    ),
    (
        'MaxPool <kernel_shape = [3, 2], auto_pad = "SAME_LOWER"> (x)',
        17,
        "3/1/1 2/1/1, SAME_LOWER, least, version 12",
    ),
    (
        'MaxPool <kernel_shape = [3, 2], auto_pad = "VALID"> (x)',
        17,
        "3/1/1 2/1/1, VALID, least, version 12",
    ),
    (
        "MaxPool <kernel_shape = [3, 2], auto_pad = 1> (x)",
        17,
        "refused",
    ),
    ("AveragePool <kernel_shape = [3, 2]> (x)", 17, "3/1/1 2/1/1, excluded, version 11"),
    (
        "AveragePool <kernel_shape = [3, 2], count_include_pad = 1> (x)",
        17,
        "3/1/1 2/1/1, counts, 0, version 11",
    ),
    (
        "AveragePool <kernel_shape = [3, 2], count_include_pad = 1> (x)",
        6,
        "refused",
    ),
    ("LpPool <kernel_shape = [3, 2], p = 1> (x)", 17, "3/1/1 2/1/1, 0, {'p': 1}, version 11"),
    (
        "LpPool <kernel_shape = [3, 2], p = 0> (x)",
        17,
        "refused",
    ),
    ("LpPool <kernel_shape = [3, 2], p = 0.5> (x)", 1, "3/1/1 2/1/1, 0, {'p': 0.5}, version 1"),
    ("LpPool <kernel_shape = [3, 2]> (x)", 17, "3/1/1 2/1/1, 0, version 11"),
    ("ConvInteger (x, k, z)", 17, "3/1/1 5/1/1, 7, version 10"),
    ("ConvInteger (x, k, z1)", 17, "3/1/1 5/1/1, 7, version 10"),
    ("ConvInteger (x, k, z2)", 17, "3/1/1 5/1/1, the value of 'z2', version 10"),
    ("ConvInteger (x, k, u)", 17, "3/1/1 5/1/1, the value of 'u', version 10"),
    ("ConvInteger (x, k, zi)", 17, "refused"),
    ("ConvInteger (x, k)", 17, "3/1/1 5/1/1, 0, version 10"),
    ("ConvInteger (x, k)", 9, "refused"),
    (
        "com.microsoft.NhwcMaxPool <kernel_shape = [3, 2]> (x)",
        17,
        "3/1/1 2/1/1, 1 before 1, least, version 1",
    ),
    (
        "com.microsoft.NhwcMaxPool <kernel_shape = [3, 2]> (x, z)",
        17,
        "refused",
    ),
    (
        "com.microsoft.QLinearAveragePool <kernel_shape=[3,2], channels_last = 0> (x, v, z, v, z)",
        17,
        "3/1/1 2/1/1, excluded, {'channels_last': 0}, version 1",
    ),
    (
        "com.microsoft.QLinearAveragePool <kernel_shape=[3,2], channels_last = 1> (x, v, z, v, z)",
        17,
        "3/1/1 2/1/1, 1 before 1, excluded, {'channels_last': 1}, version 1",
    ),
    (
        "com.microsoft.QLinearAveragePool <kernel_shape=[3,2], channels_last = 2> (x, v, z, v, z)",
        17,
        "refused",
    ),
    (
        "com.microsoft.QLinearAveragePool <kernel_shape=[3,2], count_include_pad=1> (x, v, z, v)",
        17,
        "3/1/1 2/1/1, counts, 7, version 1",
    ),
    (
        'com.microsoft.FusedConv <activation = "Relu"> (x, w)',
        17,
        "3/1/1 5/1/1, 0, {'activation': 'Relu'}, version 1",
    ),
    (
        "com.microsoft.FusedConv <other = 1> (x, w)",
        17,
        "refused",
    ),
]


@each_row(("body", "opset", "expected"), PADS, at_once=8)
def test_a_pad(body: str, opset: int, expected: str) -> None:
    assert pad_said(body, opset) == expected


@each_row(("body", "opset", "expected"), WINDOWS)
def test_a_window(body: str, opset: int, expected: str) -> None:
    assert window_said(body, opset) == expected


def layer_said(nodes: str, opset: int = 17) -> str:
    """The layer of the `Pad` that writes `y`; what it pads may be written by one that is `a`."""
    inputs = "float[1, 2, h, 8] x, float u, float[?] r"
    proto = one(nodes, inputs=inputs, initializers=f"{GIVEN}, {CROPS}", opset=opset)
    graph = Graph.from_proto(proto)
    analysis = Analysis(graph)
    node = graph.producer(graph.tensor("y"))
    assert node is not None
    certifier = Certifier(graph, analysis, Signs(graph, analysis))
    layer = certifier.layer_of(padding_of(graph, analysis, node))
    return "none" if layer is None else f"{pairs(layer.amounts)} of {layer.fill}"


CROPS = """
    int64[8] pads = {0, 0, 1, 1, 0, 0, 0, 1}, int64[8] line = {0, 0, 0, 0, 0, 0, 0, -8},
    int64[8] all = {0, 0, 0, -1, 0, 0, 0, -8}, int64[8] both = {0, 0, 0, 3, 0, 0, 0, -8},
    int64[8] open = {0, 0, -1, 0, 0, 0, 0, 0}, int64[8] ends = {0, 0, -1, 0, 0, 0, -1, 0},
    int64[8] mixed = {0, 0, 2, 0, 0, 0, -1, 0}, int64[2] one1 = {-1, 0}, int64[2] add = {0, 2},
    int64[2] gone = {-4, 0}
"""


@each_row(
    ("nodes", "expected"),
    [
        ("y = Pad (x, pads)", "0+0 0+0 1+0 1+1 of 0"),
        ("y = Pad (x, pads, v)", "0+0 0+0 1+0 1+1 of 1.5"),
        ("y = Pad (x, pads, minus)", "0+0 0+0 1+0 1+1 of -0"),
        ("y = Pad (x, pads, u)", "none"),
        ('y = Pad <mode = "edge"> (x, pads)', "none"),
        ("y = Pad (x, line, u)", "0+0 0+0 0+0 0+-8 of 0"),
        ("y = Pad (x, line, v)", "0+0 0+0 0+0 0+-8 of 1.5"),
        ("y = Pad (x, all)", "none"),
        ("y = Pad (x, both, v)", "0+0 0+0 0+0 3+-8 of 1.5"),
        ("y = Pad (x, both, u)", "none"),
        ("y = Pad (x, open)", "0+0 0+0 -1+0 0+0 of 0"),
        ("y = Pad (x, ends)", "none"),
        ("y = Pad (x, mixed)", "0+0 0+0 2+-1 0+0 of 0"),
        ("a = Pad (x, pads) y = Pad (a, ends)", "0+0 0+0 -1+-1 0+0 of 0"),
        ("y = Pad (r, one1)", "-1+0 of 0"),
        ("a = Pad (r, add) y = Pad (a, one1)", "-1+0 of 0"),
        ("a = Pad (r, add) y = Pad (a, gone)", "none"),
        ("a = Pad (r, one1) y = Pad (a, one1)", "none"),
        ("a = Pad (r, add, u) y = Pad (a, one1)", "-1+0 of 0"),
    ],
    at_once=8,
)
def test_the_layer_of_a_pad(nodes: str, expected: str) -> None:
    """A crop must be known not to be longer than its data, and an unknown fill not to be seen."""

    assert layer_said(nodes) == expected
