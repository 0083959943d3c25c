"""On OpenVINO's plugin: every model of `models/` against itself, and against planted faults.

`.ci/providers` makes an environment that has it, and runs these; elsewhere they are skipped.
"""

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import onnxpad
from onnxpad.runtimes.onnxruntime.native import plugins
from onnxpad.runtimes.providers import chosen
from tests.support import EXPORTED
from tests.validation.planted import nodes, of_model

if "openvino" not in plugins():
    pytest.skip("onnxruntime-ep-openvino is not installed", allow_module_level=True)

pytestmark = pytest.mark.providers

NAME = "OpenVINOExecutionProvider"
DOES_NOT_TRANSLATE = {"inception_qdq_int8", "loop_tensorflow", "zeropad_opset10"}
"""Models that OpenVINO 1.8 refuses to open."""
QUANTISED = ("int8", "uint8", "qdq", "qoperator")


@pytest.mark.parametrize("path", EXPORTED, ids=lambda path: path.stem)
def test_a_model_agrees_with_itself(path: Path) -> None:
    found = onnxpad.validate(path, path, providers=["openvino"])
    if path.stem in DOES_NOT_TRANSLATE:
        assert found.outcome == "nothing compared"
        return
    assert found.ok, found
    assert {place.provider for place in found.validation.placements} == {NAME}
    # What it computes otherwise than the CPU is told of the original, and is no failure.
    apart = [run for run in found.validation.runs if run.subject == "original" and not run.ok]
    assert bool(apart) <= any("the original differs" in line for line in found.warnings)


KINDS = ("moved", "other_side", "rounded")


def faulty(path: Path) -> list[tuple[str, onnx.ModelProto, onnx.NodeProto]]:
    """The model with each kind of fault at the first node that shows it on the CPU."""
    found: dict[str, tuple[str, onnx.ModelProto, onnx.NodeProto]] = {}
    for each in of_model(path.stem, onnx.load(path)):
        kind = each.fault.__name__
        if each.place == "main" and kind in KINDS and kind not in found:
            model = each.wrong()
            if onnxpad.validate(path, model).validation.outcome == "failed":
                found[kind] = kind, model, nodes(model)[each.number][0]
    return [*found.values()]


FLOAT = [
    path
    for path in EXPORTED
    if path.stem not in DOES_NOT_TRANSLATE and not any(each in path.stem for each in QUANTISED)
]


@pytest.mark.parametrize("path", FLOAT, ids=lambda path: path.stem)
def test_planted_faults_are_found_and_named(path: Path) -> None:
    for kind, model, node in faulty(path):
        found = onnxpad.validate(path, model, providers=["openvino"])
        assert found.validation.outcome == "failed", kind
        mine = [run for run in found.validation.runs if run.subject == "rewritten"]
        if all(run.comparisons for run in mine):  # else OpenVINO refuses it, or stops at a size
            parted = found.validation.divergence
            assert parted is not None, kind
            assert parted.tensor in node.output, (kind, parted)


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "onnxpad", *words],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_a_fallback_is_counted_and_may_be_a_failure() -> None:
    path = next(str(each) for each in EXPORTED if each.stem == "inception_fused")
    asked = ("validate", path, path, "--provider", "openvino", "--format", "json")
    ended = command(*asked)
    assert (ended.returncode, ended.stderr) == (0, "")
    places = json.loads(ended.stdout)["validation"]["placements"]
    assert [(each["nodes"], each["elsewhere"]) for each in places] == [
        (19, ["node_conv2d (FusedConv)", "node_conv2d_5 (FusedConv)"])
    ] * 2
    ended = command(*asked, "--no-fallback")
    assert ended.returncode == 5
    assert "2 nodes of 19 of the rewritten model fell back to the CPU: node_conv2d" in ended.stderr


def test_float32_is_demanded_and_told() -> None:
    path = next(each for each in EXPORTED if each.stem == "mobilenet_keras")
    found = onnxpad.validate(path, path, providers=["openvino"])
    assert any("INFERENCE_PRECISION_HINT" in note for note in found.notes)
    assert max(each.max_abs for run in found.validation.runs for each in run.comparisons) < 1e-4


def test_it_is_listed_and_chosen_by_name() -> None:
    assert chosen(["openvino", "cpu"])[0] == (NAME, "CPUExecutionProvider")
    report = json.loads(command("doctor", "--format", "json").stdout)
    assert {"name": NAME, "usable": True, "trouble": ""} in report["providers"]
    assert "onnxruntime-ep-openvino" in {each["name"] for each in report["packages"]}
