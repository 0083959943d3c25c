"""The library's call to compare a model with its original or with a framework's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from time import perf_counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from onnxpad import arguments
from onnxpad.api import kinds
from onnxpad.arguments import Arrays, Dims, ModelSource, Progress, Shapes
from onnxpad.errors import RUNTIME, MismatchError, UsageError, counted, few
from onnxpad.options import suggesting
from onnxpad.report import ValidationResult
from onnxpad.validation.result import PaddingDifference, Validation, parted

if TYPE_CHECKING:
    from onnxpad.facts.feasible import SizeDomain
    from onnxpad.facts.recorded import Recorded
    from onnxpad.graph import Graph

_PROVING = 10.0
"""Seconds after which no proof is looked for any more."""


@suggesting
def validate(
    original: ModelSource,
    rewritten: ModelSource | None = None,
    *,
    providers: str | Sequence[str] = ("cpu",),
    fallback: bool = True,
    inputs: Arrays | None = None,
    reference: Arrays | None = None,
    samples: int | None = None,
    seed: int | None = None,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    run_timeout: float | None = None,
    progress: Progress | None = None,
) -> ValidationResult:
    """Compare the outputs of a model with those of another model, or with a framework's.

    Args:
        original: A model in any form that `fix` takes. External data is found relative to the path.
        rewritten: The same for the model to compare; may be None if a reference is given.
        providers: `cpu`, `cuda`, `tensorrt`, `auto` (CUDA if it runs, and the CPU), the name of an
            installed plugin such as `openvino`, or onnxruntime's names.
        fallback: Whether nodes may run on the CPU instead; else the result is not ok if one does.
        inputs: Inputs to use: a .npz or .npy file, a folder of ONNX test data, or arrays by name;
            drawn at random by default.
        reference: A framework's outputs in the same forms, together with its inputs unless
            `inputs` is given.
        samples: How many inputs to draw, 1 by default; open sizes differ between them.
        seed: Seed of the first sample, 0 by default; it grows by 1 from sample to sample.
        shapes: Sizes of the drawn inputs, by name of the input, as for `fix`.
        dims: The same by name of the dimension: a size, or a range to draw from.
        rtol: Allowed difference relative to each element; by default enough for rounding.
        atol: Allowed absolute difference on top of `rtol`; by default enough for rounding.
        run_timeout: As for `fix`.
        progress: Called with (step, done, total).

    Returns:
        The verdict with the figures of every run.

    Raises:
        UsageError: An argument is not valid, or arrays do not fit the model or the sizes that its
            metadata records, or no size fits both models.
        ModelError: A model cannot be read.
        ProviderError: A provider asked for by name does not run on this machine.
    """
    start = perf_counter()
    held = (original,) if rewritten is None else (original, rewritten)
    models = [source for source, _ in (kinds.source_of(each, "validate") for each in held)]
    path = kinds.path_of(models[1]) if models[1:] else ""
    if path.endswith((".npz", ".npy")):
        raise UsageError(f"{path} holds arrays and is no model; give it as --reference {path}")
    if rewritten is None and reference is None:
        raise UsageError("one alone has nothing to be compared with; give two, or --reference FILE")
    arguments.require_positive(rtol=rtol, atol=atol)
    arguments.require_timeout(run_timeout)
    for name, value, least in (("samples", samples, 1), ("seed", seed, 0)):
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and not (is_whole and value >= least):
            raise UsageError(f"{name} has to be a whole number from {least} on, not {value!r}")
    shapes, dims = arguments.shapes_given(shapes), arguments.dims_given(dims)
    drawn = {"samples": samples, "seed": seed, "shapes": shapes or None, "dims": dims or None}
    about_drawing = ", ".join(name for name, value in drawn.items() if value is not None)
    is_drawing = inputs is None and reference is None
    if about_drawing and not is_drawing:
        raise UsageError(f"{about_drawing}: only for inputs that are drawn, but inputs are given")
    from onnxpad.runtimes import pool

    pool.warm()  # while onnx is imported and the models are read

    from onnxpad.graph import Graph
    from onnxpad.runtimes.providers import chosen
    from onnxpad.validation.compare import Tolerance
    from onnxpad.validation.whole import validate_models

    names, notes = chosen((providers,) if isinstance(providers, str) else providers)
    graphs = [Graph.read(model) for model in models]
    domain, both, padding = _compared(graphs, shapes, dims)
    if is_drawing and (told := both.text(domain.given)):
        notes = (*notes, f"sizes drawn as the models' metadata says: {told}")
    with kinds.limited(run_timeout, *graphs):
        found = validate_models(
            *models,
            samples=samples or 1,
            seed=seed or 0,
            providers=names,
            sizes=domain.given,
            shapes=domain.declared,
            inputs=inputs,
            reference=reference,
            limits=both.limits,
            tolerance=Tolerance(rtol, atol),
            progress=progress,
            notes=notes,
        )
    unproven = tuple(_unproven(found, names, fallback=fallback))
    warnings, resized = (*found.warnings, *both.warnings), _resized(graphs[0], graphs[-1])
    found = replace(found, padding=padding, warnings=warnings, resized=resized)
    first = parted(found)
    found = replace(found, padding=tuple(sorted(padding, key=lambda each: each is not first)))
    proof = None
    if rewritten is not None and found.outcome == "passed":
        from onnxpad.proving.verdict import decide

        proof = decide(*models, domain=domain, time_limit=_PROVING, runs=False)
    options = {"": models[0], "--reference": reference, "--inputs": inputs}
    following = _next(graphs[0], found, {**options, "--rtol": rtol, "--atol": atol})
    return ValidationResult(
        kinds.path_of(original) or "the original",
        "" if rewritten is None else kinds.path_of(rewritten) or "the rewritten model",
        kinds.name_of_arrays(inputs),
        kinds.name_of_arrays(reference),
        names,
        found,
        unproven,
        following,
        proof if proof and proof.verdict == "proved" else None,
        seconds=perf_counter() - start,
        notes=found.notes,
        warnings=found.warnings,
    )


def _next(original: Graph, found: Validation, options: Mapping[str, object]) -> str:
    """The command or call that looks for the right padding, if padding may be why; else empty."""
    runs = (run for run in found.runs if (run.subject, run.against) == ("original", "reference"))
    if found.ok or all(run.ok or not run.comparisons for run in runs):
        return ""
    from onnxpad.frameworks.repadding.sites import has_padding_to_vary
    from onnxpad.rewrite.pass_api import Context

    if not has_padding_to_vary(Context(original)):
        return ""
    inputs = "" if options["--inputs"] is None else ", inputs=inputs"
    words = kinds.typed(options)
    return f"onnxpad match {words}" if words else f"onnxpad.match(model, reference{inputs})"


def _compared(
    graphs: Sequence[Graph], shapes: Shapes, dims: Dims
) -> tuple[SizeDomain, Recorded, tuple[PaddingDifference, ...]]:
    """The sizes to draw, and those allowed, and what pads otherwise; MismatchError if none fit."""
    from onnxpad.facts.feasible import SizeDomain
    from onnxpad.facts.recorded import declared_sizes, given_domain, labels_of
    from onnxpad.inventory import padding_differences

    original, rewritten = graphs[0], graphs[-1]
    both = _recorded_by_both(original, rewritten)
    untouched, labels = original.mark(), labels_of(original)
    domain = given_domain(original, shapes, dims, recorded=both)
    shaped = {at: size for at, size in declared_sizes(original).items() if at[0] in domain.declared}
    for place, size in declared_sizes(rewritten).items():
        sizes = shaped.get(place) or domain.given.get(labels.get(place, ""))
        if sizes is not None and size.first not in sizes:
            told = f"declares {size} for axis {place[1]} of input {place[0]!r}, not {sizes}"
            raise MismatchError(f"the rewritten model {told}")
    limits = SizeDomain(given=domain.given)
    padding = padding_differences(original, rewritten, domain=limits) if graphs[1:] else ()
    original.rollback(untouched)
    return domain, both, padding


def _recorded_by_both(original: Graph, rewritten: Graph) -> Recorded:
    from onnxpad.facts.recorded import METADATA, declared_sizes, labels_of, recorded_sizes

    before, after = recorded_sizes(original), recorded_sizes(rewritten)
    labels, declared = labels_of(original), declared_sizes(original)
    limits, sizes = dict(before.limits), dict(before.sizes)
    for place, allowed in after.limits.items():
        label = labels.get(place, "")
        one = declared.get(place) or sizes.get(label) or limits.get(place, allowed)
        if (common := one.common(allowed)) is None:
            told = f"one is limited to {one}, the other to {allowed}, as {METADATA} says"
            raise MismatchError(f"no size of axis {place[1]} of {place[0]!r} fits both: {told}")
        limits[place] = common
        sizes |= {label: common} if label else {}
    warnings = dict.fromkeys((*before.warnings, *after.warnings))
    return replace(before, sizes=sizes, limits=limits, warnings=tuple(warnings))


def _resized(original: Graph, rewritten: Graph) -> str:
    """The first input that both models declare with other sizes, as `input 'x' 1x8 became 1x9`."""
    from onnxpad.validation.align import fits

    theirs = rewritten.model.main.inputs
    for name, (_, before) in original.model.main.inputs.items():
        after = theirs[name].shape if name in theirs else None
        if before is not None and after is not None and not fits(before, after):
            return f"input {name!r} {'x'.join(map(str, before))} became {'x'.join(map(str, after))}"
    return ""


def _unproven(found: Validation, providers: Sequence[str], *, fallback: bool = True) -> list[str]:
    """Comparisons that were asked for and not made; without a word they would look like passes."""
    from onnxpad.runtimes.sessions import CPU

    lines = [*found.hidden] if found.outcome == "passed" else []
    for provider in providers:
        runs = [run for run in found.runs if run.provider == provider]
        mine = [run for run in runs if run.subject == found.subject]
        if not any(run.tells or not run.ok for run in mine):
            whys = (*(run.note for run in mine), found.reason, *found.warnings)
            why = next(filter(None, whys), "")
            lines.append(f"nothing was compared on {provider}" + (f": {why}" if why else ""))
        places = [each for each in found.placements if each.provider == provider]
        if not (fallback or places or provider == CPU):
            lines.append(f"{RUNTIME} does not say which nodes ran on {provider}; 1.24 and later do")
        for place in (each for each in places if each.model == found.subject):
            if place.nodes == len(place.elsewhere):
                lines.append(f"no node of the {place.model} model ran on {provider}")
            elif place.elsewhere and not fallback:
                nodes = f"{counted(len(place.elsewhere), 'node')} of {place.nodes:,}"
                names = few(place.elsewhere, 3)
                lines.append(f"{nodes} of the {place.model} model fell back to the CPU: {names}")
    return lines
