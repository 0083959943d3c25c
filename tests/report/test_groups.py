"""The groups of changes, and how much each pads in words."""

from onnxpad.finding import Certificate, Change
from onnxpad.report.text import amounts_in_words, change_groups
from tests.support import site_form


def changed(was: str, now: str, code: str = "PAD1") -> Change:
    return Change(code, "n", "Conv", site_form(was), site_form(now), Certificate("s"))


def test_changes_that_differ_in_amounts_alone_are_one_group() -> None:
    found = change_groups(
        [
            changed("Pad H 1+0 -> Conv", "Conv pads H 1+0", "PAD2"),
            changed("Pad H 1+0 -> Conv", "Conv pads H 1+0"),
            changed("Pad H 1+0 -> Conv", "Conv pads H 2+0"),
        ]
    )
    assert [(each[0].code, len(each)) for each in found] == [("PAD1", 2), ("PAD2", 1)]
    assert [amounts_in_words(each).replace("\u00a0", " ") for each in found] == [
        "1x H 1+0; 1x H 2+0",
        "H 1+0   pads [1, 0]",
    ]
