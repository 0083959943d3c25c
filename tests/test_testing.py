"""Assertions for the tests of an export: what they let pass, and what they say."""

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.testing import assert_clean, assert_equivalent
from tests.support import W, one

BEFORE = one(
    "p = Pad (x, amounts) [stem] y = Conv <strides = [2, 2]> (p, w)",
    inputs="float[1, 2, 8, 8] x",
    initializers=f"{W}, int64[8] amounts = {{0, 0, 0, 0, 0, 0, 1, 1}}",
)
WRONG = one(
    "[stem] y = Conv <pads = [1, 1, 0, 0], strides = [2, 2]> (x, w)",
    inputs="float[1, 2, 8, 8] x",
    initializers=W,
)


def test_clean() -> None:
    result = assert_clean(onnxpad.fix(BEFORE).model)
    assert not result.findings


def test_not_clean() -> None:
    with pytest.raises(
        AssertionError, match=r"<p> .*Pad H 0\+1, W 0\+1 before Conv 'stem' -> pads H 0\+1"
    ):
        assert_clean(BEFORE)


def test_severity() -> None:
    assert [each.code for each in assert_clean(BEFORE, fail_on="error").findings] == ["PAD201"]
    with pytest.raises(UsageError):
        assert_clean(BEFORE, fail_on="fatal")


def test_options() -> None:
    assert not assert_clean(BEFORE, ignore=["PAD2"]).findings
    same = one(
        '[stem] y = Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (x, w)',
        inputs="float[1, 2, 8, 8] x",
        initializers=W,
    )
    with pytest.raises(AssertionError, match=r"PAD703 stem .* opencv@4\."):
        assert_clean(same, target="opencv@4")


def test_equivalent() -> None:
    assert assert_equivalent(BEFORE, onnxpad.fix(BEFORE).model, samples=2).ok


def test_not_equivalent() -> None:
    with pytest.raises(AssertionError):
        assert_equivalent(BEFORE, WRONG)


def test_pytest_shows_the_message_and_not_this_module(tmp_path: Path) -> None:
    onnx.save(BEFORE, tmp_path / "net.onnx")
    (tmp_path / "test_net.py").write_text(
        "from onnxpad.testing import assert_clean\n\n"
        "def test_net():\n    assert_clean('net.onnx')\n"
    )
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_net.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "AssertionError: net.onnx: warning PAD201 p (Pad): Pad H 0+1" in done.stdout.replace(
        "<p>", "p"
    )
