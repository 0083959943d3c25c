"""How much padding a model has, as a person counts it: `Pad`s, and operators with `auto_pad`."""

from collections.abc import Iterable

import onnx

from onnxpad.finding import Counts

_STANDARD = {"", "ai.onnx"}


def counts_of(graphs: Iterable[onnx.GraphProto | onnx.FunctionProto]) -> Counts:
    """Counts over graphs and the bodies in them; long tensors need not be there."""
    pads = auto_pads = ceil_modes = 0
    left = list(graphs)
    while left:
        for node in left.pop().node:
            pads += node.op_type == "Pad" and node.domain in _STANDARD
            for item in node.attribute:
                if item.name == "auto_pad":
                    auto_pads += item.s not in {b"", b"NOTSET"}
                elif item.name == "ceil_mode":
                    ceil_modes += item.i == 1
                if item.HasField("g"):
                    left.append(item.g)
                left.extend(item.graphs)
    return Counts(pads, auto_pads, ceil_modes)
