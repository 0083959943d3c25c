"""The pictures of a page: of changes, findings, places of padding, and outputs that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxpad.finding import Finding
from onnxpad.page.document_page import Draw
from onnxpad.page.markup import NOTHING, Html, el, join
from onnxpad.page.pictures.axis_pictures import residues, same_residues
from onnxpad.page.pictures.both_graphs import Outline
from onnxpad.page.pictures.graph_svg import graph_svg
from onnxpad.page.pictures.site_graph import auto_padded, finding_graph
from onnxpad.reasons import Reason
from onnxpad.report.documents import Picture
from onnxpad.report.groups import grouped


def drawing_of(models: Sequence[Outline | None]) -> Draw:
    """The functions that draw the pictures of a page.

    Args:
        models: The models that it is of; None for one that cannot be read.
    """

    def draw(picture: Picture) -> Html:
        match picture.subject:
            case Finding() as finding:
                return _finding(finding, models[picture.model])
        return NOTHING

    return draw


def _finding(finding: Finding, model: Outline | None) -> Html:
    """The node of a finding as it is, and its padding by the remainder of an open size."""
    boxes = finding_graph(finding, model) if model else ()
    picture = el("figure", graph_svg(boxes, "As it is")) if boxes else NOTHING
    return join(filter(None, (picture, *(case_tables(finding) or same_tables(finding, model)))))


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


def same_tables(finding: Finding, model: Outline | None) -> list[Html]:
    """The pads of a SAME that stays since its size is open, by remainder."""
    if model is None or finding.reason_code not in {Reason.SIZE_DEPENDENT, Reason.AS_ASKED}:
        return []
    auto_pad, windows = auto_padded(finding, model)
    return same_residues(auto_pad, windows)


def _by_axes(cases: object) -> list[tuple[str, Mapping[str, Any]]]:
    """Tables with their axes; axes of one table are listed together."""
    if not isinstance(cases, Mapping):
        return []
    found = []
    for group in grouped(cases.items(), lambda item: repr(item[1])):
        numbers = " and ".join(str(axis) for axis, _ in group)
        found.append((f"{'axes' if len(group) > 1 else 'axis'} {numbers}", group[0][1]))
    return found
