"""The least rewriting that several runtimes compute rightly, padding by padding.

Each way of writing that passes know is tried on the whole model, and its forms are read from the
result. A padding gets the first way that is best for all targets, or stays as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any

from msgspec.structs import replace

from onnxpad.errors import UsageError
from onnxpad.options import KEPT, Options, Unasked, Wanted
from onnxpad.passes.pads import GuardPad
from onnxpad.passes.spell_padding import SpellPadding
from onnxpad.rewrite.registry import every_pass
from onnxpad.rewrite.run import Passes, Run
from onnxpad.targets.form import Form, Placed, forms_of
from onnxpad.targets.known_targets import load
from onnxpad.targets.target import TAKEN, Cell, Target

_ORDER = ("limit", "right", "fallback", "unknown", "rejected", "wrong")
_LIMIT, _RIGHT, _FALLBACK, _UNKNOWN, _REJECTED, _WRONG = range(len(_ORDER))
"""How well a form is taken. What has a limit stays."""

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
Replies = tuple[tuple[Target, Cell], ...]  # the fate of a form at each target
Fate = tuple[Placed, Replies, Replies]  # that of a padding as it came, and as it is written


def targets_of(options: Options) -> tuple[Target, ...]:
    """The targets that options name, each once.

    Raises:
        UsageError: There is none of a name, or a file of a user's is not as it should be.
    """
    if not options.targets:
        raise UsageError("target_only needs a target that it is about")
    return tuple(dict.fromkeys(map(load, options.targets)))


@lru_cache(4096)  # models have few forms, and most of them at many nodes
def answers_to(form: Form | None, *, targets: tuple[Target, ...]) -> Replies:
    """The answers of targets for a form; None stands for a padding that is gone."""
    return tuple((each, TAKEN if form is None else each.cell(form)) for each in targets)


def grade(cell: Cell) -> int:
    """How well a form is taken, the best first; what no padding mends does not count."""
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
    for way in _ways(trials.asked, trials.spelling):
        if waiting := [each for each in groups if each.best[0] > _RIGHT]:
            last = trials.written(way)
            for each in waiting:
                if (rank := each.rank(last, way)) < each.best:
                    each.wanted, each.best = way, rank
    while True:  # what is no better beside all others as they are written stays as it came
        trials.wants = {name: each.wanted for each in groups for name in each.names}
        last = trials.written()
        moved = (each for each in groups if each.wanted != trials.kept)
        vain = [each for each in moved if each.rank(last, each.wanted) >= each.first]
        if not vain:
            break
        for each in vain:
            each.wanted = trials.kept
    run.write_each(trials.wants, _passes(run.options))
    told = partial(answers_to, targets=trials.targets)
    return [(each, told(each.form), told(_found(last, each.keys))) for each in given]


class _Trials:
    """A model that is written on trial, as its paddings, by names of outputs, are wanted.

    What stays as it came is `kept`, which says no more than how not to protect it.
    """

    def __init__(self, run: Run) -> None:
        """Takes the graph, and the options."""
        self._run, own = run, load("onnxruntime-cpu")  # where results are run
        self.wants: dict[str, Wanted] = {}
        self.targets, self.asked = targets_of(run.options), asked_of(run.options)
        self.spelling = _spelling(self.targets)
        self.kept = replace(KEPT, spelling=self.spelling & {"no_empty_fill", "no_valid"})
        self._implied = () if run.options.target_only or own in self.targets else (own,)

    def grades(self, form: Form | None) -> list[int]:
        """How well a form is taken by each target; None stands for a padding that is gone.

        What onnxruntime's optimiser gets wrong is protected; only what it never runs counts.
        """
        own = (grade(cell) for _, cell in answers_to(form, targets=self._implied))
        found = [grade(cell) for _, cell in answers_to(form, targets=self.targets)]
        return found + [_WRONG if each == _REJECTED else min(each, _RIGHT) for each in own]

    def grouped(self, found: Iterable[Placed]) -> list[_Group]:
        """Paddings by the nodes that they share; they stay as they came."""
        groups: dict[str, list[Placed]] = {}
        for each in found:
            near = {id(groups[name]): groups[name] for name in _names([each]) if name in groups}
            joined = [*chain.from_iterable(near.values()), each]
            groups |= dict.fromkeys(_names(joined), joined)
        self.wants = dict.fromkeys(groups, self.kept)
        distinct = {id(each): each for each in groups.values()}.values()
        return [_Group(each, self) for each in distinct]

    def written(self, usual: Wanted | None = None) -> Forms:
        """The forms by keys, some by those downstream, once all is written as wanted or usual."""
        mark = self._run.graph.mark()
        trial = Run(self._run.graph, self._run.options, domain=self._run.domain)
        trial.barred = self._run.barred
        trial.write_each({} if usual else self.wants, _passes(self._run.options), usual)
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
        self.names, self.wanted = {*_names(found)}, trials.kept
        self._keys, self._grades = [each.keys for each in found], trials.grades
        self._given = [row for each in found for row in trials.grades(each.form)]
        self._is_asked = any(_CONCERNED[n](each.form) for n in trials.asked for each in found)
        self.best = self.first = _NEVER if self._is_asked else sorted(self._given, reverse=True)

    def rank(self, forms: Forms, way: Wanted) -> list[int]:
        """The grades of a result, the worst first; never where less is taken or known than before.

        Wrong may become unknown. Rejected may where options ask, or another spelling: an error is
        noticed, other numbers are not.
        """
        free = {_UNKNOWN, _WRONG, *[_REJECTED] * (self._is_asked or way.style == KEPT.style)}
        rows = [row for keys in self._keys for row in self._grades(_found(forms, keys))]
        for was, now in zip(self._given, rows, strict=True):
            if now > _UNKNOWN or (now == _UNKNOWN and was not in free) or now == _LIMIT < was:
                return _NEVER
        return sorted(rows, reverse=True)


def _found(forms: Forms, keys: Iterable[tuple[str, str]]) -> Form | None:
    """The form of a padding in a result; None where it is gone, as that of a `Pad` that folds."""
    return next((forms[key] for key in keys if key in forms), None)


def _names(found: Iterable[Placed]) -> Iterator[str]:
    """The unique names of the outputs of the nodes of paddings."""
    for placed in found:
        for node in (placed.node, *placed.nodes):
            named = filter(None, (each.name for each in node.outputs))
            yield from map(placed.context.graph.unique, named)


def asked_of(options: Options) -> dict[str, Any]:
    """The options that ask for a way to write; a style that is named is asked for."""
    given = {name: getattr(options, name) for name in _CONCERNED}
    return {k: v for k, v in given.items() if v and v != "keep" and not isinstance(v, Unasked)}


def _ways(asked: Mapping[str, Any], spelling: frozenset[str]) -> Iterator[Wanted]:
    """The ways to write a padding that options leave, the least rewriting first."""
    if not asked:
        yield replace(KEPT, spelling=spelling)
    anew = spelling | {"initializers"}
    paired = anew - {"no_output_padding"}  # symmetric pads are what needs output_padding
    fit = [e for e in _WAYS if all(getattr(e, name) == asked[name] for name in asked)]
    for way in fit or dict.fromkeys(replace(each, **asked) for each in _WAYS):
        yield replace(way, spelling=paired if way.symmetric_transpose else anew)


def _spelling(targets: Iterable[Target]) -> frozenset[str]:
    """What targets insist on; an empty third input of a `Pad` is neither there nor absent."""
    insisted = {"constant_amounts", *chain.from_iterable(each.spell for each in targets)}
    insisted |= {"no_empty_fill"} if insisted & {"value", "no_value"} else set()
    return frozenset(insisted - ({"no_value"} if "value" in insisted else set()))


def _passes(options: Options) -> Passes:
    """The passes that write padding for targets; a `Pad` is protected where onnxruntime is one."""
    passes = (*every_pass(), *[SpellPadding] * options.chooses(SpellPadding.code))
    return tuple(each for each in passes if each is not GuardPad or not options.target_only)
