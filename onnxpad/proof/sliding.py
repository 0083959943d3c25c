"""Compares two windows over padded data: do they read the same?

For each engine, both are brought into a canonical form: where the first window starts, how many
windows there are, and which fills they read outside of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from onnxpad.arithmetic.residue_table import residue_table
from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    always,
    equal,
    less_equal,
    maximum,
    minimum,
    where,
)
from onnxpad.facts import Later
from onnxpad.finding import Trust
from onnxpad.proof.layers import (
    EXCLUDED,
    LEAST,
    NEGATIVE_ZERO,
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
from onnxpad.proof.meaning import SlideSpec, WindowAxis
from onnxpad.proof.windows_by_engine import ENGINE_OF, ENGINES, SPECIFICATION, AxisWindows
from onnxpad.reasons import Reason
from onnxpad.records import NamedTuple, dataclass

_BothPlaced: TypeAlias = tuple[list[AxisWindows], list[AxisWindows]]
"""The windows of a pair, along each axis."""

_FILLS: Final = {
    LEAST: "a value that never wins",
    EXCLUDED: "uncounted padding",
    NEGATIVE_ZERO: "-0",
}


class UncertifiedError(Exception):
    """The two graphs could not be shown to compute the same.

    Attributes:
        code: The reason to take the change back.
        facts: The names, axes and numbers concerned.
    """

    def __init__(self, message: str, code: Reason = Reason.NOT_CERTIFIED, **facts: object) -> None:
        """Takes another code where something other than the proof failed."""
        super().__init__(message)
        self.code = code
        self.facts = facts


class PaddedWindow(NamedTuple):
    """A window operator, and the layers of padding around the data that it slides over."""

    slide: SlideSpec
    layers: Layers


class WindowPair:
    """Two windows over layers of padding over the same data.

    Attributes:
        pair: Both windows; a cache that knows them by identity keeps them alive by this.
        inner: The inner layers that both share; they are treated as data.
        readings: The pair according to each engine that runs the first window.
        is_repair: Whether onnxruntime does not run the first window.
        trust: Whose reading of the first window counts, where the engines disagree about it.
        holds: The sizes for which the comparison holds; None for every size of an axis.
    """

    def __init__(
        self,
        old: PaddedWindow,
        new: PaddedWindow,
        sizes: tuple[Extent, ...],
        dtype: int | None,
        trust: Trust | None = None,
    ) -> None:
        """Compares both windows over data of these sizes and this element type.

        With `trust`, both engines must read the new window as that one reads the old.

        Raises:
            UncertifiedError: They do not read the same positions, or they read different fills and
                do not take a maximum, in which these might lose.
        """
        self.pair = old, new
        common = count_shared(old.layers, new.layers)
        if old.slide.compares:
            common = min(common, finite_layers(old.layers))
        self.inner = old.layers[:common]
        axes = zip(old.slide.spatial, sizes, strict=True)
        inner = tuple(size + around(self.inner, axis) for axis, size in axes)
        self.holds = known_sizes(inner)
        outer = [each._replace(layers=each.layers[common:]) for each in (old, new)]
        self.readings: list[EngineReading] = []
        self.is_repair = False
        self.trust = trust
        for engine in ENGINES:
            judge = engine if trust is None else ENGINE_OF[trust]
            first = _placed(judge, outer[0], inner, dtype)
            second = _placed(engine, outer[1], inner, dtype)
            if first is None and self.readings:
                self.is_repair = True  # the specification alone decides
                continue
            if first is None or second is None:
                which = "the original" if first is None else "the rewritten node"
                who = judge if first is None else engine
                raise UncertifiedError(f"{who} does not run {which}", engine=who)
            placed = first, second
            if engine == "onnxruntime" and old.slide.row.rounds_whole_apart:
                _check_whole(outer, placed, inner)
            if self.readings and self.readings[0].is_as(engine, placed):
                continue
            self.readings.append(EngineReading((judge, engine), outer, placed, inner))

    @cached_property
    def same(self) -> bool:
        """Whether they read the same fills outside of the data too."""
        return all(each.same for each in self.readings)

    @cached_property
    def facts(self) -> Mapping[str, object]:
        """The first of the readings, as data."""
        facts = {**self.readings[0].facts(), "repair": self.is_repair}
        return facts if self.trust is None else {**facts, "trusts": str(self.trust)}


def compared(
    old: PaddedWindow,
    new: PaddedWindow,
    sizes: tuple[Extent, ...],
    dtype: int | None,
    trust: Trust | None,
) -> WindowPair:
    """Compares two windows according to both engines, or if they disagree, to the trusted one.

    Raises:
        UncertifiedError: The windows are not the same, or the engines do not disagree about the
            old one.
    """
    disputed = (
        says_twice(old.slide) and not says_twice(new.slide) and not _agree(old, new, sizes, dtype)
    )
    try:
        if not disputed:
            found = WindowPair(old, new, sizes, dtype)
            if found.same or trust is None or not _is_disputed(old, sizes, dtype):
                return found
    except UncertifiedError:
        if trust is None or not _is_disputed(old, sizes, dtype):
            raise
    if trust is None:
        raise UncertifiedError("auto_pad and pads are both there and disagree")
    if disputed and trust is Trust.SPEC:
        raise UncertifiedError("auto_pad and pads are both there, which the specification forbids")
    return WindowPair(old, new, sizes, dtype, trust)


def says_twice(slide: SlideSpec) -> bool:
    """Whether a node has both `auto_pad` and `pads`, which the specification forbids."""
    return slide.auto_pad != "NOTSET" and slide.pads_written


def _agree(
    old: PaddedWindow, new: PaddedWindow, sizes: tuple[Extent, ...], dtype: int | None
) -> bool:
    """Whether the `pads` of the old window say the same as the new one."""
    explicit = old._replace(slide=old.slide._replace(auto_pad="NOTSET"))
    try:
        WindowPair(explicit, new, sizes, dtype)
    except UncertifiedError:
        return False
    return True


def _is_disputed(window: PaddedWindow, sizes: tuple[Extent, ...], dtype: int | None) -> bool:
    """Whether both engines run a window, and place or fill it differently."""
    specified, ours = (_placed(engine, window, sizes, dtype) for engine in ENGINES)
    if specified is None or ours is None:
        return False
    if any(
        (one.begin, one.windows) != (other.begin, other.windows)
        for one, other in zip(specified, ours, strict=True)
    ):
        return True
    anywhere = (1,) * len(sizes)
    forms = [
        _Canonical(engine, window, placed, sizes, anywhere)
        for engine, placed in zip(ENGINES, (specified, ours), strict=True)
    ]
    return forms[0].layers != forms[1].layers


class EngineReading:
    """Two windows over layers of padding, in canonical form, according to one engine.

    Attributes:
        engine: The engine that reads the second window.
        first: The first window.
        second: The second one.
        same: Whether they read the same fills outside of the data too.
        outside: The fills that the first one reads there, in words.
        differs: How the fills differ, in words.
    """

    def __init__(
        self,
        engines: tuple[str, str],
        pair: list[PaddedWindow],
        placed: _BothPlaced,
        sizes: tuple[Extent, ...],
    ) -> None:
        """Compares both windows, each as one of the engines reads it, over data of these sizes.

        Raises:
            UncertifiedError: They do not read the same positions.
        """
        self.engine = engine = engines[1]
        self._placed = placed
        self._axis_names = pair[0].slide.spatial
        self._windows = pair[0].slide.axes
        self._sizes = sizes
        defined: list[Extent] = []
        for axis, old, new in zip(self._axis_names, *placed, strict=True):
            some = 1 if isinstance(old.runs, Unknown) else old.runs
            if always(where(some, new.runs, 1)) is not True:
                raise UncertifiedError(
                    f"axis {axis} may be empty, or SAME may have to crop it, "
                    f"which {engine} refuses",
                    engine=engine,
                    axis=axis,
                )
            defined.append(some)
        self._defined = tuple(defined)
        self.first, self.second = (
            _Canonical(by, each, its, sizes, self._defined)
            for by, each, its in zip(engines, pair, placed, strict=True)
        )
        told = "" if engine == SPECIFICATION else f"according to {engine}, "
        axes = zip(self._axis_names, self.first.axes, self.second.axes, strict=True)
        for axis, wanted, found in axes:
            for what, is_, was in (
                ("the output has", found.output, wanted.output),
                ("the first window starts at", found.start, wanted.start),
            ):
                if not isinstance(was, int | Size) or was != is_:
                    raise UncertifiedError(
                        f"{told}on axis {axis} {what} {is_}, not {was}",
                        engine=engine,
                        axis=axis,
                        found=str(is_),
                        wanted=str(was),
                    )
        self.outside = f"with {_text(self.first.layers)} outside"
        self.differs = (
            f"outside the data {_text(self.second.layers)} instead of {_text(self.first.layers)}"
        )
        self.same = same_layers(self.first.layers, self.second.layers)
        if not self.same and not pair[0].slide.compares:
            raise UncertifiedError(f"{told}{self.differs}", engine=engine)

    def is_as(self, engine: str, placed: _BothPlaced) -> bool:
        """Whether another engine reads the pair in exactly the same way."""
        return placed == self._placed and not any(
            each.is_apart(engine) for each in (self.first, self.second)
        )

    def blind_axis(self) -> int | None:
        """An axis on which a window may read no data."""
        axes = zip(
            self._axis_names,
            self._windows,
            self.first.axes,
            self._sizes,
            self._defined,
            strict=True,
        )
        for axis, window, read, size, some in axes:
            last = read.start + (read.output - 1) * window.stride
            if not _meets_data(window, size, read.start, last, some):
                return axis
        return None

    def facts(self) -> dict[str, object]:
        """The first window as data: start, number of windows, fills outside of the data."""
        axes = [*zip(self._axis_names, self.first.axes, self._sizes, self._windows, strict=True)]
        return {
            "axes": Later(_axes_facts, axes),
            "outside": [layer.fill for layer in self.first.layers],
        }


@dataclass(frozen=True, slots=True)
class _Reach:
    """One axis of a sliding window: where the first window starts, and how many there are."""

    start: Extent  # relative to the first element of the root
    output: Extent
    last: Extent  # last position read, relative to the same


class _Canonical:
    """A window over layers of padding over data of the given sizes, in canonical form.

    `layers` end at the last position read: padding that is never read makes no difference. Where a
    pool that rounds up reads past all padding, an outermost layer has the fill that counts there.
    """

    def __init__(
        self,
        engine: str,
        padded: PaddedWindow,
        placed: list[AxisWindows],
        sizes: tuple[Extent, ...],
        defined: tuple[Extent, ...],
    ) -> None:
        slide, layers = padded
        self._slide = slide
        if slide.row.loses_signs:
            # Conv adds products to 0.0, and LpPool takes powers of magnitudes: neither shows the
            # sign of a zero. Source: onnxruntime.
            layers = without_sign(layers)
        excludes = slide.row.own == EXCLUDED and not self.is_apart(engine)
        axes = []
        for axis, window, each in zip(slide.spatial, slide.axes, placed, strict=True):
            inside = total_of(layer.amounts[axis][0] for layer in layers) + each.begin
            last = (each.windows - 1) * window.stride + window.extent - 1 - inside
            axes.append(_Reach(-inside, each.windows, last))
        everything = (
            *layers,
            Layer(slide.over((each.begin, each.end) for each in placed), slide.own),
            # Wide enough to reach past the last position read; `_cut` shortens it.
            Layer(
                slide.over((0, maximum(axis.last + 1, 0)) for axis in axes),
                EXCLUDED if excludes else slide.own,
            ),
        )
        cut = _cut(merged(everything), sizes, tuple(axes), slide.before)
        self.layers = merged(tuple(_where(defined, layer, slide) for layer in cut))
        self.axes = tuple(
            _Reach(*(_only(some, each) for each in (axis.start, axis.output, axis.last)))
            for some, axis in zip(defined, axes, strict=True)
        )

    def is_apart(self, engine: str) -> bool:
        """Whether an average divides by its whole kernel even where that reaches past all padding.

        Source: onnxruntime. A quantised average that counts its padding always does so. Others do
        before opset 19 and without ceil_mode, for a kernel longer than the padded line, for which
        the specification has no window.
        """
        slide = self._slide
        counts = slide.row.own == EXCLUDED and slide.counts
        always_whole = slide.row.zero_point is not None
        whole = always_whole or (slide.version < 19 and not slide.ceil_mode)
        return engine == "onnxruntime" and counts and whole


def _placed(
    engine: str, padded: PaddedWindow, sizes: tuple[Extent, ...], dtype: int | None
) -> list[AxisWindows] | None:
    """The windows on each axis; None where the engine runs the operator at no size."""
    found: list[AxisWindows] = []
    for axis, size in enumerate(sizes):
        inner = size + around(padded.layers, padded.slide.spatial[axis])
        placed = ENGINES[engine](padded.slide, axis, inner, dtype)
        if placed is None or always(placed.runs) is False:
            return None
        found.append(placed)
    return found


def _check_whole(pair: list[PaddedWindow], placed: _BothPlaced, sizes: tuple[Extent, ...]) -> None:
    """Checks that two windows cover all data without padding at no size.

    Raises:
        UncertifiedError: They may, and onnxruntime then rounds otherwise.
    """
    defined = [1 if isinstance(old.runs, Unknown) else old.runs for old in placed[0]]
    both = (
        [_only(some, each) for some, each in zip(defined, _whole(one, its, sizes), strict=True)]
        for one, its in zip(pair, placed, strict=True)
    )
    if not all(any(always(each) is False for each in axes) for axes in both):
        raise UncertifiedError(
            "according to onnxruntime, an average rounds otherwise where its kernel is all of the "
            "data and nothing is padded, which may be so",
            engine="onnxruntime",
        )


def _whole(
    padded: PaddedWindow, placed: list[AxisWindows], sizes: tuple[Extent, ...]
) -> Iterator[Extent]:
    """By axis, 1 where the kernel is as long as the data and nothing is padded, else 0."""
    slide, layers = padded
    for axis, window, each, size in zip(slide.spatial, slide.axes, placed, sizes, strict=True):
        covers = equal(size + around(layers, axis), window.kernel)
        bare = minimum(equal(each.begin, 0), equal(each.end, 0))
        yield minimum(covers, bare)


def _only(some: Extent, extent: Extent) -> Extent:
    """An extent where a condition holds, and 0 elsewhere."""
    return extent if always(some) is True else where(some, extent, 0)


def _where(defined: tuple[Extent, ...], layer: Layer, slide: SlideSpec) -> Layer:
    """A layer with amounts of 0 at the sizes for which the operator does not run."""
    amounts = list(layer.amounts)
    for some, axis in zip(defined, slide.spatial, strict=True):
        begin, end = amounts[axis]
        amounts[axis] = _only(some, begin), _only(some, end)
    return layer._replace(amounts=tuple(amounts))


def _cut(
    layers: Layers, sizes: tuple[Extent, ...], axes: tuple[_Reach, ...], before: int
) -> Iterator[Layer]:
    """The layers without the parts past the last position read, crops there included."""
    edges = list(sizes)
    for layer in layers:
        amounts = list(layer.amounts)
        for axis, reading in enumerate(axes):
            begin, end = amounts[axis + before]
            left = maximum(reading.last + 1 - edges[axis], 0)
            edges[axis] = edges[axis] + end
            end = minimum(end, left)
            if always(less_equal(reading.last + 1, edges[axis])) is True:
                end = maximum(end, 0)
            amounts[axis + before] = (begin, end)
        yield Layer(tuple(amounts), layer.fill)


def _meets_data(
    window: WindowAxis, size: Extent, first: Extent, last: Extent, some: Extent
) -> bool:
    """Whether every window from the one at `first` to the one at `last` reads a real element.

    Only sizes at which `some` is 1 count. A dilated window might step over short data.
    """
    conditions = [
        less_equal(1, size),
        less_equal(0, first + window.extent - 1),
        less_equal(last, size - 1),
    ]
    if window.dilation != 1 and window.kernel != 1:
        conditions.append(less_equal(window.dilation, size))
    return all(always(where(some, condition, 1)) is True for condition in conditions)


def _text(layers: Layers) -> str:
    fills = [
        _FILLS.get(layer.fill, layer.fill) if isinstance(layer.fill, str) else f"{layer.fill:g}"
        for layer in layers
    ]
    return ", then ".join(fills) or "nothing"


def _axes_facts(axes: Sequence[tuple[int, _Reach, Extent, WindowAxis]]) -> list[dict[str, object]]:
    return [_axis_facts(*axis) for axis in axes]


def _axis_facts(axis: int, read: _Reach, size: Extent, window: WindowAxis) -> dict[str, object]:
    """One axis of a window over data of a size, as data; by remainder, where it varies."""
    facts: dict[str, object] = {
        "axis": axis,
        "start": _datum(read.start),
        "windows": _datum(read.output),
        "size": _datum(size),
        "kernel": _datum(window.kernel),
        "stride": window.stride,
        "dilation": window.dilation,
    }
    table = residue_table((size, read.start, read.output), size)
    if table is not None:
        facts["cases"] = table.as_data("size", "start", "windows")
    return facts


def _datum(extent: Extent) -> int | str:
    return extent if isinstance(extent, int) else str(extent)


def known_sizes(sizes: Sequence[Extent]) -> tuple[int | None, ...]:
    """The sizes that a proof about data of these sizes holds for; None for every size."""
    return tuple(size if isinstance(size, int) else None for size in sizes)
