"""The report of `show` as text: a table of all padding, or each site in full."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.fitting.case import FITS_NONE, FITS_SOMETIMES
from onnxpad.inventory.padding_site import (
    FIX,
    Advice,
    AxisPadding,
    OuterPad,
    PaddingSite,
    PathNode,
)
from onnxpad.report import ShowReport
from onnxpad.report.groups import grouped
from onnxpad.report.layout import Screen, cells, pattern_of
from onnxpad.report.text import counted, shown

PIPED: Final = Screen()
"""A pipe, 80 columns wide."""

_WIDEST: Final = 10_000
_LABEL: Final = 13
_GAP: Final = "  "
_MOST_ADVICE: Final = 2
_MOST_NAMED: Final = 14
"""In a longer table, names stand only below forms that `fix` rewrites or leaves for a reason."""


def show_text(result: ShowReport, screen: Screen = PIPED) -> str:
    """All padding of a model as a table, or what was asked for in full."""
    blocks = [screen.lines(headline(result, screen), "", "  "), [*_remarks(result, screen)]]
    if result.asked:
        blocks += [[*_site(site, result, screen)] for site in result.sites]
    elif result.sites:
        blocks += [[*_table(result.sites, screen)], [*_ending(result, screen)]]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def headline(result: ShowReport, screen: Screen = PIPED) -> str:
    """The number of operators in one line."""
    model = screen.paint(shown(result.model or "model"), "strong")
    if not result.total:
        return f"{model}: no padding to show"
    if result.asked:
        return f"{model}: {len(result.sites):,} of {counted(result.total, 'operator')}"
    padded = sum(_pads(site) and not site.is_zero for site in result.sites)
    inside = sum(bool(site.scope) for site in result.sites)
    told = f"{model}: {counted(result.total, 'operator')} that can pad, of which {padded:,} pad"
    told += "s" * (padded == 1)
    return f"{told}; {inside:,} in bodies and functions" if inside else told


def _pads(site: PaddingSite) -> bool:
    return bool(site.written)


def _remarks(result: ShowReport, screen: Screen) -> Iterator[str]:
    for line in result.warnings:
        yield from screen.lines(f"{screen.paint('warning', 'warning')}: {shown(line)}", "", "  ")
    for line in result.notes:
        yield from screen.lines(f"note: {shown(line)}", "", "  ")


# The table


def _table(sites: Sequence[PaddingSite], screen: Screen) -> Iterator[str]:
    """Two lines for each form of padding: how much and how many, and which operators."""
    rows = []
    for of_kind in grouped(sites, lambda site: (site.kind == "pad", site.op_type)):
        forms = grouped(
            of_kind, lambda site: (site.written, site.amounts, _fits(site), _fate(site))
        )
        forms.sort(key=lambda group: (not _pads(group[0]), -len(group)))
        for place, group in enumerate(forms):
            site = group[0]
            name = f"{site.op_type} alone" if site.kind == "pad" else site.op_type
            row = [
                shown(name) if place == 0 else "",
                amounts_text(site),
                shown(site.written) if _pads(site) else "",
                f"x {len(group):,}",
                _fits(site) or "-" if _pads(site) else "",
            ]
            rows.append((row, group))
    heads = ["operator", "padding", "written as", "", "fits"]
    widths = [
        max(cells(row[at]) for row in (heads, *(each for each, _ in rows))) for at in range(5)
    ]
    width = screen.width or _WIDEST
    narrow = sum(widths) + len(_GAP) * 4 > width
    if narrow:
        widths = widths[:4]
    yield screen.paint(_row(heads, widths), "faint")
    is_long = len(rows) > _MOST_NAMED
    for row, group in rows:
        yield _row(row, widths)
        if _fate(group[0]) or (_pads(group[0]) and not is_long):
            said = _fits_line(group[0]) if narrow else ""
            yield screen.paint(_which(group, said, widths[0] + len(_GAP), width), "faint")


def amounts_text(site: PaddingSite) -> str:
    """The amounts of a site; of a transposed convolution those that it crops."""
    if site.kind == "transposed" and site.is_known and not site.is_zero:
        return f"crops {site.amounts}"
    return site.amounts or ("?" if _pads(site) else "none")


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=False))
    return _GAP.join(padded).rstrip()


def _fits(site: PaddingSite) -> str:
    return shown(site.convention)


def _fits_line(site: PaddingSite) -> str:
    return f"fits {_fits(site)}; " if site.convention and site.convention != FITS_NONE else ""


def _fate(site: PaddingSite) -> str:
    """The fate of the padding in `fix`, in a word or two."""
    if site.kind == "malformed":
        return "cannot be read"
    if site.fixable:
        return "fix rewrites a part" if site.stays else "fix rewrites"
    return "stays" if site.stays else ""


def _which(group: Sequence[PaddingSite], said: str, indent: int, width: int) -> str:
    """The names of the first sites of a group, as many as one line has room for."""
    fate = _fate(group[0])
    lead = " " * indent + said + (f"{fate}: " if fate else "")
    line, left = lead, len(group)
    for place, site in enumerate(group):
        more = f" and {left - 1:,} more" if left > 1 else ""
        name = pattern_of(shown(site.node), width - len(lead) - len(more))
        comma = ", " if place else ""
        if place and len(line) + len(comma) + len(name) + len(more) > width:
            break
        line, left = f"{line}{comma}{name}", left - 1
    return f"{line} and {left:,} more" if left else line


def _ending(result: ShowReport, screen: Screen) -> Iterator[str]:
    sites = result.sites
    fixable, stay = sum(s.fixable for s in sites), sum(s.stays for s in sites)
    if result.conventions:
        yield from screen.lines(
            f"conventions: {'; '.join(map(shown, result.conventions))}", "", "  "
        )
    leaves = f"{stay:,} as {'it is' if stay == 1 else 'they are'}, wholly or in part"
    if fixable and stay:
        said = f"onnxpad fix rewrites {fixable:,} of these, and leaves {leaves}"
    elif stay:
        said = f"onnxpad fix leaves {leaves}"
    else:
        said = f"onnxpad fix rewrites {fixable:,} of these"
    if fixable or stay:
        yield from screen.lines(f"{said}; --node NAME says why", "", "  ")
    elif any(map(_pads, sites)) and result.is_checked:
        yield "onnxpad fix has nothing to rewrite"
    stays = [each for site in sites if site.stays for each in site.helps if each != FIX]
    for advice, count in Counter(stays).most_common(_MOST_ADVICE):
        of = f"for {counted(count, 'operator')}" if count < len(sites) else "for it"
        yield f"{of}: {command_text(advice, result.model)}"
    for finding in result.others:
        said = f"{finding.code} {shown(finding.node)}: {shown(finding.message)}"
        reason = f"; {shown(finding.reason)}" if finding.reason else ""
        yield from screen.lines(f"also {said}{reason}", "", "  ")


# One site in full


def command_text(advice: Advice, model: str) -> str:
    """An advice with the path of the model, as a shell takes it."""
    path = f"./{model}" if model.startswith("-") else model  # else it reads as an option
    return shown(advice.in_words(shlex.quote(path)) if model else advice.in_words())


def _site(site: PaddingSite, result: ShowReport, screen: Screen) -> Iterator[str]:
    of = f" of {shown(site.domain)}" if site.domain else ""
    yield screen.paint(f"{shown(site.op_type)}{of} {shown(repr(site.node))}", "strong")
    for label, text in site_facts(site, result.is_checked):
        if text:
            lead = f"  {label:{_LABEL}}"
            yield from screen.lines(text, screen.paint(lead, "faint"))
    for place, advice in enumerate(site.helps):
        lead = f"  {'' if place else 'what to do':{_LABEL}}"
        text, first = command_text(advice, result.model), screen.paint(lead, "faint")
        yield from [first + text] if advice.is_command else screen.lines(text, first)


def site_facts(site: PaddingSite, is_checked: bool) -> Iterator[tuple[str, str]]:
    """The facts about a site, each with its label."""
    yield "path", _path(site)
    yield "data", _data(site)
    yield "window", _window(site)
    total = "cropped" if site.kind == "transposed" else "padding"
    pads = f"   pads {list(site.pads)}" if site.pads is not None and any(site.pads) else ""
    yield total, f"{site.amounts}{pads}"
    yield "", _formulas(site.axes)
    yield "written as", shown(site.written or "none") if site.kind in {"other", "malformed"} else ""
    if site.kind != "pad":
        yield "its own", _own(site) if site.outer or site.downstream or site.auto_pad else ""
        for pad in site.outer:
            yield (
                "upstream" if pad.steps else "in front",
                f"Pad {shown(repr(pad.node))}: {_outer(pad)}",
            )
    else:
        yield "writes", _value(site.outer[0]) if site.outer else ""
        yield "read by", ", ".join(map(shown, site.readers)) or "nothing"
    for step in site.downstream:
        yield "downstream", _step(step)
    yield "comes from", shown(site.origin)
    if site.outer and site.outer[0].formula and site.kind == "pad":
        yield "", shown(site.outer[0].formula)
    yield "fits", _conventions(site)
    yield from _decided(site, is_checked)
    yield "in", shown(site.scope)


def _path(site: PaddingSite) -> str:
    steps = [_step(step) for step in site.path]
    return " -> ".join([shown(repr(site.tensor)), *steps]) if steps else ""


def _step(step: PathNode) -> str:
    return f"{shown(step.op_type)} {shown(repr(step.node))}"


def _data(site: PaddingSite) -> str:
    """The sizes of the tensor that is padded, as far as they are known."""
    sizes = [f"{axis.name} {shown(axis.told_size)}" for axis in site.axes]
    return f"{shown(repr(site.tensor))}, {', '.join(sizes)}" if sizes else ""


def _window(site: PaddingSite) -> str:
    if not site.kernel:
        return ""
    said = [f"kernel {_by(site.kernel)}", f"stride {_by(site.stride)}"]
    if any(each != 1 for each in site.dilation):
        said.append(f"dilation {_by(site.dilation)}")
    if site.ceil_mode:
        said.append("ceil_mode (rounds its output size up)")
    if site.count_include_pad:
        said.append("count_include_pad")
    return ", ".join(said)


def _by(numbers: Iterable[int | None]) -> str:
    return "x".join("?" if each is None else str(each) for each in numbers)


def _formulas(axes: Sequence[AxisPadding]) -> str:
    """The formulas of the axes whose padding depends on their size."""
    said = [
        f"on {' and '.join(axis.name for axis in group)} {shown(group[0].formula)}"
        for group in grouped([axis for axis in axes if axis.formula], lambda axis: axis.formula)
    ]
    return "; ".join(said)


def _own(site: PaddingSite) -> str:
    if site.kind == "transposed":
        return site.own
    said = site.own
    return f"auto_pad={site.auto_pad}: {said}" if site.auto_pad else said


def _outer(pad: OuterPad) -> str:
    """A `Pad` in front: how much, of which value, and through what it gets to the operator."""
    said = f"{shown(pad.amounts)}, {_value(pad)}"
    if pad.axes is not None:
        said += f", axes {list(pad.axes)}"
    if pad.steps:
        said += f", through {', '.join(map(_step, pad.steps))}"
    return said


def _value(pad: OuterPad) -> str:
    if pad.mode != "constant":
        return f"mode {pad.mode}" if pad.mode else shown(pad.source)
    return "a value known only at run time" if pad.value is None else f"value {pad.value}"


def _conventions(site: PaddingSite) -> str:
    if site.conventions:
        return ", ".join(FRAMEWORKS[name].title for name in site.conventions)
    named = {FITS_NONE: "no framework's padding", FITS_SOMETIMES: "frameworks at some sizes only"}
    return named.get(site.convention, shown(site.convention))


def _decided(site: PaddingSite, is_checked: bool) -> Iterator[tuple[str, str]]:
    """The fate of the padding in `fix`, why, and how to change it."""
    label = "fix"
    for finding in site.deciding:
        message = shown(finding.message)
        if finding.fixable:
            sizes = f"; exact for {shown(finding.sizes)}" if finding.sizes else ""
            yield label, f"rewrites it ({finding.code}): {message}{sizes}"
        else:
            yield label, f"leaves it ({finding.code}): {message}; {shown(finding.reason)}"
        label = ""
    if not is_checked and site.kind != "malformed":
        yield label, "not known, since check cannot read the model"
    elif site.problem and not site.deciding:
        yield label, f"leaves it: {shown(site.problem)}"
    elif not site.deciding:
        done = "there is no padding" if not _pads(site) else "the padding is the operator's own"
        if site.outer or site.downstream:
            done = "no rule finds anything here"
        yield label, f"nothing to do: {done}"
