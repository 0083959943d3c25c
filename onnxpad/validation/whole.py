"""A whole rewritten model against its original, on onnxruntime.

May import `onnxpad.errors` and `onnxpad.verdict`.

With optimisation off onnxruntime computes what the graphs say, and both must agree. With full
optimisation it computes what will be deployed; there its own rewriting (unsound around Pad) may
break what is right, so a difference counts only where the original does not suffer it too.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onnxpad.validation.compare import compare
from onnxpad.validation.inputs import (
    Draw,
    Outline,
    UndrawableError,
    draw,
    outline,
    pinned,
    size_choices,
)
from onnxpad.validation.sessions import (
    CPU,
    EngineError,
    Optimisation,
    Session,
    Source,
    Value,
    open_session,
    read_proto,
    require_provider,
)
from onnxpad.verdict import Comparison, Run, Validation

_MOST_NODES = 10_000  # sessions are superlinear: full optimisation of 20,000 nodes takes 18 s

_QUANTA = 0.05
"""What rounding may change in an output, relative to its greatest magnitude, once quantised
operators are fused, as a rewrite can make possible; a few steps of 1/255 that grow on their way."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What one run gave: outputs by name, or why there are none."""

    outputs: dict[str, Value]
    seconds: float
    error: str = ""


def validate_models(
    original: Source,
    rewritten: Source,
    *,
    samples: int = 1,
    seed: int = 0,
    providers: Sequence[str] = (CPU,),
    folder: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Validation:
    """Whether `rewritten` computes what `original` computes, as far as onnxruntime can say.

    Never are two sessions open at once. What only the rewritten model can do is a repair; what
    neither can is a warning.

    Args:
        original: Path (external data is found beside it), serialized bytes, or model.
        rewritten: The same for the rewritten model.
        samples: Inputs to run; open sizes differ from one to the next.
        seed: Seed of the first; the next have the numbers that follow.
        providers: Execution providers, by onnxruntime's names.
        folder: Where external data of bytes lies; None for the folder of the original.
        progress: Called with a few words before each session is opened.

    Raises:
        ModelError: One of them is not a readable ONNX model.
        ProviderError: A provider is not installed, or does not start.
    """
    for provider in providers:
        require_provider(provider)
    try:
        model = outline(read_proto(original))
        inputs = pinned(model.inputs, read_proto(rewritten))
    except UndrawableError as error:
        return Validation(True, (), (f"not validated: {error}",))
    model = replace(model, inputs=inputs)
    small = model.nodes <= _MOST_NODES
    runs: list[Run] = []
    warnings: list[str] = []
    if not small:
        warnings.append(f"full optimisation not tried: the model has over {_MOST_NODES} nodes")
    if folder is None and isinstance(original, str | os.PathLike):
        folder = Path(original).parent
    for provider in providers:
        check = _Check(original, rewritten, model, provider, folder, progress or (lambda _: None))
        found = check.unoptimised(samples, seed)
        if small and found and all(run.ok for run in found):
            found += check.optimised()
        runs += found
        warnings += check.warnings
    return Validation(all(run.ok for run in runs), tuple(runs), tuple(warnings))


class _Check:
    """Both models on one provider; remembers the inputs and the answers to hold others against."""

    def __init__(
        self,
        original: Source,
        rewritten: Source,
        model: Outline,
        provider: str,
        folder: Path | None,
        progress: Callable[[str], None],
    ) -> None:
        self.warnings: list[str] = []
        self._original = original
        self._rewritten = rewritten
        self._model = model
        self._provider = provider
        self._folder = folder
        self._progress = progress
        self._draws: list[Draw] = []
        self._expected: list[_Result] = []

    def unoptimised(self, samples: int, seed: int) -> list[Run]:
        """A run a sample of what the graphs say; none where neither model runs."""
        why = self._first(self._original, "original", samples, seed)
        if not why:
            found = self._again(self._rewritten, "rewritten", "off")
            return self._judged(found, "off")
        other = self._first(self._rewritten, "rewritten", samples, seed)
        if not other:
            note = f"a repair, with nothing to compare: the original does not run ({why})"
            runs = [
                Run(self._provider, "off", inputs.label, (), (0.0, result.seconds), note, ok=True)
                for inputs, result in zip(self._draws, self._expected, strict=True)
            ]
            self._expected = [replace(result, seconds=0.0) for result in self._expected]
            return runs
        beyond = "" if other == why else f"; nor does the rewritten model run: {other}"
        self.warnings.append(f"not validated: {why}{beyond}")
        return []

    def optimised(self) -> list[Run]:
        """A run a sample of what will be deployed, held against the unoptimised answers."""
        found = self._again(self._rewritten, "rewritten", "full")
        runs = self._judged(found, "full")
        if all(run.ok for run in runs):
            return runs
        theirs = self._again(self._original, "original", "full")
        return [
            run if run.ok else self._excused(run, *results)
            for run, *results in zip(runs, self._expected, theirs, found, strict=True)
        ]

    def _first(self, source: Source, which: str, samples: int, seed: int) -> str:
        """Find inputs that the model runs on, and keep its answers; else why there are none."""
        self._progress(f"{which} model, optimisation off")
        why = ""
        try:
            with self._open(source, "off") as session:
                accepted: list[dict[str, int]] = []
                for sizes in size_choices(self._model.inputs):
                    if len(accepted) == max(1, samples):
                        break
                    error = self._sample(session, sizes, seed + len(accepted))
                    why = why or error
                    if not error:
                        accepted.append(sizes)
                for count in range(len(accepted), samples if accepted else 0):
                    self._sample(session, accepted[count % len(accepted)], seed + count)
        except EngineError as error:
            return str(error)
        return "" if self._draws else why

    def _open(self, source: Source, optimisation: Optimisation) -> Session:
        return open_session(
            source, provider=self._provider, optimisation=optimisation, folder=self._folder
        )

    def _sample(self, session: Session, sizes: Mapping[str, int], seed: int) -> str:
        """Run inputs of these sizes and keep them; else why the model does not accept them."""
        inputs = draw(self._model.inputs, sizes, seed)
        result = _run(session, inputs)
        if not result.error:
            self._draws.append(inputs)
            self._expected.append(result)
        return result.error

    def _again(self, source: Source, which: str, optimisation: Optimisation) -> list[_Result]:
        """A result for each of the inputs found."""
        self._progress(f"{which} model, optimisation {optimisation}")
        try:
            with self._open(source, optimisation) as session:
                return [_run(session, inputs) for inputs in self._draws]
        except EngineError as error:
            return [_Result({}, 0.0, str(error)) for _ in self._draws]

    def _judged(self, found: list[_Result], optimisation: Optimisation) -> list[Run]:
        """The rewritten model's results against those expected."""
        runs = []
        for inputs, expected, result in zip(self._draws, self._expected, found, strict=True):
            missing = expected.outputs.keys() - result.outputs.keys()
            note = ""
            if result.error:
                note = f"the rewritten model does not run: {result.error}"
            elif missing:
                note = f"the rewritten model has no output {', '.join(sorted(missing))}"
            comparisons = tuple(
                compare(name, value, result.outputs[name])
                for name, value in expected.outputs.items()
                if name in result.outputs
            )
            ok = not note and all(each.ok for each in comparisons)
            seconds = (expected.seconds, result.seconds)
            runs.append(
                Run(self._provider, optimisation, inputs.label, comparisons, seconds, note, ok)
            )
        return runs

    def _excused(self, run: Run, expected: _Result, theirs: _Result, ours: _Result) -> Run:
        """`run` with a verdict that allows for what full optimisation does to the original."""
        if theirs.error:
            note = f"with full optimisation the original does not run: {theirs.error}"
        elif ours.error:
            return replace(run, note=f"with full optimisation only {run.note}")
        else:
            changed = [each for each in run.comparisons if not each.ok]
            worse = [each for each in changed if not _suffered(each, expected, theirs, ours)]
            if not worse:
                note = f"full optimisation changes {_names(changed)} of the original as well"
            else:
                note = f"full optimisation changes {_names(worse)} of the rewritten model only"
                if not self._model.quantised or any(not each.max_rel <= _QUANTA for each in worse):
                    return replace(run, note=note)
                note += ", no further than rounding in fused quantised operators explains"
        if (warning := f"onnxruntime's own optimiser: {note}") not in self.warnings:
            self.warnings.append(warning)
        return replace(run, note=note, ok=True)


def _run(session: Session, inputs: Draw) -> _Result:
    try:
        return _Result(*session.timed(inputs.feeds))
    except EngineError as error:
        return _Result({}, 0.0, str(error))


def _names(comparisons: list[Comparison]) -> str:
    return ", ".join(each.output for each in comparisons)


def _suffered(found: Comparison, expected: _Result, theirs: _Result, ours: _Result) -> bool:
    """Whether full optimisation moves this output of the original likewise, or about as far."""
    name = found.output
    if compare(name, theirs.outputs.get(name), ours.outputs[name]).ok:
        return True
    own = compare(name, expected.outputs[name], theirs.outputs.get(name))
    return not own.ok and 2 * own.max_abs >= found.max_abs
