"""Questions kept as lines of text, each with what was said of it: `python -m tests.drawn`."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

_SENTENCE: Final = re.compile(r"[A-Za-z]{2,}'?,? [a-z]{2,}")


def facts(value: Any) -> Any:
    """A value without its sentences, for a line that no rewording changes."""
    if isinstance(value, Mapping):
        kept = ((name, facts(each)) for name, each in value.items() if not _is_words(each))
        return dict(kept)
    if isinstance(value, tuple | list):
        return type(value)(facts(each) for each in value if not _is_words(each))
    return value


def _is_words(value: object) -> bool:
    return isinstance(value, str) and _SENTENCE.search(value) is not None


class Lines:
    """The lines of a file.

    Args:
        path: The file.
        said: Makes a line anew, with what is said of its question now.
    """

    def __init__(self, path: Path, said: Callable[[str], str]) -> None:
        self._path, self._said = path, said

    def kept(self) -> list[str]:
        """All lines."""
        return self._path.read_text(encoding="utf-8").splitlines()

    def keep(self) -> None:
        """Keeps what is said of all of them anew."""
        self._path.write_text(
            "".join(f"{self._said(line)}\n" for line in self.kept()), encoding="utf-8"
        )
