"""The manual: its pages, links and blocks, what is generated, and the table of symptoms."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Final

import onnx
import pytest

from onnxpad.finding import Assumption
from onnxpad.options import OptionKeywords
from onnxpad.report.manual import entry_of
from tests.manual import generated, path_of, written
from tests.support import MODELS, W, one, onnxpad_runs
from tests.support.manual import ENVIRONMENTS, blocks, pages
from tests.support.rows import each_row


def links(page: str) -> list[tuple[str, str]]:
    """The relative links of a page: the path and the anchor of each."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", pages()[page], flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text)
    return [(path, anchor) for path, anchor in found if "://" not in path]


def anchors(text: str) -> set[str]:
    """The anchors that a forge gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_the_index_lists_every_page_once() -> None:
    listed = re.findall(r"^- \[([\w-]+)\]\(([\w-]+)\.md\): \w", pages()["index"], re.MULTILINE)
    assert all(name == target for name, target in listed)
    assert sorted(name for name, _ in listed) == sorted(pages().keys() - {"README", "index"})


@each_row("page", pages(), at_once=40)
def test_links_lead_somewhere_and_a_page_has_one_title_and_narrow_lines(page: str) -> None:
    for path, anchor in links(page):
        target = (path_of(page).parent / path).resolve() if path else path_of(page)
        assert target.exists(), path
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), (path, anchor)
    text = re.sub(r"^```.*?^```$", "", pages()[page], flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^# ", text, re.MULTILINE) == ["# "]
    assert text.startswith("# ")
    made = generated().get(page, "")
    long = [line for line in text.splitlines() if len(line) > 120 and line not in made]
    assert [line for line in long if not line.startswith(("| ", "<"))] == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, new = {"README"}, ["README"]
    while new:
        here = {Path(path).stem for path, _ in links(new.pop()) if path.endswith(".md")}
        new += (here & pages().keys()) - reached
        reached |= here & pages().keys()
    assert reached == set(pages())


def test_every_block_names_its_environment() -> None:
    fences = [line for text in pages().values() for line in text.splitlines() if line[:3] == "```"]
    assert len(fences) == 2 * len(blocks())
    assert {block.environment for block in blocks()} <= {*ENVIRONMENTS}
    assert {(block.language, block.environment) for block in blocks()} == {
        ("sh", "shell"), ("console", "base"), ("text", "output"), ("onnx", "base"),
        ("python", "base"), ("python", "torch"), ("python", "tf"), ("yaml", "base"),
        ("python", "simplifiers"), ("python", "optimum"), ("toml", "base"), ("diff", "base"),
        ("python", "cluster"),
    }  # fmt: skip


@each_row("page", generated())
def test_what_is_generated_is_as_it_is_made(page: str) -> None:
    assert pages()[page] == written(pages()[page], generated()[page]), (
        "python -m tests.manual --write"
    )


def test_words_and_keywords_have_their_places() -> None:
    for name in (*OptionKeywords.__annotations__, "convention"):
        assert re.search(rf"\b{name}\b", pages()["library"]), name
    for each in Assumption:
        assert f"| `{each.code}` | {each} | " in pages()["proofs"]
    for word in (*Assumption, "guarded", "can win", "not compared", "taken back"):
        assert f"\n## {word}\n" in pages()["glossary"]
    for word, title in (("open", "open size"), ("computed", "computed Pad"), ("pads", "pads")):
        assert (entry_of(word) or ("",))[0] == title
    for field in ("wide", "ceil over"):  # of a form
        assert f"`{field.split()[0]}`" in (entry_of(field) or ("",))[0]
    assert entry_of("nonsense") is None


def test_the_glossary_is_in_order() -> None:
    words = re.findall(r"^## (.*)$", pages()["glossary"], flags=re.MULTILINE)
    assert words == sorted(words, key=str.lower)
    assert len(words) == len(set(words)) > 40


STEM = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'


def line(pads: str) -> onnx.ModelProto:
    """A Conv of one dimension."""
    weight = "float[1, 2, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 9}"
    return one(f"y = Conv <pads = {pads}> (x, w)", inputs="float[1, 2, 9] x", initializers=weight)


PORT = MODELS / "misconverted" / "strided_conv2d"
SYMPTOMS: Final[dict[str, tuple[Path | onnx.ModelProto | None, str]]] = {
    "fix model.onnx --dim height=224 --dim width=224": (
        MODELS / "timm_same_torchscript.onnx",
        "Pad 4 -> 0",
    ),
    "fix model.onnx": (one(STEM, initializers=W), "auto_pad 1 -> 0"),
    "fix model.onnx --style symmetric": (
        one("y = Conv <pads = [1, 1, 2, 2]> (x, w)", initializers=W),
        "Pad 0 -> 1",
    ),
    "fix model.onnx --no-ceil": (
        one("y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)"),
        "ceil_mode 1 -> 0",
    ),
    "fix model.onnx --target onnxruntime-cuda": (
        one("y = ConvTranspose <pads = [1, 0, 2, 1]> (z, w)", inputs="float[1, 3, 9, 8] z",
            initializers=W),
        "H 1+1, W 0+0",
    ),
    "explain --op conv --size 224 --kernel 3 --stride 2": (None, "even sizes  A, B"),
    "explain --op convtranspose --size 249 --kernel 7 --stride 6 --output-size 1481": (
        None,
        "14 + output_padding",
    ),
    "explain model.onnx --node pool --output-size 55": (
        one("[pool] y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)",
            inputs="float[1, 2, 112, 112] x"),
        "ceil_mode 0 instead of 1",
    ),
    "fix exported/ -o fixed/ --jobs 2 --resume nightly.db": (None, "1 model: 1 unchanged"),
    "fix model.onnx --target opencv@4": (
        one('y = Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (x, w)', initializers=W,
            inputs="float[1, 3, 8, 8] x"),
        "auto_pad 1 -> 0",
    ),
    "match model.onnx --reference outputs.npz -o right.onnx": (PORT, "matched"),
    "validate model.onnx simplified.onnx": (
        line("[4, 0]"),
        "L 4+0 became L 0+4",
    ),
    "prove model.onnx simplified.onnx": (line("[4, 0]"), "refuted"),
    "repad model.onnx --to tensorflow": (PORT, "1 operator padded as TensorFlow does"),
    "show model.onnx --node NAME": (MODELS / "timm_same_torchscript.onnx", "what to do"),
    "rule PAD501": (None, "PAD501"),
}  # fmt: skip
"""A model to try the command of each row on, and a part of what is printed."""


def test_every_symptom_has_a_command_that_answers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table,) = re.findall(
        r"^\| you have .*\n\| ---.*\n((?:\|.*\n)+)", pages()["README"], re.MULTILINE
    )
    typed = [re.split(r" \| ", row)[1] for row in table.splitlines()]
    commands = [re.findall(r"`onnxpad ([^`]+)`", cell)[0] for cell in typed]
    assert commands == list(SYMPTOMS)
    monkeypatch.chdir(tmp_path)
    for command, (model, told) in SYMPTOMS.items():
        if isinstance(model, Path):
            shutil.copy(model.with_suffix(".onnx"), "model.onnx")
            shutil.copy(model.with_suffix(".npz"), "outputs.npz")
        elif model is not None:
            onnx.save(model, "model.onnx")
            onnx.save(line("[0, 4]"), "simplified.onnx")
        if "exported/" in command:
            Path("exported").mkdir()
            onnx.save(one("y = Relu (z)", inputs="float[2] z"), "exported/model.onnx")
        words = shlex.split(command.replace("NAME", "/stem/Conv"))
        further = ["--no-validate"] if words[0] == "fix" else []
        result = onnxpad_runs(*words, *further)
        assert result.exit_code in {0, 3}, result.stderr
        assert told in result.stdout, result.stdout
