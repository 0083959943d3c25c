"""The base class of the reports on conventions, which `check` alone makes, on whole models."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from onnxpad.finding import Finding, Severity
from onnxpad.reasons import Reason
from onnxpad.records import dataclass
from onnxpad.rewrite.rule import Example

if TYPE_CHECKING:
    from onnxpad.fitting.padded import Left, Padded


@dataclass(frozen=True, slots=True)
class ModelPadding:
    """The padding of a model.

    Attributes:
        operators: The window operators of all its graphs, in file order, with their total padding.
        left: Those whose padding is not known.
        convention: The framework asked for; empty if none was.
    """

    operators: "Sequence[Padded]"
    left: "Sequence[Left]"
    convention: str = ""


class ModelReport:
    """Base class of reports on the conventions of a model: one idea, one code.

    A subclass's docstring and `examples` are the catalogue's page on its code, as for a `Pass`.
    Nothing is rewritten: other padding computes something else.

    Attributes:
        code: The code of its findings.
        examples: Nodes that it reports, for its page.
        severity: The severity of its findings, unless a convention was asked for.
        info_reason: The code of the reason of what is only told.
    """

    code: ClassVar[str]
    examples: ClassVar[tuple[Example, ...]] = ()
    severity: ClassVar[Severity] = Severity.INFO
    info_reason: ClassVar[Reason] = Reason.FRAMEWORK_CONVENTION

    def find(self, model: ModelPadding) -> Iterator[Finding]:
        """Yields every finding about a model."""
        return self.unfit(model) if model.convention else self.report(model)

    def report(self, model: ModelPadding) -> Iterator[Finding]:
        """Yields what is told where no convention was asked for."""
        raise NotImplementedError

    def unfit(self, model: ModelPadding) -> Iterator[Finding]:
        """Yields a finding about each operator that does not fit the convention asked for."""
        return iter(())

    def told(self, about: "Padded", message: str, **evidence: object) -> Finding:
        """A finding about the whole model, which names an operator concerned."""
        return self.told_of(about.label, about.op_type, message, **evidence)

    def told_of(self, label: str, op_type: str, message: str, **evidence: object) -> Finding:
        """As `told`, of an operator that may not be known."""
        reason = (
            "fix keeps what a model computes; onnxpad repad MODEL --to NAME writes the padding of "
            "a framework"
        )
        code = self.info_reason
        return self._finding(label, op_type, Severity.INFO, message, reason, code, evidence)

    def warned(self, about: "Padded", convention: str, message: str, **evidence: object) -> Finding:
        """A finding about one operator that does not fit the convention asked for."""
        kept = about.kept_by_repad(convention)
        reason = f"onnxpad repad MODEL --to {convention} cures it"
        if kept:
            reason = f"fix and repad leave it: {kept}"
        facts = {**about.facts(), "convention": convention, **evidence}
        place, code = (about.label, about.op_type), Reason.FRAMEWORK_CONVENTION
        return self._finding(*place, Severity.WARNING, message, reason, code, facts)

    def _finding(
        self,
        label: str,
        op_type: str,
        severity: Severity,
        message: str,
        reason: str,
        code: Reason,
        evidence: Mapping[str, object],
    ) -> Finding:
        return Finding(
            self.code,
            severity,
            label,
            op_type,
            message,
            reason,
            MappingProxyType(dict(evidence)),
            reason_code=code,
        )
