"""Faults planted in a process that has imported everything: no test is collected again for one."""

import functools
import gc
import importlib
import os
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Final, TypeAlias

from tests.faults.draw import Fault
from tests.support import ROOT

Way: TypeAlias = tuple[tuple[str, int], ...]
"""Where a function stands in a module: names of classes, then its own, each with its position."""

_OPTIMISED: Final = 1  # the flag of a function's code, which that of a class's body lacks


def plant(fault: Fault) -> bool:
    """Gives the functions of this process the code that they have with a fault.

    Returns whether any has another: what stands outside of functions, such as a row of a table, was
    executed when its module was imported, and cannot be planted so.
    """
    name = fault.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    importlib.import_module(name if name.startswith("onnxpad") else f"onnxpad.{name}")
    data = (ROOT / fault.path).read_bytes()
    right, wrong = (
        dict(_functions(compile(text, fault.path, "exec", dont_inherit=True)))
        for text in (data, fault.planted(data))
    )
    new: dict[tuple[str, int], dict[object, CodeType]] = {}
    for way, code in right.items():
        if way in wrong and _content(code) != _content(wrong[way]):
            for one, other in _with_inner(code, wrong[way]):
                new.setdefault((one.co_qualname, one.co_firstlineno), {})[_content(one)] = other
    path = os.path.realpath(ROOT / fault.path)
    planted = False
    gc.unfreeze()  # else those that were there before a fork are not told
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            code = each.__code__
            others = new.get((code.co_qualname, code.co_firstlineno), {})
            if others and os.path.realpath(code.co_filename) == path:
                each.__code__ = others.get(_content(code), code)
                planted = planted or each.__code__ is not code
        elif isinstance(each, functools._lru_cache_wrapper) and str(
            getattr(each, "__module__", "")
        ).startswith(("onnxpad", "tests")):
            each.cache_clear()  # of what the right function gave
    return planted


def _functions(code: CodeType, way: Way = ()) -> Iterator[tuple[Way, CodeType]]:
    """The functions of a module and its classes, without those inside of functions."""
    seen: Counter[str] = Counter()
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            here = (*way, (inner.co_name, seen[inner.co_name]))
            seen[inner.co_name] += 1
            if inner.co_flags & _OPTIMISED:
                yield here, inner
            else:
                yield from _functions(inner, here)


def _with_inner(one: CodeType, other: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """A function, and those inside of it that may live on: each with what becomes of it."""
    yield one, other
    inner, others = (
        [each for each in code.co_consts if isinstance(each, CodeType)] for code in (one, other)
    )
    if [each.co_name for each in inner] == [each.co_name for each in others]:
        for pair in zip(inner, others, strict=True):
            yield from _with_inner(*pair)


def _content(code: CodeType) -> object:
    """All that a function does, without where it stands."""
    values = [
        _content(value) if isinstance(value, CodeType) else (type(value), repr(value))
        for value in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars)
    return (code.co_code, names, code.co_exceptiontable, tuple(values))
