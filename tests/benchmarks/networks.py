"""The models that are measured, from seeded random weights.

Run as a process of its own, so that the one that measures stays small: Linux counts the memory of
a process from before it becomes another program.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHAINS = (1_000, 5_000, 20_000, 80_000)
KINDS = ("separate", "shared", "same")


def main() -> None:
    """Writes all models into a folder, or (with `count`) says how much padding a file has."""
    if sys.argv[1] == "count":
        print(padding_left(Path(sys.argv[2])))
        return
    folder = Path(sys.argv[1])
    onnx.save(network(width=384, blocks=20, seed=1), folder / "cnn.onnx")
    onnx.save(network(width=8, blocks=99, seed=2), folder / "small.onnx")
    for count in CHAINS:
        for kind in KINDS:
            onnx.save(chain(count, kind), folder / f"{kind}_{count}.onnx")


def padding_left(path: Path) -> int:
    """How many `Pad` nodes and `auto_pad` attributes of SAME or VALID a model has."""
    nodes = onnx.load(path, load_external_data=False).graph.node
    written = (a.s for node in nodes for a in node.attribute if a.name == "auto_pad")
    pads = sum(1 for node in nodes if node.op_type == "Pad")
    return pads + sum(1 for value in written if value not in {b"", b"NOTSET"})


def network(width: int, blocks: int, seed: int) -> onnx.ModelProto:
    """A residual network as exporters write it, with its padding in `Pad`, SAME_UPPER and VALID.

    A block is a 3x3 Conv with a Relu and, every other one, a sum; half of the blocks pad in a `Pad`
    of their own. The file has about `36 * blocks * width**2` bytes.
    """
    draw = np.random.default_rng(seed)
    nodes: list[onnx.NodeProto] = []
    held: list[onnx.TensorProto] = []

    def constant(values: np.ndarray[Any, Any], name: str) -> str:
        held.append(numpy_helper.from_array(values, name))
        return name

    def conv(data: str, name: str, channels: int, stride: int, padding: str) -> str:
        attributes: dict[str, Any] = {"strides": [stride] * 2}
        if padding == "pad":
            pads = constant(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), f"{name}_pads")
            nodes.append(helper.make_node("Pad", [data, pads], [f"{name}_padded"], f"{name}_pad"))
            data = f"{name}_padded"
        elif padding == "same":
            attributes["auto_pad"] = "SAME_UPPER"
        else:
            attributes["pads"] = [1, 1, 1, 1]
        kernel = draw.standard_normal((width, channels, 3, 3), np.float32) / (3 * channels**0.5)
        weight = constant(kernel.astype(np.float32), f"{name}_weight")
        nodes.append(helper.make_node("Conv", [data, weight], [f"{name}_y"], name, **attributes))
        nodes.append(helper.make_node("Relu", [f"{name}_y"], [f"{name}_relu"], f"{name}_act"))
        return f"{name}_relu"

    data = conv("image", "stem", 3, 2, "pad")
    nodes.append(
        helper.make_node(
            "MaxPool",
            [data],
            ["pooled"],
            "pool",
            kernel_shape=[3, 3],
            strides=[2, 2],
            auto_pad="SAME_UPPER",
        )
    )
    data = "pooled"
    for block in range(blocks):
        hidden = conv(data, f"block{block}", width, 1, ("pad", "same", "pad", "own")[block % 4])
        if block % 2:
            nodes.append(
                helper.make_node("Add", [data, hidden], [f"sum{block}"], f"block{block}_add")
            )
            hidden = f"sum{block}"
        data = hidden
    nodes.append(helper.make_node("GlobalAveragePool", [data], ["y"], "head"))
    return _model(nodes, held, [1, 3, 224, 224], [1, width, 1, 1])


def chain(count: int, kind: str) -> onnx.ModelProto:
    """`count` nodes in a row on one channel: `Pad` and Conv in turns, or Convs with SAME_UPPER."""
    weight = np.random.default_rng(3).standard_normal((1, 1, 3, 3)).astype(np.float32)
    held = [numpy_helper.from_array(weight, "weight")]
    pads = np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)
    nodes: list[onnx.NodeProto] = []
    if kind == "shared":
        held.append(numpy_helper.from_array(pads, "pads"))
    data = "image"
    for index in range(count if kind == "same" else count // 2):
        name = f"conv{index}"
        extra: dict[str, Any] = {}
        if kind == "same":
            extra["auto_pad"] = "SAME_UPPER"
        else:
            amounts = "pads" if kind == "shared" else f"pads{index}"
            if kind != "shared":
                held.append(numpy_helper.from_array(pads, amounts))
            nodes.append(helper.make_node("Pad", [data, amounts], [f"p{index}"], f"pad{index}"))
            data = f"p{index}"
        nodes.append(helper.make_node("Conv", [data, "weight"], [f"y{index}"], name, **extra))
        data = f"y{index}"
    nodes.append(helper.make_node("Identity", [data], ["y"], "head"))
    return _model(nodes, held, [1, 1, 8, 8], [1, 1, 8, 8])


def _model(
    nodes: list[onnx.NodeProto], held: list[onnx.TensorProto], reads: list[int], gives: list[int]
) -> onnx.ModelProto:
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, reads)
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, gives)
    graph = helper.make_graph(nodes, "benchmark", [image], [output], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


if __name__ == "__main__":
    main()
