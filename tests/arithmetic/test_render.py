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
from tests.support.rows import each_row

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
    """Find the case that holds for a height, of `1 when height is 2 or 3, 2 when 5, else 0`."""
    for part in text.split("; beyond that "):
        subject = height
        names = {}
        for case in part.split(", "):
            if case.startswith("else "):
                return int(case.removeprefix("else "))
            value, condition = case.split(" when ")
            if named := re.fullmatch(r"height(?: mod (\d+))? is (.*)", condition):
                modulus, condition = named.groups()
                if modulus is None and not condition[0].isdigit():
                    modulus, names = "2", {"even": 0, "odd": 1}
                subject = height % int(modulus) if modulus else height
            if subject in [int(names.get(name, name)) for name in condition.split(" or ")]:
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
    values = [symbol.sizes.value(index) for index in range(min(symbol.sizes.count, 140))]
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
        text = size.explain(extent, "height")
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
        for text in (repr(extent), size.explain(extent, "height")):
            read = look_up if " when " in text else compute
            if "f(" not in text and "a function of" not in text:
                assert [read(text, value) for value in range(1, maximum + 1)] == table, text


def test_a_size_is_told_in_terms_of_another_name() -> None:
    total = size.ceil_div(sized(ANY), 2) * 2 + 1 - sized(ANY)
    assert size.explain(total, "its width") == "1 when its width is even, 2 when odd"
    assert size.explain(sized(ANY) // 3 + 1, "length") == "floor(length/3) + 1"
    assert size.explain(-sized(ANY) % 16, "the size") == "(-n mod 16) with n the size"
    assert size.explain(5, "length") == "5"
    assert size.explain(size.Unknown("no shape"), "length") == "unknown (no shape)"


def test_formulas_read_as_they_are_written() -> None:
    n, strided = sized(ANY), sized(STRIDED)
    texts = {
        "ceil(height/2)": size.ceil_div(n, 2),
        "2*ceil(height/2) - 1": size.ceil_div(n, 2) * 2 - 1,
        "floor((3*height + 2)/4)": (n * 3 + 2) // 4,
        "(-height mod 4)": -n % 4,
        "((7 - height) mod 8)": (7 - n) % 8,
        "floor((-height mod 16)/2)": -n % 16 // 2,
        "ceil(((3 - height) mod 16)/2) + 1": size.ceil_div((3 - n) % 16, 2) + 1,
        "28 - height": 28 - n,
        "max(height - 5, 0)": size.maximum(n - 5, 0),
        "max(16 - height, 0)": size.maximum(16 - n, 0),
        "max(8 - floor(height/2), 0)": size.maximum(8 - n // 2, 0),
        "height/32": strided // 32,
        "ceil(height/8)": size.ceil_div(sized(FOURFOLD), 8),
    }
    assert {text: repr(extent) for text, extent in texts.items()} == {text: text for text in texts}


TOLD = """
n -> height
-n -> -height
3*n - 2 -> 3*height - 2
n//2 -> floor(height/2)
-(n//2) -> -floor(height/2)
up(n, 2) -> ceil(height/2)
(n + 1)//3 -> floor((height + 1)/3)
(n + 2)//3 -> ceil(height/3)
(n - 1)//4 -> ceil(height/4) - 1
5 - n//3 -> 5 - floor(height/3)
2*(n//2) -> 2*floor(height/2)
3*(n//4) + 1 -> 3*floor(height/4) + 1
(3*n + 1)//4 -> floor((3*height + 1)/4)
(2*n)//3 -> floor(2*height/3)
n - n//2 -> ceil(height/2)
n % 2 -> (height mod 2) -> 0 when h is even, 1 when odd
n % 3 -> (height mod 3) -> 0 when h mod 3 is 0, 1 when 1, 2 when 2
-n % 3 -> (-height mod 3) -> 0 when h mod 3 is 0, 1 when 2, 2 when 1
(n + 1) % 4 -> ((height + 1) mod 4) -> 0 when h mod 4 is 3, 1 when 0, 2 when 1, 3 when 2
2*(n % 4) -> 2*(height mod 4) -> 0 when h mod 4 is 0, 2 when 1, 4 when 2, 6 when 3
3 - n % 4 -> ((3 - height) mod 4) -> 0 when h mod 4 is 3, 1 when 2, 2 when 1, 3 when 0
(-n % 4)//2 -> floor(((height + 1) mod 4)/2) -> 0 when h mod 4 is 0 or 3, 1 when 1 or 2
up(-n % 8, 2) -> ceil((-height mod 8)/2)
(n % 5)//2 -> floor((height mod 5)/2)
up(n % 16, 2) - 1 -> ceil((height mod 16)/2) - 1
max(n - 5, 0) -> max(height - 5, 0)
max(5 - n, 0) -> max(5 - height, 0)
max(n//2 - 3, 1) -> max(floor(height/2) - 3, 1)
min(n//2, 7) -> min(floor(height/2), 7)
min(n, 4) -> min(height, 4) -> 1 when h is 1, 2 when 2, 3 when 3, else 4
max(7 - n//3, 2) -> max(7 - floor(height/3), 2)
min(up(n, 3), 5) -> min(ceil(height/3), 5)
s -> height
s//32 -> height/32
s//64 -> floor(height/64)
up(s, 64) -> ceil(height/64)
-s % 64 -> (height mod 64) -> 0 when h mod 64 is 0, 32 when 32
s % 128 -> (height mod 128) -> 0 when h mod 128 is 0, 32 when 32, 64 when 64, 96 when 96
(s//32) % 2 -> (height mod 64)/32 -> 0 when h mod 64 is 0, 1 when 32
s//16 + 1 -> height/16 + 1
max(s - 64, 0) -> max(height - 64, 0)
f//4 -> height/4
f//8 -> floor(height/8)
up(f, 16) -> ceil(height/16)
f % 16 -> (height mod 16) -> 0 when h mod 16 is 0, 4 when 4, 8 when 8, 12 when 12
(f//4) % 3 -> (height mod 12)/4 -> 0 when h mod 12 is 0, 1 when 4, 2 when 8
-f % 12 -> (-height mod 12) -> 0 when h mod 12 is 0, 4 when 8, 8 when 4
(f + 1)//8 -> floor(height/8)
b//16 -> (height - 12)/16
(b + 4)//16 -> (height - 12)/16 + 1
b//32 -> floor(height/32)
b % 32 -> ((height + 20) mod 32) + 12 -> 12 when h mod 32 is 12, 28 when 28
(b - 12)//16 -> (height - 12)/16
o//4 -> (height - 1)/4
(o - 1)//4 -> (height - 1)/4
o % 8 -> ((height + 7) mod 8) + 1 -> 1 when h mod 8 is 1, 5 when 5
o % 12 -> ((height + 11) mod 12) + 1 -> 1 when h mod 12 is 1, 5 when 5, 9 when 9
(o - 1)//8 -> floor(height/8)
less(n, 4) -> f(height) -> 1 when h is 1 or 2 or 3, else 0
equal(n, 3) -> f(height) -> 0 when h is 1 or 2, 1 when 3, else 0
where(less(n, 3), 5, n) -> f(height) -> a function of h with period 1 from 3 on
n % 7 * (n % 3) -> f(height) -> a function of h with period 21 from 1 on
n + n % 2 -> 2*ceil(height/2)
n//2 + n//3 -> f(height) -> a function of h with period 6 from 1 on
n % 2 + n % 3 -> f(height) -> 0 when h mod 6 is 0, 1 when 3 or 4, 2 when 1 or 2, 3 when 5
"""
"""An expression, its formula, and in words if these are others, where `h` is the height."""

NAMES = {
    "n": sized(ANY), "s": sized(STRIDED), "f": sized(FOURFOLD), "b": sized(BETWEEN),
    "o": sized(ODD), "max": size.maximum, "min": size.minimum, "up": size.ceil_div,
    "where": size.where, "less": size.less, "equal": size.equal,
}  # fmt: skip


def test_what_is_told() -> None:
    for line in TOLD.strip().splitlines():
        expression, formula, *words = line.split(" -> ")
        extent = eval(expression, {}, NAMES)
        assert repr(extent) == formula
        told = words[0] if words else formula.replace("height", "h")
        assert size.explain(extent, "h") == told


def test_several_symbols_are_a_sum() -> None:
    both = sized(STRIDED) // 64 - size.ceil_div(size.symbol("width"), 3) + 4
    assert repr(both) == "floor(height/64) - ceil(width/3) + 4"


def test_what_has_no_formula_still_says_its_period() -> None:
    n = sized(ANY)
    wild = n % 7 * (n % 3) + n
    assert repr(wild) == "f(height)"
    assert size.explain(wild, "length") == "a function of length with period 21 from 1 on"


def sized_by(first: int, step: int = 1) -> Extent:
    return size.symbol("height", Sizes(first, 2**20, step))


N, TWO, FOUR_ODD = sized_by(1), sized_by(2), sized_by(5, 4)


@each_row(
    ("extent", "name", "words"),
    [
        (size.maximum(3 - N, 0), "height", "1 when height is 2, 2 when 1, else 0"),
        (size.maximum(3 - TWO, 0), "height", "1 when height is 2, else 0"),
        (size.minimum(N, 3), "height", "1 when height is 1, 2 when 2, else 3"),
        (N % 2, "height", "0 when height is even, 1 when odd"),
        (1 - N % 2, "the size", "0 when the size is odd, 1 when even"),
        ((-N) % 3, "height", "0 when height mod 3 is 0, 1 when 2, 2 when 1"),
        (
            size.floor_div(N % 4, 2),
            "the size",
            "0 when the size mod 4 is 0 or 1, 1 when 2 or 3",
        ),
        (
            size.maximum(2 - N, 0) + N % 2,
            "height",
            "2 when height is 1; beyond that 0 when height is even, 1 when odd",
        ),
        (FOUR_ODD % 8, "height", "1 when height mod 8 is 1, 5 when 5"),
        (FOUR_ODD % 2, "height", "1"),
        (N % 8, "height", "(height mod 8)"),
        (N % 8, "the size", "(n mod 8) with n the size"),
        (size.floor_div(N, 2), "height", "floor(height/2)"),
        (N, "the size", "the size"),
        (size.maximum(6 - N, 0), "height", "max(6 - height, 0)"),
        (N % 9 + N % 2, "height", "a function of height with period 18 from 1 on"),
        (7, "height", "7"),
    ],
)
def test_what_is_said_of_a_size(extent: Extent, name: str, words: str) -> None:
    assert size.explain(extent, name) == words
