"""The padding of a place in words, whole: every operator, attribute and origin of amounts."""

from onnxpad.graph import Graph
from onnxpad.pipeline.written_form import written_form
from onnxpad.rewrite.context import Context
from tests.support import W, one
from tests.support.rows import each_row

GIVEN = (
    f"{W}, int64[8] p = {{0, 0, 1, 2, 0, 0, 3, 4}}, int64[8] q = {{0, 1, 0, 0, 0, 0, 0, 0}}, "
    "float v = {1.5}, float o = {0}, float[2, 3, 3, 2] t = {" + ", ".join(["1"] * 36) + "}"
)
KERNEL, ENDS = "kernel_shape = [3, 3]", "[0, 0, 1, 1]"
INPUTS = "float[1, 2, 9, 8] x, int64[8] open"


def said(body: str, opset: int = 17, roots: str = "x", computing: int = 0) -> list[str]:
    """The text of what is padded to the node that computes `y`, its form, and its amounts."""
    graph = Graph.from_proto(one(body, inputs=INPUTS, initializers=GIVEN, opset=opset))
    tensor = graph.tensor("y")
    node = graph.producer(tensor)
    assert node is not None
    found = written_form(Context(graph), node, tensor, roots.split(), computing)
    return [found.text, found.form, found.amounts.text if found.amounts else ""]


@each_row(
    ("body", "text", "form", "amounts"),
    [
        ("y = Conv (x, w)", "Conv without pads", "Conv", ""),
        ("y = Conv <pads = [1, 2, 3, 4]> (x, w)", "Conv H 1+3, W 2+4, pads [1, 2, 3, 4]",
         "Conv pads", "H 1+3, W 2+4, pads [1, 2, 3, 4]"),
        ('y = Conv <auto_pad = "SAME_LOWER"> (x, w)', "Conv auto_pad=SAME_LOWER",
         "Conv auto_pad=SAME_LOWER", ""),
        ('y = MaxPool <auto_pad = "VALID", ceil_mode = 1, kernel_shape = [3, 3]> (x)',
         "MaxPool auto_pad=VALID ceil_mode", "MaxPool auto_pad=VALID ceil_mode", ""),
        ("y = MaxPool <ceil_mode = 1, kernel_shape = [3, 3]> (x)",
         "MaxPool without pads ceil_mode", "MaxPool ceil_mode", ""),
        (f"y = AveragePool <count_include_pad = 1, ceil_mode = 1, {KERNEL}, pads = {ENDS}> (x)",
         "AveragePool H 0+1, W 0+1, pads [0, 0, 1, 1] counted ceil_mode",
         "AveragePool pads counted ceil_mode", "H 0+1, W 0+1, pads [0, 0, 1, 1]"),
        ("a = Pad (x, p) y = Conv (a, w)", "Pad H 1+3, W 2+4 -> Conv without pads", "Pad -> Conv",
         "H 1+3, W 2+4"),
        ("a = Pad (x, p) y = Conv <pads = [1, 1, 1, 1]> (a, w)",
         "Pad H 1+3, W 2+4 -> Conv H 1+1, W 1+1, pads [1, 1, 1, 1]", "Pad -> Conv pads",
         "H 2+4, W 3+5, Pad=H 1+3, W 2+4, pads [1, 1, 1, 1]"),
        ("a = Pad (x, p) b = Pad (a, q) y = Conv (b, w)",
         "Pad H 1+3, W 2+4 -> Pad C 1+0 -> Conv without pads", "Pad -> Pad -> Conv",
         "H 1+3, W 2+4, C 1+0, Pad=H 1+3, W 2+4, Pad=C 1+0"),
        ("a = Pad (x, open) y = Conv (a, w)", "Pad (computed) -> Conv without pads",
         "computed Pad -> Conv", ""),
        ("y = Pad (x, p)", "Pad axis 2 1+3, axis 3 2+4", "Pad", "axis 2 1+3, axis 3 2+4"),
        ('y = Pad <mode = "edge"> (x, p)', "Pad edge axis 2 1+3, axis 3 2+4", "Pad edge",
         "axis 2 1+3, axis 3 2+4"),
        ("y = Pad (x, p, \"\")", "Pad axis 2 1+3, axis 3 2+4 with its fill left empty",
         "Pad with its fill left empty", "axis 2 1+3, axis 3 2+4"),
        ('y = Pad <mode = "mirror"> (x, p)', "Pad", "Pad", ""),
        ("a = Relu (x) y = Pad (a, p)", "Pad axis 2 1+3, axis 3 2+4", "Pad",
         "axis 2 1+3, axis 3 2+4"),
        ("a = Pad (x, p, v) y = Relu (a)", "Pad axis 2 1+3, axis 3 2+4 with 1.5 -> Relu",
         "Pad -> Relu", "axis 2 1+3, axis 3 2+4"),
        ("a = Pad (x, p, o) b = Relu (a) y = Mul (v, b)",
         "Pad axis 2 1+3, axis 3 2+4 -> Relu -> Mul", "Pad -> Relu -> Mul",
         "axis 2 1+3, axis 3 2+4"),
        ("y = ConvTranspose (x, t)", "", "ConvTranspose", ""),
        ('y = ConvTranspose <auto_pad = "SAME_UPPER"> (x, t)', "",
         "ConvTranspose with auto_pad=SAME_UPPER", ""),
        ("y = ConvTranspose <output_shape = [9, 8], output_padding = [0, 1]> (x, t)", "",
         "ConvTranspose with output_shape, output_padding", ""),
    ],
)  # fmt: skip
def test_a_padding_in_words(body: str, text: str, form: str, amounts: str) -> None:
    found = said(body)
    assert found[1] == form
    if text:
        assert (found[0], found[2]) == (text, amounts)


def test_where_a_padding_begins_and_what_computes_it() -> None:
    two = "a = Pad (x, p) b = Pad (a, q) y = Conv (b, w)"
    assert said(two, roots="a")[0] == "Pad C 1+0 -> Conv without pads"
    assert said(two, roots="b")[0] == "Conv without pads"
    assert said("y = Pad (x, open)", computing=3)[0] == "Pad (computed by 3 nodes)"
    behind = "a = Pad (x, open) y = Pad (a, p)"
    assert said(behind, computing=3)[0] == "Pad (computed) -> Pad axis 2 1+3, axis 3 2+4"
    old = "y = Pad <pads = [0, 0, 1, 2, 0, 0, 3, 4]> (x)"
    assert said(old, opset=10) == ["Pad axis 2 1+3, axis 3 2+4", "Pad", "axis 2 1+3, axis 3 2+4"]
