"""The words for groups of changes: the form before, the form after, and the amounts."""

from dataclasses import replace

from onnxpad.finding import Certificate, Change
from onnxpad.report.groups import (
    change_groups,
)
from onnxpad.site_form import SiteForm, WrittenAmounts
from tests.support import site_form

CONV, UP = "Conv", "ConvTranspose"


def given(*amounts: tuple[str, int, int], pads: tuple[int, ...] = ()) -> WrittenAmounts:
    return WrittenAmounts(amounts, (("pads", pads),) * bool(pads))


def changed(was: str, now: str, kernel: int, code: str = "PAD1") -> Change:
    window = ((kernel, 1, 1),)
    before, after = (
        SiteForm((*form.steps[:-1], replace(form.steps[-1], windows=window)))
        for form in map(site_form, (was, now))
    )
    return Change(code, "n", CONV, before, after, Certificate("s"))


def test_changes_that_differ_in_amounts_and_windows_alone_are_one_group() -> None:
    found = change_groups(
        [
            changed("Pad H 1+0 -> Conv", "Conv", 2, "PAD2"),
            changed("Pad H 1+0 -> Conv", "Conv", 2),
            changed("Pad H 1+0 -> Conv pads H 1+0", "Conv pads H 2+0", 3),
            changed("Pad H 1+0 -> Conv", "Conv pads H 2+0", 4),
        ]
    )
    assert not any(step.windows for each in found for step in (*each.was.steps, *each.now.steps))
    one, two = given(("H", 1, 0)), given(("H", 2, 0), pads=(2, 0))
    assert [(each.code, each.was.form, each.now.form, each.amounts) for each in found] == [
        ("PAD1", "Pad -> Conv pads", "Conv pads", ((two, 2), (one, 1))),
        ("PAD2", "Pad -> Conv", "Conv", ((one, 1),)),
    ]
