"""What the optimiser may fold or fuse, asked of the predictions themselves: a graph a row."""

from collections.abc import Sequence

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.graph import Graph
from onnxpad.padding.site import Sites
from onnxpad.runtimes.onnxruntime.neighbours import Neighbours
from onnxpad.runtimes.onnxruntime.pad_fusion import Fusion, lies
from tests.support import one, parsed
from tests.support.rows import each_row

PADS = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] deep = {0, 1, 0, 0, 0, 0, 0, 0}"
GIVEN = (
    f"{PADS}, float zero = {{0}}, float one = {{1}}, float[1] none = {{-inf}}, bool yes = {{1}},"
    " int64[8] empty = {0, 0, 0, 0, 0, 0, 0, 0}, int64[8] crop = {0, 0, -1, 0, 0, 0, 0, 0},"
    " float nil = {0}, int64[4] two = {1, 1, 1, 1}, int64[2] at = {2, 3}, float[3, 3, 2, 2] w = {"
    + ", ".join("1" * 36)
    + "}, int64[4] ones = {1, 1, 1, 1}"
)
INPUTS = "float[1, 3, 8, 8] x, float[1, 3, 10, 10] z, float s, bool f, int64[8] given"
POOL = "MaxPool <kernel_shape = [3, 3]>"


def predicted(body: str, opset: int = 17) -> tuple[Graph, Analysis, Fusion]:
    graph = Graph.from_proto(one(body, inputs=INPUTS, initializers=GIVEN, opset=opset))
    analysis = Analysis(graph)
    return graph, analysis, Sites(graph, analysis, Signs(graph, analysis)).fusion


def pads_before(body: str, opset: int = 17) -> tuple[str, str, str]:
    """The Pads that may be folded rightly, those that may wrongly, and those that are for sure."""
    graph, _, fusion = predicted(body, opset)
    told: dict[bool, list[str]] = {False: [], True: []}
    for each in fusion.judged(fusion._may_take):
        told[bool(each.why)].append(f"{each.pad.node.outputs[0].name}>{each.window.op}")
    assert len(fusion.exposed()) == len(told[True])
    taken = [pad.outputs[0].name for node in graph.nodes if (pad := fusion.takes(node)) is not None]
    return " ".join(told[False]), " ".join(told[True]), " ".join(taken)


ROWS = [
    ("a = Pad (x, p) y = Conv (a, w)", "a>Conv", "", "a"),
    ("a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)", "", "a>MaxPool", "a"),
    ("r = Relu (x) a = Pad (r, p) y = MaxPool <kernel_shape = [3, 3]> (a)", "a>MaxPool", "", "a"),
    ("a = Pad (x, p, none) y = MaxPool <kernel_shape = [3, 3]> (a)", "", "", ""),
    ('a = Pad <mode = "edge"> (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)', "", "", ""),
    ("a = Pad (x, p, s) y = Conv (a, w)", "", "", ""),
    ("a = Pad (x, deep) y = Conv (z, w) ", "", "", ""),
    ("a = Pad (x, deep) y = MaxPool <kernel_shape = [3, 3]> (a)", "", "", ""),
    ('a = Pad (x, p) y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3]> (a)', "", "", ""),
    ("a = Pad (x, p) y, i = MaxPool <kernel_shape = [3, 3]> (a)", "", "", ""),
    ("a = Pad (x, p) y = AveragePool <kernel_shape = [3, 3]> (a)", "a>AveragePool", "", "a"),
    (
        "a = Pad (x, p) y = AveragePool <kernel_shape = [3, 3], count_include_pad = 1> (a)",
        "a>AveragePool",
        "",
        "a",
    ),
    ("a = Pad (x, p) y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)", "", "", ""),
    ("a = Pad (x, p) b = Pad (a, p) y = Conv (b, w)", "b>Conv a>Conv", "", "b"),
    ("a = Pad (x, p) b = Identity (a) y = Conv (b, w)", "a>Conv", "", "a"),
    ("a = Pad (x, p) b = Mul (a, one) y = Conv (b, w)", "a>Conv", "", ""),
    ("a = Pad (x, p) b = Mul (a, z) y = Conv (b, w)", "", "", ""),
    ("a = Pad (x, p) b = Relu (a) y = Conv (b, w)", "", "", ""),
    ("a = Pad (x, p) b = Transpose (a) y = Conv (b, w)", "a>Conv", "", ""),
    ("a = Pad (x, p) b = Expand (a, ones) y = Conv (b, w)", "a>Conv", "", ""),
    ("a = Pad (x, p) b = Concat <axis = 0> (a) y = Conv (b, w)", "a>Conv", "", ""),
    ("a = Pad (x, p) b = Sum (a, z) y = Conv (b, w)", "", "", ""),
    ("a = Pad (x, p) b = Sum (a) y = Conv (b, w)", "a>Conv", "", ""),
    ("a = Pad (x, p) y = Conv (z, a)", "", "a>Conv", ""),
    (
        "r = Relu (x) a = Pad (r, p) t = Transpose (a) y = MaxPool <kernel_shape = [3, 3]> (t)",
        "",
        "a>MaxPool",
        "",
    ),
    ("a = vendor.Pad (x, p) y = Conv (a, w)", "", "", ""),
    (
        "r = Relu (x) a = Pad (r, p) b = Pad (a, p) y = MaxPool <kernel_shape = [3, 3]> (b)",
        "b>MaxPool a>MaxPool",
        "",
        "b",
    ),
]
"""A graph, the Pads before windows that may be folded rightly, and wrongly, and surely taken."""


@each_row(("body", "right", "wrong", "taken"), ROWS)
def test_which_pads_may_be_folded(body: str, right: str, wrong: str, taken: str) -> None:
    assert pads_before(body) == (right, wrong, taken)


FILLS = [
    (17, "a = Pad (x, p, nil) y = Conv (a, w)", "a>Conv", "a"),
    (17, "a = Pad (x, p, one) y = Conv (a, w)", "", ""),
    (17, "a = Pad (x, p, none) y = Conv (a, w)", "", ""),
    (17, "k = Neg (nil) a = Pad (x, p, k) y = Conv (a, w)", "", ""),
    (17, "k = Sin (nil) a = Pad (x, p, k) y = Conv (a, w)", "a>Conv", ""),
    (17, "k = Neg (s) a = Pad (x, p, k) y = Conv (a, w)", "", ""),
    (17, "k = Identity (nil) a = Pad (x, p, k) y = Conv (a, w)", "a>Conv", ""),
    (17, 'a = Pad <mode = "reflect"> (x, p) y = Conv (a, w)', "", ""),
    (17, "a = Pad (x, crop) y = Conv (a, w)", "", ""),
    (17, "a = Pad (x, deep) y = Conv (a, w)", "", ""),
    (17, "a = Pad (x, empty) y = Conv (a, w)", "a>Conv", "a"),
    (17, "a = Pad (x, given) y = Conv (a, w)", "", ""),
    (17, "k = Neg (crop) a = Pad (x, k) y = Conv (a, w)", "a>Conv", ""),
    (17, "k = Neg (given) a = Pad (x, k) y = Conv (a, w)", "", ""),
    (18, "a = Pad (x, p) y = Conv (a, w)", "a>Conv", "a"),
    (18, "a = Pad (x, p, nil) y = Conv (a, w)", "a>Conv", "a"),
    (18, "a = Pad (x, two, nil, at) y = Conv (a, w)", "", ""),
    (18, "a = Pad (x, two, , at) y = Conv (a, w)", "", ""),
    (10, "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x) y = Conv (a, w)", "a>Conv", "a"),
    (10, "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 1.0> (x) y = Conv (a, w)", "", ""),
    (10, "a = Pad <pads = [0, 0, -1, 1, 0, 0, 1, 1]> (x) y = Conv (a, w)", "", ""),
    (17, "a = Pad (x, p) b = Identity (a) c = Neg (b) y = Conv (b, w)", "a>Conv", ""),
    (17, "a = Pad (x, p) c = Neg (a) y = Conv (a, w)", "a>Conv", ""),
    (17, "a = Pad (x, p) b = Pad (a, empty) y = Conv (b, w)", "b>Conv a>Conv a>Conv", "b"),
    (17, "k = Conv (x, w) y = Conv (k, w)", "", ""),
]
"""An opset, a graph of convolutions, the Pads that may be folded into one, and those that are."""


@each_row(("opset", "body", "right", "taken"), FILLS)
def test_what_a_pad_must_write_to_be_folded(opset: int, body: str, right: str, taken: str) -> None:
    assert pads_before(body, opset) == (right, "", taken)


ONES = "{" + ", ".join("1" * 36) + "}"
NUMBERS = ", ".join(
    (
        "float s1 = {1}, float[1] s2 = {1}, float s3 = {0.5}, float[3] sv = {1, 2, 3}",
        "int8 i = {3}, int8 j = {0}, uint8 u = {7}, uint8 v = {0}, uint8[3] uv = {1, 2, 3}",
        "float one = {1}, float two = {2}, float low = {-1}, float high = {5}",
        "int64 lone = {1}, int64 ltwo = {2}, double dl = {-1}, double dh = {5}, double dz = {0}",
        "double do = {1}, int64[4] same = {1, 3, 8, 8}, int64[4] ones = {1, 1, 1, 1}",
        f"int64[2] flat = {{3, 64}}, float[3, 3, 2, 2] w = {ONES}, uint8[3, 3, 2, 2] qw = {ONES}",
    )
)
KINDS = {"x": "float", "d": "double", "l": "int64", "q": "uint8", "k": "int8"}


def neighbours(body: str, opset: int = 17) -> str:
    """The operators of all neighbours that would be fused wrongly."""
    inputs = ", ".join(f"{kind}[1, 3, 8, 8] {name}" for name, kind in KINDS.items())
    ir = 8 if opset < 21 else 10
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=NUMBERS, opset=opset, ir=ir))
    analysis = Analysis(graph)
    fusion = Sites(graph, analysis, Signs(graph, analysis)).fusion
    found = Neighbours(graph, analysis, fusion).wrong()
    return ", ".join(" ".join(node.op for node in nodes) for nodes, _ in found)


MEETINGS = [
    (17, "a = Relu (x) y = Clip (a, low, high)", ""),
    (17, "a = Relu (d) y = Clip (a, dl, dh)", "Relu Clip"),
    (17, "a = Relu (d) y = Clip (a)", ""),
    (17, "a = Relu (d) y = Clip (a, , dh)", ""),
    (17, "a = Relu (d) b = Neg (a) y = Clip (a, dl, dh)", ""),
    (9, "a = Relu (x) y = Clip <max = -1.0> (a)", "Relu Clip"),
    (9, "a = Relu (x) y = Clip <max = 1.0> (a)", ""),
    (17, "a = Div (lone, l) y = Mul (a, ltwo)", "Div Mul"),
    (17, "a = Div (lone, l) y = Mul (ltwo, a)", "Div Mul"),
    (17, "a = Div (ltwo, l) y = Mul (a, ltwo)", ""),
    (17, "a = Div (one, x) y = Mul (a, two)", ""),
    (17, "a = Div (lone, l) y = Add (a, ltwo)", ""),
    (
        17,
        (
            "a = QuantizeLinear (x, s1, u) b = DequantizeLinear (a, s1, u) c = "
            "QuantizeLinear (b, s1, v) y = DequantizeLinear (c, s1, v)"
        ),
        "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear",
    ),
    (
        17,
        (
            "a = QuantizeLinear (x, s1, u) b = DequantizeLinear (a, s1, u) c = "
            "QuantizeLinear (b, s3, u) y = DequantizeLinear (c, s3, u)"
        ),
        "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear",
    ),
    (
        17,
        (
            "a = QuantizeLinear (x, s1, u) b = DequantizeLinear (a, s1, u) c = "
            "QuantizeLinear (b, s1, u) y = DequantizeLinear (c, s1, u)"
        ),
        "",
    ),
    (
        17,
        (
            "a = QuantizeLinear (x, s1, u) b = DequantizeLinear (a, s1, u) c = "
            "QuantizeLinear (b, s3, i) y = DequantizeLinear (c, s3, i)"
        ),
        "",
    ),
    (
        17,
        (
            "a = QuantizeLinear (x, s1) b = DequantizeLinear (a, s1) c = QuantizeLinear (b, "
            "s3) y = DequantizeLinear (c, s3, v)"
        ),
        "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear",
    ),
    (
        17,
        (
            "a = QuantizeLinear (x, s1, u) b = DequantizeLinear (a, s3, u) c = "
            "QuantizeLinear (b, s3, u) y = DequantizeLinear (c, s3, u)"
        ),
        "",
    ),
    (
        17,
        (
            "a = QuantizeLinear (x, s3, i) b = DequantizeLinear (a, s1, j) c = "
            "QuantizeLinear (b, s1, j) g = DequantizeLinear (c, s3, i) e = QuantizeLinear "
            "(g, s1, j) y = DequantizeLinear (e, s1, j)"
        ),
        "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear",
    ),
    (
        21,
        "a = QuantizeLinear <output_dtype = 3> (x, s3, j) y = DequantizeLinear (a, s3, j)",
        "QuantizeLinear DequantizeLinear",
    ),
    (21, "a = QuantizeLinear (x, s3, j) y = DequantizeLinear (a, s3, j)", ""),
    (21, "a = QuantizeLinear <output_dtype = 3> (x, s3, j) y = Identity (a)", ""),
    (
        21,
        "a = DequantizeLinear (k, s1, i) y = MaxPool <kernel_shape = [3, 3]> (a)",
        "DequantizeLinear MaxPool",
    ),
    (
        17,
        "a = DequantizeLinear (k, s1) y = MaxPool <kernel_shape = [3, 3]> (a)",
        "DequantizeLinear MaxPool",
    ),
    (17, "a = DequantizeLinear (k, s1, i) y = MaxPool <kernel_shape = [3, 3]> (a)", ""),
    (
        17,
        (
            "a = DequantizeLinear (k, s1) b = MaxPool <kernel_shape = [3, 3]> (a) y = "
            "QuantizeLinear (b, s1)"
        ),
        "",
    ),
    (17, "a = DequantizeLinear (q, s1) y = MaxPool <kernel_shape = [3, 3]> (a)", ""),
    (17, "a = DequantizeLinear (k, s1) y = Transpose (a)", "DequantizeLinear Transpose"),
    (17, "a = DequantizeLinear (k, s1) y = Relu (a)", ""),
    (
        17,
        "a = DequantizeLinear (q, s1, u) b = Conv (a, w) y = QuantizeLinear (b, s1, u)",
        "DequantizeLinear Conv QuantizeLinear",
    ),
    (
        17,
        (
            "a = DequantizeLinear (q, s1, u) b = Conv (a, w) c = Relu (b) y = QuantizeLinear "
            "(c, s1, u)"
        ),
        "DequantizeLinear Conv Relu QuantizeLinear",
    ),
    (17, "a = DequantizeLinear (q, s1, u) b = Conv (x, a) y = QuantizeLinear (b, s1, u)", ""),
    (
        17,
        (
            "a = DequantizeLinear (q, s1, u) m = DequantizeLinear (qw, s1, u) b = Conv (a, "
            "m) y = QuantizeLinear (b, s1, u)"
        ),
        "",
    ),
    (
        17,
        (
            "a = DequantizeLinear (q, s1, u) m = DequantizeLinear (qw, s1, u) b = Conv (a, "
            "m) y = QuantizeLinear (b, s2, u)"
        ),
        "",
    ),
    (
        17,
        (
            "a = DequantizeLinear <axis = 1> (q, sv, uv) m = DequantizeLinear (qw, s1, u) b "
            "= Conv (a, m) y = QuantizeLinear (b, s1, u)"
        ),
        "DequantizeLinear Conv QuantizeLinear",
    ),
    (
        17,
        (
            "a = DequantizeLinear (q, s2, u) b = AveragePool <kernel_shape = [3, 3]> (a) y = "
            "QuantizeLinear (b, s1, u)"
        ),
        "DequantizeLinear AveragePool QuantizeLinear",
    ),
    (
        17,
        (
            "a = DequantizeLinear (q, s1, u) b = AveragePool <kernel_shape = [3, 3]> (a) y = "
            "QuantizeLinear (b, s1, u)"
        ),
        "",
    ),
    (
        17,
        (
            "a = DequantizeLinear (q, s1, u) b = AveragePool <kernel_shape = [3, 3], "
            "ceil_mode = 1, count_include_pad = 1> (a) y = QuantizeLinear (b, s1, u)"
        ),
        "DequantizeLinear AveragePool QuantizeLinear",
    ),
    (
        17,
        (
            "a = DequantizeLinear (q, s1, u) b = AveragePool <kernel_shape = [3, 3], "
            "ceil_mode = 1> (a) y = QuantizeLinear (b, s1, u)"
        ),
        "",
    ),
    (
        17,
        (
            "a = DequantizeLinear (q, s1, u) b = AveragePool <kernel_shape = [3, 3], "
            "count_include_pad = 1> (a) y = QuantizeLinear (b, s1, u)"
        ),
        "",
    ),
    (
        17,
        (
            "a = DequantizeLinear (q, s2, u) m = DequantizeLinear (q, s1, u) b = Add (a, m) "
            "y = QuantizeLinear (b, s1, u)"
        ),
        "DequantizeLinear Add QuantizeLinear, DequantizeLinear Add QuantizeLinear",
    ),
    (17, "a = DequantizeLinear (q, s2, u) b = Add (a, one) y = QuantizeLinear (b, s1, u)", ""),
    (17, "a = DequantizeLinear (q, s2, u) b = Sigmoid (a) y = QuantizeLinear (b, s1, u)", ""),
    (
        17,
        (
            "a = DequantizeLinear (q, s2, u) b = MaxPool <kernel_shape = [1, 1]> (a) c = Mul "
            "(b, b) y = QuantizeLinear (c, s1, u)"
        ),
        "",
    ),
]


@each_row(("opset", "body", "found"), MEETINGS)
def test_which_neighbours_are_fused_wrongly(opset: int, body: str, found: str) -> None:
    assert neighbours(body, opset) == found


@each_row(
    "step",
    [
        "Identity (a)",
        "Add (a, dz)",
        "Sub (a, dz)",
        "Mul (a, do)",
        "Mul (do, a)",
        "Div (a, do)",
        "Dropout (a)",
        "Concat <axis = 0> (a)",
        "Max (a)",
        "Cast <to = 11> (a)",
        "Expand (a, ones)",
        "Reshape (a, same)",
        "Transpose (a)",
    ],
)
def test_what_goes_from_between_neighbours(step: str) -> None:
    assert neighbours(f"a = Relu (d) b = {step} y = Clip (b, dl, dh)") == "Relu Clip"


@each_row(
    "step",
    [
        "Sub (dz, a)",
        "Mul (a, dz)",
        "Concat <axis = 0> (a, a)",
        "Max (a, dh)",
        "Reshape (a, flat)",
        "Neg (a)",
    ],
)
def test_what_stays_between_neighbours(step: str) -> None:
    assert neighbours(f"a = Relu (d) b = {step} y = Clip (b, dl, dh)") == ""


def called(function: str, body: str = "a = Pad (x, p) y = local.F (a)") -> Fusion:
    """The predictions where a function of a graph is called."""
    proto = parsed(
        f"""<ir_version: 9, opset_import: ["" : 17, "local" : 1, "vendor" : 1]>
        g ({INPUTS}) => (float y) <{GIVEN}> {{ {body} }}
        <domain: "local", opset_import: ["" : 17]> F (d) => (e) {{ {function} }}"""
    )
    graph = Graph.from_proto(proto)
    analysis = Analysis(graph)
    return Sites(graph, analysis, Signs(graph, analysis)).fusion


CALLED = [
    (f"e = {POOL} (d)", True),
    (f"i = Identity (d) e = {POOL} (i)", True),
    (f"o = Constant <value = int64[8] {{0, 0, 0, 1, 0, 0, 0, 1}}> () i = Pad (d, o) e = {POOL} (i)",
     True),
    (f"i = Relu (d) e = {POOL} (i)", False),
    (f"c = Neg (d) k = Shape (d) q = ConstantOfShape (k) i = {POOL} (q) e = Add (i, c)", False),
    ("e = Relu (d)", False),
]  # fmt: skip


@each_row(("function", "folds"), CALLED)
def test_a_pad_before_a_call_may_be_folded_into_what_is_called(function: str, folds: bool) -> None:
    fusion = called(function)
    found = [(each.pad.node.outputs[0].name, each.window.op, each.why) for each in fusion.exposed()]
    why = "F contains an operator that it may be folded into"
    assert found == ([("a", "F", why)] if folds else [])
    assert not fusion.judged(lambda pad: False)
    between = called(function, "a = Pad (x, p) b = Relu (a) y = local.F (b)")
    assert not between.exposed()


def test_what_depends_on_the_elements_of_inputs() -> None:
    branch = "o () => (float u) { u = Neg (one) }"
    body = f"""
        shape = Shape (x) size = Size (x) r = Relu (x) k = Neg (one) v = vendor.Op (x)
        sv = vendor.Shape (x) c = local.F (x) w2 = Add (k, r) back = Reshape (one, shape)
        either = If (f) <then_branch = {branch}, else_branch = {branch}>
        always = If (yes) <then_branch = {branch}, else_branch = {branch}>
        y = Sum (r, c)
    """
    fusion = called("e = Relu (d)", body)
    graph = fusion._graph
    names = [node.outputs[0].name for node in graph.nodes]
    fed = {name for name in names if fusion.is_fed(graph.tensor(name))}
    assert fed == {"r", "v", "sv", "w2", "either", "y"}
    assert fusion.is_fed(graph.tensor("x"))
    assert not fusion.is_fed(graph.tensor("one"))


CLAIMED: list[tuple[int | str | None, ...]] = [
    (1, 2, "n", 9),
    (1, 2, None, 9),
    (1, 2, 5, 9),
    (1, 3, "n", 9),
    (1, 2, None, 8),
]
CLAIMED += [(1, 2, "n"), (1, 2, "n", 9, 1), (4,), (5,), (4, None), ()]


@each_row(
    ("node", "right"),
    [
        ("Relu (x)", [0, 1]),
        ("Concat <axis = 2> (x, x)", [0, 1]),
        ("Shape (x)", [7]),
        ("NonZero (x)", [9]),  # as many columns as it finds
        ("ReduceMax <keepdims = 0> (x)", [10]),
        ("vendor.Odd (x)", range(len(CLAIMED))),  # nothing is known of it
    ],
)
def test_which_declared_shapes_contradict_the_analysis(node: str, right: Sequence[int]) -> None:
    graph = Graph.from_proto(parsed(f"g (float[1, 2, n, 9] x) => (float y) {{ y = {node} }}"))
    tensor, analysis = graph.tensor("y"), Analysis(graph)
    told = [[*lies([(tensor, claimed)], analysis)] for claimed in CLAIMED]
    assert told == [[] if place in right else [tensor] for place in range(len(CLAIMED))]
