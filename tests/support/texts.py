"""Models as ONNX text, and weights and amounts that many of them read."""

import re

import onnx

from onnxpad.finding import SiteForm, StepForm, WrittenAmounts
from onnxpad.semantics.layers import onnx_order

W = "float[3, 2, 3, 3] w = {" + ", ".join(str(i % 5 - 2) for i in range(54)) + "}"
"""The weight of a Conv of two channels, as an initializer in ONNX text."""

PADS = "int64[8] p = {0, 0, 1, 2, 0, 0, 2, 1}"
"""WrittenAmounts of a `Pad` that differ by side and axis."""

BORDER = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
"""WrittenAmounts of a `Pad`: one on every side."""

LOW = "float c = {-inf}"
"""What a MaxPool pads with."""

_DOMAINS = re.compile(r"= ?((?:[A-Za-z_]\w*\.)+)[A-Z]\w* ?[<(]")
"""In a graph, the domain of a node that has one."""


_AMOUNTS = re.compile(r"((?:axis )?[\w-]+) (-?\d+)\+(-?\d+),? ?")
_WINDOWS = re.compile(r"(Conv(?!Trans)|\w+Pool|Q?Linear|Max|Average)")


def site_form(text: str) -> SiteForm:
    """How a place pads, as `computed Pad H 1+2 -> Relu -> Conv pads H 0+1 counted`."""
    return SiteForm(tuple(map(_step_form, filter(None, text.split(" -> ")))))


def _step_form(text: str) -> StepForm:
    axes = tuple((name, int(a), int(b)) for name, a, b in _AMOUNTS.findall(text))
    words, _, beside = _AMOUNTS.sub("", text).partition(" with ")
    op, *flags = words.removeprefix("computed ").split()
    kind = "pad" if op == "Pad" else "transposed" if op == "ConvTranspose" else "step"
    kind = "window" if _WINDOWS.match(op) else kind
    pads = tuple(onnx_order([(begin, end) for _, begin, end in axes]))
    return StepForm(
        op,
        kind,  # type: ignore[arg-type]
        WrittenAmounts(axes, (("pads", pads),) if "pads" in flags else ())
        if axes or "nothing" in flags
        else None,
        source="computed" if words.startswith("computed ") else "",
        mode=next((mode for mode in ("edge", "reflect", "wrap") if mode in flags), ""),
        is_guarded="guarded" in flags,
        has_pads="pads" in flags,
        is_counted="counted" in flags,
        beside=tuple(filter(None, beside.split(", "))),
    )


def parsed(text: str, body: str = "", *, opset: int = 17, ir: int = 9) -> onnx.ModelProto:
    """A model from ONNX text, not checked.

    Args:
        text: A whole model, which begins with `<`, or a graph and the functions that it calls, or
            the inputs, outputs and initializers of a graph.
        body: The nodes of such a graph.
        opset: For a graph: the opset; that of further domains is 1.
        ir: For a graph: the version of the format.
    """
    if text.lstrip().startswith("<"):
        return onnx.parser.parse_model(text)
    if body:
        text = f"g {text} {{ {body} }}"
    further = {name.removesuffix(".") for name in _DOMAINS.findall(text)} - {"ai.onnx"}
    opsets = "".join(f', "{domain}" : 1' for domain in sorted(further))
    return onnx.parser.parse_model(
        f'<ir_version: {ir}, opset_import: ["" : {opset}{opsets}]>\n{text}'
    )


def checked(text: str) -> onnx.ModelProto:
    """A model from ONNX text as `parsed`, checked."""
    proto = parsed(text)
    onnx.checker.check_model(proto)
    return proto


def one(
    body: str,
    *,
    inputs: str = "float[1, 2, 9, 8] x",
    outputs: str = "float[] y",
    initializers: str = "",
    opset: int = 17,
    ir: int = 9,
) -> onnx.ModelProto:
    """A model of one graph from its nodes; `y` is its output unless said otherwise."""
    given = f"<{initializers}>" if initializers else ""
    proto = parsed(f"g ({inputs}) => ({outputs}) {given} {{ {body} }}", opset=opset, ir=ir)
    for output in proto.graph.output:  # its rank is onnxruntime's to say
        output.type.tensor_type.ClearField("shape")
    return proto
