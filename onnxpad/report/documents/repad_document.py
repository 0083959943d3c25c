"""The document of `repad`: operators that changed and stay, and how much outputs change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from onnxpad.errors import few
from onnxpad.frameworks.repadding.results import Operator, Repadded, Rewritten
from onnxpad.report import RepadReport
from onnxpad.report import text as pieces
from onnxpad.report.documents import Block, Document, Group, Picture, View
from onnxpad.report.documents.validate_document import figures
from onnxpad.report.layout import marked
from onnxpad.report.text import counted, delivered, first_rows, grouped, listed, more, shown, warned

_LISTED = 20
"""Groups and outputs listed; of more only the number is told."""


def repad_document(report: RepadReport, view: View = "brief") -> Document:
    """The operators whose padding changed and stays, and how much the outputs change."""
    changed, invalid = bool(report.changes), bool(report.failure)
    most = _LISTED if view == "brief" else None
    to, option = report.delivery, "--keep-invalid"
    stay = grouped(report.unchanged, lambda each: each.reason)
    unchanged = [f"  {shown(group[0].reason)}: {operators(group)}" for group in stay]
    return Document.of(
        "repad",
        shown(report.name),
        _verdict(report),
        [*pieces.declared(report.declared), *pieces.remarks(report)],
        Group("Changes" * (view == "full"), [*rewritten(report.changes, most)]),
        listed(f"Stays as it is: {counted(len(report.unchanged), 'operator')}", unchanged, most),
        [*_outputs(report)],
        [delivered(to, report.seconds, changed=changed, invalid=invalid, option=option)],
    )


def rewritten(changes: Sequence[Rewritten | Repadded], most: int | None) -> Iterator[Block]:
    """Each padding that became another, with its operators, the most frequent first."""
    kinds = grouped(changes, lambda each: (each.before, each.after, *_lines(each)))
    kinds.sort(key=len, reverse=True)
    for group in kinds[:most]:
        first = group[0]
        ways = dict(zip(("before", "after"), first.answers, strict=False))
        picture = Picture(ways, first.op_type == "ConvTranspose")
        title = f"{first.before}  becomes  {marked(first.after, 'strong')}"
        yield Group(title, [f"  {operators(group)}", *_lines(first), picture])
    yield from more(kinds, most)


def _lines(change: Rewritten | Repadded) -> list[str]:
    if not isinstance(change, Repadded):
        return []
    pytorch, keras = (each or "none in one line" for each in (change.pytorch, change.keras))
    parting = f"  at the recorded sizes alone also {few(change.parting, 4)}"
    told = [f"  as       {change.name}", *[parting] * bool(change.parting)]
    return [*told, f"  PyTorch  {pytorch}", f"  Keras    {keras}"]


def _verdict(report: RepadReport) -> str:
    found = report.difference
    effect = marked(f"the results {'may ' * bool(found.uncompared)}change", "warning")
    if found.fails:
        effect = marked("it no longer runs", "error")
    elif not found.uncompared and all(each.equal for each in found.outputs):
        effect = "the results are the same on these inputs"
    told = f"{counted(len(report.changes), 'operator')} padded as {report.title} does; {effect}"
    return told if report.changes else f"nothing to change for {report.title}"


def _outputs(report: RepadReport) -> Iterator[Block]:
    found = report.difference
    yield from warned([report.failure] * bool(found.fails), "FAILED", "error")
    yield from warned([found.uncompared] * bool(found.uncompared), "not compared")
    if found.outputs:
        yield f"Outputs against the original's, on {few(map(shown, found.inputs), 1)}:"
        told = ((e, "equal" if e.equal else next(figures(e), e.detail)) for e in found.outputs)
        yield from first_rows(["", ""], [(shown(each.output), how) for each, how in told], _LISTED)


def operators(group: Sequence[Operator]) -> str:
    """The operators of a group: their number and types, and the first names."""
    names = few((shown(each.node) for each in group), 3)
    types = Counter(shown(each.op_type) for each in group).items()
    told = ", ".join(f"{count} {op_type}".rstrip() for op_type, count in types)
    return f"{told}: {names}" if len(group) > 1 else f"{shown(group[0].op_type)} {names}"
