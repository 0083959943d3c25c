"""The pages of reports, with pictures of windows over axes."""

from __future__ import annotations

from onnxpad.arithmetic.window import Window, output_size
from onnxpad.finding import Change
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.inventory import AxisPadding, PaddingSite, known_number
from onnxpad.page.axis_pictures import axis_picture, axis_pictures
from onnxpad.page.document_page import page_of
from onnxpad.page.markup import NOTHING, Html, join
from onnxpad.report import CheckReport, FixReport, ShowReport, ValidateReport
from onnxpad.report.documents import Picture
from onnxpad.report.documents.check_document import check_document
from onnxpad.report.documents.fix_document import fix_document
from onnxpad.report.documents.show_document import show_document
from onnxpad.report.documents.validation_document import validate_document


def fix_page(report: FixReport) -> str:
    """The page of a `fix`."""
    return page_of(fix_document(report, "page"), drawn)


def check_page(report: CheckReport) -> str:
    """The page of a `check`."""
    return page_of(check_document(report, "page"), drawn)


def show_page(result: ShowReport) -> str:
    """The page of a `show`."""
    return page_of(show_document(result, "page"), drawn)


def validate_page(report: ValidateReport) -> str:
    """The page of a `validate`."""
    return page_of(validate_document(report, "page"), drawn)


def drawn(picture: Picture) -> Html:
    """A picture of a page."""
    match picture.subject:
        case Change() as change:
            return axis_pictures(change.certificate.facts)
        case PaddingSite() as site:
            return _site(site)
    return NOTHING


def _site(site: PaddingSite) -> Html:
    """Pictures of the axes whose sizes and padding are known; none of transposed convolutions."""
    if site.kind != "window" or site.read("ceil_mode"):
        return NOTHING
    alike: dict[AxisAnswer, list[str]] = {}
    for axis, window in zip(site.axes, site.windows, strict=False):
        if (answer := _answer(axis, window)) is not None:
            alike.setdefault(answer, []).append(axis.name)
    pictures = [axis_picture(" and ".join(names), answer) for answer, names in alike.items()]
    return join(pictures)


def _answer(axis: AxisPadding, window: Window) -> AxisAnswer | None:
    size, begin, end = map(known_number, (axis.extent, *axis.pair))
    if not isinstance(window, Window) or size is None or begin is None or end is None:
        return None
    count = output_size(size, window, begin, end)
    return AxisAnswer(size, window, begin, end, count) if count else None
