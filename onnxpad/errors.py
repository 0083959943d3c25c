"""The exceptions of the package; each message says what is wrong and how to mend it.

The pieces that messages are made of come last.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping, Sequence


class OnnxpadError(Exception):
    """Base of all errors: one line that says what is wrong and how to mend it.

    Attributes:
        exit_code: Exit code of the command line for this error.
        kind: Name of this kind of error in the JSON report.
    """

    exit_code = 2
    kind = "usage"

    def __init__(self, message: str = "") -> None:
        """Puts the message on one line and shortens long names in it."""
        super().__init__(shortened(" ".join(message.splitlines())))


class UsageError(OnnxpadError):
    """An option, argument or call that cannot be honoured."""


Lacking = Mapping[tuple[str, str], tuple[str, Sequence[str]]]
"""What a model lacks of sizes, by `shapes` or `dims` and the name: what to tell, known names."""


class MismatchError(UsageError):
    """Sizes that do not fit this model, though they may fit another one."""

    def __init__(self, message: str, missing: Lacking | None = None) -> None:
        """Keeps for which sizes the model has nothing open; nothing if two sizes contradict."""
        super().__init__(message)
        self.missing = missing or {}


class ModelError(OnnxpadError):
    """A model that cannot be read, or that the specification forbids."""

    kind = "model"


class OutputError(OnnxpadError):
    """A result that cannot be written where it was asked for."""

    kind = "output"


class ValidationError(OnnxpadError):
    """A rewritten model that does not compute what the original computes."""

    exit_code = 3
    kind = "validation"


class ProviderError(OnnxpadError):
    """An execution provider asked for by name that this machine does not have."""

    exit_code = 4
    kind = "provider"


def let_through(error: BaseException) -> None:
    """Raises an error again that a signal handler of the program raised, as a limit of its own.

    Code of others may raise anything, and a handler too, in the midst of it.
    """
    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {getattr(each, "__code__", None) for each in handlers} - {None}
    while True:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code in codes:
                raise error
            trace = trace.tb_next
        cause = error.__cause__ or error.__context__
        if cause is None:
            return
        error = cause


RUNTIME = "onnxruntime"
"""The runtime for which models are rewritten and on which they are validated, by its name."""

_LONGEST_WORD = 400  # file systems take names of 255 bytes
_LONGEST_TEXT = 3_000
_HEAD, _TAIL = 20, 80  # the end tells names apart
_TYPED = 100  # characters: longer names are pasted, not typed
_PART = 3  # characters of a name that tell it


def shortened(text: str) -> str:
    """The text with the middle of very long words, and of a text that is still too long, cut out.

    A name in a model may take a megabyte. A slash ends a word, so that paths stay whole.
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
    """A place in a model, from the outermost graph on, such as `Loop 'l' > body > Conv 'c'`."""
    return " > ".join(filter(None, (place, *steps)))


def counted(count: int, noun: str) -> str:
    """The count with its noun in singular or plural, as `1 change` and `1,200 nodes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def few(words: Iterable[str], most: int, by: str = ", ") -> str:
    """The first few words, and how many more there are, as `a, b and 3 more`."""
    listed = [*words]
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return by.join(listed[:most]) + more


def and_list(words: Iterable[str], by: str = " and ") -> str:
    """Words as a list, as `a, b and c`; empty if there are none."""
    *others, last = [*words] or [""]
    return by.join(filter(None, (", ".join(others), last)))


def _cut(text: str, longest: int, head: int, tail: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:head]}...[{len(text) - head - tail:,} characters]{text[-tail:]}"


def meant(word: object, known: Iterable[str]) -> str:
    """A suggestion to append to a message: the known name closest to a word; empty if none is.

    >>> meant("stile", ["style", "strict"]), meant("conv", ["/conv/Conv", "relu"])
    ("; did you mean 'style'?", "; did you mean '/conv/Conv'?")
    """
    if not isinstance(word, str) or not 0 < len(word) <= _TYPED:
        return ""
    from difflib import get_close_matches  # slow to import for what is rarely needed

    names = {name.lower(): name for name in known if len(name) <= 2 * _TYPED}
    back = {name[::-1]: name for name in names}  # what is alike at the end is found from there
    close = get_close_matches(word.lower(), names, 1)
    close = close or [back[each] for each in get_close_matches(word.lower()[::-1], back, 1)]
    if not close and len(word) >= _PART:
        close = sorted((name for name in names if word.lower() in name), key=len)
    return f"; did you mean {str(names[close[0]])!r}?" if close else ""
