"""What is read of nodes: every attribute and default, and what is refused."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxpad.errors import ModelError
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node
from onnxpad.semantics.operators import (
    PadOp,
    TransposedOp,
    WindowOp,
    read_pad,
    read_transposed,
    read_window,
)
from onnxpad.semantics.rows import UnreadError
from tests.support.rows import each_row

READ = {"Pad": read_pad, "ConvTranspose": read_transposed}
SHAPES: dict[str, Any] = {
    "x": [1, 3, 8, 9],
    "q": [1, 3, 8, 9],
    "w": [4, 3, 2, 5],
    "u": [4, 3, None, 5],
    "v": None,
}
CONSTANTS = {
    "p": [0, 0, 1, 2, 0, 0, 3, 4], "few": [1, 2, 3, 4], "odd": [1, 2, 3], "far": [0] * 7 + [2**40],
    "a": [2, 3], "b": [-1, -2], "twice": [2, -2], "beyond": [2, 4], "one": [1],
}  # fmt: skip


def graph_of(
    op: str, inputs: str, opset: int = 17, outputs: str = "y", **attributes: Any
) -> tuple[Graph, Analysis, Node]:
    """A graph of one node, its analysis, and the node."""
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT if name != "q" else 2, shape)
        for name, shape in SHAPES.items()
    ]
    arrays = {name: np.array(value, np.int64) for name, value in CONSTANTS.items()}
    arrays |= {"two": np.array(2, np.float32), "minus": np.array(-0.0, np.float32)}
    arrays |= {"real": np.array([0, 0, 1, 1.0] * 2, np.float32), "z": np.array(7, np.uint8)}
    arrays |= {"zs": np.array([7, 7], np.uint8), "qw": np.ones((4, 3, 2, 5), np.uint8)}
    graph = helper.make_graph(
        [helper.make_node(op, inputs.split(), outputs.split(), "n", **attributes)],
        "g",
        tensors,
        [helper.make_tensor_value_info(name, 1, None) for name in outputs.split()],
        [numpy_helper.from_array(value, name) for name, value in arrays.items()],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
    found = Graph.from_proto(model)
    (node,) = found.nodes
    return found, Analysis(found), node


def read(op: str, inputs: str, opset: int = 17, outputs: str = "y", **attributes: Any) -> Any:
    """What is read of one node."""
    return READ.get(op, read_window)(*graph_of(op, inputs, opset, outputs, **attributes))


def test_defaults_of_a_window() -> None:
    op: WindowOp = read("Conv", "x w")
    assert [(w.kernel, w.stride, w.dilation) for w in op.windows] == [(2, 1, 1), (5, 1, 1)]
    assert (op.auto_pad, op.pads, op.pads_written) == ("NOTSET", ((0, 0), (0, 0)), False)
    assert (op.ceil_mode, op.count_include_pad, op.zero) == (False, False, 0)
    assert (op.data.name, op.rank, op.axes) == ("x", 4, (2, 3))
    assert not op.read.has_indices


def test_attributes_of_a_window() -> None:
    op: WindowOp = read(
        "MaxPool", "x", kernel_shape=[2, 3], strides=[4, 5], dilations=[1, 2], ceil_mode=1,
        pads=[1, 0, 0, 2], outputs="y i",
    )  # fmt: skip
    assert [(w.kernel, w.stride, w.dilation) for w in op.windows] == [(2, 4, 1), (3, 5, 2)]
    assert (op.auto_pad, op.pads, op.pads_written) == ("NOTSET", ((1, 0), (0, 2)), True)
    assert op.ceil_mode
    assert op.read.has_indices
    average: WindowOp = read("AveragePool", "x", kernel_shape=[2, 3], count_include_pad=1)
    assert average.count_include_pad
    with pytest.raises(UnreadError):
        read("LpPool", "x", kernel_shape=[2, 3], p=0.0, opset=1)


def test_zero_points() -> None:
    assert read("ConvInteger", "q qw z").zero == 7
    assert read("ConvInteger", "q qw").zero == 0
    assert read("ConvInteger", "q qw zs").zero is None
    assert read("ConvInteger", "q qw q").zero is None


def test_defaults_and_attributes_of_a_transposed_convolution() -> None:
    op: TransposedOp = read("ConvTranspose", "x w")
    assert (op.output_padding, op.output_shape, op.is_explicit) == ((0, 0), None, True)
    assert (op.bias, op.axes, op.data.name) == (None, (2, 3), "x")
    op = read(
        "ConvTranspose", "x w one", output_padding=[0, 1], output_shape=[8, 9], strides=[2, 2]
    )
    assert (op.output_padding, op.output_shape, op.is_explicit) == ((0, 1), (8, 9), False)
    assert op.bias is not None
    assert not read("ConvTranspose", "x w", auto_pad="SAME_UPPER").is_explicit


def test_a_pad_of_every_form() -> None:
    def told(pad: PadOp) -> tuple[Any, ...]:
        return pad.mode, pad.axes, pad.constant_amounts, pad.value, pad.over(4)

    whole = ((0, 0), (0, 0), (1, 3), (2, 4))
    assert told(read("Pad", "x p")) == ("constant", None, whole, 0, whole)
    assert told(read("Pad", "x p two", mode="edge")) == ("edge", None, whole, 2.0, whole)
    assert str(read("Pad", "x p minus").value) == "-0.0"
    assert read("Pad", "x p x").value is None
    assert read("Pad", "x p").over(3) is None
    assert read("Pad", "v p").over(4) == whole
    some = read("Pad", "x few two a", opset=18)
    assert told(some) == (
        "constant",
        (2, 3),
        ((1, 3), (2, 4)),
        2.0,
        ((0, 0), (0, 0), (1, 3), (2, 4)),
    )
    assert read("Pad", "x few two b", opset=18).over(4) == ((0, 0), (0, 0), (2, 4), (1, 3))
    old = read("Pad", "x", opset=9, pads=CONSTANTS["p"], value=1.5)
    assert told(old) == ("constant", None, whole, 1.5, whole)
    assert told(read("Pad", "x", opset=1, paddings=CONSTANTS["p"]))[2] == whole


@each_row(
    ("op", "inputs", "given", "error"),
    [
        ("Conv", "x w", {"strides": [0, 1]}, ModelError),
        ("Conv", "x w", {"dilations": [1, 0]}, ModelError),
        ("Conv", "x w", {"strides": [1]}, ModelError),
        ("Conv", "x w", {"pads": [1, 1]}, ModelError),
        ("Conv", "x w", {"pads": [0, 0, 0, -1]}, UnreadError),
        ("Conv", "x w", {"pads": [0, 0, 0, 2**40]}, UnreadError),
        ("Conv", "x w", {"pads": [0.5] * 4}, ModelError),
        ("Conv", "x w", {"pads": 1}, ModelError),
        ("Conv", "x w", {"auto_pad": "SAME"}, UnreadError),
        ("Conv", "x w", {"auto_pad": 1}, ModelError),
        ("Conv", "x w", {"kernel_shape": [2, 4]}, ModelError),
        ("Conv", "x w", {"kernel_shape": [2]}, ModelError),
        ("Conv", "x a", {}, UnreadError),
        ("Conv", "v v", {}, UnreadError),
        ("Conv", "x", {}, ModelError),
        ("MaxPool", "x", {}, ModelError),
        ("MaxPool", "x", {"kernel_shape": [2, 2], "ceil_mode": 0.5}, ModelError),
        ("MaxPool", "x", {"kernel_shape": [2, 2], "ceil_mode": 2}, UnreadError),
        (
            "AveragePool",
            "x",
            {"kernel_shape": [2, 2], "count_include_pad": "1"},
            ModelError,
        ),
        ("ConvInteger", "q qw", {"opset": 9}, UnreadError),
        (
            "AveragePool",
            "x",
            {"kernel_shape": [2, 2], "ceil_mode": 1, "opset": 9},
            UnreadError,
        ),
        ("ConvTranspose", "x w", {"output_padding": [-1, 0]}, ModelError),
        ("ConvTranspose", "x w", {"output_shape": [0, 1]}, ModelError),
        ("ConvTranspose", "p w", {}, UnreadError),
        ("Pad", "x p", {"mode": "mirror"}, UnreadError),
        ("Pad", "x", {}, ModelError),
        ("Pad", "x", {"opset": 10}, ModelError),
        ("Pad", "x", {"opset": 1}, ModelError),
        ("Pad", "x", {"opset": 9, "pads": [0] * 8, "value": "1"}, ModelError),
        ("Pad", "x real", {}, ModelError),
        ("Pad", "x odd", {}, ModelError),
        ("Pad", "x few", {}, ModelError),
        ("Pad", "x far", {}, UnreadError),
        ("Pad", "x p two a", {"opset": 18}, ModelError),
        ("Pad", "x few two twice", {"opset": 18}, UnreadError),
        ("Pad", "x few two beyond", {"opset": 18}, UnreadError),
    ],
)
def test_what_is_refused(
    op: str, inputs: str, given: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        read(op, inputs, **given)
