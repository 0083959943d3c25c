"""The nodes that a picture shows of a finding or a change, as boxes in words."""

import pytest

from onnxpad.finding import Certificate, Change, Finding, Severity
from onnxpad.page.pictures.both_graphs import Outline, outlines
from onnxpad.page.pictures.site_graph import Boxes, auto_padded, change_graphs, finding_graph
from tests.support import BORDER, W, parsed, site_form
from tests.support.rows import each_row

GIVEN = f"""{W}, {BORDER}, float five = {{5}}, int64[2] yx = {{2, 3}},
    int64[4] four = {{1, 0, 2, 1}}, int64[2] back = {{-1, 1}}, int64[3] odd = {{1, 1, 1}},
    int64[4] deep = {{1, 0, 1, 0}}"""


def outline(body: str, inputs: str = "float[1, 2, 9, 8] x, int64[8] a") -> Outline:
    graph = parsed(f"g ({inputs}) => (float[] y) <{GIVEN}> {{ {body} }}").graph
    return outlines(graph, graph, ())[0]


def told(boxes: Boxes) -> str:
    """Boxes in words: title, lines and state, and from which boxes it is fed."""
    return "; ".join(
        f"{box.title}{''.join(f' | {line}' for line in box.lines)}"
        f"{f' ({box.state})' if box.state not in {'box', 'tensor'} else ''}"
        f"{f' <- {list(box.above)}' if box.above else ''}"
        for box in boxes
    )


def found(body: str, node: str = "<y>") -> str:
    finding = Finding("PAD1", Severity.INFO, node, "Pad", "a message")
    return told(finding_graph(finding, outline(body)))


@each_row(
    ("node", "lines"),
    [
        ("Pad (x, p)", " | axis 2 1+1, axis 3 1+1"),
        ("Pad (x, p, five)", " | axis 2 1+1, axis 3 1+1 | with 5"),
        ('Pad <mode = "reflect"> (x, p, five)', " | reflect | axis 2 1+1, axis 3 1+1"),
        ("Pad (x, four, , yx)", " | axis 2 1+2, axis 3 0+1"),
        ("Pad (x, four, , odd)", " | axis 0 1+2, axis 1 0+1"),
        ("Pad (x, four, , back)", " | axis -1 1+2, axis 1 0+1"),
        ("Pad (x, deep)", " | axis 0 1+1"),
        ("Pad (x, a)", " | amounts computed"),
        ("Pad <pads = [0, 1]> (x)", " | axis 0 0+1"),
        ("Pad <paddings = [0, 1], value = 2.5> (x)", " | axis 0 0+1 | with 2.5"),
        ("Pad <pads = [0, 1], value = 0.0> (x, p)", " | axis 0 0+1"),
        ("Pad <pads = [0, 1], value = 3.0> (x, p, absent)", " | axis 0 0+1"),
        ("Pad ()", " | amounts computed"),
        ("Conv (x, w)", " | kernel 3x3 | no pads"),
        ("Conv <kernel_shape = [2, 4]> (x, w)", " | kernel 2x4 | no pads"),
        ("Conv (x)", " | no pads"),
        ("Conv <strides = [1, 1], dilations = [1, 1]> (x, w)", " | kernel 3x3 | no pads"),
        ("Conv <strides = [2, 1], dilations = [1, 2]> (x, w)",
         " | kernel 3x3, stride 2x1, dilation 1x2 | no pads"),
        ("Conv <pads = [1, 0, 2, 0]> (x, w)", " | kernel 3x3 | H 1+2, W 0+0, pads [1, 0, 2, 0]"),
        ("Conv <pads = [0, 0, 0, 0]> (x, w)", " | kernel 3x3 | no pads"),
        ("Conv <pads = [1, 1, 1]> (x, w)", " | kernel 3x3 | no pads"),
        ('Conv <auto_pad = "VALID", pads = [1, 1, 1, 1]> (x, w)', " | kernel 3x3 | auto_pad VALID"),
        ('Conv <auto_pad = "NOTSET"> (x, w)', " | kernel 3x3 | no pads"),
        ("QLinearConv (x, s, z, w)", " | kernel 3x3 | no pads"),
        ("ConvInteger (x, w)", " | kernel 3x3 | no pads"),
        ("ConvTranspose <output_padding = [0, 1]> (x, w)",
         " | kernel 3x3 | no pads | output_padding 0x1"),
        ("ConvTranspose <output_padding = [0, 0]> (x, w)", " | kernel 3x3 | no pads"),
        ("AveragePool <kernel_shape = [2], ceil_mode = 1, count_include_pad = 0> (x)",
         " | kernel 2 | no pads | ceil_mode"),
        ("AveragePool <kernel_shape = [2], ceil_mode = 1, count_include_pad = 1> (x)",
         " | kernel 2 | no pads | ceil_mode, count_include_pad"),
        ("MaxPool <strides = [2]> (x)", " | stride 2 | no pads"),
        ("Mine <dilations = [2]> (x)", " | dilation 2 | no pads"),
        ("Transpose <perm = [1, 0]> (x)", " | perm [1, 0]"),
        ("Transpose (x)", ""),
        ("Concat <axis = 1> (x, x)", " | axis 1"),
        ("Concat (x, x)", ""),
        ("Softmax <axis = 1> (x)", ""),
    ],
)  # fmt: skip
def test_the_lines_of_a_node(node: str, lines: str) -> None:
    op = node.partition(" ")[0]
    data = "" if node.endswith("()") else "data; "
    assert found(f"y = {node}") == f"{data}{op}{lines}{' <- [0]' if data else ''}"


COMPUTED = "s = Shape (r) n = Neg (s) m = Add (n, one) o = Constant <value_int = 1> ()"


@each_row(
    ("body", "shown"),
    [
        ("t = Pad (x, p) [y] y = Conv (t, w)",
         "data; Pad | H 1+1, W 1+1 <- [0]; Conv | kernel 3x3 | no pads <- [1]"),
        ("t = Pad (x, p) y = Neg (t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Neg <- [1]"),
        ("t = Pad (x, p) y = Conv (x, t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Conv | no pads <- [0, 1]"),
        ("t = Pad (x, p) b = Neg (t) c = Abs (t) d = Exp (t) y = Sin (t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Neg <- [1]; Abs <- [1]; Exp <- [1]"),
        ("t = Pad (x, p) y = Add (t, t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Add <- [1]"),
        ("t = Pad (x, p) y = local.Neg (t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; local.Neg <- [1]"),
        ("t = Pad (x, p) y = ai.onnx.Neg (t)",
         "data; Pad | axis 2 1+1, axis 3 1+1 <- [0]; Neg <- [1]"),
        (f"r = Neg (x) {COMPUTED} c = Concat <axis = 0> (m, o, n) t = Pad (x, c) y = Neg (t)",
         "data; Pad | amounts computed by 4 nodes <- [0]; Neg <- [1]"),
        ("s = Shape (x) t = Pad (x, s) y = Neg (t)",
         "data; Pad | amounts computed by 1 node <- [0]; Neg <- [1]"),
    ],
)  # fmt: skip
def test_a_pad_and_those_that_read_it(body: str, shown: str) -> None:
    assert found(body, "<t>") == shown


def test_a_node_that_is_not_there_is_not_drawn() -> None:
    assert found("y = Neg (x)", "<q>") == ""


@each_row(
    ("node", "told"),
    [
        ('Conv <auto_pad = "SAME_UPPER", strides = [2, 1]> (x, w)',
         ("SAME_UPPER", [(3, 2, 1), (3, 1, 1)])),
        ("Conv <dilations = [2, 1]> (x, w)", ("", [(3, 1, 2), (3, 1, 1)])),
        ("Conv <strides = [2]> (x, w)", ("", [])),
        ("Conv <dilations = [2]> (x, w)", ("", [])),
        ("Conv (x)", ("", [])),
        ("MaxPool <kernel_shape = [2]> (x)", ("", [(2, 1, 1)])),
    ],
)  # fmt: skip
def test_auto_pad_and_windows(node: str, told: tuple[str, list[tuple[int, int, int]]]) -> None:
    finding = Finding("PAD1", Severity.INFO, "<y>", "Conv", "a message")
    assert auto_padded(finding, outline(f"y = {node}")) == told
    assert auto_padded(finding, outline("x2 = Neg (x)")) == ("", [])


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
    ("axes", "line"),
    [
        ([(3, 1, 1), (3, 1, 1)], "kernel 3x3"),
        ([(3, 2, 1), (5, 1, 2)], "kernel 3x5, stride 2x1, dilation 1x2"),
        ([("height", 1, 1)], "kernel height"),
    ],
)
def test_the_window_of_a_change_as_it_was_proved(
    axes: list[tuple[object, int, int]], line: str
) -> None:
    facts = [dict(zip(("kernel", "stride", "dilation"), each, strict=True)) for each in axes]
    assert changed("Neg -> Conv", "Pad L 1+0 -> Neg -> Conv", axes=facts) == (
        f"data; Neg <- [0]; Conv | {line} | without pads <- [1] => "
        f"data; Pad | L 1+0 (added) <- [0]; Neg <- [1]; Conv | {line} | without pads <- [2]"
    )
