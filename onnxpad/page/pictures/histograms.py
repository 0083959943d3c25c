"""The error histogram of an output as a picture: how many elements differ by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from onnxpad.page.markup import Html, el, esc
from onnxpad.report.axis_svg import text_svg
from onnxpad.report.text import counted
from onnxpad.validation.result import Comparison

_LEAST, _GREATEST = -17, 2
_BAR, _HIGH, _EDGE = 46, 96, 8
_LOW: Final = 3


def histogram(comparison: Comparison, run: str, span: tuple[int, int] | None = None) -> Html:
    """A column for each decade of the difference relative to the output's greatest magnitude.

    Args:
        comparison: The comparison of an output that differs.
        run: The run that it belongs to, in words.
        span: The first and the last decade that are drawn; those that it has if omitted.
    """
    bars = _bars(comparison.histogram, span or decades([comparison]))
    differing = sum(count for _, count in comparison.histogram)
    total = comparison.elements
    told = (
        f"{differing:,} of {counted(total, 'element')} differ"
        if total
        else (f"{counted(differing, 'element')} differ")
    )
    labels = [f"{count:,} by {_label(decade)} or more" for decade, count in bars if count]
    scale = math.log10(1 + max(count for _, count in bars))
    width, height = 2 * _EDGE + _BAR * len(bars), _HIGH + 48
    body: list[str] = []
    for place, (decade, count) in enumerate(bars):
        left = _EDGE + place * _BAR
        if count:
            high = max(_HIGH * math.log10(1 + count) / scale, _LOW)
            body.append(
                f'<rect class="column" x="{left + 6}" y="{20 + _HIGH - high:.1f}" '
                f'width="{_BAR - 12}" height="{high:.1f}"/>'
            )
            middle = left + _BAR / 2
            body.append(text_svg(middle, 15 + _HIGH - high, _short(count), "small", "middle"))
        body.append(text_svg(left + _BAR / 2, _HIGH + 38, _label(decade), "small faint", "middle"))
    base = 20.5 + _HIGH
    body.append(f'<path class="edge" d="M{_EDGE} {base}H{width - _EDGE}"/>')
    picture = el(
        "svg",
        el("title", esc(f"Differences of {comparison.output}")),
        el("desc", esc(f"{told}: {', '.join(labels)} of the greatest magnitude")),
        Html("".join(body)),
        role="img",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )
    caption = el("figcaption", el("code", esc(comparison.output)), esc(f", {run}: {told}"))
    return el("figure", caption, picture)


def decades(comparisons: Sequence[Comparison]) -> tuple[int, int]:
    """The first and the last decade of several histograms, so that they can be compared."""
    found = [_limited(decade) for each in comparisons for decade, _ in each.histogram]
    return min(found), max(found)


def _bars(counts: Sequence[tuple[int, int]], span: tuple[int, int]) -> list[tuple[int, int]]:
    """A count for each decade; far ones are taken together."""
    found: dict[int, int] = {}
    for decade, count in counts:
        place = _limited(decade)
        found[place] = found.get(place, 0) + count
    return [(place, found.get(place, 0)) for place in range(span[0], span[1] + 1)]


def _limited(decade: int) -> int:
    return min(max(decade, _LEAST), _GREATEST)


def _label(decade: int) -> str:
    return f"\u2264 1e{decade}" if decade == _LEAST else "1" if decade == 0 else f"1e{decade}"


def _short(count: int) -> str:
    """A count in few letters.

    >>> _short(950), _short(12_345), _short(3_000_000)
    ('950', '12k', '3M')
    """
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if count >= 10 * size or (count >= size and count % size == 0):
            return f"{count / size:.0f}{letter}"
    return str(count)
