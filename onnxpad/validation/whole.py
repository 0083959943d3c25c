"""Compares a whole model with its original, or with a framework's outputs, on onnxruntime.

It judges by their runs what differs, what excuses it, and what was not compared.

With optimisation off, the runtime computes what the graphs say, and both must agree. With full
optimisation it computes what is deployed. Its optimiser is unsound around Pad and may break a right
model, so a difference counts only if the original does not show it too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arguments import Progress
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import RUNTIME, UsageError, few
from onnxpad.runtimes.copies import seeded, with_bodies
from onnxpad.runtimes.runtime import LimitError, Optimisation
from onnxpad.runtimes.sessions import CPU, Array, Source, folder_of, read_proto, require_provider
from onnxpad.runtimes.worker import DEPLOYED
from onnxpad.validation.align import nearest
from onnxpad.validation.branches import Entered, entering
from onnxpad.validation.compare import Tolerance, alike, compare, is_discrete, is_flat
from onnxpad.validation.draw import Draw, UndrawableError, outline, pinned
from onnxpad.validation.evaluator import evaluated
from onnxpad.validation.given import Arrays, matched_inputs, require_same_names, require_within
from onnxpad.validation.lab import MOST_NODES, Lab, Result
from onnxpad.validation.locate import first_difference, of_changed_operators, restless
from onnxpad.validation.result import (
    Comparison,
    Divergence,
    Outcome,
    Run,
    Skipped,
    Validation,
    not_validated,
)

_QUANTA = 0.05
"""Allowed difference of an output, relative to its greatest magnitude, if a rewrite lets
the runtime fuse quantised operators: a few steps of 1/255, which grow on their way downstream."""

_LEAST_COSINE = 0.99  # between two outputs that differ only in roundings
_HALVES = frozenset({"float16", "bfloat16"})  # sums depend on the order of their terms
_OTHER_ENGINE = 10.0  # factor of the default tolerance: another engine sums in another order
_FEW = 64  # elements of an output of classes, indices or truths that tell nothing by themselves
_LISTED = 8  # outputs named in one line
_OPTIMISER = f"{RUNTIME}'s own optimiser"
_AT_HOME = "original on the CPU"
_HINT = "; --inputs has it run on others, --reference also compares with a framework's outputs"


class Case(Struct, frozen=True):
    """A model on one set of inputs at one level, and the result expected of it.

    That is of one of the models, or else of another engine, which computes in another order.
    """

    lab: Lab
    tolerance: Tolerance
    provider: str
    level: Optimisation
    sample: int
    subject: str
    against: str
    expected: Result

    @property
    def draw(self) -> Draw:
        """The inputs."""
        return self.lab.draws[self.sample]

    @property
    def found(self) -> Result:
        """What the model gives."""
        return self.result(self.subject)

    def result(self, name: str, provider: str = "") -> Result:
        """What a model gives for these inputs, here or on another provider."""
        return self.lab.results(name, provider or self.provider, self.level)[self.sample]

    def run(self) -> Run:
        """The result compared with the expected one."""
        expected, found, note = self.expected.outputs, self.found, ""
        if found.error:
            note = f"the {self.subject} model {'' if found.late else 'does not run: '}{found.error}"
        elif missing := expected.keys() - found.outputs.keys():
            note = f"the {self.subject} model has no output {', '.join(sorted(missing))}"
        comparisons = tuple(self._compared(name) for name in expected if name in found.outputs)
        timed = self.level == "full" and "original" in self.against
        first = self.result("original") if timed else self.expected
        return Run(
            self.provider,
            self.level,
            self.draw.label,
            comparisons,
            (first.seconds, found.seconds),
            note,
            not note and all(each.ok for each in comparisons),
            self.subject,
            self.against,
            drawn=self.draw.drawn,
        )

    def _compared(self, name: str) -> Comparison:
        value, other, how = self.expected.outputs[name], self.found.outputs[name], ""
        tolerance, moved = self.tolerance, tuple[Array, ...]()
        if self.against not in self.lab.sources:
            tolerance = replace(tolerance, factor=_OTHER_ENGINE)
        if self.against == "reference" and (fit := nearest(value, other)) is not None:
            # Only a framework's output can have another layout, or a type of fewer bits.
            value, how = fit.array, fit.how
            if value.dtype.kind == other.dtype.kind == "f":
                with np.errstate(over="ignore"):
                    narrow = other.astype(value.dtype)
                other = narrow if np.all(np.isfinite(narrow) == np.isfinite(other)) else other
        if self.level == "full" and self.against == "original":
            own = self.result("original").outputs
            moved = (value, own[name]) if name in own else ()
        noise = self.expected.noise.get(name, self.found.noise.get(name, 0.0))
        return replace(compare(name, value, other, tolerance, noise, moved), alignment=how)

    def worse(self, run: Run) -> list[Comparison]:
        """The outputs that full optimisation changes otherwise than those of the original."""
        ours, found = self.result("original").outputs, self.found.outputs

        def suffered(seen: Comparison) -> bool:
            exact, before = self.expected.outputs[seen.output], ours[seen.output]
            own = compare(seen.output, exact, before, self.tolerance, seen.noise)
            near = seen.dtype in _HALVES and seen.max_rel <= _QUANTA and not own.ok
            return (near and 2 * own.max_abs >= seen.max_abs) or alike(
                seen.output, exact, before, found[seen.output], self.tolerance, seen.noise
            )

        wrong = [each for each in run.comparisons if not each.ok]
        return [each for each in wrong if each.output not in ours or not suffered(each)]

    def in_favour(self, referred: Mapping[str, Run]) -> str:
        """Why a difference without optimisation is in the rewritten model's favour; else empty.

        The models compared with a reference on these inputs may tell, or the original on the CPU.
        """
        own, theirs = (referred.get(name) for name in ("original", "rewritten"))
        if own and theirs and theirs.ok and not own.ok:
            return "the original differs from the reference; the rewritten model agrees with it"
        home = self.result("original", CPU)
        if self.provider == CPU or home.error or self.result("original").error:
            return ""
        at_home = replace(self, against=_AT_HOME, expected=home)
        if not at_home.run().ok or replace(at_home, subject="original").run().ok:
            return ""
        told = f"on {self.provider} the original differs from the CPU"
        return f"{told}; the rewritten model agrees with it"

    def excuse(self, run: Run) -> str:
        """Why a difference at full optimisation is not the rewritten model's fault; else empty.

        The original does not run either, where a crash is worse than an error; or its elements
        change alike; or the runtime fuses quantised operators, which rounds otherwise.
        """
        ours, found = self.result("original"), self.found
        if ours.error:
            both = bool(found.error) and (ours.crashed or not found.crashed)
            why = f"with full optimisation the original does not run: {ours.error}"
            return why if both or self.against == self.subject else ""
        worse = [] if run.note else self.worse(run)
        changed = f"full optimisation changes {differing(worse or run.comparisons)}"
        if not worse:
            return "" if run.note else f"{changed} of the original as well"
        if not self.lab.model.quantised or not all(map(_is_rounding, worse)):
            return ""
        told = "by no more than rounding in fused quantised operators"
        return f"{changed} of the rewritten model only, {told}"


def _is_rounding(seen: Comparison) -> bool:
    """Whether an output is off by a few quanta at most."""
    cosine = 1.0 if seen.cosine is None else seen.cosine
    return seen.max_rel <= _QUANTA and cosine >= _LEAST_COSINE and seen.argmax != 0.0


def differing(comparisons: Iterable[Comparison]) -> str:
    """The outputs that are not ok: `outputs 'a', 'b'`; quoted, since many names are numbers."""
    wrong = [repr(each.output) for each in comparisons if not each.ok]
    return f"outputs {few(wrong, _LISTED // 2)}"


class Judgement:
    """The runs of a validation and all that is to be said of them."""

    def __init__(
        self,
        lab: Lab,
        tolerance: Tolerance,
        expected: Sequence[Mapping[str, Array]] = (),
        notes: Iterable[str] = (),
    ) -> None:
        """Judge what a lab runs, also by what a framework is `expected` to give."""
        self._lab, self._tolerance, self._expected = lab, tolerance, expected
        self._blank = Case(lab, tolerance, CPU, "off", 0, "", "", Result({}, math.nan))
        self._runs, self._notes = list[Run](), [*notes]
        self._warnings, self._skipped = list[str](), list[Skipped]()
        self._reasons = list[str]()  # why nothing, or not all, was compared
        self._hidden = list[str]()  # those of outputs
        self._divergence: Divergence | None = None
        self._loose = set[tuple[str, str]]()  # provider and output of the original
        self._flat, self._silent = set[str](), set[str]()  # outputs that are no evidence
        self._lost = list[str]()  # those that are sequences, maps or empty
        self._compared = set[Draw | None]()  # the inputs of which a run is evidence

    def judge(self, provider: str) -> None:
        """Run all models on one provider, first without optimisation, then fully optimised."""
        lab = self._lab
        if settings := DEPLOYED.settings_text(provider):
            self._notes.append(f"{provider} runs with {settings}")
        ours = lab.results("original", provider, "off")
        if ours[-1].late:
            self.leave_out(f"original model: {ours[-1].error}", provider)
            return
        if provider != CPU:
            self._compare_across(provider)
        found = [self._plain(provider, sample) for sample in range(len(lab.draws))]
        plain = [run for runs, _ in found for run in runs]
        cases = [case for _, case in found]
        given = next((case.expected.outputs for case in cases if case is not None), None)
        if given is not None:
            self._lost = [e.name for e in lab.model.outputs if e.name not in given]
            for name in self._lost:
                self.leave_out(f"output {name!r} is no tensor", output=True)
        self._note_compared(found)
        self._runs += plain
        mine = [run for run in plain if run.subject == lab.subject]
        if not all(run.ok for run in mine) or self._is_told_apart(provider, plain, cases):
            return
        if "full" not in lab.levels:
            why = f"the model has over {MOST_NODES:,} nodes"
            self._warnings.append(f"full optimisation not tried: {why}")
            self._skipped.append(Skipped(why, f"{provider}, optimisation full"))
            return
        for sample in range(len(lab.draws)):
            self._runs += self._optimised(provider, sample, cases[sample])

    def leave_out(self, why: str, where: str = "", *, output: bool = False) -> None:
        """Report what is not compared, or of an `output` is no evidence."""
        self._reasons.append(why)
        self._warnings.append(f"not compared: {why}")
        self._skipped.append(Skipped(why, where))
        self._hidden += [self._skipped[-1].text] if output else []

    def run_none(self, whys: Iterable[str], provider: str, inputs: str, hint: str = "") -> None:
        """Report that no model runs on some inputs."""
        if all(map(self._lab.unloaded, self._lab.sources.values())):
            inputs, hint = "any inputs", ""
        told = "; ".join(dict.fromkeys(whys))
        self.leave_out(f"{RUNTIME} runs no model on {inputs} ({told}){hint}", provider)

    def verdict(
        self, *, given: Source, repairs: bool = False, sites: Sequence[Entered] = ()
    ) -> Validation:
        """The verdict from all runs, and on the bodies in which the models differ."""
        lab = self._lab
        self._runs = [self._without_loose(run) for run in self._runs]
        mine = [run for run in self._runs if run.subject == lab.subject]
        unentered = [*self._unentered(sites)]
        outcome: Outcome = "nothing compared"
        if self._divergence is not None or not all(run.ok for run in mine):
            outcome = "failed"
        elif any(run.tells and not self._silent.issuperset(_names(run)) for run in mine):
            outcome = "nothing compared" if unentered else "passed"
        elif repairs and self._runs_alone(mine):
            outcome = "repaired"
            why = lab.results("original", CPU, "off")[0].error
            self._reasons = [f"{RUNTIME} runs the result, and not the original ({why})"]
        elif (why := lab.unloaded(lab.sources[lab.subject])) and not lab.unloaded(given):
            outcome, never = "failed", (math.nan, math.nan)
            note = f"does not load, as the original does: {why}"
            self._runs.append(Run(CPU, lab.levels[-1], "any inputs", (), never, note, ok=False))
        reasons = *self._reasons, *(r.note for r in mine if r.excused), "no run could be compared"
        return Validation(
            outcome == "passed",
            tuple(self._runs),
            tuple(dict.fromkeys(self._warnings)),
            notes=tuple(dict.fromkeys(self._notes)),
            placements=tuple(lab.placements),
            divergence=self._divergence,
            subject=lab.subject,
            outcome=outcome,
            skipped=tuple(dict.fromkeys(self._skipped)),
            hidden=tuple(dict.fromkeys(self._hidden)),
            reason=reasons[0] if outcome in {"nothing compared", "repaired"} else "",
        )

    def _unentered(self, sites: Sequence[Entered]) -> Iterator[Entered]:
        """The bodies that no run compares, but for sides of which only the other one can run."""
        compared = {site.holder for site in sites if site.draw in self._compared}
        for site in (each for each in sites if each.draw not in self._compared):
            fails = site.draw is not None and self._lab.fails("original", site.draw)
            why = "and fails on all inputs tried" if fails else "and no run compares it"
            self.leave_out(f"the {site.text} is other, or steered otherwise, {why}")
            if not fails or site.holder not in compared:
                yield site

    def _runs_alone(self, runs: Sequence[Run]) -> bool:
        """Whether the rewritten model runs at every level, and the original nowhere."""
        wanted = len(self._lab.draws) * len(self._lab.levels)
        alone = all(run.excused == (run.optimisation == "off") for run in runs)
        return alone and 0 < len(runs) == wanted

    # Running

    def _compare_across(self, provider: str) -> None:
        """Compare the original on another provider with itself on the CPU, as a warning only."""
        for sample, home in enumerate(self._lab.results("original", CPU, "off")):
            here = replace(self._blank, provider=provider, sample=sample, subject="original")
            if home.error or here.found.error:
                continue
            run = replace(here, against=_AT_HOME, expected=home).run()
            if not run.ok:
                told = f"differ in {differing(run.comparisons)} of the original already"
                self._warnings.append(f"{provider} and the CPU {told}")
            self._runs.append(run)

    def _expecting(self, provider: str, sample: int) -> Case | None:
        """What is expected on one set of inputs, with optimisation off; None if nothing runs."""
        lab, draw = self._lab, self._lab.draws[sample]
        ours, theirs, home = (
            lab.results(name, where, "off")[sample]
            for name, where in (("original", provider), (lab.subject, provider), ("original", CPU))
        )
        against, expected = "rewritten", theirs
        worse = theirs.late or (theirs.crashed and not ours.crashed)
        if not ours.error:
            against, expected = "original", ours
        elif not home.error and (worse or not theirs.error):
            self._warnings.append(f"the original does not run on {provider}: {ours.error}")
            against, expected = _AT_HOME, home
        elif theirs.error:
            self.run_none((ours.error, theirs.error), provider, draw.label)
            return None
        elif outputs := evaluated(lab.proto("original"), draw.feeds):
            told = "onnx's reference evaluator ran it instead"
            self._warnings.append(f"{RUNTIME} does not run the original ({ours.error}); {told}")
            against, expected = "original evaluated by onnx", Result(outputs, math.nan)
        here = replace(self._blank, provider=provider, sample=sample, subject=lab.subject)
        return replace(here, against=against, expected=expected)

    def _plain(self, provider: str, sample: int) -> tuple[list[Run], Case | None]:
        """Runs without optimisation on one set of inputs, and what to expect of full."""
        case, lab = self._expecting(provider, sample), self._lab
        referred = self._referred(provider, "off", sample)
        runs = [*referred.values()]
        if lab.subject == "original" or case is None:
            return runs, case
        if case.against == "rewritten":
            why, seconds = case.result("original").error, (math.nan, case.found.seconds)
            note = f"a repair, with nothing to compare: the original does not run ({why})"
            run = replace(case.run(), comparisons=(), seconds=seconds, note=note)
            return [*runs, self._weighed(replace(run, against="original", excused=True))], case
        run = self._judged(case, referred)
        if run.ok and not all(each.ok for each in run.comparisons):  # it differs for the better
            return [*runs, run], replace(case, against="rewritten", expected=case.found)
        wrong = [each.output for each in run.comparisons if not each.ok and not run.ok]
        if wrong and case.against == "original" and self._divergence is None:
            self._divergence = first_difference(lab, wrong, case.draw, provider, self._tolerance)
        return [*runs, run], case

    def _optimised(self, provider: str, sample: int, case: Case | None) -> list[Run]:
        """The runs of one set of inputs with full optimisation."""
        referred = self._referred(provider, "full", sample)
        runs, own, deployed = [*referred.values()], referred.get("original"), list[Run]()
        if case is not None and self._lab.subject == "rewritten":
            deployed = [self._judged(replace(case, level="full"), {})]
            self._warn_of_original(case, deployed[0])
        if own is not None and not own.ok and all(run.ok for run in deployed):
            note = "with full optimisation the original differs from the reference"
            self._warnings.append(f"{_OPTIMISER}: {note}")
            runs = [
                run if run.ok else replace(run, note=run.note or note, ok=True, excused=True)
                for run in runs
            ]
        return [*map(self._weighed, (*runs, *deployed))]

    def _warn_of_original(self, case: Case, run: Run) -> None:
        """Report what full optimisation does to the original alone."""
        exact, full = case.result("original"), replace(case, level="full", subject="original")
        if exact.error:
            return
        told, own = "", replace(full, against="original", expected=exact).run()
        if full.found.error:
            told = f"with full optimisation the original does not run: {full.found.error}"
        elif run.ok and not run.excused and not own.ok:
            told = "full optimisation computes the rewritten model as it says, but "
            told += f"{differing(own.comparisons)} of the original otherwise than it says"
        self._warnings += [f"{_OPTIMISER}: {told}"] if told else []

    def _judged(self, case: Case, referred: Mapping[str, Run]) -> Run:
        """The rewritten model compared, and what a difference is due to."""
        run, is_deployed = case.run(), case.level == "full"
        if is_deployed or case.against == "original":
            run = self._steady(run, case.draw)
        note = "" if run.ok else case.excuse(run) if is_deployed else case.in_favour(referred)
        if note:
            self._warnings.append(f"{_OPTIMISER}: {note}" if is_deployed else note)
            return replace(run, note=note, ok=True, excused=is_deployed)
        if run.ok or not is_deployed:
            return run
        if case.found.error:
            return replace(run, note=f"with full optimisation only {run.note}")
        changed = differing(case.worse(run) or run.comparisons)
        note = run.note or f"full optimisation changes {changed} of the rewritten model only"
        late = "; the original does not run" if case.result("original").error else ""
        return replace(run, note=f"{note}{late}")

    def _referred(self, provider: str, level: Optimisation, sample: int) -> dict[str, Run]:
        """Each model compared with the reference, if there is one."""
        if not self._expected:
            return {}
        lab, here = self._lab, replace(self._blank, provider=provider, level=level, sample=sample)
        wanted = replace(
            here, against="reference", expected=Result(self._expected[sample], math.nan)
        )
        cases = [replace(wanted, subject=name) for name in lab.sources]
        runs = {e.subject: e.run() for e in cases if e.subject == lab.subject or not e.found.error}
        if "original" not in runs:
            why = f"the original does not run on {provider}, so it was not compared with the "
            self._warnings.append(f"{why}reference: {cases[0].found.error}")
        elif lab.subject == "rewritten" and level == "off" and not runs["original"].ok:
            told = f"the original differs from the reference on {provider}"
            self._warnings.append(f"{told}, whatever the rewrite does")
        return runs

    # What does not repeat

    def _steady(self, run: Run, draw: Draw) -> Run:
        """A run without the outputs that the original itself does not compute twice alike.

        That is asked of the CPU: the noise of another provider is measured and allowed for.
        """
        wrong = {
            each.output: each
            for each in run.comparisons
            if not each.ok and (run.provider, each.output) not in self._loose
        }
        if wrong:
            level: Optimisation = "full" if run.optimisation == "full" else "off"
            apart = restless(self._lab, [*wrong], draw, self._tolerance, level=level)
            for name, own in apart.items():
                # Another shape or type is a failure unless it does not repeat either.
                if _is_other_kind(own) or not _is_other_kind(wrong[name]):
                    self._loose.add((run.provider, name))
                    said = f"output {name!r} of the original does not repeat: two runs of it differ"
                    self.leave_out(said, run.provider, output=True)
        return self._without_loose(run)

    def _without_loose(self, run: Run) -> Run:
        """A run without the outputs that are known not to repeat."""
        kept = tuple(e for e in run.comparisons if (run.provider, e.output) not in self._loose)
        if len(kept) == len(run.comparisons) or run.against == "reference":
            return run
        ok = run.ok or (not run.note and all(each.ok for each in kept))
        note = run.note if kept else "no output of the original repeats"
        return replace(run, comparisons=kept, ok=ok, note=note)

    # What is evidence

    def _note_compared(self, found: Sequence[tuple[Sequence[Run], Case | None]]) -> None:
        """Note the inputs of which runs are evidence: whatever output varies does so in each."""
        values = [case.expected.outputs if case else {} for _, case in found]
        even = [{name for name, value in each.items() if is_flat([value])} for each in values]
        varying = {
            name for each, flat in zip(values, even, strict=True) for name in each.keys() - flat
        }
        for draw, (runs, _), flat in zip(self._lab.draws, found, even, strict=True):
            mine = [each for each in runs if each.subject == self._lab.subject]
            if any(not run.ok or (run.tells and flat.isdisjoint(varying)) for run in mine):
                self._compared.add(draw)

    def _is_told_apart(
        self, provider: str, runs: Sequence[Run], cases: Sequence[Case | None]
    ) -> bool:
        """Compare changed operators upstream of outputs that cannot tell; whether they differ."""
        lab, seen = self._lab, [each.expected.outputs for each in cases if each is not None]
        names = dict.fromkeys(name for run in runs if run.tells for name in _names(run))
        values = {name: [each[name] for each in seen if name in each] for name in names}
        flat = [name for name, given in values.items() if is_flat(given)]
        chosen = [name for name, given in values.items() if given and all(map(is_discrete, given))]
        loose = sorted(name for _, name in self._loose)
        mute, lacking = [*dict.fromkeys((*flat, *chosen, *loose, *self._lost))], flat
        if mute and lab.subject == "rewritten":
            draws = [each.draw for each in cases if each is not None and each.against == "original"]
            parting, agreeing, untold = of_changed_operators(
                lab, mute, draws or lab.draws[:1], provider, self._tolerance
            )
            asked = f"outputs {few(mute, _LISTED)} hardly tell the models apart; changed operators "
            if parting is not None:
                self._warnings.append(f"{asked}were compared, and they differ")
                self._divergence = parting
                return True
            if agreeing:
                self._notes.append(f"{asked}were compared, with optimisation off: {agreeing} agree")
            few_of = [name for name in chosen if all(map(_is_few, values[name]))]
            lacking = [name for name in untold if name in {*flat, *few_of}]
            self._flat.update(flat)
        if lacking:
            why = "the same for any data or hold few classes, indices or truths"
            said = f"outputs {few(lacking, _LISTED)} are {why}, and no changed operator tells more"
            self._silent.update(lacking)
            self.leave_out(said, provider, output=True)
        return False

    def _weighed(self, run: Run) -> Run:
        """A run, flat if its outputs are no evidence by themselves; reported if it is none."""
        if run.tells and self._flat.issuperset(_names(run)):
            note = run.note or "no evidence: the outputs are the same for any data, or nearly"
            run = replace(run, flat=True, note=note)
        if (run.excused or run.flat) and run.subject == self._lab.subject:
            where = f"{run.provider}, optimisation {run.optimisation}, {run.inputs}"
            self._skipped.append(Skipped(run.note, where))
        return run


def _is_other_kind(seen: Comparison) -> bool:
    """Whether two values are of other shapes or types."""
    return math.isnan(seen.max_abs) and not seen.special


def _names(run: Run) -> list[str]:
    return [each.output for each in run.comparisons]


def _is_few(value: Array) -> bool:
    """Whether an output is a few truths, strings, or integers that quantised models have not."""
    kind = value.dtype.kind
    return value.size <= _FEW and (kind in "bOSU" or (kind in "iu" and value.itemsize > 1))


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
        UsageError: The inputs or the reference cannot be read, or do not fit the model; or the
            models name their inputs or outputs differently; or a size of the inputs given is
            outside of `limits`.
    """
    for provider in providers:
        if provider != CPU:
            require_provider(provider)
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
        subject = "original" if rewritten is None else "rewritten"
        return not_validated(str(error), subject=subject)
    found = matched_inputs(model, inputs, reference)
    require_within(limits or {}, found.draws)
    if rewritten is None and not found.expected:
        raise UsageError("one model alone has nothing to be compared with; give a reference")
    if model.random:
        sources = {name: seeded(each) for name, each in sources.items()}
    lab = Lab(sources, model, folder, progress)
    judgement = Judgement(lab, tolerance or Tolerance(), found.expected, [*notes, *found.notes])
    sites = list[Entered]()
    runs = ""
    if uncompared:
        judgement.leave_out(uncompared)
    elif found.draws:
        lab.draws, runs = found.draws, "original"
    else:
        try:
            runs, why = lab.prepare(providers, samples, seed)
        except (LimitError, UndrawableError) as error:
            judgement.leave_out(f"{lab.trying} model: {error}")
        else:
            if not runs:
                judgement.run_none([why], CPU, "inputs that are drawn", _HINT)
    if runs == "original" and rewritten is not None:
        steering = () if found.draws else model.inputs
        draws, sites = entering(lab, steering)
        lab.add(draws)
    if runs:
        lab.plan(providers)
        for provider in providers:
            judgement.judge(provider)
    base = sources["original"] if given is None else with_bodies(given)
    return judgement.verdict(given=base, repairs=repairs, sites=sites)
