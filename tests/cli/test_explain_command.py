"""`explain`: its text, its JSON, its picture, and how it ends on bad input."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.frameworks.conventions.table import CONVENTIONS
from onnxpad.report.documents.explain_document import explain_text
from onnxpad.report.text import marked
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


class TestText:
    def test_the_stem_of_a_network(self) -> None:
        text = told(*STEM)
        assert text.startswith("conv of 224x160: kernel 3x3, stride 2x2\n")
        assert re.search(r"^  A  tensorflow-same +H 0\+1, W 0\+1  112x80$", text, re.M)
        assert re.search(r"^     pytorch-half +H 1\+1, W 1\+1  112x80$", text, re.M)
        assert "keras-causal          one axis only" in text
        assert "A and B are the same at odd sizes; at even sizes B reads 1 further left." in text
        assert "nn.Conv2d(c, n, 3, stride=2, padding=1)" in text

    def test_the_windows_are_drawn_where_they_read(self) -> None:
        drawn = told("--op", "conv", "--size", 6, "--kernel", 3, "--stride", 2).partition(
            "The axis"
        )
        assert drawn[2].partition("\n\nAt")[0].splitlines()[1:] == [
            "         0         5",
            "  A      o o o o o o .",
            "         x-x-x   x-x-x",
            "             x-x-x",
            "  B    . o o o o o o",
            "       x-x-x   x-x-x",
            "           x-x-x",
            "  C      o o o o o o",
            "         x-x-x",
            "             x-x-x",
            "  D  . . o o o o o o",
            "     x-x-x   x-x-x",
            "         x-x-x",
        ]

    def test_a_transposed_convolution_is_drawn_over_its_output(self) -> None:
        text = told("--op", "convtranspose", "--size", 3, "--kernel", 3, "--stride", 2)
        drawn = text.partition("The axis")[2].partition("\n\nAt")[0]
        assert drawn.splitlines()[1:] == [
            "     0           6",
            "  A  o o o o o o .",
            "     x-x-x   x-x-x",
            "         x-x-x",
            "  B  . o o o o o o",
            "  C  . o o o o o .",
            "  D  o o o o o o o",
        ]

    def test_colours_change_nothing_but_colour(self) -> None:
        found = onnxpad.explain(op="avgpool", size="112x3", kernel=3, stride=2)
        painted = explain_text(found, marked)
        assert "\x1b[1m" in painted
        assert re.sub(r"\x1b\[[\d;]*m", "", painted) == explain_text(found)

    @pytest.mark.parametrize("op", ["conv", "maxpool", "avgpool", "convtranspose"])
    @each_row(
        ("size", "kernel", "stride", "dilation"),
        [
            *((224, 3, 2, 1), (7, 7, 2, 1), (13, 5, 3, 1), (33, 3, 1, 6), (33, 3, 1, 36)),
            *(
                ("9x9x9", 3, 2, 1),
                ("112x7", "3x5", "2x4", 1),
                (3, 5, 2, 1),
                ("8x99", "1x3", "2x3", 1),
                (2000, 16, 8, 1),
            ),
        ],
        at_once=4,
    )
    def test_it_fits_a_terminal(
        self, op: str, size: int | str, kernel: int | str, stride: int | str, dilation: int
    ) -> None:
        found = onnxpad.explain(op=op, size=size, kernel=kernel, stride=stride, dilation=dilation)
        text = explain_text(found)
        assert max(map(len, text.splitlines())) <= 80
        drawn = re.search(r"^(The axis|Axis|The windows).*?\n\n", text, re.M | re.S)
        assert drawn
        assert len(drawn[0].splitlines()) <= 21
        assert not re.search(r" $", text, re.M)

    def test_a_padding_of_the_user_is_a_row(self) -> None:
        text = told("--op", "conv", "--size", 10, "--kernel", 5, "--padding", 1)
        assert re.search(r"pytorch-padding +1\+1 +8$", text, re.M)
        assert re.search(r"caffe +1\+1 +8$", text, re.M)
        assert re.search(r"pytorch-half +2\+2 +10$", text, re.M)

    def test_an_output_padding_of_the_user_is_appended(self) -> None:
        window = ("--size", 249, "--kernel", 7, "--stride", 6)
        given = ("--padding", 9, "--output-padding", 4)
        text = told("--op", "convtranspose", *window, *given)
        assert re.search(r"pytorch-padding +9\+9, output_padding 4  1481$", text, re.M)


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
        (parting,) = document["partings"]
        assert parting["same"] == [1]
        assert parting["differences"][0]["shift"] == -1

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
        first, second, third = text.splitlines()[:3]
        assert first == f"{model}: stem"
        assert second == "conv of 24x20: kernel 3x3, stride 2x2"
        assert third == "The Pad in front, which makes the data 25x21, is left out here."
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
        ("name", "words"),
        [
            ("sten", "there is no node 'sten'; did you mean 'stem'?"),
            ("pool", "did you mean 'pooled' or '<pooled>'?"),
            ("zzz", "nodes with a window are 'stem', '<pooled>', 'pooled' and 1 more"),
            ("act", "node 'act' is a Relu, which has no window"),
            ("", "there is no node ''"),
        ],
    )
    def test_no_such_node(self, model: Path, name: str, words: str) -> None:
        result = onnxpad_runs("explain", model, "--node", name)
        assert (result.exit_code, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert words in line

    def test_open_sizes_are_asked_for(self, tmp_path: Path) -> None:
        path = tmp_path / "open.onnx"
        text = f"g (float[1, 2, height, 9] x) => (float[] y) <{W}> {{ [c] y = Conv (x, w) }}"
        onnx.save(parsed(text), path)
        result = onnxpad_runs("explain", path, "--node", "c")
        assert result.exit_code == 2
        asked = "give the size of 'height' (--dim height=224)"
        assert result.stderr == f"error: node 'c' reads 'x' of height x 9; {asked}\n"
        assert "conv of 30x9" in told(path, "--node", "c", "--dim", "height=30")
        assert "conv of 30x9" in told(path, "--node", "c", "--shape", "1,2,30,9")

    def test_all_sizes_are_asked_for_those_of_the_data(self) -> None:
        path = MODELS / "timm_same_torchscript.onnx"
        result = onnxpad_runs("explain", path, "--node", "/stem/Conv")
        assert result.stderr == (
            "error: node '/stem/Conv' has data of height x width, without the Pads in front; give "
            "the sizes of 'height' and 'width' (--dim height=224 --dim width=224)\n"
        )
        result = onnxpad_runs("explain", path, "--node", "/stem/Conv", "--dim", "height=224")
        assert "of 224 x width, without" in result.stderr
        assert result.stderr.endswith("; give the size of 'width' (--dim width=224)\n")

    def test_two_nodes_of_one_name(self, tmp_path: Path) -> None:
        path = tmp_path / "twice.onnx"
        nodes = "[c] a = Conv (x, w) [c] y = Conv (x, w)"
        onnx.save(one(nodes, initializers=W), path)
        result = onnxpad_runs("explain", path, "--node", "c")
        assert result.exit_code == 2
        assert "2 nodes are called 'c'" in result.stderr

    def test_an_operator_without_conventions(self, tmp_path: Path) -> None:
        path = tmp_path / "lp.onnx"
        onnx.save(one("[lp] y = LpPool <kernel_shape = [2, 2]> (x)"), path)
        result = onnxpad_runs("explain", path, "--node", "lp")
        assert result.exit_code == 2
        assert "LpPool, for which no conventions are known" in result.stderr

    def test_a_model_that_cannot_be_read(self, tmp_path: Path) -> None:
        result = onnxpad_runs("explain", tmp_path / "none.onnx", "--node", "c")
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert "none.onnx" in line


@each_row(
    ("args", "words"),
    [
        (("--size", "9", "--kernel", "3"), "error: --op is missing; give --op, --size and"),
        (("--op", "conv", "--kernel", "3"), "error: --size is missing"),
        (("--op", "conv", "--size", "9"), "error: --kernel is missing"),
        (("--op", "cnv", "--size", "9", "--kernel", "3"), "did you mean 'conv'?"),
        (("--op", "conv", "--size", "-9", "--kernel", "3"), "size -9 is not in 1 to"),
        (("--op", "conv", "--size", "0", "--kernel", "3"), "size 0 is not in 1 to"),
        (("--op", "conv", "--size", "9", "--kernel", "0"), "kernel 0 is not in 1 to"),
        (("--op", "conv", "--size", "9", "--kernel", "3", "--stride", "-1"), "stride -1"),
        (("--op", "conv", "--size", "9", "--kernel", "3", "--padding", "-1"), "padding -1"),
        (("--op", "conv", "--size", "9", "--kernel", "3x3"), "kernel has 2 axes and size has 1"),
        (("--op", "conv", "--size", "9x9", "--kernel", "3x3x3"), "kernel has 3 axes"),
        (("--op", "conv", "--size", "9x9x9x9", "--kernel", "3"), "size has 4 axes"),
        (("--op", "conv", "--size", "nine", "--kernel", "3"), "size 'nine' is no number"),
        (("--op", "conv", "--size", "9x", "--kernel", "3"), "size '9x' is no number"),
        (("--op", "conv", "--size", "", "--kernel", "3"), "size '' is no number"),
        (("--op", "conv", "--size", "9", "--kernel", "99999999"), "too long to explain"),
        (("--op", "conv", "--size", "9" * 30, "--kernel", "3"), "is no number"),
        (
            ("--op", "conv", "--size", "9", "--kernel", "3", "--output-padding", "1"),
            "conv has no output_padding",
        ),
        (("--node", "conv"), "the model is missing"),
        (("model.onnx",), "error: --node is missing; give"),
        (("model.onnx", "--node", "c", "--size", "9"), "size cannot be given for a node"),
        (
            ("--op", "conv", "--size", "9", "--kernel", "3", "--dim", "height=9"),
            "shapes and dims are about a model",
        ),
    ],
)
def test_bad_usage_is_one_line(args: tuple[str, ...], words: str) -> None:
    result = onnxpad_runs("explain", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert words in line


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


def test_letters_of_a_convolution_are_not_told_of_a_pool() -> None:
    assert "At this size (c channels, n filters):" in told(*STEM)
    assert "At this size:" in told("--op", "maxpool", "--size", "9", "--kernel", "3")


class TestOwnPadding:
    """The padding that the model itself has at a node, among those of frameworks."""

    def test_it_is_a_row_with_the_letter_of_its_conventions(self) -> None:
        text = told(ROOT / "models/misconverted/strided_conv2d.onnx", "--node", "/conv/Conv")
        assert re.search(r"^  B  this model +H 1\+1, W 1\+1  5x5$", text, re.M)
        assert re.search(r"^  B  onnx-same-lower ", text, re.M)

    def test_a_pad_in_front_counts(self) -> None:
        node = "mobilenet_keras_1/block_2_depthwise_1/depthwise"
        document = as_json(ROOT / "models/mobilenet_keras.onnx", "--node", node)
        assert document["own"]["pads"] == [[1, 2], [1, 2]]
        assert "tensorflow-same" in document["own"]["same"]

    def test_a_pad_that_copies_data_is_no_padding_of_a_framework(self) -> None:
        document = as_json(ROOT / "models/zeropad_dynamo.onnx", "--node", "node_conv2d_2")
        assert document["own"] is None

    def test_padding_of_no_convention(self) -> None:
        path = ROOT / "models/zeropad_dynamo.onnx"
        assert as_json(path, "--node", "node_conv2d_1")["own"]["same"] == []
        assert re.search(r"^  -  this model ", told(path, "--node", "node_conv2d_1"), re.M)


class TestInverse:
    """The padding that gives an output size."""

    ASKED = ("--op", "convtranspose", "--size", 249, "--kernel", 7, "--stride", 6)

    def test_the_rule_and_those_that_write_it(self) -> None:
        text = told(*self.ASKED, "--output-size", 1481)
        assert "1481 from 249 needs begin + end = 14 + output_padding, which is 0 to 5;" in text
        assert re.search(r"^  A  caffe +7\+7$", text, re.M)
        assert re.search(r"^     pytorch-padding +9\+9, output_padding 4$", text, re.M)
        assert re.search(r"^  cannot:\n     tensorflow-same +gives 1494$", text, re.M)
        assert "nn.ConvTranspose1d(c, n, 7, stride=6, padding=9, output_padding=4)" in text
        assert max(map(len, text.splitlines())) <= 80

    def test_numbers_that_are_given_are_kept(self) -> None:
        text = told(*self.ASKED, "--output-size", 1481, "--output-padding", 4)
        assert "needs begin + end = 18 with output_padding 4;" in text
        text = told(*self.ASKED, "--output-size", 1481, "--padding", 8, "--only", "pytorch-padding")
        assert re.findall(r"\d\+\d.*", text) == ["8+8, output_padding 2"]

    @each_row(
        ("args", "line"),
        [
            (
                ("--op", "conv", "--size", 224, "--kernel", 3, "--stride", 2, "--output-size", 90),
                "90 from 224: the nearest is 111, without padding; less takes a crop in front, or",
            ),
            (
                (*ASKED, "--output-size", 1501),
                "1501 from 249: the nearest is 1500, with the most output_padding; more takes",
            ),
        ],
    )
    def test_a_size_that_no_padding_gives_is_one_line(
        self, args: tuple[object, ...], line: str
    ) -> None:
        result = onnxpad_runs("explain", *args)
        assert (result.exit_code, result.stderr) == (1, "")
        (said,) = result.stdout.splitlines()[2:]
        assert said.startswith(f"No padding gives {line} ")
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
            {"least": 3, "most": 4, "begin": [0, 4], "ceil_mode": False},
            {"least": 2, "most": 3, "begin": [1, 2], "ceil_mode": True},
            {"least": 4, "most": 4, "begin": [1, 2], "ceil_mode": True},
        ]
        assert reach["conventions"]["caffe"][0]["pads"] == [[1, 1], [0, 0]]
        assert reach["refused"]["tensorflow-same"] == "gives 56x5"
        assert {*reach["conventions"]} >= {*document["agree"][0]}

    def test_a_pool_of_a_model_that_is_one_longer(self, tmp_path: Path) -> None:
        path = tmp_path / "pool.onnx"
        pool = "MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>"
        onnx.save(one(f"y = {pool} (x)", inputs="float[1, 2, 112, 112] x"), path)
        text = told(path, "--node", "y", "--output-size", 55)
        assert "gives 56x56, 1 more on H and 1 more on W." in text
        assert "What makes it 55x55, each alone on its axis:\n  ceil_mode 0 instead of 1\n" in text
        assert ", as asked." in told(path, "--node", "y", "--output-size", 56)
        text = told(path, "--node", "y", "--output-size", "57x56")
        assert "  2 padded at the begin instead of 0 on H\n" in text
        assert re.search(
            r"^  this model:\n  \w  PyTorch  nn.MaxPool2d\(3", told(path, "--node", "y"), re.M
        )

    def test_a_padding_that_is_too_long(self) -> None:
        args = ("--op", "conv", "--size", 5, "--kernel", 3, "--output-size", 10**6)
        result = onnxpad_runs("explain", *args)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "output_size 1000000 from 5 needs a padding of 999997, too long" in result.stderr


class TestOnly:
    """A comparison of some conventions."""

    POOL = ("--op", "maxpool", "--size", 112, "--kernel", 3, "--stride", 2)

    def test_caffe_in_both_forms(self) -> None:
        text = told(*self.POOL, "--only", "caffe-ceil,caffe")
        assert re.findall(r"(caffe\S*) +(\d\+\d) +(\d+)$", text, re.M) == [
            ("caffe", "1+1", "57"),
            ("caffe-ceil", "0+0", "56"),
        ]
        assert (
            "caffe pads half the kernel and caffe-ceil nothing, unless --padding says how\nmuch. "
            "Both round up.\n"
        ) in text
        assert "half the kernel" not in told(*self.POOL, "--padding", 1)

    def test_what_is_named_may_not_exist_there(self) -> None:
        document = as_json(*self.POOL, "--only", "keras-causal", "--only", "pytorch-padding")
        assert document["conventions"] == {"keras-causal": None, "pytorch-padding": None}
        assert document["refused"] == {
            "keras-causal": "not for maxpool",
            "pytorch-padding": "the padding is not given",
        }
        assert "keras-causal  not for maxpool" in told(*self.POOL, "--only", "keras-causal")

    @each_row(
        ("names", "words"),
        [
            ("caff", "error: unknown convention 'caff'; did you mean 'caffe' or 'caffe-ceil'?"),
            ("zzz", "error: unknown convention 'zzz'; conventions are 'tensorflow-same', "),
            (",", "error: only names no convention; give names, with commas between them"),
        ],
    )
    def test_unknown_names(self, names: str, words: str) -> None:
        result = onnxpad_runs("explain", *self.POOL, "--only", names)
        assert (result.exit_code, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert line.startswith(words)
