"""Compares a whole model with its original, or with a framework's outputs, on onnxruntime.

With optimisation off, the runtime computes what the graphs say, and both must agree. With full
optimisation it computes what is deployed. Its optimiser is unsound around Pad and may break a right
model, so a difference counts only if the original does not show it too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from onnxpad.arguments import InFolder, Progress
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import RUNTIME, UsageError, few
from onnxpad.runtimes import pool
from onnxpad.runtimes.copies import seeded, with_bodies
from onnxpad.runtimes.runtime import LimitError, Optimisation
from onnxpad.runtimes.sessions import (
    CPU,
    Array,
    Source,
    Value,
    folder_of,
    load_failure,
    read_proto,
    require_provider,
)
from onnxpad.runtimes.worker import DEPLOYED
from onnxpad.validation.answers import Execution, Result, accepted, ask, laid_out, runs_of
from onnxpad.validation.arrays import Arrays, matched_inputs, require_within
from onnxpad.validation.bisect import (
    ModelSide,
    first_divergence,
    inner_evidence,
    restless,
    with_outputs,
)
from onnxpad.validation.branches import entering
from onnxpad.validation.compare import Tolerance, strayed
from onnxpad.validation.evidence import evaluated, is_few, is_flat
from onnxpad.validation.inputs import (
    Draw,
    Interface,
    UndrawableError,
    inlined,
    outline,
    pinned,
    shaped,
)
from onnxpad.validation.judge import Oracle, compared_run, differing, excused
from onnxpad.validation.layouts import outputs_relaid
from onnxpad.validation.pairing import Makers, Pairing, is_discrete, paired
from onnxpad.validation.result import (
    BY_ONNX,
    Comparison,
    Divergence,
    Outcome,
    Placement,
    Run,
    Skipped,
    Validation,
    not_validated,
)

_FLAT = "the same for any data, or nearly"
_FLAT_RUN = f"no evidence: the outputs are {_FLAT}"
_CHOICES = "of classes, indices or truths"
_LOOSE = "not the same in two runs of the original"

_LISTED = 8  # outputs named in one line

_NEVER = (math.nan, math.nan)  # the seconds of models that did not run

_PATIENCE = 3
"""Times the limit of a run that a rewritten model gets before it is blamed for not ending."""

_MOST_NODES = 10_000  # opening is superlinear: full optimisation of 20,000 nodes takes 18 s


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
    moved: Sequence[str] = (),
    folder: Path | None = None,
    repairs: bool = False,
    given: Source | None = None,
    uncompared: str = "",
) -> Validation:
    """Compare the outputs of `rewritten` and `original` on onnxruntime.

    Nothing is compared if only the rewritten model runs (it then repairs the original), if neither
    runs, or if no output or inner tensor varies with the data. The rewritten model then fails if it
    does not load where the original does. Inputs are drawn once more with other data, negative if
    the type allows. A reference is compared with both models; differences of the original from it
    are reported, and never blamed on the rewritten model. Two sessions are never open at once.

    Args:
        original: Path (external data is found relative to it), serialized bytes, or model.
        rewritten: The same for the rewritten model; None to compare only the original with the
            reference.
        samples: Number of inputs to draw; open sizes differ between them.
        seed: Seed of the first sample; it grows by 1 from sample to sample.
        providers: Execution providers, by the runtime's names.
        sizes: The sizes admitted for open dimensions, by name.
        shapes: Shapes of inputs to draw, by name; entries that are not numbers are ignored.
        inputs: Inputs to use instead of drawing them.
        reference: A framework's outputs, with its inputs unless `inputs` is given.
        limits: The sizes that the models' metadata allows, by axis of an input.
        tolerance: The allowed difference; by default enough for rounding.
        progress: Called with (step, runs made, runs planned).
        notes: Remarks to put first.
        moved: Remarks on inputs of the rewritten model that were moved; its outputs then are too.
        folder: Folder of the external data of models in memory; None for that of the original.
        repairs: Whether it is a repair if the rewritten model alone runs: an operator that keeps
            the original from running was changed, and the specification certifies all changes.
        given: The model that has to load for the rewritten one to fail, if not the original.
        uncompared: Why nothing is to be compared; empty if both are.

    Returns:
        The verdict with the figures of every run.

    Raises:
        ModelError: One of them is not a readable ONNX model.
        ProviderError: A provider is not installed, or does not start.
        UsageError: The inputs or the reference cannot be read, or do not fit the model; or the
            models name their inputs differently and these cannot be matched; or a size of the
            inputs given is outside of `limits`.
    """
    for provider in providers:
        require_provider(provider)
    folder = folder_of(original) if folder is None else folder
    original = with_bodies(original)
    rewritten = None if rewritten is None else with_bodies(rewritten)
    pairing = Pairing()
    try:
        proto = read_proto(original)
        model = outline(proto)
        choices = Makers(proto.graph, [each.name for each in model.inputs]).choices
        model = replace(model, inputs=shaped(model.inputs, shapes or {}))
        if rewritten is not None:
            proto = read_proto(rewritten)
            other = outline(proto)
            pairing = paired(model, other)
            known = pinned(model.inputs, proto, sizes, pairing.inputs)
            random = model.random or other.random
            model = replace(model, inputs=known, pads=model.pads or other.pads, random=random)
            del proto
    except UndrawableError as error:
        return not_validated(str(error), subject="original" if rewritten is None else "rewritten")
    found = laid_out(matched_inputs(model, inputs, reference), original, folder)
    require_within(limits or {}, found.draws)
    if rewritten is None and not found.expected:
        raise UsageError("one model alone has nothing to be compared with; give a reference")
    if model.random:
        original, *others = seeded([original] if rewritten is None else [original, rewritten])
        rewritten = others[0] if others else None
    given = original if given is None else with_bodies(given)
    check = _Check(
        original, rewritten, given, model, folder, tolerance or Tolerance(), progress, pairing
    )
    check.notes += [*notes, *moved, *pairing.notes, *found.notes]
    check.expected = found.expected
    check.choices = choices & {each.name for each in model.outputs}
    check.repairs = repairs
    if uncompared:
        check.leave_out(uncompared)
    elif check.prepare(found.draws, providers, samples, seed):
        if moved:
            check.lay_out()
        check.plan(providers)
        for provider in providers:
            check.validate(provider)
    return check.verdict()


class _Check:
    """Models under validation, the inputs they run on, and the results so far."""

    def __init__(
        self,
        original: Source,
        rewritten: Source | None,
        given: Source,
        model: Interface,
        folder: Path | None,
        tolerance: Tolerance,
        progress: Progress | None,
        pairing: Pairing,
    ) -> None:
        self.expected: tuple[Mapping[str, Array], ...] = ()
        self.choices: Collection[str] = ()  # outputs that are classes, indices or truths
        self.repairs = False
        self.notes: list[str] = []
        self._runs: list[Run] = []
        self._warnings: list[str] = []
        self._placements: list[Placement] = []
        self._divergence: Divergence | None = None
        self._reasons: list[str] = []  # why nothing, or not all, was compared
        self._skipped: list[Skipped] = []
        self._flat: set[str] = set()  # outputs that are no evidence by themselves
        self._silent: set[str] = set()  # outputs without evidence upstream either
        self._sites: list[tuple[str, Draw | None]] = []  # where bodies differ, and what enters it
        self._compared: set[Draw | None] = set()  # those of which a run is evidence
        self._hidden: list[str] = []  # remarks on outputs of which no comparison is evidence
        # What outputs were chosen by: values by sample, and names.
        self._scores: tuple[Mapping[int, Mapping[str, Value]], Sequence[str]] = {}, ()
        self._repeats: dict[tuple[str, str], bool] = {}  # by provider and output of the original
        self._pairings = {"rewritten": pairing}
        self._sources = {"original": original}
        self._given = given
        if rewritten is not None:
            self._sources["rewritten"] = rewritten
        self._subject = list(self._sources)[-1]  # the model that the verdict is about
        self._folder = folder
        self._model = model
        self._tolerance = tolerance
        self._progress = progress or (lambda *_: None)
        self._step, self._made, self._planned = "", 0, 0
        self._draws: tuple[Draw, ...] = ()
        self._known: dict[tuple[str, str, str], tuple[Result, ...]] = {}

    def verdict(self) -> Validation:
        """The verdict from all results."""
        self._runs = [self._without_unrepeated(run) for run in self._runs]
        mine = [run for run in self._runs if run.subject == self._subject]
        unentered = [text for text, draw in self._sites if draw not in self._compared]
        for each in unentered:
            self.leave_out(f"the {each} is other, or steered otherwise, and no run compares it")
        outcome: Outcome = "nothing compared"
        if self._divergence is not None or not all(run.ok for run in mine):
            outcome = "failed"
        elif any(run.tells and not self._silent.issuperset(_names(run)) for run in mine):
            outcome = "nothing compared" if unentered else "passed"
        elif self.repairs and self._runs_alone(mine):
            outcome = "repaired"
            (why, *_) = self._known["original", CPU, "off"]
            self._reasons = [f"{RUNTIME} runs the result, and not the original ({why.error})"]
        elif self._unloaded[1] and not self._unloaded[0]:
            outcome, level = "failed", self._levels[-1]
            note = f"does not load, as the original does: {self._unloaded[1]}"
            self._runs.append(Run(CPU, level, "any inputs", (), _NEVER, note, ok=False))
        excuses = (run.note for run in mine if run.excused)
        reasons = *self._reasons, *excuses, "no run could be compared"
        return Validation(
            outcome == "passed",
            tuple(self._runs),
            tuple(dict.fromkeys(self._warnings)),
            notes=tuple(dict.fromkeys(self.notes)),
            placements=tuple(self._placements),
            divergence=self._divergence,
            subject=self._subject,
            outcome=outcome,
            skipped=tuple(dict.fromkeys(self._skipped)),
            hidden=tuple(dict.fromkeys(self._hidden)),
            reason=reasons[0] if outcome in {"nothing compared", "repaired"} else "",
        )

    def _runs_alone(self, runs: Sequence[Run]) -> bool:
        """Whether the rewritten model runs at every level, and the original nowhere."""
        alone = [run for run in runs if run.optimisation == "off" and run.excused]
        full = [run for run in runs if run.optimisation == "full" and not run.excused]
        wanted = sum(len(self._draws_for(level)) for level in self._levels)
        return 0 < len(alone) == len(self._draws) and len(alone + full) == len(runs) == wanted

    def prepare(
        self, draws: tuple[Draw, ...], providers: Sequence[str], samples: int, seed: int
    ) -> bool:
        """Choose the inputs: those given, or drawn ones on which a model runs, if any does.

        The original is tried first.
        """
        if draws:
            self._draws = draws
            self._enter(drawn=False)
            return True
        whys: dict[str, str] = {}
        for name, source in self._sources.items():
            for provider in dict.fromkeys((CPU, *providers)):
                self._planned = self._made + samples + 1  # and those below, once these are known
                self._begin(f"{name} model, optimisation off")
                try:
                    drawn, results, why = accepted(
                        source,
                        self._model.inputs,
                        provider,
                        samples,
                        seed,
                        folder=self._folder,
                        pairing=self._pairings.get(name, Pairing()),
                        ran=self._ran,
                    )
                except (LimitError, UndrawableError) as error:
                    self.leave_out(f"{name} model: {error}")
                    return False
                if drawn:
                    self._draws = drawn
                    # Elsewhere noise and places are wanted too, and a session for each draw.
                    if provider == CPU and not self._model.random:
                        self._known[name, CPU, "off"] = self._with_shares(results)
                    if name == "original":
                        self._enter(drawn=True)
                    return True
                whys.setdefault(name, why)
        self._run_none(
            whys,
            CPU,
            "inputs that are drawn",
            "; --inputs has it run on others, --reference also compares with a framework's outputs",
        )
        return False

    def lay_out(self) -> None:
        """Move the rewritten model's outputs into the layout of the original's, as a run tells."""
        self._sources["rewritten"], notes = outputs_relaid(
            self._sources["rewritten"],
            self._draws[0],
            self._results("original", CPU, "off")[0].outputs,
            pairing=self._pairings["rewritten"],
            folder=self._folder,
        )
        self.notes += notes

    def _enter(self, *, drawn: bool) -> None:
        """Draw inputs for bodies in which the models differ and that no draw enters so far."""
        if self._subject != "rewritten":
            return
        draws, self._sites = entering(
            self._sources["original"],
            self._sources["rewritten"],
            self._model.inputs if drawn else (),
            self._draws,
            pairing=self._pairings["rewritten"],
            folder=self._folder,
        )
        if draws:
            self._draws += draws
            self._known.clear()

    @property
    def _levels(self) -> tuple[Optimisation, ...]:
        """The levels of optimisation to run at; the last is the nearest to what is deployed."""
        return ("off",) if self._model.nodes > _MOST_NODES else ("off", "full")

    @cached_property
    def _unloaded(self) -> tuple[str, str]:
        """Why the runtime does not load the model given and the subject; empty if it does."""
        sources = self._given, self._sources[self._subject]
        one, other = (load_failure(each, self._folder, self._levels[-1]) for each in sources)
        return one, other

    def _run_none(
        self, whys: Mapping[str, str], provider: str, inputs: str, hint: str = ""
    ) -> None:
        """Report that no model runs on some inputs."""
        told = "; ".join(dict.fromkeys(whys.values()))
        if all(self._unloaded):
            inputs, hint = "any inputs", ""
        self.leave_out(f"{RUNTIME} runs no model on {inputs} ({told}){hint}", provider)

    def leave_out(self, why: str, where: str = "") -> None:
        """Report what is not compared."""
        self._reasons.append(why)
        self._warnings.append(f"not compared: {why}")
        self._skipped.append(Skipped(why, where))

    def validate(self, provider: str) -> None:
        """Run all models on one provider, first without optimisation, then fully optimised."""
        if settings := DEPLOYED.settings_text(provider):
            self.notes.append(f"{provider} runs with {settings}")
        ours = self._results("original", provider, "off")
        if ours[-1].late:
            self.leave_out(f"original model: {ours[-1].error}", provider)
            return
        exact: Mapping[str, Sequence[Result]] = {
            name: self._results(name, provider, "off") for name in self._sources
        }
        runs = [] if provider == CPU else self._across(provider, exact["original"])
        pairs = [self._sample(provider, exact, sample) for sample in range(len(self._draws))]
        oracles: Sequence[Oracle | None] = [oracle for _, oracle in pairs]
        runs += [run for found, _ in pairs for run in found]
        self._note_compared([found for found, _ in pairs], oracles)
        self._runs += runs
        if not all(run.ok for run in runs if run.subject == self._subject):
            return
        if self._is_told_apart(provider, runs, oracles):
            return
        if "full" not in self._levels:
            most = f"the model has over {_MOST_NODES} nodes"
            self._warnings.append(f"full optimisation not tried: {most}")
            self._skipped.append(Skipped(most, f"{provider}, optimisation full"))
            return
        plain = self._sources
        exact, oracles = self._with_scores(exact, oracles)
        full = {name: self._results(name, provider, "full") for name in self._sources}
        sampled = [
            self._deployed(provider, exact["original"][sample], full, sample, oracle)
            for sample, oracle in zip(range(len(full[self._subject])), oracles, strict=False)
        ]
        for sample, run in () if self._model.quantised else self._strayed(sampled, exact, full):
            sampled[sample][-1] = run
            self._divergence = self._divergence or self._parting(run, sample)
        for runs in sampled:
            runs = [
                replace(run, flat=True, note=run.note or _FLAT_RUN)
                if run.tells and self._flat.issuperset(_names(run))
                else run
                for run in runs
            ]
            self._runs += runs
            self._note_excused(runs)
        self._sources = plain

    def _note_compared(
        self, runs: Sequence[Sequence[Run]], oracles: Sequence[Oracle | None]
    ) -> None:
        """Note the inputs of which runs are evidence: whatever output varies does so in each."""
        values = [each.result.outputs if each else {} for each in oracles]
        even = [{name for name, value in each.items() if is_flat([value])} for each in values]
        varying = {
            name for each, flat in zip(values, even, strict=True) for name in each.keys() - flat
        }
        for draw, found, flat in zip(self._draws, runs, even, strict=True):
            mine = [run for run in found if run.subject == self._subject]
            if any(not run.ok or (run.tells and flat.isdisjoint(varying)) for run in mine):
                self._compared.add(draw)

    def _strayed(
        self,
        sampled: Sequence[Sequence[Run]],
        exact: Mapping[str, Sequence[Result]],
        full: Mapping[str, Sequence[Result]],
    ) -> Iterator[tuple[int, Run]]:
        """The runs at full optimisation that agree as a whole, but not in a slice of an output.

        Args:
            sampled: The runs of each set of inputs, the comparison of the two models last.
            exact: The results without optimisation.
            full: Those at full optimisation.
        """
        judged = {
            sample: runs[-1]
            for sample, runs in enumerate(sampled)
            if runs and runs[-1].tells and runs[-1].against == "original"
        }
        seen = [(sample, each) for sample, run in judged.items() for each in run.comparisons]
        for name in dict.fromkeys(each.output for _, each in seen if each.ok and not each.equal):
            samples = [sample for sample, each in seen if each.output == name]
            ours, theirs, moved = (
                [results[each].outputs.get(name) for each in samples]
                for results in (exact["original"], full["rewritten"], full["original"])
            )
            noise = exact["original"][samples[0]].noise.get(name, 0.0)
            pairs = list(zip(ours, theirs, strict=True))
            if (worst := strayed(pairs, self._tolerance, noise, moved)) is not None:
                sample = samples[worst.sample]
                comparisons = tuple(
                    replace(each, ok=False, detail=worst.detail) if each.output == name else each
                    for each in judged[sample].comparisons
                )
                judged[sample] = replace(judged[sample], comparisons=comparisons, ok=False)
        yield from ((sample, run) for sample, run in judged.items() if not run.ok)

    def _with_scores(
        self, exact: Mapping[str, Sequence[Result]], oracles: Sequence[Oracle | None]
    ) -> tuple[Mapping[str, Sequence[Result]], Sequence[Oracle | None]]:
        """The results with the scores that outputs were chosen by, as further outputs.

        Both models have these as outputs from here on.
        """
        known, names = self._scores
        if not names:
            return exact, oracles
        self._sources = {
            name: _with_outputs(source, names, self._folder)
            for name, source in self._sources.items()
        }
        ours = [
            replace(each, outputs={**each.outputs, **known.get(sample, {})})
            for sample, each in enumerate(exact["original"])
        ]
        return {**exact, "original": ours}, [
            replace(oracle, result=result) if oracle and oracle.name == "original" else oracle
            for oracle, result in zip(oracles, ours, strict=True)
        ]

    def _note_excused(self, runs: Sequence[Run]) -> None:
        """Report as not compared what was excused, or is the same for any data."""
        for run in runs:
            if (run.excused or run.flat) and run.subject == self._subject:
                where = f"{run.provider}, optimisation {run.optimisation}, {run.inputs}"
                self._skipped.append(Skipped(run.note, where))

    def _is_told_apart(
        self, provider: str, runs: Sequence[Run], oracles: Sequence[Oracle | None]
    ) -> bool:
        """Compare tensors upstream of outputs that are no evidence, or hide what they rest on.

        Returns whether they differ.
        """
        flat: list[str] = []
        hiding: dict[str, bool] = {}
        for name in dict.fromkeys(name for run in runs if run.tells for name in _names(run)):
            seen = [each.result.outputs for each in oracles if each is not None]
            values = [outputs[name] for outputs in seen if name in outputs]
            if name in self.choices or any(
                isinstance(each, np.ndarray) and is_discrete(each) for each in values
            ):
                hiding[name] = is_few(values)
            if is_flat(values):
                flat.append(name)
        loose = [
            name for (each, name), same in self._repeats.items() if each == provider and not same
        ]
        if not flat and not hiding and not loose:
            return False
        silent = flat
        if self._subject == "rewritten":
            ran = [
                sample for sample, each in enumerate(oracles) if each and each.name == "original"
            ]
            draws = [self._draws[sample] for sample in ran] or [self._draws[0]]
            inner = inner_evidence(
                self._sources["original"],
                self._sources["rewritten"],
                draws,
                flat,
                hiding=hiding,
                loose=loose,
                provider=provider,
                folder=self._folder,
                tolerance=self._tolerance,
                pairing=self._pairings["rewritten"],
                progress=self._progress,
            )
            kinds = ((flat, _FLAT), ([*hiding], _CHOICES), (loose, _LOOSE))
            said = next(f"{_outputs_text(names)} {kind}" for names, kind in kinds if names)
            if inner.divergence is not None:
                self._warnings.append(f"{said}; inner tensors were compared, and they differ")
                self._divergence = inner.divergence
                return True
            if inner.telling and flat:
                self.notes.append(
                    f"{said}; inner tensors upstream that vary with it were compared, with "
                    f"optimisation off: {inner.telling} agree"
                )
            if inner.scores:
                names = [name for name in hiding if name not in inner.hidden]
                told = f"{_CHOICES}; compared too: {', '.join(inner.scores)}"
                self.notes.append(f"{_outputs_text(names)} {told}")
            if inner.hidden:
                said = f"what {_outputs_text(inner.hidden)} chosen from, which has another name"
                self._not_compared(provider, inner.hidden, said)
            self._scores = dict(zip(ran, inner.values, strict=False)), inner.scores
            silent = list(inner.silent)
            self._flat.update(flat)
        if silent:
            said = f"{_outputs_text(silent)} {_FLAT}, and no inner tensor of equal name tells more"
            self._not_compared(provider, silent, said)
        return False

    def _not_compared(self, provider: str, outputs: Collection[str], said: str) -> None:
        """Report outputs of which no comparison is evidence."""
        self._silent.update(outputs)
        self.leave_out(said, provider)
        self._hidden.append(self._skipped[-1].text)

    def _results(self, name: str, provider: str, optimisation: Optimisation) -> tuple[Result, ...]:
        """A result for each of the inputs."""
        key = name, provider, optimisation
        if key not in self._known:
            self._begin(f"{name} model, optimisation {optimisation}")
            answers = self._answers(name, provider, optimisation)
            mine = ("original", provider, optimisation)
            if answers.results[-1].late and name == "rewritten" and not self._known[mine][-1].late:
                with pool.longer(_PATIENCE):
                    answers = self._answers(name, provider, optimisation)
            self._known[key] = self._with_shares(answers.results)
            if answers.places and optimisation == "off":
                elsewhere = [node for node, ran in answers.places.items() if ran != provider]
                self._placements.append(
                    Placement(provider, name, len(answers.places), tuple(elsewhere))
                )
        return self._known[key]

    def _with_shares(self, results: Sequence[Result]) -> tuple[Result, ...]:
        """Results that allow some roundings of 1 for outputs between 0 and 1."""
        floors = self._model.shares.items()
        return tuple(
            replace(
                each, noise={**each.noise, **{n: each.noise.get(n, 0.0) + f for n, f in floors}}
            )
            for each in results
        )

    def _answers(self, name: str, provider: str, optimisation: Optimisation) -> Execution:
        return ask(
            self._sources[name],
            self._draws_for(optimisation),
            provider,
            optimisation,
            folder=self._folder,
            pairing=self._pairings.get(name, Pairing()),
            anew=self._model.random,
            ran=self._ran,
        )

    def _draws_for(self, optimisation: Optimisation) -> list[Draw]:
        """The inputs to run on; negative data at full optimisation only if there is padding."""
        every = optimisation == "off" or self._model.pads
        return [each for each in self._draws if every or not each.again]

    def plan(self, providers: Sequence[str]) -> None:
        """Count the runs that are to come."""
        asked = {
            (name, provider, level): runs_of(provider, level, len(self._draws_for(level)))
            for provider in providers
            for level in self._levels
            for name in self._sources
        }
        if any(provider != CPU for provider in providers):
            asked["original", CPU, "off"] = len(self._draws)
        self._planned = self._made + sum(
            runs for key, runs in asked.items() if key not in self._known
        )

    def _begin(self, step: str) -> None:
        """Report a step of which no run is made yet."""
        self._step = step
        self._progress(step, self._made, self._planned)

    def _ran(self) -> None:
        """Count a run."""
        self._made += 1
        self._planned = max(self._made, self._planned)
        self._progress(self._step, self._made, self._planned)

    def _across(self, provider: str, results: Sequence[Result]) -> list[Run]:
        """Compare the original on another provider with itself on the CPU, as a warning only."""
        runs = []
        for sample, home in enumerate(self._results("original", CPU, "off")):
            if home.error or results[sample].error:
                continue
            oracle = Oracle("original on the CPU", home, foreign=True)
            run = self._compared_with(provider, "off", sample, "original", results[sample], oracle)
            if not run.ok:
                told = f"differ in {differing(run.comparisons)} of the original already"
                self._warnings.append(f"{provider} and the CPU {told}")
            runs.append(run)
        return runs

    def _oracle(
        self, provider: str, exact: Mapping[str, Sequence[Result]], sample: int
    ) -> Oracle | None:
        """The expected result for one set of inputs; None if neither model runs."""
        ours = exact["original"][sample]
        if not ours.error:
            return Oracle("original", ours)
        if provider != CPU:
            home = self._results("original", CPU, "off")[sample]
            if not home.error:
                self._warnings.append(f"the original does not run on {provider}: {ours.error}")
                return Oracle("original on the CPU", home, foreign=True)
        theirs = exact[self._subject][sample]
        if not theirs.error and self._subject == "rewritten":
            if outputs := evaluated(self._sources["original"], self._draws[sample]):
                self._warnings.append(
                    f"{RUNTIME} does not run the original ({ours.error}); onnx's reference "
                    "evaluator ran it instead"
                )
                return Oracle(BY_ONNX, Result(outputs, math.nan), foreign=True)
            return Oracle("rewritten", theirs)
        whys = {name: runs[sample].error for name, runs in exact.items()}
        self._run_none(whys, provider, self._draws[sample].label)
        return None

    def _sample(
        self, provider: str, exact: Mapping[str, Sequence[Result]], sample: int
    ) -> tuple[list[Run], Oracle | None]:
        """Runs without optimisation on one set of inputs, and the expected result for full."""
        oracle = self._oracle(provider, exact, sample)
        referred = self._referred(provider, "off", sample, exact)
        runs = list(referred.values())
        if self._subject == "original" or oracle is None:
            return runs, oracle
        found = exact["rewritten"][sample]
        if oracle.name == "rewritten":
            why = exact["original"][sample].error
            note = f"a repair, with nothing to compare: the original does not run ({why})"
            drawn, seconds = self._draws[sample], (math.nan, found.seconds)
            run = Run(provider, "off", drawn.label, (), seconds, note, ok=True, excused=True)
            run = replace(run, drawn=drawn.drawn)
            self._note_excused([run])
            return [*runs, run], oracle
        run = self._compared_with(provider, "off", sample, "rewritten", found, oracle)
        if oracle.name == "original":
            run = self._steady(run, sample)
        if not run.ok and (better := self._better(provider, sample, found, referred)):
            run = replace(run, note=better, ok=True)
            oracle = Oracle("rewritten", found)
            self._warnings.append(better)
        elif oracle.name == "original" and self._divergence is None and not run.ok:
            self._divergence = self._parting(run, sample)
        return [*runs, run], oracle

    def _steady(self, run: Run, sample: int) -> Run:
        """A run without the outputs that the original itself does not compute twice alike.

        That is asked of the CPU: the noise of another provider is measured and allowed for.
        """
        known = self._repeats
        wrong = {
            each.output: each
            for each in run.comparisons
            if not each.ok and (run.provider, each.output) not in known
        }
        if wrong:
            level: Optimisation = "full" if run.optimisation == "full" else "off"
            ours = self._side("original", CPU, level)
            apart = restless(ours, sorted(wrong), self._draws[sample], self._tolerance)
            # Another shape or type is a failure unless it does not repeat either.
            loose = {name for name, own in apart.items() if _in_values(wrong[name], own)}
            known.update({(run.provider, name): name not in loose for name in wrong})
            for name in sorted(loose):
                said = f"output {name!r} of the original does not repeat: two runs of it differ"
                self._not_compared(run.provider, (), said)
        return self._without_unrepeated(run)

    def _without_unrepeated(self, run: Run) -> Run:
        """A run without the outputs that are known not to repeat."""
        steady = [self._repeats.get((run.provider, each.output), True) for each in run.comparisons]
        if all(steady) or run.against == "reference":
            return run
        kept = tuple(each for each, repeats in zip(run.comparisons, steady, strict=True) if repeats)
        ok = run.ok or (not run.note and all(each.ok for each in kept))
        note = run.note if kept else "no output of the original repeats"
        return replace(run, comparisons=kept, ok=ok, note=note)

    def _parting(self, run: Run, sample: int) -> Divergence | None:
        """The first difference of the models in a failed run; None if one does not run."""
        outputs = [each.output for each in run.comparisons if not each.ok]
        if not outputs:
            return None
        ours, theirs = (self._side(name, run.provider) for name in self._sources)
        given = self._draws[sample], outputs, self._tolerance, self._progress
        return first_divergence(ours, theirs, *given)

    def _side(self, name: str, provider: str, optimisation: Optimisation = "off") -> ModelSide:
        pairing = self._pairings.get(name, Pairing())
        return ModelSide(self._sources[name], provider, self._folder, pairing, optimisation)

    def _better(
        self, provider: str, sample: int, found: Result, referred: Mapping[str, Run]
    ) -> str:
        """Why a difference from the original is in the rewritten model's favour; else empty."""
        own = referred.get("original")
        if own is not None and referred["rewritten"].ok and not own.ok:
            return "the original differs from the reference; the rewritten model agrees with it"
        if provider == CPU:
            return ""
        ours, home = (self._results("original", each, "off")[sample] for each in (provider, CPU))
        if home.error or ours.error:
            return ""
        oracle = Oracle("original on the CPU", home, foreign=True)
        theirs = self._compared_with(provider, "off", sample, "rewritten", found, oracle)
        mine = self._compared_with(provider, "off", sample, "original", ours, oracle)
        if not theirs.ok or mine.ok:
            return ""
        return (
            f"on {provider} the original differs from the CPU; the rewritten model agrees with it"
        )

    def _deployed(
        self,
        provider: str,
        exact: Result,
        full: Mapping[str, Sequence[Result]],
        sample: int,
        oracle: Oracle | None,
    ) -> list[Run]:
        """The runs of one set of inputs with full optimisation."""
        ours, found = full["original"][sample], full[self._subject][sample]
        referred = self._referred(provider, "full", sample, full)
        run = None
        if self._subject == "rewritten" and oracle is not None:
            run = self._text(provider, exact, ours, found, sample, oracle)
        runs = list(referred.values())
        own = referred.get("original")
        if own is not None and not own.ok and (run is None or run.ok):
            note = "with full optimisation the original differs from the reference"
            self._warnings.append(f"{RUNTIME}'s own optimiser: {note}")
            runs = [
                each if each.ok else replace(each, note=each.note or note, ok=True, excused=True)
                for each in runs
            ]
        return runs if run is None else [*runs, run]

    def _text(
        self,
        provider: str,
        exact: Result,
        ours: Result,
        found: Result,
        sample: int,
        oracle: Oracle,
    ) -> Run:
        """Compare the rewritten model at full optimisation with the original without."""
        run = self._compared_with(provider, "full", sample, "rewritten", found, oracle)
        run = replace(run, seconds=(ours.seconds, found.seconds))
        if ours.error and not exact.error:
            self._warnings.append(
                f"{RUNTIME}'s own optimiser: with full optimisation the original does not run: "
                f"{ours.error}"
            )
        elif run.ok and not exact.error:
            own = self._compared_with(provider, "full", sample, "original", ours, Oracle("", exact))
            if not own.ok:
                names = differing(own.comparisons)
                note = "full optimisation computes the rewritten model as it says, but "
                note += f"{names} of the original otherwise than the original says"
                self._warnings.append(f"{RUNTIME}'s own optimiser: {note}")
        run = self._steady(run, sample)
        if run.ok:
            return run

        quantised = self._model.quantised
        run = excused(run, oracle, ours, found, self._tolerance, quantised=quantised)
        if run.ok:
            self._warnings.append(f"{RUNTIME}'s own optimiser: {run.note}")
        return run

    def _compared_with(
        self,
        provider: str,
        optimisation: Optimisation,
        sample: int,
        subject: str,
        found: Result,
        oracle: Oracle,
    ) -> Run:
        """One result compared with an oracle."""
        run = compared_run(subject, found, oracle, self._tolerance)
        drawn = self._draws[sample]
        return replace(
            run,
            provider=provider,
            optimisation=optimisation,
            inputs=drawn.label,
            drawn=drawn.drawn,
        )

    def _referred(
        self,
        provider: str,
        optimisation: Optimisation,
        sample: int,
        results: Mapping[str, Sequence[Result]],
    ) -> dict[str, Run]:
        """Each model compared with the reference, if there is one."""
        if not self.expected:
            return {}
        oracle = Oracle("reference", Result(self.expected[sample], math.nan), foreign=True)
        runs = {
            name: self._compared_with(provider, optimisation, sample, name, found[sample], oracle)
            for name, found in results.items()
            if name == self._subject or not found[sample].error
        }
        for run in runs.values():
            if run.excused:
                self._not_compared(provider, (), run.note)
        if "original" not in runs:
            why = results["original"][sample].error
            self._warnings.append(
                f"the original does not run on {provider}, so it was not compared with the "
                f"reference: {why}"
            )
        elif self._subject == "rewritten" and optimisation == "off" and not runs["original"].ok:
            self._warnings.append(
                f"the original differs from the reference on {provider}, whatever the rewrite does"
            )
        return runs


def _in_values(found: Comparison, own: Comparison) -> bool:
    """Whether a difference is one of elements, as long as the original's own is."""
    is_nan = [math.isnan(each.max_abs) and not each.special for each in (found, own)]
    return is_nan[1] or not is_nan[0]


def _names(run: Run) -> list[str]:
    return [each.output for each in run.comparisons]


def _with_outputs(source: Source, names: Iterable[str], folder: Path | None) -> Source:
    """A model with further tensors as outputs; those of its functions are in the main graph."""
    place = folder_of(source, folder)
    data = with_outputs(inlined(read_proto(source)), [*names])
    return data if place is None else InFolder(data, place)


def _outputs_text(names: Sequence[str]) -> str:
    return f"outputs {few(names, _LISTED)} are"
