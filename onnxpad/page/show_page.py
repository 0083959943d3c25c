"""The page of `show`."""

from __future__ import annotations

from onnxpad.page.document_page import page_of
from onnxpad.page.drawn import drawing_of
from onnxpad.report import ShowReport
from onnxpad.report.documents.show_document import show_document


def show_page(result: ShowReport) -> str:
    """The page of a `show`."""
    return page_of(show_document(result, "page"), drawing_of(()))
