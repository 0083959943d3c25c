"""Operators that draw numbers: the same in both models that run, and excluded if that is no use."""

import re
from pathlib import Path
from typing import Any

import onnx
import onnx.inliner
import pytest

import onnxpad
from onnxpad.frameworks.repadding.comparing import difference
from onnxpad.runtimes import copies
from onnxpad.runtimes.sessions import open_session
from onnxpad.validation import lab
from onnxpad.validation.result import Validation
from onnxpad.validation.whole import validate_models
from tests.support import FEW

pytestmark = pytest.mark.usefixtures("nothing_printed")

SEED = re.compile("seed|[sq]: float")
TRAINING = "h = Constant <value_float = 0.5> () t = Constant <value = bool {1}> ()"
BODY = "(int64 i, bool c, float[1,1,9,9] u) => (bool d, float[1,1,9,9] v)"
DRAWS = {
    "RandomNormalLike": "r = RandomNormalLike (y) z = Add (y, r)",
    "RandomUniformLike": "r = RandomUniformLike (y) z = Mul (y, r)",
    "RandomNormal": "r = RandomNormal <shape = [1, 1, 9, 9]> () z = Add (y, r)",
    "RandomUniform": "r = RandomUniform <shape = [1, 1, 9, 9]> () z = Mul (y, r)",
    "Bernoulli": "e = Sigmoid (y) r = Bernoulli (e) z = Mul (y, r)",
    "Multinomial": "f = Flatten (y) i = Multinomial <sample_size = 9> (f) r = Cast <to = 1> (i) "
    "z = Add (y, r)",
    "Dropout": f"{TRAINING} z = Dropout (y, h, t)",
    "its mask": f"{TRAINING} d, m = Dropout (y, h, t) r = Cast <to = 1> (m) z = Mul (y, r)",
    "constants": f"{TRAINING} o = ConstantOfShape (s) r = Dropout (o, h, t) z = Add (y, r)",
    "upstream": "",
    "two": "r = RandomNormalLike (y) q = RandomNormalLike (y) e = Sub (r, q) z = Add (y, e)",
    "a body": "n = Constant <value = int64 {3}> () k = Constant <value = bool {1}> () "
    f"z = Loop (n, k, y) <body = b {BODY} "
    "{ d = Identity (c) r = RandomNormalLike (u) v = Add (u, r) }>",
    "a function": "o = l.noisy (y) e = Neg (o) z = l.noisy (e)",
    "a nested function": "o = l.outer (y) z = l.outer <q = 5.0> (o)",
    "a seed of its own": "r = RandomNormalLike <seed = 2.0> (y) z = Add (y, r)",
}
FUNCTIONS = """
<domain: "l", opset_import: ["" : 20]> noisy (x) => (y) { r = RandomNormalLike (x) y = Add (x, r) }
<domain: "l", opset_import: ["" : 20, "l" : 1]> outer <q> (x) => (y)
{ y = l.inner <s: float = @q> (x) }
<domain: "l", opset_import: ["" : 20]> inner <s> (x) => (y)
{ r = RandomNormalLike <seed: float = @s> (x) y = Add (x, r) }
"""


def model(draw: str, pads: str = "0,0,1,1,0,0,1,1") -> onnx.ModelProto:
    """A Pad and a Conv, and then operators that draw."""
    first = "a = Pad (x, p) y = Conv (a, w)"
    if not draw:
        first, draw = (
            f"r = RandomNormalLike (x) n = Add (x, r) {first.replace('x', 'n')}",
            "z = Relu (y)",
        )
    found = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20, "l" : 1]> '
        "g (float[1,1,9,9] x, float[1,1,3,3] w) => (float[?,?,?,?] z) "
        "<int64[4] s = {1, 1, 9, 9}> "
        f"{{ p = Constant <value_ints = [{pads}]> () {first} {draw} }} "
        f"{FUNCTIONS if 'l.' in draw else ''}"
    )
    onnx.checker.check_model(found)
    assert isinstance(found, onnx.ModelProto)
    return found


def verdict(found: Validation | None) -> tuple[str, list[str]]:
    """The outcome, and the outputs compared in all of its runs."""
    assert found is not None
    return found.outcome, sorted({each.output for run in found.runs for each in run.comparisons})


@pytest.fixture
def useless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators that draw have no seed, as custom ones."""
    monkeypatch.setattr(copies, "_DRAWING", frozenset())


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_right_change_beside_a_draw_passes(draw: str) -> None:
    given = model(draw)
    found = onnxpad.fix(given)
    assert [change.code for change in found.changes] == ["PAD201"]
    assert verdict(found.validation) == ("passed", ["z"])
    assert not found.model.metadata_props
    written = list(filter(SEED.search, onnx.printer.to_text(found.model).splitlines()))
    assert written == list(filter(SEED.search, onnx.printer.to_text(given).splitlines()))


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_wrong_change_beside_a_draw_fails(draw: str) -> None:
    assert validate_models(model(draw), model(draw, "0,0,1,1,0,0,1,2")).outcome == "failed"


def test_functions_and_their_inlined_bodies_draw_alike() -> None:
    given = model(DRAWS["a function"])
    inlined = onnx.inliner.inline_local_functions(given)
    assert verdict(validate_models(given, inlined)) == ("passed", ["z"])


def test_equal_draws_of_other_names_are_alike() -> None:
    given = model(DRAWS["two"])
    renamed = onnx.ModelProto()
    renamed.CopyFrom(given)
    for node in renamed.graph.node:
        node.input[:] = ["drawn" if name == "q" else name for name in node.input]
        node.output[:] = ["drawn" if name == "q" else name for name in node.output]
    assert validate_models(given, renamed).outcome == "passed"


def test_a_dropout_that_drops_nothing_costs_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def opened(*given: Any, **told: Any) -> Any:
        made.append(given)
        return open_session(*given, **told)

    monkeypatch.setattr(lab, "open_session", opened)
    calm = TRAINING.replace("{1}", "{0}")
    for draw in ("z = Relu (y)", "z = Dropout (y)", f"{calm} z = Dropout (y, h, t)"):
        made.clear()
        assert validate_models(model(draw), model(draw)).ok
        assert len(made) == 4


@pytest.mark.usefixtures("useless")
@pytest.mark.parametrize("draw", ["RandomNormalLike", "Dropout", "a function"])
def test_what_does_not_repeat_is_excluded_by_name(draw: str) -> None:
    given = model(DRAWS[draw])
    found = onnxpad.fix(given)
    assert [change.code for change in found.changes] == ["PAD201"]
    assert verdict(found.validation) == ("nothing compared", [])
    assert found.validation is not None
    assert "'z'" in found.validation.reason
    assert not found.model.metadata_props
    given.graph.output.append(onnx.ValueInfoProto(name="y"))
    found = onnxpad.fix(given)
    assert verdict(found.validation) == ("passed", ["y"])
    assert found.validation is not None
    assert any("output 'z' " in line for line in found.validation.uncompared)


@pytest.mark.usefixtures("useless")
def test_upstream_of_what_does_not_repeat_a_wrong_change_fails() -> None:
    draw = DRAWS["Dropout"]
    found = validate_models(model(draw), model(draw, "0,0,0,1,0,0,2,1"))
    assert found.outcome == "failed"
    assert found.divergence is not None
    assert found.divergence.tensor in {"p", "a", "y"}


@pytest.mark.usefixtures("useless")
def test_what_does_not_repeat_only_when_rewritten_fails() -> None:
    dropout, calm = DRAWS["Dropout"], DRAWS["Dropout"].replace("{1}", "{0}")
    assert validate_models(model(calm), model(dropout)).outcome == "failed"
    flat = dropout.replace("z =", "d =") + " z = Flatten (d)"
    assert validate_models(model(dropout), model(flat)).outcome == "failed"


def test_other_padding_changes_as_much_beside_a_draw() -> None:
    apart = []
    for draw in ("z = Identity (y)", DRAWS["RandomNormalLike"]):
        other = model(draw, "0,0,0,0,0,0,2,2").SerializeToString()
        (change,) = difference(model(draw), other).outputs
        apart.append(change.max_abs)
    assert apart[0] == pytest.approx(apart[1], rel=1e-5)


def noisy(path: Path) -> onnx.ModelProto:
    """A model with numbers drawn added to its float inputs and outputs."""
    found = onnx.load(path)
    graph = found.graph
    nodes = list(graph.node)
    fed = {each.name for each in graph.initializer}
    for value in (each for each in graph.input if each.name not in fed):
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            for node in nodes:
                node.input[:] = [f"{n} loud" if n == value.name else n for n in node.input]
            loud = f"{value.name} loud"
            nodes[:0] = _added("RandomUniformLike", value.name, loud)
    for value in graph.output:
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            calm = f"{value.name} calm"
            for node in nodes:
                node.input[:] = [calm if name == value.name else name for name in node.input]
                node.output[:] = [calm if name == value.name else name for name in node.output]
            nodes += _added("RandomNormalLike", calm, value.name)
    del graph.node[:]
    graph.node.extend(nodes)
    return found


def _added(op: str, name: str, result: str) -> list[onnx.NodeProto]:
    drawn = f"{result} drawn"
    make = onnx.helper.make_node
    return [make(op, [name], [drawn]), make("Add", [name, drawn], [result])]


@pytest.mark.parametrize("path", FEW[::8], ids=lambda path: path.stem)
def test_exported_models_agree_with_themselves(path: Path) -> None:
    assert onnxpad.validate(path, path).outcome == "passed"
    given = noisy(path)
    assert given.graph.node != onnx.load(path).graph.node
    assert onnxpad.validate(given, given).outcome == "passed"
    found = onnxpad.fix(given)
    assert found.validation is None or found.validation.outcome == "passed"
    assert not found.barred
