"""The library's call to bring the padding of a model to the convention of another framework."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxpad.api import kinds
from onnxpad.api.fix import fix, graph_of
from onnxpad.arguments import (
    Dims,
    ModelSource,
    Progress,
    Shapes,
    listed,
    require_positive,
    require_timeout,
)
from onnxpad.errors import RUNTIME, UsageError
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from onnxpad.options import check_choice
from onnxpad.report import RepadReport

if TYPE_CHECKING:
    from onnxpad.validation.given import Arrays


class RepadResult(RepadReport, kinds.ModelResult, frozen=True, kw_only=True, dict=True):
    """The result of `repad`: its report (`onnxpad.report.RepadReport`), and the model."""

    _graph: Graph
    _same_kind: kinds.SameKind

    @property
    def is_changed(self) -> bool:
        """Whether any padding changed; else `model` is the original."""
        return bool(self.changes)


def repad(
    model: ModelSource,
    to: str,
    *,
    only: str | Sequence[str] = (),
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    inputs: Arrays | None = None,
    reference: Arrays | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    run_timeout: float | None = None,
    progress: Progress | None = None,
) -> RepadResult:
    """Bring the padding of a model to another framework's convention, so that results change.

    The padding is first folded into the operators, as `fix` does. Each window operator that keeps
    the size (SAME), pads nothing (VALID), or is causal then pads as the framework does for that.
    Operators with any other padding stay, with the reason. Both models run on the same inputs, to
    say how much the outputs change.

    Args:
        model: A model in any form that `fix` takes; it is not changed.
        to: The framework: `tensorflow`, `keras`, `tflite`, `pytorch`, `caffe`, `cudnn`, `paddle`,
            `coreml`, `coreml-top-left`, `onnx-same-upper`, `onnx-same-lower`, or `valid` to pad
            nothing.
        only: Names of the operators to rewrite; all if empty.
        shapes: Sizes to fix, as for `fix`. At open sizes SAME becomes `auto_pad`.
        dims: The same by name of the dimension.
        inputs: Inputs on which to tell how much the outputs change, as for `validate`; by default
            those of the reference, or drawn ones.
        reference: The framework's outputs, as for `validate`: the result is compared with them.
        rtol: Allowed difference from the reference, relative to each element.
        atol: Allowed absolute difference from it.
        run_timeout: As for `fix`.
        progress: Called with (step, done, total).

    Raises:
        UsageError: An argument is not valid, or arrays do not fit the model.
        ModelError: The model cannot be read.
    """
    start = time.perf_counter()
    check_choice("framework", to, tuple(FRAMEWORKS))
    names = [only] if isinstance(only, str) else listed(only)
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"only has to be names of nodes, not {only!r}")
    require_positive(rtol=rtol, atol=atol)
    require_timeout(run_timeout)
    source, same_kind = kinds.source_of(model, "repad")

    from onnxpad.frameworks.repadding.comparing import difference
    from onnxpad.frameworks.repadding.results import Difference
    from onnxpad.runtimes import pool
    from onnxpad.validation.compare import Tolerance
    from onnxpad.validation.whole import validate_models

    pool.warm()  # while the model is read
    fixed = fix(model, dynamic="auto-pad", shapes=shapes, dims=dims, validate=False)
    graph = graph_of(fixed)
    repaired = [each.node for each in fixed.changes if each.repairs]
    original = graph.model.to_run()[0] if repaired else source
    changes, unchanged = repad_graph(graph, FRAMEWORKS[to], names)
    if not changes:
        graph.rollback(0)
    found, checked = Difference(), None
    with kinds.limited(run_timeout, graph):
        run, folder = graph.model.to_run()
        if changes:
            found = difference(original, run, inputs, reference, folder, progress)
        if reference is not None:
            checked = validate_models(
                run,
                None,
                inputs=inputs,
                reference=reference,
                tolerance=Tolerance(rtol, atol),
                progress=progress,
                folder=folder,
            )
    notes = fixed.notes
    if repaired and changes:
        told = "it was compared with its padding written as numbers, as the specification has it"
        notes += (f"{RUNTIME} does not run the original; {told}: {', '.join(repaired)}",)
    return RepadResult(
        name=kinds.name_of(source),
        to=to,
        title=FRAMEWORKS[to].title,
        reference=kinds.name_of_arrays(reference),
        changes=changes,
        unchanged=unchanged,
        difference=found,
        validation=checked,
        declared=fixed.declared if changes else {},
        notes=notes,
        warnings=fixed.warnings,
        seconds=time.perf_counter() - start,
        _graph=graph,
        _same_kind=same_kind,
    )
