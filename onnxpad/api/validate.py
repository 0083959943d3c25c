"""The library's call to compare a model with its original or with a framework's outputs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from onnxpad.api import Paged, kinds
from onnxpad.arguments import (
    Dims,
    ModelSource,
    Progress,
    Shapes,
    Source,
    dims_given,
    require_positive,
    require_timeout,
    shapes_given,
)
from onnxpad.errors import UsageError, counted, few
from onnxpad.report import ValidateReport
from onnxpad.validation.result import (
    PaddingDifference,
    Validation,
    parted,
    why_not,
)

if TYPE_CHECKING:
    from onnxpad.facts.feasible import SizeDomain
    from onnxpad.facts.recorded import Recorded
    from onnxpad.graph import Graph
    from onnxpad.validation.given import Arrays

_NAMED = 3
"""Nodes that fell back that are named."""


class ValidationResult(ValidateReport, Paged, kinds.Judged, frozen=True):
    """The result of `validate`: its report, with the figures of the verdict at hand.

    Its fields are those of `onnxpad.report.ValidateReport`.
    """

    def __repr__(self) -> str:
        """The result in one line."""
        from onnxpad.report.text import counted, one_line

        why = "" if self.ok else f": {self.failure}"
        return one_line(self, f"{self.outcome}, {counted(len(self.validation.runs), 'run')}{why}")

    @property
    def failure(self) -> str:
        """Why it is not `ok`, in one line; else empty."""
        unproven = "; ".join(self.unproven)
        if self.ok:
            return ""
        if self.validation.outcome == "nothing compared" and unproven:
            return unproven
        return why_not(self.validation) or unproven


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
    _check(models, reference, rtol, atol)
    require_timeout(run_timeout)
    shapes, dims = shapes_given(shapes), dims_given(dims)
    drawn = {"samples": samples, "seed": seed, "shapes": shapes or None, "dims": dims or None}
    about_drawing = [name for name, value in drawn.items() if value is not None]
    drawing = inputs is None and reference is None
    if about_drawing and not drawing:
        raise UsageError(
            f"{', '.join(about_drawing)}: only for inputs that are drawn, but inputs are given; "
            "leave out one or the other"
        )
    samples = _whole("samples", 1 if samples is None else samples, least=1)
    seed = _whole("seed", 0 if seed is None else seed, least=0)

    from onnxpad.runtimes import pool

    pool.warm()  # while onnx is imported and the models are read

    from onnxpad.api.sizes_of_both import drawn_sizes
    from onnxpad.graph import Graph
    from onnxpad.runtimes.providers import chosen
    from onnxpad.validation.compare import Tolerance
    from onnxpad.validation.whole import validate_models

    names, notes = chosen((providers,) if isinstance(providers, str) else providers)
    graphs = [Graph.read(model) for model in models]
    domain, both, padding = _compared(graphs, shapes, dims)
    with kinds.limited(run_timeout, *graphs):
        found = validate_models(
            *models,
            samples=samples,
            seed=seed,
            providers=names,
            sizes=domain.given,
            shapes=domain.declared,
            inputs=inputs,
            reference=reference,
            limits=both.limits,
            tolerance=Tolerance(rtol, atol),
            progress=progress,
            notes=(*notes, *(drawn_sizes(both, domain.given) if drawing else ())),
        )
    unproven = tuple(_unproven(found, names, fallback=fallback))
    warnings = (*found.warnings, *both.warnings)
    resized = _resized(graphs[0], graphs[-1])
    found = replace(found, padding=padding, warnings=warnings, resized=resized)
    first = parted(found)
    rest = tuple(each for each in found.padding if each is not first)
    found = replace(found, padding=rest if first is None else (first, *rest))
    following = ""
    if reference is not None and may_be_padding(models[0], found):
        following = match_command(models[0], reference, inputs, rtol, atol)
    return ValidationResult(
        kinds.path_of(original) or "the original",
        "" if rewritten is None else kinds.path_of(rewritten) or "the rewritten model",
        kinds.name_of_arrays(inputs),
        kinds.name_of_arrays(reference),
        names,
        found,
        unproven,
        perf_counter() - start,
        following,
        notes=found.notes,
        warnings=found.warnings,
    )


def may_be_padding(original: Source, found: Validation) -> bool:
    """Whether the original computes something else than the reference, and padding may be why."""
    apart = any(
        run.subject == "original" and run.against == "reference" and run.comparisons and not run.ok
        for run in found.runs
    )
    if not apart or found.ok:
        return False

    from onnxpad.frameworks.repadding.sites import has_padding_to_vary
    from onnxpad.graph import Graph
    from onnxpad.rewrite.pass_api import Context

    return has_padding_to_vary(Context(Graph.read(original)))


def match_command(
    model: Source,
    reference: Arrays,
    inputs: Arrays | None,
    rtol: float | None,
    atol: float | None,
) -> str:
    """The command that looks for the right padding, or the call if something is in memory."""
    held = {"": model, "--reference": reference, "--inputs": inputs}
    words, limits = [], {"--rtol": rtol, "--atol": atol}
    for option, each in held.items():
        if isinstance(each, str | os.PathLike):
            words += [option, os.fspath(each)]
        elif each is not None:
            return f"onnxpad.match(model, reference{'' if inputs is None else ', inputs=inputs'})"
    for option, number in limits.items():
        words += [] if number is None else [option, str(number)]
    return shlex.join(["onnxpad", "match", *filter(None, words)])


def _check(
    models: Sequence[Source], reference: object, rtol: float | None, atol: float | None
) -> None:
    """Raises unless the arguments are valid; called before anything slow is imported."""
    if len(models) == 1 and reference is None:
        raise UsageError(
            "one model alone has nothing to be compared with; give the rewritten model too, or a "
            "reference"
        )
    for model in models:
        with suppress(OSError):  # reported when the model is read
            if isinstance(model, Path) and model.is_dir():
                raise UsageError(f"{model}: is a folder; validate takes models")
    require_positive(rtol=rtol, atol=atol)


def _whole(name: str, value: object, *, least: int) -> int:
    """A whole number."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise UsageError(f"{name} has to be a whole number, not {value!r}")
    if value < least:
        raise UsageError(f"{name} has to be {least} or more, not {value}")
    return int(value)


def _compared(
    graphs: Sequence[Graph], shapes: Shapes, dims: Dims
) -> tuple[SizeDomain, Recorded, tuple[PaddingDifference, ...]]:
    """Finds the sizes at which to compare models.

    Returns:
        The sizes to draw, those that the models' metadata allows, and the operators whose padding
        differs.

    Raises:
        MismatchError: The sizes given contradict a model, or no size fits both models.
    """
    from onnxpad.api.sizes_of_both import recorded_by_both, require_within
    from onnxpad.facts.feasible import SizeDomain
    from onnxpad.facts.recorded import given_domain
    from onnxpad.inventory import padding_differences

    original, rewritten = graphs[0], graphs[-1]
    both = recorded_by_both(original, rewritten)
    untouched = original.mark()
    domain = given_domain(original, shapes, dims, recorded=both)
    require_within(domain, original, rewritten)
    padding: tuple[PaddingDifference, ...] = ()
    if len(graphs) == 2:
        limits = SizeDomain(given=domain.given)
        padding = padding_differences(original, rewritten, domain=limits)
    original.rollback(untouched)
    return domain, both, padding


def _resized(original: Graph, rewritten: Graph) -> str:
    """The first input that both models declare with other sizes, as `input 'x' 1x8 became 1x9`."""
    from onnxpad.validation.align import fits

    for name, (_, before) in original.model.main.inputs.items():
        _, after = rewritten.model.main.inputs.get(name, (None, None))
        if before is not None and after is not None and not fits(before, after):
            sizes = ("x".join(map(str, each)) for each in (before, after))
            return f"input {name!r} {' became '.join(sizes)}"
    return ""


def _unproven(found: Validation, providers: Sequence[str], *, fallback: bool = True) -> list[str]:
    """Comparisons that were asked for and not made; without a word they would look like passes."""
    lines = [*found.hidden] if found.outcome == "passed" else []
    for provider in providers:
        runs = [run for run in found.runs if run.provider == provider]
        mine = [run for run in runs if run.subject == found.subject]
        if not any(run.tells or not run.ok for run in mine):
            why = next((run.note for run in mine if run.note), "") or found.reason
            why = why or next((line for line in found.warnings), "")
            lines.append(f"nothing was compared on {provider}" + (f": {why}" if why else ""))
        for place in found.placements:
            if place.provider != provider or place.model != found.subject:
                continue
            if place.nodes == len(place.elsewhere):
                lines.append(f"no node of the {place.model} model ran on {provider}")
            elif place.elsewhere and not fallback:
                nodes = f"{counted(len(place.elsewhere), 'node')} of {place.nodes:,}"
                names = few(place.elsewhere, _NAMED)
                lines.append(f"{nodes} of the {place.model} model fell back to the CPU: {names}")
    return lines
