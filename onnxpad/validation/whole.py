"""Compares a whole model with its original, or with a framework's outputs, on onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from onnxpad.arguments import Arrays, Progress
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import RUNTIME
from onnxpad.runtimes.copies import with_bodies
from onnxpad.runtimes.runtime import LimitError
from onnxpad.runtimes.sessions import CPU, Source, folder_of, read_proto
from onnxpad.validation.branches import Entered, entering
from onnxpad.validation.compare import Tolerance
from onnxpad.validation.draw import Draw, UndrawableError, outline, pinned
from onnxpad.validation.given import matched_inputs, require_same_names, require_within
from onnxpad.validation.judge import Judgement
from onnxpad.validation.lab import Lab
from onnxpad.validation.result import Validation, not_validated

_HINT = (
    "; validate --inputs runs it on others, --reference also compares with a framework's outputs"
)


def validate_models(
    original: Source,
    rewritten: Source | None = None,
    *,
    samples: int = 1,
    seed: int = 0,
    providers: Sequence[str] = (CPU,),
    sizes: Mapping[str, Sizes] | None = None,
    shapes: Mapping[str, Sequence[int | str | None]] | None = None,
    inputs: Arrays | None = None,
    reference: Arrays | None = None,
    limits: Mapping[tuple[str, int], Sizes] | None = None,
    tolerance: Tolerance | None = None,
    progress: Progress | None = None,
    notes: Sequence[str] = (),
    folder: Path | None = None,
    repairs: bool = False,
    given: Source | None = None,
    uncompared: str = "",
) -> Validation:
    """Compare the outputs of `rewritten` and `original` on onnxruntime.

    Inputs are drawn, also other data, negative if the type allows. A reference is compared with
    both models, and never blamed on the rewritten one; without `rewritten` with the original alone.
    `sizes` are those admitted for open dimensions, by name, `limits` those that the metadata of the
    models allows, by axis of an input, and `shapes` fixed ones. That the rewritten model runs alone
    is a repair where it `repairs`: an operator that keeps the original from running was changed,
    and the specification certifies all changes. It has to load if `given` does, or else the
    original. `uncompared` is why nothing is compared.

    Raises:
        ModelError: One of them is not a readable ONNX model.
        ProviderError: A provider is not installed, or does not start.
        UsageError: Arrays cannot be read, or do not fit the model or `limits`; or the models name
            their inputs or outputs differently.
    """
    folder = folder_of(original) if folder is None else folder
    sources = {"original": with_bodies(original)}
    try:
        model = outline(read_proto(sources["original"]))
        model = replace(model, inputs=pinned(model.inputs, shapes or {}))
        if rewritten is not None:
            sources["rewritten"] = with_bodies(rewritten)
            other = outline(read_proto(sources["rewritten"]))
            require_same_names(model, other)
            ranks = {(each.name, len(each.shape)) for each in model.inputs}
            theirs = {e.name: e.shape for e in other.inputs if (e.name, len(e.shape)) in ranks}
            known, random = pinned(model.inputs, theirs, sizes), model.random or other.random
            model = replace(model, inputs=known, random=random)
    except UndrawableError as error:
        return not_validated(str(error), subject="original" if rewritten is None else "rewritten")
    found = matched_inputs(model, inputs, reference)
    require_within(limits or {}, found.draws)
    lab = Lab(sources, model, folder, progress)
    judgement = Judgement(lab, tolerance or Tolerance(), [*notes, *found.notes])
    further, sites, runs = tuple[Draw, ...](), list[Entered](), ""
    if uncompared:
        judgement.leave_out(uncompared)
    elif found.draws:
        lab.draws, runs = found.draws, "original"
    else:
        try:
            runs, why = lab.prepare(providers, samples, seed)
        except (LimitError, UndrawableError) as error:
            judgement.leave_out(f"{lab.step}: {error}")
        else:
            if not runs:
                judgement.leave_out(f"{RUNTIME} runs no model on drawn inputs ({why}){_HINT}", CPU)
    if runs == "original" and rewritten is not None:
        further, sites = entering(lab, () if found.draws else model.inputs)
    if runs:
        lab.plan(providers, further)
        for provider in providers:
            judgement.judge(provider, found.expected)
    base = lab.sources["original"] if given is None else with_bodies(given)
    return judgement.verdict(given=base, repairs=repairs, sites=sites)
