"""Changes that are wrong are taken back; what is decided rests on nothing that nobody enforces."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.finding import Severity
from onnxpad.graph import Graph
from onnxpad.options import OptionKeywords, Options
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Pass
from onnxpad.rewrite.run import Run
from tests.broken import Cluttering, Elsewhere, Lost, Regrouped, Reweighted, Swapped
from tests.support import MODELS, PADS, W, assert_graph, assert_same, feeds_of, fixed, one, run

PADDED = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {PADS}")


BROKEN = [
    pytest.param(PADDED, Swapped, id="sides swapped"),
    pytest.param(PADDED, Lost, id="padding lost"),
    pytest.param(PADDED, Regrouped, id="groups changed"),
    pytest.param(PADDED, Reweighted, id="weight changed"),
    pytest.param(PADDED, Cluttering, id="nodes and constants added"),
    pytest.param(
        one("other = Neg (x) a = Pad (x, z) b = Relu (a) y = Add (b, other)",
            initializers="int64[8] z = {0, 0, 0, 0, 0, 0, 0, 0}"),
        Elsewhere,
        id="another tensor",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "broken"), BROKEN)
def test_what_cannot_be_certified_is_taken_back(
    before: onnx.ModelProto, broken: type[Pass]
) -> None:
    graph = Graph.from_proto(before)
    outcome = Run(graph, Options(), passes=(broken,)).rewrite()
    assert not outcome.changes
    (undone,) = outcome.undone
    assert (undone.code, undone.severity) == (broken.code, Severity.INFO)
    assert undone.reason_code == Reason.NOT_CERTIFIED
    assert not outcome.findings, "told twice"
    assert graph.model.to_bytes() == before.SerializeToString()
    assert not graph.model.changed


def test_changes_go_on_from_what_the_trusted_engine_decided() -> None:
    model = one(
        'a = Pad (x, p, f) y = MaxPool <auto_pad = "SAME_UPPER", dilations = [1, 3],'
        " kernel_shape = [3, 3], strides = [2, 2]> (a)",
        inputs="float[1, 2, 8, 8] x",
        initializers="int64[8] p = {0, 0, 1, 0, 0, 0, 1, 1}, float f = {-inf}",
    )
    result = onnxpad.fix(model, trust="onnxruntime", validate=False)
    assert [each.code for each in result.changes] == ["PAD101", "PAD201"]
    assert not result.undone


def test_changes_are_counted_as_they_are_made() -> None:
    before = one(
        "a = Pad (x, p) y = Conv (a, w) z = Conv <strides = [2, 2]> (a, w)",
        outputs="float[] y, float[] z",
        initializers=f"{W}, {PADS}",
    )
    seen: list[tuple[str, int, int]] = []
    Run(Graph.from_proto(before), Options(), progress=lambda *step: seen.append(step)).rewrite()
    assert seen == [("rewriting and proving", 1, 1), ("rewriting and proving", 2, 2)]


# Each decision below rests on the size of `r`, 9 by 8 as the input says.
DECISIONS = [
    pytest.param(
        'r = Relu (x) y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (r, w)', True, id="SAME"
    ),
    pytest.param(
        "r = Relu (x) a = Pad (r, p) y = MaxPool <ceil_mode = 1, kernel_shape = [3, 3],"
        " strides = [2, 2]> (a)",
        True,
        id="Pad before a pool that rounds up, a window lost",
    ),
    pytest.param(
        "r = Relu (x) a = Pad (r, p) y = MaxPool <ceil_mode = 1, kernel_shape = [3, 3],"
        " strides = [3, 3]> (a)",
        True,
        id="Pad before a pool that rounds up",
    ),
    pytest.param("r = Relu (x) a = Pad (r, p) y = Conv (a, w)", True, id="Pad"),
    pytest.param(
        "r = Relu (x) s = Shape (r) m = Mod (s, two) q = Concat <axis = 0> (m, m) a = Pad (r, q)"
        " y = Conv (a, w)",
        True,
        id="amounts computed from the size",
    ),
    pytest.param("r = Relu (x) a = Pad (r, crop) y = Pad (a, crop)", True, id="crops"),
]
LIES = [
    pytest.param([1, 2, 10, 11], id="larger"),
    pytest.param([1, 2, 8, 7], id="smaller"),
    pytest.param([1, 2, "H", "V"], id="open"),
    pytest.param([1, 2], id="another rank"),
]


@pytest.mark.parametrize("shape", LIES)
@pytest.mark.parametrize(("body", "changes"), DECISIONS)
def test_what_value_info_says_decides_nothing(
    body: str, changes: bool, shape: list[int | str]
) -> None:
    before = one(
        body,
        initializers=f"{W}, {PADS}, int64[4] two = {{1, 1, 2, 3}},"
        " int64[8] crop = {0, 0, -4, 0, 0, 0, 0, -3}",
    )
    told = onnx.ModelProto()
    told.CopyFrom(before)
    told.graph.value_info.append(
        onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, shape)
    )
    told.graph.output[0].type.CopyFrom(
        onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [7, 7, 7, 7])
    )
    honest = onnxpad.fix(before, validate=False)
    misled = onnxpad.fix(told, validate=False)
    assert honest.changed is changes
    assert_graph(misled.model, honest.model)
    assert misled.findings == honest.findings
    assert_same(before, honest.model)


def test_wrong_value_info_goes_with_a_change() -> None:
    """Without the Pad of computed amounts, shape inference would carry it on to the Add."""
    nodes = (
        "s = Slice (x, from, to) r = Relu (s) z = Identity (zeros) a = Pad (r, z) y = Add (a, c)"
    )
    body = (
        f"k = If (on) <then_branch = t () => (float[] u) {{ {nodes} u = Identity (y) }}, "
        "else_branch = e () => (float[] v) { v = Identity (x) }>"
    )
    held = (
        "int64[8] zeros = {0, 0, 0, 0, 0, 0, 0, 0}, float[8] c = {1, 2, 3, 4, 5, 6, 7, 8}, "
        "int64[4] from = {0, 0, 1, 0}, int64[4] to = {9, 9, 9, 9}"
    )
    main = one(nodes, initializers=held)
    inside = one(
        body, inputs="float[1, 2, 9, 8] x, bool on", outputs="float[] k", initializers=held
    )
    for before in (main, inside):
        graphs = [before.graph]
        if before is inside:
            graphs = [attribute.g for attribute in before.graph.node[0].attribute]
            for each in graphs:
                each.output[0].type.tensor_type.ClearField("shape")
        kind = onnx.TensorProto.FLOAT
        graphs[0].value_info.append(onnx.helper.make_tensor_value_info("r", kind, [3, 30, 4]))
        graphs[0].value_info.append(onnx.helper.make_tensor_value_info("s", kind, [1, 2, 8, "w"]))
        result = onnxpad.fix(before, validate=False)
        assert [change.code for change in result.changes] == ["PAD204"]
        after = result.model.graph
        after = after if before is main else after.node[0].attribute[0].g
        assert [each.name for each in after.value_info] == ["s"]
        run(
            result.model, {**feeds_of(before), **({} if before is main else {"on": np.array(True)})}
        )


def test_an_axis_named_as_one_of_another_size_goes_with_a_change() -> None:
    """onnxruntime takes tensors whose axes have the same names to be as large."""
    before = one(
        "p = Pad (x, n) r = Relu (p) k = Concat <axis=3> (r, r) o = vendor.Odd (z) y = Add (p, o)"
        " m = MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]> (v)",
        inputs="float[1, 2, h, w] x, float[h] z, float[1, 2, 8, 8] v",
        initializers="int64[8] n = {0, 0, 0, 0, 0, 0, 0, 0}",
    )
    for name in ("r", "k", "o", "m"):  # onnx infers another size of m, too
        value = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2, "h", "w"])
        before.graph.value_info.append(value)
    result = onnxpad.fix(before, validate=False)
    assert [change.code for change in result.changes] == ["PAD204"]
    assert [each.name for each in result.model.graph.value_info] == ["r", "m"]


def renamed(proto: onnx.ModelProto, name: Callable[[int], str]) -> onnx.ModelProto:
    """The same graph with other names for nodes and tensors."""
    other = onnx.ModelProto()
    other.CopyFrom(proto)
    names = map(name, range(100))
    given: dict[str, str] = {"": ""}

    def fresh(name: str) -> str:
        if name not in given:
            given[name] = next(names)
        return given[name]

    for value in (*other.graph.input, *other.graph.output, *other.graph.initializer):
        value.name = fresh(value.name)
    for node in other.graph.node:
        node.name = next(names)
        node.input[:] = [fresh(name) for name in node.input]
        node.output[:] = [fresh(name) for name in node.output]
    return other


NAMES = [
    pytest.param(lambda i: f"n{i}", id="ascending"),
    pytest.param(lambda i: f"n{100 - i:03}", id="descending"),
    pytest.param(lambda i: f"{'ay'[i % 2]}_pad{'_s'[i % 3 > 0]}{i}", id="alike"),
    pytest.param(lambda i: f"/net/{i}.weight:0 \u00e9", id="odd"),
]
EVERYTHING = one(
    "e = Pad (x, z) a = Pad (e, p) b = Pad (a, p) i = Identity (b) y = Conv (i, w)"
    ' u = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
    " r = Relu (x) d = Pad (r, p) v = MaxPool <kernel_shape = [3, 3]> (d)"
    ' q = Add (p, p) t = Pad <mode = "edge"> (x, q)',
    outputs="float[] y, float[] u, float[] v, float[] t",
    initializers=f"{W}, {PADS}, int64[8] z = {{0, 0, 0, 0, 0, 0, 0, 0}}",
)


def shape_of(proto: onnx.ModelProto) -> list[Any]:
    """The graph without any name: operators with their attributes, and who reads what of whom."""
    written = {
        name: (i, k) for i, n in enumerate(proto.graph.node) for k, name in enumerate(n.output)
    }
    return [
        (node.op_type, [*node.attribute], [written.get(name, not name) for name in node.input])
        for node in proto.graph.node
    ]


@cache
def everything(style: str) -> onnxpad.FixResult:
    """What becomes of it under its own names."""
    return fixed(EVERYTHING, style)


@pytest.mark.parametrize("style", ["fold", "pad", "symmetric"])
@pytest.mark.parametrize("name", NAMES)
def test_names_decide_nothing(style: str, name: Callable[[int], str]) -> None:
    plain, result = everything(style), fixed(renamed(EVERYTHING, name), style)
    assert shape_of(result.model) == shape_of(plain.model)
    assert [change.code for change in result.changes] == [change.code for change in plain.changes]
    assert [f.code for f in result.findings] == [f.code for f in plain.findings]


@pytest.mark.parametrize("name", ["loop_tensorflow", "functions_onnxscript"])
@pytest.mark.parametrize("options", [{}, {"style": "symmetric", "no_ceil": True}], ids=str)
def test_a_run_starts_again_from_what_was_known_at_first(
    name: str, options: OptionKeywords
) -> None:
    """With other changes barred each time, as healing does."""
    path = MODELS / f"{name}.onnx"
    run = Run(Graph.load(path), Options.of(options))
    first = run.rewrite()
    rounds = [{made.key: Reason.DIFFERS for made in first.made[index::2]} for index in (0, 1)]
    for barred in (*rounds, {}):
        again = run.rewrite(barred)
        anew = Run(Graph.load(path), Options.of(options))
        expected = anew.rewrite(barred)
        assert run.graph.model.to_bytes() == anew.graph.model.to_bytes()
        assert again.changes == expected.changes
        assert again.findings == expected.findings
        assert again.undone == expected.undone


def test_the_guard_leaves_sizes_hidden_that_do_harm() -> None:
    """Amounts are written for all axes where a Transpose may be moved past, but not these."""
    nodes = """
        c = Reshape (k, m) a = Pad (x, c, , axes) t = Transpose (a) u = Transpose (t)
        z = MaxPool <ceil_mode = 1, kernel_shape = [1], strides = [3]> (u)
        y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3]> (x)
    """
    held = "int64[2] k = {1, 0}, int64[1] m = {-1}, int64[1] axes = {2}"
    x, outputs = "float[1, 4, 10] x", "float[] y, float[] z"
    model = one(nodes, inputs=x, outputs=outputs, initializers=held, opset=21)
    result = onnxpad.fix(model, style="pad", validate=False)
    assert [each.code for each in result.changes] == ["PAD101"]
    assert model.graph.node[1] in result.model.graph.node
