"""The document of `show`: a table of all padding, or each site in full; on a page, both."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.inventory import (
    FIX,
    AxisPadding,
    PaddingSite,
    PathNode,
)
from onnxpad.report import ShowReport
from onnxpad.report.documents import (
    Block,
    Cell,
    Document,
    Group,
    NodeNames,
    Pairs,
    Picture,
    Table,
    Tallies,
    View,
)
from onnxpad.report.layout import UNBREAKABLE, Screen, marked, text_of
from onnxpad.report.text import counted, explained, for_targets, grouped, remarks, shown

_MOST_ADVICE = 2
_MOST_NAMED = 14
"""In a longer table, names stand only below forms that `fix` rewrites or leaves for a reason."""
_FITTING = {
    "none": "no framework's padding",
    "explicit": "explicit padding only, such as Keras' ZeroPadding2D or F.pad",
    "unread": "any framework's padding, since no window reads it",
    "at some sizes": "frameworks at some sizes only",
}
"""What padding fits that is no framework's at every size."""
_TAKEN = {
    "right": "right there",
    "rewritten": "fix rewrites",
    "wrong": "wrong there",
    "rejected": "rejected there",
    "fallback": "runs elsewhere there",
    "unknown": "not known there",
}
"""The fate of a padding at its targets."""


def show_document(result: ShowReport, view: View = "brief") -> Document:
    """All padding of a model as a table, or what was asked for in full; on a page in full."""
    title = result.model or "model"
    if view == "page":
        return Document("show", title, [*_page_groups(result)])
    sections: list[Sequence[Block]] = [[headline(result)], [*remarks(result)]]
    if result.asked:
        sections += ([_name(site), _facts(site, result)] for site in result.sites)
        code = explained(found for site in result.sites for found in site.findings)
        sections.append([marked(code, "faint")] * bool(code))
    elif result.sites:
        sections += [[_table(result.sites)], [*_conventions(result), *_ending(result)]]
    return Document("show", title, [Group("", blocks) for blocks in sections])


def show_text(result: ShowReport, screen: Screen | None = None) -> str:
    """The report as text."""
    return text_of(show_document(result), Screen() if screen is None else screen)


def _page_groups(result: ShowReport) -> Iterator[Group]:
    """The sections of a page: each form of padding, with its variants in full and in pictures."""
    counts = {
        "can pad": len(result.sites),
        "do pad": _padding(result.sites),
        "fix rewrites": sum(site.fixable for site in result.sites),
        "stay": sum(site.stays for site in result.sites),
    }
    tiles = Tallies([(name, count, count) for name, count in counts.items()])
    said = [*remarks(result), *_conventions(result), *_ending(result)]
    code = explained(found for site in result.sites for found in site.findings)
    yield Group("", [tiles, headline(result), *said, *[marked(code, "faint")] * bool(code)])
    cards: dict[bool, list[Block]] = {True: [], False: []}
    for _, group in sorted(_forms(result.sites), key=lambda pair: -len(pair[1])):
        cards[_pads(group[0])].append(_card(group, result, is_open=not cards[True]))
    if pads := cards[True]:
        yield Group("Padding", pads)
    if cards[False]:
        yield Group("Without padding", cards[False])


def _card(group: Sequence[PaddingSite], result: ShowReport, *, is_open: bool) -> Group:
    from onnxpad.report.documents.cards import members

    first = group[0]
    written = f", written as {shown(first.written)}" if _pads(first) else ""
    fate = f" {marked(_fate(first), 'info')}" if _fate(first) else ""
    count = marked(f"{len(group):,} x", "info")
    several = f"The first of {counted(len(group), 'operator')} of this form: " * bool(group[1:])
    blocks: list[Block] = [f"{several}{_name(first)}", _facts(first, result), Picture(first)]
    if group[1:]:
        blocks.append(members([(shown(site.node), _place(site)) for site in group]))
    title = f"{count} {shown(first.op_type)}: {_amounts(first)}{written}{fate}"
    return Group(title, blocks, is_open=is_open and _pads(first))


def _place(site: PaddingSite) -> str:
    """The size of the data that is padded, and where the padding comes from."""
    sizes = ", ".join(f"{axis.name} {shown(axis.told_size)}" for axis in site.axes)
    return "; ".join(
        filter(None, [sizes, *(f"Pad {shown(repr(pad.names[0]))}" for pad in site.outer)])
    )


def headline(result: ShowReport) -> str:
    """The number of operators in one line."""
    model = marked(shown(result.model or "model"), "strong") + for_targets(result.targets)
    if not result.total:
        return f"{model}: no padding to show"
    if result.asked:
        return f"{model}: {len(result.sites):,} of {counted(result.total, 'operator')}"
    padded = _padding(result.sites)
    inside = sum(bool(site.scope) for site in result.sites)
    told = f"{model}: {counted(result.total, 'operator')} that can pad, of which {padded:,} pad"
    told += "s" * (padded == 1)
    return f"{told}; {inside:,} in bodies and functions" if inside else told


def _pads(site: PaddingSite) -> bool:
    return bool(site.written)


def _padding(sites: Sequence[PaddingSite]) -> int:
    """The number of those that pad by more than nothing."""
    return sum(_pads(site) and site.amounts != "none" for site in sites)


def _forms(sites: Sequence[PaddingSite]) -> Iterator[tuple[str, list[PaddingSite]]]:
    """The forms of padding by operator, the most frequent first, each with its sites.

    The operator is told with the first of its forms.
    """
    for of_kind in grouped(sites, lambda site: (site.kind == "pad", site.op_type)):
        forms = grouped(
            of_kind, lambda site: (site.written, site.amounts, _fits(site), _fate(site))
        )
        forms.sort(key=lambda group: (not _pads(group[0]), -len(group)))
        for place, group in enumerate(forms):
            name = f"{group[0].op_type} alone" if group[0].kind == "pad" else group[0].op_type
            yield name if place == 0 else "", group


def _table(sites: Sequence[PaddingSite]) -> Table:
    """Two lines for each form of padding: how much and how many, and which operators."""
    forms = list(_forms(sites))
    rows: list[Sequence[Cell]] = []
    for name, group in forms:
        site = group[0]
        fits = _fits(site) or "-" if _pads(site) else ""
        said = "; ".join(filter(None, [fits, _fate(site)]))
        named = _fate(site) or (_pads(site) and len(forms) <= _MOST_NAMED)
        names = [shown(each.node) for each in group] if named else []
        rows.append(
            [
                *(shown(name), _amounts(site), shown(site.written) if _pads(site) else ""),
                *(f"x {len(group):,}", NodeNames(names, [said] if said else [])),
            ]
        )
    return Table(["operator", "padding", "written as", "", "fits, where"], rows)


def _amounts(site: PaddingSite) -> str:
    """The amounts of a site; of a transposed convolution those that it crops."""
    if site.kind == "transposed" and any(site.pads or ()):
        return f"crops {site.amounts}"
    return site.amounts or ("?" if _pads(site) else "none")


def _fits(site: PaddingSite) -> str:
    return shown(site.convention)


def _fate(site: PaddingSite) -> str:
    """The fate of the padding in `fix`, in a word or two."""
    if site.kind == "malformed":
        return "cannot be read"
    if site.taken:
        known_by = f" ({site.known_by})" if site.known_by != "no data" else ""
        return f"{_TAKEN[site.taken]}{known_by}"
    if site.fixable:
        return "fix rewrites a part" if site.stays else "fix rewrites"
    return "stays" if site.stays else ""


def _conventions(result: ShowReport) -> Iterator[str]:
    if result.conventions:
        yield f"conventions: {'; '.join(map(shown, result.conventions))}"


def _ending(result: ShowReport) -> Iterator[str]:
    sites = result.sites
    fixable, stay = sum(s.fixable for s in sites), sum(s.stays for s in sites)
    done = [f"rewrites {fixable:,} of these"] * bool(fixable)
    done += [f"leaves {stay:,}, wholly or in part"] * bool(stay)
    if done:
        yield f"onnxpad fix {' and '.join(done)}; --node NAME says why"
    elif any(map(_pads, sites)) and result.is_checked:
        yield "onnxpad fix has nothing to rewrite"
    stays = [each for site in sites if site.stays for each in site.advice if each != FIX]
    for advice, count in Counter(stays).most_common(_MOST_ADVICE):
        of = f"for {counted(count, 'operator')}" if count < len(sites) else "for it"
        yield f"{of}: {command_text(advice, result.model, result.targets)}".replace(
            " ", UNBREAKABLE
        )
    for finding in result.others:
        said = f"{finding.code} {shown(finding.node)}: {shown(finding.message)}"
        reason = f"; {shown(finding.reason)}" if finding.reason else ""
        yield f"also {said}{reason}"


def command_text(advice: str, model: str, targets: Sequence[str] = ()) -> str:
    """An advice with the path of the model and the targets, as a shell takes it."""
    path = f"./{model}" if model.startswith("-") else model  # else it reads as an option
    given = [
        shlex.quote(path) if model else "MODEL",
        *(f"--target {shlex.quote(t)}" for t in targets),
    ]
    return shown(advice.replace("MODEL", " ".join(given)) if advice.startswith(FIX) else advice)


def _name(site: PaddingSite) -> str:
    of = f" of {shown(site.domain)}" if site.domain else ""
    said = f"{shown(site.op_type)}{of} {shown(repr(site.node))}"
    return marked(said.replace(" ", UNBREAKABLE), "strong")


def _facts(site: PaddingSite, result: ShowReport) -> Pairs:
    """The facts about a site with their labels, and what to do about it."""
    rows = [(label, text) for label, text in _labelled(site, result.is_checked) if text]
    for place, advice in enumerate(site.advice):
        text = command_text(advice, result.model, result.targets)
        text = text.replace(" ", UNBREAKABLE) if advice.startswith(FIX) else text
        rows.append(("" if place else "what to do", text))
    return Pairs([(marked(label, "faint"), text) for label, text in rows])


def _labelled(site: PaddingSite, is_checked: bool) -> Iterator[tuple[str, str]]:
    yield "path", _path(site)
    yield "data", _data(site)
    yield "window", _window(site)
    total = "cropped" if site.kind == "transposed" else "padding"
    pads = f"   pads {list(site.pads)}" if site.pads and any(site.pads) else ""
    yield total, f"{site.amounts}{pads}"
    yield "", _formulas(site.axes)
    yield "written as", shown(site.written or "none") if site.kind in {"other", "malformed"} else ""
    if site.kind != "pad":
        yield "its own", _own(site) if site.outer or len(site.path) > 1 or _auto_pad(site) else ""
        for pad in site.outer:
            yield (
                "upstream" if pad.path else "in front",
                f"Pad {shown(repr(pad.names[0]))}: {_outer(pad)}",
            )
    else:
        yield "writes", _value(site)
        yield "read by", ", ".join(map(shown, site.readers)) or "nothing"
    yield "fits", _fitting(site)
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
    if not (windows := site.windows):
        return ""
    said = [f"kernel {_by(each.kernel for each in windows)}"]
    said.append(f"stride {_by(each.stride for each in windows)}")
    if any(each.dilation != 1 for each in windows):
        said.append(f"dilation {_by(each.dilation for each in windows)}")
    if site.read("ceil_mode"):
        said.append("ceil_mode (rounds its output size up)")
    if site.read("count_include_pad"):
        said.append("count_include_pad")
    return ", ".join(said)


def _by(numbers: Iterable[object]) -> str:
    return "x".join(str(each) if isinstance(each, int) else "?" for each in numbers)


def _formulas(axes: Sequence[AxisPadding]) -> str:
    """The formulas of the axes whose padding depends on their size."""
    said = [
        f"on {' and '.join(axis.name for axis in group)} {shown(group[0].formula)}"
        for group in grouped([axis for axis in axes if axis.formula], lambda axis: axis.formula)
    ]
    return "; ".join(said)


def _auto_pad(site: PaddingSite) -> str:
    return str(site.read("auto_pad", "")).replace("NOTSET", "")


def _own(site: PaddingSite) -> str:
    said = "not known" if site.own_pads is None else f"pads {list(site.own_pads)}"
    return f"auto_pad={_auto_pad(site)}: {said}" if _auto_pad(site) else said


def _outer(pad: PaddingSite) -> str:
    """A `Pad` in front: how much, of which value, and through what it gets to the operator."""
    said = f"{shown(pad.amounts) or 'computed'}, {_value(pad)}"
    if pad.path:
        said += f", through {', '.join(map(_step, pad.path))}"
    return said


def _value(pad: PaddingSite) -> str:
    if (mode := pad.read("mode", "constant")) != "constant":
        return f"mode {mode}"
    value = pad.read("value")
    return shown(pad.problem) or f"value {'known only at run time' if value is None else value}"


def _fitting(site: PaddingSite) -> str:
    if site.conventions:
        return ", ".join(FRAMEWORKS[name].title for name in site.conventions)
    return _FITTING.get(site.convention, shown(site.convention))


def _decided(site: PaddingSite, is_checked: bool) -> Iterator[tuple[str, str]]:
    """The fate of the padding in `fix`, why, and how to change it."""
    label = "fix"
    for finding in site.findings:
        message = shown(finding.message)
        if finding.fixable:
            sizes = f"; exact for {shown(finding.sizes)}" if finding.sizes else ""
            yield label, f"rewrites it ({finding.code}): {message}{sizes}"
        else:
            yield label, f"leaves it ({finding.code}): {message}; {shown(finding.reason)}"
        label = ""
    if not is_checked and site.kind != "malformed":
        yield label, "not known, since check cannot read the model"
    elif site.problem and not site.findings:
        yield label, f"leaves it: {shown(site.problem)}"
    elif not site.findings:
        done = "there is no padding" if not _pads(site) else "the padding is the operator's own"
        if site.outer or len(site.path) > 1:
            done = "no rule finds anything here"
        yield label, f"nothing to do: {done}"
