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


def test_a_diff_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pool = '<auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]>'
    onnx.save(one(f"a = Relu (x) y = MaxPool {pool} (a)"), "padded.onnx")
    onnx.save(one("y = Relu (x)", inputs="float[1, 2, height, 8] x"), "open.onnx")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    words = ("fix", "padded.onnx", "--diff")
    for extra in ((), ("--in-place",), ("-o", "out.onnx")):
        result = onnxpad_runs(*words, *extra)
        assert (result.exit_code, result.stderr) == (1, "")
        first, _, heading, removed, added = result.stdout.splitlines()
        assert (first, heading) == ("--- padded.onnx", "@@ -3 +3 @@")  # an input, then the nodes
        assert removed.startswith('-y = MaxPool <auto_pad = "SAME_UPPER"')
        assert added.startswith("+y = MaxPool <kernel_shape = [3, 3], pads = [1, 0, 1, 1]")
    text = onnxpad_runs(*words).stdout
    asked = json.loads(onnxpad_runs(*words, "--format", "json").stdout)
    assert (asked["diff"], asked["exit_code"], asked["check"]) == (text, 1, True)
    sized = onnxpad_runs("fix", "open.onnx", "--diff", "--shape", "x=1,2,9,8")
    changed = ["-input x[FLOAT, 1x2xheightx8]", "+input x[FLOAT, 1x2x9x8]"]
    assert (sized.exit_code, sized.stdout.splitlines()[3:]) == (1, changed)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    done = json.loads(onnxpad_runs("fix", "padded.onnx", "--in-place", "--format", "json").stdout)
    assert done["diff"] is None
    result = onnxpad_runs(*words, "-o", "out.onnx")  # of a clean model it is empty
    assert (result.exit_code, result.output) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {"padded.onnx", "open.onnx"}
