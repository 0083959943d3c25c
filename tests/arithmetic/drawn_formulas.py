"""Formulas of open sizes, drawn, with all that is known of them, as lines of text.

`formulas.txt` keeps them: a bound, a period or a word that is otherwise than before shows there.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from onnxpad.arithmetic import size
from onnxpad.arithmetic.quasi_affine import ANY
from onnxpad.arithmetic.size import Extent, Size, Sizes, Unknown
from tests.support.lines import Lines

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": size.absolute,
    "max": size.maximum,
    "min": size.minimum,
    "clip": size.clip,
    "floor": size.floor_div,
    "ceil": size.ceil_div,
    "trunc": size.trunc_div,
    "mod": size.modulo,
    "less": size.less,
    "most": size.less_equal,
    "equal": size.equal,
    "where": size.where,
}
_DOMAIN: Final = re.compile(r"(\w)(?: (\d+)\.\.(\d*)(?: by (\d+))?)?")
_SAMPLES: Final = 7


def domains(asked: str) -> dict[str, Sizes]:
    """The values of the symbols of a line, as in `n 4..64 by 4, m: floor(n, m)`."""
    found = {}
    for each in asked.partition(": ")[0].split(", "):
        match = _DOMAIN.fullmatch(each)
        assert match
        name, first, last, step = match.groups()
        found[name] = ANY
        if first:
            limit = int(last) if last else ANY.last
            found[name] = Sizes(int(first), limit, int(step or 1))
    return found


def computed(expression: str, values: Mapping[str, Any], functions: Mapping[str, Any]) -> Any:
    """What an expression is for these values of its symbols."""
    return eval(expression, {"__builtins__": {}, **functions}, dict(values))


def points(asked: str) -> list[dict[str, int]]:
    """Some values of the symbols of a line: their first ones, and others further on."""
    known = domains(asked)
    found = []
    for at in range(_SAMPLES):
        places = [at * (1 + place) + (at == _SAMPLES - 1) * 40 for place in range(len(known))]
        pairs = zip(known.items(), places, strict=True)
        found.append({name: sizes.value(min(at, sizes.count - 1)) for (name, sizes), at in pairs})
    return found


def said(line: str) -> str:
    """The line with what is known now."""
    asked = line.partition("  =>  ")[0]
    symbols = {name: size.symbol(name, sizes) for name, sizes in domains(asked).items()}
    text = asked.partition(": ")[2]
    found: Extent = computed(text, symbols, FUNCTIONS)
    return f"{asked}  =>  {_told(found, asked, symbols)}"


def _told(found: Extent, asked: str, symbols: Mapping[str, Extent]) -> str:
    if isinstance(found, Unknown):
        return "unknown"
    low, high = size.bounds(found)
    says = [str(found), f"{low} to {high}", f"always {size.always(found)}"]
    if not isinstance(found, Size):
        return "; ".join(says)
    values = [size.evaluate(found, point) for point in points(asked)]
    residues = {each.name: pair for each, pair in size.residues(found).items()}
    says += [
        f"values {values}",
        f"residues {residues}",
    ]
    if len(symbols) == 1:
        (name,) = symbols
        other = size.in_terms_of(size.floor_div(symbols[name], 2), found, "z")
        says.append(f"half of {name} by it {_unknown(other)}")
        if (low, high) == (0, 1):
            says.append(f"at {size.solutions(found)}")
        (symbol,) = found.symbols
        if symbol.name == name and len(found.terms) == 1:
            form = found.terms[0][1]
            says.append(f"form {size.recognise(form, symbol)}")
    return "; ".join(filter(None, says))


def _unknown(found: Extent) -> str:
    return "unknown" if isinstance(found, Unknown) else str(found)


LINES: Final = Lines(Path(__file__).with_name("formulas.txt"), said)
