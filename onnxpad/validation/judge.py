"""Judges two models by their runs: what differs, what excuses it, and what was not compared.

With optimisation off, the runtime computes what the graphs say, and both must agree. With full
optimisation it computes what is deployed. Its optimiser is unsound around Pad and may break a right
model, so a difference counts only if the original does not show it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import RUNTIME, few
from onnxpad.runtimes.runtime import Optimisation
from onnxpad.runtimes.sessions import CPU, Array, Source, Value
from onnxpad.runtimes.worker import DEPLOYED
from onnxpad.validation.align import nearest
from onnxpad.validation.branches import Entered
from onnxpad.validation.compare import Tolerance, alike, compare, is_discrete, is_flat
from onnxpad.validation.draw import Draw
from onnxpad.validation.evaluator import evaluated
from onnxpad.validation.lab import MOST_NODES, Lab, Result
from onnxpad.validation.locate import first_difference, of_changed_operators, restless
from onnxpad.validation.result import Comparison, Divergence, Outcome, Run, Skipped, Validation

_QUANTA = 0.05
"""Allowed difference of an output, relative to its greatest magnitude, if a rewrite lets
the runtime fuse quantised operators: a few steps of 1/255, which grow on their way downstream."""

_LEAST_COSINE = 0.99  # between two outputs that differ only in roundings
_HALVES = frozenset({"float16", "bfloat16"})  # sums depend on the order of their terms
_OTHER_ENGINE = 10.0  # factor of the default tolerance: another engine sums in another order
_FEW = 64  # elements of an output of classes, indices or truths that tell nothing by themselves
_LISTED = 8  # outputs named in one line
_OPTIMISER = f"{RUNTIME}'s own optimiser"


class Oracle(Struct, frozen=True):
    """The expected result of a run; `foreign` if another engine computed it, in another order."""

    name: str
    result: Result
    foreign: bool = False


class Case(Struct, frozen=True):
    """A model on one set of inputs at one level, with the result that is expected of it."""

    lab: Lab
    tolerance: Tolerance
    provider: str
    level: Optimisation
    sample: int
    subject: str
    oracle: Oracle
    referred: Mapping[str, Run] = {}  # the models compared with the reference on these inputs

    def result(self, name: str, provider: str = "", level: Optimisation | None = None) -> Result:
        """What a model gives for these inputs, here or elsewhere."""
        return self.lab.results(name, provider or self.provider, level or self.level)[self.sample]

    @property
    def found(self) -> Result:
        """What the model gives."""
        return self.result(self.subject)

    def run(self) -> Run:
        """The result compared with the expected one."""
        expected, found, note = self.oracle.result, self.found, ""
        if found.error:
            note = f"the {self.subject} model {'' if found.late else 'does not run: '}{found.error}"
        elif missing := expected.outputs.keys() - found.outputs.keys():
            note = f"the {self.subject} model has no output {', '.join(sorted(missing))}"
        seen = {n: self._compared(n) for n in expected.outputs if n in found.outputs}
        comparisons = tuple(each for each in seen.values() if each is not None)
        ok = not note and all(each.ok for each in comparisons)
        beyond = [repr(name) for name, each in seen.items() if each is None] if ok else []
        if beyond:
            note = f"the {self.oracle.name} cannot hold {few(beyond, _LISTED)}"
        draw, first = self.lab.draws[self.sample], expected
        if self.level == "full" and "original" in self.oracle.name:
            first = self.result("original")
        return Run(
            self.provider,
            self.level,
            draw.label,
            comparisons,
            (first.seconds, found.seconds),
            note,
            ok,
            self.subject,
            self.oracle.name,
            excused=bool(beyond),
            drawn=draw.drawn,
        )

    def _compared(self, name: str) -> Comparison | None:
        """One output; None if the type of the reference cannot hold what the model gives."""
        value, other, how = self.oracle.result.outputs[name], self.found.outputs[name], ""
        tolerance, moved = self.tolerance, tuple[Value, ...]()
        if self.oracle.foreign:
            tolerance = replace(tolerance, factor=_OTHER_ENGINE)
        if (
            self.oracle.name == "reference"
            and isinstance(value, np.ndarray)
            and isinstance(other, np.ndarray)
            and (fit := nearest(value, other)) is not None
        ):
            # Only a framework's output can have another layout, or a type of fewer bits.
            value, how = fit.array, fit.how
            if value.dtype.kind == other.dtype.kind == "f":
                finite = np.isfinite(other)
                with np.errstate(over="ignore"):
                    other = other.astype(value.dtype)
                if np.any(finite & ~np.isfinite(other)):
                    return None
        if self.level == "full" and self.oracle.name == "original":
            moved = value, self.result("original").outputs.get(name)
        noise = self.oracle.result.noise.get(name, self.found.noise.get(name, 0.0))
        return replace(compare(name, value, other, tolerance, noise, moved), alignment=how)

    def worse(self, run: Run) -> list[Comparison]:
        """The outputs that full optimisation changes otherwise than those of the original."""
        ours, found, expected = self.result("original"), self.found, self.oracle.result

        def suffered(seen: Comparison) -> bool:
            name = seen.output
            exact, before = expected.outputs[name], ours.outputs.get(name)
            if alike(name, exact, before, found.outputs[name], self.tolerance, seen.noise):
                return True
            if seen.dtype not in _HALVES or not seen.max_rel <= _QUANTA:
                return False
            own = compare(name, exact, before, self.tolerance, seen.noise)
            return not own.ok and 2 * own.max_abs >= seen.max_abs

        return [each for each in run.comparisons if not each.ok and not suffered(each)]


Excuse = Callable[[Case, Run], str]


def agrees_with_the_reference(case: Case, run: Run) -> str:
    """Only the original differs from the reference."""
    own = case.referred.get("original")
    if own is None or own.ok or not case.referred["rewritten"].ok:
        return ""
    return "the original differs from the reference; the rewritten model agrees with it"


def provider_differs_already(case: Case, run: Run) -> str:
    """Only the original differs here from itself on the CPU."""
    if case.provider == CPU:
        return ""
    home = case.result("original", CPU)
    if home.error or case.result("original").error:
        return ""
    at_home = replace(case, oracle=Oracle("original on the CPU", home, foreign=True))
    if not at_home.run().ok or replace(at_home, subject="original").run().ok:
        return ""
    return (
        f"on {case.provider} the original differs from the CPU; the rewritten model agrees with it"
    )


def neither_runs_optimised(case: Case, run: Run) -> str:
    """The original does not run at full optimisation either; a crash is worse than an error."""
    ours, found = case.result("original"), case.found
    both = bool(found.error) and (ours.crashed or not found.crashed)
    if ours.error and (both or case.oracle.name == case.subject):
        return f"with full optimisation the original does not run: {ours.error}"
    return ""


def optimiser_changes_both(case: Case, run: Run) -> str:
    """Full optimisation changes the same elements of the original, to the same values."""
    if case.result("original").error or run.note or case.worse(run):
        return ""
    return f"full optimisation changes {differing(run.comparisons)} of the original as well"


def quantised_rounding(case: Case, run: Run) -> str:
    """The rewrite lets the runtime fuse quantised operators, which rounds otherwise."""
    if not case.lab.model.quantised or case.result("original").error or run.note:
        return ""
    worse = case.worse(run)
    for seen in worse:
        cosine = 1.0 if seen.cosine is None else seen.cosine
        if not (seen.max_rel <= _QUANTA and cosine >= _LEAST_COSINE and seen.argmax != 0.0):
            return ""
    changed = f"full optimisation changes {differing(worse)} of the rewritten model only"
    return f"{changed}, by no more than rounding in fused quantised operators"


BETTER: tuple[Excuse, ...] = (agrees_with_the_reference, provider_differs_already)
"""Why a difference without optimisation is in the rewritten model's favour."""

EXCUSES: tuple[Excuse, ...] = (
    neither_runs_optimised,
    optimiser_changes_both,
    quantised_rounding,
)
"""Why a difference at full optimisation is not the rewritten model's fault."""


def differing(comparisons: Iterable[Comparison]) -> str:
    """The outputs that are not ok: `outputs 'a', 'b'`; quoted, since many names are numbers."""
    wrong = [repr(each.output) for each in comparisons if not each.ok]
    return f"outputs {few(wrong, _LISTED // 2)}"


class Judgement:
    """The runs of a validation and all that is to be said of them.

    Attributes:
        runs: Every run compared, in order.
        notes: How the models were compared.
        warnings: What is not the rewrite's fault.
        skipped: What was not compared.
    """

    def __init__(
        self,
        lab: Lab,
        tolerance: Tolerance,
        expected: Sequence[Mapping[str, Array]] = (),
        notes: Iterable[str] = (),
    ) -> None:
        """Judge what a lab runs."""
        self.runs: list[Run] = []
        self.notes, self.warnings, self.skipped = [*notes], list[str](), list[Skipped]()
        self._lab, self._tolerance, self._expected = lab, tolerance, expected
        self._reasons = list[str]()  # why nothing, or not all, was compared
        self._hidden = list[str]()  # those of outputs
        self._divergence: Divergence | None = None
        self._loose = dict[tuple[str, str], bool]()  # by provider and output of the original
        self._flat, self._silent = set[str](), set[str]()  # outputs that are no evidence
        self._compared = set[Draw | None]()  # the inputs of which a run is evidence

    def judge(self, provider: str) -> None:
        """Run all models on one provider, first without optimisation, then fully optimised."""
        lab = self._lab
        if settings := DEPLOYED.settings_text(provider):
            self.notes.append(f"{provider} runs with {settings}")
        ours = lab.results("original", provider, "off")
        if ours[-1].late:
            self.leave_out(f"original model: {ours[-1].error}", provider)
            return
        if provider != CPU:
            self._compare_across(provider)
        found = [self._plain(provider, sample) for sample in range(len(lab.draws))]
        oracles = [oracle for _, oracle in found]
        self._note_compared(found)
        plain = [run for runs, _ in found for run in runs]
        self.runs += plain
        mine = [run for run in plain if run.subject == lab.subject]
        if not all(run.ok for run in mine) or self._is_told_apart(provider, plain, oracles):
            return
        if "full" not in lab.levels:
            why = f"the model has over {MOST_NODES:,} nodes"
            self.warnings.append(f"full optimisation not tried: {why}")
            self.skipped.append(Skipped(why, f"{provider}, optimisation full"))
            return
        for sample in range(len(lab.draws_for("full"))):
            self.runs += self._optimised(provider, sample, oracles[sample])

    def leave_out(self, why: str, where: str = "", *, output: bool = False) -> None:
        """Report what is not compared, or of an `output` is no evidence."""
        self._reasons.append(why)
        self.warnings.append(f"not compared: {why}")
        self.skipped.append(Skipped(why, where))
        self._hidden += [self.skipped[-1].text] if output else []

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
        self.runs = [self._without_loose(run) for run in self.runs]
        mine = [run for run in self.runs if run.subject == lab.subject]
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
            self.runs.append(Run(CPU, lab.levels[-1], "any inputs", (), never, note, ok=False))
        reasons = *self._reasons, *(r.note for r in mine if r.excused), "no run could be compared"
        return Validation(
            outcome == "passed",
            tuple(self.runs),
            tuple(dict.fromkeys(self.warnings)),
            notes=tuple(dict.fromkeys(self.notes)),
            placements=tuple(lab.placements),
            divergence=self._divergence,
            subject=lab.subject,
            outcome=outcome,
            skipped=tuple(dict.fromkeys(self.skipped)),
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
        alone = [run for run in runs if run.optimisation == "off" and run.excused]
        full = [run for run in runs if run.optimisation == "full" and not run.excused]
        wanted = sum(len(self._lab.draws_for(level)) for level in self._lab.levels)
        return 0 < len(alone) == len(self._lab.draws) and len(alone + full) == len(runs) == wanted

    # Running

    def _case(
        self, provider: str, level: Optimisation, sample: int, subject: str, oracle: Oracle
    ) -> Case:
        return Case(self._lab, self._tolerance, provider, level, sample, subject, oracle)

    def _compare_across(self, provider: str) -> None:
        """Compare the original on another provider with itself on the CPU, as a warning only."""
        here = self._lab.results("original", provider, "off")
        for sample, home in enumerate(self._lab.results("original", CPU, "off")):
            if home.error or here[sample].error:
                continue
            oracle = Oracle("original on the CPU", home, foreign=True)
            run = self._case(provider, "off", sample, "original", oracle).run()
            if not run.ok:
                told = f"differ in {differing(run.comparisons)} of the original already"
                self.warnings.append(f"{provider} and the CPU {told}")
            self.runs.append(run)

    def _oracle(self, provider: str, sample: int) -> Oracle | None:
        """The expected result for one set of inputs; None if neither model runs."""
        lab, draw = self._lab, self._lab.draws[sample]
        ours = lab.results("original", provider, "off")[sample]
        if not ours.error:
            return Oracle("original", ours)
        theirs = lab.results(lab.subject, provider, "off")[sample]
        home = lab.results("original", CPU, "off")[sample]
        worse = theirs.late or (theirs.crashed and not ours.crashed)
        if not home.error and (worse or not theirs.error):
            self.warnings.append(f"the original does not run on {provider}: {ours.error}")
            return Oracle("original on the CPU", home, foreign=True)
        if theirs.error:
            self.run_none((ours.error, theirs.error), provider, draw.label)
            return None
        if outputs := evaluated(lab.proto("original"), draw.feeds):
            told = "onnx's reference evaluator ran it instead"
            self.warnings.append(f"{RUNTIME} does not run the original ({ours.error}); {told}")
            return Oracle("original evaluated by onnx", Result(outputs, math.nan), foreign=True)
        return Oracle("rewritten", theirs)

    def _plain(self, provider: str, sample: int) -> tuple[list[Run], Oracle | None]:
        """Runs without optimisation on one set of inputs, and the expected result for full."""
        oracle, lab = self._oracle(provider, sample), self._lab
        referred = self._referred(provider, "off", sample)
        runs = [*referred.values()]
        if lab.subject == "original" or oracle is None:
            return runs, oracle
        case = replace(self._case(provider, "off", sample, "rewritten", oracle), referred=referred)
        run = case.run()
        if oracle.name == "rewritten":
            why = case.result("original").error
            note = f"a repair, with nothing to compare: the original does not run ({why})"
            seconds = math.nan, case.found.seconds
            alone = replace(run, comparisons=(), seconds=seconds, note=note, against="original")
            return [*runs, self._weighed(replace(alone, ok=True, excused=True))], oracle
        if oracle.name == "original":
            run = self._steady(run, sample)
        if not run.ok and (better := _first(BETTER, case, run)):
            self.warnings.append(better)
            return [*runs, replace(run, note=better, ok=True)], Oracle("rewritten", case.found)
        wrong = [each.output for each in run.comparisons if not each.ok]
        if not run.ok and wrong and oracle.name == "original" and self._divergence is None:
            draw = lab.draws[sample]
            self._divergence = first_difference(lab, wrong, draw, provider, self._tolerance)
        return [*runs, run], oracle

    def _optimised(self, provider: str, sample: int, oracle: Oracle | None) -> list[Run]:
        """The runs of one set of inputs with full optimisation."""
        referred = self._referred(provider, "full", sample)
        runs = [*referred.values()]
        own, run = referred.get("original"), None
        if self._lab.subject == "rewritten" and oracle is not None:
            run = self._deployed(self._case(provider, "full", sample, "rewritten", oracle))
        if own is not None and not own.ok and (run is None or run.ok):
            note = "with full optimisation the original differs from the reference"
            self.warnings.append(f"{_OPTIMISER}: {note}")
            runs = [
                each if each.ok else replace(each, note=each.note or note, ok=True, excused=True)
                for each in runs
            ]
        return [self._weighed(each) for each in (*runs, *([] if run is None else [run]))]

    def _deployed(self, case: Case) -> Run:
        """Compare the rewritten model at full optimisation with the original without."""
        run, ours, exact = case.run(), case.result("original"), case.result("original", level="off")
        if ours.error and not exact.error:
            why = f"with full optimisation the original does not run: {ours.error}"
            self.warnings.append(f"{_OPTIMISER}: {why}")
        elif run.ok and not exact.error:
            own = replace(case, subject="original", oracle=Oracle("", exact)).run()
            if not own.ok:
                note = "full optimisation computes the rewritten model as it says, but "
                note += f"{differing(own.comparisons)} of the original otherwise than it says"
                self.warnings.append(f"{_OPTIMISER}: {note}")
        run = self._steady(run, case.sample)
        if run.ok:
            return run
        if note := _first(EXCUSES, case, run):
            self.warnings.append(f"{_OPTIMISER}: {note}")
            return replace(run, note=note, ok=True, excused=True)
        if case.found.error:
            return replace(run, note=f"with full optimisation only {run.note}")
        changed = differing(case.worse(run) or run.comparisons)
        note = run.note or f"full optimisation changes {changed} of the rewritten model only"
        return replace(run, note=f"{note}; the original does not run" if ours.error else note)

    def _referred(self, provider: str, level: Optimisation, sample: int) -> dict[str, Run]:
        """Each model compared with the reference, if there is one."""
        if not self._expected:
            return {}
        lab = self._lab
        oracle = Oracle("reference", Result(self._expected[sample], math.nan), foreign=True)
        results = {name: lab.results(name, provider, level)[sample] for name in lab.sources}
        runs = {
            name: self._case(provider, level, sample, name, oracle).run()
            for name, found in results.items()
            if name == lab.subject or not found.error
        }
        for run in runs.values():
            if run.excused:
                self.leave_out(run.note, provider, output=True)
        if "original" not in runs:
            why = f"the original does not run on {provider}, so it was not compared with the "
            self.warnings.append(f"{why}reference: {results['original'].error}")
        elif lab.subject == "rewritten" and level == "off" and not runs["original"].ok:
            told = f"the original differs from the reference on {provider}"
            self.warnings.append(f"{told}, whatever the rewrite does")
        return runs

    # What does not repeat

    def _steady(self, run: Run, sample: int) -> Run:
        """A run without the outputs that the original itself does not compute twice alike.

        That is asked of the CPU: the noise of another provider is measured and allowed for.
        """
        wrong = {
            each.output: each
            for each in run.comparisons
            if not each.ok and (run.provider, each.output) not in self._loose
        }
        if wrong:
            draw = self._lab.draws[sample]
            level: Optimisation = "full" if run.optimisation == "full" else "off"
            apart = restless(self._lab, [*wrong], draw, self._tolerance, level=level)
            for name, seen in wrong.items():
                # Another shape or type is a failure unless it does not repeat either.
                own = apart.get(name)
                loose = own is not None and (_is_other_kind(own) or not _is_other_kind(seen))
                self._loose[run.provider, name] = loose
                if loose:
                    said = f"output {name!r} of the original does not repeat: two runs of it differ"
                    self.leave_out(said, run.provider, output=True)
        return self._without_loose(run)

    def _without_loose(self, run: Run) -> Run:
        """A run without the outputs that are known not to repeat."""
        kept = tuple(
            each for each in run.comparisons if not self._loose.get((run.provider, each.output))
        )
        if len(kept) == len(run.comparisons) or run.against == "reference":
            return run
        ok = run.ok or (not run.note and all(each.ok for each in kept))
        note = run.note if kept else "no output of the original repeats"
        return replace(run, comparisons=kept, ok=ok, note=note)

    # What is evidence

    def _note_compared(self, found: Sequence[tuple[Sequence[Run], Oracle | None]]) -> None:
        """Note the inputs of which runs are evidence: whatever output varies does so in each."""
        values = [oracle.result.outputs if oracle else {} for _, oracle in found]
        even = [{name for name, value in each.items() if is_flat([value])} for each in values]
        varying = {
            name for each, flat in zip(values, even, strict=True) for name in each.keys() - flat
        }
        for draw, (runs, _), flat in zip(self._lab.draws, found, even, strict=True):
            mine = [each for each in runs if each.subject == self._lab.subject]
            if any(not run.ok or (run.tells and flat.isdisjoint(varying)) for run in mine):
                self._compared.add(draw)

    def _is_told_apart(
        self, provider: str, runs: Sequence[Run], oracles: Sequence[Oracle | None]
    ) -> bool:
        """Compare changed operators upstream of outputs that cannot tell; whether they differ."""
        seen = [each.result.outputs for each in oracles if each is not None]
        names = dict.fromkeys(name for run in runs if run.tells for name in _names(run))
        values = {name: [each[name] for each in seen if name in each] for name in names}
        flat = [name for name, given in values.items() if is_flat(given)]
        chosen = [name for name, given in values.items() if given and all(map(is_discrete, given))]
        loose = [name for (_, name), is_loose in self._loose.items() if is_loose]
        mute = [*dict.fromkeys((*flat, *chosen, *loose))]
        if not mute:
            return False
        lacking, lab = [*flat], self._lab
        if lab.subject == "rewritten":
            pairs = zip(lab.draws, oracles, strict=True)
            draws = [draw for draw, each in pairs if each is not None and each.name == "original"]
            parting, agreeing, untold = of_changed_operators(
                lab, mute, draws or lab.draws[:1], provider, self._tolerance
            )
            asked = f"outputs {few(mute, _LISTED)} hardly tell the models apart; changed operators "
            if parting is not None:
                self.warnings.append(f"{asked}were compared, and they differ")
                self._divergence = parting
                return True
            if agreeing:
                self.notes.append(f"{asked}were compared, with optimisation off: {agreeing} agree")
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
            self.skipped.append(Skipped(run.note, where))
        return run


def _first(excuses: Iterable[Excuse], case: Case, run: Run) -> str:
    """What the first of some excuses says that holds; empty if none does."""
    return next(filter(None, (excuse(case, run) for excuse in excuses)), "")


def _is_other_kind(seen: Comparison) -> bool:
    """Whether two values are of other shapes or types."""
    return math.isnan(seen.max_abs) and not seen.special


def _names(run: Run) -> list[str]:
    return [each.output for each in run.comparisons]


def _is_few(value: Value) -> bool:
    """Whether an output is a few truths, strings, or integers that quantised models have not."""
    if not isinstance(value, np.ndarray) or value.size > _FEW:
        return False
    return value.dtype.kind in "bOSU" or (value.dtype.kind in "iu" and value.itemsize > 1)
