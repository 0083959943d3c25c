"""The page of `show`: every padding of a model by operator and form, with pictures and facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.inventory.padding_site import AxisPadding, PaddingSite
from onnxpad.page.drawn import case_tables
from onnxpad.page.fix_page import count_tiles
from onnxpad.page.markup import (
    NOTHING,
    Html,
    badge,
    code,
    el,
    esc,
    folded,
    join,
    paragraph,
    table,
    times,
)
from onnxpad.page.pictures.axis_pictures import axis_picture, legend, same_residues
from onnxpad.page.whole_page import Part, page, part
from onnxpad.report import ShowReport
from onnxpad.report.groups import grouped
from onnxpad.report.showing.show_text import amounts_text, command_text, site_facts
from onnxpad.report.text import counted

_LISTED: Final = 2000
_IN_FULL: Final = 200


def show_page(result: ShowReport) -> str:
    """The page of a `show`."""
    counts: dict[str, tuple[int, int] | int] = {
        "can pad": result.total,
        "do pad": sum(bool(site.written) for site in result.sites),
        "fix rewrites": sum(site.fixable for site in result.sites),
        "stay": sum(site.stays for site in result.sites),
    }
    lines = [join((badge("warning", "warn"), esc(f" {line}")), "") for line in result.warnings]
    lines += [join((badge("note", "plain"), esc(f" {line}")), "") for line in result.notes]
    fits = badge("convention", "plain")
    lines += [join((fits, esc(f" {line}")), "") for line in result.conventions]
    head = [count_tiles(counts), el("ul", *(el("li", line) for line in lines), class_="verdicts")]
    pads = [site for site in result.sites if site.written]
    rest = [site for site in result.sites if not site.written]
    parts = [
        part("Padding", "padding", *([legend(), _cards(pads, result)] if pads else [])),
        part("Without padding", "without", _cards(rest, result)),
        _others(result),
    ]
    return page("show", result.model or "model", head, parts)


def _others(result: ShowReport) -> Part:
    rows = [
        [code(each.node), esc(each.code), esc(each.message), esc(each.reason)]
        for each in result.others
    ]
    head = ["Node", "code", "found", "why it stays"]
    found = table("Findings about other nodes", head, rows) if rows else NOTHING
    return part("Also found", "others", found)


def _cards(sites: Sequence[PaddingSite], result: ShowReport) -> Html:
    groups = grouped(sites, lambda site: (site.kind, site.op_type, site.written, site.amounts))
    groups.sort(key=len, reverse=True)
    return join(_card(group, place, result) for place, group in enumerate(groups))


def _card(group: Sequence[PaddingSite], place: int, result: ShowReport) -> Html:
    first = group[0]
    unsaid = "not known" if first.written else "no padding"
    padding = amounts_text(first) if first.amounts else unsaid
    written = f", written as {first.written}" if first.written else ""
    title = el(
        "h3",
        times(len(group)),
        esc(f" {first.op_type}: {padding}"),
        el("span", esc(written), class_="faint"),
        esc(" "),
        _fate(group),
    )
    variants = grouped(group, _alike)
    variants.sort(key=len, reverse=True)
    shown = (_variant(variant, result) for variant in variants[:_IN_FULL])
    inside = el("div", *shown, class_="inside")
    return folded(title, inside, is_open=place == 0 and bool(first.written), kind="card")


def _fate(group: Sequence[PaddingSite]) -> Html:
    """How many of the sites `fix` rewrites, and how many stay."""
    fixable, stay = sum(site.fixable for site in group), sum(site.stays for site in group)
    parts = [badge(f"fix rewrites {fixable:,}", "warn")] if fixable else []
    parts += [badge(f"{stay:,} stay", "plain")] if stay else []
    return join(parts, " ")


def _alike(site: PaddingSite) -> tuple[object, ...]:
    """The same for sites that look alike but for names and sizes."""
    formulas = tuple((axis.begin, axis.end, axis.formula) for axis in site.axes)
    findings = tuple((each.code, each.reason_code) for each in site.deciding)
    steps = tuple(step.op_type for step in site.path)
    return site.kernel, site.stride, site.dilation, formulas, findings, steps, site.convention


def _variant(group: Sequence[PaddingSite], result: ShowReport) -> Html:
    first = group[0]
    several = f"The first of {counted(len(group), 'operator')} of this form: "
    items: list[Html] = []
    for label, text in site_facts(first, result.is_checked):
        if text and label:
            items += [el("dt", esc(label)), el("dd", esc(text))]
        elif text:
            items.append(el("dd", esc(text)))
    for place, advice in enumerate(first.helps):
        title = [] if place else [el("dt", esc("what to do"))]
        items += [*title, el("dd", code(command_text(advice, result.model)))]
    whose = el("p", esc(several) if len(group) > 1 else NOTHING, code(first.node))
    facts = el("div", whose, el("dl", *items, class_="facts"))
    windows = _windows(first)
    drawn = el("div", facts, *([el("div", windows)] if windows else []), class_="drawn")
    return el("div", drawn, _names(group), class_="variant")


def _windows(site: PaddingSite) -> Html:
    """Pictures of the axes whose sizes and padding are known; none of transposed convolutions."""
    if site.kind != "window" or len(site.kernel) != len(site.axes):
        return NOTHING
    drawn: dict[AxisAnswer, list[str]] = {}
    for place, axis in enumerate(site.axes):
        answer = _answer(site, place, axis)
        if answer is not None:
            drawn.setdefault(answer, []).append(axis.name)
    pictures = [axis_picture(" and ".join(names), answer) for answer, names in drawn.items()]
    return join([*_tables(site), *pictures])


def _tables(site: PaddingSite) -> list[Html]:
    """The padding of open sizes by remainder."""
    for finding in site.findings:
        if found := case_tables(finding):
            return found
    windows = zip(site.kernel, site.stride, site.dilation, strict=False)
    known = [(k, s, d) for k, s, d in windows if k is not None]
    return same_residues(site.auto_pad, known) if any(axis.formula for axis in site.axes) else []


def _answer(site: PaddingSite, place: int, axis: AxisPadding) -> AxisAnswer | None:
    kernel = site.kernel[place]
    if kernel is None or axis.size is None or axis.begin is None or axis.end is None:
        return None
    stride = site.stride[place] if site.stride else 1
    window = Window(kernel, stride, site.dilation[place] if site.dilation else 1)
    room = axis.size + axis.begin + axis.end - window.extent
    if room < 0 or site.ceil_mode:
        return None
    return AxisAnswer(axis.size, window, axis.begin, axis.end, room // stride + 1)


def _names(group: Sequence[PaddingSite]) -> Html:
    if len(group) == 1:
        return NOTHING
    rows = [
        [
            code(site.node),
            esc(", ".join(f"{axis.name} {axis.told_size}" for axis in site.axes)),
            esc(site.origin),
        ]
        for site in group[:_LISTED]
    ]
    body = [table("Where", ["Operator", "size of the data", "comes from"], rows)]
    if rest := len(group) - len(rows):
        body.append(paragraph(f"and {rest:,} more; --format json lists all"))
    return folded(esc(f"All {counted(len(group), 'operator')} by name"), *body, kind="names")
