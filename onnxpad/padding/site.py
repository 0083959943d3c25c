"""A padding site: a window operator with the `Pad` it reads, its canonical padding, and its style.

All padding of a site is first brought into one form, per spatial axis what the operator pads by
itself and what a `Pad` in front of it pads, and then expressed in the style asked for.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.analysis.unknown_sizes import spatial_sizes
from onnxpad.arithmetic.size import Extent, Size, Unknown, always, bounds, less_equal
from onnxpad.arithmetic.window import (
    AnyWindow,
    Side,
    constant_in_effect,
    end_read,
    meets_data,
    output_size,
    pool_output_size,
    same_output_size,
    same_raw_total,
)
from onnxpad.errors import ModelError
from onnxpad.fusion.pad_fusion import Fusion
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.table import (
    FLOATS,
    ExtentPair,
    PadOp,
    Pair,
    UnreadableError,
    WindowOp,
    is_negative_zero,
    is_padded,
    lowest,
    onnx_order,
    operator_of,
    pad_giving,
    read_window,
)
from onnxpad.process.memoise import remembered
from onnxpad.reasons import Reason
from onnxpad.reasons import RefusalError as RefusalError
from onnxpad.sizes.wording import Wording

Pairs: TypeAlias = tuple[Pair, ...]
Rounding: TypeAlias = tuple[bool, bool]
"""Whether an operator is a pool, and its `ceil_mode`."""

STYLES: Final = ("fold", "pad", "symmetric")

# What onnxruntime's CPU provider pads; for the rest a Pad would trade one refusal for another.
_PADDED_SINCE_11: Final = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.DOUBLE,
        TensorProto.FLOAT16,
        TensorProto.INT8,
        TensorProto.UINT8,
        TensorProto.INT32,
        TensorProto.INT64,
    }
)
_PADDED_SINCE_2: Final = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16})


class SizeDependentError(RefusalError):
    """The padding differs from size to size, and the graph fixes none.

    Attributes:
        sizes: The sizes it depends on, by axis.
    """

    def __init__(self, sizes: Mapping[int, Extent], told: str, /, **facts: object) -> None:
        """Keeps the sizes, and says what they are in words."""
        code = Reason.SIZE_DEPENDENT
        super().__init__(code, f"the pads depend on {told}", axes=list(sizes), **facts)
        self.sizes = sizes


class Outer(NamedTuple):
    """A `Pad` in front of a site that may be merged with the operator's own padding.

    Attributes:
        node: The `Pad`.
        amounts: (begin, end) per spatial axis.
        source: The tensor that it pads.
        exact: Whether the `Pad` says so itself; else it computes amounts that depend on a size, but
            what is read is what these constants would give, at every size.
    """

    node: Node
    amounts: Pairs
    source: Tensor
    exact: bool = True


class Plan(NamedTuple):
    """How a site's padding is to be written.

    Attributes:
        op: The operator as it is.
        inner: (begin, end) per spatial axis that the operator pads by itself.
        outer: (begin, end) per spatial axis that a `Pad` in front of it pads.
        source: The tensor that this `Pad`, or else the operator, reads.
        keep: The `Pad` that already does so, if there is one.
        count_include_pad: What that attribute becomes.
    """

    op: WindowOp
    inner: Pairs
    outer: Pairs
    source: Tensor
    keep: Node | None
    count_include_pad: bool


class Sites:
    """Reads the sites of one graph and writes them."""

    def __init__(self, graph: Graph, analysis: Analysis, signs: Signs) -> None:
        """Reads the graph as it is at each call."""
        self._graph = graph
        self._analysis = analysis
        self._signs = signs
        self.wording = Wording(graph, analysis)
        self.fusion = Fusion(graph, analysis, self)

    def own_pads(self, op: WindowOp) -> Pairs:
        """The operator's own padding in numbers, `auto_pad` resolved.

        SAME resolves as the specification says, where that is one constant for every admitted
        size and onnxruntime, if it runs the operator at all, computes the same.

        Raises:
            RefusalError: The pads depend on a size, or the engines disagree.
        """
        if op.auto_pad == "NOTSET":
            return op.pads
        pads = self._auto_pads(op)
        if op.pads_written and op.pads != pads and (is_padded(op.pads) or is_padded(pads)):
            does = "refuses it" if op.operator.auto_pad_excludes_pads else "heeds auto_pad"
            raise RefusalError(
                Reason.AUTO_PAD_AND_PADS,
                f"auto_pad={op.auto_pad} and pads {told(op.pads)} are both there and disagree: the "
                f"specification forbids that, onnxruntime {does}, shape inference heeds pads; "
                "remove one of them",
                auto_pad=op.auto_pad,
                pads=onnx_order(op.pads),
            )
        return pads

    def _auto_pads(self, op: WindowOp) -> Pairs:
        sizes = self._spatial(op)
        if op.auto_pad == "VALID":
            return ((0, 0),) * len(op.windows)
        odd: Side = "begin" if op.auto_pad == "SAME_LOWER" else "end"
        resolved: list[Pair] = []
        open_sizes: dict[int, Extent] = {}
        for axis, (window, size) in enumerate(zip(op.windows, sizes, strict=True), 2):
            if not isinstance(window.kernel, int):
                raise RefusalError(
                    Reason.KERNEL_UNKNOWN,
                    f"the kernel's size on axis {axis} is known only at run time",
                    axis=axis,
                )
            if isinstance(size, int) and size < 1:
                raise RefusalError(
                    Reason.DATA_EMPTY,
                    f"{op.data.name!r} is empty on axis {axis}",
                    tensor=op.data.name,
                    axis=axis,
                )
            pads = self._constant(size, window, odd)
            if pads is None:
                open_sizes[axis] = size
                continue
            if op.ceil_mode:
                output = pool_output_size(size, window, *pads, ceil_mode=True)
                if isinstance(output, Unknown) or output != same_output_size(size, window):
                    raise self._ceil_depends(op.data, axis, size)
            resolved.append(pads)
        if open_sizes:
            told_sizes = self.wording.sizes(open_sizes, op.data)
            sources = self.wording.places(open_sizes.values())
            raise SizeDependentError(open_sizes, told_sizes, sizes=sources)
        self.check_engines(op)
        crops = any(always(less_equal(w.stride, w.extent)) is not True for w in op.windows)
        if (
            crops
            and op.operator.padding == "never wins"
            and self._analysis.dtype(op.data) in FLOATS
        ):
            self.check_finite(op.data)  # a SAME of less than nothing runs in another kernel
        return tuple(resolved)

    @remembered
    def _constant(self, size: Extent, window: AnyWindow, odd: Side) -> Pair | None:
        return constant_in_effect(size, window, odd=odd)

    def check_engines(self, op: WindowOp) -> None:
        """Whether onnxruntime, if it runs a SAME operator, computes what the specification says.

        Raises:
            RefusalError: It computes something else.
        """
        odd: Side = "begin" if op.auto_pad == "SAME_LOWER" else "end"
        dilated = any(window.dilation != 1 for window in op.windows)
        if op.operator.pools:
            if any(window.dilation != 1 and window.kernel != 1 for window in op.windows):
                raise RefusalError(
                    Reason.ENGINES_DISAGREE,
                    f"{op.auto_pad} with dilation on a pool: onnxruntime pads for the undilated "
                    "kernel, the specification for the dilated one, so the sizes differ",
                    auto_pad=op.auto_pad,
                    dilations=[window.dilation for window in op.windows],
                )
            if self._pool_stops(op, dilated):
                return  # onnxruntime gives no answer below zero: writing pads is a repair
            least = -1 if odd == "end" else -2
        elif dilated:
            return  # onnxruntime refuses SAME with dilation: writing pads is a repair
        else:
            least = -2 if odd == "end" else -3
        for axis, window in enumerate(op.windows, 2):
            # The raw total is never below kernel - stride.
            if isinstance(window.kernel, int) and window.kernel - window.stride >= least:
                continue
            size = self._spatial(op)[axis - 2]
            if always(less_equal(least, same_raw_total(size, window))) is not True:
                raise RefusalError(
                    Reason.ENGINES_DISAGREE,
                    f"{op.auto_pad} with kernel {window.kernel} below stride {window.stride} on "
                    f"axis {axis}: onnxruntime starts at an inner element, the specification at "
                    "the first",
                    auto_pad=op.auto_pad,
                    axis=axis,
                    kernel=window.kernel if isinstance(window.kernel, int) else None,
                    stride=window.stride,
                )

    def _pool_stops(self, op: WindowOp, dilated: bool) -> bool:
        """Whether onnxruntime stops with an error where SAME would pad by less than nothing."""
        kind = op.operator.op_type
        if op.ceil_mode:
            return False
        if kind == "AveragePool":
            return self._graph.opset < 19
        return (
            kind == "MaxPool"
            and not dilated
            and not has_indices(op)
            and self._analysis.dtype(op.data) in {TensorProto.FLOAT, TensorProto.FLOAT16}
        )

    def outer(self, op: WindowOp) -> Outer | None:
        """The `Pad` that the operator reads, directly or through Identity, if it can be merged.

        Raises:
            RefusalError: There is a `Pad` and it cannot; the message says why.
        """
        pad = self.pad_before(op)
        return None if pad is None else self.merged(op, pad)

    def merged(self, op: WindowOp, pad: PadOp) -> Outer | None:
        """As `outer`, of the `Pad` that the operator is known to read; None if it pads nothing.

        Raises:
            RefusalError: It cannot be merged; the message says why.
        """
        full = pad.extents_over(len(op.windows) + 2)
        if full is not None and not is_padded(full):
            return None
        self.check_mergeable(op, pad)
        assert full is not None
        known = pad.over(len(op.windows) + 2)
        if known is not None:
            if min(map(min, known)) < 0:
                raise RefusalError(
                    Reason.CROPS,
                    f"it crops {told(known[2:])}: an operator's pads cannot be negative",
                    amounts=onnx_order(known),
                )
            return Outer(pad.node, known[2:], pad.data)
        return Outer(pad.node, self._in_effect(op, pad, full[2:]), pad.data, exact=False)

    def check_mergeable(self, op: WindowOp, pad: PadOp) -> None:
        """Whether an operator could pad as a `Pad` does, whatever the amounts.

        Raises:
            RefusalError: It could not; the message says why.
        """
        if pad.mode != "constant":
            raise RefusalError(
                Reason.COPIES_DATA,
                f"it copies data ({pad.mode}), which no operator's pads do",
                mode=pad.mode,
            )
        rank = len(op.windows) + 2
        full = pad.extents_over(rank)
        if full is None and pad.constant_amounts is not None and pad.axes is None:
            raise RefusalError(
                Reason.RANK_DIFFERS,
                f"its amounts are for data of {len(pad.constant_amounts)} axes, and {op.node.op} "
                f"reads data of {rank}",
                axes=len(pad.constant_amounts),
                needs=rank,
            )
        if full is None:
            raise self.wording.amounts(pad)
        if is_padded(full[:2]):
            raise RefusalError(
                Reason.PADS_BATCH_OR_CHANNELS,
                "it pads batch or channels, which no operator's pads do",
                axes=[axis for axis, pair in enumerate(full[:2]) if pair != (0, 0)],
            )
        if op.auto_pad.startswith("SAME"):
            raise RefusalError(
                Reason.SAME_STAYS,
                f"{op.auto_pad} of {op.node.op} stays, and depends on the padded size",
                auto_pad=op.auto_pad,
                operator=self._graph.label(op.node),
            )
        if has_indices(op):
            raise RefusalError(
                Reason.INDICES_READ,
                "the operator's Indices count positions of the padded tensor",
                operator=self._graph.label(op.node),
            )
        self._check_fill(op, pad)
        self.check_power(op)
        if op.padding == "excluded" and is_padded(op.pads) and op.auto_pad == "NOTSET":
            raise RefusalError(
                Reason.OWN_PADDING_UNCOUNTED,
                "the AveragePool pads by itself without counting it (count_include_pad=0), and "
                "would have to count this padding",
                operator=self._graph.label(op.node),
                pads=onnx_order(op.pads),
            )

    def _in_effect(self, op: WindowOp, pad: PadOp, amounts: Sequence[ExtentPair]) -> Pairs:
        """Constant amounts that read the same at every size as amounts that depend on one."""
        own = self.own_pads(op)
        sizes = self.spatial(pad.data, len(own))
        constants: list[Pair] = []
        rounding = op.operator.pools, op.ceil_mode
        for each in zip(op.windows, sizes, own, amounts, strict=True):
            constant = self._pair_in_effect(rounding, *each)
            if constant is None:
                raise self.wording.amounts(pad)
            constants.append(constant)
        return tuple(constants)

    @remembered
    def _pair_in_effect(
        self, rounding: Rounding, window: AnyWindow, size: Extent, own: Pair, amounts: ExtentPair
    ) -> Pair | None:
        """As `_in_effect`, on one axis; None where there are none."""
        begin, end = amounts
        if isinstance(begin, int) and isinstance(end, int):
            return begin, end
        count = windows_over(rounding, window, size + begin + end, own)
        if isinstance(begin, int) and begin >= 0 and isinstance(count, int | Size):
            _, greatest = bounds(end_read(size, window, begin + own[0], count))
            if greatest is not None:
                least = max(greatest - own[1], 0)
                if count == windows_over(rounding, window, size + begin + least, own):
                    return begin, least
        return None

    def pads_nothing(self, pad: PadOp) -> bool:
        """Whether a `Pad` gives what it reads: its amounts are 0, and are for data of its rank.

        With amounts for another rank it is an error. Where the rank is known only at run time, a
        window operator that reads the `Pad` says it too.
        """
        amounts = pad.constant_amounts
        if amounts is None or is_padded(amounts):
            return False
        shape = self._analysis.shape(pad.data)
        if pad.axes is not None or shape is not None:
            return pad.axes is not None or len(amounts) == len(shape or ())
        return any(
            use.index == 0 and self._rank_read(use.node) == len(amounts)
            for use in self._graph.uses(pad.node.outputs[0])
        )

    def _rank_read(self, node: Node) -> int | None:
        """How many axes a window operator's data has; None for other nodes."""
        if operator_of(self._graph, node) is None:
            return None
        try:
            return len(read_window(self._graph, self._analysis, node).windows) + 2
        except UnreadableError:
            return None

    def pad_before(self, op: WindowOp) -> PadOp | None:
        """The `Pad` that the operator reads, directly or through Identity."""
        return pad_giving(self._graph, self._analysis, op.data)

    def _check_fill(self, op: WindowOp, pad: PadOp) -> None:
        if pad.value is None:
            raise self.wording.fill(pad)
        negative = is_negative_zero(pad.value)
        if op.operator.padding != "never wins":
            # A sum of products cannot tell -0.0 from 0.0, nor can one of magnitudes.
            if pad.value != 0 or (negative and op.operator.padding != "zero"):
                raise RefusalError(
                    Reason.FILL_DIFFERS,
                    f"it pads with {pad.value}, {op.node.op} with 0",
                    value=pad.value,
                )
            return
        dtype = self._analysis.dtype(op.data)
        least = lowest(dtype) if dtype is not None else None
        if dtype is None or least is None:
            raise RefusalError(
                Reason.TYPE_UNKNOWN,
                f"the element type of {op.data.name!r} is not known",
                tensor=op.data.name,
            )
        if pad.value == least:
            return
        if dtype in FLOATS:
            if dtype != TensorProto.BFLOAT16 and pad.value <= _lowest_finite(dtype):
                return
            negative |= self._is_around(pad.data)
            if pad.value <= 0 and not negative and self._signs.non_negative(pad.data):
                return
        raise RefusalError(
            Reason.FILL_WINS,
            f"it pads with {pad.value}, which can win in a MaxPool whose data may be below it; "
            f"the operator's own padding never wins",
            value=pad.value,
        )

    def plan(self, op: WindowOp, style: str, outer: Outer | None) -> Plan:
        """How the site is to be written in a style.

        Raises:
            RefusalError: Its own padding is not known, or it cannot carry that form.
        """
        own = self.own_pads(op)
        if op.auto_pad != "NOTSET":
            self._check_optimiser(op, own)
        around = outer.amounts if outer is not None else ((0, 0),) * len(own)
        total = own if outer is None else add(own, around)
        inside, outside = split(total, style)
        source = outer.source if outer is not None else op.data
        exact = outer is None or outer.exact
        if exact and inside == own and outside == around:
            keep = outer.node if outer is not None else None
            return Plan(op, own, around, op.data, keep, op.count_include_pad)
        pooled = tuple(outer is None or (exact and pair == (0, 0)) for pair in around)
        self._check_form(op, own, around, inside, source, pooled)
        if not (exact and outside == around) and is_padded(outside):
            self.check_pad(source)
        counts = op.count_include_pad or (
            op.operator.padding == "excluded" and is_padded(inside) and not is_padded(own)
        )
        if counts and not op.count_include_pad and self._graph.opset < 7:
            raise RefusalError(
                Reason.OPSET_TOO_OLD,
                f"AveragePool of opset {self._graph.opset} cannot count its padding",
                opset=self._graph.opset,
                needs=7,
            )
        if counts and not op.count_include_pad:
            self._check_divisor(op, around, source)
        keep = outer.node if outer is not None and exact and outside == around else None
        return Plan(op, inside, outside, source, keep, counts)

    def folds(self, op: WindowOp, style: str) -> bool:
        """Whether the `Pad` in front of a site, if there is one, can be written in a style."""
        try:
            self.plan(op, style, self.outer(op))
        except RefusalError:
            return False
        return True

    def folded(self, op: WindowOp, pad: PadOp) -> WindowOp | str:
        """An operator of explicit pads with a `Pad` added to them, or why that is not the same."""
        try:
            outer = self.merged(op, pad)
            if outer is None:
                return op
            plan = self.plan(op, "fold", outer)
        except RefusalError as refusal:
            return str(refusal)
        if not outer.exact:
            return str(self.wording.amounts(pad))
        return op._replace(pads=plan.inner, count_include_pad=plan.count_include_pad)

    def _check_optimiser(self, op: WindowOp, own: Pairs) -> None:
        """Refuses to lay a `Pad` open to onnxruntime's optimiser where nothing can shield it.

        From opset 11 on `shield` does; before, only the `auto_pad` behind the `Pad` keeps it whole.
        """
        if self._graph.opset >= 11:
            return
        exposed = self.fusion.laid_open(op._replace(auto_pad="NOTSET", pads=own))
        if exposed is not None:
            raise RefusalError(
                Reason.OPTIMISER_FOLDS,
                f"without auto_pad onnxruntime's optimiser would fold Pad "
                f"{self._graph.label(exposed.pad.node)!r}, though {exposed.why}",
                pad=self._graph.label(exposed.pad.node),
                because=exposed.why,
            )

    def _check_form(
        self,
        op: WindowOp,
        own: Pairs,
        around: Pairs,
        inside: Pairs,
        source: Tensor,
        pooled: Sequence[bool],
    ) -> None:
        """Refuses a form that the operator cannot have, or that reads something else.

        `pooled` says of each axis whether the operator reads it now as it is in `source`.
        """
        if inside != own:
            self.check_power(op)
        if op.padding == "excluded" and op.operator.padding == "excluded" and is_padded(own):
            raise RefusalError(
                Reason.OWN_PADDING_UNCOUNTED,
                "an AveragePool with count_include_pad=0 leaves its padding out of the divisor, "
                "which no Pad can say",
                pads=onnx_order(own),
            )
        if has_indices(op):
            raise RefusalError(
                Reason.INDICES_READ, "the operator's Indices count positions of the tensor it reads"
            )
        if op.operator.pads_below_kernel and inside != own:
            for axis, (pair, window) in enumerate(zip(inside, op.windows, strict=True), 2):
                if not isinstance(window.kernel, int) or max(pair) >= window.kernel:
                    raise RefusalError(
                        Reason.PADS_NOT_BELOW_KERNEL,
                        f"the pads on axis {axis} would be {pair}, and a pool's must be smaller "
                        f"than its kernel {window.kernel}",
                        axis=axis,
                        pads=pair,
                        kernel=window.kernel if isinstance(window.kernel, int) else None,
                    )
        if not op.operator.pools:
            return
        # No pool reads an empty axis.
        either = (self.spatial(source, len(own)), self.spatial(source, len(own), 1))
        for axis, window in enumerate(op.windows):
            size = either[pooled[axis]][axis]
            total = add(own, around)[axis]
            if op.ceil_mode:
                self._check_ceil(op, source, axis, size, total, own[axis], inside[axis])
            if sum(inside[axis]) > sum(own[axis]):
                self.check_not_empty(source, axis, size + sum(total) - sum(inside[axis]))
            if op.operator.padding == "never wins":
                starts = self._starts(op, axis, size, total, own[axis])
                if not meets_data(window, size, *starts):
                    raise RefusalError(
                        Reason.WINDOW_IN_PADDING,
                        f"a window may lie wholly in the padding {total} of axis {axis + 2}, "
                        "where a Pad and the operator's own padding differ",
                        axis=axis + 2,
                        padding=total,
                    )
        if op.operator.padding == "never wins":
            self.check_finite(source)

    def check_power(self, op: WindowOp) -> None:
        """Refuses an LpPool that counts the zeros of a `Pad`, but not its own padding."""
        if op.operator.padding == "zero" and op.padding != "zero":
            raise RefusalError(
                Reason.POWER_NOT_POSITIVE,
                f"an LpPool with p={op.node.attrs.get('p')} counts the zeros of a Pad, and leaves "
                "its own padding out",
            )

    def _check_divisor(self, op: WindowOp, around: Pairs, source: Tensor) -> None:
        """Refuses where a counted kernel may reach past what it slides over."""
        if op.ceil_mode or self._graph.opset >= 19:
            return  # only positions that are there are counted
        sizes = self.spatial(source, len(around))
        for axis, (window, size, pair) in enumerate(zip(op.windows, sizes, around, strict=True), 2):
            if always(less_equal(window.extent, size + sum(pair))) is not True:
                raise RefusalError(
                    Reason.DIVISOR_DIFFERS,
                    f"the kernel may be longer than axis {axis} with its padding, and before opset "
                    "19 an AveragePool that counts its padding then divides by the whole kernel",
                    axis=axis,
                    opset=self._graph.opset,
                )

    def _is_around(self, tensor: Tensor) -> bool:
        """Whether `Pad`s have put -0.0 around a tensor, which a 0 next to it may win against."""
        while (pad := pad_giving(self._graph, self._analysis, tensor)) is not None:
            if pad.mode == "constant" and is_negative_zero(pad.value):
                return True
            tensor = pad.data
        return False

    def check_not_empty(self, source: Tensor, axis: int, size: Extent) -> None:
        """Refuses a pool that would read what may be empty, which engines refuse too."""
        if always(less_equal(1, size)) is not True:
            raise RefusalError(
                Reason.MAY_BE_EMPTY,
                f"without its Pad the pool may read nothing on axis {axis + 2} of {source.name!r}",
                axis=axis + 2,
                tensor=source.name,
            )

    def _starts(
        self, op: WindowOp, axis: int, size: Extent, total: Pair, own: Pair
    ) -> tuple[Extent, Extent]:
        """Where the first and the last window start, counted from the first element."""
        window, inner = op.windows[axis], size + sum(total) - sum(own)
        output = pool_output_size(inner, window, *own, ceil_mode=op.ceil_mode)
        return -total[0], (output - 1) * window.stride - total[0]

    def check_finite(self, source: Tensor) -> None:
        """Refuses what reads infinities: which form keeps them depends on where they lie."""
        origin = self._signs.infinite(source)
        if origin is not None:
            raise RefusalError(
                Reason.INFINITE_DATA,
                f"{source.name!r} holds infinities, from {origin.name!r}, and a window of nothing "
                "else differs between the two forms",
                tensor=source.name,
                origin=origin.name,
            )

    def _check_ceil(
        self,
        op: WindowOp,
        source: Tensor,
        axis: int,
        size: Extent,
        total: Pair,
        own: Pair,
        inside: Pair,
    ) -> None:
        def count(pads: Pair) -> Extent:
            inner = size + (total[0] - pads[0]) + (total[1] - pads[1])
            return pool_output_size(inner, op.windows[axis], *pads, ceil_mode=True)

        was, would = count(own), count(inside)
        if isinstance(was, int | Size) and was == would:
            return
        if isinstance(was, int) and isinstance(would, int):
            raise RefusalError(
                Reason.CEIL_WINDOWS_DIFFER,
                f"with ceil_mode the output has {was} elements on axis {axis + 2}, and would have "
                f"{would}: a last window that starts in the operator's own padding is dropped",
                axis=axis + 2,
                windows=was,
                would_be=would,
            )
        raise self._ceil_depends(source, axis + 2, size)

    def _ceil_depends(self, source: Tensor, axis: int, size: Extent) -> RefusalError:
        """The refusal of a pool that rounds up by a size that is not fixed."""
        return RefusalError(
            Reason.SIZE_DEPENDENT,
            "with ceil_mode the number of windows depends on "
            f"{self.wording.sizes({axis: size}, source)}"
            f"{self.wording.advice_on({axis: size}, source)}",
            axes=[axis],
            sizes=self.wording.places([size]),
            ceil_mode=1,
        )

    def check_pad(self, source: Tensor) -> None:
        """Whether onnxruntime has a `Pad` for a tensor.

        Raises:
            RefusalError: It has none.
        """
        opset, dtype = self._graph.opset, self._analysis.dtype(source)
        if opset < 2:
            raise RefusalError(
                Reason.OPSET_TOO_OLD, "opset 1 has no Pad that onnxruntime runs", opset=1, needs=2
            )
        if dtype not in (_PADDED_SINCE_2 if opset < 11 else _PADDED_SINCE_11):
            kind = TensorProto.DataType.Name(dtype).lower() if dtype is not None else "unknown"
            raise RefusalError(
                Reason.NO_PAD_FOR_TYPE,
                f"onnxruntime has no Pad for element type {kind} at opset {opset}",
                type=kind,
                opset=opset,
            )

    def express(self, plan: Plan) -> None:
        """Writes a site as planned; what this leaves unused is for `Graph.sweep`."""
        graph, node = self._graph, plan.op.node
        attributes: dict[str, object | None] = {}
        if plan.op.auto_pad != "NOTSET":
            attributes["auto_pad"] = None
        if plan.inner != plan.op.pads or plan.op.auto_pad != "NOTSET":
            written = is_padded(plan.inner) or plan.op.pads_written
            attributes["pads"] = onnx_order(plan.inner) if written else None
        if plan.count_include_pad != plan.op.count_include_pad:
            attributes["count_include_pad"] = int(plan.count_include_pad)
        if attributes:
            graph.set_attributes(node, attributes)
        if plan.keep is not None:
            return
        source = plan.source
        if is_padded(plan.outer):
            amounts = onnx_order(((0, 0), (0, 0), *plan.outer))
            source = self.insert_pad(plan.op, source, amounts)
        if source.name != node.inputs[0].name:
            graph.set_input(node, 0, source)

    def insert_pad(self, op: WindowOp, source: Tensor, amounts: Tensor | Sequence[int]) -> Tensor:
        """A new `Pad` before an operator, with the value that its own padding amounts to.

        `amounts` cover all axes, in ONNX order, or are the tensor that holds them. Returns what the
        `Pad` gives.
        """
        graph, node = self._graph, op.node
        dtype = self._analysis.dtype(source)
        assert dtype is not None
        fill = lowest(dtype) if op.operator.padding == "never wins" else 0
        assert fill is not None
        name = f"{node.name or node.outputs[0].name}_pad"
        if graph.opset < 11:
            attributes = {"mode": "constant", "pads": amounts, "value": float(fill)}
            return graph.insert("Pad", [source], attributes, before=node, name=name)
        if not isinstance(amounts, Tensor):
            amounts = graph.add_initializer(np.asarray(amounts, np.int64), f"{name}_pads")
        inputs = [source, amounts]
        if fill != 0:
            value = np.asarray(fill, tensor_dtype_to_np_dtype(dtype))
            inputs.append(graph.add_initializer(value, f"{name}_value"))
        return graph.insert("Pad", inputs, {"mode": "constant"}, before=node, name=name)

    def _spatial(self, op: WindowOp) -> tuple[Extent, ...]:
        # Neither a pool nor SAME is defined on an empty axis.
        least = 1 if op.operator.pools or op.auto_pad.startswith("SAME") else 0
        return self.spatial(op.data, len(op.windows), least)

    def spatial(self, tensor: Tensor, axes: int, least: int = 0) -> tuple[Extent, ...]:
        """The spatial sizes of a tensor; a symbol of its own for each that only run time knows.

        Such a symbol starts at `least`, or later where no such tensor is that short.

        Raises:
            ModelError: It has another number of axes.
        """
        shape = self._analysis.shape(tensor)
        if shape is not None and len(shape) != axes + 2:
            raise ModelError(
                f"{tensor.name!r} has {len(shape)} axes, but a window over {axes} reads it, "
                f"which takes {axes + 2}; correct the model or export it again"
            )
        return spatial_sizes(self._graph, tensor, shape, axes, least)


def windows_over(rounding: Rounding, window: AnyWindow, size: Extent, own: Pair) -> Extent:
    """How many windows an operator has on an axis of a size, padded by its own pads."""
    pools, ceil_mode = rounding
    if pools:
        return pool_output_size(size, window, *own, ceil_mode=ceil_mode)
    return output_size(size, window, *own)


def split(total: Pairs, style: str) -> tuple[Pairs, Pairs]:
    """(inside, outside): what the operator pads and what a `Pad` in front of it pads."""
    if style == "fold":
        inside = total
    elif style == "pad":
        inside = ((0, 0),) * len(total)
    else:
        inside = tuple((min(pair), min(pair)) for pair in total)
    return inside, tuple((b - i, e - j) for (b, e), (i, j) in zip(total, inside, strict=True))


def add(one: Pairs, other: Pairs) -> Pairs:
    """The sum, axis by axis and side by side."""
    return tuple((b0 + b1, e0 + e1) for (b0, e0), (b1, e1) in zip(one, other, strict=True))


def has_indices(op: WindowOp) -> bool:
    """Whether the operator also gives the positions of its maxima."""
    return len(op.node.outputs) > 1 and bool(op.node.outputs[1].name)


@lru_cache(maxsize=1024)
def told(pairs: Pairs) -> str:
    """Pads for people: `(begin, end)` per axis."""
    return " ".join(f"({begin}, {end})" for begin, end in pairs)


def _lowest_finite(dtype: int) -> float:
    return float(np.finfo(tensor_dtype_to_np_dtype(dtype)).min)
