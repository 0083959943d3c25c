"""Fault injection: a probe accepts what is equal and catches every padding mistake."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from onnxpad.probe import cut
from onnxpad.probe.cut import REACH, _draws
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError
from onnxpad.runtimes.sessions import answers
from tests.support import parsed
from tests.support.probes import compare_runs
from tests.support.rows import each_row, rows_below

pytestmark = pytest.mark.usefixtures("nothing_printed")

CASES = [
    pytest.param(*values, id=name)
    for name, *values in rows_below(Path(__file__).with_name("rows.txt"), "rewrites")
]
IMAGE = "(float[1,1,6,8] x) => (float[1,1,?,?] y) <float[1,1,3,3] w = {1,-2,3,4,-5,6,7,-8,2}>"
CONV, POOL = "y = Conv (x, w)", "y = MaxPool <kernel_shape = [3, 3]> (x)"
LINE = "(float[1,1,5] x) => (float[1,1,?] y)"


@pytest.mark.parametrize(("signature", "before", "good", "bad"), CASES)
def test_tells_a_right_rewrite_from_a_wrong_one(
    signature: str, before: str, good: str, bad: str
) -> None:
    original = parsed(signature, before)
    right = compare_runs(original, parsed(signature, good))
    assert (right.ok, right.detail) == (True, "")
    wrong = compare_runs(original, parsed(signature, bad))
    assert not wrong.ok
    assert min(right.runs, wrong.runs) >= 5
    assert "\n" not in wrong.detail
    assert wrong.detail.startswith(("y: ", "i: "))


@pytest.mark.parametrize(("elem", "lower"), [("float", 0), ("uint8", 1)])
def test_same_with_dilation_is_judged_by_the_reference_evaluator(elem: str, lower: int) -> None:
    """By TensorFlow's SAME, as the specification has it."""
    op, out = ("ConvInteger", "int32") if elem == "uint8" else ("Conv", elem)
    operands = "(x, w, z)" if elem == "uint8" else "(x, w)"
    for sizes, stride, dilation in itertools.product([(5, 8), (6, 9)], [1, 2], [2, 3]):
        signature = (
            f"({elem}[1,1,{sizes[0]},{sizes[1]}] x) => ({out}[1,1,?,?] y) "
            f"<{elem}[1,1,2,3] w = {{1,2,3,4,5,6}}, {elem} z = {{{3 * lower}}}>"
        )
        common = f"strides = [{stride},{stride}], dilations = [{dilation},{dilation}]"
        same = f'auto_pad = "{("SAME_UPPER", "SAME_LOWER")[lower]}"'
        before = parsed(signature, f"y = {op} <{same}, {common}> {operands}")
        totals = [
            max(0, (-(-n // stride) - 1) * stride + (kernel - 1) * dilation + 1 - n)
            for n, kernel in zip(sizes, (2, 3), strict=True)
        ]
        begins = [(total + lower) // 2 for total in totals]
        pads = [*begins, *(total - begin for total, begin in zip(totals, begins, strict=True))]

        after = f"y = {op} <pads = {{}}, {common}> {operands}"
        right = compare_runs(before, parsed(signature, after.format(pads)))
        assert right.ok, right.detail
        assert right.runs
        for axis, step in itertools.product(range(2), (-1, 1)):
            wrong = pads.copy()
            wrong[axis], wrong[axis + 2] = pads[axis] + step, max(0, pads[axis + 2] - step)
            if wrong[axis] >= 0:  # a shifted begin is always seen; a surplus end need not be read
                assert not compare_runs(before, parsed(signature, after.format(wrong))).ok


def test_what_no_engine_can_say_is_not_probed() -> None:
    signature = "(bfloat16[1,1,5] x) => (bfloat16[1,1,?] y) <int64[6] p = {0,0,1,0,0,1}>"
    pad = parsed(signature, "q = Pad (x, p) y = MaxPool <kernel_shape = [3]> (q)")
    pads = parsed(signature, "y = MaxPool <kernel_shape = [3], pads = [1,1]> (x)")
    result = compare_runs(pad, pads)
    assert (result.ok, result.runs) == (True, 0)
    assert "MaxPool" in result.detail


def test_pools_are_never_judged_by_the_reference_evaluator() -> None:
    pool = "y = MaxPool <kernel_shape = [1], strides = [3]{}> (x)"
    before = parsed(LINE, pool.format(', auto_pad = "SAME_LOWER"'))
    result = compare_runs(before, parsed(LINE, pool.format("")))
    assert result.detail.startswith("not probed: MaxPool: ")


def test_pads_beyond_what_reflect_allows_are_not_probed() -> None:
    # the reference evaluator would reflect again and again, where the specification has no answer
    signature = "(float[1,1,3] x) => (float[1,1,?] y) <int64[6] p = {0,0,5,0,0,5}>"
    model = parsed(signature, 'y = Pad <mode = "reflect"> (x, p)')
    result = compare_runs(model, model)
    assert (result.ok, result.runs) == (True, 0)


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ("y = Conv <pads = [-1,1]> (x, w)", "negative"),
        ("y = Convolution (x, w)", "Convolution"),
        ("z = Conv (x, w)", "y"),
        ("q = Pad (x, r) y = Conv (q, w)", "r"),
    ],
)
def test_a_rewrite_that_does_not_run_is_no_rewrite(after: str, says: str) -> None:
    signature = f"{LINE} <float[1,1,3] w = {{1,2,3}}>"
    result = compare_runs(parsed(signature, "y = Conv (x, w)"), parsed(signature, after))
    assert (result.ok, result.runs) == (False, 0)
    assert says in result.detail
    assert "\n" not in result.detail


@pytest.mark.parametrize(
    ("after", "ok"),
    [
        ("y = Conv <pads = [1,1,1,1], group = 2> (x, w)", 0),  # which no engine runs
        # onnxruntime has no kernel, and the evaluator is not trusted
        ("c = Cast <to = 11> (x) d = LpPool <kernel_shape = [3,3]> (c) y = Cast <to = 1> (d)", 1),
    ],
)
def test_only_the_original_runs(after: str, ok: int) -> None:
    before = parsed(IMAGE, "y = Conv <pads = [1,1,1,1]> (x, w)")
    result = compare_runs(before, parsed(IMAGE, after), specified=True)
    assert (result.ok, result.runs) == (bool(ok), 0)


@each_row(
    ("why", "trouble", "after", "told"),
    [
        (LimitError("late"), None, CONV, (True, 5, False)),
        (None, LimitError("late"), CONV, (True, 0, False)),
        (CrashError("one"), CrashError("other"), CONV, (True, 5, False)),
        (EngineError("one"), EngineError("one"), POOL, (True, 0, False)),
        (EngineError("one"), EngineError("other"), POOL, (False, 0, False)),
        (EngineError("one"), None, CONV, (True, 5, True)),
    ],
)
def test_a_change_is_blamed_for_its_own_errors(
    why: Any, trouble: Any, after: str, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, changed = parsed(IMAGE, CONV), parsed(IMAGE, after)
    errors = {id(before): why, id(changed): trouble}
    monkeypatch.setattr(cut, "answers", lambda of, *more: errors[id(of)] or answers(of, *more))
    found = compare_runs(before, changed)
    assert (found.ok, found.runs, found.repairs) == told


def test_inputs_of_any_size_begin_with_the_same_data() -> None:
    def drawn(*shape: int) -> list[np.ndarray[Any, Any]]:
        others = (("i", TensorProto.UINT8), (3,)), (("b", TensorProto.BOOL), ())
        found = _draws(((("x", TensorProto.FLOAT16), shape), *others))
        assert {(each.feeds["x"].shape, each.feeds["x"].dtype.name) for each in found} == {
            (shape, "float16")
        }
        return [each.feeds["x"].ravel() for each in found[1:5]]

    for small, large in itertools.pairwise([(), (5, 0), (2, 7), (64, 64), (3, 50, 80)]):
        for one, other in zip(drawn(*small), drawn(*large), strict=True):
            least = min(one.size, other.size)
            assert (one[:least] == other[:least]).all()
    random, another, negative, positive = drawn(99, 99)
    assert not (random == another).all()
    assert {*random} == {*range(-REACH, REACH + 1)}
    assert {*negative} == {-each for each in positive} == {*range(-REACH, 0)}
