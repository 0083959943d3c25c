"""README and the manual are true: the example, the gate, the commands, the codes."""

import re
import shlex
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from tests.manual import recorded
from tests.support import ROOT, feeds_of, onnxpad_runs, run
from tests.support.manual import blocks, manual, onnxpad_lines, pages, shell_lines
from tests.support.rows import one_in

CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

BEFORE, AFTER = [block.text for block in blocks("onnx")]
COMMANDS = onnxpad_lines()


def graph_of(model: onnx.ModelProto) -> list[object]:
    """What the nodes of a graph are, whatever the order of their attributes."""
    return [
        (
            node.op_type,
            list(node.input),
            list(node.output),
            {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute},
        )
        for node in model.graph.node
    ]


def test_the_example_is_what_fix_does() -> None:
    from onnxpad.api.fix import fix

    result = fix(onnx.parser.parse_model(BEFORE))
    assert graph_of(result.model) == graph_of(onnx.parser.parse_model(AFTER))
    assert result.validation is not None
    exact = [run for run in result.validation.runs if run.optimisation == "off"]
    assert exact
    assert all(comparison.equal for run in exact for comparison in run.comparisons)


def test_what_the_pages_name_is_there() -> None:
    from onnxpad.rewrite.registry import catalogue

    assert {command.split()[1] for command in COMMANDS} == {
        "fix", "check", "validate", "rule", "doctor", "explain", "repad", "match", "show",
        "targets", "docs", "prove",
    }  # fmt: skip
    assert re.findall(r"^\| (PAD\d+) \|", pages()["rules"], re.MULTILINE) == list(catalogue())
    models = [word for line in shell_lines() for word in line.split() if word[:7] == "models/"]
    assert models
    assert all((ROOT / path).is_file() for path in models)
    (job,) = blocks("yaml", "base", "README")
    steps = re.findall(r"^ +- run: (.*)$", job.text, flags=re.MULTILINE)
    assert steps[-1] in {command.partition("#")[0].strip() for command in COMMANDS}


def test_ci_runs_the_gate_of_the_readme() -> None:
    (gate,) = {line for line in shell_lines() if "&& pytest" in line and "slow" not in line}
    assert any(gate in block.text for block in blocks("sh", page="README"))
    assert all(part in CI for part in gate.split(" && "))
    installation = "pip install -e '.[test]'"
    assert any(installation in line for line in shell_lines())
    assert installation.replace("install", "install --quiet") in CI


@pytest.mark.parametrize("command", one_in(3, zip(COMMANDS)))
def test_the_commands_are_accepted(command: str) -> None:
    """The options are parsed before `--help` shows itself, so a wrong one is an error."""
    words = shlex.split(command.partition("#")[0].partition(">")[0])[1:]
    result = onnxpad_runs(*words, "--help")
    assert result.exit_code == 0, result.stderr
    options = {word for word in words if word.startswith("-")}
    assert all(option in result.stdout for option in options)


def test_the_sessions_are_what_the_commands_print() -> None:
    assert {block.page for block in blocks("console", "base")} >= {"fix", "show", "check"}
    for page, text in recorded(pages()).items():
        assert text == pages()[page], "python -m tests.manual --write"


def test_the_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = onnx.parser.parse_model(BEFORE)
    Path("exported").mkdir()
    for path in ("model.onnx", "exported/model.onnx"):
        onnx.save(model, path)
    feeds = feeds_of(model)
    arrays: dict[str, Any] = {**feeds, "y": run(model, feeds)[0]}
    np.savez("outputs.npz", **arrays)
    apart = "onnxpad.register("  # test_extensions.py runs these
    names: dict[str, Any] = {}
    for block in blocks("python", "base"):
        if apart not in block.text:
            exec(block.text, names)
    assert type(names["model"]).__name__ == "Model"
    assert [node.op for node in names["graph"].nodes] == ["Conv", "MaxPool"]
    assert Path("model.fixed.onnx").exists()


@pytest.mark.torch
@pytest.mark.filterwarnings("default")  # of torch itself
def test_the_example_with_torch_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    net = torch.nn.Sequential(torch.nn.ZeroPad2d(1), torch.nn.Conv2d(1, 1, 3)).eval()
    given = {"onnxpad": onnxpad, "torch": torch, "net": net, "image": torch.ones(1, 1, 8, 8)}
    for block in blocks("python", "torch"):
        exec(block.text, dict(given))
    for path in ("net.onnx", "net.torchscript.onnx"):
        assert [node.op_type for node in onnx.load(path).graph.node] == ["Conv"]


def test_the_example_with_keras_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for TensorFlow and tf2onnx, which are not installed for the tests."""
    asked = []

    def from_function(function: str, input_signature: list[Any]) -> tuple[onnx.ModelProto, None]:
        asked.append((function, input_signature))
        return onnx.parser.parse_model(BEFORE), None

    tensorflow: Any = ModuleType("tensorflow")
    tensorflow.float32 = "float32"
    tensorflow.function = lambda net: net
    tensorflow.TensorSpec = lambda shape, dtype, name: name
    tf2onnx: Any = ModuleType("tf2onnx")
    tf2onnx.convert = SimpleNamespace(from_function=from_function)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    monkeypatch.setitem(sys.modules, "tf2onnx", tf2onnx)
    monkeypatch.chdir(tmp_path)
    ((*_, example),) = blocks("python", "tf")
    exec(example, {"onnxpad": onnxpad, "net": "net"})
    assert asked == [("net", ["image"])]
    assert graph_of(onnx.load("net.onnx")) == graph_of(onnx.parser.parse_model(AFTER))


def test_the_installation_without_a_gpu_names_all_that_is_needed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[<>=;]", each)[0] for each in project["dependencies"]}
    typer = [each for each in project["dependencies"] if each.startswith("typer")]
    action = (ROOT / ".github/actions/onnxpad/action.yml").read_text(encoding="utf-8")
    told = re.findall(r"pip install (?:--quiet )?(onnxruntime numpy [^&\n]*)", manual() + action)
    lines = [each.strip() for each in told]
    assert len(lines) == 4  # at home, in CI twice, and in the action
    for line in lines:
        words = shlex.split(line)
        assert {re.split(r"[<>=]", word)[0] for word in words} == needed - {"onnxruntime-gpu"}
        assert [word for word in words if word.startswith("typer")] == typer


@pytest.mark.tensorflow
@pytest.mark.filterwarnings("default")  # of TensorFlow itself
def test_the_example_with_keras_runs_for_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keras = pytest.importorskip("keras")
    pytest.importorskip("tf2onnx")
    monkeypatch.chdir(tmp_path)
    ((*_, example),) = blocks("python", "tf")
    layers = [keras.layers.ZeroPadding2D(1), keras.layers.DepthwiseConv2D(3)]
    net = keras.Sequential([keras.layers.Input((224, 224, 3)), *layers])
    exec(example, {"onnxpad": onnxpad, "net": net})
    operators = [node.op_type for node in onnx.load("net.onnx").graph.node]
    assert "Conv" in operators
    assert "Pad" not in operators


def test_the_page_for_contributors_is_true() -> None:
    """Each package, file and command that it names is there."""
    page, code = pages()["contributing"], ROOT / "onnxpad"
    names = re.findall(r"`([\w./*]+/[\w.*]*|\w+\.py)`", page)
    paths = [name for name in names if "NAME" not in name and name != "tests/cases/"]
    assert len(paths) > 15
    for name in paths:
        places = (ROOT / "tests", code, ROOT)  # a name alone is of a file beside another
        assert [path for each in places for path in each.rglob(name.rstrip("/"))], name
    for name, path in re.findall(r"`(\w+)` (?:of|in) `([\w/]+\.py)`", page):
        text = "".join(each.read_text(encoding="utf-8") for each in ROOT.rglob(path))
        assert re.search(rf"\b{name}\b", text), (name, path)
    for module in {*re.findall(r"python -m tests\.(\w+)", page)} - {"case"}:
        assert any((ROOT / "tests").glob(f"{module}*")), module
    cells = "".join(re.findall(r"^\| (`.*?) \|", page, flags=re.MULTILINE))
    packages = {*re.findall("`(.*?)`", cells)}
    assert {path.parent.name for path in code.glob("*/__init__.py")} <= packages
