"""Sums of functions of symbols, and symbols that stand for the greatest, the least or a whole sum.

A sum is a constant and, for each symbol, a function that is 0 at the symbol's least value. Some
operations need one symbol where a sum has several. Then a derived symbol stands for

- the greater or the lesser of two sums, as the side of the square that holds an image;
- the varying part of a sum, as in half of what is lacking to that square.

A derived symbol is known by what it is derived from, so that equal ones are one symbol. It is taken
to vary independently of the others, within bounds: what holds then for all values holds. Bounds of
a sum know that the greater of two is at least either one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd
from typing import Final

from onnxpad.arithmetic import quasi_affine, render
from onnxpad.arithmetic.quasi_affine import InexpressibleError, QuasiAffine
from onnxpad.arithmetic.symbol import Sizes, Symbol, Terms
from onnxpad.records import NamedTuple

GREATEST: Final = "max"
LEAST: Final = "min"
WHOLE: Final = "sum"

_DEEPEST: Final = 4
"""A symbol may be derived from derived ones, up to this depth."""

_MOST: Final = 8
"""Most terms of a sum from which a symbol is derived."""


class Sum(NamedTuple):
    """A constant plus functions of symbols, sorted by symbol; no function is zero."""

    constant: int
    terms: Terms


def plus(a: Sum, b: Sum) -> Sum:
    """Return a + b."""
    terms = dict(a.terms)
    _include(terms, b.terms)
    return _normal(a.constant + b.constant, terms)


def times(a: Sum, factor: int) -> Sum:
    """Return factor * a, for a factor that is not 0."""
    terms = tuple((symbol, quasi_affine.scale(form, factor)) for symbol, form in a.terms)
    return Sum(a.constant * factor, terms)


def minus(a: Sum, b: Sum) -> Sum:
    """Return a - b."""
    return plus(a, times(b, -1))


def bounds(a: Sum, replaced: int = 0) -> tuple[int, int]:
    """Return a lower and an upper bound, which are reached unless a symbol is derived.

    Args:
        a: The sum.
        replaced: How many symbols were replaced in it by what they are derived from.
    """
    lo = hi = a.constant
    for _, form in a.terms:
        least, greatest = form.bounds()
        lo, hi = lo + least, hi + greatest
    if len(a.terms) == 1:
        return lo, hi
    extremes = [term for term in a.terms if term[0].kind in {GREATEST, LEAST}]
    if len(extremes) + replaced > _DEEPEST:
        return lo, hi
    for symbol, form in extremes:
        factor = _factor(form, _itself(symbol))
        if not factor:
            continue
        # With the symbol replaced by either of the two from which it is derived.
        rest = minus(a, times(_sum_of(symbol), factor))
        both = [plus(rest, times(Sum(*each), factor)) for each in symbol.of]
        sides = [bounds(each, replaced + 1) for each in both]
        choose = max if (symbol.kind == GREATEST) == (factor > 0) else min
        lo, hi = max(lo, choose(low for low, _ in sides)), min(hi, choose(top for _, top in sides))
    return lo, hi


def extreme(a: Sum, b: Sum, kind: str) -> Sum:
    """Return the greater or the lesser of two sums that differ by several symbols."""
    above, below = _sides(minus(a, b))
    return plus(minus(a, above), _sum_of(_extreme(kind, *sorted((above, below)))))


def one_symbol(a: Sum) -> tuple[Symbol, QuasiAffine]:
    """Return a symbol, and the sum as a function of it; the symbol is derived if need be."""
    if len(a.terms) == 1:
        symbol, form = a.terms[0]
        return symbol, quasi_affine.translate(form, a.constant)
    varying = Sum(0, a.terms)
    lo, hi = bounds(varying)
    if lo + hi < 0 or (lo + hi == 0 and _falls(a.terms[0][1])):
        symbol, form = one_symbol(times(varying, -1))
        form = quasi_affine.scale(form, -1)
    else:
        sizes = Sizes(lo, hi, _step([varying]))
        symbol = _derived(f"({sum_text(varying)})", sizes, WHOLE, varying)
        form = sizes.by_index()
    return symbol, quasi_affine.translate(form, a.constant)


def value(symbol: Symbol, values: Mapping[str, int]) -> int:
    """Return the value of a symbol, given those of the symbols that are not derived, by name."""
    if not symbol.kind:
        if symbol.name not in values:
            raise ValueError(f"no value is given for `{symbol.name}`")
        return values[symbol.name]
    parts = [evaluate(Sum(*each), values) for each in symbol.of]
    return min(parts) if symbol.kind == LEAST else max(parts)


def evaluate(a: Sum, values: Mapping[str, int]) -> int:
    """Return the value of a sum; as `value`."""
    return a.constant + sum(
        form.at(symbol.sizes.index(value(symbol, values))) for symbol, form in a.terms
    )


def _include(terms: dict[Symbol, QuasiAffine], others: Terms, factor: int = 1) -> None:
    for symbol, form in others:
        scaled = quasi_affine.scale(form, factor)
        terms[symbol] = quasi_affine.add(terms[symbol], scaled) if symbol in terms else scaled


def _normal(constant: int, terms: dict[Symbol, QuasiAffine]) -> Sum:
    """Return the sum in which no symbol stands beside all that it is derived from.

    The first part of a whole sum is written by its symbol where that symbol is there, and the
    symbol by its parts where it is only multiplied.
    """
    for whole in sorted(symbol for symbol in terms if symbol.kind == WHOLE):
        ((offset, parts),) = whole.of
        first, form = parts[0]
        if terms[whole].is_zero():
            continue
        beside = _factor(terms[first], form) if first in terms else 0
        itself = _itself(whole)
        if beside:
            _include(terms, parts, -beside)
            _include(terms, ((whole, itself),), beside)
            constant += beside * (whole.sizes.first - offset)
        if alone := _factor(terms[whole], itself):
            del terms[whole]
            _include(terms, parts, alone)
            constant -= alone * (whole.sizes.first - offset)
    kept = sorted(term for term in terms.items() if not term[1].is_zero())
    return Sum(constant, tuple(kept))


def _factor(form: QuasiAffine, of: QuasiAffine) -> int:
    """Return the factor by which one function is a multiple of another; 0 where it is none."""
    place = next(index for index, each in enumerate(of.values) if each)
    factor, rest = divmod(form.at(place), of.values[place])
    return factor if factor and not rest and quasi_affine.scale(of, factor) == form else 0


def _itself(symbol: Symbol) -> QuasiAffine:
    """Return the symbol as a function of itself, less its least value."""
    return quasi_affine.translate(symbol.sizes.by_index(), -symbol.sizes.first)


def _sum_of(symbol: Symbol) -> Sum:
    return Sum(symbol.sizes.first, ((symbol, _itself(symbol)),))


def _sides(difference: Sum) -> tuple[Sum, Sum]:
    """Return two sums of this difference: one of the terms that rise first, one of the others.

    For the negative of the difference they are the same in the other order. A symbol that stands
    by itself has no constant beside it, if that can be.
    """
    sides: tuple[list[tuple[Symbol, QuasiAffine]], ...] = ([], [])
    constants = [0, 0]
    for symbol, form in difference.terms:
        side = int(_falls(form))
        each = quasi_affine.scale(form, -1 if side else 1)
        sides[side].append((symbol, each))
        constants[side] += _factor(each, _itself(symbol)) * symbol.sizes.first
    rest = difference.constant - (constants[0] - constants[1])
    constants[int(rest < 0)] += abs(rest)
    above, below = (
        Sum(constant, tuple(terms)) for constant, terms in zip(constants, sides, strict=True)
    )
    return above, below


def _falls(form: QuasiAffine) -> bool:
    """Whether the first value other than 0 is negative."""
    return next(each for each in form.values if each) < 0


def _extreme(kind: str, a: Sum, b: Sum) -> Symbol:
    """Return the symbol for the greater or the lesser of two sums."""
    choose = max if kind == GREATEST else min
    lo, hi = map(choose, bounds(a), bounds(b))
    sizes = Sizes(lo, hi, gcd(_step([a, b]), a.constant - b.constant))
    one, other = (_alone(each) for each in (a, b))
    if one is not None and other is not None and one.sizes == other.sizes:
        sizes = one.sizes
    return _derived(f"{kind}({sum_text(a)}, {sum_text(b)})", sizes, kind, a, b)


def _alone(a: Sum) -> Symbol | None:
    """Return the symbol that is the whole sum; None where it is another one."""
    symbol = a.terms[0][0] if len(a.terms) == 1 else None
    return symbol if symbol is not None and a == _sum_of(symbol) else None


def _derived(name: str, sizes: Sizes, kind: str, *sums: Sum) -> Symbol:
    """Return a derived symbol.

    Raises:
        InexpressibleError: It would be derived from too much.
    """
    terms = [term for each in sums for term in each.terms]
    if len(terms) > _MOST or any(symbol.depth >= _DEEPEST for symbol, _ in terms):
        raise InexpressibleError(f"a size that depends on too many others: {name}")
    return Symbol(name, sizes, kind, tuple((each.constant, each.terms) for each in sums))


def _step(sums: Iterable[Sum]) -> int:
    """Return the greatest number that divides all changes of sums."""
    return gcd(*(each for one in sums for _, form in one.terms for each in form.values))


def sum_text(a: Sum) -> str:
    """Return a sum as a formula, as `2*ceil(height/2) - 1`; where none fits, as `f(height)`."""
    terms, total = _rendered(a)
    texts = [found.text if found else f"f({symbol.name})" for symbol, found in terms]
    total += sum(found.constant for _, found in terms if found)
    texts.sort(key=lambda text: text.startswith("-"))
    return render.join(texts, total) if texts else str(total)


def is_formula(a: Sum) -> bool:
    """Return whether a formula fits a sum, and all sums from which its symbols are derived."""
    return all(
        found is not None and all(is_formula(Sum(*each)) for each in symbol.of)
        for symbol, found in _rendered(a)[0]
    )


def _rendered(a: Sum) -> tuple[list[tuple[Symbol, render.Formula | None]], int]:
    """Return each term of a sum as a formula, where one fits, and the constant beside them."""
    terms, total = a.terms, a.constant
    if len(terms) == 1:  # with the constant inside, `max(n - 1, 4)` needs no second constant
        ((symbol, form),) = terms
        terms, total = ((symbol, quasi_affine.translate(form, total)),), 0
    return [(symbol, render.recognise(form, symbol)) for symbol, form in terms], total
