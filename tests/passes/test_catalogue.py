"""The catalogue is complete, and its examples are what `fix` does."""

import re

import onnx
import pytest

import onnxpad
from onnxpad.finding import Page
from onnxpad.passes import PASSES
from onnxpad.pipeline.catalogue import catalogue
from tests.support import W, canonical, fixed, one

HEADINGS = ["What it does", "Why it matters", "Example", "When it is exact", "References"]
PAGES = list(catalogue().values())


def headings(page: Page) -> list[str]:
    return re.findall(r"^## (.*)$", page.text, flags=re.MULTILINE)


def section(page: Page, heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page.text, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found.group(1)


def test_a_code_is_never_given_twice() -> None:
    codes = [kind.code for kind in PASSES]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"PAD\d\d\d", code) for code in codes)


def test_every_pass_has_a_page_in_the_order_of_the_codes() -> None:
    assert list(catalogue()) == sorted(kind.code for kind in PASSES)
    for code, page in catalogue().items():
        (kind,) = [kind for kind in PASSES if kind.code == code]
        assert (page.code, page.severity) == (code, kind.severity)
        assert page.text.startswith(f"{page.title}\n\n## ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_a_page_has_its_headings_and_words_under_each(page: Page) -> None:
    assert headings(page) == HEADINGS
    assert all(section(page, heading).strip() for heading in HEADINGS)
    assert page.title.endswith(".")
    assert "\n" not in page.title
    assert all(len(line) <= 100 for line in page.text.splitlines())


# What the examples leave out: the constants that they name, and the style that they are about.
CONSTANTS = {
    "PAD201": "int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}",
    "PAD202": "int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}",
    "PAD203": "int64[8] first = {0, 0, 1, 2, 0, 0, 1, 2},"
    " int64[8] second = {0, 1, 3, 0, 0, 1, 0, 0}, int64[8] sum = {0, 1, 4, 2, 0, 1, 1, 2}",
    "PAD204": "int64[8] zeros = {0, 0, 0, 0, 0, 0, 0, 0}",
    "PAD205": "int32[8] amounts = {0, 0, 1, 2, 0, 0, 3, 4},"
    " int64[8] constant = {0, 0, 1, 2, 0, 0, 3, 4}",
    "PAD206": "int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}",
    "PAD701": "int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}",
    "PAD903": "bool ok = {1}, int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}",
    "PAD502": "int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3},"
    " int64[2] none = {0, 0}, int64[2] strides = {2, 2}, int64[2] surplus = {1, 1}",
    "PAD501": "int64[1] one = {1}, int64[1] two = {2}, int64[2] none = {0, 0}",
}
STYLES = {"PAD202": "pad"}
DYNAMIC = {"PAD501": "auto-pad", "PAD502": "pad"}
INPUTS = dict.fromkeys(("PAD501", "PAD502"), "float[1, 2, height, width] x")


def completed(page: Page, body: str) -> onnx.ModelProto:
    """The nodes of an example with an input, and an output where the last one writes."""
    constants = ", ".join(filter(None, (W, CONSTANTS.get(page.code, ""))))
    last = re.findall(r"(\w+) = [A-Z]", body)[-1]
    model = one(
        body,
        inputs=INPUTS.get(page.code, "float[1, 2, 8, 8] x"),
        outputs=f"float[] {last}",
        initializers=constants,
    )
    if ", )" in body:  # an empty input at the end, which the parser leaves out
        model.graph.node[0].input.append("")
    return model


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_the_example_is_what_fix_does(page: Page) -> None:
    text = section(page, "Example")
    (word,) = re.findall(r"^(\w.*)$", text, flags=re.MULTILINE)
    before, after = (completed(page, body) for body in text.split(f"\n{word}\n"))
    style = STYLES.get(page.code, "fold")
    assert page.code in [
        finding.code
        for finding in onnxpad.check(
            before, style=style, dynamic=DYNAMIC.get(page.code, "keep")
        ).findings
    ]
    if word == "stays":
        assert canonical(before) == canonical(after)
        assert not onnxpad.fix(before, style=style).changed
        return
    assert word == "becomes"
    result = fixed(before, style, dynamic=DYNAMIC.get(page.code, "keep"))
    assert canonical(result.model) == canonical(after)
    assert [change.code for change in result.changes] == [page.code]
