"""The record of behaviour: what it covers, what it leaves out, and that it tells differences."""

import tempfile
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import onnx
import pytest
from typer.main import get_command

import onnxpad
from onnxpad.cli import app
from tests.behaviour import recording
from tests.behaviour.__main__ import SUMMARY, compare, main
from tests.behaviour.cases import COMMANDS, Case, failing, planned, subjects, words_of
from tests.behaviour.covering import covering, pairs_of, possible
from tests.behaviour.recording import model_lines, normalised, recorded
from tests.support import MODELS, one

SMALL = MODELS / "misconverted" / "strided_conv2d.onnx"


OPTIONS = {"a": ("1", "2", "3"), "b": ("", "x"), "c": ("", "y", "z"), "d": ("", "w")}


class TestCovering:
    def test_every_pair_occurs_in_few_rows(self) -> None:
        rows = covering([OPTIONS])
        met = {pair for _, row in rows for pair in pairs_of(row)}
        assert met == {
            ((a, x), (b, y))
            for a, b in combinations("abcd", 2)
            for x in OPTIONS[a]
            for y in OPTIONS[b]
        }
        assert len(rows) <= 13

    def test_a_subject_has_only_its_values_and_all_rounds(self) -> None:
        narrow = {**OPTIONS, "a": ("1",), "c": ("", "y")}
        rows = covering([narrow, OPTIONS, narrow], rounds=3)
        assert all(row["a"] == "1" and row["c"] != "z" for place, row in rows if place != 1)
        assert all([place for place, _ in rows].count(place) >= 3 for place in range(3))
        assert {pair for _, row in rows for pair in pairs_of(row)} == possible(OPTIONS)

    def test_the_rows_are_those_of_the_seed(self) -> None:
        assert covering([OPTIONS], 2) == covering([OPTIONS], 2)
        assert covering([OPTIONS], 2, seed=1) != covering([OPTIONS], 2)


class TestCases:
    def test_every_option_of_every_command_is_varied(self) -> None:
        commands: dict[str, Any] = vars(get_command(app))["commands"]
        varied: dict[str, set[str]] = {}
        for line, options in COMMANDS.values():
            words = " ".join([line, *(value for values in options.values() for value in values)])
            varied.setdefault(line.split()[0], set()).update(words.split())
        for name, known in varied.items():
            for each in commands[name].params:
                if each.param_type_name == "option":
                    assert known & set(each.opts), f"{name} {each.opts[0]} is in no table"
        assert set(commands) - varied.keys() == {
            "rule",
            "targets",
            "docs",
            "doctor",
        }

    def test_each_model_and_each_pair_has_its_case(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert len(subjects()) >= 75
        few = subjects()[:6]
        monkeypatch.setattr("tests.behaviour.cases.subjects", lambda: few)
        plan = planned("explain", 2)
        names = {case.name: case.source for case, _ in plan.cases}
        assert len(names) == len(plan.cases)
        assert all(list(names.values()).count(model) >= 2 for model in few)
        assert plan.impossible == ()
        met = {pair for _, row in plan.cases for pair in pairs_of(row)}
        assert len(met) == plan.covered == 66

    def test_a_value_is_filled_in_only_with_what_the_model_has(self) -> None:
        closed, opened = words_of(SMALL), words_of(MODELS / "codec_torchscript.onnx")
        assert "dim" not in closed
        assert (opened["shape"], opened["partly"]) == ("input=1,1,333", "input=1,1,?")
        assert opened["steps"] == "333..1332:333"

    def test_what_fails_is_asked_in_text_and_as_json(self) -> None:
        cases = {case.name: case for case in failing()}
        assert ["--format" in cases[f"failing/fix.{i}"].words for i in (1, 2)] == [False, True]


class TestRecord:
    def test_it_has_all_that_a_command_says_and_writes(self) -> None:
        words = ("fix", SMALL.name, "--no-validate", "-o", "sub/out.onnx", "--html", "p.html")
        case = Case("", words, {"COLUMNS": "60", "TERM": "xterm", "NO_COLOR": "1"}, SMALL)
        text = recorded(case)
        begin = "$ COLUMNS=60 TERM=xterm NO_COLOR=1 onnxpad fix strided_conv2d.onnx"
        assert text.startswith(
            f"{begin} --no-validate -o sub/out.onnx --html p.html\nexit code 0\n"
        )
        assert [line for line in text.splitlines() if line.startswith("== ")] == [
            *("== stdout", "== p.html", "== sub/out.onnx")
        ]
        assert tempfile.gettempdir() not in text
        assert text == recorded(case)

    @pytest.mark.parametrize(
        ("left", "told"),
        [
            pytest.param(lambda f: (f / "left").mkdir(), "== left/\n", id="folder"),
            pytest.param(lambda f: f.joinpath(".left").touch(), "== .left\n0 bytes", id="hidden"),
            pytest.param(
                lambda f: (f / "left").symlink_to("none"), "== left, a link to none\n", id="link"
            ),
            pytest.param(lambda f: (f / "out.html").chmod(0o600), "html, mode 600\n", id="mode"),
            pytest.param(lambda f: (f / "out.onnx").write_bytes(b"\xff"), "no model", id="half"),
            pytest.param(lambda f: f.parents[99], "none, but IndexError: 99", id="traceback"),
        ],
    )
    def test_whatever_a_command_leaves_is_told(
        self, left: Callable[[Path], object], told: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def leaves(*_: object, **__: object) -> None:
            Path("out.html").write_text("<html/>\n")
            left(Path.cwd())
            raise SystemExit(0)

        words = ("show", "--html", "out.html")
        monkeypatch.setattr(recording, "app", leaves)
        text = recorded(Case("", words, {}, SMALL))
        assert told in text
        assert text.count("\n== ") == 2 - ("html" in told or "Error" in told)

    def test_a_failure_has_its_message_and_code(self) -> None:
        assert recorded(Case("", ("fix", "absent.onnx"), {}, SMALL)) == (
            "$ onnxpad fix absent.onnx\nexit code 2\n== stderr\n"
            "error: absent.onnx does not exist; check the path\n"
        )

    def test_colours_are_told(self) -> None:
        case = Case("", ("explain", "--op", "conv", "--size", "7", "--kernel", "3"), {}, None)
        plain = recorded(case)
        painted = recorded(Case("", case.words, {"TERM": "xterm"}, None))
        assert "\x1b[" in painted
        assert "\x1b[" not in plain

    def test_only_places_and_versions_are_normalised(self) -> None:
        version = onnxpad.__version__
        text = (
            f"/a/b/c.onnx {tempfile.gettempdir()}/tmp12_x 1.5 s\nby onnxpad {version}, 7.{version}"
        )
        assert normalised(text, Path("/a/b")) == (
            f"./c.onnx TEMPORARY 1.5 s\nby onnxpad VERSION, 7.{version}"
        )

    def test_every_part_of_a_model_is_in_a_line(self) -> None:
        model = one("y = Relu (x)", initializers="float[2] w = {1, 2}")
        before = model_lines(model.SerializeToString())
        model.graph.initializer[0].float_data[1] = 3
        model.graph.node[0].doc_string = "mended"
        onnx.helper.set_model_props(model, {"who": "me"})
        after = model_lines(model.SerializeToString())
        assert len(after) == len(before) + 1
        assert len(set(after) - set(before)) == 3


class TestCompare:
    @pytest.fixture
    def records(self, tmp_path: Path) -> tuple[Path, Path]:
        for name in "one", "two":
            (tmp_path / name / "fix").mkdir(parents=True)
            (tmp_path / name / SUMMARY).write_text("2 cases\n")
            (tmp_path / name / "fix" / "a.1.txt").write_text("$ onnxpad fix\nexit code 0\nPad 3\n")
        return tmp_path / "one", tmp_path / "two"

    def test_equal_records(
        self, records: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["compare", *map(str, records)]) == 0
        assert capsys.readouterr().out == "0 of 2 files differ\n"

    def test_a_difference_is_told_by_case(
        self, records: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = records[1] / "fix" / "a.1.txt"
        path.write_text(path.read_text().replace("Pad 3", "Pad 4"))
        (records[1] / "fix" / "b.1.txt").write_text("new\n")
        assert main(["compare", *map(str, records)]) == 1
        out = capsys.readouterr().out
        assert "-Pad 3\n+Pad 4\n" in out
        assert "+new\n" in out
        assert out.endswith("2 of 3 files differ\n")

    def test_line_ends_differ(self, records: tuple[Path, Path]) -> None:
        path = records[1] / "fix" / "a.1.txt"
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert compare(*records) == 1

    @pytest.mark.parametrize("more", [["--only", "fxi"], ["--jobs", "0"], ["--rounds", "0"]])
    def test_nothing_compared_is_no_success(
        self, more: list[str], records: tuple[Path, Path], tmp_path: Path
    ) -> None:
        for words in (["compare", *map(str, records)], ["record", str(tmp_path / "new")]):
            with pytest.raises(SystemExit) as left:
                main([*words, *more])
            assert left.value.code == 2

    def test_what_is_no_record_is_refused(self, records: tuple[Path, Path]) -> None:
        (records[1] / SUMMARY).unlink()
        for words in (["compare", *map(str, records)], ["record", str(records[0])]):
            with pytest.raises(SystemExit) as left:
                main(words)
            assert left.value.code == 2
