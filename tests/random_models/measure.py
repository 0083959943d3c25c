"""Whether what `fix` makes of one random model is right, and what padding it leaves.

The oracle is onnxruntime in this process.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final, TypeAlias

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

import onnxpad
from onnxpad.finding import Assumption
from onnxpad.reasons import Reason
from tests.random_models.draw import Data, Drawn
from tests.random_models.shrink import walk
from tests.support import LEVELS, Array, run, session, silent

Feeds = dict[str, Array]

OFF, DEPLOYED = LEVELS[0], LEVELS[-1]
UNDONE: Final = {
    Reason.KERNEL_CRASHES, Reason.INFINITE_DATA, Reason.SHAPE_REFUSED,  # what onnxruntime would run
    Reason.WINDOW_IN_PADDING, Reason.FILL_WINS, Reason.FILL_DIFFERS, Reason.CROPS,
}  # fmt: skip
"""Why a change may be taken back, as is known only when it is made: a refusal, and no defect."""
INPUTS: Final[tuple[tuple[int | None, Data], ...]] = (
    (None, "integers"), (None, "below zero"), (5, "fractions"), (7, "floats"), (10, "extremes"),
)  # fmt: skip
"""What a model is run on: about which size open axes have, None for as drawn, and what data."""

NOT_LOADED: Final = "onnxruntime's optimiser cannot load it"
ROUNDED: Final = "onnxruntime's optimiser rounds its weights to 8 bits"
"""As it does with the constant weights of a Conv between DequantizeLinear and QuantizeLinear, also
where it is the one that folds a `Pad` between them. It can be told not to."""
WIDENED: Final = "onnxruntime computes float16 in 32 bits as soon as fewer nodes read a tensor"
"""As it does at full optimisation with the original, while both are the same by the specification.
An infinity that a Clip without bounds makes finite in 16 bits then stays one."""
INFINITE: Final = "its data becomes infinite, which a change assumes it does not"
"""A MaxPool of onnxruntime then gives the lowest number, and -infinity behind a `Pad` of that."""
EXCUSES: Final = (NOT_LOADED, ROUNDED, WIDENED, INFINITE)
"""How a result that is right may differ, most of them at full optimisation alone."""
BUGS: Final = (
    # From opset 21 on, an int8 DequantizeLinear before a MaxPool, Transpose or Reshape.
    "output_dtype INT8 does not match y_zero_point type UINT8",
    # A Relu before a Clip of doubles.
    "Unexpected data type for Clip",
)
"""What onnxruntime says where its optimiser cannot load a form that is right."""

Tell: TypeAlias = Callable[[str], None]
ORIGINAL: Final = "the original"
FIX: Final = "fix"
RESULT: Final = "the result"
HARMLESS: Final = (ORIGINAL,)
"""What may end the process without anything being wrong: `fix` wrote none of it."""


def _tell_nobody(what: str) -> None:
    pass


class Session:
    """A model on onnxruntime, as far as it loads.

    Attributes:
        error: The last error, in onnxruntime's words.
    """

    def __init__(
        self, model: onnx.ModelProto, level: str = OFF, *, rounds_weights: bool = True
    ) -> None:
        entries = {} if rounds_weights else {"session.disable_quant_qdq": "1"}
        try:
            self._session = session(model, level, entries=entries)
            self.error = ""
        except Exception as error:  # onnxruntime's own errors share no narrower base class
            self._session = None
            self.error = str(error)

    def run(self, feeds: Feeds) -> list[Array] | None:
        """The outputs, or None where it does not run."""
        if self._session is None:
            return None
        try:
            return run(self._session, feeds)
        except Exception as error:  # as above
            self.error = str(error)
            return None


def same_bits(found: Sequence[Array], expected: Sequence[Array]) -> bool:
    """Whether outputs are the same but for the sign of zero: a MaxPool may give either of two."""
    return all(
        one.dtype == other.dtype
        and one.shape == other.shape
        and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        for one, other in zip(found, expected, strict=True)
    )


def specified(model: onnx.ModelProto, feeds: Feeds) -> list[Array]:
    """The outputs by onnx's reference evaluator; none where it does not run the model."""
    try:
        evaluator = ReferenceEvaluator(model)
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in evaluator.run(None, feeds)]
    except Exception:  # it raises anything
        return []


def agree(
    found: Sequence[Array] | None,
    expected: Sequence[Array],
    tolerance: float = 1e-3,
    share: float = 0.0,
) -> bool:
    """Whether outputs are the same, but for how a kernel sums up.

    Args:
        found: The one side.
        expected: The other.
        tolerance: How much an element may differ, absolutely or of its own size.
        share: How much it may differ of the greatest element, where sums of large ones are small.
    """
    return found is not None and all(
        one.shape == other.shape
        and (
            np.array_equal(one, other)
            if "O" in (one.dtype.kind, other.dtype.kind)  # strings
            else np.allclose(
                one, other, tolerance, tolerance + share * _greatest(other), equal_nan=True
            )
        )
        for one, other in zip(found, expected, strict=True)
    )


def _greatest(array: Array) -> float:
    """The greatest magnitude among the finite numbers of an array; 0 for other types."""
    if array.dtype.kind != "f":
        return 0.0
    return float(np.max(np.abs(array), where=np.isfinite(array), initial=0.0))


@dataclass
class Case:
    """A random model with what it computes.

    Attributes:
        drawn: The model.
        seed: What its data is drawn from.
        sizes: What it is run on.
        tell: Called with what onnxruntime is about to run, which may end the process.
    """

    drawn: Drawn
    seed: int
    sizes: Sequence[tuple[int | None, Data]] = INPUTS
    tell: Tell = _tell_nobody

    @cached_property
    def inputs(self) -> list[tuple[Feeds, bool]]:
        """What is fed, and whether the results are exact."""
        return [
            (
                self.drawn.feeds(
                    self.seed + i,
                    size if self.drawn.open else None,
                    "fractions" if self.drawn.half and kind == "floats" else kind,
                ),
                self.drawn.exact and kind != "floats",
            )
            for i, (size, kind) in enumerate(self.sizes)
        ]

    @cached_property
    def exact(self) -> list[list[Array] | None]:
        """What it computes without optimisation."""
        return self.results(OFF)

    def results(self, level: str) -> list[list[Array] | None]:
        self.tell(ORIGINAL)
        opened = Session(self.drawn.model, level)
        return [self._repeatable(opened.run(feeds)) for feeds, _ in self.inputs]

    def _repeatable(self, results: list[Array] | None) -> list[Array] | None:
        """Results without those that depend on chance."""
        if results is None:
            return None
        outputs = self.drawn.model.graph.output
        return [
            result
            for output, result in zip(outputs, results, strict=True)
            if output.name not in self.drawn.chance
        ]

    @property
    def runs(self) -> bool:
        return any(result is not None for result in self.exact)

    def _is_widened(
        self, model: onnx.ModelProto, feeds: Feeds, found: Sequence[Array], *bounds: float
    ) -> bool:
        """Whether float16 alone makes a difference, as `WIDENED` says."""
        deployed = self._repeatable(Session(self.drawn.model, DEPLOYED).run(feeds))
        if not self.drawn.half or not agree(deployed, found, *bounds):
            return False
        original, result = (specified(each, feeds) for each in (self.drawn.model, model))
        return bool(original) and same_bits(result, original)

    def _overflows(
        self, opened: Session, feeds: Feeds, found: Sequence[Array], expected: Sequence[Array]
    ) -> bool:
        """Whether all that differs is infinite, as `INFINITE` says, and zeros are computed alike.

        A window in padding alone gives the same two numbers, but whatever it is fed.
        """
        for one, other in zip(found, expected, strict=True):
            apart = one != other
            if one.dtype.kind != "f" or one.shape != other.shape:
                return False
            if np.any(one[apart] != -np.inf) or np.any(other[apart] != np.finfo(one.dtype).min):
                return False
        zeros = {n: a if a.dtype.kind != "f" else np.zeros_like(a) for n, a in feeds.items()}
        usual = self._repeatable(Session(self.drawn.model).run(zeros))
        return usual is not None and agree(self._repeatable(opened.run(zeros)), usual)

    def differs(self, model: onnx.ModelProto, level: str = OFF, *, finite: bool = False) -> str:
        """How another model differs from it, in words; empty if onnxruntime cannot tell.

        At other levels only inputs count at which the original computes what it computes without
        optimisation. With `finite`, the other model says that it assumes finite data.
        """
        before = self.exact if level == OFF else self.results(level)
        self.tell(RESULT)
        opened = Session(model, level)
        plain: Session | None = None
        excuse = ""
        rows = zip(self.inputs, self.exact, before, strict=True)
        # halves are summed up as floats here and there
        bounds = (2e-2, 2e-3) if self.drawn.half else (1e-3, 0.0)
        for (feeds, exact), expected, here in rows:
            if expected is None or not agree(here, expected, *bounds):
                continue
            found = self._repeatable(opened.run(feeds))
            if found is None and level != OFF and any(bug in opened.error for bug in BUGS):
                return NOT_LOADED
            if found is None:
                return "no longer runs"
            if not agree(found, expected, *bounds):
                if finite and self._overflows(opened, feeds, found, expected):
                    excuse = INFINITE
                    continue
                if level == OFF and self._is_widened(model, feeds, found, *bounds):
                    excuse = WIDENED
                    continue
                plain = plain or Session(model, level, rounds_weights=False)
                if level == OFF or not agree(self._repeatable(plain.run(feeds)), expected, *bounds):
                    return "computes something else"
                excuse = ROUNDED
            if exact and level == OFF and not same_bits(found, expected):
                return "computes other bits"
        return excuse


@dataclass
class Outcome:
    """What came of one model.

    Attributes:
        runs: Whether the original runs.
        problems: What is wrong with the result.
        excused: Which of `EXCUSES` it has; empty for most.
        removed: How many `Pad`s are gone.
        left: How many stay.
        kept: Why padding stays: codes with the codes of their reasons.
        result: What `fix` returned.
    """

    runs: bool
    problems: list[str] = field(default_factory=list)
    excused: str = ""
    removed: int = 0
    left: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    result: onnxpad.FixResult | None = None


def examine(
    drawn: Drawn,
    seed: int,
    *,
    style: str = "fold",
    dynamic: str = "keep",
    trust: str | None = None,
    validate: bool = False,
    levels: Sequence[str] = (OFF,),
    inputs: Sequence[tuple[int | None, Data]] = INPUTS,
    tell: Tell = _tell_nobody,
) -> Outcome:
    """Rewrite a model, check all that is promised of it, and count what stays.

    Args:
        drawn: The model.
        seed: What its data is drawn from.
        style: The style to write it in.
        dynamic: What to do with amounts that depend on open sizes.
        trust: Whose reading to write where engines disagree: nobody's, or `onnxruntime`.
        validate: Whether `fix` probes and validates.
        levels: At which levels of optimisation to compare.
        inputs: What to run it on.
        tell: Called with what is about to run, `FIX` for `fix` itself.
    """
    case = Case(drawn, seed, inputs, tell)
    model = drawn.model
    outcome = Outcome(case.runs)
    kept = model.SerializeToString()
    tell(FIX)
    try:
        way = partial(onnxpad.fix, style=style, dynamic=dynamic, trust=trust)
        result = way(model, validate=validate)
        rewritten = result.model
        checked = partial(onnxpad.check, style=style, dynamic=dynamic, trust=trust)
        again, found = way(rewritten, validate=False), checked(rewritten)
        outcome.problems += _broken_promises(model, kept, result, again, found)
        if style == "fold" and dynamic != "pad":
            given = [*result.findings, *result.undone]
            nodes = silent(rewritten, given, style)
            outcome.problems += [f"silent: {node.split()[-1]}" for node in nodes]
    except Exception as error:
        if outcome.runs or not isinstance(error, onnxpad.OnnxpadError):
            told = str(error).strip().splitlines()[0]
            outcome.problems.append(f"{type(error).__name__}: {told}")
        return outcome
    outcome.result = result
    if not outcome.runs:
        return outcome
    outcome.left = pads(rewritten)
    outcome.removed = max(pads(model) - outcome.left, 0)
    outcome.kept.update(f"{each.code} {each.reason_code}" for each in result.findings)
    finite = any(Assumption.FINITE_DATA in each.certificate.assumptions for each in result.changes)
    for level in levels if result.changed else ():
        difference = case.differs(rewritten, level, finite=finite)
        if difference in EXCUSES:
            outcome.excused = difference
        elif difference:
            outcome.problems.append(f"{difference}, {level}")
    return outcome


def pads(model: onnx.ModelProto) -> int:
    """How many `Pad`s a model has, those of bodies and functions too."""
    nodes = (holder.node[at] for holder, at, _ in walk(model))
    return sum(node.op_type == "Pad" and not node.domain for node in nodes)


def _broken_promises(
    model: onnx.ModelProto,
    kept: bytes,
    result: onnxpad.FixResult,
    again: onnxpad.FixResult,
    found: onnxpad.CheckResult,
) -> Iterator[str]:
    if model.SerializeToString() != kept:
        yield "the input was changed"
    for each in result.undone:
        if each.reason_code not in UNDONE:
            yield f"undone: {each.code} {each.reason_code}"
    validation = result.validation
    if validation is not None and any(
        not run.ok for run in validation.runs if run.optimisation == "off"
    ):
        yield "validation failed"
    if not result.changed and result.model.SerializeToString() != kept:
        yield "unchanged, but with other bytes"
    for change in again.changes:
        yield f"changed again: {change.code}"
    for finding in found.failing():
        yield f"check fails: {finding.code}"
