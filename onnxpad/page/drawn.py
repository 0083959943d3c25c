"""The pictures of a page: of changes, findings, places of padding, and outputs that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxpad.arithmetic.window import Window
from onnxpad.finding import Change, Finding
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.inventory.padding_site import AxisPadding, PaddingSite
from onnxpad.page.markup import NOTHING, Html, el, esc, join, paragraph
from onnxpad.page.pictures.axis_pictures import (
    axis_picture,
    axis_pictures,
    legend,
    residues,
    same_residues,
)
from onnxpad.page.pictures.graph_svg import graph_svg
from onnxpad.page.pictures.histograms import decades, histogram
from onnxpad.page.pictures.site_graph import change_graphs, finding_graph
from onnxpad.reasons import Reason
from onnxpad.report.documents import Picture
from onnxpad.report.groups import grouped
from onnxpad.validation.result import Comparison


def drawn(picture: Picture) -> Html:
    """A picture of a page."""
    match picture.subject:
        case Finding() as finding:
            return _finding(finding)
        case Change() as change:
            return _change(change)
        case PaddingSite() as site:
            return _site(site)
        case "legend":
            return legend()
        case tuple() as compared:
            return _histograms(compared)
    return NOTHING


def _finding(finding: Finding) -> Html:
    """The node of a finding as it is, and its padding by the remainder of an open size."""
    form = finding.form
    picture = el("figure", graph_svg(finding_graph(form), "As it is")) if form.steps else NOTHING
    return join(filter(None, (picture, *(case_tables(finding) or same_tables(finding)))))


def _change(change: Change) -> Html:
    """The padding of a change as it was written and as it is, and the windows over its axes."""
    sides = zip(("Before", "After"), change_graphs(change), strict=True)
    pair = (
        el("figure", el("figcaption", esc(caption)), graph_svg(boxes, caption))
        for caption, boxes in sides
    )
    windows = axis_pictures(change.certificate.facts)
    parts = [el("div", *pair, class_="pair"), *([el("div", windows)] if windows else [])]
    return el("div", *parts, class_="drawn")


def _histograms(compared: Sequence[tuple[Comparison, str]]) -> Html:
    """How many elements of outputs differ by how much, all with the same decades."""
    span = decades([each for each, _ in compared])
    said = (
        "How many elements differ, by their difference relative to the greatest magnitude of the "
        "output; heights are logarithmic."
    )
    pictures = (histogram(each, run, span) for each, run in compared)
    return join([paragraph(said, "faint"), el("div", *pictures, class_="histograms")])


def _site(site: PaddingSite) -> Html:
    """Pictures of the axes whose sizes and padding are known; none of transposed convolutions."""
    if site.kind != "window" or len(site.kernel) != len(site.axes):
        return NOTHING
    alike: dict[AxisAnswer, list[str]] = {}
    for place, axis in enumerate(site.axes):
        answer = _answer(site, place, axis)
        if answer is not None:
            alike.setdefault(answer, []).append(axis.name)
    pictures = [axis_picture(" and ".join(names), answer) for answer, names in alike.items()]
    return join([*_tables(site), *pictures])


def _tables(site: PaddingSite) -> list[Html]:
    """The padding of open sizes by remainder."""
    for finding in site.findings:
        if found := case_tables(finding):
            return found
    windows = zip(site.kernel, site.stride, site.dilation, strict=False)
    return same_residues(site.auto_pad, windows) if any(axis.formula for axis in site.axes) else []


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


def case_tables(finding: Finding) -> list[Html]:
    """The amounts of a computed `Pad` by remainder, as far as the finding has them."""
    return [
        residues(
            str(case["of"]),
            int(case["modulus"]),
            [(row["at"] % case["modulus"], row["begin"], row["end"]) for row in case["rows"]],
            [f"before, {axes}", "after"],
        )
        for axes, case in _by_axes(finding.evidence.get("cases"))
    ]


def same_tables(finding: Finding) -> list[Html]:
    """The pads of a SAME that stays since its size is open, by remainder."""
    steps = finding.form.steps
    if not steps or finding.reason_code not in {Reason.SIZE_DEPENDENT, Reason.AS_ASKED}:
        return []
    return same_residues(steps[0].auto_pad, steps[0].windows)


def _by_axes(cases: object) -> list[tuple[str, Mapping[str, Any]]]:
    """Tables with their axes; axes of one table are listed together."""
    if not isinstance(cases, Mapping):
        return []
    found = []
    for group in grouped(cases.items(), lambda item: repr(item[1])):
        numbers = " and ".join(str(axis) for axis, _ in group)
        found.append((f"{'axes' if len(group) > 1 else 'axis'} {numbers}", group[0][1]))
    return found
