"""Changes as they read from the model given: a `Pad` moved and then folded is one change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onnxpad.finding import Certificate, Change
from onnxpad.pipeline.transaction import Made
from onnxpad.records import NamedTuple
from onnxpad.site_form import SiteForm, StepForm


class _Entry(NamedTuple):
    """One operator of a form: its step, and the label of a `Pad` in its graph."""

    step: StepForm
    label: str = ""


def with_net(made: Sequence[Made]) -> list[Change]:
    """The changes, each with what it comes to if others led to it, or marked as one of those.

    A change led to another if all `Pad`s that it added are gone at the end, or if the other changed
    the same operator once more.

    Args:
        made: The changes in order.
    """
    nodes = {each.place[2] for each in made}
    if len(nodes) == len(made) and not any(each.left for each in made):
        return [each.change for each in made]  # no change went on with what another one left
    led = _led(made)
    interim = {index for before in led for index in before}
    origins = _Origins(made, led)
    found: list[Change] = []
    for index, each in enumerate(made):
        if index in interim:
            found.append(replace(each.change, interim=True))
            continue
        before = [made[other].change for other in sorted(_all_before(index, led))]
        net = _net(each.change, *origins.forms(index), before) if before else None
        found.append(replace(each.change, net=net) if net is not None else each.change)
    return found


def _led(made: Sequence[Made]) -> list[list[int]]:
    """For each change those that led to it at once."""
    found: list[list[int]] = [[] for _ in made]
    adders: dict[str, int] = {}
    nodes: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    left = [set(each.left) for each in made]
    for index, each in enumerate(made):
        for label in dict.fromkeys((*each.pads, *sorted(each.gone))):
            if label in adders and index not in readers.setdefault(adders[label], []):
                readers[adders[label]].append(index)
        for label in each.gone:
            if label in adders:
                left[adders.pop(label)].discard(label)
        adders.update(dict.fromkeys(each.left, index))
        before = nodes.get(each.place[2])
        if before is not None and _goes_on(made[before].change, each.change):
            found[index].append(before)
        nodes[each.place[2]] = index
    for adder, indices in readers.items():
        if not left[adder]:
            for index in indices:
                found[index].append(adder)
    return found


def _goes_on(before: Change, after: Change) -> bool:
    """Whether a change begins with an operator as another one of the same operator left it."""
    was, now = after.was.steps, before.now.steps
    left = {step.form for step in now if step.kind in {"window", "transposed"}}
    return before.node == after.node and bool(was) and was[-1].form in left


def _all_before(index: int, led: Sequence[Sequence[int]]) -> set[int]:
    found, open_ends = set[int](), [*led[index]]
    while open_ends:
        if (other := open_ends.pop()) not in found:
            found.add(other)
            open_ends += led[other]
    return found


class _Origins:
    """The forms in the model given of what changes began with."""

    def __init__(self, made: Sequence[Made], led: Sequence[Sequence[int]]) -> None:
        """Takes the changes, and for each those that led to it."""
        self._made = made
        self._led = led

    def forms(self, index: int) -> tuple[SiteForm, SiteForm]:
        """The form that a change and those before it began with, and the form now."""
        change = self._made[index].change
        was = tuple(entry.step for entry in self._entries(index))
        between = [step for step in was if step.kind == "step"]
        told = sum(step.kind == "step" for step in change.was.steps)
        stay = between[: len(between) - told] if change.now.steps else []
        return SiteForm(was), change.now._replace(steps=(*stay, *change.now.steps))

    def _entries(self, index: int) -> list[_Entry]:
        found: list[_Entry] = []
        for entry in self._labelled(index):
            found += self._expanded(entry, index)
        node = self._made[index].place[2]
        earlier = [other for other in self._led[index] if self._made[other].place[2] == node]
        if earlier and found:
            last = self._entries(earlier[0])
            known = {entry.label for entry in last if entry.label}
            if any(entry.step.kind == "step" for entry in last):
                known.add("")
            fresh = [each for each in found[:-1] if each.label not in known]
            found = [*fresh, *last]
        return found

    def _expanded(self, entry: _Entry, index: int) -> list[_Entry]:
        """An entry; in place of a `Pad` that another change moved there, what that began with."""
        for other in self._led[index]:
            if entry.label and entry.label in self._made[other].left:
                gone = self._made[other].gone
                moved = [e for e in self._labelled(other) if not e.label or e.label in gone]
                return [part for each in moved for part in self._expanded(each, other)]
        return [entry]

    def _labelled(self, index: int) -> list[_Entry]:
        labels = iter(self._made[index].pads)
        steps = self._made[index].change.was.steps
        return [_Entry(step, next(labels, "") if step.kind == "pad" else "") for step in steps]


def _net(last: Change, was: SiteForm, now: SiteForm, before: Sequence[Change]) -> Change:
    """A change with all that led to it: what it began with, removed and rests on."""
    certificates = [each.certificate for each in before]
    removed = [name for each in (*before, last) for name in each.removed]
    return replace(
        last,
        was=was,
        now=now,
        removed=tuple(dict.fromkeys(removed)),
        certificate=_joined(last.certificate, certificates),
    )


def _joined(last: Certificate, others: Sequence[Certificate]) -> Certificate:
    """A certificate that holds where all of some do; its statement is that of the last."""
    each = [*others, last]
    facts = dict(last.facts)
    if any(one.facts.get("repair") for one in each):
        facts["repair"] = True
    limited = next((one for one in (last, *others) if one.limited_to), last)
    if limited is not last:
        facts["sizes"] = limited.facts["sizes"]
    return replace(
        last,
        assumptions=tuple(dict.fromkeys(taken for one in each for taken in one.assumptions)),
        limits=limited.limits,
        within={name: sizes for one in each for name, sizes in one.within.items()},
        facts=facts,
    )
