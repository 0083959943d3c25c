"""Bodies in which two models differ are entered, or named as not compared."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.numpy_helper import from_array

import onnxpad
from onnxpad.runtimes.sessions import load_failure, open_session
from tests.support import parsed
from tests.support.rows import each_row

T = "float[1, 1, 8, 8]"
FOLDED = "z = Pad (x, m) v = Conv (z, w)"
MISREAD = """v = AveragePool <kernel_shape = [3, 3], strides = [2, 2], dilations = [2, 2],
    auto_pad = "SAME_UPPER"> (x)"""
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


def test_all_bodies_are_entered_in_one_copy_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def counted(source: Any, **options: Any) -> Any:
        opened.append(source)
        return open_session(source, **options)

    monkeypatch.setattr("onnxpad.validation.branches.open_session", counted)
    sources = [steered(pads, pads, pads, pads) for pads in (RIGHT, WRONG)]
    onnxpad.validate(*sources)  # type: ignore[arg-type]
    assert len(opened) == 2
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


SIDES = f"""(c) <then_branch = a () => ({T} p) {{ p = Conv <pads = [1, 1, 1, 1]> (x, w) }},
                else_branch = e () => ({T} q) {{ q = Neg (x) }}>"""
LOOP = f"""<body = l (int64 i, bool k, {T} s) => (bool o, {T} r) {{
    o = Identity (k) r = Conv <pads = [1, 1, 1, 1]> (s, w) }}>"""
STEERED = {
    "count": f"m = Sub (n, most) y = Loop (m, t, x) {LOOP}",
    "begins": f"c = Greater (f, far) y = Loop (two, c, x) {LOOP}",
    "condition": f"c = Greater (f, far) y = If {SIDES}",
    "function": "y = own.F (x, f, far, w)",
    "nested": f"""m = Sub (f, far) b = Greater (f, f) y = If (b) <
        then_branch = h () => ({T} u) {{ u = Neg (x) }},
        else_branch = j () => ({T} v) {{ c = Greater (m, zero) v = If {SIDES} }}>""",
    "carried": f"""m = Sub (f, far) y, z = Loop (two, t, x, m) <
        body = l (int64 i, bool k, {T} s, float g) => (bool o, {T} r, float h) {{
            o = Identity (k) c = Greater (g, zero) r = If {SIDES} h = Identity (g) }}>""",
    "convolution": f"""v = Conv (x, weight) u = ReduceMax <keepdims = 0> (v)
        c = Greater (u, big) y = If {SIDES}""",
    "read": f"""c = Greater (f, big) y = If (c) <
        then_branch = a () => ({T} p) {{ p = Mul (x, far) }},
        else_branch = e () => ({T} q) {{ q = Neg (x) }}>""",
}


@pytest.mark.parametrize("name", STEERED)
def test_what_runs_for_another_reason_is_entered_or_named(name: str) -> None:
    def model(far: int) -> Any:
        outputs = ", bool c" if name == "condition" else ""
        return parsed(f"""
            g ({T} x, int64 n, float f) => ({T} y{outputs})
            <float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, bool t = {{1}}, int64 two = {{2}},
             float zero = {{0}}, float big = {{1e25}}, float far = {{1e{far}}},
             int64 most = {{{far}00}}, float[1, 1, 1, 1] weight = {{{far}}}>
            {{ {STEERED[name]} }}
            <opset_import: ["" : 17], domain: "own"> F (x, f, far, w) => (y) {{
                c = Greater (f, far) y = If {SIDES} }}""")

    found = onnxpad.validate(model(20), model(30))
    assert (found.outcome, found.exit_code) == ("nothing compared", 5)
    assert any("'y'" in left for left in found.validation.uncompared)
    assert onnxpad.validate(model(20), model(20)).validation.ok


@pytest.mark.parametrize("version", [17, 18])
def test_a_body_in_a_function_of_another_version_is_found_or_named(version: int) -> None:
    def model(pads: str) -> Any:
        return parsed(f"""<ir_version: 8, opset_import: ["" : 18, "own" : 1]>
            g ({T} x, int64 n) => (float[] y) <float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}>
            {{ y = own.F (x, n, w) }}
            <opset_import: ["" : {version}], domain: "own"> F (x, n, w) => (y) {{
                k = Constant <value_int = 7> () c = Equal (n, k)
                y = If (c) <
                    then_branch = a () => (float[] p) {{ p = Conv <pads = [{pads}]> (x, w) }},
                    else_branch = b () => (float[] q) {{ q = Neg (x) }}> }}""")

    found = onnxpad.validate(model(RIGHT), model(WRONG))
    assert found.outcome == ("failed" if version == 18 else "nothing compared")
    assert onnxpad.validate(model(RIGHT), model(RIGHT)).ok


def test_few_floats_that_a_body_rounds_are_no_evidence() -> None:
    def model(pads: str) -> Any:
        return parsed(f"""<ir_version: 8, opset_import: ["" : 17]>
            g (float[1, 2, 7, 6] x) => (float[] y, float[] z) <int64 n = {{1}}> {{
            y, z = Loop (n, , x) <body = l (int64 i, bool g, float[1, 2, 7, 6] s)
                => (bool o, float[1, 2, 7, 6] t, float[] u) {{
                o = Identity (g) t = Identity (s) r = Relu (x)
                a = AveragePool <kernel_shape = [3, 2], strides = [2, 2], pads = [{pads}]> (r)
                u = Floor (a) }}> }}""")

    found = onnxpad.validate(model("0, 0, 2, 0"), model("1, 0, 1, 0"))
    assert all(each.equal for run in found.validation.runs for each in run.comparisons)
    assert found.exit_code == 5
    assert onnxpad.validate(model("0, 0, 2, 0"), model("0, 0, 2, 0")).ok


def failing(place: int) -> Any:
    """An If of which one side fails where it takes an element that is not there."""
    return parsed(f"""g ({T} x, bool b) => (float[] y)
        <float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, int64[1] i = {{{place}}},
         int64[8] amounts = {{0, 0, 1, 1, 0, 0, 1, 1}}> {{
        y = If (b) <then_branch = a () => (float[] p) {{
            v = Pad (x, amounts) u = Conv (v, w) p = Gather <axis = 2> (u, i) }},
                    else_branch = e () => (float[] q) {{ q = Neg (x) }}> }}""")


def test_a_side_that_fails_in_both_models_is_named_and_not_ok() -> None:
    fixed: Any = onnxpad.fix(failing(99))
    assert (fixed.validation.outcome, fixed.exit_code) == ("nothing compared", 5)
    assert fixed.changes
    assert any("then_branch" in left for left in fixed.validation.uncompared)
    assert "neither" not in str(fixed)
    assert onnxpad.fix(failing(7)).exit_code == 0
    # Where it fails in the rewritten model alone, that has failed.
    assert onnxpad.validate(failing(7), failing(99)).outcome == "failed"
    assert onnxpad.validate(failing(99), failing(7)).outcome == "nothing compared"


def test_what_does_not_load_has_failed_also_where_the_original_fails_on_the_inputs_given() -> None:
    given: Any = {"x": np.ones((1, 1, 8, 8), np.float32), "b": np.bool_(True)}
    gone = parsed(f"g ({T} x, bool b) => (float[] y) {{ y = own.Gone (x) z = Not (b) }}")
    assert onnxpad.validate(failing(99), gone, inputs=given).outcome == "failed"
    assert onnxpad.validate(gone, failing(99), inputs=given).outcome == "nothing compared"


@each_row(
    ("node", "then", "opset", "outcome"),
    [
        (FOLDED, "p = Neg (v)", 13, "passed"),
        (FOLDED, "p = Reshape (v, k)", 13, "nothing compared"),  # what is drawn for k fits nothing
        (MISREAD, "p = Neg (v)", 19, "nothing compared"),
    ],
)
def test_a_size_with_which_the_optimiser_does_not_load_a_model_is_not_written(
    node: str, then: str, opset: int, outcome: str
) -> None:
    given = parsed(
        f"""g (float[N, 1, 8, 8] x, bool c, int64[3] k) => (float[] y) <int64[1] a = {{0}},
        float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}},
        int64[8] m = {{0, 0, 1, 1, 0, 0, 1, 1}}> {{ {node} y = If (c)
            <then_branch = t () => (float[] p) {{ {then} }}, else_branch = e () => (float[] q) {{
                s = Shape (x) f = Cast <to = 1> (s) g = Floor (f) h = Cast <to = 7> (g)
                r = Reshape (x, h) q = Squeeze (r, a) }}> }}""",
        opset=opset,
    )
    fixed: Any = onnxpad.fix(given, shapes={"x": [2, 1, 8, 8]}, trust="spec")
    assert (fixed.validation.outcome, fixed.changed, fixed.declared) == (outcome, True, {})
    assert not load_failure(fixed.model, None)
    written = onnxpad.fix(given, shapes={"x": [2, 1, 8, 8]}, trust="spec", validate=False).model
    assert load_failure(written, None)
    assert onnxpad.validate(given, written).outcome == "failed"


@pytest.mark.parametrize("seed", [0, 3])
def test_a_side_is_compared_on_ordinary_data_too(seed: int) -> None:
    """Negative data alone, which has the bool otherwise, gives zeros whatever the padding."""

    def model(pads: str) -> Any:
        return parsed(f"""g ({T} x, bool b) => ({T} y)
            <float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}> {{
            y = If (b) <then_branch = a () => ({T} p) {{ r = Conv <pads = [{pads}]> (x, w)
                                                         p = Relu (r) }},
                        else_branch = e () => ({T} q) {{ q = Neg (x) }}> }}""")

    assert onnxpad.validate(model(RIGHT), model(WRONG), seed=seed).outcome == "failed"


CONV = "Conv <pads = [{}]> (x, w)"
SAME = "p = " + CONV.format(RIGHT)
NEG, RELU, MUL = "q = Neg (x)", "p = Relu (x)", "p = Mul (x, v)"
NAMED = {
    "other": (("c = Identity (b)", SAME, "q = " + CONV.format(RIGHT)),
              ("c = Less (f, big)", SAME, "q = " + CONV.format(WRONG))),
    "reader": (("v = Mul (f, k) c = Greater (v, big)", MUL, "s = Shape (v) " + NEG),
               ("v = Div (f, k) c = Greater (v, big)", MUL, "s = Shape (v) " + NEG)),
    "zero": (("v = Mul (f, k) c = Greater (v, big)", MUL, "s = Mul (v, o) q = Sub (x, s)"),
             ("v = Div (f, k) c = Greater (v, big)", MUL, "s = Mul (v, o) q = Sub (x, s)")),
    "lossy": (("s = Sub (f, big) m = Relu (s) c = Greater (m, o)", RELU, NEG, "Add (x, m)"),
              ("s = Sub (f, far) m = Max (s, o) c = Greater (m, o)", RELU, NEG, "Add (x, m)")),
    "behind": (("c = Greater (f, big)", "p = Identity (x)", "q = Mul (x, o)", CONV.format(RIGHT)),
               ("c = Greater (f, big)", "p = Identity (x)", "q = Mul (x, o)", CONV.format(WRONG))),
}  # fmt: skip


def two_sided(before: str, then: str, other: str, behind: str = "Identity (x)") -> Any:
    behind = behind.replace("(x", "(u")
    return parsed(f"""g ({T} x, bool b, float f) => ({T} y, {T} r)
        <float[1, 1, 3, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, float big = {{1e20}}, float k = {{2}},
         float far = {{1e30}}, float o = {{0}}> {{ {before} r = Relu (x)
        u = If (c) <then_branch = a () => ({T} p) {{ {then} }},
                    else_branch = e () => ({T} q) {{ {other} }}> y = {behind} }}""")


@pytest.mark.parametrize("name", NAMED)
def test_what_no_output_tells_of_is_not_compared(name: str) -> None:
    one, other = (two_sided(*each) for each in NAMED[name])
    assert onnxpad.validate(one, other).exit_code == 5
    assert onnxpad.validate(other, one).exit_code == 5


def test_the_same_nodes_of_another_version_or_other_weights_are_other(tmp_path: Path) -> None:
    def model(opset: int, weight: int, folder: str) -> Path:
        made = parsed(f"""<ir_version: 8, opset_import: ["" : {opset}]>
            g ({T} x, float f) => ({T} y) <float far = {{1e30}}> {{ c = Greater (f, far)
            y = If (c) <then_branch = a () => ({T} p) {{ s = Softmax (x) p = Mul (s, w) }},
                        else_branch = e () => ({T} q) {{ q = Neg (x) }}> }}""")
        made.graph.initializer.append(from_array(np.full((64, 1, 1, 1), weight, np.float32), "w"))
        place = tmp_path / folder / "model.onnx"
        place.parent.mkdir()
        onnx.save(made, place, save_as_external_data=True, location="w.bin", size_threshold=99)
        return place

    one = model(13, 1, "a")
    assert onnxpad.validate(one, model(11, 1, "b")).outcome == "nothing compared"
    assert onnxpad.validate(one, model(13, 2, "c")).outcome == "nothing compared"
    assert onnxpad.validate(one, model(13, 1, "d")).ok


def test_inputs_that_are_given_are_told_apart_by_number() -> None:
    given: Any = [{"x": np.ones((1, 1, 8, 8), np.float32), "b": np.bool_(each)} for each in (0, 1)]
    given[0]["x"][0, 0, 0, 0] = 7
    other = failing(99)
    other.graph.node[0].attribute[0].g.node[0].op_type = "Abs"
    del other.graph.node[0].attribute[0].g.node[0].input[1]
    assert onnxpad.validate(failing(99), other, inputs=given).outcome == "nothing compared"


def test_a_reference_that_overflows_does_not_agree() -> None:
    model = parsed("g (float[4] x) => (float[4] y) <float k = {100000}> { y = Mul (x, k) }")
    given: Any = {"x": np.ones(4, np.float32), "y": np.full(4, np.inf, np.float16)}
    assert onnxpad.validate(model, reference=given).outcome == "failed"


def sides(condition: str, inputs: str, *sizes: int) -> onnx.ModelProto:
    """An If whose sides take one size of `x` each, or any, with a `Pad` to fold."""
    cut = [f"u{n} = Reshape (x, s{n})" if size else f"u{n} = Identity (x)" for n, size in
           enumerate(sizes)]  # fmt: skip
    then, other = (f"{each} z{n} = Pad (u{n}, m) " for n, each in enumerate(cut))
    shapes = "".join(f", int64[3] s{n} = {{1, 1, {size}}}" for n, size in enumerate(sizes))
    return parsed(f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 1, L] x, {inputs}) => (float[] y)
        <float[1, 1, 3] w = {{1, 2, 3}}, int64[6] m = {{0, 0, 1, 0, 0, 1}},
         int64 high = {{16000}}, int64 low = {{8000}}{shapes}> {{ {condition}
          y = If (c) <then_branch = a () => (float[] p) {{ {then} p = Conv (z0, w) }},
            else_branch = b () => (float[] q) {{ {other} r = Conv (z1, w) q = Neg (r) }}> }}""")


RATE = "k = Constant <value_int = 16000> () c = Equal (rate, k)"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [256, 512, None])
def test_other_constants_are_drawn_at_each_size(seed: int, size: int | None) -> None:
    model = sides(RATE, "int64 rate", 512, 256)
    if size:
        model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = size
    found = onnxpad.fix(model)
    assert len(found.changes) > 0
    checked = onnxpad.validate(model, found.model, seed=seed).validation
    assert (checked.ok, found.exit_code) == (True, 0)
    # At one size only one side runs, and the other is named.
    assert any("_branch of If 'y'" in line for line in checked.uncompared) is bool(size)
