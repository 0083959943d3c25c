"""Models by the text of their nodes alone: inputs and constants are there by their names.

`p_1_m2` are amounts of a `Pad` for a line: 1 before it and -2 after; `p_1_2_0_3` those of a square,
begins first. `k_3` and `i_3` are the integer 3, alone and as a list.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import onnx

from tests.support import W, one

INPUTS: Final = {
    "x": "float[1, 2, L]", "short": "float[1, 2, 3]", "s": "float[1, 2, 9, 8]",
    "flat": "float[N]", "f": "float",
    "g": "float", "q": "int64[6]", "e": "int64[1]", "r": "int64[K]", "yes": "bool",
    "small": "int8[1, 2, L]", "two8": "int8[1, 2, 2]", "bytes": "uint8[1, 2, L]",
}  # fmt: skip
CONSTANTS: Final = {
    "one": "float one = {1}", "two": "float two = {2}", "half": "float half = {0.5}",
    "zero": "float zero = {0}", "minus": "float minus = {-0.0}", "low": "float low = {-inf}",
    "nan": "float nan = {nan}", "lowest": "float lowest = {-3.4028235e38}",
    "least8": "int8 least8 = {-128}", "three8": "int8 three8 = {3}", "four8": "int8 four8 = {4}",
    "w": W, "v": W.replace(" w ", " v ").replace("-2", "5"),
    **{f"w{n}": f"float[1, 2, {n}] w{n} = {{{', '.join('123123'[: 2 * n])}}}" for n in (1, 2, 3)},
    "t": "float[2, 1, 3] t = {1, 2, 3, 4, 5, 6}", "bias": "float[1] bias = {2}",
    "t22": "float[2, 2, 3] t22 = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6}",
    "biases": "float[2] biases = {1, 2}", "none3": "int64[6] none3 = {0, 0, 0, 0, 0, 0}",
    "scale": "float scale = {0.5}", "unit": "float unit = {1}", "nine": "uint8 nine = {9}",
    "signs": "float[2, 1] signs = {1, -1}", "three": "uint8 three = {3}",
    "none2": "int64[2] none2 = {0, 0}", "wide": "int64[6] wide = {0, 1, 1, 0, 0, 1}",
    "w33": "float[1, 3, 3] w33 = {1, 2, 3, 1, 2, 3, 1, 2, 3}",
}  # fmt: skip
_AMOUNTS: Final = re.compile(r"\bp((?:_m?\d)+)\b")
_NUMBERS: Final = re.compile(r"\b([ik])_(m?\d+)\b")


def model(body: str, opset: int = 17, output: str = "y", ir: int = 9) -> onnx.ModelProto:
    """A model of nodes; its output is of the type of the data."""
    words = {*re.findall(r"\b[a-z]\w*", re.sub(r'"[^"]*"', "", body))}
    given = [text for name, text in CONSTANTS.items() if name in words]
    for text in sorted({*_AMOUNTS.findall(body)}):
        ends = [each.replace("m", "-") for each in text.split("_")[1:]]
        half = len(ends) // 2
        told = ["0", "0", *ends[:half], "0", "0", *ends[half:]]
        given.append(f"int64[{len(told)}] p{text} = {{{', '.join(told)}}}")
    for kind, number in sorted({*_NUMBERS.findall(body)}):
        shape = "[1]" if kind == "i" else ""
        given.append(f"int64{shape} {kind}_{number} = {{{number.replace('m', '-')}}}")
    inputs = [f"{kind} {name}" for name, kind in INPUTS.items() if name in words]
    kinds = {"small": "int8", "two8": "int8", "bytes": "uint8"}
    dtype = next((kind for name, kind in kinds.items() if name in words), "float")
    more: Mapping[str, Any] = {"opset": opset, "ir": ir, "initializers": ", ".join(given)}
    return one(body, inputs=", ".join(inputs), outputs=f"{dtype}[] {output}", **more)
