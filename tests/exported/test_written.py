"""What `onnxpad fix` writes of exported models is what the library gives; what they tell stays."""

import shutil
from pathlib import Path

import onnx
import pytest

import onnxpad
from tests.exported.results import NAMES, distance, fixed, fixed_model, original, outputs, recorded
from tests.support import MODELS, REFUSED, onnxpad_runs, run


def copied(name: str, folder: Path) -> Path:
    for path in MODELS.glob(f"{name}.onnx*"):
        shutil.copy(path, folder)
    return folder / f"{name}.onnx"


@pytest.mark.parametrize("name", ["mobilenet_keras", "wavenet_torchscript"])
def test_the_command_writes_what_the_library_gives(name: str, tmp_path: Path) -> None:
    result = onnxpad_runs("fix", copied(name, tmp_path))
    assert result.exit_code == 0, result.output
    assert onnx.load(tmp_path / f"{name}.fixed.onnx") == fixed_model(name, "fold")


@pytest.mark.parametrize("name", ["unet_dynamo"])
def test_the_command_on_a_model_with_external_data(name: str, tmp_path: Path) -> None:
    result = onnxpad_runs("fix", copied(name, tmp_path), "--style", "pad")
    assert result.exit_code == 0, result.output
    model = onnx.load(tmp_path / f"{name}.fixed.onnx")
    feeds, _ = recorded(name)
    assert distance(run(model, feeds), outputs(name, "pad")) == 0


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_models_are_there_and_run_once_fixed(name: str) -> None:
    assert name in NAMES
    errors = onnxpad.check(original(name)).failing(onnxpad.Severity.ERROR)
    assert errors
    assert all("auto_pad=SAME" in finding.message for finding in errors)
    assert outputs(name) is None
    assert outputs(name, "fold") is not None


@pytest.mark.parametrize("name", ["mobilenet_qdq"])
def test_some_models_have_metadata_to_keep(name: str) -> None:
    assert any(node.metadata_props for each in NAMES for node in original(each).graph.node)
    assert any(original(each).graph.metadata_props for each in NAMES)
    assert original(name).metadata_props
    assert fixed(name, "pad").changed


def test_doc_strings_stay() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(original("zeropad_torchscript"))  # no exporter here writes any on nodes
    for node in model.graph.node:
        node.doc_string = f"about {node.name}"
    kept = onnxpad.fix(model, validate=False).model.graph.node
    assert len(kept) < len(model.graph.node)
    assert all(node.doc_string == f"about {node.name}" for node in kept)
