"""The paddings that an operator might have had in another framework, and those of a whole model.

An idea gives an operator a padding, or none where it is about others. Those of a whole model are
combined of ideas for convolutions and for pools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import halves
from onnxpad.frameworks.conventions.question import Axis
from onnxpad.frameworks.conventions.table import CONVENTIONS
from onnxpad.frameworks.reading import Site
from onnxpad.padding.padding import ANY_SIZE, Padding
from onnxpad.semantics.layers import Pairs, onnx_order, pairs_of


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
_CROPS = {"onnx-same-lower": replace(_CROP, odd="begin"), "paddle-same": _CROP}
"""Rules of transposed convolutions in place of the table's: those tried reach size * stride."""

Idea = Callable[[Site], Padding | None]
"""The padding that an idea gives an operator; None where it is about others."""


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
    """PyTorch's usual halves; transposed, with the output_padding that gives size * stride."""
    if not site.is_transposed:
        return by_row(site, "pytorch-half")
    found = by_row(site, "pytorch-output-padding")
    crops = zip(site.windows, found.crop, strict=True)
    reaches = all(window.extent - sum(crop) == window.stride for window, crop in crops)
    return found if reaches else None


def _causal(site: Site) -> Padding | None:
    """All at the begin, if windows are longer than 1 on one axis only, as in a 2-D series."""
    is_line = sum(window.extent > 1 for window in site.windows) == 1
    return by_row(site, "keras-causal") if is_line and not site.is_transposed else None


def _of(change: Callable[[Pairs], Pairs]) -> Idea:
    """The model's own amounts, changed."""

    def idea(site: Site) -> Padding | None:
        pads = site.padding.pads
        return None if pads is None else replace(site.padding, pads=change(pads))

    return idea


def _exchanged(pads: Pairs) -> Pairs:
    return tuple((end, begin) for begin, end in pads)


def _in_turns(pads: Pairs) -> Pairs:
    """The pads meant where begin, end, begin, end was wanted and ONNX's order was written."""
    flat = onnx_order(pads)
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _from_turns(pads: Pairs) -> Pairs:
    """The pads meant where ONNX's order was wanted and begin, end, begin, end was written."""
    return pairs_of([amount for pair in pads for amount in pair])


def _moved(pads: Pairs, by: int) -> Pairs:
    """The pads with the data moved: the begin larger and the end smaller by so many elements."""
    pairs = (((begin + by, end - by), (begin, end)) for begin, end in pads)
    return tuple(there if min(there) >= 0 else here for there, here in pairs)


def _longer(site: Site, more: int, *, at_end: bool) -> Padding | None:
    """A transposed convolution's output longer by so many elements at one end of each axis."""
    if not site.is_transposed:
        return None
    pads = [(b, e - more) if at_end else (b - more, e) for b, e in site.padding.numbers]
    return replace(site.padding, pads=tuple(pads))


def _divided(site: Site, odd: str) -> Padding:
    """SAME's amounts where the stride divides the size."""
    totals = (max(window.extent - window.stride, 0) for window in site.windows)
    pads = tuple(halves(total, "end") for total in totals)
    return replace(site.padding, pads=_exchanged(pads) if odd == "begin" else pads)


def _valid(site: Site) -> Padding:
    none = (0,) * len(site.windows) if site.is_transposed else ()
    return replace(site.padding, pads=((0, 0),) * len(site.windows), output_padding=none)


def _undilated(site: Site) -> Padding | None:
    is_dilated = any(window.dilation > 1 for window in site.windows)
    return by_row(site, "paddle-same") if is_dilated else None


def _wide(site: Site) -> Padding:
    return replace(site.padding, pads=tuple((w.extent // 2,) * 2 for w in site.windows))


def _all_at_end(site: Site) -> Padding | None:
    found = _causal(site)
    return found and replace(found, pads=_exchanged(found.numbers))


def _rows(*names: str) -> Iterator[tuple[str, Idea, int]]:
    """Rows of the table, as likely ideas."""
    yield from ((name, partial(by_row, name=name), _LIKELY) for name in names)


_Ideas: TypeAlias = tuple[tuple[str, Idea, int], ...]
"""Ideas by name, with their tiers."""
_WRITTEN: _Ideas = (
    ("begin and end exchanged", _of(_exchanged), _LIKELY),
    ("begin and end in turns", _of(_in_turns), _LIKELY),
    ("in turns read as ONNX's order", _of(_from_turns), _LESS),
)
"""The same amounts, written in another order."""
_WINDOWS: _Ideas = (
    *_rows("tensorflow-same", "pytorch-half", "onnx-same-lower"),
    ("paddle-same", _undilated, _LIKELY),
    *_WRITTEN,
    ("keras-causal", _causal, _LIKELY),
    ("same, as where the stride divides the size", partial(_divided, odd="end"), _LESS),
    ("same, odd at the begin, as where the stride divides the size",
     partial(_divided, odd="begin"), _LESS),
    ("half the kernel", _wide, _LESS),
    ("valid", _valid, _LESS),
    ("all at the end", _all_at_end, _LESS),
    *((f"moved by {by}", _of(partial(_moved, by=by)), _LEAST) for by in (1, -1)),
)  # fmt: skip
_TRANSPOSED: _Ideas = (
    *_rows("tensorflow-same", "onnx-same-lower", "tensorflow-valid"),
    ("pytorch-half", _half, _LIKELY),
    ("without output_padding", lambda site: replace(site.padding, output_padding=()), _LIKELY),
    ("pytorch-half without output_padding", partial(by_row, name="pytorch-half"), _LESS),
    *_WRITTEN,
    ("valid", _valid, _LESS),
    *((f"crop moved by {by}", _of(partial(_moved, by=by)), _LESS) for by in (1, -1, 2, -2)),
)


def candidates(site: Site) -> list[Candidate]:
    """The paddings of an operator: the one it has first, then likelier mistakes first."""
    found: dict[Padding, Candidate] = {site.padding: Candidate(AS_IS, site.padding, _LIKELY)}
    for name, padding, tier in _made(site):
        found.setdefault(padding, Candidate(name, padding, tier))
    return sorted(found.values(), key=lambda each: (each.name != AS_IS, each.tier))


def _made(site: Site) -> Iterator[tuple[str, Padding, int]]:
    now = site.padding
    if site.is_transposed:
        yield from _told(site, _TRANSPOSED)
        for by in range(1, max(window.stride for window in site.windows)):
            more = (by,) * len(site.windows)
            yield f"output_padding {by}", replace(now, output_padding=more), _LESS
        return
    bases = [*_told(site, _WRITTEN if site.is_still else _WINDOWS)]
    flags: dict[str, dict[str, bool]] = {}
    if site.leaves_padding_out:
        flags[f"padding {'not ' * now.counted}counted"] = {"counted": not now.counted}
    if site.is_pool and site.is_sized:
        flags["rounded down" if now.ceil else "rounded up (ceil)"] = {"ceil": not now.ceil}
    for what, flag in flags.items():
        yield what, replace(now, **flag), _LIKELY
    yield from bases
    for what, flag in flags.items():
        for name, padding, tier in bases:
            if "ceil" not in flag or padding.pads is not None:
                yield f"{name}, {what}", replace(padding, **flag), max(tier, _LESS)


def _told(site: Site, ideas: _Ideas) -> Iterator[tuple[str, Padding, int]]:
    for name, idea, tier in ideas:
        padding = _runnable(site, idea(site))
        if padding is not None:  # SAME does not round up
            yield name, replace(padding, ceil=padding.ceil and padding.pads is not None), tier


def _runnable(site: Site, padding: Padding | None) -> Padding | None:
    """What a runtime crops: nothing negative. An end that is extended so is appended."""
    if padding is None or padding.pads is None or not site.is_transposed:
        return padding
    if min(begin for begin, _ in padding.pads) < 0:
        return None
    more = padding.output_padding or (0,) * len(padding.pads)
    appended = (by + max(-end, 0) for by, (_, end) in zip(more, padding.pads, strict=True))
    kept = tuple((begin, max(end, 0)) for begin, end in padding.pads)
    return replace(padding, pads=kept, output_padding=tuple(appended))


# Whole models


def _is_padded(site: Site) -> bool:
    return site.padding.is_same or any(map(any, site.padding.pads or ()))


def _where_padded(idea: Idea) -> Idea:
    return lambda site: idea(site) if _is_padded(site) else None


def _same(name: str) -> Idea:
    """SAME by a row of the table, which neither rounds up nor counts padding."""
    return lambda site: replace(by_row(site, name), ceil=False, counted=False)


def _pytorch(site: Site) -> Padding:
    return replace(_half(site) or by_row(site, "pytorch-half"), ceil=False)


def _caffe(site: Site) -> Padding:
    found = _pytorch(site) if _is_padded(site) else site.padding
    if not site.is_pool:
        return found
    return replace(found, ceil=True, counted=site.leaves_padding_out)


_ODD_AT_BEGIN = "same, odd at the begin"
_ONE_KIND: Mapping[str, Idea] = {
    "tensorflow": _where_padded(_same("tensorflow-same")),
    "pytorch": _where_padded(_pytorch),
    "caffe": _caffe,
    _ODD_AT_BEGIN: _where_padded(_same("onnx-same-lower")),
    "paddle": _where_padded(_same("paddle-same")),
    **{name: idea for name, idea, _ in _WRITTEN},
    "tensorflow everywhere": _same("tensorflow-same"),
    "pytorch everywhere": _pytorch,
    "valid": lambda site: replace(site.padding, pads=((0, 0),) * len(site.windows), ceil=False),
}
_CONVOLUTIONS: Mapping[str, Idea] = {**_ONE_KIND, "causal": _causal}
_POOLS: Mapping[str, Idea] = {
    "rounding up": lambda site: replace(site.padding, ceil=not site.padding.is_same),
    "rounding down": lambda site: replace(site.padding, ceil=False),
    "padding counted": lambda site: replace(site.padding, counted=site.leaves_padding_out),
    "padding not counted": lambda site: replace(site.padding, counted=False),
    **_ONE_KIND,
}


def _whole() -> Iterator[tuple[str, Idea | None, Idea | None]]:
    """The conventions of a whole model, likelier ones first, for convolutions and for pools."""
    yield from ((name, idea, idea) for name, idea in _ONE_KIND.items())
    yield from ((f"convolutions: {name}", idea, None) for name, idea in _CONVOLUTIONS.items())
    yield from ((f"pools: {name}", None, idea) for name, idea in _POOLS.items())
    for one in ("tensorflow", "pytorch", _ODD_AT_BEGIN):
        for other, idea in _POOLS.items():
            if other != one:
                yield f"convolutions: {one}; pools: {other}", _CONVOLUTIONS[one], idea
    for more in (-1, 1, -2, 2, -3, 3, -4, 4):
        for end in ("end", "begin"):
            idea = partial(_longer, more=more, at_end=end == "end")
            yield f"transposed: {more:+} elements at the {end}", idea, None


def _both(convolutions: Idea | None, pools: Idea | None, site: Site) -> Padding:
    idea = pools if site.is_pool else convolutions
    if idea is None or site.is_still:  # a `Pad` that no window reads
        return site.padding
    found = _runnable(site, idea(site))
    return site.padding if found is None else found


WHOLE: Mapping[str, Callable[[Site], Padding]] = {
    name: partial(_both, convolutions, pools) for name, convolutions, pools in _whole()
}
"""Conventions of a whole model, likelier ones first."""


# Options


def options_of(site: Site) -> list[Candidate]:
    """The options of an operator, first that of the model; equal ones at any size only once."""
    whole = (Candidate(name, convention(site), _LESS) for name, convention in WHOLE.items())
    found: dict[object, Candidate] = {}
    for each in (*candidates(site), *whole):
        found.setdefault(_key(site, each.padding), each)
    return list(found.values())


def conventions_of(
    sites: Sequence[Site], options: Sequence[Sequence[Candidate]]
) -> dict[str, tuple[int, ...]]:
    """For each convention of the whole model, the options that pad so at any size."""
    known = [
        {_key(site, each.padding): at for at, each in enumerate(found)}
        for site, found in zip(sites, options, strict=True)
    ]
    return {
        name: tuple(
            places[_key(site, convention(site))] for site, places in zip(sites, known, strict=True)
        )
        for name, convention in WHOLE.items()
    }


def _key(site: Site, padding: Padding) -> object:
    """A value that is equal for choices that compute the same at any size."""
    if site.is_transposed or site.is_sized:
        return padding
    return effect_of(site, padding, (ANY_SIZE,) * len(site.windows))


def effect_of(site: Site, padding: Padding, sizes: tuple[int, ...]) -> object:
    """A value that is equal for choices that compute the same at these sizes."""
    found = padding.effect(sizes, site.windows)
    # The operator behind a Pad may reach its end by padding of its own.
    return found if site.operator is not None else (found, padding.amounts(sizes, site.windows))
