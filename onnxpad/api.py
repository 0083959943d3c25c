"""The library's calls: fix and check. May import anything but cli and report."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import onnx

from onnxpad import collection, pipeline
from onnxpad.errors import ModelError, UsageError
from onnxpad.finding import Change, Finding, Severity
from onnxpad.graph import ExternalData, Graph
from onnxpad.site import STYLES
from onnxpad.verdict import Validation

Model: TypeAlias = "str | os.PathLike[str] | onnx.ModelProto"
Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class FixResult:
    """What `fix` did, and the model that came out.

    Attributes:
        changes: Every rewrite made, in order.
        findings: What remains: paddings that stay, each with its reason.
        undone: Rewrites that could not be certified, or whose probe differed, and were undone.
        validation: What running both models showed; None without validation.
        changed: Whether the model differs from the original.
        seconds: Wall time that it took.
        nodes_before: Nodes of the main graph before.
        nodes_after: Nodes of the main graph after.
    """

    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    undone: tuple[Finding, ...]
    validation: Validation | None
    changed: bool
    seconds: float
    nodes_before: int
    nodes_after: int
    _graph: Graph

    @property
    def model(self) -> onnx.ModelProto:
        """The rewritten model, made anew at each call; equal to the original if nothing changed."""
        return self._graph.to_proto()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: ExternalData = "copy",
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
            progress: Called with a step, how much of it is done, and how much there is.

        Raises:
            UsageError: Another `external_data`.
            OutputError: A file cannot be written, or another one is in the place of the data.
        """
        return self._graph.write(path, external_data=external_data, progress=progress)


@dataclass(frozen=True)
class CheckResult:
    """What `check` found."""

    findings: tuple[Finding, ...]

    def failing(self, fail_on: Severity = Severity.WARNING) -> tuple[Finding, ...]:
        """The findings at or above a severity."""
        return tuple(f for f in self.findings if f.severity.rank >= Severity(fail_on).rank)


def fix(
    model: Model,
    *,
    style: str = "fold",
    validate: bool = True,
    strict: bool = False,
    progress: Progress | None = None,
) -> FixResult:
    """A model whose padding is written in one style, every rewrite proved, probed and validated.

    Args:
        model: Path of an .onnx file, or a model, which is not changed.
        style: `fold` (in the operator's pads), `pad` (in a `Pad` of its own) or `symmetric` (equal
            amounts in the operator, the rest in a `Pad`).
        validate: Whether to run every change, and the whole model, on onnxruntime.
        strict: Whether to undo changes that rest on an assumption, such as finite data.
        progress: Called with a step, how much of it is done, and how much there is.

    Raises:
        UsageError: An unknown style.
        ModelError: The model cannot be read, or the specification forbids it.
    """
    start = time.perf_counter()
    _check_style(style)
    with _naming(model), collection.paused():
        graph = _load(model)
        nodes = sum(1 for _ in graph.nodes)
        prober = None
        if validate:
            from onnxpad.neighbourhood import Probes

            prober = Probes(graph)
        outcome = pipeline.rewrite(graph, style, strict=strict, prober=prober, progress=progress)
    changed = graph.changed
    verdict = None
    if validate and changed:
        verdict = _validate(model, graph, prober.count if prober is not None else 0, progress)
    return FixResult(
        changes=tuple(outcome.changes),
        findings=tuple(outcome.findings),
        undone=tuple(outcome.undone),
        validation=verdict,
        changed=changed,
        seconds=time.perf_counter() - start,
        nodes_before=nodes,
        nodes_after=sum(1 for _ in graph.nodes),
        _graph=graph,
    )


def check(
    model: Model,
    *,
    style: str = "fold",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> CheckResult:
    """What `fix` would find in a model, which is only read.

    Args:
        model: Path of an .onnx file, or a model.
        style: As for `fix`.
        select: Codes, or beginnings of codes, to report; all when empty.
        ignore: Codes, or beginnings of codes, to leave out.

    Raises:
        UsageError: An unknown style.
        ModelError: The model cannot be read, or the specification forbids it.
    """
    _check_style(style)
    chosen, left_out = tuple(select), tuple(ignore)
    with _naming(model), collection.paused():
        found = pipeline.find(_load(model), style)
    return CheckResult(
        tuple(
            finding
            for finding in found
            if (not chosen or finding.code.startswith(chosen))
            and not (left_out and finding.code.startswith(left_out))
        )
    )


def _check_style(style: str) -> None:
    if style not in STYLES:
        raise UsageError(f"unknown style {style!r}; choose one of {', '.join(STYLES)}")


@contextmanager
def _naming(model: Model) -> Iterator[None]:
    """Errors about a model name its file, once."""
    try:
        yield
    except ModelError as error:
        if isinstance(model, onnx.ModelProto) or str(model) in str(error):
            raise
        raise ModelError(f"{model}: {error}") from error


def _load(model: Model) -> Graph:
    if isinstance(model, onnx.ModelProto):
        return Graph.from_proto(model)
    return Graph.load(model)


def _validate(model: Model, graph: Graph, probes: int, progress: Progress | None) -> Validation:
    from dataclasses import replace

    from onnxpad.validation import validate_models

    original = model if isinstance(model, onnx.ModelProto) else Path(model)
    if graph.has_external_data and graph.path is None:
        why = "not validated: its external data is not known; pass the path of the model"
        return Validation(True, (), (why,), probes)
    rewritten, folder = graph.to_run()

    def report(step: str) -> None:
        if progress is not None:
            progress(step, 0, 0)

    verdict = validate_models(original, rewritten, folder=folder, progress=report)
    return replace(verdict, probes=probes)
