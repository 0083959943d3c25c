"""Whole models: what counts against a rewrite, what repairs, what onnxruntime does itself."""

import gc
from pathlib import Path
from typing import Any

import onnx
import pytest

from onnxpad.errors import ModelError, ProviderError
from onnxpad.runtimes import sessions
from onnxpad.validation import lab
from onnxpad.validation.compare import Tolerance
from onnxpad.validation.result import Validation
from onnxpad.validation.whole import validate_models
from tests.support import parsed

pytestmark = pytest.mark.usefixtures("nothing_printed")

LINE = "(float[1,1,7] x) => (float[1,1,?] y) <float[1,1,3] w = {1,2,3}, int64[6] p = {0,0,1,0,0,1}>"
PAD = parsed(LINE, "q = Pad (x, p) y = Conv (q, w)")
FOLD = parsed(LINE, "y = Conv <pads = [1,1]> (x, w)")


def steps(found: Validation) -> list[tuple[str, bool, bool]]:
    """(optimisation, every output equal or near, run ok), a run on data of both signs."""
    return [
        (run.optimisation, all(each.ok for each in run.comparisons), run.ok)
        for run in found.runs
        if not run.inputs.endswith("all negative")
    ]


def verdict(found: Validation) -> tuple[bool, str, int]:
    """`ok`, the outcome and the number of runs."""
    return found.ok, found.outcome, len(found.runs)


def test_an_exact_rewrite_is_equal_bit_for_bit() -> None:
    found = validate_models(PAD, FOLD)
    assert found.ok
    assert not found.warnings
    assert steps(found) == [("off", True, True), ("full", True, True)]
    assert [each.equal for each in found.runs[0].comparisons] == [True]
    assert found.runs[0].inputs == "x float32 1x1x7, seed 0"


@pytest.mark.parametrize("pads", ["[0,2]", "[2,0]", "[0,1]", "[2,2]"])
def test_a_wrong_rewrite_fails_and_full_optimisation_is_not_tried(pads: str) -> None:
    found = validate_models(PAD, parsed(LINE, f"y = Conv <pads = {pads}> (x, w)"))
    assert not found.ok
    assert steps(found) == [("off", False, False)]
    assert found.runs[0].comparisons[0].detail


@pytest.mark.parametrize(
    "body",
    [
        "y = Conv <pads = [-1,1]> (x, w)",
        'y = Conv <auto_pad = "SAME_UPPER", dilations = [2]> (x, w)',
        "z = Conv <pads = [1,1]> (x, w) y = custom.Op (z)",
    ],
)
def test_a_rewrite_that_does_not_run_fails(body: str) -> None:
    found = validate_models(PAD, parsed(LINE, body))
    assert not found.ok


def test_a_lost_output_or_input_fails() -> None:
    two = "(float[2] x, float[2] z) => (float[2] y, float[2] u)"
    original = parsed(two, "y = Add (x, z) u = Neg (x)")
    lost = validate_models(original, parsed(two.replace(", float[2] u", ""), "y = Add (x, z)"))
    assert not lost.ok
    narrow = parsed(two.replace(", float[2] z", ""), "y = Add (x, x) u = Neg (x)")
    assert not validate_models(original, narrow).ok


DILATED = parsed(LINE, 'y = Conv <auto_pad = "SAME_UPPER", dilations = [2]> (x, w)')


POOLED = "z = Conv <{}dilations = [2]> (x, w) y = MaxPool <kernel_shape = [2]> (z)"


def test_what_only_the_rewritten_model_runs_is_a_repair() -> None:
    found = validate_models(
        parsed(LINE, POOLED.format('auto_pad = "SAME_UPPER", ')),
        parsed(LINE, POOLED.format("pads = [2,2], ")),
        samples=2,
    )
    assert verdict(found) == (False, "nothing compared", 6)
    assert found.reason == found.runs[0].note
    assert not any(run.tells for run in found.runs)
    assert not found.warnings
    assert steps(found) == [("off", True, True)] * 2 + [("full", True, True)] * 2
    assert "repair" in found.runs[0].note
    assert not found.runs[0].comparisons


def test_what_neither_model_runs_is_not_validated() -> None:
    found = validate_models(DILATED, DILATED)
    assert verdict(found) == (False, "nothing compared", 0)
    custom = parsed(LINE, "z = custom.Op (x) y = Conv (z, w)")
    found = validate_models(
        custom, parsed(LINE, "z = custom.Op (x) y = Conv <pads = [0,0]> (z, w)")
    )
    assert verdict(found) == (False, "nothing compared", 0)
    assert len(found.warnings) == 1
    assert "custom" in found.warnings[0]


def test_inputs_that_cannot_be_drawn_are_not_validated() -> None:
    model = parsed("(seq(float[2]) x) => (seq(float[2]) y)", "y = Identity (x)")
    found = validate_models(model, model)
    assert verdict(found) == (False, "nothing compared", 0)
    assert "'x'" in found.warnings[0]


POOL = "(float[1,1,64] x) => (float[1,1,?] y) <int64[6] p = {0,0,1,0,0,1}>"
APART = "q = Pad (x, p) n = Neg (q) a = Neg (n) y = MaxPool <kernel_shape = [2]> (a)"  # not fused
PADDED_POOL = parsed(POOL, APART)
FUSED_POOL = parsed(POOL, "q = Pad (x, p) y = MaxPool <kernel_shape = [2]> (q)")


def test_what_the_optimiser_does_to_the_original_too_is_a_warning() -> None:
    # onnxruntime fuses Pad(0) into MaxPool, which is wrong where the data are negative
    found = validate_models(FUSED_POOL, FUSED_POOL, samples=4)
    assert found.ok
    full = [run for run in found.runs if run.optimisation == "full"]
    assert not all(each.ok for run in full for each in run.comparisons)
    assert all(run.ok for run in found.runs)
    assert len(found.warnings) == 1


def test_what_the_optimiser_does_to_the_rewritten_model_only_is_a_failure() -> None:
    found = validate_models(PADDED_POOL, FUSED_POOL, samples=4)
    assert not found.ok
    assert all(run.ok for run in found.runs if run.optimisation == "off")
    assert any("of the rewritten model only" in run.note for run in found.runs)
    assert validate_models(FUSED_POOL, PADDED_POOL, samples=4).ok


def test_what_the_optimiser_moves_as_far_in_the_original_is_a_warning() -> None:
    signature = POOL.replace("{0,0,1,0,0,1}>", "{0,0,1,0,0,0}, int64[6] r = {0,0,0,0,0,1}>")
    end_apart = "a = Pad (x, r) n = Neg (a) m = Neg (n) "
    begin_fused = "q = Pad (m, p) y = MaxPool <kernel_shape = [2]> (q)"
    found = validate_models(FUSED_POOL, parsed(signature, end_apart + begin_fused), samples=8)
    assert found.ok


WIDE = "(float[1,1,9] x) => (float[1,1,?] y) <int64[6] p = {0,0,2,0,0,2}>"
UNLOADABLE = parsed(WIDE, "q = Pad (x, p) y = MaxPool <kernel_shape = [2]> (q)")
LOADABLE = parsed(WIDE, APART)


def test_a_model_the_optimiser_refuses() -> None:
    # fused, the pads would reach the kernel's size, which onnxruntime refuses to load
    both = validate_models(UNLOADABLE, UNLOADABLE)
    assert both.ok
    ours = validate_models(LOADABLE, UNLOADABLE)
    assert not ours.ok
    theirs = validate_models(UNLOADABLE, LOADABLE)
    assert theirs.ok
    assert all(run.ok and not run.note for run in theirs.runs)


def test_rounding_of_fused_quantised_operators_is_a_warning() -> None:
    weights = ",".join(str(i * 37 % 5 - 2) for i in range(36))
    signature = (
        f"(float[1,2,8,8] x) => (float[1,2,?,?] y) <int8[2,2,3,3] w = {{{weights}}}, float s = "
        "{0.02}, float t = {0.002}, float k = {0.01}, uint8 z = {128}, int8 c = {0}>"
    )
    body = (
        "a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) {} "
        "v = DequantizeLinear (w, k, c) q = Conv <pads = [1,1,1,1]> (d, v) "
        "r = QuantizeLinear (q, t, z) y = DequantizeLinear (r, t, z)"
    )
    apart = parsed(signature, body.format("n = Neg (b) d = Neg (n)"))
    fused = parsed(signature, body.format("d = Identity (b)"))
    found = validate_models(apart, fused, samples=6)
    assert found.ok
    assert any("rounding in fused quantised operators" in each for each in found.warnings)


def test_a_greater_difference_in_a_quantised_model_is_a_failure() -> None:
    # the pads that onnxruntime's optimiser gets wrong, behind a quantiser of steps of 1/50
    signature = POOL.replace("<", "<float s = {0.02}, uint8 z = {128}, ")
    body = "m = QuantizeLinear (x, s, z) d = DequantizeLinear (m, s, z) "
    apart = parsed(signature, body + APART.replace("Pad (x", "Pad (d"))
    fused = parsed(signature, body + "q = Pad (d, p) y = MaxPool <kernel_shape = [2]> (q)")
    found = validate_models(apart, fused, samples=4)
    assert not found.ok
    assert all(run.ok for run in found.runs if run.optimisation == "off")
    assert any("of the rewritten model only" in run.note for run in found.runs if not run.ok)
    assert not found.warnings


def test_external_data_of_bytes_lies_beside_the_original(tmp_path: Path) -> None:
    model = parsed(LINE, "q = Pad (x, p) y = Conv (q, w)")
    (weight,) = [each for each in model.graph.initializer if each.name == "w"]
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight), "w"))
    path = tmp_path / "original.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    found = validate_models(path, path.read_bytes())
    assert found.ok
    assert [run.optimisation for run in found.runs] == ["off"] * 2 + ["full"] * 2


def test_sizes_are_tried_until_the_original_accepts_one() -> None:
    signature = "(float[N,2,H] x) => (float[N,2,?] y) <int64[3] s = {-1,2,32}>"
    model = parsed(signature, "a = Reshape (x, s) z = Reshape (x, t) y = Add (x, x)")
    assert validate_models(model, model).warnings  # t is nowhere: no size can do
    model = parsed(signature, "a = Reshape (x, s) y = Add (x, x)")
    found = validate_models(model, model, samples=3)
    assert found.ok
    assert len({run.inputs for run in found.runs}) == 4  # the first twice, with other data
    for run in found.runs:
        batch, channels, height = map(int, run.inputs.split(",")[0].split()[-1].split("x"))
        assert (batch * channels * height) % 64 == 0


SCALED = "(float[1,1,9,9] x) => (float[1,3,9,9] y) <float[1,3,1,1] c = {%s,1000000,1}>"


def scaled(first: float, body: str = "y = Mul (x, c)", kind: str = "float") -> onnx.ModelProto:
    signature = (SCALED % first).replace("(float[1,1,9,9]", f"({kind}[1,1,9,9]")
    return parsed(signature, body)


def test_a_channel_that_is_wrong_beside_a_large_one_fails() -> None:
    found = validate_models(scaled(1), scaled(1.5))
    assert verdict(found)[:2] == (False, "failed")
    assert found.divergence is not None
    assert (found.divergence.tensor, found.divergence.note) == ("y", "")
    assert validate_models(scaled(1), scaled(1.5), tolerance=Tolerance(atol=100)).ok


def test_a_channel_that_cancels_out_passes() -> None:
    """1e-7 beside 1: what is left depends on the order of the terms."""
    signature = "(float[1,1,9,9] x) => (float[1,2,9,9] y) <float k = {1.3}, float t = {3}>"
    end = "l = Mul (x, t) y = Concat <axis = 1> (r, l)"
    before = parsed(signature, f"p = Add (x, k) q = Sub (p, k) r = Sub (q, x) {end}")
    after = parsed(signature, f"p = Sub (x, k) q = Add (p, k) r = Sub (q, x) {end}")
    found = validate_models(before, after)
    assert found.ok
    assert not any(each.equal for run in found.runs for each in run.comparisons)


SLID = "(float[N,1,H,W] x) => (float[?,?,?,?] y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}>"
STEP = "y = Conv <{}, strides = [2,2]> (x, w)"
FLAT = "(float[N,3,4] x) => (float[?,?] y) <int64[2] s = {1,-1}>"


@pytest.mark.parametrize(
    ("signature", "right", "wrong"),
    [
        pytest.param(SLID, STEP.format('auto_pad = "SAME_UPPER"'), STEP.format(pads), id=pads)
        for pads in ("pads = [1,1,1,1]", "pads = [0,0,1,1]")
    ]
    + [
        pytest.param(FLAT, "y = Flatten (x)", "y = Reshape (x, s)", id="batch"),
        pytest.param(
            FLAT, "y = Flatten (x)", "o = Reshape (x, q) y = Flatten (o)", id="a batch refused"
        ),
    ],
)
def test_a_model_fixed_to_some_open_sizes_fails(signature: str, right: str, wrong: str) -> None:
    signature = signature.replace("{1,-1}", "{1,-1}, int64[3] q = {1,3,4}")
    before, after = parsed(signature, right), parsed(signature, wrong)
    assert verdict(validate_models(before, after))[:2] == (False, "failed")
    assert validate_models(before, before).ok


def test_sizes_that_only_the_original_refuses_are_no_failure() -> None:
    signature = FLAT.replace("[2] s = {1,-1}", "[3] s = {1,3,4}")
    found = validate_models(
        parsed(signature, "o = Reshape (x, s) y = Flatten (o)"),
        parsed(signature, "y = Flatten (x)"),
    )
    assert found.ok
    assert {run.inputs.partition(",")[0] for run in found.runs} == {"x float32 1x3x4"}


def test_more_samples_than_sizes_differ_in_data() -> None:
    found = validate_models(PAD, FOLD, samples=3, seed=5)
    assert [run.inputs.partition("seed ")[2] for run in found.runs] == [
        "5",
        "6",
        "7",
        "5, all negative",
    ] * 2


def test_a_size_pinned_by_the_rewrite_is_the_one_run() -> None:
    def model(size: str) -> onnx.ModelProto:
        return parsed(f"(float[1,1,{size}] x) => (float[1,1,?] y)", "y = Neg (x)")

    found = validate_models(model("N"), model("19"))
    assert found.ok
    assert found.runs[0].inputs.startswith("x float32 1x1x19")


def test_huge_models_skip_full_optimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "MOST_NODES", 1)
    found = validate_models(PAD, FOLD)
    assert found.ok
    assert steps(found) == [("off", True, True)]


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
        found = validate_models(
            FUSED_POOL, FUSED_POOL, samples=4, progress=lambda *step: said.append(step)
        )
    finally:
        gc.enable()
    assert found.warnings
    assert len(dict.fromkeys(step for step, _, _ in said)) == 4
    assert [done for _, done, _ in said] == sorted(done for _, done, _ in said)
    assert said[-1][1:] == (20, 20)
    assert not alive


def test_paths_bytes_and_models_alike(tmp_path: Path) -> None:
    path = tmp_path / "fold.onnx"
    onnx.save(FOLD, path)
    for source in (path, str(path), path.read_bytes(), FOLD):
        before = FOLD.SerializeToString()
        assert validate_models(PAD, source).ok
        assert FOLD.SerializeToString() == before
    with pytest.raises(ModelError):
        validate_models(PAD, tmp_path / "nowhere.onnx")


def test_a_missing_provider_is_an_error() -> None:
    with pytest.raises(ProviderError):
        validate_models(PAD, FOLD, providers=("NoSuchProvider",))


def test_every_provider_is_run() -> None:
    found = validate_models(PAD, FOLD, providers=(sessions.CPU,) * 2)
    assert steps(found) == [("off", True, True), ("full", True, True)] * 2


def test_not_a_number_at_the_same_places_is_equal() -> None:
    signature = "(float[50] x) => (float[50] y)"
    roots = parsed(signature, "y = Sqrt (x)")
    found = validate_models(roots, parsed(signature, "z = Identity (x) y = Sqrt (z)"))
    assert found.ok
    assert found.runs[0].comparisons[0].equal
    assert not validate_models(roots, parsed(signature, "z = Abs (x) y = Sqrt (z)")).ok
