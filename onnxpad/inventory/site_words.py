"""Words for sites: how padding is written, how much it is, and what a node goes by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import onnx

from onnxpad.arithmetic.notation import axes_text
from onnxpad.arithmetic.size import Extent, Unknown, bounds
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.inventory.padding_site import AxisPadding, Kind, OuterPad, PaddingSite, PathNode
from onnxpad.operators.amounts import ExtentPair, Pairs, is_padded, numbers_of, onnx_order
from onnxpad.operators.read import PadOp, WindowOp
from onnxpad.operators.table import Layout
from onnxpad.rewrite.scopes import PADDING
from onnxpad.sites.reading import PadUpstream

_MOST_LISTED: Final = 12
_ALSO_PADS: Final = frozenset({"output_padding", "output_shape"})
_MOVING: Final = frozenset({"Transpose", "Unsqueeze", "Squeeze", "Reshape", "Flatten"})
_WIDEST_RANGE: Final = 1024
_LONGEST_SIZE: Final = 48


def as_written(graph: Graph, node: Node, kind: Kind) -> PaddingSite:
    """A site with no more than what the node itself says."""
    said = []
    for name in sorted((PADDING | _ALSO_PADS) & node.attrs.keys()):
        value = node.attrs[name]
        if isinstance(value, onnx.AttributeProto):
            said.append(f"{name}=@{value.ref_attr_name}" if value.ref_attr_name else f"{name}=?")
        elif value not in ("NOTSET", ""):
            said.append(f"{name}={_brief_value(value)}")
    known: Sequence[str] = ["Pad"] if node.op == "Pad" else []
    return PaddingSite(
        node=graph.place_of(node),
        op_type=str(node.op),
        domain=node.domain or "",
        scope=graph.place,
        kind=kind,
        written=", ".join([*known, *said]),
        names=names_of(graph, [node]),
        tensors=tuple(tensor.name for tensor in node.outputs if tensor.name),
        problem=_not_covered(graph, node) if kind == "other" else "",
    )


def _not_covered(graph: Graph, node: Node) -> str:
    """Why onnxpad does not cover an operator."""
    if graph.is_function(node):
        return f"{node.op} is a function of the model: its body says how it pads"
    if graph.is_standard(node):
        return f"onnxpad does not cover {node.op}"
    domain = f" of {node.domain}" if node.domain else ""
    return f"onnxpad does not cover {node.op}{domain}"


def _brief_value(value: object) -> str:
    """An attribute in words; of a long list the first elements."""
    if isinstance(value, list):
        more = ", ..." if len(value) > _MOST_LISTED else ""
        return f"[{', '.join(map(str, value[:_MOST_LISTED]))}{more}]"
    return str(value)


def names_of(graph: Graph, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names that nodes go by."""
    found = (each for node in nodes for each in (describe(node), graph.place_of(node)))
    return tuple(dict.fromkeys(found))


def tensors_of(source: Tensor, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names of a tensor and of the results of nodes."""
    found = [source.name, *(tensor.name for node in nodes for tensor in node.outputs)]
    return tuple(dict.fromkeys(filter(None, found)))


def step_of(node: Node) -> PathNode:
    """A node on the way of padded data."""
    return PathNode(describe(node), str(node.op))


def known_number(extent: Extent) -> int | None:
    """A size or an amount that is a number; None for others."""
    return extent if isinstance(extent, int) else None


def flat_order(pairs: Sequence[ExtentPair] | None) -> tuple[int, ...] | None:
    """Amounts in ONNX order; None unless all are numbers."""
    numbers = numbers_of(pairs)
    return None if numbers is None else tuple(onnx_order(numbers))


def size_text(extent: Extent) -> str:
    """A size in words: a number, a formula of open sizes, or `open`."""
    text = "open" if isinstance(extent, Unknown) else str(extent)
    return text if len(text) <= _LONGEST_SIZE else "open"


def range_text(extent: Extent) -> str:
    """A number, or the least and the greatest that an amount can be, as `0..1`; else empty."""
    if isinstance(extent, int):
        return str(extent)
    least, greatest = bounds(extent)
    if least is None or greatest is None or greatest - least > _WIDEST_RANGE:
        return ""
    return f"{least}..{greatest}"


def amounts_text(axes: Sequence[AxisPadding]) -> str:
    """The padding of all axes in words; `none` if there is none."""
    if all((each.begin, each.end) == (0, 0) for each in axes):
        return "none"
    if not any(any(each.ranges) for each in axes):
        return "not known"
    return ", ".join(f"{each.name} {each.range}" for each in axes)


def written_text(op: WindowOp, outer: Sequence[OuterPad]) -> str:
    """How the padding of a window operator is written, in short."""
    kinds = Counter(map(pad_written, reversed(outer)))
    said = [name if count == 1 else f"{count} {name}" for name, count in kinds.items()]
    if op.auto_pad != "NOTSET":
        said = [*said, f"auto_pad={op.auto_pad}"]
    elif is_padded(op.pads):
        said = [*said, "pads"]
    if op.ceil_mode:
        said = [*said, "ceil_mode"]
    return " + ".join(said)


def pad_text(pad: PadOp, known: Pairs, found: PadUpstream, layout: Layout | None, rank: int) -> str:
    """The amounts of a `Pad`; by name of the axis if these are those of the operator downstream."""
    moved = any(step.op in _MOVING for step in found.path)
    if layout is not None and not moved:
        whole = pad.over(rank)
        if whole is not None:
            return layout.text(whole)
    return axes_text(known, pad.axes)


def pad_written(pad: OuterPad) -> str:
    """How a `Pad` is written, in short."""
    words = ["computed"] if pad.pads is None and pad.amounts == "computed" else []
    words += ["Pad"]
    if pad.mode not in {"constant", ""}:
        words.append(pad.mode)
    elif pad.value is None:
        words.append("of ?")
    elif pad.value:
        words.append(f"of {pad.value}")
    if pad.steps:
        words.append("upstream")
    return " ".join(words)
