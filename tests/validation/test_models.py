"""Validation of whole models: what is run, what `fix` makes of a verdict, and arrays given."""

import gc
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array

import onnxpad
from onnxpad.errors import ModelError, ProviderError, UsageError, ValidationError
from onnxpad.frameworks.repadding.comparing import difference
from onnxpad.runtimes import copies
from onnxpad.runtimes.sessions import CPU, load_failure
from onnxpad.validation import lab
from onnxpad.validation.result import Validation
from onnxpad.validation.whole import validate_models
from tests.support import MODELS, one, parsed
from tests.support.rows import each_row
from tests.validation.cases import blocks
from tests.validation.planted import moved, of_model

pytestmark = pytest.mark.usefixtures("nothing_printed")

LINE = (
    "g (float[1,1,7] x) => (float[1,1,?] y) <float[1,1,3] w = {1,2,3}, int64[6] p = {0,0,1,0,0,1}>"
)
PAD = parsed(f"{LINE} {{ q = Pad (x, p) y = Conv (q, w) }}")
FOLD = parsed(f"{LINE} {{ y = Conv <pads = [1,1]> (x, w) }}")
T = "float[1, 1, 8, 8]"
W = "float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}"


def steps(found: Validation) -> list[tuple[str, bool, bool]]:
    """(optimisation, every output equal or near, run ok), a run on data of both signs."""
    return [
        (run.optimisation, all(each.ok for each in run.comparisons), run.ok)
        for run in found.runs
        if not run.inputs.endswith("all negative")
    ]


# What is run


def test_each_level_runs_once_for_each_sample_and_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    found = validate_models(PAD, FOLD)
    assert steps(found) == [("off", True, True), ("full", True, True)]
    assert [each.equal for each in found.runs[0].comparisons] == [True]
    assert steps(validate_models(PAD, FOLD, providers=(CPU, CPU))) == steps(found) * 2
    found = validate_models(PAD, FOLD, samples=3, seed=5)
    seeds = ["5", "6", "7", "5, all negative"]
    assert [run.inputs.partition("seed ")[2] for run in found.runs] == seeds * 2
    wrong = parsed(f"{LINE} {{ y = Conv <pads = [0,2]> (x, w) }}")
    assert steps(validate_models(PAD, wrong)) == [("off", False, False)]
    monkeypatch.setattr(lab, "MOST_NODES", 1)
    assert steps(validate_models(PAD, FOLD)) == [("off", True, True)]
    with pytest.raises(ProviderError):
        validate_models(PAD, FOLD, providers=("NoSuchProvider",))


def test_sizes_are_tried_until_the_original_accepts_one() -> None:
    signature = "g (float[N,2,H] x) => (float[N,2,?] y) <int64[3] s = {-1,2,32}>"
    none = parsed(f"{signature} {{ a = Reshape (x, s) z = Reshape (x, t) y = Add (x, x) }}")
    assert validate_models(none, none).warnings  # t is nowhere: no size can do
    model = parsed(f"{signature} {{ a = Reshape (x, s) y = Add (x, x) }}")
    found = validate_models(model, model, samples=3)
    assert found.ok
    assert len({run.inputs for run in found.runs}) == 4  # the first twice, with other data
    for run in found.runs:
        shape = run.inputs.split(",")[0].split()[-1].split("x")
        assert np.prod([*map(int, shape)]) % 64 == 0


@pytest.mark.usefixtures("run_here")
def test_never_two_sessions_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    plain = onnxruntime.InferenceSession
    alive: list[int] = []
    said: list[tuple[str, int, int]] = []

    class Counted(plain):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            assert not alive
            alive.append(id(self))
            super().__init__(*args, **kwargs)

        def __del__(self) -> None:
            alive.remove(id(self))

    monkeypatch.setattr(onnxruntime, "InferenceSession", Counted)
    gc.disable()  # freed at once, not some time later
    try:
        validate_models(PAD, FOLD, samples=4, progress=lambda *step: said.append(step))
    finally:
        gc.enable()
    assert [done for _, done, _ in said] == sorted(done for _, done, _ in said)
    assert said[-1][1] == said[-1][2]
    assert not alive


def test_paths_bytes_and_models_alike(tmp_path: Path) -> None:
    path = tmp_path / "fold.onnx"
    onnx.save(FOLD, path)
    before = FOLD.SerializeToString()
    for source in (path, str(path), path.read_bytes(), FOLD):
        assert validate_models(PAD, source).ok
    assert FOLD.SerializeToString() == before
    with pytest.raises(ModelError):
        validate_models(PAD, tmp_path / "nowhere.onnx")
    model = onnx.ModelProto()
    model.CopyFrom(PAD)
    weight = model.graph.initializer[0]
    weight.CopyFrom(from_array(onnx.numpy_helper.to_array(weight), weight.name))
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert validate_models(path, path.read_bytes()).ok  # its data lies beside the original


# What is compared


def renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with other names for what is between its inputs and outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    border = {value.name for value in (*graph.input, *graph.output)}
    nodes = list(graph.node)
    made = {name for node in nodes for name in node.output if name}
    names = {name: f"other/{name}" for name in made - border}
    for node in nodes:  # it grows
        nodes += [inside for each in node.attribute for inside in each.g.node]
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    del graph.value_info[:]
    return copy


@pytest.mark.parametrize("kind", ["int64", "uint8", "float", "bool"])
def test_choices_of_scores_with_other_names_pass(kind: str) -> None:
    (lines,) = [lines for title, lines in blocks().items() if f"What {kind} choices" in title]
    for nodes in (line.removeprefix("@ ") for line in lines if line.startswith("@ ")):
        model = parsed(lines[0].replace("@", nodes))
        assert validate_models(model, renamed(model)).outcome == "passed"


def test_sequences_are_named_and_what_changed_upstream_is_compared() -> None:
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))

    def model(pads: str) -> onnx.ModelProto:
        body = f"c = Conv <pads = {pads}> (x, w) n = Neg (c) q = SequenceConstruct (c, n)"
        made = one(f"{body} y = Relu (x)", initializers="float[1, 2, 3, 1] w = {1,2,3,4,5,6}")
        made.graph.output.append(helper.make_value_info("q", kind))
        return made

    found = validate_models(model("[1,0,1,0]"), model("[1,0,1,0]"))
    assert (found.outcome, len(found.hidden)) == ("passed", 1)
    assert "'q' is no tensor" in found.hidden[0]
    wrong = validate_models(model("[1,0,1,0]"), model("[2,0,0,0]"))
    assert wrong.outcome == "failed"
    assert wrong.divergence is not None
    assert wrong.divergence.tensor == "c"
    unfed = parsed("g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity (x) }")
    for after, subject in ((unfed, "rewritten"), (None, "original")):
        unknown = validate_models(unfed, after)
        assert (unknown.outcome, unknown.subject) == ("nothing compared", subject)


@each_row("nodes", ["z = Add (a, b)", "y = Add (p, b)", "y = Neg (p)"])
def test_other_names_are_refused(nodes: str) -> None:
    inputs = ", ".join(f"float[1, 3] {name}" for name in "pab" if name in nodes[4:])
    after = one(nodes, inputs=inputs, outputs=f"float[] {nodes[0]}")
    with pytest.raises(UsageError):
        onnxpad.validate(one("y = Add (a, b)", inputs="float[1, 3] a, float[1, 3] b"), after)


def test_the_same_nodes_of_another_version_or_other_weights_are_other(tmp_path: Path) -> None:
    """In a side that nothing enters; weights lie in files of their own."""

    def model(opset: int, weight: int, folder: str) -> Path:
        text = f"""g ({T} x, float f) => ({T} y) {{ c = Greater (f, far)
            y = If (c) <then_branch = a () => ({T} p) {{ s = Softmax (x) p = Mul (s, w) }},
                        else_branch = e () => ({T} q) {{ q = Neg (x) }}>
            r = RandomNormalLike (x) }}"""
        made = parsed(text, opset=opset)
        held = {"w": np.full((64, 1, 1, 1), weight, np.float32), "far": np.array(1e30, np.float32)}
        made.graph.initializer.extend(from_array(each, name) for name, each in held.items())
        place = tmp_path / folder / "model.onnx"
        place.parent.mkdir()
        onnx.save(made, place, save_as_external_data=True, location="w.bin", size_threshold=0)
        return place

    one = model(13, 1, "a")
    assert onnxpad.validate(one, model(11, 1, "b")).outcome == "nothing compared"
    assert onnxpad.validate(one, model(13, 2, "c")).outcome == "nothing compared"
    assert onnxpad.validate(one, model(13, 1, "d")).ok


# Arrays given


def failing(place: int, op: str = "Gather <axis = 2> (u, i)") -> onnx.ModelProto:
    """An If of which one side fails where it takes an element that is not there."""
    return parsed(f"""g ({T} x, bool b) => (float[] y) <{W}, int64[1] i = {{{place}}},
         int64[8] m = {{0, 0, 1, 1, 0, 0, 1, 1}}> {{
        y = If (b) <then_branch = a () => ({T} p) {{ v = Pad (x, m) u = Conv (v, w) p = {op} }},
                    else_branch = e () => ({T} q) {{ q = Neg (x) }}> }}""")


def test_a_side_that_only_given_inputs_enter() -> None:
    def model(pads: str) -> onnx.ModelProto:
        return parsed(f"""g ({T} x, float c) => ({T} y) <{W}, float most = {{1e30}}> {{
            b = Greater (c, most)
            y = If (b) <then_branch = a () => ({T} p) {{ p = Conv <pads = [{pads}]> (x, w) }},
                        else_branch = d () => ({T} q) {{ q = Relu (x) }}> }}""")

    given: Any = {"x": np.ones((1, 1, 8, 8), np.float32), "c": np.float32(2e30)}
    found = onnxpad.validate(model("1, 1, 1, 1"), model("0, 0, 2, 2"), inputs=given)
    assert found.outcome == "failed"


def test_an_original_that_fails_on_the_inputs_given_excuses_nothing_else() -> None:
    given: Any = [{"x": np.ones((1, 1, 8, 8), np.float32), "b": np.bool_(each)} for each in (0, 1)]
    given[0]["x"][0, 0, 0, 0] = 7  # told apart by number
    other = failing(99, "Abs (u)")
    assert onnxpad.validate(failing(99), other, inputs=given).outcome == "nothing compared"
    gone = parsed(f"g ({T} x, bool b) => (float[] y) {{ y = own.Gone (x) z = Not (b) }}")
    assert onnxpad.validate(failing(99), gone, inputs=given[1]).outcome == "failed"
    assert onnxpad.validate(gone, failing(99), inputs=given[1]).outcome == "nothing compared"


def test_a_reference_that_overflows_does_not_agree() -> None:
    model = parsed("g (float[4] x) => (float[4] y) <float k = {100000}> { y = Mul (x, k) }")
    given: Any = {"x": np.ones(4, np.float32), "y": np.full(4, np.inf, np.float16)}
    assert onnxpad.validate(model, reference=given).outcome == "failed"


# What `fix` makes of it


def test_a_side_that_fails_in_both_models_is_named_and_not_ok() -> None:
    fixed = onnxpad.fix(failing(99))
    assert fixed.validation is not None
    assert (fixed.validation.outcome, fixed.exit_code) == ("nothing compared", 5)
    assert fixed.changes
    assert any("then_branch" in left for left in fixed.validation.uncompared)
    assert onnxpad.fix(failing(7)).exit_code == 0


FOLDED = "z = Pad (x, m) v = Conv (z, w)"
MISREAD = """v = AveragePool <kernel_shape = [3, 3], strides = [2, 2], dilations = [2, 2],
    auto_pad = "SAME_UPPER"> (x)"""


@each_row(
    ("node", "then", "opset", "outcome"),
    [
        (FOLDED, "p = Neg (v)", 13, "passed"),
        (FOLDED, "p = Reshape (v, k)", 13, "nothing compared"),  # what is drawn for k fits nothing
        (MISREAD, "p = Neg (v)", 19, "nothing compared"),
    ],
)
def test_a_size_with_which_the_optimiser_does_not_load_a_model_is_not_written(
    node: str, then: str, opset: int, outcome: str
) -> None:
    given = parsed(
        f"""g (float[N, 1, 8, 8] x, bool c, int64[3] k) => (float[] y) <int64[1] a = {{0}}, {W},
        int64[8] m = {{0, 0, 1, 1, 0, 0, 1, 1}}> {{ {node} y = If (c)
            <then_branch = t () => (float[] p) {{ {then} }}, else_branch = e () => (float[] q) {{
                s = Shape (x) f = Cast <to = 1> (s) g = Floor (f) h = Cast <to = 7> (g)
                r = Reshape (x, h) q = Squeeze (r, a) }}> }}""",
        opset=opset,
    )
    fixed: Any = onnxpad.fix(given, shapes={"x": [2, 1, 8, 8]}, trust="spec")
    assert (fixed.validation.outcome, fixed.changed, fixed.declared) == (outcome, True, {})
    assert not load_failure(fixed.model, None)
    written = onnxpad.fix(given, shapes={"x": [2, 1, 8, 8]}, trust="spec", validate=False).model
    assert load_failure(written, None)
    assert onnxpad.validate(given, written).outcome == "failed"


@pytest.mark.parametrize("size", [256, 512, None])
def test_other_constants_are_drawn_at_each_size(size: int | None) -> None:
    """An If whose sides take one size of `x` each; at one size only one runs, and one is named."""
    model = parsed("""g (float[1, 1, L] x, int64 rate) => (float[] y)
        <float[1, 1, 3] w = {1, 2, 3}, int64[6] m = {0, 0, 1, 0, 0, 1}, int64 k = {16000},
         int64[3] s = {1, 1, 512}, int64[3] t = {1, 1, 256}> { c = Equal (rate, k)
        y = If (c) <then_branch = a () => (float[] p) { u = Reshape (x, s) z = Pad (u, m)
            p = Conv (z, w) }, else_branch = b () => (float[] q) { v = Reshape (x, t)
            o = Pad (v, m) r = Conv (o, w) q = Neg (r) }> }""")
    if size:
        model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = size
    found = onnxpad.fix(model)
    assert len(found.changes) > 0
    for seed in range(3):
        checked = onnxpad.validate(model, found.model, seed=seed).validation
        assert (checked.ok, found.exit_code) == (True, 0)
        assert any("_branch of If 'y'" in line for line in checked.uncompared) is bool(size)


def classifier(biased: bool) -> onnx.ModelProto:
    """A MobileNet whose head was not trained, so that its scores are flat, or a bias alone."""
    model = onnx.load(MODELS / "mobilenet_keras.onnx")
    graph = model.graph
    del graph.output[:]
    tiny = np.array(1e-9, np.float32)
    bias = np.linspace(-2, 2, 10, dtype=np.float32)[None] * biased
    graph.initializer.extend([from_array(tiny, "tiny"), from_array(bias, "bias")])
    for op, given, name in (
        ("Mul", ["logits", "tiny"], "small"),
        ("Add", ["small", "bias"], "sum"),
        ("Softmax", ["sum"], "y"),
    ):
        graph.node.append(helper.make_node(op, given, [name]))
    graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    return model


@pytest.mark.parametrize("biased", [False, True])
def test_outputs_that_tell_nothing_hide_no_padding_upstream(biased: bool) -> None:
    model = classifier(biased)
    wrong = next(each.wrong() for each in of_model("", model) if each.fault is moved)
    found = onnxpad.validate(model, wrong)
    assert found.outcome == "failed"
    assert all(each.equal for run in found.validation.runs for each in run.comparisons)
    assert found.validation.divergence is not None
    assert "(Conv)" in found.validation.divergence.producers[0]
    assert len(found.validation.padding) == 1
    with pytest.raises(ValidationError):
        found.raise_for_failure()
    result = onnxpad.fix(model)
    assert (bool(result.changes), result.exit_code) == (True, 0)
    assert result.validation is not None
    assert any("changed operators were compared" in note for note in result.validation.notes)


# Numbers that are drawn

SEED = re.compile(r"seed: |[sq]: float")
TRAINING = "h = Constant <value_float = 0.5> () t = Constant <value = bool {1}> ()"
FUNCTION = """<domain: "l", opset_import: ["" : 20]> noisy <s> (x) => (y)
    { r = RandomNormalLike <seed: float = @s> (x) y = Add (x, r) }"""
DRAWS = {
    "RandomNormalLike": "r = RandomNormalLike (y) z = Add (y, r)",
    "Dropout": f"{TRAINING} z = Dropout (y, h, t)",
    "a function": "o = l.noisy <s = 5.0> (y) e = Neg (o) z = l.noisy (e)",
    "a seed of its own": "r = RandomNormalLike <seed = 2.0> (y) z = Add (y, r)",
}


def drawing(draw: str, pads: str = "0,0,1,1,0,0,1,1") -> onnx.ModelProto:
    """A Pad and a Conv, and then operators that draw."""
    return parsed(
        '<ir_version: 10, opset_import: ["" : 20, "l" : 1]> '
        "g (float[1,1,9,9] x, float[1,1,3,3] w) => (float[?,?,?,?] z) "
        f"{{ p = Constant <value_ints = [{pads}]> () a = Pad (x, p) y = Conv (a, w) {draw} }} "
        f"{FUNCTION if 'l.' in draw else ''}"
    )


@pytest.fixture
def useless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators that draw have no seed, as custom ones."""
    monkeypatch.setattr(copies, "_DRAWING", frozenset())


@pytest.mark.parametrize("name", DRAWS)
def test_what_draws_is_compared_and_gets_no_seed_in_what_is_written(name: str) -> None:
    given = drawing(DRAWS[name])
    found = onnxpad.fix(given)
    assert [change.code for change in found.changes] == ["PAD201"]
    assert found.validation is not None
    assert found.validation.outcome == "passed"
    seeds = [SEED.findall(onnx.printer.to_text(each)) for each in (given, found.model)]
    assert seeds[0] == seeds[1]


@pytest.mark.usefixtures("useless")
@pytest.mark.parametrize("name", ["Dropout", "a function"])
def test_what_does_not_repeat_is_excluded_by_name(name: str) -> None:
    given = drawing(DRAWS[name].replace(" <s = 5.0>", ""))
    found = onnxpad.fix(given).validation
    assert found is not None
    assert found.outcome == "nothing compared"
    assert "'z'" in found.reason
    given.graph.output.append(onnx.ValueInfoProto(name="y"))
    found = onnxpad.fix(given).validation
    assert found is not None
    assert found.outcome == "passed"
    assert any("output 'z' " in line for line in found.uncompared)


@pytest.mark.usefixtures("useless")
def test_what_does_not_repeat_hides_no_fault() -> None:
    dropout = DRAWS["Dropout"]
    upstream = validate_models(drawing(dropout), drawing(dropout, "0,0,0,1,0,0,2,1"))
    assert upstream.outcome == "failed"
    assert upstream.divergence is not None
    assert upstream.divergence.tensor in {"p", "a", "y"}
    calm = dropout.replace("{1}", "{0}")
    assert validate_models(drawing(calm), drawing(dropout)).outcome == "failed"
    flat = dropout.replace("z =", "d =") + " z = Flatten (d)"
    assert validate_models(drawing(dropout), drawing(flat)).outcome == "failed"


def test_other_padding_changes_as_much_beside_a_draw() -> None:
    apart = []
    for draw in ("z = Identity (y)", DRAWS["RandomNormalLike"]):
        other = drawing(draw, "0,0,0,0,0,0,2,2").SerializeToString()
        (change,) = difference(drawing(draw), other).outputs
        apart.append(change.max_abs)
    assert apart[0] == pytest.approx(apart[1], rel=1e-5)
