"""The report of `check` in the formats that CI systems read.

They name files relative to the working folder, so that a report is the same on every machine.
"""

from __future__ import annotations

import os
import re
from pathlib import Path


def relative(path: str) -> str:
    """A path as seen from the working folder, with `/` between its parts."""
    try:
        found = os.path.relpath(path)
    except ValueError:  # Windows: it is on another drive
        found = Path(path).name
    return found.replace(os.sep, "/")


def without_folders(text: str, path: str) -> str:
    """A message about a file, with that file and what is beside it named as `relative` does."""
    folders = {Path(os.path.normpath(Path(path).absolute())).parent, Path.cwd()}
    for folder in sorted(folders, key=lambda each: -len(each.parts)):
        if folder == folder.parent:  # the root is in every path
            continue
        seen = relative(str(folder)).replace("\\", r"\\")
        whole = rf"(?<!\w){re.escape(str(folder))}"
        text = re.sub(whole + re.escape(os.sep), "" if seen == "." else f"{seen}/", text)
        text = re.sub(rf"{whole}(?![.-]?\w)", seen, text)
    return text
