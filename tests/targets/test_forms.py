"""Forms of padding: true models, what `fix --target` writes of each, and what it tells of it."""

import random
from functools import cache
from typing import Any, Final

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import every, known, load
from onnxpad.targets.target import Target
from tests.exported.results import NAMES
from tests.support import MODELS, one, ran
from tests.support.rows import each_row
from tests.targets.forms import OPTIONS, PATH, SIZES, STYLES, page, sites, tables
from tests.targets.test_choose import K3, LOWER, OPEN, S2, UPPER, P, W, X, nodes

TABLES: Final = tables()
RAN: Final = {name: table for name, table in TABLES.items() if "given" in table}
TOLD: Final = {"PAD703", "PAD704", "PAD705", "PAD706"}
DROPPED: Final = "max_pool_ceil_mode_last_window_dropped"
"""A model that onnx's shape inference does not agree with: it counts the dropped window."""


def test_forms_are_kept_as_they_are_read() -> None:
    assert page(TABLES) == PATH.read_text(encoding="utf-8"), "python -m tests.targets --write"


def test_each_form_is_a_valid_model_of_its_name() -> None:
    for name, table in TABLES.items():
        model = onnx.parser.parse_model(table["model"])
        assert model.graph.name == name
        assert set(table) <= {"about", "model", *STYLES}
        onnx.checker.check_model(model, full_check=name != DROPPED)


def test_onnxruntime_runs_all_but_dilated_same() -> None:
    refused = [name for name, table in TABLES.items() if not _runs(table)]
    assert refused == ["conv_same_upper_dilated", "conv_same_lower_dilated"]


def _runs(table: dict[str, Any]) -> bool:
    model = onnx.parser.parse_model(table["model"])
    shape = [
        SIZES[dim.dim_param] if dim.dim_param else dim.dim_value
        for dim in model.graph.input[0].type.tensor_type.shape.dim
    ]
    found = ran(model, {"x": np.ones(shape, np.float32)})
    if isinstance(found, str):
        assert "Dilation not supported for AutoPadType" in found
        return False
    declared = [dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim]
    assert all(told in (0, size) for told, size in zip(declared, found[0].shape, strict=True))
    return True


# As it came, or as it was right
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
    return onnx.parser.parse_model(RAN[name]["model"])


def verdict(target: Target, found: list[dict[str, Any]]) -> str:
    """The worst of a model's forms; right where nothing is left that pads."""
    verdicts = {target.cell(Form(**{"opset": 17, **each})).verdict for each in found}
    order = ("wrong", "rejected", "fallback", "unknown")
    return next((each for each in order if each in verdicts), "right")


def fault(name: str, target: Target) -> str:
    """In what a form is not as it should be after `fix`; empty if it is."""
    table = RAN[name]
    result = onnxpad.fix(model(name), target=target.full_name, validate=False)
    told = {each.code for each in result.findings} & TOLD
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
        for each in (target.full_name for target in every())
    ],
)
def test_what_fix_writes_for_a_runtime(name: str) -> None:
    target = load(name)
    asked = list(RAN)[:: 4 if name in BY_DAY else 1]
    found = {form: told for form in asked if (told := fault(form, target))}
    assert not found


def test_computed_amounts_that_are_always_the_same_become_constant_where_they_must() -> None:
    name = "pad_computed_from_shape_conv_static"
    for target in ("tinygrad", "tvm"):  # the latter rejects them
        assert not fault(name, load(target))
        found = onnxpad.fix(model(name), target=target, validate=False).changes
        assert bool(found) is (target == "tvm")


# Exported models: proved, stable, and what is not taken is told
ONCE_WRONG: Final = (
    ("zeropad_torchscript", ("emx-onnx-cgen", "onnxruntime-cuda", "iree")),
    ("gaps_keras_open", ("tract",)),
)


def drawn(name: str) -> tuple[str, ...]:
    """Targets for a model, other ones for another."""
    draw = random.Random(name)
    return tuple(draw.sample(known(), draw.choice((1, 2, 3))))


@pytest.mark.parametrize(
    ("name", "targets"),
    [*ONCE_WRONG, *(pytest.param(name, drawn(name), marks=pytest.mark.night) for name in NAMES)],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
def test_a_model_is_written_for_targets_once(name: str, targets: tuple[str, ...]) -> None:
    given = MODELS / f"{name}.onnx"
    result = onnxpad.fix(given, target=targets, validate=(name, targets) not in ONCE_WRONG)
    assert result.validation is None or result.validation.ok
    assert not result.undone
    assert not onnxpad.fix(result.model, target=targets, validate=False).changed
    found = onnxpad.check(result.model, target=targets).findings
    assert not [each for each in found if each.code in TOLD and each.fixable]
    left = [(each.code, each.node, each.reason) for each in found if each.code in TOLD]
    told = [(each.code, each.node, each.reason) for each in result.findings if each.code in TOLD]
    assert left == told


# Forms that were measured one by one
BATCH = "float[n, 2, 8, 8] x"
LINE = "float[1, 2, 8] x"
CUBE = "float[1, 2, 6, 6, 6] x"
K33 = "kernel_shape = [3, 3, 3]"
OPENED = "float[1, 2, h, w] x"
POOL = "y = AveragePool <{}" + f"{K3}, pads = [1, 1, 1, 1]> (x)"
UP = "y = ConvTranspose <{}" + f", {S2}> (x, w)"
COUNTED = f"y = AveragePool <ceil_mode = 1, count_include_pad = 1, {K3}, {S2}" + "{}> (x)"
ONE_D = f"y = MaxPool <{UPPER}, kernel_shape = [3], strides = [3]> (x)"
WIDE = f"y = MaxPool <{K3}, pads = [2, 2, 2, 2]> (x)"
ROUNDED = f'y = MaxPool <auto_pad = "VALID", ceil_mode = 1, {K3}, {S2}> (x)'
ADDED = f"{UPPER}, output_padding = [1, 1]"
COMPUTED = "r = Shape (x) q = Concat <axis = 0> (r, r) z = Pad (x, q) y = Conv (z, w)"


@each_row(
    ("target", "text", "inputs", "written", "told"),
    [
        ("openvino", UP.format(UPPER), BATCH, "ConvTranspose(pads=[0,0,1,1])", ""),
        ("openvino", UP.format(UPPER), X, "", ""),
        ("openvino", f"z = Pad (x, p) y = Conv <{UPPER}> (z, w)", OPENED, "Conv(pads=[1,1,2,2])",
         ""),
        ("openvino", COUNTED.format(""), X, "", ""),
        ("openvino", COUNTED.format(", pads = [1, 1, 1, 1]"), X, "Pad", ""),
        ("opencv@4 of pytorch", POOL.format(""), X, "", "PAD703"),
        ("opencv@4 of tf2onnx", POOL.format(""), X, "", ""),
        ("opencv@5 of pytorch", POOL.format(""), X, "AveragePool(count_include_pad=0", ""),
        ("opencv@5 of pytorch", POOL.format("count_include_pad = 0, "), X, "", ""),
        ("opencv@5", POOL.format(""), X, "", ""),
        ("opencv@5", ONE_D, LINE, "MaxPool(kernel_shape=[3], pads=[0,1])", ""),
        ("opencv@4", ONE_D, LINE, "Pad", ""),
        ("mnn", f"y = Conv <{UPPER}, {K33}> (x, w)", CUBE,
         "Conv(kernel_shape=[3,3,3], pads=[1,1,1,1,1,1])", ""),
        ("mnn", f"y = AveragePool <{K33}> (x)", CUBE, "", "PAD704"),
        ("mnn", ROUNDED, X, "MaxPool(ceil_mode=1, kernel_shape=[3,3])", ""),
        ("mnn", UP.format(f"{LOWER}, output_shape = [16, 16]"), X, "ConvTranspose(pads=[1,1,0,0])",
         ""),
        ("tract", UP.format(ADDED), X, "ConvTranspose(pads=[1,1,0,0])", ""),
        ("tinygrad", UP.format('auto_pad = "VALID", output_padding = [1, 1]'), X,
         "ConvTranspose(output_padding=[1,1])", ""),
        ("onnx2torch", WIDE, X, "Pad", ""),
        ("tensorrt@8", COMPUTED, OPEN, "", "PAD704"),
        ("tensorrt@10", COMPUTED, OPEN, "", ""),
        ("coreml-neuralnetwork", ROUNDED, X, "MaxPool(kernel_shape=[3,3], pads=[0,0,1,1])", ""),
        ("coreml-mlprogram", "y = Pad (x, p)", X, "", "PAD705"),
        ("coreml-neuralnetwork", "y = Pad (x, p)", X, "Pad", ""),
    ],
    at_once=6,
)  # fmt: skip
def test_a_measured_form_is_written_as_it_is_taken(
    target: str, text: str, inputs: str, written: str, told: str
) -> None:
    target, _, producer = target.partition(" of ")
    weight = W.replace("3, 3]", "3, 3, 3]").replace("}", ", 1" * 72 + "}") if inputs == CUBE else W
    weights = [weight] * (", w)" in text) + [P] * (", p)" in text)
    model = one(text, inputs=inputs, initializers=", ".join(weights))
    model.producer_name = producer
    result = onnxpad.fix(model, target=target, validate=False)
    assert result.changed == bool(written)
    assert any(each.startswith(written) for each in nodes(result.model))
    assert {each.code for each in result.findings} & TOLD == {*told.split()}
    again = onnxpad.fix(result.model, target=target, validate=False)
    assert not again.changed
