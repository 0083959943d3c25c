"""What is read of a Pad, version by version, and what is refused."""

from typing import Any

import numpy as np
import pytest

from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.table import PadOp, pad_of
from tests.semantics.drawn_steps import Case, floats, ints, node
from tests.support.rows import each_row

FLAT = ((0, 0), (0, 0), (1, 2), (0, 3))


AMOUNTS = ints(0, 0, 1, 0, 0, 0, 2, 3)
NUMBERS = AMOUNTS.tolist()


def form(*operands: Any, opset: int = 18, **attributes: Any) -> PadOp:
    return pad_of(node("Pad", "x", *operands, opset=opset, **attributes).call())


FORMS = [
    form(opset=1, paddings=NUMBERS, value=1.5),
    form(opset=2, pads=NUMBERS, value=1.5),
    form(AMOUNTS, floats(1.5), opset=11),
    form(AMOUNTS, np.array(1.5, np.float32), opset=25),
    form(ints(3, 1, 0, 2), floats(1.5), ints(-1, 2)),
]


@each_row("found", FORMS)
def test_one_padding_is_written_in_several_ways(found: PadOp) -> None:
    if found.axes is None:
        assert found.over(4) == FLAT
    assert (found.mode, found.value) == ("constant", 1.5)


def test_axes_put_amounts_in_their_places() -> None:
    found = form(ints(0, 1, 3, 2), None, ints(-1, 2))
    assert (found.amounts, found.axes, found.value) == (((0, 3), (1, 2)), (-1, 2), 0)
    assert found.over(4) == FLAT
    for axes in (ints(2, -2), ints(4, 0)):
        assert form(ints(0, 1, 3, 2), None, axes).over(4) is None
    assert form(AMOUNTS).over(3) is None


def test_what_is_known_only_at_run_time_is_no_number() -> None:
    value = pad_of(Case("Pad", 18, shape=(1,), operands=("x", ints(1, 1), "u")).call())
    assert value.value is None
    amounts = pad_of(Case("Pad", 18, "int64", (2,), operands=("x", "u")).call())
    assert amounts.over(1) is None
    axes = pad_of(Case("Pad", 18, "int64", (1,), operands=("x", ints(1, 1), None, "u")).call())
    assert axes.amounts is None
    assert axes.over(1) is None


REFUSED = [
    ("no amounts", (), {}),
    ("amounts of another type", (AMOUNTS.astype(np.int32),), {}),
    ("amounts that are no list", (AMOUNTS.reshape(2, 4),), {}),
    ("an odd number of amounts", (ints(1, 2, 3),), {}),
    ("not as many amounts as axes", (AMOUNTS, None, ints(2)), {}),
    ("amounts longer than any axis", (ints(*[2**31] * 8),), {}),
    ("another mode", (AMOUNTS,), {"mode": "symmetric"}),
    ("a value of another type", (AMOUNTS, np.ones(1)), {}),
    ("floats for axes", (AMOUNTS, None, floats(1, 1, 1, 1)), {}),
]


@each_row("what, operands, attributes", REFUSED)
def test_a_malformed_pad_is_refused(
    what: str, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> None:
    with pytest.raises((UnreadError, AssertionError)):
        form(*operands, **attributes)
