"""Facts by name, of which those that take long are worked out when they are first read."""

from collections.abc import Callable, Iterator, Mapping


class Later:
    """A fact that is worked out once, when it is first asked for."""

    __slots__ = ("_ask", "_known")

    def __init__(self, ask: Callable[[], object]) -> None:
        """Takes what works it out, from values that never change."""
        self._ask: Callable[[], object] | None = ask
        self._known: object = None

    def get(self) -> object:
        """The fact."""
        ask = self._ask
        if ask is not None:
            self._known = ask()
            self._ask = None
        return self._known


class Facts(Mapping[str, object]):
    """Facts that cannot be changed, by name. Whoever reads one never sees a `Later`."""

    __slots__ = ("_held",)

    def __init__(self, facts: Mapping[str, object], **more: object) -> None:
        """Takes facts, and more of them; none is worked out by that."""
        held = facts._held if isinstance(facts, Facts) else facts
        self._held: Mapping[str, object] = {**held, **more}

    def __getitem__(self, name: str) -> object:
        """The fact of a name."""
        found = self._held[name]
        return found.get() if isinstance(found, Later) else found

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
