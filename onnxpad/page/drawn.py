"""The pictures of a page: windows over the axes of changes and of places of padding."""

from __future__ import annotations

from onnxpad.arithmetic.window import Window
from onnxpad.finding import Change
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.inventory.padding_site import AxisPadding, PaddingSite
from onnxpad.page.axis_pictures import (
    axis_picture,
    axis_pictures,
    legend,
)
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
    if site.kind != "window" or len(site.kernel) != len(site.axes):
        return NOTHING
    alike: dict[AxisAnswer, list[str]] = {}
    for place, axis in enumerate(site.axes):
        answer = _answer(site, place, axis)
        if answer is not None:
            alike.setdefault(answer, []).append(axis.name)
    pictures = [axis_picture(" and ".join(names), answer) for answer, names in alike.items()]
    return join(pictures)


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
