"""What the tables of the passes say of rewrites, all rows and styles, without a run of any model.

The tests of each pass run both models too. Amounts that nodes compute are worked out here.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxpad
from tests.padding.test_computed_pads import conv, pool
from tests.passes import (
    test_amounts_to_a_multiple as multiples,
)
from tests.passes import (
    test_catalogue,
    test_drop_empty_pad,
    test_drop_valid,
    test_fix_amounts,
    test_fold_pad,
    test_guard_pad,
    test_make_symmetric,
    test_merge_pads,
    test_part_pad,
    test_resolve_auto_pad,
    test_round_down,
    test_split_pads,
)
from tests.support import STYLES, Array, assert_graph, attributes, op_types
from tests.support.rows import each_row

NOWHERE: Final[dict[str, Any]] = {}
SYMMETRIC: Final = {"symmetric_transpose": True}


def rows_of(table: Sequence[Any], *ways: dict[str, Any]) -> Iterator[Any]:
    """The rows of a table of models before and after, each with the options of `fix`."""
    for row, options in product(table, ways):
        before, after = row.values
        if isinstance(before, str):
            before = test_make_symmetric.transposed(before)
        yield pytest.param(before, after, options, id=f"{row.id}, {options}")


REWRITES: Final = [
    *rows_of(test_fold_pad.FOLDS, NOWHERE),
    *rows_of(test_resolve_auto_pad.RESOLVED, NOWHERE),
    *rows_of(test_drop_valid.DROPPED, *({"style": style} for style in STYLES)),
    *rows_of(test_round_down.CASES, {"no_ceil": True}),
    *rows_of(test_merge_pads.MERGED, NOWHERE),
    *rows_of(test_drop_empty_pad.DROPPED, NOWHERE),
    *rows_of(test_make_symmetric.MADE, SYMMETRIC, {"style": "symmetric"}),
    *rows_of(test_part_pad.PARTED, NOWHERE),
    *rows_of(test_fix_amounts.FIXED, NOWHERE),
    *[
        pytest.param(before, after, {"style": style}, id=f"{row.id}, {style}")
        for row in test_split_pads.SAME
        for before, *forms in [row.values]
        for style, after in zip(("pad", "symmetric"), forms, strict=True)
    ],
    *[
        pytest.param(before, after, {"style": style}, id=f"{row.id}")
        for row in test_split_pads.MERGED
        for style, before, after in [row.values]
    ],
]


@each_row(("before", "after", "options"), REWRITES, at_once=5)
def test_what_is_written(
    before: onnx.ModelProto, after: onnx.ModelProto, options: dict[str, Any]
) -> None:
    result = onnxpad.fix(before, validate=False, **options)
    assert_graph(result.model, after)
    assert result.changes
    assert not result.undone
    codes = [change.code for change in result.changes]
    assert codes[0] in [finding.code for finding in onnxpad.check(before, **options).findings]


@each_row(
    ("before", "reason"),
    [*test_fold_pad.STAYS, *test_resolve_auto_pad.STAYS, *test_merge_pads.STAYS],
    at_once=8,
)
def test_what_stays(before: onnx.ModelProto, reason: str) -> None:
    findings = onnxpad.check(before).findings
    assert any(reason in finding.reason for finding in findings)
    unseen = {"PAD701", *(finding.code for finding in findings if finding.fixable)}
    result = onnxpad.fix(before, validate=False)
    assert {change.code for change in result.changes} <= unseen


@each_row(("before", "after"), test_guard_pad.GUARDED, at_once=5)
def test_what_is_guarded(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    result = onnxpad.fix(before, validate=False)
    is_old = after.opset_import[0].version < 11
    assert_graph(result.model, after if is_old else test_guard_pad.kept(after))
    assert [change.code for change in result.changes] == ["PAD701"]


@each_row(("kind", "example"), test_catalogue.EXAMPLES, at_once=5)
def test_what_the_catalogue_shows(kind: Any, example: Any) -> None:
    before = test_catalogue.completed(example, example.before)
    result = onnxpad.fix(
        before,
        style=example.style,
        dynamic=example.dynamic,
        no_ceil=example.no_ceil,
        symmetric_transpose=example.symmetric_transpose,
        target=example.target,
        validate=False,
    )
    assert bool(example.after) is result.changed
    if example.after:
        assert_graph(result.model, test_catalogue.completed(example, example.after))
        assert result.changes[0].code == kind.code


# Amounts that nodes compute


def numbers(model: onnx.ModelProto, shape: Sequence[int]) -> dict[str, Array]:
    """All that nodes compute from the shape of `x` and from constants, by name."""
    known: dict[str, Any] = {
        each.name: numpy_helper.to_array(each) for each in model.graph.initializer
    }
    compute: dict[str, Callable[..., Any]] = {
        "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Mod": np.mod, "Neg": np.negative,
        "Less": np.less, "Equal": np.equal, "Where": np.where, "Ceil": np.ceil,
        "Identity": np.asarray, "Gather": np.take,
        "Div": lambda a, b: a / b if a.dtype.kind == "f" else a // b,
        "Slice": lambda data, start, end: data[start.item() : end.item()],
    }  # fmt: skip
    for node in model.graph.node:
        given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        operands: list[Any] = [known.get(name) for name in node.input]
        if node.op_type == "Shape":
            made = np.array(shape[given.get("start", 0) : given.get("end")])
        elif any(operand is None for operand in operands):
            continue
        elif node.op_type == "Concat":
            made = np.concatenate(operands)
        elif node.op_type == "Cast":
            made = operands[0].astype(np.float32 if given["to"] == 1 else np.int64)
        else:
            made = compute[node.op_type](*operands)
        known[node.output[0]] = made
    return known


def amounts_of(model: onnx.ModelProto, shape: Sequence[int]) -> list[int]:
    """The amounts of the only `Pad` of a model, for data of this shape."""
    (pad,) = [node for node in model.graph.node if node.op_type == "Pad"]
    found: list[int] = numbers(model, shape)[pad.input[1]].tolist()
    return found


SIZES: Final = [(1, 3), (2, 8), (7, 1), (8, 16), (9, 5), (24, 23), (6, 12)]
ORDERS: Final = [
    *(multiples.END, multiples.HALVES, multiples.BEGIN),
    *(multiples.HEAVY, multiples.BEGIN, multiples.HALVES),
]
WINDOWS: Final = [
    (conv, 3, (2, 2)), (conv, 5, (4, 3)), (conv, 2, (3, 2)), (conv, 1, (3, 3)), (pool, 3, (2, 3)),
]  # fmt: skip
SIDES: Final = [("SAME_UPPER", 11), ("SAME_LOWER", 14), ("SAME_LOWER", 15), ("SAME_UPPER", 21)]


def same_pads(size: int, kernel: int, stride: int, side: str) -> tuple[int, int]:
    """The pads of SAME, as the specification of Conv has them."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if side == "SAME_UPPER" else (more, less)


@each_row(
    ("make", "kernel", "strides", "side", "opset"),
    [(*window, *side) for window, side in product(WINDOWS, SIDES)],
    at_once=2,
)
def test_same_as_a_pad_that_computes_its_amounts(
    make: Any, kernel: int, strides: tuple[int, int], side: str, opset: int
) -> None:
    before = make(f'auto_pad = "{side}", strides = {[*strides]}', kernel=kernel, opset=opset)
    result = onnxpad.fix(before, dynamic="pad", validate=False)
    (change,) = result.changes
    assert change.code == "PAD101"
    count = op_types(result.model)
    if not count["Pad"]:  # constant pads read the same at every size
        pads = attributes(result.model.graph.node[0]).get("pads", [0] * 4)
        for place, stride, size in product((0, 1), (1, 2, 3, 4), range(1, 20)):
            if stride == strides[place]:
                assert pads[place] == same_pads(size, kernel, stride, side)[0]
                padded = size + pads[place] + pads[place + 2]
                assert (padded - kernel) // stride + 1 == -(-size // stride)
        return
    assert count["Where"] == (kernel < max(strides))
    for sizes in SIZES:
        pairs = [same_pads(*each, side) for each in zip(sizes, [kernel] * 2, strides, strict=True)]
        begins, ends = zip(*pairs, strict=True)
        assert amounts_of(result.model, [1, 2, *sizes]) == [0, 0, *begins, 0, 0, *ends]


@each_row(
    ("amount", "least", "pads", "opset"),
    [
        (*row.values, pads, opset)
        for row, pads, opset in zip(multiples.AMOUNTS, ORDERS, (14, 17, 17) * 2, strict=True)
    ],
    at_once=2,
)
def test_amounts_to_a_multiple_are_computed_by_few_nodes(
    amount: str, least: int, pads: str, opset: int
) -> None:
    before = multiples.padded(amount, pads, opset=opset)
    result = onnxpad.fix(before, dynamic="pad", validate=False)
    (change,) = result.changes
    least += 2 * ("Div" in pads) + (opset < 15)
    assert (change.code, change.certificate.sizes) == ("PAD502", "every size")
    assert multiples.computing(result.model) == least
    assert f"Pad (computed by {least} nodes)" in change.after
    for sizes in SIZES:
        shape = [1, 1, *sizes]
        assert amounts_of(result.model, shape) == amounts_of(before, shape)
