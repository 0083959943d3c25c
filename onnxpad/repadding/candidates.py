"""The paddings that an operator might have had in another framework, and those of a whole model."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from onnxpad.arithmetic.window import Side, Window, transposed_same_pads
from onnxpad.operators.amounts import Pair, Pairs, onnx_order, pairs_of
from onnxpad.padding.plan import Padding
from onnxpad.repadding.sites import Site


class Candidate(NamedTuple):
    """A padding with the name of where it comes from.

    Attributes:
        name: Such as `tensorflow-same`; `as it is` for what the model has.
        padding: The padding.
        tier: How likely a mistake it mends; likelier ones are tried first.
    """

    name: str
    padding: Padding
    tier: int


AS_IS: Final = "as it is"
_LIKELY, _LESS, _LEAST = 0, 1, 2


def candidates(site: Site) -> list[Candidate]:
    """The paddings of an operator: the one it has first, then likelier mistakes first."""
    made = _cropping(_transposed(site)) if site.is_transposed else _gathering(site)
    found: dict[Padding, Candidate] = {site.padding: Candidate(AS_IS, site.padding, _LIKELY)}
    for each in made:
        known = found.get(each.padding)
        if known is None or (known.tier > each.tier and known.name != AS_IS):
            found[each.padding] = each
    return sorted(found.values(), key=lambda each: (each.name != AS_IS, each.tier))


def _gathering(site: Site) -> Iterator[Candidate]:
    now = site.padding
    bases = [*_pads(site)]
    rounds = site.is_pool and site.is_sized
    if rounds and now.pads is not None and not now.ceil:
        yield Candidate("rounded up (ceil)", replace(now, ceil=True), _LIKELY)
    if site.leaves_padding_out:
        counting = "padding not counted" if now.counted else "padding counted"
        yield Candidate(counting, replace(now, counted=not now.counted), _LIKELY)
    yield from (Candidate(*each) for each in bases)
    if rounds:
        for name, padding, tier in bases:
            if padding.pads is not None:
                yield Candidate(
                    f"{name}, rounded up (ceil)", replace(padding, ceil=True), max(tier, _LESS)
                )
    if site.leaves_padding_out:
        for name, padding, tier in bases:
            other = replace(padding, counted=not padding.counted)
            yield Candidate(f"{name}, {counting}", other, max(tier, _LESS))


def _pads(site: Site) -> Iterator[tuple[str, Padding, int]]:
    """Paddings that differ in their amounts alone."""
    count, now = len(site.windows), site.padding
    if site.is_still:
        yield from _written(site)
        return
    if now.ceil:
        yield "rounded down", replace(now, ceil=False), _LIKELY
        now = replace(now, ceil=False)
    yield "tensorflow-same", replace(now, pads=None, odd="end", undilated=False), _LIKELY
    yield "pytorch-half", replace(now, pads=half(site)), _LIKELY
    yield "onnx-same-lower", replace(now, pads=None, odd="begin", undilated=False), _LIKELY
    if any(window.dilation > 1 for window in site.windows):
        yield "paddle-same", replace(now, pads=None, odd="end", undilated=True), _LIKELY
    divided = tuple((each // 2, each - each // 2) for each in map(_total, site.windows))
    yield "same, as where the stride divides the size", replace(now, pads=divided), _LESS
    yield (
        "same, odd at the begin, as where the stride divides the size",
        replace(now, pads=exchanged(divided)),
        _LESS,
    )
    up = tuple((window.extent // 2,) * 2 for window in site.windows)
    yield "half the kernel", replace(now, pads=up), _LESS
    yield "valid", replace(now, pads=((0, 0),) * count), _LESS
    if now.pads is None:
        return
    yield from _written(replace(site, padding=now))
    if _is_line(site):
        whole = tuple((window.extent - 1, 0) for window in site.windows)
        yield "keras-causal", replace(now, pads=whole), _LIKELY
        yield "all at the end", replace(now, pads=exchanged(whole)), _LESS
    for by in (1, -1):
        yield f"moved by {by}", replace(now, pads=moved(now.pads, by)), _LEAST


def _is_line(site: Site) -> bool:
    """Whether a window is longer than 1 on one axis only: also a series exported as 2-D."""
    return sum(window.extent > 1 for window in site.windows) == 1


def _total(window: Window) -> int:
    """SAME's total where the stride divides the size."""
    return max(window.extent - window.stride, 0)


def _written(site: Site) -> Iterator[tuple[str, Padding, int]]:
    """The same amounts, written in another order."""
    now, pads = site.padding, site.padding.pads
    if pads is None:
        return
    yield "begin and end exchanged", replace(now, pads=exchanged(pads)), _LIKELY
    yield "begin and end in turns", replace(now, pads=in_turns(pads)), _LIKELY
    yield "in turns read as ONNX's order", replace(now, pads=from_turns(pads)), _LESS
    if len(pads) > 1:
        yield "axes exchanged", replace(now, pads=pads[::-1]), _LESS


def _transposed(site: Site) -> Iterator[Candidate]:
    now, windows = site.padding, site.windows
    pads = now.pads
    assert pads is not None
    none, uncropped = (0,) * len(windows), ((0, 0),) * len(windows)
    short = tuple(max(w.stride - w.extent, 0) for w in windows)
    sides: tuple[tuple[str, Side], ...] = (("tensorflow-same", "end"), ("onnx-same-lower", "begin"))
    for name, odd in sides:
        same = tuple(transposed_same_pads(w, odd=odd) for w in windows)
        yield Candidate(name, replace(now, pads=same, output_padding=short), _LIKELY)
    yield Candidate("tensorflow-valid", replace(now, pads=uncropped, output_padding=short), _LIKELY)
    # PyTorch's usual halves, with the output_padding that gives size * stride.
    symmetric = half(site)
    fitting = tuple(
        w.stride + 2 * b - w.extent for w, (b, _) in zip(windows, symmetric, strict=True)
    )
    if min(fitting) >= 0:
        yield Candidate(
            "pytorch-half", replace(now, pads=symmetric, output_padding=fitting), _LIKELY
        )
    yield Candidate(
        "pytorch-half without output_padding",
        replace(now, pads=symmetric, output_padding=none),
        _LESS,
    )
    yield Candidate("begin and end exchanged", replace(now, pads=exchanged(pads)), _LIKELY)
    yield Candidate("begin and end in turns", replace(now, pads=in_turns(pads)), _LESS)
    yield Candidate("valid", replace(now, pads=uncropped, output_padding=none), _LESS)
    yield Candidate("without output_padding", replace(now, output_padding=none), _LIKELY)
    for by in range(1, max(w.stride for w in windows)):
        yield Candidate(
            f"output_padding {by}", replace(now, output_padding=(by,) * len(windows)), _LESS
        )
    for by in (1, -1, 2, -2):
        shifted = moved(pads, by)
        tier = _LESS if abs(by) == 1 else _LEAST
        yield Candidate(f"crop moved by {by}", replace(now, pads=shifted), tier)
        ends = tuple((b, e + by) for b, e in pads)
        yield Candidate(f"{by:+} cropped at the end", replace(now, pads=ends), _LEAST)
        begins = tuple((b + by, e) for b, e in pads)
        yield Candidate(f"{by:+} cropped at the begin", replace(now, pads=begins), _LEAST)


def _cropping(made: Iterable[Candidate]) -> Iterator[Candidate]:
    """Those that crop nothing negative, which no runtime does.

    An end that is extended so is appended.
    """
    for each in made:
        pads = each.padding.pads
        assert pads is not None
        if all(begin >= 0 for begin, _ in pads):
            kept = tuple((begin, max(end, 0)) for begin, end in pads)
            more = each.padding.output_padding or (0,) * len(pads)
            output_padding = tuple(
                by + max(-end, 0) for by, (_, end) in zip(more, pads, strict=True)
            )
            yield each._replace(
                padding=replace(each.padding, pads=kept, output_padding=output_padding)
            )


def resized(site: Site, more: int, *, at_end: bool) -> Padding | None:
    """The padding with which an output is so many elements longer on each axis; None if none is.

    Args:
        site: A transposed convolution, or an operator of stride 1.
        more: How many elements; negative for a shorter output.
        at_end: Whether the difference is at the end or at the begin.
    """
    if site.padding.pads is None:
        return None
    by = -more if site.is_transposed else more
    pads = tuple((b, e + by) if at_end else (b + by, e) for b, e in site.padding.pads)
    if not site.is_transposed:
        return replace(site.padding, pads=pads) if min(map(min, pads)) >= 0 else None
    found = [*_cropping([Candidate("", replace(site.padding, pads=pads), _LEAST)])]
    return found[0].padding if found else None


def half(site: Site) -> Pairs:
    """PyTorch's usual `padding`: dilation * (kernel - 1) // 2 on both sides."""
    return tuple((window.dilation * (window.kernel - 1) // 2,) * 2 for window in site.windows)


def exchanged(pads: Pairs) -> Pairs:
    """The pads with begin and end exchanged."""
    return tuple((end, begin) for begin, end in pads)


def in_turns(pads: Pairs) -> Pairs:
    """The pads meant where begin, end, begin, end was wanted and ONNX's order was written."""
    flat = onnx_order(pads)
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def from_turns(pads: Pairs) -> Pairs:
    """The pads meant where ONNX's order was wanted and begin, end, begin, end was written."""
    return pairs_of([amount for pair in pads for amount in pair])


def moved(pads: Pairs, by: int) -> Pairs:
    """The pads with the data moved: the begin larger and the end smaller by so many elements."""

    def one(pair: Pair) -> Pair:
        begin, end = pair
        return (begin + by, end - by) if begin + by >= 0 and end - by >= 0 else pair

    return tuple(map(one, pads))


Convention: TypeAlias = Callable[[Site], Padding]


def is_padded(site: Site) -> bool:
    """Whether an operator pads anything as it is."""
    return site.padding.is_same or any(map(any, site.padding.pads or ()))


def _same(site: Site, *, lower: bool = False, undilated: bool = False) -> Padding:
    """SAME; of a transposed convolution with an output of size * stride."""
    if site.is_transposed:
        odd = "onnx-same-lower" if lower else "tensorflow-same"
        return next(each.padding for each in _transposed(site) if each.name == odd)
    return replace(
        site.padding,
        pads=None,
        odd="begin" if lower else "end",
        undilated=undilated,
        ceil=False,
        counted=False,
    )


def _half(site: Site) -> Padding:
    if site.is_transposed:
        for each in _transposed(site):
            if each.name.startswith("pytorch-half"):
                return each.padding
    return replace(site.padding, pads=half(site), ceil=False)


def _rounded_up(site: Site) -> Padding:
    return (
        replace(site.padding, ceil=True)
        if site.is_pool and not site.padding.is_same
        else site.padding
    )


def _caffe(site: Site) -> Padding:
    found = _half(site) if is_padded(site) else site.padding
    if not site.is_pool:
        return found
    return replace(found, ceil=True, counted=site.leaves_padding_out)


def _where_padded(convention: Convention) -> Convention:
    return lambda site: convention(site) if is_padded(site) else site.padding


def _of(change: Callable[[Pairs], Pairs]) -> Convention:
    def convention(site: Site) -> Padding:
        pads = site.padding.pads
        return site.padding if pads is None else replace(site.padding, pads=change(pads))

    return convention


def _counted(site: Site) -> Padding:
    return replace(site.padding, counted=True) if site.leaves_padding_out else site.padding


def _uncounted(site: Site) -> Padding:
    return replace(site.padding, counted=False)


def _causal(site: Site) -> Padding:
    if site.is_transposed or not _is_line(site) or site.is_pool:
        return site.padding
    pads = tuple((window.extent - 1, 0) for window in site.windows)
    return replace(site.padding, pads=pads)


_ONE_KIND: Final[Mapping[str, Convention]] = {
    "tensorflow": _where_padded(_same),
    "pytorch": _where_padded(_half),
    "caffe": _caffe,
    "same, odd at the begin": _where_padded(lambda site: _same(site, lower=True)),
    "paddle": _where_padded(lambda site: _same(site, undilated=True)),
    "begin and end exchanged": _of(exchanged),
    "begin and end in turns": _of(in_turns),
    "in turns read as ONNX's order": _of(from_turns),
    "tensorflow everywhere": _same,
    "pytorch everywhere": _half,
    "valid": lambda site: replace(site.padding, pads=((0, 0),) * len(site.windows), ceil=False),
}
_CONVOLUTIONS: Final[Mapping[str, Convention]] = {"causal": _causal}
_POOLS: Final[Mapping[str, Convention]] = {
    "rounding up": _rounded_up,
    "rounding down": lambda site: replace(site.padding, ceil=False),
    "padding counted": _counted,
    "padding not counted": _uncounted,
}


def _both(convolutions: Convention, pools: Convention) -> Convention:
    return lambda site: pools(site) if site.is_pool else convolutions(site)


def _as_it_is(site: Site) -> Padding:
    return site.padding


def _whole() -> Iterator[tuple[str, Convention]]:
    """The conventions of a whole model, likelier ones first."""
    yield from _ONE_KIND.items()
    convolutions = {**_ONE_KIND, **_CONVOLUTIONS}
    pools = {**_POOLS, **_ONE_KIND}
    for name, convention in convolutions.items():
        yield f"convolutions: {name}", _both(convention, _as_it_is)
    for name, convention in pools.items():
        yield f"pools: {name}", _both(_as_it_is, convention)
    for one in ("tensorflow", "pytorch", "same, odd at the begin"):
        for other in pools:
            if other != one:
                name = f"convolutions: {one}; pools: {other}"
                yield name, _both(convolutions[one], pools[other])


def _where_read(convention: Convention) -> Convention:
    """A convention that leaves alone a `Pad` that no window reads."""
    return lambda site: site.padding if site.is_still else convention(site)


WHOLE: Final[Mapping[str, Convention]] = {
    name: _where_read(convention) for name, convention in _whole()
}
"""Conventions of a whole model, likelier ones first."""
