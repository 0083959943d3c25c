"""The least rewriting that several runtimes compute rightly, padding by padding.

Each way of writing that the passes know is tried on the whole model, and the forms that it leaves
are read from the result. So nothing here repeats what a pass decides: a padding gets the first
writing in the order of `_ways` that is best for all targets, or stays as it came.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import asdict, replace

from onnxpad.errors import UsageError
from onnxpad.options import KEPT, Options, Unasked, Wanted
from onnxpad.passes.pads import GuardPad
from onnxpad.passes.spell_padding import SpellPadding
from onnxpad.rewrite.registry import every_pass
from onnxpad.rewrite.run import Passes, Run
from onnxpad.targets.form import Form, Placed, forms_of
from onnxpad.targets.known_targets import load
from onnxpad.targets.target import RIGHT, Cell, Target

_MOST = 4096
"""Answers that are kept: models have few forms, and most of them at many nodes."""

_OWN = "onnxruntime-cpu"
"""The target that is always meant, since results are run there."""

_AS_IT_CAME = replace(KEPT, spelling=frozenset({"constant_amounts"}))
"""Padding that stays as it came, but for amounts that are computed and always the same.

Of the many ways to compute them, none was measured of which it is known that it is this one.
"""

_LIMIT, _RIGHT, _READ, _FALLBACK, _UNKNOWN, _REJECTED, _WRONG = range(7)
"""How well a form is taken: right as measured, as read, elsewhere, not known, not, wrongly.

What no padding mends does not count.
"""

_GRADES = {"fallback": _FALLBACK, "unknown": _UNKNOWN, "rejected": _REJECTED, "wrong": _WRONG}
_OPPOSITES = {"value": "no_value", "no_value": "value"}
"""Spellings of which only one can be written."""

_UNGUARDED = ("no_empty_fill", "no_guard")
"""Spellings of a `Pad` by which it is protected less, the least first."""

_ASKS = ("style", "dynamic", "no_ceil", "symmetric_transpose")
"""Options that ask for a way to write."""

_WAYS = (
    Wanted("fold"),
    Wanted("fold", no_ceil=True, symmetric_transpose=True),
    Wanted("symmetric", symmetric_transpose=True),
    Wanted("symmetric", no_ceil=True, symmetric_transpose=True),
    Wanted("pad", "pad"),
    Wanted("pad", "pad", no_ceil=True, symmetric_transpose=True),
    Wanted("fold", "auto-pad"),
    Wanted("fold", "pad"),
)
"""The ways to write a padding, the least rewriting first."""


Key = tuple[str, str]
"""One of `Placed.keys`."""

Forms = Mapping[Key, Form]
"""The forms of a model by the keys of each padding."""

Reply = tuple[Target, Cell]
"""The fate of a form at a target."""


class Fate(NamedTuple):
    """A padding of the original with what each target does with it, as it came and as wanted."""

    placed: Placed
    answers: tuple[Reply, ...]
    wanted: Wanted
    best: tuple[Reply, ...]

    @property
    def mark(self) -> str:
        """The fate of it in a word: `right`, `rewritten`, or the worst that a target does."""
        worst = max((cell for _, cell in self.best), key=lambda cell: (cell.limit, grade(cell)))
        if worst.limit or grade(worst) not in {_RIGHT, _READ}:
            return worst.verdict
        unspelled = self.wanted.spelling - _AS_IT_CAME.spelling
        is_kept = self.wanted.style == KEPT.style and unspelled <= {"no_guard"}
        return "right" if is_kept else "rewritten"

    @property
    def known_by(self) -> str:
        """How that is known, as `Cell.known_by`, of the target of which the least is known."""
        order = ("measured", "inferred", "read", "no data")
        return max((cell.known_by for _, cell in self.best), key=order.index)


class Choice:
    """How each padding of a model is to be written, so that all targets take it.

    Attributes:
        targets: The targets that were asked for.
        sites: All padding of the original.
    """

    def __init__(self, targets: Sequence[Target], implied: Sequence[Target]) -> None:
        """Takes the targets that were asked for, and those that are always meant."""
        self.targets = targets
        self.sites: tuple[Fate, ...] = ()
        self._implied = implied
        self._tried: dict[Key, list[tuple[str, Form]]] = {}

    def note(self, style: str, keys: Iterable[Key], form: Form | None) -> None:
        """Keeps a form of a padding that was tried, and the style in which it was."""
        if form is not None:
            for key in keys:
                self._tried.setdefault(key, []).append((style, form))

    def grades(self, form: Form | None) -> list[int]:
        """How well a form is taken by each target; None stands for a padding that is gone.

        What is right as read is as good as any where nothing was measured. What onnxruntime's
        optimiser gets wrong is protected; only what it never runs counts.
        """
        found = [
            _RIGHT if grade(cell) == _READ and not target.is_measured else grade(cell)
            for target, cell in answers_to(form, self.targets)
        ]
        for _, cell in answers_to(form, self._implied):
            taken = _WRONG if cell.verdict == "rejected" else _RIGHT
            found.append(_LIMIT if cell.limit else taken)
        return found

    def blocked(self, placed: Placed, target: Target) -> tuple[Form, Reply] | None:
        """A form of a padding that a target takes, and the reply of another that does not."""
        came = self.grades(placed.form)
        for _, form in self._tries(placed):
            if grade(_answer(target, form)) < _FALLBACK:
                replies = answers_to(form, (*self.targets, *self._implied))
                for reply, was, now in zip(replies, came, self.grades(form), strict=True):
                    if now > _UNKNOWN or now == _UNKNOWN != was:
                        return form, reply
        return None

    def untried(self, placed: Placed) -> str:
        """A style of which it is not known whether all targets take it, where some reject it."""
        came = self.grades(placed.form)
        for style, form in self._tries(placed):
            rows = zip(came, self.grades(form), strict=True)
            if style != KEPT.style and all(
                _LIMIT < now < _UNKNOWN or now == _UNKNOWN <= was for was, now in rows
            ):
                return style
        return ""

    def _tries(self, placed: Placed) -> Iterator[tuple[str, Form]]:
        return chain.from_iterable(self._tried.get(key, ()) for key in placed.keys)


def targets_of(options: Options) -> tuple[Target, ...]:
    """The targets that options name, each once.

    Raises:
        UsageError: There is none of a name, or a file of a user's is not as it should be.
    """
    if not options.targets:
        raise UsageError("target_only needs a target that it is about")
    return tuple(dict.fromkeys(map(load, options.targets)))


def choose(run: Run) -> Choice:
    """Chooses how each padding of a model is to be written, and has the run write it so.

    Raises:
        UsageError: As `targets_of`.
        ModelError: The model cannot be read.
    """
    options, graph = run.options, run.graph
    targets = targets_of(options)
    spelling, run.remarks = _spellings(targets)
    own = load(_OWN)
    choice = Choice(targets, () if options.target_only or own in targets else (own,))
    given = [*forms_of(run.analysed(), bare=True)]
    mark = graph.mark()
    wants = dict.fromkeys(_all_names(given), _AS_IT_CAME)
    ways = _ways(options, spelling)

    def grouped(found: Iterable[Placed]) -> list[_Group]:
        return [_Group(each, choice, options) for each in _joined(found)]

    def settled() -> list[Placed]:
        graph.rollback(mark)
        return _tried(run, wants)

    computes = any(each.form.pad == "computed" for each in given)
    base = settled() if computes else given
    wants |= dict.fromkeys(_all_names(base), _AS_IT_CAME)
    groups = grouped(base)
    for wanted in ways:
        waiting = [each for each in groups if each.may_gain]
        forms = _written(run, wanted, wants) if waiting else {}
        for each in waiting:
            each.take(wanted, forms)
    for each in groups:
        wants |= dict.fromkeys(each.names, each.wanted)
    left = settled()
    while True:  # what is no better beside all others as they are written stays as it came
        last = _by_key(left, wants)
        vain = [name for each in groups if not each.gains(last) for name in each.names]
        if all(wants[name] == _AS_IT_CAME for name in vain):
            break
        wants |= dict.fromkeys(vain, _AS_IT_CAME)
        left = settled()
    # Amounts stay computed where that was measured, or constants are known not to be taken.
    came = grouped(given) if computes else []
    lost = [name for each in came if each.loses(last) for name in each.names]
    if kept := [name for name in lost if wants[name] == _AS_IT_CAME]:
        wants |= dict.fromkeys(kept, KEPT)
        last = _by_key(settled(), wants)
    for without in _UNGUARDED:  # what protects a `Pad` from onnxruntime is a form like any other
        if any(each.fill == "empty" or each.auto_pad == "VALID" for each in last.values()):
            less = {name: _spelled(wanted, without) for name, wanted in wants.items()}
            graph.rollback(mark)
            forms = _by_key(_tried(run, less), wants)
            for each in groups:
                if each.rank(forms) < each.rank(last):
                    wants |= {name: less[name] for name in each.names}
            last = _by_key(settled(), wants)
    graph.rollback(mark)
    run.write_each(wants, _passes(options))
    choice.sites = tuple(
        Fate(
            each,
            answers_to(each.form, targets),
            wants[next(_names(each))],
            answers_to(_found_in(last, each), targets),
        )
        for each in given
    )
    return choice


def answers_to(form: Form | None, targets: Iterable[Target]) -> tuple[Reply, ...]:
    """The answers of targets for a form; None stands for a padding that is gone.

    A window that does not pad is taken by all of which nothing else is known.
    """
    return tuple((each, _answer(each, form)) for each in targets)


@lru_cache(_MOST)
def _answer(target: Target, form: Form | None) -> Cell:
    cell = RIGHT if form is None else target.cell(form)
    is_bare = form is not None and form.pads_nothing and cell.verdict == "unknown"
    return RIGHT if is_bare else cell


def grade(cell: Cell) -> int:
    """How well a form is taken, the best first."""
    if cell.limit:
        return _LIMIT
    right = _RIGHT if cell.measured else _READ
    return _GRADES.get(cell.verdict, right)


class _Group:
    """Paddings that share a node, and so are written in one way: the best of those tried."""

    def __init__(self, found: Sequence[Placed], choice: Choice, options: Options) -> None:
        """Begins with the way it came, unless options ask for others."""
        asked = _asked(options)
        self.names = {*_all_names(found)}  # edits change both
        self.wanted = _AS_IT_CAME
        self._found, self._choice = found, choice
        self._is_asked = any(_concern(asked, each.form) for each in found)
        self._given = [row for each in found for row in choice.grades(each.form)]
        self._is_wrong = self._is_asked or max(self._given) >= _FALLBACK
        self._came = self._rank = _rank(self._given)
        if self._is_asked:
            self._came = self._rank = (len(self._given) + 1,)

    @property
    def may_gain(self) -> bool:
        """Whether some target does not take it well, as far as is known by now."""
        return self._is_wrong and any(self._rank)

    def take(self, wanted: Wanted, forms: Forms) -> None:
        """Takes a way of writing if it is better than those before."""
        for each in self._found:
            self._choice.note(wanted.style, each.keys, _found_in(forms, each))
        rank = self._admitted(forms, wanted)
        if rank is not None and rank < self._rank:
            self.wanted, self._rank = wanted, rank

    def gains(self, forms: Forms) -> bool:
        """Whether targets take it better in a result than as it came, and nothing is known less."""
        rank = self._admitted(forms, self.wanted)
        return rank is not None and rank < self._came

    def loses(self, forms: Forms) -> bool:
        """Whether a target is known to take it less well in a result than as it came."""
        rows = self._rows(forms)
        return any(was < now and (was <= _RIGHT or now >= _REJECTED) for was, now in rows)

    def rank(self, forms: Forms) -> tuple[int, ...]:
        """The rank of a result, taken or not, as far as more counts than how that is known."""
        return _rank([now for _, now in self._rows(forms)])[:-1]

    def _rows(self, forms: Forms) -> Iterator[tuple[int, int]]:
        """How well it is taken as it came and in a result."""
        found = (self._choice.grades(_found_in(forms, each)) for each in self._found)
        return zip(self._given, chain.from_iterable(found), strict=True)

    def _admitted(self, forms: Forms, wanted: Wanted) -> tuple[int, ...] | None:
        """The rank of a result; None where it is not taken, or less is known than before.

        What was computed wrongly may be unknown then. What was rejected may be where it is only
        spelled otherwise, or written as options ask: an error is noticed, other numbers are not.
        """
        is_free = self._is_asked or wanted.style == KEPT.style
        for was, now in self._rows(forms):
            may_be_unknown = was in {_UNKNOWN, _WRONG} or (is_free and was == _REJECTED)
            is_worse = now > _UNKNOWN or (now == _UNKNOWN and not may_be_unknown)
            if is_worse or now == _LIMIT < was:
                return None
        return _rank([now for _, now in self._rows(forms)])


def _spelled(wanted: Wanted, without: str) -> Wanted:
    return replace(wanted, spelling=wanted.spelling - {*_UNGUARDED} | {without})


def _found_in(forms: Forms, placed: Placed) -> Form | None:
    """The form of a padding in a result; None where it is gone, as that of a `Pad` that folds."""
    return next((forms[key] for key in placed.keys if key in forms), None)


def _rank(grades: Sequence[int]) -> tuple[int, ...]:
    """Smaller for what is better: first how often a form is not taken, then how often unknown."""
    return tuple(grades.count(each) for each in (_WRONG, _REJECTED, _UNKNOWN, _FALLBACK, _READ))


def _asked(options: Options) -> dict[str, Any]:
    """The options that ask for a way to write; a style that is named is asked for."""
    usual = asdict(Options())
    asked = {
        name: getattr(options, name) for name in _ASKS if getattr(options, name) != usual[name]
    }
    return asked if isinstance(options.style, Unasked) else {"style": options.style} | asked


def _concern(asked: Container[str], form: Form) -> bool:
    """Whether options that ask for a way to write concern a form."""
    concerned = {
        "style": True,
        "no_ceil": form.ceil,
        "symmetric_transpose": form.op == "ConvTranspose",
        "dynamic": form.is_open or form.pad == "computed",
    }
    return any(does for name, does in concerned.items() if name in asked)


def _ways(options: Options, spelling: frozenset[str]) -> list[Wanted]:
    """The ways to write a padding that options leave, the least rewriting first."""
    asked = _asked(options).items()
    ways = [way for way in _WAYS if all(getattr(way, name) == value for name, value in asked)]
    kept = [replace(KEPT, spelling=spelling)] if spelling > _AS_IT_CAME.spelling else []
    anew = spelling | {"initializers"}
    paired = anew - {"no_output_padding"}  # symmetric pads are what needs output_padding
    return [
        *(() if asked else kept),
        *(replace(each, spelling=paired if each.symmetric_transpose else anew) for each in ways),
    ]


def _spellings(targets: Sequence[Target]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The spellings that targets insist on, and a line for each that is not heeded.

    Of opposites that of the target named first is.
    """
    found, told = dict[str, Target](), list[str]()
    for target in targets:
        for each in sorted(target.spell):
            other = _OPPOSITES.get(each, "")
            if other not in found:
                found.setdefault(each, target)
                continue
            told.append(
                f"{target.name} and {found[other].name} insist on opposite spellings "
                f"({each}, {other}): {found[other].name} is named first, and is heeded"
            )
    spelling = found.keys() | _AS_IT_CAME.spelling
    if _OPPOSITES.keys() & spelling:  # an empty third input is neither
        spelling |= {"no_empty_fill"}
    return frozenset(spelling), tuple(told)


def _written(run: Run, wanted: Wanted, names: Container[str]) -> Forms:
    """The forms of a model written in one way, by the keys of each padding, as `_by_key`."""
    mark = run.graph.mark()
    try:
        return _by_key(_tried(run, {}, wanted), names)
    finally:
        run.graph.rollback(mark)


def _tried(run: Run, wants: Mapping[str, Wanted], usual: Wanted | None = None) -> list[Placed]:
    """The forms of a model once it is written so, as `Run.write_each` has it."""
    trial = Run(run.graph, run.options, domain=run.domain)
    trial.barred = run.barred
    trial.write_each(wants, _passes(run.options), usual)
    trial.edit()
    return [*forms_of(trial.left, bare=True)]


def _passes(options: Options) -> Passes:
    """The passes that write padding for targets; a `Pad` is protected where onnxruntime is one."""
    spelling = [SpellPadding] if options.chooses(SpellPadding.code) else []
    passes = (*every_pass(), *spelling)
    return tuple(each for each in passes if each is not GuardPad or not options.target_only)


def _by_key(found: Iterable[Placed], names: Container[str]) -> Forms:
    """Forms by their keys; an operator of a new name has those of the first known downstream."""
    placed = [*found]
    forms = {key: each.form for each in reversed(placed) for key in each.keys}
    for each in placed:
        for name in each.context.nearest(each.node, names) or ():
            forms.setdefault(("", name), each.form)
    return forms


def _joined(found: Iterable[Placed]) -> list[list[Placed]]:
    """Paddings by the nodes that they share."""
    groups: dict[str, list[Placed]] = {}
    for each in found:
        names = {*_names(each)}
        near = (groups[name] for name in names if name in groups)
        joined, *others = {id(group): group for group in near}.values() or [list[Placed]()]
        joined.append(each)
        for other in others:
            joined += other
            names.update(_all_names(other))
        groups |= dict.fromkeys(names, joined)
    return [*{id(each): each for each in groups.values()}.values()]


def _names(placed: Placed) -> Iterator[str]:
    """The unique names of the outputs of the nodes of a padding."""
    unique = placed.context.graph.unique
    for node in (placed.node, *placed.nodes):
        yield from (unique(tensor.name) for tensor in node.outputs if tensor.name)


def _all_names(found: Iterable[Placed]) -> Iterator[str]:
    return chain.from_iterable(map(_names, found))
