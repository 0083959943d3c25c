"""Formulas and cases: what they say, read again and computed, is the size they were made from."""

import math
import random
import re
from fractions import Fraction
from functools import cache
from types import CodeType

import pytest

from onnxpad.arithmetic import size
from onnxpad.arithmetic.size import Extent, Size, Sizes, Symbol

ANY = Symbol("height")
STRIDED = Symbol("height", Sizes(32, 1024, 32))
FOURFOLD = Symbol("height", Sizes(4, step=4))
BETWEEN = Symbol("height", Sizes(12, step=16))
ODD = Symbol("height", Sizes(5, 905, 4))


def compute(text: str, height: int) -> Fraction:
    """Compute a formula."""
    names = {"floor": math.floor, "ceil": math.ceil, "max": max, "min": min}
    return Fraction(eval(compiled(text), {"__builtins__": {}, **names, "height": Fraction(height)}))


@cache
def compiled(text: str) -> CodeType:
    """A formula as Python."""
    return compile(text.replace(" mod ", " % "), "formula", "eval")


def look_up(text: str, height: int) -> int:
    """Find the case that holds for a height, of `0 when height mod 3 is 0 or 1, 1 when 2`."""
    modulus = 0
    for case in text.split(", "):
        value, condition = case.split(" when ")
        if named := re.fullmatch(r"height mod (\d+) is (.*)", condition):
            modulus, condition = int(named[1]), named[2]
        if str(height % modulus) in condition.split(" or "):
            return int(value)
    raise AssertionError(f"{text} says nothing of {height}")


def sized(symbol: Symbol) -> Extent:
    return size.symbol(symbol.name, symbol.sizes)


def quotients(n: Extent) -> list[Extent]:
    quotients = [
        factor * size.floor_div(n * p + b, q) + c
        for factor in (-3, -1, 1, 32)
        for p, q in ((1, 1), (1, 2), (2, 1), (3, 4), (1, 5), (2, 64))
        for b in (-3, 0, 1, 2)
        for c in (0, 7)
    ]
    limited = [
        f(x, k) for x in quotients[::5] for f in (size.maximum, size.minimum) for k in (9, -70)
    ]
    return [*quotients, *limited]


def remainders(n: Extent) -> list[Extent]:
    whole = [
        factor * ((sign * n + b) % q) + c
        for factor in (-2, 1, 3)
        for sign in (1, -1)
        for q in (2, 3, 4, 64)
        for b in (0, 1, 3)
        for c in (0, 7)
    ]
    halves = [
        half((sign * n + b) % q, 2) - 1
        for half in (size.floor_div, size.ceil_div)
        for sign in (1, -1)
        for q in (5, 16, 64)
        for b in (0, 1, 3)
    ]
    return [*whole, *halves]


@pytest.mark.parametrize("symbol", [ANY, STRIDED, FOURFOLD, BETWEEN, ODD])
def test_formulas_compute_the_size(symbol: Symbol) -> None:
    values = [symbol.sizes.value(index) for index in range(min(symbol.sizes.count, 30))]
    recognised = 0
    extents = [*quotients(sized(symbol)), *remainders(sized(symbol))]
    for extent in extents:
        text = repr(extent)
        if not isinstance(extent, Size) or "f(" in text:
            continue
        for value in values:
            assert compute(text, value) == size.evaluate(extent, {"height": value}), text
        recognised += 1
    assert recognised > len(extents) // 2


@pytest.mark.parametrize("symbol", [ANY, STRIDED, FOURFOLD, BETWEEN, ODD])
def test_cases_hold(symbol: Symbol) -> None:
    n = sized(symbol)
    first, third = symbol.sizes.value(0), symbol.sizes.value(2)
    extents = [
        *(n % (symbol.sizes.step * period) // symbol.sizes.step for period in (2, 3, 5)),
        *(size.equal(n // symbol.sizes.step % period, 1) for period in (2, 3, 5, 8)),
        *(
            size.where(size.less(n, third), 7, n // symbol.sizes.step % period)
            for period in (1, 2, 3)
        ),
        *(size.less(n, third), size.equal(n, first), size.where(size.equal(n, first), -1, 4)),
    ]
    for extent in extents:
        text = size.in_words(extent, "height")
        if text.startswith("from "):
            continue
        read = look_up if " when " in text else compute
        for index in range(60 if symbol.sizes.count > 60 else symbol.sizes.count):
            value = symbol.sizes.value(index)
            assert read(text, value) == size.evaluate(extent, {"height": value}), text


@pytest.mark.parametrize("maximum", range(2, 9))
def test_any_function_of_few_sizes_is_told_right(maximum: int) -> None:
    chance = random.Random(maximum)
    n = size.symbol("height", Sizes(1, maximum))
    for _ in range(40):
        table = [chance.randint(-1, chance.randint(0, 3)) for _ in range(maximum)]
        extent: Extent = 0
        for value, result in enumerate(table, 1):
            extent = extent + size.equal(n, value) * result
        for text in (repr(extent), size.in_words(extent, "height")):
            read = look_up if " when " in text else compute
            if "f(" not in text and not text.startswith("from "):
                assert [read(text, value) for value in range(1, maximum + 1)] == table, text
