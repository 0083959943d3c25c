"""The document of a command for many models: a line for each, and how often there is each code."""

from __future__ import annotations

from collections import Counter

from onnxpad.report import FileOutcome, FolderReport
from onnxpad.report.documents import Block, Document, View, document_of
from onnxpad.report.layout import marked
from onnxpad.report.text import counted, shown


def folder_document(report: FolderReport, view: View = "brief") -> Document:
    """A line for each model, the worst first; then how many have what."""
    outcomes = Counter(each.outcome for each in report.files).items()
    said = ", ".join(f"{count:,} {shown(outcome)}" for outcome, count in outcomes)
    ending: list[Block] = [f"{counted(len(report.files), 'model')}: {said}"]
    for code, count in report.codes.items():
        models = sum(code in each.codes for each in report.files)
        ending.append(f"  {marked(code, 'strong')} {count:,} in {counted(models, 'model')}")
    return document_of("folder", report.ran, [*map(_line, report.files)], ending)


def _line(file: FileOutcome) -> str:
    path, said = marked(shown(file.path), "strong"), ""
    if file.exit_code:
        told = f"{shown(file.outcome)} (exit code {file.exit_code})"
        said = f"{marked(told, 'error')}: "
    return f"{path}: {said}{shown(file.line)}"
