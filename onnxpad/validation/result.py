"""What validation found, as frozen values."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

Outcome: TypeAlias = Literal["passed", "failed", "nothing compared"]

_AS_OK = cast("Outcome", "")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One output as it was expected, against the same output as it was found.

    Attributes:
        output: Name of the output tensor.
        equal: Whether both are the same bit for bit (NaN at the same places counts as the same).
        max_abs: Greatest absolute difference; 0.0 when equal, NaN where it cannot be said.
        max_rel: `max_abs` relative to the expected output's greatest magnitude; 0.0 when equal.
        detail: What differs, in one line: shape, type, or the first element and how many; empty
            where `ok`.
        ok: Whether the difference is within what was asked for.
        shape: Shape of the expected output, as `1x3x224x224`; empty where it is no tensor.
        dtype: Element type of the expected output, as `float32`; empty where it is no tensor.
        ulp: Greatest difference counted in representable numbers of the type; 0 when equal, None
            where it cannot be said.
        cosine: Cosine of the angle between both, taken as vectors; None where it cannot be said.
        argmax: Share of rows whose greatest element is at the same place, for outputs of one or
            two axes; None for others.
        special: In how many places one side is NaN or infinite and the other is not the same.
        worst: Index of the element that differs most; empty where equal, or a scalar.
        noise: How far two runs of the same model were apart, absolute; such noise is allowed for.
        alignment: How axes were moved, added or dropped to compare them; empty where none were.
    """

    output: str
    equal: bool
    max_abs: float
    max_rel: float
    detail: str
    ok: bool
    shape: str = ""
    dtype: str = ""
    ulp: int | None = None
    cosine: float | None = None
    argmax: float | None = None
    special: int = 0
    worst: tuple[int, ...] = ()
    noise: float = 0.0
    alignment: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a model on one set of inputs, held against what was expected of it.

    Attributes:
        provider: Execution provider, as `CPUExecutionProvider`.
        optimisation: `off` or `full`, onnxruntime's graph optimisation level.
        inputs: What was fed, as `x float32 1x3x224x224, seed 0`.
        comparisons: One per output; empty when a model did not run.
        seconds: Wall time of what it is held against and of `subject`, each at this provider and
            level; NaN where it did not run or, for a reference, is not known.
        note: Why there are no comparisons, or what else is worth saying; else empty.
        ok: Whether this run is no evidence against the model it is about.
        subject: The model it is about: `original` or `rewritten`.
        against: What it is held against: `original`, `rewritten` or `reference`.
        excused: Whether it differs, or did not run, and that is not held against the model, as
            `note` says. Such a run is no evidence for the model either.
    """

    provider: str
    optimisation: str
    inputs: str
    comparisons: tuple[Comparison, ...]
    seconds: tuple[float, float]
    note: str
    ok: bool
    subject: str = "rewritten"
    against: str = "original"
    excused: bool = False

    @property
    def tells(self) -> bool:
        """Whether the model was compared with something other than itself, and agreed."""
        compared = bool(self.comparisons) and self.against != self.subject
        return self.ok and compared and not self.excused


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the nodes of one model ran when a provider other than the CPU's was asked for.

    Attributes:
        provider: The execution provider asked for.
        model: `original` or `rewritten`.
        nodes: How many nodes ran, wherever that was.
        elsewhere: Those that ran on another provider, as `Pad_3 (Pad)`, in running order.
    """

    provider: str
    model: str
    nodes: int
    elsewhere: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first tensor, in topological order, that both models compute differently.

    Attributes:
        tensor: Its name, the same in both models.
        producers: The node that computes it in the original and in the rewritten model, as
            `Conv_12 (Conv)`.
        attributes: That node's attributes in both, as `pads=[0, 0, 1, 1], strides=[2, 2]`.
        inputs: Names of what that node reads in both.
        comparison: How the tensor differs.
        values: Its worst element in both models, as text.
        fed: The inputs it was found on.
        compared: How many tensors have the same name in both models and were compared.
        earlier: The first tensor before it whose bits differ, within rounding; else empty.
        note: What limits this finding, in one line; else empty.
    """

    tensor: str
    producers: tuple[str, str]
    attributes: tuple[str, str]
    inputs: tuple[tuple[str, ...], tuple[str, ...]]
    comparison: Comparison
    values: tuple[str, str]
    fed: str
    compared: int
    earlier: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class PaddingDifference:
    """A window operator that is padded by other amounts in the two models.

    Attributes:
        tensor: The output by which the operators were matched, as the original calls it.
        nodes: The operator in the original and in the rewritten model, as `Conv_12 (Conv)`.
        pads: The total padding in both, own and of the `Pad`s in front together, over the spatial
            axes in ONNX order (all begins, then all ends); as text, `SAME_UPPER` where the size is
            not known.
    """

    tensor: str
    nodes: tuple[str, str]
    pads: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Validation:
    """The verdict on a model.

    Attributes:
        ok: Whether it passed: something was compared that can tell, and all of it agreed.
        runs: Every run made, in order.
        warnings: What is worth knowing and is not the rewrite's fault, a line each.
        probes: How many changes were probed on their own.
        notes: How it was done: providers chosen, their settings, arrays matched by order, a line
            each.
        placements: Where nodes ran, for each provider other than the CPU's and each model.
        divergence: The first tensor that differs; None where none does or it was not looked for.
        subject: The model that the verdict is about: `rewritten`, or `original` alone.
        outcome: `passed`, `failed` or `nothing compared`; where it is left out, as `ok` says.
        reason: Why nothing was compared, in one line; else empty.
        uncompared: What was not compared although the outcome is another, a line each: a provider
            and level, and why.
        padding: Window operators whose total padding differs; that alone fails no model.
    """

    ok: bool
    runs: tuple[Run, ...]
    warnings: tuple[str, ...] = ()
    probes: int = 0
    notes: tuple[str, ...] = ()
    placements: tuple[Placement, ...] = ()
    divergence: Divergence | None = None
    subject: str = "rewritten"
    outcome: Outcome = _AS_OK
    reason: str = ""
    uncompared: tuple[str, ...] = ()
    padding: tuple[PaddingDifference, ...] = ()

    def __post_init__(self) -> None:
        """Fill in the outcome; `ok` is true for `passed` only."""
        if not self.outcome:
            object.__setattr__(self, "outcome", "passed" if self.ok else "failed")
        object.__setattr__(self, "ok", self.outcome == "passed")


def not_validated(why: str, *, subject: str = "rewritten", probes: int = 0) -> Validation:
    """The verdict where no model was run."""
    return Validation(
        False,
        (),
        (f"not validated: {why}",),
        probes=probes,
        subject=subject,
        outcome="nothing compared",
        reason=why,
    )


def why_not(found: Validation) -> str:
    """Why a validation did not pass, in one line; empty where it did."""
    if found.outcome == "nothing compared":
        return f"not validated: {found.reason}"
    for run in found.runs:
        if run.ok or run.subject != found.subject:
            continue
        where = f"on {run.provider}, optimisation {run.optimisation}"
        wrong = [f"{each.output}: {each.detail}" for each in run.comparisons if not each.ok]
        if not wrong:
            return f"{where}: {run.note}"
        return f"the {run.subject} model differs from the {run.against} {where}: {wrong[0]}"
    if found.divergence is not None:
        seen = found.divergence
        return (
            f"the outputs cannot tell, but the {found.subject} model differs from the original "
            f"inside, first in tensor {seen.tensor}: {seen.comparison.detail}"
        )
    return "" if found.ok else "the validation failed"
