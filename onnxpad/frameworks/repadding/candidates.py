"""The paddings that an operator might have had in another framework, and those of a whole model.

They are what each framework of the table answers for each intent, and the operator's own padding as
it was meant before a common mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import chain, product

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import ODD, Side, Window
from onnxpad.frameworks.conventions.question import Op
from onnxpad.frameworks.conventions.table import FRAMEWORKS, AbsentError, Intent
from onnxpad.frameworks.fitting.case import case_of
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.search import TIERS
from onnxpad.frameworks.repadding.towards import expressed, op_of
from onnxpad.padding.padding import ANY_SIZE, Padding
from onnxpad.semantics.layers import Pairs, is_padded, onnx_order, pairs_of

LIKELY, LESS, LEAST = range(TIERS)
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


@lru_cache(maxsize=1 << 13)
def _answer(name: str, intent: Intent, op: Op, windows: tuple[Window, ...]) -> Padding | None:
    """The padding of an operator in a framework for an intent, if one holds at every size.

    Windows of one element take no part, so that a series of two dimensions may be causal.
    """
    some = [at for at, window in enumerate(windows) if window.extent > 1]
    if op == "convtranspose":
        some = [*range(len(windows))]
    slid = tuple(windows[at] for at in some)
    asked = case_of(op, slid, (None,) * len(slid), Padding(None)).questions
    try:
        padding = expressed(asked, [FRAMEWORKS[name].answer(intent, each) for each in asked])
    except AbsentError:
        return None
    if padding is None or padding.is_same:
        return padding
    pairs = dict(zip(some, padding.numbers, strict=True))
    return replace(padding, pads=tuple(pairs.get(at, (0, 0)) for at in range(len(windows))))


def _in(framework: str, intent: Intent | None, site: Site) -> Padding | None:
    """The padding in a framework for an intent, or for the one that the padding seems to have."""
    is_same = site.padding.is_same or is_padded(site.padding.numbers)
    wanted = intent or ("same" if is_same else "valid")
    return _answer(framework, wanted, op_of(site) or "maxpool", site.windows)


def _moved(by: int, pads: Pairs) -> Pairs:
    """The pads with the data moved: the begin larger and the end smaller by so many elements."""
    pairs = (((begin + by, end - by), (begin, end)) for begin, end in pads)
    return tuple(there if min(there) >= 0 else here for there, here in pairs)


def _turned(pads: Pairs) -> Pairs:
    """The pads meant where begin, end, begin, end was wanted and ONNX's order was written."""
    flat = onnx_order(pads)
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _mended(undo: Callable[[Pairs], Pairs], site: Site) -> Padding | None:
    pads = site.padding.pads
    return None if pads is None else replace(site.padding, pads=undo(pads))


def _divided(odd: Side, site: Site) -> Padding:
    """SAME in numbers, as they are where the stride divides the size."""
    sizes = tuple(window.stride << 12 for window in site.windows)
    pads = Padding(None, odd=odd).amounts(sizes, site.windows)
    return replace(site.padding, pads=pads)


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


def _flagged(site: Site, padding: Padding) -> Iterator[Padding]:
    """A padding as a pool may round and an average may count it, first as they do now."""
    now = site.padding
    rounds = site.is_pool and site.is_sized and padding.pads is not None
    ceils = (now.ceil, not now.ceil) if rounds else (now.ceil and padding.pads is not None,)
    counts = (now.counted, not now.counted) if site.leaves_padding_out else (now.counted,)
    return (replace(padding, ceil=up, counted=each) for up, each in product(ceils, counts))


def _ideas() -> Iterator[tuple[str, Idea, int]]:
    """What the padding of an operator may be meant as, with the tier of that."""
    yield AS_IS, lambda site: site.padding, LIKELY
    some: tuple[Intent, ...] = "same", "causal"
    for name, intent in product(_NAMES, some):
        for row in FRAMEWORKS[name].by_intent[intent][-1:]:
            yield row.name, partial(_in, name, intent), LESS if name == "valid" else LIKELY
    exchanged = partial(_mended, lambda pads: tuple((end, begin) for begin, end in pads))
    yield "begin and end exchanged", exchanged, LIKELY
    yield "begin and end in turns", partial(_mended, _turned), LIKELY
    from_turns = partial(_mended, lambda pads: pairs_of([*chain(*pads)]))
    yield "in turns read as ONNX's order", from_turns, LESS
    yield "axes exchanged", partial(_mended, lambda pads: pads[::-1]), LESS
    for by in (1, -1, 2, -2):
        yield f"moved by {by}", partial(_mended, partial(_moved, by)), LEAST
    for odd in ODD.values():
        told = f"same, odd at the {odd}, as where the stride divides the size"
        yield told, partial(_divided, odd), LESS
    for more, end in product((-1, 1, -2, 2, -3, 3, -4, 4), ("end", "begin")):
        tier = LIKELY if more == -1 else LESS  # as without an output_padding of 1
        yield f"{more:+} elements at the {end}", partial(_longer, more, end), tier


_IDEAS = {name: (idea, tier) for name, idea, tier in _ideas()}


def conventions(site: Site) -> dict[str, Padding]:
    """The padding of an operator by each convention of a whole model, likelier ones first.

    Some are about all its operators of one kind, and leave others as they are.
    """
    own = site.padding
    found = {name: _in(name, None, site) or own for name in _NAMES}
    for name, (idea, _) in _IDEAS.items():
        found[name + " everywhere" * (name in _NAMES)] = idea(site) or own
    others = dict.fromkeys(found, own)
    convolutions, pools = (others, found) if site.is_pool else (found, others)
    kinds = {"": found, "convolutions: ": convolutions, "pools: ": pools}
    return {kind + name: p for kind, some in kinds.items() for name, p in some.items()}


def options_of(site: Site) -> tuple[list[Candidate], dict[str, int]]:
    """The paddings of an operator, first that of the model; equal ones at any size only once.

    And which of them it has in each convention of a whole model.
    """
    every, whole = list[Candidate](), conventions(site)
    for name, (idea, tier) in _IDEAS.items():
        some = () if (padding := idea(site)) is None else _flagged(site, padding)
        for at, each in enumerate(some):
            least = LESS if at and name != AS_IS else LIKELY
            told = "rounded or counted otherwise" if at and name == AS_IS else name
            every.append(Candidate(told, each, max(tier, least)))
    found: dict[object, Candidate] = {}
    for candidate in sorted(every, key=lambda each: (each.name != AS_IS, each.tier)):
        found.setdefault(_key(site, candidate.padding), candidate)
    for name, padding in whole.items():  # Keras's VALID appends where the extent is below a stride
        found.setdefault(_key(site, padding), Candidate(name, padding, LESS))
    keys = [*found]
    return [*found.values()], {n: keys.index(_key(site, each)) for n, each in whole.items()}


def _key(site: Site, padding: Padding) -> object:
    """A value that is equal for choices that compute the same at any size."""
    if site.is_transposed or site.is_sized:
        return padding
    return padding.effect((ANY_SIZE,) * len(site.windows), site.windows)
