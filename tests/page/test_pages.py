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
    pictures = [held for held in page.all("svg") if held.get("aria-hidden") != "true"]
    named = {"title", "desc"}
    inside = [tag for tag, _ in page.tags if tag in named]
    assert inside.count("desc") == len(pictures)
    assert inside.count("title") == len(pictures) + 1
    assert all(held["role"] == "img" for held in pictures)
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
            "Conv",
            [names["h"], names["w"]],
            [names["y"]],
            name=names["conv"],
            kernel_shape=[3, 3],
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


def test_fix(tmp_path: Path) -> None:
    page = page_of(tmp_path, "fix", MODELS / "nasnet_keras.onnx", "-o", tmp_path / "out.onnx")
    check_form(page)
    assert [text for level, text in page.headings if level == 2] == [
        "Changes",
        "Steps in between",
        "What stays",
        "Validation",
    ]
    assert "20 \u2192 7" in page.text
    assert "322 \u2192 309" in page.text
    changes = [text for _, text in page.headings if "becomes" in text]
    assert "Pad -> Conv becomes Conv pads" in changes[0]
    assert len(changes) < 22
    assert "Pad (goes away)" in page.text
    assert (
        "Axis 2: 24 elements, 12 windows of 5, stride 2; they reach 1 before the data and 2 past it"
        in page.text
    )
    assert "equal bit for bit" in page.text
    assert "Differences by size" in page.text


def test_open_sizes_have_tables_by_remainder(tmp_path: Path) -> None:
    model = MODELS / "timm_same_torchscript.onnx"
    out = tmp_path / "out.onnx"
    kept = page_of(tmp_path, "fix", model, "-o", out, "--no-validate")
    check_form(kept)
    assert "By the size that is read, modulo 2" in kept.captions
    assert "Not validated (--no-validate)" in kept.text
    changed = page_of(
        tmp_path, "fix", model, "-o", out, "--no-validate", "--dynamic", "auto-pad", "--check",
        exit_code=1,
    )  # fmt: skip
    check_form(changed)
    assert "By the size that is read, modulo 2" in changed.captions
    assert "Assumptions" in [text for _, text in changed.headings]
    pads = {site.outer[0].source for site in onnxpad.show(model).sites if site.outer}
    told = {pad.partition(" from ")[0] for pad in pads}
    assert told == {"amounts computed by 46 nodes", "amounts computed by 48 nodes"}
    drawn = set(re.findall(r"\((computed by [0-9]+ nodes)\)", kept.text))
    assert drawn
    assert {f"amounts {each}" for each in drawn} <= told
    assert "size mod 2 is 1" in changed.text


def test_steps_that_are_gone_are_drawn_as_told(tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    page = page_of(tmp_path, "fix", MODELS / "unet_keras.onnx", "--no-validate", "-o", out)
    check_form(page)
    assert "Slice (goes away)" in page.text
    assert "ConvTranspose (changed)" in page.text
    assert "the result is computed in the same way from the same elements" in page.text
    pictures = [tag for tag, held in page.tags if tag == "figcaption"]
    assert len(pictures) >= 2 * sum(level == 4 for level, _ in page.headings)


def test_nothing_to_change(tmp_path: Path) -> None:
    page = page_of(tmp_path, "fix", MODELS / "unet_torchscript.onnx")
    check_form(page)
    assert ": nothing to change" in page.text
    assert "By 'height', modulo 4" in page.captions


def test_check(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    models = MODELS / "mobilenet_keras.onnx", MODELS / "timm_same_torchscript.onnx"
    clean = MODELS / "decoder_keras.onnx"
    page = page_of(tmp_path, "check", clean, *models, broken, exit_code=2)
    check_form(page)
    titles = [text for level, text in page.headings if level == 2]
    fails = [f"fails {path}" for path in models]
    assert titles == [*fails, f"unreadable {broken}", f"passes {clean}"]
    assert {"Would be rewritten", "Stays"} <= {text for _, text in page.headings}
    assert "unreadable" in page.text


def test_show(tmp_path: Path) -> None:
    page = page_of(tmp_path, "show", MODELS / "nasnet_keras.onnx")
    check_form(page)
    titles = [text for _, text in page.headings]
    assert any("Conv: H 1+2, W 2+2, written as Pad" in text for text in titles)
    assert "H: 24 elements, 24 windows of 3; padded 1 before and 1 after" in page.text
    one = page_of(tmp_path, "show", MODELS / "timm_same_torchscript.onnx", "--node", "/stem/Conv")
    check_form(one)
    assert "By the size that is read, modulo 2" in one.captions
    assert "--dynamic auto-pad" in one.text


def test_same_of_an_open_size_has_a_table(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model_named(""), path)
    for command in (["fix", path], ["show", path]):
        page = page_of(tmp_path, *command)
        check_form(page)
        assert "the size that is read" in " ".join(page.captions)


def test_validate_that_fails(tmp_path: Path) -> None:
    wrong = onnx.load(MODELS / "ceil_pool_torch.onnx")
    pool = next(node for node in wrong.graph.node if node.op_type == "MaxPool")
    kept = [item for item in pool.attribute if item.name not in {"pads", "auto_pad"}]
    rank = len(next(item for item in kept if item.name == "kernel_shape").ints)
    del pool.attribute[:]
    pool.attribute.extend([*kept, helper.make_attribute("pads", [1] * rank + [1] * rank)])
    onnx.save(wrong, tmp_path / "wrong.onnx")
    page = page_of(
        tmp_path, "validate", MODELS / "ceil_pool_torch.onnx", tmp_path / "wrong.onnx", exit_code=3
    )
    check_form(page)
    assert ": FAILED: " in page.text


def test_results_of_the_library_are_pages_too() -> None:
    path = MODELS / "timm_same_torchscript.onnx"
    model = onnx.load(path)
    fixed = onnxpad.fix(model, validate=False)
    page = Page(fixed.to_html())
    check_form(page)
    assert "357 \u2192 274" in page.text
    assert "fix(..., dynamic='auto-pad') would turn 3 Pads into auto_pad" in page.text
    for result, title in (
        (onnxpad.check(path), str(path)),
        (onnxpad.show(path), str(path)),
        (onnxpad.validate(path, fixed.model), "the rewritten model"),
    ):
        page = Page(result.to_html())
        check_form(page)
        assert page.headings[0] == (1, title)


@pytest.mark.parametrize("path", FEW[::2], ids=lambda path: path.stem)
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
    assert sum(level == 4 for level, _ in page.headings) == 236
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


def test_a_transposed_convolution_crops() -> None:
    page = Page(onnxpad.show(MODELS / "decoder_keras_open.onnx").to_html())
    assert any("ConvTranspose: crops H 0+1, W 0+1" in text for _, text in page.headings)


def test_findings_that_differ_in_names_alone_have_one_card() -> None:
    page = Page(onnxpad.check(MODELS / "nasnet_keras.onnx").to_html())
    cards = [text for level, text in page.headings if level > 2 and "PAD201" in text]
    said = [" ".join(each.split()[2:]) for each in cards]  # without the count
    to = "pads H 1+2, W 2+2: the operator can do it PAD201"
    assert f"Pad H 1+2, W 2+2 before Conv -> {to}" in said
    assert len(cards) < 12


def test_json_names_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    model = MODELS / "ceil_pool_torch.onnx"
    out = tmp_path / "out.onnx"
    for command in (["fix", model, "-o", out], ["check", model], ["show", model]):
        done = onnxpad_runs(*command, "--html", page, "--format", "json")
        assert json.loads(done.stdout)["html"] == str(page)
        check_form(Page(page.read_text(encoding="utf-8")))
        page.unlink()


@pytest.mark.parametrize("command", ["fix", "check", "validate", "show"])
@pytest.mark.parametrize(
    ("page", "says"),
    [
        pytest.param("model.onnx", "would replace", id="the model"),
        pytest.param("away/page.html", "there is no folder", id="no folder"),
        pytest.param(".", "is a folder", id="a folder"),
        pytest.param("-", "names no file", id="stdout"),
        pytest.param("data.bin", "is no page", id="somebody's data"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_at_once(
    command: str, page: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(b"not even read")
    Path("data.bin").write_bytes(b"weights")
    models = ["model.onnx"] * (2 if command == "validate" else 1)
    done = onnxpad_runs(command, *models, "--html", page)
    assert done.exit_code == 2
    assert says in done.stderr
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


def test_runs_are_counted_as_comparisons(tmp_path: Path) -> None:
    page = page_of(tmp_path, "validate", MODELS / "aspp_keras.onnx", MODELS / "aspp_keras.onnx")
    counts = re.search(r"outputs compared(\d+)\s*equal bit for bit(\d+)\s*differ0", page.text)
    assert counts is not None
    assert int(counts[1]) >= int(counts[2]) > 0


def test_outputs_that_differ_from_a_reference_are_said_to(tmp_path: Path) -> None:
    port = MODELS / "misconverted" / "strided_conv2d.onnx"
    page = page_of(tmp_path, "validate", port, "--reference", port.with_suffix(".npz"), exit_code=3)
    assert ": FAILED: output 'output' differs by up to " in page.text
    assert "original against reference" in page.text
