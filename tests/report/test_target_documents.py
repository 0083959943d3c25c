"""What is known of a target in words: conditions, cells with their sources, and models."""

from pathlib import Path

import numpy as np
import pytest
from onnx.numpy_helper import from_array
from onnx.parser import parse_model

from onnxpad import fix
from onnxpad.report.documents.target_documents import (
    _TOGETHER,
    _WORDS,
    target_document,
    targets_document,
    words_of,
)
from onnxpad.report.layout import Screen, text_of
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import USUAL, every, load
from onnxpad.targets.target import Condition, Run, Target
from onnxpad.targets.target_file import WORDS


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ((), "every form"),
        ((("op", Condition(("Conv", "MaxPool", "Pad"))),), "Conv, MaxPool or Pad"),
        ((("auto_pad", Condition(("SAME_LOWER",))),), "auto_pad SAME_LOWER"),
        ((("auto_pad", Condition(("SAME_LOWER", "SAME_UPPER"))),), "SAME"),
        (
            (("pads", Condition(("end", "open"))),),
            "more padding at an end or padding that open sizes decide",
        ),
        ((("rank", Condition((1, 3))),), "rank 1 or 3"),
        ((("rank", Condition(least=2, most=3)),), "spatial axes from 2 to 3"),
        (
            (("opset", Condition(most=18)), ("axes", Condition((True,)))),
            "opset to 18; a Pad with axes",
        ),
        ((("axes", Condition((False,))),), "a Pad without axes"),
        ((("negative", Condition((False,))),), "without negative amounts"),
        ((("between", Condition(("",))),), "no between"),
        ((("domain", Condition(("", "acme"))),), "domain ai.onnx or acme"),
        ((("uneven", Condition((False, True))), ("rank", Condition((2,)))), "rank 2"),
        (
            tuple((name, Condition((each,))) for name, each in (USUAL | {"stride": 2}).items()),
            "stride 2; all else as usual",
        ),
        ((("dtype", Condition(("uint8",))),), "dtype uint8"),
    ],
)
def test_conditions_in_words(when: tuple[tuple[str, Condition], ...], words: str) -> None:
    assert words_of(when) == words


def test_words_are_of_values_that_there_are() -> None:
    for name, value in [*_WORDS, *((name, each) for name, found in _TOGETHER for each in found)]:
        if name in WORDS:
            assert value in WORDS[name]
        else:
            assert isinstance(value, type(Form._field_defaults[name]))


def shown(*targets: Target) -> str:
    return text_of(target_document(targets), Screen(None))


def test_a_cell_has_its_verdict_words_note_advice_and_source(tmp_path: Path) -> None:
    (tmp_path / "npu.toml").write_text(
        'title = "NPU\x1b"\nspell = ["no_axes"]\nnotes = ["Slow."]\nread = "npu 3"\n'
        '[[cell]]\nwhen = { sized = false }\nverdict = "rejected"\nsource = "n/n:a.cc"\n'
        'note = "panics"\nadvice = "--shape"\nabout = ["ceil_mode"]\n'
        '[[cell]]\nwhen = { op = "Conv" }\nverdict = "unknown"\n'
        '[[fact]]\ntext = "Slower than it was."\nsource = "n/n#3"\n'.replace("\x1b", "\\u001b")
    )
    assert shown(load(tmp_path / "npu.toml")).splitlines()[:1] == ["npu  NPU\\x1b"]
    text = shown(load(tmp_path / "npu.toml"))
    for line in (
        "  read: npu 3",
        "  it insists: a Pad must not have the input axes",
        "  Slow.",
        "  rejected  open sizes: panics; give --shape",
        "            [read] n/n:a.cc",
        "  unknown   Conv",
        "  Slower than it was. (n/n#3)",
    ):
        assert f"\n{line}\n" in f"{text}\n"


def test_models_that_failed_alike_stand_together() -> None:
    runs = (
        Run("a", "given", "wrong", "T", "1", "difference 3"),
        Run("b", "fold", "wrong", "T", "1", "difference 3"),
        Run("b", "given", "rejected", "T", "1"),
        Run("c", "given", "right", "T", "1"),
    )
    text = shown(Target("t", "T", "1", measured=True, runs=runs))
    assert "  measured: 4 models of 3 forms; 1 right as given, 1 by the best writing" in text
    assert "  wrong     outputs off by up to 3: a and b:fold\n" in text
    assert "  rejected  no message: b\n" in text
    assert "  right     1 model, all others that were run" in text


def test_all_cells_of_all_targets_are_told() -> None:
    for target in every():
        text = shown(target)
        assert all(cell.note in text and cell.source in text for cell in target.cells)
        assert all(fact.text in text for fact in target.facts)
        assert target.full_name in text_of(targets_document([target]), Screen(None))


def test_models_that_ran_are_told_by_how_far_they_were_off() -> None:
    run = Run("a", "given", "rejected", "T", "1", "difference 2 to 3e4; no SAME")
    told = shown(Target("npu", "NPU", runs=(run, run._replace(form="b", verdict="wrong"))))
    assert "rejected  no SAME: a" in told
    assert "wrong     outputs off by up to 3e4: b" in told


def test_a_cell_of_several_kinds_of_operators_stands_under_none_of_them() -> None:
    told = shown(load("qnn"))
    before, after = told.split("\nOther\n")
    assert "AveragePool or Pad; open sizes" not in before
    assert "AveragePool or Pad; open sizes" in after
    assert "mode edge: mode edge" not in told


def test_an_operator_that_is_spelled_and_written_otherwise_counts_once() -> None:
    model = parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 2, 8, 8] x) => (float[N, C, H, W] y)
        <float[2, 3, 3, 3] w = {0}>
        { [up] y = ConvTranspose <strides = [2, 2], pads = [0, 0, 1, 1]> (x, w) }
    """)
    del model.graph.initializer[:]
    model.graph.initializer.append(from_array(np.ones((2, 3, 3, 3), np.float32), "w"))
    told = str(fix(model, target=["tvm", "coreml"]))
    assert "Proved: the changed operator reads" in told
    assert "(PAD702)" in told
    assert "as it came" not in told
