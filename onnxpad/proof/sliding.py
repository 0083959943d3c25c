"""What windows read that slide over layers of padding, in canonical form, and compared."""

from collections.abc import Iterator
from dataclasses import dataclass

from onnxpad.arithmetic.size import Extent, Size, always, less_equal, maximum, minimum, where
from onnxpad.arithmetic.window import (
    last_read,
    meets_data,
    output_size,
    pool_output_size,
    same_output_size,
    same_pads,
)
from onnxpad.operators.table import WindowOp
from onnxpad.proof.layers import (
    EXCLUDED,
    LEAST,
    NEGATIVE_ZERO,
    Amounts,
    Layer,
    Layers,
    around,
    count_shared,
    finite_layers,
    merged,
    same_layers,
    total_of,
    without_sign,
)
from onnxpad.reasons import Reason


class UncertifiedError(Exception):
    """The two graphs could not be shown to compute the same.

    Attributes:
        code: Why the change is taken back.
        facts: What that is about.
    """

    def __init__(self, message: str, code: Reason = Reason.NOT_CERTIFIED, **facts: object) -> None:
        """With another code where the proof is not what failed."""
        super().__init__(message)
        self.code = code
        self.facts = facts


class Comparison:
    """What two windows over layers of padding over the same data read.

    Attributes:
        inner: The layers that both have, which are as good as data.
        first: The first window in canonical form.
        second: The second one.
        same: Whether outside of the data they read the same too.
        outside: What the first reads there, in words.
        holds: The sizes that all this holds for, in words.
        differs: What differs outside, in words.
    """

    def __init__(
        self,
        one: tuple[WindowOp, Layers],
        other: tuple[WindowOp, Layers],
        sizes: tuple[Extent, ...],
        opset: int,
    ) -> None:
        """Compares them over data of such sizes.

        Raises:
            UncertifiedError: They do not read the same positions, or differ outside of the data
                where no comparison can make up for it.
        """
        (old, before), (new, after) = one, other
        common = count_shared(before, after)
        compares = old.operator.padding == "never wins"
        if compares:
            common = min(common, finite_layers(before))
        self.inner, outer, others = before[:common], before[common:], after[common:]
        self._windows = old.windows
        self._sizes = tuple(size + around(self.inner, axis) for axis, size in enumerate(sizes, 2))
        self.holds = _sizes_told(self._sizes)
        self._defined: tuple[Extent, ...] = (1,) * len(sizes)
        if old.operator.pools or old.auto_pad.startswith("SAME"):
            self._defined = _defined(self._sizes, outer, others)
        self.first, self.second = (
            _Sliding(op, layers, self._sizes, self._defined, _counts_beyond(op, opset))
            for op, layers in ((old, outer), (new, others))
        )
        for axis, (a, b) in enumerate(zip(self.first.axes, self.second.axes, strict=True), 2):
            for what, found, wanted in (
                ("the output has", b.output, a.output),
                ("the first window starts at", b.start, a.start),
            ):
                if not isinstance(wanted, int | Size) or wanted != found:
                    raise UncertifiedError(f"on axis {axis} {what} {found}, not {wanted}")
        self.outside = f"with {_told(self.first.layers)} outside"
        self.differs = (
            f"outside the data {_told(self.second.layers)} instead of {_told(self.first.layers)}"
        )
        self.same = same_layers(self.first.layers, self.second.layers)
        if not self.same and not compares:
            raise UncertifiedError(self.differs)

    def blind_axis(self) -> int | None:
        """An axis on which a window may read no data."""
        axes = zip(self._windows, self.first.axes, self._sizes, self._defined, strict=True)
        for axis, (window, read, size, some) in enumerate(axes, 2):
            last = read.start + (read.output - 1) * window.stride
            if not meets_data(window, size, read.start, last, some):
                return axis
        return None


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of a sliding window: where its first window starts, and how many there are."""

    start: Extent  # relative to the first element of the root
    output: Extent
    last: Extent  # last position read, relative to the same


class _Sliding:
    """A window over layers of padding over data of the given sizes, in canonical form.

    `layers` end where reading ends: what is never read is not told apart. Where a pool that rounds
    up reads past all padding, an outermost layer says what counts there.
    """

    def __init__(
        self,
        op: WindowOp,
        layers: Layers,
        sizes: tuple[Extent, ...],
        defined: tuple[Extent, ...],
        counts_beyond: bool,
    ) -> None:
        fills: dict[str, str | int] = {"zero": 0, "never wins": LEAST, "excluded": EXCLUDED}
        own = fills[op.padding]
        if op.operator.padding == "zero":
            # Products are added to 0.0, and powers of magnitudes have no sign. Source: onnxruntime.
            layers = without_sign(layers)
        excludes = op.operator.padding == "excluded" and not counts_beyond
        beyond: str | int = EXCLUDED if excludes else own
        axes, pads = [], []
        for axis, (window, size) in enumerate(zip(op.windows, sizes, strict=True)):
            begin = total_of(layer.amounts[axis + 2][0] for layer in layers)
            end = total_of(layer.amounts[axis + 2][1] for layer in layers)
            inner = size + begin + end
            if op.auto_pad.startswith("SAME"):
                pad = same_pads(
                    inner, window, odd="begin" if op.auto_pad == "SAME_LOWER" else "end"
                )
                output = same_output_size(inner, window)
            else:
                pad = (0, 0) if op.auto_pad == "VALID" else op.pads[axis]
                output = (
                    pool_output_size(inner, window, *pad, ceil_mode=op.ceil_mode)
                    if op.operator.pools
                    else output_size(inner, window, *pad)
                )
            pads.append(pad)
            start = -(begin + pad[0])
            axes.append(_Axis(start, output, last_read(begin + pad[0], window, output)))
        none: Amounts = ((0, 0), (0, 0))
        everything = (
            *layers,
            Layer((*none, *pads), own),
            # Wide enough to reach past whatever is read; cut to it below.
            Layer((*none, *((0, maximum(axis.last + 1, 0)) for axis in axes)), beyond),
        )
        cut = _cut(merged(everything), sizes, tuple(axes))
        self.layers = merged(tuple(_where(defined, layer) for layer in cut))
        self.axes = tuple(
            _Axis(*(_only(some, each) for each in (axis.start, axis.output, axis.last)))
            for some, axis in zip(defined, axes, strict=True)
        )


def _defined(sizes: tuple[Extent, ...], before: Layers, after: Layers) -> tuple[Extent, ...]:
    """Per axis, at which sizes the operator is defined: it admits no empty axis.

    Raises:
        UncertifiedError: It would meet an empty axis where it met none before.
    """
    defined: list[Extent] = []
    for axis, size in enumerate(sizes, 2):
        was, would = around(before, axis), around(after, axis)
        some = less_equal(1, size) if isinstance(was, int) and was == 0 else 1
        less = always(less_equal(was, would)) is not True
        if less and always(where(some, less_equal(1, size + would), 1)) is not True:
            raise UncertifiedError(f"axis {axis} may be empty, which the operator refuses")
        defined.append(some)
    return tuple(defined)


def _only(some: Extent, extent: Extent) -> Extent:
    """An extent where a condition holds, and 0 elsewhere."""
    return extent if always(some) is True else where(some, extent, 0)


def _where(defined: tuple[Extent, ...], layer: Layer) -> Layer:
    """A layer that is none at sizes of an axis at which nothing is defined."""
    spatial = (
        (_only(some, begin), _only(some, end))
        for some, (begin, end) in zip(defined, layer.amounts[2:], strict=True)
    )
    return layer._replace(amounts=(*layer.amounts[:2], *spatial))


def _counts_beyond(op: WindowOp, opset: int) -> bool:
    """Whether an average divides by its whole kernel even where that reaches past all padding.

    Source: onnxruntime; without ceil_mode that is a kernel longer than the padded line.
    """
    return op.count_include_pad and not op.ceil_mode and opset < 19


def _cut(layers: Layers, sizes: tuple[Extent, ...], axes: tuple[_Axis, ...]) -> Iterator[Layer]:
    """The layers without what lies past the last position read, crops of it among them."""
    edges = list(sizes)
    for layer in layers:
        amounts = list(layer.amounts)
        for axis, reading in enumerate(axes):
            begin, end = amounts[axis + 2]
            left = maximum(reading.last + 1 - edges[axis], 0)
            edges[axis] = edges[axis] + end
            end = minimum(end, left)
            if always(less_equal(reading.last + 1, edges[axis])) is True:
                end = maximum(end, 0)
            amounts[axis + 2] = (begin, end)
        yield Layer(tuple(amounts), layer.fill)


def _told(layers: Layers) -> str:
    names = {LEAST: "what never wins", EXCLUDED: "what is not counted", NEGATIVE_ZERO: "-0"}
    fills = [
        names[layer.fill] if isinstance(layer.fill, str) else f"{layer.fill:g}" for layer in layers
    ]
    return ", then ".join(fills) or "nothing"


def _sizes_told(sizes: tuple[Extent, ...]) -> str:
    if all(isinstance(size, int) for size in sizes):
        return "size " + "x".join(map(str, sizes))
    return "every size"
