"""The public calls of the library: fix, check and validate."""

from __future__ import annotations

from onnxpad.report import Report


class Paged(Report):
    """A result that is a page, too."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The class and the first line of the report."""
        from onnxpad.report.text import one_line

        return one_line(self, str(self).partition("\n")[0])

    def _repr_html_(self) -> str:
        """The report that a terminal shows, for notebooks."""
        from onnxpad.page.document_page import fragment_of

        return fragment_of(self.document())

    def to_html(self) -> str:
        """The whole report as one self-contained HTML page, as the command's `--html` writes it."""
        from onnxpad.page.document_page import page_of

        return page_of(self.document("full"))
