"""Shapes that the analysis propagates, by operator and through networks, against onnxruntime."""

from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnxpad.arithmetic.size import Extent, Size, Sizes, Unknown, symbol
from onnxpad.facts import LARGEST_SIZE, Analysis
from onnxpad.facts.shape_rules import DTYPES, SEVERAL, SHAPES, resized
from onnxpad.graph import Graph
from tests.facts.agreement import REFUSALS, compare, single, together
from tests.strategies import examples
from tests.support import parsed
from tests.support.rows import each_row


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


def i(*items: int) -> Any:
    return np.array(items, np.int64)


X = zeros(2, 4, 6, 5)
SMALL = zeros(2, 3)

CASES: list[tuple[str, Any, int, Any]] = [
    # op, inputs, opset, attributes
    *((op, {"x": X}, 17, {}) for op in ["Relu", "Sigmoid", "Softmax", "Erf", "HardSwish", "Sqrt"]),
    ("Sum", {"x": X, "y": X}, 7, {}),
    ("Sum", {"x": X, "y": zeros(6, 1)}, 8, {}),
    ("PRelu", {"x": X, "s": zeros(4, 1, 1)}, 17, {}),
    ("PRelu", {"x": zeros(2, 1, 6, 1), "s": zeros(4, 1, 5)}, 17, {}),
    ("PRelu", {"x": zeros(5), "s": zeros(4, 1)}, 9, {}),
    ("LRN", {"x": X}, 17, {"size": 3}),
    ("Dropout", {"x": X}, 17, {}),
    ("InstanceNormalization", {"x": X, "s": zeros(4), "b": zeros(4)}, 17, {}),
    ("LayerNormalization", {"x": X, "s": zeros(6, 5)}, 17, {"axis": 2}),
    ("BatchNormalization", {"x": X, **{n: zeros(4) for n in "sbmv"}}, 17, {}),
    ("Add", {"x": X, "y": zeros(6, 1)}, 17, {}),
    ("Where", {"c": zeros(5, dtype=np.bool_), "x": X, "y": zeros(1, 4, 1, 1)}, 17, {}),
    ("Greater", {"x": X, "y": zeros(2, 1, 1, 1)}, 17, {}),
    ("Max", {"x": zeros(2, 1), "y": zeros(3), "z": zeros(5, 1, 1)}, 17, {}),
    ("QuantizeLinear", {"x": X, "s": np.array(1, np.float32), "z": np.array(1, np.int8)}, 17, {}),
    ("QuantizeLinear", {"x": X, "s": np.array(1, np.float32)}, 17, {}),
    ("DequantizeLinear", {"x": X.astype(np.uint8), "s": np.array(1, np.float32)}, 17, {}),
    ("DynamicQuantizeLinear", {"x": X}, 17, {"outputs": 3}),
    ("Transpose", {"x": X}, 17, {"perm": [0, 2, 3, 1]}),
    ("Reshape", {"x": X, "s": i(0, -1, 3)}, 17, {}),
    ("Squeeze", {"x": zeros(1, 3, 1), "a": i(-3)}, 17, {}),
    ("Unsqueeze", {"x": SMALL, "a": i(-1, 0)}, 17, {}),
    ("Concat", {"x": X, "y": zeros(2, 1, 6, 5)}, 17, {"axis": -3}),
    ("Split", {"x": X, "s": i(1, 2, 3)}, 17, {"axis": 2, "outputs": 3}),
    ("Split", {"x": X}, 18, {"axis": 3, "num_outputs": 3, "outputs": 3}),
    ("Split", {"x": X}, 11, {"axis": 2, "outputs": 3}),
    ("Slice", {"x": X, "s": i(-1, 9), "e": i(-9, 1), "a": i(2, -1), "t": i(-2, -3)}, 17, {}),
    ("Gather", {"x": X, "i": zeros(3, 1, dtype=np.int64)}, 17, {"axis": -1}),
    ("Expand", {"x": SMALL, "s": i(4, 1, 1)}, 17, {}),
    ("Tile", {"x": SMALL, "r": i(2, 3)}, 17, {}),
    ("Pad", {"x": X, "p": i(0, 0, 1, 2, 0, 0, 3, -1)}, 17, {}),
    ("Pad", {"x": X, "p": i(1, 2, 3, -1), "_": X, "a": i(-1, 2)}, 18, {}),
    ("Pad", {"x": X, "p": i(0, 0, 2, 2, 0, 0, 2, 2)}, 17, {"mode": "reflect"}),
    ("Pad", {"x": X}, 10, {"pads": [0, 0, 1, 2, 0, 0, 3, -1]}),
    ("SpaceToDepth", {"x": zeros(1, 2, 6, 4)}, 17, {"blocksize": 2}),
    ("DepthToSpace", {"x": zeros(1, 8, 3, 2)}, 17, {"blocksize": 2}),
    ("MatMul", {"x": X, "y": zeros(4, 5, 7)}, 17, {}),
    ("MatMul", {"x": zeros(5), "y": zeros(4, 5, 7)}, 17, {}),
    ("MatMul", {"x": X, "y": zeros(5)}, 17, {}),
    ("MatMul", {"x": zeros(5), "y": zeros(5)}, 17, {}),
    ("ReduceMean", {"x": X}, 17, {"axes": [2, -1], "keepdims": 0}),
    ("ReduceMean", {"x": X, "a": i(2, -1)}, 18, {}),
    ("ReduceMax", {"x": X}, 17, {"keepdims": 0}),
    ("ReduceL2", {"x": X}, 17, {}),
    ("ConstantOfShape", {"s": i(70, 2)}, 17, {}),
    ("GlobalAveragePool", {"x": X}, 17, {}),
    ("GlobalMaxPool", {"x": zeros(1, 2, 3)}, 17, {}),
    ("ConvInteger", {"x": X.astype(np.uint8), "w": zeros(3, 4, 3, 2, dtype=np.uint8)}, 17,
        {"pads": [1, 0, 1, 1]}),
    ("ReduceSum", {"x": X, "a": i(1)}, 13, {"keepdims": 0}),
    ("Resize", {"x": zeros(1, 1, 10, 9), "_r": X, "s": zeros(4) * np.float32(2.5)}, 17, {}),
    ("ConvTranspose", {"x": X, "w": zeros(4, 3, 2, 2)}, 17, {"group": 2}),
    ("Conv", {"x": X, "w": zeros(6, 2, 2, 2)}, 17, {"group": 2}),
    ("Resize", {"x": X, "_r": X, "_s": X, "z": i(2, 4, 9, 3)}, 17, {}),
    ("Resize", {"x": X, "_r": X, "s": np.array([1, 1, 2, 1.5], np.float32)}, 17, {}),
    ("Resize", {"x": X, "s": np.array([1, 1, 2, 0.5], np.float32)}, 10, {}),
    ("Upsample", {"x": X, "s": np.array([1, 1, 2, 3], np.float32)}, 9, {}),
]  # fmt: skip


@pytest.mark.parametrize("opset", sorted({case[2] for case in CASES}))
def test_operators_agree_with_onnxruntime(opset: int) -> None:
    """A session for all operators of an opset; a tensor is named by its place and output."""
    cases = [case for case in CASES if case[2] == opset]
    model = together([single(op, inputs, opset, **more) for op, inputs, _, more in cases])
    agreement = compare(model)
    assert agreement.wrong == []
    assert agreement.runs == 1
    assert agreement.shaped == {name for node in model.graph.node for name in node.output}


# Sliding windows, at every size

SIZES = [{"n": n} for n in range(1, 20)]


def window_model(op: str, opset: int, **attributes: Any) -> onnx.ModelProto:
    """A model of one window operator over the last axis of `x`, which has n elements."""
    inputs = ["x"]
    nodes = []
    if "Conv" in op:
        shape = helper.make_tensor(
            "value", TensorProto.INT64, [3], [2, 2, attributes["kernel_shape"][0]]
        )
        nodes = [
            helper.make_node("Constant", [], ["shape"], value=shape),
            helper.make_node("ConstantOfShape", ["shape"], ["w"]),
        ]
        inputs.append("w")
    nodes.append(helper.make_node(op, inputs, ["y"], **attributes))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, "n"])
    graph = helper.make_graph(nodes, "window", [x], [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


@st.composite
def window_operators(draw: Any) -> tuple[str, int, dict[str, Any]]:
    op = draw(st.sampled_from(["Conv", "MaxPool", "AveragePool", "LpPool", "ConvTranspose"]))
    opset = draw(st.sampled_from([11, 17, 22]))
    attributes: dict[str, Any] = {
        "kernel_shape": [draw(st.integers(1, 5))],
        "strides": [draw(st.integers(1, 4))],
    }
    since = {"AveragePool": 19, "LpPool": 18}.get(op, 0)
    if opset >= since and draw(st.booleans()):
        attributes["dilations"] = [draw(st.integers(1, 3))]
    padding = draw(st.sampled_from(["", "pads", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if padding == "pads":
        attributes["pads"] = draw(st.lists(st.integers(0, 3), min_size=2, max_size=2))
    elif padding:
        attributes["auto_pad"] = padding
    if (op in ("MaxPool", "AveragePool") or (op == "LpPool" and opset >= 18)) and draw(
        st.booleans()
    ):
        attributes["ceil_mode"] = 1
    if op == "ConvTranspose":
        attributes["output_padding"] = [draw(st.integers(0, 2))]
        if draw(st.integers(0, 3)) == 0:
            attributes["output_shape"] = [draw(st.integers(5, 20))]
    return op, opset, attributes


@examples(2.5)
@given(window_operators())
def test_window_operator_agrees_with_onnxruntime(case: tuple[str, int, dict[str, Any]]) -> None:
    op, opset, attributes = case
    try:
        agreement = compare(window_model(op, opset, **attributes), SIZES)
    except REFUSALS:
        return  # no runtime has it
    assert agreement.wrong == []


@each_row(
    ("op", "attributes"),
    [
        ("Conv", {"kernel_shape": [3], "pads": [1, 1], "strides": [2], "dilations": [2]}),
        ("Conv", {"kernel_shape": [3], "auto_pad": "SAME_UPPER", "strides": [2]}),
        ("Conv", {"kernel_shape": [4], "auto_pad": "VALID"}),
        ("MaxPool", {"kernel_shape": [3], "strides": [3]}),
        ("MaxPool", {"kernel_shape": [3], "strides": [2], "ceil_mode": 1, "pads": [1, 1]}),
        ("AveragePool", {"kernel_shape": [3], "auto_pad": "SAME_LOWER", "strides": [2]}),
        ("LpPool", {"kernel_shape": [2], "strides": [2]}),
        ("ConvTranspose", {"kernel_shape": [4], "strides": [2], "pads": [1, 1]}),
        ("ConvTranspose", {"kernel_shape": [3], "strides": [2], "auto_pad": "SAME_UPPER"}),
        ("ConvTranspose", {"kernel_shape": [3], "strides": [2], "output_padding": [1]}),
    ],
    at_once=4,
)
def test_window_of_an_unknown_size_is_claimed(op: str, attributes: Any) -> None:
    agreement = compare(window_model(op, 17, **attributes), SIZES)
    assert agreement.wrong == []
    assert agreement.runs > 10
    assert "y" in agreement.shaped


@each_row(
    ("op", "attributes"),
    [
        pytest.param(
            "MaxPool", {"auto_pad": "SAME_UPPER", "dilations": [2]}, id="dilated SAME pool"
        ),
        pytest.param("MaxPool", {"auto_pad": "SAME_UPPER", "pads": [1, 1]}, id="both"),
        pytest.param("MaxPool", {"auto_pad": "VALID", "pads": [1, 1]}, id="VALID and pads"),
        pytest.param("Conv", {"auto_pad": "SAME", "pads": [1, 1]}, id="no such auto_pad"),
        pytest.param("ConvTranspose", {"auto_pad": "SAME_UPPER", "strides": [4]}, id="short SAME"),
        pytest.param("Conv", {"strides": [0]}, id="stride 0"),
        pytest.param("Conv", {"pads": [1, 1, 1, 1]}, id="pads of another rank"),
    ],
)
def test_size_on_which_runtimes_differ_is_unknown(op: str, attributes: Any) -> None:
    graph = Graph.from_proto(window_model(op, 17, kernel_shape=[3], **attributes))
    shape = Analysis(graph).shape(graph.tensor("y"))
    assert shape is not None
    assert shape[:2] == (1, 2)
    assert isinstance(shape[2], Unknown)


@pytest.mark.parametrize("op", ["Conv", "MaxPool"])
def test_window_that_fits_nowhere_gives_no_size(op: str) -> None:
    graph = Graph.from_proto(window_model(op, 17, kernel_shape=[5]))
    (*_, size) = Analysis(graph, dims={"n": 2}).shape(graph.tensor("y")) or ()
    assert isinstance(size, Unknown)


def test_resize_is_claimed_only_where_the_product_is_not_rounded() -> None:
    assert isinstance(resized(11, float(np.float32(0.7))), Unknown)
    assert resized(11, 1.5) == 16
    assert isinstance(resized(symbol("n"), 2.0), Unknown)
    assert isinstance(resized(symbol("n", Sizes(last=2**24)), 2.0), Size)
    assert isinstance(resized(symbol("n", Sizes(last=2**24)), 1.5), Unknown)
    assert isinstance(resized(symbol("n", Sizes(last=2**24 + 1)), 2.0), Unknown)


# Networks


NETWORK = """g (float[1, 2, height, width] x) => () {
  c1 = Constant <value = int64[1] {1}> () c2 = Constant <value = int64[1] {2}> ()
  c3 = Constant <value = int64[1] {3}> () c4 = Constant <value = int64[1] {4}> ()
  c8 = Constant <value = int64[1] {8}> () cm1 = Constant <value = int64[1] {-1}> ()
  flat = Constant <value = int64[3] {0, 0, -1}> ()
  w_shape = Constant <value = int64[4] {2, 2, 3, 3}> ()
  w = ConstantOfShape (w_shape)
  pads = Constant <value = int64[8] {0, 0, 1, 2, 0, 0, 0, -1}> ()
  scales = Constant <value = float[4] {1.0, 1.0, 2.0, 1.5}> ()
  empty = Constant <value_floats = [1.0]> ()
  one = Constant <value = float {1.0}> ()
  v0 = Identity (x)
"""
"""To which nodes are added, of which the last gives `vN`."""


def random_nodes(random: Random, k: int) -> str:
    """Nodes that compute `v{k}` of rank 4 from `v0` to `v{k-1}`."""
    a, b = f"v{max(k - random.randint(1, 2), 0)}", f"v{random.randrange(k)}"
    kernel = [random.randint(2, 3) for _ in range(2)]
    strides = [random.randint(1, 2) for _ in range(2)]
    pads = [random.randrange(2) for _ in range(4)]
    window = f"kernel_shape = {kernel}, strides = {strides}, pads = {pads}"
    return random.choice(
        [
            f"v{k} = MaxPool <{window}> ({a})",
            f"v{k} = AveragePool <{window}, ceil_mode = 1> ({a})",
            f'v{k} = Conv <auto_pad = "SAME_UPPER", strides = {strides}> ({a}, w)',
            f"v{k} = ConvTranspose <strides = {strides}> ({a}, w)",
            f"v{k} = Pad ({a}, pads)",
            f"v{k} = Add ({a}, {b})",
            f"v{k} = Concat <axis = {random.choice([2, 3])}> ({a}, {b})",
            f'v{k} = Resize <mode = "nearest"> ({a}, empty, scales)',
            f"t{k} = Transpose <perm = [0, 1, 3, 2]> ({a}) v{k} = Relu (t{k})",
            f"v{k} = Slice ({a}, c1, c8, c2)",
            f"v{k} = Slice ({a}, c1, cm1, c3, c2)",
            f"r{k} = Reshape ({a}, flat) s{k} = Shape ({a}) v{k} = Reshape (r{k}, s{k})",
            f"""s{k} = Shape ({a}) h{k} = Slice (s{k}, c2, c4) d{k} = Div (h{k}, c2)
            m{k} = Max (d{k}, c1) e{k} = Concat <axis = 0> (c1, c2, m{k})
            v{k} = Expand (one, e{k})""",
            f"m{k} = ReduceMean <axes = [2]> ({a}) v{k} = Mul ({a}, m{k})",
            f"y{k} = Gather <axis = 2> ({a}, c1) v{k} = Add (y{k}, {a})",
        ]
    )


def random_network(seed: int) -> onnx.ModelProto:
    """A network of unknown height and width, with what it computes from them."""
    random, text, k = Random(seed), NETWORK, 1
    for _ in range(12):
        longer = text + random_nodes(random, k) + "\n"
        # Shapes that do not go together teach nothing.
        if compare(parsed(longer + "}"), [{"height": 9, "width": 14}], empty=False).runs:
            text, k = longer, k + 1
    return parsed(text + "}")


def network_agrees(model: onnx.ModelProto) -> None:
    """Holds every claim on a network of unknown height and width against onnxruntime."""
    sizes = [(9, 14), (1, 1), (2, 5), (7, 3), (8, 8), (10, 17), (31, 12)]
    named = [{"height": height, "width": width} for height, width in sizes]
    agreement = compare(model, named, empty=False)
    assert agreement.wrong == []
    assert agreement.runs


@pytest.mark.parametrize("seed", [1, 7, 30])
def test_random_network_agrees_with_onnxruntime(seed: int) -> None:
    network_agrees(random_network(seed))


@pytest.mark.parametrize(
    "attributes",
    [{"keepdims": 2}, {"noop_with_empty_axes": -1}, {"axes": [0.5]}, {"axes": 1}],
)
def test_attribute_that_runtimes_read_differently_is_not_read(attributes: Any) -> None:
    graph = Graph.from_proto(single("ReduceMax", {"x": X}, 17, **attributes))
    shape = Analysis(graph).shape(graph.tensor("y0"))
    assert not shape or all(isinstance(extent, Unknown) for extent in shape)


# What is not claimed, and how sizes are named


def shape_of(text: str, **dims: Extent) -> tuple[Extent, ...] | None:
    graph = Graph.from_proto(parsed(text))
    return Analysis(graph, dims=dims).shape(graph.tensor("y"))


def test_axes_of_inputs_are_independent_symbols_of_their_names() -> None:
    graph = Graph.from_proto(
        parsed(
            """g (float[N, 3, height] x, float[N, height, ?] other, float[N] third) => () {
              y = Relu (x) }"""
        )
    )
    analysis = Analysis(graph)

    def named(name: str) -> Extent:
        return symbol(name, Sizes(last=LARGEST_SIZE))

    # Their names do not depend on which is asked about first.
    assert analysis.shape(graph.tensor("third")) == (named("N (third[0])"),)
    assert analysis.shape(graph.tensor("x")) == (named("N"), 3, named("height"))
    assert analysis.shape(graph.tensor("other")) == (
        named("N (other[0])"),
        named("height (other[1])"),
        named("other[2]"),
    )


def test_sizes_are_pinned_by_the_name_of_their_symbol() -> None:
    text = "g (float[N, M] x, float[N, M] z) => () { y = Concat <axis = 1> (x, z) }"
    assert shape_of(text, **{"N": 2, "M": 3, "M (z[1])": 5}) == (2, 8)
    assert shape_of("g (float[?, 4] x) => () { y = Relu (x) }", **{"x[0]": 7}) == (7, 4)


def test_declared_shapes_in_between_and_of_outputs_are_not_believed() -> None:
    text = """g (float[1, 1, 9] x) => (float[1, 1, 10] y) <float[1, 1, 10] r> {
      r = Relu (x) y = Relu (r) }"""
    assert shape_of(text) == (1, 1, 9)


def test_equal_sizes_cancel_where_a_reshape_leaves_one_axis_open() -> None:
    shape = shape_of(
        """g (float[batch, 4, width, 3] x) => () {
          target = Constant <value = int64[3] {0, -1, 3}> () y = Reshape (x, target) }"""
    )
    width = symbol("width", Sizes(last=LARGEST_SIZE))
    assert shape == (symbol("batch", Sizes(last=LARGEST_SIZE)), 4 * width, 3)


def test_operators_of_onnxruntime_are_followed() -> None:
    text = """g (uint8[1, 2, n, 6] x, uint8[1, 2, 1, 6] row, float[1, 2, n, 6] z) => () {
      scale = Constant <value = float {0.5}> () zero = Constant <value = uint8 {3}> ()
      shape = Constant <value = int64[4] {3, 2, 3, 3}> () w = ConstantOfShape (shape)
      sum = com.microsoft.QLinearAdd (row, scale, zero, x, scale, zero, scale, zero)
      both = com.microsoft.QLinearConcat <axis = 1> (
        scale, zero, sum, scale, zero, x, scale, zero, x, scale, zero)
      pool = com.microsoft.QLinearAveragePool <kernel_shape = [2, 2], strides = [2, 2]> (
        both, scale, zero, scale, zero)
      real = com.microsoft.DequantizeLinear (pool, scale, zero)
      fused = com.microsoft.FusedConv <activation = "Relu", pads = [1, 1, 1, 1]> (z, w) }"""
    agreement = compare(parsed(text), [{"n": n, "n (z[2])": n} for n in range(2, 9)])
    assert agreement.wrong == []
    assert agreement.runs == 7
    assert {"sum", "both", "pool", "real", "fused"} <= agreement.shaped


@pytest.mark.parametrize("auto_pad", ["", 'auto_pad = "SAME_LOWER", ', 'auto_pad = "VALID", '])
def test_channels_may_be_last(auto_pad: str) -> None:
    given = f"{auto_pad}strides = [2, 3]"
    text = f"""g (uint8[1, n, 7, 2] x) => () {{
      s = Constant <value = float {{0.5}}> () z = Constant <value = uint8 {{3}}> ()
      shape = Constant <value = int64[4] {{5, 2, 3, 2}}> ()
      w = ConstantOfShape <value = uint8[1] {{1}}> (shape)
      conv = com.microsoft.QLinearConv <{given}, channels_last = 1> (x, s, z, w, s, z, s, z)
      pool = com.microsoft.QLinearAveragePool <{given}, kernel_shape = [3, 2], channels_last = 1>
        (conv, s, z, s, z)
      most = com.microsoft.NhwcMaxPool <{given}, kernel_shape = [3, 2], ceil_mode = 1> (conv)
      all = com.microsoft.QLinearGlobalAveragePool <channels_last = 1> (conv, s, z, s, z)
      turned = Transpose <perm = [0, 3, 1, 2]> (x)
      first = com.microsoft.QLinearConv <{given}> (turned, s, z, w, s, z, s, z) }}"""
    agreement = compare(parsed(text), [{"n": n} for n in range(8, 16)])
    assert agreement.wrong == []
    assert agreement.runs == 8
    assert {"conv", "pool", "most", "all", "first"} <= agreement.shaped


@each_row(
    "text",
    [
        pytest.param("y = Loopy (x)", id="no such operator"),
        pytest.param("y = other.Relu (x)", id="another domain"),
        pytest.param("y = Compress (x, k)", id="an operator without a rule"),
        pytest.param("y = Squeeze (x, nine)", id="no such axis"),
        pytest.param("y = Transpose <perm = [0, 0, 1]> (x)", id="perm with an axis twice"),
        pytest.param("y = Transpose <perm = 3> (x)", id="attribute of another type"),
        pytest.param("y = Concat <axis = 1> (x, x, k)", id="sizes that conflict"),
        pytest.param("y = Add (x, k)", id="shapes that do not broadcast"),
        pytest.param("y = ConstantOfShape (t)", id="as many axes as the caller gives"),
        pytest.param("y = Squeeze (x)", id="axes that may be 1"),
        pytest.param("b = ConstantOfShape (far) y = Concat <axis = 0> (b, b)", id="no such size"),
        pytest.param("y = Relu ()", id="no input"),
        pytest.param("m = Neg (nine) y = ConstantOfShape (m)", id="a negative size"),
    ],
)
def test_rank_that_cannot_be_told_is_none(text: str) -> None:
    constants = f"""nine = Constant <value = int64[1] {{9}}> ()
    far = Constant <value = int64[1] {{{2**62}}}> ()"""
    model = f"g (float[2, n, 5] x, float[4, 4, 4] k, int64[m] t) => () {{ {constants} {text} }}"
    assert shape_of(model) is None


@each_row(
    ("text", "expected"),
    [
        pytest.param("y = Reshape (x, less)", (None, None, 1, 4), id="0 would copy"),
        pytest.param("y = Reshape (x, all)", (None,), id="product of two sizes"),
        pytest.param("y = Slice (x, t, t, one, one)", (7, None, 2, 5), id="bounds of the caller"),
        pytest.param(
            "r = Transpose <perm = [1, 0, 2, 3]> (x) y = Add (x, r)",
            (None, None, 2, 5),
            id="either",
        ),
    ],
)
def test_size_that_cannot_be_told_is_unknown(text: str, expected: tuple[Any, ...]) -> None:
    shape = shape_of(
        f"""g (float[a, b, 2, 5] x, int64[1] t) => () {{
          s = Shape (x) one = Constant <value = int64[1] {{1}}> () less = Sub (s, one)
          all = Constant <value = int64[1] {{-1}}> () {text} }}""",
        a=7 if "Slice (x, t" in text else symbol("a"),
    )
    assert shape is not None
    assert [None if isinstance(extent, Unknown) else extent for extent in shape] == list(expected)


def test_types_follow_the_schemas() -> None:
    """An operator without an entry in `DTYPES` gives the type of input 0, says its schema."""
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.name in SHAPES and schema.name not in DTYPES:
            known = schema.outputs if schema.name in SEVERAL else schema.outputs[:1]
            types = {output.type_str for output in known}
            assert types == {schema.inputs[0].type_str}, schema.name


@each_row(
    ("text", "expected"),
    [
        ("t = Concat <axis = 0> (n, minus) y = Reshape (x, t)", ("n", "4")),
        ("t = Concat <axis = 0> (minus, n) y = Reshape (x, t)", ("4", "n")),
        ("t = Concat <axis = 0> (zero, minus) y = Reshape (x, t)", ("n", "4")),
        ("t = Concat <axis = 0> (zero, n) y = Reshape <allowzero = 1> (x, t)", ("0", "n")),
        ("m = Sub (n, one) t = Concat <axis = 0> (m, four) y = Reshape (x, t)", ("", "4")),
        ("t = Concat <axis = 0> (minus, zero) y = Reshape (x, t)", ("n", "4")),
        ("y = Slice (x, one, four, one)", ("n", "3")),
        ("y = Slice (x, four, zero, one, minus)", ("n", "3")),
    ],
    at_once=8,
)
def test_targets_and_lists(text: str, expected: tuple[str, ...]) -> None:
    """Sizes in words, of a tensor of n x 4; empty where one is unknown."""
    found = shape_of(
        f"""g (float[n, 4] x) => () {{
          s = Shape (x) n = Slice (s, zero, one) zero = Constant <value = int64[1] {{0}}> ()
          one = Constant <value = int64[1] {{1}}> () four = Constant <value = int64[1] {{4}}> ()
          minus = Constant <value = int64[1] {{-1}}> ()
          two = Constant <value = int64[2] {{1, 1}}> () {text} }}"""
    )
    assert found is not None
    assert tuple("" if isinstance(size, Unknown) else str(size) for size in found) == expected
