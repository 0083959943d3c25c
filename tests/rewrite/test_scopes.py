"""Padding in bodies and functions is rewritten like that of the main graph."""

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.graph import Graph
from onnxpad.rewrite.scopes import contexts
from tests.support import BORDER, W, assert_same, feeds_of, fixed, run

HEAD = '<ir_version: 9, opset_import: ["" : 17, "f" : 1]>'
X, ON = "float[1, 2, h, 8] x", "bool on"
NONE = "else_branch = e () => (float[a, b, c, d] z) { z = Identity (x) }"


def graph(
    body: str, functions: str = "", *, inputs: str = f"{X}, {ON}", held: str = f"{W}, {BORDER}"
) -> onnx.ModelProto:
    text = f"{HEAD} g ({inputs}) => (float[a, b, c, d] y) <{held}> {{ {body} }} {functions}"
    return onnx.parser.parse_model(text)


def function(body: str, given: str = "x, w", attributes: str = "") -> str:
    return f'<domain: "f", opset_import: ["" : 17]> go {attributes} ({given}) => (y) {{ {body} }}'


def branch(body: str) -> str:
    """An If of which one branch has these nodes, which compute `z`."""
    return f"[if] y = If (on) <then_branch = t () => (float[a, b, c, d] z) {{ {body} }}, {NONE}>"


def loop(body: str, carried: str = "x") -> str:
    """A Loop of two iterations, which carries `s` to `t`."""
    return (
        f"n = Constant <value_int = 2> () [loop] y = Loop (n, on, {carried}) <body = b (int64 i, "
        f"bool go, float[a, b, c, d] s) => (bool go2, float[a, b, c, d] t) "
        f"{{ go2 = Identity (go) {body} }}>"
    )


def told(result: onnxpad.FixResult) -> list[tuple[str, str, str]]:
    return [(change.code, change.node, change.after) for change in result.changes]


FOLDED = "Conv H 1+1, W 1+1, pads [1, 1, 1, 1]"
CASES = {
    "in a branch": (graph(branch("q = Pad (x, p) [c] z = Conv (q, w)")), "If 'if' > then_branch"),
    "in a Loop": (
        graph(
            loop("q = Pad (s, p) [c] t = Conv (q, v)"),
            held=f"{BORDER}, float[2, 2, 3, 3] v = {{{', '.join(['1'] * 36)}}}",
        ),
        "Loop 'loop' > body",
    ),
    "in a function": (
        graph("y = f.go (x, w)", function(
            "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> ()"
            " q = Pad (x, p) [c] y = Conv (q, w)"
        )),
        "f::go",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("model", "place"), list(CASES.values()), ids=list(CASES))
def test_a_pad_is_folded(model: onnx.ModelProto, place: str) -> None:
    result = fixed(model, validate=True)
    assert told(result) == [("PAD201", f"{place} > Conv 'c'", FOLDED)]
    (change,) = result.changes
    assert change.removed[0] == f"{place} > Pad '<q>'"
    assert onnxpad.check(model).findings[0].evidence["before"] == f"{place} > Conv 'c'"
    assert change.probe.startswith("equal on")
    assert not change.certificate.assumptions


def test_amounts_that_the_graph_around_computes() -> None:
    amounts = "r = Cast <to = 7> (f)"
    held = f"{W}, int32[8] f = {{0, 0, 1, 1, 0, 0, 1, 1}}"
    model = graph(f"{amounts} {branch('q = Pad (x, r) [c] z = Conv (q, w)')}", held=held)
    result = fixed(model, validate=True)
    assert told(result) == [("PAD201", "If 'if' > then_branch > Conv 'c'", FOLDED)]
    # The node outside served this `Pad` alone, and is gone too.
    assert [node.op_type for node in result.model.graph.node] == ["If"]
    assert not result.model.graph.initializer[1:]


def test_a_pad_outside_that_a_body_reads_stays() -> None:
    result = onnxpad.fix(graph(f"q = Pad (x, p) {branch('z = Conv (q, w)')}"))
    assert not result.changes
    assert [(f.code, f.reason_code) for f in result.findings] == [("PAD206", "read-in-body")]


def test_a_size_that_grows_from_one_iteration_to_the_next_is_unknown() -> None:
    conv = 'Conv <auto_pad = "SAME_UPPER", strides = [2, 2], kernel_shape = [2, 2]>'
    grows = f"u = {conv} (s, v) k = Shape (u) t = Pad (s, one)"
    held = (
        f"{BORDER}, int64[8] one = {{0, 0, 0, 0, 0, 0, 1, 0}},"
        f" float[2, 2, 2, 2] v = {{{', '.join(['1'] * 16)}}}"
    )
    text = graph(loop(grows), held=held, inputs="float[1, 2, 4, 8] x, bool on")
    shapes = [context.analysis for context in contexts(Graph.from_proto(text))]
    body = contexts(Graph.from_proto(text))[1]
    found = body.analysis.shape(body.graph.tensor("s"))
    assert len(shapes) == 2
    assert found is not None
    assert [str(size) for size in found] == ["1", "2", "unknown (it varies)", "8"]


CONV_1 = '[c] y = Conv <auto_pad = "SAME_UPPER", strides = [1, 2]> (x, w)'


def test_calls_on_different_sizes() -> None:
    """Both widths are even, so the pads could be the same; but nothing says so for both."""
    inputs = "float[1, 2, h, 8] x, float[1, 2, h, 6] x2"
    both = "a = f.go (x, w) b = f.go (x2, w) y = Concat <axis = 3> (a, b)"
    (finding,) = onnxpad.check(graph(both, function(CONV_1), inputs=inputs), ignore="PAD6").findings
    assert finding.reason_code == "size-dependent"
    once = "a = f.go (x, w) b = f.go (x, w) y = Concat <axis = 3> (a, b)"
    result = fixed(graph(once, function(CONV_1), inputs="float[1, 2, h, 8] x"))
    assert told(result) == [("PAD101", "f::go > Conv 'c'", "Conv H 1+1, W 0+1, pads [1, 0, 1, 1]")]


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ("q = Pad (x, p) y = Conv <strides: ints = @s> (q, w)", "PAD206"),
        ("y = Conv <auto_pad: string = @a> (x, w)", "PAD901"),
        ("r = Transpose <perm: ints = @s> (x) y = Pad <mode: string = @a> (r, p)", "PAD901"),
    ],
)
def test_attributes_that_a_call_sets(nodes: str, code: str) -> None:
    amounts = "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> ()"
    model = graph(
        'y = f.go <s = [1, 1], a = "VALID"> (x, w)',
        function(f"{amounts} {nodes}", attributes="<s, a>"),
    )
    result = onnxpad.fix(model, validate=False)
    assert not result.changed
    (finding,) = result.findings
    assert finding.code == code


def test_a_function_is_rewritten_however_many_calls_follow_one_another() -> None:
    """What the Conv at its end gives hides every call upstream from onnxruntime's PadFusion."""
    amounts = "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> ()"
    inside = function(f"{amounts} q = Pad (x, p) [c] y = Conv (q, w)")
    calls = " ".join(f"x{i + 1} = f.go (x{i}, v)" for i in range(600))
    held = f"{BORDER}, float[2, 2, 3, 3] v = {{{', '.join(['1'] * 36)}}}"
    body = f"x0 = Identity (x) {calls} y = Identity (x600)"
    model = graph(body, inside, held=held)
    result = onnxpad.fix(model, validate=False)
    assert told(result) == [("PAD201", "f::go > Conv 'c'", FOLDED)]


@pytest.mark.parametrize("opset", [19, 22])
def test_a_function_whose_average_runs_with_another_opset_is_left_alone(opset: int) -> None:
    """At size 1 a counted average divides by the whole kernel with the model's opset, 17."""
    pool = "[a] y = AveragePool <kernel_shape = [4, 4], strides = [3, 3]> (q)"
    inside = function(f"q = Pad (x, w) {pool}").replace('"" : 17', f'"" : {opset}')
    for style in ("fold", "pad", "symmetric"):
        result = onnxpad.fix(graph("y = f.go (x, p)", inside), style=style, validate=False)
        assert not result.changed
        (finding,) = result.findings
        assert (finding.code, finding.node) == ("PAD903", "f::go > Pad '<q>'")


@pytest.mark.parametrize(
    "model",
    [
        graph(branch("q = Pad (x, p) z = MaxPool <kernel_shape = [3, 3]> (q)")),
        graph(loop("q = Pad (s, p) t = MaxPool <kernel_shape = [3, 3]> (q)")),
        graph(
            "y = f.go (x, p)", function("q = Pad (x, w) y = MaxPool <kernel_shape = [3, 3]> (q)")
        ),
    ],
    ids=["a branch", "a Loop", "a function"],
)
def test_a_pad_that_onnxruntime_folds_wrongly_is_guarded(model: onnx.ModelProto) -> None:
    result = onnxpad.fix(model)
    assert result.ok
    assert {change.code for change in result.changes} <= {"PAD701", "PAD205"}
    feeds = feeds_of(model, 1)
    if "on" in feeds:
        feeds["on"] = np.array(True)
    feeds["x"] = -np.abs(feeds["x"]) - 1
    (expected,), (found,) = run(model, feeds), run(result.model, feeds, "full")
    np.testing.assert_array_equal(expected, found)


POOL = "z = MaxPool <{}kernel_shape = [3, 3]> (q)"
INLINED = {
    "in the branch": (
        branch("q = Pad (x, p) " + POOL.format('auto_pad = "SAME_UPPER", ')), "", ["PAD101"], []
    ),
    "in a function called there": (
        branch("z = f.go (x, p)"),
        function(
            "o = Constant <value_ints = [0, 0, 0, 0, 0, 0, 0, 0]> () k = Identity (o) "
            "m = Constant <value_float = -9.0> () r = Pad (x, p) q = Pad (r, k, m) "
            + POOL.format("").replace("z =", "y ="),
            "x, p",
        ),
        ["PAD102"],
        ["PAD204", "PAD205"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "functions", "stays", "made"), INLINED.values(), ids=[*INLINED])
def test_onnxruntime_drops_empty_inputs_where_a_branch_takes_the_place_of_its_if(
    body: str, functions: str, stays: list[str], made: list[str]
) -> None:
    """There an empty fill does not keep a `Pad` from being folded into a MaxPool."""
    held = f"{BORDER}, bool on = {{1}}"
    model = graph(body, functions, inputs="float[1, 2, 8, 8] x", held=held)
    result = onnxpad.fix(model, validate=False)
    assert [change.code for change in result.changes] == made
    assert [each.code for each in result.findings if each.reason_code == "optimiser-folds"] == stays
    assert not onnxpad.fix(result.model, validate=False).changes
    feeds = {"x": -1 - np.abs(feeds_of(model, 1)["x"])}
    (expected,), (found,) = run(model, feeds), run(result.model, feeds, "full")
    np.testing.assert_array_equal(expected, found)


COMPUTED = "int32[8] f = {0, 0, 0, 1, 0, 0, 0, 0}"


@pytest.mark.parametrize("nodes", ["k = Squeeze (r, one) z = Conv (r, w)", "z = Add (r, five)"])
def test_computed_amounts_stay_before_a_branch_that_never_runs(nodes: str) -> None:
    """Once they were constant, onnxruntime would know the size that the branch reads."""
    dead = branch(nodes).replace("Identity (x)", "Identity (r)")
    model = graph(
        f"g = Cast <to = 7> (f) r = Pad (x, g) {dead}",
        held=f"{COMPUTED}, {W}, int64[1] one = {{1}}, float[5] five = {{1, 2, 3, 4, 5}}",
        inputs="float[1, 2, 9, 8] x, bool on",
    )
    result = onnxpad.fix(model, validate=False)
    assert not result.changed
    (undone,) = result.undone
    assert (undone.code, undone.reason_code) == ("PAD205", "shape-refused")
    assert "'if'" in undone.reason


CEIL = "MaxPool <ceil_mode = 1, kernel_shape = [2, 4], strides = [3, 2]> (q)"
SAME = 'MaxPool <auto_pad = "SAME_UPPER", dilations = [2, 2], kernel_shape = [3, 2]> (q)'
SCANNED = (
    "[scan] y = Scan <num_scan_inputs = 1, body = b (float[a, b, c, d] s) => (float[a, b, c, d] t) "
    "{{ {} }}> (r)"
)
MISSIZED = {
    "a pool in a branch": (branch(f"q = Identity (r) z = {SAME}"), ""),
    "a pool in a Scan": (SCANNED.format(f"q = Identity (s) t = {SAME}"), ""),
    "a pool in a function in a Scan": (
        SCANNED.format("t = f.go (s)"), function(f"y = {CEIL}", "q")
    ),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "functions"), MISSIZED.values(), ids=[*MISSIZED])
def test_onnxruntime_learns_no_sizes_that_shape_inference_gets_wrong(
    nodes: str, functions: str
) -> None:
    """It gives the results of bodies the inferred sizes, and stops where these are wrong."""
    scan = "Scan" in nodes
    pad = "g = Cast <to = 7> (f) " + ("r = Pad (x, g, , e) " if scan else "r = Pad (x, g) ")
    rank = "float[2, 1, 2, h, 11] x" if scan else "float[1, 2, h, 11] x, bool on"
    held = f"{COMPUTED}, int64[4] e = {{1, 2, 3, 4}}, int64[4] o = {{2, 1, 4, 1}}"
    head = HEAD.replace('"" : 17', '"" : 18')
    text = f"{head} g ({rank.replace('h', '9')}) => (float[] y) <{held}> {{ {pad}{nodes} }}"
    model = onnx.parser.parse_model(f"{text} {functions.replace(': 17', ': 18')}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    feeds = feeds_of(model, 1)
    if not scan:
        feeds["on"] = np.array(True)
    result = onnxpad.fix(model, validate=False)
    (expected,), (found,) = run(model, feeds), run(result.model, feeds)
    np.testing.assert_array_equal(expected, found)
    assert [each.reason_code for each in result.undone] == ["shape-refused"]


POOL_OF_X = CEIL.replace("(q)", "(x)")
PADDED = "g = Cast <to = 7> (f) z = Pad ({}, g)"
HIDDEN = {
    "from a pool outside the branch": (
        f"k = {POOL_OF_X} " + branch(PADDED.format("k")).replace("Identity (x)", "Identity (k)"),
        "",
    ),
    "in a function that the branch calls": (
        f"k = {POOL_OF_X} " + branch("z = f.go (k, f)").replace("Identity (x)", "Identity (k)"),
        function(PADDED.format("q").replace("z =", "y ="), "q, f"),
    ),
    "of a body's input that is declared otherwise": (
        "k, y = Loop (two, , x) <body = l (int64 i, bool c, float[1, 2, 4, 5] s) => (bool d, "
        "float[] u, float[] v) { d = Identity (c) u = Identity (s) "
        + branch(PADDED.format("s")).replace("y =", "v =").replace("(x)", "(s)")
        + "}>",
        "",
    ),
    "from a pool of what a Scan hands over": (
        (
            "y = Scan <num_scan_inputs = 1, body = b (float[u, v, w] s) => (float[] t)"
            " { e = Unsqueeze (s, two) t = f.go (e) }> (x)"
        ),
        function(
            "c = Constant <value_ints = [0, 0, 0, 1, 0, 0, 0, 0]> () g = Identity (c)"
            " r = Pad (q, g) y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], strides = [2, 2],"
            " pads = [1, 1, 1, 1]> (r)",
            "q",
        ),
    ),
    "from a branch in which nothing pads": (
        PADDED.format("x").replace("z =", "r =") + branch("z = Neg (r)").replace("a,", "7,", 1),
        "",
    ),
}


@pytest.mark.parametrize(("nodes", "functions"), HIDDEN.values(), ids=[*HIDDEN])
def test_computed_amounts_that_hide_a_wrong_size_stay(nodes: str, functions: str) -> None:
    """From a body that hands on a result, or one put in its place: allocated in the known size."""
    head = HEAD.replace('"" : 17', '"" : 18')
    held = f"{COMPUTED}, int64[1] two = {{1}}"
    text = f"{head} g (float[1, 2, 9, 11] x, bool on) => (float[] y) <{held}> {{ {nodes} }}"
    model = onnx.parser.parse_model(f"{text} {functions.replace(': 17', ': 18')}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    feeds = {**feeds_of(model, 1), "on": np.array(True)}
    result = onnxpad.fix(model, validate=False)
    (expected,), (found,) = run(model, feeds), run(result.model, feeds)
    np.testing.assert_array_equal(expected, found)
    assert [each.reason_code for each in result.undone] == ["shape-refused"]


SHORT = "ConvTranspose <output_shape = [{}, 5], strides = [2, 1]>"
"""On axis 3 it is shorter than its data, and onnx's shape inference forgets that axis."""
ONES = "MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]>"
TURN = "Transpose <perm = [0, 2, 3, 1]>"
USED = "r = Relu (k) t = Neg (r) y = Abs (t)"
STOPPING = {
    "axes that a node upstream forgets": (
        f"q = Pad (x, g) k = {SHORT.format(11)} (q, w) y = {TURN} (k)",
        "",
    ),
    "axes that are forgotten of a size that engines differ on": (
        (
            's = ConvTranspose <auto_pad = "SAME_UPPER", group = 2, strides = [4, 1]> (x, w)'
            f" q = Pad (s, g) k = ConvTranspose <output_shape = [14, 8]> (q, w) y = {TURN} (k)"
        ),
        "",
    ),
    "a size of another tensor": (
        f"m = {ONES} (x) q = Pad (m, g) k = Slice (q, o, n, d) {USED}",
        "",
    ),
    "a slope that widens its data": (
        f"c = Concat <axis = 0> (x, x) s = GlobalMaxPool (c) q = Pad(x, g) k = PRelu(q, s) {USED}",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "functions"), STOPPING.values(), ids=[*STOPPING])
def test_computed_amounts_stay_where_onnxruntime_would_stop(nodes: str, functions: str) -> None:
    """It knows no size downstream of them, and would take a wrong one."""
    held = (
        f"float[2, 1, 2, 3] w = {{{', '.join(['1'] * 12)}}},"
        " int32[8] f = {0, 0, 1, 2, 0, 0, 0, 0}, int64[2] o = {0, 0}, int64[2] n = {3, 4},"
        " int64[2] d = {2, 3}"
    )
    body = f"g = Cast <to = 7> (f) {nodes}"
    text = f"{HEAD} g (float[1, 2, 4, 6] x) => (float[] y) <{held}> {{ {body} }}"
    model = onnx.parser.parse_model(f"{text} {functions}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(model, validate=False)
    assert [each.reason_code for each in result.undone] == ["shape-refused"]
    assert_same(model, result.model)
    wrong = onnx.parser.parse_model(
        f"{text.replace('int32[8] f', 'int64[8] g').replace('g = Cast <to = 7> (f)', '')}"
        f" {functions}"
    )
    wrong.graph.output[0].type.tensor_type.ClearField("shape")
    with pytest.raises(Exception, match=r"InferenceError|re-use buffer"):
        run(wrong, feeds_of(model, 1))


@pytest.mark.parametrize("more", [0, 1], ids=["once", "and by another Slice"])
@pytest.mark.parametrize("size", [9, 8])
def test_computed_bounds_that_may_hide_that_branches_differ_in_size_stay(
    size: int, more: int
) -> None:
    """Before If 11, onnxruntime refuses such branches where it knows the sizes of both."""
    nodes = (
        "k = ConvTranspose (x, w) s = Shape (k) d = Gather (s, two) e = Sub (d, one)"
        " r = Slice (k, one, e, two)" + " n = Neg (r) z = Slice (r, one, far, two)" * more
    )
    nodes = nodes if more else nodes.replace("r = Slice", "z = Slice")
    held = (
        f"float[2, 2, 3, 1] w = {{{', '.join('1' * 12)}}}, int64[1] one = {{1}}, int64[1] two ="
        f" {{2}}, int64[1] far = {{99}}, float[1, 2, 8, 4] v = {{{', '.join('2' * 64)}}}"
    )
    model = onnx.parser.parse_model(
        f"{HEAD.replace('17', '10')} g (float[1, 2, {size + more}, 4] x, bool on) => (float[] y)"
        f" <{held}> {{ {branch(nodes).replace('Identity (x)', 'Identity (v)')} }}"
    )
    for value in (model.graph, *(each.g for each in model.graph.node[0].attribute)):
        value.output[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(model, validate=False)
    assert_same(model, result.model)
    assert [each.reason_code for each in result.undone] == ["shape-refused"]
    assert not result.changed


def test_bounds_stay_computed_behind_which_a_pad_takes_the_place_of_all() -> None:
    """The Slice cuts one element that the ConvTranspose gives, and the Pad adds it again."""
    model = onnx.parser.parse_model(
        f"{HEAD.replace('17', '10')} g (float[1, 1, 8] x, bool on) => (float[] y)"
        " <float[1, 1, 3] w = {1, 2, 3}, int64[1] two = {2}, int64[1] nil = {0}, int64[1] three ="
        " {3}> { k = ConvTranspose <strides = [4], output_padding = [2]> (x, w)"
        " p = Pad <pads = [0, 0, 0, 0, 0, 2]> (k) s = Shape (p) d = Gather (s, two)"
        " e = Sub (d, three) r = Slice (p, nil, e, two) q = Pad <pads = [0, 0, 0, 0, 0, 2]> (r)"
        " y = If (on) <then_branch = t () => (float[] z) {"
        " z = MaxPool <kernel_shape = [1], strides = [2]> (q) },"
        " else_branch = e () => (float[] v) { v = Neg (q) }> }"
    )
    for value in (model.graph, *(each.g for each in model.graph.node[-1].attribute)):
        value.output[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(model, validate=False)
    assert [each.reason_code for each in result.undone] == ["shape-refused"]
    assert not result.changed


def test_a_size_that_a_rewrite_spells_out_is_hidden_no_more() -> None:
    """Shape inference is wrong about SAME beside output_padding, and right about pads."""
    nodes = (
        'k = ConvTranspose <auto_pad = "SAME_UPPER", output_padding = [0, 1], strides = [1, 2]>'
        " (x, w) s = Shape (k) t = Shape (x) d = Mul (t, two) e = Sub (d, s) f = Mul (e, last)"
        " p = Concat <axis = 0> (none, f) r = Pad (k, p) "
    ) + branch("z = MaxPool <kernel_shape = [1, 1]> (r)").replace("Identity (x)", "Identity (r)")
    held = (
        "float[1, 2, 1, 4] w = {0, 0, -1, 0, -1, 2, 0, 1}, int64[4] two = {1, 1, 1, 2},"
        " int64[4] none = {0, 0, 0, 0}, int64[4] last = {0, 0, 1, 1}"
    )
    text = f"{HEAD} g (float[1, 1, 6, 8] x, bool on) => (float[] y) <{held}> {{ {nodes} }}"
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(model, validate=False, trust="onnxruntime")
    assert not result.undone
    assert [change.code for change in result.changes] == ["PAD401", "PAD204"]
    assert not onnxpad.fix(result.model, validate=False, trust="onnxruntime").changed
    assert_same(model, result.model)


def test_what_a_body_no_longer_hinders_is_tried_again() -> None:
    """Its empty `Pad` of -infinity would reach a kernel that is wrong about infinities."""
    inner = branch(
        "e = Pad (q, none, c) i = Concat <axis = 1> (e, q) z = MaxPool <kernel_shape = [2, 2]> (i)"
    )
    model = graph(
        f"g = Cast <to = 7> (f) q = Pad (x, g) {inner}",
        held=f"{COMPUTED}, int64[8] none = {{0, 0, 0, 0, 0, 0, 0, 0}}, float c = {{-inf}}",
        inputs="float[1, 8, 9, 8] x, bool on",
    )
    result = onnxpad.fix(model, validate=False)
    assert sorted(change.code for change in result.changes) == ["PAD204", "PAD205"]
    assert not result.undone
    assert not onnxpad.fix(result.model, validate=False).changed
    assert_same(model, result.model)


def test_a_malformed_body_is_left_alone() -> None:
    body = branch("q = Pad (x, odd) z = Conv (q, w)")
    held = f"{W}, {BORDER}, int64[7] odd = {{0, 0, 1, 1, 0, 0, 1}}"
    model = graph(f"q = Pad (x, p) k = Conv (q, w) {body}", held=held)
    result = onnxpad.fix(model, validate=False)
    assert [change.code for change in result.changes] == ["PAD201"]
    assert [finding.code for finding in result.findings] == ["PAD903"]


LATER = {
    "of axes of int32": 'y = Pad <mode = "edge"> (r, one, , e)',
    "behind a branch": branch("z = Neg (r)").replace("y =", "t =").replace("(x)", "(r)")
    + ' y = Pad <mode = "edge"> (t, one, , e)',
    "that names an axis twice": "y = Pad (r, one, , n)",
    "of a ConvTranspose": "s = ReverseSequence (r, p) "
    "t = ConvTranspose <output_shape = [6, 6]> (s, w) y = MaxPool <kernel_shape = [2, 2]> (t)",
}
"""What shape inference refuses once it knows how many axes, or which sizes, the data has."""


@pytest.mark.parametrize("nodes", LATER.values(), ids=[*LATER])
def test_a_shape_that_is_refused_downstream_stays_unknown(nodes: str) -> None:
    """Computed axes hide how many axes a `Pad` gives."""
    held = (
        "float[2, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "
        "int64[2] c = {2, 3}, int32[2] e = {2, 3}, int64[2] n = {2, -2}, int64[2] p = {1, 1}, "
        "int64[4] one = {1, 1, 1, 1}"
    )
    text = f"{HEAD} g (float[2, 2, h, 8] x, bool on) => (float[] y) <{held}> "
    pad = "b = Neg (c) d = Neg (b) r = Pad (x, one, , d) "
    model = onnx.parser.parse_model(f"{text} {{ {pad}{nodes} }}".replace('"" : 17', '"" : 25'))
    bodies = [each.g for node in model.graph.node for each in node.attribute if each.HasField("g")]
    for each in (model.graph, *bodies):
        each.output[0].type.tensor_type.ClearField("shape")
    feeds = feeds_of(model)
    result = onnxpad.fix(model, validate=False)
    np.testing.assert_array_equal(run(model, feeds)[0], run(result.model, feeds)[0])
