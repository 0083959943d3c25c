"""At which sizes a graph is defined: never fewer than those at which onnxruntime runs."""

import random
from collections.abc import Callable, Mapping
from itertools import product
from math import gcd
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.arithmetic.size import Extent, Size, Sizes, Unknown, evaluate
from onnxpad.errors import UsageError
from onnxpad.facts import Analysis, feasible
from onnxpad.facts.feasible import SizeDomain, analysed_domains, feasible_sizes, in_words
from onnxpad.graph import Graph
from tests.random_models.draw import Drawn, draw_model
from tests.support import Array, one, ran, run, session
from tests.support.rows import each_row

SIZES = range(1, 41)


def limits(model: onnx.ModelProto) -> Mapping[str, Sizes]:
    graph = Graph.from_proto(model)
    return feasible_sizes(graph, Analysis(graph))[0]


def running(model: onnx.ModelProto, sizes: range = SIZES) -> list[int]:
    """The sizes of the only open axis at which onnxruntime runs."""
    opened = session(model)
    found = []
    for size in sizes:
        feeds = {
            value.name: np.ones(
                [d if isinstance(d, int) else size for d in value.shape],
                np.float32,
            )
            for value in opened.get_inputs()
        }
        if not isinstance(ran(opened, feeds), str):
            found.append(size)
    return found


HALVES = "AveragePool <kernel_shape = [2], strides = [2]>"
CEIL = f"MaxPool <ceil_mode = 1, {HALVES.split('<')[1]}"
AT_HALF = f"h = {CEIL} (x) a = {CEIL} (h) b = Resize (a, , s)"
JOINED = f"a = {HALVES} (x) b = Resize (a, , s) "
DOUBLE = "float[3] s = {1, 1, 2}"

GRAPHS = [
    pytest.param(f"{JOINED} y = Concat <axis = 1> (b, x)", DOUBLE, id="joined"),
    pytest.param(f"{JOINED} y = Concat <axis = -2> (x, b, b)", DOUBLE, id="joined thrice"),
    pytest.param(f"{JOINED} y = Add (b, x)", DOUBLE, id="added"),
    pytest.param(f"{JOINED} y = Sum (b, x, x)", DOUBLE, id="summed"),
    pytest.param(
        f"{AT_HALF} y = Concat <axis = 1> (b, h)",
        DOUBLE,
        id="joined at half resolution",
    ),
    pytest.param(
        f"{AT_HALF} y = Add (b, h)",
        DOUBLE,
        id="added at half resolution",
    ),
    pytest.param(
        f"{AT_HALF} y = Concat <axis = 1> (b, h, c)",
        f"{DOUBLE}, float[1, 1, 4] c = {{1, 2, 3, 4}}",
        id="joined at half resolution with a constant",
    ),
    pytest.param(
        f"a = {HALVES} (x) b = {HALVES} (a) c = Resize (b, , s) d = Concat <axis = 1> (c, a)"
        " e = Resize (d, , s) y = Concat <axis = 1> (e, x)",
        DOUBLE,
        id="a U-Net",
    ),
    pytest.param(
        "a = Conv (x, w) b = AveragePool <kernel_shape = [2], strides = [2]> (a)"
        " c = Conv (b, w) d = Resize (c, , s) e = Slice (a, two, minus, axis)"
        " y = Concat <axis = 1> (d, e)",
        f"{DOUBLE}, float[2, 2, 3] w = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},"
        " int64[1] two = {2}, int64[1] minus = {-2}, int64[1] axis = {2}",
        id="a U-Net without padding",
    ),
    pytest.param("y = MaxPool <kernel_shape = [7], strides = [3]> (x)", "", id="pooled"),
    pytest.param("y = LpPool <kernel_shape = [4]> (x)", "", id="pooled by a norm"),
    pytest.param(
        "y = Conv <strides = [2]> (x, w)", "float[1, 2, 3] w = {1, 1, 1, 1, 1, 1}", id="convolved"
    ),
    pytest.param(
        "a = Cast <to = 2> (x) b = ConvInteger (a, w) y = Cast <to = 1> (b)",
        "uint8[1, 2, 4] w = {1, 1, 1, 1, 1, 1, 1, 1}",
        id="convolved in integers",
    ),
    pytest.param(
        "a = Cast <to = 2> (x) b = QLinearConv <pads = [1, 0]> (a, u, z, w, u, z, u, z)"
        " y = Cast <to = 1> (b)",
        "uint8[1, 2, 4] w = {1, 1, 1, 1, 1, 1, 1, 1}, float u = {1}, uint8 z = {0}",
        id="quantised",
    ),
    pytest.param(
        "a = MaxPool <kernel_shape = [3]> (x) y = Conv <pads = [1, 1]> (a, w)",
        "float[1, 2, 3] w = {1, 1, 1, 1, 1, 1}",
        id="pooled and convolved",
    ),
    pytest.param(
        "y = ConvTranspose <pads = [3, 4], strides = [3]> (x, w)",
        "float[2, 1, 4] w = {1, 1, 1, 1, 1, 1, 1, 1}",
        id="convolved and cropped",
    ),
    pytest.param("y = Concat <axis = 2> (x, x)", "", id="nothing asked"),
    pytest.param("y = Add (x, k)", "float[1] k = {3}", id="a number added"),
]


@each_row(("body", "initializers"), GRAPHS, at_once=4)
def test_the_sizes_are_those_at_which_onnxruntime_runs(body: str, initializers: str) -> None:
    model = one(body, inputs="float[1, 2, n] x", initializers=initializers, opset=13)
    if "Split" in body:
        model.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, None))
    runs = running(model)
    assert runs
    found = limits(model).get("n", Sizes())
    assert all(size in found for size in runs)
    if "Slice" not in body:  # at first glance it may give nothing, and joins all
        step = gcd(*(size - runs[0] for size in runs)) or 1
        assert [size for size in SIZES if size in found] == [*range(runs[0], runs[-1] + 1, step)]


def test_sizes_are_narrowed_where_every_output_needs_it() -> None:
    body = f"{JOINED} y = Concat <axis = 1> (b, x)"
    alone = one(body, inputs="float[1, 2, n] x", initializers=DOUBLE)
    assert limits(alone)["n"].step == 2
    other = one(
        body, inputs="float[1, 2, n] x", outputs="float[] y, float[] a", initializers=DOUBLE
    )
    assert not limits(other)
    behind = one(
        f"{body} z = Relu (y)",
        inputs="float[1, 2, n] x",
        outputs="float[] y, float[] z",
        initializers=DOUBLE,
    )
    assert limits(behind)["n"].step == 2


def test_a_place_left_empty_is_no_tensor() -> None:
    """Nobody reads the first pool: that both leave something out does not join them."""
    model = one(
        "a = MaxPool <kernel_shape = [9]> (x) y = Resize (x, , s)",
        inputs="float[1, 2, n] x",
        initializers="float[3] s = {1, 1, 1}",
    )
    model.graph.node[0].output.append("")
    assert not limits(model)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_pools_of_no_batch_want_no_data(op: str) -> None:
    model = one(
        f"a = Slice (x, two, nine, axes) y = {op} <kernel_shape = [3], strides = [2]> (a)",
        inputs="float[1, 2, n] x",
        initializers="int64[2] two = {2, 2}, int64[2] nine = {9, 9}, int64[2] axes = {0, 2}",
        opset=18,
    )
    assert running(model) == [*SIZES]
    assert not limits(model)


@pytest.mark.parametrize(
    ("body", "initializers", "told"),
    [
        ("y = Add (x, k)", "float[1, 1, 5] k = {1, 2, 3, 4, 5}", "n 1..5 in steps of 4"),
        (
            "a = Slice (x, zero, three, two) y = Concat <axis = 1> (a, x)",
            "int64[1] zero = {0}, int64[1] three = {3}, int64[1] two = {2}",
            "n 1..3",
        ),
        (
            f"c = Slice (x, zero, six, two) {JOINED} y = Concat <axis = 1> (b, x, c)",
            f"{DOUBLE}, int64[1] zero = {{0}}, int64[1] six = {{6}}, int64[1] two = {{2}}",
            "n 2..6 in steps of 2",
        ),
    ],
)
def test_told_are_the_sizes_at_which_onnxruntime_runs(
    body: str, initializers: str, told: str
) -> None:
    model = one(body, inputs="float[1, 2, n] x", initializers=initializers)
    graph = Graph.from_proto(model)
    found = feasible_sizes(graph, Analysis(graph))
    runs = running(model)
    assert runs == [size for size in SIZES if size in limits(model)["n"]]
    assert runs[-1] == limits(model)["n"].last
    assert in_words(found[0]) == told


@each_row(
    "body",
    [
        "a = Expand (x)",
        "a = Expand (u, k)",
        "a = Expand (x, t)",
        "a = Expand ()",
        "a, b = Split <axis = 2> ()",
        "a, b = Split <axis = 2, split = [1.5, 2.5]> (x)",
        "a = Reshape ()",
        "a = SpaceToDepth <blocksize = 2> ()",
        "a = SpaceToDepth <blocksize = 2> (x)",
        "a, b = Split <axis = 3> (x)",
        "a, b = Split <axis = -4> (x)",
        "a, b = Split <axis = 2, split = 3> (x)",
        "a = Concat <axis = 3> (x, x)",
        "a = Concat <axis = -4> (x, x)",
        "a = Concat (x, x)",
        "a = Concat <axis = 1> (x, u)",
        "a = MatMul (x, u)",
        "a = MatMul (x)",
    ],
)
def test_a_damaged_node_asks_nothing(body: str) -> None:
    model = one(
        f'{body} y = Conv <auto_pad = "SAME_UPPER", strides = [2]> (a, w)',
        inputs="float[1, 1, n] x, float[1, 1, 3] w, float[] u, int64[3] t",
        initializers="int64[3] k = {1, 1, 6}",
        opset=11,
    )
    assert not limits(model)
    assert onnxpad.check(model, ignore="PAD6").findings


def test_an_empty_part_lets_concat_pass() -> None:
    """Onnxruntime joins an empty tensor with whatever it is."""
    model = one(
        "a = Slice (x, four, none, two) y = Concat <axis = 1> (a, z)",
        inputs="float[1, 2, n] x, float[1, 2, 3] z",
        initializers="int64[1] four = {4}, int64[1] none = {9}, int64[1] two = {2}",
    )
    assert not limits(model)


UNET = one(
    'a = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
    ' b = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'
    " c = ConvTranspose <strides = [2, 2]> (b, t) d = Concat <axis = 1> (c, a)"
    " e = Conv <pads = [1, 1, 1, 1]> (d, v) f = ConvTranspose <strides = [2, 2]> (e, t)"
    " g = Concat <axis = 1> (f, x) y = Conv <pads = [1, 1, 1, 1]> (g, v)",
    inputs="float[1, 2, height, width] x, float[2, 2, 3, 3] w, float[2, 2, 2, 2] t,"
    " float[2, 4, 3, 3] v",
)


def _feeds(model: onnx.ModelProto, sizes: Mapping[str, int]) -> dict[str, Array]:
    feeds: dict[str, Array] = {}
    for value in model.graph.input:
        shape = [d.dim_value or sizes[d.dim_param] for d in value.type.tensor_type.shape.dim]
        data = np.random.default_rng(len(feeds)).integers(-4, 5, shape)
        feeds[value.name] = data.astype(np.float32)
    return feeds


def test_a_network_that_joins_what_it_halved_has_constant_pads() -> None:
    result = onnxpad.fix(UNET, strict=True)
    assert not result.undone
    assert not result.findings
    assert {change.certificate.sizes for change in result.changes} == {
        (
            "every size at which the model is defined: height from 4 on in steps of 4, width from 4"
            " on in steps of 4"
        )
    }
    pads = [
        list(a.ints) for n in result.model.graph.node[:2] for a in n.attribute if a.name == "pads"
    ]
    assert pads == [[0, 0, 1, 1]] * 2
    assert not onnxpad.check(result.model, ignore="PAD6").findings
    said = {finding.sizes for finding in onnxpad.check(UNET, ignore="PAD6").findings}
    assert said == {change.certificate.sizes for change in result.changes}
    assert result.validation is not None
    assert len(result.validation.runs) > 1
    for height, width in product((4, 8, 12), (4, 20)):
        feeds = _feeds(UNET, {"height": height, "width": width})
        for before, after in zip(run(UNET, feeds), run(result.model, feeds), strict=True):
            np.testing.assert_array_equal(before, after)
    with pytest.raises(Exception, match="dimensions"):
        run(UNET, _feeds(UNET, {"height": 6, "width": 8}))


def test_what_a_rewrite_shows_of_the_sizes_is_used() -> None:
    """The amounts, once they are numbers, tell more of the sizes: nothing is left for later."""
    model = one(
        'a = Conv <auto_pad = "SAME_UPPER", strides = [4, 4]> (x, v) t = Shape (a)'
        " s = Slice (t, two, four) n = Neg (s) r = Mod (n, fours) l = Add (r, minus)"
        " e = Max (l, zero) k = Concat <axis = 0> (none, none, none, e) b = Pad (a, k)"
        " c = Conv <strides = [2, 2]> (b, v)"
        ' d = AveragePool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [4, 4]> (c)'
        " f = ConvTranspose <pads = [1, 0, 0, 0], strides = [2, 2]> (d, w) g = Add (f, c)"
        ' h = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (g, w) i = Resize (h, , twice)'
        " y = Concat <axis = 1> (i, a)",
        inputs="float[1, 1, n, n] x",
        initializers="float[1, 1, 1, 1] v = {2}, float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9},"
        " int64[1] two = {2}, int64[1] four = {4}, int64[2] fours = {4, 4}, int64[1] minus = {-1},"
        " int64[1] zero = {0}, int64[2] none = {0, 0}, float[4] twice = {1, 1, 2, 2}",
        opset=13,
    )
    result = onnxpad.fix(model)
    assert not onnxpad.check(result.model).failing()
    assert not onnxpad.fix(result.model, validate=False).changed
    for size in running(model):
        data = {"x": np.arange(size * size, dtype=np.float32).reshape(1, 1, size, size)}
        np.testing.assert_array_equal(run(model, data)[0], run(result.model, data)[0])


def test_a_range_and_what_the_graph_asks_hold_together() -> None:
    result = onnxpad.fix(UNET, dims={"height": "30..50", "width": "7..90"})
    assert len(result.changes) == 2
    # At odd sizes alone it never runs, and nothing is proved of what never is.
    graph = Graph.from_proto(UNET)
    assert analysed_domains(graph)[-1].domain.to_draw(graph)["height"] == Sizes(4, 16_711_680, 4)


PYRAMID = one(
    'a = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
    ' b = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'
    " c = Resize (b, , s) y = Concat <axis = 1> (c, a)",
    inputs="float[1, 2, height, width] x, float[2, 2, 3, 3] w",
    initializers="float[4] s = {1, 1, 2, 2}",
)
"""It runs where half its size, rounded up, is even."""


def test_of_sizes_with_gaps_the_closest_range_is_told() -> None:
    graph = Graph.from_proto(PYRAMID)
    assert in_words(limits(PYRAMID)) == "height from 3 on, width from 3 on"
    dims = {"height": "4..10", "width": "8..4000:4"}
    result = onnxpad.fix(PYRAMID, dims=dims)
    # At multiples of 4 both Convs have constant pads on axis 3, too, but not on axis 2.
    assert [finding.evidence["axes"] for finding in result.findings] == [[2], [2]]
    given = {"height": Sizes(4, 10), "width": Sizes(8, 4000, 4)}
    domain = analysed_domains(graph, SizeDomain(given=given))[-1].domain
    assert domain.needed["height"] == Sizes(4, 8)
    assert domain.to_draw(graph)["width"] == Sizes(8, 4000, 4)
    fours = onnxpad.fix(PYRAMID, dims={"height": "4..40:4", "width": "8..4000:4"})
    assert len(fours.changes) == 2
    with pytest.raises(UsageError):
        onnxpad.fix(PYRAMID, dims={"height": "5..6"})


@each_row(
    "given",
    [
        {"dims": {"height": 6}},
        {"shapes": {"x": (1, 2, 8, 9)}},
        {"dims": {"height": "5..7"}},
    ],
    at_once=4,
)
@pytest.mark.parametrize("call", [onnxpad.fix, onnxpad.check])
def test_sizes_at_which_the_model_never_runs_are_refused(
    given: Mapping[str, Any], call: Callable[..., object]
) -> None:
    with pytest.raises(UsageError) as caught:
        call(UNET, **given)
    assert "(Concat) stops there; give others" in str(caught.value)
    with pytest.raises(Exception, match="dimension"):
        run(UNET, _feeds(UNET, {"height": 6, "width": 8}))


def test_a_model_that_never_runs_is_nobodys_choice() -> None:
    model = one(
        'a = Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w) y = Concat <axis = 1> (a, x)',
        inputs="float[1, 1, 8] x",
        initializers="float[1, 1, 3] w = {1, 2, 3}",
    )
    assert onnxpad.fix(model, validate=False).changed


def runs_within_its_limits(drawn: Drawn) -> bool:
    """Whether sizes of a model are limited; it runs at none that it is thought to stop at."""
    found = limits(drawn.model) if drawn.open else {}
    if not found:
        return False
    names: dict[str, int] = {}
    for v in drawn.model.graph.input[:1]:
        for axis, d in enumerate(v.type.tensor_type.shape.dim):
            if not d.HasField("dim_value"):  # the first axis of a name has it
                names.setdefault(d.dim_param or f"{v.name}[{axis}]", axis)
    for size in range(1, 14):
        feeds = drawn.feeds(0, size)
        try:
            run(drawn.model, feeds)
        except Exception:  # whatever onnxruntime raises
            continue
        shape = feeds[drawn.model.graph.input[0].name].shape
        for name, axis in names.items():
            if name in found:
                assert shape[axis] in found[name], (name, size)
    return True


@pytest.mark.parametrize("seed", [22, 44, 60, 74, 79, 83, 105])
def test_random_models_are_never_thought_to_stop_where_they_run(seed: int) -> None:
    assert runs_within_its_limits(draw_model(random.Random(seed)))


GIVEN = f"""
    int64[2] s = {{2, 4}}, int64[3] t = {{0, -1, 3}}, int64[3] k = {{1, 2, 6}},
    int64[1] all = {{-1}},
    int64[2] zero = {{0, 0}}, int64[4] e = {{1, 2, 6, 8}},
    float[3, 2, 3, 3] w = {{{", ".join(["1"] * 54)}}},
    float[2, 3, 3, 3] u = {{{", ".join(["1"] * 54)}}}
"""
INPUTS = """
    float[1, 2, n, m] x, float[1, 2, n, 8] v, float[n, m] a, float[m, 5] b, int64[2] r,
    float[1, 2] c, float[0, 2, n, m] o, float[?, 2, n, m] f, float[h, 8, 4] g
"""
ASKED: list[tuple[str, int, str]] = [
    ("y = Add (x, v)", 13, "m 1 8; ?"),
    ("y = Add (x, v)", 6, ""),
    ("y = Add (a, b)", 13, "m 1 5; ?"),
    ("y = Add (x, c)", 13, "m 1 2"),
    ("y = Where (x, v, x)", 13, "m 1 8; ?"),
    ("y = Concat <axis = 1> (x, v)", 13, "?; m 8"),
    ("y = Concat <axis = -1> (x, v)", 13, "?"),
    ("y = Concat <axis = 0> (a, b)", 13, "m 5"),
    ("y = Concat <axis = 1> (a, b)", 13, "?"),
    ("y = Concat <axis = 2> (a, b)", 13, ""),
    ("y = Concat <axis = 1> (o, v)", 13, ""),
    ("y = Concat <axis = 0> (r, r)", 13, ""),
    ("y = Conv (x, w)", 13, "n 3 4 5 6 7 8 9; m 3 4 5 6 7 8 9"),
    ('y = Conv <auto_pad = "SAME_UPPER"> (x, w)', 13, "1; 1; 1; 1"),
    ("y = Conv <pads = [1, 1, 1, 1]> (x, w)", 13, "1; 1"),
    ("y = MaxPool <kernel_shape = [3, 3]> (x)", 13, "n 2 3 4 5 6 7 8 9; m 2 3 4 5 6 7 8 9; 1; 1"),
    ("y = MaxPool <kernel_shape = [3, 3]> (o)", 13, "n 2 3 4 5 6 7 8 9; m 2 3 4 5 6 7 8 9"),
    ("y = AveragePool <kernel_shape = [3, 3], strides = [2, 2]> (f)", 13, "1; 1; 1; 1"),
    ("y = ConvTranspose <pads = [2, 0, 2, 0]> (x, u)", 13, "n 3 4 5 6 7 8 9; 1"),
    ("y = ConvTranspose (x, u)", 13, "1; 1"),
    ("y = Relu (x)", 13, ""),
]


def sizes_told(condition: Extent) -> str:
    """The sizes up to 9 at which a condition holds, or whether it always does."""
    if not isinstance(condition, Size):
        return "?" if isinstance(condition, Unknown) else str(condition)
    name = condition.symbols[0].name
    holds = [str(size) for size in range(1, 10) if evaluate(condition, {name: size})]
    return " ".join([name[0], *holds])


@each_row(("body", "opset", "expected"), ASKED)
def test_what_each_operator_asks(body: str, opset: int, expected: str) -> None:
    graph = Graph.from_proto(
        one(body, inputs=INPUTS, outputs="float[] y", initializers=GIVEN, opset=opset)
    )
    (node,) = graph.nodes
    asked = map(sizes_told, feasible.conditions_of(node, graph, Analysis(graph)))
    assert "; ".join(asked) == expected
