"""`onnxpad docs`: the list, a page, the schema; words of `rule`."""

import json
import re

import pytest

from onnxpad.finding import Assumption
from onnxpad.reasons import Reason
from onnxpad.report.manual import entry_of, glossary, page_names, page_text
from tests.support import onnxpad_runs
from tests.support.manual import pages
from tests.support.rows import each_row


def test_the_list_names_every_page() -> None:
    result = onnxpad_runs("docs")
    assert result.exit_code == 0
    listed = re.findall(r"^- `onnxpad docs ([\w-]+)`: ", result.stdout, re.MULTILINE)
    assert ["index", *listed] == page_names()
    assert {*page_names()} == pages().keys() - {"README"}


@each_row("name", page_names(), at_once=8)
def test_a_page_is_its_text_where_stdout_is_no_terminal(name: str) -> None:
    result = onnxpad_runs("docs", name)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "](" not in re.sub(r"^```.*?^```|`[^`]*`", "", result.stdout, flags=re.M | re.S)
    words = re.findall(r"\w{4,}", re.sub(r"\]\([^)]*\)|<!--.*-->", "", page_text(name)))
    assert set(words) <= set(re.findall(r"\w{4,}", result.stdout))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("opensizes", "; did you mean 'open-sizes'?"),
        ("zzzz", ""),
        ("../pyproject", ""),
    ],
)
def test_an_unknown_page_is_one_line(name: str, told: str) -> None:
    result = onnxpad_runs("docs", name)
    assert (result.exit_code, result.stdout) == (2, "")


@each_row("word", [*glossary(), *(each.code for each in Assumption), *Reason], at_once=20)
def test_a_word_has_its_entry(word: str) -> None:
    entry = entry_of(word.upper())
    assert entry is not None
    assert len(entry[1]) > 20
    assert "](" not in entry[1]


def test_rule_answers_words_too() -> None:
    result = onnxpad_runs("rule", "finite-data", "PAD204,guarded")
    assert result.exit_code == 0
    assert re.findall(r"^(finite data|guarded): ", result.stdout, re.M) == [
        "finite data",
        "guarded",
    ]
    assert result.stdout.startswith("PAD204 ")


def test_words_as_json() -> None:
    document = json.loads(onnxpad_runs("rule", "fill-wins", "--format", "json").stdout)
    assert document["rules"] == []
    assert list(document["words"]) == ["fill-wins"]
    assert "words" not in json.loads(onnxpad_runs("rule", "PAD204", "--format", "json").stdout)


def test_a_word_that_is_nowhere_is_refused() -> None:
    result = onnxpad_runs("rule", "guarded", "gaurded")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'gaurded'" in result.stderr
    assert "'PAD999'" in onnxpad_runs("rule", "guarded", "PAD999").stderr
    assert "'Fload16'" in onnxpad_runs("rule", "Fload16").stderr


def test_the_schema_is_printed_alone() -> None:
    result = onnxpad_runs("docs", "--schema")
    assert result.exit_code == 0
    assert {"fix", "check", "error"} <= json.loads(result.stdout)["$defs"].keys()
