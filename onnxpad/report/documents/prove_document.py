"""The document of `prove`: the verdict, and what it rests on, or where the models part."""

from __future__ import annotations

from onnxpad.errors import and_list
from onnxpad.proving.pairs import Counterexample
from onnxpad.report import ProveReport
from onnxpad.report.documents import Block, Document, Group, Pairs, View
from onnxpad.report.documents.validate_document import both, proved
from onnxpad.report.layout import marked
from onnxpad.report.text import counted, first_rows, remarks, shown

_REGIONS = 10
_MARKS = {"refuted": "error", "undecided": "warning"}


def prove_document(report: ProveReport, view: View = "brief") -> Document:
    """The verdict in one line; then the counterexample, or each region that is open."""
    found, models = report.verdict, and_list(map(shown, (report.original, report.rewritten)))
    told = marked(found.verdict, _MARKS.get(found.verdict, "good"))
    told = proved(found) if found.verdict == "proved" else told
    told += f"; {counted(found.runs, 'run')} agreed" * bool(found.runs)
    head: list[Block] = [f"{report.seconds:.1f} s", *remarks(report)]
    where = report.delivery.written
    seen: list[Block] = [Pairs(_told(found.counterexample, where))] if found.counterexample else []
    regions = [(both([e.original or "?", e.rewritten or "?"]), e.reason) for e in found.regions]
    rows = [(place, shown(reason)) for place, reason in regions]
    most = None if view == "full" else _REGIONS
    open_ = Group(f"Open: {counted(len(rows), 'region')}", first_rows(["", ""], rows, most))
    return Document.of("prove", models, told, head, Group("Counterexample", seen), open_)


def _told(found: Counterexample, written: str) -> list[tuple[str, str]]:
    sizes = ", ".join(f"{name} {size}" for name, size in found.sizes.items())
    rows = {
        "inputs": found.inputs,
        "sizes": sizes,
        "output": found.output,
        "differs": found.detail,
        "begins at": found.where,
        "written to": f"{written} (validate --inputs)" * bool(written),
    }
    return [(name, shown(text)) for name, text in rows.items() if text]
