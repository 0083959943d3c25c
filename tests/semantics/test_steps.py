"""Steps on padded data, drawn, are what onnxruntime computes: bit for bit, from what the key says.

Each result on padded data is compared with layers around the result on bare data. That is computed
of the key alone, where the key says everything, so equal keys give equal results.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from msgspec.structs import replace

from onnxpad.errors import ModelError
from onnxpad.semantics.layers import NEGATIVE_ZERO, Fill, Layer, Operand
from onnxpad.semantics.pointwise import keeps_zero
from onnxpad.semantics.rows import Passed, UnreadError
from onnxpad.semantics.table import rows
from tests.semantics.drawn_steps import OPS, Case, drawn, floats, ints, number, padded
from tests.support import Array, attributes, parsed, ran
from tests.support.rows import each_row, rows_below

FAST: Final = 150
ROWS: Final = Path(__file__).with_name("rows.txt")
ONE: Final = (Layer(((0, 0), (0, 0), (1, 2), (0, 3)), 0),)


def passed(case: Case, output: int = 0) -> Passed | None:
    """What a step says; None where it refuses."""
    try:
        call = case.call(output)
        step = call.row.step
        assert step is not None
        return step(call, [case.layers] * len(call.data_places()))
    except (UnreadError, ModelError):
        return None


def bare_of(case: Case, told: Passed, feeds: dict[str, Array], output: int) -> Array | None:
    """The result on bare data, of the key; None where onnxruntime does not run what it names."""
    what, *says = told.key
    first: Any = says[0] if says else None
    data = [feeds[each] for each in case.operands if isinstance(each, str)]
    match what:
        case "Identity":
            return data[0]
        case "Transpose":
            return data[0].transpose(first)
        case "Reshape":
            return data[0].reshape([number(case, size) for size in first])
        case "Unsqueeze":
            return np.expand_dims(data[0], first)
        case "Squeeze":
            return np.squeeze(data[0], first)
        case "Concat":
            axis: Any = says[1]
            return np.concatenate(data, axis)
        case "Slice":
            return cut(case, data[0], first)
    found = ran(replace(case, layers=(), open=frozenset()).model(), feeds)
    return None if isinstance(found, str) else found[output]


def cut(case: Case, array: Array, others: Sequence[Any]) -> Array:
    """What the key of a Slice leaves of data."""
    for axis, (start, end, step) in others:
        size, low, high = array.shape[axis], number(case, start), number(case, end)
        low, high = (each + size if each < 0 else each for each in (low, high))
        least, most = (0, size) if step > 0 else (-1, size - 1)
        low, high = max(low, 0), max(high, least)
        array = array.take(range(min(low, most), min(high, most), step), axis)
    return array


def is_made(fill: Fill) -> bool:
    """Whether a fill is what steps make of another one."""
    return isinstance(fill, Operand) and fill.steps > 0


def same(whole: Array, expected: Array, *, rounds: bool) -> bool:
    """Whether two arrays have the same bits.

    Kernels that work on several elements at a time round some otherwise than those at an end.
    """
    if (whole.shape, whole.dtype) != (expected.shape, expected.dtype):
        return False
    if rounds and np.allclose(whole, expected, 1e-6, equal_nan=True):
        whole, expected = (np.where(expected == 0, each, 1) for each in (whole, expected))
    return whole.tobytes() == np.ascontiguousarray(expected).tobytes()


def checked(case: Case) -> str:
    """How a case went; it fails where a step says what onnxruntime does not compute."""
    feeds = case.feeds()
    whole = ran(case.model(), {name: padded(each, case.layers) for name, each in feeds.items()})
    if isinstance(whole, str):
        return "not run"
    for output in range(case.outputs):
        told = passed(case, output)
        if told is None:
            return "refused"
        assert passed(case, output) == told
        hash(told.key)
        bare = bare_of(case, told, feeds, output)
        if bare is None:
            return "bare not run"
        layers = tuple(
            replace(
                layer, amounts=tuple((number(case, a), number(case, b)) for a, b in layer.amounts)
            )
            for layer in told.layers
        )
        expected = padded(bare, layers)
        # What a step makes of a fill is not said; only where it is.
        made = tuple(replace(layer, fill=int(is_made(layer.fill))) for layer in layers)
        hidden = padded(np.zeros(bare.shape), made) > 0
        if whole[output].shape == hidden.shape:
            expected = np.where(hidden, whole[output], expected)
        rounds = rows()["", case.op].step is keeps_zero
        assert same(whole[output], expected, rounds=rounds), (case, told)
    return "padded" if case.layers else "bare"


@pytest.mark.parametrize(
    "block", [pytest.param(at, marks=pytest.mark.night if at else ()) for at in range(120)]
)
def test_drawn_steps_are_as_onnxruntime_runs_them(block: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(block * FAST, (block + 1) * FAST):
        counts[checked(drawn(seed))] += 1
    assert counts["padded"] > FAST / 7, counts


@each_row("op", OPS)
def test_each_step_passes_some_padding(op: str) -> None:
    if op == "Swish":  # onnxruntime has no kernel
        assert passed(Case(op, 24, layers=ONE))
    else:
        assert "padded" in (checked(drawn(seed, op)) for seed in range(80))


SHAPES: Final = {"h": (2, 3, 1, 5), "l": (4, 1, 5)}
EIGHT: Final = floats(*range(1, 9))
CONSTANTS: Final = {
    "low": np.array(0, np.float32), "d1": np.ones(1), "eight": EIGHT, "finf": floats(np.inf),
    "column": floats(1, 2)[:, None, None, None], "point": np.array(3, np.uint8),
    "point32": np.array([3], np.int32),
}  # fmt: skip


def case_of(text: str) -> Case:
    """A case from the text of a node, perhaps with its opset; `im1_0` is a list of -1 and 0."""
    opset, _, body = text.rpartition(": ")
    (node,) = parsed(f"g () => () {{ y = {body} }}").graph.node
    operands = []
    for name in node.input:
        numbers = [float(each.replace("m", "-")) for each in re.findall(r"m?\d+", name)]
        made = {"i": ints, "f": floats}.get(name[:1]) if numbers else None
        array = CONSTANTS.get(name, made(*map(int, numbers)) if made else None)
        operands.append({"h": "x", "l": "x", "j": "x"}.get(name, name) if array is None else array)
    data = node.input[0]
    return Case(
        node.op_type,
        int(opset or 17),
        "int32" if data == "j" else "float",
        SHAPES.get(data, (2, 3, 4, 5)),
        attributes=tuple(sorted(attributes(node).items())),
        operands=tuple(each or None if isinstance(each, str) else each for each in operands),
    )


SPELLED: Final = [
    (each, count)
    for title, count in (
        ("functions that are spelled in several ways", 1),
        ("other functions each", 0),
    )
    for each in rows_below(ROWS, title)
]


@each_row(("spelled", "count"), SPELLED)
def test_what_is_the_same_has_the_same_key(spelled: tuple[str, ...], count: int) -> None:
    found = [passed(case_of(each)) for each in spelled]
    keys = [(told.key, told.layers) for told in found if told is not None]
    assert len(keys) == len(spelled)
    assert len(set(keys)) == (count or len(spelled))


@each_row(
    ("fill", "body"),
    rows_below(ROWS, "steps that zeros, or another fill, on the last two axes do not pass"),
)
def test_what_does_not_pass_is_refused(fill: str, body: str) -> None:
    number = float(fill) or 0
    told = passed(replace(case_of(body), layers=(replace(ONE[0], fill=number),)))
    assert told is None or is_made(told.layers[0].fill)


def test_an_axis_that_is_padded_to_a_size_of_1_does_not_go() -> None:
    layers = (Layer(((0, 0), (0, 0), (1, -1), (0, 0)), 0),)
    for body in ("Reshape (h, i2_3_5)", "Squeeze (h, i2)"):
        assert passed(case_of(body))
        assert passed(replace(case_of(body), layers=layers)) is None


def test_other_layers_are_not_joined() -> None:
    call = case_of("Concat <axis = 1> (x, u)").call()
    step = call.row.step
    assert step is not None
    fills: tuple[Fill, ...] = (NEGATIVE_ZERO, 1)
    for other in (*((replace(ONE[0], fill=fill),) for fill in fills), (), ONE * 2):
        with pytest.raises(UnreadError):
            step(call, [ONE, other])
