"""Compares two windows over padding around the same data, under each engine.

Each engine brings both into canonical form: where the first window starts, how many windows there
are, and which layers of padding they reach. Two windows over the same data that have one form read
the same elements.
"""

from __future__ import annotations

from collections import UserList
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    always,
    less,
    less_equal,
    maximum,
    minimum,
    table_of,
    where,
)
from onnxpad.arithmetic.window import Window, meets_data
from onnxpad.finding import Assumption, Trust
from onnxpad.proof.term import Copied, DiffersError, Equal, Slid
from onnxpad.reasons import BY_TRUST, Reason
from onnxpad.semantics.layers import (
    EXCLUDED,
    ExtentPair,
    Layer,
    Layers,
    Operand,
    around,
    merged,
    number_of,
    total,
    without_sign,
)
from onnxpad.semantics.window import (
    ENGINES,
    ONNXRUNTIME,
    SPECIFICATION,
    Placed,
    WindowForm,
    divides_by_kernel,
)

Sizes = tuple[Extent, ...]
"""The size of the data on each axis over which a window slides."""


class Reach(NamedTuple):
    """One axis of a canonical form; positions count from the first element of the data."""

    start: Extent
    windows: Extent
    last: Extent


class Canonical(Struct, frozen=True):
    """Windows over padded data: the reach on each axis, and the layers that they read."""

    axes: tuple[Reach, ...]
    layers: Layers


def placed(engine: str, window: Slid, sizes: Sizes, dtype: int | None) -> tuple[Placed, ...] | None:
    """The windows on each axis, as an engine places them; None where it runs at no size."""
    found = []
    for place, (axis, size) in enumerate(zip(window.form.spatial, sizes, strict=True)):
        inner = size + around(window.layers, axis)
        each = ENGINES[engine](window.form, place, inner, dtype)
        if each is None or always(each.runs) is False:
            return None
        found.append(each)
    return tuple(found)


def canonical(
    engine: str, window: Slid, places: tuple[Placed, ...], sizes: Sizes, defined: Sizes
) -> Canonical:
    """The canonical form of a window over data, at the sizes at which `defined` is 1 by axis.

    Layers end at the last position that is read: padding that is never read makes no difference.
    Where a pool that rounds up reads past all padding, an outermost layer has the fill that counts
    there.
    """
    form, layers = window.form, window.layers
    if form.window.loses_signs:
        layers = without_sign(layers)
    axes = []
    for axis, slides, each in zip(form.spatial, form.axes, places, strict=True):
        before = total(layer.amounts[axis][0] for layer in layers) + each.begin
        last = (each.windows - 1) * slides.stride + slides.extent - 1 - before
        axes.append(Reach(-before, each.windows, last))
    own = Layer(form.over((each.begin, each.end) for each in places), form.own)
    excludes = form.window.own == EXCLUDED and not divides_by_all(engine, form)
    beyond = EXCLUDED if excludes else form.own
    # Wide enough to reach past the last position that is read; the cut shortens it.
    past = Layer(form.over((0, maximum(axis.last + 1, 0)) for axis in axes), beyond)
    cut = _cut(merged((*layers, own, past)), sizes, axes, form.before)
    reached = [_where(defined, layer, form) for layer in cut]
    limited = [
        Reach(*[_only(some, n) for n in axis]) for some, axis in zip(defined, axes, strict=True)
    ]
    return Canonical(tuple(limited), merged(reached))


def divides_by_all(engine: str, form: WindowForm) -> bool:
    """Whether an average divides by its whole kernel even where that reaches past all padding."""
    return engine == ONNXRUNTIME and divides_by_kernel(form)


def reads_originals(window: Slid, copied: Copied, sizes: Sizes, dtype: int | None) -> bool:
    """Whether each window that reads a copy of an element reads that element too.

    The engines place the copies outside of the data: `edge` repeats the first and the last element,
    `reflect` mirrors the elements beside these. A window without gaps reads all between two
    elements that it reads.
    """
    form = window.form
    amounts = [copied.amounts[axis] for axis in form.spatial]
    for engine in ENGINES:
        places = placed(engine, window, sizes, dtype)
        if places is None:
            continue
        defined = runs_where(places)
        reach = canonical(engine, window, places, sizes, defined).axes
        axes = zip(form.axes, amounts, reach, sizes, defined, strict=True)
        if not all(_read_beside(copied.mode, *each) for each in axes):
            return False
    return True


def _read_beside(
    mode: str, axis: Window, copies: ExtentPair, read: Reach, size: Extent, some: Extent
) -> bool:
    """Whether windows read originals beside the copies on an axis, at the sizes that count.

    Only data that is longer than what is mirrored counts: a `Pad` mirrors no other.
    """
    reach = axis.extent - 1
    if mode == "reflect":
        some = minimum(some, less_equal(maximum(*copies), size - 1))
    for count, past in zip(copies, (-read.start, read.last - (size - 1)), strict=True):
        spans = past + count if mode == "reflect" else past
        if count and always(where(some, less_equal(spans, reach), 1)) is not True:
            return False
    return copies == (0, 0) or (mode != "wrap" and axis.dilation == 1)


def known_sizes(sizes: Sizes) -> tuple[int | None, ...]:
    """The sizes that a proof about data of these sizes holds for; None for every size."""
    return tuple([size if isinstance(size, int) else None for size in sizes])


def runs_where(places: tuple[Placed, ...]) -> Sizes:
    """By axis, 1 at the sizes at which an engine runs a window."""
    return tuple([each.runs for each in places])


def _only(some: Extent, extent: Extent) -> Extent:
    """An extent where a condition holds, and 0 elsewhere."""
    return extent if always(some) is True else where(some, extent, 0)


def _where(defined: Sizes, layer: Layer, form: WindowForm) -> Layer:
    """A layer with amounts of 0 at the sizes that do not count."""
    amounts = list(layer.amounts)
    for some, axis in zip(defined, form.spatial, strict=True):
        begin, end = amounts[axis]
        amounts[axis] = _only(some, begin), _only(some, end)
    return replace(layer, amounts=tuple(amounts))


def _cut(layers: Layers, sizes: Sizes, axes: list[Reach], before: int) -> Iterator[Layer]:
    """The layers without the parts past the last position that is read, crops there included."""
    edges = list(sizes)
    for layer in layers:
        amounts = list(layer.amounts)
        for place, read in enumerate(axes):
            begin, end = amounts[place + before]
            left = maximum(read.last + 1 - edges[place], 0)
            edges[place] = edges[place] + end
            end = minimum(end, left)
            if always(less_equal(read.last + 1, edges[place])) is True:
                end = maximum(end, 0)
            amounts[place + before] = begin, end
        yield replace(layer, amounts=tuple(amounts))


ENGINE_OF = {Trust.SPEC: SPECIFICATION, Trust.RUNTIME: ONNXRUNTIME}
"""The engine that is trusted, by what the user chose."""


class Compared(Struct, frozen=True):
    """Two windows as one engine reads them: the same positions, but perhaps other fills.

    By axis, `defined` is 1 at the sizes that count.
    """

    first: Canonical
    second: Canonical
    defined: Sizes
    differs: bool


class Comparison(Struct, frozen=True):
    """Two windows as all engines read them, each that reads them otherwise than those before it.

    They are equal as said, provided that fills which differ lose.
    """

    each: tuple[Compared, ...]
    equal: Equal

    @property
    def same(self) -> bool:
        """Whether both read the same fills outside of the data too."""
        return not [each for each in self.each if each.differs]


def compare(
    old: Slid, new: Slid, sizes: Sizes, dtype: int | None, trust: Trust | None
) -> Comparison:
    """Compares two windows under both engines, or as the trusted one reads the original."""
    if old.form.says_twice:
        explicit = replace(old, form=replace(old.form, auto_pad="NOTSET"))
        if not _are_equal(explicit, new, sizes, dtype, None):
            if trust is Trust.RUNTIME and placed(ONNXRUNTIME, old, sizes, dtype):
                return _compared(old, new, sizes, dtype, trust)
            said = "auto_pad and pads are both there and disagree, which the specification forbids"
            raise DiffersError(said, Reason.AUTO_PAD_AND_PADS)
    try:
        found = _compared(old, new, sizes, dtype, None)
    except DiffersError as error:
        if not _is_disputed(old, sizes, dtype):
            raise
        if trust is None:
            if error.code in {Reason.NOT_CERTIFIED, Reason.DIVISOR_DIFFERS}:
                error.code = Reason.ENGINES_DISAGREE
                error.facts = {**error.facts, "options": BY_TRUST}
            raise
    else:
        if found.same or trust is None or not _is_disputed(old, sizes, dtype):
            return found
    return _compared(old, new, sizes, dtype, trust)


def _is_disputed(window: Slid, sizes: Sizes, dtype: int | None) -> bool:
    """Whether both engines run a window, and read it otherwise."""
    if any(placed(engine, window, sizes, dtype) is None for engine in ENGINES):
        return False
    return not _are_equal(window, window, sizes, dtype, Trust.SPEC)


def _are_equal(old: Slid, new: Slid, sizes: Sizes, dtype: int | None, trust: Trust | None) -> bool:
    try:
        return _compared(old, new, sizes, dtype, trust).same
    except DiffersError:
        return False


def _compared(
    old: Slid, new: Slid, sizes: Sizes, dtype: int | None, trust: Trust | None
) -> Comparison:
    ways: list[tuple[str, str, tuple[tuple[Placed, ...], tuple[Placed, ...]]]] = []
    for engine in ENGINES:
        judge = engine if trust is None else ENGINE_OF[trust]
        first, second = placed(judge, old, sizes, dtype), placed(engine, new, sizes, dtype)
        if first is not None:
            if second is None:
                raise _not_run(engine, new.form)
            ways.append((judge, engine, (first, second)))
        elif not ways:
            raise DiffersError(f"{judge} does not run the original", engine=judge)
    found: list[Compared] = []
    for judge, engine, places in ways:
        if engine == ONNXRUNTIME and old.form.window.rounds_apart:
            _check_covers_less((old, new), sizes)
        by_all = any(divides_by_all(engine, window.form) for window in (old, new))
        if found and places == ways[0][2] and not by_all:
            continue  # it reads both in exactly the way of the first one
        try:
            found.append(_as_read((judge, engine), (old, new), places, sizes))
        except DiffersError as error:
            if found and error.code is Reason.NOT_CERTIFIED:
                error.code = Reason.ENGINES_DISAGREE  # the specification has them equal
            raise
    reads = found[0].first
    facts = {
        "axes": _Axes(old.form.spatial, old.form.axes, reads.axes, sizes),
        "outside": _outside(reads.layers),
        "repair": len(ways) < len(ENGINES),  # the specification alone decides
    }
    assumptions = frozenset[Assumption]()
    if trust is not None:
        facts["trusts"], assumptions = str(trust), frozenset({trust.assumption})
    return Comparison(tuple(found), Equal("windows", assumptions, facts, known_sizes(sizes)))


def _not_run(engine: str, form: WindowForm) -> DiffersError:
    """Why an engine does not run a window: what stops a pool is that its pads are too large."""
    said = f"{engine} does not run the rewritten node"
    if form.is_same:
        return DiffersError(said, Reason.ENGINES_DISAGREE, engine=engine, auto_pad=form.auto_pad)
    for axis, slides, pair in zip(form.spatial, form.axes, form.pads, strict=True):
        if max(pair) >= slides.kernel:
            said = (
                f"the pads on axis {axis} would be {pair[0]}+{pair[1]}, and a pool's must be "
                f"smaller than its kernel {slides.kernel}"
            )
            facts = {"axis": axis, "pads": pair, "kernel": slides.kernel}
            return DiffersError(said, Reason.PADS_NOT_BELOW_KERNEL, **facts)
    return DiffersError(said, engine=engine)


class _Axes(UserList[Mapping[str, Any]]):
    """The axes of an original as data, made when asked for: only pages and JSON show them."""

    def __init__(self, *read: Iterable[Any]) -> None:
        self._read = read

    @cached_property
    def data(self) -> list[Mapping[str, Any]]:  # type: ignore[override]  # it is not set
        return [*map(_axis, *self._read)]


def _axis(axis: int, window: Window, read: Reach, size: Extent) -> Mapping[str, Any]:
    varies = {"start": read.start, "windows": read.windows, "size": size}
    table = table_of({"size": size, **varies}, size)
    said = {name: n if isinstance(n, int) else str(n) for name, n in varies.items()}
    slides = {"kernel": window.kernel, "stride": window.stride, "dilation": window.dilation}
    return {"axis": axis, **said, **slides, **({} if table is None else {"cases": table})}


def _as_read(
    engines: tuple[str, str],
    pair: tuple[Slid, Slid],
    places: tuple[tuple[Placed, ...], tuple[Placed, ...]],
    sizes: Sizes,
) -> Compared:
    (judge, engine), defined = engines, runs_where(places[0])
    old, new = (window.form for window in pair)
    for axis, some, each in zip(old.spatial, defined, places[1], strict=True):
        if always(where(some, each.runs, 1)) is not True:
            told = "may have to be cropped by SAME" if new.is_same else "of the data may be empty"
            code = Reason.ENGINES_DISAGREE if new.is_same else Reason.MAY_BE_EMPTY
            said = f"axis {axis} {told}, which {engine} refuses"
            raise DiffersError(said, code, engine=engine, axis=axis)
    first = canonical(judge, pair[0], places[0], sizes, defined)
    second = canonical(engine, pair[1], places[1], sizes, defined)
    for axis, was, now in zip(old.spatial, first.axes, second.axes, strict=True):
        code = Reason.NOT_CERTIFIED
        if old.ceil and not old.is_same:
            counts = isinstance(was.windows, int)
            code = Reason.CEIL_WINDOWS_DIFFER if counts else Reason.SIZE_DEPENDENT
        for said, why, one, other in (
            ("the output has", code, was.windows, now.windows),
            ("the first window starts at", Reason.NOT_CERTIFIED, was.start, now.start),
        ):
            if not isinstance(one, int | Size) or one != other:
                said = f"according to {engine}, on axis {axis} {said} {other}, not {one}"
                raise DiffersError(
                    said, why, engine=engine, axis=axis, found=str(other), wanted=str(one)
                )
    read = [n for layer in first.layers for amounts in layer.amounts for n in amounts]
    differs = Unknown in map(type, read) or first.layers != second.layers
    if differs and not old.compares:
        code, others = _why_fills_differ(old, new, first.layers, second.layers)
        reads, wanted = (
            ", then ".join(map(str, _outside(each.layers))) or "no" for each in (second, first)
        )
        said = f"according to {engine}, {reads} padding would be read, not {wanted}"
        raise DiffersError(said, code, engine=engine, **others)
    return Compared(first, second, defined, differs)


def _why_fills_differ(
    old: WindowForm, new: WindowForm, was: Layers, now: Layers
) -> tuple[Reason, dict[str, object]]:
    """The reason why a window reads other fills than the original, and its facts."""
    fills = {layer.fill for layer in now}
    if any(isinstance(layer.fill, Operand) for layer in (*was, *now)):
        is_own = isinstance(old.own, Operand) or isinstance(new.own, Operand)
        return Reason.ZERO_POINT_UNKNOWN if is_own else Reason.FILL_UNKNOWN, {}
    if old.own == EXCLUDED and (old.is_same or any(map(any, old.pads))):
        return Reason.OWN_PADDING_UNCOUNTED, {"pads": [*chain(*zip(*old.pads, strict=True))]}
    others = [layer.fill for layer in was if layer.fill not in {*fills, EXCLUDED}]
    if others and (others != [0] or EXCLUDED not in fills):
        return Reason.FILL_DIFFERS, {"value": number_of(others[0])}
    return Reason.DIVISOR_DIFFERS, {}


def blind_axis(old: Slid, kept: Layers, sizes: Sizes, each: Compared) -> int | None:
    """An axis on which a window may read no data, nor its innermost layers, which are kept.

    None without one. What other layers crop counts as cropped from the data.
    """
    form, others = old.form, old.layers[len(kept) :]
    axes = zip(form.spatial, form.axes, each.first.axes, sizes, each.defined, strict=True)
    for axis, window, reach, size, some in axes:
        begin, end = [
            total(layer.amounts[axis][side] for layer in kept)
            + total(minimum(layer.amounts[axis][side], 0) for layer in others)
            for side in (0, 1)
        ]
        first = reach.start + begin
        last = first + (reach.windows - 1) * window.stride
        if not meets_data(window, size + begin + end, first, last, some):
            return axis
    return None


def _check_covers_less(pair: tuple[Slid, Slid], sizes: Sizes) -> None:
    """Raises unless the data is longer than either kernel on an axis."""
    for window in pair:
        axes = zip(window.form.spatial, window.form.axes, sizes, strict=True)
        if not any(
            always(less(slides.kernel, size + around(window.layers, axis))) is True
            for axis, slides, size in axes
        ):
            raise DiffersError(
                "according to onnxruntime, an average rounds otherwise where its kernel is all of "
                "the data, which may be so",
                Reason.ROUNDING_DIFFERS,
                kernel=[axis.kernel for axis in window.form.axes],
            )


def _outside(layers: Layers) -> list[object]:
    """The fills as data: 0 and 0.0 are one, whichever was read first, so whole numbers are ints."""
    fills = [layer.fill for layer in layers]
    return [
        "the value of an operand"
        if isinstance(fill, Operand)
        else int(fill)
        if isinstance(fill, float) and fill.is_integer()
        else fill
        for fill in fills
    ]
