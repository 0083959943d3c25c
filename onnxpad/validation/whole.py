"""A whole rewritten model against its original, on onnxruntime.

May import `onnxpad.errors` and `onnxpad.verdict`.

With optimisation off onnxruntime computes what the graphs say, and both must agree. With full
optimisation it computes what will be deployed; there its own rewriting (unsound around Pad) may
break what is right, so a difference counts only where the original does not suffer it too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from onnxpad.validation.compare import compare
from onnxpad.validation.inputs import (
    Draw,
    Input,
    UndrawableError,
    count_nodes,
    describe,
    draw,
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
        progress: Called with a few words before each session is opened.

    Raises:
        ModelError: One of them is not a readable ONNX model.
        ProviderError: A provider is not installed, or does not start.
    """
    for provider in providers:
        require_provider(provider)
    model = read_proto(original)
    small = count_nodes(model.graph) <= _MOST_NODES
    try:
        inputs = describe(model, pinned=read_proto(rewritten))
    except UndrawableError as error:
        return Validation(True, (), (f"not validated: {error}",))
    del model  # its weights need not wait in memory for the sessions to end
    runs: list[Run] = []
    warnings: list[str] = []
    if not small:
        warnings.append(f"full optimisation not tried: the model has over {_MOST_NODES} nodes")
    for provider in providers:
        check = _Check(original, rewritten, inputs, provider, progress or (lambda _: None))
        runs += check.unoptimised(samples, seed)
        if small and runs and all(run.ok for run in runs):
            runs += check.optimised()
        warnings += check.warnings
    return Validation(all(run.ok for run in runs), tuple(runs), tuple(warnings))


class _Check:
    """Both models on one provider; remembers the inputs and the answers to hold others against."""

    def __init__(
        self,
        original: Source,
        rewritten: Source,
        inputs: tuple[Input, ...],
        provider: str,
        progress: Callable[[str], None],
    ) -> None:
        self.warnings: list[str] = []
        self._original = original
        self._rewritten = rewritten
        self._inputs = inputs
        self._provider = provider
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
            return [
                Run(self._provider, "off", draw.label, (), (0.0, result.seconds), note, ok=True)
                for draw, result in zip(self._draws, self._expected, strict=True)
            ]
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
            with open_session(source, provider=self._provider) as session:
                accepted: list[dict[str, int]] = []
                for sizes in size_choices(self._inputs):
                    result = self._sample(session, sizes, seed + len(accepted))
                    if result.error:
                        why = why or result.error
                        continue
                    accepted.append(sizes)
                    if len(accepted) == samples:
                        break
                while accepted and len(self._draws) < samples:
                    count = len(self._draws)
                    self._sample(session, accepted[count % len(accepted)], seed + count)
        except EngineError as error:
            return str(error)
        return "" if self._draws else why

    def _sample(self, session: Session, sizes: Mapping[str, int], seed: int) -> _Result:
        """Run inputs of these sizes, and keep them if the model accepts them."""
        inputs = draw(self._inputs, sizes, seed)
        result = _run(session, inputs)
        if not result.error:
            self._draws.append(inputs)
            self._expected.append(result)
        return result

    def _again(self, source: Source, which: str, optimisation: Optimisation) -> list[_Result]:
        """A result for each of the inputs found."""
        self._progress(f"{which} model, optimisation {optimisation}")
        try:
            with open_session(
                source, provider=self._provider, optimisation=optimisation
            ) as session:
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
            note = f"with full optimisation the original does not run either: {theirs.error}"
        elif ours.error:
            return replace(run, note=f"with full optimisation only {run.note.removeprefix('the ')}")
        else:
            worse = [
                each.output
                for each in run.comparisons
                if not each.ok and not _suffered(each, expected, theirs, ours)
            ]
            if worse:
                note = f"full optimisation changes {', '.join(worse)} of the rewritten model only"
                return replace(run, note=note)
            changed = ", ".join(each.output for each in run.comparisons if not each.ok)
            note = f"full optimisation changes {changed} of the original as well"
        if (warning := f"onnxruntime's own optimiser: {note}") not in self.warnings:
            self.warnings.append(warning)
        return replace(run, note=note, ok=True)


def _run(session: Session, inputs: Draw) -> _Result:
    try:
        return _Result(*session.timed(inputs.feeds))
    except EngineError as error:
        return _Result({}, 0.0, str(error))


def _suffered(found: Comparison, expected: _Result, theirs: _Result, ours: _Result) -> bool:
    """Whether full optimisation moves this output of the original likewise, or about as far."""
    name = found.output
    if compare(name, theirs.outputs[name], ours.outputs[name]).ok:
        return True
    own = compare(name, expected.outputs[name], theirs.outputs[name])
    return not own.ok and 2 * own.max_abs >= found.max_abs
