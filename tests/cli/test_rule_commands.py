"""`rule`, `doctor` and `fix --diff` as commands: what they print, and how they end."""

import json
import re
from pathlib import Path

import onnx
import pytest
from msgspec.structs import asdict

import onnxpad.doctor.examine
from onnxpad.doctor.examine import Diagnosis, Driver, Package, Problem
from onnxpad.rewrite.registry import catalogue
from onnxpad.targets.known_targets import every
from tests.support import one, onnxpad_runs
from tests.support.rows import each_row


class TestRules:
    def test_a_line_a_code(self) -> None:
        lines = onnxpad_runs("rule").stdout.splitlines()
        for line, page in zip(lines, catalogue().values(), strict=True):
            assert line.split(maxsplit=2) == [page.code, page.severity, page.title]

    def test_json_has_the_pages_too(self) -> None:
        result = onnxpad_runs("rule", "--format", "json")
        document = json.loads(result.stdout)
        assert (document["command"], document["exit_code"], result.exit_code) == ("rule", 0, 0)
        assert [rule["code"] for rule in document["rules"]] == list(catalogue())
        for rule, page in zip(document["rules"], catalogue().values(), strict=True):
            assert rule == asdict(page)


class TestTargets:
    def test_a_row_a_target(self) -> None:
        text = onnxpad_runs("targets").stdout
        for target in every():
            assert re.search(
                rf"^  {re.escape(target.full_name)} +(source|\d+ runs) ", text, re.MULTILINE
            )

    def test_json(self) -> None:
        document = json.loads(onnxpad_runs("targets", "--format", "json").stdout)
        assert document["command"] == "targets"
        assert [each["name"] for each in document["targets"]] == [each.name for each in every()]
        assert "cells" not in document["targets"][0]
        (tract,) = json.loads(onnxpad_runs("targets", "tract", "--format", "json").stdout)[
            "targets"
        ]
        assert {"op": ["Conv"], "pad": [""]} in [cell["when"] for cell in tract["cells"]]
        assert set(tract["facts"][0]) == {"text", "source", "about"}

    def test_an_unknown_name(self) -> None:
        result = onnxpad_runs("targets", "openvinno")
        assert result.exit_code == 2
        assert "'openvino'" in result.stderr


class TestRule:
    @each_row("code", catalogue(), at_once=4)
    def test_a_page_has_every_word_of_the_docstring(self, code: str) -> None:
        result = onnxpad_runs("rule", code.lower())
        assert result.exit_code == 0
        page = catalogue()[code]
        assert result.stdout.split() == [code, page.severity, *page.text.split()]

    def test_several_codes_and_beginnings(self) -> None:
        several = onnxpad_runs("rule", "pad201", "PAD101,PAD102,PAD103").stdout
        codes = [f"PAD{number}" for number in (101, 102, 103, 201)]
        assert re.findall(r"^PAD\d+", several, re.MULTILINE) == codes
        assert onnxpad_runs("rule", "PAD1").stdout in several

    def test_json_has_the_pages_that_were_asked_for(self) -> None:
        document = json.loads(onnxpad_runs("rule", "PAD1", "--format", "json").stdout)
        whole = json.loads(onnxpad_runs("rule", "--format", "json").stdout)
        assert document["command"] == "rule"
        assert document["rules"] == [each for each in whole["rules"] if each["code"] < "PAD2"]

    def test_an_unknown_code_is_one_line_with_the_nearest(self) -> None:
        result = onnxpad_runs("rule", "PAD101", "PAD999")
        assert (result.exit_code, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert "'PAD999'" in line


class TestDoctor:
    @pytest.mark.parametrize(("broken", "code"), [(True, 1), (False, 0)])
    @pytest.mark.parametrize("form", ["text", "json"])
    def test_the_exit_code_says_whether_it_is_usable(
        self, broken: bool, code: int, form: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = Diagnosis(
            python="3.12.0",
            platform="Linux x86_64",
            packages=(Package("onnxpad", "0"), Package("onnx", "")),
            providers=(),
            cuda="",
            libraries=(),
            driver=Driver("", (), library=False),
            problems=(Problem("it hurts", "rest", broken),),
        )
        monkeypatch.setattr(onnxpad.doctor.examine, "examine", lambda: found)
        result = onnxpad_runs("doctor", "--format", form)
        assert (result.exit_code, result.stderr) == (code, "")
        if form == "json":
            document = json.loads(result.stdout)
            assert (document["exit_code"], document["ok"]) == (code, not broken)
            assert document["problems"] == [{"what": "it hurts", "cure": "rest", "broken": broken}]
            assert document["packages"][1] == {"name": "onnx", "version": ""}
        else:
            assert "it hurts\n  cure: rest" in result.stdout


class TestDiff:
    @pytest.fixture
    def padded(self, tmp_path: Path) -> Path:
        path = tmp_path / "padded.onnx"
        pool = '<auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]>'
        onnx.save(one(f"a = Relu (x) y = MaxPool {pool} (a)"), path)
        return path

    @pytest.mark.parametrize("extra", [(), ("--in-place",), ("-o", "out.onnx")])
    def test_it_writes_nothing_and_prints_the_diff(
        self, padded: Path, extra: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(padded.parent)
        before = padded.read_bytes()
        result = onnxpad_runs("fix", padded, "--diff", *extra)
        assert (result.exit_code, result.stderr) == (1, "")
        assert padded.read_bytes() == before
        assert list(padded.parent.iterdir()) == [padded]
        first, _, heading, removed, added = result.stdout.splitlines()
        assert first == f"--- {padded}"
        assert heading == "@@ -3 +3 @@"  # an input, and then the nodes
        assert removed.startswith('-y = MaxPool <auto_pad = "SAME_UPPER"')
        assert added.startswith("+y = MaxPool <kernel_shape = [3, 3], pads = [1, 0, 1, 1]")

    def test_a_size_that_is_fixed_is_a_change_of_an_input(self, tmp_path: Path) -> None:
        path = tmp_path / "open.onnx"
        onnx.save(one("y = Relu (x)", inputs="float[1, 2, height, 8] x"), path)
        result = onnxpad_runs("fix", path, "--diff", "--shape", "x=1,2,9,8")
        assert result.exit_code == 1
        assert result.stdout.splitlines()[2:] == [
            "@@ -1 +1 @@",
            "-input x[FLOAT, 1x2xheightx8]",
            "+input x[FLOAT, 1x2x9x8]",
        ]

    def test_json_has_it_where_it_was_asked_for(self, padded: Path) -> None:
        text = onnxpad_runs("fix", padded, "--diff").stdout
        asked = json.loads(onnxpad_runs("fix", padded, "--diff", "--format", "json").stdout)
        assert (asked["diff"], asked["exit_code"], asked["check"]) == (text, 1, True)
        other = json.loads(onnxpad_runs("fix", padded, "--format", "json").stdout)
        assert other["diff"] is None

    def test_of_a_clean_model_it_is_empty(self, padded: Path) -> None:
        onnxpad_runs("fix", padded, "--in-place")
        result = onnxpad_runs("fix", padded, "--diff", "-o", padded.with_name("out.onnx"))
        assert (result.exit_code, result.output) == (0, "")
        assert list(padded.parent.iterdir()) == [padded]
