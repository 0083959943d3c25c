"""Which conventions the padding of a model fits is told, and warned of where one was asked for."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.finding import Finding, Severity
from tests.support import MODELS, W, one, onnxpad_runs

V = f"float[2, 2, 3, 3] v = {{{', '.join(['1'] * 36)}}}"


def told(model: onnx.ModelProto, **options: Any) -> dict[str, str]:
    """The messages of family 6xx by code."""
    return {
        each.code: each.message for each in onnxpad.check(model, select="PAD6", **options).findings
    }


def conv(pads: str, size: str = "8, 8", more: str = "strides = [2, 2]") -> onnx.ModelProto:
    return one(
        f"[c] y = Conv <{pads}, {more}> (x, w)", inputs=f"float[1, 2, {size}] x", initializers=W
    )


SAME, SYMMETRIC = "TensorFlow", "PyTorch"


def test_padding_that_no_window_reads_is_none() -> None:
    pool = "MaxPool <kernel_shape = [2, 2], pads = [0, 0, 1, 1], strides = [2, 2]>"
    assert told(one(f"y = {pool} (x)", inputs="float[1, 2, 8, 8] x")) == {}
    assert told(one(f"y = {pool} (x)", inputs="float[1, 2, 9, 9] x")) != {}


@pytest.mark.parametrize("style", ["fold", "pad", "symmetric"])
@pytest.mark.parametrize(
    "body",
    [
        "a = Pad (x, p) y = Conv <strides = [2, 2]> (a, w)",
        "a = Pad (x, p) [k] b = Relu (a) y = Conv <strides = [2, 2]> (b, w)",
        'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
    ],
)
def test_a_pad_in_front_counts_in_every_style(body: str, style: str) -> None:
    given = f"{W}, int64[8] p = {{0, 0, 0, 0, 0, 0, 1, 1}}"
    model = one(body, inputs="float[1, 2, 8, 8] x", initializers=given)
    expected = {"PAD601": f"1 operator fits {SAME}"}
    assert told(model, style=style) == expected
    fixed = onnxpad.fix(model, style=style, validate=False).model
    assert told(fixed) == told(fixed, style=style) == expected


def test_a_pad_of_another_value_is_no_padding_of_the_operator() -> None:
    body = "a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (a)"
    given = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
    assert told(one(body, inputs="float[1, 2, 8, 8] x", initializers=given)) == {}


def test_a_computed_pad_that_is_same_counts() -> None:
    path = MODELS / "timm_same_torchscript.onnx"
    (finding,) = onnxpad.check(path, select="PAD6").findings
    assert finding.message == f"3 operators fit {SAME}, 2 {SAME} and {SYMMETRIC}"


MIXED = one(
    "[a] a = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, v)"
    " [b] b = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (a, v)"
    " [c] y = Conv <pads = [1, 1, 1, 1]> (b, v)",
    inputs="float[1, 2, 16, 16] x",
    initializers=V,
)


def test_mixed_conventions_are_named() -> None:
    (found,) = onnxpad.check(MIXED, select="PAD6").findings
    assert (found.code, found.severity, found.fixable) == ("PAD601", Severity.INFO, False)
    assert found.message == f"1 operator fits {SAME}, 1 {SYMMETRIC}, 1 {SAME} and {SYMMETRIC}"


def test_the_evidence_has_each_operator() -> None:
    finding = onnxpad.check(MIXED, select="PAD601").findings[0]
    operators = finding.evidence["operators"]
    assert isinstance(operators, list)
    assert [each["node"] for each in operators] == ["a", "b", "c"]
    assert operators[1] == {
        "node": "b",
        "op_type": "Conv",
        "kernel": [3, 3],
        "stride": [2, 2],
        "dilation": [1, 1],
        "size": [8, 8],
        "pads": ((1, 1), (1, 1)),
        "output_padding": (),
        "ceil_mode": False,
        "count_include_pad": False,
        "fits": ["pytorch", "caffe", "onnx-same-lower"],
        "would_be": {"tensorflow": ((0, 1), (0, 1))},
    }


def test_nothing_is_told_of_conventions_unless_asked() -> None:
    assert not onnxpad.check(MIXED).findings
    assert not onnxpad.check(MIXED, ignore="PAD101").findings
    assert onnxpad.show(MIXED).conventions


def pools(first: str, second: str) -> onnx.ModelProto:
    kernel = "kernel_shape = [3, 3], strides = [2, 2]"
    return one(
        f"[a] a = MaxPool <{kernel}{first}> (x) [b] b = MaxPool <kernel_shape = [2, 2]> (a)"
        f" [c] y = MaxPool <{kernel}{second}> (b)",
        inputs="float[1, 2, 30, 30] x",
    )


def averages(first: str, second: str) -> onnx.ModelProto:
    kernel = "kernel_shape = [3, 3], pads = [1, 1, 1, 1]"
    return one(
        f"[a] a = AveragePool <{kernel}{first}> (x) [b] y = AveragePool <{kernel}{second}> (a)",
        inputs="float[1, 2, 8, n] x",
    )


def unfit(model: onnx.ModelProto, convention: str) -> list[Finding]:
    """The warnings of a check for a convention, each of which fails it."""
    found = onnxpad.check(model, select="PAD6", convention=convention)
    assert found.failing() == found.findings
    return list(found.findings)


def of_eight(node: str) -> onnx.ModelProto:
    return one(f"y = {node} (x)", inputs="float[1, 2, 8, 8] x")


SQUARE = "kernel_shape = [3, 3]"
UNFIT = [
    (conv("pads = [1, 1, 1, 1]"), "tensorflow", ((0, 1), (0, 1))),
    (conv("pads = [1, 1, 1, 1]", "n, n"), "keras", None),
    (conv('auto_pad = "SAME_UPPER"', "n, n"), "pytorch", ((1, 1), (1, 1))),
    (conv("pads = [2, 0, 0, 1]", "8, 8", "strides = [1, 1]"), "pytorch", ((1, 1), (1, 1))),
    (of_eight(f"MaxPool <{SQUARE}, strides = [2, 2]>"), "caffe", ((0, 0), (0, 0))),
    (of_eight(f"AveragePool <{SQUARE}, pads = [1, 1, 1, 1]>"), "pytorch", ((1, 1), (1, 1))),
    (of_eight(f"AveragePool <{SQUARE}, pads = [1, 1, 1, 1], count_include_pad = 1>"),
     "tensorflow", ((1, 1), (1, 1))),
]  # fmt: skip


@pytest.mark.parametrize(("model", "convention", "pads"), UNFIT)
def test_does_not_fit(model: onnx.ModelProto, convention: str, pads: Any) -> None:
    (finding,) = unfit(model, convention)
    assert (finding.code, finding.severity) == ("PAD601", Severity.WARNING)
    assert finding.evidence["convention"] == convention
    assert finding.evidence.get("would_be") == pads
    assert not finding.fixable


FITTING = [
    (conv("pads = [0, 0, 1, 1]"), "tensorflow"),
    (conv("pads = [1, 1, 1, 1]"), "pytorch"),
    (conv("pads = [1, 1, 1, 1]", "9, 9"), "tensorflow"),
    (conv('auto_pad = "SAME_UPPER"', "n, n"), "tflite"),
    (conv("pads = [0, 0, 0, 0]", "n, n"), "tensorflow"),
    (conv("pads = [2, 2, 2, 2]"), "cudnn"),
    (pools(", ceil_mode = 1", ", ceil_mode = 1"), "caffe"),
    (pools("", ", ceil_mode = 1"), "pytorch"),
    (averages(", count_include_pad = 1", ", count_include_pad = 1"), "pytorch"),
    (averages("", ""), "keras"),
]


@pytest.mark.parametrize(("model", "convention"), FITTING)
def test_fits_the_convention_asked_for(model: onnx.ModelProto, convention: str) -> None:
    assert unfit(model, convention) == []


def test_where_the_size_is_unknown_nothing_is_guessed() -> None:
    model = one(
        "r = NonZero (x) c = Cast <to = 1> (r) u = Unsqueeze (c, axes)"
        " [c] y = Conv <kernel_shape = [3], pads = [1, 1], strides = [2]> (u, w)",
        inputs="float[9] x",
        initializers="int64[1] axes = {0}, float[1, 1, 3] w = {1, 2, 3}",
    )
    (finding,) = onnxpad.check(model, select="PAD6", convention="tensorflow").findings
    assert finding.severity is Severity.INFO
    assert "'c'" in finding.message
    assert unfit(model, "pytorch") == []


def test_bodies_and_functions_are_looked_at() -> None:
    model = one(
        "[i] y = If (ok) <then_branch = a () => (float[] y)"
        " { [c] y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w) },"
        " else_branch = b () => (float[] y) { y = Identity (x) }>",
        inputs="float[1, 2, 8, 8] x",
        initializers=f"{W}, bool ok = {{1}}",
    )
    assert told(model) == {"PAD601": f"1 operator fits {SYMMETRIC}"}
    (finding,) = unfit(model, "tensorflow")
    assert finding.node == "If 'i' > then_branch > Conv 'c'"


def test_only_check_tells_it_and_alone_it_fails_nothing() -> None:
    result = onnxpad.fix(MIXED, validate=False)
    assert not [each for each in result.findings if each.code.startswith("PAD6")]
    found = onnxpad.check(MIXED, select="PAD601")
    assert found.findings
    assert not found.failing(Severity.INFO)
    assert not onnxpad.check(MIXED).failing()


def test_an_unknown_convention_is_bad_usage() -> None:
    with pytest.raises(UsageError):
        onnxpad.check(MIXED, convention="tensorflw")


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(MIXED, path)
    assert onnxpad_runs("check", path).exit_code == 0
    result = onnxpad_runs("check", path, "--convention", "tensorflow")
    assert result.exit_code == 1
    assert f"{path}: warning PAD601 b (Conv): pads H 1+1, W 1+1 on 8x8, where" in result.stdout
    assert "--to" in result.stdout
    done = onnxpad_runs("check", path, "--convention", "tensorflow", "--format", "json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["convention"]) == (1, "tensorflow")
    (finding,) = report["files"][0]["findings"]
    assert finding["evidence"]["would_be"] == [[0, 1], [0, 1]]
    assert json.loads(onnxpad_runs("check", path, "--format", "json").stdout)["convention"] is None
    assert onnxpad_runs("check", path, "--convention", "tensrflow").exit_code == 2
    ignored = onnxpad_runs("check", path, "--convention", "tensorflow", "--ignore", "PAD6")
    assert ignored.exit_code == 0


def test_an_average_over_a_pad_counts_it_in_any_framework() -> None:
    body = "a = Pad (x, p) y = AveragePool <kernel_shape = [3, 3], strides = [2, 2]> (a)"
    model = one(
        body,
        inputs="float[1, 2, 8, 8] x",
        initializers="int64[8] p = {0, 0, 0, 0, 0, 0, 1, 1}",
    )
    for convention in ("keras", "pytorch", "cudnn"):
        assert unfit(model, convention) == []
