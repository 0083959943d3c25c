"""The library's call to bring the padding of a model to the convention of another framework."""

from __future__ import annotations

import time
from collections.abc import Sequence

from onnxpad.api import kinds
from onnxpad.api.fix import folded
from onnxpad.arguments import Dims, ModelSource, Progress, Shapes, listed
from onnxpad.errors import UsageError
from onnxpad.frameworks.conventions.table import framework_named
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from onnxpad.options import suggesting
from onnxpad.report import RepadReport


class RepadResult(RepadReport, kinds.ModelResult, frozen=True, kw_only=True, dict=True):
    """The result of `repad`: its report, and the model."""

    _graph: Graph
    _same_kind: kinds.SameKind

    @property
    def is_changed(self) -> bool:
        """Whether any padding changed; else `model` is the original."""
        return bool(self.changes)


@suggesting
def repad(
    model: ModelSource,
    to: str,
    *,
    only: str | Sequence[str] = (),
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    run_timeout: float | None = None,
    progress: Progress | None = None,
) -> RepadResult:
    """Bring the padding of a model to another framework's convention, so that results change.

    The padding is first folded, as `fix` does. Each window operator that keeps the size (SAME),
    pads nothing (VALID), or is causal then pads as the framework does for that; others stay, with
    the reason. Both models run on drawn inputs, to say how much the outputs change.

    Args:
        model: A model in any form that `fix` takes; it is not changed.
        to: The framework: `tensorflow`, `keras`, `tflite`, `pytorch`, `caffe`, `cudnn`, `paddle`,
            `coreml`, `coreml-top-left`, `onnx-same-upper`, `onnx-same-lower`, or `valid` to pad
            nothing.
        only: Names of the operators to rewrite, or patterns as for `explain`; all if empty.
        shapes: Sizes to fix, as for `fix`. At open sizes SAME becomes `auto_pad`.
        dims: The same by name of the dimension.
        run_timeout: As for `fix`.
        progress: Called with (step, done, total).

    Raises:
        UsageError: An argument is not valid.
        ModelError: The model cannot be read.
    """
    start = time.perf_counter()
    framework = framework_named(to)
    names = [only] if isinstance(only, str) else listed(only)
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"only has to be names of nodes, not {only!r}")
    _, fixed = folded(model, "repad", run_timeout, dynamic="auto-pad", shapes=shapes, dims=dims)
    from onnxpad.frameworks.repadding.comparing import difference
    from onnxpad.frameworks.repadding.results import Difference

    graph = fixed._graph
    before, _ = graph.model.to_run()
    changes, unchanged = repad_graph(graph, framework, names, fixed._contexts[0].domains)
    if not changes:
        graph.rollback(0)
    with kinds.limited(run_timeout, graph):
        now = graph.model.to_run()
        found = difference(before, *now, progress) if changes else Difference()
    return RepadResult(
        name=fixed.name,
        to=framework.name,
        title=framework.title,
        changes=changes,
        unchanged=unchanged,
        difference=found,
        declared=fixed.declared if changes else {},
        notes=(*fixed.notes, *filter(None, [framework.caution])),
        warnings=fixed.warnings,
        seconds=time.perf_counter() - start,
        _graph=graph,
        _same_kind=fixed._same_kind,
    )
