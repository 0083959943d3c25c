"""The models that are measured, from seeded random weights.

Run as a process of its own, so that the one that measures stays small: Linux counts the memory of
a process from before it becomes another program.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

CHAINS = (1_000, 5_000, 20_000, 80_000)
KINDS = ("separate", "shared", "same")
PADS = np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)


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
    held: dict[str, np.ndarray[Any, Any]] = {}
    lines: list[str] = []

    def conv(data: str, name: str, channels: int, stride: int, padding: str) -> str:
        how = {"same": 'auto_pad = "SAME_UPPER"', "own": "pads = [1, 1, 1, 1]"}.get(padding, "")
        if padding == "pad":
            held[f"{name}_pads"] = PADS
            lines.append(f"[{name}_pad] {name}_padded = Pad ({data}, {name}_pads)")
            data = f"{name}_padded"
        kernel = draw.standard_normal((width, channels, 3, 3), np.float32) / (3 * channels**0.5)
        held[f"{name}_weight"] = kernel.astype(np.float32)
        given = ", ".join(filter(None, [f"strides = [{stride}, {stride}]", how]))
        lines.append(f"[{name}] {name}_y = Conv <{given}> ({data}, {name}_weight)")
        lines.append(f"[{name}_act] {name}_relu = Relu ({name}_y)")
        return f"{name}_relu"

    data = conv("image", "stem", 3, 2, "pad")
    pool = 'MaxPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = "SAME_UPPER">'
    lines.append(f"[pool] pooled = {pool} ({data})")
    data = "pooled"
    for block in range(blocks):
        hidden = conv(data, f"block{block}", width, 1, ("pad", "same", "pad", "own")[block % 4])
        if block % 2:
            lines.append(f"[block{block}_add] sum{block} = Add ({data}, {hidden})")
            hidden = f"sum{block}"
        data = hidden
    lines.append(f"[head] y = GlobalAveragePool ({data})")
    return _model("1, 3, 224, 224", f"1, {width}, 1, 1", lines, held)


def chain(count: int, kind: str) -> onnx.ModelProto:
    """`count` nodes in a row on one channel: `Pad` and Conv in turns, or Convs with SAME_UPPER."""
    weight = np.random.default_rng(3).standard_normal((1, 1, 3, 3)).astype(np.float32)
    held: dict[str, np.ndarray[Any, Any]] = {"weight": weight}
    held |= {"pads": PADS} if kind == "shared" else {}
    lines, data = list[str](), "image"
    for index in range(count if kind == "same" else count // 2):
        how = ' <auto_pad = "SAME_UPPER">' * (kind == "same")
        if kind != "same":
            amounts = "pads" if kind == "shared" else f"pads{index}"
            held[amounts] = PADS
            lines.append(f"[pad{index}] p{index} = Pad ({data}, {amounts})")
            data = f"p{index}"
        lines.append(f"[conv{index}] y{index} = Conv{how} ({data}, weight)")
        data = f"y{index}"
    return _model("1, 1, 8, 8", "1, 1, 8, 8", [*lines, f"[head] y = Identity ({data})"], held)


def _model(
    reads: str, gives: str, lines: list[str], held: dict[str, np.ndarray[Any, Any]]
) -> onnx.ModelProto:
    signature = f"benchmark (float[{reads}] image) => (float[{gives}] y)"
    text = f'<ir_version: 9, opset_import: ["" : 17]> {signature} {{ {" ".join(lines)} }}'
    model = onnx.parser.parse_model(text)
    tensors = (numpy_helper.from_array(array, name) for name, array in held.items())
    model.graph.initializer.extend(tensors)
    return model


if __name__ == "__main__":
    main()
