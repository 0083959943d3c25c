"""What the proof says of pairs of small graphs, drawn, is what is kept, and holds on onnxruntime.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/proof`.
"""

import numpy as np
import pytest

from tests.proof import pairs
from tests.support import feeds_of, ran
from tests.support.rows import each_row

PROVED = [line for line in pairs.LINES.kept() if "  =>  proved" in line and "trusts" not in line]


@pytest.mark.night
@each_row("line", PROVED)
def test_what_is_proved_is_so(line: str) -> None:
    """At each size of a residue and the least ones; the signs of zeros that are lost may differ."""
    before, after = pairs.models(line)
    for size in range(1, 14):
        feeds = feeds_of(before, seed=size, size=size)
        wanted = ran(before, feeds)
        if not isinstance(wanted, str):
            found = ran(after, feeds)
            assert not isinstance(found, str), size
            for one, other in zip(wanted, found, strict=True):
                np.testing.assert_array_equal(one, other)
