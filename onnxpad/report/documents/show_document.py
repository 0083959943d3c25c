"""The document of `show`: a table of all padding, or each site in full; on a page, both."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from onnxpad.errors import and_list
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.inventory import PaddingSite, PathNode
from onnxpad.report import ShowResult
from onnxpad.report import text as pieces
from onnxpad.report.documents import Cell, Document, Group, NodeNames, Pairs, Picture, Table, View
from onnxpad.report.documents.check_document import finding_text
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import command, counted, grouped, shown


def show_document(result: ShowResult, view: View = "brief") -> Document:
    """All padding of a model as a table, or what was asked for in full; on a page in full."""
    sites, sections = [*result.sites], list[Group]()
    if sites and not result.asked:
        sections = [Group("", [_table(sites)]), Group("", [*_ending(result)])]
        sites = [group[0] for group in _forms(sites)] if view == "full" else []
    about = [_site(each, result) for each in sites]
    if sections and about:
        about = [Group("Each kind of padding, by its first operator", about)]
    model = shown(result.model or "model") + pieces.for_targets(result.targets)
    notes = [*pieces.remarks(result)]
    return Document.of("show", model, _verdict(result), notes, *sections, *about)


def _verdict(result: ShowResult) -> str:
    if result.asked:
        return f"{len(result.sites):,} of {counted(result.total, 'operator')}"
    padded = sum(bool(site.written) and site.amounts != "none" for site in result.sites)
    return f"{counted(result.total, 'operator')} that can pad; padded: {padded:,}"


def _forms(sites: Sequence[PaddingSite]) -> list[list[PaddingSite]]:
    found = grouped(sites, lambda e: (_operator(e), e.written, e.amounts, e.convention, _fate(e)))
    return sorted(found, key=lambda each: (each[0].op_type, not each[0].written, -len(each)))


def _operator(site: PaddingSite) -> str:
    return f"{shown(site.op_type)}{' alone' * (site.kind == 'pad')} {_window(site)}".rstrip()


def _table(sites: Sequence[PaddingSite]) -> Table:
    """Two lines for each form of padding: how many pad how much, and which operators."""
    rows: list[Sequence[Cell]] = []
    for group in _forms(sites):
        site, fate = group[0], _fate(group[0])
        fits = (shown(site.convention) or "-") * bool(site.written)
        names = NodeNames([shown(each.node) for each in group] * bool(fits or fate))
        crops = "crops " * (site.kind == "transposed" and any(site.pads or ()))
        pads = f"{crops}{site.amounts}" if site.amounts else "?" if site.written else "none"
        amounts = pads.replace(" ", UNBREAKABLE).replace(f",{UNBREAKABLE}", ", ")
        told = f"{len(group):,}", _operator(site), amounts, shown(site.written), fits, fate, names
        rows.append(told)
    heads = "", "operator", "padding", "written as", "fits", "fix", "where"
    return Table(heads, rows, is_below=True)


def _fate(site: PaddingSite) -> str:
    if site.kind == "malformed":
        return "cannot be read"
    if site.fixable:
        is_sized = all("declares" in each.evidence for each in site.findings if each.fixable)
        return f"{'declares sizes' if is_sized else 'rewrites'}{' a part' * site.stays}"
    return "stays" if site.stays else ""


def _ending(result: ShowResult) -> Iterator[str]:
    sites = result.sites
    fixable, stay = sum(s.fixable for s in sites), sum(s.stays for s in sites)
    sized = sum(_fate(each).startswith("declares") for each in sites)
    if result.is_checked:
        told = f"rewrites {fixable - sized:,} of these"
        told += f", declares sizes for {sized:,}" * bool(sized)
        told += f" and leaves {stay:,}, wholly or in part" * bool(stay)
        yield f"onnxpad fix {told}{'; --node NAME says why' * bool(fixable or stay)}"
    stays = [each for site in sites if site.stays for each in site.advice if each != site.command]
    for advice, count in Counter(stays).most_common(2):
        is_sized = " --dim " in advice.removeprefix(sites[0].command)
        what = counted(count, "operator") + ", with your sizes" * is_sized
        yield f"for {what}: {command_text(advice, result.model)}"
    for each in result.others:
        yield f"also {each.code} {shown(each.node)}: {finding_text(each)}"


def command_text(advice: str, model: str) -> str:
    """An advice with the path of the model, as a shell takes it."""
    path = f"./{model}" if model.startswith("-") else model  # else it reads as an option
    return command(advice.replace("MODEL", shlex.quote(path) if model else "MODEL", 1))


def _site(site: PaddingSite, result: ShowResult) -> Group:
    of = f" of {shown(site.domain)}" if site.domain else ""
    name = f"{shown(site.op_type)}{of} {shown(repr(site.node))}"
    rows = [*_labelled(site), *_decided(site, result.is_checked)]
    helps = sorted(site.advice, key=lambda each: each != site.command)  # first what needs no option
    mends = [command_text(advice, result.model) for advice in helps]
    is_sized = any(" --dim " in each.removeprefix(site.command) for each in helps)
    mends += ["the sizes are examples"] * is_sized
    rows += zip(["what to do", *[""] * len(mends)], mends, strict=False)
    facts = Pairs([(marked(label, "faint"), text) for label, text in rows if text])
    drawn = [Picture({"": site})] * bool(site.written)
    return Group(name.replace(" ", UNBREAKABLE), [facts, *drawn])


def _labelled(site: PaddingSite) -> Iterator[tuple[str, str]]:
    tensor, alone = shown(repr(site.tensor)), site.kind == "pad"
    sizes = ", ".join(f"{axis.name} {shown(axis.told_size)}" for axis in site.axes)
    yield "path", " -> ".join([tensor, *map(_step, site.path)]) if site.path else ""
    yield "data", f"{tensor}, {sizes}" if sizes else ""
    yield "window", _window(site)
    pads = f"   pads {list(site.pads)}" if site.pads and any(site.pads) else ""
    yield "cropped" if site.kind == "transposed" else "padding", f"{site.amounts}{pads}"
    for group in grouped([axis for axis in site.axes if axis.formula], lambda axis: axis.formula):
        yield "", f"on {and_list(axis.name for axis in group)} {shown(group[0].formula)}"
    yield "written as", shown(site.written) or "none"
    yield "read by", (", ".join(map(shown, site.readers)) or "nothing") * alone
    if site.outer and not alone:
        open_pads = f"auto_pad={site.read('auto_pad')}, by the size that the Pad makes"
        yield "its own", open_pads if site.own_pads is None else f"pads {list(site.own_pads)}"
    for pad in () if alone else site.outer:
        through = f", through {', '.join(map(_step, pad.path))}" if pad.path else ""
        told = f"{shown(pad.amounts) or 'computed'}, {_value(pad)}{through}"
        yield "upstream" if pad.path else "in front", f"Pad {shown(repr(pad.names[0]))}: {told}"
    titles = ", ".join(FRAMEWORKS[name].title for name in site.conventions)
    short = shown(site.convention)
    yield "fits", f"{short} in {titles}" if titles and short == "causal" else titles or short


def _step(step: PathNode) -> str:
    return f"{shown(step.op_type)} {shown(repr(step.node))}"


def _window(site: PaddingSite) -> str:
    said = []
    for name in ("kernel", "stride", "dilation") if site.windows else ():
        told = [str(getattr(each, name)) for each in site.windows]
        if name == "kernel":
            said.append("x".join(told))
        elif {*told} != {"1"}:
            said.append(f"{name}{UNBREAKABLE}{'x'.join(told[:1] if len({*told}) == 1 else told)}")
    return ", ".join([*said, *filter(site.read, ("ceil_mode", "count_include_pad"))])


def _value(pad: PaddingSite) -> str:
    if (mode := pad.read("mode", "constant")) != "constant":
        return f"mode {mode}"
    value = pad.read("value")
    return shown(pad.problem) or f"value {'known only at run time' if value is None else value}"


def _decided(site: PaddingSite, is_checked: bool) -> Iterator[tuple[str, str]]:
    for each in site.findings:
        does = "rewrites" if each.fixable else "leaves"
        brief = replace(each, reason=each.brief or each.reason)  # formulas and advice are beside it
        yield "fix", f"{does} it ({each.code}): {finding_text(brief)}"
        tried: Any = each.evidence.get("tried", ())
        yield from zip(["tried", *[""] * len(tried)], map(shown, tried), strict=False)
    if not site.findings and (is_checked or site.kind == "malformed"):
        yield "fix", f"leaves it: {shown(site.problem)}" if site.problem else "nothing to do"
