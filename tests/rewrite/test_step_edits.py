"""What is moved past a step: the layer as its row says, and the node as it stays right."""

from dataclasses import dataclass

import numpy as np
import onnx
import pytest
from msgspec.structs import astuple, replace
from onnx import helper, numpy_helper

import onnxpad
from onnxpad.errors import ModelError
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node
from onnxpad.padding.padding import data_inputs
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite import sinking
from onnxpad.rewrite.sinking import Behind
from onnxpad.semantics.layers import Fill, Layer, Pairs, fill_of
from onnxpad.semantics.table import rows
from tests.semantics import drawn_steps as drawn
from tests.support import PADS, W, one, ran
from tests.support.rows import each_row

SPATIAL = ((0, 0), (0, 0), (1, 2), (0, 3))


@dataclass(frozen=True)
class Case:
    """A node on data of a shape with `SPATIAL` around it; it writes `y` and perhaps `z`."""

    body: str
    given: str = ""
    shape: tuple[int, ...] = (2, 3, 4, 5)
    fill: Fill = 0
    opset: int = 17
    dtype: str = "float"
    outputs: str = "y"

    def behind(self) -> Behind:
        sizes = [size + sum(pair) for size, pair in zip(self.shape, SPATIAL, strict=True)]
        shape = ", ".join(map(str, sizes))
        proto = one(
            self.body,
            inputs=f"{self.dtype}[{shape}] x, {self.dtype}[{shape}] q, int64[4] r",
            outputs=", ".join(f"float[] {o}" for o in self.outputs.split()),
            initializers=self.given,
            opset=self.opset,
        )
        for output in proto.graph.output:
            output.ClearField("type")
        return moved(*read(proto), Layer(SPATIAL, self.fill))


def read(proto: onnx.ModelProto) -> tuple[Graph, Analysis, Node]:
    """A graph of one node, its analysis, and the node."""
    graph = Graph.from_proto(proto)
    (node,) = graph.nodes
    return graph, Analysis(graph), node


def moved(graph: Graph, analysis: Analysis, node: Node, layer: Layer) -> Behind:
    inputs = data_inputs(graph, node)
    if not inputs:
        raise RefusalError(Reason.STEPS_BETWEEN, "it is no step")
    return sinking.behind(graph, analysis, node, [layer] * len(inputs))


def on_bare_data(model: onnx.ModelProto, shape: tuple[int, ...], behind: Behind) -> None:
    """Leaves the model as a rewrite would, for data of a shape without padding."""
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shape, strict=True):
            dim.dim_value = size
    (node,) = model.graph.node
    if behind.shape is not None:
        node.input[1] = "new"
        array = np.asarray(behind.shape, np.int64)
        model.graph.initializer.append(numpy_helper.from_array(array, "new"))


STEPS = sorted({op for (_, op), row in rows().items() if row.step})


@each_row("op", [op for op in STEPS if op != "Swish"], at_once=8)
def test_a_step_on_bare_data_is_as_onnxruntime_runs_it(op: str) -> None:
    seen = 0
    for seed in range(20):
        case = replace(drawn.drawn(seed, op), open=frozenset())
        if len(case.layers) != 1 or case.layers[0].fill not in drawn.NUMBERS:
            continue
        amounts, fill = astuple(case.layers[0])
        pairs = tuple((int(str(begin)), int(str(end))) for begin, end in amounts)
        model = case.model()
        try:
            behind = moved(*read(model), Layer(pairs, fill))
        except (RefusalError, ModelError):
            continue
        feeds = case.feeds()
        wide = {name: drawn.padded(each, case.layers) for name, each in feeds.items()}
        whole = ran(model, wide)
        on_bare_data(model, case.shape, behind)
        inner = ran(model, feeds)
        assert isinstance(whole, str) == isinstance(inner, str), case
        if isinstance(whole, str) or isinstance(inner, str):
            continue
        for one_result, other in zip(whole, inner, strict=True):
            expected = drawn.padded(other, (behind.layer,))
            assert one_result.shape == expected.shape
            np.testing.assert_allclose(one_result, expected, 1e-5)
            seen += 1
    assert seen


AXES = "int64[1] s = {%s}, int64[1] e = {%s}, int64[1] a = {%s}, int64[1] t = {%s}"
IN_TURN = ((0, 0), (0, 0), (0, 0), (1, 2), (0, 3))
WITHOUT_FIRST = ((0, 0), (1, 2), (0, 3))


def reshape(sizes: str, opset: int = 17) -> Case:
    return Case("y = Reshape (x, c)", f"int64[5] c = {{{sizes}}}", opset=opset)


def sliced(*given: int) -> Case:
    return Case("y = Slice (x, s, e, a, t)", AXES % (*given, 1)[:4])


WRITTEN: list[tuple[Case, Pairs, list[int] | None]] = [
    (Case("y = Squeeze (x, c)", "int64[1] c = {0}", shape=(1, 3, 4, 5)), WITHOUT_FIRST, None),
    (reshape("2, 3, 1, 7, 8"), IN_TURN, [2, 3, 1, 4, 5]),
    (reshape("2, 3, 1, 7, 8", opset=5), IN_TURN, [2, 3, 1, 4, 5]),
    (reshape("0, 0, 1, -1, 8"), IN_TURN, [0, 0, 1, -1, 5]),
    (sliced(0, -4, 1), SPATIAL, None),
    (sliced(0, 9, 1, 2), SPATIAL, None),
    (sliced(1, 9, 3), SPATIAL, None),
]


@each_row(("case", "amounts", "shape"), WRITTEN, at_once=8)
def test_what_is_written_anew(case: Case, amounts: Pairs, shape: list[int] | None) -> None:
    behind = case.behind()
    assert (behind.layer.amounts, behind.shape) == (amounts, shape)


REFUSED: list[tuple[Case, Reason]] = [
    (Case("y = Sigmoid (x)"), Reason.STEPS_BETWEEN),
    (Case("y = Asin (x)"), Reason.STEPS_BETWEEN),
    (Case("y = Sub (x, q)"), Reason.STEPS_BETWEEN),
    (Case("y = Add (x, c)", "float c = {1}", opset=6), Reason.STEPS_BETWEEN),
    (Case("y = Reshape (x, r)"), Reason.STEPS_BETWEEN),
    (reshape("2, 3, 4, 1, 14"), Reason.STEPS_BETWEEN),
    (
        Case("y = Reshape <allowzero = 1> (x, c)", "int64[5] c = {2, 3, 1, 7, 8}"),
        Reason.STEPS_BETWEEN,
    ),
    (Case("y = Reshape <shape = [2, 3, 1, 7, 8]> (x)", opset=4), Reason.STEPS_BETWEEN),
    (Case("y = Squeeze (x)", shape=(1, 3, 4, 5)), Reason.STEPS_BETWEEN),
    (sliced(1, 9, 2), Reason.AXIS_TAKEN),
    (sliced(-7, 2**31 - 1, 3), Reason.AXIS_TAKEN),
    (Case("y = Squeeze (x, c)", "int64[1] c = {2}", shape=(1, 3, 1, 5)), Reason.AXIS_TAKEN),
    (Case("y = Add (x, c)", "float[8] c = {1,1,1,1,1,1,1,1}"), Reason.AXIS_TAKEN),
    (Case("y = Concat <axis = 2> (x, q)"), Reason.AXIS_TAKEN),
    (Case("y, z = Split <axis = 2> (x)", outputs="y z", opset=11), Reason.AXIS_TAKEN),
    (sliced(2, 9, 2), Reason.AXIS_TAKEN),
    (sliced(1, -4, 3), Reason.AXIS_TAKEN),
    (sliced(0, 9, 2, 2), Reason.AXIS_TAKEN),
    (sliced(4, 2, 2), Reason.AXIS_TAKEN),
    (sliced(6, 9, 3), Reason.AXIS_TAKEN),
    (Case("y = Tanh (x)", fill=1), Reason.FILL_CHANGES),
    (Case("y = Cast <to = 10> (x)", fill=0.1), Reason.FILL_CHANGES),
    (Case("y = Add (x, c)", "float[3, 1, 1] c = {1, 1, 2}", fill=2), Reason.FILL_CHANGES),
    (Case("y = Div (x, c)", "int32 c = {1}", dtype="int32"), Reason.FILL_CHANGES),
]


@each_row(("case", "reason"), REFUSED, at_once=8)
def test_why_it_stays(case: Case, reason: Reason) -> None:
    with pytest.raises(RefusalError) as told:
        case.behind()
    assert told.value.code == reason


def test_a_fill_needs_a_known_type() -> None:
    proto = one("y = Tanh (t)", inputs="float[2] x")
    proto.graph.node[0].input[0] = "t"
    proto.graph.node.insert(0, helper.make_node("Own", ["x"], ["t"], domain="own"))
    graph = Graph.from_proto(proto)
    with pytest.raises(RefusalError) as told:
        moved(graph, Analysis(graph), [*graph.nodes][1], Layer(((1, 1),), fill_of(0)))
    assert told.value.code == Reason.TYPE_UNKNOWN


def test_parts_without_a_name_are_told_apart() -> None:
    """Nothing is run, as onnxruntime stops at such a Split."""
    parts = (
        "d = Pad (x, p) , e = Split <axis = 1> (d) f = Sigmoid (e) z = Conv (f, w)",
        "a = Pad (x, p) , b = Split <axis = 1> (a) y = Conv (b, w)",
    )
    for some in (parts, parts[::-1]):
        data, ends, held = "float[1, 4, 9, 8] x", "float[] y, float[] z", f"{W}, {PADS}"
        proto = one(" ".join(some), inputs=data, outputs=ends, initializers=held)
        found = onnxpad.check(proto).findings
        assert {(each.code, each.node) for each in found} == {("PAD207", "<a>"), ("PAD206", "<d>")}
