"""What `onnxpad fix` changes in these models, and what remains: writes the tables of README.md.

Environment: that of the package itself, which must be installed.
Run: python remaining.py
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

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


def section() -> str:
    """Both tables, as they stand in README.md between the marks."""
    changed = [("model", "changes", "nodes", "remaining")]
    stays = [("model", "node", "code", "reason")]
    for path in sorted(MODELS.glob("*.onnx")):
        if "." in path.stem:  # what `onnxpad fix` has left there
            continue
        result = onnxpad.fix(path, validate=False)
        rows = list(remaining(result))
        changes = by_code(change.code for change in result.changes)
        nodes = f"{result.nodes_before} to {result.nodes_after}"
        name = f"`{path.stem}`"
        changed.append((name, changes, nodes, by_code(code for _, code, _ in rows)))
        stays += [(name, f"`{node}`", code, reason) for node, code, reason in rows]
    return f"\n{table(*changed)}\nWhat remains, and why:\n\n{table(*stays)}\n"


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    README.write_text(before + BEGIN + section() + END + after, encoding="utf-8")
