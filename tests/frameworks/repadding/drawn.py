"""Window operators drawn, with what each is written into by `repad` for every framework.

`repads.txt` keeps them: padding that is written otherwise than before, or is not, shows there.
"""

from pathlib import Path
from typing import Final

import onnx

from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from tests.support import one
from tests.support.lines import Lines

_INPUTS: Final = "float[1, 2, 9, 8] x, float[1, 2, h, w] o, float[1, 2, 7] s, float[1, 2, n] r"


def _weight(kernel: int, axes: int) -> str:
    """A weight of two channels on each side."""
    values = ", ".join(["1"] * (4 * kernel**axes))
    return f"float[2, 2, {', '.join([str(kernel)] * axes)}] w{kernel}x{axes} = {{{values}}}"


_GIVEN: Final = ", ".join(_weight(kernel, axes) for kernel in (1, 2, 3, 4) for axes in (1, 2))


def said(line: str) -> str:
    """The line with what is written now."""
    asked = line.partition("  =>  ")[0]
    opset, _, body = asked.removeprefix("opset ").partition(": ")
    model = one(f"y = {body}", inputs=_INPUTS, initializers=_GIVEN, opset=int(opset))
    return f"{asked}  =>  {told(model)}"


def told(model: onnx.ModelProto) -> str:
    """What is written of a model's one operator: frameworks that agree stand together."""
    by_text: dict[str, list[str]] = {}
    for name, framework in FRAMEWORKS.items():
        changes, unchanged = repad_graph(Graph.from_proto(model), framework)
        texts = ["stays same" if each.is_same else "stays" for each in unchanged]
        texts += [f"{e.intent}, {dict(sorted(e.attributes_after.items()))}" for e in changes]
        (text,) = texts
        by_text.setdefault(text, []).append(name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in by_text.items())


LINES: Final = Lines(Path(__file__).with_name("repads.txt"), said)
