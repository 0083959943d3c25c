"""Declarations of users' own window operators, of which nobody else knows what they compute.

The registry is one for the process. Functions of the model are never asked about, since their
bodies say what they compute. Worker processes run models and know no declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import onnx
from msgspec import Struct

from onnxpad.errors import UsageError, let_through

Key = tuple[str, str]
"""Domain and op type of an operator; the domain of ONNX's own operators is empty."""
Pads = tuple[tuple[int, int], ...]
"""(begin, end) for each spatial axis."""
Attributes = Mapping[str, Any]
"""Numbers, strings, and tuples of these, by name; other attributes are left out."""
Like: TypeAlias = Literal["Conv", "MaxPool", "AveragePool"]
Body: TypeAlias = str | onnx.FunctionProto | None

FILLS: Mapping[str, tuple[str, ...]] = {
    "Conv": ("zero",),
    "MaxPool": ("lowest", "zero"),
    "AveragePool": ("excluded", "zero"),
}
"""The values that own padding may stand for, by what an operator is like; the usual one first."""

_PADDING = frozenset({"auto_pad", "count_include_pad", "pads"})


class Row(Struct, frozen=True, kw_only=True, eq=False):
    """A window operator of a custom domain: how its window slides, its fill, and its limits.

    It slides over input 0 as one of ONNX's operators does, according to the specification and to
    onnxruntime, and has the attributes of that operator: `kernel_shape`, `strides`, `dilations`,
    `pads`, `auto_pad`, and those of pools for a pool. It may have others.

    Attributes:
        domain: Its domain.
        op_type: Its op type.
        like: The operator of ONNX whose windows it has: `Conv`, `MaxPool` or `AveragePool`.
        weight: The input that holds the weight, whose axes from the third on are the kernel: 1 for
            what is like Conv, which needs one. Pools have `kernel_shape` alone.
        fill: The value that its own padding stands for: `zero`; `lowest`, which never wins in a
            maximum; or `excluded`, which does not count in an average unless `count_include_pad`
            is set. If empty, as for the operator that it is like.
        zero_point: The input that holds the number that stands for 0 in the data, if there is one.
        channels_last: Whether the channels are the last axis of its data, not the second.
        limit: Given its new pads and its other attributes, returns why it cannot have these pads,
            and an empty text if it can.
        versions: The versions of the domain that this is about; all of them if empty.
        body: A function that computes the same, as ONNX text or a proto, for running changes.
    """

    domain: str
    op_type: str
    like: Like
    weight: int | None = None
    fill: str = ""
    zero_point: int | None = None
    channels_last: bool = False
    limit: Callable[[Pads, Attributes], str] | None = None
    versions: Collection[int] = ()
    body: Body = None

    def __post_init__(self) -> None:
        """Refuses a declaration that contradicts itself."""
        _check_name(self)
        if self.like not in get_args(Like):
            raise UsageError(
                f"{operator_name(self)} is like one of {', '.join(FILLS)}, not {self.like!r}"
            )
        if self.fill and self.fill not in FILLS[self.like]:
            raise UsageError(
                f"the fill of {operator_name(self)}, which is like {self.like}, is "
                f"{' or '.join(FILLS[self.like])}, not {self.fill!r}"
            )
        if self.weight is not None and self.like != "Conv":
            raise UsageError(f"{operator_name(self)} is a pool, which has no weight")
        inputs = [place for place in (0, self.kernel, self.zero_point) if place is not None]
        if len(set(inputs)) < len(inputs) or min(inputs) < 0:
            raise UsageError(
                f"{operator_name(self)}: data, weight and zero point are different inputs"
            )
        if self.zero_point is not None and self.filled == "lowest":
            raise UsageError(f"{operator_name(self)}: a padding that never wins has no zero point")

    @property
    def filled(self) -> str:
        """The fill, with the usual one for an empty text."""
        return self.fill or FILLS[self.like][0]

    @property
    def kernel(self) -> int | None:
        """The input that holds the weight."""
        return 1 if self.weight is None and self.like == "Conv" else self.weight

    def refuses(self, pads: Sequence[tuple[int, int]], attributes: Mapping[str, object]) -> str:
        """Why a node with these attributes cannot have these pads; empty if it can."""
        if self.limit is None:
            return ""
        others = {name: value for name, value in attributes.items() if name not in _PADDING}
        try:
            return str(self.limit(tuple(pads), plain(others)) or "")
        except Exception as error:  # whatever a user's function raises
            let_through(error)
            name = operator_name(self)
            return f"the limit declared for {name} raises {type(error).__name__}: {error}"


_declared: dict[Key, Row] = {}


def declare(one: Row, *, replace: bool = False) -> None:
    """Adds a declaration to the registry."""
    key = one.domain, one.op_type
    if not replace and _declared.get(key, one) is not one:
        raise UsageError(
            f"{operator_name(one)} is declared already; unregister that, or give replace=True"
        )
    _declared[key] = one


def withdraw(one: Row) -> bool:
    """Takes a declaration out of the registry; returns whether it was there."""
    key = one.domain, one.op_type
    found = _declared.get(key) is one
    if found:
        del _declared[key]
    return found


def declaration_of(domain: str | None, op_type: str) -> Row | None:
    """The declaration of an operator; None where there is none."""
    return _declared.get((domain or "", op_type)) if _declared else None


def op_types() -> frozenset[str]:
    """The op types of all window operators declared."""
    return frozenset(one.op_type for one in _declared.values())


def operator_name(one: Row) -> str:
    """The name of an operator with its domain."""
    return f"{one.domain}.{one.op_type}"


def plain(attributes: Mapping[str, Any]) -> Attributes:
    """The attributes that are numbers, strings, or lists of these, the lists as tuples."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        is_list = isinstance(value, list | tuple)
        if all(isinstance(each, int | float | str) for each in (value if is_list else [value])):
            found[name] = tuple(value) if is_list else value
    return found


def function_of(one: Row) -> onnx.FunctionProto | None:
    """The body of a declaration as a proto; None if it has none."""
    if one.body is None:
        return None
    body = one.body
    if isinstance(body, str):
        try:
            body = onnx.parser.parse_function(body)
        except onnx.parser.ParseError as error:
            (said,) = error.args
            said = said.decode(errors="replace") if isinstance(said, bytes) else said
            raise UsageError(f"the body of {operator_name(one)} is no ONNX text: {said}") from error
    if not isinstance(body, onnx.FunctionProto) or (body.domain, body.name) != (
        one.domain,
        one.op_type,
    ):
        raise UsageError(
            f"the body of {operator_name(one)} must be a function of that domain and name"
        )
    return body


def has_bodies() -> bool:
    """Whether a declaration has a body."""
    return any(one.body is not None for one in _declared.values())


def functions_of(operators: Iterable[Key], opset: int) -> list[onnx.FunctionProto]:
    """The bodies declared for operators, and for those that they call, for a model of an opset."""
    found: dict[Key, onnx.FunctionProto] = {}
    pending = sorted(set(operators)) if _declared else []
    while pending:
        key = pending.pop(0)
        one = _declared.get(key)
        body = None if one is None or key in found else function_of(one)
        if body is None:
            continue
        found[key] = copy = type(body)()
        copy.CopyFrom(body)
        for imported in copy.opset_import:  # it must be the model's
            if imported.domain in ("", "ai.onnx"):
                imported.version = opset
        pending += ((node.domain, node.op_type) for node in body.node)
    return list(found.values())


def _check_name(one: Row) -> None:
    for what, name in (("domain", one.domain), ("op_type", one.op_type)):
        if not isinstance(name, str) or not name:
            raise UsageError(f"a declaration needs the {what} of the operator")
    if one.domain == "ai.onnx":
        raise UsageError(
            f"{operator_name(one)} is ONNX's own: its specification says what it computes"
        )
    if isinstance(one.versions, str) or not all(isinstance(each, int) for each in one.versions):
        raise UsageError(f"the versions of {operator_name(one)} are numbers")
