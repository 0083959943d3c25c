"""`explain`: its text, its JSON, its picture, and how it ends on bad input."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

from onnxpad.frameworks.conventions.table import CONVENTIONS
from tests.support import MODELS, ROOT, W, one, onnxpad_runs, parsed
from tests.support.rows import each_row

STEM = ("--op", "conv", "--size", "224x160", "--kernel", "3", "--stride", "2")


def told(*args: object) -> str:
    """What the command prints when it succeeds."""
    result = onnxpad_runs("explain", *args)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def as_json(*args: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(told(*args, "--format", "json"))
    return document


class TestJson:
    def test_the_shape_is_the_promised_one(self) -> None:
        document = as_json(*STEM)
        conventions = document["conventions"]
        assert set(conventions) == set(CONVENTIONS)
        assert conventions["tensorflow-same"] == {"pads": [[0, 1], [0, 1]], "output": [112, 80]}
        for name in ("pytorch-same", "keras-causal", "caffe-ceil"):
            assert conventions[name] is None
        found = {name for name, answer in conventions.items() if answer is not None}
        assert sorted(name for names in document["agree"] for name in names) == sorted(found)
        assert document["refused"]["pytorch-same"] == "stride 1 only"
        assert set(document["about"]) == found
        assert document["about"]["tensorflow-same"]["keras"].endswith("padding='same')")
        assert (document["period"], document["since"]) == (2, 8)
        assert [each["remainders"] for each in document["periods"]] == [[0], [1]]
        assert {*document["agree"][0], *document["agree"][1]} == {
            *document["periods"][1]["agree"][0]
        }

    def test_numbers_are_given_back(self) -> None:
        document = as_json("--op", "maxpool", "--size", "9x8", "--kernel", "3x2", "--padding", "1")
        assert (document["size"], document["kernel"]) == ([9, 8], [3, 2])
        assert (document["stride"], document["dilation"]) == ([1, 1], [1, 1])
        assert (document["padding"], document["output_padding"]) == ([1, 1], None)
        assert (document["model"], document["node"]) == (None, None)

    def test_every_convention_has_a_source(self) -> None:
        document = as_json("--op", "avgpool", "--size", 9, "--kernel", 3, "--padding", 1)
        assert all(about["source"] for about in document["about"].values())
        assert document["about"]["pytorch-padding"]["counts_padding"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A Pad, a Conv, a pool without a name, a ConvTranspose and a Relu."""
    path = tmp_path / "model.onnx"
    body = """
        padded = Pad (x, p)
        [stem] hidden = Conv <strides = [2, 2]> (padded, w)
        [act] relu = Relu (hidden)
        pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (relu)
        [up] y = ConvTranspose <strides = [2, 2]> (pooled, v)
    """
    up = f"float[3, 2, 3, 3] v = {{{', '.join(['1'] * 54)}}}"
    amounts = "int64[8] p = {0, 0, 0, 0, 0, 0, 1, 1}"
    onnx.save(one(body, inputs="float[1, 2, 24, 20] x", initializers=f"{W}, {up}, {amounts}"), path)
    return path


class TestNode:
    def test_the_pad_in_front_is_left_out(self, model: Path) -> None:
        text = told(model, "--node", "stem")
        assert f"{model}: stem" in " ".join(text.split())
        assert "conv of 24x20: kernel 3x3, stride 2x2" in " ".join(text.split())
        document = as_json(model, "--node", "stem")
        assert (document["node"], document["padded"]) == ("stem", [25, 21])

    def test_a_node_without_a_name_goes_by_its_output(self, model: Path) -> None:
        for name in ("pooled", "<pooled>"):
            assert "maxpool of 12x10: kernel 2x2, stride 2x2" in told(model, "--node", name)

    def test_a_transposed_convolution(self, model: Path) -> None:
        document = as_json(model, "--node", "up")
        assert (document["op"], document["size"]) == ("convtranspose", [6, 5])
        assert document["conventions"]["tensorflow-same"]["output"] == [12, 10]

    def test_a_node_in_a_body(self) -> None:
        path = ROOT / "models" / "branches_torchscript.onnx"
        sizes = ("--dim", "height=32", "--dim", "width=40")
        document = as_json(path, "--node", "/far/Conv", *sizes)
        assert "then_branch" in document["node"]
        assert as_json(path, "--node", document["node"], *sizes) == document

    @pytest.mark.parametrize(
        "name",
        [
            "sten",
            "pool",
            "zzz",
            "act",
            "",
        ],
    )
    def test_no_such_node(self, model: Path, name: str) -> None:
        result = onnxpad_runs("explain", model, "--node", name)
        assert (result.exit_code, result.stdout) == (2, "")
        (_line,) = result.stderr.splitlines()

    def test_open_sizes_are_asked_for(self, tmp_path: Path) -> None:
        path = tmp_path / "open.onnx"
        text = f"g (float[1, 2, height, 9] x) => (float[] y) <{W}> {{ [c] y = Conv (x, w) }}"
        onnx.save(parsed(text), path)
        result = onnxpad_runs("explain", path, "--node", "c")
        assert result.exit_code == 2
        assert "conv of 30x9" in told(path, "--node", "c", "--dim", "height=30")
        assert "conv of 30x9" in told(path, "--node", "c", "--shape", "1,2,30,9")

    def test_all_sizes_are_asked_for_those_of_the_data(self) -> None:
        path = MODELS / "timm_same_torchscript.onnx"
        result = onnxpad_runs("explain", path, "--node", "/stem/Conv")
        assert "'/stem/Conv'" in result.stderr
        result = onnxpad_runs("explain", path, "--node", "/stem/Conv", "--dim", "height=224")
        assert "of 224 x width, without" in result.stderr

    def test_two_nodes_of_one_name(self, tmp_path: Path) -> None:
        path = tmp_path / "twice.onnx"
        nodes = "[c] a = Conv (x, w) [c] y = Conv (x, w)"
        onnx.save(one(nodes, initializers=W), path)
        result = onnxpad_runs("explain", path, "--node", "c")
        assert result.exit_code == 2
        assert "'c'" in result.stderr

    def test_an_operator_without_conventions(self, tmp_path: Path) -> None:
        path = tmp_path / "lp.onnx"
        onnx.save(one("[lp] y = LpPool <kernel_shape = [2, 2]> (x)"), path)
        result = onnxpad_runs("explain", path, "--node", "lp")
        assert result.exit_code == 2

    def test_a_model_that_cannot_be_read(self, tmp_path: Path) -> None:
        result = onnxpad_runs("explain", tmp_path / "none.onnx", "--node", "c")
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert "none.onnx" in line


def test_bad_usage_as_json() -> None:
    result = onnxpad_runs("explain", "--op", "conv", "--format", "json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["exit_code"]) == (2, 2)
    assert (document["command"], document["error"]["kind"]) == ("explain", "usage")


def test_it_needs_neither_onnx_nor_onnxruntime() -> None:
    words = ["-m", "onnxpad", "explain", *STEM]
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *words], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    assert "onnxpad.frameworks.conventions.table" in loaded
    assert loaded.isdisjoint({"onnx", "onnxruntime", "numpy"})


class TestInverse:
    """The padding that gives an output size."""

    ASKED = ("--op", "convtranspose", "--size", 249, "--kernel", 7, "--stride", 6)

    @each_row(
        "args",
        [
            ("--op", "conv", "--size", 224, "--kernel", 3, "--stride", 2, "--output-size", 90),
            (*ASKED, "--output-size", 1501),
        ],
    )
    def test_a_size_that_no_padding_gives(self, args: tuple[object, ...]) -> None:
        result = onnxpad_runs("explain", *args)
        assert (result.exit_code, result.stderr) == (1, "")
        assert "No padding gives" in result.stdout
        result = onnxpad_runs("explain", *args, "--format", "json")
        document = json.loads(result.stdout)
        assert (result.exit_code, document["exit_code"]) == (1, 1)
        assert not document["reach"]["possible"]

    def test_as_json(self) -> None:
        document = as_json("--op", "maxpool", "--size", "112x9", "--kernel", 3, "--stride", 2,
                           "--output-size", "57x4")  # fmt: skip
        reach = document["reach"]
        assert document["output_size"] == [57, 4]
        assert reach["axes"][0]["sums"] == [
            {"least": 3, "most": 4, "ceil_mode": False},
            {"least": 2, "most": 4, "ceil_mode": True},
        ]
        assert reach["conventions"]["caffe"][0]["pads"] == [[1, 1], [0, 0]]
        assert reach["refused"]["tensorflow-same"] == "gives 56x5"
        assert {*reach["conventions"]} >= {*document["agree"][0]}

    def test_a_padding_that_is_too_long(self) -> None:
        args = ("--op", "conv", "--size", 5, "--kernel", 3, "--output-size", 10**6)
        result = onnxpad_runs("explain", *args)
        assert (result.exit_code, result.stdout) == (2, "")
