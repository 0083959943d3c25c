"""Exact arithmetic on sizes that are symbols, such as an open height.

A `Size` is a constant plus, for each symbol, an eventually quasi-affine function of it that is 0 at
the symbol's least value. The parts are unique and each is in normal form, so two sizes are equal
for every admitted value of their symbols if and only if they compare equal. A result that does not
vary is always a plain int, never a `Size`. A result that the form cannot hold, such as the greatest
of two symbols, is an `Unknown` that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import gcd, lcm
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic import quasi_affine
from onnxpad.arithmetic.quasi_affine import ANY, InexpressibleError, QuasiAffine, Terms
from onnxpad.arithmetic.quasi_affine import NMAX as NMAX
from onnxpad.arithmetic.quasi_affine import Sizes as Sizes
from onnxpad.arithmetic.quasi_affine import Symbol as Symbol


class _Arithmetic(Struct, frozen=True):
    """Python's operators for `Size` and `Unknown`: division rounds down."""

    def __add__(self, other: Extent) -> Extent:
        if isinstance(other, int) and isinstance(self, Size):  # less than to look it up
            return Size(self.constant + other, self.terms)
        return _operate(_add, self, other)

    def __sub__(self, other: Extent) -> Extent:
        return self + -other

    def __rsub__(self, other: int) -> Extent:
        return -self + other

    def __mul__(self, other: Extent) -> Extent:
        return _operate(_multiply, self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Extent) -> Extent:
        return _operate(_floor_div, self, other)

    def __mod__(self, other: Extent) -> Extent:
        return _operate(_modulo, self, other)

    def __neg__(self) -> Extent:
        return self * -1

    def __bool__(self) -> NoReturn:
        raise TypeError("a symbolic or unknown size has no truth value: ask `always`")


class Unknown(_Arithmetic, frozen=True, eq=False):
    """An unknown number, and why it is unknown. Absorbs every operation; the first reason wins.

    Equal to nothing, itself included: two unknowns with the same reason may be different numbers.
    Compare extents one by one, not tuples of them: inside a container Python takes any object for
    equal to itself. Where it `is_disputed`, runtimes compute different numbers.
    """

    reason: str
    is_disputed: bool = False

    def __eq__(self, other: object) -> bool:
        """Return False."""
        return False

    def __ne__(self, other: object) -> bool:
        """Return True."""
        return True

    __hash__ = object.__hash__

    def __str__(self) -> str:
        """Return the reason in brackets."""
        return f"unknown ({self.reason})"


class Size(_Arithmetic, frozen=True, cache_hash=True):
    """A number that varies with symbols: that at their least values, and what each symbol adds.

    Terms are sorted by symbol; there are some, and no function of them is zero.
    """

    constant: int
    terms: Terms

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols it varies with."""
        return tuple([symbol for symbol, _ in self.terms])

    def __repr__(self) -> str:
        """Return a formula, as `2*ceil(height/2) - 1`; where none fits, `f(height)`."""
        return _sum_text(self.constant, self.terms)


Extent = int | Size | Unknown
_Known = int | Size
_KNOWN = (int, Size)
_EXTENTS = (int, Size, Unknown)

_MOST_ROWS = 8
"""Most remainders that are told apart; a table begins at no lesser value, if there are some."""


def symbol(name: str, sizes: Sizes = ANY) -> _Known:
    """Return the size that is this symbol; a plain int where only one value is admitted."""
    return _sized(Symbol(name, sizes), sizes.by_index())


def absolute(a: Extent) -> Extent:
    """Return |a|."""
    return maximum(a, -a)


def maximum(a: Extent, b: Extent) -> Extent:
    """Return the greater of both."""
    if isinstance(a, int) and isinstance(b, int):
        return a if a > b else b
    return _total(_maximum, a, b)


def minimum(a: Extent, b: Extent) -> Extent:
    """Return the lesser of both."""
    return -maximum(-a, -b)


def clip(a: Extent, lo: Extent, hi: Extent) -> Extent:
    """Return min(max(a, lo), hi): `hi` where the limits cross, as ONNX Clip."""
    return minimum(maximum(a, lo), hi)


def floor_div(a: Extent, d: Extent) -> Extent:
    """Return a / d rounded down."""
    if isinstance(a, int) and isinstance(d, int) and d:
        return a // d
    return _total(_floor_div, a, d)


def ceil_div(a: Extent, d: Extent) -> Extent:
    """Return a / d rounded up."""
    return -floor_div(-a, d)


def trunc_div(a: Extent, d: Extent) -> Extent:
    """Return a / d rounded toward 0, as C does, and with it onnxruntime's pools and integer Div."""
    if (bounds(d)[1] or 0) < 0:
        a, d = -a, -d
    above = maximum(a, 0)
    return floor_div(above, d) - floor_div(above - a, d)


def modulo(a: Extent, d: Extent) -> Extent:
    """Return the remainder of `floor_div`, with the sign of d."""
    return _total(_modulo, a, d)


def less(a: Extent, b: Extent) -> Extent:
    """Return 1 where a < b, else 0."""
    if isinstance(a, int) and isinstance(b, int):
        return int(a < b)
    return _total(_less, a, b)


def less_equal(a: Extent, b: Extent) -> Extent:
    """Return 1 where a <= b, else 0."""
    return less(a, b + 1)


def equal(a: Extent, b: Extent) -> Extent:
    """Return 1 where a = b, else 0."""
    return less_equal(a, b) - less(a, b)


def where(cond: Extent, a: Extent, b: Extent) -> Extent:
    """Return a where `cond` is not 0, else b; a side that is never chosen may be unknown."""
    truth = always(cond)
    if truth is not None:
        return a if truth else b
    if a == b:
        return a
    chosen = cond if bounds(cond) == (0, 1) else 1 - equal(cond, 0)
    return chosen * (a - b) + b


def always(cond: Extent) -> bool | None:
    """Return whether a condition (not 0) holds for every admitted value; None where it varies."""
    if isinstance(cond, Unknown):
        return None
    lo, hi = _bounds(cond)
    return None if lo <= 0 <= hi and lo < hi else lo > 0 or hi < 0


def bounds(a: Extent) -> tuple[int | None, int | None]:
    """Return the least and the greatest value over the admitted values; None where unknown."""
    return (None, None) if isinstance(a, Unknown) else _bounds(a)


def solutions(cond: Size) -> Sizes | None:
    """Return the closest range around the values of the one symbol of `cond` that make it 1.

    The condition is 0 or 1, and varies. None where the range holds all values.
    """
    symbol, form = _form(cond)
    found = quasi_affine.support(form)
    if found == range(form.count):
        return None
    sizes = symbol.sizes
    return Sizes(sizes.value(found[0]), sizes.value(found[-1]), sizes.step * found.step)


def evaluate(a: Extent, values: Mapping[str, int]) -> int:
    """Return the number that `a` is where the symbols of these names have these values."""
    if isinstance(a, int):
        return a
    if isinstance(a, Unknown):
        raise ValueError(f"no value: {a.reason}")
    total = a.constant
    for symbol, form in a.terms:
        if symbol.name not in values:
            raise ValueError(f"no value is given for `{symbol.name}`")
        total += form.at(symbol.sizes.index(values[symbol.name]))
    return total


def residues(a: Extent) -> dict[Symbol, tuple[int, int]]:
    """Return, for each symbol, a period and the value from which `a` grows the same every period.

    Both count in values of the symbol.
    """
    found: dict[Symbol, tuple[int, int]] = {}
    for symbol, form in a.terms if isinstance(a, Size) else ():
        threshold, period = quasi_affine.repetition(form)
        found[symbol] = period * symbol.sizes.step, symbol.sizes.value(threshold)
    return found


def in_words(a: Extent, name: str) -> str:
    """Return `a` as a formula with `name` for its one symbol, or as its limits."""
    if not isinstance(a, Size) or len(a.terms) > 1:
        return str(a)
    symbol, form = _form(a)
    told = recognise(form, replace(symbol, name=name))
    return str(told) if told else "from {} to {}".format(*form.bounds())


def in_terms_of(a: Extent, other: Extent, name: str) -> Extent:
    """Return `a` as a function of another size, which becomes a symbol of this name."""
    if isinstance(a, int):
        return a
    if isinstance(a, Size) and isinstance(other, Size) and len(a.terms) == 1:
        f, g = a.terms[0][1], other.terms[0][1]
        found = quasi_affine.through(f, g) if a.symbols == other.symbols else None
        if found is not None:
            function, step = found
            return _add(_sized(Symbol(name, Sizes(*_bounds(other), step)), function), a.constant)
    return Unknown(f"no function of {name}")


def table_of(extents: Mapping[str, Extent], size: Extent) -> dict[str, object] | None:
    """Tabulates sizes by the size of an axis if that determines them, else by their one symbol.

    `of` names the symbol (empty for the size of the axis), `modulus` is the common period, `since`
    the value from which the rows repeat. None where there is no such table, or it is long.

    >>> table_of({"n": symbol("n")}, symbol("n"))
    {'of': '', 'modulus': 1, 'since': 1, 'rows': [{'at': 8, 'n': 8}]}
    """
    by_size = {name: in_terms_of(each, size, "") for name, each in extents.items()}
    for some in (by_size, extents):
        known = [residues(each) for each in some.values()]
        symbols = {symbol for each in known for symbol in each}
        if any(isinstance(each, Unknown) for each in some.values()) or len(symbols) != 1:
            continue
        (base,) = symbols
        modulus = lcm(*(each[base][0] for each in known if each))
        since = max(each[base][1] for each in known if each)
        first = base.sizes.from_on(max(since, -(-_MOST_ROWS // modulus) * modulus))
        count = modulus // base.sizes.step
        if count > _MOST_ROWS or first + count > base.sizes.count:
            continue
        rows = []
        for at in map(base.sizes.value, range(first, first + count)):
            values = {name: evaluate(each, {base.name: at}) for name, each in some.items()}
            rows.append({"at": at, **values})
        return {"of": base.name, "modulus": modulus, "since": since, "rows": rows}
    return None


def _operate(operation: Callable[[_Known, _Known], _Known], left: Any, right: object) -> Extent:
    """Apply an operation for one of Python's operators."""
    if isinstance(right, _EXTENTS):
        return _total(operation, left, right)
    declined: Extent = NotImplemented
    return declined


def _total(operation: Callable[..., _Known], *operands: Extent) -> Extent:
    """Apply an operation on ints and sizes to extents; a result without a form is unknown."""
    for operand in operands:
        if isinstance(operand, Unknown):
            return Unknown(operand.reason, operand.is_disputed)
        if not isinstance(operand, _KNOWN):
            raise TypeError(f"{operand!r} is a {type(operand).__name__}, not an int or a size")
    try:
        return _apply(operation, *operands)
    except InexpressibleError as error:
        return Unknown(str(error))


@lru_cache(maxsize=1024)
def _apply(operation: Callable[..., _Known], *operands: _Known) -> _Known:
    """Apply an operation; layers that are alike, and one graph at several domains, ask it again."""
    return operation(*operands)


def _known(constant: int, terms: Mapping[Symbol, QuasiAffine]) -> _Known:
    kept = sorted(term for term in terms.items() if any(term[1].values))
    return Size(constant, tuple(kept)) if kept else constant


def _sized(symbol: Symbol, form: QuasiAffine) -> _Known:
    constant = form.values[0]
    return _known(constant, {symbol: quasi_affine.translate(form, -constant)})


def _form(a: Size) -> tuple[Symbol, QuasiAffine]:
    if len(a.terms) > 1:
        names = " and ".join(symbol.name for symbol in a.symbols)
        raise InexpressibleError(f"a size that varies with {names} together")
    symbol, form = a.terms[0]
    return symbol, quasi_affine.translate(form, a.constant)


def _bounds(a: _Known) -> tuple[int, int]:
    if isinstance(a, int):
        return a, a
    limits = [form.bounds() for _, form in a.terms]
    return a.constant + sum(lo for lo, _ in limits), a.constant + sum(hi for _, hi in limits)


def _add(a: _Known, b: _Known) -> _Known:
    if isinstance(a, int):
        return a + b if isinstance(b, int) else Size(a + b.constant, b.terms)
    if isinstance(b, int):
        return Size(a.constant + b, a.terms)
    terms = dict(a.terms)
    for symbol, form in b.terms:
        terms[symbol] = quasi_affine.add(terms[symbol], form) if symbol in terms else form
    return _known(a.constant + b.constant, terms)


def _scale(a: _Known, factor: int) -> _Known:
    if isinstance(a, int):
        return a * factor
    if factor == 0:
        return 0
    terms = [(symbol, quasi_affine.scale(form, factor)) for symbol, form in a.terms]
    return Size(a.constant * factor, tuple(terms))


def _subtract(a: _Known, b: _Known) -> _Known:
    return _add(a, _scale(b, -1))


def _multiply(a: _Known, b: _Known) -> _Known:
    if isinstance(a, int):
        return _scale(b, a)
    if isinstance(b, int):
        return _scale(a, b)
    symbol, f = _form(a)
    other, g = _form(b)
    if symbol != other:
        raise InexpressibleError(f"a product of {symbol.name} and {other.name}")
    return _sized(symbol, quasi_affine.multiply(f, g))


def _floor_div(a: _Known, d: _Known) -> _Known:
    if isinstance(d, Size):
        raise InexpressibleError("a division by a size that varies")
    if d == 0:
        raise InexpressibleError("a division by 0")
    if d < 0:
        a, d = _scale(a, -1), -d
    if isinstance(a, int):
        return a // d
    symbol, form = _form(a)
    return _sized(symbol, quasi_affine.divide(form, d))


def _modulo(a: _Known, d: _Known) -> _Known:
    return _subtract(a, _multiply(_floor_div(a, d), d))


def _maximum(a: _Known, b: _Known) -> _Known:
    above = _subtract(a, b)
    lo, hi = _bounds(above)
    if isinstance(above, int) or lo >= 0 or hi <= 0:
        return a if lo >= 0 else b
    symbol, form = _form(above)
    return _add(b, _sized(symbol, quasi_affine.positive_part(form)))


def _less(a: _Known, b: _Known) -> _Known:
    below = _subtract(a, b)
    lo, hi = _bounds(below)
    if isinstance(below, int) or lo >= 0 or hi < 0:
        return int(hi < 0)
    symbol, form = _form(below)
    return _sized(symbol, quasi_affine.negative(form))


class Formula(Struct, frozen=True):
    """A text with the constant to add to it, and the function that both are."""

    text: str
    constant: int
    function: QuasiAffine

    def __str__(self) -> str:
        """Return the sum."""
        return _join([self.text], self.constant)


def _join(texts: Iterable[str], constant: int) -> str:
    """A positive constant comes first where the first term is negative."""
    parts = [*texts, *([str(constant)] if constant else [])]
    if constant > 0 and parts[0].startswith("-"):
        parts = [parts[-1], *parts[:-1]]
    rest = (f" - {each[1:]}" if each.startswith("-") else f" + {each}" for each in parts[1:])
    return "".join([*parts[:1], *rest])


@lru_cache(maxsize=1024)
def recognise(f: QuasiAffine, symbol: Symbol) -> Formula | None:
    """Return f, which varies, as people write it; None where no guess has its normal form."""
    threshold, period = quasi_affine.repetition(f)
    if threshold == f.count:
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
        shifted = _times(symbol, sign, offset)
        whole = quasi_affine.scale(quasi_affine.divide(shifted, modulus), -modulus)
        rest = quasi_affine.divide(quasi_affine.add(shifted, whole), symbol.sizes.step)
        if quasi_affine.translate(quasi_affine.scale(rest, factor), constant) == f:
            top = _join([symbol.name if sign > 0 else f"-{symbol.name}"], offset)
            text = f"(({top}) mod {modulus})" if offset else f"({top} mod {modulus})"
            return Formula(_multiple(factor, text, symbol.sizes.step), constant, f)
    return None


def _times(symbol: Symbol, factor: int, offset: int) -> QuasiAffine:
    return quasi_affine.translate(quasi_affine.scale(symbol.sizes.by_index(), factor), offset)


def _multiple(factor: int, text: str, divisor: int = 1) -> str:
    """Return factor * text / divisor as text, in lowest terms."""
    common = gcd(factor, divisor)
    factor, divisor = factor // common, divisor // common
    product = text if factor == 1 else f"-{text}" if factor == -1 else f"{factor}*{text}"
    return product if divisor == 1 else f"{product}/{divisor}"


@lru_cache(maxsize=1024)
def _sum_text(constant: int, terms: Terms) -> str:
    """Return a sum as a formula, as `2*ceil(height/2) - 1`; where none fits, as `f(height)`."""
    if len(terms) == 1:  # with the constant inside, `max(n - 1, 4)` needs no second constant
        terms = ((terms[0][0], quasi_affine.translate(terms[0][1], constant)),)
        constant = 0
    found = [(symbol, recognise(form, symbol)) for symbol, form in terms]
    texts = [formula.text if formula else f"f({symbol.name})" for symbol, formula in found]
    texts.sort(key=lambda text: text.startswith("-"))
    return _join(texts, constant + sum(formula.constant for _, formula in found if formula))
