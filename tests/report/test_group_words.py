"""The words for groups of changes: the form before, the form after, and the amounts."""

from dataclasses import replace
from typing import Any

from onnxpad.finding import Certificate, Change
from onnxpad.report.groups import (
    ChangeGroup,
    amounts_in_words,
    change_groups,
    now_in_words,
    was_in_words,
)
from onnxpad.report.layout import _first_of
from onnxpad.site_form import SiteForm, WrittenAmounts
from tests.support import site_form
from tests.support.rows import each_row

CONV, UP = "Conv", "ConvTranspose"


def group(was: str, now: str, op_type: str = CONV, *amounts: tuple[Any, int], **more: Any) -> Any:
    forms = site_form(was), site_form(now)
    return ChangeGroup("PAD1", op_type, *forms, amounts, more.get("repairs", False), ())


def given(*amounts: tuple[str, int, int], pads: tuple[int, ...] = ()) -> WrittenAmounts:
    return WrittenAmounts(amounts, (("pads", pads),) * bool(pads))


@each_row(
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
        (
            "ConvTranspose with output_shape -> Relu",
            UP,
            "Relu behind ConvTranspose with output_shape",
        ),
        ("ConvTranspose -> Slice", "Slice", "Slice behind ConvTranspose"),
        ("ConvTranspose -> Relu -> Slice", "Slice", "Slice behind Relu behind ConvTranspose"),
        ("Pad -> Relu", "Pad", "Relu behind Pad"),
        ("Pad -> ConvTranspose", UP, "Pad before ConvTranspose"),
    ],
)
def test_the_form_before(was: str, op_type: str, said: str) -> None:
    assert was_in_words(group(was, "", op_type)) == said
    assert was_in_words(group(was, "", op_type, repairs=True)) == f"{said} (does not run)"


@each_row(
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
        ("ConvTranspose -> Slice", "ConvTranspose with output_padding", UP,
         ["ConvTranspose with output_padding"]),
        ("Pad", "Pad guarded", "Pad", ["Pad,", "guarded (PAD701)"]),
        ("Pad edge", "Pad edge guarded", "Pad", ["edge,", "guarded (PAD701)"]),
        ("Pad guarded -> Conv", "Pad guarded -> Conv pads", CONV, ["Pad before Conv pads"]),
        ("Relu -> Pad", "Pad -> Relu -> Pad", "Pad", ["before Pad, past 1 operator"]),
        ("Pad -> Relu", "Pad -> Relu", "Pad", ["Relu behind Pad"]),
        ("Conv pads", "Conv", CONV, ["Conv"]),
        ("Pad -> AveragePool", "AveragePool pads counted", "AveragePool",
         ["pads,", "count_include_pad=1"]),
    ],
)  # fmt: skip
def test_the_form_after(was: str, now: str, op_type: str, said: list[str]) -> None:
    assert now_in_words(group(was, now, op_type)) == said


@each_row(
    ("amounts", "said"),
    [
        ([(None, 1)], []),
        ([(given(("H", 1, 1), pads=(1, 1)), 3)], ["H 1+1   pads [1, 1]"]),
        ([(given(("H", 1, 1)), 3)], ["H 1+1"]),
        ([(given(), 3)], ["0 on all axes"]),
        ([(WrittenAmounts((), (("output_shape", (9, 8)),)), 3)], ["output_shape [9, 8]"]),
        ([(given(("H", 1, 1), pads=(1, 1)), 1200), (None, 2)], ["1,200x H 1+1", "2x none"]),
        ([(given(("H", place, 0)), 6 - place) for place in range(1, 5)] + [(None, 1), (None, 1)],
         ["5x H 1+0", "4x H 2+0", "3x H 3+0", "2x H 4+0", "2x in 2 other ways"]),
    ],
)  # fmt: skip
def test_amounts(amounts: list[tuple[Any, int]], said: list[str]) -> None:
    assert amounts_in_words(group("a", "b", CONV, *amounts)) == said


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


@each_row(
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
    assert _first_of(names, room) == said
