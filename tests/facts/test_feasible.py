"""At which sizes a graph is defined: never fewer than those at which onnxruntime runs."""

import random
from collections.abc import Mapping
from itertools import product
from math import gcd
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.arithmetic.size import Extent, Size, Sizes, Unknown, evaluate
from onnxpad.errors import UsageError
from onnxpad.facts import Analysis, feasible
from onnxpad.facts.feasible import feasible_sizes, in_words
from onnxpad.graph import Graph
from tests.random_models.draw import Drawn, draw_model
from tests.support import one, ran, run, session
from tests.support.rows import each_row, rows_below

ROWS: Final = Path(__file__).with_name("rows.txt")
SIZES: Final = range(1, 41)


def limits(model: onnx.ModelProto) -> Mapping[str, Sizes]:
    graph = Graph.from_proto(model)
    return feasible_sizes(graph, Analysis(graph))[0]


def running(model: onnx.ModelProto) -> list[int]:
    """The sizes of the only open axis at which onnxruntime runs."""
    opened = session(model)
    shapes = {value.name: value.shape for value in opened.get_inputs()}
    found = []
    for size in SIZES:
        feeds = {
            name: np.ones([d if isinstance(d, int) else size for d in shape], np.float32)
            for name, shape in shapes.items()
        }
        if not isinstance(ran(opened, feeds), str):
            found.append(size)
    return found


@each_row("row", rows_below(ROWS, "graphs that run at some sizes of `x`"), at_once=4)
def test_the_sizes_are_those_at_which_onnxruntime_runs(row: tuple[str, ...]) -> None:
    opset, body, initializers, *words = row
    given: Any = {"initializers": initializers, "opset": int(opset)}
    model = one(body, inputs="float[1, 2, n] x", **given)
    runs, found = running(model), limits(model)
    assert runs
    told = found.get("n", Sizes())
    assert all(size in told for size in runs)
    if "Slice" not in body:  # at first glance it may give nothing, and joins all
        step = gcd(*(size - runs[0] for size in runs)) or 1
        assert [size for size in SIZES if size in told] == [*range(runs[0], runs[-1] + 1, step)]
    if words:
        assert [in_words(found)] == words
        assert runs == [size for size in SIZES if size in told]
        assert runs[-1] == told.last


@each_row(("step", "outputs", "body"), rows_below(ROWS, "steps between sizes; 0 for all sizes"))
def test_sizes_are_narrowed_where_every_output_needs_it(step: str, outputs: str, body: str) -> None:
    """An empty name is no tensor, an empty part lets Concat pass, and no batch wants no data."""
    model = one(
        body,
        inputs="float[1, 2, n] x",
        outputs=", ".join(f"float[] {name}" for name in outputs.split(", ")),
        initializers="float[3] s = {1, 1, 2}, int64[1] four = {4}, int64[1] nine = {9},"
        " int64[1] two = {2}, float[1, 2, 3] s3 = {1, 1, 1, 1, 1, 1}, int64[2] twos = {2, 2},"
        " int64[2] nines = {9, 9}, int64[2] axes = {0, 2}",
        opset=18,
    )
    found = limits(model)
    assert str(found["n"].step if found else 0) == step


@each_row("body", [body for (body,) in rows_below(ROWS, "a damaged node asks nothing")])
def test_a_damaged_node_asks_nothing(body: str) -> None:
    model = one(
        f'{body} y = Conv <auto_pad = "SAME_UPPER", strides = [2]> (a, w)',
        inputs="float[1, 1, n] x, float[1, 1, 3] w, float[] u, int64[3] t",
        initializers="int64[3] k = {1, 1, 6}",
        opset=11,
    )
    assert not limits(model)
    assert onnxpad.check(model, ignore="PAD6").findings


UNET: Final = one(
    'a = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
    ' b = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'
    " c = ConvTranspose <strides = [2, 2]> (b, t) d = Concat <axis = 1> (c, a)"
    " e = Conv <pads = [1, 1, 1, 1]> (d, v) f = ConvTranspose <strides = [2, 2]> (e, t)"
    " g = Concat <axis = 1> (f, x) y = Conv <pads = [1, 1, 1, 1]> (g, v)",
    inputs="float[1, 2, height, width] x, float[2, 2, 3, 3] w, float[2, 2, 2, 2] t,"
    " float[2, 4, 3, 3] v",
)


def unet_feeds(height: int, width: int) -> dict[str, Any]:
    sizes, draw = {"height": height, "width": width}, np.random.default_rng(0)
    shapes = {
        value.name: [d.dim_value or sizes[d.dim_param] for d in value.type.tensor_type.shape.dim]
        for value in UNET.graph.input
    }
    return {name: draw.integers(-4, 5, s).astype(np.float32) for name, s in shapes.items()}


def test_a_network_that_joins_what_it_halved_has_constant_pads() -> None:
    result = onnxpad.fix(UNET, strict=True)
    assert (result.undone, result.findings) == ((), ())
    told = (
        "every size at which the model is defined: height from 4 on in steps of 4, width from 4"
        " on in steps of 4"
    )
    assert {change.certificate.sizes for change in result.changes} == {told}
    attributes = [a for n in result.model.graph.node[:2] for a in n.attribute]
    assert [list(a.ints) for a in attributes if a.name == "pads"] == [[0, 0, 1, 1]] * 2
    said = {finding.sizes for finding in onnxpad.check(UNET, ignore="PAD6").findings}
    assert said == {told}
    assert result.validation is not None
    assert len(result.validation.runs) > 1
    for height, width in product((4, 8, 12), (4, 20)):
        feeds = unet_feeds(height, width)
        for before, after in zip(run(UNET, feeds), run(result.model, feeds), strict=True):
            np.testing.assert_array_equal(before, after)
    with pytest.raises(Exception, match="dimensions"):
        run(UNET, unet_feeds(6, 8))


@each_row(
    "given",
    [{"dims": {"height": 6}}, {"shapes": {"x": (1, 2, 8, 9)}}, {"dims": {"height": "5..7"}}],
)
def test_sizes_at_which_the_model_never_runs_are_refused(given: Mapping[str, Any]) -> None:
    for call in (onnxpad.fix, onnxpad.check):
        with pytest.raises(UsageError) as caught:
            call(UNET, **given)
        assert "(Concat) stops there; give others" in str(caught.value)


def runs_within_its_limits(drawn: Drawn) -> bool:
    """Whether sizes of a model are limited; it runs at none that it is thought to stop at."""
    found = limits(drawn.model) if drawn.open else {}
    if not found:
        return False
    names: dict[str, int] = {}
    (value,) = drawn.model.graph.input[:1]
    for axis, d in enumerate(value.type.tensor_type.shape.dim):
        if not d.HasField("dim_value"):  # the first axis of a name has it
            names.setdefault(d.dim_param or f"{value.name}[{axis}]", axis)
    for size in range(1, 14):
        feeds = drawn.feeds(0, size)
        if not isinstance(ran(drawn.model, feeds), str):
            shape = feeds[value.name].shape
            for name, axis in names.items():
                assert name not in found or shape[axis] in found[name], (name, size)
    return True


@pytest.mark.parametrize("seed", [22, 44, 60, 74, 79, 83, 105])
def test_random_models_are_never_thought_to_stop_where_they_run(seed: int) -> None:
    assert runs_within_its_limits(draw_model(random.Random(seed)))


ONES: Final = ", ".join(["1"] * 54)
GIVEN: Final = f"float[3, 2, 3, 3] w = {{{ONES}}}, float[2, 3, 3, 3] u = {{{ONES}}}"
INPUTS: Final = """
    float[1, 2, n, m] x, float[1, 2, n, 8] v, float[n, m] a, float[m, 5] b, int64[2] r,
    float[1, 2] c, float[0, 2, n, m] o, float[?, 2, n, m] f
"""


@each_row(("expected", "opset", "body"), rows_below(ROWS, "what each operator asks of sizes"))
def test_what_each_operator_asks(expected: str, opset: str, body: str) -> None:
    graph = Graph.from_proto(one(body, inputs=INPUTS, initializers=GIVEN, opset=int(opset)))

    def told(condition: Extent) -> str:
        if not isinstance(condition, Size):
            return "?" if isinstance(condition, Unknown) else str(condition)
        name = condition.symbols[0].name
        holds = [str(size) for size in range(1, 10) if evaluate(condition, {name: size})]
        return " ".join([name[0], *holds])

    (node,) = graph.nodes
    asked = map(told, feasible.conditions_of(node, graph, Analysis(graph)))
    assert ("; ".join(asked) or "none") == expected
