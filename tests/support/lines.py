"""Questions kept as lines of text, each with what was said of it: `python -m tests.drawn`."""

from collections.abc import Callable
from pathlib import Path


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
