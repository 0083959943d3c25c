"""The colours of pages: text stands out from its ground, light and dark."""

import re

import pytest

from onnxpad.page.document_page import STYLE

FOUND = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", STYLE)
LIGHT, DARK = ({name: colours[place] for name, *colours in FOUND} for place in (0, 1))

PAIRS = [
    (text, ground)
    for text in ("ink", "faint", "accent", "good", "warn", "bad")
    for ground in ("paper", "card")
]


def luminance(colour: str) -> float:
    """The relative luminance of a colour. Source: WCAG 2.1."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_stands_out(colours: dict[str, str]) -> None:
    found = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in PAIRS}
    assert {pair: value for pair, value in found.items() if value < 4.5} == {}


def test_nothing_is_loaded() -> None:
    assert re.search(r"url\(|@import|</", STYLE) is None
