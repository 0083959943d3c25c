"""How `fix` validates what it wrote, and heals what fails."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from onnxpad.arguments import Progress, Source
from onnxpad.errors import RUNTIME
from onnxpad.facts.recorded import recorded_sizes
from onnxpad.finding import Assumption, Change, Finding
from onnxpad.rewrite.run import Run, RunResult
from onnxpad.validation.result import Validation, not_validated, why_not

if TYPE_CHECKING:
    from onnxpad.probe.cut import NeighbourhoodProbe
    from onnxpad.validation.given import Arrays


def validated(
    run: Run,
    outcome: RunResult,
    source: Source,
    progress: Progress | None,
    inputs: Arrays | None,
) -> tuple[RunResult, Validation | None, tuple[Finding, ...]] | str:
    """The verdict on a rewritten model; if it fails, on it without the changes responsible.

    Args:
        run: The run that rewrote it.
        outcome: What it made.
        source: The model as it was given.
        progress: Called with (step, done, total).
        inputs: Inputs to run on, in place of drawn ones.

    Returns:
        What the run made and kept; the result of running both models, None where nothing changed;
        and the findings whose changes were taken back, since the model failed with them. Or why the
        runtime does not load a result that declares sizes, where it loads the original, or computes
        something else.
    """
    verdict = partial(_verdict, run, source, progress, inputs)
    if not run.graph.model.changed:
        return outcome, None, ()
    found, barred = verdict(outcome), tuple[Finding, ...]()
    if found.outcome == "failed" and run.domain.declared and (why := _not_loaded(run, source)):
        return why
    if found.outcome == "failed":
        from onnxpad.rewrite.heal import healed

        outcome, found, barred = healed(run, verdict, outcome, found)
        if found.outcome == "failed" and run.domain.declared:
            return f"{why_not(found)}, whatever is changed"
    return outcome, found, barred


def _not_loaded(run: Run, source: Source) -> str:
    """Why the runtime does not load a result; empty if it does, or not the original either."""
    from onnxpad.runtimes.sessions import folder_of, load_failure

    why = load_failure(*run.graph.model.to_run())
    return "" if why and load_failure(source, folder_of(source)) else why


def _probe_of(run: Run) -> NeighbourhoodProbe:
    from onnxpad.probe.cut import NeighbourhoodProbe

    assert isinstance(run.probe, NeighbourhoodProbe)
    return run.probe


def _nothing(run: Run, why: str) -> Validation:
    """The verdict where nothing is compared."""
    return not_validated(why, probes=_probe_of(run).count)


def _verdict(
    run: Run,
    source: Source,
    progress: Progress | None,
    inputs: Arrays | None,
    outcome: RunResult,
) -> Validation:
    """The verdict on the model as a run has made it, compared with the original."""
    from onnxpad.validation.whole import validate_models

    if run.graph.model.has_external_data and run.graph.model.path is None:
        return _nothing(run, "its external data cannot be found; pass the path of the model")
    rewritten, folder = run.graph.model.to_run()
    probe, unseen = _probe_of(run), _specified(run.decided, outcome.changes)
    found = validate_models(
        source if run.decided_model is None else run.decided_model,
        rewritten,
        folder=folder,
        samples=3 if run.domain.given else 1,
        sizes=run.limits,
        inputs=inputs,
        limits=recorded_sizes(run.graph).limits,
        progress=progress,
        repairs=_repairs(run.decided, outcome, probe.repaired),
        given=source,
        uncompared=unseen,
    )
    return replace(
        found,
        probes=probe.count,
        notes=(*found.notes, *(() if unseen else _note_on_decided(run.decided))),
    )


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
