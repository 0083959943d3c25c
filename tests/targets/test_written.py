"""`fix --target` leaves no form told where one of its styles was right on the target."""

from collections.abc import Iterator
from typing import Final

import onnx
import pytest

import onnxpad
from onnxpad.targets.known_targets import known, load
from onnxpad.targets.target import Target
from onnxpad.targets.target import sites as all_sites
from tests.support.rows import one_in
from tests.targets.forms import tables

CODES: Final = {"PAD703", "PAD704", "PAD705", "PAD706"}

LOST: Final = {
    # A form whose fold was right is written like others that were wrong.
    ("ncnn-pnnx", "max_pool_same_upper_stride2"),
}
"""Forms with a style that was right, and for which none is found."""


def shown_targets() -> Iterator[Target]:
    """The newest version of each target on which models were run."""
    return (target for target in map(load, known()) if target.standing.models)


def right_styles(target: Target, form: str) -> set[str]:
    """The styles in which a target was measured to compute a form rightly."""
    found = set()
    for label, sites in all_sites().items():
        name, _, style = label.partition(":")
        cells = [target.cell(site) for site in sites] if name == form else []
        if cells and all(cell.measured and cell.verdict == "right" for cell in cells):
            found.add(style or "given")
    return found


@pytest.mark.parametrize("form", one_in(20, [(form,) for form in tables()]))
def test_a_form_is_written_in_a_style_that_was_right_or_told(form: str) -> None:
    model = onnx.parser.parse_model(tables()[form]["model"])
    for target in shown_targets():
        if right_styles(target, form) - {"static"}:  # sizes are for --shape to give
            result = onnxpad.fix(model, target=target.full_name, validate=False)
            told = {each.code for each in result.findings} & CODES
            assert bool(told) is ((target.name, form) in LOST), (target.name, form)
