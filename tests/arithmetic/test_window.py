"""`onnxpad.arithmetic.window` against a window that walks indices, and against onnxruntime."""

import random
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from onnxpad.arithmetic.size import Extent, Size, Sizes, Unknown, evaluate, symbol
from onnxpad.arithmetic.window import (
    ODD,
    Side,
    Window,
    constant_in_effect,
    end_read,
    end_without_ceil,
    meets_data,
    odd_side,
    output_size,
    pool_output_size,
    same_of,
    same_output_size,
    same_pads,
    same_raw_total,
    transposed_output_size,
)
from onnxpad.errors import ModelError
from tests.oracles import LOWEST, Operator, fitting, scattered, walk
from tests.strategies import examples, pads, sides, sizes, windows

WEIGHTS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
UNKNOWN = Unknown("the test says so")


@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_window_without_steps_is_refused(kernel: int, stride: int, dilation: int) -> None:
    with pytest.raises(ModelError, match="at least 1"):
        Window(kernel, stride, dilation)


@given(sizes, windows(), pads, pads)
def test_output_size_counts_the_windows_that_fit(
    size: int, window: Window, begin: int, end: int
) -> None:
    output = output_size(size, window, begin, end)
    assert isinstance(output, int)
    assert max(output, 0) == len(fitting(size, window, begin, end))


@given(sizes, windows(), st.data(), st.booleans())
def test_pools_run_until_a_window_reaches_the_end(
    size: int, window: Window, data: st.DataObject, ceil_mode: bool
) -> None:
    begin, end = (data.draw(st.integers(0, window.kernel - 1)) for _ in range(2))
    line = range(-begin, size + end)
    assume(window.extent <= len(line))
    windows_read = fitting(size, window, begin, end)
    if ceil_mode and windows_read[-1][-1] != line[-1]:
        after = walk(window, begin, len(windows_read) + 1)
        windows_read = [read for read in after if read[0] < size or read in windows_read]
    assert pool_output_size(size, window, begin, end, ceil_mode=ceil_mode) == len(windows_read)


@given(sizes, windows(), sides)
@example(10, Window(3, 2), "end")
def test_same_is_the_least_padding_for_its_output_size(
    size: int, window: Window, odd: Side
) -> None:
    outputs = len(range(0, size, window.stride))
    assert same_output_size(size, window) == outputs
    begin, end = same_pads(size, window, odd=odd)
    assert min(begin, end) >= 0
    assert len(fitting(size, window, begin, end)) == outputs
    if begin + end:
        assert len(fitting(size, window, 0, begin + end - 1)) < outputs
    longer, shorter = (begin, end) if odd == "begin" else (end, begin)
    assert longer - shorter == (begin + end) % 2


@given(sizes, windows())
def test_same_raw_total_is_what_the_last_window_lacks(size: int, window: Window) -> None:
    reads = walk(window, 0, len(range(0, size, window.stride)))
    raw = same_raw_total(size, window)
    assert raw == reads[-1][-1] - (size - 1)
    assert raw in range(window.extent - window.stride, window.extent)


@given(sizes, windows(), pads, st.integers(1, 9))
def test_end_read(size: int, window: Window, begin: int, output: int) -> None:
    reads = walk(window, begin, output)
    end = end_read(size, window, begin, output)
    assert isinstance(end, int)
    assert fitting(size, window, begin, end)[:output] == reads
    assert not end or fitting(size, window, begin, end - 1)[:output] != reads


@examples(1.5)
@given(
    windows(max_kernel=5, max_stride=5, max_dilation=2),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(1, 4),
    st.integers(1, 9),
    st.integers(0, 20),
)
@example(Window(2, 2), 0, 0, 1, 1, 20)
@example(Window(3, 2), 0, 0, 1, 1, 20)
@example(Window(3, 2), 0, 0, 1, 2, 20)
@example(Window(3, 2), 0, 0, 2, 3, 20)
@example(Window(2, 5), 1, 1, 1, 1, 20)
def test_end_without_ceil_is_the_least_that_gives_the_windows(
    window: Window, begin: int, end: int, step: int, least: int, more: int
) -> None:
    assume(max(begin, end) < window.kernel)  # others are refused
    admitted = list(range(least, least + more + 1, step))

    def is_right(chosen: int) -> bool:
        return all(
            pool_output_size(size, window, begin, chosen, ceil_mode=False)
            == output_size(size, window, begin, chosen)
            == pool_output_size(size, window, begin, end, ceil_mode=True)
            for size in admitted
        )

    size = symbol("n", Sizes(first=least, last=least + more, step=step))
    chosen = end_without_ceil(size, window, begin, end)
    right = [each for each in range(end, end + window.extent + 1) if is_right(each)]
    if not right:
        return
    assert chosen == right[0]
    for each in admitted:
        count = pool_output_size(each, window, begin, end, ceil_mode=True)
        assert isinstance(count, int)
        assert len(fitting(each, window, begin, chosen)) == max(count, 0)


def agree(candidate: tuple[int, int], window: Window, odd: Side, admitted: list[int]) -> bool:
    """Whether constant pads read at each admitted size what SAME reads there."""
    return all(
        fitting(size, window, *candidate)
        == fitting(size, window, *same_pads(size, window, odd=odd))
        for size in admitted
    )


@examples(0.6)
@given(
    windows(max_kernel=5, max_stride=4, max_dilation=2),
    sides,
    st.integers(1, 4),
    st.integers(1, 9),
    st.integers(0, 30),
)
@example(Window(2, 2), "end", 1, 1, 30)
@example(Window(4, 2), "end", 1, 1, 30)
@example(Window(3, 2), "begin", 1, 1, 30)
@example(Window(3, 2), "end", 4, 1, 30)
@example(Window(5, 4), "end", 1, 2, 1)
def test_constant_in_effect_exists_exactly_when_some_constant_reads_the_same(
    window: Window, odd: Side, step: int, least: int, more: int
) -> None:
    admitted = list(range(least, least + more + 1, step))

    size = symbol("n", Sizes(first=least, last=least + more, step=step))
    constant = constant_in_effect(size, window, odd=odd)
    candidates = [(b, e) for b in range(window.extent + 1) for e in range(window.extent + 1)]
    agreeing = [pair for pair in candidates if agree(pair, window, odd, admitted)]
    assert constant in agreeing if agreeing else constant is None


@given(windows(), sides)
def test_constant_in_effect_of_an_unknown_size_holds_for_every_size(
    window: Window, odd: Side
) -> None:
    constant = constant_in_effect(UNKNOWN, window, odd=odd)
    assert constant == constant_in_effect(symbol("n"), window, odd=odd)


@given(sizes, windows(), sides)
def test_constant_in_effect_of_a_known_size_is_same(size: int, window: Window, odd: Side) -> None:
    assert constant_in_effect(size, window, odd=odd) == same_pads(size, window, odd=odd)


@given(windows(max_stride=1), sides)
def test_same_with_stride_1_needs_no_size(window: Window, odd: Side) -> None:
    assert same_pads(UNKNOWN, window, odd=odd) == same_pads(1, window, odd=odd)


def slid(size: Extent, window: Window, begin: int, end: int, odd: Side) -> list[Extent]:
    """What every function says that slides a window."""
    same = same_output_size(size, window)
    return [
        output_size(size, window, begin, end),
        pool_output_size(size, window, begin, end, ceil_mode=False),
        pool_output_size(size, window, begin, end, ceil_mode=True),
        same,
        same_raw_total(size, window),
        *same_pads(size, window, odd=odd),
        end_read(size, window, begin, same),
    ]


def check_each(of_symbol: list[Extent], of_numbers: dict[int, list[Extent]]) -> None:
    """Compares what was said of the symbol `n` with what was said of each of its numbers."""
    for position, extent in enumerate(of_symbol):
        assert isinstance(extent, int | Size)
        for n, extents in of_numbers.items():
            assert evaluate(extent, {"n": n}) == extents[position]


@examples(0.4)
@given(windows(max_kernel=5, max_stride=4), st.integers(0, 4), st.integers(0, 4), sides)
def test_a_symbolic_size_gives_what_each_of_its_sizes_gives(
    window: Window, begin: int, end: int, odd: Side
) -> None:
    check_each(
        slid(symbol("n"), window, begin, end, odd),
        {n: slid(n, window, begin, end, odd) for n in range(1, 14)},
    )


@given(st.integers(1, 12), windows(), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2))
def test_transposed_output_size_counts_what_is_written(
    size: int, window: Window, begin: int, end: int, output_padding: int
) -> None:
    full = scattered([1.0] * size, [1.0] * window.kernel, window) + [0.0] * output_padding
    assume(begin + end < len(full))
    left = full[begin : len(full) - end]
    assert transposed_output_size(size, window, begin, end, output_padding) == len(left)


# onnxruntime: every figure below is its own, on a line whose values tell the positions apart.


def grid(seed: int, count: int) -> list[Window]:
    """Windows drawn once for all: kernel to 5, stride to 4, dilation to 3."""
    draw = random.Random(seed)
    return [
        Window(draw.randint(1, 5), draw.randint(1, 4), draw.choice((1, 1, 2, 3)))
        for _ in range(count)
    ]


def line_of(size: int) -> list[float]:
    """Distinct values, not sorted, some negative."""
    return [float((5 * position) % 17 - 8) for position in range(size)]


def at(values: list[float], read: range) -> list[float]:
    """The real elements among the positions read."""
    return [values[position] for position in read if position in range(len(values))]


def convolved(values: list[float], window: Window, begin: int, output: int) -> list[float]:
    """Output of a convolution that reads zeros outside."""
    weights = WEIGHTS[: window.kernel]
    return [
        sum(
            weight * values[position]
            for position, weight in zip(read, weights, strict=True)
            if position in range(len(values))
        )
        for read in walk(window, begin, output)
    ]


def check_conv(operator: Operator, size: int, window: Window, begin: int, output: Extent) -> None:
    """Compares onnxruntime's Conv with a convolution of these pads and output size."""
    values = line_of(size)
    assert isinstance(output, int)
    if output < 1:
        with pytest.raises(Exception, match="Invalid input shape"):
            operator(values)
    else:
        assert operator(values) == convolved(values, window, begin, output)


def test_onnxruntime_conv_with_pads() -> None:
    draw = random.Random(1)
    for window in grid(2, 60):
        begin, end = draw.randint(0, 4), draw.randint(0, 4)
        operator = Operator("Conv", window, WEIGHTS[: window.kernel], pads=[begin, end])
        for size in range(1, 13):
            check_conv(operator, size, window, begin, output_size(size, window, begin, end))


@pytest.mark.parametrize(
    ("auto_pad", "odd", "least"), [("SAME_UPPER", "end", -2), ("SAME_LOWER", "begin", -3)]
)
def test_onnxruntime_conv_with_same(auto_pad: str, odd: Side, least: int) -> None:
    """Where the raw total is at least `least`; below it onnxruntime crops and contradicts ONNX."""
    for window in grid(3, 40):
        undilated = Window(window.kernel, window.stride)
        operator = Operator("Conv", undilated, WEIGHTS[: window.kernel], auto_pad=auto_pad)
        for size in range(1, 13):
            raw = same_raw_total(size, undilated)
            assert isinstance(raw, int)
            if raw >= least:
                begin, _ = same_pads(size, undilated, odd=odd)
                check_conv(operator, size, undilated, begin, same_output_size(size, undilated))


def check_pool(
    op_type: str,
    operator: Operator,
    size: int,
    window: Window,
    begin: int,
    end: int,
    output: Extent,
) -> None:
    """Compares a pool of onnxruntime with one of these pads and output size."""
    values = line_of(size)
    assert isinstance(output, int)
    if output < 0:
        with pytest.raises(Exception, match="output dimension is negative"):
            operator(values)
        return
    reads = walk(window, begin, output)
    if op_type == "MaxPool":
        expected = [max(at(values, read), default=LOWEST) for read in reads]
    else:
        counted = [[position for position in read if position < size + end] for read in reads]
        expected = [sum(at(values, r)) / len(c) for r, c in zip(reads, counted, strict=True)]
    assert operator(values) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("ceil_mode", [False, True], ids=["floor", "ceil"])
@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
def test_onnxruntime_pool_with_pads(op_type: str, ceil_mode: bool) -> None:
    draw = random.Random(4)
    divisor: dict[str, Any] = {"count_include_pad": 1} if op_type == "AveragePool" else {}
    for window in grid(5, 45):
        begin, end = draw.randrange(window.kernel), draw.randrange(window.kernel)
        operator = Operator(op_type, window, pads=[begin, end], ceil_mode=int(ceil_mode), **divisor)
        for size in range(1, 13):
            output = pool_output_size(size, window, begin, end, ceil_mode=ceil_mode)
            check_pool(op_type, operator, size, window, begin, end, output)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(("auto_pad", "odd"), [("SAME_UPPER", "end"), ("SAME_LOWER", "begin")])
def test_onnxruntime_pool_with_same(op_type: str, auto_pad: str, odd: Side) -> None:
    """Where SAME pads at all and nothing is dilated; elsewhere onnxruntime has rules of its own."""
    divisor: dict[str, Any] = {"count_include_pad": 1} if op_type == "AveragePool" else {}
    for window in grid(6, 25):
        undilated = Window(window.kernel, window.stride)
        operator = Operator(op_type, undilated, auto_pad=auto_pad, **divisor)
        for size in range(1, 13):
            raw = same_raw_total(size, undilated)
            assert isinstance(raw, int)
            if raw >= 0:
                begin, end = same_pads(size, undilated, odd=odd)
                output = same_output_size(size, undilated)
                check_pool(op_type, operator, size, undilated, begin, end, output)


def check_transposed(
    operator: Operator,
    size: int,
    window: Window,
    pads_and_padding: tuple[Extent, Extent, Extent],
) -> None:
    """Compares onnxruntime's ConvTranspose with a scatter, cropped and appended to."""
    begin, end, appended = pads_and_padding
    assert isinstance(begin, int)
    assert isinstance(end, int)
    assert isinstance(appended, int)
    values = line_of(size)
    full = scattered(values, WEIGHTS[: window.kernel], window) + [0.0] * appended
    assert operator(values) == full[begin : len(full) - end]


def test_onnxruntime_conv_transpose_with_pads() -> None:
    draw = random.Random(7)
    for window in grid(8, 60):
        begin, end = draw.randint(0, 3), draw.randint(0, 3)
        appended = draw.randrange(window.stride)
        operator = Operator(
            "ConvTranspose",
            window,
            WEIGHTS[: window.kernel],
            pads=[begin, end],
            output_padding=[appended],
        )
        for size in range(1, 13):
            length = transposed_output_size(size, window, begin, end, appended)
            assert isinstance(length, int)
            if length > 0:
                check_transposed(operator, size, window, (begin, end, appended))


def test_windows_that_meet_data_read_an_element_of_it() -> None:
    """Of a dilated one it may stay open, and does where the data is shorter than its dilation."""
    sizes = product((1, 2, 3), (1, 3), (1, 2, 3), range(4), range(-4, 4), range(2))
    for kernel, stride, dilation, size, first, more in sizes:
        window, last = Window(kernel, stride, dilation), first + more * stride
        found = meets_data(window, size, first, last)
        reads = all(
            any(0 <= start + tap * dilation < size for tap in range(kernel))
            for start in range(first, last + 1, stride)
        )
        if dilation == 1 or kernel == 1:
            assert found == reads
        else:
            assert not found or (reads and dilation <= size)
            assert found or dilation > size or first + (kernel - 1) * dilation < 0 or last >= size


def test_the_odd_element_by_auto_pad() -> None:
    assert [odd_side(each) for each in ("SAME_UPPER", "SAME_LOWER", "NOTSET")] == [
        "end",
        "begin",
        "end",
    ]
    assert {same_of(odd): odd for odd in ODD.values()} == ODD
