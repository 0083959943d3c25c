"""The library's call to prove or refute that two models compute the same."""

from __future__ import annotations

import io
import os
from pathlib import Path
from time import perf_counter
from typing import Any

from onnxpad import arguments
from onnxpad.api import kinds
from onnxpad.arguments import Dims, ModelSource, Shapes
from onnxpad.errors import OutputError
from onnxpad.file.external import write_whole
from onnxpad.options import Options
from onnxpad.report import ProveReport


class ProveResult(ProveReport, frozen=True, kw_only=True):
    """The result of `prove`: its report."""

    def save_counterexample(self, path: str | os.PathLike[str]) -> None:
        """Write the inputs of the counterexample as .npz, by name.

        Raises:
            OutputError: There is none, or the file cannot be written.
        """
        found = self.verdict.counterexample
        if found is None:
            raise OutputError(f"{os.fspath(path)}: there is no counterexample to write")
        import numpy as np

        packed, feeds = io.BytesIO(), dict[str, Any](found.feeds)
        np.savez(packed, **feeds)
        write_whole({Path(path): [packed.getvalue()]})


def prove(
    original: ModelSource,
    rewritten: ModelSource,
    *,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    trust: str | None = None,
    strict: bool = False,
    time_limit: float | None = None,
) -> ProveResult:
    """Prove that a model computes what another one computes, for every size, or refute it.

    Args:
        original: A model in any form that `fix` takes.
        rewritten: The same for the model that was made of it.
        shapes: Sizes to fix, as for `fix`.
        dims: The same by name of the dimension: a size, or a range to prove for.
        trust: `spec` or `onnxruntime`: whose reading counts where they compute different things.
        strict: Whether a proof that rests on an assumption is none.
        time_limit: Seconds after which what is not decided is undecided.

    Returns:
        The verdict, with what it rests on, or a counterexample, or what is open.

    Raises:
        UsageError: An argument is not valid, or inputs or outputs of the models do not fit.
        ModelError: A model cannot be read.
    """
    start = perf_counter()
    options = Options.of({"strict": strict, **({"trust": trust} if trust else {})})
    arguments.require_positive(time_limit=time_limit)
    first, second = (kinds.source_of(each, "prove")[0] for each in (original, rewritten))
    from onnxpad.runtimes import pool

    pool.warm()  # while onnx is imported and the models are read

    from onnxpad.facts.recorded import given_domain, recorded_sizes
    from onnxpad.graph import Graph
    from onnxpad.proving.verdict import decide

    graph, other = Graph.read(first), Graph.read(second)
    given = arguments.shapes_given(shapes), arguments.dims_given(dims)
    domain = given_domain(graph, *given, recorded=recorded_sizes(other))
    found = decide(
        first, second, domain=domain, trust=options.engine, strict=strict, time_limit=time_limit
    )
    return ProveResult(
        original=kinds.path_of(original) or "the original",
        rewritten=kinds.path_of(rewritten) or "the rewritten model",
        verdict=found,
        notes=found.notes,
        seconds=perf_counter() - start,
    )
