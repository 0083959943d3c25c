"""What the analysis of networks with open sizes costs: `python -m tests.benchmarks.sizes`.

Asks for all there is to know of every tensor of networks of growing length, with the padding that
exporters compute, and prints the CPU seconds: least of some runs, the graph being loaded already.
"""

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from typing import Final

import onnx

from onnxpad.facts import Analysis
from onnxpad.graph import Graph

COUNTS: Final = (500, 1_000, 2_000, 4_000, 8_000)
HEAD: Final = '<ir_version: 9, opset_import: ["" : 18]> g (float[1, 1, height, width] x) => (y)'


def same(place: int, kernel: int, stride: int) -> str:
    """timm's Conv2dSame, node by node as TorchScript's exporter writes it; reads x, gives y."""
    lines = []
    for axis, name in ((2, "h"), (3, "w")):
        lines.append(f"""
            {name}0 = Shape (x) {name}1 = Constant <value_int = {axis}> ()
            {name}2 = Gather <axis = 0> ({name}0, {name}1) {name}3 = Cast <to = 1> ({name}2)
            {name}4 = Constant <value_float = {stride}.0> () {name}5 = Div ({name}3, {name}4)
            {name}6 = Ceil ({name}5) {name}7 = Constant <value_float = 1.0> ()
            {name}8 = Sub ({name}6, {name}7) {name}9 = Mul ({name}8, {name}4)
            {name}10 = Constant <value_float = {kernel}.0> () {name}11 = Add ({name}9, {name}10)
            {name}12 = Cast <to = 1> ({name}2) {name}13 = Sub ({name}11, {name}12)
            {name}14 = Constant <value_float = 0.0> () {name}15 = Clip ({name}13, {name}14, )
            {name}16 = Constant <value_float = 2.0> () {name}17 = Div ({name}15, {name}16)
            {name}18 = Cast <to = 7> ({name}17) {name}19 = Cast <to = 1> ({name}18)
            {name}20 = Sub ({name}15, {name}19) {name}21 = Constant <value_ints = [0]> ()
            {name}22 = Unsqueeze ({name}19, {name}21) {name}23 = Unsqueeze ({name}20, {name}21)""")
    lines.append(f"""
        amounts = Concat <axis = 0> (w22, w23, h22, h23) shape = Shape (amounts)
        c0 = Constant <value_ints = [0]> () count = Gather <axis = 0> (shape, c0)
        c8 = Constant <value_ints = [8]> () less = Sub (c8, count) fill = ConstantOfShape (less)
        none = Cast <to = 7> (fill) whole = Cast <to = 7> (amounts)
        all = Concat <axis = 0> (whole, none) two = Constant <value_ints = [-1, 2]> ()
        pairs = Reshape (all, two) last = Constant <value_ints = [-1]> ()
        first = Constant <value_ints = [-9223372036854775807]> ()
        back = Slice (pairs, last, first, c0, last) turned = Transpose <perm = [1, 0]> (back)
        pads = Reshape (turned, last) padded = Pad (x, pads)
        conv = Conv <strides = [{stride}, {stride}]> (padded, k{kernel}) y = Relu (conv)""")
    return "".join(lines)


def doubled(*_: object) -> str:
    """Twice the size, and a convolution."""
    return """up = Resize <mode = "nearest"> (x, , scales)
        conv = Conv <pads = [1, 1, 1, 1]> (up, k3) y = Relu (conv)"""


def strided(*_: object) -> str:
    """SAME with a stride."""
    return """conv = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, k3) y = Relu (conv)"""


def atrous(place: int, rate: int, *_: object) -> str:
    """A dilated convolution as tf2onnx writes it: padded to a multiple of the rate, and cropped."""
    return f"""
        size = Shape (x) two = Constant <value_ints = [2]> () four = Constant <value_ints = [4]> ()
        from = Constant <value_ints = [0]> () sides = Slice (size, two, four, from)
        block = Constant <value_ints = [{rate}, {rate}]> ()
        base = Constant <value_ints = [{rate}, {rate}]> () reach = Add (sides, base)
        full = Add (reach, base) div = Div (full, block) mul = Mul (div, block)
        rest = Sub (full, mul) lack = Sub (block, rest) div2 = Div (lack, block)
        mul2 = Mul (div2, block) extra = Sub (lack, mul2) ends = Add (base, extra)
        none = Constant <value_ints = [0, 0]> ()
        pads = Concat <axis = 0> (none, base, none, ends) padded = Pad (x, pads)
        conv = Conv <dilations = [{rate}, {rate}]> (padded, k3)
        largest = Constant <value_ints = [2147483647, 2147483647]> () uncut = Equal (extra, none)
        not = Not (uncut) cut = Cast <to = 7> (not) is = Cast <to = 7> (uncut)
        far = Mul (largest, is) neg = Neg (cut) near = Mul (extra, neg) stop = Add (far, near)
        axes = Constant <value_ints = [2, 3]> () crop = Slice (conv, none, stop, axes)
        y = Relu (crop)"""


Block = tuple[Callable[..., str], tuple[int, ...]]
KINDS: Final[dict[str, Callable[[int], Block]]] = {
    "timm's Conv2dSame, five strides of 2": lambda number: (
        same,
        ((3, 5, 7)[number % 3], 2 if number % 4 == 0 and number < 20 else 1),
    ),
    "the same, down by 32 and up again": lambda number: (
        (same, (3, 2)) if number % 10 < 5 else (doubled, ())
    ),
    "tf2onnx's dilated convolutions": lambda number: (
        (strided, ()) if number < 4 else (atrous, ((2, 4, 6, 12)[number % 4],))
    ),
    "Conv2dSame, ten strides of 2": lambda number: (same, (3, 2 if number < 10 else 1)),
}
"""What the block of each number is."""


def network(kind: Callable[[int], Block], count: int) -> onnx.ModelProto:
    """Blocks in a row, of about so many nodes; each names its tensors anew."""
    held = [f"float[1, 1, {k}, {k}] k{k} = {{{', '.join(['1'] * k * k)}}}" for k in (3, 5, 7)]
    model = onnx.parser.parse_model(
        f"{HEAD} <{', '.join(held)}, float[4] scales = {{1, 1, 2, 2}}> {{}}"
    )
    shared, number = {each.name for each in model.graph.initializer}, 0
    nodes = model.graph.node
    while len(nodes) < count:
        build, given = kind(number)
        block = onnx.parser.parse_graph(
            f"g (float[] x) => (float[] y) {{ {build(number, *given)} }}"
        )
        names = {"x": f"y_{number - 1}" if number else "x", "": ""}
        for node in block.node:
            for field in (node.input, node.output):
                field[:] = [n if n in shared else names.get(n, f"{n}_{number}") for n in field]
        nodes.extend(block.node)
        number += 1
    model.graph.output[0].name = nodes[-1].output[0]
    return model


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
    for title, kind in KINDS.items():
        graphs = [Graph.from_proto(network(kind, count)) for count in COUNTS]
        figures = [seconds(graph, options.times) for graph in graphs]
        print(f"| {title} | {' | '.join(f'{each:.2f}' for each in figures)} |", flush=True)


if __name__ == "__main__":
    main()
