"""How `fix` validates what it wrote, and heals what fails."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from onnxpad.arguments import Progress, Source
from onnxpad.errors import RUNTIME
from onnxpad.facts.recorded import recorded_sizes
from onnxpad.finding import Assumption, Change, Finding
from onnxpad.rewrite.run import Run, RunResult
from onnxpad.validation.result import (
    Validation,
    by_reference_alone,
    joined,
    not_blamed,
    not_validated,
    why_not,
)

if TYPE_CHECKING:
    from onnxpad.validation.given import Arrays


def validated(
    run: Run,
    outcome: RunResult,
    source: Source,
    reference: Arrays | None,
    progress: Progress | None,
    inputs: Arrays | None,
) -> tuple[RunResult, Validation | None, tuple[Finding, ...], tuple[str, ...]] | str:
    """The verdict on a rewritten model; if it fails, on it without the changes responsible.

    Args:
        run: The run that rewrote it.
        outcome: What it made.
        source: The model as it was given.
        reference: A framework's inputs and outputs, which the result has to reproduce too.
        progress: Called with (step, done, total).
        inputs: Inputs to run on, in place of drawn ones; those of a reference without them.

    Returns:
        What the run made and kept; the result of running both models, None where nothing changed;
        the findings whose changes were taken back, since the model failed with them; and why a
        model that nothing changes does not reproduce the reference. Or why the runtime does not
        load a result that declares sizes, where it loads the original, or computes something else.
    """
    compared = _Comparison(run, source, reference, progress, inputs)
    if not run.graph.model.changed:
        nothing = compared.nothing("no change was kept") if outcome.undone else None
        return outcome, nothing, (), compared.missed()
    found, barred = compared.verdict(outcome), tuple[Finding, ...]()
    if found.outcome == "failed" and run.domain.declared and (why := _not_loaded(run, source)):
        return why
    if found.outcome == "failed" and not by_reference_alone(found):
        from onnxpad.rewrite.heal import healed

        outcome, found, barred = healed(run, compared.verdict, outcome, found)
        if found.outcome == "failed" and run.domain.declared:
            return f"{why_not(found)}, whatever is changed"
    return outcome, found, barred, compared.missed()


def _not_loaded(run: Run, source: Source) -> str:
    """Why the runtime does not load a result; empty if it does, or not the original either."""
    from onnxpad.runtimes.sessions import folder_of, load_failure

    why = load_failure(*run.graph.model.to_run())
    return "" if why and load_failure(source, folder_of(source)) else why


class _Comparison:
    """Compares what a run makes of a model with that model, on onnxruntime."""

    def __init__(
        self,
        run: Run,
        source: Source,
        reference: Arrays | None,
        progress: Progress | None,
        inputs: Arrays | None,
    ) -> None:
        from onnxpad.probe.cut import NeighbourhoodProbe

        assert isinstance(run.probe, NeighbourhoodProbe)
        self._run = run
        self._probe = run.probe
        self._source = source
        self._reference = reference
        self._progress = progress
        self._inputs = inputs

    def nothing(self, why: str) -> Validation:
        """The verdict where nothing is compared."""
        return not_validated(why, probes=self._probe.count)

    def verdict(self, outcome: RunResult) -> Validation:
        """The verdict on the model as it is."""
        decided, reference = self._run.decided, self._reference
        unseen = _specified(decided, outcome.changes)
        repairs = _repairs(decided, outcome, self._probe.repaired)
        found = self._compared(repairs=repairs, uncompared=unseen)
        if reference is not None:
            blamed = self._compared(reference=reference)
            fair = not_blamed(blamed)
            cure = _cure(self._source, reference, blamed)
            found = joined(found, replace(fair, warnings=(*fair.warnings, *cure)))
        return found if unseen else replace(found, notes=(*found.notes, *_note_on_decided(decided)))

    def missed(self) -> tuple[str, ...]:
        """Why a model that nothing changes does not reproduce the reference; nothing if it does."""
        from onnxpad.validation.whole import validate_models

        if self._reference is None or self._run.graph.model.changed:
            return ()
        found = validate_models(
            self._source,
            None,
            inputs=self._inputs,
            reference=self._reference,
            progress=self._progress,
        )
        if found.ok:
            return ()
        told = "nothing is changed, and the model is not seen to reproduce the reference"
        return (f"{told}: {why_not(found)}", *_cure(self._source, self._reference, found))

    def _compared(
        self, *, repairs: bool = False, reference: Arrays | None = None, uncompared: str = ""
    ) -> Validation:
        """The comparison with the original, or with a reference."""
        from onnxpad.validation.whole import validate_models

        run = self._run
        if run.graph.model.has_external_data and run.graph.model.path is None:
            return self.nothing("its external data cannot be found; pass the path of the model")
        rewritten, folder = run.graph.model.to_run()
        verdict = validate_models(
            self._source if run.decided_model is None else run.decided_model,
            rewritten,
            folder=folder,
            samples=3 if run.domain.given else 1,
            sizes=run.limits,
            inputs=self._inputs,
            reference=reference,
            limits=recorded_sizes(run.graph).limits,
            progress=self._progress,
            repairs=repairs,
            given=self._source,
            uncompared=uncompared,
        )
        return replace(verdict, probes=self._probe.count)


def _specified(decided: Sequence[Change], others: Sequence[Change]) -> str:
    """Why the runtime cannot show that a model decided by the specification is right, if so."""
    late = [each for each in others if Assumption.TRUSTS_SPEC in each.certificate.assumptions]
    if not late and (others or not decided):
        return ""
    nodes = ", ".join(each.node for each in (*decided, *late))
    return f"{RUNTIME} computes something else than the specification for {nodes} in the original"


def _repairs(decided: Sequence[Change], outcome: RunResult, repaired: Collection[str]) -> bool:
    """Whether the runtime refuses an operator that was changed, and all changes are certified.

    Args:
        decided: The changes made first.
        outcome: The others.
        repaired: The tensors that the runtime computes after a change alone, by name.
    """
    changes = (*decided, *outcome.changes)
    certified = not any(change.certificate.assumptions for change in changes)
    return certified and any(each.key[1] in repaired for each in outcome.made)


def _note_on_decided(decided: Sequence[Change]) -> Iterator[str]:
    """A line on the changes with which both models of a validation run."""
    if decided:
        yield (
            "compared with the original with pads as specified (--trust spec) for "
            f"{', '.join(each.node for each in decided)}, which {RUNTIME} reads otherwise"
        )


def _cure(model: Source, reference: Arrays, found: Validation) -> Iterator[str]:
    """The command that looks for the padding with which a model reproduces a reference."""
    from onnxpad.api.validate import match_command, may_be_padding

    if may_be_padding(model, found):
        command = match_command(model, reference, None, None, None)
        yield f"{command} looks for the padding with which the original reproduces the reference"
