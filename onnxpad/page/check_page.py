"""The page of `check`."""

from __future__ import annotations

from onnxpad.page.document_page import page_of
from onnxpad.page.drawn import drawing_of
from onnxpad.page.pictures.both_graphs import outlines
from onnxpad.report import CheckReport
from onnxpad.report.documents.check_document import check_document


def check_page(report: CheckReport) -> str:
    """The page of a `check`."""
    models = [
        None
        if (light := file.light) is None
        else outlines(light.graph, light.graph, [(each, each) for each in light.functions])[0]
        for file in report.files
    ]
    return page_of(check_document(report, "page"), drawing_of(models))
