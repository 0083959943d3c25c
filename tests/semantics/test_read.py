"""What is read of windows, crops and Pads: every attribute and default, version by version."""

import json
from pathlib import Path
from typing import Any

import pytest

from onnxpad import check
from onnxpad.errors import ModelError
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node
from onnxpad.semantics.operators import WindowOp, read_pad, read_transposed, read_window
from onnxpad.semantics.rows import UnreadError
from tests.support import parsed
from tests.support.rows import each_row, rows_below

ROWS = Path(__file__).with_name("rows.txt")
READ = {"Pad": read_pad, "ConvTranspose": read_transposed}
TAPS = ", ".join(["1"] * 120)
INPUTS = (
    "float[1, 3, 8, 9] x, uint8[1, 3, 8, 9] q, float[] v, float[1, 3, 8, 9] x2, "
    "float[4, 3, 2, 5] w, float c, int64[8] amounts, int64[2] axes"
)
GIVEN = f"""
    int64[8] p = {{0, 0, 1, 2, 0, 0, 3, 4}}, int64[4] few = {{1, 2, 3, 4}}, int64[3] odd = {{1, 2, 3}},
    int64[8] far = {{0, 0, 0, 0, 0, 0, 0, 1099511627776}}, int64[2, 4] grid = {{0, 0, 1, 2, 0, 0, 3, 4}},
    int32[8] p32 = {{0, 0, 1, 2, 0, 0, 3, 4}}, int64[2] a = {{2, 3}}, int64[2] back = {{-1, -2}},
    int64[2] twice = {{2, -2}}, int64[2] beyond = {{2, 4}}, float two = {{2}}, float minus = {{-0.0}},
    double d = {{1}}, int64[1, 8] row = {{0, 0, 1, 2, 0, 0, 3, 4}}, float[8] real = {{0, 0, 1, 1, 0, 0, 1, 1}}, float[4] bias = {{1, 1, 1, 1}},
    uint8 z = {{7}}, uint8[2] zs = {{7, 7}}, uint8[4, 3, 2, 5] qw = {{{TAPS}}}
"""  # noqa: E501


def graph_in(body: str, opset: int = 17) -> tuple[Graph, Analysis, Node]:
    """A graph of one node, its analysis, and the node."""
    body = body if " = " in body.partition("<")[0] else f"y = {body}"
    graph = Graph.from_proto(
        parsed(f"g ({INPUTS}) => (float[] y) <{GIVEN}> {{ {body} }}", opset=opset)
    )
    (node,) = graph.nodes
    return graph, Analysis(graph), node


def graph_of(
    op: str, inputs: str, opset: int = 17, **attributes: Any
) -> tuple[Graph, Analysis, Node]:
    """The same by the parts of the node."""
    given = ", ".join(f"{name} = {json.dumps(value)}" for name, value in attributes.items())
    return graph_in(f"{op} <{given}> ({inputs.replace(' ', ', ')})", opset)


def read(body: str, opset: int = 17) -> Any:
    """What is read of one node."""
    graph, analysis, node = graph_in(body, opset)
    return READ.get(node.op, read_window)(graph, analysis, node)


def test_a_window() -> None:
    op: WindowOp = read("Conv (x, w)")
    assert [(w.kernel, w.stride, w.dilation) for w in op.windows] == [(2, 1, 1), (5, 1, 1)]
    assert (op.auto_pad, op.pads, op.pads_written) == ("NOTSET", ((0, 0), (0, 0)), False)
    assert (op.ceil_mode, op.count_include_pad, op.zero) == (False, False, 0)
    assert (op.data.name, op.rank, op.axes, op.read.has_indices) == ("x", 4, (2, 3), False)
    op = read(
        "y, i = MaxPool <kernel_shape = [2, 3], strides = [4, 5], dilations = [1, 2],"
        " ceil_mode = 1, pads = [1, 0, 0, 2]> (x)"
    )
    assert [(w.kernel, w.stride, w.dilation) for w in op.windows] == [(2, 4, 1), (3, 5, 2)]
    assert (op.auto_pad, op.pads, op.pads_written) == ("NOTSET", ((1, 0), (0, 2)), True)
    assert (op.ceil_mode, op.read.has_indices) == (True, True)
    counting = "AveragePool <kernel_shape = [2, 3], count_include_pad = 1> (x)"
    assert read(counting).count_include_pad
    zeros = [read(f"ConvInteger (q, qw{z})").zero for z in (", z", "", ", zs", ", q")]
    assert zeros == [7, 0, None, None]


@each_row(("told", "body", "opset"), rows_below(ROWS, "what is read of a Pad, over four axes too"))
def test_a_pad_of_every_form(told: str, body: str, opset: str) -> None:
    pad = read(body, int(opset))
    assert str((pad.mode, pad.axes, pad.constant_amounts, pad.value, pad.over(4))) == told
    assert pad.over(3) is None or pad.axes is not None
    assert str(read("Pad (x, p, minus)").value) == "-0.0"


def test_a_window_without_a_result_is_malformed() -> None:
    model = parsed(f"g ({INPUTS}) => () {{ y = com.microsoft.FusedConv (x, w) }}")
    model.graph.node[0].ClearField("output")
    with pytest.raises(ModelError):
        check(model)


@each_row(("body", "opset"), rows_below(ROWS, "a Pad or a window that is refused"))
def test_what_is_refused(body: str, opset: str) -> None:
    with pytest.raises((ModelError, UnreadError)):
        read(body, int(opset))
