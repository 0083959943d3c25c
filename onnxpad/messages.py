"""Messages kept short enough to read, lists in words, and suggestions for misspelt names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

RUNTIME: Final = "onnxruntime"
"""The runtime for which models are rewritten and on which they are validated, by its name."""

_LONGEST_WORD: Final = 400  # file systems take names of 255 bytes
_LONGEST_TEXT: Final = 3_000
_HEAD, _TAIL = 20, 80  # the end tells names apart
_TYPED: Final = 100  # characters: longer names are pasted, not typed


def shortened(text: str) -> str:
    """The text with the middle of very long words, and of a text that is still too long, cut out.

    Nothing limits the length of the names in a model: one may take a megabyte. A slash ends a word,
    so that paths stay whole.

    >>> shortened("node 'conv'"), shortened("node " + "n" * 1_000_000)[-100:-75]
    ("node 'conv'", '[999,900 characters]nnnnn')
    """
    if len(text) <= _LONGEST_WORD:
        return text
    found = "/".join(
        " ".join(_cut(word, _LONGEST_WORD, _HEAD, _TAIL) for word in part.split(" "))
        for part in text.split("/")
    )
    return _cut(found, _LONGEST_TEXT, _LONGEST_TEXT - 500, 300)


def without_names(text: str) -> str:
    """A text without the names of nodes, and with dots for other names: what like ones share.

    >>> without_names("Pad of Conv 'stem' reads 'x', which an operator's Loop 'l' gives")
    "Pad of Conv reads ..., which an operator's Loop gives"
    """
    name = r"""(?:(\b[A-Z]\w*) )?(?<!\w)('[^']*'|"[^"]*")"""
    return re.sub(name, lambda found: found[1] or "...", text)


def place_in(place: str, *steps: str) -> str:
    """A place in a model, from the outermost graph on, such as `Loop 'l' > body > Conv 'c'`.

    >>> place_in("", "Loop 'l'", "body"), place_in("Loop 'l' > body", "Conv 'c'")
    ("Loop 'l' > body", "Loop 'l' > body > Conv 'c'")
    """
    return " > ".join(filter(None, (place, *steps)))


def counted(count: int, noun: str) -> str:
    """The count with its noun in singular or plural.

    >>> counted(1, "change"), counted(1200, "node")
    ('1 change', '1,200 nodes')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def few(words: Iterable[str], most: int, by: str = ", ") -> str:
    """The first few words, and how many more there are.

    >>> few("abcde", 2), few("ab", 2)
    ('a, b and 3 more', 'a, b')
    """
    listed = [*words]
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return by.join(listed[:most]) + more


def and_list(words: Iterable[str], by: str = " and ") -> str:
    """Words as a list; empty if there are none.

    >>> and_list(["a", "b", "c"]), and_list(["a"]), and_list([])
    ('a, b and c', 'a', '')
    """
    *others, last = [*words] or [""]
    return by.join(filter(None, (", ".join(others), last)))


def _cut(text: str, longest: int, head: int, tail: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:head]}...[{len(text) - head - tail:,} characters]{text[-tail:]}"


def meant(word: object, known: Iterable[str]) -> str:
    """A suggestion to append to a message: the known name closest to a word; empty if none is.

    >>> meant("heigth", ["width", "height"]), meant("depth", ["N"])
    ("; did you mean 'height'?", '')
    """
    if not isinstance(word, str) or not 0 < len(word) <= _TYPED:
        return ""
    from difflib import get_close_matches  # slow to import for what is rarely needed

    names = {name.lower(): name for name in known if len(name) <= 2 * _TYPED}
    close = get_close_matches(word.lower(), names, 1)
    return f"; did you mean {str(names[close[0]])!r}?" if close else ""
