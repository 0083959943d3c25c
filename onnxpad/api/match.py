"""The library's call to find the padding with which a model reproduces a framework's outputs."""

from __future__ import annotations

import time

from onnxpad.api import kinds
from onnxpad.api.fix import folded
from onnxpad.arguments import Arrays, ModelSource, Progress, require_positive
from onnxpad.frameworks.repadding.comparing import Closeness
from onnxpad.frameworks.repadding.matching import match_graph
from onnxpad.frameworks.repadding.results import Matching, Repadded
from onnxpad.graph import Graph
from onnxpad.options import suggesting
from onnxpad.report import MatchReport
from onnxpad.runtimes.runtime import LimitError


class MatchResult(MatchReport, kinds.ModelResult, frozen=True, kw_only=True, dict=True):
    """The result of `match`: its report, and the model."""

    _graph: Graph
    _same_kind: kinds.SameKind

    @property
    def changes(self) -> tuple[Repadded, ...]:
        """The operators with another padding, in file order, as `onnxpad.match` finds them."""
        return self.matching.changes

    @property
    def reason(self) -> str:
        """Why it is not matched, in one line; else empty."""
        return self.matching.reason

    @property
    def failure(self) -> str:
        """Why no padding reproduces the reference; else empty."""
        return f"{self.outcome}: {self.reason}" if self.exit_code else ""

    @property
    def is_changed(self) -> bool:
        """Whether `model` has another padding."""
        return self.outcome == "matched"


@suggesting
def match(
    model: ModelSource,
    reference: Arrays,
    *,
    inputs: Arrays | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seconds: float = 120.0,
    run_timeout: float | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Find the padding with which a model reproduces a framework's recorded outputs.

    The padding is first folded, as `fix` does. Conventions of the whole model are tried, then
    groups of like operators, then single ones. Differences that are not padding are never matched.

    Args:
        model: A model in any form that `fix` takes; it is not changed.
        reference: A framework's outputs, as for `validate`, with its inputs unless `inputs` is
            given. Inner tensors by the names that the model has for them make it surer and faster,
            and several of other sizes tell conventions apart that agree at some.
        inputs: The inputs.
        rtol: Allowed difference relative to each element.
        atol: Allowed absolute difference on top. With neither, outputs may differ by 1e-5 of their
            range in float32, or by a few times what the runtime's own optimiser changes.
        seconds: How long to search.
        run_timeout: As for `fix`.
        progress: Called with (step, done, total).

    Returns:
        The verdict, and the model with the padding found.

    Raises:
        UsageError: An argument is not valid, or arrays do not fit the model.
        ModelError: The model cannot be read, or does not load.
    """
    start = time.perf_counter()
    require_positive(rtol=rtol, atol=atol, seconds=seconds)
    options = {"--reference": reference, "--inputs": inputs, "--rtol": rtol, "--atol": atol}
    source, fixed = folded(model, "match", run_timeout)
    graph, close = fixed._graph, Closeness(rtol, atol)
    with kinds.naming(source), kinds.limited(run_timeout, graph):
        try:
            found = match_graph(graph, reference, inputs, close, seconds, progress)
        except LimitError as error:
            found = Matching("not matched", reason=f"the model {error}")
    result = MatchResult(
        name=fixed.name,
        reference=kinds.name_of_arrays(reference),
        inputs=kinds.name_of_arrays(inputs),
        given=kinds.typed(options),
        matching=found,
        seconds=time.perf_counter() - start,
        _graph=graph,
        _same_kind=fixed._same_kind,
    )
    if not result.is_changed:
        graph.rollback(0)
    return result
