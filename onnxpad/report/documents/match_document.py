"""The document of `match`: the verdict, what became of each operator, what was tried."""

from __future__ import annotations

import math
from collections.abc import Iterator
from shlex import quote

from onnxpad.errors import few
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.report import MatchReport
from onnxpad.report.documents import Document, Group, View
from onnxpad.report.documents.repad_document import rewritten
from onnxpad.report.layout import marked
from onnxpad.report.text import command, counted, delivered, listed, shown

_MOST = 8
"""What is listed of one kind."""


def match_document(report: MatchReport, view: View = "brief") -> Document:
    """The verdict and what became of each operator; what was tried, unless all is explained."""
    found, is_full = report.matching, view == "full"
    most = None if is_full else _MOST
    nearest = sorted(found.tried, key=lambda e: e.error) if is_full or report.exit_code else ()
    tried = [
        f"  {_off(each.error):13}  {each.name}, changes {counted(each.operators, 'operator')}"
        for each in nearest
    ]
    left = [f"  {shown(node)!r}: {shown(why)}" for node, why in found.left]
    changed, to = found.outcome == "matched", report.delivery
    ending = delivered(to, report.seconds, changed=changed, invalid=False)
    name, given = quote(report.name), "" if to.in_memory else report.given
    target = quote(to.written or f"{report.name.removesuffix('.onnx')}.matched.onnx")
    does = "checks" if to.written else "writes"
    words = f"validate {target} {given}" if to.written else f"match {name} {given} -o {target}"
    partly = f"What is recorded before {shown(found.first)} is reproduced with" * bool(found.first)
    verdict = marked(found.outcome, "error" if report.exit_code else "good")
    verdict += f" by {found.by!r}" if found.by else ""
    return Document.of(
        "match",
        shown(report.name),
        f"{verdict} ({counted(found.runs, 'run')})",
        [*_measured(report)],
        Group(partly or "Changes" * is_full, [*rewritten(found.changes, most)]),
        listed(f"Left as before: {counted(len(left), 'operator')}", left, most, "-v"),
        listed("Tried on the whole model, nearest first", tried, most, "-v"),
        listed("Notes", [f"  {shown(line)}" for line in found.notes], most, "-v"),
        [*_next(report), ending],
        [f"This {does} it:", command(f"onnxpad {words}")] if changed and given else [],
    )


def _measured(report: MatchReport) -> Iterator[str]:
    found = report.matching
    if found.reason:
        yield f"  {shown(found.reason)}"
    if found.first:
        yield f"  out of reach first: {shown(found.first)}; the cause is there or upstream"
    told = "; with the padding found, ".join(dict.fromkeys(map(_off, (found.before, found.after))))
    told += f" (of the range recorded in {shown(report.reference)})" * ("off by" in told)
    is_apart = found.worst and math.isinf(found.before)
    yield f"  {f'{shown(found.worst)!r} is' if is_apart else 'the outputs are'} {told}"
    if found.record:
        yield f"  record inner tensors too: {few(map(shown, found.record), 3)}"
    if found.further:
        told = f"{few(map(shown, found.undecided), 4)} padded as in {few(found.rivals, 4, ' or ')}"
        told += " gives the same here, not everywhere"
        yield f"  not decided: {told if found.rivals else 'SAME and numbers agree at these sizes'}"


def _next(report: MatchReport) -> Iterator[str]:
    found = report.matching
    if found.further or (found.outcome == "matched" and any(e.parting for e in found.changes)):
        where = "a list of references" if report.delivery.in_memory else "--reference again"
        sizes = "".join(f", {shown(name)} {size}" for name, size in found.further.items())
        yield f"Next: record another size too{sizes}, to tell these apart ({where})"
    others = "weights, quantisation, activations, normalisation and what is done to inputs"
    tried = found.tried if report.exit_code else ()
    if tried and (best := min(tried, key=lambda e: e.error)).error < min(found.before / 10, 0.05):
        way = f" (onnxpad repad {quote(report.name)} --to {best.name})" * (best.name in FRAMEWORKS)
        yield f"Next: nearly all goes with {best.name!r}{way}; look for the rest in {others}"
    elif tried:
        yield f"Next: look at {others}, as no padding that was tried explains it"


def _off(error: float) -> str:
    return f"off by {error:.2g}" if math.isfinite(error) else "of another shape, NaN or infinite"
