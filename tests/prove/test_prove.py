"""`prove`: what is proved, refuted and left open, whoever wrote the second model."""

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

import onnxpad
from onnxpad.proving import verdict
from onnxpad.proving.verdict import decide
from onnxpad.validation.compare import compare
from onnxpad.validation.lab import Result, ask
from tests.report.test_json_schema import check
from tests.support import MODELS, one, onnxpad_runs, parsed
from tests.support.rows import each_row

W = f"float[4, 3, 3, 3] w = {{{', '.join(str(n % 7 - 3) for n in range(108))}}}"
PADS = "int64[8] p = {0, 0, 1, 1, 0, 0, 2, 2}"
IMAGE = "float[1, 3, height, width] x"
CONV = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
FOLDED = ("a = Pad (x, p) y = Conv (a, w)", "y = Conv <pads = [1, 1, 2, 2]> (x, w)")


def pair(before: str, after: str, initializers: str, inputs: str = IMAGE) -> tuple[Any, Any]:
    first, other = (one(e, inputs=inputs, initializers=initializers) for e in (before, after))
    return first, other


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


def test_functions_that_unfold_to_too_many_nodes_are_undecided() -> None:
    """They call each other, each twice; a function of the same name may do something else."""
    text, head = "g (float[2] x) => (float[2] y) { y = f.f0 (x) }", '["": 17, "f": 1]> f'
    for n in range(20):
        text += f'<domain: "f", opset_import: {head}{n} (a) => (c) {{ b = f.f{n + 1} (a) '
        text += f"c = f.f{n + 1} (b) }}"
    models = [parsed(text.replace("f.f20", op)) for op in ("Relu", "Neg")]
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
    text = '<ir_version: 8, opset_import: ["own": {}]> g (float x) => (float y) {{ y = own.F (x) }}'
    models = [parsed(text.format(n)) for n in (1, 2)]
    assert decide(*models, runs=False).verdict == "undecided"


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


def test_external_data_are_compared_by_their_content(tmp_path: Path) -> None:
    paths = []
    for name, last in (("a", 1), ("b", 1), ("c", 2)):
        model = one("y = Add (x, w)", inputs="float[n, 5000] x")
        held = np.array([*[1] * 4999, last], np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(held, "w"))
        paths.append(tmp_path / name / "model.onnx")
        paths[-1].parent.mkdir()
        onnx.save(model, paths[-1], save_as_external_data=True, location="w.bin")
    found = decide(*paths[:2], runs=False)
    assert (found.verdict, found.assumptions) == ("proved", ())
    assert decide(*paths[1:], runs=False).verdict == "undecided"


def test_what_is_late_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    models = pair(FOLDED[0], FOLDED[1].replace("2, 2", "2, 1"), f"{W}, {PADS}")

    def slow(source: Any, *given: Any) -> Any:
        found, places = ask(source, *given)
        is_late = source is models[1]
        return [replace(e, error="late" * is_late, late=is_late) for e in found], places

    monkeypatch.setattr(verdict, "ask", slow)
    assert decide(*models).verdict == "undecided"


@each_row(
    ("given", "moved", "is_so"),
    [
        ([102], [101], True),
        ([102], [100.8], False),
        ([102], [100], False),
        ([1, 2], [101], False),
        ([1, 2], [1, 1], True),
    ],
)
def test_rounding_moves_an_output_about_as_far(given: Any, moved: Any, is_so: bool) -> None:
    wanted, now, near = ({"y": np.array(each, "f4")} for each in ([100], given, moved))
    found = compare("y", wanted["y"], now["y"])
    assert verdict._is_rounding(found, wanted, [Result(near, 0)]) is is_so


def test_time_is_limited_in_a_proof_too() -> None:
    before, after = pair(*FOLDED, f"{W}, {PADS}")
    found = onnxpad.prove(before, after, time_limit=1e-6)
    assert (found.exit_code, found.verdict.runs) == (5, 0)


@pytest.mark.parametrize("name", ["steps_torchscript", "loop_tensorflow", "functions_onnxscript"])
def test_a_model_is_itself_and_what_fix_makes_of_it(name: str, tmp_path: Path) -> None:
    path = MODELS / f"{name}.onnx"
    assert onnxpad.prove(path, path).verdict.verdict == "proved"
    onnxpad.fix(path, validate=False).save(tmp_path / "fixed.onnx")
    assert onnxpad.prove(path, tmp_path / "fixed.onnx").verdict.verdict == "proved"


def test_the_command(tmp_path: Path) -> None:
    before, after = pair(FOLDED[0], FOLDED[1].replace("2, 2", "2, 1"), f"{W}, {PADS}")
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


def test_a_deep_network_that_differs_at_its_beginning_takes_no_time() -> None:
    """Each sum could be compared with each other one: that many pairs are not looked at."""
    blocks = " ".join(f"r{n} = Relu (t{n}) t{n + 1} = Add (t{n}, r{n})" for n in range(400))
    nodes = f"t0 = Add (x, %s) {blocks} y = Identity (t400)"
    models = pair(nodes % "o", nodes % "q", "float o = {1}, float q = {2}", "float[n, 3] x")
    start = perf_counter()
    assert decide(*models, runs=False).regions
    assert perf_counter() - start < 15, "thousands of blocks take minutes"
