"""Small models drawn, with what `fix` makes of them and says, and `check`, as lines of text.

`fixes.txt` keeps them: padding that is written otherwise, or that stays for another reason, shows
there. Nothing is validated here; every model was, as it was drawn.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import onnx
from onnx.helper import set_model_props

import onnxpad
from onnxpad.facts.recorded import METADATA
from onnxpad.finding import Change, Finding
from tests.proof.pairs import codes, model_of
from tests.support.lines import Lines, facts

_LINE: Final = re.compile(r"opset (\d+), (\w+) length (\w+)((?:, [\w-]+ [\w.:-]+)*): (.*)")


def nodes_told(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """One line for each node."""
    for node in nodes:
        given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        given = {k: v.dims if isinstance(v, onnx.TensorProto) else v for k, v in given.items()}
        ends = f"{', '.join(node.output)} = {node.domain}.{node.op_type}({', '.join(node.input)})"
        yield f"[{node.name}] {ends} {given or ''} {node.doc_string}"


def asked_of(asked: str) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The model of a line, and the options of `fix`."""
    found = _LINE.fullmatch(asked)
    assert found
    opset, dtype, length, options, body = found.groups()
    pairs = [each.split() for each in options.split(", ") if each]
    said: dict[str, Any] = {name.replace("-", "_"): value == "on" or value for name, value in pairs}
    proto = model_of(body, dtype, length, int(opset))
    if (recorded := said.pop("recorded", None)) is not None:
        set_model_props(proto, {METADATA: recorded_text(recorded)})
    if (sizes := said.pop("sizes", None)) is not None:
        said["dims"] = {"n": int(sizes) if sizes.isdigit() else sizes}
    return proto, said


def recorded_text(sizes: str) -> str:
    """The sizes of the only axis as metadata, for `2..64:2`."""
    limits, _, step = sizes.partition(":")
    first, last = limits.split("..")
    entry = {"first": int(first), "last": int(last), "step": int(step or 1), "axes": [["x", 2]]}
    return json.dumps({"n": entry})


def said(line: str) -> str:
    """The line with what `fix` makes now."""
    asked = line.partition("  =>  ")[0]
    proto, options = asked_of(asked)
    result = onnxpad.fix(proto, validate=False, **options)
    parts = [_told(each) for each in result.findings]
    parts += [_made(each) for each in result.changes]
    parts += ["warns"] * len(result.warnings)
    if result.changed:
        notes = {each.key: each.value for each in result.model.metadata_props}
        parts += [f"notes {key}: {value}" for key, value in notes.items()]
        before = [*nodes_told(proto.graph.node)]
        after = [*nodes_told(result.model.graph.node)]
        parts += [each.strip() for each in after if each not in before]
        old = {each.name for each in proto.graph.initializer}
        for tensor in result.model.graph.initializer:
            if tensor.name not in old:
                values = onnx.numpy_helper.to_array(tensor).tolist()
                parts.append(f"{tensor.name} is {values}")
        checked = (_told(each) for each in onnxpad.check(proto, **options).findings)
        parts += [f"checked: {each}" for each in checked if each not in parts]
    return f"{asked}  =>  {' | '.join(parts) or 'nothing'}"


def _told(found: Finding) -> str:
    reason = "" if found.reason_code is None else str(found.reason_code)
    words = [found.code, str(found.severity), found.node, reason]
    return "; ".join(filter(None, [*words, str(facts(found.evidence))]))


def _made(change: Change) -> str:
    proof = change.certificate
    words = [f"{change.code} made", change.node, change.op_type, *codes(proof.assumptions)]
    removed = f"without {' '.join(change.removed)}" if change.removed else ""
    return "; ".join(filter(None, [*words, removed]))


LINES: Final = Lines(Path(__file__).with_name("fixes.txt"), said)
