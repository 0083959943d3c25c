"""Window operators drawn, with what each is written into by `repad` for every framework.

`repads.txt` keeps them: padding that is written otherwise than before, or is not, shows there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import onnx

from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from tests.support import parsed

REPADS: Final = Path(__file__).with_name("repads.txt")

_INPUTS: Final = "float[1, 2, 9, 8] x, float[1, 2, h, w] o, float[1, 2, 7] s, float[1, 2, n] r"


def _weight(kernel: int, axes: int) -> str:
    """A weight of two channels on each side."""
    values = ", ".join(["1"] * (4 * kernel**axes))
    return f"float[2, 2, {', '.join([str(kernel)] * axes)}] w{kernel}x{axes} = {{{values}}}"


_GIVEN: Final = ", ".join(_weight(kernel, axes) for kernel in (1, 2, 3, 4) for axes in (1, 2))


def kept() -> dict[int, list[tuple[str, str]]]:
    """The operators by opset, each with what is written for the frameworks."""
    found: dict[int, list[tuple[str, str]]] = {}
    for line in REPADS.read_text(encoding="utf-8").splitlines():
        opset, _, rest = line.partition(": ")
        body, _, said = rest.partition("  =>  ")
        found.setdefault(int(opset.removeprefix("opset ")), []).append((body, said))
    return found


def model_of(bodies: Sequence[str], opset: int) -> onnx.ModelProto:
    """One graph of all operators; the n-th writes `y_n`."""
    nodes = " ".join(f"y_{place} = {body}" for place, body in enumerate(bodies))
    outputs = ", ".join(f"float[] y_{place}" for place in range(len(bodies)))
    model = parsed(f"g ({_INPUTS}) => ({outputs}) <{_GIVEN}> {{ {nodes} }}", opset=opset)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def written(bodies: Sequence[str], opset: int) -> list[str]:
    """What is written of each operator: frameworks that agree stand together."""
    found: list[dict[str, list[str]]] = [{} for _ in bodies]
    model = model_of(bodies, opset)
    for name, framework in FRAMEWORKS.items():
        graph = Graph.from_proto(model)
        changes, unchanged = repad_graph(graph, framework)
        told = {each.node: "stays same" if each.is_same else "stays" for each in unchanged}
        for each in changes:
            now = dict(sorted(each.attributes_after.items()))
            told[each.node] = f"{each.intent}, {now}"
        for place, by_text in enumerate(found):
            label = f"<y_{place}>"
            by_text.setdefault(told[label].replace(label, "y"), []).append(name)
    return [
        "; ".join(f"{', '.join(names)}: {text}" for text, names in each.items()) for each in found
    ]


def keep() -> None:
    """Keeps what is written of all operators anew."""
    lines = []
    for opset, its in kept().items():
        bodies = [body for body, _ in its]
        for body, said in zip(bodies, written(bodies, opset), strict=True):
            lines.append(f"opset {opset}: {body}  =>  {said}\n")
    REPADS.write_text("".join(lines), encoding="utf-8")
