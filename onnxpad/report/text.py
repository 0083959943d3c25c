"""The reports of `fix` and `check` as text: a line for each change, findings grouped by reason.

Lines are never cut or wrapped: terminals wrap them, and logs and `grep` need whole lines. Very long
names lose their middle.
"""

import math
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from onnxpad.finding import Change, Finding, Severity
from onnxpad.messages import shortened
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport, FileReport, FixReport, Outcome, RepadReport
from onnxpad.report.next_text import next_line

if TYPE_CHECKING:
    from onnxpad.validation.result import Comparison, Divergence, Run, Validation

LINES_A_GROUP = 20
NODES_A_REASON = 8
WIDEST_COLUMN = 40

_ABOUT_CONVENTIONS = frozenset({Reason.CONVENTION_TOLD, Reason.FRAMEWORK_CONVENTION})

Paint = Callable[[str, str], str]  # (text, role) -> the text to print

_SGR = {
    "good": "32",
    "info": "36",
    "warning": "33",
    "error": "1;31",
    "strong": "1",
    "faint": "2",
}

_T = TypeVar("_T")


def plain(text: str, role: str) -> str:
    """The text without colours: for files, pipes and NO_COLOR."""
    return text


def coloured(text: str, role: str) -> str:
    """The text in the terminal colour of its role: a severity, `good`, `strong` or `faint`."""
    return f"\x1b[{_SGR[role]}m{text}\x1b[0m"


def shown(name: str) -> str:
    r"""A name made safe for one line of a terminal: names in a model may hold any character.

    >>> print(shown("features.0/畳み込み"), shown("a\nb\x1b[2J"))
    features.0/畳み込み a\nb\x1b[2J
    """
    name = shortened(name)
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def counted(count: int, noun: str) -> str:
    """The count with its noun in singular or plural.

    >>> counted(1, "change"), counted(1200, "node")
    ('1 change', '1,200 nodes')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def fix_text(report: FixReport, paint: Paint = plain) -> str:
    """The report of `fix`: changes, undone changes, padding that stays, validation, file."""
    blocks = [
        [_headline(report, paint), *_declared(report), *remarks(report, paint)],
        *_changes(report.changes, paint),
        _assumptions(report.changes, paint),
        _undone(report.undone, paint),
        _kept(report.findings, report.undone, paint),
        [*_as_asked(report.findings)],
        _validation(report, paint),
        [next_line(report.next)] if report.next else [],
        [_ending(report, paint)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def file_text(file: FileReport, paint: Paint = plain) -> str:
    """The findings of `check` in one file, each line with its path; empty if there are none."""
    lines: list[str] = []
    fixable = [finding for finding in file.findings if finding.fixable]
    for group in grouped(fixable, lambda finding: (finding.severity, finding.code)):
        label = _label(group[0], paint)
        lines += [f"{label} {_node(f)}: {_fixable(f)}" for f in group[:LINES_A_GROUP]]
        lines += [f"{label} {more}" for more in _more(len(group) - LINES_A_GROUP)]
    refused = [finding for finding in file.findings if not finding.fixable]
    about = [finding for finding in refused if finding.reason_code in _ABOUT_CONVENTIONS]
    rest = [finding for finding in refused if finding.reason_code not in _ABOUT_CONVENTIONS]
    lines += [f"{_label(group[0], paint)} {_refusal(group)}" for group in _by_reason(rest)]
    lines += _conventions(about, paint)
    lines += remarks(file, paint)
    return "".join(f"{shown(file.path)}: {line}\n" for line in lines)


def _conventions(findings: Sequence[Finding], paint: Paint) -> Iterator[str]:
    """A line for each operator that does not fit what was asked for, and one for all else."""
    unfit = [finding for finding in findings if finding.severity is not Severity.INFO]
    for group in grouped(unfit, lambda finding: (finding.severity, finding.code)):
        label = _label(group[0], paint)
        for each in group[:LINES_A_GROUP]:
            yield f"{label} {_node(each)}: {shown(each.message)}; {shown(each.reason)}"
        yield from (f"{label} {more}" for more in _more(len(group) - LINES_A_GROUP))
    only_told = [finding for finding in findings if finding.severity is Severity.INFO]
    if only_told:
        said = "; ".join(shown(finding.message) for finding in only_told)
        yield f"{_label(only_told[0], paint)} conventions: {said}"


def remarks(report: FixReport | FileReport | RepadReport, paint: Paint) -> list[str]:
    """The warnings and notes of a report, a line each."""
    warnings = [f"{paint('warning', 'warning')}: {shown(line)}" for line in report.warnings]
    return warnings + [f"note: {shown(line)}" for line in report.notes]


def _fixable(finding: Finding) -> str:
    text = shown(finding.message)
    if finding.sizes:
        text += f"; exact for {shown(finding.sizes)}"
    if finding.assumptions:
        text += f"; assumes: {', '.join(map(shown, finding.assumptions))}"
    return text


def check_summary(report: CheckReport, paint: Paint = plain) -> str:
    """The last line of `check`: the number of files, and of findings of each severity."""
    counts = [
        paint(counted(count, severity), severity)
        for severity in reversed(Severity)
        if (count := report.count(severity))
    ]
    if unreadable := sum(bool(file.error) for file in report.files):
        counts.append(paint(f"{unreadable:,} unreadable", "error"))
    found = ", ".join(counts) or paint("nothing found", "good")
    return f"{counted(len(report.files), 'file')}: {found}\n"


def _headline(report: FixReport, paint: Paint) -> str:
    model = paint(shown(report.model), "strong")
    if report.outcome is Outcome.UNCHANGED:
        nothing = "no change was kept" if report.undone else "nothing to change"
        return f"{model}: {nothing} for style {report.style}"
    changes = counted(len(report.changes), "change")
    nodes = f"{report.nodes_before:,} -> {counted(report.nodes_after, 'node')}"
    would = " would be made" if report.check else ""
    line = f"{model}: {changes}{would} for style {report.style}, {nodes}"
    if not report.changes and report.declared:
        line = f"{model}: no padding to change for style {report.style}, but sizes to declare"
    found = report.validation
    if found is not None and found.outcome == "nothing compared":
        line += f"; {paint('not validated', 'warning')}: {shown(found.reason)}"
    return line


def _declared(report: FixReport) -> Iterator[str]:
    """A line for each input with sizes newly declared, and one for ranges."""
    declares = "would declare" if report.check else "declares"
    if any(made.certificate.within for made in report.changes):
        which = "would say" if report.check else "says"
        yield f"Proved for {shown(report.ranges)} only, as the model's metadata {which}"
    for name, shape in report.declared.items():
        sizes = "x".join("?" if size is None else str(size) for size in shape)
        yield f"  {declares} input {shown(repr(name))} as {shown(sizes)}"


def _changes(changes: Sequence[Change], paint: Paint) -> Iterator[list[str]]:
    """A block for each code; a proof or probe that all its changes share is said once, on top."""
    for group in grouped(changes, lambda change: change.code):
        listed = group[:LINES_A_GROUP]
        common = [said for said in (_proof, _probe) if len({said(c) for c in group}) == 1]
        head = [counted(len(group), "change"), *(said(group[0]) for said in common)]
        if _probe in common and len(group) > 1:
            head[-1] = head[-1].replace("probe: ", "probe: each ", 1)
        rows = columns(
            [_node(change) for change in listed],
            [f"{shown(c.before)}  becomes  {shown(c.after)}" for c in listed],
        )
        block = [f"{paint(group[0].code, 'strong')}  {'; '.join(filter(None, head))}"]
        for change, row in zip(listed, rows, strict=True):
            own = "; ".join(said(change) for said in (_proof, _probe) if said not in common)
            block += [row, f"      {paint(own, 'faint')}"] if own else [row]
        yield block + _indented(_more(len(group) - LINES_A_GROUP))


def _proof(change: Change) -> str:
    certificate = change.certificate
    return f"exact for {shown(certificate.sizes)}: {shown(certificate.statement)}"


def _probe(change: Change) -> str:
    return f"probe: {shown(change.probe)}" if change.probe else ""


def _assumptions(changes: Sequence[Change], paint: Paint) -> list[str]:
    pairs = [(taken, change) for change in changes for taken in change.certificate.assumptions]
    groups = grouped(pairs, lambda pair: pair[0])
    if not groups:
        return []
    lines = [
        f"{shown(group[0][0])}: {counted(len(group), 'change')}: {_nodes([c for _, c in group])}"
        for group in groups
    ]
    return [paint("Assumptions (--strict refuses these)", "warning"), *_indented(lines)]


def _undone(undone: Sequence[Finding], paint: Paint) -> list[str]:
    if not undone:
        return []
    head = f"UNDONE: {counted(len(undone), 'change')} taken back; this padding is as it was"
    return [paint(head, "error"), *_indented(_refusals(undone, paint, stays=""))]


def _kept(findings: Sequence[Finding], undone: Sequence[Finding], paint: Paint) -> list[str]:
    told = {(finding.code, finding.node, finding.reason) for finding in undone}
    kept = [f for f in findings if (f.code, f.node, f.reason) not in told and not f.asked]
    if not kept:
        return []
    by_code = grouped(kept, lambda finding: finding.code)
    codes = ", ".join(f"{len(group):,} {group[0].code}" for group in by_code)
    head = f"Left as it is: {counted(len(kept), 'finding')} ({codes})"
    return [head, *_indented(_refusals(kept, paint, stays="stays: "))]


def _as_asked(findings: Sequence[Finding]) -> Iterator[str]:
    """A line for each option that asks for padding as it is."""
    for group in grouped([each for each in findings if each.asked], lambda each: each.asked):
        yield f"As {group[0].asked} asks for: {counted(len(group), 'node')} ({_nodes(group)})"


def _refusals(findings: Iterable[Finding], paint: Paint, stays: str) -> list[str]:
    groups = _by_reason(findings)
    listed, rest = groups[:LINES_A_GROUP], groups[LINES_A_GROUP:]
    lines = [f"{paint(group[0].code, 'strong')}  {_refusal(group, stays)}" for group in listed]
    return [*lines, *_more(sum(map(len, rest)))]


def _refusal(group: Sequence[Finding], stays: str = "stays: ") -> str:
    """One line for findings that share a code and a reason: their number, and the first names.

    Args:
        group: The findings.
        stays: Words before a reason that does not say by itself what happened to the padding.
    """
    first = group[0]
    if len(group) == 1:
        reason = f"; {stays}{shown(first.reason)}" if first.reason else ""
        return f"{_node(first)}: {shown(first.message)}{reason}"
    reason = f"{stays}{shown(_alike(first))}" if first.reason else shown(first.message)
    return f"{counted(len(group), 'node')} ({_nodes(group)}); {reason}"


def _validation(report: FixReport, paint: Paint) -> list[str]:
    validation = report.validation
    if validation is None:
        skipped = report.changes and not report.validate
        return [paint("Not validated (--no-validate)", "warning")] if skipped else []
    verdict = {
        "passed": paint("passed", "good"),
        "failed": paint("FAILED", "error"),
        "nothing compared": paint("compared nothing", "warning"),
    }[validation.outcome]
    probes = f", {counted(validation.probes, 'change')} probed alone" if validation.probes else ""
    names = [_run_name(run) for run in validation.runs]
    rows = [_run_result(run, validation.warnings, paint) for run in validation.runs]
    return [
        f"Validation {verdict}: {counted(len(validation.runs), 'run')} of the whole model{probes}",
        *columns(names, rows),
        *(f"  {paint('warning', 'warning')}: {shown(line)}" for line in validation.warnings),
        *(f"  not compared: {shown(line)}" for line in untold(validation)),
        *(divergence_lines(validation.divergence, paint) if validation.divergence else ()),
    ]


def _run_name(run: "Run") -> str:
    provider = run.provider.removesuffix("ExecutionProvider")
    return f"{shown(provider)}, optimisation {run.optimisation}, {shown(run.inputs)}"


def _run_result(run: "Run", warnings: Sequence[str], paint: Paint) -> str:
    """`equal bit for bit`, or the outputs that differ, worst first; then the times."""
    differing = [c for c in run.comparisons if not c.equal]
    differing.sort(key=lambda c: (c.ok, -c.max_abs if c.max_abs == c.max_abs else -math.inf))
    if run.excused and not run.comparisons and noted(run, warnings) == "see the warning":
        result = "not compared; see the warning"
    elif not run.comparisons:
        result = shown(run.note) or "did not run"
    elif not differing:
        result = f"{counted(len(run.comparisons), 'output')} equal bit for bit"
    else:
        worst = "; ".join(_difference(c) for c in differing[:NODES_A_REASON])
        rest = len(differing) - NODES_A_REASON
        result = f"{worst}; and {counted(rest, 'more output')}" if rest > 0 else worst
    if run.comparisons:
        result += f" ({times(run)})"
        result += f"; {note}" if (note := noted(run, warnings)) else ""
    return result if run.ok else f"{paint('DIFFERS', 'error')}: {result}"


def noted(run: "Run", warnings: Sequence[str]) -> str:
    """The note of a run, or a pointer to the warning that already says the same."""
    told = run.note and any(warning.endswith(run.note) for warning in warnings)
    return "see the warning" if told else shown(run.note)


def untold(validation: "Validation") -> list[str]:
    """The comparisons that were not made, without those that a run or a warning already names."""
    told = [*validation.warnings, *(run.note for run in validation.runs if run.note)]
    return [
        line
        for line in validation.uncompared
        if not any(each.endswith(line.partition(": ")[2]) for each in told)
    ]


def times(run: "Run") -> str:
    """The time of the run compared with, if it is known, and of this run."""
    return " -> ".join(filter(None, map(duration, run.seconds)))


def divergence_lines(found: "Divergence", paint: Paint) -> list[str]:
    """The first difference of two models: the tensor, the node computing it, the worst element."""
    seen = found.comparison
    kind = f", {seen.dtype} {seen.shape}" if seen.dtype else ""
    title = f"First difference: tensor {paint(shown(found.tensor), 'strong')}{kind}"
    rows = [
        ("computed by", _both(found.producers)),
        ("attributes", _both((found.attributes[0] or "none", found.attributes[1] or "none"))),
        ("reads", _both((", ".join(found.inputs[0]), ", ".join(found.inputs[1])))),
    ]
    worst = f" at {list(seen.worst)}" if seen.worst else ""
    before, after = found.values
    rows.append(("worst", f"{shown(before)} in the original, {shown(after)} rewritten{worst}"))
    if numbers := figures(seen):
        rows.append(("difference", numbers))
    rows.append(("found on", f"{shown(found.fed)}; {counted(found.compared, 'tensor')} compared"))
    if found.earlier:
        rows.append(("before it", f"bits differ from {shown(found.earlier)} on, within rounding"))
    if found.note:
        rows.append(("note", shown(found.note)))
    names, texts = zip(*rows, strict=True)
    return [title, *columns(names, texts)]


def _both(pair: tuple[str, str]) -> str:
    before, after = map(shown, pair)
    return f"{before}, in both" if before == after else f"{before}; rewritten: {after}"


def figures(comparison: "Comparison") -> str:
    """The figures of a difference that are known, such as `max abs 1e-07, 3 ulp`."""
    parts = []
    if not math.isnan(comparison.max_abs):
        parts.append(
            f"max abs {comparison.max_abs:.3g}, {comparison.max_rel:.3g} of the greatest value"
        )
    if comparison.ulp is not None:
        parts.append(f"{comparison.ulp:,} ulp")
    if comparison.cosine is not None:
        parts.append(f"cosine {_share(comparison.cosine)}")
    if comparison.argmax is not None:
        parts.append(f"argmax agrees in {100 * comparison.argmax:.4g} %")
    if comparison.special:
        parts.append(f"NaN or infinity on one side in {counted(comparison.special, 'place')}")
    if comparison.noise:
        parts.append(f"two runs of one model differ by {comparison.noise:.3g}")
    return ", ".join(parts)


def _share(value: float) -> str:
    """A number up to 1, never rounded to 1 unless it is 1.

    >>> _share(1.0), _share(0.999999999), _share(0.5)
    ('1', '1 - 1e-09', '0.5')
    """
    if value == 1 or value < 0.999:
        return f"{value:.4g}"
    return f"1 - {1 - value:.1g}"


def _difference(comparison: "Comparison") -> str:
    numbers = f"max abs {comparison.max_abs:.3g}, {comparison.max_rel:.3g} of the greatest value"
    return f"{shown(comparison.output)}: {shown(comparison.detail) or numbers}"


def _ending(report: FixReport, paint: Paint) -> str:
    written = shown(report.written)
    if report.outcome is Outcome.UNCHANGED:
        copied = "Copied to" if report.inline else "Copied byte for byte to"
        ending = f"{copied} {written}" if written else "Nothing written"
    elif report.check:
        ending = "Nothing written (--check)"
    elif written:
        ending = f"Wrote {paint(written, 'strong')}"
    else:
        ending = "Nothing written; --keep-invalid writes it all the same"
    if written and report.outcome is Outcome.INVALID:
        ending += " although the validation failed (--keep-invalid)"
    return f"{ending}{beside(report.older, report.data)} ({duration(report.seconds)})"


def beside(older: str, data: Sequence[str]) -> str:
    """The rest of a last line: an older file that stays, and files of external data."""
    told = f"; {shown(older)} is an older file and stays" if older else ""
    if data:
        names = ", ".join(map(shown, data))
        many = len(data) > NODES_A_REASON
        told += f", its external data to {counted(len(data), 'file') if many else names}"
    return told


def _label(finding: Finding, paint: Paint) -> str:
    return f"{paint(finding.severity, finding.severity)} {paint(finding.code, 'strong')}"


def _node(item: Finding | Change) -> str:
    return f"{shown(item.node)} ({shown(item.op_type)})"


def _nodes(items: Sequence[Finding] | Sequence[Change]) -> str:
    names = ", ".join(shown(item.node) for item in items[:NODES_A_REASON])
    rest = len(items) - NODES_A_REASON
    return f"{names} and {rest:,} more" if rest > 0 else names


def _more(count: int) -> list[str]:
    return [f"and {count:,} more like these; --format json lists all"] if count > 0 else []


def _by_reason(findings: Iterable[Finding]) -> list[list[Finding]]:
    return grouped(findings, lambda f: (f.severity, f.code, _alike(f) or f.message))


def _alike(finding: Finding) -> str:
    """The reason without names if the rule gives one, else the reason as it is."""
    summary = finding.evidence.get("summary")
    return summary if isinstance(summary, str) else finding.reason


def grouped(items: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """The items grouped by key; groups and items in the order of first appearance."""
    groups: dict[Hashable, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def duration(seconds: float) -> str:
    """A time in seconds or milliseconds; empty for NaN, which stands for no run.

    >>> duration(0.000316), duration(0.25), duration(75.0), duration(math.nan)
    ('0.3 ms', '250.0 ms', '75.0 s', '')
    """
    if math.isnan(seconds):
        return ""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def columns(names: Sequence[str], rows: Sequence[str]) -> list[str]:
    """Indented lines whose second parts are aligned, except after very long names."""
    column = max((w for name in names if (w := _width(name)) <= WIDEST_COLUMN), default=0)
    return [
        f"  {name}{' ' * max(0, column - _width(name))}  {row}"
        for name, row in zip(names, rows, strict=True)
    ]


def _width(text: str) -> int:
    """The number of terminal cells of a text: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)
