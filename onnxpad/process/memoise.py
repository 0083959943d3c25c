"""Caches the results of methods on the object itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

_Owner = TypeVar("_Owner")
_Answer = TypeVar("_Answer")
_Asked = ParamSpec("_Asked")


def remembered(
    method: Callable[Concatenate[_Owner, _Asked], _Answer],
) -> Callable[Concatenate[_Owner, _Asked], _Answer]:
    """Caches a method whose result depends on its positional arguments alone.

    Networks repeat the same few arguments. The cache lives on the object, so it does not outlive
    the model.
    """
    name = f"_remembered{method.__name__}"

    @wraps(method)
    def answer(owner: _Owner, /, *asked: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        assert not named
        known: dict[Any, _Answer] = owner.__dict__.setdefault(name, {})
        if asked not in known:
            known[asked] = method(owner, *asked, **named)
        return known[asked]

    return answer
