"""The first difference names inputs of its node that are a constant in one model alone."""

import html
import re

import onnx
import pytest

import onnxpad
from onnxpad.file.operands import operands_that_differ
from onnxpad.report.layout import UNBROKEN
from onnxpad.report.text.validation_text import validate_text

MODEL = """
<ir_version: 9, opset_import: ["" : 17]>
g (float[1, 1, 4, 4] x) => (float[1, 1, 5, 5] y) {amounts}
  y = Pad <mode = "constant"> (x, a)
}
"""
COMPUTED = """{
  f = Constant <value_floats = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]> ()
  [cast] a = Cast <to = 7> (f)
"""
RIGHT = "<int64[8] a = {0, 0, 0, 0, 0, 0, 1, 1}> {"
WRONG = "<int64[8] a = {0, 0, 1, 1, 0, 0, 0, 0}> {"
BEGIN, END = "constant [0, 0, 1, 1, 0, 0, 0, 0]", "constant [0, 0, 0, 0, 0, 0, 1, 1]"


def validated(before: str, after: str) -> onnxpad.ValidationResult:
    models = [onnx.parser.parse_model(MODEL.replace("{amounts}", each)) for each in (before, after)]
    return onnxpad.validate(*models)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        pytest.param(
            COMPUTED,
            f"a: computed by cast (Cast) in the original, {BEGIN} rewritten",
            id="computed",
        ),
        pytest.param(RIGHT, f"a: {END} in the original, {BEGIN} rewritten", id="other numbers"),
    ],
)
def test_an_input_that_is_another_one_is_named(before: str, said: str) -> None:
    result = validated(before, WRONG)
    assert not result.ok
    assert result.divergence is not None
    assert result.divergence.operands == (said,)
    assert f"  which differ  {said}" in validate_text(result.report(), UNBROKEN).splitlines()
    assert said in html.unescape(re.sub("<[^>]*>", "", result.to_html()))


def test_an_input_that_is_the_same_is_not_named() -> None:
    node = 'y = Pad <mode = "constant"> (x, a)'
    text = MODEL.replace("{amounts}", RIGHT)
    other = onnx.parser.parse_model(text.replace(node, 'y = Pad <mode = "edge"> (x, a)'))
    result = onnxpad.validate(onnx.parser.parse_model(text), other)
    assert result.divergence is not None
    assert result.divergence.operands == ()


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        ("value = int64[2] {1, 2}", "[1, 2]"),
        ("value_int = 3", "3"),
        ("value_ints = [3, 4]", "[3, 4]"),
        ("value_float = 0.5", "0.5"),
        ("value_floats = [0.5, 2.0]", "[0.5, 2.0]"),
        ('value_string = "a"', None),
        ('value_strings = ["a"]', None),
        ("other = 3", None),
        ("value_int = 3, value_ints = [3]", None),
    ],
)
def test_the_numbers_of_every_kind_of_constant_are_told(attribute: str, told: str | None) -> None:
    text = '<ir_version: 9, opset_import: ["" : 17]> g () => (float y) {{ {} y = Relu (a) }}'
    models = (
        onnx.parser.parse_model(text.format(f"a = Constant <{attribute}> ()")),
        onnx.parser.parse_model(text.format("a = Abs (b)")),
    )
    found = operands_that_differ(models, (["a"], ["a"]))
    if told is None:
        assert found == ()
    else:
        (line,) = found
        assert line.startswith(f"a: constant {told} in the original, computed by")
