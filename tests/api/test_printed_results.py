"""Results as a person meets them in a script and a notebook: `print`, `repr`, tables in HTML."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import onnx
import pytest

import onnxpad
from tests.support import MODELS, one

PORT = MODELS / "misconverted" / "strided_conv2d.onnx"
REFERENCE = PORT.with_suffix(".npz")
HOSTILE = '<script>alert("x")</script>\n\x1b[2J' + "n" * 1_000_000
CALLS = ("fix", "check", "validate", "match", "repad", "show", "explain")


LOADED = partial(onnx.load, PORT)


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


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("model", [LOADED, hostile])
def test_print_and_repr_are_safe_for_any_name(name: str, model: Callable[[], Any]) -> None:
    result = called(name, model(), HOSTILE if model is hostile else "/conv/Conv")
    for line in str(result).splitlines():
        assert len(line) <= 80 or " " not in line.strip() or model is not LOADED
        assert "\x1b" not in line
    assert len(str(result)) < 20_000
    told = repr(result)
    assert re.fullmatch(r"<\w+: .+>", told)
    assert len(told) < 220
    assert told.isprintable()


@pytest.mark.parametrize("name", ["fix", "check", "validate"])
def test_a_notebook_shows_what_a_terminal_does(name: str) -> None:
    proto = one(
        'y = Conv <auto_pad = "SAME_UPPER"> (x, w)', initializers="float[1,2,1,1] w = {1, 2}"
    )
    proto.graph.name = proto.graph.node[0].name = proto.graph.output[0].name = HOSTILE
    proto.graph.node[0].output[0] = HOSTILE
    page = called(name, proto)._repr_html_()
    assert (page.count("<"), page[:5], page[-6:]) == (2, "<pre>", "</pre>")
    assert len(page) < 10_000


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
