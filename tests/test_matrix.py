"""The matrix of environments, and what the tests need of older packages."""

import inspect
import tomllib
from pathlib import Path

import onnx.parser

from tests import matrix
from tests.conftest import SLOW
from tests.matrix import bounds, planned
from tests.older import GAPS, numbers, reading
from tests.support import ROOT

TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(TEXT)["project"]
INSTALLED = {10: Path("a"), 11: Path("b"), 13: Path("c"), 15: Path("d")}


def test_the_lowest_versions_are_those_of_pyproject() -> None:
    found = bounds(PROJECT)
    assert {"numpy", "onnx", "typer", "onnx-graphsurgeon"} < set(found)
    assert all(f'"{name}>={version}' in TEXT for name, version in found.items())
    assert len([name for name in found if name.startswith("onnxruntime")]) == 1
    needs = ["a>=1.2,<3", "b<4,>=2.0", 'c>=5; sys_platform == "none"']
    assert bounds({"dependencies": needs}) == {"a": "1.2", "b": "2.0"}


def test_each_promised_python_is_run_or_said_to_be_missing() -> None:
    environments, missing = planned({"requires-python": ">=3.11"}, INSTALLED)
    found = {each.name: (each.python.name, each.lowest) for each in environments}
    assert {name: each for name, each in found.items() if "3." in name} == {
        f"{kind}-3.{minor}": (INSTALLED[minor].name, kind == "lowest")
        for minor in (11, 13, 15)
        for kind in ("newest", "lowest")
    }
    assert found["cpu"] == ("d", False)
    assert [found[name] for name in matrix.HEAVY] == [("b", False)] * len(matrix.HEAVY)
    assert missing == {
        f"{kind}-3.{minor}": f"Python 3.{minor} is not installed"
        for minor in (12, 14)
        for kind in ("newest", "lowest")
    }


MODEL = """<ir_version: 9, opset_import: ["" : 19]>
g (float[2] x, bool[1] b) => (float[2] y) <float[3] w = {1, 1e-40, 2.5e-45}, double s = {4e-39}> {
  [first] a, c = Split <axis = 0, num_outputs = 2> (x)
  plain = Neg (x) [two] d = Add (x, w)
  , mask = Dropout <note = ""> (x, , b) "", other = Dropout (x, "", b) k = Clip ("", "", w)
  [late] l, "" = Dropout (x) t = Constant <value = float[2] {1, 9e-41}> ()
  [if] y = If (b) <
    then_branch = t () => (float[2] e) { [inner] e = Relu (d) },
    else_branch = f () => (float[2] h) <float u = {3e-42}> { h = Clip (u, , d) , r = Dropout (u) }
  >
}"""


def test_text_is_read_as_newer_parsers_read_it() -> None:
    model = onnx.parser.parse_model(MODEL)
    nodes = model.graph.node
    assert [node.name for node in nodes] == ["first", "", "two", *[""] * 3, "late", "", "if"]
    assert [*nodes[3].input, *nodes[4].input, *nodes[5].input] == ["x", "", "b"] * 2 + ["", "", "w"]
    assert [list(node.output) for node in nodes[3:7]] == [
        ["", "mask"],
        ["", "other"],
        ["k"],
        ["l", ""],
    ]
    assert 0 < model.graph.initializer[0].float_data[2] < 3e-45
    assert reading(inspect.unwrap(onnx.parser.parse_model))(MODEL) == model


def test_what_is_slow_is_there() -> None:
    assert [line for line in SLOW if not (ROOT / line.partition("::")[0]).exists()] == []


def test_what_cannot_hold_with_older_packages_is_there() -> None:
    lines = GAPS.strip().splitlines()
    lowest = bounds(PROJECT)
    for line in lines:
        if line.startswith(" "):
            path, *_, test = line.strip().partition("[")[0].split("::")
            mark = "# " if path.endswith(".txt") else "def "  # a case, or a test
            text = (ROOT / path).read_text(encoding="utf-8")
            assert f"{mark}{test.partition('*')[0]}" in text
        else:
            package, before, since, *_ = line.split()
            assert before == "before"
            version = lowest.get(package) or lowest[f"{package}-gpu"]
            assert numbers(version) < numbers(since), "the bound has been raised"
