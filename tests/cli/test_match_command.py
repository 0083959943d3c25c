"""`match` on the command line: its report, its file, and how it ends."""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import Result

from tests.support import MODELS, onnxpad_runs

PORT = MODELS / "misconverted" / "strided_conv2d.onnx"
REFERENCE = PORT.with_suffix(".npz")


@pytest.fixture
def port(tmp_path: Path) -> Path:
    return Path(shutil.copy(PORT, tmp_path / "net.onnx"))


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Outputs of something else than another padding."""
    with np.load(REFERENCE) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    found["output"] = np.tanh(found["output"])
    np.savez(tmp_path / "other.npz", **found)
    return tmp_path / "other.npz"


def runs(*args: object) -> Result:
    return onnxpad_runs("match", *args)


def test_the_report_says_what_fits_and_the_model_is_written(port: Path) -> None:
    target = port.with_name("out.onnx")
    result = runs(port, "--reference", REFERENCE, "-o", target)
    assert (result.exit_code, result.stderr) == (0, "")
    became = "pads H 1+1, W 1+1  becomes  pads H 0+1, W 0+1\n  Conv /conv/Conv\n"
    assert f"{became}  tensorflow-same\n" in result.stdout
    assert "  PyTorch  nn.Conv2d(c, n, 3, stride=2)(F.pad(x, (0, 1, 0, 1)))\n" in result.stdout
    assert len(result.stdout.splitlines()) <= 13
    assert f"Wrote {target}" in result.stdout
    assert port.read_bytes() == PORT.read_bytes()
    assert onnxpad_runs("validate", target, "--reference", REFERENCE).exit_code == 0


def test_without_a_name_nothing_is_written(port: Path) -> None:
    result = runs(port, "--reference", REFERENCE)
    assert result.exit_code == 0
    assert [path.name for path in port.parent.iterdir()] == ["net.onnx"]


def test_what_is_not_padding_writes_nothing(port: Path, other: Path) -> None:
    target = port.with_name("out.onnx")
    result = runs(port, "--reference", other, "-o", target)
    assert result.exit_code == 3
    assert not target.exists()


def test_conventions_that_change_nothing_are_not_listed(port: Path, other: Path) -> None:
    assert "changes 0 operators" not in runs(port, "--reference", other).stdout


def test_what_matches_already_is_copied(port: Path) -> None:
    right, copy = port.with_name("right.onnx"), port.with_name("copy.onnx")
    assert runs(port, "--reference", REFERENCE, "-o", right).exit_code == 0
    result = runs(right, "--reference", REFERENCE, "-o", copy)
    assert result.exit_code == 0
    assert copy.read_bytes() == right.read_bytes()


def test_json(port: Path, other: Path) -> None:
    result = runs(port, "--reference", REFERENCE, "--format", "json")
    document = json.loads(result.stdout)
    assert (document["command"], document["exit_code"]) == ("match", 0)
    assert (document["outcome"], document["convention"]) == ("matched", "tensorflow")
    (change,) = document["changes"]
    assert change["attributes"] == {"pads": [0, 0, 1, 1]}
    assert document["error"]["after"] < 1e-5 < document["error"]["before"]
    assert document["tried"]
    assert any("channels moved" in note for note in document["notes"])
    assert document["written"] is None
    result = runs(port, "--reference", other, "--format", "json")
    document = json.loads(result.stdout)
    assert document["exit_code"] == 3
    assert document["tried"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--reference", "absent.npz"],
        ["--reference", REFERENCE, "-o", "/nowhere/out.onnx"],
        ["--reference", REFERENCE, "--seconds", "-1"],
    ],
)
def test_bad_input_is_one_line(port: Path, arguments: list[object]) -> None:
    result = runs(port, *arguments)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_reference_that_fits_nothing(port: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "odd.npz", one=np.zeros(3, np.float32), two=np.zeros(4, np.float32))
    result = runs(port, "--reference", tmp_path / "odd.npz")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(port.read_bytes()[:200])
    result = runs(damaged, "--reference", REFERENCE)
    assert result.exit_code == 2
    assert "damaged.onnx" in result.stderr
    assert onnx.load(port)


def test_neither_the_model_nor_the_arrays_are_replaced(port: Path) -> None:
    arrays = Path(shutil.copy(REFERENCE, port.with_name("arrays.npz")))
    for target, told in (
        (port, "is the model itself; name another file"),
        (arrays, "name another file"),
    ):
        before = target.read_bytes()
        result = runs(port, "--reference", arrays, "-o", target)
        assert result.exit_code == 2
        assert told in result.stderr
        assert target.read_bytes() == before
    result = runs(port, "--reference", REFERENCE, "--inputs", arrays, "-o", arrays)
    assert result.exit_code == 2
