"""Interfaces of models, with the inputs that are drawn for them and the sizes tried for open axes.

`inputs.txt` keeps them: another guess, an earlier one, or other data than before shows there.
"""

import math
import zlib
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import ModelError
from onnxpad.validation.draw import Draw, Input, draw, other_choices, outline, pinned, size_choices
from tests.support import parsed
from tests.support.lines import Lines

_DRAWN: Final = 1 << 12
"""Elements of an input up to which its data are drawn too."""


def said(line: str) -> str:
    """The line with what is fed, the sizes tried in order, and checksums of the data drawn."""
    asked = line.partition("  =>  ")[0]
    inputs, constants, body, limits = asked.split(" | ")
    model = parsed(f"g ({inputs}) => (y) <{_filled(constants)}> {{ {body} }}", opset=17)
    try:
        found = outline(model)
    except ModelError:
        return f"{asked}  =>  refused"
    fed = pinned(found.inputs, {}, dict(map(_limit, limits.split())))
    marks = [word for word in ("quantised", "random") if getattr(found, word)]
    parts = [f"{found.nodes} nodes", *marks, f"inner {' '.join(sorted(found.inner))}"]
    parts += [f"{each.name} {each.elem_type} {_shape(each.shape)}" for each in fed]
    choices = [*size_choices(fed)]
    parts.append(f"sizes {_sizes(choices)}")
    others = (islice(other_choices(fed, taken), 9) for taken in choices[:2] if choices[0])
    parts += (f"others {_sizes(each)}" for each in others)
    fitting = [sizes for sizes in choices if _elements(fed, sizes) < _DRAWN]
    for sizes in fitting[:1]:
        first = draw(fed, sizes, 3)
        other = draw(fed, sizes, 4, again=True)
        is_same = all(np.array_equal(first.feeds[name], other.feeds[name]) for name in first.feeds)
        parts += map(_told, (first, *[other] * (not is_same)))
    return f"{asked}  =>  {'; '.join(parts)}"


def _filled(constants: str) -> str:
    """Constants with values: those that are given by their shape alone are full of ones."""
    found = []
    for each in filter(None, constants.split("; ")):
        shape = [int(size) for size in each.partition("[")[2].partition("]")[0].split(", ") if size]
        ones = ", ".join(["1"] * int(np.prod(shape)))
        found.append(each if "=" in each else f"{each} = {{{ones}}}")
    return ", ".join(found)


def _limit(text: str) -> tuple[str, Sizes]:
    """An axis and its sizes, of a text such as `H:2,64,2`."""
    name, _, numbers = text.partition(":")
    first, last, *step = map(int, numbers.split(","))
    return name, Sizes(first, last, step[0] if step else 1)


def _shape(shape: Iterable[int | str]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _sizes(choices: Iterable[Mapping[str, int]]) -> str:
    """Choices; each as numbers in the order of the names of the first."""
    every = [*choices]
    names = [*every[0]] if every else []
    rows = [_shape(each[name] for name in sorted(names)) for each in every]
    return f"{','.join(sorted(names))}: {' '.join(rows)}"


def _elements(fed: Iterable[Input], sizes: Mapping[str, int]) -> int:
    """The elements of the largest input."""
    shapes = [[sizes.get(str(dim), dim) for dim in each.shape] for each in fed]
    return max((math.prod(map(int, shape)) for shape in shapes), default=0)


def _told(found: Draw) -> str:
    sums = [
        f"{zlib.crc32(repr(data.tolist()).encode()):08x} {_ends(data)}"
        for data in found.feeds.values()
    ]
    return f"drawn{' again' * found.again}: {' '.join(sums)}"


def _ends(data: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    """The least and the greatest element, where they are numbers."""
    if data.dtype.kind not in "iuf" or not data.size:
        return ""
    return f"{data.min():.3g}..{data.max():.3g}"


LINES: Final = Lines(Path(__file__).with_name("inputs.txt"), said)
