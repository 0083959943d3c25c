"""The paddings that an operator might have had in another framework, and those of a whole model.

They are what each framework of the table answers for each intent, and the operator's own padding as
it was meant before a common mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import ODD, Window
from onnxpad.frameworks.conventions.question import Op
from onnxpad.frameworks.conventions.table import FRAMEWORKS, INTENTS, AbsentError, Intent
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.intents import expressed, op_of, questions_of
from onnxpad.padding.padding import ANY_SIZE, Padding
from onnxpad.semantics.layers import Pairs, is_padded, onnx_order, pairs_of

LIKELY, LESS, LEAST = range(3)
AS_IS = "as it is"
_NAMES = tuple(dict.fromkeys(("tensorflow", "pytorch", "onnx-same-lower", *FRAMEWORKS)))


class Candidate(Struct, frozen=True):
    """A padding, with where it comes from, such as `tensorflow-same`, or `as it is` in the model.

    Paddings of likelier mistakes are of lower tiers, and tried first.
    """

    name: str
    padding: Padding
    tier: int


Idea = Callable[[Site], Padding | None]
"""The padding that an idea gives an operator; None where it is about others."""


@lru_cache(maxsize=1024)
def _answers(op: Op, windows: tuple[Window, ...]) -> Mapping[tuple[str, Intent], Padding]:
    """The padding of an operator in each framework for each intent, if one holds at every size.

    Windows of one element take no part, so that a series of two dimensions may be causal.
    """
    some = [at for at, window in enumerate(windows) if window.extent > 1]
    if op == "convtranspose" or not some:
        some = [*range(len(windows))]
    slid, found = tuple(windows[at] for at in some), {}
    asked = questions_of(op, slid, (None,) * len(slid))
    for name, intent in product(_NAMES, INTENTS):
        with suppress(AbsentError):
            answers = [FRAMEWORKS[name].answer(intent, question) for question in asked]
            if (padding := expressed(asked, answers)) is not None:
                pairs = dict(zip(some, padding.pads or (), strict=False))
                pads = tuple(pairs.get(at, (0, 0)) for at in range(len(windows)))
                found[name, intent] = padding if padding.is_same else replace(padding, pads=pads)
    return found


def _in(framework: str, site: Site, intent: Intent | None = None) -> Padding | None:
    """The padding in a framework, by default for the intent that the padding seems to have."""
    is_same = site.padding.is_same or is_padded(site.padding.numbers)
    found = _answers(op_of(site) or "maxpool", site.windows)
    return found.get((framework, intent or ("same" if is_same else "valid")))


# Mistakes


def _exchanged(pads: Pairs) -> Pairs:
    return tuple((end, begin) for begin, end in pads)


def _in_turns(pads: Pairs) -> Pairs:
    """The pads meant where begin, end, begin, end was wanted and ONNX's order was written."""
    flat = onnx_order(pads)
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _from_turns(pads: Pairs) -> Pairs:
    """The pads meant where ONNX's order was wanted and begin, end, begin, end was written."""
    return pairs_of([amount for pair in pads for amount in pair])


def _moved(by: int, pads: Pairs) -> Pairs:
    """The pads with the data moved: the begin larger and the end smaller by so many elements."""
    pairs = (((begin + by, end - by), (begin, end)) for begin, end in pads)
    return tuple(there if min(there) >= 0 else here for there, here in pairs)


MISTAKES: Mapping[str, tuple[Callable[[Pairs], Pairs], int]] = {
    "begin and end exchanged": (_exchanged, LIKELY),
    "begin and end in turns": (_in_turns, LIKELY),
    "in turns read as ONNX's order": (_from_turns, LESS),
    "axes exchanged": (lambda pads: pads[::-1], LESS),
    **{f"moved by {by}": (partial(_moved, by), LEAST) for by in (1, -1, 2, -2)},
}
"""What may have been done to pads, undone, with how likely that is."""


def _mended(name: str, site: Site) -> Padding | None:
    pads = site.padding.pads
    return None if pads is None else replace(site.padding, pads=MISTAKES[name][0](pads))


def _longer(more: int, side: str, site: Site) -> Padding | None:
    """A transposed convolution's output longer by so many elements at one end of each axis.

    A runtime crops nothing negative, so an end that is extended is appended.
    """
    if not site.is_transposed:
        return None
    by_begin, by_end = (more, 0) if side == "begin" else (0, more)
    crop = [(begin - by_begin, end - by_end) for begin, end in site.padding.crop]
    if min(begin for begin, _ in crop) < 0:
        return None
    pads, appended = zip(*(((b, max(e, 0)), max(-e, 0)) for b, e in crop), strict=True)
    return replace(site.padding, pads=pads, output_padding=appended)


def _flagged(site: Site, padding: Padding) -> Iterator[tuple[str, Padding]]:
    """A padding as a pool may round and an average may count it, first as they do now."""
    now = site.padding
    rounds = site.is_pool and site.is_sized and padding.pads is not None
    ceils = (now.ceil, not now.ceil) if rounds else (now.ceil and padding.pads is not None,)
    counts = (now.counted, not now.counted) if site.leaves_padding_out else (now.counted,)
    for ceil, counted in product(ceils, counts):
        words = f", rounded {'up (ceil)' if ceil else 'down'}" * (ceil != ceils[0])
        words += f", padding {'not ' * (not counted)}counted" * (counted != now.counted)
        yield words, replace(padding, ceil=ceil, counted=counted)


# Whole models


_IDEAS: Mapping[str, Idea] = {
    **{name: partial(_in, name) for name in _NAMES},
    **{name: partial(_mended, name) for name in MISTAKES},
    **{
        f"{name} everywhere": partial(_in, name, intent="same")
        for name in ("tensorflow", "pytorch")
    },
    "valid": partial(_in, "valid", intent="same"),
    "causal": partial(_in, "keras", intent="causal"),
    **{
        f"{more:+} elements at the {end}": partial(_longer, more, end)
        for more in (-1, 1, -2, 2, -3, 3, -4, 4)
        for end in ("end", "begin")
    },
}


def _of_kind(idea: Idea, pools: bool | None, site: Site) -> Padding:
    found = idea(site) if pools in (None, site.is_pool) else None
    return site.padding if found is None else found


WHOLE: Mapping[str, Callable[[Site], Padding]] = {
    kind + name: partial(_of_kind, idea, pools)
    for kind, pools in {"": None, "convolutions: ": False, "pools: ": True}.items()
    for name, idea in _IDEAS.items()
}
"""Conventions of a whole model, or of all its operators of one kind, likelier ones first."""


# Options


def _ideas(site: Site) -> Iterator[tuple[str, Padding | None, int]]:
    """The paddings of an operator, likely and less likely ones."""
    yield AS_IS, site.padding, LIKELY
    for (name, intent), padding in _answers(op_of(site) or "maxpool", site.windows).items():
        tier = LESS if "valid" in (name, intent) else LIKELY
        yield FRAMEWORKS[name].by_intent[intent][-1].name, padding, tier
    yield from ((name, _mended(name, site), tier) for name, (_, tier) in MISTAKES.items())
    if not site.is_transposed:
        sizes = tuple(window.stride << 12 for window in site.windows)
        for odd in ODD.values():
            pads = Padding(None, odd=odd).amounts(sizes, site.windows)
            name = f"same, odd at the {odd}, as where the stride divides the size"
            yield name, replace(site.padding, pads=pads), LESS
        return
    none, half = (0,) * len(site.windows), _in("pytorch", site, "same")
    yield "without output_padding", replace(site.padding, output_padding=none), LIKELY
    if half is not None:
        half = replace(half, output_padding=none)
        yield "pytorch-half without output_padding", half, LIKELY


def options_of(site: Site) -> tuple[list[Candidate], dict[str, int]]:
    """The paddings of an operator, first that of the model; equal ones at any size only once.

    And which of them it has in each convention of a whole model.
    """
    every, whole = list[Candidate](), {name: way(site) for name, way in WHOLE.items()}
    for name, padding, tier in _ideas(site):
        for words, each in () if padding is None else _flagged(site, padding):
            told = (name + words).removeprefix(f"{AS_IS}, ")
            every.append(
                Candidate(told, each, max(tier, LESS) if words and name != AS_IS else tier)
            )
    every += (Candidate(name, padding, LESS) for name, padding in whole.items())
    found: dict[object, Candidate] = {}
    for candidate in sorted(every, key=lambda each: (each.name != AS_IS, each.tier)):
        found.setdefault(_key(site, candidate.padding), candidate)
    keys = [*found]
    return [*found.values()], {n: keys.index(_key(site, each)) for n, each in whole.items()}


def _key(site: Site, padding: Padding) -> object:
    """A value that is equal for choices that compute the same at any size."""
    if site.is_transposed or site.is_sized:
        return padding
    return padding.effect((ANY_SIZE,) * len(site.windows), site.windows)
