"""The least rewriting that several runtimes compute rightly, padding by padding.

Each way of writing that the passes know is tried on the whole model, and the forms that it leaves
are read from the result. So nothing here repeats what a pass decides: a padding gets the first
writing in the order of `_ways` that is best for all targets, or stays as it came.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import astuple, replace

from onnxpad.errors import UsageError
from onnxpad.options import KEPT, Options, Unasked, Wanted
from onnxpad.passes.pads import GuardPad
from onnxpad.passes.spell_padding import SpellPadding
from onnxpad.rewrite.pass_api import Pass
from onnxpad.rewrite.registry import every_pass
from onnxpad.rewrite.run import Run
from onnxpad.targets.form import Form, Placed, forms_of
from onnxpad.targets.known_targets import load
from onnxpad.targets.target import Target
from onnxpad.targets.target_file import OPPOSITES, Cell

_ROUNDS = 3
_MOST = 4096
"""Answers that are kept: models have few forms, and most of them at many nodes."""

_OWN = "onnxruntime-cpu"
"""The target that is always meant, since results are run there."""

_AS_IT_CAME = replace(KEPT, spelling=frozenset({"constant_amounts"}))
"""Padding that stays as it came, but for amounts that are computed and always the same.

Of the many ways to compute them, none was measured of which it is known that it is this one.
"""

_RIGHT, _READ, _FALLBACK, _UNKNOWN, _REJECTED, _WRONG = range(6)
"""How well a form is taken: right as measured, as read, elsewhere, not known, not, wrongly."""

_UNGUARDED = ("no_empty_fill", "no_guard")
"""Spellings of a `Pad` by which it is protected less, the least first."""

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


class Reply(NamedTuple):
    """The fate of a form at a target."""

    target: Target
    cell: Cell


class Fate(Struct, frozen=True):
    """A padding of the original with what each target does with it, as it came and as wanted."""

    placed: Placed
    answers: tuple[Reply, ...]
    wanted: Wanted
    best: tuple[Reply, ...]

    @property
    def mark(self) -> str:
        """The fate of it in a word: `right`, `rewritten`, or the worst that a target does."""
        cells = [answer.cell for answer in self.best]
        worst = max(cells, key=lambda cell: (cell.limit, grade(cell)))
        if worst.limit or grade(worst) not in {_RIGHT, _READ}:
            return worst.verdict
        unspelled = self.wanted.spelling - _AS_IT_CAME.spelling
        is_kept = self.wanted.style == KEPT.style and unspelled <= {"no_guard"}
        return "right" if is_kept else "rewritten"

    @property
    def known_by(self) -> str:
        """How that is known, as `Cell.known_by`, of the target of which the least is known."""
        order = ("measured", "inferred", "read", "no data")
        return max((answer.cell.known_by for answer in self.best), key=order.index)


class Choice(Struct, frozen=True):
    """How each padding of a model is to be written, so that all targets take it.

    Attributes:
        targets: The targets that were asked for.
        sites: All padding of the original.
        blocked: By padding and target, a form that this target takes of it, and the reply of
            another, or of onnxruntime, for which it is not written.
        untried: By padding, a style of which it is not known whether all targets take it, where
            some reject how it came.
    """

    targets: tuple[Target, ...]
    sites: tuple[Fate, ...]
    blocked: Mapping[tuple[Key, Target], tuple[Form, Reply]]
    untried: Mapping[Key, str]


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
    run.remarks = tuple(_unheeded(targets))
    implied = () if options.target_only or (own := load(_OWN)) in targets else (own,)
    given = [*forms_of(run.analysed(), bare=True)]
    mark = graph.mark()
    wants = dict.fromkeys(chain.from_iterable(map(_names, given)), _AS_IT_CAME)
    ways = _ways(options, targets)
    blocked: dict[tuple[Key, Target], tuple[Form, Reply]] = {}

    def grouped(found: Iterable[Placed]) -> list[_Group]:
        return [_Group(each, targets, implied, options) for each in _joined(found)]

    def settled() -> list[Placed]:
        graph.rollback(mark)
        return _tried(run, options, wants)

    computes = any(each.form.pad == "computed" for each in given)
    base = settled() if computes else given
    wants |= dict.fromkeys(chain.from_iterable(map(_names, base)), _AS_IT_CAME)
    groups = first = grouped(base)
    for _ in range(_ROUNDS):  # what is written of one padding may show, or be part of, another
        names = frozenset(chain.from_iterable(each.names for each in groups))
        for wanted in ways:
            waiting = [each for each in groups if each.may_gain]
            forms = _written(run, wanted, names) if waiting else {}
            for each in waiting:
                each.take(wanted, forms)
        before = dict(wants)
        for group in groups:
            blocked = group.blocked | blocked
            if group.wanted != _AS_IT_CAME:  # what was written stays as it is wanted downstream
                wants |= dict.fromkeys(group.names, group.wanted)
        left = settled()
        if before == wants:
            break
        groups = grouped(left)
    while True:  # what is no better beside all others as they are written stays as it came
        last = _by_key(left, wants)
        vain = [name for each in first if not each.gains(last) for name in each.names]
        if all(wants[name] == _AS_IT_CAME for name in vain):
            break
        wants |= dict.fromkeys(vain, _AS_IT_CAME)
        left = settled()
    # Amounts stay computed where that was measured, or constants are known not to be taken.
    came = grouped(given) if computes else []
    lost = [name for each in came if each.loses(last) for name in each.names]
    if kept := [name for name in lost if wants[name] == _AS_IT_CAME]:
        wants |= dict.fromkeys(kept, KEPT)
        left = settled()
        last = _by_key(left, wants)
    for without in _UNGUARDED:  # what protects a `Pad` from onnxruntime is a form like any other
        vain = [name for each in first if each.is_guarded_in_vain(last) for name in each.names]
        if not vain:
            break
        for name in vain:
            spelling = wants[name].spelling - {*_UNGUARDED} | {without}
            wants[name] = replace(wants[name], spelling=spelling)
        last = _by_key(settled(), wants)
    graph.rollback(mark)
    run.write_each(wants, _passes(options))
    return Choice(
        targets,
        tuple(
            Fate(
                each,
                answers_to(each.form, targets),
                wants[next(_names(each))],
                answers_to(_found_in(last, each.keys), targets),
            )
            for each in given
        ),
        blocked,
        dict(chain.from_iterable(group.untried for group in groups)),
    )


def _is_worse_guarded(form: Form, targets: Sequence[Target]) -> bool:
    """Whether a target is not known to take a form, unlike one without what protects a `Pad`."""
    bare = replace(form, auto_pad="NOTSET" if form.auto_pad == "VALID" else form.auto_pad)
    others = [replace(bare, fill=fill) if form.fill else bare for fill in ("absent", "zero")]
    return any(
        _READ < grade(_answer(each, form)) > min(grade(_answer(each, other)) for other in others)
        for each in targets
    )


def answers_to(form: Form | None, targets: Sequence[Target]) -> tuple[Reply, ...]:
    """The answers of targets for a form; None stands for a padding that is gone.

    A window that does not pad is taken by all of which nothing else is known.
    """
    return tuple(Reply(each, _answer(each, form)) for each in targets)


@lru_cache(_MOST)
def _answer(target: Target, form: Form | None) -> Cell:
    cell = Cell("right") if form is None else target.cell(form)
    is_bare = form is not None and form.pads_nothing and cell.verdict == "unknown"
    return Cell("right") if is_bare else cell


def grade(cell: Cell) -> int:
    """How well a form is taken, the best first; what no padding mends does not count."""
    if cell.limit:
        return _RIGHT
    if cell.verdict == "right":
        return _RIGHT if cell.measured else _READ
    known = {"fallback": _FALLBACK, "unknown": _UNKNOWN, "rejected": _REJECTED}
    return known.get(cell.verdict, _WRONG)


def _best_known(reply: Reply) -> int:
    """The grade of a reply; what is right as read is as good as any where nothing was measured."""
    target, found = reply.target, grade(reply.cell)
    runs = target.measured or any(each.measured for each in target.cells)
    return _RIGHT if found == _READ and not runs else found


class _Group:
    """Paddings that share a node, and so are written in one way: the best of those tried."""

    def __init__(
        self,
        found: Sequence[Placed],
        targets: Sequence[Target],
        implied: Sequence[Target],
        options: Options,
    ) -> None:
        """Begins with the way it came, unless options ask for others."""
        is_asked = any(_asks(options, each.form) for each in found)
        self.names = {name for placed in found for name in _names(placed)}  # edits change both
        self._keys = [each.keys for each in found]
        self._forms = [each.form for each in found]
        self._targets = targets
        self._implied = implied
        self._given = self._taken([each.form for each in found])
        grades = [found for found, _ in self._given]
        self._came = self._rank = (len(grades) + 1,) if is_asked else _rank(grades)
        self._is_asked = is_asked
        self._is_wrong = is_asked or any(each >= _FALLBACK for each in grades)
        self.wanted = _AS_IT_CAME
        self._untried = ""
        self.blocked: dict[tuple[Key, Target], tuple[Form, Reply]] = {}

    @property
    def may_gain(self) -> bool:
        """Whether some target does not take it well, as far as is known by now."""
        return self._is_wrong and self._rank > _PERFECT

    def take(self, wanted: Wanted, forms: Mapping[Key, Form]) -> None:
        """Takes a way of writing if it is better than those before."""
        rank = self._admitted(forms, wanted)
        if rank is None:
            self._note(forms)
            if not self._untried and self._admitted(forms, wanted, may_be_unknown=True):
                self._untried = wanted.style
        elif rank < self._rank:
            self.wanted, self._rank = wanted, rank

    @property
    def untried(self) -> Iterator[tuple[Key, str]]:
        """As `Choice.untried`."""
        keys = chain.from_iterable(self._keys) if self._untried else ()
        return ((key, self._untried) for key in keys)

    def _note(self, forms: Mapping[Key, Form]) -> None:
        """Keeps what some target would take of a result, and who does not."""
        found = [_found_in(forms, each) for each in self._keys]
        targets = (*self._targets, *self._implied)
        replies = [
            (keys, form, reply)
            for keys, form in zip(self._keys, found, strict=True)
            for reply in answers_to(form, targets)
        ]
        rows = [*zip(replies, self._given, self._taken(found), strict=True)]
        against = next(
            reply
            for (_, _, reply), (was, _), (now, _) in rows
            if now >= _UNKNOWN and not now == was == _UNKNOWN
        )
        for (keys, form, reply), (was, _), (now, _) in rows:
            if was >= _FALLBACK and now < _FALLBACK and form is not None:
                for key in keys:
                    self.blocked.setdefault((key, reply.target), (form, against))

    def gains(self, forms: Mapping[Key, Form]) -> bool:
        """Whether targets take it better in a result than as it came, and nothing is known less."""
        rank = self._admitted(forms, self.wanted)
        return rank is not None and rank < self._came

    def loses(self, forms: Mapping[Key, Form]) -> bool:
        """Whether a target is known to take it less well in a result than as it came."""
        found = self._taken([_found_in(forms, each) for each in self._keys])
        rows = zip(self._given, found, strict=True)
        return any(was < now and (was == _RIGHT or now >= _REJECTED) for (was, _), (now, _) in rows)

    def is_guarded_in_vain(self, forms: Mapping[Key, Form]) -> bool:
        """Whether a `Pad` is protected in a result by what some target does not take."""
        found = [_found_in(forms, each) for each in self._keys]
        return any(
            form is not None
            and (form.fill == "empty" or (form.auto_pad == "VALID" != came.auto_pad))
            and _is_worse_guarded(form, self._targets)
            for came, form in zip(self._forms, found, strict=True)
        )

    def _admitted(
        self, forms: Mapping[Key, Form], wanted: Wanted, *, may_be_unknown: bool = False
    ) -> tuple[int, ...] | None:
        """The rank of a result; None where it is not taken, or less is known than before.

        What was computed wrongly may be unknown then. What was rejected may be where it is only
        spelled otherwise, or written as options ask: an error is noticed, other numbers are not.
        """
        is_free = may_be_unknown or self._is_asked or wanted.style == KEPT.style
        grades = []
        found = self._taken([_found_in(forms, each) for each in self._keys])
        for (was, was_limit), (now, limit) in zip(self._given, found, strict=True):
            is_freed = now == _UNKNOWN and (was == _WRONG or (is_free and was == _REJECTED))
            if now >= _UNKNOWN and not now == was == _UNKNOWN and not is_freed:
                return None
            grades.append(_WRONG if limit and not was_limit else now)
        return _rank(grades)

    def _taken(self, forms: Iterable[Form | None]) -> list[tuple[int, bool]]:
        """The grades of forms by target, and whether what no padding mends speaks against each."""
        found: list[tuple[int, bool]] = []
        for form in forms:
            replies, own = answers_to(form, self._targets), answers_to(form, self._implied)
            found += [(_best_known(reply), reply.cell.limit) for reply in replies]
            # What its optimiser gets wrong is protected; only what it never runs counts here.
            found += [
                (_WRONG if cell.verdict == "rejected" else _RIGHT, cell.limit) for _, cell in own
            ]
        return found


def _found_in(forms: Mapping[Key, Form], keys: Iterable[Key]) -> Form | None:
    """The form of a padding in a result; None where it is gone, as that of a `Pad` that folds."""
    return next((forms[key] for key in keys if key in forms), None)


def _rank(grades: Sequence[int]) -> tuple[int, ...]:
    """Smaller for what is better: first how often a form is not taken, then how often unknown."""
    return tuple(grades.count(each) for each in (_WRONG, _REJECTED, _UNKNOWN, _FALLBACK, _READ))


_PERFECT = (0, 0, 0, 0, 0)


def _asks(options: Options, form: Form) -> bool:
    """Whether options ask for a way of writing that concerns a form."""
    is_open = "open" in {form.pads, form.outer} or form.pad == "computed"
    return (
        not isinstance(options.style, Unasked)
        or (options.no_ceil and bool(form.ceil))
        or (options.symmetric_transpose and form.op == "ConvTranspose")
        or (options.dynamic != Options().dynamic and is_open)
    )


def _ways(options: Options, targets: Sequence[Target]) -> list[Wanted]:
    """The ways to write a padding that options leave, the least rewriting first."""
    usual, spelling = Options(), frozenset(_spellings(targets)) | _AS_IT_CAME.spelling
    asked: tuple[set[str] | set[bool], ...] = (
        set() if isinstance(options.style, Unasked) else {options.style},
        {options.dynamic} - {usual.dynamic},
        {options.no_ceil} - {usual.no_ceil},
        {options.symmetric_transpose} - {usual.symmetric_transpose},
    )
    ways = [
        way
        for way in _WAYS
        if all(not some or value in some for value, some in zip(astuple(way), asked, strict=False))
    ]
    if {"value", "no_value"} & spelling:  # an empty third input is neither
        spelling |= {"no_empty_fill"}
    is_spelled = spelling > _AS_IT_CAME.spelling and not any(asked)
    kept = [replace(KEPT, spelling=spelling)] if is_spelled else []
    anew = spelling | {"initializers"}
    paired = anew - {"no_output_padding"}  # symmetric pads are what needs output_padding
    return [
        *kept,
        *(replace(each, spelling=paired if each.symmetric_transpose else anew) for each in ways),
    ]


def _spellings(targets: Sequence[Target]) -> dict[str, Target]:
    """The spellings that targets insist on; of opposites that of the target named first."""
    found = dict[str, Target]()
    for target in targets:
        for each in target.spell:
            if OPPOSITES.get(each) not in found:
                found.setdefault(each, target)
    return found


def _unheeded(targets: Sequence[Target]) -> Iterator[str]:
    """A line for each spelling that is not heeded, since an earlier target insists on another."""
    found = _spellings(targets)
    for target in targets:
        for each in sorted({*target.spell} - found.keys()):
            first = found[OPPOSITES[each]]
            yield (
                f"{target.name} and {first.name} insist on opposite spellings "
                f"({each}, {OPPOSITES[each]}): {first.name} is named first, and is heeded"
            )


def _written(run: Run, wanted: Wanted, names: Container[str]) -> dict[Key, Form]:
    """The forms of a model written in one way, by the keys of each padding, as `_by_key`."""
    options, graph, is_kept = run.options, run.graph, wanted.style == KEPT.style
    if not is_kept:
        ways = ("style", "dynamic", "no_ceil", "symmetric_transpose")
        options = replace(options, **{way: getattr(wanted, way) for way in ways})
    mark = graph.mark()
    try:
        return _by_key(_tried(run, options, {} if is_kept else None, wanted), names)
    finally:
        graph.rollback(mark)


def _tried(
    run: Run, options: Options, wants: Mapping[str, Wanted] | None, usual: Wanted | None = None
) -> list[Placed]:
    """The forms of a model once it is written so, as `Run.write_each` has it."""
    trial = Run(run.graph, options, domain=run.domain)
    trial.barred = run.barred
    trial.write_each(wants, _passes(options), usual)
    trial.edit()
    return [*forms_of(trial.left, bare=True)]


def _passes(options: Options) -> tuple[type[Pass], ...]:
    """The passes that write padding for targets; a `Pad` is protected where onnxruntime is one."""
    spelling = [SpellPadding] if options.chooses(SpellPadding.code) else []
    passes = (*every_pass(), *spelling)
    return tuple(each for each in passes if each is not GuardPad or not options.target_only)


def _by_key(found: Iterable[Placed], names: Container[str]) -> dict[Key, Form]:
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
        joined = [each]
        for name in {*_names(each)}:
            other = groups.get(name, joined)
            if other is not joined:
                joined, less = (other, joined) if len(other) > len(joined) else (joined, other)
                joined += less
                groups |= dict.fromkeys(chain.from_iterable(map(_names, less)), joined)
        groups |= dict.fromkeys(_names(each), joined)
    return [*{id(each): each for each in groups.values()}.values()]


def _names(placed: Placed) -> Iterator[str]:
    """The unique names of the outputs of the nodes of a padding."""
    unique = placed.context.graph.unique
    for node in (placed.node, *placed.nodes):
        yield from (unique(tensor.name) for tensor in node.outputs if tensor.name)
