"""The commands beside `fix` and `check`: exit codes, files, JSON, errors of one line."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import asdict

import onnxpad.doctor.examine
from onnxpad.doctor.examine import Diagnosis, Driver, Package, Problem
from onnxpad.finding import Assumption
from onnxpad.frameworks.conventions.table import CONVENTIONS, FRAMEWORKS
from onnxpad.reasons import Reason
from onnxpad.report.manual import entry_of, glossary, page_names, page_text
from onnxpad.rewrite.registry import catalogue
from onnxpad.targets.known_targets import every
from tests.support import MODELS, W, one, onnxpad_runs, parsed
from tests.support.manual import pages
from tests.support.rows import each_row

PORT = MODELS / "misconverted" / "strided_conv2d.onnx"
REFERENCE = PORT.with_suffix(".npz")
SAME_NAME = "[c] a = Conv (x, w) [c] y = Conv (x, w)"


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """A model that pads otherwise than the outputs recorded of it."""
    return Path(shutil.copy(PORT, tmp_path / "net.onnx"))


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Outputs of something else than another padding."""
    with np.load(REFERENCE) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    found["output"] = np.tanh(found["output"])
    np.savez(tmp_path / "other.npz", **found)
    return tmp_path / "other.npz"


def as_json(*args: object, code: int = 0) -> dict[str, Any]:
    """The JSON of a command, whose exit code it has, too."""
    result = onnxpad_runs(*args, "--format", "json")
    document: dict[str, Any] = json.loads(result.stdout)
    assert (result.exit_code, document["exit_code"], document["command"]) == (code, code, args[0])
    return document


def refused(*args: object, told: str = "") -> None:
    """Asserts that a command is bad usage, which is told in one line."""
    result = onnxpad_runs(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert told in line


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# match


def test_match_writes_a_model_that_gives_the_outputs(port: Path) -> None:
    target = port.with_name("out.onnx")
    result = onnxpad_runs("match", port, "--reference", REFERENCE, "-o", target)
    assert (result.exit_code, result.stderr) == (0, "")
    assert port.read_bytes() == PORT.read_bytes()
    assert onnxpad_runs("validate", target, "--reference", REFERENCE).exit_code == 0
    again = port.with_name("again.onnx")  # what matches already is copied
    assert onnxpad_runs("match", target, "--reference", REFERENCE, "-o", again).exit_code == 0
    assert again.read_bytes() == target.read_bytes()
    found = as_json("match", port, *("--reference", REFERENCE) * 2)  # which writes nothing
    assert names(port.parent) == {"net.onnx", "out.onnx", "again.onnx"}
    assert (found["outcome"], found["convention"]) == ("matched", "tensorflow")
    assert [change["attributes"] for change in found["changes"]] == [{"pads": [0, 0, 1, 1]}]
    assert found["error"]["after"] < 1e-5 < found["error"]["before"]
    assert found["written"] is None
    written = as_json("match", port, "--reference", REFERENCE, "-o", target)["written"]
    assert written == str(target)


def test_match_of_what_is_not_padding_writes_nothing(port: Path, other: Path) -> None:
    target = port.with_name("out.onnx")
    words = ("match", port, "--reference", other, "-o", target)
    result = onnxpad_runs(*words)
    assert (result.exit_code, len(result.stderr.splitlines())) == (3, 1)
    assert "changes 0 operators" not in result.stdout
    assert as_json(*words, code=3)["tried"]
    assert not target.exists()


def test_match_refuses_bad_input(port: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "odd.npz", one=np.zeros(3, np.float32), two=np.zeros(4, np.float32))
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(port.read_bytes()[:200])
    arrays = Path(shutil.copy(REFERENCE, tmp_path / "arrays.npz"))
    kept = names(tmp_path)
    for words in (
        (),
        ("--reference", "absent.npz"),
        ("--reference", tmp_path / "odd.npz"),
        ("--reference", REFERENCE, "-o", "/nowhere/out.onnx"),
        ("--reference", REFERENCE, "--seconds", "-1"),
        ("--reference", arrays, "-o", port),
        ("--reference", arrays, "-o", arrays),
        ("--reference", REFERENCE, "--inputs", arrays, "-o", arrays),
    ):
        refused("match", port, *words)
    refused("match", damaged, "--reference", REFERENCE, told="damaged.onnx")
    assert (names(tmp_path), port.read_bytes()) == (kept, PORT.read_bytes())
    assert arrays.read_bytes() == REFERENCE.read_bytes()


# repad


def test_repad_writes_beside_the_model_or_where_asked(
    port: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = port.with_name("net.repadded.onnx")
    found = as_json("repad", port, "--to", "tensorflow", "--only", "/conv/Conv")
    assert (found["outcome"], found["written"]) == ("repadded", str(written))
    (change,) = found["changes"]
    pads = (change["attributes_before"], change["attributes_after"])
    assert pads == ({"pads": [1, 1, 1, 1]}, {"pads": [0, 0, 1, 1]})
    assert [each["output"] for each in found["outputs"]] == ["output"]
    assert port.read_bytes() == PORT.read_bytes()
    older = written.read_bytes()
    stays = as_json("repad", port, "--to", "pytorch")
    assert (stays["unchanged"][0]["is_same"], stays["outputs"]) == (True, [])
    assert (stays["written"], stays["older"]) == (None, str(written))
    same = port.with_name("same.onnx")
    assert onnxpad_runs("repad", port, "--to", "pytorch", "-o", same).exit_code == 0
    assert same.read_bytes() == port.read_bytes()
    monkeypatch.chdir(port.parent)
    found = as_json("repad", port.name, "--to", "tensorflow", "--in-place")
    assert found["written"] == port.name
    assert port.read_bytes() == older
    assert names(port.parent) == {"net.onnx", "net.repadded.onnx", "same.onnx"}


def test_repad_keeps_a_result_that_does_not_run_only_when_told(tmp_path: Path) -> None:
    path, out = tmp_path / "sum.onnx", tmp_path / "out.onnx"
    weight = "float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}"
    body = "a = Conv <pads = [1, 1, 1, 1]> (x, w) y = Add (x, a)"
    onnx.save(one(body, inputs="float[1, 1, 8, 8] x", initializers=weight), path)
    words = ("repad", path, "--to", "valid")
    failed = as_json(*words, code=3)
    assert (failed["outcome"], failed["written"]) == ("invalid", None)
    result = onnxpad_runs(*words, "-q")
    assert (result.exit_code, bool(result.stdout), len(result.stderr.splitlines())) == (3, True, 1)
    assert names(tmp_path) == {"sum.onnx"}
    assert onnxpad_runs(*words, "-o", out, "--keep-invalid").exit_code == 3
    assert out.exists()


def test_repad_refuses_bad_usage(port: Path) -> None:
    for words in (
        ("--to", "tensorfow"),
        ("--to", "caffe", "--only", "/conv/Cnv"),
        ("--to", "caffe", "-o", "-"),
        ("--to", "caffe", "-o", "out.onnx", "--in-place"),
        (),
    ):
        refused("repad", port, *words)
    refused("repad", port.parent, "--to", "caffe")
    assert names(port.parent) == {"net.onnx"}
    text = re.sub(r"\s", "", onnxpad_runs("repad", "--help").stdout)
    assert all(name in text for name in FRAMEWORKS)


# validate


def test_a_page_of_a_validation_replaces_nothing_that_is_given(port: Path, other: Path) -> None:
    page = port.with_name("page.html")
    for words in (("--reference", other), ("--reference", REFERENCE)):
        told = onnxpad_runs("validate", port, *words, "-q", "--html", page)
        assert (told.exit_code, page.read_text("utf-8").startswith("<!DOCTYPE")) == (3, True)
        assert as_json("validate", port, *words, "--html", page, code=3)["html"] == str(page)
    assert onnxpad_runs("validate", port, port, "-q", "--html", page).stdout == ""
    refused("validate", port, port, "--html", port)
    refused("validate", port, "--reference", other, "--html", other)


# explain


STEM = ("explain", "--op", "conv", "--size", "224x160", "--kernel", "3", "--stride", "2")


def test_the_json_of_explain() -> None:
    document = as_json(*STEM)
    conventions = document["conventions"]
    assert set(conventions) == set(CONVENTIONS)
    assert conventions["tensorflow-same"] == {"pads": [[0, 1], [0, 1]], "output": [112, 80]}
    found = {name for name, answer in conventions.items() if answer is not None}
    assert sorted(name for group in document["agree"] for name in group) == sorted(found)
    assert not {"pytorch-same", "keras-causal", "caffe-ceil"} & found
    assert "pytorch-same" in document["refused"]
    assert set(document["about"]) == found
    assert all(about["source"] for about in document["about"].values())


def test_a_node_of_a_model_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    body = """
        padded = Pad (x, p) [stem] hidden = Conv <strides = [2, 2]> (padded, w)
        [act] relu = Relu (hidden)
        pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (relu)
        [lp] lp = LpPool <kernel_shape = [2, 2]> (x)
        [up] y = ConvTranspose <strides = [2, 2]> (pooled, v)
    """
    up = f"float[3, 2, 3, 3] v = {{{', '.join(['1'] * 54)}}}"
    amounts = "int64[8] p = {0, 0, 0, 0, 0, 0, 1, 1}"
    onnx.save(one(body, inputs="float[1, 2, 24, 20] x", initializers=f"{W}, {up}, {amounts}"), path)
    stem = as_json("explain", path, "--node", "stem")
    assert (stem["node"], stem["size"], stem["padded"]) == ("stem", [24, 20], [25, 21])
    for name in ("pooled", "<pooled>"):  # without a name it goes by its output
        assert as_json("explain", path, "--node", name)["size"] == [12, 10]
    found = as_json("explain", path, "--node", "up")
    assert (found["op"], found["size"]) == ("convtranspose", [6, 5])
    assert found["conventions"]["tensorflow-same"]["output"] == [12, 10]
    for name in ("sten", "pool", "zzz", "act", "", "lp"):
        refused("explain", path, "--node", name)
    refused("explain", tmp_path / "none.onnx", "--node", "c", told="none.onnx")
    onnx.save(one(SAME_NAME, initializers=W), path)
    refused("explain", path, "--node", "c", told="'c'")
    assert as_json("explain", "--op", "conv", code=2)["error"]["kind"] == "usage"
    sizes = ("--dim", "height=32", "--dim", "width=40")
    words = ("explain", MODELS / "branches_torchscript.onnx", *sizes, "--node")
    inner = as_json(*words, "/far/Conv")
    assert "then_branch" in inner["node"]
    assert as_json(*words, inner["node"]) == inner


def test_explain_asks_for_open_sizes(tmp_path: Path) -> None:
    path = tmp_path / "open.onnx"
    text = f"g (float[1, 2, height, 9] x) => (float[] y) <{W}> {{ [c] y = Conv (x, w) }}"
    onnx.save(parsed(text), path)
    refused("explain", path, "--node", "c", told="height")
    for sizes in (("--dim", "height=30"), ("--shape", "1,2,30,9")):
        assert as_json("explain", path, "--node", "c", *sizes)["size"] == [30, 9]
    model = MODELS / "timm_same_torchscript.onnx"
    refused("explain", model, "--node", "/stem/Conv", "--dim", "height=224", told="width")


def test_explain_needs_neither_onnx_nor_onnxruntime() -> None:
    words = [sys.executable, "-X", "importtime", "-m", "onnxpad", *STEM]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    assert "onnxpad.frameworks.conventions.table" in loaded
    assert loaded.isdisjoint({"onnx", "onnxruntime", "numpy"})


# show


def test_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    model = MODELS / "zeropad_dynamo.onnx"
    some = as_json("show", model, "--node", "node_max_*", "--node", "node_conv1d")
    assert len(some["sites"]) == 3
    refused("show", model, "--node", "node_conv2e", told="'node_conv2d_3'")
    text = onnxpad_runs("show", model).stdout
    assert all(len(line) <= 80 for line in text.splitlines() if str(model) not in line)


# rule, targets, docs


def test_rules_and_words() -> None:
    lines = onnxpad_runs("rule").stdout.splitlines()
    rules = as_json("rule")["rules"]
    assert [rule["code"] for rule in rules] == list(catalogue())
    for line, rule, page in zip(lines, rules, catalogue().values(), strict=True):
        assert line.split(maxsplit=2) == [page.code, page.severity, page.title]
        assert rule == asdict(page)
        text = onnxpad_runs("rule", page.code.lower()).stdout
        assert text.split() == [page.code, page.severity, *page.text.split()]
    several = onnxpad_runs("rule", "pad201", "PAD101,PAD102,PAD103").stdout
    codes = [f"PAD{number}" for number in (101, 102, 103, 201)]
    assert re.findall(r"^PAD\d+", several, re.MULTILINE) == codes
    assert onnxpad_runs("rule", "PAD1").stdout in several
    found = as_json("rule", "PAD1")
    assert found["rules"] == [each for each in rules if each["code"] < "PAD2"]
    assert "words" not in found
    for word in ("fill-wins", "caffe-ceil"):
        found = as_json("rule", word)
        assert (found["rules"], [*found["words"]]) == ([], [word])
    text = onnxpad_runs("rule", "finite-data", "PAD204,guarded").stdout
    assert re.findall(r"^(finite data|guarded|PAD204)", text, re.M) == [
        "PAD204", "finite data", "guarded",
    ]  # fmt: skip
    for words in (("PAD101", "PAD999"), ("guarded", "gaurded"), ("Fload16",), ("",)):
        refused("rule", *words, told=f"'{words[-1]}'")


@each_row("word", [*glossary(), *(each.code for each in Assumption), *Reason], at_once=200)
def test_a_word_has_its_entry(word: str) -> None:
    entry = entry_of(word.upper())
    assert entry is not None
    assert len(entry[1]) > 20
    assert "](" not in entry[1]


def test_targets() -> None:
    text = onnxpad_runs("targets").stdout
    for target in every():
        row = rf"^  {re.escape(target.full_name)} +(source|\d+ runs) "
        assert re.search(row, text, re.MULTILINE)
    document = as_json("targets")
    assert [each["name"] for each in document["targets"]] == [each.name for each in every()]
    assert "cells" not in document["targets"][0]
    (tract,) = as_json("targets", "tract")["targets"]
    assert {"op": ["Conv"], "pad": [""]} in [cell["when"] for cell in tract["cells"]]
    assert set(tract["facts"][0]) == {"text", "source", "about"}
    refused("targets", "openvinno", told="'openvino'")


def test_pages_of_the_manual() -> None:
    listed = re.findall(r"^- `onnxpad docs ([\w-]+)`: ", onnxpad_runs("docs").stdout, re.MULTILINE)
    assert ["index", *listed] == page_names()
    assert {*page_names()} == pages().keys() - {"README"}
    for name in page_names():
        text = onnxpad_runs("docs", name).stdout
        assert "\x1b" not in text
        assert "](" not in re.sub(r"^```.*?^```|`[^`]*`", "", text, flags=re.M | re.S)
        words = re.findall(r"\w{4,}", re.sub(r"\]\([^)]*\)|<!--.*-->|```.*", "", page_text(name)))
        assert set(words) <= set(re.findall(r"\w{4,}", text))
    refused("docs", "opensizes", told="'open-sizes'")
    for name in ("zzzz", "../pyproject"):
        refused("docs", name)
    schema = json.loads(onnxpad_runs("docs", "--schema").stdout)
    assert {"fix", "check", "error"} <= schema["$defs"].keys()


# doctor


@pytest.mark.parametrize("broken", [True, False])
def test_doctor_ends_by_whether_it_is_usable(broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
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
    result = onnxpad_runs("doctor")
    assert (result.exit_code, result.stderr) == (int(broken), "")
    assert "it hurts\n  cure: rest" in result.stdout
    document = as_json("doctor", code=int(broken))
    assert document["ok"] is not broken
    assert document["problems"] == [{"what": "it hurts", "cure": "rest", "broken": broken}]
    assert document["packages"][1] == {"name": "onnx", "version": ""}
