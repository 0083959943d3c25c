"""The exit codes that a pipeline steers by, of real models."""

import json
from pathlib import Path

import onnx
import pytest

from tests.support import W, one, onnxpad_runs, parsed

DILATED = "MaxPool <dilations = [2, 2], kernel_shape = [2, 2], pads = [1, 1, 1, 1]> (x)"
MODELS = {
    # OpenCV 4 computes dilated pools wrongly, and no writing mends that.
    "wrong": one(f"y = {DILATED}"),
    "mended": one('y = Conv <auto_pad = "SAME_UPPER"> (x, w)', initializers=W),
    # No runtime has the operator.
    "unrun": parsed(
        f"""<ir_version: 9, opset_import: ["" : 17, "my" : 1]>
        g (float[1, 2, 9, 8] x) => (float[] y) <{W}>
        {{ a = my.Op (x) y = Conv <auto_pad = "SAME_UPPER"> (a, w) }}"""
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, model in MODELS.items():
        onnx.save(model, tmp_path / f"{name}.onnx")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "written"),
    [
        ("fix mended.onnx", 0, True),
        ("fix mended.onnx --diff", 1, False),
        ("fix wrong.onnx", 0, False),
        ("fix wrong.onnx --target opencv@4", 1, False),
        ("fix wrong.onnx --target opencv@4 -q -o wrong.fixed.onnx", 1, True),
        ("fix wrong.onnx --target opencv@4 --ignore PAD703", 0, False),
        ("fix unrun.onnx", 5, True),
        ("fix unrun.onnx -q", 5, True),
        ("fix unrun.onnx --no-validate", 0, True),
        ("check wrong.onnx --target opencv@4", 1, False),
        ("check wrong.onnx", 0, False),
        ("validate mended.onnx mended.onnx", 0, False),
        ("validate unrun.onnx unrun.onnx", 5, False),
        ("validate mended.onnx wrong.onnx", 3, False),
    ],
)
def test_the_exit_code(folder: Path, words: str, code: int, written: bool) -> None:
    command, model, *options = words.split()
    others = [folder / each if each.endswith(".onnx") else each for each in options]
    ran = onnxpad_runs(command, folder / model, *others)
    assert (ran.exit_code, (folder / model).with_suffix(".fixed.onnx").exists()) == (code, written)
    if "-q" not in options and "--diff" not in options:
        ran = onnxpad_runs(command, folder / model, *others, "--format", "json")
        assert json.loads(ran.stdout)["exit_code"] == code
