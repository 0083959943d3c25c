"""The library's calls: fix and check."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import onnx

from onnxpad.arguments import Model, Source, codes_given, source
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import ModelError, UsageError, ValidationError
from onnxpad.file.copy_external import ExternalData
from onnxpad.finding import Change, Finding, Severity
from onnxpad.fusion.barred import NOTHING, Barred, note, noted
from onnxpad.graph import Graph
from onnxpad.messages import meant
from onnxpad.padding.computed_pads import DYNAMIC
from onnxpad.padding.plan import STYLES
from onnxpad.pipeline import driver
from onnxpad.pipeline.catalogue import catalogue
from onnxpad.pipeline.heal import failed, healed
from onnxpad.process import gc_pause
from onnxpad.sizes.recorded import METADATA, Recorded, record_sizes, recorded_sizes
from onnxpad.sizes.size_options import Dims, Shapes, given_domain
from onnxpad.validation.result import why_not

if TYPE_CHECKING:
    from onnxpad.validation.result import Validation

Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class FixResult:
    """What `fix` did, and the model that came out.

    Attributes:
        changes: Every rewrite made, in order.
        findings: What remains: paddings that stay, each with its reason.
        undone: Rewrites that could not be certified, or whose probe differed, and were undone.
        barred: Rewrites that were taken back because of what onnxruntime made of the model as a
            whole; the model's metadata names them, and the next `check` and `fix` leave them alone.
        validation: What running both models showed; None without validation.
        declared: The shapes of inputs, by name, that the model declares now and did not before.
        ranges: The sizes that changes were proved for, where ranges were given: as
            `height 32..1024 in steps of 32`. Where a change needs them, the model's metadata has
            them (`onnxpad.sizes`), and counts as given from then on.
        dims: The same by name of the dimension, as ranges.
        notes: The sizes that were taken as given since the model's metadata has them, in a line.
        warnings: What the metadata says of sizes and cannot be used, in a line.
        changed: Whether the model differs from the original.
        seconds: Wall time that it took.
        nodes_before: Nodes of the main graph before.
        nodes_after: Nodes of the main graph after.
    """

    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    undone: tuple[Finding, ...]
    barred: tuple[Finding, ...]
    validation: "Validation | None"
    declared: Mapping[str, tuple[int | str | None, ...]]
    ranges: str
    dims: Mapping[str, range]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    changed: bool
    seconds: float
    nodes_before: int
    nodes_after: int
    _graph: Graph

    @property
    def ok(self) -> bool:
        """Whether the model is unchanged, or was compared with the original and agrees with it.

        One in which only the metadata says what was taken back is as good as unchanged. Never true
        of a changed model without validation, or where nothing could be compared.
        """
        same = not self.changed or (bool(self.barred) and not self.changes and not self.declared)
        return same or (self.validation is not None and self.validation.ok)

    def raise_for_failure(self) -> None:
        """Return if `ok`.

        Raises:
            ValidationError: What differs, or why nothing was compared, in one line.
        """
        if self.ok:
            return
        if self.validation is None:
            raise ValidationError("not validated: no validation was asked for")
        raise ValidationError(why_not(self.validation))

    @property
    def model(self) -> onnx.ModelProto:
        """The rewritten model, made anew at each call; equal to the original if nothing changed."""
        return self._graph.to_proto()

    def outlines(self) -> tuple[onnx.GraphProto, onnx.GraphProto]:
        """Inputs, nodes and initializers before and after; long tensors lack their elements."""
        return self._graph.model.outlines()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: ExternalData = "copy",
        keep_invalid: bool = False,
        progress: Progress | None = None,
    ) -> tuple[Path, ...]:
        """Writes the model: whole, or not at all; returns the files of data written beside it.

        An unchanged model is copied byte for byte, unless its data comes inside.

        Args:
            path: The file to write.
            external_data: What becomes of data in files beside the original where the result is
                written to another folder: `copy` or `link` (hard links) beside the result. With
                `inline` it comes inside the result, in any folder. A model that came without a
                path keeps its references as they are.
            keep_invalid: Whether to write a model whose validation failed. One that could not be
                compared, or was not validated, is written in any case.
            progress: Called with a step, how much of it is done, and how much there is.

        Raises:
            ValidationError: The validation failed; nothing is written.
            UsageError: Another `external_data`.
            OutputError: A file cannot be written, or another one is in the place of the data.
        """
        failed = self.validation is not None and self.validation.outcome == "failed"
        if self.validation is not None and failed and not keep_invalid:
            raise ValidationError(
                f"{why_not(self.validation)}; keep_invalid=True writes it all the same"
            )
        return self._graph.write(path, external_data=external_data, progress=progress)


@dataclass(frozen=True)
class CheckResult:
    """What `check` found.

    Attributes:
        findings: What there is to fix, and what stays and why.
        notes: The sizes that were taken as given since the model's metadata has them, in a line.
        warnings: What the metadata says of sizes and cannot be used, in a line.
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def failing(self, fail_on: Severity = Severity.WARNING) -> tuple[Finding, ...]:
        """The findings at or above a severity."""
        _check_choice("severity", fail_on, tuple(Severity))
        return tuple(f for f in self.findings if f.severity.rank >= Severity(fail_on).rank)


def fix(
    model: Model,
    *,
    style: str = "fold",
    dynamic: str = "keep",
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    trust_dim_names: bool = False,
    validate: bool = True,
    strict: bool = False,
    progress: Progress | None = None,
) -> FixResult:
    """A model whose padding is written in one style, every rewrite proved, probed and validated.

    Args:
        model: Path of an .onnx file, the bytes of one, or a model, which is not changed.
        style: `fold` (in the operator's pads), `pad` (in a `Pad` of its own) or `symmetric` (equal
            amounts in the operator, the rest in a `Pad`).
        dynamic: What becomes of padding that depends on an open size: `keep`, `pad` (a `Pad` that
            computes its amounts) or `auto-pad` (a computed `Pad` that is SAME becomes that).
        shapes: Sizes to fix, by name of the input, None for an axis that stays open: the model that
            comes out declares them. An empty name is that of the only input, and so are sizes
            given without a name, as `(1, 3, 224, 224)`.
        dims: A size to fix, or a range (`"32..1024"`, `"32..1024:32"` for the multiples of 32 in
            it, or Python's `range`) that the model is taken for, by name of the dimension
            (`input[axis]` if it has none).
        trust_dim_names: Whether axes whose dimensions have one name have one size, which no runtime
            sees to. A change that rests on it says so, and `strict` forbids it.
        validate: Whether to run every change, and the whole model, on onnxruntime.
        strict: Whether to undo changes that rest on an assumption, such as finite data.
        progress: Called with a step, how much of it is done, and how much there is.

    Raises:
        UsageError: An unknown style, choice for open sizes, input or dimension, or sizes that
            contradict the model.
        ModelError: The model cannot be read, or the specification forbids it.
    """
    start = time.perf_counter()
    given = source(model, "fix")
    _check_choice("style", style, STYLES)
    _check_choice("dynamic", dynamic, DYNAMIC)
    with _naming(given), gc_pause.paused():
        graph = Graph.read(given)
        nodes = sum(1 for _ in graph.nodes)
        recorded = recorded_sizes(graph.model.metadata(METADATA), graph)
        domain = given_domain(
            graph, shapes, dims, trust_dim_names=trust_dim_names, recorded=recorded
        )
        probe = exposing = None
        if validate:
            from onnxpad.pipeline.ask_optimiser import misfolded
            from onnxpad.probe.cut import NeighbourhoodProbe

            probe, exposing = NeighbourhoodProbe(graph), misfolded
        untouched = graph.mark()

        def rewrite(barred: Barred) -> driver.Outcome:
            graph.rollback(untouched)
            with gc_pause.paused():
                outcome = driver.rewrite(
                    graph,
                    style,
                    dynamic=dynamic,
                    domain=domain,
                    strict=strict,
                    probe=probe,
                    progress=progress,
                    barred=barred,
                    exposing=exposing,
                )
            if exposing is not None:  # who does not ask onnxruntime would not know of it
                note(graph, {**noted(graph), **outcome.barred})
            if any(change.certificate.within for change in outcome.changes):
                record_sizes(graph, domain.given, recorded)
            return outcome

        outcome = rewrite(NOTHING)
    verdict = None
    barred: tuple[Finding, ...] = ()
    if validate and graph.changed:
        samples = 3 if domain.given else 1

        def validated(outcome: driver.Outcome) -> "Validation":
            probes = probe.count if probe is not None else 0
            return _validate(given, graph, outcome.sizes, samples, probes, progress)

        verdict = validated(outcome)
        if failed(verdict):
            outcome, verdict, barred = healed(graph, rewrite, validated, outcome, verdict)
    elif validate and outcome.undone:
        from onnxpad.validation.result import not_validated

        probes = probe.count if probe is not None else 0
        verdict = not_validated("no change was kept", probes=probes)
    return FixResult(
        changes=tuple(outcome.changes),
        findings=tuple(outcome.findings),
        undone=tuple(outcome.undone),
        validation=verdict,
        declared=domain.declared,
        ranges=str(domain),
        dims={
            name: range(each.first, each.last + 1, each.step) for name, each in domain.given.items()
        },
        notes=_notes(recorded),
        warnings=_warnings(recorded),
        barred=barred,
        changed=graph.changed,
        seconds=time.perf_counter() - start,
        nodes_before=nodes,
        nodes_after=sum(1 for _ in graph.nodes),
        _graph=graph,
    )


def check(
    model: Model,
    *,
    style: str = "fold",
    dynamic: str = "keep",
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    trust_dim_names: bool = False,
    strict: bool = False,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
) -> CheckResult:
    """What there is to `fix` in a model, which is only read, and what stays and why.

    Each rewrite is tried and proved on the way, so what `fix` would undo counts among what stays.
    Only what running a change on onnxruntime shows, which `fix` does too, is not asked for.

    Args:
        model: Path of an .onnx file, the bytes of one, or a model.
        style: As for `fix`, and so are `dynamic`, `shapes`, `dims` and `trust_dim_names`.
        dynamic: What is asked for of padding that depends on an open size.
        shapes: Sizes that are fixed.
        dims: Sizes that are fixed, or ranges.
        trust_dim_names: Whether axes whose dimensions have one name have one size.
        strict: Whether what rests on an assumption stays, as with `fix`.
        select: Codes, or beginnings of codes, to report; all when empty.
        ignore: Codes, or beginnings of codes, to leave out.

    Raises:
        UsageError: As for `fix`, or a code that there is not.
        ModelError: The model cannot be read, or the specification forbids it.
    """
    given = source(model, "check")
    _check_choice("style", style, STYLES)
    _check_choice("dynamic", dynamic, DYNAMIC)
    chosen, left_out = (
        codes_given(option, codes, catalogue().keys()) if codes else ()
        for option, codes in (("select", select), ("ignore", ignore))
    )
    with _naming(given), gc_pause.paused():
        graph = Graph.read(given)
        recorded = recorded_sizes(graph.model.metadata(METADATA), graph)
        domain = given_domain(
            graph, shapes, dims, trust_dim_names=trust_dim_names, recorded=recorded
        )
        found = driver.find(graph, style, dynamic=dynamic, domain=domain, strict=strict)
    return CheckResult(
        tuple(
            finding
            for finding in found
            if (not chosen or finding.code.startswith(chosen))
            and not (left_out and finding.code.startswith(left_out))
        ),
        _notes(recorded),
        _warnings(recorded),
    )


def _notes(recorded: Recorded) -> tuple[str, ...]:
    """What was taken as given, in a line."""
    if not recorded.sizes:
        return ()
    return (f"sizes taken as the model's metadata has them ({METADATA}): {recorded}",)


def _warnings(recorded: Recorded) -> tuple[str, ...]:
    return (recorded.warning,) if recorded.warning else ()


def _check_choice(what: str, choice: str, choices: Sequence[str]) -> None:
    if choice not in choices:
        raise UsageError(
            f"unknown {what} {choice!r}; choose one of {', '.join(choices)}"
            + meant(choice, choices)
        )


@contextmanager
def _naming(model: Source) -> Iterator[None]:
    """Errors about a model name its file, once."""
    try:
        yield
    except ModelError as error:
        if not isinstance(model, Path) or str(model) in str(error):
            raise
        raise ModelError(f"{model}: {error}") from error


def _validate(
    model: Source,
    graph: Graph,
    sizes: Mapping[str, Sizes],
    samples: int,
    probes: int,
    progress: Progress | None,
) -> "Validation":
    from onnxpad.engine.wheels import warnings
    from onnxpad.validation.result import not_validated
    from onnxpad.validation.whole import validate_models

    if graph.model.has_external_data and graph.model.path is None:
        why = "its external data is not known; pass the path of the model"
        return not_validated(why, probes=probes)
    rewritten, folder = graph.model.to_run()

    def report(step: str) -> None:
        if progress is not None:
            progress(step, 0, 0)

    verdict = validate_models(
        model,
        rewritten,
        folder=folder,
        samples=samples,
        sizes=sizes,
        progress=report,
    )
    return replace(verdict, probes=probes, warnings=(*verdict.warnings, *warnings()))
