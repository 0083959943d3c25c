"""The row of onnxruntime's CPU provider says what `--trust` and the guard of a `Pad` rest on."""

import random
import re
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.reasons import Reason
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import load
from tests.random_models.draw import draw_model
from tests.support import EXPORTED, one, ran
from tests.support.rows import each_row, one_in
from tests.targets.forms import tables

Verdicts = dict[str, str]

WIDE: Final = "float[1, 1, 9, 9] x"
POOL: Final = 'y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [1, 1], strides = [3, 3]> (x)'
AVERAGE: Final = (
    "y = com.microsoft.QLinearAveragePool <ceil_mode = 1, count_include_pad = 1, "
    "kernel_shape = [2, 2], strides = [2, 2]>"
)


def name(label: str) -> str:
    """An operator's name, without the bodies around it."""
    found = re.search(r"'([^']*)'$", label)
    return found[1] if found else label


def claimed(model: Any) -> Verdicts:
    """What `check` says that onnxruntime computes otherwise or does not run, by operator."""
    found: Verdicts = {}
    for each in onnxpad.check(model, no_ceil=True).findings:
        facts = each.evidence
        if each.code == "PAD701":
            found[name(str(facts["reader"]))] = "wrong"
        elif "repair" in facts:
            found[name(each.node)] = "rejected"
        elif each.reason_code == Reason.ENGINES_DISAGREE and "disagreement" in facts:
            found.setdefault(name(each.node), "wrong")
    return found


def by_row(model: Any) -> Verdicts:
    """What the row says, by operator."""
    found = onnxpad.check(model, target="onnxruntime-cpu", select=["PAD703", "PAD704"]).findings
    return {name(each.node): str(each.evidence["verdict"]) for each in found}


@each_row("text", [table["model"] for table in tables().values()])
def test_forms(text: str) -> None:
    model = onnx.parser.parse_model(text)
    assert by_row(model) == claimed(model)


@pytest.mark.parametrize("path", one_in(36, zip(EXPORTED)))
def test_exported_models(path: Path) -> None:
    assert by_row(path) == claimed(path)


@pytest.mark.parametrize("seed", one_in(60, [(seed,) for seed in range(0, 600, 10)]))
def test_random_models(seed: int) -> None:
    for each in range(seed, seed + 10):
        model = draw_model(random.Random(each)).model
        try:
            told = claimed(model)
        except onnxpad.OnnxpadError:
            continue
        if any(each.reason_code == Reason.OTHER_SCOPE for each in onnxpad.check(model).findings):
            continue  # where sizes are inferred wrongly, passes say nothing else
        assert by_row(model) == told, each


GUARDED: Final = "y = MaxPool <kernel_shape = [2, 2], strides = [9, 9]> (z)"


@each_row(
    ("nodes", "inputs", "opset", "verdict"),
    [
        (POOL, "float[1, 1, 7, 7] x", 17, ""),  # nothing is cropped at this size
        (POOL, WIDE, 17, "rejected"),
        (POOL, "uint8[1, 1, 9, 9] x", 17, "wrong"),
        (POOL.replace("Max", "Average"), WIDE, 17, "rejected"),
        (POOL.replace("Max", "Average"), WIDE, 19, "wrong"),
        (POOL.replace("Max", "Lp"), WIDE, 17, "wrong"),
        (POOL.replace("UPPER", "LOWER").replace("3, 3", "2, 2"), WIDE, 17, ""),
        ('y = LpPool <auto_pad = "SAME_UPPER", dilations = [2, 2], kernel_shape = [2, 2]> (x)',
         WIDE, 18, "wrong"),
        ("y = MaxPool <kernel_shape = [2, 2], pads = [2, 0, 0, 0]> (x)", WIDE, 17, "rejected"),
        (f"z = Pad (x, p) {GUARDED}", WIDE, 17, "wrong"),
        ("a = Abs (x) z = Pad (a, p) y = MaxPool <kernel_shape = [2, 2]> (z)", WIDE, 17, ""),
        (f'z = Pad (x, p, "") {GUARDED}', WIDE, 17, ""),
        (f"{AVERAGE} (x, s, q, s, q)", "uint8[1, 1, 9, 9] x", 17, "wrong"),
        (f"{AVERAGE} (x, s, q, s, q)", "uint8[1, 1, 8, 8] x", 17, ""),
        ("y = ConvTranspose <output_shape = [11, 11]> (x, w)", WIDE, 17, "rejected"),
    ],
)  # fmt: skip
def test_the_verdict_is_what_onnxruntime_does(
    nodes: str, inputs: str, opset: int, verdict: str
) -> None:
    model = one(
        nodes,
        inputs=inputs,
        outputs=f"{inputs.partition('[')[0]}[] y",
        initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 0, 0}, float[1, 1, 1, 1] w = {1}, "
        "float s = {1}, uint8 q = {0}",
        opset=opset,
    )
    assert [*by_row(model).values()] == [verdict] * bool(verdict)
    shape = [int(size) for size in re.findall(r"\d+(?=[,\]])", inputs)]
    dtype = np.float32 if "float" in inputs else np.uint8
    fed = {"x": (np.arange(np.prod(shape)).reshape(shape) - 90).astype(dtype)}
    found = ran(model, fed, "full")
    assert isinstance(found, str) is (verdict == "rejected"), found
    if "Pad (" in nodes:
        plain = ran(model, fed, "off")
        assert np.array_equal(plain[0], found[0]) is (verdict == "")


def test_each_departure_has_a_cell() -> None:
    for row in ("onnxruntime-cpu", "onnxruntime-web-wasm"):
        said = [cell.when.get("onnxruntime", ()) for cell in load(row).cells]
        words = {*get_args(get_type_hints(Form)["onnxruntime"])}
        assert {value for value in words for each in said if value in each} == words
