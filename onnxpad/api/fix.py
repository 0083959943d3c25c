"""The library's call to rewrite padding."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from onnxpad.api import kinds
from onnxpad.arguments import Arrays, ModelSource, Progress, Source, require_timeout
from onnxpad.errors import RUNTIME, UsageError, and_list, counted
from onnxpad.finding import Assumption, Change, Finding, NextOption
from onnxpad.graph import Graph, counts_of
from onnxpad.options import OptionKeywords, Options, suggesting
from onnxpad.process import gc_paused
from onnxpad.report import UNTAKEN, FixReport, Outcome
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.registry import every_pass, with_codes
from onnxpad.rewrite.run import AtLast, Barred, Run, RunResult
from onnxpad.rewrite.scopes import contexts

if TYPE_CHECKING:
    from onnxpad.validation.result import Validation


class FixResult(FixReport, kinds.ModelResult, frozen=True, kw_only=True, dict=True):
    """The result of `fix`: its report, and the rewritten model."""

    _graph: Graph
    _same_kind: kinds.SameKind
    _contexts: list[Context]
    _bars: Barred

    @property
    def failure(self) -> str:
        """Why the model is not `ok`, in one line; empty if it is.

        It is if it is unchanged, agrees with the original, or is a repair: the original does not
        run because of an operator that was changed, and the specification certifies every change. A
        changed model that was not validated, or not compared for another reason, is never ok, nor
        one with padding that a target asked for computes wrongly, or rejects.
        """
        if not self.changed or (self.validation is not None and self.validation.ok):
            left = counted(len({each.node for each in self.untaken}), "padding")
            return f"{left} left that a target does not take" if self.untaken else ""
        if self.validation is None:
            return "not validated: no validation was asked for"
        from onnxpad.validation.result import why_not

        return why_not(self.validation)

    @cached_property
    def next(self) -> NextOption | None:
        """The option that would gain most on the padding that stays; None if none would.

        It is tried on the result, which is as before afterwards, at the first access. A model whose
        validation failed has none.
        """
        if self.outcome is Outcome.INVALID or not self.findings:
            return None
        from onnxpad.rewrite.next_option import next_option

        def again(run: Run) -> AtLast | None:
            run.barred = self._bars
            return _for_targets(run)

        with gc_paused():
            return next_option(self._graph, self.options, self.findings, self._contexts, again)

    def diff(self, names: tuple[str, str]) -> str:
        """A diff of the nodes before and after, as `onnxpad.report.diff.unified_diff` makes it."""
        from onnxpad.report.diff import unified_diff

        was, now = self._graph.model.skeleton.light, self._graph.model.light_now()
        functions = zip(was.functions, now.functions, strict=True)
        return unified_diff(was.graph, now.graph, names, functions)


@suggesting
def fix(
    model: ModelSource,
    *,
    validate: bool = True,
    inputs: Arrays | None = None,
    run_timeout: float | None = None,
    progress: Progress | None = None,
    **options: Unpack[OptionKeywords],
) -> FixResult:
    """Write all padding of a model in one style; every rewrite is proved, probed and validated.

    Args:
        model: Path of an .onnx file, the bytes of one, or a model, which is not changed: an
            `onnx.ModelProto`, a graphsurgeon `Graph`, an `onnx_ir.Model` or a torch `ONNXProgram`.
        style: `fold` (in the operator's pads), `pad` (in a `Pad` node) or `symmetric` (the part
            equal on both sides in the operator, the rest in a `Pad`).
        dynamic: What to do with padding that depends on an open size: `keep` it, write it as a
            `Pad` with computed amounts (`pad`), or replace a computed `Pad` that equals SAME by
            `auto_pad` (`auto-pad`).
        shapes: Sizes to declare, by name of the input, with None for an axis that stays open.
            Without a name, such as `(1, 3, 224, 224)`, of the only input.
        dims: By name of the dimension (`input[axis]` if it has none), a size to fix or a range to
            prove for: `"32..1024"`, `"32..1024:32"` for the multiples of 32 in it, or a `range`.
        trust_dim_names: Whether dimensions of the same name have the same size, which no runtime
            enforces. A change that rests on it says so.
        no_ceil: Whether to write pools with `ceil_mode` as pools that round down and have end pads,
            where that is exact.
        trust: Whose reading to write, `spec` or `onnxruntime`, where they compute different things;
            without it such padding stays. A change that rests on it says so.
        symmetric_transpose: Whether to make pads of a ConvTranspose equal at both ends, with
            `output_padding` or a Slice for the rest; style `symmetric` implies it.
        validate: Whether to run every change, and the whole model, on onnxruntime.
        inputs: Inputs to run the whole model on, as for `validate`, instead of drawn ones.
        target: Runtimes, such as `openvino` or `tract@0.23`, or paths of `.toml` files: only
            padding that not all of them compute rightly is rewritten, and as little as possible.
        target_only: Whether onnxruntime need not run the result, which then may not be compared.
        strict: Whether to undo changes that rest on an assumption, such as finite data or `trust`.
        select: Codes or prefixes of codes to rewrite and to report; all if empty. All other padding
            stays, but `Pad`s that a change exposes to onnxruntime's optimiser are protected. With a
            target, PAD703 to PAD706 alone limit only what is reported.
        ignore: Codes or prefixes of codes to leave alone.
        run_timeout: Seconds after which a run of a model, or opening it, is given up; by default 60
            for a model with a Loop that no constant stops, else no limit.
        progress: Called with (step, done, total).

    Returns:
        The rewritten model with its changes, findings and validation.

    Raises:
        UsageError: A choice, code, input or dimension is unknown, or sizes contradict the model.
        ModelError: The model cannot be read, or the specification forbids it.
    """
    start = time.perf_counter()
    chosen = with_codes(Options.of(options))
    require_timeout(run_timeout)
    if not validate and inputs is not None:
        raise UsageError("inputs are for the validation, which is not asked for; leave out one")
    source, same_kind = kinds.source_of(model, "fix")
    with kinds.naming(source), gc_paused():
        graph = Graph.read(source)
        before = counts_of(graph)
        probe = None
        if validate:
            from onnxpad.probe.cut import NeighbourhoodProbe

            probe = NeighbourhoodProbe(graph)
        run = Run(graph, chosen, probe=probe, progress=progress)
        with kinds.limited(run_timeout, graph) if validate else nullcontext():
            run.decide()
            untaken = _for_targets(run)
            outcome = run.rewrite()  # analyses, settles, guards
    validation, barred = None, tuple[Finding, ...]()
    if validate:
        with kinds.limited(run_timeout, graph):
            found = _validated(run, outcome, source, progress, inputs)
        if isinstance(found, str):
            told = f"the sizes given are not used, since {RUNTIME} fails on what declares them"
            given = (chosen.dims or {}).items()  # ranges are proved for and not declared
            options["dims"] = {name: size for name, size in given if not str(size).isdecimal()}
            options["shapes"] = None
            again = fix(model, inputs=inputs, run_timeout=run_timeout, progress=progress, **options)
            return replace(again, warnings=(*again.warnings, f"{told}: {found}"))
        outcome, validation, barred = found
    rewriting = {"PAD702", *(each.code for each in every_pass() if each.rewrites)}
    idle = "" if any(map(chosen.rewrites, rewriting)) else and_list(chosen.select)
    findings = [*outcome.findings, *(untaken(run.left) if untaken else ())]
    codes = UNTAKEN - {*chosen.ignore}  # `select` hides none that a target does not take
    codes |= {each.code for each in findings if chosen.chooses(each.code)}
    return FixResult(
        name=kinds.name_of(source),
        options=chosen,
        changed=graph.model.changed,
        validate=validate,
        changes=(*run.decided, *outcome.changes),
        findings=tuple(each for each in findings if each.code in codes),
        undone=tuple(outcome.undone),
        barred=barred,
        validation=validation,
        counts=(before, counts_of(graph)),
        seconds=time.perf_counter() - start,
        declared=run.domain.declared,
        ranges=str(run.domain),
        dims={name: range(e.first, e.last + 1, e.step) for name, e in run.domain.given.items()},
        notes=run.notes,
        warnings=(*run.warnings, *[f"no code that rewrites is chosen ({idle})"] * bool(idle)),
        _graph=graph,
        _same_kind=same_kind,
        _contexts=[*run.left],
        _bars={**run.barred},
    )


def _for_targets(run: Run) -> AtLast | None:
    """Has a run write padding as its targets need it, and what tells of the rest; else None."""
    if not run.options.is_for_targets:
        return None
    from onnxpad.targets.choose import choose, targets_of
    from onnxpad.targets.findings import findings_after

    return partial(findings_after, targets_of(run.options), choose(run))


def at_targets(run: Run) -> Iterable[Finding]:
    """The padding that targets asked for do not take; the run writes each as they need it."""
    if not run.options.is_for_targets:
        return ()
    from onnxpad.targets.choose import choose, targets_of
    from onnxpad.targets.findings import findings_before

    fates, undeclared = choose(run), replace(run.domain, declared={})
    filed = contexts(run.graph.pristine(), run.options, undeclared) if run.domain.declared else ()
    return findings_before(targets_of(run.options), fates, filed)


def folded(
    model: ModelSource, call: str, run_timeout: float | None, **options: Any
) -> tuple[Source, FixResult]:
    """A model as `call` reads it, and with its padding folded, for what goes on with that graph.

    Raises:
        UsageError: As for `fix`.
        ModelError: As for `fix`.
    """
    require_timeout(run_timeout)
    source, _ = kinds.source_of(model, call)
    from onnxpad.runtimes import pool

    pool.warm()  # while the model is read
    return source, fix(model, validate=False, **options)


def _validated(
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
    from onnxpad.facts.recorded import recorded_sizes
    from onnxpad.probe.cut import NeighbourhoodProbe
    from onnxpad.validation.result import not_validated, why_not
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
