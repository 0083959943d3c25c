"""What validation found: frozen values with no behaviour. Imports nothing of the package."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """One output of the original model against the same output of the rewritten one.

    Attributes:
        output: Name of the output tensor.
        equal: Whether both are the same bit for bit (NaN at the same places counts as the same).
        max_abs: Greatest absolute difference; 0.0 when equal, NaN where it cannot be said.
        max_rel: `max_abs` relative to the original output's greatest magnitude; 0.0 when equal.
        detail: What differs, in one line: shape, type, or the first element and how many; empty
            where `ok`.
        ok: Whether the difference is within what was asked for.
    """

    output: str
    equal: bool
    max_abs: float
    max_rel: float
    detail: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Run:
    """One run of both models on one set of inputs.

    Attributes:
        provider: Execution provider, as `CPUExecutionProvider`.
        optimisation: `off` or `full`, onnxruntime's graph optimisation level.
        inputs: What was fed, as `x float32 1x3x224x224, seed 0`.
        comparisons: One per output; empty when a model did not run.
        seconds: Wall time of the original and of the rewritten model's run.
        note: Why there are no comparisons, or what else is worth saying; else empty.
        ok: Whether this run is no evidence against the rewrite.
    """

    provider: str
    optimisation: str
    inputs: str
    comparisons: tuple[Comparison, ...]
    seconds: tuple[float, float]
    note: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Validation:
    """The verdict on a rewritten model.

    Attributes:
        ok: Whether nothing that ran speaks against the rewrite.
        runs: Every run made, in order.
        warnings: What is worth knowing and is not the rewrite's fault, a line each.
        probes: How many changes were probed on their own.
    """

    ok: bool
    runs: tuple[Run, ...]
    warnings: tuple[str, ...] = ()
    probes: int = 0
