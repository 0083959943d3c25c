"""Nodes drawn on padded data, with what becomes of the padding behind each, or why it stays.

`steps.txt` keeps them: padding that moves further, less far or otherwise than before shows there.
The table of steps says so first, and then the proof, which has a table of its own.
"""

import re
from pathlib import Path
from typing import Final

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph, Node
from onnxpad.padding import step_table
from onnxpad.padding.step_table import PadLayer
from onnxpad.proof.layers import Layer
from onnxpad.proof.steps import data_inputs as proof_inputs
from onnxpad.proof.steps import through
from onnxpad.reasons import RefusalError
from tests.support import one
from tests.support.lines import Lines

_LINE: Final = re.compile(r"opset (\d+), (\w+) with (\S+) (.+?): (.*)")

WHERE: Final = {
    "around": ((0, 0), (0, 0), (1, 2), (3, 0)),
    "at the ends": ((0, 0), (0, 0), (0, 1), (0, 2)),
    "on channels": ((0, 0), (1, 1), (0, 0), (0, 0)),
    "but cropped": ((0, 0), (0, 0), (-1, 1), (0, 0)),
    "of batch": ((2, 0), (0, 0), (0, 1), (0, 0)),
}
"""Amounts around data of 2, 3, 4 and 5 elements along its axes."""

_GIVEN: Final = {
    "c": "{t} c = {2}", "zero": "{t} zero = {0}", "one": "{t} one = {1}", "low": "{t} low = {1}",
    "same": "{t}[3, 1, 1] same = {2, 2, 2}", "each": "{t}[3, 1, 1] each = {1, 2, 3}",
    "many": "{t}[3] many = {1, 2, 3}", "nil": "{t}[3] nil = {0, 0, 0}",
    "line": "{t}[1] line = {3}", "half": "float half = {0.5}",
    "scales": "float[3] scales = {1, 2, 4}", "byte": "uint8 byte = {7}",
    "signed": "int8 signed = {-3}", "wide": "int32 wide = {0}", "flat": "int64[2] flat = {0, -1}",
    "kept": "int64[4] kept = {0, 0, 0, 0}", "split": "int64[5] split = {0, 1, 3, 0, 0}",
    "joined": "int64[3] joined = {2, 3, -1}", "axis": "int64[1] axis = {0}",
    "last": "int64[1] last = {-1}", "second": "int64[1] second = {1}",
    "third": "int64[1] third = {2}", "both": "int64[2] both = {2, 3}",
    "from": "int64[1] from = {1}", "to": "int64[1] to = {100}", "end": "int64[1] end = {-1}",
    "two": "int64[1] two = {2}", "froms": "int64[2] froms = {1, 0}",
    "tos": "int64[2] tos = {3, -1}", "yes": "bool yes = {1}", "parts": "int64[2] parts = {1, 2}",
    "shape": "int64[4] shape = {1, 1, 1, 1}",
}  # fmt: skip


def said(line: str) -> str:
    """The line with what becomes of the padding now."""
    asked = line.partition("  =>  ")[0]
    found = _LINE.fullmatch(asked)
    assert found
    opset, dtype, fill, where, body = found.groups()
    value = float(fill) if "." in fill or "inf" in fill else int(fill)
    return f"{asked}  =>  {_both(body, dtype, int(opset), value, where)}"


def _both(body: str, dtype: str, opset: int, value: float, where: str) -> str:
    amounts = WHERE[where]
    sizes = [size + sum(pair) for size, pair in zip((2, 3, 4, 5), amounts, strict=True)]
    inputs = ", ".join(f"{dtype}[{', '.join(map(str, sizes))}] {name}" for name in ("x", "w"))
    given = ", ".join(
        text.replace("{t}", dtype)
        for name, text in _GIVEN.items()
        if re.search(rf"\b{name}\b", body)
    )
    outputs = re.split(", ", body.partition(" = ")[0])
    declared = ", ".join(f"float[] {name}" for name in outputs)
    proto = one(body, inputs=inputs, outputs=declared, initializers=given, opset=opset)
    for output in proto.graph.output:
        output.ClearField("type")
    graph = Graph.from_proto(proto)
    (node,) = graph.nodes
    analysis = Analysis(graph)
    told = _by_table(graph, analysis, node, PadLayer(amounts, value))
    fill = "negative zero" if str(value) == "-0.0" else value
    layers = (Layer(amounts, fill),)
    inputs_read = proof_inputs(graph, analysis, node)
    proved = []
    for place in range(len(outputs)):
        passed = (
            through(graph, analysis, node, place, [layers] * len(inputs_read))
            if inputs_read
            else None
        )
        proved.append(
            "nothing"
            if passed is None
            else " ".join(f"{a} of {f}" for a, f in passed.layers) or "-"
        )
    return f"{told}  proved: {'; '.join(proved)}"


def _by_table(graph: Graph, analysis: Analysis, node: Node, layer: PadLayer) -> str:
    """The layer behind a node and what becomes of the node; or why the padding stays."""
    inputs = step_table.data_inputs(graph, node)
    if not inputs:
        return "no step"
    try:
        found = step_table.behind(graph, analysis, node, inputs, [layer] * len(inputs))
    except RefusalError as refusal:
        return f"[{refusal.code}]"
    parts = [
        f"{found.layer.amounts} of {found.layer.value}",
        *(f"{place}: {array.tolist()}" for place, array in found.constants.items()),
        *(f"{name}: {value}" for name, value in found.attributes.items()),
        "nothing left" if found.vanishes else "",
    ]
    return ", ".join(filter(None, parts))


LINES: Final = Lines(Path(__file__).with_name("steps.txt"), said)
