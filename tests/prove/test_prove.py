"""`prove`: what is proved, refuted and left open, whoever wrote the second model."""

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.proving.verdict import decide
from tests.report.test_json_schema import check
from tests.support import MODELS, one, onnxpad_runs, parsed, session

W = f"float[4, 3, 3, 3] w = {{{', '.join(str(n % 7 - 3) for n in range(108))}}}"
PADS = "int64[8] p = {0, 0, 1, 1, 0, 0, 2, 2}"
IMAGE = "float[1, 3, height, width] x"
LARGE = "n = Constant <value_ints = [5000, 1, 1, 1]> () c = ConstantOfShape (n)"
BRANCHES = (
    "then_branch = f () => (float[] n) { n = Neg (x) }, "
    "else_branch = g () => (float[] r) { r = Relu (x) }"
)
TURN = "Transpose <perm = [3, 2, 1, 0]>"
CONV = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
BIASED = "float[4] bias = {1, 2, 3, 4}"
SCALE = "float[4] s = {2, 1, 1, 3}, float[4] m = {0, 1, 0, 1}, float[4] v = {1, 1, 2, 1}"
SHIFT = "float[3, 1, 1] t = {1, 2, 3}, float[4, 1, 1] u = {1, 2, 3, 4}"


def pair(before: str, after: str, initializers: str, inputs: str = IMAGE) -> tuple[Any, Any]:
    first, other = (one(e, inputs=inputs, initializers=initializers) for e in (before, after))
    return first, other


SAME = {
    "a Pad is folded": (
        "a = Pad (x, p) y = Conv (a, w)",
        "y = Conv <pads = [1, 1, 2, 2]> (x, w)",
    ),
    "a Pad is moved": (
        "a = Pad (x, p) r = Relu (a) y = Conv (r, w)",
        "r = Relu (x) y = Conv <pads = [1, 1, 2, 2]> (r, w)",
    ),
    "defaults are spelled out": (
        "y = Conv <pads = [1, 1, 1, 1]> (x, w)",
        'y = Conv <auto_pad = "NOTSET", group = 1, strides = [1, 1], pads = [1, 1, 1, 1]> (x, w)',
    ),
    "SAME of stride 1 is pads": (
        'y = Conv <auto_pad = "SAME_UPPER"> (x, w)',
        "y = Conv <pads = [1, 1, 1, 1]> (x, w)",
    ),
    "what does nothing is gone": (
        "a = Identity (x) b = Dropout (a) y = Relu (b)",
        "dead = Neg (x) y = Relu (x)",
    ),
    "transposes cancel": (f"a = {TURN} (x) z = {TURN} (a) y = Abs (z)", "y = Abs (x)"),
    "one of two like": ("a = Relu (x) b = Relu (x) y = Add (a, b)", "a = Relu (x) y = Add (a, a)"),
    "operands exchanged": ("a = Relu (x) y = Add (a, x)", "a = Relu (x) y = Add (x, a)"),
    "amounts are computed from constants": (
        "two = Constant <value = int64[1] {2}> () q = Mul (p, two) a = Pad (x, q) y = Conv (a, w)",
        "y = Conv <pads = [2, 2, 4, 4]> (x, w)",
    ),
    "a normalisation is in the weights": (
        "c = Conv (x, w, bias) y = BatchNormalization (c, s, bias, m, v)",
        "c = Conv (x, w, bias) y = BatchNormalization <epsilon = 0.00001> (c, s, bias, m, v)",
    ),
    "a constant is exchanged": ("y = Mul (x, t)", "y = Mul (t, x)"),
    "transposes are one": (
        "a = Transpose <perm = [0, 2, 3, 1]> (x) y = Transpose <perm = [0, 2, 3, 1]> (a)",
        "y = Transpose <perm = [0, 3, 1, 2]> (x)",
    ),
    "a shift is the bias": ("c = Conv (x, w) y = Add (c, u)", "y = Conv (x, w, bias)"),
    "a condition is constant": (
        f"no = Constant <value = bool {{0}}> () y = If (no) <{BRANCHES}>",
        "y = Relu (x)",
    ),
    "a large constant is exchanged": (f"{LARGE} y = Add (x, c)", f"{LARGE} y = Add (c, x)"),
    "a Gemm without constants": (
        "f = Flatten (x) y = Gemm <transB = 1> (f, f)",
        "f = Flatten <axis = 1> (x) y = Gemm <alpha = 1.0, transB = 1> (f, f)",
    ),
    "another's": ("y = com.microsoft.Gelu (x)", "a = Identity (x) y = com.microsoft.Gelu (a)"),
}
"""Two ways to write the nodes of a model that compute the same."""

OTHER = {
    "the odd pixel at the other end": (CONV, CONV.replace("UPPER", "LOWER")),
    "one pixel is missing": (
        "a = Pad (x, p) y = Conv (a, w)",
        "y = Conv <pads = [1, 1, 2, 1]> (x, w)",
    ),
    "ceil_mode went": (
        "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)",
        "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)",
    ),
    "a zero wins in a maximum": (
        "a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)",
        "y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 2, 2]> (x)",
    ),
    "another weight": ("y = Conv (x, w, bias)", "n = Neg (bias) y = Conv (x, w, n)"),
    "a shift along the width": ("c = Conv (x, w) y = Add (c, bias)", "y = Conv (x, w, bias)"),
}
"""The same of models that compute something else."""

KNOWN = f"{W}, {PADS}, {BIASED}, {SCALE}, {SHIFT}"


@pytest.mark.parametrize("case", SAME)
def test_what_is_the_same_is_proved(case: str) -> None:
    for models in (pair(*SAME[case], KNOWN), pair(*SAME[case][::-1], KNOWN)):
        found = onnxpad.prove(*models)
        assert found.verdict.verdict == "proved", found
        assert found.exit_code == 0
        assert found.verdict.runs > 0


@pytest.mark.parametrize("case", OTHER)
def test_what_differs_is_refuted_by_inputs(case: str) -> None:
    models = pair(*OTHER[case], KNOWN)
    found = onnxpad.prove(*models)
    seen = found.verdict.counterexample
    assert found.exit_code == 3
    assert seen is not None
    assert decide(*models, runs=False).verdict == "undecided"
    assert max(seen.sizes.values()) <= 4, "the smallest that shows it"
    values = [session(model).run(None, dict(seen.feeds)) for model in models]
    assert any(
        one.shape != other.shape or not np.allclose(one, other, atol=1e-4)
        for one, other in zip(*values, strict=True)
    )


def test_an_open_model_is_proved_for_the_sizes_that_the_other_declares() -> None:
    before = one(CONV, inputs=IMAGE, initializers=W)
    after = onnxpad.fix(before, shapes="1x3x8x9", validate=False).model
    found = onnxpad.prove(before, after)
    assert (found.verdict.verdict, found.verdict.limits) == ("proved", "x 1x3x8x9")


def test_a_range_limits_a_proof() -> None:
    before = one(CONV, inputs=IMAGE, initializers=W)
    after = one(CONV.replace("auto_pad = \"SAME_UPPER\"", "pads = [0, 0, 1, 1]"), inputs=IMAGE,
                initializers=W)  # fmt: skip
    assert onnxpad.prove(before, after).verdict.verdict == "refuted"
    found = onnxpad.prove(before, after, dims={"height": "8..64:2", "width": "8..64:2"})
    assert found.verdict.verdict == "proved"
    assert "height 8..64 in steps of 2" in found.verdict.limits


def test_other_names_of_inputs_are_an_assumption() -> None:
    before = one("y = Relu (x)", inputs="float[2] x")
    after = parsed("g (float[2] data) => (float[2] out) { out = Relu (data) }")
    found = onnxpad.prove(before, after)
    assert found.verdict.verdict == "proved"
    assert len(found.verdict.assumptions) == 2
    assert onnxpad.prove(before, after, strict=True).verdict.verdict == "undecided"
    with pytest.raises(onnxpad.UsageError):
        onnxpad.prove(before, parsed("g (int64[2] data) => (int64[2] out) { out = Abs (data) }"))


def test_defaults_of_inputs_count() -> None:
    text = "<ir_version: 8, opset_import: ['': 17]> g (float[1] x, float[1] z) => (float[1] y) "
    models = []
    for value in (1, 2):
        model = onnx.parser.parse_model(text.replace("'", '"') + "{ y = Add (x, z) }")
        model.graph.initializer.append(
            onnx.numpy_helper.from_array(np.array([value], np.float32), "z")
        )
        models.append(model)
    assert onnxpad.prove(models[0], models[0]).verdict.verdict == "proved"
    assert onnxpad.prove(*models).verdict.verdict == "refuted"


def test_what_chance_decides_is_undecided() -> None:
    model = one("r = RandomUniformLike (x) y = Add (x, r)", inputs="float[2] x")
    assert onnxpad.prove(model, model).exit_code == 5
    named = parsed("g (float[2] z) => (float[2] y) { r = RandomUniformLike (z) y = Add (z, r) }")
    found = onnxpad.prove(model, named)
    assert (found.exit_code, found.verdict.runs) == (5, 0)


def test_inputs_of_other_sizes_are_not_the_same() -> None:
    models = [one("y = Relu (x)", inputs=f"float[{size}] x") for size in (2, 3)]
    assert decide(*models, runs=False).verdict == "undecided"


def test_functions_that_unfold_to_too_many_nodes_are_undecided() -> None:
    """They call each other, each twice; a function of the same name may do something else."""
    text, head = "g (float[2] x) => (float[2] y) { y = f.f0 (x) }", '["": 17, "f": 1]> f'
    for n in range(20):
        text += f'<domain: "f", opset_import: {head}{n} (a) => (c) {{ b = f.f{n + 1} (a) '
        text += f"c = f.f{n + 1} (b) }}"
    models = [parsed(text.replace("f.f20", op)) for op in ("Relu", "Neg")]
    assert decide(*models, runs=False).verdict == "undecided"


NOT_THE_SAME = {
    "sizes of other names": ("y = Shape <end = 1> (x)", "y = Shape <start = 1> (x)", ""),
    "one weight of two is another": ("y = Mul (x, s)", "y = Mul (x, d)", "1e8, 0|1e8, 1"),
    "a bias beside a great one": ("y = Gemm (x, i, s)", "y = Gemm (x, i, d)", "1e8, 0|1e8, 1"),
    "a threshold": ("y = Greater (x, s)", "y = Greater (x, d)", "1, 1|1, 1.0000001"),
    "the sign of zero": ("y = Div (x, s)", "y = Div (x, d)", "1, 0|1, -0.0"),
    "zeros in a maximum": (
        "a = Max (x, s) b = Max (a, d) y = Reciprocal (b)",
        "a = Max (x, d) b = Max (a, s) y = Reciprocal (b)",
        "0, 0|-0.0, -0.0",
    ),
    "a bias of more rows": ("m = MatMul (x, i) y = Add (m, i)", "y = Gemm (x, i, i)", ""),
    "a default with a sign": ("y = Elu (x)", "y = Elu <alpha = -1.0> (x)", ""),
}
"""Models that are almost the same, with two constants."""


@pytest.mark.parametrize("case", NOT_THE_SAME)
def test_what_is_almost_the_same_is_not_proved(case: str) -> None:
    before, after, constants = NOT_THE_SAME[case]
    one_, other = (constants or "1, 1|1, 1").split("|")
    held = f"float[2] s = {{{one_}}}, float[2] d = {{{other}}}, float[2, 2] i = {{1, 0, 0, 1}}"
    models = [
        parsed(f"g (float[{names}] x) => ({'bool' if case == 'a threshold' else 'float'}[] y) "
               f"<{held}> {{ {nodes} }}")
        for names, nodes in (("h, w", before), ("w, h", after))
    ]  # fmt: skip
    for model in models[: 2 * ("names" in case)]:
        model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    assert onnxpad.prove(*models).verdict.verdict != "proved"
    assert decide(*models, runs=False).verdict == "undecided"


def test_other_opsets_are_compared_where_they_say_the_same() -> None:
    def at(opset: int, nodes: str) -> Any:
        text = f'<ir_version: 7, opset_import: ["": {opset}]> g (float[2, 2] x) => (float[2, 2] y) '
        return onnx.parser.parse_model(text + f"<float[2, 2, 1] c = {{1, 2, 3, 4}}> {{ {nodes} }}")

    models = [at(n, "s = Softmax <axis = 0> (c) d = Squeeze (s) y = Add (x, d)") for n in (11, 13)]
    assert decide(*models, runs=False).verdict == "undecided"
    assert onnxpad.prove(*models).verdict.verdict == "refuted"
    models = [at(n, "r = Relu (x) a = Add (r, x) y = MatMul (a, x)") for n in (13, 17)]
    assert decide(*models, runs=False).verdict == "proved"


def test_an_operator_is_what_its_specification_writes_out() -> None:
    for alpha, verdict in ((0.16666667, "proved"), (0.2, "refuted")):
        written = f"h = HardSigmoid <alpha = {alpha}, beta = 0.5> (x) y = Mul (x, h)"
        assert onnxpad.prove(*pair("y = HardSwish (x)", written, W)).verdict.verdict == verdict


def test_a_sparse_initializer_is_a_dense_one() -> None:
    node = "y = MatMul (x, w)"
    dense, sparse = pair(node, node, "float[2, 2] w = {0, 3, 0, 1}", "float[n, 2] x")
    tensor, held = onnx.helper.make_tensor, sparse.graph.sparse_initializer.add(dims=[2, 2])
    held.values.CopyFrom(tensor("w", onnx.TensorProto.FLOAT, [2], [3, 1]))
    held.indices.CopyFrom(tensor("", onnx.TensorProto.INT64, [2], [1, 3]))
    del sparse.graph.initializer[:]
    assert decide(dense, sparse, runs=False).verdict == "proved"
    held.indices.CopyFrom(tensor("", onnx.TensorProto.INT64, [2, 2], [0, 1, 1, 1]))
    assert decide(dense, sparse, runs=False).verdict == "proved"


def test_a_rewrite_that_does_not_load_is_refuted_only_where_the_original_runs() -> None:
    bad = one("s = Constant <value_ints = [7]> () y = Reshape (x, s)", inputs="float[2] x")
    worse = one("y = Conv (x, x)", inputs="float[2] x")
    assert onnxpad.prove(bad, worse).verdict.verdict == "undecided"
    assert onnxpad.prove(one("y = Relu (x)", inputs="float[2] x"), worse).exit_code == 3


def test_what_was_folded_is_an_assumption() -> None:
    held = f"{W}, {W.replace(' w =', ' v =')}, float two = {{1}}"
    folds = "c = Conv (x, w) y = Mul (c, two)"
    (told,) = onnxpad.prove(*pair(folds, "y = Conv (x, v)", held)).verdict.assumptions
    assert "at most 0.0 units" in told
    rest = "s = Shape (c) r = ConstantOfShape (s) y = Add (m, r)"
    sized = f"c = Conv (x, w) m = Mul (c, two) {rest}"
    other = f"m = Conv (x, v) c = Identity (m) {rest}"
    assert onnxpad.prove(*pair(sized, other, held)).verdict.verdict == "proved"
    alike = pair(folds, "z = Identity (x) c = Conv (z, v) y = Mul (two, c)", held)
    assert onnxpad.prove(*alike).verdict.assumptions == ()


def test_where_an_empty_tensor_fits_no_other_nothing_is_refuted() -> None:
    held = "int64[1] zero = {0}, int64[1] last = {2}, float two = {2}, float three = {3}"
    join = "e = Slice (x, zero, zero, last) j = Concat <axis = 1> (x, e)"
    models = pair(
        f"{join} y = Mul (j, two)", f"{join} y = Mul (j, three)", held, "float[1, 1, n] x"
    )
    assert onnxpad.prove(*models).verdict.verdict == "undecided"


def test_nodes_that_nothing_reads_have_to_run() -> None:
    dead = "s = Constant <value_ints = [1]> () d = Reshape (x, s) y = Relu (x)"
    models = pair("y = Relu (x)", dead, W)
    assert "nothing reads" in decide(*models, runs=False).assumptions[0]
    assert onnxpad.prove(*models).verdict.verdict == "refuted"


def test_time_is_limited_in_a_proof_too() -> None:
    before, after = pair(*SAME["a Pad is moved"], KNOWN)
    found = onnxpad.prove(before, after, time_limit=1e-6)
    assert (found.exit_code, found.verdict.runs) == (5, 0)


def test_where_engines_disagree_it_is_undecided() -> None:
    said = 'y = MaxPool <auto_pad = "SAME_UPPER", dilations = [2, 2], kernel_shape = [3, 3]> (x)'
    spec, other = (said.replace('auto_pad = "SAME_UPPER"', f"pads = [{', '.join(n * 4)}]")
                   for n in ("2", "1"))  # fmt: skip
    for after in (spec, other):
        assert onnxpad.prove(*pair(said, after, W)).verdict.verdict == "undecided"
    assert onnxpad.prove(*pair(said, spec, W), trust="spec").verdict.verdict == "proved"


def test_beyond_the_terms_it_is_undecided() -> None:
    before = one("y = Softplus (x)", inputs="float[n] x")
    after = one("e = Exp (x) c = Constant <value = float {1}> () a = Add (e, c) y = Log (a)",
                inputs="float[n] x")  # fmt: skip
    found = onnxpad.prove(before, after)
    assert found.exit_code == 5
    assert found.verdict.regions
    assert found.verdict.runs > 4
    with pytest.raises(onnxpad.OutputError):
        found.save_counterexample("c.npz")


@pytest.mark.parametrize("name", ["steps_torchscript", "loop_tensorflow", "functions_onnxscript"])
def test_a_model_is_itself_and_what_fix_makes_of_it(name: str, tmp_path: Path) -> None:
    path = MODELS / f"{name}.onnx"
    assert onnxpad.prove(path, path).verdict.verdict == "proved"
    onnxpad.fix(path, validate=False).save(tmp_path / "fixed.onnx")
    assert onnxpad.prove(path, tmp_path / "fixed.onnx").verdict.verdict == "proved"


def test_the_command(tmp_path: Path) -> None:
    before, after = pair(*OTHER["one pixel is missing"], KNOWN)
    onnx.save(before, tmp_path / "a.onnx")
    onnx.save(after, tmp_path / "b.onnx")
    names = tmp_path / "a.onnx", tmp_path / "b.onnx"
    result = onnxpad_runs("prove", *names, "--counterexample", tmp_path / "c.npz")
    assert result.exit_code == 3
    assert np.load(tmp_path / "c.npz")["x"].ndim == 4
    assert onnxpad_runs("prove", names[0], names[0]).exit_code == 0
    for other, limit, told in ((1, 9, "refuted"), (0, 9, "proved"), (1, 1e-6, "undecided")):
        asked = ("prove", names[0], names[other], "--time-limit", limit, "--format", "json")
        document = json.loads(onnxpad_runs(*asked).stdout)
        assert check(document) == "prove"
        assert document["verdict"] == told
        assert bool(document["counterexample"]) == (told == "refuted")
        assert bool(document["regions"]) == (told == "undecided")
    assert onnxpad_runs("prove", names[0], tmp_path / "none.onnx").exit_code == 2


def test_what_rounding_alone_moves_is_no_refutation() -> None:
    """Sums that cancel in one order, and leave a little in another, are not told apart by Sign."""
    thrice = "a = Add (x, x) b = Add (a, x) c = Mul (x, t) d = Sub (b, c) y = Sign (d)"
    models = pair(thrice, "y = Mul (x, z)", "float t = {3}, float z = {0}", "float[n, 3] x")
    assert onnxpad.prove(*models).exit_code == 5
    assert onnxpad.prove(*pair("y = Floor (x)", "y = Ceil (x)", W)).exit_code == 3
    cast = "f = Cast <to = 1> (x) y = {} (f)".format
    assert onnxpad.prove(*pair(cast("Relu"), cast("Neg"), W, "int64[n] x")).exit_code == 3


def test_a_deep_network_that_differs_at_its_beginning_takes_no_time() -> None:
    """Each sum could be compared with each other one: that many pairs are not looked at."""
    blocks = " ".join(f"r{n} = Relu (t{n}) t{n + 1} = Add (t{n}, r{n})" for n in range(400))
    nodes = f"t0 = Add (x, %s) {blocks} y = Identity (t400)"
    models = pair(nodes % "o", nodes % "q", "float o = {1}, float q = {2}", "float[n, 3] x")
    start = perf_counter()
    assert decide(*models, runs=False).regions
    assert perf_counter() - start < 15, "thousands of blocks take minutes"
