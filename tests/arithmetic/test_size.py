"""Sizes against plain integers: every claim, and every formula that is told, by counting."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpad.arithmetic import size
from onnxpad.arithmetic.quasi_affine import LIMIT, QuasiAffine, support
from onnxpad.arithmetic.size import NMAX, Extent, Size, Sizes, Symbol, Unknown
from tests.strategies import examples
from tests.support.rows import one_in

INT64_MAX: Final = 2**63 - 1


@dataclass(frozen=True)
class Expression:
    """One computation twice: on extents, and on plain integers without the module under test."""

    text: str
    extent: Extent
    at: Callable[[Mapping[str, int]], int]


def floored(a: int, d: int) -> int:
    return math.floor(Fraction(a, d))


def remainder(a: int, d: int) -> int:
    return a - d * floored(a, d)


Functions = dict[str, tuple[Callable[..., Extent], Callable[..., int]]]
UNARY: Final[Functions] = {"-a": (lambda a: -a, lambda a: -a), "abs": (size.absolute, abs)}
BINARY: Final[Functions] = {
    "+": (lambda a, b: a + b, lambda a, b: a + b),
    "-": (lambda a, b: a - b, lambda a, b: a - b),
    "max": (size.maximum, max),
    "min": (size.minimum, min),
    "<": (size.less, lambda a, b: int(a < b)),
    "<=": (size.less_equal, lambda a, b: int(a <= b)),
    "==": (size.equal, lambda a, b: int(a == b)),
}
DIVIDING: Final[Functions] = {
    "*": (lambda a, d: a * d, lambda a, d: a * d),
    "//": (lambda a, d: a // d, floored),
    "%": (lambda a, d: a % d, remainder),
    "floor": (size.floor_div, floored),
    "ceil": (size.ceil_div, lambda a, d: math.ceil(Fraction(a, d))),
    "trunc": (size.trunc_div, lambda a, d: math.trunc(Fraction(a, d))),
    "modulo": (size.modulo, remainder),
}
FUNCTIONS: Final[Functions] = {
    **UNARY, **BINARY, **DIVIDING,
    "where": (size.where, lambda condition, a, b: a if condition else b),
}  # fmt: skip


def applied(name: str, *parts: Expression) -> Expression:
    sized, plain = FUNCTIONS[name]
    return Expression(
        f"{name}({', '.join(part.text for part in parts)})",
        sized(*(part.extent for part in parts)),
        lambda values: plain(*(part.at(values) for part in parts)),
    )


def constant(value: int) -> Expression:
    return Expression(str(value), value, lambda values: value)


def variable(symbol: Symbol) -> Expression:
    extent = size.symbol(symbol.name, symbol.sizes)
    return Expression(symbol.name, extent, lambda values: values[symbol.name])


def expressions(*symbols: Symbol) -> st.SearchStrategy[Expression]:
    numbers = st.one_of(st.integers(-9, 9), st.sampled_from([INT64_MAX, -INT64_MAX, NMAX]))
    divisors = st.integers(-6, 6).filter(bool).map(constant)
    return st.recursive(
        st.one_of(st.sampled_from([*map(variable, symbols)]), numbers.map(constant)),
        lambda inner: st.one_of(
            st.builds(applied, st.sampled_from([*BINARY, "*"]), inner, inner),
            st.builds(applied, st.sampled_from([*DIVIDING]), inner, divisors),
            st.builds(applied, st.sampled_from([*UNARY]), inner),
            st.builds(applied, st.just("where"), inner, inner, inner),
        ),
        max_leaves=8,
    )


def random_expression(chance: random.Random, symbols: Sequence[Symbol], depth: int) -> Expression:
    """An expression like those of padding arithmetic: deeper than hypothesis likes to go."""
    if depth == 0:
        if chance.random() < 0.75:
            return variable(chance.choice(symbols))
        return constant(chance.randint(-5, 12))
    inner = random_expression(chance, symbols, depth - 1)
    kind = chance.random()
    if kind < 0.5:
        divisor = constant(chance.choice([-3, -2, 2, 3, 4]))
        return applied(chance.choice(sorted(DIVIDING)), inner, divisor)
    other = random_expression(chance, symbols, chance.randrange(depth))
    if kind < 0.9:
        return applied(chance.choice(sorted(BINARY)), inner, other)
    return applied("where", applied("<", inner, other), other, inner)


def several(seed: int, count: int, depths: tuple[int, int], *symbols: Symbol) -> list[Expression]:
    chance = random.Random(seed)
    return [random_expression(chance, symbols, chance.randint(*depths)) for _ in range(count)]


HEIGHT, WIDTH = Symbol("height"), Symbol("width")
DOMAINS: Final = [
    HEIGHT,
    Symbol("height", Sizes(0, NMAX)),
    Symbol("height", Sizes(32, 1024, 32)),
    Symbol("height", Sizes(3, NMAX, 4)),
    Symbol("height", Sizes(-40, 60)),
    Symbol("height", Sizes(1, LIMIT)),  # the last that is tabulated
    Symbol("height", Sizes(1, LIMIT + 1)),
]


def samples_of(symbol: Symbol, first: int = 150) -> list[int]:
    """The smallest, the greatest and some admitted values between them."""
    chance, last = random.Random(symbol.sizes.count), symbol.sizes.count - 1
    places = {*range(min(first, last + 1)), *range(max(0, last - 20), last + 1)}
    places.update(chance.randrange(last + 1) for _ in range(50))
    return [symbol.sizes.value(place) for place in sorted(places)]


def read(text: str, values: Mapping[str, int]) -> Fraction:
    """A formula as it is told, computed by Python."""
    names = {"floor": math.floor, "ceil": math.ceil, "max": max, "min": min}
    given = {name: Fraction(value) for name, value in values.items()}
    return Fraction(eval(text.replace(" mod ", " % "), {"__builtins__": {}, **names, **given}))


def check(expression: Expression, samples: Sequence[Mapping[str, int]]) -> list[int] | None:
    """Compares what is known of an extent with plain integers, which are returned."""
    extent = expression.extent
    if isinstance(extent, Unknown):
        assert extent.reason
        return None
    expected = [expression.at(values) for values in samples]
    assert [size.evaluate(extent, values) for values in samples] == expected, expression.text
    low, high = size.bounds(extent)
    assert low is not None
    assert high is not None
    assert low <= min(expected) <= max(expected) <= high, expression.text
    assert isinstance(extent, int) == (low == high), expression.text
    told = repr(extent)
    if isinstance(extent, Size) and "f(" not in told:
        some = samples[:: max(1, len(samples) // 9)]
        assert [read(told, each) for each in some] == [size.evaluate(extent, e) for e in some], told
    return expected


@pytest.mark.parametrize("symbol", DOMAINS, ids=str)
@examples(0.2)
@given(data=st.data())
def test_any_expression_of_one_symbol_is_exact_or_unknown(
    symbol: Symbol, data: st.DataObject
) -> None:
    expression = data.draw(expressions(symbol))
    check(expression, [{"height": value} for value in samples_of(symbol)])


@pytest.mark.parametrize("symbol", DOMAINS, ids=str)
def test_deep_expressions_are_exact_and_repeat_as_is_said(symbol: Symbol) -> None:
    """Where two values a period apart are known, so is the third: that is what residues say."""
    values, known = samples_of(symbol, first=400), 0
    for expression in several(7, 40, (2, 5), symbol):
        expected = check(expression, [{"height": value} for value in values])
        known += expected is not None
        for every, since in size.residues(expression.extent).values():
            counted = dict(zip(values, expected or (), strict=True))
            for n, value in counted.items():
                if n >= since and n + every in counted and n + 2 * every in counted:
                    assert value + counted[n + 2 * every] == 2 * counted[n + every]
    assert known >= 35, "the arithmetic of padding stays in the form"


@pytest.mark.parametrize("symbol", [HEIGHT, DOMAINS[2], Symbol("height", Sizes(1, 6000))], ids=str)
def test_equal_if_and_only_if_equal_everywhere(symbol: Symbol) -> None:
    pairs, same = several(11, 800, (1, 2), symbol), 0
    for a, b in zip(pairs[::2], pairs[1::2], strict=True):
        if isinstance(a.extent, Unknown) or isinstance(b.extent, Unknown):
            continue
        # Beyond where both repeat, two periods of each decide: see quasi_affine.
        known = [each for e in (a, b) for each in size.residues(e.extent).values()]
        enough = max([symbol.sizes.first, *(since for _, since in known)])
        enough += 4 * math.lcm(*(every for every, _ in known))
        values = range(symbol.sizes.first, min(enough, symbol.sizes.last) + 1, symbol.sizes.step)
        counted = all(a.at({"height": n}) == b.at({"height": n}) for n in values)
        assert (a.extent == b.extent) is counted, f"{a.text} and {b.text}"
        assert not counted or hash(a.extent) == hash(b.extent)
        same += counted
    assert 3 <= same <= 200, "the sample holds both kinds"


def compared(given: Sequence[Expression], samples: Sequence[Mapping[str, int]]) -> None:
    """Holds all that is said of pairs of expressions against their values."""
    known: list[tuple[Expression, list[int]]] = []
    for each in given:
        values = check(each, samples)
        for other, others in known if values is not None else ():
            assert each.extent != other.extent or values == others
            for name in ("==", "<", "max", "min"):
                check(applied(name, each, other), samples)
        known += [] if values is None else [(each, values)]


def drawn_symbols(seed: int, names: str, *domains: Sizes) -> list[Symbol]:
    chance = random.Random(seed)
    return [Symbol(name, chance.choice(domains)) for name in names.split()]


@pytest.mark.parametrize("seed", one_in(9, [(seed,) for seed in range(9)]))
def test_expressions_of_several_symbols_compare_as_their_values(seed: int) -> None:
    """Deep ones at a sample of values; few and shallow ones over few sizes, at all of them."""
    chance = random.Random(seed)
    domains = Sizes(1, 2**24), Sizes(32, 1024, 32), Sizes(0, 50), Sizes(4, 2**24, 4)
    symbols = drawn_symbols(seed, "height width depth", *domains)

    def some(sizes: Sizes) -> int:
        return sizes.value(chance.choice([0, 1, 2, chance.randrange(20), sizes.count - 1]))

    samples = [{each.name: some(each.sizes) for each in symbols} for _ in range(60)]
    compared(several(seed, 24, (2, 4), *symbols), samples)
    for few in range(8 * seed, 8 * seed + 8):
        symbols = drawn_symbols(
            few, "height width", Sizes(1, 6), Sizes(0, 9, 3), Sizes(-3, 4), Sizes(2, 12, 2)
        )
        every = [map(one.sizes.value, range(one.sizes.count)) for one in symbols]
        compared(
            several(few, 9, (1, 3), *symbols),
            [{"height": h, "width": w} for h, w in product(*every)],
        )


def test_solutions_are_the_closest_range() -> None:
    n = size.symbol("n")

    def told(condition: Extent) -> Sizes | None:
        assert isinstance(condition, Size)
        return size.solutions(condition)

    assert told(size.less(n % 500, 200)) is None  # every size from 1 on
    assert told(size.less(n % 500, 200) * size.equal(n % 2, 0)) == Sizes(2, NMAX - 1, 2)
    assert told(size.less(n % 4, 2) * size.less(1, n)) == Sizes(4)
    assert told(size.maximum(size.equal(n, 5), size.equal(n, 12))) == Sizes(5, 12, 7)


def test_sentinels_beyond_every_size_vanish() -> None:
    n, few = size.symbol("height"), size.symbol("height", Sizes(1, 10**6))
    found = size.minimum(n, INT64_MAX), size.less(n, INT64_MAX), size.clip(n, -INT64_MAX - 1, NMAX)
    assert found == (n, 1, n)
    # tf2onnx: the end of the Slice that takes back the padding to a multiple of the dilation rate.
    crop = -n % 6
    end, length = size.where(size.equal(crop, 0), NMAX, -crop), n + crop
    assert size.where(size.less(end, 0), end + length, size.minimum(end, length)) == n
    assert (size.maximum(few - 10**6, 0), size.less(few, 10**6 + 1)) == (0, 1)
    # One class of two crosses 0, and only behind the last size.
    crossing = size.where(few % 2, 10**6 - few, 1)
    assert size.maximum(crossing, 0) == crossing


def test_what_does_not_vary_is_an_int() -> None:
    n, two = size.symbol("height"), np.int64(2)
    one_size = size.symbol("height", Sizes(5, 5)), size.symbol("height", Sizes(30, 40, 32))
    for extent in (*one_size, n - n, n * 0, n % 1, (n * 6) % 3, size.maximum(-n, 4)):
        assert type(extent) is int
    assert n != 1
    assert len({n, size.symbol("height"), n + 0, size.symbol("width")}) == 2
    assert two * n == n * 2 == n * two  # type: ignore[operator]


def test_several_symbols_are_known_where_bounds_or_coefficients_decide() -> None:
    n, m = size.symbol("height"), size.symbol("width", Sizes(1, 9))
    both = n + m
    assert isinstance(both, Size)
    assert [symbol.name for symbol in both.symbols] == ["height", "width"]
    assert (both - n, size.maximum(both, n), size.less(n, both)) == (m, both, 1)
    assert size.where(n % 2, both, both + 1) == both + (n + 1) % 2
    assert (size.maximum(n + 9, m), size.minimum(both, m - 1)) == (n + 9, m - 1)
    for extent in (size.maximum(n, m), size.minimum(n, m), both // 2, size.equal(n, m), n * m,
                   n * n, size.floor_div(n * 6 + 12, n + 2), size.modulo(n * 6, n)):  # fmt: skip
        assert isinstance(extent, Unknown)


def test_unknown_absorbs_everything_and_keeps_its_first_reason() -> None:
    n, first, second = size.symbol("height"), Unknown("first"), Unknown("second")
    functions = [f for f, _ in (*BINARY.values(), *DIVIDING.values())]
    absorbed = [f(first, x) for f in functions for x in (1, n, second)]
    absorbed += [f(x, first) for f, _ in BINARY.values() for x in (1, n)]
    absorbed += [f(first) for f, _ in UNARY.values()]
    absorbed += [1 - first, n * first, size.where(first, 1, 2), size.where(n % 2, first, 1)]
    assert {str(getattr(extent, "reason", extent)) for extent in absorbed} == {"first"}
    assert first not in {second, 1, n}
    assert first != n
    assert size.where(first, n, n) == n == size.where(n, n, first), "no size is 0"
    assert "height" in size.in_words(n + size.symbol("width"), "n")
    assert (size.always(first), size.bounds(first)) == (None, (None, None))


def test_operations_on_plain_numbers() -> None:
    for a, b in product(range(-9, 10), range(-9, 10)):
        for name, (sized, plain) in {**BINARY, **DIVIDING}.items():
            if b or name in BINARY or name == "*":
                assert sized(a, b) == plain(a, b), (name, a, b)
        assert size.absolute(a) == abs(a)
        assert size.clip(a, b, 3) == min(max(a, b), 3)
        assert size.where(b, a, 7) == (a if b else 7)


def test_a_division_by_zero_is_unknown() -> None:
    for a, name in product((3, size.symbol("height")), ("floor", "ceil", "trunc", "modulo")):
        found = DIVIDING[name][0](a, 0)
        assert isinstance(found, Unknown)
        assert "division by 0" in found.reason


def test_limits_give_unknown() -> None:
    n = size.symbol("height")
    within = n // LIMIT, size.maximum(n, LIMIT), n // 61 + n // 67
    beyond = n // (LIMIT + 1), size.maximum(n, LIMIT + 2), n // 61 + n // 71
    assert all(isinstance(each, Size) for each in within)
    assert all(isinstance(each, Unknown) for each in beyond)
    tabulated = size.symbol("height", Sizes(1, 100))
    assert size.evaluate(tabulated * tabulated // 61 + tabulated // 71, {"height": 99}) == 161


def test_what_is_refused() -> None:
    n = size.symbol("height", Sizes(32, 1024, 32))
    for extent in (n, Unknown("no shape")):
        with pytest.raises(TypeError, match="truth value"):
            bool(extent)
    with pytest.raises(TypeError):
        size.maximum(n, 1.5)  # type: ignore[arg-type]
    for value in (0, 33, 1056):
        with pytest.raises(ValueError, match="no admitted value"):
            size.evaluate(n, {"height": value})
    for each, match in ((n, "`height`"), (Unknown("no shape"), "no shape")):
        with pytest.raises(ValueError, match=match):
            size.evaluate(each, {"width": 32})


# In terms of another size

CLIMBING: Final[dict[str, Callable[[Extent], Extent]]] = {
    "h": lambda n: size.ceil_div(n, 2),
    "p": lambda n: n + 3,
    "c": lambda n: size.maximum(n - 2, 1),
    "t": lambda n: size.floor_div(n - 1, 3) + 1,
    "d": lambda n: n * 2,
}


@examples(1.5)
@given(
    st.text("hpctd", max_size=3),
    st.text("hpct", max_size=2),
    st.sampled_from([2, 3, 4, 6]),
    st.builds(
        Sizes, st.integers(1, 5), st.sampled_from([NMAX, NMAX, 1000]), st.sampled_from([1, 4])
    ),
    st.integers(0, 4),
)
def test_a_function_of_another_size_is_that_at_every_value(
    upper: str, lower: str, k: int, sizes: Sizes, kind: int
) -> None:
    other: Extent = size.symbol("n", sizes)
    for step in upper:
        other = CLIMBING[step](other)
    base = other
    for step in lower:
        base = CLIMBING[step](base)
    amount = [-base % k, size.maximum(base % k - 1, 0), size.minimum(base, 9), base * 2, base][kind]
    found = size.in_terms_of(amount, other, "own")
    if isinstance(found, Unknown):
        return
    for value in samples_of(Symbol("n", sizes), 200):
        own = {"own": size.evaluate(other, {"n": value})}
        assert size.evaluate(found, own) == size.evaluate(amount, {"n": value})


def test_sizes_that_are_no_function_of_another_one_or_not_a_short_one() -> None:
    n, few = size.symbol("height"), size.symbol("height", Sizes(1, LIMIT + 4))
    both, steps, long = n + size.symbol("width"), size.ceil_div(few, 1000), size.ceil_div(n, 61)
    for amount, other in ((both, both), (steps, steps), (size.ceil_div(long, 67), long)):
        assert isinstance(size.in_terms_of(amount, other, "own"), Unknown)


def rows_of(*extents: Extent) -> list[tuple[int, ...]] | None:
    """The rows of a table by the only symbol."""
    found = size.table_of(dict(zip("abc", extents, strict=False)), Unknown("no size"))
    rows: Any = found and found["rows"]
    return rows and [(*row.values(),) for row in rows]


def test_tables() -> None:
    """By the size of the axis where that decides, else by the symbol; from where values repeat."""
    height, strided = size.symbol("height"), size.symbol("height", Sizes(32, 1024, 32))
    rest, half = height - 4 * size.floor_div(height, 4), size.ceil_div(height, 2)
    told = size.table_of({"rest": rest, "seven": 7}, size.floor_div(height, 2))
    rows: list[Any] = [{"at": 8 + n, "rest": n, "seven": 7} for n in range(4)]
    assert told == {"of": "height", "modulus": 4, "since": 1, "rows": rows}
    rows = [{"at": 8, "odd": 0}, {"at": 9, "odd": 1}]
    told = size.table_of({"odd": half % 2}, half)
    assert told == {"of": "", "modulus": 2, "since": 1, "rows": rows}
    assert (rows_of(size.maximum(height, 11) - height + height % 2) or [(0,)])[0][0] >= 10
    assert rows_of(strided % 96) == [(96, 0), (128, 32), (160, 64)]
    last = size.symbol("height", Sizes(1, 11)) % 4
    assert [len(rows_of(each) or ()) for each in (height % 8, last)] == [8, 4]
    few = size.symbol("height", Sizes(1, 3)) % 4
    none = (1,), (height + size.symbol("m"),), (height, Unknown("data")), (height % 9,), (few,)
    assert [rows_of(*extents) for extents in none] == [None] * 5


# Sets of sizes


@pytest.mark.parametrize("period", range(4))
@pytest.mark.parametrize("threshold", range(4))
def test_the_support_is_the_closest_range(threshold: int, period: int) -> None:
    """A table of 0 and 1, of which the last part repeats, or that is all there is."""
    for bits in product((0, 1), repeat=threshold + period):
        table = (*bits, *bits[threshold:])
        f = QuasiAffine(table, period, 14 if period else len(table))
        ones = [index for index in range(f.count) if f.at(index)]
        if not ones:
            continue
        found = support(f)
        assert {*ones} <= {*found}
        assert found.start == ones[0]
        assert found.step == (math.gcd(*(index - ones[0] for index in ones)) or 1)
        assert ones[-1] < found.stop <= (ones[-1] + 1 if not any(bits[threshold:]) else f.count)


def test_a_set_of_sizes_is_a_range() -> None:
    known = [(a, b, s) for a, b, s in product((-4, 0, 1, 5), (5, 6, 17, 40), (1, 2, 3, 7))]
    for first, last, step in known:
        sizes, values = Sizes(first, last, step), range(first, last + 1, step)
        indices = range(len(values))
        assert sizes.count == len(values)
        assert [sizes.value(index) for index in indices] == [*values]
        assert [sizes.by_index().at(index) for index in indices] == [*values]
        assert [each for each in range(-9, 60) if each in sizes] == [*values]
        assert [*map(sizes.index, values)] == [*indices]
        for each in range(-9, 45):  # counted on as if there were more of them
            assert sizes.from_on(each) == len(range(first, max(each, first), sizes.step))
        assert sizes.as_data() == {"first": first, "last": values[-1], "step": sizes.step}
        assert sizes == Sizes(first, values[-1], step)
        for low, high, by in known[::3]:
            both = sorted({*values} & {*range(low, high + 1, by)})
            found = sizes.common(Sizes(low, high, by))
            assert found == Sizes(low, high, by).common(sizes)
            assert ([*map(found.value, range(found.count))] if found else []) == both
    told = [str(Sizes(*each)) for each in ((4, 11, 4), (1, 9), (7, 8, 2))]
    assert told == ["4..8 in steps of 4", "1..9", "7"]
    with pytest.raises(ValueError, match=r"^6 is no admitted value of 1\.\.9 in steps of 2$"):
        Sizes(1, 9, 2).index(6)
    for empty in ((5, 4, 1), (33, 32, 32), (1, 9, 0)):
        with pytest.raises(ValueError, match="not empty"):
            Sizes(*empty)
