"""Work in calls, which do not depend on the machine."""

import sys
from collections.abc import Callable


def calls(act: Callable[[], object]) -> int:
    """How many calls of functions an act makes."""
    made = 0

    def profile(_: object, event: str, __: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
    return made
