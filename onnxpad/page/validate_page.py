"""The page of `validate`."""

from __future__ import annotations

from onnxpad.page.document_page import page_of
from onnxpad.page.drawn import drawing_of
from onnxpad.report import ValidateReport
from onnxpad.report.documents.validation_document import validate_document


def validate_page(report: ValidateReport) -> str:
    """The page of a `validate`."""
    return page_of(validate_document(report, "page"), drawing_of(()))
