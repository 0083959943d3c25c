"""Writes chosen paddings into a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from onnxpad.arithmetic.notation import pads_text
from onnxpad.arithmetic.window import same_of
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.padding.reading import Site
from onnxpad.padding.write import attributes, set_amounts
from onnxpad.semantics.amounts import Pairs

PADDING: Final = (
    "auto_pad",
    "pads",
    "output_shape",
    "output_padding",
    "ceil_mode",
    "count_include_pad",
)


def write(graph: Graph, site: Site, padding: Padding, pads: Pairs) -> None:
    """Makes an operator pad as chosen.

    SAME becomes `auto_pad` where the size is open and decides, and numbers elsewhere.

    Args:
        graph: The graph of the operator.
        site: The operator.
        padding: How it shall pad.
        pads: The amounts at the sizes of the run that decided, (begin, end) for each spatial axis.
    """
    if site.operator is None:
        pairs = dict(zip(site.axes, pads, strict=True))
        set_amounts(graph, site.node, tuple(pairs.get(i, (0, 0)) for i in range(site.rank)))
        return
    wanted = attributes(settled(site, padding, pads))
    absent = {name: None for name in PADDING if name not in wanted and name in site.node.attrs}
    graph.set_attributes(site.node, {**wanted, **absent})


def settled(site: Site, padding: Padding, pads: Pairs) -> Padding:
    """A padding as it is written: in numbers, unless SAME depends on a size that is open."""
    keeps = site.operator is not None and stays_open(site, padding)
    return padding if keeps else replace(padding, pads=pads)


def stays_open(site: Site, padding: Padding) -> bool:
    """Whether SAME depends on a size that the model leaves open."""
    if not padding.is_same or padding.undilated:
        return False
    return any(
        size is None and window.stride > 1
        for size, window in zip(site.known_sizes, site.windows, strict=True)
    )


def written_as(site: Site, padding: Padding, pads: Pairs) -> str:
    """A padding for people, as it is written: SAME in numbers where the sizes are known."""
    keeps = site.padding == padding or stays_open(site, padding)
    return described(padding if keeps else replace(padding, pads=pads), pads)


def described(padding: Padding, pads: Pairs) -> str:
    """A padding for people, with its amounts if known: `SAME_UPPER, here H 0+1, W 0+1`."""
    parts = [f"pads {pads_text(pads)}"]
    if padding.is_same:
        parts = [f"{same_of(padding.odd)}{' without dilation' * padding.undilated}"]
        parts += [f"here {pads_text(pads)}"] * bool(pads)
    if padding.output_padding and any(padding.output_padding):
        parts.append(f"output_padding {list(padding.output_padding)}")
    if padding.ceil:
        parts.append("rounded up (ceil_mode)")
    if padding.counted:
        parts.append("padding counted (count_include_pad)")
    return ", ".join(parts)


def forget_sizes(graph: Graph, outputs: Mapping[str, Sequence[int]]) -> None:
    """Drops declared sizes that other pads may have made wrong.

    Args:
        graph: The main graph; its `value_info` goes.
        outputs: The shapes of its outputs in one run. A declared size that differs becomes that.
    """
    for tensor, _ in [*graph.claims("value_info")]:
        graph.undeclare(tensor)
    for tensor, shape in [*graph.claims("output")]:
        seen = outputs.get(tensor.name)
        if seen is None or len(seen) != len(shape):
            continue
        now = tuple(
            size if isinstance(size, int) and isinstance(old, int) else old
            for size, old in zip(seen, shape, strict=True)
        )
        if now != shape:
            graph.declare_output(tensor.name, now)
