"""The pages of `--html`: what they show, that names are escaped, and that nothing is loaded."""

import json
import re
from itertools import pairwise
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import onnxpad
from tests.page.read_page import Page
from tests.support import FEW, MODELS, onnxpad_runs

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": '" onload="alert(1)" x=\'',
    "comment": "--><!-- ]]> &amp; </svg></style>",
    "control": "a\x00b\x1b[2Jc\nd",
    "bidi": "safe\u202egnp.exe\u2066",
    "long": "x" * 1_000_000,
    "empty": "",
}


def page_of(folder: Path, *args: object, exit_code: int = 0) -> Page:
    page = folder / "report.html"
    done = onnxpad_runs(*args, "--html", page)
    assert done.exit_code == exit_code, done.output
    assert done.stdout.splitlines()[-1] == f"Report: {page}"
    return Page(page.read_text(encoding="utf-8"))


def check_form(page: Page) -> None:
    """Asserts what holds for every page: headings in order, links, tables, pictures, no loads."""
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(text.strip() for _, text in page.headings)
    assert len(set(page.ids)) == len(page.ids)
    links = [held["href"] for held in page.all("a")]
    assert all(link[0] == "#" and link[1:] in page.ids for link in links)
    assert all(held.get("scope") in {"col", "row"} for held in page.all("th"))
    assert len(page.all("figure")) == len(page.all("figcaption")) == len(page.all("pre"))
    for tag, held in page.tags:
        assert tag not in {"script", "img", "iframe", "object", "embed", "form", "base"}
        assert not any(name.startswith("on") or name in {"src", "style"} for name in held)
    (policy,) = [held["content"] for held in page.all("meta") if "http-equiv" in held]
    assert "default-src 'none'" in policy
    assert [held["href"] for held in page.all("link")] == ["data:,"]


def model_named(name: str) -> onnx.ModelProto:
    """A Conv after a `Pad`, and a computed `Pad` that stays, all of whose names hold a text."""
    names = {part: f"{part}{name}" for part in ("x", "w", "p", "h", "y", "pad", "conv", "low")}
    nodes = [
        helper.make_node("Pad", [names["x"], names["p"]], [names["h"]], name=names["pad"]),
        helper.make_node(
            "Conv", [names["h"], names["w"]], [names["y"]], name=names["conv"], kernel_shape=[3, 3]
        ),
        helper.make_node("MaxPool", [names["y"]], ["m"], name=names["low"], kernel_shape=[3, 3]),
    ]
    nodes[2].attribute.append(helper.make_attribute("strides", [2, 2]))
    nodes[2].attribute.append(helper.make_attribute("auto_pad", "SAME_UPPER"))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(names["x"], TensorProto.FLOAT, [1, 1, "height", 8])],
        [helper.make_tensor_value_info("m", TensorProto.FLOAT, None)],
        [
            helper.make_tensor(names["w"], TensorProto.FLOAT, [1, 1, 3, 3], [1.0] * 9),
            helper.make_tensor(names["p"], TensorProto.INT64, [8], [0, 0, 1, 1, 0, 0, 1, 1]),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("path", FEW[::5], ids=lambda path: path.stem)
def test_models_of_all_kinds_have_well_formed_pages(path: Path) -> None:
    for result in (onnxpad.fix(path, validate=False), onnxpad.check(path), onnxpad.show(path)):
        check_form(Page(result.to_html()))


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_are_escaped(kind: str, tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(model_named(HOSTILE[kind]), model)
    out = tmp_path / "out.onnx"
    for command in (["fix", model, "-o", out], ["check", model], ["show", model]):
        done = onnxpad_runs(*command, "--html", tmp_path / "page.html")
        assert done.exit_code in {0, 1}, done.output
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        check_form(Page(text))
        assert len(text) < 200_000
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)


def test_many_changes_that_all_differ_make_a_small_page(tmp_path: Path) -> None:
    nodes, amounts, outputs = [], [], []
    for index in range(236):
        begin, end = divmod(index, 16)
        pads = [0, 0, begin + 1, begin, 0, 0, end, end + 1]
        amounts.append(helper.make_tensor(f"p{index}", TensorProto.INT64, [8], pads))
        nodes.append(helper.make_node("Pad", ["x", f"p{index}"], [f"h{index}"]))
        nodes.append(helper.make_node("Conv", [f"h{index}", "w"], [f"y{index}"], name=f"c{index}"))
        outputs.append(helper.make_tensor_value_info(f"y{index}", TensorProto.FLOAT, None))
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 5, 5], [1.0] * 25)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 224, 224])
    graph = helper.make_graph(nodes, "g", [given], outputs, [weight, *amounts])
    opsets = [helper.make_opsetid("", 17)]
    path = tmp_path / "many.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    page = page_of(tmp_path, "fix", path, "--no-validate")
    check_form(page)
    assert sum(level == 3 for level, _ in page.headings) == 236
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


def test_json_names_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    model = MODELS / "ceil_pool_torch.onnx"
    out = tmp_path / "out.onnx"
    for command in (["fix", model, "-o", out], ["check", model], ["show", model]):
        done = onnxpad_runs(*command, "--html", page, "--format", "json", "--target", "trt")
        assert json.loads(done.stdout)["html"] == str(page)
        text = page.read_text(encoding="utf-8")
        check_form(Page(text))
        if command[0] != "show":
            assert f"onnxpad {command[0]} --target trt" in text
            assert "trt" in json.loads(done.stdout)["target"]
        page.unlink()


@pytest.mark.parametrize("command", ["fix", "check", "validate", "show"])
@pytest.mark.parametrize(
    "page",
    [
        pytest.param("model.onnx", id="the model"),
        pytest.param("away/page.html", id="no folder"),
        pytest.param(".", id="a folder"),
        pytest.param("-", id="stdout"),
        pytest.param("data.bin", id="somebody's data"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_at_once(
    command: str, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(b"not even read")
    Path("data.bin").write_bytes(b"weights")
    models = ["model.onnx"] * (2 if command == "validate" else 1)
    done = onnxpad_runs(command, *models, "--html", page)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert Path("data.bin").read_bytes() == b"weights"


def test_the_result_and_the_page_are_two_files(tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    model = MODELS / "ceil_pool_torch.onnx"
    done = onnxpad_runs("fix", model, "-o", out, "--html", out)
    assert done.exit_code == 2
    assert not out.exists()


def test_a_page_replaces_an_older_page(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("<!DOCTYPE html><p>older")
    page_of(tmp_path, "check", MODELS / "unet_torchscript.onnx")
    assert "older" not in page.read_text(encoding="utf-8")
