"""The first difference names inputs of its node that are a constant in one model alone."""

import html
import re

import onnx
import pytest

import onnxpad
from onnxpad.report.documents.validation_document import validate_text
from onnxpad.report.layout import UNBROKEN
from onnxpad.validation.operands import operands_that_differ
from tests.support import one
from tests.support.rows import each_row

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
    assert f"  which differ  {said}" in validate_text(result, UNBROKEN).splitlines()
    assert said in html.unescape(re.sub("<[^>]*>", "", result.to_html()))


def test_an_input_that_is_the_same_is_not_named() -> None:
    node = 'y = Pad <mode = "constant"> (x, a)'
    text = MODEL.replace("{amounts}", RIGHT)
    other = onnx.parser.parse_model(text.replace(node, 'y = Pad <mode = "edge"> (x, a)'))
    result = onnxpad.validate(onnx.parser.parse_model(text), other)
    assert result.divergence is not None
    assert result.divergence.operands == ()


@each_row(
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
    assert len(found) == (told is not None)


INPUTS = "float[1] x, int64[2] u"
HELD = (
    "float[1] s = {1}, float[1] t = {2}, int64[1] i = {1}, float[2] d = {1, 1}, "
    f"float[16] m = {{{', '.join('1' * 16)}}}, float[17] l = {{{', '.join('1' * 17)}}}"
)
MADE = """
    k = Constant <value_int = 5> () f = Constant <value_floats = [0.5, 1.0]> () [neg] n = Neg (x)
"""


@each_row("pair", ["s,t", "s,i", "s,d", "s,x", "s,", ",s", "k,n", "f,y", "m,l"])
def test_the_inputs_of_a_node_in_two_models(pair: str) -> None:
    ours, theirs = pair.split(",")
    model = one(f"{MADE} y = Abs (n)", inputs=INPUTS, initializers=HELD)
    (told,) = operands_that_differ((model, model), ([ours], [theirs]))
    assert told.startswith(f"{ours or 'none'}, rewritten {theirs or 'none'}: ")
    for same in (["s"], ["x"], [""], []):
        assert operands_that_differ((model, model), (same, same)) == ()
    assert operands_that_differ((model, model), (["x"], ["u"])) == ()


def test_other_numbers_of_a_long_constant() -> None:
    models = [
        one("y = Abs (x)", inputs=INPUTS, initializers=HELD.replace("{1, 1, 1, 1,", start))
        for start in ("{1, 1, 1, 1,", "{2, 1, 1, 1,")
    ]
    assert len(operands_that_differ((models[0], models[1]), (["m", "l"], ["m", "l"]))) == 2
    assert operands_that_differ((models[0], models[0]), (["l"], ["l"])) == ()
