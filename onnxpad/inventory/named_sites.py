"""The sites that a user names, by the operator, a `Pad` or a tensor, also as a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from onnxpad.errors import UsageError
from onnxpad.inventory.padding_site import PaddingSite
from onnxpad.messages import and_list, few

_SUGGESTED: Final = 3
_TYPED: Final = 400
"""Characters: names that are longer are not compared with what a user typed."""


def chosen(sites: Sequence[PaddingSite], patterns: Iterable[str]) -> tuple[PaddingSite, ...]:
    """The sites with one of these names, in file order.

    Args:
        sites: All sites of a model.
        patterns: Names, or patterns with `*` for any characters and `?` for one, which are
            compared with names of nodes. What is a name as it stands is not taken for a pattern.

    Raises:
        UsageError: No site has such a name.
    """
    found: set[int] = set()
    for pattern in patterns:
        glob = pattern.replace("[", "[[]")
        places = {
            place for place, site in enumerate(sites) if pattern in (*site.names, *site.tensors)
        } or {
            place
            for place, site in enumerate(sites)
            if any(fnmatchcase(n, glob) for n in site.names)
        }
        if not places:
            known = dict.fromkeys(name for site in sites for name in (*site.names, *site.tensors))
            lacks = f"no padding at {pattern!r}" if sites else "the model has no padding to show"
            listed = [site.node for site in sites]
            says = nearest(pattern, known, "operators that pad are", listed)
            raise UsageError(f"{lacks}{says}")
        found |= places
    return tuple(sites[place] for place in sorted(found))


def nearest(
    name: str, known: Iterable[str], all_are: str, listed: Sequence[str] | None = None
) -> str:
    """The known names nearest to one, as an end of a message.

    Args:
        name: The name that nothing has.
        known: The names that there are.
        all_are: Words before the first of all names, where none is near.
        listed: Those names; None for the known ones.
    """
    names = list(known)
    if not names:
        return ""
    short = [each for each in names if len(each) <= _TYPED]
    near = get_close_matches(name, short, _SUGGESTED) if len(name) <= _TYPED else []
    lower = name.lower().strip("*?")
    near += [each for each in names if lower and lower in each.lower() and each not in near]
    if not near:
        every = names if listed is None else [*listed]
        return f"; {all_are} {few(map(repr, every), _SUGGESTED)}"
    return f"; did you mean {and_list(map(repr, near[:_SUGGESTED]), ' or ')}?"
