"""A unified diff of two graphs: one line for each input and each node.

Weights are never shown. Short constants that a node reads, such as the amounts of a `Pad`, are
shown by value in the line of the node.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from onnx import numpy_helper

from onnxpad.file.proto_walk import bodies, function_label, named_bodies, qualified
from onnxpad.report.text import Paint, counted, shown

MOST_ELEMENTS = 16
"""Elements up to which numbers are listed: the amounts of a `Pad` up to rank 8."""
MOST_CHARACTERS = 80
_OPERATORS = 6
"""Operators counted in the line for nodes that went away."""

_INTEGERS = {
    getattr(onnx.TensorProto, name)
    for name in ("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
}

Item = onnx.ValueInfoProto | onnx.NodeProto
Items = Mapping[str, Item]
Held = onnx.GraphProto | onnx.FunctionProto
Constants = Mapping[str, str]


class _Side(Struct, frozen=True):
    """One of the graphs.

    Attributes:
        items: Inputs and then nodes, in file order, by the key that matches them to the other side.
        constants: Values to show, by name of the tensor.
        amounts: Tensors that depend on no data, only on sizes, constants and initializers.
    """

    items: Items
    constants: Mapping[str, str]
    amounts: Set[str]


def unified_diff(
    before: onnx.GraphProto,
    after: onnx.GraphProto,
    names: tuple[str, str],
    functions: Iterable[tuple[onnx.FunctionProto, onnx.FunctionProto]] = (),
    *,
    fold: bool = False,
) -> str:
    """A unified diff without context lines; empty if nothing differs.

    Nodes are matched by the name of their first output. The line numbers of a hunk count the inputs
    and then the nodes, from 1, in each graph anew. The headings of hunks in bodies and functions
    say where these are.

    Args:
        before: The graph as it was; long tensors may lack their elements.
        after: The graph as it is.
        names: Names of both for the heading.
        functions: The functions of the model, as they were and as they are.
        fold: Whether nodes that went away and no data passed through, such as those that computed
            the amounts of a `Pad`, are counted by operator in place of a line each.
    """
    hunks = list(_all_hunks("", before, after, {}, {}))
    for was, now in functions:
        hunks += _all_hunks(function_label(was), was, now, {}, {})
    if not hunks:
        return ""
    told = (hunk.text(fold=fold) for hunk in hunks)
    return "\n".join((f"--- {shown(names[0])}", f"+++ {shown(names[1])}", *told, ""))


def painted(diff: str, paint: Paint) -> str:
    """A diff in the usual colours."""
    roles = {"-": "error", "+": "good", "@": "info"}
    return "".join(
        f"{paint(line, roles[line[0]]) if line[0] in roles else line}\n"
        for line in diff.splitlines()
    )


def node_text(node: onnx.NodeProto, constants: Mapping[str, str] | None = None) -> str:
    """A node in one line, such as `Conv_12: y = Conv <pads = [0, 0, 1, 1]> (x, w)`.

    Args:
        node: The node.
        constants: Values to show for its inputs, by name.
    """
    known = constants or {}
    given = ", ".join(sorted(f"{item.name} = {_attribute(item)}" for item in node.attribute))
    read = ", ".join(f"{name} = {known[name]}" if name in known else name for name in node.input)
    label = f"{node.name}: " if node.name else ""
    attributes = f" <{given}>" if given else ""
    return shown(f"{label}{', '.join(node.output)} = {qualified(node)}{attributes} ({read})")


def input_text(value: onnx.ValueInfoProto) -> str:
    """The declaration of an input, such as `input x: float[1, 3, height, ?]`."""
    held = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        return shown(f"input {value.name}: {value.type.WhichOneof('value') or '?'}")
    sizes = [
        str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?"
        for dim in held.shape.dim
    ]
    shape = f"[{', '.join(sizes)}]" if held.HasField("shape") else ""
    return shown(f"input {value.name}: {_type(held.elem_type)}{shape}")


def _text(item: Item, constants: Mapping[str, str]) -> str:
    return node_text(item, constants) if isinstance(item, onnx.NodeProto) else input_text(item)


def _all_hunks(
    place: str, before: Held, after: Held, outer: Constants, now_outer: Constants
) -> Iterator[_Hunk]:
    """The hunks of a graph, then of the bodies in it.

    Args:
        place: Where the graph is in the model; empty for the main graph.
        before: The graph as it was.
        after: The graph as it is.
        outer: The constants of the graph around it, as it was.
        now_outer: The constants of the graph around it, as it is.
    """
    old, new = _side(before, outer), _side(after, now_outer)
    yield from _hunks(old, new, shown(place))
    for was, now in _aligned(old.items, new.items):
        if isinstance(was, onnx.NodeProto) and isinstance(now, onnx.NodeProto) and was != now:
            held = dict(named_bodies(now.attribute))
            label = was.name or f"<{next(filter(None, was.output), was.op_type)}>"
            for name, body in named_bodies(was.attribute):
                if name in held and body != held[name]:
                    where = f"{place} > " * bool(place) + f"{was.op_type} {label!r} > {name}"
                    yield from _all_hunks(where, body, held[name], old.constants, new.constants)


def _side(graph: Held, outer: Constants) -> _Side:
    items: dict[str, Item] = {}
    constants = dict(outer)
    if isinstance(graph, onnx.GraphProto):
        held_inside = {item.name for item in graph.initializer}
        inputs = (value for value in graph.input if value.name not in held_inside)
        items = {f"\0input {value.name}": value for value in inputs}
        constants |= {item.name: _elements(item) for item in graph.initializer if _is_short(item)}
    for node in graph.node:
        name = next(filter(None, node.output), "")
        if node.op_type == "Constant" and len(node.attribute) == 1:
            (held,) = node.attribute
            if held.name in {"value_int", "value_ints"} or _is_short(held.t):
                constants[name] = _attribute(held)
        items[name if name and name not in items else f"\0{len(items)}"] = node
    return _Side(items, constants, _without_data(graph))


def _without_data(graph: Held) -> set[str]:
    """The tensors of a graph that depend on no data; what comes from outside is taken for data."""
    found: set[str] = set()
    if isinstance(graph, onnx.GraphProto):
        found = {item.name for item in graph.initializer} - {each.name for each in graph.input}
    for node in graph.node:
        is_size = node.op_type in {"Shape", "Size"}
        if is_size or (found.issuperset(filter(None, node.input)) and not any(bodies(node))):
            found.update(node.output)
    return found


def _hunks(before: _Side, after: _Side, place: str) -> Iterator[_Hunk]:
    """A hunk for each changed node, with the nodes removed or added right before it."""
    altered = {name for name, _ in before.constants.items() ^ after.constants.items()}
    removed: list[tuple[str, str]] = []
    added: list[str] = []
    old = new = 0  # lines passed so far
    for was, now in _aligned(before.items, after.items):
        kept = _same(was, now, altered)
        if was is not None and not kept:
            gone = _operator_that_went(was, before.amounts) if now is None else ""
            removed.append((f"-{_text(was, before.constants)}", gone))
            old += 1
        if now is not None and not kept:
            added.append(f"+{_text(now, after.constants)}")
            new += 1
        if was is not None and now is not None and (removed or added):
            yield _hunk(removed, added, old, new, place)
            removed, added = [], []
        old, new = old + kept, new + kept
    if removed or added:
        yield _hunk(removed, added, old, new, place)


def _same(was: Item | None, now: Item | None, altered: Set[str]) -> bool:
    """Whether an item is on both sides, is equal, and reads the same constants."""
    if was is None or now is None:
        return False
    if isinstance(was, onnx.NodeProto) and not altered.isdisjoint(was.input):
        return False
    # A NaN is not equal to itself, but its bytes are.
    if was == now or was.SerializePartialToString() == now.SerializePartialToString():
        return True
    return _text(was, {}) == _text(now, {}) and _without_bodies(was) == _without_bodies(now)


def _without_bodies(item: Item) -> bytes:
    """An item as bytes, apart from bodies, whose differences have hunks of their own."""
    if not isinstance(item, onnx.NodeProto):
        return bytes(item.SerializePartialToString())
    copy = onnx.NodeProto()
    copy.CopyFrom(item)
    for attribute in copy.attribute:
        attribute.ClearField("g")
        attribute.ClearField("graphs")
    return bytes(copy.SerializePartialToString())


def _aligned(old: Items, new: Items) -> Iterator[tuple[Item | None, Item | None]]:
    """Pairs of an item before and after, in the order of both graphs; None if it is missing.

    Rewriting moves no node. One that moved all the same is shown as removed and added.
    """
    left, right = list(old), list(new)
    moved: set[str] = set()
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and left[i] not in new:
            yield old[left[i]], None
            i += 1
        elif j < len(right) and (right[j] not in old or right[j] in moved):
            yield None, new[right[j]]
            j += 1
        elif left[i] == right[j]:
            yield old[left[i]], new[right[j]]
            i, j = i + 1, j + 1
        else:
            moved.add(left[i])
            yield old[left[i]], None
            i += 1


class _Hunk(Struct, frozen=True):
    """Lines under their heading.

    Attributes:
        heading: The heading.
        removed: The lines removed, each with the operator if the node is counted, else empty.
        added: The lines added.
    """

    heading: str
    removed: list[tuple[str, str]]
    added: list[str]

    def text(self, *, fold: bool) -> str:
        """The hunk; if `fold`, neighbouring nodes that computed amounts are one line."""
        removed = []
        for is_gone, run in groupby(self.removed, lambda line: bool(line[1])):
            lines = list(run)
            if fold and is_gone and len(lines) > 1:
                removed.append(_counted([operator for _, operator in lines]))
            else:
                removed += [line for line, _ in lines]
        return "\n".join((self.heading, *removed, *self.added))


def _counted(operators: Sequence[str]) -> str:
    """Nodes that went away, by operator: `-(1 node and 2 Constants that nothing reads: 1 Cast)`.

    As wherever nodes that compute amounts are counted, Constants are none of them.
    """
    nodes = Counter(each for each in operators if each != "Constant")
    counts, constants = nodes.most_common(), len(operators) - nodes.total()
    many = [counted(nodes.total(), "node")] if counts else []
    many += [counted(constants, "Constant")] if constants else []
    listed = [f"{count} {shown(operator)}" for operator, count in counts[:_OPERATORS]]
    more = ", ..." if len(counts) > _OPERATORS else ""
    told = f": {', '.join(listed)}{more}" if listed else ""
    return f"-({' and '.join(many)} that nothing reads{told})"


def _operator_that_went(item: Item, amounts: Set[str]) -> str:
    """The operator of a node that computed amounts; empty for one on the way of data."""
    if not isinstance(item, onnx.NodeProto) or item.op_type == "Pad":
        return ""
    return item.op_type if {*filter(None, item.output)} <= amounts else ""


def _hunk(
    removed: list[tuple[str, str]], added: list[str], old: int, new: int, place: str
) -> _Hunk:
    """Lines under their heading; `old` and `new` count the lines passed, including these."""
    spans = f"-{_span(old, len(removed))} +{_span(new, len(added))}"
    return _Hunk(f"@@ {spans} @@{' ' * bool(place)}{place}", removed, added)


def _span(end: int, length: int) -> str:
    """A range of lines as diff writes it: an empty range is named by the line before it.

    >>> _span(3, 1), _span(3, 2), _span(3, 0)
    ('3', '2,2', '3,0')
    """
    begin = end - length
    return f"{end}" if length == 1 else f"{begin + 1 if length else begin},{length}"


def _attribute(item: onnx.AttributeProto) -> str:
    """The value of an attribute; only the kind of long tensors and bodies."""
    if item.ref_attr_name:
        return f"@{item.ref_attr_name}"
    if item.HasField("t"):
        return _elements(item.t) if _is_short(item.t) else _kind(item.t)
    if item.HasField("g"):
        return f"{{{len(item.g.node)} nodes}}"
    try:
        value = onnx.helper.get_attribute_value(item)
    except ValueError:  # a type that this onnx does not know
        return "?"
    return _written(value)


def _written(value: Any) -> str:
    """Numbers and strings in ONNX's text format, long ones cut; only the type of all else."""
    if isinstance(value, bytes | str):
        text = value if isinstance(value, str) else value.decode(errors="backslashreplace")
        cut = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
        return json.dumps(cut, ensure_ascii=False)
    if isinstance(value, float):
        return str(np.float32(value))
    if isinstance(value, onnx.TensorProto):
        return _kind(value)
    if isinstance(value, Sequence | np.ndarray):
        items = [_written(item) for item in value[:MOST_ELEMENTS]]
        more = [f"... {len(value):,} in all"] if len(value) > MOST_ELEMENTS else []
        return f"[{', '.join(items + more)}]"
    return str(value) if isinstance(value, int | np.generic) else f"a {type(value).__name__}"


def _is_short(tensor: onnx.TensorProto) -> bool:
    """Whether a tensor is one number or a short list of integers, stored in the model itself."""
    count = math.prod(tensor.dims)
    if tensor.data_location == onnx.TensorProto.DataLocation.EXTERNAL or len(tensor.dims) > 1:
        return False
    return count == 1 or (count <= MOST_ELEMENTS and tensor.data_type in _INTEGERS)


def _elements(tensor: onnx.TensorProto) -> str:
    """The value of a short tensor, as a list if it has an axis."""
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, IndexError):  # a damaged tensor
        return _kind(tensor)
    return _written(array if array.ndim else array[()])


def _kind(tensor: onnx.TensorProto) -> str:
    """Type and shape in ONNX's text format: `float[64, 3, 7, 7]`."""
    return f"{_type(tensor.data_type)}{list(tensor.dims) if tensor.dims else ''}"


def _type(number: int) -> str:
    names = onnx.TensorProto.DataType
    return names.Name(number).lower() if number in names.values() else str(number)
