"""The nodes that a picture shows of a finding or a change, as boxes in words."""

import pytest

from onnxpad.finding import Certificate, Change
from onnxpad.graph import Graph
from onnxpad.page.pictures.site_graph import Boxes, change_graphs, finding_graph
from onnxpad.pipeline.written_form import node_form
from onnxpad.rewrite.context import Context
from onnxpad.site_form import Kind, SiteForm, StepForm, WrittenAmounts
from tests.support import BORDER, W, parsed, site_form
from tests.support.rows import each_row

GIVEN = f"""{W}, {BORDER}, float five = {{5}}, int64[2] yx = {{2, 3}},
    int64[4] four = {{1, 0, 2, 1}}, int64[2] back = {{-1, 1}}, int64[3] odd = {{1, 1, 1}},
    int64[4] deep = {{1, 0, 1, 0}}, float nought = {{0}}"""
APPENDING = "output_padding = [1, 0], strides = [2, 2], pads = [1, 2, 3, 4]"
APPENDED = "H 1+3, W 2+4, pads [1, 2, 3, 4], output_padding [1, 0]"
COUNTED = "count_include_pad = 1, pads = [0, 0, 1, 1]"


def told(boxes: Boxes) -> str:
    """Boxes in words: title, lines and state, and from which boxes it is fed."""
    return "; ".join(
        f"{box.title}{''.join(f' | {line}' for line in box.lines)}"
        f"{f' ({box.state})' if box.state not in {'box', 'tensor'} else ''}"
        f"{f' <- {list(box.above)}' if box.above else ''}"
        for box in boxes
    )


def found(body: str, output: str = "y", opset: int = 17) -> str:
    inputs = "float[1, 2, 9, 8] x, int64[8] a, float[4, 2, k, k] open, float v"
    text = f"g ({inputs}) => (float[] y) <{GIVEN}> {{ {body} }}"
    graph = Graph.from_proto(parsed(text, opset=opset))
    node = graph.producer(graph.tensor(output))
    assert node is not None
    return told(finding_graph(node_form(Context(graph), node)))


@each_row(
    ("node", "opset", "lines"),
    [
        ("Pad (x, p)", 17, " | axis 2 1+1, axis 3 1+1"),
        ("Pad (x, p, five)", 17, " | axis 2 1+1, axis 3 1+1 with 5.0"),
        ("Pad (x, p, nought)", 17, " | axis 2 1+1, axis 3 1+1"),
        ("Pad (x, p, v)", 17, " | axis 2 1+1, axis 3 1+1"),
        ('Pad <mode = "reflect"> (x, p)', 17, " | reflect axis 2 1+1, axis 3 1+1"),
        ("Pad (x, four, , yx)", 18, " | axis 2 1+2, axis 3 0+1"),
        ("Pad (x, four, , back)", 18, " | axis -1 1+2, axis 1 0+1"),
        ("Pad (x, four, , odd)", 18, ""),
        ("Pad (x, deep)", 17, ""),
        ("Pad (x, a)", 17, " | (computed)"),
        ("Pad <pads = [0, 0, 1, 0, 0, 0, 2, 0], value = 2.5> (x)", 10, " | axis 2 1+2 with 2.5"),
        ("Pad ()", 17, ""),
        ("Conv (x, w)", 17, " | kernel 3x3 | without pads"),
        ("Conv (x, open)", 17, " | kernel ?x? | without pads"),
        ("Conv <kernel_shape = [2, 4]> (x, w)", 17, ""),
        ("Conv <strides = [1, 1], dilations = [1, 1]> (x, w)", 17, " | kernel 3x3 | without pads"),
        ("Conv <strides = [2, 1], dilations = [1, 2]> (x, w)", 17,
         " | kernel 3x3, stride 2x1, dilation 1x2 | without pads"),
        ("Conv <pads = [1, 0, 2, 0]> (x, w)", 17,
         " | kernel 3x3 | H 1+2, W 0+0, pads [1, 0, 2, 0]"),
        ("Conv <pads = [1, 1, 1]> (x, w)", 17, ""),
        ('Conv <auto_pad = "SAME_LOWER"> (x, w)', 17, " | kernel 3x3 | auto_pad=SAME_LOWER"),
        ('Conv <auto_pad = "NOTSET"> (x, w)', 17, " | kernel 3x3 | without pads"),
        ("ConvInteger (x, w)", 17, " | kernel 3x3 | without pads"),
        (f"ConvTranspose <{APPENDING}> (x, w)", 17, f" | kernel 3x3, stride 2x2 | {APPENDED}"),
        ('ConvTranspose <auto_pad = "SAME_UPPER"> (x, w)', 17,
         " | kernel 3x3 | auto_pad=SAME_UPPER"),
        ("MaxPool <kernel_shape = [3, 3], ceil_mode = 1> (x)", 17,
         " | kernel 3x3 | without pads ceil_mode"),
        (f"AveragePool <kernel_shape = [2, 3], {COUNTED}> (x)", 17,
         " | kernel 2x3 | H 0+1, W 0+1, pads [0, 0, 1, 1] counted"),
        ("MaxPool <strides = [2]> (x)", 17, ""),
        ("local.Mine <dilations = [2]> (x)", 17, ""),
        ("Transpose <perm = [1, 0]> (x)", 17, " | perm [1, 0]"),
        ("Transpose (x)", 17, ""),
        ("local.Transpose <perm = [1, 0]> (x)", 17, ""),
        ("Concat <axis = 1> (x, x)", 17, " | axis 1"),
        ("Softmax <axis = 1> (x)", 17, ""),
    ],
)  # fmt: skip
def test_the_lines_of_a_node(node: str, opset: int, lines: str) -> None:
    op = node.partition(" ")[0]
    assert found(f"y = {node}", opset=opset) == f"data; {op}{lines} <- [0]"


COMPUTED = "s = Shape (x) n = Neg (s) m = Add (n, n) c = Concat <axis = 0> (m, s)"
ITS_AXES = "axis 1 -4+2, axis 2 -18+9, axis 3 -16+8"


@each_row(
    ("body", "shown"),
    [
        ("t = Pad (x, p) [y] y = Conv (t, w)",
         "data; Pad | H 1+1, W 1+1 <- [0]; Conv | kernel 3x3 | without pads <- [1]"),
        ('t = Pad (x, p) y = ConvTranspose <auto_pad = "VALID"> (t, w)',
         "data; Pad | H 1+1, W 1+1 <- [0]; ConvTranspose | kernel 3x3 | auto_pad=VALID <- [1]"),
        ("t = Pad (x, p) y = Neg (t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Neg <- [1]"),
        ("t = Pad (x, p) y = Conv (x, t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Conv | kernel 11x10 | without pads <- [1]"),
        ("t = Pad (x, p) b = Neg (t) c = Abs (t) d = Exp (t) y = Sin (t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Neg <- [1]; Abs <- [1]; Exp <- [1]"),
        ("t = Pad (x, p) y = Add (t, t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Add <- [1]"),
        ("t = Pad (x, p) y = local.Neg (t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; local.Neg <- [1]"),
        ("t = Pad (x, p) y = ai.onnx.Neg (t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Neg <- [1]"),
        (f"{COMPUTED} t = Pad (x, c) y = Neg (t)",
         f"data; Pad | axis 0 -2+1, {ITS_AXES} (computed by 4 nodes) <- [0]; Neg <- [1]"),
    ],
)  # fmt: skip
def test_a_pad_and_those_that_read_it(body: str, shown: str) -> None:
    assert found(body, "t") == shown


def test_an_empty_form_is_not_drawn() -> None:
    assert not SiteForm().steps
    assert told(finding_graph(SiteForm((StepForm("Neg"),)))) == "data; Neg <- [0]"


def changed(old: str, new: str, **facts: object) -> str:
    certificate = Certificate("a lemma", facts=facts)
    change = Change("PAD1", "y", "Conv", site_form(old), site_form(new), certificate)
    return " => ".join(map(told, change_graphs(change)))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("Pad L 1+1 -> Conv", "Conv pads L 1+1",
         ("data; Pad | L 1+1 (removed) <- [0]; Conv | without pads <- [1]"
         " => data; Conv | L 1+1, pads [1, 1] (changed) <- [0]")),
        ("Neg", "Neg", "data; Neg <- [0] => data; Neg <- [0]"),
        ("Neg", "Pad edge L 1+0 -> Neg",
         "data; Neg <- [0] => data; Pad | edge L 1+0 (added) <- [0]; Neg <- [1]"),
        ("Pad L 1+0 -> Pad L 2+0", "Pad L 2+0",
         ("data; Pad | L 1+0 <- [0]; Pad | L 2+0 (removed) <- [1]"
         " => data; Pad | L 2+0 (changed) <- [0]")),
        ("Pad L 1+0", "", "data; Pad | L 1+0 (removed) <- [0] => data"),
    ],
)  # fmt: skip
def test_the_steps_of_a_change(old: str, new: str, shown: str) -> None:
    assert changed(old, new) == shown


@pytest.mark.parametrize(
    ("windows", "line"),
    [
        (((3, 1, 1), (3, 1, 1)), "kernel 3x3"),
        (((3, 2, 1), (5, 1, 2)), "kernel 3x5, stride 2x1, dilation 1x2"),
        (((None, 1, 1),), "kernel ?"),
    ],
)
@pytest.mark.parametrize("kind", ["window", "transposed"])
def test_the_window_of_a_change(
    kind: Kind, windows: tuple[tuple[int | None, int, int], ...], line: str
) -> None:
    step = StepForm("Conv", kind, WrittenAmounts((("L", 1, 0),)), has_pads=True, windows=windows)
    change = Change("PAD1", "y", "Conv", SiteForm((step,)), SiteForm((step,)), Certificate("a"))
    (drawn, same) = map(told, change_graphs(change))
    assert drawn == same == f"data; Conv | {line} | L 1+0 <- [0]"
