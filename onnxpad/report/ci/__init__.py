"""The report of `check` in the formats that CI systems read.

They name files relative to the working folder, so that a report is the same on every machine.
"""

from __future__ import annotations

import os
from pathlib import Path


def relative(path: str) -> str:
    """A path as seen from the working folder, with `/` between its parts."""
    try:
        found = os.path.relpath(path)
    except ValueError:  # Windows: it is on another drive
        found = Path(path).name
    return found.replace(os.sep, "/")
