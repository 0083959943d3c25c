"""The pictures of a page: windows over the axes of changes and of places of padding."""

from __future__ import annotations

from onnxpad.arithmetic.window import Window
from onnxpad.finding import Change
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.inventory.padding_site import AxisPadding, PaddingSite, known_number
from onnxpad.page.axis_pictures import axis_picture, axis_pictures, legend
from onnxpad.page.markup import NOTHING, Html, join
from onnxpad.report.documents import Picture


def drawn(picture: Picture) -> Html:
    """A picture of a page."""
    match picture.subject:
        case Change() as change:
            return axis_pictures(change.certificate.facts)
        case PaddingSite() as site:
            return _site(site)
        case "legend":
            return legend()
    return NOTHING


def _site(site: PaddingSite) -> Html:
    """Pictures of the axes whose sizes and padding are known; none of transposed convolutions."""
    if site.kind != "window" or site.ceil_mode:
        return NOTHING
    alike: dict[AxisAnswer, list[str]] = {}
    for axis in site.axes:
        if (answer := _answer(axis)) is not None:
            alike.setdefault(answer, []).append(axis.name)
    pictures = [axis_picture(" and ".join(names), answer) for answer, names in alike.items()]
    return join(pictures)


def _answer(axis: AxisPadding) -> AxisAnswer | None:
    window, count = axis.window, axis.count
    size, begin, end = map(known_number, (axis.extent, *axis.pair))
    if not isinstance(window, Window) or size is None or begin is None or end is None:
        return None
    return AxisAnswer(size, window, begin, end, count) if isinstance(count, int) and count else None
