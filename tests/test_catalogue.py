"""The catalogue is complete, and its examples are what `fix` does."""

import re
from importlib import import_module
from typing import Any, TypeAlias

import onnx
import pytest

import onnxpad.passes
from onnxpad.finding import Page
from onnxpad.frameworks.fitting.reports import ReportConvention
from onnxpad.passes import LATER, PASSES, REPORTS
from onnxpad.passes.spell_padding import SpellPadding
from onnxpad.rewrite.pass_api import Pass
from onnxpad.rewrite.registry import catalogue
from onnxpad.targets.findings import REPORTS as BY_VERDICT
from onnxpad.targets.findings import TargetReport
from tests.support import assert_graph, fixed, one
from tests.support.rows import each_row

HEADINGS = ["What it does", "Why it matters", "Example", "When it is exact", "References"]
PAGES = list(catalogue().values())
Kind: TypeAlias = type[Pass] | type[ReportConvention] | TargetReport
KINDS: list[Kind] = [*PASSES, SpellPadding, ReportConvention, *BY_VERDICT.values()]


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


def test_what_is_imported_later_is_listed_by_code() -> None:
    assert (ReportConvention.code,) == REPORTS
    kinds: list[Kind] = [ReportConvention, SpellPadding, *BY_VERDICT.values()]
    found = {code: import_module(path.rpartition(".")[0]) for code, path in LATER.items()}
    named = {code: getattr(found[code], LATER[code].rpartition(".")[2]) for code in LATER}
    assert named == {kind.code: kind for kind in kinds}


def test_every_pass_has_a_page_in_the_order_of_the_codes() -> None:
    assert list(catalogue()) == sorted(kind.code for kind in KINDS)
    for code, page in catalogue().items():
        (kind,) = [kind for kind in KINDS if kind.code == code]
        assert (page.code, page.severity) == (code, kind.severity)
        assert page.text.startswith(f"{page.title}\n\n## ")


@each_row("page", PAGES)
def test_a_page_has_its_headings_and_words_under_each(page: Page) -> None:
    assert headings(page) == HEADINGS
    assert all(section(page, heading).strip() for heading in HEADINGS)
    assert page.title.endswith(".")
    assert "\n" not in page.title
    assert all(len(line) <= 100 for line in page.text.splitlines())


def completed(given: list[str], body: str) -> onnx.ModelProto:
    """The nodes of an example with what they are given, and an output where the last one writes."""
    last = re.findall(r"(\w+) = (?:[\w.]+\.)?[A-Z]", body)[-1]
    model = one(
        body,
        inputs=", ".join(line for line in given if "=" not in line),
        outputs=f"float[] {last}",
        initializers=", ".join(line for line in given if "=" in line),
    )
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return model


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_the_example_is_what_fix_does(page: Page) -> None:
    shown = re.split(r"^(\w.*)\n", section(page, "Example").strip("\n"), flags=re.MULTILINE)
    before, said, after, _, given = shown
    model, code = completed(given.splitlines(), before), page.code
    options = dict(re.findall(r"`--([\w-]+) ?(.*?)`", said))
    asked: dict[str, Any] = {each.replace("-", "_"): to or True for each, to in options.items()}
    select = code if code.startswith("PAD6") else ()
    found = onnxpad.check(model, select=select, **asked).findings
    assert code in [finding.code for finding in found]
    if said.startswith("stays"):
        assert not onnxpad.fix(model, **asked).changed
        return
    result = fixed(model, validate=True, **asked)
    assert_graph(result.model, completed(given.splitlines(), after))
    further = ["PAD201"] if code == "PAD207" else []  # which folds what is moved
    assert [change.code for change in result.changes] == [code, *further]
