"""Two windows over layers of padding over the same data: whether they read the same.

Each is brought into a canonical form, as the specification and as onnxruntime have it: where the
first window starts, how many there are, and what they read outside of the data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    always,
    less_equal,
    maximum,
    minimum,
    where,
)
from onnxpad.proof.engines import ENGINES, Placed
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
from onnxpad.proof.meaning import Axis, Slide
from onnxpad.reasons import Reason

_FILLS: Final = {
    LEAST: "what never wins",
    EXCLUDED: "what is not counted",
    NEGATIVE_ZERO: "-0",
}


class UncertifiedError(Exception):
    """The two graphs could not be shown to compute the same.

    Attributes:
        code: Why the change is taken back.
        facts: Names, axes and numbers that this is about.
    """

    def __init__(self, message: str, code: Reason = Reason.NOT_CERTIFIED, **facts: object) -> None:
        """With another code where the proof is not what failed."""
        super().__init__(message)
        self.code = code
        self.facts = facts


class Padded(NamedTuple):
    """A window operator, and the layers of padding around the data that it slides over."""

    slide: Slide
    layers: Layers


class WindowPair:
    """Two windows over layers of padding over the same data.

    Attributes:
        inner: The layers that both have, which are as good as data.
        readings: The pair as each engine reads it that gives the first one an answer.
        is_repair: Whether onnxruntime gives the first one no answer.
        holds: The sizes that all this holds for, in words.
    """

    def __init__(
        self, old: Padded, new: Padded, sizes: tuple[Extent, ...], dtype: int | None
    ) -> None:
        """Compares them over data of such sizes and element type.

        Raises:
            UncertifiedError: They do not read the same positions, or differ outside of the data
                where no comparison can make up for it.
        """
        common = count_shared(old.layers, new.layers)
        if old.slide.compares:
            common = min(common, finite_layers(old.layers))
        self.inner = old.layers[:common]
        before = old.slide.row.before
        inner = tuple(size + around(self.inner, axis) for axis, size in enumerate(sizes, before))
        self.holds = _sizes_told(inner)
        outer = [each._replace(layers=each.layers[common:]) for each in (old, new)]
        self.readings: list[EngineReading] = []
        for engine in ENGINES:
            placed = [_placed(engine, each, inner, dtype) for each in outer]
            if placed[0] is None and self.readings:
                continue  # a repair: the specification has been heard
            if placed[0] is None or placed[1] is None:
                which = "the original" if placed[0] is None else "what it becomes"
                raise UncertifiedError(f"{engine} gives {which} no answer", engine=engine)
            if self.readings and self.readings[0].is_as(engine, placed):
                continue
            self.readings.append(EngineReading(engine, outer, placed, inner))
        self.is_repair = _placed("onnxruntime", outer[0], inner, dtype) is None

    @property
    def same(self) -> bool:
        """Whether outside of the data they read the same too."""
        return all(each.same for each in self.readings)

    @cached_property
    def facts(self) -> Mapping[str, object]:
        """The first of the readings, as data."""
        return {**self.readings[0].facts(), "repair": self.is_repair}


class EngineReading:
    """Two windows over layers of padding, in canonical form, as one engine has them.

    Attributes:
        engine: The engine.
        first: The first window.
        second: The second one.
        same: Whether outside of the data they read the same too.
        outside: The fills that the first one reads there, in words.
        differs: How they differ outside, in words.
    """

    def __init__(
        self,
        engine: str,
        pair: list[Padded],
        placed: list[list[Placed] | None],
        sizes: tuple[Extent, ...],
    ) -> None:
        """Compares them over data of such sizes.

        Raises:
            UncertifiedError: They do not read the same positions.
        """
        self.engine = engine
        self._placed = placed
        old, new = (each or [] for each in placed)
        self._first_axis = pair[0].slide.row.before
        self._windows = pair[0].slide.axes
        self._sizes = sizes
        self._defined = tuple(map(_where_both_run, old, new, self._axis_names()))
        if any(each is None for each in self._defined):
            axis = self._first_axis + self._defined.index(None)
            raise UncertifiedError(
                f"axis {axis} may be empty, or padded by less than nothing, which {engine} refuses",
                engine=engine,
                axis=axis,
            )
        defined = tuple(each for each in self._defined if each is not None)
        self.first, self.second = (
            _Canonical(engine, each, where_, sizes, defined)
            for each, where_ in zip(pair, (old, new), strict=True)
        )
        told = "" if engine == "the specification" else f"as {engine} has it, "
        axes = zip(self._axis_names(), self.first.axes, self.second.axes, strict=True)
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
        self.outside = f"with {_told(self.first.layers)} outside"
        self.differs = (
            f"outside the data {_told(self.second.layers)} instead of {_told(self.first.layers)}"
        )
        self.same = same_layers(self.first.layers, self.second.layers)
        if not self.same and not pair[0].slide.compares:
            raise UncertifiedError(f"{told}{self.differs}", engine=engine)

    def _axis_names(self) -> range:
        return range(self._first_axis, self._first_axis + len(self._windows))

    def is_as(self, engine: str, placed: list[list[Placed] | None]) -> bool:
        """Whether another engine has all this likewise."""
        return placed == self._placed and not any(
            each.is_apart(engine) for each in (self.first, self.second)
        )

    def blind_axis(self) -> int | None:
        """An axis on which a window may read no data."""
        axes = zip(
            self._axis_names(),
            self._windows,
            self.first.axes,
            self._sizes,
            self._defined,
            strict=True,
        )
        for axis, window, read, size, some in axes:
            last = read.start + (read.output - 1) * window.stride
            if some is None or not _meets_data(window, size, read.start, last, some):
                return axis
        return None

    def facts(self) -> dict[str, object]:
        """The first window as data: where it starts, how many there are, what lies outside."""
        return {
            "axes": [
                {"axis": axis, "start": _datum(read.start), "windows": _datum(read.output)}
                for axis, read in zip(self._axis_names(), self.first.axes, strict=True)
            ],
            "outside": [layer.fill for layer in self.first.layers],
        }


@dataclass(frozen=True, slots=True)
class _Reach:
    """One axis of a sliding window: where its first window starts, and how many there are."""

    start: Extent  # relative to the first element of the root
    output: Extent
    last: Extent  # last position read, relative to the same


class _Canonical:
    """A window over layers of padding over data of the given sizes, in canonical form.

    `layers` end where reading ends: what is never read is not told apart. Where a pool that rounds
    up reads past all padding, an outermost layer says what counts there.
    """

    def __init__(
        self,
        engine: str,
        padded: Padded,
        placed: list[Placed],
        sizes: tuple[Extent, ...],
        defined: tuple[Extent, ...],
    ) -> None:
        slide, layers = padded
        self._slide = slide
        before = slide.row.before
        if slide.row.own == 0:
            # Products are added to 0.0, and powers of magnitudes have no sign. Source: onnxruntime.
            layers = without_sign(layers)
        excludes = slide.row.own == EXCLUDED and not self.is_apart(engine)
        axes = []
        for axis, (window, each) in enumerate(zip(slide.axes, placed, strict=True), before):
            inside = total_of(layer.amounts[axis][0] for layer in layers) + each.begin
            last = (each.windows - 1) * window.stride + window.extent - 1 - inside
            axes.append(_Reach(-inside, each.windows, last))
        none: Amounts = ((0, 0),) * before
        everything = (
            *layers,
            Layer((*none, *((each.begin, each.end) for each in placed)), slide.own),
            # Wide enough to reach past whatever is read; cut to it below.
            Layer(
                (*none, *((0, maximum(axis.last + 1, 0)) for axis in axes)),
                EXCLUDED if excludes else slide.own,
            ),
        )
        cut = _cut(merged(everything), sizes, tuple(axes), before)
        self.layers = merged(tuple(_where(defined, layer, before) for layer in cut))
        self.axes = tuple(
            _Reach(*(_only(some, each) for each in (axis.start, axis.output, axis.last)))
            for some, axis in zip(defined, axes, strict=True)
        )

    def is_apart(self, engine: str) -> bool:
        """Whether an average divides by its whole kernel even where that reaches past all padding.

        Source: onnxruntime before opset 19; without ceil_mode that is a kernel longer than the
        padded line, which the specification gives no window.
        """
        slide = self._slide
        counts = slide.row.own == EXCLUDED and slide.counts and not slide.ceil_mode
        return engine == "onnxruntime" and counts and slide.version < 19


def _placed(
    engine: str, padded: Padded, sizes: tuple[Extent, ...], dtype: int | None
) -> list[Placed] | None:
    """The windows on each axis; None where there is no answer at any size."""
    found: list[Placed] = []
    for axis, size in enumerate(sizes):
        inner = size + around(padded.layers, axis + padded.slide.row.before)
        placed = ENGINES[engine](padded.slide, axis, inner, dtype)
        if placed is None or always(placed.runs) is False:
            return None
        found.append(placed)
    return found


def _where_both_run(old: Placed, new: Placed, axis: int) -> Extent | None:
    """At which sizes the first has an answer; None unless the second has one there too."""
    some = 1 if isinstance(old.runs, Unknown) else old.runs
    return some if always(where(some, new.runs, 1)) is True else None


def _only(some: Extent, extent: Extent) -> Extent:
    """An extent where a condition holds, and 0 elsewhere."""
    return extent if always(some) is True else where(some, extent, 0)


def _where(defined: tuple[Extent, ...], layer: Layer, before: int) -> Layer:
    """A layer that is none at sizes of an axis at which nothing is defined."""
    spatial = (
        (_only(some, begin), _only(some, end))
        for some, (begin, end) in zip(defined, layer.amounts[before:], strict=True)
    )
    return layer._replace(amounts=(*layer.amounts[:before], *spatial))


def _cut(
    layers: Layers, sizes: tuple[Extent, ...], axes: tuple[_Reach, ...], before: int
) -> Iterator[Layer]:
    """The layers without what lies past the last position read, crops of it among them."""
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


def _meets_data(window: Axis, size: Extent, first: Extent, last: Extent, some: Extent) -> bool:
    """Whether windows that start from `first` to `last` all read some of the data.

    At those sizes at which `some` holds. A dilated window might step over short data.
    """
    conditions = [
        less_equal(1, size),
        less_equal(0, first + window.extent - 1),
        less_equal(last, size - 1),
    ]
    if window.dilation != 1 and window.kernel != 1:
        conditions.append(less_equal(window.dilation, size))
    return all(always(where(some, condition, 1)) is True for condition in conditions)


def _told(layers: Layers) -> str:
    fills = [
        _FILLS[layer.fill] if isinstance(layer.fill, str) else f"{layer.fill:g}" for layer in layers
    ]
    return ", then ".join(fills) or "nothing"


def _datum(extent: Extent) -> int | str:
    return extent if isinstance(extent, int) else str(extent)


def _sizes_told(sizes: tuple[Extent, ...]) -> str:
    if all(isinstance(size, int) for size in sizes):
        return "size " + "x".join(map(str, sizes))
    return "every size"
