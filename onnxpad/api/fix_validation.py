"""How `fix` validates what it wrote, and heals what fails."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from onnxpad.arguments import Source
from onnxpad.finding import Assumption, Change, Finding
from onnxpad.pipeline.heal import failed, healed
from onnxpad.pipeline.run import Outcome, Run
from onnxpad.sizes.recorded import recorded_sizes
from onnxpad.validation.result import (
    Validation,
    by_reference_alone,
    joined,
    not_blamed,
    not_validated,
    why_not,
)

if TYPE_CHECKING:
    from onnxpad.probe.cut import NeighbourhoodProbe
    from onnxpad.validation.given import Arrays

Progress: TypeAlias = Callable[[str, int, int], None]


class FixValidation:
    """Compares what a run makes of a model with that model, on onnxruntime."""

    def __init__(
        self,
        run: Run,
        probe: "NeighbourhoodProbe",
        source: Source,
        reference: "Arrays | None",
        progress: Progress | None,
    ) -> None:
        """Compares nothing yet.

        Args:
            run: The run, whose graph is compared as it is then.
            probe: Its probe.
            source: The model as it was given.
            reference: A framework's inputs and outputs, which the result has to reproduce too.
            progress: Called with (step, done, total).
        """
        self._run = run
        self._probe = probe
        self._source = source
        self._reference = reference
        self._progress = progress

    def healed(self, outcome: Outcome) -> tuple[Outcome, Validation | None, tuple[Finding, ...]]:
        """Validates the model; if it fails, without the changes that are responsible.

        Returns:
            What was kept, the verdict on it, and the findings whose changes were taken back.
        """
        if not self._run.graph.changed:
            nothing = not_validated("no change was kept", probes=self._probe.count)
            return outcome, nothing if outcome.undone else None, ()
        verdict = self.validated(outcome)
        if not failed(verdict) or by_reference_alone(verdict):
            return outcome, verdict, ()
        return healed(self._run, self.validated, outcome, verdict)

    def validated(self, outcome: Outcome) -> Validation:
        """The verdict on the model as it is."""
        decided, reference = self._run.decided, self._reference
        unseen = _specified(decided, outcome.changes)
        if unseen:
            found = not_validated(unseen, probes=self._probe.count)
        else:
            found = self._compared(repairs=_repairs(decided, outcome, self._probe.repaired))
        if reference is not None:
            blamed = self._compared(reference=reference)
            fair = not_blamed(blamed)
            cure = _cure(self._source, reference, blamed)
            found = joined(found, replace(fair, warnings=(*fair.warnings, *cure)))
        return found if unseen else replace(found, notes=(*found.notes, *_said(decided)))

    def missed(self) -> tuple[str, ...]:
        """Why a model that nothing changes does not reproduce the reference; nothing if it does."""
        from onnxpad.validation.whole import validate_models

        if self._reference is None or self._run.graph.changed:
            return ()
        found = validate_models(
            self._source, None, reference=self._reference, progress=self._progress
        )
        if found.ok:
            return ()
        told = "nothing is changed, and the model is not known to reproduce the reference"
        return (f"{told}: {why_not(found)}", *_cure(self._source, self._reference, found))

    def _compared(self, *, repairs: bool = False, reference: "Arrays | None" = None) -> Validation:
        """The comparison with the original, or with a reference."""
        from onnxpad.engine.wheels import warnings
        from onnxpad.validation.whole import validate_models

        run, probes = self._run, self._probe.count
        if run.graph.model.has_external_data and run.graph.model.path is None:
            why = "its external data cannot be found; pass the path of the model"
            return not_validated(why, probes=probes)
        rewritten, folder = run.graph.model.to_run()
        verdict = validate_models(
            self._source if run.decided_model is None else run.decided_model,
            rewritten,
            folder=folder,
            samples=3 if run.domain.given else 1,
            sizes=run.limits,
            reference=reference,
            limits=dict(recorded_sizes(run.graph).by_axis()),
            progress=self._progress,
            repairs=repairs,
        )
        return replace(verdict, probes=probes, warnings=(*verdict.warnings, *warnings()))


def _specified(decided: Sequence[Change], others: Sequence[Change]) -> str:
    """Why onnxruntime cannot show that a model decided by the specification is right, if so."""
    late = [each for each in others if Assumption.TRUSTS_SPEC in each.certificate.assumptions]
    if not late and (others or not decided):
        return ""
    nodes = ", ".join(each.node for each in (*decided, *late))
    return f"onnxruntime computes something else than the specification for {nodes} in the original"


def _repairs(decided: Sequence[Change], outcome: Outcome, repaired: Collection[str]) -> bool:
    """Whether onnxruntime refuses an operator that was changed, and all changes are certified.

    Args:
        decided: The changes made first.
        outcome: The others.
        repaired: The tensors that onnxruntime computes after a change alone, by name.
    """
    changes = (*decided, *outcome.changes)
    certified = not any(change.certificate.assumptions for change in changes)
    return certified and any(each.key[1] in repaired for each in outcome.made)


def _said(decided: Sequence[Change]) -> Iterator[str]:
    """A line on the changes with which both models of a validation run."""
    if decided:
        yield (
            "compared with the original with pads as specified (--trust spec) for "
            f"{', '.join(each.node for each in decided)}, which onnxruntime reads otherwise"
        )


def _cure(model: Source, reference: "Arrays", found: "Validation") -> Iterator[str]:
    """The command that looks for the padding with which a model reproduces a reference."""
    from onnxpad.api.validate import match_command, may_be_padding

    if may_be_padding(model, found):
        command = match_command(model, reference, None, None, None)
        yield f"{command} looks for the padding with which the original reproduces the reference"
