"""Models that onnxruntime's optimiser may get wrong once a rewrite lays something open.

`models.txt` has them as text, in blocks: a title; the opset, inputs, outputs and initializers, of
which those without values are full of ones; and the nodes. Or the whole model, if it has functions.
`let NAME = TEXT` above all blocks is what `$NAME` stands for. What a title begins with says what is
asked of the model, and what stands behind `=>`:

- `optimised`: runs rightly as it is, also optimised. Where an exact rewrite would have a Pad
  folded wrongly, a kernel crash, or a size taken from a declaration, it stays, or is shielded.
  The codes of what `fix` changes.
- `together`: neighbours that are fused rightly may meet. The same.
- `apart`: a Pad keeps operators apart that are fused wrongly once it is gone, so it stays. The
  versions of onnxruntime that do so, `some data` where only some data show it.
- `kept`: what stays since onnxruntime would crash, or compute something else, in a body, in blocks
  of channels or at sizes that are open. The code of the reason. It is not run.
- `wrong`: a model that onnxruntime's optimiser gets wrong as it is. The versions.
"""

import math
import re
from pathlib import Path
from typing import Final

import onnx

import onnxpad
from tests.support import one, parsed

FILE: Final = Path(__file__).with_name("models.txt")
_EMPTY: Final = re.compile(r"(\w+\[([\d, ]+)\] \w+)(?=, |$)")


def of(kind: str) -> dict[str, tuple[onnx.ModelProto, str]]:
    """The models of a kind by title, each with what stands behind `=>`."""
    first, *blocks = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    given = dict(line.removeprefix("let ").split(" = ", 1) for line in first.splitlines())
    found = {}
    for block in (each for each in blocks if each.startswith(f"# {kind}")):
        title, *lines, told = block.splitlines()
        text = re.sub(r"\$([A-Z]+)", lambda name: given[name[1]], "\n".join(lines))
        found[title.removeprefix(f"# {kind}: ")] = _made(text), told.removeprefix("=> ")
    return found


def _made(text: str) -> onnx.ModelProto:
    """The model of a block, without shapes of its outputs, or of those of branches."""
    head, _, nodes = text.partition("\n")
    if not nodes:
        model = parsed(head)
    else:
        opset, inputs, outputs, given = (part.strip() for part in f"{head} ".split(" | "))
        number = int(opset.removeprefix("opset "))
        given = _EMPTY.sub(lambda name: f"{name[1]} = {{{_ones(name[2])}}}", given)
        ir = 8 if number < 21 else 10
        model = one(nodes, inputs=inputs, outputs=outputs, initializers=given, opset=number, ir=ir)
    inner = [each.g for node in model.graph.node for each in node.attribute if each.HasField("g")]
    for output in (output for graph in (model.graph, *inner) for output in graph.output):
        output.type.tensor_type.ClearField("shape")
    return model


def _ones(sizes: str) -> str:
    return ", ".join(["1"] * math.prod(map(int, sizes.split(", "))))


def codes(model: onnx.ModelProto) -> str:
    """The codes of what `fix` changes in a model."""
    return " ".join(each.code for each in onnxpad.fix(model, validate=False).changes) or "nothing"


def keep() -> None:
    """Keeps the codes of all changes anew."""
    *blocks, last = FILE.read_text(encoding="utf-8").split("\n\n")
    told = {f"# {kind}: {title}": codes(model) for kind in ("optimised", "together")
            for title, (model, _) in of(kind).items()}  # fmt: skip
    for place, block in enumerate(blocks):
        title, _, rest = block.partition("\n")
        if title in told:
            blocks[place] = f"{title}\n{rest.rpartition('=>')[0]}=> {told[title]}"
    FILE.write_text("\n\n".join([*blocks, last]), encoding="utf-8")
