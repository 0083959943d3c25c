"""`onnxpad.arithmetic.window` against a window that walks indices, one by one.

That onnxruntime places its windows so is asked in `tests/semantics/test_windows.py`.
"""

from itertools import product

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
from tests.oracles import fitting, scattered, walk
from tests.strategies import examples, pads, sides, sizes, windows

UNKNOWN = Unknown("the test says so")
small = st.integers(0, 4)


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
    found = fitting(size, window, begin, end)
    if ceil_mode and found[-1][-1] != line[-1]:
        more = walk(window, begin, len(found) + 1)
        found = [read for read in more if read[0] < size or read in found]
    assert pool_output_size(size, window, begin, end, ceil_mode=ceil_mode) == len(found)


@given(sizes, windows(), sides)
@example(10, Window(3, 2), "end")
def test_same_is_the_least_padding_for_its_output_size(
    size: int, window: Window, odd: Side
) -> None:
    outputs = len(range(0, size, window.stride))
    raw = same_raw_total(size, window)
    assert same_output_size(size, window) == outputs
    assert raw == walk(window, 0, outputs)[-1][-1] - (size - 1)
    begin, end = same_pads(size, window, odd=odd)
    assert min(begin, end) >= 0
    assert len(fitting(size, window, begin, end)) == outputs
    if begin + end:
        assert len(fitting(size, window, 0, begin + end - 1)) < outputs
    longer, shorter = (begin, end) if odd == "begin" else (end, begin)
    assert longer - shorter == (begin + end) % 2
    assert constant_in_effect(size, window, odd=odd) == (begin, end)
    of_any = constant_in_effect(symbol("n"), window, odd=odd)
    assert constant_in_effect(UNKNOWN, window, odd=odd) == of_any
    if window.stride == 1:
        assert same_pads(UNKNOWN, window, odd=odd) == (begin, end)


@given(sizes, windows(), pads, st.integers(1, 9))
def test_end_read(size: int, window: Window, begin: int, output: int) -> None:
    reads = walk(window, begin, output)
    end = end_read(size, window, begin, output)
    assert isinstance(end, int)
    assert fitting(size, window, begin, end)[:output] == reads
    assert not end or fitting(size, window, begin, end - 1)[:output] != reads


@examples(1.5)
@given(windows(5, 5, 2), small, small, st.integers(1, 4), st.integers(1, 9), st.integers(0, 20))
@example(Window(2, 2), 0, 0, 1, 1, 20)
@example(Window(3, 2), 0, 0, 1, 2, 20)
@example(Window(3, 2), 0, 0, 2, 3, 20)
@example(Window(2, 5), 1, 1, 1, 1, 20)
def test_end_without_ceil_is_the_least_that_gives_the_windows(
    window: Window, begin: int, end: int, step: int, least: int, more: int
) -> None:
    assume(max(begin, end) < window.kernel)  # others are refused
    admitted = list(range(least, least + more + 1, step))
    rounded_up = [pool_output_size(n, window, begin, end, ceil_mode=True) for n in admitted]

    def is_right(chosen: int) -> bool:
        return all(
            pool_output_size(n, window, begin, chosen, ceil_mode=False)
            == output_size(n, window, begin, chosen)
            == count
            for n, count in zip(admitted, rounded_up, strict=True)
        )

    chosen = end_without_ceil(symbol("n", Sizes(least, least + more, step)), window, begin, end)
    right = [each for each in range(end, end + window.extent + 1) if is_right(each)]
    assert not right or chosen == right[0]


@examples(0.6)
@given(windows(5, 4, 2), sides, st.integers(1, 4), st.integers(1, 9), st.integers(0, 30))
@example(Window(2, 2), "end", 1, 1, 30)
@example(Window(4, 2), "end", 1, 1, 30)
@example(Window(3, 2), "begin", 1, 1, 30)
@example(Window(3, 2), "end", 4, 1, 30)
@example(Window(5, 4), "end", 1, 2, 1)
def test_constant_in_effect_exists_exactly_when_some_constant_reads_the_same(
    window: Window, odd: Side, step: int, least: int, more: int
) -> None:
    admitted = list(range(least, least + more + 1, step))
    wanted = [fitting(n, window, *same_pads(n, window, odd=odd)) for n in admitted]
    agreeing = [
        pair
        for pair in product(range(window.extent + 1), repeat=2)
        if [fitting(n, window, *pair) for n in admitted] == wanted
    ]
    found = constant_in_effect(symbol("n", Sizes(least, least + more, step)), window, odd=odd)
    assert found in agreeing if agreeing else found is None


def slid(size: Extent, window: Window, begin: int, end: int, odd: Side) -> list[Extent]:
    """What every function says that slides a window."""
    same = same_output_size(size, window)
    return [
        output_size(size, window, begin, end),
        *(pool_output_size(size, window, begin, end, ceil_mode=each) for each in (False, True)),
        same,
        same_raw_total(size, window),
        *same_pads(size, window, odd=odd),
        end_read(size, window, begin, same),
    ]


@examples(0.4)
@given(windows(max_kernel=5, max_stride=4), small, small, sides)
def test_a_symbolic_size_gives_what_each_of_its_sizes_gives(
    window: Window, begin: int, end: int, odd: Side
) -> None:
    told = slid(symbol("n"), window, begin, end, odd)
    assert all(isinstance(extent, int | Size) for extent in told)
    for n in range(1, 14):
        found = [evaluate(extent, {"n": n}) for extent in told]
        assert found == slid(n, window, begin, end, odd)


@given(st.integers(1, 12), windows(), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2))
def test_transposed_output_size_counts_what_is_written(
    size: int, window: Window, begin: int, end: int, more: int
) -> None:
    full = scattered([1.0] * size, [1.0] * window.kernel, window) + [0.0] * more
    assume(begin + end < len(full))
    left = full[begin : len(full) - end]
    assert transposed_output_size(size, window, begin, end, more) == len(left)


def test_windows_that_meet_data_read_an_element_of_it() -> None:
    """Of a dilated one it may stay open, and does where the data is shorter than its dilation."""
    cases = product((1, 2, 3), (1, 3), (1, 2, 3), range(4), range(-4, 4), range(2))
    for kernel, stride, dilation, size, first, more in cases:
        last = first + more * stride
        found = meets_data(Window(kernel, stride, dilation), size, first, last)
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
    named = [odd_side(each) for each in ("SAME_UPPER", "SAME_LOWER", "NOTSET")]
    assert named == ["end", "begin", "end"]
    assert {same_of(odd): odd for odd in ODD.values()} == ODD
