"""What `fix` does to one random model: whether it is right, and which `Pad`s it leaves.

The oracle is onnxruntime in this process. A `Pad` that stays is folded naively; where onnxruntime
cannot tell that from the original, `fix` has missed it. The same goes for what sizes, crops and
pads the result of a ConvTranspose; that is counted apart.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final, TypeAlias

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

import onnxpad
from onnxpad.finding import Assumption
from onnxpad.reasons import Reason
from tests.random_models.draw import Data, Drawn
from tests.random_models.naive import Layer, NotFoldableError, Place, fold, pads, walk
from tests.random_models.naive_transposed import (
    CROPS,
    Observed,
    Site,
    fold_site,
    layer_of,
    sites,
)
from tests.random_models.observe import seen
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
FURTHER: Final[tuple[Data, ...]] = (
    "integers", "below zero", "fractions", "floats", "extremes", "zeros", "lowest", "infinities",
)  # fmt: skip
FURTHER_SIZES: Final = (None, 6, 9, 12, 17)
"""What a naive rewriting that `INPUTS` cannot tell apart is run on: all data at all sizes."""


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
EXPOSED: Final = "the result with more outputs"
NAIVE: Final = "a naive rewriting"
HARMLESS: Final = (ORIGINAL, EXPOSED, NAIVE)
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


def same_bits(found: Sequence[Array], expected: Sequence[Array], *, signs: bool) -> bool:
    """Whether outputs are the same, with `signs` also zeros: a MaxPool may give either of two."""
    return all(
        one.dtype == other.dtype
        and one.shape == other.shape
        and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        and (not signs or one.dtype.kind != "f" or _same_signs(one, other))
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


def _same_signs(one: Array, other: Array) -> bool:
    return bool(np.all((np.signbit(one) == np.signbit(other)) | np.isnan(one)))


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
                self.drawn.exact and kind not in ("floats", "lowest"),
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
        return bool(original) and same_bits(result, original, signs=True)

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

    def differs(
        self,
        model: onnx.ModelProto,
        level: str = OFF,
        *,
        signs: bool = False,
        what: str = NAIVE,
        finite: bool = False,
    ) -> str:
        """How another model differs from it, in words; empty if onnxruntime cannot tell.

        At other levels only inputs count at which the original computes what it computes without
        optimisation. With `signs`, zeros of another sign are a difference. With `finite`, the other
        model says that it assumes finite data.
        """
        before = self.exact if level == OFF else self.results(level)
        self.tell(what)
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
            if exact and level == OFF and not same_bits(found, expected, signs=signs):
                return "computes other bits"
        return excuse


@dataclass(frozen=True)
class Kept:
    """Padding that `fix` leaves.

    Attributes:
        place: Which it is.
        codes: Codes of the reasons that are given for it.
        missed: Whether onnxruntime cannot tell the naive rewriting from the original on `INPUTS`.
        why: Why it is not missed, in words.
        chance: Data of `FURTHER` on which onnxruntime can tell, though it cannot on `INPUTS`, or
            that it can where each If takes its other branch: leaving the `Pad` is right, and only
            chance hid that. Empty where nothing tells.
        site: For what is downstream of a ConvTranspose or an attribute of one: which it is.
    """

    place: Place
    codes: tuple[str, ...]
    missed: bool
    why: str = ""
    chance: str = ""
    site: Site | None = None


@dataclass
class Outcome:
    """What came of one model.

    Attributes:
        runs: Whether the original runs.
        problems: What is wrong with the result.
        excused: Which of `EXCUSES` it has; empty for most.
        removed: How many `Pad`s are gone, but for those downstream of a ConvTranspose.
        resolved: How many attributes of ConvTranspose, and crops and `Pad`s downstream, are gone.
        kept: Those that stay.
        result: What `fix` returned.
    """

    runs: bool
    problems: list[str] = field(default_factory=list)
    excused: str = ""
    removed: int = 0
    resolved: int = 0
    kept: list[Kept] = field(default_factory=list)
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
    missed: bool = True,
    tell: Tell = _tell_nobody,
) -> Outcome:
    """Rewrite a model, check all that is promised of it, and measure what stays.

    Args:
        drawn: The model.
        seed: What its data is drawn from.
        style: The style to write it in.
        dynamic: What to do with amounts that depend on open sizes.
        trust: Whose reading to write where engines disagree: nobody's, or `onnxruntime`.
        validate: Whether `fix` probes and validates.
        levels: At which levels of optimisation to compare.
        inputs: What to run it on.
        missed: Whether to fold naively what stays.
        tell: Called with what is about to run, `FIX` for `fix` itself.
    """
    case = Case(drawn, seed, inputs, tell)
    model = drawn.model
    runs, problems = case.runs, list[str]()
    kept = model.SerializeToString()
    tell(FIX)
    try:
        way = partial(onnxpad.fix, style=style, dynamic=dynamic, trust=trust)
        result = way(model, validate=validate)
        rewritten = result.model
        checked = partial(onnxpad.check, style=style, dynamic=dynamic, trust=trust)
        again, found = way(rewritten, validate=False), checked(rewritten)
        problems += _broken_promises(model, kept, result, again, found)
        if style == "fold" and dynamic != "pad":
            given = [*result.findings, *result.undone]
            problems += [f"silent: {node.split()[-1]}" for node in silent(rewritten, given, style)]
    except Exception as error:
        if runs or not isinstance(error, onnxpad.OnnxpadError):
            problems.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
        return Outcome(runs, problems)
    return measure(case, result, problems, levels=levels, missed=missed)


def measure(
    case: Case,
    result: onnxpad.FixResult,
    problems: Sequence[str] = (),
    *,
    levels: Sequence[str] = (OFF,),
    missed: bool = True,
) -> Outcome:
    """What a result computes, and which padding it leaves; with the problems that it has anyway."""
    model, rewritten = case.drawn.model, result.model
    outcome = Outcome(case.runs, [*problems], result=result)
    if result.changed and outcome.runs:
        finite = any(Assumption.FINITE_DATA in c.certificate.assumptions for c in result.changes)
        for level in levels:
            difference = case.differs(rewritten, level, what=RESULT, finite=finite)
            if difference in EXCUSES:
                outcome.excused = difference
            elif difference:
                outcome.problems.append(f"{difference}, {level}")
    left, still = plain_pads(rewritten), sites(rewritten)
    if outcome.runs:
        outcome.removed = max(len(plain_pads(model)) - len(left), 0)
        outcome.resolved = max(len(sites(model)) - len(still), 0)
    if missed and outcome.runs and not outcome.problems:
        outcome.kept = list(_kept(case, result, rewritten, left, still))
    return outcome


def plain_pads(model: onnx.ModelProto) -> list[Place]:
    """Every `Pad` that is not downstream of a ConvTranspose."""
    scattered = {site.place.index for site in sites(model)}
    return [place for place in pads(model) if place.index not in scattered]


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


def _kept(
    case: Case,
    result: onnxpad.FixResult,
    model: onnx.ModelProto,
    left: Sequence[Place],
    still: Sequence[Site],
) -> Iterator[Kept]:
    if not left and not still:
        return
    case.tell(EXPOSED)
    shapes = _shapes(model, case)
    amounts = _computed(model, case)

    def told_apart(rewrite: Callable[[], onnx.ModelProto]) -> tuple[str, str]:
        """How the naive rewriting differs, and if it does not: on what more it does."""
        try:
            folded = rewrite()
            why = case.differs(folded, signs=True)
        except NotFoldableError as refusal:
            why = str(refusal)
        return why, "" if why else _told_by_more(case, folded)

    for place in left:
        why, chance = told_apart(partial(fold, model, place, shapes, amounts))
        yield Kept(place, _codes(result, place.name, "Pad"), not why, why, chance)
    known = observed(model, case) if still else ({}, {})
    for site in still:
        why, chance = told_apart(partial(fold_site, model, site, known))
        if why and site.what == "Pad":
            downstream, chance = told_apart(partial(fold, model, site.place, shapes, amounts))
            why = downstream and why
        codes = _codes(result, site.place.name, site.op)
        yield Kept(site.place, codes, not why, why, chance, site)


def _told_by_more(case: Case, folded: onnx.ModelProto) -> str:
    """Data of `FURTHER` on which two models differ that agree on fewer inputs; empty if none."""
    drawn = case.drawn
    turned = replace(drawn, model=_turned(drawn.model)), _turned(folded)
    for taken, (one, other) in {"": (drawn, folded), ", in other branches": turned}.items():
        for place, data in enumerate(FURTHER, 1):
            sizes = [(size, data) for size in FURTHER_SIZES]
            further = Case(one, case.seed + 1000 * place, sizes, case.tell)
            if further.runs and further.differs(other, signs=True):
                return data + taken
    return ""


def _turned(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the condition of each If negated: a constant one takes the other branch."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    nodes = [(holder, holder.node[at]) for holder, at, _ in walk(copy)]
    for count, (holder, node) in enumerate(nodes):
        if node.op_type != "If":
            continue
        name = f"other_branch_{count}"
        holder.node.insert(
            [each is node or each == node for each in holder.node].index(True),
            onnx.helper.make_node("Not", [node.input[0]], [name]),
        )
        node.input[0] = name
    return copy


def _codes(result: onnxpad.FixResult, label: str, op: str) -> tuple[str, ...]:
    """The codes of the reasons that are given for a node."""
    told = {
        f"{finding.code} {finding.reason_code}"
        for finding in (*result.findings, *result.undone)
        if finding.node == label or finding.node.endswith(f"{op} '{label}'")
    }
    return tuple(sorted(told)) or ("none",)


def _shapes(model: onnx.ModelProto, case: Case) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors for the first input that runs."""
    feeds = next(
        feeds
        for (feeds, _), found in zip(case.inputs, case.exact, strict=True)
        if found is not None
    )
    frozen = onnx.ModelProto()
    frozen.CopyFrom(model)
    for value in frozen.graph.input:
        if value.name in feeds:
            dims = value.type.tensor_type.shape.dim
            for dim, size in zip(dims, feeds[value.name].shape, strict=True):
                dim.dim_value = size
    del frozen.graph.value_info[:]
    found: dict[str, tuple[int, ...]] = {n: a.shape for n, a in feeds.items()}
    try:
        inferred = onnx.shape_inference.infer_shapes(frozen, data_prop=True)
    except Exception:  # whatever it cannot read
        return found

    def collect(graph: onnx.GraphProto) -> None:
        for value in graph.value_info:
            tensor = value.type.tensor_type
            if tensor.HasField("shape"):
                dims = tensor.shape.dim
                if all(dim.HasField("dim_value") for dim in dims):
                    found[value.name] = tuple(dim.dim_value for dim in dims)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    collect(attribute.g)

    collect(inferred.graph)
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    names = [
        name for node in model.graph.node for name in node.output if name and name not in found
    ]
    listed = {value.name for value in model.graph.output}
    names = [name for name in names if name not in listed]
    exposed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    results = Session(exposed).run(feeds)
    if results is not None and names:
        for name, array in zip(names, results[-len(names) :], strict=True):
            found[name] = np.shape(array)
    return found


def _computed(model: onnx.ModelProto, case: Case) -> dict[str, Array]:
    """What is computed for the amounts of `Pad`s, where every run computes the same from sizes."""
    makers = {name: node for node in model.graph.node for name in node.output}
    held = {each.name for each in model.graph.initializer}
    overridable = {value.name for value in model.graph.input}
    wanted = []
    for node in model.graph.node:
        if node.op_type != "Pad" or len(node.input) < 2:
            continue
        pending, seen, fed = [node.input[1]], set(), False
        while pending:
            name = pending.pop()
            fed |= name in overridable
            maker = makers.get(name)
            if name in seen or maker is None or maker.op_type in ("Shape", "Size"):
                continue
            seen.add(name)
            pending += [each for each in maker.input if each]
        if not fed and node.input[1] in makers:
            wanted.append(node.input[1])
    wanted = [name for name in dict.fromkeys(wanted) if name not in held]
    if not wanted:
        return {}
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    exposed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
    opened = Session(exposed)
    found: dict[str, list[Array]] = {name: [] for name in wanted}
    for feeds, _ in case.inputs:
        results = opened.run(feeds)
        if results is not None:
            for name, array in zip(wanted, results[-len(wanted) :], strict=True):
                found[name].append(array)
    return {
        name: arrays[0]
        for name, arrays in found.items()
        if arrays and all(np.array_equal(each, arrays[0]) for each in arrays)
    }


def observed(model: onnx.ModelProto, case: Case) -> Observed:
    """Shapes of all tensors, and what Slices and `Pad`s do, in bodies and functions too."""
    shapes: dict[str, tuple[int, ...]] = {}
    layers: dict[str, set[Layer | None]] = {}
    for (feeds, _), found in zip(case.inputs, case.exact, strict=True):
        if found is None:
            continue
        for holder in seen(model, feeds):
            shapes = {name: array.shape for name, array in holder.tensors.items()} | shapes
            for node in holder.nodes:
                known = holder.tensors.keys() >= set(filter(None, node.input))
                if node.op_type in CROPS and not node.domain and known:
                    layers.setdefault(node.output[0], set()).add(layer_of(node, holder.tensors))
    return shapes, {
        name: next(iter(each)) if len(each) == 1 else None for name, each in layers.items()
    }
