"""Pieces of every text report: names made safe, counts, times, remarks, groups of like ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import UsageError, and_list, few, shortened, without_names
from onnxpad.errors import counted as counted
from onnxpad.finding import Change, Finding, SiteForm, StepForm, WrittenAmounts
from onnxpad.report import Configured, FileReport, FixReport, RepadReport, ShowReport
from onnxpad.report.layout import Paint as Paint
from onnxpad.report.layout import marked as marked
from onnxpad.report.layout import plain as plain
from onnxpad.report.layout import shortened_to, unmarked

NODES_A_REASON = 8
_LONGEST_REPR = 150


def shown(name: str) -> str:
    r"""A name made safe for one line of a terminal: names in a model may hold any character.

    >>> print(shown("features.0/畳み込み"), shown("a\nb\x1b[2J"))
    features.0/畳み込み a\nb\x1b[2J
    """
    name = shortened(name)
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def for_targets(names: Sequence[str]) -> str:
    """Targets in the versions that they mean, and how these are known; empty without any.

    >>> for_targets(["trt", "opencv@4"])
    ', for tensorrt 10.1 (read) and opencv 4.14.0 (run)'
    """
    if not names:
        return ""
    from onnxpad.targets.known_targets import load

    said = []
    for name in names:
        try:
            found = load(name)
        except UsageError:  # a file of the user's that is gone, or not where this is told
            said.append(shown(name))
            continue
        known = "run" if found.measured else "read"
        said.append(f"{shown(' '.join(filter(None, (found.name, found.version))))} ({known})")
    return f", for {and_list(said)}"


def duration(seconds: float) -> str:
    """A time in seconds or milliseconds; empty for NaN, which stands for no run.

    >>> duration(0.000316), duration(0.25), duration(75.0), duration(math.nan)
    ('0.3 ms', '250.0 ms', '75.0 s', '')
    """
    if math.isnan(seconds):
        return ""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def remarks(report: FixReport | FileReport | RepadReport | ShowReport) -> Iterator[str]:
    """The warnings and notes of a report."""
    for line in report.warnings:
        yield f"{marked('warning', 'warning')}: {shown(line)}"
    for line in report.notes:
        yield f"note: {shown(line)}"
    if not isinstance(report, FileReport):  # a check has several, which may share one
        yield from configurations([report.config])


def configurations(configs: Iterable[Configured | None]) -> Iterator[str]:
    """A line for each configuration file that held: what it says.

    Of sizes that it gives, those that none of its models has are named.
    """
    by_path = dict[str, list[Configured]]()
    for each in configs:
        if each is not None:
            by_path.setdefault(each.path, []).append(each)
    for path, models in by_path.items():
        said = dict.fromkeys(
            f"{key} {setting(value)}" for each in models for key, value in each.options.items()
        )
        many = f" for {counted(len(models), 'model')}" if len(models) > 1 else ""
        lacking = dict.fromkeys(size for each in models for size in _sizes(each.unused))
        for each in models:
            for size in _sizes(each.options):
                lacking.pop(size, None)
        lines = [", ".join(said), *(f"no model has {size}" for size in lacking)]
        yield f"note: configured{many} by {shown(path)}: " + shown("; ".join(filter(None, lines)))


def _sizes(options: Mapping[str, object]) -> Iterator[str]:
    """The sizes among the keys of a configuration, each in words."""
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from (f"{key} {setting({name: text})}" for name, text in value.items())


def setting(value: str | tuple[str, ...] | Mapping[str, str]) -> str:
    """The value of a key of a configuration, in words.

    >>> setting("pad"), setting(("PAD1", "PAD2")), setting({"h": "3", "": "1,2"}), setting(())
    ('pad', 'PAD1 PAD2', 'h=3 1,2', 'none')
    """
    if isinstance(value, Mapping):
        value = tuple(f"{key}={each}" if key else each for key, each in value.items())
    return value if isinstance(value, str) else " ".join(value) or "none"


def beside(older: str, data: Sequence[str]) -> str:
    """The rest of a last line: an older file that stays, and files of external data."""
    told = f"; {shown(older)} is an older file and stays" if older else ""
    if data:
        names = ", ".join(map(shown, data))
        many = len(data) > NODES_A_REASON
        told += f", its external data to {counted(len(data), 'file') if many else names}"
    return told


def labelled(item: Finding | Change) -> str:
    """The node of a change or finding with its operator: `conv1 (Conv)`."""
    return f"{shown(item.node)} ({shown(item.op_type)})"


def fixable_text(finding: Finding) -> str:
    """Says what would be rewritten, for which sizes, and what that rests on."""
    text = shown(finding.message)
    if finding.sizes:
        text += f"; exact for {shown(finding.sizes)}"
    if finding.assumptions:
        text += f"; assumes: {', '.join(map(shown, finding.assumptions))}"
    return text


def explained(items: Iterable[Finding | Change]) -> str:
    """The command that explains the code of the first of some items; empty without any.

    A report says it once, at its end.
    """
    first = next(iter(items), None)
    return "" if first is None else f"onnxpad rule {first.code} explains a code"


def first_names(items: Sequence[Finding] | Sequence[Change], most: int = NODES_A_REASON) -> str:
    """The names of the first few nodes, and how many more there are."""
    return few((shown(item.node) for item in items), most)


def one_line(result: object, text: str) -> str:
    """The `repr` of a result: its class, and the rest in few words."""
    return f"<{type(result).__name__}: {shortened_to(shown(unmarked(text)), _LONGEST_REPR)}>"


_T = TypeVar("_T")
_VARIANTS = 4
"""How many different amounts of a group are listed."""
_PAD = StepForm("Pad", "pad")


class ChangeGroup(Struct, frozen=True):
    """Changes of one rule that write the same form of one operator as the same other form.

    Attributes:
        code: The code of the rule.
        op_type: The operator.
        was: The form before, without amounts.
        now: The same after.
        amounts: The amounts and how many changes have them, most frequent first; None for those
            that are not constant.
        repairs: Whether the runtime does not run what was there.
        changes: The changes, in order.
    """

    code: str
    op_type: str
    was: SiteForm
    now: SiteForm
    amounts: tuple[tuple[WrittenAmounts | None, int], ...]
    repairs: bool
    changes: tuple[Change, ...]


def change_groups(changes: Iterable[Change]) -> list[ChangeGroup]:
    """The changes in groups, the greatest group first."""

    def key(change: Change) -> tuple[object, ...]:
        # With and without pads are amounts of one form.
        was, now = _bare(change.was, with_pads=False), _bare(change.now, with_pads=False)
        return change.code, change.op_type, was, now, change.repairs

    found = []
    for group in grouped(changes, key):
        amounts = Counter(change.now.amounts or change.was.amounts for change in group)
        first = group[0]
        found.append(
            ChangeGroup(
                code=first.code,
                op_type=first.op_type,
                was=_bare(max((change.was for change in group), key=_has_pads)),
                now=_bare(max((change.now for change in group), key=_has_pads)),
                amounts=tuple(amounts.most_common()),
                repairs=first.repairs,
                changes=tuple(group),
            )
        )
    return sorted(found, key=lambda group: -len(group.changes))


def _has_pads(form: SiteForm) -> bool:
    """Whether the last operator has pads, and nothing else."""
    last = form.steps[-1] if form.steps else None
    return last is not None and last.has_pads and not (last.is_counted or last.rounds_up)


@lru_cache(maxsize=1024)  # as networks repeat the same few forms
def _bare(form: SiteForm, *, with_pads: bool = True) -> SiteForm:
    """A form without amounts; it may also be without the pads of the last operator."""
    steps = [replace(step, amounts=None, fill=None) for step in form.steps]
    if _has_pads(form) and not with_pads:
        steps[-1] = replace(steps[-1], has_pads=False)
    return SiteForm(tuple(steps))


def was_in_words(group: ChangeGroup) -> str:
    """The form before, such as `Pad before Conv`."""
    refused = " (does not run)" if group.repairs else ""
    return _in_words(_behind(_unguarded(group.was), group.now.steps), group.op_type) + refused


def now_in_words(group: ChangeGroup) -> list[str]:
    """The form after, without the operator that the form before names already; in parts."""
    was, after = _unguarded(group.was), group.now.steps
    if was != group.was.steps:  # it was guarded before
        after = _unguarded(group.now)
    if not after:
        return ["removed"]
    if was == after and was[0].op == "Pad" and was[0].source == "computed":
        return ["by fewer nodes"]
    if was[:1] == (_PAD,) and was[1:] and after == (*was[1:], _PAD):
        return ["moved past that"]
    if was == (_PAD,) and after == (_PAD, _PAD):
        return ["two Pads"]
    if after[0].kind == "transposed":
        before = _behind(was, after)
        after = (after[0], *(step for step in after[1:] if step not in before))
    if len(was) > 1 and was[-1:] == after and after[0] == StepForm(group.op_type, after[0].kind):
        return ["dropped:", "never read"]
    told = _in_words(after, group.op_type, is_result=True).split("\n")
    return [*told[:-1], f"{told[-1]},", "a repair"] if group.repairs else told


def _behind(was: tuple[StepForm, ...], now: Sequence[StepForm]) -> tuple[StepForm, ...]:
    """The form before, of a `Pad` with the transposed convolution that takes it and all between."""
    if was[:-1] or not was or was[0].kind != "pad" or not now or now[0].kind != "transposed":
        return was
    return (StepForm(now[0].op, "transposed"), *now[1:], *was)


def _unguarded(form: SiteForm) -> tuple[StepForm, ...]:
    return tuple(replace(step, is_guarded=False) for step in form.steps)


def _in_words(steps: Sequence[StepForm], op_type: str, *, is_result: bool = False) -> str:
    """A form as people say it: `Pad before Conv`, `Slice behind ConvTranspose`.

    Args:
        steps: The form.
        op_type: The operator that is changed.
        is_result: Whether it stands beside the form before: flags are on lines of their own, and
            the operator is left out where it comes first and more is said of it.
    """
    if not steps:
        return ""
    *first, last = steps
    link, past = " and ", ""
    if not first:
        named = [last]
    elif first[0].kind == "transposed" or last.source or last.op != op_type:
        named, link = [last, *reversed(first)], " behind "
    else:
        pads = [step for step in first if step.kind == "pad"]
        between = len(first) - len(pads)
        past = f", past {counted(between, 'operator')}" if pads and between else ""
        named = pads or first
        past = f" before {_step_in_words(last)}{past}"
    is_named = not is_result or op_type != named[0].op or bool(named[0].source)
    goes_on = len(named) > 1 or bool(past) or named[0] != StepForm(op_type, named[0].kind)
    is_named = is_named or not goes_on or named[0].is_phrased
    told = [_step_in_words(step) for step in named]
    told[0] = _step_in_words(named[0], is_named=is_named)
    return f"{link.join(told)}{past}".lstrip()


def _step_in_words(step: StepForm, *, is_named: bool = True) -> str:
    return step.words(shown(step.op) if is_named else "")


def amounts_in_words(group: ChangeGroup) -> list[str]:
    """The most frequent amounts of a group, and how many changes have each."""
    several = len(group.amounts) > 1
    if not several and group.amounts[0][0] is None:
        return []
    told = []
    for amounts, count in group.amounts[:_VARIANTS]:
        said = "none"
        if amounts is not None:
            said = amounts.by_axis or amounts.written
            if amounts.axes and len(amounts.attributes) > several:
                said = f"{amounts.by_axis}   {amounts.written}"
        told.append(f"{count:,}x {said}" if several else said)
    if rest := group.amounts[_VARIANTS:]:
        many = sum(count for _, count in rest)
        told.append(f"{many:,}x in {counted(len(rest), 'other way')}")
    return told


def reason_groups(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings in groups of one code and one reason, in the order of first appearance."""
    return grouped(findings, lambda f: (f.severity, f.code, without_names(f.reason) or f.message))


def grouped(items: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """The items grouped by key; groups and items in the order of first appearance."""
    groups: dict[Hashable, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def unrequested(findings: Sequence[Finding], undone: Sequence[Finding]) -> list[Finding]:
    """The findings about what nobody asked to keep, and not about changes that were taken back."""
    told = {(finding.code, finding.node, finding.reason) for finding in undone}
    return [
        each
        for each in findings
        if (each.code, each.node, each.reason) not in told and not each.asked
    ]


def kept_as_asked(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings about padding that stays since an option asks for that, by option."""
    return grouped([each for each in findings if each.asked], lambda each: each.asked)
