"""Sizes against plain integers: every claim of a form is checked by counting."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpad.arithmetic import size
from onnxpad.arithmetic.quasi_affine import LIMIT
from onnxpad.arithmetic.size import NMAX, Extent, Size, Sizes, Symbol, Unknown
from tests.strategies import examples
from tests.support.rows import each_row, one_in

INT64_MAX = 2**63 - 1

Values = Mapping[str, int]


@dataclass(frozen=True)
class Expression:
    """One computation twice: on extents, and on plain integers without the module under test."""

    text: str
    extent: Extent
    at: Callable[[Values], int]


def plain_trunc(a: int, d: int) -> int:
    return math.trunc(Fraction(a, d))


BINARY: dict[str, tuple[Callable[[Extent, Extent], Extent], Callable[[int, int], int]]] = {
    "+": (lambda a, b: a + b, lambda a, b: a + b),
    "-": (lambda a, b: a - b, lambda a, b: a - b),
    "max": (size.maximum, max),
    "min": (size.minimum, min),
    "<": (size.less, lambda a, b: int(a < b)),
    "<=": (size.less_equal, lambda a, b: int(a <= b)),
    "==": (size.equal, lambda a, b: int(a == b)),
}
DIVIDING: dict[str, tuple[Callable[[Extent, Any], Extent], Callable[[int, int], int]]] = {
    "*": (lambda a, d: a * d, lambda a, d: a * d),
    "//": (lambda a, d: a // d, lambda a, d: math.floor(Fraction(a, d))),
    "%": (lambda a, d: a % d, lambda a, d: a - d * math.floor(Fraction(a, d))),
    "floor": (size.floor_div, lambda a, d: math.floor(Fraction(a, d))),
    "ceil": (size.ceil_div, lambda a, d: math.ceil(Fraction(a, d))),
    "trunc": (size.trunc_div, plain_trunc),
    "modulo": (size.modulo, lambda a, d: a - d * math.floor(Fraction(a, d))),
}
UNARY: dict[str, tuple[Callable[[Extent], Extent], Callable[[int], int]]] = {
    "-": (lambda a: -a, lambda a: -a),
    "abs": (size.absolute, abs),
}


def constant(value: int) -> Expression:
    return Expression(str(value), value, lambda values: value)


def variable(symbol: Symbol) -> Expression:
    extent = size.symbol(symbol.name, symbol.sizes)
    return Expression(symbol.name, extent, lambda values: values[symbol.name])


def binary(name: str, a: Expression, b: Expression) -> Expression:
    sized, plain = BINARY[name]
    return Expression(
        f"{name}({a.text}, {b.text})",
        sized(a.extent, b.extent),
        lambda values: plain(a.at(values), b.at(values)),
    )


def dividing(name: str, a: Expression, divisor: int) -> Expression:
    sized, plain = DIVIDING[name]
    return Expression(
        f"{name}({a.text}, {divisor})",
        sized(a.extent, divisor),
        lambda values: plain(a.at(values), divisor),
    )


def unary(name: str, a: Expression) -> Expression:
    sized, plain = UNARY[name]
    return Expression(f"{name}({a.text})", sized(a.extent), lambda values: plain(a.at(values)))


def product(a: Expression, b: Expression) -> Expression:
    return Expression(
        f"({a.text}) * ({b.text})",
        a.extent * b.extent,
        lambda values: a.at(values) * b.at(values),
    )


def where(cond: Expression, a: Expression, b: Expression) -> Expression:
    return Expression(
        f"where({cond.text}, {a.text}, {b.text})",
        size.where(cond.extent, a.extent, b.extent),
        lambda values: a.at(values) if cond.at(values) else b.at(values),
    )


def expressions(*symbols: Symbol) -> st.SearchStrategy[Expression]:
    divisors = st.integers(-6, 6).filter(bool)
    leaves = st.one_of(
        st.sampled_from([variable(symbol) for symbol in symbols]),
        st.integers(-9, 9).map(constant),
        st.sampled_from([INT64_MAX, -INT64_MAX, NMAX]).map(constant),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(binary, st.sampled_from(sorted(BINARY)), inner, inner),
            st.builds(dividing, st.sampled_from(sorted(DIVIDING)), inner, divisors),
            st.builds(unary, st.sampled_from(sorted(UNARY)), inner),
            st.builds(product, inner, inner),
            st.builds(where, inner, inner, inner),
        ),
        max_leaves=8,
    )


def random_expression(chance: random.Random, symbols: list[Symbol], depth: int) -> Expression:
    """Return an expression like those of padding arithmetic: deeper than hypothesis likes to go."""
    if depth == 0:
        if chance.random() < 0.75:
            return variable(chance.choice(symbols))
        return constant(chance.randint(-5, 12))
    inner = random_expression(chance, symbols, depth - 1)
    kind = chance.random()
    if kind < 0.5:
        return dividing(chance.choice(sorted(DIVIDING)), inner, chance.choice([-3, -2, 2, 3, 4]))
    if kind < 0.9:
        other = random_expression(chance, symbols, chance.randrange(depth))
        return binary(chance.choice(sorted(BINARY)), inner, other)
    other = random_expression(chance, symbols, chance.randrange(depth))
    return where(binary("<", inner, other), other, inner)


def _condition(extent: Extent) -> Size:
    assert isinstance(extent, Size)
    return extent


def threshold(extent: Extent) -> int:
    """From where an extent grows the same every period."""
    return max((since for _, since in size.residues(extent).values()), default=0)


def period(extent: Extent) -> int:
    """After how many values an extent grows the same."""
    return math.lcm(*(every for every, _ in size.residues(extent).values()))


HEIGHT = Symbol("height")
WIDTH = Symbol("width")
DOMAINS = [
    pytest.param(HEIGHT, id="any size"),
    pytest.param(Symbol("height", Sizes(0, NMAX)), id="from 0"),
    pytest.param(Symbol("height", Sizes(32, 1024, 32)), id="strided, every value tabulated"),
    pytest.param(Symbol("height", Sizes(3, NMAX, 4)), id="strided, of no multiples"),
    pytest.param(Symbol("height", Sizes(-40, 60)), id="negative sizes"),
    pytest.param(Symbol("height", Sizes(1, LIMIT)), id="last that is tabulated"),
    pytest.param(Symbol("height", Sizes(1, LIMIT + 1)), id="first that is not"),
]


def sizes(symbol: Symbol, first: int = 150) -> list[int]:
    """Return the smallest, the greatest and some admitted values between them."""
    chance = random.Random(symbol.sizes.count)
    last = symbol.sizes.count - 1
    indices = {
        *range(min(first, symbol.sizes.count)),
        *range(max(0, last - 20), symbol.sizes.count),
    }
    indices.update(chance.randrange(symbol.sizes.count) for _ in range(50))
    return [symbol.sizes.value(index) for index in sorted(indices)]


def check(expression: Expression, samples: list[dict[str, int]]) -> None:
    """Compare an extent with plain integers at all samples."""
    extent = expression.extent
    if isinstance(extent, Unknown):
        assert extent.reason
        return
    expected = [expression.at(values) for values in samples]
    assert [size.evaluate(extent, values) for values in samples] == expected, expression.text
    lo, hi = size.bounds(extent)
    assert lo is not None
    assert hi is not None
    assert all(lo <= value <= hi for value in expected), expression.text
    assert isinstance(extent, int) == (lo == hi), expression.text


@pytest.mark.parametrize("symbol", DOMAINS)
@examples(0.2)
@given(data=st.data())
def test_any_expression_of_one_symbol_is_exact_or_unknown(
    symbol: Symbol, data: st.DataObject
) -> None:
    expression = data.draw(expressions(symbol))
    check(expression, [{"height": value} for value in sizes(symbol)])


@given(expression=expressions(HEIGHT, WIDTH, Symbol("depth", Sizes(8, 64, 8))))
def test_any_expression_of_several_symbols_is_exact_or_unknown(expression: Expression) -> None:
    chance = random.Random(0)
    axes = {"height": sizes(HEIGHT), "width": sizes(WIDTH), "depth": [8, 16, 24, 32, 64]}
    samples = [{n: chance.choice(axis[:20]) for n, axis in axes.items()} for _ in range(60)]
    samples += [{n: chance.choice(axis) for n, axis in axes.items()} for _ in range(60)]
    check(expression, samples)


@pytest.mark.parametrize("symbol", DOMAINS)
def test_deep_expressions_are_exact_at_every_small_size(symbol: Symbol) -> None:
    chance = random.Random(7)
    samples = [{"height": value} for value in sizes(symbol, first=400)]
    known = 0
    for _ in range(40):
        expression = random_expression(chance, [symbol], depth=chance.randint(2, 5))
        check(expression, samples)
        known += not isinstance(expression.extent, Unknown)
    assert known >= 35, "the arithmetic of padding stays in the form"


@pytest.mark.parametrize(
    "symbol",
    [HEIGHT, Symbol("height", Sizes(32, 1024, 32)), Symbol("height", Sizes(1, 6000))],
    ids=["any size", "strided", "up to 6000"],
)
def test_equal_if_and_only_if_equal_everywhere(symbol: Symbol) -> None:
    chance = random.Random(11)
    same = 0
    for _ in range(400):
        a, b = (random_expression(chance, [symbol], depth=chance.randint(1, 2)) for _ in "ab")
        if isinstance(a.extent, Unknown) or isinstance(b.extent, Unknown):
            continue
        # Beyond the thresholds, two periods of each decide: see quasi_affine.
        enough = max(threshold(a.extent), threshold(b.extent), symbol.sizes.first)
        enough += 2 * (period(a.extent) + period(b.extent))
        last = min(enough, symbol.sizes.last)
        counted = all(
            a.at({"height": value}) == b.at({"height": value})
            for value in range(symbol.sizes.first, last + 1, symbol.sizes.step)
        )
        assert (a.extent == b.extent) is counted, f"{a.text} and {b.text}"
        assert not counted or hash(a.extent) == hash(b.extent)
        same += counted
    assert 3 <= same <= 200, "the sample holds both kinds"


def test_solutions_are_the_closest_range() -> None:
    n = size.symbol("n")
    assert size.solutions(_condition(size.less(n % 500, 200))) is None  # every size from 1 on
    few = size.less(n % 500, 200) * size.equal(n % 2, 0)
    assert size.solutions(_condition(few)) == Sizes(2, NMAX - 1, 2)
    assert size.solutions(_condition(size.less(n % 4, 2) * size.less(1, n))) == Sizes(4)
    two = size.maximum(size.equal(n, 5), size.equal(n, 12))
    assert size.solutions(_condition(two)) == Sizes(5, 12, 7)


@pytest.mark.parametrize("maximum", [300, LIMIT, LIMIT + 1, 6000])
def test_bounds_are_reached(maximum: int) -> None:
    symbol = Symbol("height", Sizes(1, maximum))
    chance = random.Random(maximum)
    for _ in range(12):
        expression = random_expression(chance, [symbol], depth=chance.randint(1, 4))
        if not isinstance(expression.extent, Unknown):
            counted = [expression.at({"height": n}) for n in range(1, maximum + 1)]
            assert size.bounds(expression.extent) == (min(counted), max(counted)), expression.text


def test_residues_are_those_of_the_values() -> None:
    chance = random.Random(5)
    for symbol in (HEIGHT, Symbol("height", Sizes(32, 4096, 32))):
        for _ in range(40):
            expression = random_expression(chance, [symbol], depth=3)
            extent = expression.extent
            if not isinstance(extent, Size):
                continue
            every, since = size.residues(extent)[symbol]
            assert (every, since) == (period(extent), threshold(extent))
            counted = {n: expression.at({"height": n}) for n in sizes(symbol, first=200)}
            for n, value in counted.items():
                later, last = n + every, n + 2 * every
                if n >= since and later in counted and last in counted:
                    assert value + counted[last] == 2 * counted[later], expression.text


def test_same_totals_and_their_halves() -> None:
    """SAME_UPPER and SAME_LOWER as every size sees them, against counting."""
    n = size.symbol("height")
    for kernel in range(1, 8):
        for stride in range(1, 6):
            for dilation in range(1, 4):
                span = (kernel - 1) * dilation + 1
                out = size.ceil_div(n, stride)
                total = size.maximum((out - 1) * stride + span - n, 0)
                halves = size.floor_div(total, 2), size.ceil_div(total, 2)
                for value in (*range(1, 40), 224, NMAX):
                    windows = len(range(0, value, stride))
                    last = (windows - 1) * stride + span
                    expected = max(last - value, 0)
                    at = {"height": value}
                    assert size.evaluate(total, at) == expected
                    assert [size.evaluate(half, at) for half in halves] == [
                        expected // 2,
                        expected - expected // 2,
                    ]
                assert period(total) in {1, stride}
                assert isinstance(total, int) == (stride == 1 or span == 1)


def test_sentinels_beyond_every_size_vanish() -> None:
    n = size.symbol("height")
    assert size.minimum(n, INT64_MAX) == n
    assert size.less(n, INT64_MAX) == 1
    assert size.clip(n, -INT64_MAX - 1, NMAX) == n
    # tf2onnx: the end of the Slice that takes back the padding to a multiple of the dilation rate.
    crop = -n % 6
    end = size.where(size.equal(crop, 0), NMAX, -crop)
    length = n + crop
    end = size.where(size.less(end, 0), end + length, size.minimum(end, length))
    assert end == n


def test_a_crossing_beyond_the_admitted_sizes_does_not_count() -> None:
    n = size.symbol("height", Sizes(1, 10**6))
    assert size.maximum(n - 10**6, 0) == 0
    assert size.less(n, 10**6 + 1) == 1
    assert isinstance(size.less(n, 10**6), Unknown)
    assert size.less(size.symbol("height", Sizes(1, 10**6 - 1)), 10**6) == 1
    # One class of two crosses 0, and only behind the last size.
    crossing = size.where(n % 2, 10**6 - n, 1)
    assert size.maximum(crossing, 0) == crossing


def test_few_admitted_sizes_may_make_different_forms_equal() -> None:
    n = size.symbol("height", Sizes(1, 4200))
    periodic = n // 2000
    stepped = size.less_equal(2000, n) + size.less_equal(4000, n)
    for value in (1999, 2000, 3999, 4000, 4200):
        assert value // 2000 == (value >= 2000) + (value >= 4000)
    assert periodic == stepped or isinstance(periodic, Unknown) or isinstance(stepped, Unknown)


def test_the_admitted_values_are_those_of_a_range() -> None:
    for minimum, maximum, step in [(1, 9, 1), (3, 20, 4), (-7, 7, 3), (0, 64, 32), (5, 9, 8)]:
        symbol = Symbol("height", Sizes(minimum, maximum, step))
        counted = list(range(minimum, maximum + 1, step))
        assert [symbol.sizes.value(index) for index in range(symbol.sizes.count)] == counted
        assert [symbol.sizes.index(value) for value in counted] == list(range(len(counted)))
        assert size.bounds(size.symbol("height", Sizes(minimum, maximum, step))) == (
            min(counted),
            max(counted),
        )


def test_what_does_not_vary_is_an_int() -> None:
    n = size.symbol("height")
    assert type(size.symbol("height", Sizes(5, 5))) is int
    assert type(size.symbol("height", Sizes(30, 40, 32))) is int
    for extent in (n - n, n * 0, n % 1, (n * 6) % 3, size.maximum(-n, 4), size.less(n, 1)):
        assert type(extent) is int
    assert n != 1
    assert len({n, size.symbol("height"), n + 0, size.symbol("width")}) == 2


def test_quotients_by_a_size_are_unknown() -> None:
    n = size.symbol("height")
    assert isinstance(size.floor_div(n * 6 + 12, n + 2), Unknown)
    assert isinstance(size.modulo(n * 6, n), Unknown)


def test_several_symbols() -> None:
    n, m = size.symbol("height"), size.symbol("width", Sizes(32, 1024, 32))
    both = n + m
    assert isinstance(both, Size)
    assert [symbol.name for symbol in both.symbols] == ["height", "width"]
    assert both - n == m
    assert size.maximum(both, n) == both
    assert size.less(n, both) == 1
    assert isinstance((n + m * 3) // 2, Unknown)
    assert size.where(n % 2, both, both + 1) == both + (n + 1) % 2
    area = n * m
    assert isinstance(area, Unknown)
    assert isinstance(size.less(n, size.symbol("depth")), Unknown)


def test_the_greatest_of_two_sizes_is_known_where_bounds_decide() -> None:
    n, m = size.symbol("height"), size.symbol("width", Sizes(1, 9))
    assert size.maximum(n + 9, m) == n + 9
    assert size.minimum(n + m, m - 1) == m - 1
    for extent in (size.maximum(n, m), size.minimum(n, m), (n + m) // 2, size.equal(n, m)):
        assert isinstance(extent, Unknown)


@pytest.mark.parametrize("seed", one_in(9, [(seed,) for seed in range(9)]))
def test_expressions_of_several_symbols_compare_as_their_values(seed: int) -> None:
    chance = random.Random(seed)
    domains = [Sizes(1, 2**24), Sizes(32, 1024, 32), Sizes(0, 50), Sizes(4, 2**24, 4)]
    symbols = [Symbol(name, chance.choice(domains)) for name in ("height", "width", "depth")]
    samples = [
        {
            each.name: each.sizes.value(
                chance.choice([0, 1, 2, chance.randrange(20), each.sizes.count - 1])
            )
            for each in symbols
        }
        for _ in range(60)
    ]
    known: list[tuple[Extent, list[int]]] = []
    for _ in range(60):
        expression = random_expression(chance, symbols, depth=chance.randint(2, 4))
        extent = expression.extent
        if isinstance(extent, Unknown):
            continue
        values = [expression.at(sample) for sample in samples]
        assert [size.evaluate(extent, sample) for sample in samples] == values, expression.text
        lo, hi = size.bounds(extent)
        assert lo is not None
        assert hi is not None
        assert lo <= min(values) <= max(values) <= hi, expression.text
        for other, others in known:
            assert extent != other or values == others
            same = size.always(size.equal(extent, other))
            assert same is None or {a == b for a, b in zip(values, others, strict=True)} == {same}
            less = size.always(size.less(extent, other))
            assert less is None or {a < b for a, b in zip(values, others, strict=True)} == {less}
        known.append((extent, values))


@each_row("seed", range(16), at_once=1)
def test_small_expressions_of_several_symbols(seed: int) -> None:
    """Few and shallow, over few sizes, all of which are asked."""
    chance = random.Random(seed)
    domains = [Sizes(1, 6), Sizes(0, 9, 3), Sizes(-3, 4), Sizes(2, 12, 2)]
    symbols = [Symbol(name, chance.choice(domains)) for name in ("height", "width")]
    each = [[one.sizes.value(index) for index in range(one.sizes.count)] for one in symbols]
    samples = [{"height": h, "width": w} for h in each[0] for w in each[1]]
    known: list[tuple[Extent, list[int]]] = []
    for _ in range(9):
        expression = random_expression(chance, symbols, depth=chance.randint(1, 3))
        extent = expression.extent
        check(expression, samples)
        if isinstance(extent, Unknown):
            continue
        values = [expression.at(sample) for sample in samples]
        names = {base.name for base in extent.symbols} if isinstance(extent, Size) else set()
        for name in {"height", "width"} - names:  # it does not vary with what it does not name
            groups: dict[object, set[int]] = {}
            for sample, value in zip(samples, values, strict=True):
                key = tuple(v for other, v in sample.items() if other != name)
                groups.setdefault(key, set()).add(value)
            assert all(len(group) == 1 for group in groups.values())
        for other, others in known:
            assert extent != other or values == others
            most, least = size.maximum(extent, other), size.minimum(extent, other)
            for found, plain in ((most, max), (least, min)):
                if not isinstance(found, Unknown):
                    expected = [plain(pair) for pair in zip(values, others, strict=True)]
                    assert [size.evaluate(found, sample) for sample in samples] == expected
                    lo, hi = size.bounds(found)
                    assert lo is not None
                    assert hi is not None
                    assert lo <= min(expected) <= max(expected) <= hi
            same = size.always(size.equal(extent, other))
            assert same is None or {a == b for a, b in zip(values, others, strict=True)} == {same}
        known.append((extent, values))


def test_unknown_absorbs_everything_and_keeps_its_first_reason() -> None:
    n = size.symbol("height")
    first, second = Unknown("first"), Unknown("second")
    both_ways = [
        *(f(first, x) for f, _ in BINARY.values() for x in (1, n, second)),
        *(f(x, first) for f, _ in BINARY.values() for x in (1, n)),
        *(f(first, 2) for f, _ in DIVIDING.values()),
        *(f(x, first) for f in (size.floor_div, size.modulo) for x in (1, n)),
        *(f(first) for f, _ in UNARY.values()),
        *(1 + first, 1 - first, 2 * first, n + first, n * first),
        *(size.where(first, 1, 2), size.where(n % 2, first, 1), size.clip(first, 0, n)),
    ]
    for extent in both_ways:
        assert isinstance(extent, Unknown)
        assert extent.reason == "first"
    assert first != first
    assert first != 1
    assert first != n
    assert len({first, second}) == 2
    assert size.always(first) is None
    assert size.bounds(first) == (None, None)
    assert size.residues(first) == {}


def test_operations_on_plain_numbers() -> None:
    """The same names, without a symbol: numbers of both signs, and 0."""
    for a in range(-9, 10):
        assert size.absolute(a) == abs(a)
        for name, (sized, plain) in BINARY.items():
            assert [sized(a, b) for b in range(-9, 10)] == [plain(a, b) for b in range(-9, 10)], (
                name
            )
        for name, (sized, plain) in DIVIDING.items():
            for d in (-4, -3, -1, 1, 2, 5):
                assert sized(a, d) == plain(a, d), (name, a, d)
        for low, high in ((-2, 3), (3, -2), (0, 0)):
            assert size.clip(a, low, high) == min(max(a, low), high)
        assert [size.where(cond, a, 7) for cond in (0, 1, -1)] == [7, a, a]


def test_where_needs_only_what_it_chooses() -> None:
    n, unknown = size.symbol("height"), Unknown("no shape")
    assert size.where(1, n, unknown) == n
    assert size.where(size.less(n, 0), unknown, n) == n
    assert size.where(n, 3, unknown) == 3, "no size is 0"
    assert size.where(unknown, n, n) == n


def test_always() -> None:
    n = size.symbol("height")
    assert size.always(size.less(0, n)) is True
    assert size.always(size.less(n, 0)) is False
    assert size.always(size.less(n, 9)) is None
    assert size.always(size.equal(size.ceil_div(n, 4) * 4 - n, -n % 4)) is True


def test_a_division_by_zero_is_unknown() -> None:
    for a in (3, size.symbol("height")):
        for divide in (size.floor_div, size.ceil_div, size.trunc_div, size.modulo):
            result = divide(a, 0)
            assert isinstance(result, Unknown)
            assert "division by 0" in result.reason


def test_limits_give_unknown() -> None:
    n = size.symbol("height")
    assert isinstance(n // LIMIT, Size)
    assert isinstance(n // (LIMIT + 1), Unknown)
    assert isinstance(size.maximum(n, LIMIT), Size)
    assert isinstance(size.maximum(n, LIMIT + 2), Unknown)
    assert isinstance(n // 61 + n // 67, Size)
    assert isinstance(n // 61 + n // 71, Unknown), "61 * 71 is over the limit"
    assert isinstance(n * n, Unknown)
    tabulated = size.symbol("height", Sizes(1, 100))
    assert size.evaluate(tabulated * tabulated // 61 + tabulated // 71, {"height": 99}) == 161


def test_no_truth_value() -> None:
    for extent in (size.symbol("height"), Unknown("no shape")):
        with pytest.raises(TypeError, match="truth value"):
            bool(extent)


def test_sizes_without_a_value_are_refused() -> None:
    for first, last, step in ((5, 4, 1), (33, 32, 32), (1, 9, 0)):
        with pytest.raises(ValueError, match="not empty"):
            Sizes(first, last, step)


def test_equal_sets_of_sizes_are_equal() -> None:
    assert Sizes(4, 11, 4) == Sizes(4, 8, 4)
    assert Sizes(4, 5, 7) == Sizes(4, 4)
    assert [str(Sizes(*each)) for each in ((4, 11, 4), (1, 9), (7, 8, 2))] == [
        "4..8 in steps of 4",
        "1..9",
        "7",
    ]


@given(
    *(st.tuples(st.integers(-9, 30), st.integers(0, 60), st.integers(1, 12)) for _ in range(2)),
)
def test_sizes_in_common_are_those_in_both(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    ours, theirs = (range(first, first + more + 1, step) for first, more, step in (one, other))
    a, b = (Sizes(each[0], each[-1], each.step) for each in (ours, theirs))
    both = sorted({*ours} & {*theirs})
    found = a.common(b)
    assert found == b.common(a)
    assert [*range(found.first, found.last + 1, found.step)] if found else both == []
    assert [value for value in range(-12, 99) if found and value in found] == both


def test_evaluate_refuses_what_is_not_admitted() -> None:
    n = size.symbol("height", Sizes(32, 1024, 32))
    for value in (0, 33, 1056):
        with pytest.raises(ValueError, match="no admitted value"):
            size.evaluate(n, {"height": value})
    with pytest.raises(ValueError, match="`height`"):
        size.evaluate(n, {"width": 32})


def test_numpy_integers_are_taken_for_what_they_are() -> None:
    n = size.symbol("height")
    array = np.array([n, 3], dtype=object)
    assert list(array + np.int64(2)) == [n + 2, 5]
    two: Any = np.int64(2)
    assert two * n == n * 2
    assert n * two == n * 2
    assert list(n + array) == [n * 2, n + 3]
    with pytest.raises(TypeError):
        size.maximum(n, 1.5)  # type: ignore[arg-type]


# In terms of another size

CLIMBING: dict[str, Callable[[Extent], Extent]] = {
    "h": lambda n: size.ceil_div(n, 2),
    "p": lambda n: n + 3,
    "c": lambda n: size.maximum(n - 2, 1),
    "t": lambda n: size.floor_div(n - 1, 3) + 1,
    "d": lambda n: n * 2,
}


def climbing(n: Extent, steps: str) -> Extent:
    """A size further down a network, after some of these steps."""
    for step in steps:
        n = CLIMBING[step](n)
    return n


@examples(1.5)
@given(
    st.text("hpctd", max_size=3),
    st.text("hpct", max_size=2),
    st.sampled_from([2, 3, 4, 6]),
    st.integers(1, 5),
    st.sampled_from([1, 1, 4]),
    st.sampled_from([NMAX, NMAX, 1000]),
    st.integers(0, 4),
)
def test_a_function_of_another_size_is_that_at_every_value(
    upper: str, lower: str, k: int, least: int, step: int, greatest: int, kind: int
) -> None:
    n = size.symbol("n", Sizes(least, greatest, step))
    other = climbing(n, upper)
    base = climbing(other, lower)
    amount = [-base % k, size.maximum(base % k - 1, 0), size.minimum(base, 9), base * 2, base][kind]
    found = size.in_terms_of(amount, other, "own")
    if isinstance(found, Unknown):
        return
    assert isinstance(n, Size)
    (symbol,) = n.symbols
    indices = {
        *range(200),
        *range(10**6, 10**6 + 30),
        *range(symbol.sizes.count - 5, symbol.sizes.count),
    }
    for value in (symbol.sizes.value(index) for index in indices if index < symbol.sizes.count):
        own = {"own": size.evaluate(other, {"n": value})}
        assert size.evaluate(found, own) == size.evaluate(amount, {"n": value})


def test_what_another_size_does_not_decide_is_unknown() -> None:
    n = size.symbol("n")
    for amount, other in (
        (n % 2, size.ceil_div(n, 2)),
        (n, n * 3 // 2),
        (n, size.symbol("m")),
        (n, 7),
        (n + size.symbol("m"), n),
        (n, Unknown("lost")),
        (Unknown("lost"), n),
    ):
        assert isinstance(size.in_terms_of(amount, other, "own"), Unknown)
    assert size.in_terms_of(5, Unknown("lost"), "own") == 5
