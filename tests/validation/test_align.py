"""Arrays of other frameworks brought to a shape: the elements stay with their axes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpad.validation.align import aligned, distance, nearest
from tests.strategies import examples
from tests.support.rows import each_row


def numbered(*shape: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    return np.arange(int(np.prod(shape))).reshape(shape)


@each_row(
    ("shape", "wanted", "how"),
    [
        pytest.param((1, 5, 7, 3), (1, 3, 5, 7), "nhwc->nchw", id="NHWC"),
        pytest.param((1, 3, 5, 7), (1, 5, 7, 3), "nchw->nhwc", id="NCHW"),
        pytest.param((2, 5, 3), (2, 3, 5), "nlc->ncl", id="channels last, one axis"),
        pytest.param((2, 4, 5, 6, 3), (2, 3, 4, 5, 6), "ndhwc->ncdhw", id="three axes"),
        pytest.param((5, 7, 3), (1, 3, 5, 7), "hwc->chw", id="no batch and channels last"),
        pytest.param((1, 16), (1, 16, 1, 1), "", id="a squeezed pool"),
        pytest.param((1, 1, 1, 16), (1, 16, 1, 1), "", id="a kept pool, channels last"),
        pytest.param((), (1, 1), "", id="a scalar"),
        pytest.param((4, 4, 4), (4, 4, 4), "", id="as it is, though all axes are alike"),
        pytest.param((1, 5, 7, 3), ("N", 3, "H", "W"), "nhwc->nchw", id="open sizes"),
        pytest.param((1, 5, 7, 3), ("N", "C", "H", "W"), "", id="open sizes say nothing"),
        pytest.param((5, 7, 3), ("N", 3, "H", "W"), "hwc->chw", id="open sizes and no batch"),
        pytest.param((1, 9, 4), (9, 4), "", id="a batch too many"),
        pytest.param((1, 9, 4), ("H", "W"), "", id="a batch too many, open"),
    ],
)
def test_found(shape: tuple[int, ...], wanted: tuple[int | str, ...], how: str) -> None:
    array = numbered(*shape)
    found = aligned(array, wanted)
    assert found is not None
    expected = np.einsum(how, array) if how else array
    assert np.array_equal(found.array.ravel(), expected.ravel())
    sizes = zip(found.array.shape, wanted, strict=True)
    assert all(isinstance(w, str) or w == s for s, w in sizes)
    assert bool(found.how) == (found.array.shape != shape)


@each_row(
    ("shape", "wanted"),
    [
        pytest.param((1, 5, 7, 3), (1, 3, 7, 5), id="height and width"),
        pytest.param((1, 10), (1, 9), id="another size"),
        pytest.param((2, 3, 4), ("N",), id="one open axis"),
        pytest.param((2, 3, 4), (), id="a scalar"),
        pytest.param((2, 3), ("N", 2), id="no channels without axes"),
        pytest.param((2, 2, 3), (3, 2, 2), id="batch"),
        pytest.param((0, 3), (3,), id="nothing in it"),
        pytest.param((2, 3), ("N", "C", "H", "W"), id="two axes too few"),
        pytest.param((1, 2, 3, 2), ("N", "A", "B", 3), id="not the channels"),
        pytest.param((2, 3, 5, 7), (2, "A", "B", 5), id="not channels that were first"),
    ],
)
def test_refused(shape: tuple[int, ...], wanted: tuple[int | str, ...]) -> None:
    assert aligned(numbered(*shape), wanted) is None


def test_open_sizes_are_no_reason_to_move_channels() -> None:
    assert aligned(numbered(1, 4, 6, 4), ("N", "A", 4, "B")) is None


@examples(0.6)
@given(st.lists(st.integers(1, 4), max_size=5), st.lists(st.integers(1, 4), max_size=5))
def test_no_element_is_lost(shape: list[int], wanted: list[int]) -> None:
    array = numbered(*shape)
    found = aligned(array, wanted)
    if found is not None:
        assert list(found.array.shape) == wanted
        assert np.array_equal(np.sort(found.array.ravel()), array.ravel())


@pytest.mark.parametrize(
    "axes", [(0, 1, 2, 3), (0, 3, 1, 2), (0, 2, 3, 1), (0, 4, 1, 2, 3), (0, 2, 3, 4, 1)]
)
def test_where_sizes_tell_no_layout_the_nearest_is_taken(axes: tuple[int, ...]) -> None:
    computed = numbered(*((2, 3, 3, 3) if len(axes) == 4 else (2, 3, 4, 3, 4)))
    recorded = np.transpose(computed, np.argsort(axes))
    found = nearest(recorded, computed)
    assert found is not None
    assert np.array_equal(found.array, computed)
    assert bool(found.how) == (axes != (0, 1, 2, 3))


def test_the_nearest_layout_is_that_of_the_sizes_where_they_tell() -> None:
    recorded, computed = numbered(1, 4, 6, 3), numbered(1, 3, 4, 6)
    found = nearest(recorded, computed)
    assert found is not None
    assert found.how == "1x4x6x3 as 1x3x4x6: channels moved from last to axis 1"
    assert nearest(recorded, numbered(1, 5)) is None


def test_the_distance_of_arrays_is_the_mean_of_what_is_finite() -> None:
    one, other = np.array([1.0, 5, np.nan, 2]), np.array([3.0, 4, 1, 3])
    assert distance(one, other) == 1.0
    assert distance(other, one) == 1.0
    assert distance(np.array([1], np.uint8), np.array([3], np.uint8)) == 2.0
