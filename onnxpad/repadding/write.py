"""Writes chosen paddings into a graph."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from onnxpad.arithmetic.notation import told
from onnxpad.arithmetic.window import same_of
from onnxpad.graph import Graph
from onnxpad.operators.amounts import Pairs, is_padded, onnx_order
from onnxpad.repadding.choice import Choice
from onnxpad.repadding.sites import Site

PADDING: Final = (
    "auto_pad",
    "pads",
    "output_shape",
    "output_padding",
    "ceil_mode",
    "count_include_pad",
)


def write(graph: Graph, site: Site, choice: Choice, pads: Pairs) -> None:
    """Makes an operator pad as chosen.

    SAME becomes `auto_pad` where the size is open and decides, and numbers elsewhere.

    Args:
        graph: The graph of the operator.
        site: The operator.
        choice: How it shall pad.
        pads: The amounts at the sizes of the run that decided, (begin, end) for each spatial axis.
    """
    if site.operator is None:
        _write_pad(graph, site, pads)
        return
    wanted = attributes(site, choice, pads)
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


def attributes(site: Site, choice: Choice, pads: Pairs) -> dict[str, object]:
    """The attributes of padding of an operator that pads as chosen; absent ones are defaults."""
    found: dict[str, object] = {}
    if site.operator is not None and not site.is_transposed and stays_open(site, choice):
        found["auto_pad"] = same_of(choice.odd)
    elif is_padded(pads):
        found["pads"] = onnx_order(pads)
    if any(choice.appended):
        found["output_padding"] = [*choice.appended]
    if choice.ceil:
        found["ceil_mode"] = 1
    if choice.counted:
        found["count_include_pad"] = 1
    return found


def stays_open(site: Site, choice: Choice) -> bool:
    """Whether SAME depends on a size that the model leaves open."""
    if not choice.is_same or choice.undilated:
        return False
    return any(
        size is None and window.stride > 1
        for size, window in zip(site.sizes, site.windows, strict=True)
    )


def written_as(site: Site, choice: Choice, pads: Pairs) -> str:
    """A choice for people, as it is written: SAME in numbers where the sizes are known."""
    keeps = site.choice == choice or stays_open(site, choice)
    return described(choice if keeps else replace(choice, pads=pads), pads)


def described(choice: Choice, pads: Pairs) -> str:
    """A choice for people, with its amounts: `SAME_UPPER, here H 0+1, W 0+1`."""
    parts = []
    if choice.is_same:
        name = same_of(choice.odd)
        parts.append(f"{name}{' without dilation' if choice.undilated else ''}, here {told(pads)}")
    else:
        parts.append(f"pads {told(pads)}")
    if choice.appended and any(choice.appended):
        parts.append(f"output_padding {list(choice.appended)}")
    if choice.ceil:
        parts.append("rounded up (ceil_mode)")
    if choice.counted:
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
