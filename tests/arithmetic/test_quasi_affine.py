"""Functions of an index, against what a walk over all their points says."""

from itertools import product
from math import gcd

import pytest

from onnxpad.arithmetic.quasi_affine import QuasiAffine, support

COUNT = 14


@pytest.mark.parametrize("period", range(4))
@pytest.mark.parametrize("threshold", range(4))
def test_the_support_is_the_closest_range(threshold: int, period: int) -> None:
    """A table of 0 and 1, of which the last part repeats, or that is all there is."""
    for bits in product((0, 1), repeat=threshold + period):
        table = (*bits, *bits[threshold:])
        f = QuasiAffine(table, period, COUNT if period else len(table))
        ones = [index for index in range(f.count) if f.at(index)]
        found = support(f)
        assert {*ones} <= {*found}
        if not ones:
            assert not found
            continue
        assert found.start == ones[0]
        assert found.step == (gcd(*(index - ones[0] for index in ones)) or 1)
        assert ones[-1] < found.stop <= (ones[-1] + 1 if not any(bits[threshold:]) else f.count)
