"""Judges models by their runs: what differs, what excuses it, and what is no evidence.

With optimisation off, the runtime computes what the graphs say, and both must agree. With full
optimisation it computes what is deployed. Its optimiser is unsound around Pad and may break a right
model, so a difference counts only if the original does not show it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from operator import itemgetter

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import RUNTIME, few
from onnxpad.runtimes.runtime import Optimisation
from onnxpad.runtimes.sessions import CPU, Array, Source, load_failure
from onnxpad.runtimes.worker import DEPLOYED
from onnxpad.validation.align import nearest
from onnxpad.validation.branches import Entered
from onnxpad.validation.compare import Tolerance, alike, compare, is_discrete, is_flat
from onnxpad.validation.draw import Draw
from onnxpad.validation.evaluator import evaluated
from onnxpad.validation.lab import MOST_NODES, Lab, Result
from onnxpad.validation.locate import first_difference, of_changed_operators, restless
from onnxpad.validation.result import Comparison, Divergence, Outcome, Run, Validation

_QUANTA = 0.05  # of an output's greatest: a few steps of 1/255, which grow on their way downstream
_LEAST_COSINE = 0.99  # between two outputs that differ only in roundings
_HALVES = frozenset({"float16", "bfloat16"})  # sums depend on the order of their terms
_OTHER_ENGINE = 10.0  # factor of the default tolerance: another engine sums in another order
_RESTLESS = 16  # times as far as two runs of the original may the rewritten model be from it
_FEW = 64  # elements of an output of classes, indices or truths that tell nothing by themselves
_LISTED = 8  # outputs named in one line
_AT_HOME = "original on the CPU"
_DOES_NOT_RUN = "with full optimisation the original does not run"


class Case(Struct, frozen=True):
    """A model on one set of inputs at one level, and the result expected of it.

    That is of one of the models, or else of another engine, which computes in another order.
    `reference` is what a framework gives for these inputs; empty if there is none.
    """

    lab: Lab
    tolerance: Tolerance
    provider: str
    level: Optimisation
    sample: int
    reference: Mapping[str, Array]
    subject: str = "original"
    against: str = "original"
    expected: Result = Result({}, math.nan)

    @property
    def draw(self) -> Draw:
        """The inputs."""
        return self.lab.draws[self.sample]

    @property
    def referred(self) -> Case:
        """The same, with the result that a framework gives."""
        return replace(self, against="reference", expected=Result(self.reference, math.nan))

    @property
    def at_home(self) -> Case:
        """The same, with the result of the original on the CPU."""
        return replace(self, against=_AT_HOME, expected=self.of("original", CPU))

    @property
    def found(self) -> Result:
        """What the model gives."""
        return self.of(self.subject)

    def of(self, name: str, provider: str = "") -> Result:
        """What a model gives for these inputs, here or on another provider."""
        return self.lab.results(name, provider or self.provider, self.level)[self.sample]

    def agrees(self, name: str, output: str) -> bool:
        """Whether an output of a model is the one expected; not if one of both lacks it."""
        case = replace(self, subject=name)
        return output in self.expected.outputs.keys() & case.found.outputs and case.at(output).ok

    def run(self) -> Run:
        """The result compared with the expected one."""
        expected, found, note = self.expected.outputs, self.found, ""
        model = "model" if self.lab.subject == "original" else f"{self.subject} model"
        if found.error:
            note = f"the {model} {'' if found.late else 'does not run: '}{found.error}"
        elif missing := expected.keys() - found.outputs.keys():
            note = f"the {model} has no output {', '.join(sorted(missing))}"
        seen = tuple(self.at(name) for name in expected if name in found.outputs)
        is_timed = self.level == "full" and "original" in self.against
        first = self.of("original") if is_timed else self.expected
        where, ok = (self.provider, self.level, self.draw.label), all(each.ok for each in seen)
        seconds, sides = (first.seconds, found.seconds), (self.subject, self.against)
        return Run(*where, seen, seconds, note, ok and not note, *sides)

    def at(self, name: str) -> Comparison:
        """How an output compares."""
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
            own = self.of("original").outputs
            moved = (value, own[name]) if name in own else ()
        said = "in the reference is here" if self.against == "reference" else "became"
        return replace(compare(name, value, other, tolerance, moved, said), alignment=how)


def does_not_repeat(case: Case, seen: Comparison) -> str:
    """An output that the original itself does not compute twice alike, and about as far apart."""
    key, known = (case.provider, case.level, case.sample), case.lab.restless
    if case.against == "reference":
        return ""
    if key not in known:
        names, where = [*case.expected.outputs], (case.provider, case.level)
        known[key] = restless(case.lab, names, case.draw, case.tolerance, *where)
    own = known[key].get(seen.output)
    # Another shape or type is a failure unless it does not repeat either.
    if own is None or (_is_other_kind(seen) and not _is_other_kind(own)):
        return ""
    is_farther = seen.max_abs > _RESTLESS * own.max_abs
    return "" if is_farther else "does not repeat: two runs of the original differ"


def agrees_with_others(case: Case, seen: Comparison) -> str:
    """One that agrees with the reference, or the original on the CPU, as the original does not."""
    others = [("the original differs from the reference", case.referred)]
    if case.provider != CPU:
        others.append((f"on {case.provider} the original differs from the CPU", case.at_home))
    for told, other in others if case.against == "original" else ():
        if other.agrees(case.subject, seen.output) and not other.agrees("original", seen.output):
            return f"{told}; the rewritten model agrees with it"
    return ""


def the_optimiser_changes_both(case: Case, seen: Comparison) -> str:
    """One of which full optimisation changes the same elements of the original in the same way."""
    name, ours = seen.output, case.of("original")
    if case.level == "off":
        return ""
    if ours.error:
        return f"{_DOES_NOT_RUN}: {ours.error}" if case.against == case.subject else ""
    if case.against == "reference":
        told = "with full optimisation the original differs from the reference"
        return "" if case.agrees("original", name) else told
    if name not in ours.outputs:
        return ""
    sides = case.expected.outputs[name], ours.outputs[name]
    own = compare(name, *sides, case.tolerance)
    is_near = seen.dtype in _HALVES and seen.max_rel <= _QUANTA and not own.ok
    is_both = (is_near and 2 * own.max_abs >= seen.max_abs) or alike(
        name, *sides, case.found.outputs[name], case.tolerance
    )
    return f"{RUNTIME}'s full optimisation changes those of the original as well" if is_both else ""


def quantised_operators_round(case: Case, seen: Comparison) -> str:
    """One that is off by a few quanta, since the runtime fuses quantised operators."""
    if case.level == "off" or case.against == "reference" or not case.lab.model.quantised:
        return ""
    cosine = 1.0 if seen.cosine is None else seen.cosine
    is_rounding = seen.max_rel <= _QUANTA and cosine >= _LEAST_COSINE and seen.argmax != 0.0
    told = "full optimisation changes them by no more than rounding in fused quantised operators"
    return told if is_rounding else ""


Excuse = Callable[[Case, Comparison], str]
"""Why an output that differs is no evidence against the rewritten model; empty if it is."""

EXCUSES: tuple[Excuse, ...] = (
    does_not_repeat,
    agrees_with_others,
    the_optimiser_changes_both,
    quantised_operators_round,
)


class Judgement:
    """The runs of a validation and all that is to be said of them."""

    def __init__(self, lab: Lab, tolerance: Tolerance, notes: Iterable[str]) -> None:
        """Judge what a lab runs."""
        self._lab, self._tolerance = lab, tolerance
        self._runs, self._notes = list[Run](), [*notes]
        self._warnings, self._hidden = list[str](), dict[str, None]()
        self._left = dict[str, str]()  # what is not compared, where and why, with the latter alone
        self._divergence: Divergence | None = None
        self._loose = dict[str, None]()  # outputs of the original that do not repeat
        self._flat, self._silent = set[str](), set[str]()  # outputs that are no evidence
        self._compared = set[Draw | None]()  # the inputs of which a run is evidence
        self._failing = set[Draw | None]()  # those on which the original fails on the CPU

    def judge(self, provider: str, expected: Sequence[Mapping[str, Array]]) -> None:
        """Run all models on one provider, at both levels, also against what is `expected`."""
        lab = self._lab
        if settings := DEPLOYED.settings_text(provider):
            self._notes.append(f"{provider} runs with {settings}")
        ours = lab.results("original", provider, "off")
        if ours[-1].late:
            self.leave_out(f"{lab.step}: {ours[-1].error}", provider)
            return
        every = [
            Case(lab, self._tolerance, provider, "off", number, reference)
            for number, reference in enumerate(expected or [{}] * len(lab.draws))
        ]
        homes = [case.at_home for case in every if provider != CPU]
        self._runs += [self._of_original(each) for each in homes if not each.expected.error]
        cases = [each for each in map(self._expecting, every) if each is not None]
        mine = cases if lab.subject == "rewritten" else ()
        for level in lab.levels:
            for case, name in product(every if expected else (), lab.sources):
                judge = self._judged if name == lab.subject else self._of_original
                self._runs.append(judge(replace(case.referred, level=level, subject=name)))
            judged = [self._judged(replace(case, level=level)) for case in mine]
            self._runs += judged
            if level == "full":
                for case, run in zip(mine, judged, strict=True):
                    exact = replace(case, subject="original", expected=case.of("original"))
                    own = replace(exact, level="full", against="original")
                    if not own.expected.error and (own.found.error or (run.ok and not run.excused)):
                        self._of_original(own)
                return
            self._note_compared(cases, judged)
            here = [run for run in self._runs if run.provider == provider]
            fails = any(not run.ok and run.subject == lab.subject for run in here)
            if fails or self._is_told_apart(provider, cases, judged):
                return
        self.leave_out(f"the model has over {MOST_NODES:,} nodes", f"{provider}, optimisation full")

    def leave_out(self, why: str, where: str = "", *, output: bool = False) -> None:
        """Report what is not compared, or of an `output` is no evidence."""
        text = f"{where}: {why}" if where else why
        self._warnings.append(f"not compared: {why}")
        self._left.setdefault(text, why)
        self._hidden |= {text: None} if output else {}

    # Running

    def _expecting(self, case: Case) -> Case | None:
        """What is expected of the subject; None if nothing runs."""
        lab, case = self._lab, replace(case, subject=self._lab.subject)
        ours, theirs, home = case.of("original"), case.found, case.at_home
        self._failing |= {case.draw} if home.expected.error else set()
        is_worse = theirs.late or (theirs.crashed and not ours.crashed)
        if not ours.error:
            return replace(case, expected=ours)
        if not home.expected.error and (is_worse or not theirs.error):
            return home
        if theirs.error:
            told = "; ".join(dict.fromkeys((ours.error, theirs.error)))
            self.leave_out(f"{RUNTIME} runs no model on {case.draw.label} ({told})", case.provider)
            return None
        if outputs := evaluated(lab.proto("original"), case.draw.feeds):
            told = "onnx's reference evaluator ran it instead"
            self._warnings.append(f"{RUNTIME} does not run the original ({ours.error}); {told}")
            expected = Result(outputs, math.nan)
            return replace(case, against="original evaluated by onnx", expected=expected)
        return replace(case, against="rewritten", expected=replace(theirs, seconds=math.nan))

    def _of_original(self, case: Case) -> Run:
        """The original, which is only warned of."""
        run = case.run()
        if not run.ok:
            wrong = _differing(each.output for each in run.comparisons if not each.ok)
            other = "itself" if case.against == "original" else f"the {case.against}"
            what = "does not run" if case.found.error else f"differs from {other}"
            where = f"on {run.provider}, optimisation {run.optimisation}"
            self._warnings.append(f"the original {what} {where}: {run.note or wrong}")
        return run

    def _judged(self, case: Case) -> Run:
        """A run with what excuses its differences, without the outputs that do not repeat."""
        run, is_full = case.run(), case.level == "full"
        if case.against == "rewritten" and not is_full:
            why = case.of("original").error
            note = f"a repair, with nothing to compare: the original does not run ({why})"
            return replace(run, comparisons=(), against="original", excused=True, note=note)
        if run.ok or (run.note and not (is_full and case.found.error)):
            return run
        whys, kept, ours = dict[str, list[str]](), list[Comparison](), case.of("original")
        if case.found.error:
            if not ours.error or (case.found.crashed and not ours.crashed):
                return replace(run, note=f"with full optimisation only {run.note}")
            whys[f"{_DOES_NOT_RUN}: {ours.error}"] = []
        for seen in run.comparisons:
            asked = () if seen.ok else ((each, each(case, seen)) for each in EXCUSES)
            excuse, why = next(filter(itemgetter(1), asked), (None, ""))
            if excuse is does_not_repeat:
                self.leave_out(f"output {seen.output!r} {why}", case.provider, output=True)
                self._loose[seen.output] = None
                continue
            kept.append(seen)
            if not seen.ok:
                whys.setdefault(why, []).append(seen.output)
        run = replace(run, comparisons=tuple(kept))
        if wrong := whys.get(""):
            note = f"full optimisation changes {_differing(wrong)} of the rewritten model only"
            note += "; the original does not run" if ours.error else ""
            if not is_full and case.against == "original" and self._divergence is None:
                self._divergence = first_difference(
                    self._lab, wrong, case.draw, case.provider, self._tolerance
                )
            return replace(run, note=note if is_full and case.against != "reference" else "")
        told = [f"{_differing(names)}: {why}" if names else why for why, names in whys.items()]
        self._warnings += told
        note = "; ".join(told) if kept or told else "no output of the original repeats"
        return replace(run, note=note, ok=True, excused=is_full and bool(told))

    # What is evidence

    def _note_compared(self, cases: Sequence[Case], runs: Sequence[Run]) -> None:
        """Note the inputs of which runs are evidence: whatever output varies does so in each."""
        values = [(case.draw, case.expected.outputs) for case in cases]
        varying = {name for _, given in values for name in given if not is_flat([given[name]])}
        for run, (draw, given) in zip(runs, values, strict=False):
            is_even = any(is_flat([given[name]]) for name in varying & given.keys())
            if (run.tells or not run.ok) and not is_even:
                self._compared.add(draw)

    def _is_told_apart(self, provider: str, cases: Sequence[Case], runs: Sequence[Run]) -> bool:
        """Compare changed operators upstream of outputs that cannot tell; whether they differ."""
        lab, told = self._lab, [case.expected.outputs for case in cases]
        lost = [each.name for each in lab.model.outputs if told and each.name not in told[0]]
        for name in lost:
            self.leave_out(f"output {name!r} is no tensor", output=True)
        told = [case.expected.outputs for case in cases if case.against != "rewritten"]
        values = {name: [e[name] for e in told if name in e] for name in (told or [{}])[0]}
        flat = [name for name, given in values.items() if is_flat(given)]
        chosen = [name for name, given in values.items() if all(map(is_discrete, given))]
        mute, lacking = [*dict.fromkeys((*flat, *chosen, *self._loose, *lost))], flat
        near = {e.output: True for run in runs for e in run.comparisons if not e.equal}
        near |= dict.fromkeys(mute, False)
        is_cured = any(not e.ok for run in runs for e in run.comparisons)
        if near and lab.subject == "rewritten" and not is_cured:
            draws = [case.draw for case in cases if case.against == "original"] or lab.draws[:1]
            parting, agreeing, untold = of_changed_operators(
                lab, near, draws, provider, self._tolerance
            )
            names = few(mute or near, _LISTED)
            asked = f"outputs {names} hardly tell the models apart; changed operators "
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

    # The verdict

    def verdict(self, *, given: Source, repairs: bool, sites: Sequence[Entered]) -> Validation:
        """The verdict from all runs and bodies; the subject has to load if a `given` model does."""
        lab, silent, unentered = self._lab, {*self._silent, *self._loose}, self._unentered(sites)
        self._runs = [*map(self._weighed, self._runs)]
        mine = [run for run in self._runs if run.subject == lab.subject]
        outcome: Outcome = "nothing compared"
        reason = next(iter(self._left.values()), "no run could be compared")
        unloaded = partial(load_failure, folder=lab.folder, optimisation=lab.levels[-1])
        # Whether the rewritten model runs at every level, and the original nowhere.
        alone = all(run.excused == (run.optimisation == "off") for run in mine)
        alone = alone and 0 < len(mine) == len(lab.draws) * len(lab.levels)
        if self._divergence is not None or not all(run.ok for run in mine):
            outcome = "failed"
        elif any(r.tells and not silent.issuperset(e.output for e in r.comparisons) for r in mine):
            outcome = "nothing compared" if unentered else "passed"
        elif repairs and alone:
            outcome = "repaired"
            why = lab.results("original", CPU, "off")[0].error
            reason = f"{RUNTIME} runs the result, and not the original ({why})"
        elif (why := unloaded(lab.sources[lab.subject])) and not unloaded(given):
            outcome, never = "failed", (math.nan, math.nan)
            note = f"does not load, as the original does: {why}"
            self._runs.append(Run(CPU, lab.levels[-1], "any inputs", (), never, note, ok=False))
        return Validation(
            outcome == "passed",
            tuple(self._runs),
            tuple(dict.fromkeys(self._warnings)),
            notes=tuple(dict.fromkeys(self._notes)),
            placements=tuple(lab.placements),
            divergence=self._divergence,
            subject=lab.subject,
            outcome=outcome,
            uncompared=tuple(self._left),
            hidden=tuple(self._hidden),
            reason=reason if outcome in {"nothing compared", "repaired"} else "",
        )

    def _weighed(self, run: Run) -> Run:
        """A run, flat if its outputs are no evidence by themselves; reported if it is none."""
        is_full = run.optimisation == "full"
        if is_full and run.tells and self._flat.issuperset(e.output for e in run.comparisons):
            note = "no evidence: the outputs are the same for any data, or nearly"
            run = replace(run, flat=True, note=note)
        if (run.excused or run.flat) and run.subject == self._lab.subject:
            where = f"{run.provider}, optimisation {run.optimisation}, {run.inputs}"
            self._left.setdefault(f"{where}: {run.note}", run.note)
        return run

    def _unentered(self, sites: Sequence[Entered]) -> list[Entered]:
        """The bodies that no run compares, but for sides of which only the other one can run."""
        left = [site for site in sites if site.draw not in self._compared]
        compared = {site.holder for site in sites if site not in left}
        for site in left:
            failing = site.draw in self._failing
            why = "and fails on all inputs tried" if failing else "and no run compares it"
            self.leave_out(f"the {site.text} is other, or steered otherwise, {why}")
        return [e for e in left if e.draw not in self._failing or e.holder not in compared]


def _differing(names: Iterable[str]) -> str:
    """Outputs in a line: `outputs 'a', 'b'`; quoted, since many names are numbers."""
    return f"outputs {few([*map(repr, names)], _LISTED // 2)}"


def _is_other_kind(seen: Comparison) -> bool:
    return math.isnan(seen.max_abs) and not seen.special


def _is_few(value: Array) -> bool:
    """Whether an output is a few numbers, truths, or strings; of 8 bits quantised models have."""
    return value.size <= _FEW and (value.dtype.kind not in "iu" or value.itemsize > 1)
