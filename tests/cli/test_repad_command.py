"""`repad`: its report, its files, and how it ends."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest
from typer.testing import Result

from onnxpad.frameworks.conventions.table import FRAMEWORKS
from tests.support import MODELS, one, onnxpad_runs

PORT = MODELS / "misconverted" / "strided_conv2d.onnx"


@pytest.fixture
def port(tmp_path: Path) -> Path:
    return Path(shutil.copy(PORT, tmp_path / "net.onnx"))


def runs(*args: object) -> Result:
    return onnxpad_runs("repad", *args)


def test_the_report_says_what_changed_and_by_how_much(port: Path) -> None:
    result = runs(port, "--to", "tensorflow")
    assert (result.exit_code, result.stderr) == (0, "")
    written = port.with_name("net.repadded.onnx")
    assert onnx.load(written).graph.node[0].attribute
    assert port.read_bytes() == PORT.read_bytes()


def test_nothing_to_change(port: Path) -> None:
    result = runs(port, "--to", "pytorch")
    assert result.exit_code == 0
    assert [path.name for path in port.parent.iterdir()] == ["net.onnx"]
    result = runs(port, "--to", "pytorch", "-o", port.with_name("same.onnx"))
    assert port.with_name("same.onnx").read_bytes() == port.read_bytes()


def test_a_result_that_does_not_run(tmp_path: Path) -> None:
    path = tmp_path / "sum.onnx"
    weight = "float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}"
    body = "a = Conv <pads = [1, 1, 1, 1]> (x, w) y = Add (x, a)"
    onnx.save(one(body, inputs="float[1, 1, 8, 8] x", initializers=weight), path)
    result = runs(path, "--to", "valid")
    assert result.exit_code == 3
    assert [each.name for each in tmp_path.iterdir()] == ["sum.onnx"]
    failed = as_json(path, "--to", "valid")
    assert (failed["outcome"], failed["exit_code"], failed["written"]) == ("invalid", 3, None)
    out = tmp_path / "out.onnx"
    result = runs(path, "--to", "valid", "-o", out, "--keep-invalid")
    assert (result.exit_code, out.exists()) == (3, True)
    assert "--keep-invalid" in result.stdout


def test_in_place(port: Path) -> None:
    assert runs(port, "--to", "tensorflow", "--in-place").exit_code == 0
    assert port.read_bytes() != PORT.read_bytes()
    assert [path.name for path in port.parent.iterdir()] == ["net.onnx"]


def test_an_older_result_is_named(port: Path) -> None:
    older = port.with_name("net.repadded.onnx")
    older.write_bytes(b"old")
    assert older.read_bytes() == b"old"


def as_json(*args: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(runs(*args, "--format", "json").stdout)
    return document


def test_json(port: Path) -> None:
    found = as_json(port, "--to", "tensorflow", "--only", "/conv/Conv")
    assert (found["command"], found["outcome"], found["exit_code"]) == ("repad", "repadded", 0)
    (change,) = found["changes"]
    assert change == {
        "node": "/conv/Conv",
        "op_type": "Conv",
        "intent": "same",
        "before": "pads H 1+1, W 1+1",
        "after": "pads H 0+1, W 0+1",
        "attributes_before": {"pads": [1, 1, 1, 1]},
        "attributes_after": {"pads": [0, 0, 1, 1]},
    }
    (output,) = found["outputs"]
    assert output["output"] == "output"
    assert 0 < output["max_rel"] < 2
    assert found["written"] == str(port.with_name("net.repadded.onnx"))
    stays = as_json(port, "--to", "pytorch")
    assert stays["unchanged"][0]["is_same"]
    assert stays["outputs"] == []


@pytest.mark.parametrize(
    "args",
    [
        ("--to", "tensorfow"),
        ("--to", "caffe", "--only", "/conv/Cnv"),
        ("--to", "caffe", "-o", "-"),
        ("--to", "caffe", "-o", "out.onnx", "--in-place"),
        (),
    ],
)
def test_bad_usage(port: Path, args: tuple[str, ...]) -> None:
    result = runs(port, *args)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert [path.name for path in port.parent.iterdir()] == ["net.onnx"]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    result = runs(tmp_path, "--to", "caffe")
    assert result.exit_code == 2


def test_the_help_names_every_framework() -> None:
    text = re.sub(r"\s", "", runs("--help").stdout)
    assert all(name in text for name in FRAMEWORKS)


def test_a_computed_pad_is_told_as_one(tmp_path: Path) -> None:
    model = MODELS / "timm_same_torchscript.onnx"
    result = onnxpad_runs("repad", model, "--to", "pytorch", "-o", tmp_path / "out.onnx")
    assert "auto_pad" not in result.stdout


def test_in_place_is_told_as_it_was_given(port: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(port.parent)
    result = onnxpad_runs("repad", port.name, "--to", "tensorflow", "--in-place")
    assert f"\nWrote {port.name} " in result.stdout
