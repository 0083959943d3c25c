"""Bodies in which two models differ are entered, or named as not compared."""

from typing import Any

import numpy as np
import pytest

import onnxpad
from onnxpad.runtimes.sessions import open_session
from tests.support import parsed

T = "float[1, 1, 8, 8]"
RIGHT, WRONG = "1, 1, 1, 1", "0, 0, 2, 2"


def steered(then: str, other: str, loop: str, nested: str = RIGHT) -> object:
    """An If by a bool, a Loop by a count, and an If within an If by a whole number."""
    return parsed(f"""<ir_version: 8, opset_import: ["" : 17]>
        g ({T} x, bool c, int64 n, int64 rate) => (float[] y, float[] z, float[] v)
        <float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, bool t = {{1}},
         int64 low = {{8000}}, int64 high = {{16000}}>
        {{
          y = If (c) <
            then_branch = a () => ({T} p) {{ p = Conv <pads = [{then}]> (x, w) }},
                      else_branch = b () => ({T} q) {{ q = Conv <pads = [{other}]> (x, w) }}>
          z = Loop (n, t, x) <body = l (int64 i, bool k, {T} s)
              => (bool ko, {T} so) {{ ko = Identity (k) so = Conv <pads = [{loop}]> (s, w) }}>
          is_high = Equal (rate, high)
          v = If (is_high) <then_branch = d () => ({T} r) {{ r = Relu (x) }},
              else_branch = e () => ({T} o) {{
                is_low = Equal (rate, low)
                o = If (is_low) <
                  then_branch = f () => ({T} m) {{ m = Conv <pads = [{nested}]> (x, w) }},
                  else_branch = h () => ({T} u) {{ u = Neg (x) }}>
              }}>
        }}""")


@pytest.mark.parametrize(
    "wrong",
    [(WRONG, RIGHT, RIGHT), (RIGHT, WRONG, RIGHT), (RIGHT, RIGHT, WRONG), (RIGHT,) * 3 + (WRONG,)],
    ids=["then", "else", "loop", "nested"],
)
def test_a_fault_in_any_body_is_found(wrong: tuple[str, ...]) -> None:
    good = steered(RIGHT, RIGHT, RIGHT)
    found = onnxpad.validate(good, steered(*wrong))  # type: ignore[arg-type]
    assert (found.outcome, found.exit_code) == ("failed", 3)
    assert onnxpad.validate(good, good).ok  # type: ignore[arg-type]


def test_all_bodies_are_entered_in_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def counted(source: Any, **options: Any) -> Any:
        opened.append(source)
        return open_session(source, **options)

    monkeypatch.setattr("onnxpad.validation.branches.open_session", counted)
    sources = [steered(pads, pads, pads, pads) for pads in (RIGHT, WRONG)]
    onnxpad.validate(*sources)  # type: ignore[arg-type]
    assert len(opened) == 1
    assert sources == [steered(pads, pads, pads, pads) for pads in (RIGHT, WRONG)]


BODY = "p = Conv <pads = [{}]> (x, w)", ""
OUTER = "p = Relu (n)", "o = Conv <pads = [{}]> (x, w) n = Neg (o)"
INNER = "then_branch = i () => (float[] r) {{ r = Relu (o) }}"
OTHER = "else_branch = j () => (float[] s) {{ s = Neg (o) }}"
NESTED = f"o = Conv <pads = [{{}}]> (x, w) p = If (b) <{INNER}, {OTHER}>", ""


@pytest.mark.parametrize(("body", "outer"), [BODY, OUTER, NESTED])
def test_a_body_that_nothing_enters_is_named_and_not_ok(body: str, outer: str) -> None:
    def model(pads: str) -> object:
        return parsed(f"""<ir_version: 8, opset_import: ["" : 17]>
            g ({T} x, float c) => ({T} y)
            <float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, float most = {{1e30}}>
            {{ b = Greater (c, most) {outer.format(pads)}
               y = If (b) <then_branch = a () => ({T} p) {{ {body.format(pads)} }},
                           else_branch = d () => ({T} q) {{ q = Relu (x) }}> }}""")

    found = onnxpad.validate(model(RIGHT), model(WRONG))  # type: ignore[arg-type]
    assert (found.outcome, found.ok, found.exit_code) == ("nothing compared", False, 5)
    (left,) = found.validation.uncompared
    assert "then_branch" in left
    given = {"x": np.ones((1, 1, 8, 8), np.float32), "c": np.float32(2e30)}
    assert onnxpad.validate(model(RIGHT), model(WRONG), inputs=given).outcome == "failed"  # type: ignore[arg-type]


@pytest.mark.parametrize("chosen", ["number, 77", "word, 'a'"])
def test_a_body_that_only_the_second_model_has_is_entered_or_named(chosen: str) -> None:
    """Whatever number it has: here it comes before the one that both have."""
    value, constant = chosen.replace("'", '"').split(", ")

    def model(before: str) -> object:
        return parsed(f"""<ir_version: 9, opset_import: ["" : 19]>
            g ({T} x, bool b, int32 number, string word) => ({T} y)
            <float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}},
             {"string" if value == "word" else "int32"}[1] k = {{{constant}}}>
            {{ {before}
               y = If (b) <then_branch = t () => ({T} p) {{ p = Neg (v) }},
                           else_branch = e () => ({T} q) {{ q = Relu (v) }}> }}""")

    plain = model(f"v = Conv <pads = [{RIGHT}]> (x, w)")
    other = model(f"""c = Equal ({value}, k)
        v = If (c) <then_branch = a () => ({T} i) {{ i = Conv <pads = [{WRONG}]> (x, w) }},
                    else_branch = d () => ({T} o) {{ o = Conv <pads = [{RIGHT}]> (x, w) }}>""")
    found = onnxpad.validate(plain, other)  # type: ignore[arg-type]
    assert (found.outcome, found.exit_code) == ("nothing compared", 5)
    (left,) = found.validation.uncompared
    assert "then_branch of If 'v'" in left
    assert not onnxpad.validate(other, plain).ok  # type: ignore[arg-type]
