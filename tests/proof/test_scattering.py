"""The proof's reading of transposed convolutions: the layer around the full result."""

import pytest

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.proof.meaning import MeaninglessError
from onnxpad.proof.scattering import scattered, scatters
from tests.support import one
from tests.support.rows import each_row

GIVEN = (
    "float[2, 3, 3, 2] w = {" + ", ".join(["1"] * 36) + "}, float[3] b = {2, 2, 2}, "
    "float[3] minus = {-0.0, -0.0, -0.0}, float[3] mixed = {1, 2, 2}, float[0] none = {}, "
    "int64[3] whole = {2, 2, 2}"
)


def said(body: str, shape: str = "1, 2, 4, 5", opset: int = 17, *, further: bool = False) -> str:
    """The layer around the full result, spatial axes alone, and what else is said; or why not."""
    model = one(f"y = {body}", inputs=f"float[{shape}] x", initializers=GIVEN, opset=opset)
    graph = Graph.from_proto(model)
    (node,) = graph.nodes
    assert scatters(graph, node)
    try:
        found = scattered(graph, Analysis(graph), node, further=further)
    except MeaninglessError as error:
        return str(error)
    assert found.layers[0].amounts[:2] == ((0, 0), (0, 0))
    assert found.taken == tuple(tensor.name for tensor in node.inputs[1:])
    words = [f"{begin}+{end}" for begin, end in found.layers[0].amounts[2:]]
    words += [str(found.layers[0].fill)] if found.layers[0].fill else []
    words += [] if found.runs else ["refused"]
    words += ["disputed"] if found.disputed else []
    words += [str(found.key[6])] if "perhaps nothing of" in found.key else []
    return " ".join(words)


@each_row(
    ("attributes", "bias", "shape", "expected"),
    [
        ("group = 1", "", "1, 2, 4, 5", "0+0 0+0"),
        ("group = 1", ", b", "1, 2, 4, 5", "0+0 0+0"),
        ("pads = [1, 0, 0, 1]", "", "1, 2, 4, 5", "-1+0 0+-1"),
        ("pads = [1, 0, 0, 1]", ", b", "1, 2, 4, 5", "-1+0 0+-1"),
        ("pads = [-1, 0, 0, 0]", ", b", "1, 2, 4, 5", "1+0 0+0 2.0 refused"),
        ("pads = [0, 0, 0, -1]", ", minus", "1, 2, 4, 5", "0+0 0+1 refused"),
        ("pads = [0, 0, 0, -1]", ", mixed", "1, 2, 4, 5", "0+0 0+1 the value of 'mixed' refused"),
        ("pads = [0, 0, 0, -1]", ", none", "1, 2, 4, 5", "0+0 0+1 the value of 'none' refused"),
        ("pads = [0, 0, 0, -1]", ", whole", "1, 2, 4, 5", "0+0 0+1 the value of 'whole' refused"),
        ("strides = [2, 3]", "", "1, 2, 4, 5", "0+0 0+0"),
        ("strides = [2, 3], output_padding = [1, 2]", ", b", "1, 2, 4, 5", "0+1 0+2 2.0"),
        ("strides = [2, 3], output_padding = [2, 0]", "", "1, 2, 4, 5", "0+2 0+0 refused"),
        ("strides = [2, 3], output_padding = [0, 3]", "", "1, 2, 4, 5", "0+0 0+3 refused"),
        ('auto_pad = "VALID"', "", "1, 2, 4, 5", "0+0 0+0"),
        ('auto_pad = "SAME_UPPER"', "", "1, 2, 4, 5", "-1+-1 0+-1"),
        ('auto_pad = "SAME_LOWER"', "", "1, 2, 4, 5", "-1+-1 -1+0"),
        ('auto_pad = "SAME_UPPER", strides = [2, 1]', "", "1, 2, 4, 5", "0+-1 0+-1"),
        ('auto_pad = "SAME_UPPER", dilations = [2, 3]', "", "1, 2, 4, 5", "-2+-2 -1+-2"),
        ('auto_pad = "SAME_LOWER", dilations = [2, 3]', "", "1, 2, 4, 5", "-2+-2 -2+-1"),
        ('auto_pad = "SAME_UPPER", strides = [4, 3]', "", "1, 2, 4, 5", "0+0 0+0 disputed"),
        (
            'auto_pad = "SAME_LOWER", strides = [4, 3], output_padding = [1, 1]',
            "",
            "1, 2, 4, 5",
            "0+1 0+1",
        ),
        ('auto_pad = "SAME_UPPER", strides = [3, 2]', "", "1, 2, 4, 5", "0+0 0+0"),
        ('auto_pad = "NOTSET", pads = [1, 1, 1, 1]', "", "1, 2, 4, 5", "-1+-1 -1+-1"),
        (
            'auto_pad = "SAME_UPPER", pads = [0, 0, 0, 0]',
            "",
            "1, 2, 4, 5",
            "auto_pad and pads are both there",
        ),
        ('auto_pad = "SAME"', "", "1, 2, 4, 5", "auto_pad='SAME' is not specified"),
        ("output_shape = [6, 6]", "", "1, 2, 4, 5", "0+0 0+0"),
        ("output_shape = [5, 4]", "", "1, 2, 4, 5", "-1+0 -1+-1"),
        ("output_shape = [5, 3]", "", "1, 2, 4, 5", "-1+0 -2+-1"),
        ('output_shape = [5, 3], auto_pad = "SAME_UPPER"', "", "1, 2, 4, 5", "0+-1 -1+-2"),
        ('output_shape = [5, 3], auto_pad = "SAME_LOWER"', "", "1, 2, 4, 5", "-1+0 -2+-1"),
        ('output_shape = [5, 3], auto_pad = "VALID"', "", "1, 2, 4, 5", "-1+0 -2+-1"),
        ("output_shape = [7, 8]", "", "1, 2, 4, 5", "0+1 0+2 disputed"),
        ("output_shape = [7, 8]", ", b", "1, 2, 4, 5", "0+1 0+2 2.0 disputed"),
        (
            "output_shape = [7, 7], strides = [2, 2], output_padding = [1, 1]",
            "",
            "1, 2, 4, 5",
            "-2+0 -2+-1",
        ),
        (
            "output_shape = [9, 9], strides = [2, 2], output_padding = [1, 0]",
            "",
            "1, 2, 4, 5",
            "-1+1 -1+0",
        ),
        (
            "output_shape = [5, 4]",
            "",
            "1, 2, h, 5",
            "the full result may be shorter than the output asked for",
        ),
        ("output_shape = [1, 4]", "", "1, 2, h, 5", "-floor(h/2) - 1+-ceil(h/2) -1+-1"),
        ("output_shape = [5, 4]", "", "?", "the size of the data is unknown"),
        ("output_shape = [0, 4]", "", "1, 2, 4, 5", "output_shape is out of bounds: [0, 4]"),
        ("output_shape = [5]", "", "1, 2, 4, 5", "output_shape has 1 values instead of 2"),
        ("pads = [3, 0, 3, 0]", "", "1, 2, 4, 5", "-3+-3 0+0 ((0, (-3, -3)),)"),
        ("pads = [3, 0, 2, 0]", "", "1, 2, 4, 5", "-3+-2 0+0"),
        ("pads = [2, 0, 1, 0]", "", "1, 2, h, 5", "-2+-1 0+0 ((0, (-2, -1)),)"),
        ("pads = [1, 0, 1, 0]", "", "1, 2, h, 5", "-1+-1 0+0"),
        ("pads = [0, 1, 0, 1]", "", "1, 2, h, h", "0+0 -1+-1 ((1, (-1, -1)),)"),
        ("strides = [0, 1]", "", "1, 2, 4, 5", "strides is out of bounds: [0, 1]"),
        ("dilations = [1, 0]", "", "1, 2, 4, 5", "dilations is out of bounds: [1, 0]"),
        ("pads = [0, 0, 0]", "", "1, 2, 4, 5", "pads has 3 values instead of 4"),
        ("output_padding = [-1, 0]", "", "1, 2, 4, 5", "output_padding is out of bounds: [-1, 0]"),
        ("sorted = 1", "", "1, 2, 4, 5", "ConvTranspose of opset 17 has no attribute sorted"),
        (
            "kernel_shape = [3, 3]",
            "",
            "1, 2, 4, 5",
            "the kernel_shape of node '<y>' is not its weight's",
        ),
        ("kernel_shape = [3, 2]", "", "1, 2, 4, 5", "0+0 0+0"),
    ],
)
def test_the_layer_around_the_full_result(
    attributes: str, bias: str, shape: str, expected: str
) -> None:
    """Amounts of both axes, a fill other than 0, and where the output may be empty."""
    assert said(f"ConvTranspose <{attributes}> (x, w{bias})", shape) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("strides = [2, 3], output_padding = [1, 2]", "0+0 0+0"),
        ("strides = [2, 3], pads = [1, 0, 1, 1]", "-1+-2 0+-3"),
        (
            "strides = [2, 3], output_padding = [2, 0]",
            "it appends what output_padding cannot append",
        ),
        ("pads = [0, 0, 0, -1]", "it appends what output_padding cannot append"),
    ],
)
def test_elements_that_output_padding_may_append_are_part_of_it(
    attributes: str, expected: str
) -> None:
    assert said(f"ConvTranspose <{attributes}> (x, w, b)", further=True) == expected


@pytest.mark.parametrize("opset", [1, 10, 11, 22])
def test_versions(opset: int) -> None:
    assert said("ConvTranspose <pads = [1, 0, 0, 1]> (x, w)", opset=opset) == "-1+0 0+-1"
