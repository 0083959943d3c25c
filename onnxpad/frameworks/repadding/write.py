"""Writes chosen paddings into a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from onnxpad.arithmetic.notation import pads_text
from onnxpad.arithmetic.window import same_of
from onnxpad.graph import Graph
from onnxpad.operators.amounts import Pairs, is_padded, onnx_order
from onnxpad.padding.padding import Padding
from onnxpad.sites.reading import Site

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
        _write_pad(graph, site, pads)
        return
    wanted = attributes(site, padding, pads)
    absent = {name: None for name in PADDING if name not in wanted and name in site.node.attrs}
    graph.set_attributes(site.node, {**wanted, **absent})


def _write_pad(graph: Graph, site: Site, pads: Pairs) -> None:
    whole = [(0, 0)] * site.rank
    for axis, pair in zip(site.axes, pads, strict=True):
        whole[axis] = pair
    amounts = onnx_order(whole)
    if "pads" in site.node.attrs:
        graph.set_attribute(site.node, "pads", amounts)
        return
    name = site.node.name or site.node.outputs[0].name
    tensor = graph.add_initializer(np.asarray(amounts, np.int64), f"{name}_pads")
    graph.set_input(site.node, 1, tensor)
    if len(site.node.inputs) > _AXES:
        graph.set_input(site.node, _AXES, None)


_AXES: Final = 3
"""The index of the input of a `Pad` that names its axes."""


def attributes(site: Site, padding: Padding, pads: Pairs) -> dict[str, object]:
    """The attributes of padding of an operator that pads as chosen; absent ones are defaults."""
    found: dict[str, object] = {}
    if site.operator is not None and not site.is_transposed and stays_open(site, padding):
        found["auto_pad"] = same_of(padding.odd)
    elif is_padded(pads):
        found["pads"] = onnx_order(pads)
    if any(padding.output_padding):
        found["output_padding"] = [*padding.output_padding]
    if padding.ceil:
        found["ceil_mode"] = 1
    if padding.counted:
        found["count_include_pad"] = 1
    return found


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
    """A padding for people, with its amounts: `SAME_UPPER, here H 0+1, W 0+1`."""
    parts = []
    if padding.is_same:
        name = same_of(padding.odd)
        parts.append(
            f"{name}{' without dilation' if padding.undilated else ''}, here {pads_text(pads)}"
        )
    else:
        parts.append(f"pads {pads_text(pads)}")
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
    for tensor, _ in [*graph.claims()]:
        graph.undeclare(tensor)
    for tensor, shape in [*graph.claimed_outputs()]:
        seen = outputs.get(tensor.name)
        if seen is None or len(seen) != len(shape):
            continue
        now = tuple(
            size if isinstance(size, int) and isinstance(old, int) else old
            for size, old in zip(seen, shape, strict=True)
        )
        if now != shape:
            graph.declare_output(tensor.name, now)
