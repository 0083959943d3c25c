"""The catalogue is complete, and its examples are what `fix` does."""

import re
from typing import Any, TypeAlias

import onnx
import pytest

import onnxpad.passes
from onnxpad.finding import Page
from onnxpad.frameworks.fitting.reports import ReportConvention
from onnxpad.passes import PASSES, REPORTS, TARGETS
from onnxpad.passes.spell_padding import SpellPadding
from onnxpad.pipeline.registry import catalogue
from onnxpad.rewrite.pass_api import Example, Pass
from onnxpad.targets.findings import TARGET_REPORTS, TargetReport
from tests.support import assert_graph, fixed, one
from tests.support.rows import each_row

HEADINGS = ["What it does", "Why it matters", "Example", "When it is exact", "References"]
PAGES = list(catalogue().values())
Kind: TypeAlias = type[Pass] | type[ReportConvention] | type[TargetReport]
KINDS: list[Kind] = [*PASSES, SpellPadding, ReportConvention, *TARGET_REPORTS]


def headings(page: Page) -> list[str]:
    return re.findall(r"^## (.*)$", page.text, flags=re.MULTILINE)


def section(page: Page, heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page.text, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found.group(1)


def test_a_code_is_never_given_twice() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"PAD\d\d\d", code) for code in codes)


def test_reports_on_conventions_are_listed_by_code_without_being_imported() -> None:
    assert (ReportConvention.code,) == REPORTS
    assert onnxpad.passes.ReportConvention is ReportConvention
    assert {"ReportConvention", "FoldPad"} <= {*dir(onnxpad.passes)}
    with pytest.raises(AttributeError, match="no attribute 'ReportNothing'"):
        _ = onnxpad.passes.ReportNothing


def test_what_only_a_target_asks_for_is_listed_by_code_without_being_imported() -> None:
    kinds: list[Kind] = [SpellPadding, *TARGET_REPORTS]
    assert {kind.code: kind.__name__ for kind in kinds} == TARGETS
    assert all(getattr(onnxpad.passes, kind.__name__) is kind for kind in kinds)


def test_every_pass_has_a_page_in_the_order_of_the_codes() -> None:
    assert list(catalogue()) == sorted(kind.code for kind in KINDS)
    for code, page in catalogue().items():
        (kind,) = [kind for kind in KINDS if kind.code == code]
        assert (page.code, page.severity) == (code, kind.severity)
        assert page.text.startswith(f"{page.title}\n\n## ")


@each_row(
    "page",
    PAGES,
)
def test_a_page_has_its_headings_and_words_under_each(page: Page) -> None:
    assert headings(page) == HEADINGS
    assert all(section(page, heading).strip() for heading in HEADINGS)
    assert page.title.endswith(".")
    assert "\n" not in page.title
    assert all(len(line) <= 100 for line in page.text.splitlines())


EXAMPLES = [
    pytest.param(kind, example, id=f"{kind.code}-{number}")
    for kind in KINDS
    for number, example in enumerate(kind.examples)
]


def completed(example: Example, body: str) -> onnx.ModelProto:
    """The nodes of an example with what they are given, and an output where the last one writes."""
    given = example.given.strip().splitlines()
    last = re.findall(r"(\w+) = (?:[\w.]+\.)?[A-Z]", body)[-1]
    model = one(
        body,
        inputs=", ".join(line for line in given if "=" not in line),
        outputs=f"float[] {last}",
        initializers=", ".join(line for line in given if "=" in line),
    )
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return model


def test_every_pass_has_an_example() -> None:
    assert all(kind.examples for kind in KINDS)


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_the_example_is_what_fix_does(kind: Kind, example: Example) -> None:
    before = completed(example, example.before)
    asked: dict[str, Any] = {"dynamic": example.dynamic, "no_ceil": example.no_ceil}
    asked |= {"symmetric_transpose": example.symmetric_transpose, "target": example.target}
    select = kind.code if kind.code.startswith("PAD6") else ()
    found = onnxpad.check(before, style=example.style, select=select, **asked).findings
    assert kind.code in [finding.code for finding in found]
    if not example.after:
        assert not onnxpad.fix(before, style=example.style, **asked).changed
        return
    result = fixed(before, example.style, validate=True, **asked)
    assert_graph(result.model, completed(example, example.after))
    # Another rule folds what these move or part.
    further = ["PAD201"] if kind.code in {"PAD207", "PAD208"} else []
    assert [change.code for change in result.changes] == [kind.code, *further]


@each_row(("kind", "example"), EXAMPLES)
def test_the_page_shows_the_example(kind: Kind, example: Example) -> None:
    shown = section(catalogue()[kind.code], "Example")
    for text in (example.given, example.before, example.after):
        assert all(f"    {line.strip()}" in shown for line in text.strip().splitlines())
