"""The page of `fix`."""

from __future__ import annotations

import onnx

from onnxpad.page.document_page import page_of
from onnxpad.page.drawn import drawing_of
from onnxpad.page.pictures.both_graphs import Functions, outlines
from onnxpad.report import FixReport
from onnxpad.report.documents.fix_document import fix_document


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
    return page_of(fix_document(report, "page"), drawing_of(outlines(*graphs, functions)))
