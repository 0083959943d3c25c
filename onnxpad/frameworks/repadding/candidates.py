"""The paddings that an operator might have had in another framework, and those of a whole model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import halves
from onnxpad.frameworks.conventions.question import Axis
from onnxpad.frameworks.conventions.table import CONVENTIONS
from onnxpad.frameworks.reading import Site
from onnxpad.padding.padding import Padding
from onnxpad.semantics.layers import Pair, Pairs, onnx_order, pairs_of


class Candidate(Struct, frozen=True):
    """A padding with the name of where it comes from.

    Attributes:
        name: Such as `tensorflow-same`; `as it is` for what the model has.
        padding: The padding.
        tier: How likely a mistake it mends; likelier ones are tried first.
    """

    name: str
    padding: Padding
    tier: int


AS_IS = "as it is"
_LIKELY, _LESS, _LEAST = 0, 1, 2
_CROP = CONVENTIONS["tensorflow-same"].rules["convtranspose"]


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
    names = ["tensorflow-same", "pytorch-half", "onnx-same-lower"]
    if any(window.dilation > 1 for window in site.windows):
        names.append("paddle-same")
    for name in names:
        yield name, replace(by_row(site, name), ceil=now.ceil), _LIKELY
    totals = (max(window.extent - window.stride, 0) for window in site.windows)
    divided = tuple(halves(total, "end") for total in totals)
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
    yield from _written(replace(site, written=now))
    if _is_line(site):
        causal = replace(by_row(site, "keras-causal"), ceil=now.ceil)
        yield "keras-causal", causal, _LIKELY
        yield "all at the end", replace(causal, pads=exchanged(causal.numbers)), _LESS
    for by in (1, -1):
        yield f"moved by {by}", replace(now, pads=moved(now.pads, by)), _LEAST


def _is_line(site: Site) -> bool:
    """Whether a window is longer than 1 on one axis only: also a series exported as 2-D."""
    return sum(window.extent > 1 for window in site.windows) == 1


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
    pads = now.numbers
    none, uncropped = (0,) * len(windows), ((0, 0),) * len(windows)
    for name in ("tensorflow-same", "onnx-same-lower", "tensorflow-valid"):
        yield Candidate(name, by_row(site, name), _LIKELY)
    if fitting := _half(site):
        yield Candidate("pytorch-half", fitting, _LIKELY)
    bare = by_row(site, "pytorch-half")
    yield Candidate("pytorch-half without output_padding", bare, _LESS)
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
            yield replace(
                each, padding=replace(each.padding, pads=kept, output_padding=output_padding)
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


_CROPS = {
    "onnx-same-lower": replace(_CROP, odd="begin"),
    "paddle-same": _CROP,
}
"""Rules of transposed convolutions in place of the table's: those tried reach size * stride."""


def by_row(site: Site, name: str) -> Padding:
    """The padding of an operator by a row of the table, whether a framework refuses it or not.

    SAME has no amounts here, except those that a transposed convolution crops at every size.
    """
    rules = CONVENTIONS[name].rules
    if not site.is_transposed:
        rule = rules["conv"]
        if rule.amounts == "same":
            return replace(site.padding, pads=None, odd=rule.odd, undilated=rule.undilated)
    else:
        rule = _CROPS.get(name) or rules["convtranspose"]
    axes = [rule.padding(Axis(1, window), transposed=site.is_transposed) for window in site.windows]
    pads = tuple((axis.begin, axis.end) for axis in axes)
    appended = tuple(axis.output_padding for axis in axes) if site.is_transposed else ()
    return replace(site.padding, pads=pads, output_padding=appended)


def _half(site: Site) -> Padding | None:
    """PyTorch's usual halves, with the output_padding that gives size * stride, if one does."""
    found = by_row(site, "pytorch-output-padding")
    crops = zip(site.windows, found.crop, strict=True)
    reaches = all(window.extent - sum(crop) == window.stride for window, crop in crops)
    return found if reaches else None


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


Repadding = Callable[[Site], Padding]
"""The padding that one idea of a whole model gives an operator."""


def is_padded(site: Site) -> bool:
    """Whether an operator pads anything as it is."""
    return site.padding.is_same or any(map(any, site.padding.pads or ()))


def _same(name: str) -> Repadding:
    """SAME by a row of the table, which neither rounds up nor counts padding."""
    return lambda site: replace(by_row(site, name), ceil=False, counted=False)


def _pytorch(site: Site) -> Padding:
    fitting = _half(site) if site.is_transposed else None
    return replace(fitting or by_row(site, "pytorch-half"), ceil=False)


def _caffe(site: Site) -> Padding:
    found = _pytorch(site) if is_padded(site) else site.padding
    if not site.is_pool:
        return found
    return replace(found, ceil=True, counted=site.leaves_padding_out)


def _where_padded(convention: Repadding) -> Repadding:
    return lambda site: convention(site) if is_padded(site) else site.padding


def _of(change: Callable[[Pairs], Pairs]) -> Repadding:
    def convention(site: Site) -> Padding:
        pads = site.padding.pads
        return site.padding if pads is None else replace(site.padding, pads=change(pads))

    return convention


def _causal(site: Site) -> Padding:
    is_plain = site.is_transposed or not _is_line(site)
    return site.padding if is_plain else by_row(site, "keras-causal")


_ODD_AT_BEGIN = "same, odd at the begin"
_ONE_KIND: Mapping[str, Repadding] = {
    "tensorflow": _where_padded(_same("tensorflow-same")),
    "pytorch": _where_padded(_pytorch),
    "caffe": _caffe,
    _ODD_AT_BEGIN: _where_padded(_same("onnx-same-lower")),
    "paddle": _where_padded(_same("paddle-same")),
    "begin and end exchanged": _of(exchanged),
    "begin and end in turns": _of(in_turns),
    "in turns read as ONNX's order": _of(from_turns),
    "tensorflow everywhere": _same("tensorflow-same"),
    "pytorch everywhere": _pytorch,
    "valid": lambda site: replace(site.padding, pads=((0, 0),) * len(site.windows), ceil=False),
}
_CONVOLUTIONS: Mapping[str, Repadding] = {"causal": _causal}
_POOLS: Mapping[str, Repadding] = {
    "rounding up": lambda site: replace(site.padding, ceil=not site.padding.is_same),
    "rounding down": lambda site: replace(site.padding, ceil=False),
    "padding counted": lambda site: replace(site.padding, counted=site.leaves_padding_out),
    "padding not counted": lambda site: replace(site.padding, counted=False),
}


def _both(convolutions: Repadding, pools: Repadding) -> Repadding:
    return lambda site: pools(site) if site.is_pool else convolutions(site)


def _as_it_is(site: Site) -> Padding:
    return site.padding


def _whole() -> Iterator[tuple[str, Repadding]]:
    """The conventions of a whole model, likelier ones first."""
    yield from _ONE_KIND.items()
    convolutions = {**_ONE_KIND, **_CONVOLUTIONS}
    pools = {**_POOLS, **_ONE_KIND}
    for name, convention in convolutions.items():
        yield f"convolutions: {name}", _both(convention, _as_it_is)
    for name, convention in pools.items():
        yield f"pools: {name}", _both(_as_it_is, convention)
    for one in ("tensorflow", "pytorch", _ODD_AT_BEGIN):
        for other in pools:
            if other != one:
                name = f"convolutions: {one}; pools: {other}"
                yield name, _both(convolutions[one], pools[other])


def _where_read(convention: Repadding) -> Repadding:
    """A convention that leaves alone a `Pad` that no window reads."""
    return lambda site: site.padding if site.is_still else convention(site)


WHOLE: Mapping[str, Repadding] = {name: _where_read(convention) for name, convention in _whole()}
"""Conventions of a whole model, likelier ones first."""
