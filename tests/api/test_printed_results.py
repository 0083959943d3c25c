"""Results as a person meets them in a script and a notebook: `print`, `repr`, tables in HTML."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import MODELS, one, onnxpad_runs
from tests.support.rows import each_row

PORT = MODELS / "misconverted" / "strided_conv2d.onnx"
REFERENCE = PORT.with_suffix(".npz")
HOSTILE = '<script>alert("x")</script>\n\x1b[2J' + "n" * 1_000_000
CALLS = ("fix", "check", "validate", "match", "repad", "show", "explain")


def called(name: str, model: Any, node: str = "/conv/Conv") -> Any:
    """The result of a call about a model."""
    further: dict[str, dict[str, Any]] = {
        "validate": {"rewritten": model},
        "match": {"reference": REFERENCE},
        "repad": {"to": "tensorflow"},
        "explain": {"node": node},
    }
    return getattr(onnxpad, name)(model, **further.get(name, {}))


def hostile() -> onnx.ModelProto:
    """The port with names that hold markup, escape codes and a megabyte."""
    proto = onnx.load(PORT)
    proto.graph.name = proto.graph.node[0].name = HOSTILE
    return proto


def timeless(text: str) -> str:
    """A report without its times and the spaces at which it is wrapped."""
    return re.sub(r"\d+\.\d m?s\b", "T", " ".join(text.split()))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param("validate", [PORT], id="validate"),
        pytest.param("show", [], id="show"),
        pytest.param("explain", ["--node", "/conv/Conv"], id="explain"),
    ],
)
def test_print_gives_what_the_command_prints(name: str, options: list[object]) -> None:
    printed = onnxpad_runs(name, PORT, *options).stdout
    assert timeless(str(called(name, PORT))) == timeless(printed)


def test_print_gives_what_check_prints_below_the_path() -> None:
    path, *lines = str(onnxpad.check(PORT, convention="tensorflow")).splitlines()
    assert path == str(PORT)
    assert all(line.startswith("  ") for line in lines[:-1])
    printed = onnxpad_runs("check", PORT, "--convention", "tensorflow").stdout
    assert timeless("\n".join(lines)) == timeless(printed.replace(f"{PORT}: ", ""))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param("match", ["--reference", REFERENCE], id="match"),
        pytest.param("repad", ["--to", "tensorflow"], id="repad"),
    ],
)
def test_print_gives_what_the_command_prints_but_for_the_file(
    name: str, options: list[object], tmp_path: Path
) -> None:
    printed = onnxpad_runs(name, PORT, *options, "-o", tmp_path / "out.onnx").stdout
    told = timeless(str(called(name, PORT)))
    assert (
        told.partition("Not written yet: save(path) writes it")[0]
        == (timeless(printed).partition("Wrote ")[0])
    )
    assert "save(path)" in told
    assert "--" not in told


def test_a_part_that_is_matched_is_had_by_an_argument() -> None:
    with np.load(REFERENCE) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    apart = found["output"].copy()
    apart[..., 0, 0] += 1
    told = str(onnxpad.match(PORT, {**found, "output": apart}))
    assert "arrays in memory" in told
    assert "Nothing written: partial=True gives the model with what padding explains." in told
    told = str(onnxpad.match(PORT, {**found, "output": apart}, partial=True))
    assert "partial=True" not in told
    assert "Not written yet: save(path) writes it" in told


@each_row("name", CALLS)
def test_lines_fit_80_columns(name: str) -> None:
    for line in str(called(name, onnx.load(PORT))).splitlines():
        assert len(line) <= 80 or " " not in line.strip() or "misconverted" in line


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("model", [lambda: PORT, lambda: onnx.load(PORT), hostile])
def test_repr_is_one_short_line(name: str, model: Callable[[], Any]) -> None:
    given = model()
    node = HOSTILE if model is hostile else "/conv/Conv"
    told = repr(called(name, given, node))
    assert re.fullmatch(r"<\w+: .+>", told)
    assert len(told) < 200
    assert told.isprintable()


@pytest.mark.parametrize("name", CALLS)
def test_print_is_safe_for_any_name(name: str) -> None:
    told = str(called(name, hostile(), HOSTILE))
    assert "\x1b" not in told
    assert len(told) < 20_000


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("fix", "is now", id="fix"),
        pytest.param("check", "PAD101", id="check"),
        pytest.param("validate", "equal bit for bit", id="validate"),
    ],
)
def test_a_notebook_shows_what_a_terminal_does(name: str, told: str) -> None:
    proto = one(
        'y = Conv <auto_pad = "SAME_UPPER"> (x, w)', initializers="float[1,2,1,1] w = {1, 2}"
    )
    proto.graph.name = proto.graph.node[0].name = proto.graph.output[0].name = HOSTILE
    proto.graph.node[0].output[0] = HOSTILE
    page = called(name, proto)._repr_html_()
    assert told in page
    assert "<script" not in page
    assert len(page) < 10_000
    left: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, _: Any) -> None:
            left.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert left.pop() == tag

    Reader().feed(page)
    assert left == []


def test_failures_are_told_in_repr() -> None:
    found = onnxpad.validate(PORT, reference=REFERENCE)
    assert repr(found).startswith("<ValidationResult: failed, 1 run: the original model differs")
    assert "original against reference" in found._repr_html_()


def test_the_report_of_a_result_is_the_commands() -> None:
    found = onnxpad.check(PORT, convention="tensorflow")
    assert found.report().exit_code == int(bool(found.failing()))
    assert found.report(onnxpad.Severity.INFO).exit_code == 1
    assert onnxpad.CheckResult("m", found.findings) == onnxpad.CheckResult("m", found.findings)
    assert onnxpad.match(PORT, REFERENCE).exit_code == 0
    assert onnxpad.repad(PORT, "tensorflow").outcome == "repadded"
    assert onnxpad.validate(PORT, PORT).outcome == "passed"


def test_the_cells_of_a_notebook_hold_no_marks_of_a_terminal() -> None:
    """Spaces at which no line breaks, and breaks in a cell, are those of the printed table."""
    page = onnxpad.fix(MODELS / "nasnet_keras.onnx", validate=False)._repr_html_()
    assert "\\x" not in page
    assert "\\n" not in page
    assert "<td>pads, count_include_pad=1</td>" in page
    assert "<td>dropped: never read</td>" in page
    assert "4x H 1+2, W 2+2; 4x H 2+3, W 3+3" in page
