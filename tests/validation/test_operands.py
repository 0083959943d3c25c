"""The first difference names inputs of its node that are a constant in one model alone."""

import html
import re

import onnx
import pytest

import onnxpad
from onnxpad.report.layout import Screen

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
    assert result.validation.divergence is not None
    assert result.validation.divergence.operands == (said,)
    assert f"  which differ  {said}" in result.text(Screen(None)).splitlines()
    assert said in html.unescape(re.sub("<[^>]*>", "", result.to_html()))


def test_an_input_that_is_the_same_is_not_named() -> None:
    node = 'y = Pad <mode = "constant"> (x, a)'
    text = MODEL.replace("{amounts}", RIGHT)
    other = onnx.parser.parse_model(text.replace(node, 'y = Pad <mode = "edge"> (x, a)'))
    result = onnxpad.validate(onnx.parser.parse_model(text), other)
    assert result.validation.divergence is not None
    assert result.validation.divergence.operands == ()
