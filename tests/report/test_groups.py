"""The words for groups of changes: the form before, the form after, and the amounts."""

from onnxpad.finding import Certificate, Change, WrittenAmounts
from onnxpad.report.text import change_groups
from tests.support import site_form

CONV, UP = "Conv", "ConvTranspose"


def given(*amounts: tuple[str, int, int], pads: tuple[int, ...] = ()) -> WrittenAmounts:
    return WrittenAmounts(amounts, (("pads", pads),) * bool(pads))


def changed(was: str, now: str, code: str = "PAD1") -> Change:
    return Change(code, "n", CONV, site_form(was), site_form(now), Certificate("s"))


def test_changes_that_differ_in_amounts_alone_are_one_group() -> None:
    found = change_groups(
        [
            changed("Pad H 1+0 -> Conv", "Conv", "PAD2"),
            changed("Pad H 1+0 -> Conv", "Conv"),
            changed("Pad H 1+0 -> Conv pads H 1+0", "Conv pads H 2+0"),
            changed("Pad H 1+0 -> Conv", "Conv pads H 2+0"),
        ]
    )
    one, two = given(("H", 1, 0)), given(("H", 2, 0), pads=(2, 0))
    assert [(each.code, each.was.form, each.now.form, each.amounts) for each in found] == [
        ("PAD1", "Pad -> Conv pads", "Conv pads", ((two, 2), (one, 1))),
        ("PAD2", "Pad -> Conv", "Conv", ((one, 1),)),
    ]
