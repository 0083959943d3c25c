"""What `fix` writes for runtimes of forms that were run there: as it came, or as it was right."""

from functools import cache
from typing import Any, Final

import onnx
import pytest

import onnxpad
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import every, load
from onnxpad.targets.target import Target
from tests.targets.forms import OPTIONS, sites, tables

TABLES: Final = {name: table for name, table in tables().items() if "given" in table}
CONFIGURATIONS: Final = [each.full_name for each in every()]
BY_DAY: Final = {"opencv-classic@5.0.0", "onnx2torch@1.5.15", "ncnn-pnnx@1.0.20261020"}

OWN: Final = {
    "conv_same_upper_dilated",
    "conv_same_lower_dilated",
    "max_pool_ceil_mode_last_window_dropped",
    "pad_zero_max_pool",
}
"""Forms that onnxruntime does not take as they are, which validation needs."""


@cache
def model(name: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(TABLES[name]["model"])


def verdict(target: Target, found: list[dict[str, Any]]) -> str:
    """The worst of a model's forms; right where nothing is left that pads."""
    verdicts = {target.cell(Form(**{"opset": 17, **each})).verdict for each in found}
    order = ("wrong", "rejected", "fallback", "unknown")
    return next((each for each in order if each in verdicts), "right")


def fault(name: str, target: Target) -> str:
    """In what a form is not as it should be after `fix`; empty if it is."""
    table = TABLES[name]
    result = onnxpad.fix(model(name), target=target.full_name, validate=False)
    told = {each.code for each in result.findings} & {"PAD703", "PAD704", "PAD705", "PAD706"}
    given = verdict(target, table["given"])
    if given == "right":
        codes = {each.code for each in result.changes} - {"PAD702"}  # amounts become constant
        return "changed, though it was right" if codes and name not in OWN else ""
    now = verdict(target, sites(result.model))
    if now == "right":
        return ""
    better = [s for s in OPTIONS if s in table and verdict(target, table[s]) == "right"]
    if name.startswith("conv_transpose") and "pad" in better:
        better.remove("pad")  # `fix` takes a Slice only where output_padding does not do
    if better and given != "unknown":
        return f"{now}, where {better} are right"
    return "" if told else f"{now}, and nothing is told"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=() if each in BY_DAY else pytest.mark.night)
        for each in CONFIGURATIONS
    ],
)
def test_what_fix_writes_for_a_runtime(name: str) -> None:
    target = load(name)
    asked = list(TABLES)[:: 4 if name in BY_DAY else 1]
    found = {form: told for form in asked if (told := fault(form, target))}
    assert not found


def test_computed_amounts_that_are_always_the_same_become_constant_where_they_must() -> None:
    name = "pad_computed_from_shape_conv_static"
    for target in ("tinygrad", "tvm"):  # the latter rejects them
        assert not fault(name, load(target))
        found = onnxpad.fix(model(name), target=target, validate=False).changes
        assert bool(found) is (target == "tvm")
