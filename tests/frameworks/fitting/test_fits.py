"""The frameworks that the padding of an operator fits, as `show` and `check --convention` say."""

from typing import Any, Final

import pytest

import onnxpad
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from tests.support import BORDER, W, one
from tests.support.rows import each_row

SAME: Final = "tensorflow keras tflite paddle coreml onnx-same-upper"
SYMMETRIC: Final = "pytorch caffe cudnn paddle coreml-top-left onnx-same-lower"
ALL: Final = (
    "tensorflow keras tflite pytorch caffe cudnn paddle coreml coreml-top-left "
    "onnx-same-upper onnx-same-lower"
)
ROW: Final = f"float[4, 2, 3] r = {{{', '.join(['1'] * 24)}}}"
BACK: Final = f"float[2, 3, 3, 3] b = {{{', '.join(['1'] * 54)}}}"
ONES, SQUARE = "pads = [1, 1, 1, 1]", "kernel_shape = [3, 3]"
EVEN, OPEN, SMALL = "float[1, 2, 8, 8] x", "float[1, 2, h, v] x", "float[1, 2, 4, 4] x"


def site(body: str, inputs: str) -> Any:
    """The only padding of a model, or its last one."""
    given = f"{W}, {BORDER}, {ROW}, {BACK}"
    return onnxpad.show(one(body, inputs=inputs, initializers=given)).sites[-1]


@each_row(
    ("body", "inputs", "short", "names"),
    [
        pytest.param(body, inputs, short, names, id=name)
        for name, body, inputs, short, names in (
            ("both", "Conv <pads = [1, 1, 1, 1]> (x, w)", OPEN, "TensorFlow, PyTorch", ALL),
            ("at the end", "Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)", EVEN,
             "TensorFlow", SAME),
            ("at the begin", "Conv <pads = [1, 1, 0, 0], strides = [2, 2]> (x, w)", EVEN,
             "PyTorch", SYMMETRIC),
            ("symmetric of an even size", "Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
             EVEN, "PyTorch", SYMMETRIC),
            ("symmetric of an odd size", "Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
             "float[1, 2, 9, 7] x", "TensorFlow, PyTorch", ALL),
            ("symmetric of any size", "Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)", OPEN,
             "PyTorch", SYMMETRIC),
            ("SAME of any size", 'Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)', OPEN,
             "TensorFlow", SAME),
            ("SAME_LOWER of any size", 'Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (x, w)',
             OPEN, "PyTorch", SYMMETRIC),
            ("explicit", "Conv <pads = [2, 0, 0, 1]> (x, w)", EVEN, "explicit", ""),
            ("nobody's", f"MaxPool <{SQUARE}, pads = [2, 0, 0, 1], ceil_mode = 1> (x)", EVEN,
             "none", ""),
            ("no padding", "Conv (x, w)", OPEN, "", ""),
            ("padding that no window reads",
             "MaxPool <kernel_shape = [2, 2], pads = [0, 0, 1, 1], strides = [2, 2]> (x)", EVEN,
             "unread", ""),
            ("a pool that rounds up",
             f"MaxPool <{SQUARE}, strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1> (x)", EVEN,
             "PyTorch", "pytorch caffe paddle"),
            ("one axis that slides",
             "MaxPool <kernel_shape = [3, 1], strides = [2, 1], pads = [1, 0, 1, 0]> (x)",
             "float[1, 2, 9, 9] x", "TensorFlow, PyTorch", ALL),
            ("causal", "Conv <pads = [2, 0]> (x, r)", "float[1, 2, 9] x", "causal",
             "tensorflow keras"),
            ("causal with a dilation", "Conv <pads = [4, 0], dilations = [2]> (x, r)",
             "float[1, 2, 9] x", "causal", "tensorflow keras"),
            ("a transposed convolution", "ConvTranspose <pads = [1, 1, 1, 1]> (x, b)", SMALL,
             "TensorFlow, PyTorch",
             "tensorflow keras tflite pytorch caffe cudnn paddle onnx-same-upper onnx-same-lower"),
            ("a crop at the end",
             "ConvTranspose <strides = [2, 2], pads = [0, 0, 1, 1]> (x, b)", SMALL, "TensorFlow",
             "tensorflow keras tflite paddle onnx-same-upper"),
            ("a crop at the begin",
             f"ConvTranspose <strides = [2, 2], {ONES}, output_padding = [1, 1]> (x, b)", SMALL,
             "PyTorch", "pytorch paddle onnx-same-lower"),
            ("an output_padding element",
             "ConvTranspose <strides = [2, 2], output_padding = [1, 0]> (x, b)", SMALL, "PyTorch",
             "pytorch paddle"),
            ("no convention for the operator",
             "LpPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)", EVEN, "", ""),
            ("no data", "Conv <pads = [1, 1, 1, 1]> (x, w)", "float[1, 2, 0, 8] x", "", ""),
            ("a long stride at an open size",
             "Conv <pads = [1, 1, 1, 1], strides = [99, 99]> (x, w)", OPEN, "", ""),
        )
    ], at_once=8)  # fmt: skip
def test_frameworks(body: str, inputs: str, short: str, names: str) -> None:
    found = site(f"y = {body}", inputs)
    assert (found.convention, " ".join(found.conventions)) == (short, names)


SLIDES: Final = f"MaxPool <{SQUARE}, strides = [2, 2]"


@each_row(
    ("node", "pytorch", "caffe"),
    [
        (f"{SLIDES}, pads = [0, 0, 1, 1]> (x)", False, True),  # as Caffe rounds up without padding
        (f"{SLIDES}, ceil_mode = 1> (x)", True, True),
        (f"{SLIDES}, {ONES}> (x)", True, False),
        (f"{SLIDES}, {ONES}, ceil_mode = 1> (x)", True, True),
        (f'{SLIDES}, auto_pad = "SAME_UPPER"> (x)', False, True),
        ("Conv <pads = [2, 2, 2, 2]> (x, w)", True, True),
        ("Conv <pads = [1, 1, 2, 2], strides = [2, 2]> (x, w)", False, False),
        (f"AveragePool <{SQUARE}, {ONES}> (x)", False, False),
        (f"AveragePool <{SQUARE}, {ONES}, count_include_pad = 1> (x)", True, True),
    ],
    at_once=3,
)
def test_show_check_and_repad_read_a_framework_alike(node: str, pytorch: bool, caffe: bool) -> None:
    model = one(f"y = {node}", inputs=EVEN, initializers=W, opset=19)
    (operator,) = onnxpad.show(model).sites
    for framework, follows in (("pytorch", pytorch), ("caffe", caffe)):
        assert follows == (not onnxpad.check(model, convention=framework, select="PAD6").failing())
        _, stays = repad_graph(Graph.from_proto(model), FRAMEWORKS[framework])
        assert follows == any(each.is_same for each in stays)
        if operator.pads and any(operator.pads):
            assert follows == (framework in operator.conventions)


def test_a_size_that_is_even_whatever_the_input() -> None:
    wide = "d = DepthToSpace <blocksize = 2> (x) y = Conv <pads = {}, strides = [2, 2]> (d, w)"
    found = site(wide.format("[0, 0, 1, 1]"), "float[1, 8, h, v] x")
    assert (found.convention, " ".join(found.conventions)) == ("TensorFlow", SAME)
    found = site(wide.format("[1, 1, 1, 1]"), "float[1, 8, h, v] x")
    assert (found.convention, " ".join(found.conventions)) == ("PyTorch", SYMMETRIC)


@pytest.mark.parametrize(
    ("body", "inputs", "amounts", "short"),
    [
        pytest.param(
            "Conv <strides = [2, 2]> (t, w)", EVEN, "H 1+1, W 1+1", "PyTorch", id="by itself"
        ),
        pytest.param(
            "AveragePool <kernel_shape = [3, 3]> (t)", EVEN, "H 1+1, W 1+1",
            "TensorFlow, PyTorch", id="of an average",
        ),
        pytest.param(
            'Conv <auto_pad = "SAME_UPPER"> (t, w)', EVEN, "H 2+2, W 2+2", "PyTorch",
            id="before SAME of a known size",
        ),
        pytest.param(
            'Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (t, w)', OPEN,
            "H 1..2+2, W 1..2+2", "", id="before SAME of an open size",
        ),
    ],
)  # fmt: skip
def test_a_pad_in_front_counts(body: str, inputs: str, amounts: str, short: str) -> None:
    found = site(f"t = Pad (x, p) y = {body}", inputs)
    assert (found.amounts, found.convention) == (amounts, short)


def test_a_pad_that_copies_is_no_convention() -> None:
    found = site('t = Pad <mode = "reflect"> (x, p) y = Conv (t, w)', EVEN)
    assert (found.convention, found.conventions) == ("", ())


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        pytest.param("LpPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)", EVEN, id="LpPool"),
        pytest.param("Conv <pads = [1, 1, 1, 1]> (x, w)", "float[1, 2, 0, 8] x", id="empty"),
        pytest.param(
            "Conv <pads = [1, 1, 1, 1], strides = [99, 99]> (x, w)", OPEN, id="a long stride"
        ),
    ],
)
def test_what_is_not_known_is_not_said_to_fit(body: str, inputs: str) -> None:
    model = one(f"y = {body}", inputs=inputs, initializers=W)
    (found,) = onnxpad.check(model, convention="tensorflow", select=["PAD6"]).findings
    assert (found.code, found.node) == ("PAD601", "<y>")


@pytest.mark.parametrize(
    ("attributes", "finds"),
    [
        ("kernel_shape = [2, 2]", 0),
        ("kernel_shape = [2, 2], pads = [0, 0, 1, 1], strides = [2, 2]", 0),
        ("kernel_shape = [2, 2], pads = [1, 1, 1, 1]", 1),
    ],
)
def test_an_average_counts_only_padding_that_it_reads(attributes: str, finds: int) -> None:
    model = one(f"y = AveragePool <{attributes}> (x)", inputs=EVEN)
    for framework in ("pytorch", "caffe"):
        found = onnxpad.check(model, convention=framework, select=["PAD6"]).findings
        assert [each.evidence["would_be"] for each in found] == [((1, 1), (1, 1))] * finds


def test_a_window_that_is_larger_than_its_data_fits_nothing() -> None:
    model = one("y = Conv (x, w)", inputs="float[1, 2, 2, 2] x", initializers=W)
    (found,) = onnxpad.check(model, convention="pytorch", select=["PAD6"]).findings
    assert found.message.startswith("whether 1 operator fits PyTorch is not known")
