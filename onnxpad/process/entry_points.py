"""Whether installed packages offer something to this one, found out without loading anything."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_ENDS: Final = (".dist-info", ".egg-info")


def may_be_any(group: str) -> bool:
    """Whether a package on the path may have entry points of a group.

    `importlib.metadata` takes several times as long to say that there are none.
    """
    heading = f"[{group}]".encode()
    for folder in sys.path:
        try:
            with os.scandir(folder or ".") as entries:
                found = [each for each in entries if each.name.endswith(_ENDS)]
        except NotADirectoryError:
            return True  # an archive, which is not looked into
        except OSError:
            continue
        for each in found:
            with suppress(OSError):
                if heading in Path(each.path, "entry_points.txt").read_bytes():
                    return True
    return False
