"""The words for groups of changes: the form before, the form after, and the amounts."""

from typing import Any

import pytest

from onnxpad.finding import Certificate, Change
from onnxpad.report.groups import ChangeGroup, change_groups
from onnxpad.report.text.fix_text import _names, amounts_in_words, now_in_words, was_in_words

CONV, UP = "Conv", "ConvTranspose"


def group(was: str, now: str, op_type: str = CONV, *amounts: tuple[str, int], **more: Any) -> Any:
    return ChangeGroup("PAD1", op_type, was, now, amounts, more.get("repairs", False), ())


@pytest.mark.parametrize(
    ("was", "op_type", "said"),
    [
        ("Conv pads", CONV, "Conv pads"),
        ("Pad -> Conv", CONV, "Pad before Conv"),
        ("Pad -> Conv pads", CONV, "Pad before Conv pads"),
        ("Pad -> Pad -> Conv", CONV, "Pad and Pad before Conv"),
        ("Pad -> Relu -> Conv", CONV, "Pad before Conv, past 1 operator"),
        ("Pad -> Relu -> Neg -> Conv", CONV, "Pad before Conv, past 2 operators"),
        ("Relu -> Conv", CONV, "Relu before Conv"),
        ("ConvTranspose -> Slice", UP, "Slice behind ConvTranspose"),
        ("ConvTranspose pads -> Relu -> Slice", UP, "Slice behind Relu behind ConvTranspose pads"),
        ("ConvTranspose -> Slice", "Slice", "Slice behind ConvTranspose"),
        ("ConvTranspose -> Relu -> Slice", "Slice", "Slice behind Relu behind ConvTranspose"),
        ("Pad -> Relu", "Pad", "Relu behind Pad"),
        ("Pad -> ConvTranspose", UP, "Pad before ConvTranspose"),
    ],
)
def test_the_form_before(was: str, op_type: str, said: str) -> None:
    assert was_in_words(group(was, "", op_type)) == said
    assert was_in_words(group(was, "", op_type, repairs=True)) == f"{said} (does not run)"


@pytest.mark.parametrize(
    ("was", "now", "op_type", "said"),
    [
        ("Pad -> Conv", "", CONV, ["removed"]),
        ("computed Pad -> Conv", "computed Pad -> Conv", CONV, ["by fewer nodes"]),
        ("Pad -> Relu", "Relu -> Pad", "Pad", ["moved past it"]),
        ("Pad -> Relu -> Neg", "Relu -> Neg -> Pad", "Pad", ["moved past them"]),
        ("Pad", "Pad -> Pad", "Pad", ["two Pads"]),
        ("Pad -> Conv", "Conv", CONV, ["dropped:", "never read"]),
        ("Pad -> Conv", "Conv pads", CONV, ["pads"]),
        ("Conv pads", "Pad -> Conv", CONV, ["Pad before Conv"]),
        ("Pad -> Conv", "Conv with pads", CONV, ["Conv with pads"]),
        ("Pad -> AveragePool", "AveragePool pads counted", "AveragePool",
         ["pads,", "count_include_pad=1"]),
    ],
)  # fmt: skip
def test_the_form_after(was: str, now: str, op_type: str, said: list[str]) -> None:
    assert now_in_words(group(was, now, op_type)) == said


@pytest.mark.parametrize(
    ("amounts", "said"),
    [
        ([("", 1)], []),
        ([("H 1+1, pads [1, 1]", 3)], ["H 1+1   pads [1, 1]"]),
        ([("H 1+1", 3)], ["H 1+1"]),
        ([("nothing", 3)], ["0 on all axes"]),
        ([("H 1+1, pads [1, 1]", 1200), ("", 2)], ["1,200x H 1+1", "2x none"]),
        ([("a", 5), ("b", 4), ("c", 3), ("d", 2), ("e", 1), ("f", 1)],
         ["5x a", "4x b", "3x c", "2x d", "2x in 2 other ways"]),
    ],
)  # fmt: skip
def test_amounts(amounts: list[tuple[str, int]], said: list[str]) -> None:
    assert amounts_in_words(group("a", "b", CONV, *amounts)) == said


def changed(was: str, now: str, amounts: str, code: str = "PAD1") -> Change:
    return Change(code, "n", CONV, "", "", Certificate("s"), forms=(was, now), amounts=amounts)


def test_changes_that_differ_in_amounts_alone_are_one_group() -> None:
    found = change_groups(
        [
            changed("Pad -> Conv", "Conv", "a", "PAD2"),
            changed("Pad -> Conv", "Conv", "a"),
            changed("Pad -> Conv pads", "Conv pads", "b"),
            changed("Pad -> Conv", "Conv pads", "b"),
        ]
    )
    assert [(each.code, each.was, each.now, each.amounts) for each in found] == [
        ("PAD1", "Pad -> Conv pads", "Conv pads", (("b", 2), ("a", 1))),
        ("PAD2", "Pad -> Conv", "Conv", (("a", 1),)),
    ]


@pytest.mark.parametrize(
    ("names", "room", "said"),
    [
        (["a"], None, "a"),
        (["a", "b", "c"], None, "a, b, c"),
        (["a", "b", "c", "d"], None, "a, b, c and 1 more"),
        (["aaaa", "bbbb", "cccc"], 16, "aaaa, bbbb, cccc"),
        (["aaaa", "bbbb", "cccc"], 15, "aaaa and 2 more"),
        (["aaaa", "b", "c"], 18, "aaaa, b, c"),
        (["aaaa", "bb", "cccccccccc"], 19, "aaaa, bb and 1 more"),
        (["aaaa", "bb", "cccccccccc"], 18, "aaaa and 2 more"),
        (["n" * 40, "b"], 31, f"*{'n' * 19} and 1 more"),
        (["n" * 40, "b"], 14, f"*{'n' * 11} and 1 more"),
    ],
)
def test_as_many_names_as_fit(names: list[str], room: int | None, said: str) -> None:
    changes = [Change("PAD1", name, CONV, "", "", Certificate("s")) for name in names]
    assert _names(changes, room) == said
