"""The meaning of transposed convolutions for the proof, from the specification's text.

A transposed convolution spreads each element over one window of a line that has no end on either
side. Where no window reaches, the line holds the bias alone. `pads`, `output_padding`,
`output_shape` and `auto_pad` only say which part of the line is the output. So the output is the
full result (all that windows reach) with a layer around it: negative amounts crop, positive ones
append the bias, or 0.

Like the rest of the proof's reading, this knows nothing of passes, and shares no line with the
formulas that they use (`arithmetic.window`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Unknown, always, floor_div, less_equal
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.proof.layers import Amounts, Layer, fill_of_tensor, never_pads
from onnxpad.proof.meaning import (
    LONGEST,
    MeaninglessError,
    Schema,
    WindowAxis,
    check_arity,
    frozen,
    key_of,
    version_of,
    weight_kernel,
    whole,
)
from onnxpad.proof.step_rules.step_node import Passed
from onnxpad.records import NamedTuple


class Scattering(NamedTuple):
    """One operator that spreads its first input over windows of its output.

    Attributes:
        versions: The versions of the operator with this meaning, as of a `Sliding`.
        weight: The input whose axes from the third on are the kernel.
        bias: The input with what is added to each output channel; None where it has none.
        schema: Its schema; None for those of onnx.
    """

    versions: frozenset[int]
    weight: int
    bias: int | None = None
    schema: Schema | None = None


SCATTERING: Final[Mapping[tuple[str, str], Scattering]] = {
    ("", "ConvTranspose"): Scattering(frozenset({1, 11, 22}), weight=1, bias=2)
}
_PLACING: Final = frozenset(
    {"auto_pad", "dilations", "kernel_shape", "output_padding", "output_shape", "pads", "strides"}
)
_AUTO_PADS: Final = frozenset({"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"})
_BEFORE: Final = 2  # batch and channels


def scatters(graph: Graph, node: Node) -> bool:
    """Whether a node is a transposed convolution of the table."""
    return key_of(graph, node) in SCATTERING


def scattered(graph: Graph, analysis: Analysis, node: Node, *, further: bool = False) -> Passed:
    """The meaning of a transposed convolution, as onnxruntime and the specification have it.

    Source: the page of ConvTranspose in the ONNX specification; what onnxruntime does was measured,
    and is in its conv_transpose_attributes.h.

    The specification wants `pads` of 0 or more, and onnxruntime refuses others. Its formula for the
    size is read for negative ones too, which exporters write: these append.

    Args:
        graph: The graph that has the node.
        analysis: Its analysis.
        node: A transposed convolution.
        further: Whether the elements of the line that `output_padding` may append (one less than
            the stride, at the end of each axis) belong to the full result, so that the layer only
            crops, whatever the bias.

    Returns:
        The full result, with one layer around it. Where the output may be empty, which onnxruntime
        refuses, the key also holds which part of that axis of the line is output.

    Raises:
        MeaninglessError: The node is malformed, or its version is not in the table; or it appends
            others than those.
    """
    operator = key_of(graph, node)
    row, opset = SCATTERING[operator], graph.opsets.get(operator[0], 0)
    if node.operand(0) is None or node.operand(row.weight) is None:
        raise MeaninglessError("a transposed convolution lacks its data or its weight")
    attributes = {name: frozen(value)[1] for name, value in node.attrs.items()}
    version = version_of(node.op, opset, node.attrs, row.versions, row.schema)
    check_arity(graph, node, row.schema)
    kernel = weight_kernel(graph, analysis, node, row.weight)
    rank = len(kernel)
    strides = whole(attributes, "strides", rank, 1) or (1,) * rank
    dilations = whole(attributes, "dilations", rank, 1) or (1,) * rank
    axes = tuple(map(WindowAxis, kernel, strides, dilations))
    pads = whole(attributes, "pads", 2 * rank, -LONGEST)
    appended = whole(attributes, "output_padding", rank, 0) or (0,) * rank
    found = tuple(_ends(analysis, node, attributes, axes, pads, appended))
    ends = tuple((begin, end) for begin, end, _ in found)
    others = tuple(tensor.name for tensor in node.inputs[1:])
    says = sorted(
        (name, *frozen(value)) for name, value in node.attrs.items() if name not in _PLACING
    )
    key: tuple[object, ...] = (*filter(None, operator), version, axes, tuple(says), others)
    if doubtful := _perhaps_empty(analysis, node, axes, ends):
        key = (*key, "perhaps nothing of", doubtful)
    if further:
        key = (*key, "and further")
        pairs = zip(axes, ends, strict=True)
        ends = tuple((begin, end - (axis.stride - 1)) for axis, (begin, end) in pairs)
        if not never_pads(ends):
            raise MeaninglessError("it appends what output_padding cannot append")
    amounts: Amounts = (*((0, 0),) * _BEFORE, *ends)
    runs = min(pads or (0,)) >= 0 and all(
        more < stride for more, stride in zip(appended, strides, strict=True)
    )
    disputed = any(is_open for _, _, is_open in found)
    bias = None if row.bias is None else node.operand(row.bias)
    layer = Layer(amounts, _fill(graph, bias, ends))
    return Passed(key, (layer,), others, runs=runs, disputed=disputed)


def _ends(
    analysis: Analysis,
    node: Node,
    attributes: dict[str, object],
    axes: tuple[WindowAxis, ...],
    pads: tuple[int, ...] | None,
    appended: tuple[int, ...],
) -> Iterator[tuple[Extent, Extent, bool]]:
    """How much the output is longer than the full result, at the begin and end of each axis.

    Where more elements are asked for than there are, the specification divides a negative number,
    and leaves open how: the third one says so. onnxruntime appends those of an `output_shape` at
    the end, and none of SAME.
    """
    rank = len(axes)
    auto_pad = attributes.get("auto_pad", "")
    if auto_pad not in _AUTO_PADS:
        raise MeaninglessError(f"auto_pad={auto_pad!r} is not specified")
    wanted = whole(attributes, "output_shape", rank, 1)
    if auto_pad not in ("", "NOTSET") and pads is not None:
        raise MeaninglessError("auto_pad and pads are both there")
    shape = analysis.shape(node.inputs[0])
    for place, (axis, more) in enumerate(zip(axes, appended, strict=True)):
        if wanted is not None or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            if wanted is None:
                # The size n cancels out of s(n - 1) + extent + output_padding - sn.
                total: Extent = axis.extent + more - axis.stride
            elif shape is None or len(shape) != _BEFORE + rank:
                raise MeaninglessError("the size of the data is unknown")
            else:
                full = axis.stride * (shape[_BEFORE + place] - 1) + axis.extent
                total = full + more - wanted[place]
            if isinstance(total, int) and total < 0:
                yield 0, more - (0 if wanted is None else total), True
                continue
            if isinstance(total, Unknown) or always(less_equal(0, total)) is not True:
                raise MeaninglessError("the full result may be shorter than the output asked for")
            half = floor_div(total, 2)
            begin = half if auto_pad == "SAME_UPPER" else total - half
            yield -begin, more - (total - begin), False
        else:
            begin, end = (pads[place], pads[rank + place]) if pads else (0, 0)
            yield -begin, more - end, False


def _perhaps_empty(
    analysis: Analysis,
    node: Node,
    axes: tuple[WindowAxis, ...],
    ends: tuple[tuple[Extent, Extent], ...],
) -> tuple[tuple[int, tuple[Extent, Extent]], ...]:
    """The axes on which the output may have no elements at some size, each with its ends."""
    shape = analysis.shape(node.inputs[0])
    if shape is None or len(shape) != _BEFORE + len(axes):
        return tuple(enumerate(ends))
    sizes = (
        axis.stride * (size - 1) + axis.extent + begin + end
        for axis, size, (begin, end) in zip(axes, shape[_BEFORE:], ends, strict=True)
    )
    return tuple(
        (place, ends[place])
        for place, size in enumerate(sizes)
        if always(less_equal(1, size)) is not True
    )


def _fill(graph: Graph, bias: Tensor | None, ends: Amounts) -> float | str:
    """The value of the line where no window reaches: that of the bias, if there is one.

    Both engines add the bias to 0, so a bias of -0.0 gives 0.0.
    """
    if bias is None or never_pads(ends):
        return 0.0
    array = graph.constant(bias)
    if array is None or not array.size or array.dtype.kind != "f":
        return fill_of_tensor(bias.name)
    values = np.unique(array)
    return float(values[0]) + 0.0 if len(values) == 1 else fill_of_tensor(bias.name)
