"""What `onnxpad fix` changes in these models, and what remains: writes the tables of README.md.

Environment: that of the package itself, which must be installed.
Run: python remaining.py
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import onnx

import onnxpad

MODELS = Path(__file__).resolve().parents[1]
README = MODELS / "README.md"
UNREPORTED = "unreported"
BEGIN, END = "<!-- remaining.py writes from here -->\n", "<!-- to here -->\n"


def by_code(codes: Iterable[str]) -> str:
    """How often each code occurs, as `7 PAD201, 3 PAD205`."""
    return ", ".join(f"{count} {code}" for code, count in sorted(Counter(codes).items())) or "none"


def remaining(result: onnxpad.FixResult) -> Iterator[tuple[str, str, str]]:
    """Node, code and reason of each finding, then what pads though no finding is about it: none."""
    for finding in result.findings:
        yield finding.node, finding.code, finding.reason
    told = {finding.node for finding in result.findings}
    nodes = [node for node in result.model.graph.node if node.name not in told]
    for node in nodes:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        auto_pad = attributes.get("auto_pad", b"NOTSET").decode()
        if auto_pad != "NOTSET":
            yield node.name, UNREPORTED, f"{node.op_type} auto_pad={auto_pad}"
        elif node.op_type == "Pad":
            readers = {n.op_type for n in result.model.graph.node if node.output[0] in n.input}
            yield node.name, UNREPORTED, f"Pad read by {', '.join(sorted(readers))}"


def table(*rows: tuple[str, ...]) -> str:
    """The first row as the header, and the others."""
    header, *body = rows
    lines = (header, ("---",) * len(header), *body)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def padding(model: onnx.ModelProto) -> tuple[int, int]:
    """How many `Pad`s a model has, and how many SAME, in bodies and functions too."""
    pads, same, pending = 0, 0, [model.graph, *model.functions]
    while pending:
        for node in pending.pop().node:
            pads += node.op_type == "Pad"
            for given in node.attribute:
                same += given.name == "auto_pad" and b"SAME" in given.s
                pending += [given.g] * given.HasField("g") + [*given.graphs]
    return pads, same


Row: TypeAlias = tuple[str, ...]


def rows(name: str, before: onnx.ModelProto, result: onnxpad.FixResult) -> tuple[Row, list[Row]]:
    """What is changed in a model, and what stays: its row in the first table, and in the second."""
    left = list(remaining(result))
    changes = by_code(change.code for change in result.changes)
    counted = zip(padding(before), padding(result.model), strict=True)
    nodes = " to ".join(str(each.nodes) for each in result.counts)
    told = [nodes, *(f"{b} to {a}" for b, a in counted)]
    stays = [(f"`{name}`", f"`{node}`", code, reason) for node, code, reason in left]
    return (f"`{name}`", changes, *told, by_code(code for _, code, _ in left)), stays


def section(changed: Iterable[Row], stays: Iterable[Row]) -> str:
    """Both tables, as they stand in README.md between the marks."""
    one = table(("model", "changes", "nodes", "`Pad`", "SAME", "remaining"), *changed)
    other = table(("model", "node", "code", "reason"), *stays)
    return f"\n{one}\nWhat remains, and why:\n\n{other}\n"


if __name__ == "__main__":
    changed: list[Row] = []
    stays: list[Row] = []
    for path in sorted(MODELS.glob("*.onnx")):
        if "." not in path.stem:  # others are what `onnxpad fix` has left there
            row, more = rows(path.stem, onnx.load(path), onnxpad.fix(path, validate=False))
            changed.append(row)
            stays += more
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    made = section(changed, stays)
    README.write_text(before + BEGIN + made + END + after, encoding="utf-8")
