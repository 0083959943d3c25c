"""The report of `check` in the formats that CI systems read.

They name files relative to the working folder, so that a report is the same on every machine.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def relative(path: str) -> str:
    """A path as seen from the working folder, with `/` between its parts."""
    with suppress(ValueError):  # Windows: it is on another drive
        return os.path.relpath(path).replace(os.sep, "/")
    return Path(path).name
