"""The document of `repad`: operators that changed and stay, and how much outputs change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from onnxpad.errors import few
from onnxpad.frameworks.repadding.changes import OutputChange, Rewritten, Unchanged
from onnxpad.report import RepadReport
from onnxpad.report.documents import Document, Group, line_of
from onnxpad.report.layout import UNBROKEN, Screen, marked, text_of
from onnxpad.report.text import beside, counted, duration, grouped, remarks, shown

_LISTED = 20
"""Groups and outputs listed; of more only the number is told."""
_NAMED = 3
"""Operators named in a group."""


def repad_document(report: RepadReport) -> Document:
    """The operators whose padding changed and stays, and how much the outputs change."""
    sections = [
        (_headline(report), *_declared(report), *remarks(report)),
        _changes(report),
        _unchanged(report),
        _outputs(report),
        _reference(report),
        (_ending(report),),
    ]
    groups = [Group("", [*map(line_of, lines)]) for lines in sections]
    return Document("repad", report.name, groups)


def repad_text(report: RepadReport, screen: Screen = UNBROKEN) -> str:
    """The document as plain text."""
    return text_of(repad_document(report), screen)


def _headline(report: RepadReport) -> str:
    model = marked(shown(report.name), "strong")
    if not report.changes:
        return f"{model}: nothing to change for {report.title}"
    found = report.difference
    told = f"{counted(len(report.changes), 'operator')} padded as {report.title} does"
    if found.fails:
        effect = marked("it no longer runs", "error")
    elif found.uncompared:
        effect = marked("the results may change", "warning")
    elif all(each.is_equal for each in found.outputs):
        effect = "the results are the same on these inputs"
    else:
        effect = marked("the results change", "warning")
    return f"{model}: {told}; {effect}"


def _declared(report: RepadReport) -> Iterator[str]:
    for name, shape in report.declared.items():
        sizes = "x".join("?" if size is None else str(size) for size in shape)
        yield f"  declares input {shown(repr(name))} as {shown(sizes)}"


def _changes(report: RepadReport) -> Iterator[str]:
    groups = grouped(report.changes, lambda each: (each.before, each.after))
    for group in groups[:_LISTED]:
        first = group[0]
        yield f"{first.before}  becomes  {marked(first.after, 'strong')}"
        yield f"  {_names(group)}"
    yield from _more(sum(map(len, groups[_LISTED:])))


def _unchanged(report: RepadReport) -> Iterator[str]:
    if report.unchanged:
        yield f"Stays as it is: {counted(len(report.unchanged), 'operator')}"
    groups = grouped(report.unchanged, lambda each: each.reason)
    for group in groups[:_LISTED]:
        yield f"  {shown(group[0].reason)}: {_names(group)}"
    yield from _more(sum(map(len, groups[_LISTED:])))


def _outputs(report: RepadReport) -> Iterator[str]:
    found = report.difference
    if found.fails:
        yield f"{marked('FAILED', 'error')}: {shown(report.failure)}"
    if found.uncompared:
        yield f"{marked('not compared', 'warning')}: {shown(found.uncompared)}"
    if not found.outputs:
        return
    yield f"Outputs against those of the original, on {few(map(shown, found.inputs), 2, '; ')}:"
    listed = found.outputs[:_LISTED]
    yield from UNBROKEN.pairs([(shown(each.output), _difference(each)) for each in listed])
    yield from _more(len(found.outputs) - _LISTED)


def _difference(output: OutputChange) -> str:
    if output.before != output.after:
        return f"shape {_shape(output.before)} becomes {_shape(output.after)}"
    if output.is_equal:
        return "equal"
    if not math.isfinite(output.max_abs):
        return "differs: NaN, infinity, or no number"
    return f"differs by up to {output.relative:.2g} of its range (max abs {output.max_abs:.3g})"


def _shape(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes)) or "scalar"


def _reference(report: RepadReport) -> Iterator[str]:
    if report.validation is None:
        return
    where = shown(report.reference)
    if report.validation.ok:
        yield f"Reference {where}: {marked('reproduced', 'good')}"
    elif not report.difference.fails:
        yield f"Reference {where}: {marked('DIFFERS', 'error')}: {shown(report.failure)}"
    for line in report.validation.notes:
        yield f"  note: {shown(line)}"


def _ending(report: RepadReport) -> str:
    written = shown(report.delivery.written)
    if written and not report.changes:
        ending = f"Copied to {written}"
    elif written:
        ending = f"Wrote {marked(written, 'strong')}"
        ending += " although it is invalid (--keep-invalid)" if report.failure else ""
    elif report.delivery.in_memory and report.changes:
        keep = ", keep_invalid=True" if report.failure else ""
        ending = f"Not written yet: save(path{keep}) writes it"
    elif report.failure and report.changes:
        ending = "Nothing written; --keep-invalid writes it all the same"
    else:
        ending = "Nothing written"
    beside_it = beside(report.delivery.older, report.delivery.data)
    return f"{ending}{beside_it} ({duration(report.seconds)})"


def _names(group: Sequence[Rewritten] | Sequence[Unchanged]) -> str:
    """The operators of a group: their number and types, and the first names."""
    names = few((shown(each.node) for each in group), _NAMED)
    types = "/".join(dict.fromkeys(shown(each.op_type) for each in group if each.op_type))
    many = f"{len(group)} {types}: " if len(group) > 1 else f"{types} "
    return f"{many}{names}"


def _more(count: int) -> list[str]:
    return [f"  and {count:,} more; --format json lists all"] if count > 0 else []
