"""The library's call to find padding, and what `fix` would do to it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Unpack

from onnxpad.api import kinds
from onnxpad.api.fix import at_targets
from onnxpad.arguments import ModelSource
from onnxpad.errors import OnnxpadError, and_list
from onnxpad.finding import Severity
from onnxpad.graph import Graph
from onnxpad.options import OptionKeywords, Options, suggesting
from onnxpad.passes import REPORTS
from onnxpad.process import gc_paused
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.documents import Document, View
from onnxpad.rewrite.registry import every_code, failing_of, with_codes
from onnxpad.rewrite.run import Run


class CheckResult(FileReport, frozen=True, kw_only=True, dict=True):
    """The result of `check`: the findings, and what was asked."""

    _options: Options = Options()
    _convention: str = ""
    _model: ModelSource | None = None

    @cached_property
    def _sites(self) -> Sequence[Any]:
        from onnxpad.api.show import show

        assert self._model is not None
        asked = self._options
        with suppress(OnnxpadError):  # a file may be gone by now
            return show(self._model, shapes=asked.shapes, dims=asked.dims, trust=asked.trust).sites
        return ()

    def site(self, node: str) -> Any:
        """The site, as of `show`, that has a node; the model is read again for the first one."""
        return next((each for each in self._sites if node in each.names), None)

    def report(self, fail_on: str | Sequence[str] = Severity.WARNING) -> CheckReport:
        """The report on this model, for what fails the check, as of `failing`."""
        return CheckReport(self._options, failing_of(fail_on), (self,), self._convention)

    def document(self, view: View = "full") -> Document:
        """The report in blocks, always with all that there is."""
        return self.report().document("full")


@suggesting
def check(
    model: ModelSource, *, convention: str | None = None, **options: Unpack[OptionKeywords]
) -> CheckResult:
    """Find the padding that `fix` would rewrite, and the padding that stays, with the reason.

    The model is only read. Each rewrite is tried and proved as `fix` does, so padding whose rewrite
    `fix` would undo is reported as staying. Unlike `fix`, `check` does not run onnxruntime.

    Args:
        model: As for `fix`.
        convention: A framework, such as `tensorflow`: operators that do not pad as it does are
            warnings. Without it, the conventions that the model's padding fits (PAD601)
            are told if `select` names these codes.
        options: As for `fix`. With `strict`, padding stays if its rewrite rests on an assumption;
            `select` and `ignore` say which codes to report, and the others count as left alone, as
            `fix` leaves them.

    Returns:
        The findings: what `fix` changes, in the order in which it does, then what stays.

    Raises:
        UsageError: As for `fix`, or an unknown code or framework.
        ModelError: The model cannot be read, or the specification forbids it.
    """
    user_options = Options.of(options)
    source, _ = kinds.source_of(model, "check")
    chosen = with_codes(user_options)
    if convention is not None:
        from onnxpad.frameworks.conventions.table import framework_named

        convention = framework_named(convention, "convention").name
    conventions = None
    is_asked = convention is not None or bool(chosen.select)  # they take longer than all the rest
    if is_asked and any(map(chosen.chooses, REPORTS)):
        from onnxpad.frameworks.fitting.reports import ReportConvention

        conventions = partial(ReportConvention().of, convention=convention or "")
    with kinds.naming(source), gc_paused():
        run = Run(Graph.read(source), chosen)
        untaken = at_targets(run)
        found = [*run.find(conventions), *untaken]
        idle = "" if any(map(chosen.chooses, every_code())) else and_list(chosen.select)
        return CheckResult(
            kinds.name_of(source),
            tuple(each for each in found if chosen.chooses(each.code)),
            notes=run.notes,
            warnings=(*run.warnings, *[f"no code is chosen ({idle})"] * bool(idle)),
            _options=user_options,
            _convention=convention or "",
            _model=model,
        )
