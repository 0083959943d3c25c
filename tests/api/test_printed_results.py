"""Results as a person meets them in a script and a notebook: `print`, `repr`, tables in HTML."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

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


@each_row(
    ("name", "options"),
    [("validate", [PORT]), ("show", []), ("explain", ["--node", "/conv/Conv"])],
)
def test_print_gives_what_the_command_prints(name: str, options: list[object]) -> None:
    printed = onnxpad_runs(name, PORT, *options).stdout
    assert timeless(str(called(name, PORT))) == timeless(printed)


@each_row("name", CALLS)
def test_lines_fit_80_columns_and_pages_draw_padding(name: str) -> None:
    found = called(name, onnx.load(PORT))
    for line in str(found).splitlines():
        assert len(line) <= 80 or " " not in line.strip() or "misconverted" in line
    assert ("<figure" in found.to_html()) == (name in {"show", "match", "repad", "explain"})


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("model", [lambda: PORT, lambda: onnx.load(PORT), hostile])
def test_repr_is_one_short_line(name: str, model: Callable[[], Any]) -> None:
    given = model()
    node = HOSTILE if model is hostile else "/conv/Conv"
    told = repr(called(name, given, node))
    assert re.fullmatch(r"<\w+: .+>", told)
    assert len(told) < 220
    assert told.isprintable()


@pytest.mark.parametrize("name", CALLS)
def test_print_is_safe_for_any_name(name: str) -> None:
    told = str(called(name, hostile(), HOSTILE))
    assert "\x1b" not in told
    assert len(told) < 20_000


@pytest.mark.parametrize("name", ["fix", "check", "validate"])
def test_a_notebook_shows_what_a_terminal_does(name: str) -> None:
    proto = one(
        'y = Conv <auto_pad = "SAME_UPPER"> (x, w)', initializers="float[1,2,1,1] w = {1, 2}"
    )
    proto.graph.name = proto.graph.node[0].name = proto.graph.output[0].name = HOSTILE
    proto.graph.node[0].output[0] = HOSTILE
    page = called(name, proto)._repr_html_()
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


def test_the_report_of_a_result_is_the_commands() -> None:
    found = onnxpad.check(PORT, convention="tensorflow")
    assert found.report().exit_code == int(bool(found.failing()))
    assert found.report(onnxpad.Severity.INFO).exit_code == 1
    assert onnxpad.CheckResult("m", found.findings) == onnxpad.CheckResult("m", found.findings)
    assert onnxpad.match(PORT, REFERENCE).exit_code == 0
    repadded = onnxpad.repad(PORT, "tf")
    assert (repadded.outcome, repadded.to) == ("repadded", "tensorflow")
    assert onnxpad.check(PORT, convention="tf") == found
    assert onnxpad.validate(PORT, PORT).outcome == "passed"
    assert "of the greatest value" in repr(onnxpad.validate(PORT, reference=REFERENCE))
