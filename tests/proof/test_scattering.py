"""The proof's reading of transposed convolutions: the layer around the full result."""

from dataclasses import replace

import onnx
import pytest

from onnxpad.analysis import Analysis, analysis
from onnxpad.analysis.rules.pools_and_convs import of_row
from onnxpad.graph import Graph
from onnxpad.operators.read import TransposedOp
from onnxpad.operators.table import OPERATORS
from onnxpad.options import Options
from onnxpad.pipeline.run import Run
from onnxpad.proof.meaning import MeaninglessError, Schema
from onnxpad.proof.scattering import SCATTERING, scattered, scatters
from onnxpad.rewrite.context import Context
from onnxpad.runtimes.onnxruntime.departures import DEPARTURES
from tests.support import assert_graph, one
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


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A further operator that scatters, in all tables but the proof's."""
    like = "", "ConvTranspose"
    row = replace(OPERATORS[like], domain="mine", op_type="Spread")
    monkeypatch.setitem(OPERATORS, row.key, row)
    monkeypatch.setitem(DEPARTURES, row.key, DEPARTURES[like])
    monkeypatch.setitem(analysis._SHAPE_RULES, "mine.Spread", of_row(row))
    return row.key


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch, spread: tuple[str, str]) -> None:
    """That operator in the proof's table, too."""
    known = onnx.defs.get_schema("ConvTranspose", 17)
    types = {name: attribute.type for name, attribute in known.attributes.items()}
    row = SCATTERING["", "ConvTranspose"]._replace(
        versions=frozenset({1}), schema=Schema(types, inputs=3)
    )
    monkeypatch.setitem(SCATTERING, spread, row)


REWRITTEN = [
    pytest.param('y = Spread <auto_pad = "SAME_UPPER", strides = [1, 2]> (x, w)', "PAD401"),
    pytest.param("f = Spread <strides = [2, 2]> (x, w, b) y = Slice (f, s, e)", "PAD402"),
    pytest.param("f = Spread <strides = [1, 3]> (x, w) y = Pad (f, p)", "PAD402"),
    pytest.param(
        "y = Spread <output_padding = [1, 1], pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)",
        "PAD403",
    ),
    pytest.param("y = Spread <pads = [1, 0, 0, 0], strides = [2, 2]> (x, w)", "PAD404"),
    pytest.param("f = Pad (x, p) y = Spread <strides = [2, 2]> (f, w)", ""),
]


def model_of(nodes: str) -> onnx.ModelProto:
    constants = "int64[8] p = {0, 0, 0, 0, 0, 0, 0, 1}, int64[4] s = {0, 0, 0, 1}"
    ends = f"int64[4] e = {{{2**31 - 1}, {2**31 - 1}, {2**31 - 1}, -1}}"
    model = one(nodes, inputs="float[1, 2, h, 5] x", initializers=f"{GIVEN}, {constants}, {ends}")
    model.opset_import.append(onnx.helper.make_opsetid("mine", 1))
    return model


def rewritten(model: onnx.ModelProto, code: str) -> tuple[list[str], list[str], onnx.ModelProto]:
    """The codes of what changed and of what the proof undid, and the model after that."""
    graph = Graph.from_proto(model)
    outcome = Run(graph, Options(symmetric_transpose=code == "PAD404")).rewrite()
    after = onnx.load_model_from_string(graph.model.to_bytes())
    return [each.code for each in outcome.changes], [each.code for each in outcome.undone], after


@pytest.mark.usefixtures("proved")
@each_row(("nodes", "code"), REWRITTEN)
def test_a_further_row_that_scatters_is_rewritten_as_conv_transpose(nodes: str, code: str) -> None:
    alike, _, expected = rewritten(model_of(nodes.replace("Spread", "ConvTranspose")), code)
    found, undone, after = rewritten(model_of(nodes.replace("Spread", "mine.Spread")), code)
    assert found == alike == [code] * bool(code)
    assert undone == []
    for node in after.graph.node:
        if node.op_type == "Spread":
            node.op_type, node.domain = "ConvTranspose", ""
    assert_graph(after, expected)


@each_row(("nodes", "code"), REWRITTEN)
def test_a_row_that_scatters_proves_nothing_by_itself(
    spread: tuple[str, str], nodes: str, code: str
) -> None:
    model = model_of(nodes.replace("Spread", ".".join(spread)))
    context = Context(Graph.from_proto(model))
    assert [type(op) for op in (*context.windows(), *context.transposed())] == [TransposedOp]
    found, undone, after = rewritten(model, code)
    assert (found, undone) == ([], [code] * bool(code))
    assert after == model
