"""`onnxpad show`: its text, its JSON, and how it ends on bad input."""

import json
import re
from typing import Any

import pytest

from onnxpad.api.show import show
from onnxpad.report.layout import Screen
from tests.support import ROOT, onnxpad_runs

MODEL = ROOT / "models" / "zeropad_dynamo.onnx"


def told(*args: object) -> str:
    result = onnxpad_runs("show", *args)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_table_has_a_row_for_each_form() -> None:
    head, _, table = told(MODEL).partition("\n\n")
    lines = table.splitlines()
    assert [line.split()[-2:] for line in lines if "fix rewrites" in line]
    assert {"Conv 3x3", "Conv 3x3,"} <= {line[2:11].rstrip() for line in lines}  # one has strides
    words = [str(MODEL), f"{MODEL}:"]
    assert all(len(line) <= 80 for line in (head.splitlines() + lines) if line not in words)


def test_one_site_in_full() -> None:
    text = " ".join(told(MODEL, "--node", "node_conv2d_2").split())
    assert "fix leaves it (PAD201)" in text
    assert "padding H 1+1, W 1+1 pads [1, 1, 1, 1]" in text


def test_json_has_every_field() -> None:
    document: dict[str, Any] = json.loads(told(MODEL, "--format", "json"))
    assert (document["command"], document["total"]) == ("show", 9)
    (site,) = [site for site in document["sites"] if site["node"] == "node_conv2d_2"]
    assert (site["fixable"], site["stays"], site["pads"]) == (False, True, [1, 1, 1, 1])
    assert [pad["mode"] for pad in site["outer"]] == ["constant", "reflect"]
    assert {axis["name"]: (axis["begin"], axis["end"]) for axis in site["axes"]} == {
        "H": (1, 1),
        "W": (1, 1),
    }
    assert site["findings"][0]["reason_code"] == "copies-data"


def test_a_pattern_and_a_name() -> None:
    assert told(MODEL, "--node", "node_max_*", "--node", "node_conv1d").count("  path ") == 3


def test_a_name_that_nothing_has() -> None:
    result = onnxpad_runs("show", MODEL, "--node", "node_conv2e")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'node_conv2d_3'" in result.stderr


def test_a_screen_as_wide_as_it_is() -> None:
    found = show(MODEL, "node_conv2d_2")
    narrow, wide = (found.text(Screen(width)).splitlines() for width in (60, 120))
    assert max(map(len, narrow[1:])) <= 60
    assert len(wide) < len(narrow)


def test_print_gives_the_report() -> None:
    found = show(MODEL)
    assert f"{found}\n" == told(MODEL)


def test_colours() -> None:
    found = show(MODEL)
    escaped = re.compile(r"\x1b\[[0-9;]*m")
    assert escaped.sub("", found.text(Screen(80, is_painted=True))) == found.text()
