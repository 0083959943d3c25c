"""Fault injection: a probe accepts what is equal and catches every padding mistake."""

import itertools
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from onnxpad.probe.cut import REACH, _draws
from tests.support import parsed
from tests.support.probes import compare_runs
from tests.support.rows import one_in

INDICES = "(float[1,1,5,6] x) => (float[1,1,?,?] y, int64[1,1,?,?] i)"
PAD = "int64[8] p = {0,0,1,1,0,0,1,1}"


pytestmark = pytest.mark.usefixtures("nothing_printed")

IMAGE = "(float[1,1,6,8] x) => (float[1,1,?,?] y)"
WEIGHT = "float[1,1,3,3] w = {1,-2,3,4,-5,6,7,-8,2}"

# signature, before, a right rewrite, a wrong one
CASES = [
    pytest.param(
        f"{IMAGE} <{WEIGHT}>",
        'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
        "y = Conv <pads = [0,0,1,1], strides = [2,2]> (x, w)",
        "y = Conv <pads = [1,1,0,0], strides = [2,2]> (x, w)",
        id="wrong side",
    ),
    pytest.param(
        f"{IMAGE} <{WEIGHT}, int64[8] p = {{0,0,1,2,0,0,3,4}}>",
        "q = Pad (x, p) y = Conv (q, w)",
        "y = Conv <pads = [1,2,3,4]> (x, w)",
        "y = Conv <pads = [1,2,2,4]> (x, w)",
        id="off by one",
    ),
    pytest.param(
        f"{IMAGE} <{WEIGHT}, int64[8] p = {{0,0,1,2,0,0,1,2}}>",
        "q = Pad (x, p) y = Conv (q, w)",
        "y = Conv <pads = [1,2,1,2]> (x, w)",
        "y = Conv <pads = [2,1,2,1]> (x, w)",
        id="axes swapped",
    ),
    pytest.param(
        f"(float[1,1,6,6] x) => (float[1,1,?,?] y) <{WEIGHT}, int64[8] p = {{0,0,0,1,0,0,2,1}}>",
        "q = Pad (x, p) y = Conv (q, w)",
        "y = Conv <pads = [0,1,2,1]> (x, w)",
        "y = Conv <pads = [1,0,1,2]> (x, w)",
        id="axes swapped, same output shape",
    ),
    pytest.param(
        f"{IMAGE} <{PAD}>",
        "q = Pad (x, p) y = AveragePool <kernel_shape = [3,3]> (q)",
        "y = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1> (x)",
        "y = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1]> (x)",
        id="count_include_pad missing",
    ),
    pytest.param(
        f"{IMAGE} <{PAD}>",
        "q = Pad (x, p) y = MaxPool <kernel_shape = [3,3]> (q)",
        "r = Pad (x, p) y = MaxPool <kernel_shape = [3,3]> (r)",
        "y = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> (x)",
        id="zero is not MaxPool's own padding",
    ),
    pytest.param(
        f"{IMAGE} <{PAD}, float low = {{-9}}>",
        "y = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> (x)",
        "q = Pad (x, p, low) y = MaxPool <kernel_shape = [3,3]> (q)",
        "q = Pad (x, p) y = MaxPool <kernel_shape = [3,3]> (q)",
        id="padding wins in MaxPool",
    ),
    pytest.param(
        f"{IMAGE} <{WEIGHT}, {PAD}, float one = {{1}}>",
        "q = Pad (x, p, one) y = Conv (q, w)",
        'q = Pad <mode = "constant"> (x, p, one) y = Conv (q, w)',
        "y = Conv <pads = [1,1,1,1]> (x, w)",
        id="wrong fill",
    ),
    pytest.param(
        "(uint8[1,1,7] x) => (int32[1,1,?] y) "
        "<uint8[1,1,3] w = {1,2,3}, uint8 z = {7}, int64[6] p = {0,0,1,0,0,1}>",
        "q = Pad (x, p, z) y = ConvInteger (q, w, z)",
        "y = ConvInteger <pads = [1,1]> (x, w, z)",
        "q = Pad (x, p) y = ConvInteger (q, w, z)",
        id="zero point",
    ),
    pytest.param(
        f"{INDICES} <{PAD}, float low = {{-9}}>",
        "q = Pad (x, p, low) y, i = MaxPool <kernel_shape = [3,3]> (q)",
        "r = Pad (x, p, low) y, i = MaxPool <kernel_shape = [3,3]> (r)",
        "y, i = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> (x)",
        id="indices move",
    ),
    pytest.param(
        "(float[1,1,3] x) => (float[1,1,?] y) <int64[6] p = {0,0,1,0,0,1}>",
        "q = Pad (x, p) y = AveragePool <kernel_shape = [2], strides = [2], ceil_mode = 1> (q)",
        "r = Pad (x, p) y = AveragePool <kernel_shape = [2], strides = [2], ceil_mode = 1> (r)",
        "y = AveragePool <kernel_shape = [2], strides = [2], pads = [1,1], "
        "count_include_pad = 1, ceil_mode = 1> (x)",
        id="ceil_mode's last window",
    ),
    pytest.param(
        "(float16[1,1,5] x) => (float16[1,1,?] y) <float16[1,1,3] w = {1,2,3}, "
        "int64[1] b = {1}, int64[1] e = {99}, int64[1] a = {2}>",
        "q = ConvTranspose <strides = [2]> (x, w) y = Slice (q, b, e, a)",
        "y = ConvTranspose <strides = [2], pads = [1,0]> (x, w)",
        "y = ConvTranspose <strides = [2], pads = [0,1]> (x, w)",
        id="crop on the wrong side",
    ),
    pytest.param(
        f"(float[1,6,8,1] x) => (float[1,1,?,?] y) <{WEIGHT}, int64[8] p = {{0,1,0,0,0,0,2,0}}>",
        "q = Pad (x, p) t = Transpose <perm = [0,3,1,2]> (q) y = Conv (t, w)",
        "t = Transpose <perm = [0,3,1,2]> (x) y = Conv <pads = [1,0,0,2]> (t, w)",
        "t = Transpose <perm = [0,3,1,2]> (x) y = Conv <pads = [0,1,2,0]> (t, w)",
        id="pads not permuted",
    ),
]


@pytest.mark.parametrize(("signature", "before", "good", "bad"), CASES)
def test_tells_a_right_rewrite_from_a_wrong_one(
    signature: str, before: str, good: str, bad: str
) -> None:
    original = parsed(signature, before)
    right = compare_runs(original, parsed(signature, good))
    assert right.ok
    assert right.runs >= 5
    assert not right.detail
    wrong = compare_runs(original, parsed(signature, bad))
    assert not wrong.ok
    assert wrong.runs >= 5
    assert "\n" not in wrong.detail
    assert wrong.detail.startswith(("y: ", "i: "))


@pytest.mark.parametrize("elem", ["float", "float16", "double", "int8", "uint8"])
def test_every_type_shows_a_pad_that_wins(elem: str) -> None:
    signature = f"({elem}[1,1,5] x) => ({elem}[1,1,?] y) <int64[6] p = {{0,0,1,0,0,1}}>"
    pads = parsed(signature, "y = MaxPool <kernel_shape = [3], pads = [1,1]> (x)")
    pad = parsed(signature, "q = Pad (x, p) y = MaxPool <kernel_shape = [3]> (q)")
    assert compare_runs(pads, pads).ok
    # nothing is below zero in uint8: there a pad of zeros is right
    assert compare_runs(pads, pad).ok == (elem == "uint8")


@pytest.mark.parametrize("elem", ["float", "uint8", "bool", "int64"])
def test_every_pattern_is_run_on_scalars_too(elem: str) -> None:
    signature = f"({elem} x, {elem}[2] z) => ({elem} y, {elem}[2] u)"
    model = parsed(signature, "y = Identity (x) u = Identity (z)")
    assert compare_runs(model, model).runs == 5


def test_negative_zero_is_zero() -> None:
    signature = "(float[1,1,5] x) => (float[1,1,?] y)"
    minus = parsed(signature, "m = Neg (x) z = Sub (x, x) n = Neg (z) y = Add (m, n)")
    assert compare_runs(minus, parsed(signature, "y = Neg (x)")).ok


def test_near_is_not_equal() -> None:
    signature = "(float[9] x) => (float[9] y) <float k = {1.0000001}>"
    near = compare_runs(parsed(signature, "y = Identity (x)"), parsed(signature, "y = Mul (x, k)"))
    assert not near.ok


def same_pads(size: int, kernel: int, stride: int, dilation: int, lower: bool) -> tuple[int, int]:
    """TensorFlow's SAME, as the specification has it."""
    total = max(0, (-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size)
    begin = (total + lower) // 2
    return begin, total - begin


@pytest.mark.parametrize(
    ("elem", "lower"), one_in(2, [("float", False), ("float16", True), ("uint8", True)])
)
def test_same_with_dilation_is_judged_by_the_reference_evaluator(elem: str, lower: bool) -> None:
    op, out = ("ConvInteger", "int32") if elem == "uint8" else ("Conv", elem)
    auto_pad = "SAME_LOWER" if lower else "SAME_UPPER"
    for sizes, stride, dilation in itertools.product([(5, 8), (6, 9)], [1, 2], [2, 3]):
        signature = (
            f"({elem}[1,1,{sizes[0]},{sizes[1]}] x) => ({out}[1,1,?,?] y) "
            f"<{elem}[1,1,2,3] w = {{1,2,3,4,5,6}}, {elem} z = {{{3 if elem == 'uint8' else 0}}}>"
        )
        operands = "(x, w, z)" if elem == "uint8" else "(x, w)"
        common = f"strides = [{stride},{stride}], dilations = [{dilation},{dilation}]"
        explicit = f"y = {op} <pads = {{}}, {common}> {operands}"
        before = parsed(signature, f'y = {op} <auto_pad = "{auto_pad}", {common}> {operands}')

        pairs = [
            same_pads(size, k, stride, dilation, lower)
            for size, k in zip(sizes, (2, 3), strict=True)
        ]
        pads = [pair[side] for side in (0, 1) for pair in pairs]
        right_one = compare_runs(before, parsed(signature, explicit.format(pads)))
        assert right_one.ok, right_one.detail
        assert right_one.runs
        for axis, step in itertools.product(range(2), (-1, 1)):
            begin, end = pads[axis] + step, pads[axis + 2] - step
            if begin >= 0:  # a shifted begin is always seen; a surplus end need not be read
                wrong = pads.copy()
                wrong[axis], wrong[axis + 2] = begin, max(0, end)
                assert not compare_runs(before, parsed(signature, explicit.format(wrong))).ok


@pytest.mark.parametrize("elem", ["double", "bfloat16"])
def test_types_without_a_kernel_are_compared_on_the_reference_evaluator(elem: str) -> None:
    signature = (
        f"({elem}[1,1,5] x) => ({elem}[1,1,?] y) "
        f"<{elem}[1,1,3] w = {{1,2,3}}, int64[6] p = {{0,0,2,0,0,1}}>"
    )
    before = parsed(signature, "q = Pad (x, p) y = Conv (q, w)")
    equal = compare_runs(before, parsed(signature, "y = Conv <pads = [2,1]> (x, w)"))
    assert equal.ok
    assert equal.runs
    assert not compare_runs(before, parsed(signature, "y = Conv <pads = [1,2]> (x, w)")).ok


def test_what_no_engine_can_say_is_not_probed() -> None:
    signature = "(bfloat16[1,1,5] x) => (bfloat16[1,1,?] y) <int64[6] p = {0,0,1,0,0,1}>"
    before = parsed(signature, "q = Pad (x, p) y = MaxPool <kernel_shape = [3]> (q)")
    result = compare_runs(
        before, parsed(signature, "y = MaxPool <kernel_shape = [3], pads = [1,1]> (x)")
    )
    assert (result.ok, result.runs) == (True, 0)
    assert "\n" not in result.detail
    assert "MaxPool" in result.detail


def test_pools_are_never_judged_by_the_reference_evaluator() -> None:
    signature = "(float[1,1,9] x) => (float[1,1,?] y)"
    before = parsed(
        signature, 'y = MaxPool <kernel_shape = [1], strides = [3], auto_pad = "SAME_LOWER"> (x)'
    )
    after = parsed(signature, "y = MaxPool <kernel_shape = [1], strides = [3]> (x)")
    assert compare_runs(before, after).detail.startswith("not probed: MaxPool: ")


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
    signature = "(float[1,1,5] x) => (float[1,1,?] y) <float[1,1,3] w = {1,2,3}>"
    result = compare_runs(parsed(signature, "y = Conv (x, w)"), parsed(signature, after))
    assert (result.ok, result.runs) == (False, 0)
    assert says in result.detail
    assert "\n" not in result.detail


@pytest.mark.parametrize(
    ("after", "ok"),
    [
        pytest.param(
            "y = Conv <pads = [1,1,1,1], group = 2> (x, w)",
            False,
            id="no engine runs what was made",
        ),
        pytest.param(
            "c = Cast <to = 11> (x) d = LpPool <kernel_shape = [3,3]> (c) y = Cast <to = 1> (d)",
            True,
            id="onnxruntime has no kernel, and the evaluator is not trusted",
        ),
    ],
)
def test_only_the_original_runs(after: str, ok: bool) -> None:
    signature = f"{IMAGE} <{WEIGHT}>"
    before = parsed(signature, "y = Conv <pads = [1,1,1,1]> (x, w)")
    result = compare_runs(before, parsed(signature, after), specified=True)
    assert (result.ok, result.runs) == (ok, 0)


def test_inputs_of_any_size_begin_with_the_same_data() -> None:
    def drawn(*shape: int) -> list[np.ndarray[Any, Any]]:
        found = _draws(((("x", TensorProto.FLOAT16), shape), (("i", TensorProto.UINT8), (3,))))
        assert all(each.feeds["x"].shape == shape for each in found)
        assert all(each.feeds["x"].dtype == np.float16 for each in found)
        return [each.feeds["x"].ravel() for each in found[1:5]]

    for small, large in itertools.pairwise([(), (5, 0), (2, 7), (64, 64), (3, 50, 80)]):
        for one, other in zip(drawn(*small), drawn(*large), strict=True):
            least = min(one.size, other.size)
            assert (one[:least] == other[:least]).all()
    random, another, negative, positive = drawn(99, 99)
    assert not (random == another).all()
    assert {*random} == {*range(-REACH, REACH + 1)}
    assert {*negative} == {-each for each in positive} == {*range(-REACH, 0)}
