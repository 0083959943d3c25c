"""Proof that a rewritten graph computes the same: what is read is derived twice and compared.

For a tensor of the graph before a change, and for the tensor that stands for it after, this module
derives what each element is made of: the positions that a window reads, what lies there when a
position is outside the data, and which positions an average counts. It decides nothing and knows
no pass.
"""

from typing import Final, NamedTuple

from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.analysis.unknown_sizes import spatial_sizes
from onnxpad.arithmetic.size import Extent, Unknown, always, less_equal, minimum
from onnxpad.errors import ModelError
from onnxpad.finding import Certificate
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.table import (
    FLOATS,
    PadOp,
    UnreadableError,
    WindowOp,
    is_padded,
    lowest,
    operator_of,
    read_pad,
    read_window,
)
from onnxpad.proof.layers import (
    LEAST,
    Amounts,
    Layer,
    Layers,
    count_shared,
    fill_of,
    merged,
    same_layers,
)
from onnxpad.proof.sliding import Comparison
from onnxpad.proof.sliding import UncertifiedError as UncertifiedError

_SLIDING: Final = frozenset(
    {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"}
)
# A longer row of Pads is proved piece by piece, or all of it would be read again for each of them.
_MOST_PADS: Final = 16
FINITE: Final = "finite data"
"""An assumption: not every form of a maximum keeps a window of -inf."""
_LOWEST_FINITE: Final = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE}


class Reading(NamedTuple):
    """What the elements of a tensor are made of.

    Attributes:
        root: Name of the tensor that is read.
        layers: Constant paddings around it, from the inside out, over all axes.
        opaque: A padding that is no layer, outermost (it copies data, or crops what may be too
            short): how it pads, and how much.
        op: The window that slides over all this, or None.
        beside: What that operator says and reads beside its window and its data.
        direct: Name of the tensor that the operator itself reads.
    """

    root: str
    layers: Layers
    opaque: tuple[str, Amounts] | None
    op: WindowOp | None
    beside: tuple[object, ...]
    direct: str


class Certifier:
    """Derives readings of tensors of one graph, and compares them."""

    def __init__(self, graph: Graph, analysis: Analysis, signs: Signs) -> None:
        """Reads the graph as it is at each call; keeps nothing of it but the sizes."""
        self._graph = graph
        self._analysis = analysis
        self._signs = signs
        self._compared: dict[tuple[object, ...], Comparison] = {}

    def window(self, tensor: Tensor, root: str = "") -> Reading:
        """What the elements of a window operator's first output are made of, back to `root`.

        Raises:
            UncertifiedError: Its producer is no such operator, or cannot be read.
        """
        node = self._graph.producer(tensor)
        if node is None or operator_of(self._graph, node) is None:
            raise UncertifiedError(f"nothing computes {tensor.name!r} by a sliding window")
        if tensor.name != node.outputs[0].name:
            raise UncertifiedError(f"{tensor.name!r} is not the operator's first output")
        try:
            op = read_window(self._graph, self._analysis, node)
            return self._read_padding(op.data, op, root)
        except (UnreadableError, ModelError) as error:
            raise UncertifiedError(str(error)) from error

    def padding(self, tensor: Tensor, root: str = "") -> Reading:
        """What the elements of a tensor are made of, through the `Pad`s behind it, back to `root`.

        Raises:
            UncertifiedError: One of them says something that cannot be read.
        """
        try:
            reading = self._read_padding(tensor, None, root)
        except (UnreadableError, ModelError) as error:
            raise UncertifiedError(str(error)) from error
        if not root and reading.root == tensor.name:
            raise UncertifiedError(f"what {tensor.name!r} is padded with is not known")
        return reading

    def _read_padding(self, tensor: Tensor, op: WindowOp | None, root: str) -> Reading:
        layers: list[Layer] = []
        opaque = None
        current = tensor
        rank = None if op is None else len(op.windows) + 2
        seen = 0
        # Indices count positions of the tensor that is pooled, so nothing further up is the same.
        while current.name != root and (op is None or not _has_indices(op.node)):
            current = self._graph.origin(current)
            node = self._graph.producer(current) if current.name != root else None
            if node is None or node.op != "Pad" or not self._graph.is_standard(node):
                break
            seen += 1
            if not root and seen > _MOST_PADS:
                break
            pad = read_pad(self._graph, self._analysis, node)
            empty = pad.constant_amounts is not None and not is_padded(pad.constant_amounts)
            if empty and self._fits(pad, rank):
                current = pad.data
                continue
            full = _full(pad, rank if rank is not None else self._rank(pad))
            if empty and op is None and not layers:
                # It may be an error, so it is told apart from none.
                opaque = "nothing, if the rank fits", pad.amounts or ()
                current = pad.data
                break
            if empty or (op is not None and (full is None or is_padded(full[:2]))):
                break
            layer = self._layer(pad, full)
            if full is None or layer is None:
                if op is None and not layers and (found := _opaque(pad, full)) is not None:
                    opaque = found
                    current = pad.data
                break
            layers.append(layer)
            current = pad.data
            rank = len(full)
        beside = () if op is None else _beside(op.node)
        return Reading(current.name, tuple(reversed(layers)), opaque, op, beside, tensor.name)

    def _fits(self, pad: PadOp, rank: int | None) -> bool:
        """Whether the amounts of a `Pad` are for data of the rank that it reads.

        That is what the analysis says, or what window operators that read the `Pad` slide over.
        """
        amounts = pad.amounts or ()
        if rank is not None or pad.axes is not None:
            return pad.axes is not None or len(amounts) == rank
        shape = self._analysis.shape(pad.data)
        if shape is not None:
            return len(amounts) == len(shape)
        ranks = [
            len(read_window(self._graph, self._analysis, use.node).windows) + 2
            for use in self._graph.uses(pad.node.outputs[0])
            if use.index == 0 and operator_of(self._graph, use.node) is not None
        ]
        return len(amounts) in ranks

    def _rank(self, pad: PadOp) -> int | None:
        if pad.axes is None and pad.amounts is not None:
            return len(pad.amounts)
        shape = self._analysis.shape(pad.data)
        return None if shape is None else len(shape)

    def _layer(self, pad: PadOp, full: Amounts | None) -> Layer | None:
        """The layer that a `Pad` lays; None where it cannot be reasoned about.

        A crop must not reach past the other side.
        """
        if full is None or pad.mode != "constant" or pad.value is None:
            return None
        layer = Layer(full, fill_of(pad.value))
        known = pad.constant_amounts
        if known is not None and min(map(min, known), default=0) >= 0:
            return layer
        crops = [minimum(begin, 0) + minimum(end, 0) for begin, end in full]
        if all(crop == 0 for crop in crops):
            return layer
        shape = self._analysis.shape(pad.data)
        fits = shape is not None and all(
            crop == 0 or always(less_equal(0, size + crop)) is True
            for size, crop in zip(shape, crops, strict=True)
        )
        return layer if fits else None

    def certify(self, before: Reading, after: Reading) -> Certificate:
        """Why two readings are the same for every admitted size.

        Raises:
            UncertifiedError: They differ, or could not be compared; the message says how.
        """
        if before.root != after.root:
            raise UncertifiedError(f"reads {after.root!r} where the original reads {before.root!r}")
        if before.opaque != after.opaque:
            raise UncertifiedError("the copied padding differs")
        if (before.op is None) != (after.op is None):
            raise UncertifiedError("the operator is gone")
        if before.op is None or after.op is None:
            shared = count_shared(before.layers, after.layers)
            if merged(before.layers[shared:]) != merged(after.layers[shared:]):
                raise UncertifiedError("the padding differs")
            return Certificate(
                f"{before.direct!r} holds the same elements of {before.root!r}, and the same fill, "
                "at the same places"
            )
        return self._certify_window(before, before.op, after, after.op)

    def _certify_window(
        self, before: Reading, old: WindowOp, after: Reading, new: WindowOp
    ) -> Certificate:
        before_window = (old.operator, old.windows, before.beside)
        if before_window != (new.operator, new.windows, after.beside):
            raise UncertifiedError("the window itself differs")
        if _overrides(new) and not _overrides(old):
            raise UncertifiedError("auto_pad and pads are both there, and engines heed either")
        if _has_indices(old.node) and before.direct != after.direct:
            raise UncertifiedError("the indices count positions of another tensor")
        sizes = self._sizes(before.root, len(old.windows))
        # Networks repeat themselves.
        key = (_slides(old), before.layers, _slides(new), after.layers, sizes)
        found = self._compared.get(key)
        if found is None:
            found = self._compared[key] = Comparison(
                (old, before.layers), (new, after.layers), sizes, self._graph.opset
            )
        statement = f"each window reads the same positions of {before.root!r}, {found.outside}"
        root = self._graph.tensor(before.root)
        if found.same:
            assumptions = self._check_crop(old, new, root)
        else:
            assumptions = self._check_losing(root, found)
        return Certificate(statement, found.holds, tuple(sorted(assumptions)))

    def _check_crop(self, old: WindowOp, new: WindowOp, root: Tensor) -> set[str]:
        """What has to be assumed for a SAME and its pads to be the same maximum.

        Where SAME may stand for less padding than none, onnxruntime runs another kernel, of which
        some keep -inf and some give the lowest number.

        Raises:
            UncertifiedError: It does not hold.
        """
        if not _crops(old, new) or self._analysis.dtype(root) not in {None, *FLOATS}:
            return set()
        if self._signs.infinite(root) is not None:
            raise UncertifiedError(f"{root.name!r} holds infinities")
        return {FINITE}

    def _check_losing(self, root: Tensor, found: Comparison) -> set[str]:
        """What has to be assumed for both sides to be filled with what loses every comparison.

        Raises:
            UncertifiedError: They are not, or a window may read nothing else.
        """
        assumptions: set[str] = set()
        if self._signs.infinite(root) is not None:
            raise UncertifiedError(f"{root.name!r} holds infinities")
        floor = all(
            isinstance(layer.fill, int | float) and layer.fill >= 0 for layer in found.inner
        )
        losing, lost = (
            merged(tuple(self._losing(layer, root, floor, assumptions) for layer in each.layers))
            for each in (found.first, found.second)
        )
        if not same_layers(losing, lost):
            raise UncertifiedError(found.differs)
        if (axis := found.blind_axis()) is not None:
            raise UncertifiedError(f"on axis {axis} a window may lie wholly in the padding")
        return assumptions

    def _losing(self, layer: Layer, root: Tensor, floor: bool, assumptions: set[str]) -> Layer:
        """The layer with a fill that loses every comparison called so.

        `floor` says whether what already lies around the root is not below zero.
        """
        dtype = self._analysis.dtype(root)
        if layer.fill == LEAST or dtype is None or isinstance(layer.fill, str):
            return layer
        least = lowest(dtype)
        if dtype in FLOATS:
            if layer.fill == least or (dtype in _LOWEST_FINITE and layer.fill <= _finite(dtype)):
                assumptions.add(FINITE)
                return layer._replace(fill=LEAST)
            if layer.fill <= 0 and floor and self._signs.non_negative(root):
                assumptions.add(FINITE)
                return layer._replace(fill=LEAST)
            return layer
        return layer._replace(fill=LEAST) if layer.fill == least else layer

    def _sizes(self, root: str, axes: int) -> tuple[Extent, ...]:
        """The spatial sizes of a tensor; fresh symbols where only run time knows them."""
        tensor = self._graph.tensor(root)
        shape = self._analysis.shape(tensor)
        if shape is not None and len(shape) != axes + 2:
            raise UncertifiedError(f"{root!r} has {len(shape)} axes, the window {axes}")
        return spatial_sizes(self._graph, tensor, shape, axes)


def _opaque(pad: PadOp, full: Amounts | None) -> tuple[str, Amounts] | None:
    """A padding word for word; None where nothing is known of an amount."""
    amounts = full if full is not None else pad.amounts
    if amounts is None or any(isinstance(n, Unknown) for pair in amounts for n in pair):
        return None
    manner = [pad.mode]
    if pad.mode == "constant":
        manner.append(str(pad.value) if pad.value is not None else pad.node.inputs[2].name)
    if full is None:
        manner.append(str(pad.axes))
    return " ".join(manner), amounts


def _full(pad: PadOp, rank: int | None) -> Amounts | None:
    return None if rank is None else pad.extents_over(rank)


def _finite(dtype: int) -> float:
    import numpy as np

    return float(np.finfo(tensor_dtype_to_np_dtype(dtype)).min)


def _has_indices(node: Node) -> bool:
    return len(node.outputs) > 1 and bool(node.outputs[1].name)


def _crops(old: WindowOp, new: WindowOp) -> bool:
    """Whether a maximum gets or loses a SAME that may stand for less padding than none."""
    return (
        old.operator.padding == "never wins"
        and old.auto_pad.startswith("SAME") != new.auto_pad.startswith("SAME")
        and any(always(less_equal(each.stride, each.extent)) is not True for each in old.windows)
    )


def _overrides(op: WindowOp) -> bool:
    """Whether it says its padding twice, which the specification forbids."""
    return op.auto_pad != "NOTSET" and op.pads_written


def _slides(op: WindowOp) -> tuple[object, ...]:
    """All that says how an operator slides and pads."""
    kind = op.operator.op_type
    return (kind, op.windows, op.auto_pad, op.pads, op.ceil_mode, op.count_include_pad)


def _beside(node: Node) -> tuple[object, ...]:
    """All but the window and its padding; written down, since an edit leaves the node itself."""
    others = {name: value for name, value in node.attrs.items() if name not in _SLIDING}
    return (others, *[tensor.name for tensor in node.inputs[1:]])
