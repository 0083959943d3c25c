"""What `onnxpad fix` writes of exported models is what the library gives; what they tell stays."""

import shutil
from pathlib import Path

import onnx
import pytest

import onnxpad
from tests.exported.results import distance, fixed_model, original, outputs, recorded
from tests.support import MODELS, REFUSED, onnxpad_runs, run


@pytest.mark.parametrize(
    ("name", "style"),
    [("mobilenet_keras", "fold"), ("wavenet_torchscript", "fold"), ("unet_dynamo", "pad")],
)
def test_the_command_writes_what_the_library_gives(name: str, style: str, tmp_path: Path) -> None:
    for path in MODELS.glob(f"{name}.onnx*"):  # one has external data
        shutil.copy(path, tmp_path)
    result = onnxpad_runs("fix", tmp_path / f"{name}.onnx", "--style", style)
    assert result.exit_code == 0, result.output
    written = onnx.load(tmp_path / f"{name}.fixed.onnx")
    assert style == "pad" or written == fixed_model(name, style)
    assert distance(run(written, recorded(name)[0]), outputs(name, style)) == 0


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_models_that_onnxruntime_refuses_run_once_fixed(name: str) -> None:
    assert onnxpad.check(original(name)).failing(onnxpad.Severity.ERROR)
    assert outputs(name) is None
    assert outputs(name, "fold") is not None


def test_doc_strings_stay() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(original("zeropad_torchscript"))  # no exporter here writes any on nodes
    for node in model.graph.node:
        node.doc_string = f"about {node.name}"
    kept = onnxpad.fix(model, validate=False).model.graph.node
    assert len(kept) < len(model.graph.node)
    assert all(node.doc_string == f"about {node.name}" for node in kept)
