"""Changes as sections: equal ones once, with pictures, the proof in words, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from onnxpad.finding import Certificate, Change
from onnxpad.messages import RUNTIME
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
from onnxpad.page.pictures.axis_pictures import axis_pictures, legend
from onnxpad.page.pictures.both_graphs import Outline
from onnxpad.page.pictures.graph_svg import graph_svg
from onnxpad.page.pictures.site_graph import Boxes, change_graphs
from onnxpad.report.groups import ChangeGroup, change_groups, grouped
from onnxpad.report.text import counted

_OPEN: Final = 1
_LISTED: Final = 2000
_DRAWN: Final = 250
"""Kinds of changes that have pictures on one page; further ones are told in words."""
_SHOWN: Final = 1000


class _Drawn(NamedTuple):
    """A change with its graphs before and after."""

    change: Change
    graphs: tuple[Boxes, Boxes]


def change_sections(changes: Sequence[Change], before: Outline, after: Outline) -> Html:
    """All changes: a card for each kind, the most frequent ones first."""
    if not changes:
        return NOTHING
    drawn, parts = 0, [legend()]
    for place, group in enumerate(change_groups(changes)):
        varieties = _varieties(group.changes, before, after)
        parts.append(_card(group, varieties, is_open=place < _OPEN, pictures=_DRAWN - drawn))
        drawn += len(varieties)
    return join(parts)


def assumption_list(changes: Sequence[Change]) -> Html:
    """The assumptions of all changes, each with the changes that rest on it."""
    pairs = [(taken, change) for change in changes for taken in change.certificate.assumptions]
    groups = grouped(pairs, lambda pair: str(pair[0]))
    if not groups:
        return NOTHING
    rows = [
        [esc(group[0][0]), esc(counted(len(group), "change")), _names([c for _, c in group])]
        for group in groups
    ]
    return table("Assumptions beyond the specification", ["It assumes", "for", "at"], rows)


def _varieties(changes: Sequence[Change], before: Outline, after: Outline) -> list[list[_Drawn]]:
    """Changes of one kind by what they look like, the most frequent ones first."""
    drawn = [_Drawn(change, change_graphs(change, before, after)) for change in changes]
    return sorted(grouped(drawn, _variety), key=len, reverse=True)


def _card(
    group: ChangeGroup,
    varieties: Sequence[Sequence[_Drawn]],
    *,
    is_open: bool,
    pictures: int,
) -> Html:
    """Changes of one kind; the first varieties have pictures."""
    before, after = group.was.form, group.now.form
    if not before and not after:  # a pass of a user's own may tell no forms
        before, after = group.changes[0].before, group.changes[0].after
    repair = badge("repair", "warn") if group.repairs else NOTHING
    title = el(
        "h3",
        times(len(group.changes)),
        esc(f" {before} "),
        el("span", esc("becomes"), class_="faint"),
        esc(f" {after or 'nothing'} "),
        repair,
        el("span", esc(group.code), class_="rule"),
    )
    parts = [
        _variant(variety, has_pictures=place < pictures)
        for place, variety in enumerate(varieties[:_SHOWN])
    ]
    if group.repairs:
        said = f"Repairs: {RUNTIME} does not run these operators as they were."
        parts.insert(0, paragraph(said))
    if rest := len(varieties) - _SHOWN:
        more = f"and {counted(rest, 'form')} more; --format json lists all"
        parts += [paragraph(more)] if rest > 0 else []
    return folded(title, el("div", *parts, class_="inside"), is_open=is_open, kind="card")


def _variety(drawn: _Drawn) -> tuple[object, ...]:
    """The same for changes of one kind that also look alike, and are proved alike."""
    change = drawn.change
    return change.before, change.after, drawn.graphs, _proof(change)


def _variant(group: Sequence[_Drawn], *, has_pictures: bool) -> Html:
    """Changes of one kind whose graphs and proofs are alike."""
    first, graphs = group[0]
    certificate = first.certificate
    pictures: list[Html] = []
    if has_pictures:
        sides = zip(("Before", "After"), graphs, strict=True)
        pair = el("div", *(_figure(caption, boxes) for caption, boxes in sides), class_="pair")
        pictures.append(pair)
    facts = certificate.facts
    same = {repr(drawn.change.certificate.facts.get("axes")) for drawn in group}
    windows = axis_pictures(facts) if has_pictures else NOTHING
    if windows and len(same) > 1:
        seen = el("p", esc("Drawn for "), code(first.node), class_="faint")
        windows = join((seen, windows))
    said = el(
        "h4",
        times(len(group)),
        esc(f" {first.before} "),
        el("span", esc("becomes"), class_="faint"),
        esc(f" {first.after or 'nothing'}"),
    )
    if windows:
        pictures.append(el("div", windows))
    drawn = el("div", *pictures, class_="drawn") if pictures else NOTHING
    members = _members([each.change for each in group])
    return el("div", said, _proved(certificate), drawn, members, class_="variant")


def _figure(caption: str, boxes: Boxes) -> Html:
    return el("figure", el("figcaption", esc(caption)), graph_svg(boxes, caption))


def _proof(change: Change) -> tuple[object, ...]:
    """The proof without names and sizes."""
    certificate = change.certificate
    return _general(certificate), certificate.assumptions, certificate.limited_to


def _general(certificate: Certificate) -> str:
    """The statement, with words for the tensors that it names."""
    return certificate.general or certificate.statement


def _roots(certificate: Certificate) -> list[str]:
    """The names of the tensors that are read."""
    roots = certificate.facts.get("roots") or [certificate.facts.get("root")]
    given = roots if isinstance(roots, list) else []
    return [root for root in given if isinstance(root, str) and root]


def _proved(certificate: Certificate) -> Html:
    limited = certificate.limited_to
    where = f", for {limited}" if limited else ""
    said = [badge("proved", "good"), esc(f" {_general(certificate)}{where}.")]
    if certificate.assumptions:
        said += [
            esc(" "),
            badge("assumes", "warn"),
            esc(f" {', '.join(certificate.assumptions)}."),
        ]
    return el("p", *said)


def _members(changes: Sequence[Change]) -> Html:
    """The names of changes that are alike, each with its sizes and its probe."""
    listed = changes[:_LISTED]
    rows = [
        [
            code(change.node),
            _read(change.certificate),
            esc(change.certificate.sizes),
            esc(change.probe or "not run"),
        ]
        for change in listed
    ]
    head = ["Operator", "reads", "exact for", "run alone"]
    body = [table("Where", head, rows)]
    if rest := len(changes) - len(listed):
        body.append(paragraph(f"and {rest:,} more; --format json lists all"))
    if len(changes) == 1:
        return body[0]
    return folded(esc(f"All {counted(len(changes), 'operator')} by name"), *body, kind="names")


def _read(certificate: Certificate) -> Html:
    return join((code(root) for root in _roots(certificate)), ", ")


def _names(changes: Sequence[Change]) -> Html:
    if len(changes) == 1:
        return code(changes[0].node)
    listed = join((el("li", code(change.node)) for change in changes[:_LISTED]), "")
    return folded(
        esc(counted(len(changes), "operator")), el("ul", listed, class_="names"), kind="names"
    )
