"""`rule`, `doctor` and `fix --diff` as commands: what they print, and how they end."""

import json
from pathlib import Path

import onnx
import pytest

from tests.support import one, onnxpad_runs


class TestDiff:
    @pytest.fixture
    def padded(self, tmp_path: Path) -> Path:
        path = tmp_path / "padded.onnx"
        pool = '<auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]>'
        onnx.save(one(f"a = Relu (x) y = MaxPool {pool} (a)"), path)
        return path

    @pytest.mark.parametrize("extra", [(), ("--in-place",), ("-o", "out.onnx")])
    def test_it_writes_nothing_and_prints_the_diff(
        self, padded: Path, extra: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(padded.parent)
        before = padded.read_bytes()
        result = onnxpad_runs("fix", padded, "--diff", *extra)
        assert (result.exit_code, result.stderr) == (1, "")
        assert padded.read_bytes() == before
        assert list(padded.parent.iterdir()) == [padded]
        first, _, heading, removed, added = result.stdout.splitlines()
        assert first == f"--- {padded}"
        assert heading == "@@ -3 +3 @@"  # an input, and then the nodes
        assert removed.startswith('-y = MaxPool <auto_pad = "SAME_UPPER"')
        assert added.startswith("+y = MaxPool <kernel_shape = [3, 3], pads = [1, 0, 1, 1]")

    def test_a_size_that_is_fixed_is_a_change_of_an_input(self, tmp_path: Path) -> None:
        path = tmp_path / "open.onnx"
        onnx.save(one("y = Relu (x)", inputs="float[1, 2, height, 8] x"), path)
        result = onnxpad_runs("fix", path, "--diff", "--shape", "x=1,2,9,8")
        assert result.exit_code == 1
        assert result.stdout.splitlines()[2:] == [
            "@@ -1 +1 @@",
            "-input x[FLOAT, 1x2xheightx8]",
            "+input x[FLOAT, 1x2x9x8]",
        ]

    def test_json_has_it_where_it_was_asked_for(self, padded: Path) -> None:
        text = onnxpad_runs("fix", padded, "--diff").stdout
        asked = json.loads(onnxpad_runs("fix", padded, "--diff", "--format", "json").stdout)
        assert (asked["diff"], asked["exit_code"], asked["check"]) == (text, 1, True)
        other = json.loads(onnxpad_runs("fix", padded, "--format", "json").stdout)
        assert other["diff"] is None

    def test_of_a_clean_model_it_is_empty(self, padded: Path) -> None:
        onnxpad_runs("fix", padded, "--in-place")
        result = onnxpad_runs("fix", padded, "--diff", "-o", padded.with_name("out.onnx"))
        assert (result.exit_code, result.output) == (0, "")
        assert list(padded.parent.iterdir()) == [padded]
