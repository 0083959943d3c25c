"""The library's call to compare a rewritten model with its original, or with a framework."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from onnxpad.arguments import Dims, Model, Shapes, Source, dims_given, shapes_given, source
from onnxpad.errors import UsageError, ValidationError
from onnxpad.validation.result import (
    Divergence,
    Outcome,
    PaddingDifference,
    Placement,
    Run,
    Validation,
    why_not,
)

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from onnxpad.graph import Graph
    from onnxpad.sizes.domain import SizeDomain
    from onnxpad.sizes.recorded import Recorded

    Array: TypeAlias = npt.NDArray[Any]
    Arrays: TypeAlias = str | os.PathLike[str] | Mapping[str, Array] | Sequence[Mapping[str, Array]]


@dataclass(frozen=True)
class ValidationResult:
    """What `validate` found.

    Attributes:
        validation: The verdict with all its figures.
        providers: The execution providers that were used, by onnxruntime's names.
        unproven: Why something asked for was not compared, a line each.
        seconds: Wall time that it took.
    """

    validation: Validation
    providers: tuple[str, ...]
    unproven: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether everything asked for was compared, and nothing speaks against the model."""
        return self.validation.ok and not self.unproven

    @property
    def outcome(self) -> Outcome:
        """`passed`, `failed` or `nothing compared`; something asked for and left out is no pass."""
        found = self.validation.outcome
        return "failed" if found == "passed" and self.unproven else found

    @property
    def padding(self) -> tuple[PaddingDifference, ...]:
        """Window operators whose total padding differs in the two models."""
        return self.validation.padding

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every run made, in order."""
        return self.validation.runs

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is worth knowing and is not the rewrite's fault, a line each."""
        return self.validation.warnings

    @property
    def notes(self) -> tuple[str, ...]:
        """How it was done: providers, settings, arrays matched by order or aligned."""
        return self.validation.notes

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Where nodes ran, for each provider other than the CPU's and each model."""
        return self.validation.placements

    @property
    def divergence(self) -> Divergence | None:
        """The first tensor that both models compute differently."""
        return self.validation.divergence

    def raise_for_failure(self) -> None:
        """Return if `ok`.

        Raises:
            ValidationError: What differs, or was not compared, in one line.
        """
        if not self.ok:
            raise ValidationError(failure(self))


def validate(
    original: Model,
    rewritten: "Model | None" = None,
    *,
    providers: str | Sequence[str] = ("cpu",),
    inputs: "Arrays | None" = None,
    reference: "Arrays | None" = None,
    samples: int | None = None,
    seed: int | None = None,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> ValidationResult:
    """How the outputs of a model differ from those of another, or from a framework's.

    Args:
        original: Path of an .onnx file, the bytes of one, or a model. External data is found
            beside a path.
        rewritten: The same for the model to compare with it; None where a reference is given.
        providers: `cpu`, `cuda`, `auto` (CUDA where it runs, and the CPU), or onnxruntime's names.
        inputs: What to feed: a .npz or .npy file, a folder of ONNX test data, or arrays by name;
            drawn at random by default.
        reference: What a framework computed: such a file, folder or arrays, which hold the inputs
            too unless `inputs` are given.
        samples: How many inputs to draw, 1 by default; sizes that the model leaves open differ
            between them.
        seed: Seed of the first, 0 by default; the next have the numbers that follow.
        shapes: Sizes of what is drawn, by name of the input, as for `fix`.
        dims: The same by name of the dimension: a size, or a range to draw from.
        rtol: Allowed difference relative to each element; by default what rounding explains.
        atol: Allowed difference besides, absolute; by default what rounding explains.
        progress: Called with a step, how much of it is done, and how much there is.

    Raises:
        UsageError: An argument that cannot be honoured, or arrays that do not fit the model.
        ModelError: A model cannot be read.
        ProviderError: A provider asked for by name does not run on this machine.
    """
    start = time.perf_counter()
    models = [source(original, "validate")]
    if rewritten is not None:
        models.append(source(rewritten, "validate"))
    _check(models, reference, rtol, atol)
    shapes, dims = shapes_given(shapes), dims_given(dims)
    drawn = {"samples": samples, "seed": seed, "shapes": shapes or None, "dims": dims or None}
    if inputs is not None or reference is not None:
        _check_given([name for name, value in drawn.items() if value is not None])
    samples, seed = _check_drawn(samples, seed)

    from onnxpad.engine import pool

    pool.warm()  # while onnx is imported and the models are read

    from onnxpad.engine.providers import chosen
    from onnxpad.engine.wheels import warnings
    from onnxpad.validation.compare import Tolerance
    from onnxpad.validation.whole import validate_models

    def report(step: str) -> None:
        if progress is not None:
            progress(step, 0, 0)

    drawing = inputs is None and reference is None
    domain, padding, said = _domain(models, shapes, dims, drawing)
    names, notes = chosen((providers,) if isinstance(providers, str) else providers)
    found = validate_models(
        models[0],
        models[1] if len(models) > 1 else None,
        samples=samples,
        seed=seed,
        providers=names,
        sizes=domain.given,
        shapes=domain.declared,
        inputs=inputs,
        reference=reference,
        tolerance=Tolerance(rtol, atol),
        progress=report,
        notes=(*notes, *said.notes),
    )
    unproven = tuple(_unproven(found, names))
    found = replace(found, padding=padding, warnings=(*found.warnings, *said.warnings, *warnings()))
    return ValidationResult(found, names, unproven, time.perf_counter() - start)


def failure(result: ValidationResult) -> str:
    """Why a result is not ok, in one line; empty where it is."""
    unproven = "; ".join(result.unproven)
    if result.validation.outcome == "nothing compared" and unproven:
        return unproven
    return why_not(result.validation) or unproven


def _check(
    models: Sequence[Source], reference: object, rtol: float | None, atol: float | None
) -> None:
    """Return if the arguments can be honoured; asked before anything slow is imported."""
    if len(models) == 1 and reference is None:
        raise UsageError(
            "one model alone has nothing to be compared with; give the rewritten model too, or a "
            "reference"
        )
    for model in models:
        with suppress(OSError):  # reading it tells of those
            if isinstance(model, Path) and model.is_dir():
                raise UsageError(f"{model}: is a folder; validate takes models")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not (isinstance(value, Real) and 0 <= value < float("inf")):
            raise UsageError(f"{name} has to be 0 or a positive number, not {value!r}")


def _check_given(about_drawing: Sequence[str]) -> None:
    if about_drawing:
        raise UsageError(
            f"{', '.join(about_drawing)}: only for inputs that are drawn, and here they are given; "
            "leave out one or the other"
        )


def _check_drawn(samples: int | None, seed: int | None) -> tuple[int, int]:
    samples, seed = 1 if samples is None else samples, 0 if seed is None else seed
    for name, value in (("samples", samples), ("seed", seed)):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise UsageError(f"{name} has to be a whole number, not {value!r}")
    if samples < 1:
        raise UsageError(f"{samples} samples are none; ask for 1 or more")
    if seed < 0:
        raise UsageError(f"a seed cannot be negative, as {seed} is")
    return int(samples), int(seed)


class _Said(NamedTuple):
    """What to say of the sizes that are drawn: notes and warnings, a line each."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _domain(
    models: Sequence[Source], shapes: Shapes, dims: Dims, drawing: bool
) -> "tuple[SizeDomain, tuple[PaddingDifference, ...], _Said]":
    """Which sizes to draw, where the models are padded by other amounts, and what to say of it.

    Reading the models says in one line what is wrong with one.
    """
    from onnxpad.graph import Graph
    from onnxpad.padding.differences import padding_differences
    from onnxpad.sizes.domain import SizeDomain
    from onnxpad.sizes.size_options import given_domain, require_within

    graphs = [Graph.read(model) for model in models]
    original, rewritten = graphs[0], graphs[-1]
    recorded, said = _recorded(original, rewritten) if drawing else (None, _Said())
    untouched = original.mark()
    domain = given_domain(original, shapes, dims, recorded=recorded)
    require_within(domain, original, rewritten)
    original.rollback(untouched)
    padding: tuple[PaddingDifference, ...] = ()
    if len(graphs) == 2:
        limits = SizeDomain(given=domain.given)
        padding = padding_differences(original, rewritten, domain=limits)
    return domain, padding, said


def _recorded(original: "Graph", rewritten: "Graph") -> "tuple[Recorded, _Said]":
    """The sizes for which alone the models were rewritten, as the original calls them."""
    from onnxpad.sizes.recorded import METADATA, recorded_sizes

    ours, theirs = ([*graph.inputs] for graph in (original, rewritten))
    others = [name for name in theirs if name not in ours]
    called = dict(zip(others, (name for name in ours if name not in theirs), strict=False))
    before = recorded_sizes(original.model.metadata(METADATA), original)
    after = recorded_sizes(rewritten.model.metadata(METADATA), original, called)
    both = dict(before.sizes)
    for name, sizes in after.sizes.items():
        both[name] = sizes.common(both.get(name, sizes)) or sizes
    told = {str(before): "original", str(after): "rewritten"}
    return before._replace(sizes=both), _Said(
        tuple(
            f"sizes drawn as the {whose} model's metadata has it: {sizes}"
            for sizes, whose in told.items()
            if sizes
        ),
        tuple(dict.fromkeys(filter(None, (before.warning, after.warning)))),
    )


def _unproven(found: Validation, providers: Sequence[str]) -> list[str]:
    """What was asked for and not compared: silence about it would look like agreement."""
    lines = []
    for provider in providers:
        runs = [run for run in found.runs if run.provider == provider]
        mine = [run for run in runs if run.subject == found.subject]
        if not any(run.tells or not run.ok for run in mine):
            why = next((run.note for run in mine if run.note), "") or found.reason
            why = why or next((line for line in found.warnings), "")
            lines.append(f"nothing was compared on {provider}" + (f": {why}" if why else ""))
        for place in found.placements:
            here = place.provider == provider and place.model == found.subject
            if here and place.nodes == len(place.elsewhere):
                lines.append(f"no node of the {place.model} model ran on {provider}")
    return lines
