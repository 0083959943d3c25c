"""Work that is done once: facts by name, when they are first read, and results of methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

_Owner = TypeVar("_Owner")
_Answer = TypeVar("_Answer")
_Asked = ParamSpec("_Asked")
_UNKNOWN: Final = object()


class Later:
    """A fact that is worked out once, when it is first asked for."""

    __slots__ = ("_ask", "_known")

    def __init__(self, ask: Callable[..., object], *args: object) -> None:
        """Takes the function that works it out, and its arguments, which never change."""
        self._ask: tuple[Callable[..., object], tuple[object, ...]] | None = ask, args
        self._known: object = None

    def get(self) -> object:
        """The fact."""
        if (asked := self._ask) is not None:  # read once: another thread may be done meanwhile
            ask, args = asked
            self._known = ask(*args)
            self._ask = None
        return self._known


class Facts(Mapping[str, object]):
    """Facts that cannot be changed, by name. Whoever reads one never sees a `Later`."""

    __slots__ = ("_held",)

    def __init__(self, facts: Mapping[str, object], **more: object) -> None:
        """Takes facts, and more of them; none is worked out by that."""
        held = facts._held if type(facts) is Facts else facts
        self._held: Mapping[str, object] = {**held, **more}

    def __getitem__(self, name: str) -> object:
        """The fact of a name."""
        found = self._held[name]
        return found.get() if isinstance(found, Later) else found

    def get(self, name: str, default: object = None) -> object:
        """The fact of a name, or the default where there is none."""
        return self[name] if name in self._held else default

    def __contains__(self, name: object) -> bool:
        """Whether there is a fact of that name."""
        return name in self._held

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._held)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._held)

    def __repr__(self) -> str:
        """All facts."""
        return f"{type(self).__name__}({dict(self)!r})"


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
        known: dict[Any, Any] = owner.__dict__.setdefault(name, {})
        found: _Answer = known.get(asked, _UNKNOWN)
        if found is _UNKNOWN:
            found = known[asked] = method(owner, *asked, **named)
        return found

    return answer
