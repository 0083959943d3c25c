"""The table of what `fix --target` writes is as it is made, form by form."""

import re
from typing import Final

import pytest

from onnxpad.targets.target import sites as all_sites
from tests.support.manual import pages
from tests.support.rows import one_in
from tests.targets.written import cells, models, outcome, shown_targets


def rows() -> dict[str, tuple[str, str]]:
    """What the page has of each form, if it has a row."""
    found = re.findall(r"^\| (`.*) \| (.*) \| (.*) \|$", pages()["target-forms"], re.M)
    return {name.strip("`"): (was, left) for each, was, left in found for name in each.split(", ")}


@pytest.mark.parametrize("form", one_in(20, [(form,) for form in models()]))
def test_a_row_is_as_it_is_made(form: str) -> None:
    made = cells({each.name: outcome(each, form) for each in shown_targets()})
    assert made == rows().get(form, ("", "")), "python -m tests.manual --write"


def told() -> set[tuple[str, str]]:
    """Forms that no writing mends by target and form, as the page has them."""
    groups = [(form, each) for form, (_, left) in rows().items() for each in left.split("; ")]
    return {(name, form) for form, each in groups for name in each.partition(": ")[2].split(", ")}


LOST: Final = {
    # A form whose fold was right is written like others that were wrong.
    ("ncnn-pnnx", "max_pool_same_upper_stride2"),
}
"""Forms with a style that was right, and for which none is found."""


def test_a_form_is_written_in_a_style_that_was_right_or_told() -> None:
    found = told()
    for target in shown_targets():
        right: dict[str, set[str]] = {}
        for label, sites in all_sites().items():
            name, _, style = label.partition(":")
            cells = [target.cell(site) for site in sites]
            is_right = all(cell.measured and cell.verdict == "right" for cell in cells)
            right.setdefault(name, set()).update([style or "given"] * is_right)
        for form, styles in right.items():
            is_told = (target.name, form) in found
            if styles - {"static"}:  # sizes are for --shape to give
                assert is_told is ((target.name, form) in LOST), (target.name, form)
