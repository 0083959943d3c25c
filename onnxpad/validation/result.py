"""The results of a validation as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import force_setattr

from onnxpad.arithmetic.window import Pairs, pads_text

Outcome: TypeAlias = Literal["passed", "failed", "nothing compared", "repaired"]

_AS_OK = cast("Outcome", "")


class Comparison(Struct, frozen=True):
    """The comparison of one output with its expected value.

    Attributes:
        output: Name of the output tensor.
        equal: Whether both are equal bit for bit; so is NaN at the same places.
        max_abs: Greatest absolute difference; NaN if it is not defined.
        max_rel: That relative to the expected output's greatest magnitude.
        detail: The difference in one line; empty if `ok`.
        ok: Whether the difference is within the tolerance.
        shape: Shape expected, such as `1x3x224x224`; empty if it is not a tensor.
        dtype: Element type expected, such as `float32`; empty if not a tensor.
        ulp: Greatest difference in units in the last place; None if not defined.
        cosine: Cosine of the angle between both as vectors; None if it is not defined.
        argmax: Share of rows with the greatest element at one place; None if over two axes.
        special: Number of places where one side alone is NaN, or infinite.
        worst: Index of the element that differs most; empty if equal, or a scalar.
        alignment: How axes were moved, added or dropped for the comparison; empty if none were.
        differing: How many elements differ.
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
    alignment: str = ""
    differing: int = 0


class Run(Struct, frozen=True):
    """One run of a model on one set of inputs, compared with the expected outputs.

    Attributes:
        provider: Execution provider, such as `CPUExecutionProvider`.
        optimisation: `off` or `full`, the runtime's graph optimisation level.
        inputs: The inputs, such as `x float32 1x3x224x224, seed 0`.
        comparisons: One for each output; empty if a model did not run.
        seconds: Wall times of `against` and `subject` there; NaN if it did not run.
        note: Why there are no comparisons, or another remark; else empty.
        ok: Whether this run is no evidence against the model.
        subject: The model that ran: `original` or `rewritten`.
        against: The source of the expected outputs: `original`, `rewritten` or `reference`.
        excused: Whether `note` tells why a failure is not the model's fault: no evidence for it.
        flat: Whether all outputs are the same for any data, or nearly, and so no evidence.
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
    flat: bool = False

    @property
    def tells(self) -> bool:
        """Whether the model was compared with something other than itself, and agreed."""
        compared = bool(self.comparisons) and self.against != self.subject
        return self.ok and compared and not self.excused


class Placement(Struct, frozen=True):
    """A count of the nodes of one model by provider: the one asked for, or another.

    Attributes:
        provider: The execution provider asked for, other than the CPU's.
        model: `original` or `rewritten`.
        nodes: How many nodes ran, on any provider.
        elsewhere: The nodes that ran on another one, such as `Pad_3 (Pad)`, in running order.
    """

    provider: str
    model: str
    nodes: int
    elsewhere: tuple[str, ...]


class Divergence(Struct, frozen=True):
    """The first tensor, in topological order, that both models compute differently.

    Attributes:
        tensor: Its name, the same in both models.
        producers: The node that computes it in each, such as `Conv_12 (Conv)`.
        attributes: That node's attributes in each, such as `pads=[0, 0, 1, 1], strides=[2, 2]`.
        inputs: Names of that node's inputs in each.
        comparison: How the tensor differs.
        values: Its worst element in each, as text.
        fed: The inputs of the run.
        compared: How many tensors have the same name in both models and were compared.
        earlier: The first tensor before it that differs within rounding; else empty.
        note: A limitation of this finding, in one line; else empty.
        operands: A line for each of that node's inputs that is a constant in one model, or another.
        is_pad: Whether that node is a `Pad` in the original.
    """

    tensor: str
    producers: tuple[str, str]
    attributes: tuple[str, str]
    inputs: tuple[tuple[str, ...], tuple[str, ...]]
    comparison: Comparison
    values: tuple[str, str]
    fed: str
    compared: int = 0
    earlier: str = ""
    note: str = ""
    operands: tuple[str, ...] = ()
    is_pad: bool = False


class PaddingDifference(Struct, frozen=True):
    """A window operator whose total padding differs between the two models.

    Attributes:
        tensor: Name of the output by which the operators were matched.
        nodes: The operator in each model, such as `Conv_12 (Conv)`.
        totals: The total padding in each, with that of the `Pad`s upstream: (begin, end) for each
            spatial axis; as text where it is not numbers, such as `SAME_UPPER`.
        sites: The places of the padding (`inventory.PaddingSite`) by model, for a picture.
    """

    tensor: str
    nodes: tuple[str, str]
    totals: tuple[Pairs | str, Pairs | str]
    sites: Mapping[str, object] = {}

    @property
    def pads(self) -> tuple[str, str]:
        """The total padding in both as text, in ONNX order (all begins, then all ends)."""
        before, after = (
            each if isinstance(each, str) else str([side[end] for end in (0, 1) for side in each])
            for each in self.totals
        )
        return before, after

    @property
    def by_axis(self) -> tuple[str, str]:
        """The total padding in both for people, such as `H 0+1, W 0+2`."""
        before, after = (each if isinstance(each, str) else pads_text(each) for each in self.totals)
        return before, after


class Validation(Struct, frozen=True):
    """The verdict on a model.

    Attributes:
        ok: Whether it passed (some comparison was evidence, and all agreed), or is a repair.
        runs: Every run made, in order.
        warnings: Remarks on things that are not the rewrite's fault, a line each.
        probes: How many changes were probed on their own.
        notes: How the models were compared, a line each.
        placements: The provider of each node, for each model and each provider but the CPU's.
        divergence: The first tensor that differs; None if none does or it was not searched for.
        subject: The model that the verdict is about: `rewritten`, or `original` alone.
        outcome: `passed`, `failed` or `nothing compared`; derived from `ok` if omitted. Of `fix` it
            may be `repaired`: the original does not run because of an operator that was changed,
            and the result, which is certified, does.
        reason: Why nothing was compared, or what is repaired, in one line; else empty.
        uncompared: Comparisons that were not made, with provider, level and reason, a line each.
        hidden: Those of these that are of outputs.
        padding: Window operators whose total padding differs; this alone fails no model.
        resized: An input that has another size in each model, in words; else empty.
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
    hidden: tuple[str, ...] = ()
    padding: tuple[PaddingDifference, ...] = ()
    resized: str = ""

    def __post_init__(self) -> None:
        """Fill in the outcome; `ok` is true for `passed` and `repaired` only."""
        if not self.outcome:
            force_setattr(self, "outcome", "passed" if self.ok else "failed")
        force_setattr(self, "ok", self.outcome in {"passed", "repaired"})


def parted(found: Validation) -> PaddingDifference | None:
    """The operator whose other padding made a rewritten model fail; None if that is not known.

    It computes the first tensor that differs, or reads it from a `Pad`. Of a model that does not
    run it is the first operator with other padding, unless the models take inputs of other sizes.
    """
    first, mine = found.divergence, (run for run in found.runs if run.subject == found.subject)
    stops = any(r.optimisation == "off" and not r.ok and not r.comparisons for r in mine)
    is_any = first.is_pad if first else stops
    near = (e for e in found.padding if is_any or (first and e.tensor == first.tensor))
    return None if found.resized else next(near, None)


def culprit(found: Validation) -> str:
    """Where a rewritten model parts from the original, in a few words; empty if not known."""
    padded, first = parted(found), found.divergence
    where = f"{padded.nodes[1]}: {' became '.join(padded.by_axis)}" if padded else ""
    where = found.resized or where or (first.producers[1] if first else "")
    return where if found.outcome == "failed" else ""


def not_validated(why: str, *, subject: str = "rewritten", probes: int = 0) -> Validation:
    """The verdict if no model was run."""
    told = (f"not compared: {why}",)
    outcome: Outcome = "nothing compared"
    return Validation(False, (), told, probes, subject=subject, outcome=outcome, reason=why)


def why_not(found: Validation) -> str:
    """Why a validation did not pass, in one line; empty if it did."""
    if found.outcome == "nothing compared":
        return f"not validated: {found.reason}"
    for run in (each for each in found.runs if not each.ok and each.subject == found.subject):
        where = f"on {run.provider}, optimisation {run.optimisation}"
        wrong = [f"{each.output}: {each.detail}" for each in run.comparisons if not each.ok]
        if not wrong:
            return f"{where}: {run.note}"
        return f"the model differs from the {run.against} {where}: {wrong[0]}"
    if (seen := found.divergence) is None:
        return ""
    told = "the outputs are no evidence, but the models differ inside, first in tensor"
    return f"{told} {seen.tensor!r}: {seen.comparison.detail}"
