"""Compares two windows over padding around the same data, under each engine.

Each engine brings both into canonical form: where the first window starts, how many windows there
are, and which layers of padding they reach. Two windows over the same data that have one form read
the same elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    always,
    equal,
    less_equal,
    maximum,
    minimum,
    table_of,
    where,
)
from onnxpad.arithmetic.window import AnyWindow, meets_data
from onnxpad.finding import Trust
from onnxpad.proof.term import Copied, DiffersError, Equal, Slid
from onnxpad.reasons import BY_TRUST, Reason
from onnxpad.semantics.engines import ENGINES, ONNXRUNTIME, SPECIFICATION, Placed, divides_by_kernel
from onnxpad.semantics.layers import (
    EXCLUDED,
    LEAST,
    NEGATIVE_ZERO,
    ExtentPair,
    Layer,
    Layers,
    Operand,
    around,
    is_padded,
    merged,
    never_pads,
    number_of,
    total,
    without_sign,
)
from onnxpad.semantics.window import WindowForm

Sizes: TypeAlias = tuple[Extent, ...]
"""The size of the data on each axis over which a window slides."""


class Reach(NamedTuple):
    """One axis of a canonical form, in positions relative to the first element of the data.

    Attributes:
        start: The first position that is read.
        windows: The number of windows.
        last: The last position that is read.
    """

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
    """The canonical form of a window over data of some sizes.

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
    mode: str, axis: AnyWindow, copies: ExtentPair, read: Reach, size: Extent, some: Extent
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
    """By axis, 1 at the sizes at which an engine runs a window; all where that is not known."""
    return tuple([1 if isinstance(each.runs, Unknown) else each.runs for each in places])


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


ENGINE_OF: Final = {Trust.SPEC: SPECIFICATION, Trust.RUNTIME: ONNXRUNTIME}
"""The engine that is trusted, by what the user chose."""
REPAIRED: Final = "; a repair by the specification alone: onnxruntime does not run the original"
_FILLS: Final = {
    LEAST: "a value that never wins",
    EXCLUDED: "uncounted padding",
    NEGATIVE_ZERO: "-0",
}


class Compared(Struct, frozen=True):
    """Two windows as one engine reads them; they read the same positions of the data.

    Attributes:
        places: Where both place their windows.
        first: The original in canonical form.
        second: The other one.
        defined: By axis, 1 at the sizes that count.
        differs: Whether they read other fills.
    """

    places: tuple[tuple[Placed, ...], tuple[Placed, ...]]
    first: Canonical
    second: Canonical
    defined: Sizes
    differs: bool


class Comparison(Struct, frozen=True):
    """Two windows as all engines read them.

    Attributes:
        pair: Both windows; only outer layers, where the data includes those that they share.
        inner: The inner layers that both share.
        sizes: The sizes of the data with these.
        each: What each engine that reads them otherwise than those before it makes of them.
        same: Whether both read the same fills outside of the data too.
        equal: How they are equal, provided that fills which differ lose.
    """

    pair: tuple[Slid, Slid]
    inner: Layers
    sizes: Sizes
    each: tuple[Compared, ...]
    same: bool
    equal: Equal


def compare(
    old: Slid, new: Slid, sizes: Sizes, dtype: int | None, trust: Trust | None
) -> Comparison:
    """Compares two windows under both engines, or as the trusted one reads the original."""
    twice = old.form.says_twice and not new.form.says_twice
    disputed = twice and not _agrees_with_pads(old, new, sizes, dtype)
    if not disputed:
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
    runs = trust is Trust.RUNTIME and placed(ONNXRUNTIME, old, sizes, dtype) is not None
    if disputed and not runs:
        said = "auto_pad and pads are both there and disagree, which the specification forbids"
        raise DiffersError(said, Reason.AUTO_PAD_AND_PADS)
    return _compared(old, new, sizes, dtype, trust)


def _agrees_with_pads(old: Slid, new: Slid, sizes: Sizes, dtype: int | None) -> bool:
    """Whether the `pads` of the original say the same as the other window."""
    explicit = replace(old, form=replace(old.form, auto_pad="NOTSET"))
    try:
        _compared(explicit, new, sizes, dtype, None)
    except DiffersError:
        return False
    return True


def _is_disputed(window: Slid, sizes: Sizes, dtype: int | None) -> bool:
    """Whether both engines run a window, and read it otherwise."""
    if any(placed(engine, window, sizes, dtype) is None for engine in ENGINES):
        return False
    try:
        return not _compared(window, window, sizes, dtype, Trust.SPEC).same
    except DiffersError:
        return True


def _compared(
    old: Slid, new: Slid, sizes: Sizes, dtype: int | None, trust: Trust | None
) -> Comparison:
    """Compares two windows; the inner layers that both share are treated as data."""
    inner, *rest = _parted(old, new)
    outer = rest[0], rest[1]
    axes = zip(old.form.spatial, sizes, strict=True)
    inner_sizes = tuple(size + around(inner, axis) for axis, size in axes)
    each: list[tuple[str, str, tuple[tuple[Placed, ...], tuple[Placed, ...]]]] = []
    repair = False
    for engine in ENGINES:
        judge = engine if trust is None else ENGINE_OF[trust]
        first = placed(judge, outer[0], inner_sizes, dtype)
        second = placed(engine, outer[1], inner_sizes, dtype)
        if first is None and each:
            repair = True  # the specification alone decides
        elif first is None:
            raise DiffersError(f"{judge} does not run the original", engine=judge)
        elif second is None:
            raise _not_run(engine, new.form)
        else:
            each.append((judge, engine, (first, second)))
    found: list[Compared] = []
    for judge, engine, places in each:
        if engine == ONNXRUNTIME and old.form.window.rounds_apart:
            _check_covers_less(outer, places, inner_sizes)
        by_all = any(divides_by_all(engine, window.form) for window in outer)
        if found and places == found[0].places and not by_all:
            continue  # it reads both in exactly the way of the first one
        try:
            found.append(_as_read((judge, engine), outer, places, inner_sizes))
        except DiffersError as error:
            if found and error.code is Reason.NOT_CERTIFIED:
                error.code = Reason.ENGINES_DISAGREE  # the specification has them equal
            raise
    equal = Equal(
        "windows",
        frozenset() if trust is None else frozenset({trust.assumption}),
        _facts(old.form, found[0].first, inner_sizes, repair, trust),
        known_sizes(inner_sizes),
        repair,
        f"with {_text(found[0].first.layers)} outside{REPAIRED * repair}",
    )
    same = not any(each.differs for each in found)
    return Comparison(outer, inner, inner_sizes, tuple(found), same, equal)


def _not_run(engine: str, form: WindowForm) -> DiffersError:
    """Why an engine does not run a window: what stops a pool is that its pads are too large."""
    said = f"{engine} does not run the rewritten node"
    if form.is_same:
        return DiffersError(said, Reason.ENGINES_DISAGREE, engine=engine, auto_pad=form.auto_pad)
    pools = form.window.rounding == "pool"
    for axis, slides, pair in zip(form.spatial, form.axes, form.pads, strict=True):
        kernel = slides.kernel
        if pools and not (isinstance(kernel, int) and max(pair) < kernel):
            return DiffersError(
                f"the pads on axis {axis} would be {pair[0]}+{pair[1]}, and a pool's must be "
                f"smaller than its kernel {kernel}",
                Reason.PADS_NOT_BELOW_KERNEL,
                axis=axis,
                pads=pair,
                kernel=kernel if isinstance(kernel, int) else None,
            )
    return DiffersError(said, engine=engine)


def _facts(
    form: WindowForm, first: Canonical, sizes: Sizes, repair: bool, trust: Trust | None
) -> Mapping[str, Any]:
    """An original in canonical form, as data."""
    axes = [*zip(form.spatial, first.axes, sizes, form.axes, strict=True)]
    found: dict[str, Any] = {
        "axes": _axes_facts(axes),
        "outside": [_said(layer.fill) for layer in first.layers],
        "repair": repair,
    }
    return found if trust is None else {**found, "trusts": str(trust)}


def _parted(old: Slid, new: Slid) -> tuple[Layers, Slid, Slid]:
    """The padding that both windows share, which is treated as data, and what each has around it.

    A maximum shares none that is infinite, on which kernels differ.
    """
    shared: list[Layer] = []
    one, other = [*old.layers], [*new.layers]
    while one and other:
        infinite = old.form.compares and one[0].fill in (math.inf, -math.inf)
        common = _common(one[0], other[0], pads=one[0].fill == other[0].fill and not infinite)
        shared.append(common)
        one[0], other[0] = _without(one[0], common), _without(other[0], common)
        if is_padded(one[0].amounts) or is_padded(other[0].amounts):
            break
        del one[0], other[0]
    rest = replace(old, layers=merged(one)), replace(new, layers=merged(other))
    return tuple(shared), *rest


def _common(one: Layer, other: Layer, *, pads: bool) -> Layer:
    """What two layers both crop, with `pads` also pad: amounts that are equal, or numbers."""

    def least(a: Extent, b: Extent) -> Extent:
        if a == b and (pads or never_pads([(a, b)])):
            return a
        return max(min(a, b), 0) if pads and isinstance(a, int) and isinstance(b, int) else 0

    pairs = zip(one.amounts, other.amounts, strict=True)
    return replace(one, amounts=tuple((least(a, c), least(b, d)) for (a, b), (c, d) in pairs))


def _without(layer: Layer, inner: Layer) -> Layer:
    pairs = zip(layer.amounts, inner.amounts, strict=True)
    return replace(layer, amounts=tuple((a - c, b - d) for (a, b), (c, d) in pairs))


def _as_read(
    engines: tuple[str, str],
    pair: tuple[Slid, Slid],
    places: tuple[tuple[Placed, ...], tuple[Placed, ...]],
    sizes: Sizes,
) -> Compared:
    """Compares two windows, each as one of the engines reads it."""
    engine = engines[1]
    defined = runs_where(places[0])
    form = pair[0].form
    for axis, some, new in zip(form.spatial, defined, places[1], strict=True):
        if always(where(some, new.runs, 1)) is not True:
            is_same = pair[1].form.is_same
            told = "may have to be cropped by SAME" if is_same else "of the data may be empty"
            raise DiffersError(
                f"axis {axis} {told}, which {engine} refuses",
                Reason.ENGINES_DISAGREE if is_same else Reason.MAY_BE_EMPTY,
                engine=engine,
                axis=axis,
            )
    first = second = canonical(engines[0], pair[0], places[0], sizes, defined)
    if engines[0] != engine or _slides(pair[0], places[0]) != _slides(pair[1], places[1]):
        second = canonical(engine, pair[1], places[1], sizes, defined)
    told = "" if engine == SPECIFICATION else f"according to {engine}, "
    for axis, was, now in zip(form.spatial, first.axes, second.axes, strict=True):
        text, code = f"{told}on axis {axis} the output has", Reason.NOT_CERTIFIED
        if form.ceil:
            text = f"with ceil_mode, {text}"
            counts = isinstance(was.windows, int) and isinstance(now.windows, int)
            code = Reason.CEIL_WINDOWS_DIFFER if counts else Reason.SIZE_DEPENDENT
        starts = f"{told}on axis {axis} the first window starts at"
        for said, why, one, other in (
            (text, code, was.windows, now.windows),
            (starts, Reason.NOT_CERTIFIED, was.start, now.start),
        ):
            if not isinstance(one, int | Size) or one != other:
                facts = {"engine": engine, "axis": axis, "found": str(other), "wanted": str(one)}
                raise DiffersError(f"{said} {other}, not {one}", why, **facts)
    read = [n for layer in first.layers for pair in layer.amounts for n in pair]
    differs = Unknown in map(type, read) or first.layers != second.layers
    if differs and not form.compares:
        forms = pair[0].form, pair[1].form
        code, why_other = _why_fills_differ(forms, first.layers, second.layers)
        reads = f"it would read {_text(second.layers)} instead of {_text(first.layers)}"
        raise DiffersError(f"{told}outside of the data {reads}", code, engine=engine, **why_other)
    return Compared(places, first, second, defined, differs)


def _slides(window: Slid, places: tuple[Placed, ...]) -> tuple[object, ...]:
    """All that the canonical form of a window rests on, for one engine and data of one size."""
    form, placed = window.form, [(each.begin, each.end, each.windows) for each in places]
    slides = form.axes, form.before, form.after, form.ceil, form.counts
    return window.layers, placed, slides, form.window, form.version, form.own


def _why_fills_differ(
    forms: tuple[WindowForm, WindowForm], old: Layers, new: Layers
) -> tuple[Reason, dict[str, object]]:
    """The reason why a window reads other fills than the original, and its facts."""
    form = forms[0]
    was, now = ({each.fill for each in layers} for layers in (old, new))
    if any(isinstance(fill, Operand) for fill in was | now):
        is_own = any(isinstance(each.own, Operand) for each in forms)
        return Reason.ZERO_POINT_UNKNOWN if is_own else Reason.FILL_UNKNOWN, {}
    if form.own == EXCLUDED and (form.is_same or any(map(any, form.pads))):
        return Reason.OWN_PADDING_UNCOUNTED, {"pads": [*chain(*zip(*form.pads, strict=True))]}
    others = [layer.fill for layer in old if layer.fill not in {*now, EXCLUDED}]
    if others and (others != [0] or EXCLUDED not in now):
        return Reason.FILL_DIFFERS, {"value": number_of(others[0])}
    return Reason.DIVISOR_DIFFERS, {}


def blind_axis(comparison: Comparison, each: Compared) -> int | None:
    """An axis on which a window may read no data; None where there is none."""
    form, read = comparison.pair[0].form, each.first.axes
    axes = zip(form.spatial, form.axes, read, comparison.sizes, each.defined, strict=True)
    for axis, window, (start, windows, _), size, some in axes:
        if not meets_data(window, size, start, start + (windows - 1) * window.stride, some):
            return axis
    return None


def _check_covers_less(
    pair: tuple[Slid, Slid],
    places: tuple[tuple[Placed, ...], tuple[Placed, ...]],
    sizes: Sizes,
) -> None:
    """Raises unless two windows cover all data without padding at no size."""
    defined = runs_where(places[0])
    for window, its in zip(pair, places, strict=True):
        axes = zip(window.form.spatial, window.form.axes, its, sizes, defined, strict=True)
        if not any(
            always(where(some, _covers(window, axis, slides, each, size), 0)) is False
            for axis, slides, each, size, some in axes
        ):
            raise DiffersError(
                "according to onnxruntime, an average rounds otherwise where its kernel is all of "
                "the data and nothing is padded, which may be so",
                Reason.ROUNDING_DIFFERS,
                kernel=[axis.kernel for axis in window.form.axes],
            )


def _covers(window: Slid, axis: int, slides: AnyWindow, each: Placed, size: Extent) -> Extent:
    """1 where the kernel is as long as the data on an axis and nothing is padded, else 0."""
    bare = minimum(equal(each.begin, 0), equal(each.end, 0))
    return minimum(equal(size + around(window.layers, axis), slides.kernel), bare)


def _said(fill: object) -> object:
    """A fill as data. 0 and 0.0 are one fill, whichever was read first: whole numbers are ints."""
    if isinstance(fill, float) and fill.is_integer():
        return int(fill)
    return "the value of an operand" if isinstance(fill, Operand) else fill


def _text(layers: Layers) -> str:
    fills = [_said(layer.fill) for layer in layers]
    told = (f"{e:g}" if isinstance(e, int | float) else _FILLS.get(str(e), str(e)) for e in fills)
    return ", then ".join(told) or "nothing"


def _axes_facts(
    axes: Sequence[tuple[int, Reach, Extent, AnyWindow]],
) -> list[Mapping[str, object]]:
    """The axes of a window over data of some sizes, as data; by remainder, where they vary."""
    found: list[Mapping[str, object]] = []
    for axis, read, size, window in axes:
        facts: dict[str, object] = {
            "axis": axis,
            "start": _datum(read.start),
            "windows": _datum(read.windows),
            "size": _datum(size),
            "kernel": _datum(window.kernel),
            "stride": window.stride,
            "dilation": window.dilation,
        }
        table = table_of({"size": size, "start": read.start, "windows": read.windows}, size)
        found.append(facts if table is None else {**facts, "cases": table})
    return found


def _datum(extent: Extent) -> int | str:
    return extent if isinstance(extent, int) else str(extent)
