"""How `fix` validates what it wrote, and heals what fails."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from onnxpad.arguments import Arrays, Progress, Source
from onnxpad.errors import RUNTIME
from onnxpad.facts.recorded import recorded_sizes
from onnxpad.finding import Assumption, Change, Finding
from onnxpad.rewrite.run import Run, RunResult
from onnxpad.validation.result import Validation, not_validated, why_not


def validated(
    run: Run, outcome: RunResult, source: Source, progress: Progress | None, inputs: Arrays | None
) -> tuple[RunResult, Validation | None, tuple[Finding, ...]] | str:
    """The verdict on a rewritten model; if it fails, on it without the changes responsible.

    Returned are what the run made and kept; the result of running both models on drawn inputs or
    those given, None where nothing changed; and the findings whose changes were taken back, since
    the model failed with them. Or why a result that declares sizes fails, whatever is changed.
    """
    probe, model = run.probe, run.graph.model
    if not model.changed:
        return outcome, None, ()

    from onnxpad.probe.cut import NeighbourhoodProbe
    from onnxpad.validation.whole import validate_models

    assert isinstance(probe, NeighbourhoodProbe)

    def verdict(outcome: RunResult) -> Validation:
        """The verdict on the model as the run has made it, compared with the original."""
        if model.has_external_data and model.path is None:
            why = "its external data cannot be found; pass the path of the model"
            return not_validated(why, probes=probe.count)
        rewritten, folder = model.to_run()
        unseen, nodes = _specified(run.decided, outcome.changes), _nodes(run.decided)
        told = f"compared with the original with pads as specified (--trust spec) for {nodes}"
        found = validate_models(
            source if run.decided_model is None else run.decided_model,
            rewritten,
            folder=folder,
            samples=3 if run.domain.given else 1,
            sizes=run.limits,
            inputs=inputs,
            limits=recorded_sizes(run.graph).limits,
            progress=progress,
            notes=[f"{told}, which {RUNTIME} reads otherwise"] if nodes and not unseen else (),
            repairs=_repairs(run.decided, outcome, probe.repaired),
            given=source,
            uncompared=unseen,
        )
        return replace(found, probes=probe.count)

    found, barred = verdict(outcome), tuple[Finding, ...]()
    if found.outcome == "failed":
        from onnxpad.rewrite.heal import healed

        outcome, found, barred = healed(run, verdict, outcome, found)
        if found.outcome == "failed" and run.domain.declared:
            return f"{why_not(found)}, whatever is changed"
    return outcome, found, barred


def _specified(decided: Sequence[Change], others: Sequence[Change]) -> str:
    """Why the runtime cannot show that a model decided by the specification is right, if so."""
    late = [each for each in others if Assumption.TRUSTS_SPEC in each.certificate.assumptions]
    if not late and (others or not decided):
        return ""
    nodes = _nodes((*decided, *late))
    return f"{RUNTIME} computes something else than the specification for {nodes} in the original"


def _nodes(changes: Sequence[Change]) -> str:
    return ", ".join(each.node for each in changes)


def _repairs(decided: Sequence[Change], outcome: RunResult, repaired: Collection[str]) -> bool:
    """Whether a change alone has the runtime compute a tensor, and all changes are certified."""
    changes = (*decided, *outcome.changes)
    certified = not any(change.certificate.assumptions for change in changes)
    return certified and any(each.key[1] in repaired for each in outcome.made)
