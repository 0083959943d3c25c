"""Windows and `Pad`s drawn, with what the proof and the passes read of each, or why nothing.

`readings.txt` keeps them: an attribute, a default or a limit read otherwise shows there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from onnxpad.arithmetic.window import AnyWindow
from onnxpad.errors import ModelError
from onnxpad.operators.read import UnreadableError, read_pad, read_transposed, read_window
from onnxpad.proof.meaning import MeaninglessError
from onnxpad.proof.scattering import scattered
from tests.proof.test_readings import node_of, pad_said, pairs, window_said
from tests.support.lines import Lines


def said(line: str) -> str:
    """The line with what is read now."""
    asked = line.partition("  =>  ")[0]
    opset, _, body = asked.removeprefix("opset ").partition(": ")
    spreads = body.startswith("ConvTranspose")
    read = spread_said if spreads else pad_said if body.startswith("Pad") else window_said
    return f"{asked}  =>  {read(body, int(opset))}  |  {passes_said(body, int(opset))}"


def spread_said(body: str, opset: int) -> str:
    """What the proof reads of a transposed convolution, and where that is other, further on."""
    found = []
    for further in (False, True):
        try:
            passed = scattered(*node_of(body, opset, "float"), further=further)
        except MeaninglessError:
            found.append("refused")
            continue
        flags = [name for name in ("runs", "disputed") if getattr(passed, name)]
        (layer,) = passed.layers
        found.append(f"{passed.key} {pairs(layer.amounts)} of {layer.fill} {' '.join(flags)}")
    return "; ".join(dict.fromkeys(found))


def passes_said(body: str, opset: int) -> str:
    """What passes read of the same node."""
    dtype = "uint8" if any(each in body for each in ("Integer", "Nhwc", "QLinear")) else "float"
    graph, analysis, node = node_of(body, opset, dtype)
    try:
        if node.op == "Pad":
            pad = read_pad(graph, analysis, node)
            words = [pad.mode, pad.axes, pad.amounts, pad.value, pad.constant_amounts]
            words += [each for rank in (4, 3) for each in (pad.over(rank), pad.extents_over(rank))]
            return _all(words)
        if node.op == "ConvTranspose":
            spread = read_transposed(graph, analysis, node)
            slide = [*map(_window, spread.windows), spread.auto_pad, spread.pads]
            more = [spread.pads_written, spread.output_padding, spread.output_shape, spread.axes]
            bias = spread.bias and spread.bias.name
            return _all([*slide, *more, spread.is_explicit, bias, spread.data.name])
        op = read_window(graph, analysis, node)
    except (ModelError, UnreadableError):
        return "refused"
    words = [*map(_window, op.windows), op.auto_pad, op.pads, op.pads_written, op.ceil_mode]
    words += [op.count_include_pad, op.zero, op.padding.name, op.data.name]
    return _all([*words, op.rank, op.axes, op.is_dilated, op.gives_indices])


def _all(words: Sequence[object]) -> str:
    return " ".join("-" if each is None else str(each) for each in words)


def _window(window: AnyWindow) -> str:
    return f"{window.kernel}/{window.stride}/{window.dilation}"


LINES: Final = Lines(Path(__file__).with_name("readings.txt"), said)
