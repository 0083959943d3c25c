"""What a declaration refuses, and what it says of numbers and axes."""

from typing import Any

import pytest

from onnxpad import declared
from onnxpad.declared import Row
from onnxpad.errors import UsageError
from tests.support.rows import each_row

NAME: Any = {"domain": "com.acme", "op_type": "Own"}
TEXT = '<domain: "com.acme", opset_import: ["" : 11, "q" : 2]> Own (x) => (y) {{ {} }}'
POOL = "a padding that never wins has no zero point"
INPUTS = "data, weight and zero point are different inputs"


def row(like: Any = "Conv", **given: Any) -> Row:
    return Row(**NAME, like=like, **given)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty registry."""
    monkeypatch.setattr(declared, "_declared", {})


@each_row(
    ("given", "why"),
    [
        ({"like": "Pool"}, "is like one of Conv, MaxPool, AveragePool, not 'Pool'"),
        ({"like": "Conv", "fill": "lowest"}, "which is like Conv, is zero"),
        ({"like": "MaxPool", "weight": 1}, "is a pool, which has no weight"),
        ({"like": "Conv", "weight": 0}, INPUTS),
        ({"like": "Conv", "weight": -1}, INPUTS),
        ({"like": "Conv", "weight": 2, "zero_point": 2}, INPUTS),
        ({"like": "Conv", "zero_point": 1}, INPUTS),
        ({"like": "Conv", "zero_point": 0}, INPUTS),
        ({"like": "MaxPool", "zero_point": 1}, POOL),
        ({"like": "Conv", "versions": "12"}, "the versions of com.acme.Own are numbers"),
        ({"like": "Conv", "versions": ["1"]}, "the versions of com.acme.Own are numbers"),
        ({"like": "Conv", "domain": ""}, "a declaration needs the domain of the operator"),
        ({"like": "Conv", "op_type": 5}, "a declaration needs the op_type of the operator"),
        ({"like": "Conv", "domain": "ai.onnx"}, "ai.onnx.Own is ONNX's own"),
    ],
)
def test_a_row_that_contradicts_itself(given: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        Row(**{**NAME, **given})
    assert why in str(refused.value)


@each_row(
    ("given", "kernel", "filled"),
    [
        ({}, 1, "zero"),
        ({"weight": 2}, 2, "zero"),
        ({"zero_point": 2}, 1, "zero"),
        ({"weight": 2, "zero_point": 1}, 2, "zero"),
        ({"like": "MaxPool"}, None, "lowest"),
        ({"like": "MaxPool", "fill": "zero", "zero_point": 1}, None, "zero"),
        ({"versions": {1, 2}}, 1, "zero"),
    ],
)
def test_the_weight_and_the_fill_of_a_row(
    given: dict[str, Any], kernel: int | None, filled: str
) -> None:
    assert (row(**given).kernel, row(**given).filled) == (kernel, filled)


def test_the_limit_of_a_row() -> None:
    asked: list[Any] = []

    def limit(pads: Any, attributes: Any) -> str:
        asked.append((pads, attributes))
        return "too wide" if pads[0][0] > 1 else ""

    given = {"group": 2, "pads": [1, 1], "names": ["a"], "body": object(), "auto_pad": "SAME_UPPER"}
    assert row(limit=limit).refuses([(1, 0)], given) == ""
    assert row(limit=limit).refuses([(2, 0)], given)
    assert asked == [(((n, 0),), {"group": 2, "names": ("a",)}) for n in (1, 2)]
    assert row().refuses([(2, 0)], given) == ""


def test_plain_attributes() -> None:
    given = {"a": 1, "b": [1.5], "c": "t", "d": b"t", "e": [b"t"], "f": (), "g": None}
    assert declared.plain(given) == {"a": 1, "b": (1.5,), "c": "t", "f": ()}


def test_the_registry() -> None:
    one, other = row(), row()
    declared.declare(one)
    declared.declare(one)
    assert declared.op_types() == {"Own"}
    with pytest.raises(UsageError):
        declared.declare(other)
    assert declared.declaration_of("com.acme", "Own") is one
    assert declared.declaration_of("com.acme", "Other") is None
    assert declared.declaration_of(None, "Own") is None
    assert not declared.withdraw(other)
    declared.declare(other, replace=True)
    assert not declared.withdraw(one)
    assert not declared.has_bodies()
    assert declared.withdraw(other)
    assert declared.declaration_of("com.acme", "Own") is None


@pytest.mark.parametrize(
    "body",
    [
        TEXT.format("y = "),
        TEXT.replace("acme", "other").format("y = Neg (x)"),
        TEXT.replace("Own", "Other").format("y = Neg (x)"),
        5,
    ],
)
def test_a_body_that_is_none(body: Any) -> None:
    with pytest.raises(UsageError):
        declared.function_of(row(body=body))


def test_the_bodies_that_operators_call() -> None:
    inner = Row(
        domain="q", op_type="S", like="MaxPool",
        body='<domain: "q", opset_import: ["" : 11]> S (x) => (y) { y = Neg (x) }',
    )  # fmt: skip
    one = row(body=TEXT.format("t = q.S (x) u = q.S (t) v = q.T (u) y = Neg (v)"))
    assert declared.functions_of([("com.acme", "Own")], 17) == []
    declared.declare(one)
    declared.declare(inner)
    assert declared.has_bodies()
    assert declared.function_of(row()) is None
    found = declared.functions_of([("com.acme", "Own"), ("q", "T")], 17)
    assert [each.name for each in found] == ["Own", "S"]
    assert [[(each.domain, each.version) for each in one.opset_import] for one in found] == [
        [("", 17), ("q", 2)], [("", 17)],
    ]  # fmt: skip
    assert declared.function_of(inner) is not None
