"""What the analysis of networks with open sizes costs: `python -m tests.benchmarks.sizes`.

Asks for all there is to know of every tensor of networks of growing length, with the padding that
exporters compute, and prints the CPU seconds: least of some runs, the graph being loaded already.
"""

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxpad.facts import Analysis
from onnxpad.graph import Graph

COUNTS = (500, 1_000, 2_000, 4_000, 8_000)


class Builder:
    """A network in the making, on one channel of open height and width."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.held: dict[str, onnx.TensorProto] = {}
        self.data = "image"

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node; returns the name of its output."""
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, values: Any, dtype: type[np.generic] = np.int64) -> str:
        """A Constant of its own, as TorchScript's exporter writes."""
        return self.add("Constant", value=numpy_helper.from_array(np.asarray(values, dtype)))

    def held_as(self, name: str, values: Any, dtype: type[np.generic] = np.int64) -> str:
        """An initializer, shared by name."""
        self.held[name] = numpy_helper.from_array(np.asarray(values, dtype), name)
        return name

    def conv(self, kernel: int, stride: int, **attributes: Any) -> None:
        """A convolution of the data, with its activation."""
        weight = self.held_as(f"weight_{kernel}", np.ones((1, 1, kernel, kernel)), np.float32)
        self.data = self.add("Conv", self.data, weight, strides=[stride] * 2, **attributes)
        self.data = self.add("Relu", self.data)

    def model(self) -> onnx.ModelProto:
        """What has been made."""
        shape: list[int | str | None] = [1, 1, "height", "width"]
        graph = helper.make_graph(
            self.nodes,
            "sizes",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(self.data, TensorProto.FLOAT, None)],
            list(self.held.values()),
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def same(build: Builder, kernel: int, stride: int) -> None:
    """timm's Conv2dSame, node by node as TorchScript's exporter writes it."""

    def total(axis: int) -> str:
        size = build.add("Gather", build.add("Shape", build.data), build.constant(axis), axis=0)
        real = build.add("Cast", size, to=TensorProto.FLOAT)
        steps = build.add("Ceil", build.add("Div", real, build.constant(stride, np.float32)))
        less = build.add("Sub", steps, build.constant(1, np.float32))
        wide = build.add("Mul", less, build.constant(stride, np.float32))
        reach = build.add("Add", wide, build.constant(kernel - 1, np.float32))
        whole = build.add("Add", reach, build.constant(1, np.float32))
        short = build.add("Sub", whole, build.add("Cast", size, to=TensorProto.FLOAT))
        return build.add("Clip", short, build.constant(0, np.float32), "")

    def both(amount: str) -> list[str]:
        half = build.add("Div", amount, build.constant(2, np.float32))
        begin = build.add("Cast", build.add("Cast", half, to=TensorProto.INT64), to=1)
        parts = (begin, build.add("Sub", amount, begin))
        return [build.add("Unsqueeze", part, build.constant([0])) for part in parts]

    height, width = total(2), total(3)
    amounts = build.add("Concat", *both(width), *both(height), axis=0)
    count = build.add("Gather", build.add("Shape", amounts), build.constant([0]), axis=0)
    none = build.add("ConstantOfShape", build.add("Sub", build.constant([8]), count))
    none = build.add("Cast", none, to=TensorProto.INT64)
    whole = build.add("Cast", amounts, to=TensorProto.INT64)
    pairs = build.add("Reshape", build.add("Concat", whole, none, axis=0), build.constant([-1, 2]))
    backwards = build.add(
        "Slice", pairs, build.constant([-1]), build.constant([-(2**63) + 1]), build.constant([0]),
        build.constant([-1]),
    )  # fmt: skip
    turned = build.add("Transpose", backwards, perm=[1, 0])
    pads = build.add("Reshape", turned, build.constant([-1]))
    build.data = build.add("Pad", build.data, pads, mode="constant")
    build.conv(kernel, stride)


def atrous(build: Builder, kernel: int, rate: int) -> None:
    """A dilated convolution as tf2onnx writes it: padded to a multiple of the rate, and cropped."""
    size = build.add("Shape", build.data)
    block = build.held_as(f"rate_{rate}", [rate, rate])
    spatial = build.add(
        "Slice", size, build.held_as("two", [2]), build.held_as("four", [4]),
        build.held_as("zero", [0]),
    )  # fmt: skip
    spatial = build.add("Cast", spatial, to=TensorProto.INT32)
    block = build.add("Cast", block, to=TensorProto.INT32)
    reach = (kernel - 1) * rate
    base = build.held_as(f"base_{reach}", [reach // 2] * 2, np.int32)
    end = build.held_as(f"end_{reach}", [reach - reach // 2] * 2, np.int32)
    full = build.add("Add", build.add("Add", spatial, base), end)
    rest = build.add("Sub", full, build.add("Mul", build.add("Div", full, block), block))
    lack = build.add("Sub", block, rest)
    extra = build.add("Sub", lack, build.add("Mul", build.add("Div", lack, block), block))
    begins = build.add("Cast", base, to=TensorProto.INT64)
    ends = build.add("Cast", build.add("Add", end, extra), to=TensorProto.INT64)
    nothing = build.held_as("nothing", [0, 0])
    pads = build.add("Concat", nothing, begins, nothing, ends, axis=0)
    padded = build.add("Pad", build.data, pads, mode="constant")
    weight = build.held_as(f"weight_{kernel}", np.ones((1, 1, kernel, kernel)), np.float32)
    full_size = build.add("Conv", padded, weight, dilations=[rate] * 2)
    crop = build.add("Cast", extra, to=TensorProto.INT64)
    largest = build.held_as("largest", [2**31 - 1] * 2)
    uncut = build.add("Equal", crop, nothing)
    cut = build.add("Cast", build.add("Not", uncut), to=TensorProto.INT64)
    stop = build.add(
        "Add",
        build.add("Mul", largest, build.add("Cast", uncut, to=TensorProto.INT64)),
        build.add("Mul", crop, build.add("Neg", cut)),
    )
    axes = build.held_as("axes", [2, 3])
    build.data = build.add("Relu", build.add("Slice", full_size, nothing, stop, axes))


def timm(count: int) -> onnx.ModelProto:
    """Conv2dSame behind Conv2dSame, five of them with stride 2."""
    build, number = Builder(), 0
    while len(build.nodes) < count:
        same(build, (3, 5, 7)[number % 3], 2 if number % 4 == 0 and number < 20 else 1)
        number += 1
    return build.model()


def hourglasses(count: int) -> onnx.ModelProto:
    """Down by 32 through Conv2dSame, up again through Resize, and so on."""
    build, number = Builder(), 0
    scales = build.held_as("scales", [1, 1, 2, 2], np.float32)
    while len(build.nodes) < count:
        if number % 10 < 5:
            same(build, 3, 2)
        else:
            build.data = build.add("Resize", build.data, "", scales, mode="nearest")
            build.conv(3, 1, pads=[1, 1, 1, 1])
        number += 1
    return build.model()


def tensorflow(count: int) -> onnx.ModelProto:
    """SAME with strides, then dilated convolutions of growing rates."""
    build, number = Builder(), 0
    for _ in range(4):
        build.conv(3, 2, auto_pad="SAME_UPPER")
    while len(build.nodes) < count:
        atrous(build, 3, (2, 4, 6, 12)[number % 4])
        number += 1
    return build.model()


def deep(count: int) -> onnx.ModelProto:
    """Ten strides of 2 through Conv2dSame, so that only every 1,024th size is alike, and on."""
    build, number = Builder(), 0
    while len(build.nodes) < count:
        same(build, 3, 2 if number < 10 else 1)
        number += 1
    return build.model()


KINDS: dict[str, Callable[[int], onnx.ModelProto]] = {
    "timm's Conv2dSame, five strides of 2": timm,
    "the same, down by 32 and up again": hourglasses,
    "tf2onnx's dilated convolutions": tensorflow,
    "Conv2dSame, ten strides of 2": deep,
}


def seconds(graph: Graph, times: int) -> float:
    """The least CPU time of an analysis of every tensor."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        analysis = Analysis(graph)
        for node in graph.nodes:
            for tensor in node.outputs:
                analysis.shape(tensor)
                analysis.value(tensor)
        best = min(best, time.process_time() - start)
    return best


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sizes", description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="runs of each  [3]")
    options = parser.parse_args(arguments)
    gc.disable()
    print(f"| CPU seconds by number of nodes | {' | '.join(f'{count:,}' for count in COUNTS)} |")
    print(f"| --- |{' ---: |' * len(COUNTS)}")
    for title, make in KINDS.items():
        figures = [seconds(Graph.from_proto(make(count)), options.times) for count in COUNTS]
        print(f"| {title} | {' | '.join(f'{each:.2f}' for each in figures)} |", flush=True)


if __name__ == "__main__":
    main()
