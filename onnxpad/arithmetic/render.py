"""A function written as people write it: `2*ceil(height/2) - 1`.

`recognise` guesses a rounded quotient, a remainder, or a quotient limited from below. It returns
the guess only where both have one normal form. `cases` lists values by remainder.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from msgspec import Struct

from onnxpad.arithmetic import quasi_affine
from onnxpad.arithmetic.quasi_affine import InexpressibleError, QuasiAffine, Symbol, Terms

_MOST_CASES = 8
"""Most remainders that are told apart in words."""


class Formula(Struct, frozen=True):
    """A text with the constant to add to it, and the function that both are."""

    text: str
    constant: int
    function: QuasiAffine

    def __str__(self) -> str:
        """Return the sum."""
        return join([self.text], self.constant)


def join(texts: Iterable[str], constant: int) -> str:
    """Return the sum as text; a positive constant comes first where the first term is negative."""
    parts = [*texts, *([str(constant)] if constant else [])]
    if constant > 0 and parts[0].startswith("-"):
        parts = [parts[-1], *parts[:-1]]
    rest = (f" - {each[1:]}" if each.startswith("-") else f" + {each}" for each in parts[1:])
    return "".join([*parts[:1], *rest])


def recognise(f: QuasiAffine, symbol: Symbol) -> Formula | None:
    """Return f, which is not constant, as a formula; None where no known shape fits."""
    threshold, period = quasi_affine.repetition(f)
    if threshold + 2 * period > f.count:
        return None
    gains = {f.at(index + period) - f.at(index) for index in range(threshold, threshold + period)}
    if len(gains) > 1:
        return None
    if gains == {0}:
        return _remainder(f, period, symbol)
    guess = _quotient(f, threshold, period, symbol)
    if guess is None or guess.function == f:
        return guess
    least, _ = f.bounds()
    try:
        above = quasi_affine.positive_part(quasi_affine.translate(guess.function, -least))
    except InexpressibleError:
        return None
    is_limited = quasi_affine.translate(above, least) == f
    return Formula(f"max({guess}, {least})", 0, f) if is_limited else None


def _quotient(f: QuasiAffine, threshold: int, period: int, symbol: Symbol) -> Formula | None:
    """Return factor * floor((p * n + b) / q) + constant that equals f from the threshold on."""
    indices = range(threshold, threshold + 2 * period)
    start = f.at(threshold)
    factor = gcd(*(f.at(index) - start for index in indices))
    gain = f.at(threshold + period) - start
    factor = -factor if gain < 0 else factor
    grown = period * symbol.sizes.step
    common = gcd(gain // factor, grown)
    p, q = gain // factor // common, grown // common
    spans = [
        q * ((f.at(index) - start) // factor) - p * symbol.sizes.value(index) for index in indices
    ]
    lo, hi = max(spans), min(spans) + q - 1
    if lo > hi:
        return None
    # Many offsets round alike: prefer the one of floor, then of ceil, else take the least.
    floor, ceil = -lo % q, (-1 - lo) % q
    shift = floor if floor <= hi - lo else ceil if ceil <= hi - lo else 0
    whole, offset = divmod(lo + shift, q)
    constant = start + factor * whole
    function = quasi_affine.divide(_times(symbol, p, offset), q)
    function = quasi_affine.translate(quasi_affine.scale(function, factor), constant)
    top = _multiple(p, symbol.name)
    if offset == 0 and p * symbol.sizes.step % q == 0:  # every value has the same remainder
        rest = p * symbol.sizes.first % q
        if factor * rest % q == 0:
            shifted = constant - factor * rest // q
            return Formula(_multiple(factor * p, symbol.name, q), shifted, function)
    if offset == 0:
        text = f"floor({top}/{q})"
    else:
        text = f"ceil({top}/{q})" if offset == q - 1 else f"floor(({top} + {offset})/{q})"
    return Formula(_multiple(factor, text), constant, function)


def _remainder(f: QuasiAffine, period: int, symbol: Symbol) -> Formula | None:
    """Return f as constant + factor * ((b + n) mod P), or with -n; None unless it is that."""
    constant = min(f.values)
    factor = gcd(*(value - constant for value in f.values))
    first = (f.at(0) - constant) // factor
    modulus = period * symbol.sizes.step
    for sign in (1, -1):
        offset = (first * symbol.sizes.step - sign * symbol.sizes.first) % modulus
        text, rest = _rest(symbol, sign, offset, modulus)
        rest = quasi_affine.divide(rest, symbol.sizes.step)
        function = quasi_affine.translate(quasi_affine.scale(rest, factor), constant)
        if function == f:
            return Formula(_multiple(factor, text, symbol.sizes.step), constant, function)
    return None


def _rest(symbol: Symbol, sign: int, offset: int, modulus: int) -> tuple[str, QuasiAffine]:
    """Return (offset + sign * n) mod modulus, as text and as a function of the index."""
    shifted = _times(symbol, sign, offset)
    whole = quasi_affine.scale(quasi_affine.divide(shifted, modulus), -modulus)
    top = join([symbol.name if sign > 0 else f"-{symbol.name}"], offset)
    text = f"(({top}) mod {modulus})" if offset else f"({top} mod {modulus})"
    return text, quasi_affine.add(shifted, whole)


def _times(symbol: Symbol, factor: int, offset: int) -> QuasiAffine:
    """Return `factor` times the symbol plus `offset` as a function of its index."""
    return quasi_affine.translate(quasi_affine.scale(symbol.sizes.by_index(), factor), offset)


def _multiple(factor: int, text: str, divisor: int = 1) -> str:
    """Return factor * text / divisor as text, in lowest terms."""
    common = gcd(factor, divisor)
    factor, divisor = factor // common, divisor // common
    product = text if factor == 1 else f"-{text}" if factor == -1 else f"{factor}*{text}"
    return product if divisor == 1 else f"{product}/{divisor}"


def cases(f: QuasiAffine, symbol: Symbol) -> str:
    """Return the values of f as `0 when n mod 3 is 0 or 1, 1 when 2`; empty if they are many."""
    threshold, period = quasi_affine.repetition(f)
    modulus = period * symbol.sizes.step
    if threshold or period > _MOST_CASES or 2 * period > f.count:
        return ""
    if any(f.at(index) != f.at(index + period) for index in range(period)):
        return ""
    found: dict[int, list[str]] = {}
    for index in sorted(range(period), key=lambda index: symbol.sizes.value(index) % modulus):
        found.setdefault(f.at(index), []).append(str(symbol.sizes.value(index) % modulus))
    parts = [f"{value} when {' or '.join(rests)}" for value, rests in sorted(found.items())]
    return ", ".join(parts).replace(" when ", f" when {symbol.name} mod {modulus} is ", 1)


def sum_text(constant: int, terms: Terms) -> str:
    """Return a sum as a formula, as `2*ceil(height/2) - 1`; where none fits, as `f(height)`."""
    if len(terms) == 1:  # with the constant inside, `max(n - 1, 4)` needs no second constant
        terms = ((terms[0][0], quasi_affine.translate(terms[0][1], constant)),)
        constant = 0
    found = [(symbol, recognise(form, symbol)) for symbol, form in terms]
    texts = [formula.text if formula else f"f({symbol.name})" for symbol, formula in found]
    texts.sort(key=lambda text: text.startswith("-"))
    return join(texts, constant + sum(formula.constant for _, formula in found if formula))
