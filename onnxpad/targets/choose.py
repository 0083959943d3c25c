"""The least rewriting that several runtimes compute rightly, padding by padding.

Each way of writing that passes know is tried on the whole model, and its forms are read from the
result. A padding gets the first way that is best for all targets, or stays as it came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from typing import Any

from msgspec.structs import replace

from onnxpad.errors import UsageError
from onnxpad.options import KEPT, Options, Unasked, Wanted
from onnxpad.passes.pads import GuardPad
from onnxpad.passes.spell_padding import SpellPadding
from onnxpad.rewrite.registry import every_pass
from onnxpad.rewrite.run import Run
from onnxpad.targets.form import Form, Placed, forms_of
from onnxpad.targets.known_targets import load
from onnxpad.targets.target import TAKEN, Cell, Target

_ORDER = ("right", "limit", "fallback", "unknown", "rejected", "wrong")
_RIGHT, _LIMIT, _FALLBACK, _UNKNOWN, _REJECTED, _WRONG = range(len(_ORDER))
"""How well a form is taken; nothing becomes what has a limit."""
_NEVER = [1 << 30]
_WAYS = (  # to write a padding, the least rewriting first
    Wanted("fold"),
    Wanted("fold", no_ceil=True, symmetric_transpose=True),
    Wanted("symmetric", symmetric_transpose=True),
    Wanted("symmetric", no_ceil=True, symmetric_transpose=True),
    Wanted("pad", "pad"),
    Wanted("pad", "pad", no_ceil=True, symmetric_transpose=True),
    Wanted("fold", "auto-pad"),
    Wanted("fold", "pad"),
)
_CONCERNED: Mapping[str, Callable[[Form], bool]] = {
    "style": lambda form: True,
    "dynamic": lambda form: form.is_open or form.pad == "computed",
    "no_ceil": lambda form: form.ceil != "",
    "symmetric_transpose": lambda form: form.op == "ConvTranspose",
}
"""The options that ask for a way to write, and the forms that they are about."""
Forms = Mapping[tuple[str, str], Form]  # those of a model by the keys of each padding
Fate = tuple[Placed, Form | None, Collection[Form]]  # as it came, as it is written, as tried

_SPELLED: Mapping[str, tuple[str, set[object], object]] = {  # a field, what it is, and becomes
    "kernel_shape": ("kernel_shape", {False}, True), "write_pads": ("silent", {True}, False),
    "no_count_include_pad": ("count_include_pad", {True}, False),
    "write_count_include_pad": ("count_written", {False}, True),
    "no_output_padding": ("output_padding", {True}, False), "no_axes": ("axes", {True}, False),
    "typed_amounts": ("raw", {True}, False), "no_valid": ("auto_pad", {"VALID"}, "NOTSET"),
    "initializers": ("pad", {"constant-node"}, "constant"),  # of one field, the first is tried:
    "no_empty_fill": ("fill", {"empty"}, "absent"), "value": ("fill", {"absent", "empty"}, "zero"),
    "no_value": ("fill", {"zero"}, "absent"),
}  # fmt: skip
_PROTECTING = frozenset({"no_empty_fill", "no_valid"})  # from onnxruntime, what stays as it came


def targets_of(options: Options) -> tuple[Target, ...]:
    """The targets that options name, each once.

    Raises:
        UsageError: There is none of a name, or a file of a user's is not as it should be.
    """
    if not options.targets:
        raise UsageError("target is empty" if options.target else "target_only needs a target")
    return tuple(dict.fromkeys(map(load, options.targets)))


@lru_cache(4096)  # models have few forms, and most of them at many nodes
def answers_to(form: Form | None, targets: tuple[Target, ...]) -> tuple[Cell, ...]:
    """The answers of targets for a form; None stands for a padding that is gone."""
    return tuple(TAKEN if form is None else each.cell(form) for each in targets)


@lru_cache(4096)
def _spellings(form: Form, targets: tuple[Target, ...]) -> frozenset[str]:
    """The spellings with which targets that do not take a form may answer otherwise."""
    found = dict[str, str]()
    for target, cell in zip(targets, answers_to(form, targets), strict=True):
        for name, (field, given, after) in _SPELLED.items():
            if cell.verdict != "right" and getattr(form, field) in given:
                other = target.cell(replace(form, **{field: after}))
                if (field in cell.when and other is not cell) or grade(other) < grade(cell):
                    found.setdefault(field, name)
    return frozenset(found.values())


def grade(cell: Cell) -> int:
    """How well a form is taken, the best first; what no padding is said to mend is tried."""
    return _ORDER.index("limit" if cell.limit else cell.verdict)


def choose(run: Run) -> list[Fate]:
    """Chooses how each padding of a model is to be written, and has the run write it so.

    Raises:
        UsageError: As `targets_of`.
        ModelError: The model cannot be read.
    """
    trials = _Trials(run)
    given = [*forms_of(run.analysed())]
    groups = trials.grouped(given)
    spelling, more = frozenset[str](), trials.spelling
    while more != spelling:  # then with what else those that are not taken could be spelled with
        spelling = more
        for way in _ways(trials.asked, spelling):
            if waiting := [each for each in groups if each.best[0] > _RIGHT]:
                last = trials.written(way)
                for each in waiting:
                    if (rank := each.rank(last, way)) < each.best:
                        each.wanted, each.best = way, rank
        waiting = [each for each in groups if each.best[0] > _RIGHT]
        more = _consistent(spelling.union(*(each.spelled for each in waiting)))
    while True:  # what is no better beside all others as they are written stays as it came
        trials.wants = {name: each.wanted for each in groups for name in each.names}
        last = trials.written()
        vain = [e for e in groups if e.wanted != trials.kept and e.rank(last, e.wanted) >= e.first]
        kept = [each for each in groups if each.wanted == trials.kept]
        harmed = [each for each in kept if each.rank(last, each.wanted) > each.first]
        said = trials.kept.spelling.union(*(each.spelled for each in harmed)) & _PROTECTING
        if not vain and said == trials.kept.spelling:
            break
        trials.kept = replace(trials.kept, spelling=said)
        for each in (*vain, *kept):
            each.wanted = trials.kept
    run.write_each(trials.wants, trials.passes)
    return [(each, _found(last, each.keys), trials.tried[each.keys]) for each in given]


class _Trials:
    """A model that is written on trial, as its paddings, by names of outputs, are wanted."""

    def __init__(self, run: Run) -> None:
        """Takes the graph, and the options."""
        self._run, own = run, load("onnxruntime-cpu")  # where results are run
        self.wants: dict[str, Wanted] = {}
        self.tried = defaultdict[object, dict[Form, None]](dict)  # by keys, in order
        self.targets, self.asked = targets_of(run.options), asked_of(run.options)
        self.spelling = _consistent({"constant_amounts", *chain(*(e.spell for e in self.targets))})
        self.kept = replace(KEPT, spelling=self.spelling & _PROTECTING)
        self._implied = () if run.options.target_only or own in self.targets else (own,)
        passes = (*every_pass(), *[SpellPadding] * run.options.rewrites(SpellPadding.code))
        self.passes = [e for e in passes if e is not GuardPad or not run.options.target_only]

    def grades(self, form: Form | None) -> list[int]:
        """How well a form is taken by each target; None stands for a padding that is gone.

        What onnxruntime's optimiser gets wrong is protected; only what it never runs counts.
        """
        own = [_WRONG if grade(e) == _REJECTED else _RIGHT for e in answers_to(form, self._implied)]
        return [*map(grade, answers_to(form, self.targets)), *own]

    def grouped(self, found: Iterable[Placed]) -> list[_Group]:
        """Paddings by the nodes that they share; they stay as they came."""
        groups: dict[str, list[Placed]] = {}
        for each in found:
            near = {id(groups[name]): groups[name] for name in each.names if name in groups}
            joined = [*chain.from_iterable(near.values()), each]
            groups |= {name: joined for placed in joined for name in placed.names}
        self.wants = dict.fromkeys(groups, self.kept)
        distinct = {id(each): each for each in groups.values()}.values()
        return [_Group(each, self) for each in distinct]

    def written(self, usual: Wanted | None = None) -> Forms:
        """The forms by keys, some by those downstream, once all is written as wanted or usual."""
        mark = self._run.graph.mark()
        trial = Run(self._run.graph, self._run.options, domain=self._run.domain)
        trial.barred = self._run.barred
        trial.write_each({} if usual else self.wants, self.passes, usual)
        trial.edit()
        found = [*forms_of(trial.left)]
        forms = {key: each.form for each in reversed(found) for key in each.keys}
        for each in found:
            for name in each.context.nearest(each.node, self.wants) or ():
                forms.setdefault(("", name), each.form)
        self._run.graph.rollback(mark)
        return forms


class _Group:
    """Paddings that share a node, and so are written in one way: the best of those tried."""

    def __init__(self, found: Sequence[Placed], trials: _Trials) -> None:
        """Begins with the way it came, which is the last one where options ask for others."""
        self.names, self.wanted = {name for each in found for name in each.names}, trials.kept
        self._keys, self._trials = [each.keys for each in found], trials
        for each in found:
            trials.tried[each.keys][each.form] = None
        self._given = [row for each in found for row in trials.grades(each.form)]
        self._is_asked = any(_CONCERNED[n](each.form) for n in trials.asked for each in found)
        self.best = self.first = _NEVER if self._is_asked else sorted(self._given, reverse=True)

    @property
    def spelled(self) -> frozenset[str]:
        """The spellings that may mend a form that it came in, or that was tried."""
        forms = {form for keys in self._keys for form in self._trials.tried[keys]}
        return frozenset().union(*(_spellings(each, self._trials.targets) for each in forms))

    def rank(self, forms: Forms, way: Wanted) -> list[int]:
        """The grades of a result, the worst first; never where less is taken or known than before.

        Wrong may become unknown. Rejected may where options ask, or another spelling: an error is
        noticed, other numbers are not.
        """
        found = [_found(forms, keys) for keys in self._keys]
        for keys, form in zip(self._keys, found, strict=True):
            self._trials.tried[keys].update({} if form is None else {form: None})
        free = {_UNKNOWN, _WRONG, *[_REJECTED] * (self._is_asked or way.style == KEPT.style)}
        rows = [row for form in found for row in self._trials.grades(form)]
        for was, now in zip(self._given, rows, strict=True):
            is_lost = now == _UNKNOWN and was not in free
            if (now > _UNKNOWN and now != was) or is_lost or now == _LIMIT != was:
                return _NEVER
        return sorted(rows, reverse=True)


def _found(forms: Forms, keys: Iterable[tuple[str, str]]) -> Form | None:
    """The form of a padding in a result; None where it is gone, as that of a `Pad` that folds."""
    return next((forms[key] for key in keys if key in forms), None)


def asked_of(options: Options) -> dict[str, Any]:
    """The options that ask for a way to write; a style that is named is asked for."""
    given = {name: getattr(options, name) for name in _CONCERNED}
    return {k: v for k, v in given.items() if v and v != "keep" and not isinstance(v, Unasked)}


def _ways(asked: Mapping[str, Any], spelling: frozenset[str]) -> Iterator[Wanted]:
    if not asked:
        yield replace(KEPT, spelling=spelling)
    anew = spelling | {"initializers"}
    paired = anew - {"no_output_padding"}  # symmetric pads are what needs output_padding
    fit = [e for e in _WAYS if all(getattr(e, name) == asked[name] for name in asked)]
    for way in fit or dict.fromkeys(replace(each, **asked) for each in _WAYS):
        yield replace(way, spelling=paired if way.symmetric_transpose else anew)


def _consistent(spelling: Set[str]) -> frozenset[str]:
    """Spellings of which none undoes another; an empty third input is neither there nor absent."""
    insisted = spelling | ({"no_empty_fill"} if spelling & {"value", "no_value"} else set())
    return frozenset(insisted - ({"no_value"} if "value" in insisted else set()))
