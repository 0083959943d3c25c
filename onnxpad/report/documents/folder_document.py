"""A command for many models: the outcome of each, a line for it, and how often there is a code."""

from __future__ import annotations

from collections import Counter
from time import perf_counter
from typing import Any

from onnxpad.report import FileOutcome, FolderReport
from onnxpad.report.documents import Block, Document, View, document_of
from onnxpad.report.json import json_of
from onnxpad.report.layout import marked, unmarked
from onnxpad.report.text import counted, shown


def folder_document(report: FolderReport, view: View = "brief") -> Document:
    """A line for each model, the worst first; then how many have what."""
    outcomes = Counter(each.outcome for each in report.files).items()
    said = ", ".join(f"{count:,} {shown(outcome)}" for outcome, count in outcomes)
    ending: list[Block] = [f"{counted(len(report.files), 'model')}: {said}"]
    for code, count in report.codes.items():
        models = sum(code in each.codes for each in report.files)
        ending.append(f"  {marked(code, 'strong')} {count:,} in {counted(models, 'model')}")
    return document_of("folder", "", "", [*map(_line, report.files)], ending)


def _line(file: FileOutcome) -> str:
    path, said = marked(shown(file.path), "strong"), ""
    if file.exit_code:
        told = f"{shown(file.outcome)} (exit code {file.exit_code})"
        said = f"{marked(told, 'error')}: "
    written = f" -> {shown(file.written[0])}" if file.written else ""
    return f"{path}: {said}{shown(file.line)}{written}"


def outcome_of(path: str, report: Any, begin: float) -> FileOutcome:
    """The outcome that the report on a model stands for; it was begun at `time.perf_counter`."""
    files = [report, *getattr(report, "files", ())]
    told = [e for file in files for n in ("changes", "findings") for e in getattr(file, n, ())]
    delivery = getattr(report, "delivery", None)
    return FileOutcome(
        path,
        report.exit_code,
        str(getattr(report, "outcome", "failed" if report.exit_code else "passed")),
        unmarked(report.document().title).partition("; ")[0],
        Counter(each.code for each in told),
        perf_counter() - begin,
        (*filter(None, [delivery.written]), *delivery.data) if delivery else (),
        json_of(report),
    )
