"""`onnxpad docs`: the list, a page in the terminal, all pages for a browser; words of `rule`."""

import json
import re
from pathlib import Path

import pytest

from onnxpad.cli import docs_command
from onnxpad.finding import Assumption
from onnxpad.page.manual_pages import manual_pages
from onnxpad.reasons import Reason
from onnxpad.report.layout import marked
from onnxpad.report.manual import entry_of, glossary, index, page_names, page_text
from tests.page.read_page import Page
from tests.support import onnxpad_runs
from tests.support.manual import pages
from tests.support.rows import each_row


def test_the_list_names_every_page() -> None:
    result = onnxpad_runs("docs")
    assert result.exit_code == 0
    told = " ".join(result.stdout.split())
    for part, names in index().items():
        assert re.search(rf"^{part}$", result.stdout, re.MULTILINE)
        assert all(f"{name} {about}" in told for name, about in names.items())
    assert {"index", *(name for part in index().values() for name in part)} == {*page_names()}
    assert {*page_names()} == pages().keys() - {"README"}


@each_row("name", page_names(), at_once=8)
def test_a_page_is_its_text_where_stdout_is_no_terminal(name: str) -> None:
    result = onnxpad_runs("docs", name)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "](" not in re.sub(r"^```.*?^```|`[^`]*`", "", result.stdout, flags=re.M | re.S)
    words = re.findall(r"\w{4,}", re.sub(r"\]\([^)]*\)|<!--.*-->", "", page_text(name)))
    assert set(words) <= set(re.findall(r"\w{4,}", result.stdout))


def test_a_terminal_gets_a_page_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs_command, "painter", lambda: marked)
    shown = onnxpad_runs("docs", "open-sizes").stdout
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert "# Open sizes" not in plain
    assert "| --- |" not in plain
    assert max(map(len, plain.splitlines())) <= 100
    assert "A size is open if the model's inputs do not fix it" in plain


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
    assert result.stderr == (
        f"error: {name!r} is no page of the manual, which onnxpad docs lists{told}\n"
    )


def test_all_pages_are_written_for_a_browser(tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert onnxpad_runs("docs", "--html", site).exit_code == 0
    (site / "fix.html").write_text("<!DOCTYPE html>of another version")
    result = onnxpad_runs("docs", "--html", site)
    assert result.exit_code == 0, result.stderr
    written = {path.name: path.read_text("utf-8") for path in site.iterdir()}
    made = manual_pages({})
    assert written.keys() == made.keys()
    assert {name for name in made if made[name] != written[name]} == {"explain.html"}
    (picture,) = Page(written["explain.html"]).all("img")
    assert picture["src"].startswith("data:image/svg+xml;base64,")
    assert result.stdout == f"Wrote {len(written)} pages; begin with {site}/index.html\n"


def test_no_link_of_the_pages_is_dead() -> None:
    found = {name: Page(text) for name, text in manual_pages({}).items()}
    assert found.keys() == {f"{name}.html" for name in page_names()}
    for name, page in found.items():
        assert len(page.ids) == len(set(page.ids))
        for held in page.all("a"):
            path, _, anchor = held["href"].partition("#")
            target = found[path or name]
            assert not anchor or anchor in target.ids, (name, held)
    reached = {held["href"] for held in found["index.html"].all("a")}
    assert reached >= found.keys() - {"index.html"}
    for name in found.keys() - {"index.html"}:
        assert {"href": "index.html"} in found[name].all("a")


def test_the_pages_keep_to_their_policy() -> None:
    for text in manual_pages({}).values():
        page = Page(text)
        assert not any("style" in held for _, held in page.tags)
        assert not page.all("script")
        assert [level for level, _ in page.headings].count(1) == 1
        assert "<!-- python" not in text


@pytest.mark.parametrize(
    ("target", "code", "told"),
    [
        ("file", 2, "is not a folder"),
        ("none/site", 2, "cannot be made: No such file or directory"),
        ("taken", 2, "is there and is no page"),
    ],
)
def test_a_folder_that_cannot_be_written_is_one_line(
    target: str, code: int, told: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("data")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "show.html").write_text("data")
    result = onnxpad_runs("docs", "--html", tmp_path / target)
    assert (result.exit_code, result.stdout) == (code, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {tmp_path / target}")
    assert told in line
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["show.html"]


def test_a_page_and_a_folder_exclude_each_other(tmp_path: Path) -> None:
    assert onnxpad_runs("docs", "fix", "--html", tmp_path).exit_code == 2
    assert list(tmp_path.iterdir()) == []


@each_row("word", [*glossary(), *(each.code for each in Assumption), *Reason], at_once=20)
def test_a_word_has_its_entry(word: str) -> None:
    entry = entry_of(word.upper())
    assert entry is not None
    assert len(entry[1]) > 20
    assert "](" not in entry[1]


def test_rule_answers_words_too() -> None:
    result = onnxpad_runs("rule", "finite-data", "PAD204,guarded")
    assert result.exit_code == 0
    assert re.findall(r"^(?=\w)(?!PAD)[a-z].*$", result.stdout, re.M) == ["finite data", "guarded"]
    assert result.stdout.startswith("PAD204 ")
    assert onnxpad_runs("rule", "finite data").stdout in result.stdout


def test_words_as_json() -> None:
    document = json.loads(onnxpad_runs("rule", "fill-wins", "--format", "json").stdout)
    assert document["rules"] == []
    assert list(document["words"]) == ["fill-wins"]
    assert "words" not in json.loads(onnxpad_runs("rule", "PAD204", "--format", "json").stdout)


def test_a_word_that_is_nowhere_is_refused() -> None:
    result = onnxpad_runs("rule", "guarded", "gaurded")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: 'gaurded' is no code and no word of the glossary (onnxpad docs glossary); did you "
        "mean 'guarded'?\n"
    )
    assert "'PAD999' is no code" in onnxpad_runs("rule", "guarded", "PAD999").stderr
    assert "'Fload16' is no code" in onnxpad_runs("rule", "Fload16").stderr


@pytest.mark.parametrize(
    ("typed", "entry"),
    [
        (["finite", "data"], "finite data"),
        (["equal", "names"], "equal dimension names are equal sizes"),
        (["Equal names"], "equal dimension names are equal sizes"),
    ],
)
def test_a_word_of_several_words_needs_no_quotes(typed: list[str], entry: str) -> None:
    assert onnxpad_runs("rule", *typed).stdout.startswith(f"{entry}\n")


def test_the_schema_is_printed_alone() -> None:
    result = onnxpad_runs("docs", "--schema")
    assert result.exit_code == 0
    assert {"fix", "check", "error"} <= json.loads(result.stdout)["$defs"].keys()
    assert onnxpad_runs("docs", "json", "--schema").stdout == result.stdout
    assert onnxpad_runs("docs", "fix", "--schema").exit_code == 2


def test_a_code_is_explained_elsewhere() -> None:
    result = onnxpad_runs("docs", "pad501")
    assert result.exit_code == 2
    assert "onnxpad rule PAD501 explains a code" in result.stderr
