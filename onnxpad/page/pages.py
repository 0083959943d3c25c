"""The pages of reports."""

from __future__ import annotations

import onnx

from onnxpad.page.document_page import page_of
from onnxpad.page.drawn import drawing_of
from onnxpad.page.pictures.both_graphs import Functions, outlines
from onnxpad.report import CheckReport, FixReport, ShowReport, ValidateReport
from onnxpad.report.documents.check_document import check_document
from onnxpad.report.documents.fix_in_full import fix_with_pictures
from onnxpad.report.documents.show_document import show_document
from onnxpad.report.documents.validation_document import validate_document


def fix_page(
    report: FixReport,
    graphs: tuple[onnx.GraphProto, onnx.GraphProto],
    functions: Functions = (),
) -> str:
    """The page of a `fix`.

    Args:
        report: The report.
        graphs: The main graph before and after; long tensors may lack their elements.
        functions: The functions of the model before and after.
    """
    return page_of(fix_with_pictures(report), drawing_of(outlines(*graphs, functions)))


def check_page(report: CheckReport) -> str:
    """The page of a `check`."""
    models = [
        None
        if (light := file.light) is None
        else outlines(light.graph, light.graph, [(each, each) for each in light.functions])[0]
        for file in report.files
    ]
    return page_of(check_document(report, "page"), drawing_of(models))


def show_page(result: ShowReport) -> str:
    """The page of a `show`."""
    return page_of(show_document(result, "page"), drawing_of(()))


def validate_page(report: ValidateReport) -> str:
    """The page of a `validate`."""
    return page_of(validate_document(report, "page"), drawing_of(()))
