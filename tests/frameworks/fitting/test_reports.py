"""Which conventions the padding of a model fits is told, and warned of where one was asked for."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.finding import Severity
from tests.support import MODELS, W, one, onnxpad_runs

MIXED = one(
    "[a] a = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, v)"
    " [b] b = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (a, v)"
    " [c] y = Conv <pads = [1, 1, 1, 1]> (b, v)",
    inputs="float[1, 2, 16, 16] x",
    initializers=f"float[2, 2, 3, 3] v = {{{', '.join(['1'] * 36)}}}",
)


def fits(model: onnx.ModelProto | Path, **options: Any) -> list[list[str]]:
    """The conventions that each operator fits of those that are compared."""
    (found,) = onnxpad.check(model, select="PAD6", **options).findings
    operators = found.evidence["operators"]
    assert isinstance(operators, list)
    return [each["fits"] for each in operators]


@pytest.mark.parametrize("style", ["fold", "pad", "symmetric"])
@pytest.mark.parametrize(
    "body",
    [
        "a = Pad (x, p) y = Conv <strides = [2, 2]> (a, w)",
        "a = Pad (x, p) b = Relu (a) y = Conv <strides = [2, 2]> (b, w)",
        'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
    ],
)
def test_a_pad_in_front_counts_in_every_style(body: str, style: str) -> None:
    given = f"{W}, int64[8] p = {{0, 0, 0, 0, 0, 0, 1, 1}}"
    model = one(body, inputs="float[1, 2, 8, 8] x", initializers=given)
    fixed = onnxpad.fix(model, style=style, validate=False).model
    for each in (model, fixed):
        assert fits(each, style=style) == [["tensorflow"]]


def test_a_computed_pad_that_is_same_counts() -> None:
    found = fits(MODELS / "timm_same_torchscript.onnx")
    assert sum("tensorflow" in each for each in found) == 5
    assert sum("pytorch" in each for each in found) == 2


def test_a_mixture_is_told_by_check_alone_if_asked_and_fails_nothing() -> None:
    (found,) = onnxpad.check(MIXED, select="PAD6").findings
    assert (found.code, found.severity, found.fixable) == ("PAD601", Severity.INFO, False)
    assert fits(MIXED) == [
        ["tensorflow"],
        ["pytorch", "caffe", "onnx-same-lower"],
        ["tensorflow", "pytorch", "caffe", "onnx-same-lower"],
    ]
    assert not onnxpad.check(MIXED, select="PAD6").failing(Severity.INFO)
    assert not onnxpad.check(MIXED).findings
    assert not [e for e in onnxpad.fix(MIXED, validate=False).findings if e.code == "PAD601"]


def test_a_convention_asked_for_fails_what_does_not_fit() -> None:
    found = onnxpad.check(MIXED, select="PAD6", convention="tensorflow")
    (finding,) = found.failing()
    assert (finding.code, finding.severity, finding.node) == ("PAD601", Severity.WARNING, "b")
    assert not finding.fixable
    with pytest.raises(UsageError):
        onnxpad.check(MIXED, convention="tensorflw")


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(MIXED, path)
    asked = ("check", path, "--convention", "tensorflow", "--format", "json")
    done = onnxpad_runs(*asked)
    report = json.loads(done.stdout)
    assert (done.exit_code, report["convention"]) == (1, "tensorflow")
    (finding,) = report["files"][0]["findings"]
    assert finding["evidence"]["would_be"] == [[0, 1], [0, 1]]
    assert onnxpad_runs(*asked, "--ignore", "PAD6").exit_code == 0
    assert onnxpad_runs("check", path).exit_code == 0
    text = onnxpad_runs("check", path, "--convention", "valid").stdout
    assert (text.count("--to valid"), len(text.splitlines())) == (1, 5)
    assert onnxpad_runs("check", path, "--convention", "tensrflow").exit_code == 2
