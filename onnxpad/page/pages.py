"""The pages of reports."""

from __future__ import annotations

from onnxpad.page.document_page import page_of
from onnxpad.page.drawn import drawn
from onnxpad.report import CheckReport, FixReport, ShowReport, ValidateReport
from onnxpad.report.documents.check_document import check_document
from onnxpad.report.documents.fix_in_full import fix_with_pictures
from onnxpad.report.documents.show_document import show_document
from onnxpad.report.documents.validation_document import validate_document


def fix_page(report: FixReport) -> str:
    """The page of a `fix`."""
    return page_of(fix_with_pictures(report), drawn)


def check_page(report: CheckReport) -> str:
    """The page of a `check`."""
    return page_of(check_document(report, "page"), drawn)


def show_page(result: ShowReport) -> str:
    """The page of a `show`."""
    return page_of(show_document(result, "page"), drawn)


def validate_page(report: ValidateReport) -> str:
    """The page of a `validate`."""
    return page_of(validate_document(report, "page"), drawn)
