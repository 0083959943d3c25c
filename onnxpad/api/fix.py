"""The library's calls: fix and check."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx

from onnxpad.analysis import open_axes
from onnxpad.api import kinds
from onnxpad.arguments import ModelSource, Source, dims_given, require_timeout, shapes_given
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import ModelError, UsageError, ValidationError
from onnxpad.file.copy_external import ExternalData
from onnxpad.finding import Assumption, Change, Finding, NextOption, Severity, Trust
from onnxpad.fusion.barred import LAYS_OPEN, NOTHING, Barred, note, noted
from onnxpad.graph import Graph
from onnxpad.graph.model import Model
from onnxpad.operators.counts import counts_of
from onnxpad.options import Options, check_choice
from onnxpad.passes import REPORTS
from onnxpad.passes.guard_pad import GuardPad
from onnxpad.pipeline import driver
from onnxpad.pipeline.chosen import choice
from onnxpad.pipeline.decide import DECIDING, record
from onnxpad.pipeline.heal import failed, healed
from onnxpad.pipeline.next_option import next_option
from onnxpad.process import gc_pause
from onnxpad.records import dataclass
from onnxpad.report import IN_MEMORY, CheckReport, FileReport, FixReport, Outcome
from onnxpad.rewrite.context import Context
from onnxpad.sizes.domain import SizeDomain
from onnxpad.sizes.recorded import METADATA, Recorded, record_sizes, recorded_sizes
from onnxpad.sizes.size_options import Dims, Shapes, given_domain
from onnxpad.validation.result import (
    by_reference_alone,
    joined,
    not_blamed,
    not_validated,
    why_not,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from onnxpad.validation.given import Arrays
    from onnxpad.validation.result import Validation

Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class FixResult(FixReport):
    """The result of `fix`: its report, and the rewritten model."""

    _graph: Graph
    _same_kind: Callable[[Model], Any]
    _find_next: Callable[[], NextOption | None]

    def __str__(self) -> str:
        """The report that `onnxpad fix` prints."""
        from onnxpad.report.text.fix_text import fix_text

        return fix_text(self).rstrip("\n")

    def __repr__(self) -> str:
        """The result in one line."""
        from onnxpad.report.text import one_line
        from onnxpad.report.text.fix_text import headline

        validation = self.validation
        verdict = "not validated" if validation is None else f"validation {validation.outcome}"
        return one_line(self, f"{headline(self)}{f', {verdict}' if self.changed else ''}")

    def _repr_html_(self) -> str:
        """The headline as a table, for notebooks."""
        from onnxpad.report.result_html import fix_html

        return fix_html(self)

    def to_html(self) -> str:
        """The report as one self-contained HTML page, as `onnxpad fix --html` writes it."""
        from onnxpad.page.fix_page import fix_page

        return fix_page(self, self.outlines(), self.functions())

    @property
    def ok(self) -> bool:
        """Whether the model is unchanged, agrees with the original, or is a repair.

        A repair (`validation.outcome` is `repaired`) could not be compared, for the original does
        not run because of an operator that was changed; the specification certifies every change.

        A model that differs only in the metadata for `barred` counts as unchanged. A changed model
        is never ok without validation, or if nothing could be compared for another reason.
        """
        same = not self.changed or (bool(self.barred) and not self.changes and not self.declared)
        return same or (self.validation is not None and self.validation.ok)

    def raise_for_failure(self) -> None:
        """Raises unless `ok`.

        Raises:
            ValidationError: The model differs, or nothing was compared; the message says which.
        """
        if self.ok:
            return
        if self.validation is None:
            raise ValidationError("not validated: no validation was asked for")
        raise ValidationError(why_not(self.validation))

    @cached_property
    def next(self) -> NextOption | None:
        """The option that would gain most on the padding that stays; None if none would.

        It is tried on the result, which is as before afterwards. That is done at the first access.
        A model whose validation failed has none.
        """
        if self.outcome is Outcome.INVALID:
            return None
        with gc_pause.paused():
            return self._find_next()

    @property
    def model(self) -> onnx.ModelProto:
        """The rewritten model, a new copy at each access; the original if nothing changed."""
        return self._graph.to_proto()

    def as_same_kind(self, *, keep_invalid: bool = False) -> Any:
        """The rewritten model as the kind of object that was given, always a new one.

        It is an `onnx.ModelProto`, bytes, a graphsurgeon `Graph`, an `onnx_ir.Model` or a torch
        `ONNXProgram`. Weights that are the same are not copied: the last three share them with the
        model that was given.

        Args:
            keep_invalid: Whether to return a model whose validation failed, as for `save`.

        Raises:
            ValidationError: The validation failed.
            UsageError: The model was given by its path.
        """
        self._refuse_invalid(keep_invalid)
        with gc_pause.paused():
            return self._same_kind(self._graph.model)

    def outlines(self) -> tuple[onnx.GraphProto, onnx.GraphProto]:
        """Inputs, nodes and initializers before and after; long tensors lack their elements."""
        return self._graph.model.outlines()

    def functions(self) -> list[tuple[onnx.FunctionProto, onnx.FunctionProto]]:
        """The functions of the model before and after; long tensors lack their elements."""
        return self._graph.model.function_outlines()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: ExternalData = "copy",
        keep_invalid: bool = False,
        progress: Progress | None = None,
    ) -> tuple[Path, ...]:
        """Write the model, whole or not at all.

        An unchanged model is copied byte for byte, unless its external data is put inside.

        Args:
            path: The file to write. An existing one is replaced, also the model that was fixed.
            external_data: How to keep the external data of the original available to a result in
                another folder: `copy` or `link` (hard links) its files beside the result. `inline`
                puts the data inside the result, in any folder. A model that was given without a
                path keeps its references as they are.
            keep_invalid: Whether to write a model whose validation failed. A model that could not
                be compared, or was not validated, is written in any case.
            progress: Called with (step, done, total).

        Returns:
            The data files written beside the model.

        Raises:
            ValidationError: The validation failed; nothing is written.
            UsageError: `external_data` is none of the three.
            OutputError: A file cannot be written, or a different file has the name of a data file.
        """
        self._refuse_invalid(keep_invalid)
        return self._graph.write(path, external_data=external_data, progress=progress)

    def _refuse_invalid(self, keep_invalid: bool) -> None:
        if self.validation is None or keep_invalid or self.validation.outcome != "failed":
            return
        raise ValidationError(
            f"{why_not(self.validation)}; keep_invalid=True gives the model all the same"
        )


@dataclass(frozen=True, kw_only=True)
class CheckResult(FileReport):
    """The result of `check`: the findings, and what was asked."""

    _options: Options = Options()
    _convention: str = ""

    def report(self, fail_on: Severity = Severity.WARNING) -> CheckReport:
        """The report of this model alone, for the least severity that fails the check."""
        return CheckReport(self._options, Severity(fail_on), (self,), self._convention)

    def __str__(self) -> str:
        """The report that `onnxpad check` prints on a terminal."""
        from onnxpad.report.layout import Screen
        from onnxpad.report.text.check_text import check_text

        return check_text(self.report(), Screen(is_terminal=True)).rstrip("\n")

    def __repr__(self) -> str:
        """The result in one line."""
        from onnxpad.report.text import one_line
        from onnxpad.report.text.check_text import severities

        return one_line(self, f"{severities(self.report())}, style {self._options.style}")

    def _repr_html_(self) -> str:
        """The findings by reason as a table, for notebooks."""
        from onnxpad.report.result_html import check_html

        return check_html(self.report())

    def to_html(self) -> str:
        """The findings as one self-contained HTML page, as `onnxpad check --html` writes it."""
        from onnxpad.page.check_page import check_page

        return check_page(self.report())

    def outline(self) -> onnx.GraphProto | None:
        """Inputs, nodes and initializers of the model; long tensors lack their elements."""
        return None if self.light is None else self.light.graph

    def functions(self) -> list[onnx.FunctionProto]:
        """The functions of the model; long tensors lack their elements."""
        return [] if self.light is None else list(self.light.functions)


def fix(
    model: ModelSource,
    *,
    style: str = "fold",
    dynamic: str = "keep",
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    trust_dim_names: bool = False,
    no_ceil: bool = False,
    trust: str | None = None,
    symmetric_transpose: bool = False,
    validate: bool = True,
    reference: "Arrays | None" = None,
    strict: bool = False,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    run_timeout: float | None = None,
    progress: Progress | None = None,
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
        shapes: Sizes to fix, by name of the input, with None for an axis that stays open; the
            result declares them. Sizes given without a name, such as `(1, 3, 224, 224)`, or with an
            empty one, are those of the only input.
        dims: By name of the dimension (`input[axis]` if it has none), a size to fix or a range to
            prove for: `"32..1024"`, `"32..1024:32"` for the multiples of 32 in it, or a `range`.
        trust_dim_names: Whether to assume that dimensions of the same name have the same size; no
            runtime enforces it. A change that rests on it says so, and `strict` forbids it.
        no_ceil: Whether to write pools with `ceil_mode` as pools that round down and have end pads,
            where that is exact.
        trust: Whose reading to write, `spec` or `onnxruntime`, where they compute different things.
            A change that rests on it says so, and `strict` forbids it. Without it, such padding
            stays.
        symmetric_transpose: Whether to make pads of a ConvTranspose equal at both ends, with
            `output_padding` or a Slice for the rest; style `symmetric` implies it.
        validate: Whether to run every change, and the whole model, on onnxruntime.
        reference: A framework's inputs and outputs, as for `validate`: the result has to reproduce
            these too. If the original does not, and both agree, that is only a warning.
        strict: Whether to undo changes that rest on an assumption, such as finite data.
        select: Codes or prefixes of codes to rewrite and to report; all if empty. All other padding
            stays exactly as it is. `Pad`s that a change lays open to onnxruntime's optimiser are
            protected in any case.
        ignore: Codes or prefixes of codes to leave alone.
        run_timeout: Seconds after which a run of a model, or opening it, is given up; by default 60
            for a model with a Loop that no constant stops, else no limit.
        progress: Called with (step, done, total).

    Returns:
        The rewritten model with its changes, findings and validation.

    Raises:
        UsageError: The style, the choice for open sizes, a code, an input or a dimension is
            unknown, or sizes contradict the model.
        ModelError: The model cannot be read, or the specification forbids it.
    """
    start = time.perf_counter()
    asked = Options(
        style=style,
        dynamic=dynamic,
        shapes=shapes,
        dims=dims,
        trust_dim_names=trust_dim_names,
        no_ceil=no_ceil,
        trust=trust,  # type: ignore[arg-type]  # by its name
        symmetric_transpose=symmetric_transpose,
        strict=strict,
        select=select,
        ignore=ignore,
    )
    require_timeout(run_timeout)
    if reference is not None and not validate:
        raise UsageError("a reference is for the validation, which is not asked for; leave out one")
    held = kinds.given(model, "fix")
    chosen = choice(select, ignore)
    passes = None if chosen.is_all else chosen.passes()
    given = held.source
    with naming(given), gc_pause.paused():
        graph = Graph.read(given)
        counts = counts_of(graph)
        recorded = recorded_sizes(graph)
        domain = given_domain(
            graph, shapes, dims, trust_dim_names=trust_dim_names, recorded=recorded
        )
        probe = exposing = None
        if validate:
            from onnxpad.pipeline.ask_optimiser import misfolded
            from onnxpad.probe.cut import NeighbourhoodProbe

            probe, exposing = NeighbourhoodProbe(graph), misfolded
        untouched = graph.mark()
        decided: list[Change] = []

        def limited() -> "AbstractContextManager[None]":
            return kinds.limited(run_timeout, graph) if validate else nullcontext()

        def rewrite(barred: Barred, passes: driver.Passes | None = passes) -> driver.Outcome:
            graph.rollback(untouched)
            with gc_pause.paused(), limited():
                outcome = driver.rewrite(
                    graph,
                    asked,
                    domain=domain,
                    probe=probe,
                    progress=progress,
                    barred=barred,
                    exposing=exposing,
                    passes=passes,
                    guard_existing=chosen.has(GuardPad.code),
                )
            if exposing is not None:  # only asking onnxruntime tells which of these are barred
                opened = {key: why for key, why in outcome.barred.items() if why == LAYS_OPEN}
                note(graph, {**noted(graph), **opened})
            if any(change.certificate.within for change in (*decided, *outcome.changes)):
                record_sizes(graph, domain.given, recorded)
            return outcome

        compared: Source = given
        if asked.trust is Trust.SPEC:
            first = rewrite(NOTHING, [kind for kind in DECIDING if chosen.has(kind.code)])
            decided = first.changes
            if decided:
                record(graph, (each.key[1] for each in first.made))
                compared, _ = graph.model.to_run()
            untouched = graph.mark()
        outcome = rewrite(NOTHING)
    verdict = None
    barred: tuple[Finding, ...] = ()
    if validate and graph.changed:
        samples = 3 if domain.given else 1

        def validated(outcome: driver.Outcome) -> "Validation":
            probes = probe.count if probe is not None else 0
            unseen = _specified(decided, outcome.changes)
            repairs = probe is not None and _repairs(decided, outcome, probe.repaired)
            run = partial(_validate, compared, graph, outcome.sizes, samples, probes, progress)
            with limited():
                found = not_validated(unseen, probes=probes) if unseen else run(repairs=repairs)
                if reference is not None:
                    found = joined(found, _blaming(given, reference, run(reference=reference)))
            return replace(found, notes=(*found.notes, *(() if unseen else _said(decided))))

        verdict = validated(outcome)
        if failed(verdict) and not by_reference_alone(verdict):
            outcome, verdict, barred = healed(graph, rewrite, validated, outcome, verdict)
    elif validate and outcome.undone:
        probes = probe.count if probe is not None else 0
        verdict = not_validated("no change was kept", probes=probes)

    missed: tuple[str, ...] = ()
    if reference is not None and not graph.changed:
        with limited():
            missed = _missed(given, reference, progress)

    def merged(keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Keywords in which sizes are added to those given."""
        given: dict[str, Any] = {"shapes": shapes_given(shapes), "dims": dims_given(dims)}
        return {
            name: {**given[name], **value} if name in given else value
            for name, value in keywords.items()
        }

    known = [outcome.contexts]

    def tried(keywords: Mapping[str, Any]) -> None:
        unused = known.pop() if known and keywords.keys() == {"dynamic"} else ()
        more = replace(asked, **merged(keywords))
        still_open = {axis.label for axis in open_axes(graph.inputs)}
        given = dims_given(more.dims)
        sizes = given_domain(
            graph,
            more.shapes,
            {name: size for name, size in given.items() if name in still_open},
            trust_dim_names=trust_dim_names,
            recorded=recorded_sizes(graph),
        )
        driver.rewrite_further(
            graph,
            more,
            found=unused,
            domain=sizes,
            passes=passes,
            guard_existing=chosen.has(GuardPad.code),
        )

    left = tuple(each for each in outcome.findings if chosen.has(each.code))

    def find_next() -> NextOption | None:
        to_pads = style != "fold"
        found = next_option(graph, left, outcome.sizes, tried, to_pads=to_pads)
        return found and replace(found, keywords=merged(found.keywords))

    with gc_pause.paused():
        after = counts_of(graph) if graph.changed else counts
    return FixResult(
        name=kinds.name_of(given),
        options=replace(asked, select=chosen.chosen, ignore=chosen.left_out),
        changed=graph.changed,
        validate=validate,
        changes=(*decided, *outcome.changes),
        findings=left,
        undone=tuple(outcome.undone),
        barred=barred,
        validation=verdict,
        counts=(counts, after),
        seconds=time.perf_counter() - start,
        declared=domain.declared,
        ranges=str(domain),
        dims={
            name: range(each.first, each.last + 1, each.step) for name, each in domain.given.items()
        },
        notes=_notes(recorded, domain),
        warnings=(*_warnings(recorded), *missed),
        delivery=IN_MEMORY,
        _graph=graph,
        _same_kind=held.same_kind,
        _find_next=find_next,
    )


def graph_of(result: FixResult) -> Graph:
    """The graph of a result, for calls that go on with it."""
    return result._graph


def check(
    model: ModelSource,
    *,
    style: str = "fold",
    dynamic: str = "keep",
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    trust_dim_names: bool = False,
    no_ceil: bool = False,
    trust: str | None = None,
    symmetric_transpose: bool = False,
    strict: bool = False,
    convention: str | None = None,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
) -> CheckResult:
    """Find the padding that `fix` would rewrite, and the padding that stays, with the reason.

    The model is only read. Each rewrite is tried and proved as `fix` does, so padding whose rewrite
    `fix` would undo is reported as staying. Unlike `fix`, `check` does not run onnxruntime.

    Args:
        model: As for `fix`.
        style: As for `fix`.
        dynamic: As for `fix`.
        shapes: As for `fix`.
        dims: As for `fix`.
        trust_dim_names: As for `fix`.
        no_ceil: As for `fix`.
        trust: As for `fix`.
        symmetric_transpose: As for `fix`.
        strict: Whether padding stays if its rewrite rests on an assumption, as for `fix`.
        convention: A framework, such as `tensorflow`: operators that do not pad as it does are
            warnings. Without it, the conventions that the model's padding fits (PAD601 to PAD604)
            are told if `select` names these codes.
        select: Codes or prefixes of codes to report; all if empty. The others count as left alone,
            as `fix` leaves them.
        ignore: Codes or prefixes of codes to leave out.

    Returns:
        The findings, in the order of the graph.

    Raises:
        UsageError: As for `fix`, or an unknown code or framework.
        ModelError: The model cannot be read, or the specification forbids it.
    """
    asked = Options(
        style=style,
        dynamic=dynamic,
        shapes=shapes,
        dims=dims,
        trust_dim_names=trust_dim_names,
        no_ceil=no_ceil,
        trust=trust,  # type: ignore[arg-type]  # by its name
        symmetric_transpose=symmetric_transpose,
        strict=strict,
        select=select,
        ignore=ignore,
    )
    given = kinds.given(model, "check").source
    chosen = choice(select, ignore)
    asked_for = convention is not None or chosen.chosen  # they take longer than all the rest
    reports = {code for code in REPORTS if asked_for and chosen.has(code)}
    if convention is not None:
        from onnxpad.conventions.table import FRAMEWORKS

        check_choice("convention", convention, tuple(FRAMEWORKS))
    with naming(given), gc_pause.paused():
        graph = Graph.read(given)
        recorded = recorded_sizes(graph)
        domain = given_domain(
            graph, shapes, dims, trust_dim_names=trust_dim_names, recorded=recorded
        )
        find = partial(driver.find, graph, asked, domain=domain)
        at_last = partial(_conventions, reports, convention or "") if reports else None
        if chosen.is_all:
            found = find(at_last=at_last)
        else:
            found = find(passes=chosen.passes())
            if at_last is not None:  # these are about the model as all passes leave it
                found += [each for each in find(at_last=at_last) if each.code in reports]
    return CheckResult(
        kinds.name_of(given),
        tuple(finding for finding in found if chosen.has(finding.code)),
        _notes(recorded, domain),
        _warnings(recorded),
        light=graph.model.skeleton.light,
        _options=asked,
        _convention=convention or "",
    )


def _conventions(
    codes: Collection[str], convention: str, contexts: Sequence[Context]
) -> Iterator[Finding]:
    """The findings of the reports with these codes on the graphs of a model."""
    from onnxpad.fitting.reports import MODEL_REPORTS, padding_of

    model = padding_of(contexts, convention)
    for kind in MODEL_REPORTS:
        if kind.code in codes:
            yield from kind().find(model)


def _specified(decided: Sequence[Change], others: Sequence[Change]) -> str:
    """Why onnxruntime cannot show that a model decided by the specification is right, if so."""
    late = [each for each in others if Assumption.TRUSTS_SPEC in each.certificate.assumptions]
    if not late and (others or not decided):
        return ""
    nodes = ", ".join(each.node for each in (*decided, *late))
    return f"onnxruntime computes something else than the specification for {nodes} in the original"


def _repairs(decided: Sequence[Change], outcome: driver.Outcome, repaired: Collection[str]) -> bool:
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


def _notes(recorded: Recorded, domain: SizeDomain) -> tuple[str, ...]:
    """The sizes taken from the model's metadata, in one line; not those that the user narrowed."""
    taken = recorded.told(domain.given)
    return (f"sizes taken from the model's metadata ({METADATA}): {taken}",) if taken else ()


def _warnings(recorded: Recorded) -> tuple[str, ...]:
    return (recorded.warning,) if recorded.warning else ()


@contextmanager
def naming(model: Source) -> Iterator[None]:
    """Errors about a model name its file exactly once."""
    try:
        yield
    except ModelError as error:
        if not isinstance(model, Path) or str(model) in str(error):
            raise
        raise ModelError(f"{model}: {error}") from error


def _blaming(model: Source, reference: "Arrays", found: "Validation") -> "Validation":
    """A verdict by a reference; what the original does not reproduce either is only a warning."""
    fair = not_blamed(found)
    return replace(fair, warnings=(*fair.warnings, *_cure(model, reference, found)))


def _missed(model: Source, reference: "Arrays", progress: Progress | None) -> tuple[str, ...]:
    """Why a model that nothing changes does not reproduce a reference; nothing if it does."""
    from onnxpad.validation.whole import validate_models

    found = validate_models(model, None, reference=reference, progress=progress)
    if found.ok:
        return ()
    told = "nothing is changed, and the model is not known to reproduce the reference"
    return (f"{told}: {why_not(found)}", *_cure(model, reference, found))


def _cure(model: Source, reference: "Arrays", found: "Validation") -> Iterator[str]:
    """The command that looks for the padding with which a model reproduces a reference."""
    from onnxpad.api.validate import match_command, may_be_padding

    if may_be_padding(model, found):
        command = match_command(model, reference, None, None, None)
        yield f"{command} looks for the padding with which the original reproduces the reference"


def _validate(
    model: Source,
    graph: Graph,
    sizes: Mapping[str, Sizes],
    samples: int,
    probes: int,
    progress: Progress | None,
    *,
    repairs: bool = False,
    reference: "Arrays | None" = None,
) -> "Validation":
    from onnxpad.engine.wheels import warnings
    from onnxpad.validation.whole import validate_models

    if graph.model.has_external_data and graph.model.path is None:
        why = "its external data cannot be found; pass the path of the model"
        return not_validated(why, probes=probes)
    rewritten, folder = graph.model.to_run()

    verdict = validate_models(
        model,
        rewritten,
        folder=folder,
        samples=samples,
        sizes=sizes,
        reference=reference,
        limits=dict(recorded_sizes(graph).by_axis()),
        progress=progress,
        repairs=repairs,
    )
    return replace(verdict, probes=probes, warnings=(*verdict.warnings, *warnings()))
